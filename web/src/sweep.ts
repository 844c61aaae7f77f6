// Goodput, and query time or slowdown, along the sweep.

import uPlot from "uplot";
import { axis, Chart, drawing, font, type Hover, LEFT, logTicks, reference, tooltip, wide } from "./chart";
import type { Report, ReportRow } from "./data";
import { choice, el, section } from "./dom";
import { rateUnit, three, tick, time } from "./format";
import { grid } from "./grid";
import { apart, ENDS, ends, labelled, lines, NONE, type Point } from "./lines";
import { bound, curvesOf, points } from "./read";
import type { Schemes } from "./schemes";
import { colours } from "./theme";

type Pick = (row: ReportRow) => Point;

/** Which curve of each scheme is drawn; who draws one hears when that changes. */
class View {
  private readonly listeners: (() => void)[] = [];

  constructor(public curve: string) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  choose(curve: string): void {
    this.curve = curve;
    for (const listener of this.listeners) listener();
  }
}

/** Both charts, with a choice of the curve where a scheme has several. */
export function sweep(report: Report, schemes: Schemes): HTMLElement {
  const all = curvesOf(report);
  const view = new View(all[0] ?? "");
  // Long flows have no queries.
  const rounds = report.rows.some((row) => row.rounds + row.rounds_open > 0);
  const slowed = report.rows.some((row) => row.slowdown.length > 0);
  const charts = [goodput(report, schemes, view)];
  if (rounds) charts.push(queryTime(report, schemes, view));
  else if (slowed) charts.push(slowdowns(report, schemes, view));
  // Labels at curves' ends need the whole width.
  const pair = el("div", { class: labelled(schemes.labels) ? "" : "pair" }, ...charts);
  return section("sweep", "Over the sweep", ...(all.length > 1 ? [chooser(all, view)] : []), pair, ...grid(report, schemes));
}

/** The other keys that move, a choice a combination. */
function chooser(all: string[], view: View): HTMLElement {
  const select = el("select", { id: "curve" }, ...all.map((curve) => el("option", { value: curve }, curve)));
  select.addEventListener("change", () => view.choose(select.value));
  return el("div", { class: "title" }, el("label", { for: "curve" }, "Shown ", select));
}

/** The collapse points of a scheme, by label. */
function onsetsOf(report: Report, label: string): ReportRow[] {
  const places = report.schemes.find((scheme) => scheme.label === label)?.onsets ?? [];
  return report.rows.filter((row) => row.scheme === label && places.includes(row.place));
}

/** Title of the x axis in a sentence: `the number of senders`, `load`. */
function against({ axis: { title } }: Report): string {
  return title === "senders" || title === "hosts" ? `the number of ${title}` : title;
}

function goodput(report: Report, schemes: Schemes, view: View): HTMLElement {
  const unit = rateUnit(report.line_mbps);
  const line = report.line_mbps / unit.mbps;
  const pick: Pick = ({ goodput_mbps: g }) => ({
    value: g.mean / unit.mbps,
    lo: Math.max(0, g.lo / unit.mbps),
    hi: Math.min(line, g.hi / unit.mbps),
  });
  const show = (p: Point) => (p.value === null ? "none" : `${three(p.value)} ${unit.name}`);
  const ends = report.schemes.map(({ label }) => {
    const at = onsetsOf(report, label).map((row) => (row.curve === "" ? row.tick : `${row.tick} ${row.curve}`));
    return `${label} ${at.length === 0 ? "has no collapse point" : `has its collapse point at ${at.join(" and at ")}`}`;
  });
  const says = `Goodput against ${against(report)}, line rate ${three(line)} ${unit.name}: ${ends.join("; ")}.`;
  const chart = new Chart(says, 300, () =>
    curves(report, schemes, view, pick, show, {
      scale: { range: () => [-0.04 * line, line * 1.12] },
      axis: { label: `goodput, ${unit.name}`, values: (_, splits) => splits.map(String) },
      plugins: [
        reference(line, `line rate, ${three(line)} ${unit.name}`),
        allowed(report, view, unit.mbps),
        rings(report, schemes, view, unit.mbps),
      ],
    }),
  );
  redrawn(chart, schemes, view);
  const caption = "Mean over seeds; the band is the 95 % CI. The dotted line is the network’s upper bound, if known. A ring marks a collapse point: goodput there and at the next point is below half of the scheme’s best so far.";
  return el("figure", {}, el("h3", {}, "Goodput"), chart.frame, el("figcaption", {}, caption));
}

