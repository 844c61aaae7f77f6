// A paper's figures, redrawn in its own axes: a line a curve, a band over seeds.

import type uPlot from "uplot";
import { bars } from "./bars";
import { at, axis, Chart, type Hover, LEFT, logTicks, tooltip, wide } from "./chart";
import type { DrawnChart, DrawnCurve, PaperFigure, ScorecardData } from "./data";
import { el } from "./dom";
import { Claims, expected, reported } from "./expected";
import { capital, three, time } from "./format";
import { apart, lines, NONE, type Point } from "./lines";
import { Schemes } from "./schemes";

/** Fills the places that the page keeps for charts. */
export function figures(card: ScorecardData): void {
  for (const figure of card.figures) {
    // Of all figures of the paper, so that a scheme has one colour in it.
    const all = names(card.figures.filter((other) => other.paper === figure.paper));
    const place = [...document.querySelectorAll<HTMLElement>(".charts")].find((e) => e.dataset["figure"] === figure.id);
    const claims = new Claims();
    claims.follow(figure, place?.parentElement);
    place?.replaceChildren(...figureParts(figure, new Schemes(names([figure]), all), claims));
  }
}

function names(all: readonly PaperFigure[]): string[] {
  return [...new Set(all.flatMap((figure) => figure.charts.flatMap((chart) => chart.curves.map((curve) => curve.name))))];
}

function figureParts(figure: PaperFigure, schemes: Schemes, claims: Claims): HTMLElement[] {
  const charts = figure.charts.map((chart) => {
    const title = el("h4", {}, capital(chart.y));
    if (chart.curves.every((curve) => curve.x.length === 0)) return el("figure", {}, title, el("p", {}, "Nothing was measured."));
    if (chart.bars) {
      const over = chart.ratios ? ["The line is 1."] : [];
      const caption = ["Mean over seeds with its 95 % CI.", ...over, ...legend(chart)].join(" ");
      return el("figure", {}, title, bars(chart, claims), el("figcaption", {}, caption));
    }
    const banded = chart.curves.some((curve) => curve.lo.length > 0);
    const caption = [
      ...(banded ? ["Mean over seeds; the band is its 95 % CI."] : []),
      ...(!banded && chart.steps ? ["One run, with the first seed. Drag to zoom, double-click to see all."] : []),
      ...legend(chart),
    ].join(" ");
    return el("figure", {}, title, curves(figure.id, chart, figure.log, schemes, claims), ...(caption ? [el("figcaption", {}, caption)] : []));
  });
  // Bars have their names beside them.
  if (figure.charts.every((chart) => chart.bars)) return charts;
  return [schemes.buttons(`Curves of ${figure.id} shown`), ...charts];
}

/** The legend of a chart's marks of claims. */
function legend(chart: DrawnChart): string[] {
  const some = [
    ...(reported(chart).length > 0 ? ["a diamond marks the paper’s value, shading the values that would pass"] : []),
    ...(chart.expected.some(({ mark }) => mark.onset.length > 0) ? ["a bar on the axis marks the collapse points that would pass"] : []),
  ];
  return some.length > 0 ? [`${capital(some.join("; "))}.`] : [];
}

/** A chart of curves that follows the buttons of its names and the selected claim; `id` is its name in the text description. */
export function curves(id: string, chart: DrawnChart, log: boolean, schemes: Schemes, claims = new Claims()): HTMLElement {
  const drawn = new Chart(says(id, chart), 300, () => draw(chart, log, schemes, claims));
  schemes.onChange(() => drawn.draw());
  claims.onChange(() => drawn.draw());
  return drawn.frame;
}

/** The chart in words: where each curve begins, ends and is largest. */
function says(id: string, chart: DrawnChart): string {
  const curves = chart.curves
    .filter((curve) => curve.x.length > 0)
    .map(({ name, x, y }) => {
      const last = x.length - 1;
      const top = y.indexOf(y.reduce((a, b) => Math.max(a, b)));
      const most = top === 0 || top === last ? "" : `, at most ${three(y[top] ?? 0)} at ${plain(x[top] ?? 0)}`;
      return `${name} from ${three(y[0] ?? 0)} at ${plain(x[0] ?? 0)} to ${three(y[last] ?? 0)} at ${plain(x[last] ?? 0)}${most}`;
    });
  return `${id}: ${chart.y}, over ${chart.x}. ${curves.join("; ")}.`;
}

