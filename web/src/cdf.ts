// Distributions of query and flow times at one point.

import uPlot from "uplot";
import { at, axis, Chart, type Hover, LEFT, logTicks, tooltip, wide } from "./chart";
import type { Curve, Report } from "./data";
import { choice, el, section } from "./dom";
import { three, tick, time } from "./format";
import { named, points } from "./read";
import type { Schemes } from "./schemes";

export function distributions(report: Report, schemes: Schemes): HTMLElement {
  const all = points(report);
  const onsets = report.schemes.flatMap((s) => s.onsets);
  let place = onsets.length > 0 ? Math.min(...onsets) : (all[all.length - 1]?.place ?? 0);
  let which: "qct" | "fct" = report.many_to_one ? "qct" : "fct";
  const says = "Cumulative distributions of completion times, one curve per scheme; percentiles are in the table below.";
  const chart = new Chart(says, 300, () => curves(report, schemes, place, which));
  schemes.onChange(() => chart.draw());
  const select = el("select", { id: "point" }, ...all.map((row) => el("option", { value: String(row.place) }, named(row))));
  select.value = String(place);
  select.addEventListener("change", () => {
    place = Number(select.value);
    chart.draw();
  });
  const options = [
    { value: "qct", label: "queries" },
    { value: "fct", label: "flows" },
  ] as const;
  const switcher = choice("Times of", options, (value) => {
    which = value;
    chart.draw();
  });
  const label = el("label", { for: "point" }, `${report.axis.title.charAt(0).toUpperCase()}${report.axis.title.slice(1)} `, select);
  const controls = el("div", { class: "title" }, label, ...(report.many_to_one ? [switcher] : []));
  const caption = report.many_to_one
    ? "Share of queries, or of single responses, that completed within this time; all seeds pooled."
    : "Share of flows that completed within this time; all seeds pooled.";
  return section("cdf", "Completion times", el("figure", {}, controls, chart.frame, el("figcaption", {}, caption)));
}

function curves(report: Report, schemes: Schemes, place: number, which: "qct" | "fct") {
  const empty: Curve = { ms: [], share: [] };
  const found = schemes.labels.map((label) => report.cdfs.find((c) => c.scheme === label && c.place === place)?.[which] ?? empty);
  // Every curve begins at zero, just before its first time.
  const tables = found.map(({ ms, share }): uPlot.AlignedData => {
    const first = ms[0];
    return first === undefined ? [[1], [null]] : [[first * (1 - 1e-9), ...ms], [0, ...share.map((s) => s * 100)]];
  });
  const times = found.flatMap((curve) => curve.ms);
  const low = times.length > 0 ? Math.min(...times) / 1.15 : 1;
  const high = times.length > 0 ? Math.max(...times) * 1.15 : 10;
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const series: uPlot.Series[] = [{}];
  for (const label of schemes.labels) {
    series.push({
      label,
      show: schemes.shows(label),
      stroke: schemes.colour(label),
      dash: schemes.dash(label),
      width: 2,
      spanGaps: true,
      points: { show: false },
      ...(stepped ? { paths: stepped } : {}),
    });
  }
  const hover: Hover = (u) => {
    const ms = u.posToVal(u.cursor.left ?? 0, "x");
    const lines = schemes.labels
      .map((label, i) => ({ label, curve: found[i] ?? empty }))
      .filter(({ label, curve }) => schemes.shows(label) && curve.ms.length > 0)
      .map(({ label, curve }) => ({
        name: label,
        value: `${three((curve.share[at(curve.ms, ms)] ?? 0) * 100)} %`,
        colour: schemes.colour(label),
      }));
    return { title: `within ${time(ms)}`, lines };
  };
  const options: Omit<uPlot.Options, "width" | "height"> = {
    legend: { show: false },
    padding: [8, 14, 0, 0],
    scales: { x: { time: false, distr: 3, log: 10, range: () => [low, high] }, y: { range: () => [0, 104] } },
    axes: [
      axis({ label: "completion time", size: 34, splits: () => logTicks(low, high), filter: (_, s) => s, values: (_, s) => s.map(tick) }),
      axis({ size: wide(LEFT - 18), label: "share, %" }),
    ],
    series,
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    plugins: [tooltip(hover)],
  };
  return { options, data: uPlot.join(tables) };
}
