// Ranks of a trace over time: a row a rank, coloured by its share of computation, communication and waiting. Rows and slices that share a pixel are averaged.

import type uPlot from "uplot";
import { axis, Chart, drawing, type Hover, tooltip, wide } from "./chart";
import type { RankChart, Report } from "./data";
import { el, section } from "./dom";
import { three, tick, time } from "./format";
import { type Schemes, swatch } from "./schemes";
import { colours } from "./theme";

/** A rank's states, with the places of their colours among those of series; for the rest of a slice it does nothing. */
const DOING = [
  { name: "computes", series: 2 },
  { name: "moves data", series: 0 },
  { name: "waits for others", series: 1 },
] as const;

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Height of a row where there are few ranks, and of all rows at most. */
const ROW_HEIGHT = 16;
const ROWS_HEIGHT = 480;
/** Height above and below the rows: margin, axis and label. */
const AROUND = 60;

/** A chart a scheme; nothing where the workload is no trace. */
export function ranks(report: Report, schemes: Schemes): HTMLElement[] {
  if (report.rank_charts.length === 0) return [];
  const guide =
    "What each rank of the trace does over time, in one run per scheme. Drag over a time and some ranks to zoom, double-click to see all.";
  const articles = report.rank_charts.map((of) => {
    const view = new View(of);
    const title = el("h3", {}, swatch(schemes, of.scheme), `${of.scheme}, ${of.at}`);
    const caption = `Seed ${of.seed}; a slice is ${time(of.span_ms)}. Colours are mixed by their shares where slices or ranks share a pixel. ${shares(of)}`;
    const head = el("div", { class: "title" }, legend(), view.zooms());
    const article = el("article", {}, title, el("figure", {}, head, view.chart.frame, el("figcaption", {}, caption)));
    schemes.onChange(() => (article.hidden = !schemes.shows(of.scheme)));
    return article;
  });
  return [section("ranks", "Ranks over time", el("p", {}, guide), ...articles)];
}

/** Mean shares, in words. */
function shares({ ranks, percent }: RankChart): string {
  const [computes, moves, waits] = percent.map((value) => `${three(value)} %`);
  return `On average, one of the ${ranks.length} ranks computes for ${computes} of the time, moves data without computing for ${moves}, and only waits for ${waits}.`;
}

function legend(): HTMLElement {
  const items = DOING.map(({ name, series }) => {
    const dot = el("i");
    dot.style.background = `var(--series-${series})`;
    return el("span", {}, dot, name);
  });
  return el("div", { class: "legend heat" }, ...items);
}

type Rgb = readonly [number, number, number];

/** A colour of the theme, `#rrggbb`. */
function rgb(colour: string): Rgb {
  const part = (from: number) => Number.parseInt(colour.slice(from, from + 2), 16);
  return [part(1), part(3), part(5)];
}

class View {
  readonly chart: Chart;
  /** Shares by rank, slice and kind, from 0 to 63. */
  private readonly shares: Uint8Array[];
  private readonly slices: number;

  constructor(private readonly of: RankChart) {
    const digit = new Map([...DIGITS].map((digit, value) => [digit, value]));
    this.shares = of.ranks.map((text) => Uint8Array.from(text, (one) => digit.get(one) ?? 0));
    this.slices = Math.max(1, ...this.shares.map((shares) => shares.length / DOING.length));
    const height = Math.min(of.ranks.length * ROW_HEIGHT, ROWS_HEIGHT) + AROUND;
    this.chart = new Chart(`Ranks over time under ${of.scheme}. ${shares(of)}`, height, () => this.make());
  }

  /** Buttons that zoom, for who has no mouse. */
  zooms(): HTMLElement {
    const by = (factor: number) => () => {
      const { u } = this.chart;
      if (!u) return;
      for (const [scale, all] of [["x", this.slices * this.of.span_ms], ["y", this.of.ranks.length]] as const) {
        const { min, max } = u.scales[scale] ?? {};
        const middle = ((min ?? 0) + (max ?? all)) / 2;
        const half = (((max ?? all) - (min ?? 0)) / 2) * factor;
        u.setScale(scale, { min: Math.max(0, middle - half), max: Math.min(all, middle + half) });
      }
    };
    const views: [string, () => void][] = [["whole", by(Infinity)], ["closer", by(0.5)], ["further", by(2)]];
    const buttons = views.map(([label, zoom]) => {
      const button = el("button", { type: "button" }, label);
      button.addEventListener("click", zoom);
      return button;
    });
    return el("div", { class: "choice", role: "group", "aria-label": "Zoom" }, ...buttons);
  }