/** A number for an axis. */
function plain(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function where(chart: DrawnChart, x: number): string {
  if (chart.steps) return time(x);
  return chart.x === "round" ? `round ${x}` : `${plain(x)} ${chart.x}`;
}

function points(curve: DrawnCurve, xs: readonly number[], floor: number): Point[] {
  const places = new Map(curve.x.map((x, i) => [x, i]));
  return xs.map((x) => {
    const i = places.get(x);
    const value = i === undefined ? undefined : curve.y[i];
    if (i === undefined || value === undefined) return NONE;
    return { value: Math.max(value, floor), lo: Math.max(curve.lo[i] ?? value, floor), hi: Math.max(curve.hi[i] ?? value, floor) };
  });
}

/** Text of one curve's value at the cursor. */
function read(curve: DrawnCurve, x: number, steps: boolean): string | undefined {
  const i = steps ? at(curve.x, x) : curve.x.indexOf(x);
  const value = curve.y[i];
  if (value === undefined) return undefined;
  const [lo, hi] = [curve.lo[i] ?? value, curve.hi[i] ?? value];
  return hi > lo ? `${three(value)} ± ${three((hi - lo) / 2)}` : three(value);
}

function draw(chart: DrawnChart, log: boolean, schemes: Schemes, claims: Claims) {
  const xs = [...new Set(chart.curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const shown = chart.curves.filter((curve) => schemes.shows(curve.name));
  const scaled = shown.length > 0 ? shown : chart.curves;
  const values = [...scaled.flatMap((curve) => curve.y), ...reported(chart)];
  const positive = values.filter((value) => value > 0).reduce((a, b) => Math.min(a, b), Infinity);
  const largest = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  // The band of a few seeds may be much wider than the values; it must not flatten the curves.
  const top = scaled.flatMap((curve) => curve.hi).reduce((a, b) => Math.max(a, Math.min(b, 1.4 * largest)), largest);
  const logarithmic = log && positive < Infinity;
  const low = logarithmic ? positive / 1.4 : 0;
  const high = top * (logarithmic ? 1.4 : 1.08);
  const labels = chart.curves.map((curve) => curve.name);
  // No measure is under zero, nor has a logarithmic axis a place for it: bands end there.
  const columns = chart.curves.map((curve) => points(curve, xs, low));
  const drawn = lines(schemes, labels, columns, chart.steps, (label) => claims.fades(label));
  const hover: Hover = (u) => {
    const x = chart.steps ? u.posToVal(u.cursor.left ?? 0, "x") : xs[u.cursor.idx ?? -1];
    if (x === undefined) return undefined;
    const values = shown
      .map((curve) => ({ name: curve.name, value: read(curve, x, chart.steps), colour: schemes.colour(curve.name) }))
      .filter((line): line is typeof line & { value: string } => line.value !== undefined);
    return { title: where(chart, x), lines: values };
  };
  const [first, last] = [xs[0] ?? 0, xs[xs.length - 1] ?? 1];
  const margin = (last - first) * 0.02 || 1;
  // Of time, round values tell more than those at which something happened.
  const few = !chart.steps && xs.length <= 16;
  const ticks: uPlot.Axis = few
    ? { splits: (u) => apart(u, xs, plain), filter: (_, splits) => splits, values: (_, splits) => splits.map(plain) }
    : { values: (_, splits) => splits.map(plain) };
  const upward: uPlot.Axis = logarithmic
    ? { splits: () => logTicks(low, high), filter: (_, splits) => splits, values: (_, splits) => splits.map(plain) }
    : { values: (_, splits) => splits.map(plain) };
  const options: Omit<uPlot.Options, "width" | "height"> = {
    legend: { show: false },
    padding: [8, 14, 0, 0],
    scales: {
      x: chart.steps ? { time: false } : { time: false, range: () => [first - margin, last + margin] },
      y: { ...(logarithmic ? { distr: 3 as const, log: 10 as const } : {}), range: () => [low, high] },
    },
    axes: [axis({ label: chart.x, size: 34, ...ticks }), axis({ size: wide(LEFT), ...upward })],
    series: drawn.series,
    bands: drawn.bands,
    cursor: { drag: { x: chart.steps, y: false, dist: 5 }, y: false, points: chart.steps ? { show: false } : { size: 9 } },
    plugins: [expected(chart, claims, schemes), tooltip(hover)],
  };
  return { options, data: [xs, ...drawn.values] as uPlot.AlignedData };
}
