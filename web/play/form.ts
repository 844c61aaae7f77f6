// Fields of the usual settings; each is a key of the scenario.

import { el } from "../src/dom";

interface Field {
  path: string;
  label: string;
  /** Value of a scenario that does not name the key. */
  usual: string;
  options?: readonly string[];
}

const FIELDS: readonly { group: string; fields: readonly Field[] }[] = [
  {
    group: "Rack",
    fields: [
      { path: "sweep.fan_in", label: "Servers that respond", usual: "one number, or [4, 8, 16]" },
      { path: "link.rate", label: "Rate of a link", usual: "1 Gbit/s" },
      { path: "link.delay", label: "Delay of a link, one way", usual: "25 us" },
    ],
  },
  {
    group: "Switch",
    fields: [
      { path: "switch.buffer", label: "Buffer of a port", usual: "64 KiB" },
      { path: "switch.chip", label: "Switch chip", usual: "none" },
    ],
  },
  {
    group: "TCP",
    fields: [
      { path: "tcp.profile", label: "Whose TCP", usual: "rfc", options: ["", "linux", "linux-6.1"] },
      { path: "tcp.rto_min", label: "Least retransmission timeout", usual: "200 ms" },
      { path: "tcp.receive_window", label: "Receive window", usual: "none" },
      { path: "tcp.initial_window", label: "Initial window, in segments", usual: "10" },
    ],
  },
  {
    group: "Work",
    fields: [
      { path: "workload.kind", label: "Pattern", usual: "barrier", options: ["barrier", "shuffle", "one_shot", "long", "all_reduce"] },
      { path: "workload.fragment", label: "Bytes from each server", usual: "256 KiB" },
      { path: "workload.duration", label: "Simulated time", usual: "1 s" },
    ],
  },
];

const SCHEMES = ["newreno", "cubic", "dctcp", "newreno+red+ecn", "newreno+codel+ecn", "dctcp+gss", "cubic+m21", "newreno+ictcp"];

export class Form {
  readonly element: HTMLElement;
  private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private readonly chips = new Map<string, HTMLButtonElement>();

  /** Calls back with the path and the new value of a changed field. */
  constructor(private readonly changed: (path: string, value: string) => void) {
    const chips = SCHEMES.map((scheme) => this.chip(scheme));
    const groups = FIELDS.map(({ group, fields }) => el("fieldset", {}, el("legend", {}, group), ...fields.map((field) => this.field(field))));
    this.element = el("form", { "aria-label": "Settings" }, el("fieldset", { class: "chips" }, el("legend", {}, "Schemes"), ...chips), ...groups);
    this.element.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Follows the text. */
  follow(values: Record<string, string>): void {
    for (const [path, input] of this.inputs) {
      if (input !== document.activeElement) input.value = values[path] ?? "";
    }
    const chosen = named(values["schemes"] ?? "");
    for (const [scheme, chip] of this.chips) chip.setAttribute("aria-pressed", String(chosen.includes(scheme)));
  }

  private field({ path, label, usual, options }: Field): HTMLElement {
    const input = options
      ? el("select", { name: path }, ...options.map((value) => el("option", { value }, value || usual)))
      : el("input", { name: path, placeholder: usual, autocomplete: "off", spellcheck: "false" });
    input.addEventListener(options ? "change" : "input", () => this.changed(path, input.value.trim()));
    this.inputs.set(path, input);
    return el("label", {}, el("span", {}, label), input);
  }

  private chip(scheme: string): HTMLElement {
    const chip = el("button", { type: "button", "aria-pressed": "false" }, scheme);
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      const chosen = [...this.chips].filter(([, other]) => other.getAttribute("aria-pressed") === "true").map(([name]) => name);
      this.changed("schemes", JSON.stringify(chosen));
    });
    this.chips.set(scheme, chip);
    return chip;
  }
}

/** Names of schemes in a list that has no schemes with settings of their own. */
function named(list: string): string[] {
  return [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? "");
}
