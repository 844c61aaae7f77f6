// Every row of the comparison; a click on a column's head sorts by it.

import type { Report, Row } from "./data";
import { section } from "./dom";
import { bytes, count, rateUnit, three, time } from "./format";
import type { Schemes } from "./schemes";
import { type Column, figures, sortable } from "./sortable";

export function table(report: Report, schemes: Schemes): HTMLElement {
  const unit = rateUnit(report.line_mbps);
  const onset = new Map(report.schemes.map((s) => [s.label, s.onset]));
  const round = (row: Row) => Math.max(row.rounds, row.rounds === 0 ? 1 : 0);
  const ms = (head: string, key: (row: Row) => number | null) => figures(head, key, time);
  const each = (head: string, pick: (row: Row) => number) => figures(head, (row: Row) => pick(row) / round(row), count);
  const goodput = ({ goodput_mbps: g, seeds }: Row) => {
    const half = seeds > 1 ? ` ± ${three((g.hi - g.lo) / 2 / unit.mbps)}` : "";
    return three(g.mean / unit.mbps) + half;
  };
  const rounds = report.many_to_one;
  const hosts = (row: Row) => row.point.fan_in + (rounds ? 0 : 1);
  const queries = [
    ms("query p50", (row) => row.qct_ms.p50),
    ms("query p99", (row) => row.qct_ms.p99),
    ms("query p99.9", (row) => row.qct_ms.p999),
  ];
  const columns: Column<Row>[] = [
    figures(rounds ? "senders" : "hosts", hosts, String),
    { head: `goodput, ${unit.name}`, key: (row) => row.goodput_mbps.mean, show: goodput },
    ...(rounds ? queries : []),
    ms("flow p50", (row) => row.fct_ms.p50),
    ms("flow p99", (row) => row.fct_ms.p99),
    each("timeouts", (row) => row.timeouts),
    each("fast rtx", (row) => row.fast_retransmits),
    each("drops", (row) => row.drops),
    each("marks", (row) => row.marks),
    figures("max queue", (row) => row.queue_max_bytes, bytes),
  ];
  if (rounds) {
    columns.splice(-1, 0, figures("rounds", (row) => row.rounds, count));
    columns.push(figures("Jain", (row) => row.jain, (index) => index.toFixed(3)));
  }
  const click = "Click a column’s head to sort by it, and again to turn the order.";
  const caption = rounds
    ? `Timeouts, fast retransmits, drops and marks are those of a round on average, rounds those of a run. ${click} A row where a scheme collapses is red.`
    : `Goodput is that of all hosts together; timeouts, fast retransmits, drops and marks are those of a run on average. ${click}`;
  const collapsed = (row: Row) => row.point.fan_in === onset.get(row.scheme);
  return section("rows", "Every point", sortable("rows", caption, report.rows, columns, schemes, collapsed));
}
