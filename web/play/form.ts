// Fields of the usual settings; each is a key of the scenario.

import { el } from "../src/dom";
import type { Keys } from "./workers";

/** Fields by group: path and label. */
const FIELDS: Record<string, Record<string, string>> = {
  Rack: { "sweep.fan_in": "Servers that respond", "link.rate": "Rate of a link", "link.delay": "Delay of a link, one way" },
  Switch: { "switch.buffer": "Buffer of a port", "switch.shared_buffer": "Memory shared by all ports" },
  TCP: {
    "tcp.profile": "Whose TCP",
    "tcp.rto_min": "Least retransmission timeout",
    "tcp.receive_window": "Receive window",
    "tcp.initial_window": "Initial window, in segments",
  },
  Work: { "workload.kind": "Pattern", "workload.fragment": "Bytes from each server", "workload.duration": "Simulated time" },
};
/** The field of the sweep, which is no key of its own. */
const FAN_IN = { usual: "", right: "a number, or a list such as 4, 8, 16" };
/** Keys whose values are names, which the fields offer. */
const NAMED = ["tcp.profile", "workload.kind"];

const SCHEMES: Record<string, readonly string[]> = {
  "Schemes of TCP": ["newreno", "cubic", "dctcp", "newreno+red+ecn", "newreno+codel+ecn", "dctcp+gss", "cubic+m21", "newreno+ictcp", "cubic+grants"],
  "RDMA and Ultra Ethernet": ["dcqcn", "dcqcn-window", "hpcc", "timely", "nscc", "rccc", "eqds"],
};

export class Form {
  readonly element: HTMLElement;
  private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private readonly chips = new Map<string, HTMLButtonElement>();
  /** Schemes of the text without a chip. */
  private others: string[] = [];

  /** Calls back with the path and the new value of a changed field. */
  constructor(
    keys: Keys,
    private readonly changed: (path: string, value: string) => void,
  ) {
    const chips = Object.entries(SCHEMES).map(([group, schemes]) => el("fieldset", { class: "chips" }, el("legend", {}, group), ...schemes.map((scheme) => this.chip(scheme))));
    const groups = Object.entries(FIELDS).map(([group, fields]) => {
      const made = Object.entries(fields).map(([path, label]) => {
        const key = path === "sweep.fan_in" ? FAN_IN : keys[path];
        if (!key) throw new Error(`the simulator has no key ${path}`);
        return this.field(path, label, key);
      });
      return el("fieldset", {}, el("legend", {}, group), ...made);
    });
    this.element = el("form", { "aria-label": "Settings" }, ...chips, ...groups);
    this.element.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Follows the text. */
  follow(values: Record<string, string>): void {
    for (const [path, input] of this.inputs) {
      if (input !== document.activeElement) input.value = values[path] ?? "";
    }
    const schemes = values["schemes"] ?? "";
    const chosen = names(schemes);
    this.others = chosen.filter((name) => !this.chips.has(name));
    for (const [scheme, chip] of this.chips) {
      chip.setAttribute("aria-pressed", String(chosen.includes(scheme)));
      // Schemes with settings of their own are changed in the text: a chip would drop their settings.
      chip.disabled = schemes.includes("{");
    }
  }

  /** Marks the field with a problem, if there is one for its key. */
  mark(problem: { path: string; what: string } | undefined): void {
    for (const [path, input] of this.inputs) {
      const wrong = path === problem?.path;
      input.setAttribute("aria-invalid", String(wrong));
      const note = input.parentElement?.querySelector("small");
      if (note) note.textContent = wrong ? problem.what : "";
    }
  }

  private field(path: string, label: string, { usual: quoted, right }: Keys[string]): HTMLElement {
    const usual = quoted.replaceAll('"', "");
    const input = NAMED.includes(path)
      ? el("select", { name: path, title: right }, el("option", { value: "" }, `${usual} (default)`), ...names(right).map((value) => el("option", { value }, value)))
      : el("input", { name: path, title: right, placeholder: usual, autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => this.changed(path, written(path, input.value.trim())));
    this.inputs.set(path, input);
    return el("label", {}, el("span", {}, label), input, el("small", { class: "wrong" }));
  }

  private chip(scheme: string): HTMLElement {
    const chip = el("button", { type: "button", "aria-pressed": "false" }, scheme);
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      const chosen = [...this.chips].filter(([, other]) => other.getAttribute("aria-pressed") === "true").map(([name]) => name);
      this.changed("schemes", JSON.stringify([...chosen, ...this.others]));
    });
    this.chips.set(scheme, chip);
    return chip;
  }
}

/** The value that a field's text stands for: numbers with commas are a list. */
function written(path: string, text: string): string {
  return path === "sweep.fan_in" && /^\d+\s*(,\s*\d+\s*)+$/.test(text) ? `[${text}]` : text;
}

/** Names in quotes. */
function names(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? "");
}
