import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { it } from "node:test";
import { pathToFileURL } from "node:url";
import { describePage, hovered, labels, middle, seriousFindings } from "./browser.mjs";

describePage("the report of a cluster whose ports are measured", "FANIN_CLUSTER", (opened, report) => {
  const part = (page, id) => page.locator("section", { has: page.locator(`#${id}`) });
  const maps = (page) => part(page, "ports").locator("article");

  /** The text beside the cursor in the middle of a map's row. */
  const atRow = async (page, number) => {
    const over = maps(page).first().locator(".u-over");
    const box = await middle(over);
    const rows = (await page.evaluate(() => JSON.parse(document.getElementById("data").textContent))).heats[0].ports;
    const tiers = new Set(rows.slice(0, number + 1).map((row) => row.tier)).size;
    const height = box.height / (rows.length + new Set(rows.map((row) => row.tier)).size);
    await page.mouse.move(box.cx, box.y + height * (number + tiers + 0.5));
    return { tip: await over.locator(".tip").innerText(), row: rows[number] };
  };

  it("has phases and a map of ports for each scheme, without a console error or a request", async (t) => {
    const { page, heard } = await opened(t);
    const schemes = await page.locator(".bar .schemes button").count();
    assert.equal(schemes, 2);
    assert.equal(await part(page, "phases").locator(".chart canvas").count(), schemes);
    assert.equal(await maps(page).locator(".chart canvas").count(), schemes);
    assert.deepEqual(heard.errors, []);
    assert.deepEqual(heard.requests, [pathToFileURL(report).href]);
    assert.ok(statSync(report).size < 3_000_000);
  });

  it("says tasks by phase where the mouse is, and hides a phase", async (t) => {
    const { page } = await opened(t);
    const article = part(page, "phases").locator("article").first();
    assert.match(await hovered(page, article.locator(".u-over"), 0.1), /^[\d.]+ m?s[^]*maps running[^]*reduces shuffling[^]*reduces after/);
    await article.getByRole("button", { name: "maps running" }).press("Enter");
    assert.ok(!(await hovered(page, article.locator(".u-over"), 0.1)).includes("maps running"));
  });

  it("has the times of the service's queries, a row a scheme", async (t) => {
    const { page } = await opened(t);
    const rows = await part(page, "service").locator("tbody tr").allInnerTexts();
    assert.equal(rows.length, 2);
    for (const row of rows) assert.match(row, /40\s+\d+\s+\d+(\s+[\d.]+ m?s){4}$/);
  });

  it("has the latency of packets, a row a scheme and class", async (t) => {
    const { page } = await opened(t);
    const rows = await part(page, "latency").locator("tbody tr").allInnerTexts();
    assert.ok(rows.length >= 4 && rows.length % 2 === 0, `${rows.length} rows`);
    for (const row of rows) assert.match(row, /[a-z-]+\s+40\s+[\d.]+k?M?(\s+[\d.]+ ([µm]?s)){5}$/);
  });

  it("cuts off no name of a port", async (t) => {
    const { page } = await opened(t);
    const { drawn, cut } = await labels(page);
    assert.ok(drawn.some((text) => text.includes(">")));
    assert.deepEqual(cut, []);
  });

  it("says port, time and queue where the mouse is", async (t) => {
    const { page } = await opened(t);
    for (const number of [0, 12]) {
      const { tip, row } = await atRow(page, number);
      assert.ok(tip.startsWith(`${row.port} at `), `${tip} of ${row.port}`);
      assert.match(tip, /at [\d.]+ m?s[^]*mean queue[^]*% of the buffer[^]*longest queue[^]*link busy[^]*\d %/);
    }
  });

  it("draws a queue in the legend's colours, those of its mean or of its longest", async (t) => {
    const { page } = await opened(t);
    const painted = () =>
      maps(page)
        .first()
        .locator("canvas")
        .evaluate((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          // Of the legend's darkest red.
          let count = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i] === 0x7d && data[i + 1] === 0x12 && data[i + 2] === 0x28) count += 1;
          return count;
        });
    const darkest = part(page, "ports").locator(".legend i").last();
    assert.equal(await darkest.evaluate((swatch) => getComputedStyle(swatch).backgroundColor), "rgb(125, 18, 40)");
    const mean = await painted();
    await part(page, "ports").getByRole("button", { name: "longest", exact: true }).first().press("Enter");
    assert.ok((await painted()) > mean, `${mean} of the mean`);
  });

  it("says how many ports are left out, and the map in words", async (t) => {
    const { page } = await opened(t);
    const map = maps(page).first();
    assert.match(await map.locator("figcaption").innerText(), /\d+ other active ports are omitted\./);
    assert.match(await map.locator(".chart").getAttribute("aria-label"), /^Queues of 32 ports over time under drop tail[^]*host up: [\d.]+ [KM]?B at server\d+>leaf\d/);
  });

  it("zooms a map by dragging and resets it by a double click", async (t) => {
    const { page } = await opened(t);
    const time = async () => (await atRow(page, 0)).tip.match(/at ([\d.]+ m?s)/)[1];
    const whole = await time();
    const over = maps(page).first().locator(".u-over");
    const box = await middle(over);
    await page.mouse.move(box.x + box.width * 0.1, box.cy);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.2, box.cy, { steps: 5 });
    await page.mouse.up();
    assert.notEqual(await time(), whole);
    await over.dblclick();
    assert.equal(await time(), whole);
  });

  it("has tiers in a table that sorts from the keyboard, and hides a scheme everywhere", async (t) => {
    const { page } = await opened(t);
    const table = part(page, "ports").locator("table");
    const tiers = await table.locator("tbody tr td:nth-child(2)").allInnerTexts();
    assert.deepEqual(tiers.slice(0, 4), ["host up", "leaf up", "spine down", "leaf down"]);
    await table.getByRole("button", { name: "tier", exact: true }).press("Enter");
    assert.deepEqual(await table.locator("tbody tr td:nth-child(2)").allInnerTexts(), [...tiers].sort());
    await page.locator(".bar .schemes button").first().click();
    assert.deepEqual([await maps(page).first().isVisible(), await maps(page).last().isVisible()], [false, true]);
    assert.equal(await table.locator("tbody tr:visible").count(), 4);
  });

  it("does not scroll sideways on a phone 390 pixels wide", async (t) => {
    const { page, heard } = await opened(t, { viewport: { width: 390, height: 844 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.deepEqual(heard.errors, []);
  });

  it("prints light", async (t) => {
    const { page } = await opened(t, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    assert.equal(await maps(page).first().locator("canvas").isVisible(), true);
    assert.ok((await page.pdf({ format: "A4" })).length > 50_000);
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no serious finding of axe in ${colorScheme} colours`, async (t) => {
      const { page } = await opened(t, { colorScheme, bypassCSP: true });
      assert.deepEqual(await seriousFindings(page), []);
    });
  }
});
