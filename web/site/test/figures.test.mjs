import assert from "node:assert/strict";
import { test } from "node:test";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite } from "./served.mjs";

/** Waits for a figure's line, and returns its numbers. */
async function figures(figure, previous = "") {
  const line = figure.locator(".status", { hasText: /Mbit\/s/ }).filter({ hasNotText: previous || "\u0000" });
  await line.waitFor({ timeout: 60_000 });
  const text = await line.textContent();
  const [, goodput, drops, timeouts] = /^([\d,.]+) Mbit.*; (\d+) packets? dropped and (\d+) timeouts?/.exec(text).map((part) => Number(part.replaceAll(",", "")));
  return { text, goodput, drops, timeouts };
}

/** Moves a figure's slider by this many values. */
async function slide(page, figure, steps) {
  await figure.locator("input").focus();
  for (let step = 0; step < Math.abs(steps); step++) await page.keyboard.press(steps > 0 ? "ArrowRight" : "ArrowLeft");
}

describeSite("living figures", (open) => {
  test("show a round, a timeout, a threshold, pauses and five cures", async (t) => {
    const { page, heard } = await open(t, "docs/incast.html");
    const places = page.locator(".living");
    assert.equal(await places.count(), 6);
    const [rounds, gap, threshold, pauses, cures] = [0, 2, 3, 4, 5].map((place) => places.nth(place));

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

    await pauses.scrollIntoViewIfNeeded();
    const four = await figures(pauses);
    const [, links] = / ([\d,]+) links were paused/.exec(four.text);
    assert.ok(Number(links) > 5 && four.drops === 0, four.text);
    await slide(page, pauses, 2);
    const roomy = await figures(pauses, four.text);
    assert.ok(!roomy.text.includes("paused") && roomy.drops === 0, roomy.text);

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
    if (process.env.SHOTS) for (const [place, figure] of [rounds, gap, threshold, pauses, cures].entries()) await figure.screenshot({ path: `${process.env.SHOTS}/${place}.png` });
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });

  test("walk through a round with the figures of its run", async (t) => {
    const { page, heard } = await open(t, "docs/incast.html");
    const figure = page.locator(".living").nth(1);
    await figure.scrollIntoViewIfNeeded();
    const steps = figure.locator(".steps li");
    await steps.first().waitFor({ timeout: 60_000 });
    const titles = await steps.locator("button").allTextContents();
    assert.deepEqual(titles, ["Requests", "The queue grows", "Packets are lost", "Silence", "A timer fires", "The end"]);
    const says = Object.fromEntries(titles.map((title, place) => [title, place]));
    const text = async (title) => await steps.nth(says[title]).locator("p").textContent();
    const ms = (amount, unit) => Number(amount) * { "µs": 1e-3, ms: 1, s: 1e3 }[unit];
    const times = async (title) => [...(await text(title)).matchAll(/([\d.]+) (µs|ms|s)\b/g)].map(([, amount, unit]) => ms(amount, unit));
    // The wait is for a timer of 200 ms or more, it ends with the timer, and the round with it.
    const [calm, wait] = await times("Silence");
    const [fired, resumed] = await times("A timer fires");
    const [whole, moved] = await times("The end");
    assert.ok(wait >= 199 && calm < 10, await text("Silence"));
    assert.ok(Math.abs(calm + wait - resumed) < 1 && fired <= resumed && resumed <= whole, await text("A timer fires"));
    assert.ok(moved > 0 && wait + moved <= whole + 1, await text("The end"));
    const [, lost] = /drops (\d+) packets?/.exec(await text("Packets are lost"));
    const { drops } = await figures(figure);
    assert.ok(Number(lost) > 0 && Number(lost) <= drops, `${lost} of ${drops}`);
    // A chosen step shows its time.
    await steps.nth(says["Packets are lost"]).locator("button").click();
    assert.equal(await figure.locator('.steps li[aria-current="step"] button').textContent(), "Packets are lost");
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });
});
