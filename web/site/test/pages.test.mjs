import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { globSync } from "tinyglobby";
import { seriousFindings } from "../../test/browser.mjs";
import { describeSite, SITE } from "./served.mjs";

/** Screenshots of every page on a phone. */
const SHOTS = path.join(SITE, "../site-shots");
const PHONE = { width: 390, height: 844 };

describeSite("every page", (open) => {
  test("fits a phone and is accessible, in light and dark, and writes nothing to the console", async (t) => {
    const pages = globSync("**/*.html", { cwd: SITE }).filter((page) => !page.startsWith("pagefind/"));
    const { page, heard } = await open(t, "search.html", { viewport: PHONE });
    const site = new URL(".", page.url()).href;
    const wrong = [];
    for (const name of pages) {
      await page.goto(site + name);
      await page.locator("main").waitFor();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        // A script of the page sets the colours.
        await page.waitForFunction((dark) => {
          const brightness = Math.max(...getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
          return brightness < 128 === dark;
        }, colorScheme === "dark");
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > PHONE.width) wrong.push(`${name}: ${width} px`);
        wrong.push(...(await seriousFindings(page)).map((finding) => `${name}, ${colorScheme}: ${finding}`));
        // For people to look at.
        await page.screenshot({ path: path.join(SHOTS, colorScheme, name.replace(/html$/, "png")) });
      }
      wrong.push(...heard.errors.splice(0).map((error) => `${name}: ${error}`));
    }
    assert.deepEqual(wrong, []);
  });

  test("keeps the reader's colours on the next page", async (t) => {
    const { page } = await open(t, "docs/incast.html", { colorScheme: "light" });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "Show in dark colours" }).click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.getByRole("link", { name: "Search" }).click();
    await page.locator("#search input").waitFor();
    assert.equal(await ground(), dark);
    // The search has the page's colours, too.
    const { text, field } = await page.locator("#search input").evaluate((input) => ({ text: getComputedStyle(input).color, field: getComputedStyle(input).backgroundColor }));
    assert.notEqual(text, field);
    assert.notEqual(field, "rgb(255, 255, 255)");
  });

  test("opens a scenario of the documentation in the playground, and copies a block", async (t) => {
    const { page, heard } = await open(t, "docs/incast.html", { permissions: ["clipboard-read", "clipboard-write"] });
    const link = page.locator(".of-code a").first();
    const text = await link.locator("xpath=../preceding-sibling::pre[1]").textContent();
    await link.locator("xpath=..").getByRole("button", { name: "Copy" }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    await link.click();
    await page.locator(".source .cm-content").waitFor();
    assert.equal(await page.locator('[name="link.rate"]').inputValue().then(Boolean), true);
    assert.deepEqual(heard.errors, []);
  });

  test("aligns numbers in tables as their source does", async (t) => {
    const { page } = await open(t, "docs/uet.html");
    assert.ok((await page.locator("td.right").count()) > 0);
    assert.equal(await page.locator("td.right").first().evaluate((cell) => getComputedStyle(cell).textAlign), "right");
  });
});
