// Every row of the comparison; a click on a column's head sorts by it.

import type { Report, Row } from "./data";
import { el, section } from "./dom";
import { bytes, count, rateUnit, three, time } from "./format";
import { type Schemes, swatch } from "./schemes";

interface Column {
  head: string;
  key: (row: Row) => number | string | null;
  show: (row: Row) => string;
}

export function table(report: Report, schemes: Schemes): HTMLElement {
  const unit = rateUnit(report.line_mbps);
  const onset = new Map(report.schemes.map((s) => [s.label, s.onset]));
  const round = (row: Row) => Math.max(row.rounds, row.rounds === 0 ? 1 : 0);
  const ms = (head: string, key: (row: Row) => number | null): Column => ({
    head,
    key,
    show: (row) => {
      const value = key(row);
      return value === null ? "none" : time(value);
    },
  });
  const each = (head: string, pick: (row: Row) => number): Column => ({
    head,
    key: (row) => pick(row) / round(row),
    show: (row) => count(pick(row) / round(row)),
  });
  const goodput = ({ goodput_mbps: g, seeds }: Row) => {
    const half = seeds > 1 ? ` ± ${three((g.hi - g.lo) / 2 / unit.mbps)}` : "";
    return three(g.mean / unit.mbps) + half;
  };
  const columns: Column[] = [
    { head: "senders", key: (row) => row.point.fan_in, show: (row) => String(row.point.fan_in) },
    { head: `goodput, ${unit.name}`, key: (row) => row.goodput_mbps.mean, show: goodput },
    ms("query p50", (row) => row.qct_ms.p50),
    ms("query p99", (row) => row.qct_ms.p99),
    ms("query p99.9", (row) => row.qct_ms.p999),
    ms("flow p50", (row) => row.fct_ms.p50),
    ms("flow p99", (row) => row.fct_ms.p99),
    each("timeouts", (row) => row.timeouts),
    each("fast rtx", (row) => row.fast_retransmits),
    each("drops", (row) => row.drops),
    each("marks", (row) => row.marks),
    { head: "rounds", key: (row) => row.rounds, show: (row) => count(row.rounds) },
    { head: "max queue", key: (row) => row.queue_max_bytes, show: (row) => bytes(row.queue_max_bytes) },
    { head: "Jain", key: (row) => row.jain, show: (row) => (row.jain === null ? "none" : row.jain.toFixed(3)) },
  ];
  const scheme: Column = { head: "scheme", key: (row) => row.scheme, show: (row) => row.scheme };
  const body = el("tbody");
  const rows = report.rows.map((row) => {
    const name = el("th", { scope: "row" }, swatch(schemes, row.scheme), row.scheme);
    const line = el("tr", {}, name, ...columns.map((column) => el("td", {}, column.show(row))));
    if (row.point.fan_in === onset.get(row.scheme)) line.className = "onset";
    return { row, line };
  });
  const heads = [scheme, ...columns].map((column) => {
    const button = el("button", { type: "button" }, column.head);
    const head = el("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(rows, column, down ? -1 : 1);
      body.replaceChildren(...rows.map((r) => r.line));
    });
    return head;
  });
  body.replaceChildren(...rows.map((r) => r.line));
  schemes.onChange(() => {
    for (const { row, line } of rows) line.hidden = !schemes.shows(row.scheme);
  });
  const caption = el(
    "caption",
    {},
    "Timeouts, fast retransmits, drops and marks are those of a round on average, rounds those of a run. Click a column’s head to sort by it, and again to turn the order. A row where a scheme collapses is red.",
  );
  const whole = el("table", {}, caption, el("thead", {}, el("tr", {}, ...heads)), body);
  const frame = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "rows" }, whole);
  return section("rows", "Every point", frame);
}

/** Sorts by a column; what is absent comes last either way, and equal rows keep their order. */
function sort(rows: { row: Row }[], column: Column, way: 1 | -1): void {
  rows.sort((a, b) => {
    const [x, y] = [column.key(a.row), column.key(b.row)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x < y ? -way : x > y ? way : 0;
  });
}
