// Slowdown of flows by size, where flows have any.

import type { Report, ReportRow, Slowdown } from "./data";
import { section } from "./dom";
import { three } from "./format";
import type { Schemes } from "./schemes";
import { type Column, figures, type Swept, sortable, swept } from "./sortable";

type Bucket = Slowdown & Swept & { scheme: string; hosts: number };

export function slowdown(report: Report, schemes: Schemes): HTMLElement[] {
  const of = (row: ReportRow) => row.slowdown.map((s): Bucket => ({ ...s, scheme: row.scheme, hosts: row.hosts, keys: row.keys }));
  const rows = report.rows.flatMap(of).filter((bucket) => bucket.flows + bucket.unfinished > 0);
  if (rows.length === 0) return [];
  // All sizes before any of them, then from small to large.
  const place = (b: Bucket) => (b.up_to_bytes === null ? (b.over_bytes === 0 ? -1 : Number.MAX_VALUE) : b.up_to_bytes);
  const columns: Column<Bucket>[] = [
    { ...figures("hosts", (b: Bucket) => b.hosts, String), names: true },
    ...swept(rows),
    { head: "sizes", key: place, show: (b) => b.sizes, names: true },
    figures("flows", (b) => b.flows, String),
    figures("unfinished", (b) => b.unfinished, String),
    figures("mean", (b) => b.mean, three),
    figures("median", (b) => b.p50, three),
    figures("p99", (b) => b.p99, three),
  ];
  const caption =
    "A flow’s duration over the minimum time that its bytes take alone in the network, without a handshake; over all seeds. Click a column’s head to sort by it, and again to reverse the order.";
  return [section("slowdown", "Slowdown by size", sortable("slowdown", caption, rows, columns, schemes))];
}
