// Debian's Chromium, driven by Playwright, on one page; and shared checks of every page.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const CHROMIUM = "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Tests of the page that an environment variable names: they get its path and a function that opens it until a test's end. */
export function describePage(title, variable, tests) {
  const { path, missing } = named(variable);
  describe(title, { skip: missing ?? false }, () => {
    let browser;
    before(async () => (browser = await launch()));
    after(() => browser?.close());
    const opened = async (t, options) => {
      const shown = await show(browser, path, options);
      t.after(() => shown.page.context().close());
      return shown;
    };
    tests(opened, path);
  });
}

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

/** The page that the variable names, or why it cannot be looked at. */
function named(variable) {
  const path = process.env[variable] ?? "";
  const absent = existsSync(path) ? undefined : `${variable} names no page; \`make web-test\` makes one`;
  const missing = existsSync(CHROMIUM) ? absent : `${CHROMIUM} is not installed`;
  if (missing) console.log(`skipped: ${missing}`);
  return { path, missing };
}

/** The file in a page of its own; `heard` holds errors and requests. */
async function show(browser, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1120, height: 900 }, ...options });
  const page = await context.newPage();
  // A busy machine is slow, not broken.
  page.setDefaultTimeout(300_000);
  await page.addInitScript(noteLabels);
  const heard = { errors: [], requests: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && heard.errors.push(message.text()));
  page.on("pageerror", (error) => heard.errors.push(error.message));
  page.on("request", (request) => heard.requests.push(request.url()));
  await page.goto(pathToFileURL(path).href);
  await page.locator(".chart canvas, table.bars").first().waitFor();
  return { page, heard };
}

/** In the page, before its own code: notes every text that is drawn on a canvas, and those that reach over its edges. */
function noteLabels() {
  globalThis.labels = { drawn: [], cut: [] };
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    const { a, b, e } = this.getTransform();
    const width = this.measureText(text).width * a;
    const left = e + a * x - width * ({ right: 1, end: 1, center: 0.5 }[this.textAlign] ?? 0);
    globalThis.labels.drawn.push(text);
    // A vertical text is an axis's name, drawn from its middle.
    if (b === 0 && (left < -0.5 || left + width > this.canvas.width + 0.5)) globalThis.labels.cut.push(text);
    return draw.call(this, text, x, ...rest);
  };
}

/** The texts on the page's charts as they were drawn last, and those that are cut off: all charts are drawn anew. */
export async function labels(page) {
  await page.evaluate(() => (globalThis.labels = { drawn: [], cut: [] }));
  await page.locator(".theme").first().click();
  await page.waitForTimeout(300);
  return page.evaluate(() => globalThis.labels);
}

/** The middle of an element, once it is in view. */
export async function middle(locator) {
  await locator.scrollIntoViewIfNeeded();
  const box = await locator.boundingBox();
  return { ...box, cx: box.x + box.width / 2, cy: box.y + box.height / 2 };
}

/** The text beside the cursor with the mouse there. */
export async function hovered(page, over, share = 0.5) {
  const box = await middle(over);
  await page.mouse.move(box.x + 2, box.cy);
  await page.mouse.move(box.x + box.width * share, box.cy);
  return over.locator(".tip").innerText();
}

/** Serious findings of axe, as texts. */
export async function seriousFindings(page) {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map((n) => n.target).join(" ")}`);
}
