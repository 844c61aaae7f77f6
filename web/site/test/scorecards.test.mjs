import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { globSync } from "tinyglobby";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite } from "./served.mjs";

describeSite("scorecards", (open) => {
  test("publish the recorded verdict of every claim, and their numbers", async (t) => {
    const { page, heard } = await open(t, "papers.html");
    const recorded = Object.assign({}, ...globSync("papers/*/expected.json").map((file) => JSON.parse(readFileSync(file, "utf8")).full));
    const shown = await page.locator("[data-claim]").evaluateAll((all) => all.map((one) => ({ id: one.dataset.claim, counts: "counts" in one.dataset, verdict: one.querySelector(".chip").textContent })));
    assert.ok(shown.length > 300, `${shown.length} claims`);
    assert.deepEqual(Object.fromEntries(shown.map(({ id, verdict }) => [id, verdict])), recorded);
    // The totals, and the rows of the table, are those of the claims that count.
    const of = (verdict) => shown.filter((claim) => claim.counts && recorded[claim.id] === verdict).length;
    const [held, all, failed, undecided] = (await page.locator(".total").textContent()).match(/\d+/g).map(Number);
    assert.deepEqual([held, failed, undecided, all], [of("pass"), of("fail"), of("undecided"), shown.filter(({ counts }) => counts).length]);
    const rows = await page.locator("main tbody tr").evaluateAll((lines) => lines.map((line) => [...line.cells].slice(1, 5).map((cell) => Number(cell.textContent))));
    assert.deepEqual([0, 1, 2, 3].map((column) => rows.reduce((sum, row) => sum + row[column], 0)), [all, held, failed, undecided]);
    const dates = await page.locator("main tbody tr td:last-child").allTextContents();
    assert.ok(dates.every((date) => /^\d{4}-\d\d-\d\d$|^unknown$/.test(date)), dates.join(" "));
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });

  test("show every figure beside its claims", async (t) => {
    const { page, heard } = await open(t, "papers/scorecards.html");
    await page.locator("canvas").first().waitFor();
    const figures = await page.locator(".bar.figures .links a").count();
    assert.ok(figures > 40, `${figures} figures`);
    assert.match(await page.locator("main, header").filter({ hasText: "Reproduced on" }).first().textContent(), /Reproduced on \d{4}-\d\d-\d\d/);
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });
});