/** A dotted line at the largest upper bound of any scheme. */
function allowed(report: Report, view: View, unit: number): uPlot.Plugin {
  const most = (place: number) => Math.max(...report.rows.filter((row) => row.place === place).map((row) => row.allowed_mbps ?? 0));
  const along = points(report).filter((row) => row.curve === view.curve);
  const line = along.map(({ x, place }) => ({ x, y: most(place) / unit })).filter(({ y }) => y > 0);
  return drawing(false, (u, c, ratio) => {
    if (line.length === 0) return;
    c.strokeStyle = c.fillStyle = colours().faint;
    c.lineWidth = ratio;
    c.setLineDash([ratio, 3 * ratio]);
    c.beginPath();
    for (const { x, y } of line.sort((a, b) => a.x - b.x)) c.lineTo(u.valToPos(x, "x", true), u.valToPos(y, "y", true));
    c.stroke();
    const [first] = line;
    if (!first) return;
    font(c, ratio);
    c.textAlign = "left";
    const text = "upper bound";
    // Within the chart, wherever its first point is.
    const last = u.bbox.left + u.bbox.width - c.measureText(text).width;
    c.fillText(text, Math.max(u.bbox.left, Math.min(u.valToPos(first.x, "x", true), last)), u.valToPos(first.y, "y", true) + 14 * ratio);
  });
}

/** Redraw a chart when its controls change. */
function redrawn(chart: Chart, schemes: Schemes, view: View): void {
  schemes.onChange(() => chart.draw());
  view.onChange(() => chart.draw());
}

function queryTime(report: Report, schemes: Schemes, view: View): HTMLElement {
  let which: "p99" | "p50" = "p99";
  const pick: Pick = (row) => {
    const [lo, hi] = row.qct_ms_over_seeds[which] ?? [null, null];
    return { value: row.qct_ms[which], lo, hi, least: bound(row.qct_ms, which) };
  };
  const all = report.rows.flatMap((row) => [row.qct_ms.p50, row.qct_ms.p99]).filter((v) => v !== null);
  const low = Math.min(...all) / 1.4;
  const high = Math.max(...all) * 1.4;
  const says =
    all.length === 0
      ? "No query time: no round ended."
      : `Query time against ${against(report)}, from ${time(Math.min(...all))} to ${time(Math.max(...all))}; the table below has every value.`;
  const show = (p: Point) => (p.value === null ? "none" : `${p.least ? "≥ " : ""}${time(p.value)}`);
  const chart = new Chart(says, 300, () =>
    curves(report, schemes, view, pick, show, {
      scale: { distr: 3, log: 10, range: () => (all.length === 0 ? [1, 10] : [low, high]) },
      axis: { size: wide(LEFT), splits: () => logTicks(low, high), filter: (_, splits) => splits, values: (_, splits) => splits.map(tick) },
      plugins: [],
    }),
  );
  redrawn(chart, schemes, view);
  const switcher = choice("Percentile of query time", PERCENTILES, (value) => {
    which = value;
    chart.draw();
  });
  const caption = "From the request to the last byte of the last response, over all seeds. Unfinished queries count as longer than they had waited (≥: a lower bound). The band spans the seeds’ own values.";
  return el("figure", {}, el("div", { class: "title" }, el("h3", {}, "Query time"), switcher), chart.frame, el("figcaption", {}, caption));
}

/** Slowdown of flows of all sizes. */
function slowdowns(report: Report, schemes: Schemes, view: View): HTMLElement {
  let which: "p99" | "p50" = "p99";
  const pick: Pick = (row) => ({ value: row.slowdown[0]?.[which] ?? null, lo: null, hi: null });
  const all = report.rows.flatMap((row) => [row.slowdown[0]?.p50 ?? null, row.slowdown[0]?.p99 ?? null]).filter((v) => v !== null);
  const [low, high] = all.length === 0 ? [1, 10] : [Math.min(...all) / 1.4, Math.max(...all) * 1.4];
  const says =
    all.length === 0
      ? "No slowdown: no flow ended."
      : `Slowdown of flows against ${against(report)}, from ${three(Math.min(...all))} to ${three(Math.max(...all))} times; the table below has every value.`;
  const show = (p: Point) => (p.value === null ? "none" : `${three(p.value)} times`);
  const chart = new Chart(says, 300, () =>
    curves(report, schemes, view, pick, show, {
      scale: { distr: 3, log: 10, range: () => [low, high] },
      axis: { label: "slowdown", splits: () => logTicks(low, high), filter: (_, splits) => splits, values: (_, splits) => splits.map(String) },
      plugins: [],
    }),
  );
  redrawn(chart, schemes, view);
  const switcher = choice("Percentile of slowdown", PERCENTILES, (value) => {
    which = value;
    chart.draw();
  });
  const caption = "A flow’s duration over the minimum time that its bytes take alone in the network; flows of all sizes and seeds.";
  return el("figure", {}, el("div", { class: "title" }, el("h3", {}, "Slowdown"), switcher), chart.frame, el("figcaption", {}, caption));
}

