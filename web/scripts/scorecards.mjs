// Takes the scorecards of a reproduction for the site: scorecards.mjs REPORT writes web/site/scorecards.html, the page without its script and
// style, which the site has already.
import { readFileSync, writeFileSync } from "node:fs";

const [report] = process.argv.slice(2);
const page = readFileSync(report, "utf8");
const start = page.indexOf("<body>") + "<body>".length;
const data = /<script type="application\/json" id="data">.*?<\/script>/s.exec(page);
if (start < 10 || !data) throw new Error(`${report} is no scorecard`);
const made = `<p class="setting">Reproduced on ${new Date().toISOString().slice(0, 10)}. The <a href="../papers.html">verdicts at the papers’ own settings</a> are on a page of their own.</p>\n</header>`;
const body = page.slice(start, data.index).replace(/<p class="origin">.*?<\/p>\n/s, "").replace("</header>", () => made);
writeFileSync("web/site/scorecards.html", `${body.trim()}\n${data[0]}\n`);
