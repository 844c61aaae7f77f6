// Every row of the comparison; a click on a column's head sorts by it.

import type { Report, ReportRow } from "./data";
import { section } from "./dom";
import { bytes, count, rateUnit, three, time } from "./format";
import { bound } from "./read";
import type { Schemes } from "./schemes";
import { type Column, figures, sortable, swept } from "./sortable";

/** The value at a dotted path in a row. */
function share(row: ReportRow, at: string): number | null {
  const found = at.split(".").reduce<unknown>((part, key) => (part as Record<string, unknown> | null)?.[key], row);
  return typeof found === "number" ? found : null;
}

export function table(report: Report, schemes: Schemes): HTMLElement {
  const unit = rateUnit(report.line_mbps);
  const onsets = new Map(report.schemes.map((s) => [s.label, s.onsets]));
  const begun = (row: ReportRow) => row.rounds + row.rounds_open;
  const rounds = report.many_to_one && report.rows.some((row) => begun(row) > 0);
  // Operations of hosts among themselves are one job: its counts are those of a run.
  const round = (row: ReportRow) => (rounds && begun(row)) || 1;
  const ms = (head: string, key: (row: ReportRow) => number | null) => figures(head, key, time);
  const each = (head: string, pick: (row: ReportRow) => number) => figures(head, (row: ReportRow) => pick(row) / round(row), count);
  const goodput = ({ goodput_mbps: g, seeds_differ }: ReportRow) => {
    const [mean, lo, hi] = [g.mean, g.lo, g.hi].map((end) => three(end / unit.mbps));
    if (seeds_differ === null) return `${mean}`;
    // As the terminal flags it: further than a quarter of the mean to either side.
    const wide = (g.hi - g.lo) / 2 > g.mean / 4 ? ", wide" : "";
    return seeds_differ ? `${mean} (${lo} to ${hi}${wide})` : `${mean}, nothing is random`;
  };
  const query = (name: "p50" | "p99" | "p999", head: string): Column<ReportRow> => ({
    head,
    key: (row) => row.qct_ms[name],
    show: (row) => (row.qct_ms[name] === null ? "none" : `${bound(row.qct_ms, name) ? "≥ " : ""}${time(row.qct_ms[name])}`),
  });
  const hosts = (row: ReportRow) => row.hosts - (report.many_to_one ? 1 : 0);
  const timed = report.rows.some((row) => row.qct_ms.p50 !== null);
  const queries = [query("p50", "query p50"), query("p99", "query p99"), query("p999", "query p99.9")];
  const flows = report.rows.some((row) => row.fct_ms.p50 !== null)
    ? [ms("flow p50", (row) => row.fct_ms.p50), ms("flow p99", (row) => row.fct_ms.p99)]
    : [];
  const tcp = report.schemes.some(({ transport }) => transport === "tcp");
  const paused = (pick: (of: NonNullable<ReportRow["pauses"]>) => number) => (row: ReportRow) => (row.pauses === null ? 0 : pick(row.pauses));
  const pauses = report.rows.some((row) => row.pauses !== null)
    ? [figures("pauses", paused((of) => of.count), count), figures("paused, %", paused((of) => of.share * 100), three)]
    : [];
  const percentOf = (limit: number | null, row: ReportRow) => (limit === null ? null : (row.goodput_mbps.mean / limit) * 100);
  const ideal = report.rows.some((row) => row.ideal_mbps !== null)
    ? [figures("of ideal, %", (row: ReportRow) => percentOf(row.ideal_mbps, row), three)]
    : [];
  const allowed = report.many_to_one ? [figures("of allowed, %", (row: ReportRow) => percentOf(row.allowed_mbps, row), three)] : [];
  const columns: Column<ReportRow>[] = [
    { ...figures(report.many_to_one ? "senders" : "hosts", hosts, String), names: true },
    ...swept(report.rows),
    { head: `goodput, ${unit.name}`, key: (row) => row.goodput_mbps.mean, show: goodput },
    ...ideal,
    ...allowed,
    ...(timed ? queries : []),
    ...flows,
    each("timeouts", (row) => row.timeouts),
    ...(tcp ? [each("fast rtx", (row) => row.fast_retransmits)] : []),
    each("drops", (row) => row.drops),
    each("marks", (row) => row.marks),
    ...pauses,
    figures("max queue", (row) => row.queue_max_bytes, bytes),
  ];
  if (report.rows.some((row) => row.bus_gbytes_per_s !== null)) {
    columns.splice(-1, 0, figures("bus, GB/s", (row) => row.bus_gbytes_per_s?.mean ?? null, three));
  }
  if (rounds) {
    columns.splice(-1, 0, figures("rounds begun", begun, count), figures("of these open", (row) => row.rounds_open, count));
    columns.splice(-1, 0, each("stalls", (row) => row.stalls), figures("stalled", (row) => row.stalled_ms / round(row), time));
  }
  for (const { head, at } of report.shares) {
    columns.push(figures(head, (row) => share(row, at), (value) => value.toFixed(3)));
  }
  if (report.rows.some((row) => row.background !== null)) {
    const beside = (row: ReportRow) => (row.background === null ? null : row.background.goodput_mbps / unit.mbps);
    columns.push(figures(`beside, ${unit.name}`, beside, three));
  }
  // A column of zeros has no news.
  const zero = columns.filter(({ key, names }) => !names && report.rows.every((row) => key(row) === 0));
  const shown = columns.filter((column) => !zero.includes(column));
  const held = pauses.length > 0 ? " Pauses of links are means per run, and the share of senders’ time that they take." : "";
  const none = zero.length > 0 ? ` Zero at every point: ${zero.map(({ head }) => head).join(", ")}.` : "";
  const click = "Click a column’s head to sort by it, and again to reverse the order.";
  const caption = rounds
    ? `Goodput has its 95 % CI. Timeouts, fast retransmits, drops, marks and stalls are means per round; rounds are means per run. ≥ is a lower bound, because some rounds did not end.${none}${held} ${click} The row of a scheme’s collapse point is red.`
    : `Goodput is the total of all hosts; timeouts, fast retransmits, drops and marks are means per run.${none}${held} ${click}`;
  const collapsed = (row: ReportRow) => onsets.get(row.scheme)?.includes(row.place) ?? false;
  return section("rows", "Every point", sortable("rows", caption, report.rows, shown, schemes, collapsed));
}
