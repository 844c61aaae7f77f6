import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, hovered, labels } from "./browser.mjs";

describePage("the report of ports with large buffers", "FANIN_WIDE", (opened) => {
  it("has room for every label of the queue's axis, in the unit of the setting", async (t) => {
    for (const width of [1120, 390]) {
      const { page } = await opened(t, { viewport: { width, height: 900 } });
      const { drawn, cut } = await labels(page);
      assert.deepEqual(cut, []);
      const sizes = drawn.filter((text) => /^[\d.]+ [KMG]i?B$/.test(text));
      assert.ok(sizes.length >= 3 && sizes.every((text) => /^\d{1,4} KiB$/.test(text)), `${sizes}`);
    }
  });

  it("keeps the charts of a story under each other", async (t) => {
    const { page } = await opened(t);
    const lefts = await page.locator("article").first().locator(".u-over").evaluateAll((all) => all.map((over) => over.getBoundingClientRect().left));
    assert.equal(lefts.length, 3);
    assert.deepEqual(new Set(lefts).size, 1, `${lefts}`);
  });

  it("says sizes in the unit of the setting beside the mouse", async (t) => {
    const { page } = await opened(t);
    const queue = page.locator("article .u-over").first();
    assert.match(await hovered(page, queue, 0.3), /queue\s*[\d.]+ (B|KiB)/);
  });
});
