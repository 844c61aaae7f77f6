// Slowdown of flows by size, where flows have any.

import type { Report, Row, Slowdown } from "./data";
import { section } from "./dom";
import { three } from "./format";
import type { Schemes } from "./schemes";
import { type Column, sortable } from "./sortable";

type Bucket = Slowdown & { scheme: string; hosts: number };

export function slowdown(report: Report, schemes: Schemes): HTMLElement[] {
  const of = (row: Row) => row.slowdown.map((s): Bucket => ({ ...s, scheme: row.scheme, hosts: row.point.fan_in + 1 }));
  const rows = report.rows.flatMap(of).filter((bucket) => bucket.flows + bucket.unfinished > 0);
  if (rows.length === 0) return [];
  const times = (head: string, key: (bucket: Bucket) => number | null): Column<Bucket> => ({
    head,
    key,
    show: (bucket) => {
      const value = key(bucket);
      return value === null ? "none" : three(value);
    },
  });
  const whole = (head: string, key: (bucket: Bucket) => number): Column<Bucket> => ({ head, key, show: (b) => String(key(b)) });
  // All sizes before any of them, then from small to large.
  const place = (b: Bucket) => (b.up_to_bytes === null ? (b.over_bytes === 0 ? -1 : Number.MAX_VALUE) : b.up_to_bytes);
  const columns: Column<Bucket>[] = [
    whole("hosts", (b) => b.hosts),
    { head: "sizes", key: place, show: (b) => b.sizes },
    whole("flows", (b) => b.flows),
    whole("unfinished", (b) => b.unfinished),
    times("mean", (b) => b.mean),
    times("median", (b) => b.p50),
    times("p99", (b) => b.p99),
  ];
  const caption =
    "How many times longer a flow takes than its bytes would alone in the network, without a handshake; all seeds together. Click a column’s head to sort by it, and again to turn the order.";
  return [section("slowdown", "Slowdown by size", sortable("slowdown", caption, rows, columns, schemes))];
}
