import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { it } from "node:test";
import { describePage, seriousFindings } from "./browser.mjs";

describePage("the report of an advice", "FANIN_REMEDIES", (opened, file) => {
  const advice = () => JSON.parse(readFileSync(path.join(path.dirname(file), "advice.json"), "utf8"));

  it("has the remedies by rank, and copies each one's commands", async (t) => {
    const { page, heard } = await opened(t, { permissions: ["clipboard-read", "clipboard-write"] });
    const ranked = advice().remedies.filter(({ apart, deployable }) => apart === null && deployable);
    assert.ok(ranked.length > 0);
    const items = page.locator("ul.remedies").first().locator("> li");
    assert.equal(await items.count(), ranked.length);
    for (const [i, { says, apply, run }] of ranked.entries()) {
      const item = items.nth(i);
      assert.equal(await item.locator("b").first().innerText(), `${i + 1}. ${says}`);
      const commands = await item.locator("pre.command").allTextContents();
      const all = commands.join("\n");
      for (const { line } of apply) assert.ok(all.includes(line), line);
      assert.equal(commands.at(-1), run);
    }
    const [first] = await items.first().locator("pre.command").allTextContents();
    await items.first().getByRole("button", { name: "Copy" }).first().click();
    await items.first().getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), first);
    assert.deepEqual(heard.errors, []);
  });

  it("fits a phone 390 pixels wide, and has no serious finding of axe", async (t) => {
    const { page } = await opened(t, { viewport: { width: 390, height: 844 }, bypassCSP: true });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.deepEqual(await seriousFindings(page), []);
  });
});
