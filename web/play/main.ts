// The playground: a scenario as fields and as text, compared in the page.

import "uplot/dist/uPlot.min.css";
import "../src/style.css";
import "./play.css";
import type { Report } from "../src/data";
import { el } from "../src/dom";
import { advice } from "./advice";
import { captureField, findings } from "./capture";
import { type Case, CASES } from "./cases";
import { Editor } from "./editor";
import { First } from "./first";
import { Form } from "./form";
import { lacks, load } from "./load";
import { result } from "./result";
import { packed, unpacked } from "./share";
import { type Keys, type Problem, Stopped, type Workers } from "./workers";

/** Seeds of the first figures, and of those that refine them. */
const SEEDS = [1, 3, 10];
/** Time after a key press before a comparison begins, in ms. */
const PAUSE = 250;

class Playground {
  private readonly form: Form;
  private readonly editor: Editor;
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly problem = el("p", { class: "problem", role: "alert", hidden: "" });
  private readonly results = el("div", { class: "results" });
  private readonly cure = el("div", { class: "cure" });
  private readonly advised = el("div", { class: "advised" });
  private timer = 0;
  /** Number of the last change: results of earlier ones are not shown. */
  private change = 0;
  private summary: string | undefined;
  /** The last change of values, after which the next one begins. */
  private setting = Promise.resolve();

  constructor(
    private readonly workers: Workers,
    keys: Keys,
    place: HTMLElement,
    text: string,
    damage: string | undefined,
    /** Resolves when the workers are free. */
    private readonly free: Promise<unknown>,
  ) {
    this.form = new Form(keys, (path, value) => void this.set({ [path]: value }));
    const source = el("div", { class: "source" });
    const file = el("details", { class: "file" }, el("summary", {}, "The same as a file"), source);
    // On a phone the results would be far below it.
    file.open = !matchMedia("(max-width: 900px)").matches;
    const left = el("section", { class: "inputs", "aria-label": "Your cluster" }, this.cases(), this.form.element, this.problem, this.buttons(), file, captureField(place, (file) => void this.diagnose(file)));
    const right = el("section", { class: "outputs", "aria-label": "What happens" }, this.status, this.cure, this.advised, this.results);
    place.replaceChildren(left, right);
    if (damage !== undefined) this.cure.append(el("p", { role: "alert", class: "problem" }, damage));
    this.editor = new Editor(source, text, () => this.changed());
    this.changed(true);
  }

  private cases(): HTMLElement {
    const buttons = CASES.map((one) => {
      const button = el("button", { type: "button", "data-case": one.id }, one.name);
      button.addEventListener("click", () => this.open(one));
      return button;
    });
    return el("div", { class: "cases", role: "group", "aria-label": "Ready cases" }, ...buttons);
  }

  /** Opens a ready case, with a button for its cure. */
  private open(one: Case): void {
    const button = el("button", { type: "button", class: "primary" }, one.cure.says);
    button.addEventListener("click", () => {
      button.disabled = true;
      void this.set(one.cure.set);
    });
    this.cure.replaceChildren(el("p", {}, one.says), button);
    this.editor.replace(one.text);
    this.changed(true);
  }

  private buttons(): HTMLElement {
    const button = (label: string, click: () => void) => {
      const made = el("button", { type: "button" }, label);
      made.addEventListener("click", click);
      return made;
    };
    const command = el("code", { class: "command" }, "fanin compare scenario.toml");
    const share = button("Copy a link", () => void this.share(share));
    const advise = button("What should I change?", () => void this.advise());
    const file = button("Download scenario.toml", () => download("scenario.toml", this.editor.text()));
    const figures = button("Download the figures as JSON", () => this.summary !== undefined && download("summary.json", this.summary));
    return el("div", { class: "actions" }, advise, share, file, figures, el("p", {}, "The same in your terminal: ", command));
  }

  /** Sets values in the text, whose other parts stay as they are. */
  private set(values: Record<string, string>): Promise<void> {
    this.setting = this.setting.then(async () => {
      try {
        let text = this.editor.text();
        for (const [path, value] of Object.entries(values)) text = await this.workers.setValue(text, path, value);
        this.editor.replace(text);
        this.changed();
      } catch (error) {
        this.show({ line: 0, what: words(error) });
      }
    });
    return this.setting;
  }

  /** The text has changed: stops the current run, and starts another after a pause. */
  private changed(atOnce = false): void {
    const number = ++this.change;
    clearTimeout(this.timer);
    // The first comparison waits for that of the first screen.
    if (number > 1) this.workers.stop();
    this.workers.stopAdvice();
    this.advised.replaceChildren();
    this.results.classList.add("stale");
    this.timer = window.setTimeout(() => void this.begin(number), atOnce ? 0 : PAUSE);
  }

  private async begin(number: number): Promise<void> {
    const text = this.editor.text();
    await this.free;
    if (number !== this.change) return;
    try {
      const description = await this.workers.describe(text);
      if (number !== this.change) return;
      this.form.follow(description.values ?? {});
      this.show(description.problem);
      if (description.problem) return;
      if (description.too_large !== undefined) return this.refuse(description.too_large);
      await this.compare(number, text, description.seeds ?? 1);
    } catch (error) {
      if (!(error instanceof Stopped) && number === this.change) this.show({ line: 0, what: words(error) });
    }
  }

