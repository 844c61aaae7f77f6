// The data of the page, and common lookups.

import type { Report, ReportRow, ScorecardData, Spread } from "./data";

/** The data embedded in the page. */
export function read(): Report | ScorecardData {
  const text = document.getElementById("data")?.textContent ?? "";
  const data = JSON.parse(text) as Report | ScorecardData;
  if (data.schema !== 1) throw new Error(`the report's data have schema ${data.schema}; this page reads 1`);
  return data;
}

/** The points that were tried, one a place, in the order of the sweep. */
export function points(report: Report): ReportRow[] {
  const found = new Map(report.rows.map((row) => [row.place, row]));
  return [...found.values()].sort((a, b) => a.place - b.place);
}

/** The curves of a scheme, in the order of the sweep. */
export function curvesOf(report: Report): string[] {
  return [...new Set(points(report).map((row) => row.curve))];
}

/** A point in words: `8`, `60 %, with 15 senders`. */
export function named({ tick, curve }: ReportRow): string {
  return curve === "" ? tick : `${tick}, ${curve}`;
}

/** Whether a figure of a spread is a lower bound only. */
export function bound(spread: Spread, name: string): boolean {
  const rising = ["p50", "p95", "p99", "p999", "max"];
  return spread.at_least !== null && rising.indexOf(name) >= rising.indexOf(spread.at_least);
}
