import assert from "node:assert/strict";
import { test } from "node:test";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite } from "./served.mjs";

/** Waits for a figure's line, and returns its numbers. */
async function figures(figure, previous = "") {
  const line = figure.locator(".status", { hasText: /Mbit\/s/ }).filter({ hasNotText: previous || "\u0000" });
  await line.waitFor({ timeout: 60_000 });
  const text = await line.textContent();
  const [, goodput, drops, timeouts] = /^([\d,.]+) Mbit.*; ([\d,.]+) packets dropped and ([\d,.]+) timeouts/.exec(text).map((part) => Number(part.replaceAll(",", "")));
  return { text, goodput, drops, timeouts };
}

/** Moves a figure's slider by this many values. */
async function slide(page, figure, steps) {
  await figure.locator("input").focus();
  for (let step = 0; step < Math.abs(steps); step++) await page.keyboard.press(steps > 0 ? "ArrowRight" : "ArrowLeft");
}

describeSite("living figures", (open) => {
  test("show a round, a timeout, a threshold and five cures", async (t) => {
    const { page, heard } = await open(t, "docs/incast.html");
    const places = page.locator(".living");
    assert.equal(await places.count(), 4);
    const [rounds, gap, threshold, cures] = [0, 1, 2, 3].map((place) => places.nth(place));

    await rounds.scrollIntoViewIfNeeded();
    const eight = await figures(rounds);
    assert.equal(eight.drops, 0);
    await slide(page, rounds, 1);
    const twelve = await figures(rounds, eight.text);
    assert.ok(twelve.drops > 0 && twelve.goodput < eight.goodput / 10, twelve.text);
    assert.equal(await rounds.locator("output").textContent(), "12");

    await gap.scrollIntoViewIfNeeded();
    const long = await figures(gap);
    await slide(page, gap, 3);
    const short = await figures(gap, long.text);
    assert.ok(short.goodput > 10 * long.goodput && short.timeouts > 0, short.text);

    await threshold.scrollIntoViewIfNeeded();
    const usual = await figures(threshold);
    await slide(page, threshold, -2);
    const small = await figures(threshold, usual.text);
    assert.ok(small.goodput < usual.goodput && usual.timeouts === 0, small.text);

    await cures.scrollIntoViewIfNeeded();
    const none = await figures(cures);
    assert.ok(none.timeouts > 0);
    let last = none;
    for (const cure of ["newreno+m21", "newreno+gss", "newreno+red+ecn", "sicc", "picc"]) {
      await cures.getByRole("button", { name: cure, exact: true }).click();
      last = await figures(cures, last.text);
      if (["newreno+m21", "newreno+gss", "sicc"].includes(cure)) assert.equal(last.timeouts, 0, last.text);
      assert.ok((await cures.locator("canvas, svg").count()) > 0, cure);
    }
    if (process.env.SHOTS) for (const [place, figure] of [rounds, gap, threshold, cures].entries()) await figure.screenshot({ path: `${process.env.SHOTS}/${place}.png` });
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });
});
