// The query service beside a workload, where there is one.

import type { Report, Service } from "./data";
import { section } from "./dom";
import { time } from "./format";
import type { Schemes } from "./schemes";
import { type Column, figures, type Swept, sortable, swept } from "./sortable";

type Served = Service & Swept & { scheme: string; hosts: number };

export function service(report: Report, schemes: Schemes): HTMLElement[] {
  const rows = report.rows.flatMap((row): Served[] =>
    row.service === null ? [] : [{ ...row.service, scheme: row.scheme, hosts: row.hosts, keys: row.keys }],
  );
  if (rows.length === 0) return [];
  const whole = (value: number) => String(Math.round(value));
  const columns: Column<Served>[] = [
    { ...figures("hosts", (row: Served) => row.hosts, whole), names: true },
    ...swept(rows),
    figures("queries", (row) => row.queries, whole),
    figures("unfinished", (row) => row.unfinished, whole),
    figures("mean", (row) => row.qct_ms.mean, time),
    figures("median", (row) => row.qct_ms.p50, time),
    figures("p99", (row) => row.qct_ms.p99, time),
    figures("longest", (row) => row.qct_ms.max, time),
  ];
  const caption =
    "Queries of the background service, from the first request to the last response, over all seeds. Unfinished queries are those that had not ended when their run did. Click a column’s head to sort by it, and again to reverse the order.";
  return [section("service", "The background service", sortable("service", caption, rows, columns, schemes))];
}
