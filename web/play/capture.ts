// Diagnosis of a capture, which the reader chooses or drops on the page.

import { el } from "../src/dom";

/** The fields of a diagnosis that the page reads (docs/diagnosing.md). */
interface Found {
  diagnosis: { verdict: { says: string; confidence: number }; cautions: string[] };
  scenario: string | null;
}

/** A field for a capture; a file that is dropped anywhere on `page` goes there, too. */
export function captureField(page: HTMLElement, chosen: (file: File) => void): HTMLElement {
  const input = el("input", { type: "file", accept: ".pcap,.pcapng,.gz,.txt" });
  input.addEventListener("change", () => input.files?.[0] && chosen(input.files[0]));
  page.addEventListener("dragover", (event) => event.preventDefault());
  page.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) chosen(file);
  });
  return el("label", { class: "capture" }, el("span", {}, "Diagnose a capture (pcap; it stays here)"), input);
}

/** The findings; `open` takes the matching scenario. */
export function findings(found: unknown, open: (text: string) => void): HTMLElement[] {
  const { diagnosis, scenario } = found as Found;
  const { says, confidence } = diagnosis.verdict;
  const notes = diagnosis.cautions.map((caution) => el("p", { class: "setting" }, caution));
  const parts: HTMLElement[] = [el("div", { class: "finding overall" }, el("p", {}, says), el("p", {}, `Confidence ${Math.round(100 * confidence)} %.`)), ...notes];
  if (scenario === null) return parts;
  const button = el("button", { type: "button", class: "primary" }, "Simulate a matching scenario");
  button.addEventListener("click", () => open(scenario));
  return [...parts, button];
}
