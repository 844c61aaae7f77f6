import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, labels, seriousFindings } from "./browser.mjs";

describePage("the report of many schemes over two keys", "FANIN_MANY", (opened) => {
  const SCHEMES = ["newreno", "cubic", "dctcp", "d2tcp", "l2dct", "vegas", "newreno+red", "newreno+m21"];

  it("names its schemes at the ends of their curves, cut off nowhere", async (t) => {
    for (const width of [1400, 390]) {
      const { page } = await opened(t, { viewport: { width, height: 900 } });
      const { drawn, cut } = await labels(page);
      const named = drawn.flatMap((text) => text.split(", "));
      for (const scheme of SCHEMES) assert.ok(named.includes(scheme), `${scheme} at ${width}`);
      assert.deepEqual(cut, []);
    }
  });

  it("has a map a scheme of both keys, whose numbers have their unit", async (t) => {
    const { page } = await opened(t);
    const maps = page.locator(".grids table");
    assert.equal(await maps.count(), SCHEMES.length);
    const map = maps.first();
    assert.deepEqual(await map.locator("thead th").allInnerTexts(), ["senders", "2", "8"]);
    assert.deepEqual(await map.locator("tbody th").allInnerTexts(), ["at rto min 5 ms", "at rto min 200 ms"]);
    const cells = await map.locator("tbody td").allInnerTexts();
    assert.ok(cells.length === 4 && cells.every((text) => Number(text) >= 0), `${cells}`);
    const colours = await page.locator(".grids td").evaluateAll((all) => all.map((cell) => getComputedStyle(cell).backgroundColor));
    assert.ok(new Set(colours).size > 2, "they differ as goodputs do");
    assert.match(await page.locator("figure", { has: page.locator(".grids") }).innerText(), /in Mbit\/s/);
  });

  it("keeps its table's caption within what is seen, at 1,400 pixels too", async (t) => {
    const { page } = await opened(t, { viewport: { width: 1400, height: 900 } });
    const region = await page.locator("[role=region][aria-labelledby=rows]").boundingBox();
    const caption = await page.locator("[aria-labelledby=rows] caption span").boundingBox();
    assert.ok(caption.x >= region.x && caption.x + caption.width <= region.x + region.width, `${caption.width} of ${region.width}`);
  });

  it("has no serious finding of axe in either colours", async (t) => {
    for (const colorScheme of ["light", "dark"]) {
      const { page } = await opened(t, { colorScheme, bypassCSP: true });
      assert.deepEqual(await seriousFindings(page), []);
    }
  });
});
