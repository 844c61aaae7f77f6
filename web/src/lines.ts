// A line a name with its band over seeds: what a sweep and a paper's figure are drawn of.

import uPlot from "uplot";
import type { Schemes } from "./schemes";

export interface Point {
  value: number | null;
  lo: number | null;
  hi: number | null;
  /** The value is a lower bound. */
  least?: boolean;
}

export const NONE: Point = { value: null, lo: null, hi: null };

/** Series, bands and values for uPlot: `columns` has the points of each label over one x; steps stand until the next; what fades stands back. */
export function lines(schemes: Schemes, labels: readonly string[], columns: readonly Point[][], steps = false, fades = (_label: string) => false) {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const values: (number | null)[][] = [];
  const stepped = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  for (const [i, label] of labels.entries()) {
    const column = columns[i] ?? [];
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
      width: steps ? 1.5 : 2,
      points: steps ? { show: false } : { show: true, size: 6, fill: colour },
      ...(stepped ? { paths: stepped } : {}),
    });
    values.push(column.map((p) => p.value));
  }
  return { series, bands, values };
}

/** The ticks that leave room for each other. */
export function apart(u: uPlot, ticks: number[]): number[] {
  let last = -Infinity;
  return ticks.filter((value) => {
    const x = u.valToPos(value, "x");
    if (x - last < 24) return false;
    last = x;
    return true;
  });
}
