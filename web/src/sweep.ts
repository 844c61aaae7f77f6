// Goodput and query time against fan-in.

import uPlot from "uplot";
import { axis, Chart, drawing, type Hover, LEFT, logTicks, reference, tooltip, wide } from "./chart";
import { bound, fanIns, type Report, type Row } from "./data";
import { choice, el, section } from "./dom";
import { rateUnit, three, tick, time } from "./format";
import { apart, lines, NONE, type Point } from "./lines";
import type { Schemes } from "./schemes";

type Pick = (row: Row) => Point;

/** Both charts. */
export function sweep(report: Report, schemes: Schemes): HTMLElement {
  // Long flows have no queries.
  const rounds = report.rows.some((row) => row.rounds + row.rounds_open > 0);
  const charts = rounds ? [goodput(report, schemes), queryTime(report, schemes)] : [goodput(report, schemes)];
  return section("sweep", "Over the sweep", el("div", { class: "pair" }, ...charts));
}

function goodput(report: Report, schemes: Schemes): HTMLElement {
  const unit = rateUnit(report.line_mbps);
  const line = report.line_mbps / unit.mbps;
  const pick: Pick = ({ goodput_mbps: g }) => ({
    value: g.mean / unit.mbps,
    lo: Math.max(0, g.lo / unit.mbps),
    hi: Math.min(line, g.hi / unit.mbps),
  });
  const show = (p: Point) => (p.value === null ? "none" : `${three(p.value)} ${unit.name}`);
  const ends = report.schemes.map(({ label, onset }) => `${label} ${onset === null ? "has no onset" : `has its onset at ${onset}`}`);
  const says = `Goodput against the number of senders, line rate ${three(line)} ${unit.name}: ${ends.join("; ")}.`;
  const chart = new Chart(says, 300, () =>
    curves(report, schemes, pick, show, {
      scale: { range: () => [-0.04 * line, line * 1.12] },
      axis: { label: `goodput, ${unit.name}`, values: (_, splits) => splits.map(String) },
      plugins: [reference(line, `line rate, ${three(line)} ${unit.name}`), rings(report, schemes, unit.mbps)],
    }),
  );
  schemes.onChange(() => chart.draw());
  const caption = "Mean over seeds, with its 95 % interval as a band. A ring marks an onset: under half of the scheme’s own best before, there and at the next point.";
  return el("figure", {}, el("h3", {}, "Goodput"), chart.frame, el("figcaption", {}, caption));
}

function queryTime(report: Report, schemes: Schemes): HTMLElement {
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
      : `Query time against the number of senders, from ${time(Math.min(...all))} to ${time(Math.max(...all))}; the table below has every value.`;
  const show = (p: Point) => (p.value === null ? "none" : `${p.least ? "≥ " : ""}${time(p.value)}`);
  const chart = new Chart(says, 300, () =>
    curves(report, schemes, pick, show, {
      scale: { distr: 3, log: 10, range: () => (all.length === 0 ? [1, 10] : [low, high]) },
      axis: { size: wide(LEFT), splits: () => logTicks(low, high), filter: (_, splits) => splits, values: (_, splits) => splits.map(tick) },
      plugins: [],
    }),
  );
  schemes.onChange(() => chart.draw());
  const options = [
    { value: "p99", label: "99th percentile" },
    { value: "p50", label: "median" },
  ] as const;
  const switcher = choice("Percentile of query time", options, (value) => {
    which = value;
    chart.draw();
  });
  const caption = "From the question to the last byte of the last answer, all seeds together, those cut off as longer than they had waited (≥: a lower bound); the band spans the seeds’ own values.";
  return el("figure", {}, el("div", { class: "title" }, el("h3", {}, "Query time"), switcher), chart.frame, el("figcaption", {}, caption));
}

interface Vertical {
  scale: uPlot.Scale;
  axis: uPlot.Axis;
  plugins: uPlot.Plugin[];
}

/** A curve and a band a scheme over a doubling axis. */
function curves(report: Report, schemes: Schemes, pick: Pick, show: (p: Point) => string, y: Vertical) {
  const x = fanIns(report);
  const columns = schemes.labels.map((label) =>
    x.map((n) => {
      const row = report.rows.find((r) => r.scheme === label && r.point.fan_in === n);
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
    return { title: `${x[i]} senders`, lines: shown };
  };
  const options: Omit<uPlot.Options, "width" | "height"> = {
    legend: { show: false },
    padding: [8, 14, 0, 0],
    scales: {
      x: { time: false, distr: 3, log: 2, range: () => [(x[0] ?? 1) / 1.2, (x[x.length - 1] ?? 2) * 1.2] },
      y: y.scale,
    },
    axes: [
      axis({ label: "senders", size: 34, splits: (u) => apart(u, x), filter: (_, splits) => splits, values: (_, splits) => splits.map(String) }),
      axis({ size: wide(LEFT - 10), ...y.axis }),
    ],
    series,
    bands,
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 9 } },
    plugins: [tooltip(hover), ...y.plugins],
  };
  return { options, data: [x, ...values] as uPlot.AlignedData };
}

/** A ring around each onset, with its number. */
function rings(report: Report, schemes: Schemes, mbps: number): uPlot.Plugin {
  return drawing(false, (u, c, ratio) => {
    for (const { label, onset } of report.schemes) {
      const row = report.rows.find((r) => r.scheme === label && r.point.fan_in === onset);
      if (!row || !schemes.shows(label)) continue;
      const x = u.valToPos(row.point.fan_in, "x", true);
      const y = u.valToPos(row.goodput_mbps.mean / mbps, "y", true);
      c.strokeStyle = schemes.colour(label);
      c.lineWidth = 2 * ratio;
      c.beginPath();
      c.arc(x, y, 8 * ratio, 0, 2 * Math.PI);
      c.stroke();
    }
  });
}
