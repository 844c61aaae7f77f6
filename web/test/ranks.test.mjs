import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, hovered, labels, middle, seriousFindings } from "./browser.mjs";

describePage("the report of a trace of 1,024 ranks", "FANIN_RANKS", (opened) => {
  const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  const chart = (page) => page.locator("section[aria-labelledby=ranks] article").first();
  /** The number of colours on the canvas. */
  const pixels = (page) =>
    chart(page).locator("canvas").first().evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(Array.from({ length: data.length / 4 }, (_, i) => (data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2])).size;
    });

  it("draws every rank, and says what one does where the mouse is", async (t) => {
    const { page, heard } = await opened(t);
    const [{ ranks }] = (await data(page)).rank_charts;
    assert.equal(ranks.length, 1024);
    assert.ok(new Set(ranks).size > 100, "ranks differ");
    const tip = await hovered(page, chart(page).locator(".u-over"), 0.02);
    assert.match(tip, /^rank \d+ at [^]*computes[^]*%[^]*moves data[^]*%[^]*waits for others[^]*%/);
    assert.ok((await pixels(page)) > 10, "colours are mixed");
    assert.deepEqual(heard.errors, []);
  });

  it("zooms into ranks and times by dragging and by buttons, and back", async (t) => {
    const { page } = await opened(t);
    const over = chart(page).locator(".u-over");
    const rank = async () => {
      const box = await middle(over);
      await page.mouse.move(box.cx, box.y + box.height - 2);
      return Number((await over.locator(".tip").innerText()).match(/^rank (\d+)/)[1]);
    };
    assert.ok((await rank()) > 1000);
    const box = await middle(over);
    await page.mouse.move(box.x + 10, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.cx, box.cy, { steps: 5 });
    await page.mouse.up();
    const zoomed = await rank();
    assert.ok(zoomed > 400 && zoomed < 600, `${zoomed}`);
    await chart(page).getByRole("button", { name: "closer" }).click();
    assert.ok((await rank()) < zoomed);
    await chart(page).getByRole("button", { name: "whole" }).click();
    assert.ok((await rank()) > 1000);
  });

  it("cuts no label off, in either theme", async (t) => {
    const { page } = await opened(t);
    assert.deepEqual((await labels(page)).cut, []);
  });

  it("has no serious finding of axe", async (t) => {
    const { page } = await opened(t);
    assert.deepEqual(await seriousFindings(page), []);
  });
});
