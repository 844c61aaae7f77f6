import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, seriousFindings } from "./browser.mjs";

describePage("the report of a scenario with pauses", "FANIN_PAUSES", (opened) => {
  const part = (page) => page.locator("section", { has: page.locator("#paused") });
  const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));

  it("shows which links were paused, because of which port, and for how long", async (t) => {
    const { page, heard } = await opened(t);
    const { paused_links: all } = await data(page);
    assert.ok(all.length > 0);
    const articles = part(page).locator("article");
    assert.equal(await articles.count(), all.length);
    for (const [i, { says, links, left_out }] of all.entries()) {
      assert.equal(await articles.nth(i).locator("> p").innerText(), says);
      const rows = await articles.nth(i).locator("tbody tr").evaluateAll((lines) => lines.map((line) => [...line.cells].slice(1, 5).map((cell) => cell.textContent)));
      assert.deepEqual(rows, links.map(({ sender, by, cause, pauses }) => [sender, by, cause, String(pauses)]));
      assert.ok(links.every((link, place) => place === 0 || link.paused_ms <= links[place - 1].paused_ms));
      assert.equal((await articles.nth(i).locator("caption").innerText()).includes(`of ${links.length + left_out}`), left_out > 0);
    }
    assert.deepEqual(heard.errors, []);
  });

  for (const width of [1120, 390]) {
    it(`has tables that fit ${width} pixels, and buttons for the other columns`, async (t) => {
      const { page, heard } = await opened(t, { viewport: { width, height: 844 }, bypassCSP: true });
      const frames = page.locator(".scroll", { has: page.locator(".pager") });
      for (let place = 0; place < (await frames.count()); place++) {
        const frame = frames.nth(place);
        const seen = new Set();
        for (;;) {
          await page.waitForTimeout(100);
          const [inside, room] = await frame.evaluate((of) => [of.scrollWidth, of.clientWidth]);
          assert.ok(inside <= room, `${inside} of ${room} pixels`);
          for (const head of await frame.locator("thead th:visible").allInnerTexts()) seen.add(head);
          const next = frame.getByRole("button", { name: "Next columns" });
          if (!(await next.isVisible()) || (await next.isDisabled())) break;
          await next.click();
        }
        assert.deepEqual([...seen].sort(), (await frame.locator("thead th").allTextContents()).sort());
      }
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      assert.deepEqual(await seriousFindings(page), []);
      assert.deepEqual(heard.errors, []);
    });
  }

  it("omits columns of zeros, and names them", async (t) => {
    const { page } = await opened(t);
    const { rows } = await data(page);
    const table = page.locator("[role=region][aria-labelledby=rows]");
    const caption = await table.locator("caption").innerText();
    const heads = await table.locator("thead th").allTextContents();
    for (const [head, zero] of [["timeouts", rows.every((row) => row.timeouts === 0)], ["marks", rows.every((row) => row.marks === 0)]]) {
      assert.equal(heads.includes(head), !zero, head);
      assert.equal(new RegExp(`Zero at every point:[^.]*\\b${head}\\b`).test(caption), zero, caption);
    }
  });
});