const PERCENTILES = [
  { value: "p99", label: "99th percentile" },
  { value: "p50", label: "median" },
] as const;

interface Vertical {
  scale: uPlot.Scale;
  axis: uPlot.Axis;
  plugins: uPlot.Plugin[];
}

/** A curve and a band a scheme. */
function curves(report: Report, schemes: Schemes, view: View, pick: Pick, show: (p: Point) => string, y: Vertical) {
  const { title, log } = report.axis;
  const along = points(report).filter((row) => row.curve === view.curve);
  along.sort((a, b) => a.x - b.x);
  const x = along.map((row) => row.x);
  const ticks = new Map(along.map((row) => [row.x, row.tick]));
  const label = (n: number) => ticks.get(n) ?? "";
  const columns = schemes.labels.map((label) =>
    along.map(({ place }) => {
      const row = report.rows.find((r) => r.scheme === label && r.place === place);
      return row ? pick(row) : NONE;
    }),
  );
  const { series, bands, values } = lines(schemes, schemes.labels, columns);
  const hover: Hover = (u) => {
    const i = u.cursor.idx;
    if (i === null || i === undefined) return undefined;
    const shown = schemes.labels
      .map((label, s) => ({ label, point: columns[s]?.[i] ?? NONE }))
      .filter(({ label }) => schemes.shows(label))
      .map(({ label, point }) => ({ name: label, value: show(point), colour: schemes.colour(label) }));
    const tick = along[i]?.tick ?? "";
    return { title: title === "senders" || title === "hosts" ? `${tick} ${title}` : `${title} ${tick}`, lines: shown };
  };
  const options: Omit<uPlot.Options, "width" | "height"> = {
    legend: { show: false },
    padding: [8, labelled(schemes.labels) ? ENDS : 14, 0, 0],
    scales: {
      x: { time: false, ...(log ? { distr: 3 as const, log: 2 as const } : {}), range: () => spread(x, log) },
      y: y.scale,
    },
    axes: [
      axis({ label: title, size: 34, splits: (u) => apart(u, x, label), filter: (_, splits) => splits, values: (_, splits) => splits.map(label) }),
      axis({ size: wide(LEFT - 10), ...y.axis }),
    ],
    series,
    bands,
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 9 } },
    plugins: [tooltip(hover), ...y.plugins, ...(labelled(schemes.labels) ? [ends(schemes, schemes.labels, columns)] : [])],
  };
  return { options, data: [x, ...values] as uPlot.AlignedData };
}

/** From the first to the last of rising values, with a margin. */
function spread(x: number[], log: boolean): [number, number] {
  const [first, last] = [x[0] ?? 1, x[x.length - 1] ?? 2];
  const margin = last > first ? (last - first) / 12 : Math.abs(first) / 2 || 1;
  return log ? [first / 1.2, last * 1.2] : [first - margin, last + margin];
}

/** A ring around each onset of the curves that are shown. */
function rings(report: Report, schemes: Schemes, view: View, mbps: number): uPlot.Plugin {
  return drawing(false, (u, c, ratio) => {
    for (const { label } of report.schemes) {
      const row = onsetsOf(report, label).find((r) => r.curve === view.curve);
      if (!row || !schemes.shows(label)) continue;
      const x = u.valToPos(row.x, "x", true);
      const y = u.valToPos(row.goodput_mbps.mean / mbps, "y", true);
      c.strokeStyle = schemes.colour(label);
      c.lineWidth = 2 * ratio;
      c.beginPath();
      c.arc(x, y, 8 * ratio, 0, 2 * Math.PI);
      c.stroke();
    }
  });
}