  /** The mean shares of some ranks in some slices, from 0 to 1. */
  private mean(ranks: readonly [number, number], slices: readonly [number, number]): number[] {
    const sums = DOING.map(() => 0);
    for (let rank = ranks[0]; rank < ranks[1]; rank++) {
      const shares = this.shares[rank] ?? [];
      for (let slice = slices[0]; slice < slices[1]; slice++) {
        for (let kind = 0; kind < sums.length; kind++) {
          sums[kind] = (sums[kind] ?? 0) + (shares[slice * DOING.length + kind] ?? 0);
        }
      }
    }
    const cells = (ranks[1] - ranks[0]) * (slices[1] - slices[0]);
    return sums.map((sum) => sum / cells / (DIGITS.length - 1));
  }

  /** Draws the cells in view into an image of a pixel a cell at most, and that into the plot. */
  private paint(u: uPlot, c: CanvasRenderingContext2D): void {
    const { span_ms } = this.of;
    const [left, right] = [(u.scales["x"]?.min ?? 0) / span_ms, (u.scales["x"]?.max ?? 0) / span_ms];
    const [top, bottom] = [u.scales["y"]?.min ?? 0, u.scales["y"]?.max ?? 0];
    const [first, last] = [Math.floor(left), Math.min(this.slices, Math.ceil(right))];
    const [upper, lower] = [Math.floor(top), Math.min(this.shares.length, Math.ceil(bottom))];
    const width = Math.min(last - first, Math.round(u.bbox.width));
    const height = Math.min(lower - upper, Math.round(u.bbox.height));
    if (width <= 0 || height <= 0) return;
    const kinds = DOING.map(({ series }) => rgb(colours().series[series] ?? "#888888"));
    const ground = rgb(colours().panel);
    const image = new ImageData(width, height);
    const cell = (place: number, from: number, to: number, count: number) => {
      const start = from + Math.floor((place * (to - from)) / count);
      return [start, Math.max(start + 1, from + Math.floor(((place + 1) * (to - from)) / count))] as const;
    };
    for (let y = 0; y < height; y++) {
      const rows = cell(y, upper, lower, height);
      for (let x = 0; x < width; x++) {
        const mean = this.mean(rows, cell(x, first, last, width));
        const rest = 1 - mean.reduce((a, b) => a + b, 0);
        for (let part = 0; part < 3; part++) {
          const mixed = kinds.reduce((sum, colour, kind) => sum + (colour[part] ?? 0) * (mean[kind] ?? 0), (ground[part] ?? 0) * rest);
          image.data[(y * width + x) * 4 + part] = mixed;
        }
        image.data[(y * width + x) * 4 + 3] = 255;
      }
    }
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    const at = { x: u.valToPos(first * span_ms, "x", true), y: u.valToPos(upper, "y", true) };
    c.drawImage(canvas, at.x, at.y, u.valToPos(last * span_ms, "x", true) - at.x, u.valToPos(lower, "y", true) - at.y);
  }

  private make(): { options: Omit<uPlot.Options, "width" | "height">; data: uPlot.AlignedData } {
    const { span_ms } = this.of;
    const count = this.of.ranks.length;
    const hover: Hover = (u) => {
      const rank = Math.floor(u.posToVal(u.cursor.top ?? -1, "y"));
      const slice = Math.floor(u.posToVal(u.cursor.left ?? 0, "x") / span_ms);
      if (rank < 0 || rank >= count || slice < 0 || slice >= this.slices) return undefined;
      const mean = this.mean([rank, rank + 1], [slice, slice + 1]);
      const lines = DOING.map(({ name, series }, kind) => ({
        name,
        value: `${Math.round((mean[kind] ?? 0) * 100)} %`,
        colour: colours().series[series] ?? "transparent",
      }));
      return { title: `rank ${rank} at ${time(slice * span_ms)}`, lines };
    };
    const whole = (all: number) => (_: uPlot, min: number | null, max: number | null): [number, number] => [min ?? 0, max ?? all];
    const options: Omit<uPlot.Options, "width" | "height"> = {
      legend: { show: false },
      padding: [8, 14, 0, 0],
      scales: { x: { time: false }, y: { dir: -1, range: whole(count) } },
      axes: [
        axis({ size: 34, label: "time", values: (_, splits) => splits.map(tick) }),
        axis({ size: wide(0), grid: { show: false }, label: "rank", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] }),
      ],
      series: [{}, { width: 0, points: { show: false } }],
      cursor: { drag: { x: true, y: true, dist: 5 }, points: { show: false } },
      plugins: [drawing(false, (u, c) => this.paint(u, c)), tooltip(hover)],
    };
    const data: uPlot.AlignedData = [[0, this.slices * span_ms], [null, null]];
    return { options, data };
  }
}
