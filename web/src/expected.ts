// Expectations of a figure's claims, drawn behind its curves: bands, onsets and the paper's own values; and the claim that
// the mouse or the keyboard is at, in full.

import type uPlot from "uplot";
import { drawing, upright } from "./chart";
import type { DrawnChart, DrawnClaim, Mark, PaperFigure } from "./data";
import type { Schemes } from "./schemes";
import { colours } from "./theme";

/** The claims of a figure, and which of them is looked at. */
export class Claims {
  at: DrawnClaim | undefined;
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Marks of a chart: faint for all claims, or in full for the selected one. */
  marks(chart: DrawnChart): { mark: Mark; full: boolean }[] {
    const at = this.at;
    if (at === undefined) return chart.expected.map(({ mark }) => ({ mark, full: false }));
    return chart.expected.filter(({ claim }) => claim === at.id).map(({ mark }) => ({ mark, full: true }));
  }

  /** Whether a curve is faded behind those of the selected claim. */
  fades(curve: string): boolean {
    return this.at !== undefined && !this.at.curves.includes(curve);
  }

  /** Follows the mouse and the keyboard over the page's list of the figure's claims. */
  follow(figure: PaperFigure, list: Element | null | undefined): void {
    for (const item of list?.querySelectorAll<HTMLElement>(".claim") ?? []) {
      const claim = figure.claims.find((one) => one.id === item.dataset["claim"]);
      const look = (at: DrawnClaim | undefined) => () => {
        if (this.at === at) return;
        this.at = at;
        for (const listener of this.listeners) listener();
      };
      for (const begin of ["mouseenter", "focus"]) item.addEventListener(begin, look(claim));
      for (const end of ["mouseleave", "blur"]) item.addEventListener(end, look(undefined));
    }
  }
}

/** The paper's values, which a chart's axis must include. */
export function reported(chart: DrawnChart): number[] {
  const bands = chart.expected.flatMap(({ mark }) => mark.bands);
  return bands.flatMap((band) => band.reported).filter((value): value is number => value !== null);
}

/** Draws the expectations of claims. */
export function expected(chart: DrawnChart, claims: Claims, schemes: Schemes): uPlot.Plugin {
  return drawing(true, (u, c, ratio) => {
    for (const { mark, full } of claims.marks(chart)) {
      band(u, c, ratio, mark, full, schemes);
      onset(u, c, ratio, mark, full, schemes);
    }
  });
}

function band(u: uPlot, c: CanvasRenderingContext2D, ratio: number, mark: Mark, full: boolean, schemes: Schemes): void {
  const floor = u.scales["y"]?.min ?? 0;
  const ceiling = u.scales["y"]?.max ?? 1;
  const y = (value: number) => u.valToPos(Math.min(Math.max(value, floor), ceiling), "y", true);
  for (const { curve, x, least, most, reported } of mark.bands.filter((one) => schemes.shows(one.curve))) {
    const colour = schemes.colour(curve);
    // A single point has some width, too.
    const edge = x.length === 1 ? 8 * ratio : 0;
    const across = x.map((value) => u.valToPos(value, "x", true));
    const path = [
      ...across.map((at, i) => [at - edge, y(most[i] ?? ceiling)] as const),
      ...across.map((at, i) => [at + edge, y(most[i] ?? ceiling)] as const).slice(-1),
      ...across.map((at, i) => [at + edge, y(least[i] ?? floor)] as const).reverse(),
      ...across.map((at, i) => [at - edge, y(least[i] ?? floor)] as const).slice(0, 1),
    ];
    // A band with one end covers the plot on that side: drawn only in full.
    const closed = least.some((value) => value !== null) && most.some((value) => value !== null);
    c.fillStyle = `${colour}${full ? "30" : "14"}`;
    c.strokeStyle = `${colour}${full ? "ff" : "70"}`;
    c.lineWidth = ratio;
    if (closed || full) {
      c.beginPath();
      for (const [px, py] of path) c.lineTo(px, py);
      c.closePath();
      c.fill();
    }
    for (const [i, value] of reported.entries()) if (value !== null) diamond(c, across[i] ?? 0, y(value), (full ? 6 : 4) * ratio);
  }
}

/** The paper's own value. */
function diamond(c: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  c.beginPath();
  for (const [dx, dy] of [[0, -size], [size, 0], [0, size], [-size, 0]] as const) c.lineTo(x + dx, y + dy);
  c.closePath();
  c.stroke();
}

/** A bar along the axis from the least to the largest onset that would pass; in full, over the plot's height. */
function onset(u: uPlot, c: CanvasRenderingContext2D, ratio: number, mark: Mark, full: boolean, schemes: Schemes): void {
  const [lo, hi] = mark.onset;
  const curve = mark.curves.find((name) => schemes.shows(name));
  if (lo === undefined || hi === undefined || curve === undefined) return;
  const [left, right] = [u.valToPos(lo, "x", true), u.valToPos(hi, "x", true)];
  const height = full ? u.bbox.height : 6 * ratio;
  c.fillStyle = `${schemes.colour(curve)}${full ? "22" : "38"}`;
  c.fillRect(left, u.bbox.top + u.bbox.height - height, right - left, height);
  if (!full || mark.reported_onset === null) return;
  c.strokeStyle = colours().faint;
  c.lineWidth = ratio;
  c.setLineDash([6 * ratio, 4 * ratio]);
  upright(u, c, mark.reported_onset);
  c.setLineDash([]);
}