  /** Compares with more and more seeds; the last time with timelines. */
  private async compare(number: number, text: string, seeds: number): Promise<void> {
    const steps = [...SEEDS.filter((step) => step < seeds), seeds].map((count) => ({ count, watched: false }));
    for (const { count, watched } of [...steps, { count: seeds, watched: true }]) {
      const doing = watched ? "looking into the slowest rounds" : `${count} of ${seeds} seeds`;
      this.status.textContent = `Simulating: ${doing}.`;
      const step = await this.workers.compare(text, count, watched, (share) => {
        if (number === this.change) this.status.textContent = `Simulating: ${doing}, ${Math.round(100 * share)} %.`;
      });
      if (number !== this.change) return;
      if ("problem" in step) return this.show(step.problem);
      this.summary = step.summary;
      this.results.replaceChildren(...result(step.report as Report));
      this.results.classList.remove("stale");
    }
    this.status.textContent = `Simulated with ${seeds} seeds; the command line gives the same figures.`;
  }

  private refuse(why: string): void {
    this.status.textContent = `Too large for a page: ${why}. Download scenario.toml and run fanin compare scenario.toml.`;
    this.results.replaceChildren();
  }

  private show(problem: Problem | undefined): void {
    this.editor.show(problem);
    this.form.mark(problem && { path: keyAt(this.editor.text(), problem.line), what: problem.what });
    this.problem.hidden = problem === undefined;
    this.problem.textContent = problem === undefined ? "" : `${problem.line > 0 ? `Line ${problem.line}: ` : ""}${problem.what}`;
    if (problem) this.status.textContent = "The scenario has a problem.";
  }

  private async advise(): Promise<void> {
    const number = this.change;
    this.workers.stopAdvice();
    const [begun, waiting] = [Date.now(), el("p", { role: "status" }, "Searching for changes that help.")];
    const timer = setInterval(() => (waiting.textContent = `Searching for changes that help: ${Math.round((Date.now() - begun) / 1000)} s.`), 1000);
    this.advised.replaceChildren(waiting);
    this.advised.scrollIntoView({ block: "nearest" });
    try {
      const found = await this.workers.advise(this.editor.text());
      if (number === this.change) this.advised.replaceChildren(...advice(found, (values) => void this.set(values)));
    } catch (error) {
      if (!(error instanceof Stopped) && number === this.change) this.advised.replaceChildren(el("p", { role: "alert" }, words(error)));
    } finally {
      clearInterval(timer);
    }
  }

  private async diagnose(file: File): Promise<void> {
    this.cure.replaceChildren(el("p", { role: "status" }, `Reading ${file.name}.`));
    try {
      const found = await this.workers.diagnose(file);
      this.cure.replaceChildren(
        ...findings(found, (text) => {
          this.editor.replace(text);
          this.changed(true);
        }),
      );
    } catch (error) {
      if (!(error instanceof Stopped)) this.cure.replaceChildren(el("p", { role: "alert", class: "problem" }, words(error)));
    }
  }

  private async share(button: HTMLButtonElement): Promise<void> {
    history.replaceState(null, "", await packed(this.editor.text()));
    await navigator.clipboard?.writeText(location.href).catch(() => undefined);
    button.textContent = "Link copied; it is also in the address bar";
  }
}

/** The path of the key on a line of a scenario. */
function keyAt(text: string, line: number): string {
  const lines = text.split("\n").slice(0, line);
  const key = /^\s*([\w.-]+)\s*=/.exec(lines.at(-1) ?? "")?.[1] ?? "";
  const section = lines.map((line) => /^\s*\[([\w.-]+)\]/.exec(line)?.[1]).filter((name) => name !== undefined)
    .at(-1);
  return section === undefined ? key : `${section}.${key}`;
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function download(name: string, text: string): void {
  const link = el("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function start(place: HTMLElement): Promise<void> {
  const missing = lacks();
  if (missing !== undefined) throw new Error(missing);
  let damage: string | undefined;
  const scenario = unpacked(location.hash).catch((error: unknown) => {
    damage = `The scenario in this address cannot be read: ${words(error)}. Copy the whole address; this is a ready case.`;
    return undefined;
  });
  const [workers, shared] = await Promise.all([load(navigator.hardwareConcurrency || 2), scenario]);
  const first = document.getElementById("first");
  // A shared scenario comes first; if the reader changes something meanwhile, the stored figures stay.
  const unstopped = (error: unknown) => {
    if (!(error instanceof Stopped)) throw error;
  };
  const computed = first && shared === undefined ? new First(first).compute(workers).catch(unstopped) : Promise.resolve();
  new Playground(workers, await workers.keys(), place, shared ?? CASES[0]?.text ?? "", damage, computed);
}

const place = document.getElementById("playground");
if (place) {
  start(place).catch((error: unknown) => place.replaceChildren(el("p", { role: "alert", class: "problem" }, words(error))));
}
