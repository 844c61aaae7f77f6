// A chart of one x: a bar a curve, with its 95 % interval, in the legend's order.

import type { DrawnChart, DrawnCurve } from "./data";
import { el } from "./dom";
import type { Claims } from "./expected";
import { three } from "./format";

/** The chart as a table, so that it reads and prints as one. */
export function bars(chart: DrawnChart, claims: Claims): HTMLElement {
  const largest = chart.curves.reduce((most, { y }) => Math.max(most, y[0] ?? 0), 0) || 1;
  // The interval of few seeds may reach far over what was measured; it must not flatten the bars.
  const top = chart.curves.reduce((most, { hi }) => Math.max(most, Math.min(hi[0] ?? 0, 1.4 * largest)), largest);
  const rows = chart.curves.map((curve) =>
    el("tr", {}, el("th", { scope: "row" }, curve.name), el("td", {}, bar(curve, top, chart.ratios)), el("td", {}, said(curve))),
  );
  claims.onChange(() => {
    for (const [i, row] of rows.entries()) row.classList.toggle("back", claims.fades(chart.curves[i]?.name ?? ""));
  });
  return el("table", { class: "bars" }, el("tbody", {}, ...rows));
}

function bar(curve: DrawnCurve, top: number, ratios: boolean): HTMLElement {
  const [value, lo, hi] = [curve.y[0], curve.lo[0], curve.hi[0]];
  const share = (of: number) => `${(100 * Math.min(Math.max(of, 0), top)) / top}%`;
  const track = el("div", { class: "track" });
  if (value === undefined) return track;
  const fill = el("i", { class: "fill" });
  fill.style.width = share(value);
  track.append(fill);
  if (lo !== undefined && hi !== undefined && hi > lo) {
    const whisker = el("i", { class: "whisker" });
    whisker.style.left = share(lo);
    whisker.style.right = `calc(100% - ${share(hi)})`;
    track.append(whisker);
  }
  if (ratios) {
    const one = el("i", { class: "one" });
    one.style.left = share(1);
    track.append(one);
  }
  return track;
}

function said({ y, lo, hi }: DrawnCurve): string {
  const [value, low, high] = [y[0], lo[0], hi[0]];
  if (value === undefined) return "none";
  return low !== undefined && high !== undefined && high > low ? `${three(value)} ± ${three((high - low) / 2)}` : three(value);
}
