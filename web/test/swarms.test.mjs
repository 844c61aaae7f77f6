import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, hovered, labels, seriousFindings } from "./browser.mjs";

describePage("the report of a scheme that asks hubs", "FANIN_SWARMS", (opened) => {
  const part = (page) => page.locator("section", { has: page.locator("#swarms") });
  const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).swarms[0]);

  it("draws the tree of the scheme with hubs and of no other, without a console error", async (t) => {
    const { page, heard } = await opened(t);
    assert.deepEqual(await part(page).locator("h3").allInnerTexts(), ["sicc, 200 senders, key_value.per_request 200"]);
    const rows = part(page).locator(".tree li");
    const { nodes } = await data(page);
    assert.equal(await rows.count(), nodes.length + 1, "the last one is the scale");
    assert.ok(Math.max(...nodes.map((node) => node.depth)) >= 2, "some hub sends to another");
    for (const [i, node] of nodes.entries()) {
      assert.equal(await rows.nth(i).locator("b").innerText(), node.host);
      assert.equal(await rows.nth(i).locator(".rail").count(), node.depth);
    }
    assert.deepEqual(heard.errors, []);
  });

  it("says of each hub whom it waited for, and marks those that the front end waited for", async (t) => {
    const { page } = await opened(t);
    const rows = part(page).locator(".tree li");
    assert.match(await rows.first().innerText(), /^client front end: 200 objects\s+waited for server\d+ until [\d.]+ (ms|µs)$/);
    assert.match(await rows.nth(1).innerText(), /^server\d+ hub of rack \d: \d+ objects[^]*waited for server\d+ until [^]*; sent by [^]*, at client by /);
    const { nodes, says } = await data(page);
    const marked = await part(page).locator(".tree .critical b").allInnerTexts();
    assert.deepEqual(marked, nodes.filter((node) => node.critical).map((node) => node.host));
    assert.ok(says.includes(`The front end waited for ${marked[1]}, ${marked[1]} waited for `), says);
  });

  it("draws a hub's bar from when it was told until all of it was where it sends to", async (t) => {
    const { page } = await opened(t);
    const { nodes, length_ms } = await data(page);
    const row = part(page).locator(".tree li").nth(1);
    const track = await row.locator(".track").boundingBox();
    const parts = await Promise.all((await row.locator(".track i").all()).map((fill) => fill.boundingBox()));
    const at = (ms) => track.x + (track.width * ms) / length_ms;
    const last = parts[parts.length - 1];
    assert.ok(Math.abs(parts[0].x - at(nodes[1].told_ms)) < 1);
    assert.ok(Math.abs(last.x + last.width - at(nodes[1].end_ms)) < 1);
  });

  it("says speeds beside the line rate where the mouse is, and hides one", async (t) => {
    const { page } = await opened(t);
    const over = part(page).locator(".u-over");
    assert.match(await hovered(page, over), /^[\d.]+ (ms|µs)[^]*line rate[^]*1000[^]*assigned to all hubs[^]*sent by all hubs[^]*server\d+/);
    await part(page).getByRole("button", { name: "sent by all hubs" }).press("Enter");
    assert.ok(!(await hovered(page, over)).includes("sent by all hubs"));
    assert.match(await part(page).locator(".chart").getAttribute("aria-label"), /^hubs under sicc: [^,]*hubs, Mbit\/s, over time[^]*line rate from 1000/);
  });

  it("hides with its scheme, and cuts off no label", async (t) => {
    const { page } = await opened(t);
    assert.deepEqual((await labels(page)).cut, []);
    await page.locator(".bar .schemes button", { hasText: /^sicc$/ }).click();
    assert.equal(await part(page).locator("article").isVisible(), false);
  });

  it("stands above each other on a phone 390 pixels wide, without scrolling sideways", async (t) => {
    const { page } = await opened(t, { viewport: { width: 390, height: 844 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    const row = part(page).locator(".tree li").nth(1);
    const [who, track] = [await row.locator(".who").boundingBox(), await row.locator(".track").boundingBox()];
    assert.ok(track.y >= who.y + who.height && track.width > 250);
  });

  it("prints light", async (t) => {
    const { page } = await opened(t, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    assert.ok((await page.pdf({ format: "A4" })).length > 50_000);
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has no serious finding of axe in ${colorScheme} colours`, async (t) => {
      const { page } = await opened(t, { colorScheme, bypassCSP: true });
      assert.deepEqual(await seriousFindings(page), []);
    });
  }
});
