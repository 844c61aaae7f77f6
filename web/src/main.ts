import "uplot/dist/uPlot.min.css";
import "./style.css";
import { distributions } from "./cdf";
import type { Report } from "./data";
import { el } from "./dom";
import { figures } from "./figure";
import { heats } from "./heat";
import { latency } from "./latency";
import { phases } from "./phases";
import { points, read } from "./read";
import { Schemes } from "./schemes";
import { service } from "./service";
import { slowdown } from "./slowdown";
import { stories } from "./story";
import { swarms } from "./swarms";
import { sweep } from "./sweep";
import { table } from "./table";
import { themeButton } from "./theme";

function comparison(report: Report): void {
  const schemes = new Schemes(report.schemes.map((scheme) => scheme.label));
  const charts = document.getElementById("charts");
  const bar = el("nav", { class: "bar", "aria-label": "View" }, schemes.buttons(), themeButton());
  const inside = [...stories(report, schemes), ...swarms(report, schemes), ...phases(report, schemes), ...heats(report, schemes)];
  // Long flows have no times that could be distributed.
  const timed = report.cdfs.some((cdf) => cdf.qct.ms.length + cdf.fct.ms.length > 0);
  const parts = [...(timed ? [distributions(report, schemes)] : []), ...slowdown(report, schemes), ...service(report, schemes), ...latency(report, schemes), ...inside, table(report, schemes)];
  if (report.many_to_one || points(report).length > 1) parts.unshift(sweep(report, schemes));
  charts?.replaceChildren(...parts);
  charts?.before(bar);
}

const data = read();
if ("kind" in data) {
  document.querySelector(".bar.figures")?.append(themeButton());
  figures(data);
} else {
  comparison(data);
}
