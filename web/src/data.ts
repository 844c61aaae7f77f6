// The report's data, as crates/lab/src/report writes it.

export interface Spread {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  p999: number | null;
  max: number | null;
  /** The first of p50, p95, p99, p999, max that is a lower bound only, as those above it are. */
  at_least: string | null;
}

/** Whether a figure of a spread is a lower bound only. */
export function bound(spread: Spread, name: string): boolean {
  const rising = ["p50", "p95", "p99", "p999", "max"];
  return spread.at_least !== null && rising.indexOf(name) >= rising.indexOf(spread.at_least);
}

export interface Slowdown {
  sizes: string;
  over_bytes: number;
  up_to_bytes: number | null;
  flows: number;
  unfinished: number;
  mean: number | null;
  p50: number | null;
  p99: number | null;
}

export interface Service {
  queries: number;
  unfinished: number;
  qct_ms: Spread;
}

export interface Latency {
  class: string;
  packets: number;
  ms: Spread;
}

export interface Tier {
  tier: string;
  ports: number;
  queue_mean_bytes: number;
  queue_p99_bytes: number;
  queue_max_bytes: number;
  busy_share: number;
  busiest_share: number;
  wire_bytes: number;
  drops_full: number;
  drops_early: number;
  drops_not_ect: number;
  drops_down: number;
  marks: number;
}

export interface Row {
  scheme: string;
  /** The point's place in the sweep, and its hosts. */
  place: number;
  hosts: number;
  /** Where it lies on the axis, and what stands there. */
  x: number;
  tick: string;
  /** Which of the curves it is on; empty where there is one. */
  curve: string;
  /** Swept keys but the number of servers, with their values. */
  keys: [string, string][];
  seeds: number;
  goodput_mbps: { mean: number; lo: number; hi: number };
  qct_ms: Spread;
  fct_ms: Spread;
  timeouts: number;
  fast_retransmits: number;
  drops: number;
  marks: number;
  data_packets: number;
  rounds: number;
  rounds_open: number;
  stalls: number;
  stalled_ms: number;
  allowed_mbps: number | null;
  seeds_differ: boolean | null;
  background: { goodput_mbps: number; timeouts: number; drops: number } | null;
  queue_max_bytes: number;
  jain: number | null;
  slowdown: Slowdown[];
  tiers: Tier[];
  service: Service | null;
  latency: Latency[];
  qct_ms_over_seeds: { p50: [number, number] | null; p99: [number, number] | null };
}

export interface Curve {
  ms: number[];
  share: number[];
}

export interface Cdf {
  scheme: string;
  place: number;
  qct: Curve;
  fct: Curve;
}

export interface Series {
  us: number[];
  bytes: number[];
}

export interface Happenings {
  total: number;
  us: number[];
  servers: string[];
}

export interface Stall {
  from_us: number;
  to_us: number;
  server: string;
  others: number;
}

export interface Story {
  scheme: string;
  /** Where in the sweep, in words. */
  at: string;
  seed: number;
  start_ms: number;
  length_us: number;
  buffer: string;
  buffer_bytes: number;
  mss_bytes: number;
  queue: Series;
  windows: { server: string; cwnd: Series }[];
  drops: Happenings;
  fast_retransmits: Happenings;
  timeouts: Happenings;
  round_ends_us: number[];
  stalls: Stall[];
  /** What is shown at first. */
  opens_us: [number, number];
  says: string;
}

/** A port over time, with a value a part of the run. */
export interface HeatRow {
  port: string;
  tier: string;
  mean_bytes: number[];
  max_bytes: number[];
  busy_percent: number[];
}

export interface Heat {
  scheme: string;
  at: string;
  seed: number;
  buffer: string;
  buffer_bytes: number;
  span_ms: number;
  ports: HeatRow[];
  left_out: number;
}

export interface Phases {
  scheme: string;
  at: string;
  seed: number;
  chart: PaperChart;
}

export interface Report {
  schema: number;
  /** Whether many send to one client; otherwise there are no rounds. */
  many_to_one: boolean;
  line_mbps: number;
  /** What the sweep is drawn along. */
  axis: { title: string; log: boolean };
  /** Schemes with the places of their onsets, one a curve. */
  schemes: { label: string; onsets: number[] }[];
  rows: Row[];
  cdfs: Cdf[];
  stories: Story[];
  phases: Phases[];
  heats: Heat[];
}

/** A curve of a paper's figure; `lo` and `hi` are empty where every point is of one run. */
export interface Drawn {
  name: string;
  x: number[];
  y: number[];
  lo: number[];
  hi: number[];
}

export interface PaperChart {
  measure: string;
  x: string;
  y: string;
  steps: boolean;
  /** Whether there is one x: a bar a curve. */
  bars: boolean;
  /** Whether values are ratios to a curve's. */
  ratios: boolean;
  curves: Drawn[];
}

export interface PaperFigure {
  paper: string;
  id: string;
  log: boolean;
  charts: PaperChart[];
}

/** A scorecard's data, as crates/lab/src/paper/page.rs writes it. */
export interface Scorecard {
  schema: number;
  kind: "scorecard";
  figures: PaperFigure[];
}

/** The data that stands in the page. */
export function read(): Report | Scorecard {
  const text = document.getElementById("data")?.textContent ?? "";
  const data = JSON.parse(text) as Report | Scorecard;
  if (data.schema !== 1) throw new Error(`the report's data have schema ${data.schema}; this page reads 1`);
  return data;
}

/** The points that were tried, one a place, in the order of the sweep. */
export function points(report: Report): Row[] {
  const found = new Map(report.rows.map((row) => [row.place, row]));
  return [...found.values()].sort((a, b) => a.place - b.place);
}

/** The curves of a scheme, in the order of the sweep. */
export function curvesOf(report: Report): string[] {
  return [...new Set(points(report).map((row) => row.curve))];
}

/** A point in words: `8`, `60 %, with 15 senders`. */
export function named({ tick, curve }: Row): string {
  return curve === "" ? tick : `${tick}, ${curve}`;
}
