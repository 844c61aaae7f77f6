// Shared parts of all charts: a frame that fits its width, colours, hover, and drawing on the canvas.

import uPlot from "uplot";
import { el } from "./dom";
import { colours, onTheme } from "./theme";

export interface Line {
  name: string;
  value: string;
  colour: string;
}

/** The tooltip: a title and its lines; hidden without any. */
export type Hover = (u: uPlot) => { title: string; lines: Line[] } | undefined;

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** A chart that is made anew when colours change and keeps the width of its frame. */
export class Chart {
  readonly frame: HTMLElement;
  private plot: uPlot | undefined;

  constructor(
    readonly says: string,
    private readonly height: number,
    private readonly make: () => { options: Omit<uPlot.Options, "width" | "height">; data: uPlot.AlignedData },
  ) {
    this.frame = el("div", { class: "chart", role: "img", "aria-label": says });
    new ResizeObserver(() => this.fit()).observe(this.frame);
    onTheme(() => this.draw());
  }

  get u(): uPlot | undefined {
    return this.plot;
  }

  /** Draws it from the start. */
  draw(): void {
    this.plot?.destroy();
    this.plot = undefined;
    this.fit();
  }

  private fit(): void {
    const width = Math.floor(this.frame.clientWidth);
    if (width === 0) return;
    if (this.plot) {
      if (this.plot.width !== width) this.plot.setSize({ width, height: this.height });
      return;
    }
    const { options, data } = this.make();
    this.plot = new uPlot({ ...options, width, height: this.height }, data, this.frame);
  }
}

/** An axis in the theme's colours. */
export function axis(more: uPlot.Axis): uPlot.Axis {
  const { faint, grid } = colours();
  const line = { stroke: grid, width: 1 };
  return { stroke: faint, font: FONT, labelFont: FONT, labelSize: 18, grid: line, ticks: { ...line, size: 4 }, ...more };
}

/** The least width of an axis on the left. */
export const LEFT = 58;

/** The width of an axis whose labels all have room, and not under `least`. */
export function wide(least: number): (u: uPlot, values: string[] | null) => number {
  return (u, values) => {
    const { ctx } = u;
    ctx.save();
    font(ctx, 1);
    const labels = (values ?? []).map((value) => ctx.measureText(String(value)).width);
    ctx.restore();
    // A tick of 4 and a gap of 5 between label and plot; an outer margin of 2.
    return Math.ceil(Math.max(least, ...labels.map((label) => label + 4 + 5 + 2)));
  };
}

/** The text beside the cursor. */
export function tooltip(hover: Hover): uPlot.Plugin {
  const box = el("div", { class: "tip", hidden: "" });
  return {
    hooks: {
      init: (u) => void u.over.append(box),
      setCursor: (u) => {
        const left = u.cursor.left ?? -1;
        const shown = left < 0 ? undefined : hover(u);
        box.hidden = !shown;
        if (!shown) return;
        const lines = shown.lines.map(({ name, value, colour }) => {
          const dot = el("i");
          dot.style.background = colour;
          return el("div", {}, dot, el("span", {}, name), el("b", {}, value));
        });
        box.replaceChildren(el("strong", {}, shown.title), ...lines);
        const right = left > u.over.clientWidth / 2;
        box.style.left = right ? "" : `${left + 14}px`;
        box.style.right = right ? `${u.over.clientWidth - left + 14}px` : "";
      },
    },
  };
}

/** Draws in the chart's pixels, kept within the plot; `under` the series or over them. */
export function drawing(under: boolean, draw: (u: uPlot, c: CanvasRenderingContext2D, ratio: number) => void): uPlot.Plugin {
  const hook = (u: uPlot) => {
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    draw(u, c, devicePixelRatio);
    c.restore();
  };
  return { hooks: under ? { drawClear: hook } : { draw: hook } };
}

/** Sets the canvas's font, as large as in axes. */
export function font(c: CanvasRenderingContext2D, ratio: number, weight = ""): void {
  c.font = `${weight} ${FONT.replace("12px", `${12 * ratio}px`)}`.trim();
}

/** A vertical line through the plot. */
export function upright(u: uPlot, c: CanvasRenderingContext2D, value: number): void {
  const x = Math.round(u.valToPos(value, "x", true));
  c.beginPath();
  c.moveTo(x, u.bbox.top);
  c.lineTo(x, u.bbox.top + u.bbox.height);
  c.stroke();
}

/** A dashed line at a value that the curves are read against, with its words over its right end. */
export function reference(value: number, words: string): uPlot.Plugin {
  return drawing(false, (u, c, ratio) => {
    const y = Math.round(u.valToPos(value, "y", true));
    const right = u.bbox.left + u.bbox.width;
    c.strokeStyle = c.fillStyle = colours().faint;
    c.lineWidth = ratio;
    c.setLineDash([6 * ratio, 4 * ratio]);
    c.beginPath();
    c.moveTo(u.bbox.left, y);
    c.lineTo(right, y);
    c.stroke();
    font(c, ratio);
    c.textAlign = "right";
    c.fillText(words, right - 6 * ratio, y - 6 * ratio);
  });
}

/** The last index whose value is at most `x`. */
export function at(values: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Round values between two ends of a logarithmic axis. */
export function logTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  const wide = high / low > 300;
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
    for (const step of wide ? [1] : [1, 2, 5]) {
      const value = Number((decade * step).toPrecision(1));
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}
