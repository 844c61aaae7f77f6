// The first screen: a stored result, which the page computes anew, and a slider over the number of servers.

import { type Figures, picture, sentence } from "../site/first.mjs";
import type { Report } from "../src/data";
import { FIRST } from "./cases";
import type { Workers } from "./workers";

export class First {
  private figures: Figures;

  constructor(private readonly place: HTMLElement) {
    this.figures = JSON.parse(this.part("script").textContent ?? "") as Figures;
    this.slider.addEventListener("input", () => this.show());
  }

  /** Computes the figures anew. */
  async compute(workers: Workers): Promise<void> {
    const step = await workers.compare(FIRST, 3, false, () => undefined);
    if ("problem" in step) throw new Error(step.problem.what);
    this.figures = figures(step.report as Report);
    this.show();
    this.part(".computed").textContent = "Simulated in this page just now.";
  }

  private show(): void {
    const place = this.slider.valueAsNumber;
    this.part(".picture").innerHTML = picture(this.figures, place);
    this.part(".sentence").textContent = sentence(this.figures, place);
    this.slider.setAttribute("aria-valuetext", `${this.figures.points[place]?.servers} servers`);
  }

  private get slider(): HTMLInputElement {
    return this.part("input") as HTMLInputElement;
  }

  private part(selector: string): HTMLElement {
    const found = this.place.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`the page has no ${selector}`);
    return found;
  }
}

/** Figures of a comparison of "today" with "remedy". */
function figures(report: Report): Figures {
  const sides = (name: string) => report.rows.filter(({ scheme }) => scheme === name);
  const side = (row: Report["rows"][number] | undefined) => ({ mbps: Math.round(row?.goodput_mbps.mean ?? 0), ms: Number((row?.qct_ms.mean ?? 0).toPrecision(3)) });
  const remedies = sides("remedy");
  const points = sides("today").map((today, place) => ({ servers: Number(today.point["fan_in"]), today: side(today), remedy: side(remedies[place]) }));
  return { link_mbps: 10_000, points };
}
