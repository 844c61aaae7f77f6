import assert from "node:assert/strict";
import { test } from "node:test";
import puppeteer from "puppeteer-core";
import { describeServed } from "./served.mjs";

// By Puppeteer: Playwright needs WebDriver BiDi commands (emulation.setMediaFeaturesOverride) that Debian's Firefox ESR lacks.
const FIREFOX = "/usr/bin/firefox-esr";

/** Waits for an element with this text. */
async function shows(page, selector, text) {
  for (let tries = 0; tries < 600; tries++) {
    const texts = await page.$$eval(selector, (found) => found.map((element) => element.textContent));
    const found = texts.find((one) => text.test(one));
    if (found !== undefined) return found;
    await new Promise((later) => setTimeout(later, 100));
  }
  assert.fail(`${selector} does not show ${text}`);
}

describeServed("Firefox", FIREFOX, () => puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true }), (opened) => {
  test("simulates in the playground and in living figures", async (t) => {
    const page = await opened.browser.newPage();
    t.after(() => page.close());
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`${opened.site}index.html`);
    await shows(page, ".status", /^Simulated with/);
    await page.click('[data-case="erasure"]');
    await shows(page, ".cure", /Give each port 1 MiB/);
    await shows(page, ".status", /^Simulated with/);
    await shows(page, ".finding.collapsed, .finding.degrades", /cubic/);
    await page.goto(`${opened.site}docs/incast.html`);
    await page.$eval(".living", (figure) => figure.scrollIntoView());
    const eight = await shows(page, ".living .status", /Mbit/);
    assert.match(eight, /; 0 packets dropped/);
    assert.deepEqual(errors, []);
  });
});
