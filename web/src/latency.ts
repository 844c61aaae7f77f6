// How long data packets took, by class, where it was measured.

import type { Latency, Report } from "./data";
import { section } from "./dom";
import { count, time } from "./format";
import type { Schemes } from "./schemes";
import { type Column, figures, type Swept, sortable, swept } from "./sortable";

type Timed = Latency & Swept & { scheme: string; hosts: number };

export function latency(report: Report, schemes: Schemes): HTMLElement[] {
  const rows = report.rows.flatMap((row) => row.latency.map((of): Timed => ({ ...of, scheme: row.scheme, hosts: row.hosts, keys: row.keys })));
  if (rows.length === 0) return [];
  const columns: Column<Timed>[] = [
    { head: "class", key: (row) => row.class, show: (row) => row.class, names: true },
    { ...figures("hosts", (row: Timed) => row.hosts, String), names: true },
    ...swept(rows),
    figures("packets", (row) => row.packets, count),
    figures("mean", (row) => row.ms.mean, time),
    figures("median", (row) => row.ms.p50, time),
    figures("p99", (row) => row.ms.p99, time),
    figures("p99.9", (row) => row.ms.p999, time),
    figures("longest", (row) => row.ms.max, time),
  ];
  const caption =
    "End-to-end delay of data packets, including queues: the mean and maximum over all packets of all seeds, and means over seeds of the percentiles. Click a column’s head to sort by it, and again to reverse the order.";
  return [section("latency", "Latency of packets", sortable("latency", caption, rows, columns, schemes))];
}
