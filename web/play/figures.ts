// Living figures: a scenario of the documentation, simulated in the page for the values of one key, or as it is with a walk through one of its
// rounds. They start when they come into view.

import "uplot/dist/uPlot.min.css";
import "../src/style.css";
import "./play.css";
import type { Report } from "../src/data";
import { el } from "../src/dom";
import { Schemes } from "../src/schemes";
import { timeline } from "../src/story";
import { swarms } from "../src/swarms";
import { lacks, load } from "./load";
import { sentences } from "./says";
import { walk } from "./walk";
import type { Workers } from "./workers";

/** Engine of all figures of the page; loaded for the first one. */
let workers: Promise<Workers> | undefined;
const engine = () => (workers ??= load(2));
/** The last simulation: the engine compares one scenario at a time. */
let last: Promise<unknown> = Promise.resolve();

class Figure {
  private readonly path: string;
  private readonly values: string[];
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly drawing = el("div", { class: "drawing" });
  private readonly reports = new Map<string, Report>();
  /** Whether it is a walk through a round of the scenario as it is. */
  private readonly walks: boolean;
  private change = 0;

  constructor(
    private readonly place: HTMLElement,
    private readonly text: string,
  ) {
    this.path = place.dataset["path"] ?? "";
    this.values = (place.dataset["values"] ?? "").split(" | ");
    this.walks = this.path === "";
  }

  async start(): Promise<void> {
    const missing = lacks();
    if (missing !== undefined) return this.place.replaceChildren(el("p", { role: "alert" }, missing));
    if (this.walks) {
      this.place.replaceChildren(this.status, this.drawing);
      return this.show(0);
    }
    const { values = {} } = await (await engine()).describe(this.text);
    const now = Math.max(0, this.values.indexOf(values[this.path] ?? ""));
    this.place.replaceChildren(this.control(now), this.status, this.drawing);
    await this.show(now);
  }

  /** A slider over the values, or a button for each name. */
  private control(now: number): HTMLElement {
    const path = this.path;
    if (this.values[0]?.startsWith("[")) {
      const buttons = this.values.map((value, place) => {
        const button = el("button", { type: "button", "aria-pressed": String(place === now) }, value.replaceAll(/[[\]"]/g, ""));
        button.addEventListener("click", () => {
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
          void this.show(place);
        });
        return button;
      });
      return el("div", { class: "chips", role: "group", "aria-label": path }, ...buttons);
    }
    const output = el("output", {}, this.values[now] ?? "");
    const slider = el("input", { type: "range", min: "0", max: String(this.values.length - 1), value: String(now), "aria-valuetext": this.values[now] ?? "" });
    slider.addEventListener("input", () => {
      const value = this.values[slider.valueAsNumber] ?? "";
      output.textContent = value;
      slider.setAttribute("aria-valuetext", value);
      void this.show(slider.valueAsNumber);
    });
    return el("label", { class: "slider" }, el("code", {}, path), slider, output);
  }

  /** Simulates with a value, and draws the result. */
  private async show(place: number): Promise<void> {
    const [change, value] = [++this.change, this.values[place] ?? ""];
    try {
      const report = this.reports.get(value) ?? (await this.report(value, change));
      if (change !== this.change || report === undefined) return;
      this.reports.set(value, report);
      const schemes = new Schemes(report.schemes.map((scheme) => scheme.label));
      this.status.textContent = sentences(report).join(" ");
      this.drawing.replaceChildren(...report.stories.map((story) => timeline(story, schemes, this.walks ? walk : undefined)), ...swarms(report, schemes));
    } catch (error) {
      if (change === this.change) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** The comparison with a value, when its turn comes; none if another value is wanted by then. */
  private async report(value: string, change: number): Promise<Report | undefined> {
    this.status.textContent = "Simulating.";
    const turn = last.then(async () => {
      if (change !== this.change) return undefined;
      const all = await engine();
      const text = this.walks ? this.text : await all.setValue(this.text, this.path, value);
      return all.compare(text, 1, true, () => undefined);
    });
    last = turn.catch(() => undefined);
    const step = await turn;
    if (step === undefined) return undefined;
    if ("problem" in step) throw new Error(step.problem.what);
    return step.report as Report;
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const place = target as HTMLElement;
    const failed = (error: unknown) => place.replaceChildren(el("p", { role: "alert" }, String(error)));
    new Figure(place, place.nextElementSibling?.textContent ?? "").start().catch(failed);
  }
}, { rootMargin: "200px" });
for (const place of document.querySelectorAll(".living")) seen.observe(place);
