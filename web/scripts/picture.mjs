// The picture of the README: findings, sweep and one story of the report that is named, in docs/report.png.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report] = process.argv.slice(2);
if (!report) throw new Error("usage: picture.mjs REPORT");
const out = join(dirname(fileURLToPath(import.meta.url)), "../../docs/report.png");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1040, height: 900 } });
await page.goto(pathToFileURL(report).href);
await page.locator("#cdf").locator("..").evaluate((section) => section.remove());
await page.waitForTimeout(300);
const { y, height } = await page.locator("article").first().boundingBox();
await page.screenshot({ path: out, fullPage: true, clip: { x: 0, y: 0, width: 1040, height: y + height + 6 } });
await browser.close();
