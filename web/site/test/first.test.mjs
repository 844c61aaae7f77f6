import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { describeSite } from "./served.mjs";

const STORED = fileURLToPath(new URL("../first.json", import.meta.url));

describeSite("first screen", (open) => {
  test("shows a stored collapse and its cure at once, then the same figures simulated in the page", async (t) => {
    const stored = JSON.parse(readFileSync(STORED, "utf8"));
    const { page, heard } = await open(t, "index.html");
    const first = page.locator("#first");
    const sentence = () => first.locator(".sentence").textContent();
    const last = stored.points.at(-1);
    assert.ok(last.remedy.mbps > 5 * last.today.mbps);
    assert.match(await sentence(), new RegExp(`^${last.servers} servers respond at once.*: ${last.today.mbps.toLocaleString("en-US")} Mbit/s`));
    // It is in view without a scroll.
    const box = await first.locator("svg").boundingBox();
    assert.ok(box.y + box.height < 700, JSON.stringify(box));
    await first.locator(".computed", { hasText: "in this page just now" }).waitFor({ timeout: 60_000 });
    const shown = [];
    await first.locator("input").focus();
    await page.keyboard.press("Home");
    for (const _ of stored.points) {
      shown.push((await sentence()).match(/[\d,.]+(?= Mbit\/s,)/g).map((number) => Number(number.replaceAll(",", ""))));
      await page.keyboard.press("ArrowRight");
    }
    assert.deepEqual(shown, stored.points.map(({ today, remedy }) => [today.mbps, remedy.mbps]));
    assert.deepEqual(heard.errors, []);
  });
});
