// A chart of one x: a bar per curve in legend order, with its 95 % CI and the expectations of claims.

import type { Band, DrawnChart, DrawnCurve } from "./data";
import { el } from "./dom";
import { type Claims, reported } from "./expected";
import { three } from "./format";

/** The chart as a table, so that it reads and prints as one. */
export function bars(chart: DrawnChart, claims: Claims): HTMLElement {
  const values = [...chart.curves.map(({ y }) => y[0] ?? 0), ...reported(chart)];
  const largest = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  // The CI of a few seeds may be much wider than the values; it must not flatten the bars.
  const top = chart.curves.reduce((most, { hi }) => Math.max(most, Math.min(hi[0] ?? 0, 1.4 * largest)), largest);
  const drawn = chart.curves.map((curve) => {
    const track = el("div", { class: "track" });
    const row = el("tr", {}, el("th", { scope: "row" }, curve.name), el("td", {}, track), el("td", {}, described(curve)));
    return { curve, track, row };
  });
  const draw = () => {
    const marks = claims.marks(chart);
    for (const { curve, track, row } of drawn) {
      const bands = marks.flatMap(({ mark, full }) => mark.bands.filter((band) => band.curve === curve.name).map((band) => ({ band, full })));
      track.replaceChildren(...bar(curve, top, chart.ratios), ...bands.flatMap(({ band, full }) => wanted(band, top, full)));
      row.classList.toggle("back", claims.fades(curve.name));
    }
  };
  claims.onChange(draw);
  draw();
  const rows = drawn.map(({ row }) => row);
  return el("table", { class: "bars" }, el("tbody", {}, ...rows));
}

/** The position of a value along a bar. */
function share(of: number, top: number): string {
  return `${(100 * Math.min(Math.max(of, 0), top)) / top}%`;
}

/** A part of a bar's place, which ends so far before its end. */
function part(name: string, from: number, to: number, top: number): HTMLElement {
  const element = el("i", { class: name });
  element.style.left = share(from, top);
  element.style.right = `calc(100% - ${share(to, top)})`;
  return element;
}

function bar(curve: DrawnCurve, top: number, ratios: boolean): HTMLElement[] {
  const [value, lo, hi] = [curve.y[0], curve.lo[0], curve.hi[0]];
  if (value === undefined) return [];
  return [
    part("fill", 0, value, top),
    ...(lo !== undefined && hi !== undefined && hi > lo ? [part("whisker", lo, hi, top)] : []),
    ...(ratios ? [part("one", 1, 1, top)] : []),
  ];
}

/** The expectation of a claim for a bar; a single bound covers everything on its side. */
function wanted({ least, most, reported }: Band, top: number, full: boolean): HTMLElement[] {
  const [lo, hi, value] = [least[0] ?? null, most[0] ?? null, reported[0] ?? null];
  const drawn = (lo !== null && hi !== null) || (full && (lo !== null || hi !== null));
  const marks = [...(drawn ? [part("wanted", lo ?? 0, hi ?? top, top)] : []), ...(value !== null ? [part("reported", value, value, top)] : [])];
  for (const mark of marks) mark.classList.toggle("full", full);
  return marks;
}

function described({ y, lo, hi }: DrawnCurve): string {
  const [value, low, high] = [y[0], lo[0], hi[0]];
  if (value === undefined) return "none";
  return low !== undefined && high !== undefined && high > low ? `${three(value)} ± ${three((high - low) / 2)}` : three(value);
}
