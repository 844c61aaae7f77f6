import assert from "node:assert/strict";
import { test } from "node:test";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite } from "./served.mjs";

describeSite("scorecards", (open) => {
  test("show every figure beside its claims", async (t) => {
    const { page, heard } = await open(t, "papers/scorecards.html");
    await page.locator("canvas").first().waitFor();
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/scorecards.png` });
    const figures = await page.locator(".bar.figures .links a").count();
    assert.ok(figures > 40, `${figures} figures`);
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(heard.errors, []);
  });
});
