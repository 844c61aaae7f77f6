import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, hovered, seriousFindings } from "./browser.mjs";

describePage("the report of a sweep over loads and buffers", "FANIN_LOADS", (opened) => {
  it("draws goodput and slowdown along the first key, without a console error", async (t) => {
    const { page, heard } = await opened(t);
    const over = page.locator("section[aria-labelledby=sweep] .u-over");
    assert.equal(await over.count(), 2);
    assert.match(await hovered(page, over.nth(0)), /^load \d0 %[^]*newreno[^]*Gbit\/s/);
    assert.match(await hovered(page, over.nth(1)), /^load \d0 %[^]*dctcp[^]*times/);
    assert.deepEqual(heard.errors, []);
  });

  it("has a choice of the other keys, which its curves follow", async (t) => {
    const { page } = await opened(t);
    const select = page.locator("#curve");
    assert.deepEqual(await select.locator("option").allTextContents(), ["at buffer 128 KiB", "at buffer 256 KiB"]);
    const over = page.locator("section[aria-labelledby=sweep] .u-over");
    const before = await hovered(page, over.nth(1));
    await select.selectOption("at buffer 256 KiB");
    assert.notEqual(await hovered(page, over.nth(1)), before);
  });

  it("names every point of the distributions by both keys", async (t) => {
    const { page } = await opened(t);
    const options = await page.locator("#point option").allTextContents();
    assert.equal(options.length, 6);
    assert.equal(options[0], "20 %, at buffer 128 KiB");
  });

  it("has a column a swept key in its tables, which sort in the order of the sweep", async (t) => {
    const { page } = await opened(t);
    const table = page.locator("[role=region][aria-labelledby=rows]");
    const heads = await table.locator("thead th").allTextContents();
    assert.deepEqual(heads.slice(0, 4), ["scheme", "hosts", "workload.load", "switch.buffer"]);
    await table.getByRole("button", { name: "workload.load" }).click();
    const loads = await table.locator("tbody tr td:nth-child(3)").allTextContents();
    assert.deepEqual([...new Set(loads)], ["20 %", "50 %", "80 %"]);
  });

  it("has no serious finding of axe", async (t) => {
    const { page } = await opened(t);
    assert.deepEqual(await seriousFindings(page), []);
  });
});
