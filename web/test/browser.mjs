// Debian's Chromium, driven by Playwright, on one report.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const report = process.env["FANIN_REPORT"] ?? "";
export const missing = !existsSync(CHROMIUM)
  ? `${CHROMIUM} is not installed`
  : !existsSync(report)
    ? "FANIN_REPORT names no report; `make web-test` makes one"
    : undefined;

export const open = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

/** The report in a page of its own; `heard` holds errors and requests. */
export async function show(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1120, height: 900 }, ...options });
  const page = await context.newPage();
  const heard = { errors: [], requests: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && heard.errors.push(message.text()));
  page.on("pageerror", (error) => heard.errors.push(error.message));
  page.on("request", (request) => heard.requests.push(request.url()));
  await page.goto(pathToFileURL(report).href);
  await page.locator(".chart canvas").first().waitFor();
  return { page, heard };
}
