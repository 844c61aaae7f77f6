// Two swept axes as a heat map: goodput of each scheme, a row a curve and a column a point along it.

import type { Report, ReportRow } from "./data";
import { el } from "./dom";
import { rateUnit, three } from "./format";
import { curvesOf, points } from "./read";
import { type Schemes, swatch } from "./schemes";

/** A map a scheme; none where one axis is swept. */
export function grid(report: Report, schemes: Schemes): HTMLElement[] {
  const curves = curvesOf(report);
  if (curves.length < 2) return [];
  const most = Math.max(...report.rows.map((row) => row.goodput_mbps.mean));
  const share = (row: ReportRow) => row.goodput_mbps.mean / (row.allowed_mbps ?? most);
  const known = report.rows.every((row) => row.allowed_mbps !== null);
  const unit = rateUnit(report.line_mbps);
  const along = [...new Map(points(report).map((row) => [row.x, row.tick]))].sort(([a], [b]) => a - b);
  const cell = (scheme: string, curve: string, x: number) => {
    const row = report.rows.find((r) => r.scheme === scheme && r.curve === curve && r.x === x);
    if (!row) return el("td", {}, "");
    const text = el("td", {}, three(row.goodput_mbps.mean / unit.mbps));
    text.style.background = `color-mix(in srgb, ${shade(share(row))}, var(--panel))`;
    return text;
  };
  const maps = schemes.labels.map((scheme) => {
    const head = el("tr", {}, el("th", { scope: "col" }, report.axis.title), ...along.map(([, tick]) => el("th", { scope: "col" }, tick)));
    const rows = curves.map((curve) => el("tr", {}, el("th", { scope: "row" }, curve), ...along.map(([x]) => cell(scheme, curve, x))));
    const table = el("table", { class: "grid" }, el("caption", {}, swatch(schemes, scheme), scheme), el("thead", {}, head), el("tbody", {}, ...rows));
    schemes.onChange(() => (table.hidden = !schemes.shows(scheme)));
    return table;
  });
  const of = known ? "the network’s upper bound" : "the highest value of any point";
  const caption = `Mean goodput in ${unit.name}; green is 100 % of ${of}, red is 0 %.`;
  const frame = el("div", { class: "scroll grids", tabindex: "0", role: "region", "aria-labelledby": "grid" }, ...maps);
  return [el("figure", {}, el("h3", { id: "grid" }, "Goodput over both axes"), frame, el("figcaption", {}, caption))];
}

/** From red through amber to green, faint enough to be read on. */
function shade(share: number): string {
  const mixed = Math.min(1, Math.max(0, share));
  const [from, to, way] = mixed < 0.5 ? ["--bad", "--warn", mixed * 2] : ["--warn", "--good", mixed * 2 - 1];
  return `color-mix(in srgb, var(${to}) ${Math.round(way * 100)}%, var(${from})) 30%`;
}
