// A line per name with its band over seeds, for sweeps and papers' figures.

import uPlot from "uplot";
import { font } from "./chart";
import type { Schemes } from "./schemes";
import { colours } from "./theme";

export interface Point {
  value: number | null;
  lo: number | null;
  hi: number | null;
  /** The value is a lower bound. */
  least?: boolean;
}

export const NONE: Point = { value: null, lo: null, hi: null };

/** Series, bands and values for uPlot: `columns` has the points of each label over one x; steps hold until the next value; faded curves are behind. */
export function lines(schemes: Schemes, labels: readonly string[], columns: readonly Point[][], steps = false, fades = (_label: string) => false) {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const values: (number | null)[][] = [];
  const stepped = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  for (const [i, label] of labels.entries()) {
    const column = columns[i] ?? [];
    const over = labels.filter((other, j) => j > i && schemes.shows(other) && coincide(column, columns[j] ?? [])).length;
    const common = { show: schemes.shows(label), spanGaps: true };
    const colour = fades(label) ? `${schemes.colour(label)}40` : schemes.colour(label);
    if (!fades(label) && column.some((p) => p.lo !== p.hi)) {
      const first = series.length;
      series.push({ ...common, width: 0, points: { show: false } }, { ...common, width: 0, points: { show: false } });
      bands.push({ series: [first + 1, first], fill: `${colour}26` });
      values.push(column.map((p) => p.lo), column.map((p) => p.hi));
    }
    series.push({
      ...common,
      label,
      stroke: colour,
      dash: schemes.dash(label),
      // Wider than the line above it, so that coinciding lines stay visible.
      width: (steps ? 1.5 : 2) + 3 * Math.min(over, 3),
      points: steps ? { show: false } : { show: true, size: 6 + 3 * Math.min(over, 3), fill: colour },
      ...(stepped ? { paths: stepped } : {}),
    });
    values.push(column.map((p) => p.value));
  }
  return { series, bands, values };
}

/** Whether two curves have the same values, to a hundredth, wherever both have one. */
export function coincide(one: readonly Point[], other: readonly Point[]): boolean {
  const both = one.map((p, i) => [p.value, other[i]?.value ?? null]).filter((pair): pair is [number, number] => pair[0] !== null && pair[1] !== null);
  return both.length > 0 && both.every(([a, b]) => Math.abs(a - b) <= 0.01 * Math.max(Math.abs(a), Math.abs(b)));
}

/** With this many schemes colours are ambiguous: labels are drawn at the ends of curves. */
const MANY = 8;

/** The width that labels at curves' ends take; none where colours do. */
export const ENDS = 150;

export function labelled(labels: readonly string[]): boolean {
  return labels.length >= MANY;
}

/** Labels at the ends of curves, one for those that end together. */
export function ends(schemes: Schemes, labels: readonly string[], columns: readonly Point[][]): uPlot.Plugin {
  const draw = (u: uPlot) => {
    const c = u.ctx;
    const ratio = devicePixelRatio;
    const right = u.bbox.left + u.bbox.width + 8 * ratio;
    const found = labels.flatMap((label, i) => {
      const value = columns[i]?.map((p) => p.value).filter((v) => v !== null).pop();
      return schemes.shows(label) && value !== undefined ? [{ label, y: u.valToPos(value, "y", true) }] : [];
    });
    const groups: { names: string[]; y: number }[] = [];
    for (const { label, y } of found.sort((a, b) => a.y - b.y)) {
      const group = groups[groups.length - 1];
      if (group && y - group.y < 4 * ratio) group.names.push(label);
      else groups.push({ names: [label], y });
    }
    c.save();
    font(c, ratio);
    c.textBaseline = "middle";
    let above = -Infinity;
    for (const { names, y } of groups) {
      for (const [place, words] of wrapped(c, names, (ENDS - 12) * ratio).entries()) {
        const at = Math.max(place === 0 ? y : above + 14 * ratio, above + 14 * ratio);
        c.fillStyle = names.length > 1 ? colours().text : schemes.colour(names[0] ?? "");
        c.textAlign = "left";
        c.fillText(words, right, at);
        above = at;
      }
    }
    c.restore();
  };
  return { hooks: { draw } };
}

/** Names with commas between, in lines of up to that width. */
function wrapped(c: CanvasRenderingContext2D, names: string[], width: number): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const longer = `${lines[lines.length - 1] ?? ""}, ${name}`;
    if (lines.length > 0 && c.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(name);
  }
  return lines;
}

/** The ticks whose labels leave room for each other. */
export function apart(u: uPlot, ticks: number[], label: (value: number) => string): number[] {
  u.ctx.save();
  font(u.ctx, 1);
  let last = -Infinity;
  const kept = ticks.filter((value) => {
    const [x, half] = [u.valToPos(value, "x"), u.ctx.measureText(label(value)).width / 2];
    if (x - half - last < 8) return false;
    last = x + half;
    return true;
  });
  u.ctx.restore();
  return kept;
}
