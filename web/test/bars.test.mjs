import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, seriousFindings } from "./browser.mjs";

describePage("a figure of one x", "FANIN_BARS", (opened) => {
  it("has a bar a curve with its value and interval, in the legend's order", async (t) => {
    const { page, heard } = await opened(t);
    const charts = page.locator("#H-r table.bars");
    assert.equal(await charts.count(), 4);
    const rows = charts.first().locator("tr");
    assert.equal(await rows.first().locator("th").innerText(), "shallow: drop tail");
    assert.match(await rows.first().locator("td").last().innerText(), /^1\.00/);
    assert.match(await rows.nth(1).locator("td").last().innerText(), /^[\d.]+( ± [\d.]+)?$/);
    assert.ok((await charts.first().locator(".one").count()) === (await rows.count()));
    assert.equal(await charts.last().locator(".one").count(), 0, "timeouts are drawn as they are");
    assert.deepEqual(heard.errors, []);
  });

  it("draws bars as long as their values", async (t) => {
    const { page } = await opened(t);
    const rows = page.locator("#H-r table.bars").first().locator("tr");
    const length = async (row) => (await row.locator(".fill").boundingBox()).width;
    const value = async (row) => Number.parseFloat(await row.locator("td").last().innerText());
    const [a, b] = [rows.first(), rows.nth(3)];
    assert.ok(Math.abs((await length(a)) / (await length(b)) - (await value(a)) / (await value(b))) < 0.03);
  });

  it("shows what claims expect of ratios where the bars' own scale has it, and of the one that is looked at alone", async (t) => {
    const { page } = await opened(t);
    const chart = page.locator("#H-r table.bars").first();
    const place = async (row, part) => {
      const track = await row.locator(".track").boundingBox();
      const { x, width } = await row.locator(part).boundingBox();
      return [x, x + width].map((at) => (at - track.x) / track.width);
    };
    const row = (name) => chart.locator("tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    // H-r.4: the run time of deep drop tail, within 5 %; both stand over the shallow one's.
    await page.locator('.claim[data-claim="H-r.4"]').hover();
    assert.deepEqual(await chart.locator("tr:not(.back) th").allInnerTexts(), ["deep: drop tail", "deep: red 1 ms", "deep: red 1 ms + ecn"]);
    assert.equal(await chart.locator(".wanted.full").count(), 2);
    const [least, most] = await place(row("deep: red 1 ms"), ".wanted");
    const [, base] = await place(row("deep: drop tail"), ".fill");
    assert.ok(Math.abs(least / base - 0.95) < 0.01 && Math.abs(most / base - 1.05) < 0.01, `${least}, ${most} of ${base}`);
    // An order has no bounds, and leaves none of others'.
    await page.locator('.claim[data-claim="H-r.2"]').hover();
    assert.equal(await chart.locator(".wanted").count(), 0);
    await page.mouse.move(0, 0);
    assert.ok((await chart.locator(".wanted:not(.full)").count()) > 0);
  });

  it("fits a phone 390 pixels wide", async (t) => {
    const { page } = await opened(t, { viewport: { width: 390, height: 844 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.ok((await page.locator(".track").first().boundingBox()).width > 60);
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no serious finding of axe in ${colorScheme} colours`, async (t) => {
      const { page } = await opened(t, { colorScheme, bypassCSP: true });
      assert.deepEqual(await seriousFindings(page), []);
    });
  }
});
