import assert from "node:assert/strict";
import { it } from "node:test";
import { describePage, hovered, middle, seriousFindings } from "./browser.mjs";

describePage("the report of a switch whose ports share its memory", "FANIN_MEMORY", (opened) => {
  const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));

  it("draws the threshold over the queue, and says both and what all ports hold where the mouse is", async (t) => {
    const { page, heard } = await opened(t);
    const story = page.locator("section[aria-labelledby=inside] article").first();
    assert.match(await story.locator("h4").first().innerText(), /Queue at the client’s port, and its threshold/);
    const tip = await hovered(page, story.locator(".u-over").first(), 0.3);
    assert.match(tip, /ms[^]*queue[^]*[KM]?B[^]*threshold[^]*B[^]*all ports hold[^]*B/);
    const { stories } = await data(page);
    for (const { threshold, memory } of stories) assert.ok(threshold.us.length > 10 && memory.us.length > 10);
    assert.deepEqual(heard.errors, []);
  });

  it("has a row for the memory below its ports, without a link", async (t) => {
    const { page } = await opened(t);
    const over = page.locator("section[aria-labelledby=ports] article").first().locator(".u-over");
    const box = await middle(over);
    const rows = (await data(page)).heats[0].ports;
    assert.equal(rows.at(-1).tier, "shared memory");
    await page.mouse.move(box.cx, box.y + box.height - 4);
    const tip = await over.locator(".tip").innerText();
    assert.match(tip, /^switch at [^]*mean in use[^]*% of the shared memory[^]*most in use/);
    assert.ok(!tip.includes("link busy"), tip);
  });

  it("says who held it as packets found no room", async (t) => {
    const { page } = await opened(t);
    const says = await page.locator("section[aria-labelledby=ports] article").first().locator("ul.held li").allInnerTexts();
    const client = says.find((text) => text.startsWith("Packets dropped at switch>client "));
    assert.match(client ?? "", /held by: switch>server1 \d+ %, that port itself \d+ %\.$/);
  });

  it("has no serious finding of axe", async (t) => {
    const { page } = await opened(t);
    assert.deepEqual(await seriousFindings(page), []);
  });
});
