import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { it } from "node:test";
import { pathToFileURL } from "node:url";
import { describePage, hovered, middle, seriousFindings } from "./browser.mjs";

describePage("the scorecard's page", "FANIN_SCORECARD", (opened, scorecard) => {
  const figure = (page, id) => page.locator(`#${id}`);

  it("draws every figure without a console error and asks for nothing but itself", async (t) => {
    const { page, heard } = await opened(t);
    const sections = page.locator(".paper-figure");
    assert.ok((await sections.count()) >= 6);
    for (const section of await sections.all()) {
      assert.ok((await section.locator(".chart canvas").count()) >= 1);
      assert.ok((await section.locator(".claim .chip").count()) >= 1);
      assert.match(await section.locator(".command").innerText(), /^fanin reproduce \S+ --figure \S+ --quick$/);
    }
    assert.deepEqual(heard.errors, []);
    assert.deepEqual(heard.requests, [pathToFileURL(scorecard).href]);
  });

  it("is under 3 MB", () => assert.ok(statSync(scorecard).size < 3_000_000));

  it("counts the claims that hold and leads to each figure", async (t) => {
    const { page } = await opened(t);
    // Repeated claims are counted once.
    const counted = (kind) => page.locator(`.claim${kind}:not(:has(.chip.repeats))`).count();
    const [held, undecided, all] = [await counted(".pass"), await counted(".undecided"), await counted("")];
    assert.ok(all < (await page.locator(".claim").count()));
    const open = undecided > 0 ? `, ${undecided} undecided` : "";
    assert.equal(await page.locator("h1").innerText(), `${held} of ${all} published claims hold${open}`);
    const rows = await page.locator(".overview tbody .chip").allInnerTexts();
    const sums = rows.map((row) => row.split(" of ").map(Number)).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
    assert.deepEqual(sums, [held, all]);
    await page.locator(".links a", { hasText: "M-8" }).click();
    const { y } = await figure(page, "M-8").boundingBox();
    const bar = await page.locator(".bar").boundingBox();
    assert.ok(y >= bar.y + bar.height && y < 300, `${y}: under the bar that stays`);
  });

  it("says values with their intervals where the mouse is", async (t) => {
    const { page } = await opened(t);
    const tip = await hovered(page, figure(page, "M-6").locator(".u-over"));
    assert.match(tip, /^\d+ senders/);
    for (const name of await figure(page, "M-6").locator(".schemes button").allInnerTexts()) assert.ok(tip.includes(name), tip);
    assert.match(tip, /\d ± \d/);
    assert.match(await hovered(page, figure(page, "M-5").locator(".u-over")), /^[\d.]+ m?s[^]*newreno/);
  });

  it("zooms a curve over time by dragging and resets it by a double click", async (t) => {
    const { page } = await opened(t);
    const over = figure(page, "M-5").locator(".u-over");
    const whole = Number.parseFloat(await hovered(page, over));
    const box = await middle(over);
    await page.mouse.move(box.x + box.width * 0.1, box.cy);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.cy, { steps: 5 });
    await page.mouse.up();
    const zoomed = Number.parseFloat(await hovered(page, over));
    assert.ok(Math.abs(zoomed - whole * 0.4) < whole / 20, `${zoomed} of ${whole}`);
    await over.dblclick();
    assert.ok(Math.abs(Number.parseFloat(await hovered(page, over)) - whole) < whole / 20);
  });

  it("hides a curve in its own figure", async (t) => {
    const { page } = await opened(t);
    await figure(page, "M-6").getByRole("button", { name: "dctcp", exact: true }).click();
    const names = async (id) => (await hovered(page, figure(page, id).locator(".u-over"))).split("\n");
    assert.ok(!(await names("M-6")).includes("dctcp"));
    assert.ok((await names("M-8")).includes("dctcp"));
  });

  it("shows what a claim expects, in full while the mouse or the keyboard is at it", async (t) => {
    const { page, heard } = await opened(t);
    const section = figure(page, "M-6");
    const drawn = () => section.locator(".chart canvas").evaluate((canvas) => canvas.toDataURL());
    await section.scrollIntoViewIfNeeded();
    const plain = await drawn();
    // A value with its band, an onset, an order: each marks something else.
    const marked = new Set([plain]);
    for (const id of ["M-6.2", "M-6.4", "M-6.9"]) {
      const claim = section.locator(`.claim[data-claim="${id}"]`);
      await claim.hover();
      marked.add(await drawn());
      await page.mouse.move(1, 1);
      assert.equal(await drawn(), plain, `${id} is left`);
      await claim.focus();
      assert.ok(marked.has(await drawn()), `${id} by the keyboard`);
      await claim.blur();
    }
    assert.equal(marked.size, 4);
    assert.match(await section.locator("figcaption").innerText(), /diamond marks the paper/);
    assert.deepEqual(heard.errors, []);
  });

  it("keeps the charts in view beside the last of their claims on a wide screen", async (t) => {
    const { page } = await opened(t);
    for (const id of ["M-6", "M-8"]) {
      await figure(page, id).locator(".claim").last().scrollIntoViewIfNeeded();
      const { y, height } = await figure(page, id).locator(".chart").first().boundingBox();
      const bar = await page.locator(".bar").boundingBox();
      assert.ok(y >= bar.y + bar.height - 1 && y + height <= page.viewportSize().height, `${id}: ${y} to ${y + height}`);
    }
  });

  it("says what the paper leaves open, and what that changes", async (t) => {
    const { page } = await opened(t);
    const rows = await page.locator(".open-settings tbody tr").allInnerTexts();
    assert.ok(rows.some((row) => /^delayed ACKs\s+\d+\s+M-/.test(row)), rows.join("\n"));
    assert.match(await page.locator('.claim[data-claim="M-6.5"] .hangs').innerText(), /fails with delayed ACKs/);
  });

  it("gives a scheme one colour in all figures of a paper", async (t) => {
    const { page } = await opened(t);
    const colour = (id) =>
      figure(page, id)
        .getByRole("button", { name: "newreno", exact: true })
        .locator("line")
        .evaluate((line) => line.style.stroke);
    assert.equal(await colour("M-4"), await colour("M-8"));
  });

  it("describes each chart in words", async (t) => {
    const { page } = await opened(t);
    const words = await figure(page, "M-4").locator(".chart").getAttribute("aria-label");
    assert.match(words, /^M-4: goodput, Mbit\/s, over senders\. newreno from [\d.]+ at 1 to [\d.]+ at 64/);
  });

  it("is dark where the system is, and the button turns it", async (t) => {
    const { page } = await opened(t, { colorScheme: "dark" });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByRole("button", { name: "Show in light colours" }).click();
    assert.notEqual(await ground(), dark);
  });

  it("has charts beside their claims on a wide screen, above them on a phone 390 pixels wide", async (t) => {
    const places = async (page) => {
      const [chart, claims] = [figure(page, "M-6").locator(".charts"), figure(page, "M-6").locator(".claims")];
      return [await chart.boundingBox(), await claims.boundingBox()];
    };
    const wide = await opened(t);
    const [left, right] = await places(wide.page);
    assert.ok(left.x + left.width <= right.x && Math.abs(left.y - right.y) < 2);
    const { page, heard } = await opened(t, { viewport: { width: 390, height: 844 } });
    const [above, below] = await places(page);
    assert.ok(above.y + above.height <= below.y);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    const over = await page.locator(".chart canvas").evaluateAll((all) => all.filter((c) => c.getBoundingClientRect().right > 390).length);
    assert.equal(over, 0);
    assert.deepEqual(heard.errors, []);
  });

  it("prints light, without what only a screen can use", async (t) => {
    const { page } = await opened(t, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    assert.deepEqual([await page.locator(".theme").isVisible(), await page.locator(".links").isVisible()], [false, false]);
    assert.equal(await page.locator(".chart canvas").first().isVisible(), true);
    assert.ok((await page.pdf({ format: "A4" })).length > 50_000);
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no serious finding of axe in ${colorScheme} colours`, async (t) => {
      const { page } = await opened(t, { colorScheme, bypassCSP: true });
      assert.deepEqual(await seriousFindings(page), []);
    });
  }
});
