// The selected schemes, shared by all charts, timelines and tables.

import { el } from "./dom";
import { colours } from "./theme";

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]] as const;

export class Schemes {
  private readonly hidden = new Set<string>();
  private readonly listeners: (() => void)[] = [];

  /** `labels` have a button each; their places among `all` give their colours. */
  constructor(
    readonly labels: readonly string[],
    private readonly all: readonly string[] = labels,
  ) {}

  shows(label: string): boolean {
    return !this.hidden.has(label);
  }

  /** Its colour: by place, so that it is the same in every chart. */
  colour(label: string): string {
    const { series } = colours();
    return series[this.place(label) % series.length] ?? "#888";
  }

  place(label: string): number {
    return this.all.indexOf(label);
  }

  /** Its dashes, so that colour is not all that tells lines apart. */
  dash(label: string): number[] {
    const place = this.place(label);
    // One further in each round of colours, so that no two lines have both in common.
    return [...(DASHES[(place + Math.floor(place / colours().series.length)) % DASHES.length] ?? [])];
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** A button per scheme; the argument is the group's label. */
  buttons(what = "Schemes shown"): HTMLElement {
    const buttons = this.labels.map((label) => {
      const button = el("button", { type: "button", "aria-pressed": "true" }, swatch(this, label), label);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(label)) this.hidden.add(label);
        button.setAttribute("aria-pressed", String(this.shows(label)));
        for (const listener of this.listeners) listener();
      });
      return button;
    });
    return el("div", { class: "schemes", role: "group", "aria-label": what }, ...buttons);
  }
}

/** The scheme's line, small; its colour follows the theme. */
export function swatch(schemes: Schemes, label: string): Element {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const place = schemes.place(label);
  for (const [name, value] of Object.entries({ width: "22", height: "10", "aria-hidden": "true" })) svg.setAttribute(name, value);
  const attributes = { x1: "1", x2: "21", y1: "5", y2: "5", "stroke-width": "2.5", "stroke-dasharray": schemes.dash(label).join(" ") };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  line.style.stroke = `var(--series-${place % colours().series.length})`;
  svg.append(line);
  return svg;
}
