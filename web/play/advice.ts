// Advice: the first remedies, with their lines.

import { el } from "../src/dom";
import { three, time } from "../src/format";

/** The fields of an advice that the page reads (docs/advising.md). */
interface Advice {
  needed: boolean;
  today: { state: string; servers: number; goodput_mbps: { mean: number } };
  remedies: {
    says: string;
    settings: Record<string, string>;
    scheme: string | null;
    deployable: boolean;
    apply: { where: string; line: string }[];
    goodput_mbps: { mean: number };
    qct_ms: { p99: number | null };
    notes: string[];
  }[];
}

/** States of a cluster, as verbs. */
const VERBS: Record<string, string> = { sustains: "sustain their load", slow: "are slow", degrades: "degrade", collapsed: "collapse", paused: "are paused" };
/** Remedies that are shown. */
const SHOWN = 3;

/** The remedies; `apply` sets one in the scenario. */
export function advice(found: unknown, apply: (values: Record<string, string>) => void): HTMLElement[] {
  const { needed, today, remedies } = found as Advice;
  const head = el("h3", {}, needed ? `${today.servers} servers ${VERBS[today.state] ?? today.state}: ${three(today.goodput_mbps.mean)} Mbit/s.` : "Nothing needs to change.");
  const first = remedies.filter((remedy) => remedy.deployable).slice(0, SHOWN);
  return [head, el("ol", { class: "remedies" }, ...first.map((remedy) => item(remedy, apply)))];
}

function item(remedy: Advice["remedies"][number], apply: (values: Record<string, string>) => void): HTMLElement {
  const button = el("button", { type: "button" }, "Try it");
  const scheme = remedy.scheme === null ? {} : { schemes: JSON.stringify([remedy.scheme]) };
  button.addEventListener("click", () => apply({ ...remedy.settings, ...scheme }));
  const slowest = remedy.qct_ms.p99 === null ? "" : `, p99 ${time(remedy.qct_ms.p99)}`;
  const lines = remedy.apply.map(({ where, line }) => `# ${where}\n${line}`).join("\n");
  const notes = remedy.notes.map((note) => el("p", { class: "setting" }, note));
  return el("li", {}, el("b", {}, remedy.says), `: ${three(remedy.goodput_mbps.mean)} Mbit/s${slowest} `, button, el("pre", { tabindex: "0" }, lines), ...notes);
}
