// The result of a comparison: findings and charts.

import { comparison } from "../src/comparison";
import type { Report } from "../src/data";
import { el } from "../src/dom";

const CHIPS: Record<string, string> = { sustains: "sustains", slow: "is slow", paused: "is paused", degrades: "degrades", collapsed: "collapses", open: "open" };

export function result(report: Report): HTMLElement[] {
  const { schemes, parts } = comparison(report);
  const warnings = report.warnings.length > 0 ? [el("ul", { class: "warnings" }, ...report.warnings.map((warning) => el("li", {}, warning)))] : [];
  return [...report.findings.map(finding), ...warnings, el("nav", { class: "bar", "aria-label": "View" }, schemes.buttons()), ...parts];
}

function finding({ verdict, scheme, head, says }: Report["findings"][number]): HTMLElement {
  const chip = CHIPS[verdict];
  const start = scheme && chip ? [el("span", { class: `chip ${verdict}` }, chip), " ", el("b", {}, scheme), " ", head] : [el("b", {}, head)];
  return el("div", { class: `finding ${verdict}` }, el("p", { class: "head" }, ...start), el("p", {}, says));
}
