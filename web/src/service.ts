// The query service beside a workload, where there is one.

import type { Report, Service } from "./data";
import { section } from "./dom";
import { time as ms } from "./format";
import type { Schemes } from "./schemes";
import { type Column, sortable } from "./sortable";

type Served = Service & { scheme: string; hosts: number };

export function service(report: Report, schemes: Schemes): HTMLElement[] {
  const rows = report.rows.flatMap((row): Served[] =>
    row.service === null ? [] : [{ ...row.service, scheme: row.scheme, hosts: row.point.fan_in + 1 }],
  );
  if (rows.length === 0) return [];
  const time = (head: string, key: (row: Served) => number | null): Column<Served> => ({
    head,
    key,
    show: (row) => {
      const value = key(row);
      return value === null ? "none" : ms(value);
    },
  });
  const whole = (head: string, key: (row: Served) => number): Column<Served> => ({ head, key, show: (row) => String(Math.round(key(row))) });
  const columns: Column<Served>[] = [
    whole("hosts", (row) => row.hosts),
    whole("queries", (row) => row.queries),
    whole("cut off", (row) => row.unfinished),
    time("mean", (row) => row.qct_ms.mean),
    time("median", (row) => row.qct_ms.p50),
    time("p99", (row) => row.qct_ms.p99),
    time("longest", (row) => row.qct_ms.max),
  ];
  const caption =
    "Queries of the service that runs beside the workload: from the first request to the last answer, all seeds together; cut off are those that the run’s end met. Click a column’s head to sort by it, and again to turn the order.";
  return [section("service", "The service beside it", sortable("service", caption, rows, columns, schemes))];
}
