// Types of the pages' JSON. Made from crates/laboratory/lab, report and papers by `make docs`: change the structs there.

/** The axis of the sweep. */
export type AxisFacts = { title: string, log: boolean, };

/** Background traffic: long flows, Poisson flows, a service. */
export type Background = {
  /** Goodput of background traffic, mean over seeds; absent, like the following, without background traffic. */
  goodput_mbps: number,
  /** Timeouts of background traffic, mean over seeds. */
  timeouts: number,
  /** Fast recoveries of background traffic, mean over seeds. */
  fast_retransmits: number,
  /** Dropped packets of background traffic at all ports, mean over seeds. */
  drops: number, };

/** The bounds of a curve at each x. */
export type Band = { curve: string, x: Array<number>,
  /** No value means no bound. */
  least: Array<number | null>, most: Array<number | null>,
  /** The paper's values. */
  reported: Array<number | null>, };

/** Stalls by cause, in the order of [`Cause::KNOWN`]; the rest of all stalls have an unknown cause. */
export type Causes = Record<string, { count: number, ms: number }>;

/** Times of one scheme at one point, pooled over seeds. */
export type Cdf = { scheme: string,
  /** The point's index in the sweep. */
  place: number,
  /** Query completion times. */
  qct: Curve,
  /** Flow completion times. */
  fct: Curve, };

/** Charts of one port: a bar per class. */
export type Classes = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number,
  /** The port with the most classes; of several, the one that sent the most bytes. */
  port: string, charts: Array<DrawnChart>, };

/** Rising times, and the share of all times up to each: it ends below one if some flows or queries did not finish. */
export type Curve = { ms: Array<number>, share: Array<number>, };

/** A chart as drawn. */
export type DrawnChart = { x: string, y: string,
  /** Whether a value holds until the next. */
  steps: boolean,
  /** Whether there is only one x: each curve is a bar. */
  bars: boolean,
  /** Whether values are ratios to another curve. */
  ratios: boolean, curves: Array<DrawnCurve>, expected: Array<Expected>, };

/** A claim as shown beside its figure. */
export type DrawnClaim = { id: string,
  /** The curves it is about. */
  curves: Array<string>, };

/** A curve by columns; `lo` and `hi` are empty if every point is of one run. */
export type DrawnCurve = { name: string, x: Array<number>, y: Array<number>, lo: Array<number>, hi: Array<number>, };

/** A claim's expectation in a chart of its measure, as ratios if the chart shows ratios. */
export type Expected = { claim: string, mark: Mark, };

/** A verdict with a short text. */
export type Finding = {
  /** The scheme; none for a comparison of several. */
  scheme: string | null,
  /** Verdict. */
  verdict: Verdict,
  /** Headline. */
  head: string,
  /** Explanation. */
  says: string, };

/** Events of a kind: `servers` names each one's server. */
export type Happenings = {
  /** Their number, including those omitted below. */
  total: number, us: Array<number>, servers: Array<string>, };

/** A row per port, a column per time slice. */
export type Heat = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number,
  /** The buffer of a switch port, as in the scenario and in bytes; for lossless ports the memory of the client's switch. */
  buffer: string, buffer_bytes: number,
  /** Whether ports pause instead of dropping, so that only the switch's memory bounds their queues. */
  lossless: boolean,
  /** The length of a slice. */
  span_ms: number,
  /** In tier order. */
  ports: Array<HeatRow>,
  /** Number of active ports without a row here. */
  left_out: number,
  /** Sentences on the holders of a memory at the time of its drops. */
  refusals: Array<string>, };

/** A port or a switch's shared memory, with one value per slice. */
export type HeatRow = { port: string, tier: string,
  /** Its capacity. */
  full_bytes: number, mean_bytes: Array<number>, max_bytes: Array<number>,
  /** Utilisation of its link; empty for a memory. */
  busy_percent: Array<number>, };

/** A mean with its 95 % confidence interval. */
export type Interval = {
  /** The arithmetic mean. */
  mean: number,
  /** The lower end. */
  lo: number,
  /** The upper end. */
  hi: number, };

/** Data packets of a class. */
export type Latency = {
  /** Class of packets, as in the table `latency`. */
  class: string,
  /** Data packets that arrived, mean over seeds. */
  packets: number,
  /** End-to-end delays: the mean over all packets of all seeds, percentiles as means over seeds, the overall maximum. */
  ms: Spread, };

/** Lower bound of a round's duration in ms. */
export type Least = {
  /** Lower bound of a round of the first client by the closed form of `allowed_mbps`, or of an average burst; absent, like its
   * parts, if unknown. */
  whole_ms: number,
  /** Part for packets on the wire. */
  wire_ms: number,
  /** Part for round trips, handshakes and slow start. */
  round_trips_ms: number,
  /** Part for servers' service times and start delays. */
  work_ms: number,
  /** Part for the requests before the last one. */
  requests_ms: number, };

/** Why a server received nothing until its timer expired. */
export type Loss = { "whole_window": { packets: number, } } | { "too_few_duplicates": { lost: number, window: number, } } | "recovery_stalled";

/** A claim's curves and expectation, in the units of its measure. */
export type Mark = {
  /** The curves it is about. */
  curves: Array<string>,
  /** The first and the last x that it covers; empty if nothing was measured. */
  span: Array<number>,
  /** The least and the largest collapse point that would pass; empty if it has none. */
  onset: Array<number>,
  /** The paper's collapse point. */
  reported_onset: number | null,
  /** The bounds of each curve. */
  bands: Array<Band>, };

/** The shared memories of all switches, at one point. */
export type Memories = {
  /** Number of memories, mean over seeds. */
  switches: number,
  /** Time-averaged share of the shared memory in use, mean over switches and seeds. */
  used_mean_share: number,
  /** 99th percentile over time at the switch where it is largest, over all seeds. */
  used_p99_share: number,
  /** Maximum at any switch, over all seeds. */
  used_max_share: number,
  /** Packets refused because their port had reached its threshold, mean over seeds. */
  refused_packets: number,
  /** The port with most packets refused because of other ports; absent without refusals. */
  squeezed: Squeezed | null, };

/** A lost packet, in words. */
export type Missing = {
  /** `the request to server1`, `data of server7 (sequence 1461)`. */
  packet: string,
  /** The port that it was lost at. */
  port: string,
  /** When it was lost, since the start of the timeline. */
  lost_us: number,
  /** Cause: `as switch>client held 72 % of the shared memory`. */
  why: string, };

export type OverSeeds = { p50: [number, number] | null, p99: [number, number] | null, };

export type PaperFigure = { paper: string, id: string, log: boolean, charts: Array<DrawnChart>, claims: Array<DrawnClaim>, };

export type PausedLink = {
  /** The node at the sending end. */
  sender: string,
  /** The switch that paused it. */
  by: string,
  /** The port whose queue caused it. */
  cause: string, pauses: number, paused_ms: number, longest_ms: number,
  /** Share of the run for which these pauses lasted. */
  share: number,
  /** Pauses that began while their cause was paused itself. */
  spread: number,
  /** Packets to other ports that they blocked. */
  blocked_packets: number, };

/** Pauses of a whole run by link and cause. */
export type PausedLinks = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number,
  /** A description in words. */
  says: string,
  /** In descending order of their pauses' duration; at most 24. */
  links: Array<PausedLink>,
  /** Number of links and causes that are not shown. */
  left_out: number, };

/** Pauses of all links, at one point. */
export type Pauses = {
  /** Pauses, mean over seeds. */
  count: number,
  /** Share of the measured time for which a sender's link was paused, mean over senders and seeds. */
  share: number,
  /** Share of the measured time for which the link between switches was paused that was so the longest, mean over seeds. */
  switch_share: number,
  /** Links that were paused, mean over seeds. */
  links: number,
  /** Their duration, summed over links, mean over seeds. */
  paused_ms: number,
  /** The longest pause of any link, over all seeds. */
  longest_ms: number,
  /** Share of the pauses that began while their cause was paused itself. */
  spread_share: number,
  /** Packets on their way to other ports than the cause that a pause blocked, summed over pauses, mean over seeds. */
  blocked_packets: number,
  /** Port whose queue caused most pauses. */
  cause: string,
  /** Share of the pauses that it caused. */
  cause_share: number,
  /** Runs that ended with a cycle of links that wait for one another. */
  deadlocked_runs: number,
  /** The links of one such cycle, in the order in which they wait; empty if there is none. */
  deadlock: string, };

/** Number of tasks in each phase. */
export type Phases = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number, chart: DrawnChart, };

/** The range that holds four of five single values: how far one run may be from the mean. */
export type Range = {
  /** The 10th percentile. */
  p10: number,
  /** The median. */
  p50: number,
  /** The 90th percentile. */
  p90: number, };

/** A row per rank, a column per slice of the run. */
export type RankChart = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number,
  /** The length of a slice. */
  span_ms: number,
  /** Mean shares of the ranks' time, in per cent: computes, moves data, waits. */
  percent: [number, number, number],
  /** By rank, three characters per slice: the shares in which it computes, moves data and waits, in 63rds, as digits of base64 (RFC 4648).
   * Slices at the end without work are left out. */
  ranks: Array<string>, };

/** The ranks of a trace, at one point. */
export type Ranks = {
  /** Exposed communication: time in which a rank moved data or awaited others, and did not compute; mean over ranks and seeds. */
  exposed_ms: number,
  /** Part of the time that a rank moved data in which it also computed, mean over ranks and seeds; absent if none moved data. */
  hidden_share: number | null,
  /** The slowest rank: for which the others waited longest, mean over seeds; absent if none waited. */
  slowest: SlowestRank | null, };

/** The data of the page; its JSON has this form. */
export type Report = {
  /** Schema version: 1. */
  schema: number,
  /** fanin's version. */
  fanin: string,
  /** The scenario's title, else its file name. */
  title: string,
  /** The scenario's file name. */
  scenario: string,
  /** The hash of the resolved scenario: equal for equal settings. */
  hash: string,
  /** The command, without options that do not affect results (threads, output folder). */
  command: string,
  /** The scenario's text as it was read. */
  scenario_text: string,
  /** The cluster; the workload and its seeds. */
  setting: [string, string],
  /** Notes on all figures. */
  notes: Array<string>,
  /** Whether many servers send to one client; otherwise there are no rounds, and no sweep is drawn. */
  many_to_one: boolean,
  /** The rate of the client's link, or the total of all hosts' links if flows have any destination. */
  line_mbps: number,
  /** Settings without effect, or with an unintended one. */
  warnings: Array<string>,
  /** Findings: of all schemes first, then scheme by scheme. */
  findings: Array<Finding>,
  /** The schemes, in command order. */
  schemes: Array<SchemeFacts>,
  /** The x axis: its title, and whether it is logarithmic. */
  axis: AxisFacts,
  /** By scheme, then point. */
  rows: Array<ReportRow>,
  /** Columns of shares, the last ones in the table of points. */
  shares: Array<ShareColumn>,
  /** Distributions of times: by scheme, then point. */
  cdfs: Array<Cdf>,
  /** Timeline of one run per scheme; absent if its run could not be watched. */
  stories: Array<Timeline>,
  /** The hubs of one request in the same runs, for schemes with hubs. */
  swarms: Array<Swarms>,
  /** Phases of the job in the same runs, if the workload is one. */
  phases: Array<Phases>,
  /** Pauses of lossless ports in those runs, if there were any. */
  paused_links: Array<PausedLinks>,
  /** Traffic classes in those runs, if the scenario has any. */
  classes: Array<Classes>,
  /** Ports over time in those runs, if measured. */
  heats: Array<Heat>,
  /** Ranks over time in those runs, if the workload is a trace. */
  rank_charts: Array<RankChart>, };

/** One scheme at one point. */
export type ReportRow = {
  /** The point's index in the sweep. */
  place: number, hosts: number,
  /** Its x, and the label there. */
  x: number, tick: string,
  /** The name of its curve; empty if there is only one. */
  curve: string,
  /** The other swept keys with their values. */
  keys: Array<[string, string]>,
  /** The range of query-time percentiles over the seeds. */
  qct_ms_over_seeds: OverSeeds,
  /** Label, or the canonical name. */
  scheme: string,
  /** Point of the sweep. */
  point: Record<string, unknown>,
  /** Counters that the driver could not read in some run: their figures have no meaning. */
  unmeasured: string[] | undefined,
  /** Number of clients. */
  clients: number,
  /** Finished runs, each with its own seed. */
  seeds: number,
  /** Measured time of a run, mean over seeds. */
  measured_ms: number,
  /** Payload delivered in order per measured time: mean over seeds, with a 95 % CI between zero and line rate. */
  goodput_mbps: Interval,
  /** Goodput of single runs: with another seed, four of five are expected between the 10th and the 90th percentile. Absent for fewer
   * than five seeds. */
  goodput_range_mbps: Range | null,
  /** Whether results differ between seeds; absent for one seed. */
  seeds_differ: boolean | null,
  /** Whether requests start at times of their own, however long others take, so that goodput is the offered load. */
  open_loop: boolean,
  /** Upper bound of goodput by a closed form (`fanin explain model`), exceeded only by random draws; absent for bursts, any-to-any
   * workloads and with background traffic, which have `ideal_mbps`. */
  allowed_mbps: number | null,
  /** Lower bound of a round's duration, by part; absent if unknown. */
  least: Least | null,
  /** Completion times of queries or rounds over all seeds; unfinished ones count as longer than their waiting times. Absent if none
   * started. */
  qct_ms: Spread,
  /** Completion times of the workload's own flows over all seeds, without background Poisson flows and unfinished flows (see
   * `slowdown`); absent if none finished. */
  fct_ms: Spread,
  /** Retransmission timeouts (`timeouts` of `totals`) except those of background traffic, mean over seeds. */
  timeouts: number,
  /** Entries into fast recovery (`fast_retransmits` of `totals`), likewise. */
  fast_retransmits: number,
  /** Dropped packets (`drops` of `totals`), likewise. */
  drops: number,
  /** Packets lost by `faults.loss` or by hosts that were down, mean over seeds. */
  lost: number,
  /** Marked packets (`marks` of `totals`), mean over seeds. */
  marks: number,
  /** Distinct data segments delivered (`data_packets` of `totals`), mean over seeds. */
  data_packets: number,
  /** Finished rounds or queries (`rounds` of `totals`), mean over seeds. */
  rounds: number,
  /** Unfinished rounds or queries at the run's end (`rounds_open` of `totals`), mean over seeds. */
  rounds_open: number,
  /** Times in which a waiting client received nothing (`stalls` of `totals`), mean over seeds. */
  stalls: number,
  /** Total duration of stalls in a run, mean over seeds. */
  stalled_ms: number,
  /** Stalls by cause. */
  stalls_by_cause: Causes,
  /** Time of rounds with a timeout, each counted up to the minimum timeout, in a run; mean over seeds. */
  repair_ms: number,
  /** The slowest rounds, up to 1 %, and goodput without them; absent if that is none. */
  slowest: Slowest | null,
  /** Of the first six rounds of each run those up to the last that takes over three medians, likewise; absent if there are none. */
  cold: Slowest | null,
  /** Longest queue where the workload's traffic converges (`queue_max_bytes` of `totals`), over all seeds. */
  queue_max_bytes: number,
  /** Jain's fairness index (1: all equal), mean over seeds: of the servers' goodputs while they respond, of the goodputs of long
   * flows, or of the speeds (1/slowdown) of any-to-any flows; absent if nothing was delivered, and for a job. */
  jain: number | null,
  /** Jain's index of the servers' goodputs within a round: mean over a run's rounds and then over seeds, with a 95 % CI between 0 and
   * 1; absent if no round with responses finished. */
  jain_rounds: Interval | null,
  /** Smallest index of any round, over all seeds. */
  jain_worst: number | null,
  /** Slowdown of listed and Poisson flows, as in `slowdown`; empty without such flows. */
  slowdown: Array<Slowdown>,
  /** Ports by tier; empty unless measure.ports is on. */
  tiers: Array<Tier>,
  /** Shared memories of switches; absent without any, or if measure.ports is off. */
  memories: Memories | null,
  /** Pauses of lossless ports; absent if there were none. */
  pauses: Pauses | null,
  /** The background service; absent if there is none. */
  service: Service | null,
  /** End-to-end delay of data packets by class; empty unless measure.latency is on. */
  latency: Array<Latency>,
  /** Background traffic and service together; absent if there is none. */
  background: Background | null,
  /** Time from the start of the first operation to the end of the last one of a job: all-reduces, all-to-alls, pulls, a trace, a shuffle
   * or a MapReduce job; mean over seeds, with a 95 % CI. Absent for other workloads, and if an operation of some run did not end. */
  job_ms: Interval | null,
  /** Bus bandwidth of finished all-reduces, all-to-alls or a trace's collectives, as NCCL's tests report it; mean over seeds, with a 95 % CI. Absent for other
   * workloads, and if no operation of some run finished. */
  bus_gbytes_per_s: Interval | null,
  /** Goodput at which the busiest link would carry the runs' flows without a break, if all of them were there from the start; absent
   * if `allowed_mbps` is there, and without finished flows. */
  ideal_mbps: number | null,
  /** Packets that receiving network cards dropped, mean over seeds. */
  card_drops: number,
  /** Bytes of frames on the client's link, without preambles and gaps, per what its rate carries in the measured time; mean over seeds,
   * with a 95 % CI. Absent, like the next four, unless RDMA runs over ports that drop. */
  wire_share: Interval | null,
  /** Packets that ports and cards dropped per packet that hosts sent, likewise. */
  lost_share: Interval | null,
  /** Packets sent again for each lost one, likewise; absent also if some run lost none. */
  resent_per_lost: Interval | null,
  /** Smallest share of a sending host in the delivered bytes, likewise. */
  sender_share_min: Interval | null,
  /** Congestion notifications per second of each queue pair that received any, likewise. */
  cnps_per_qp_s: Interval | null,
  /** Ranks of a trace; absent for other workloads. */
  ranks: Ranks | null, };

/** A scheme and its collapse points, one per curve, if the seeds decide it. */
export type SchemeFacts = { label: string,
  /** Its hosts' transport: `tcp`, `rdma` or `uet`. */
  transport: string, onsets: Array<number>, };

/** The data that the charts read. */
export type ScorecardData = {
  /** Schema version. */
  schema: number,
  /** Distinguishes this page from a comparison's. */
  kind: "scorecard", figures: Array<PaperFigure>, };

/** A value that holds until the next time. */
export type Series = { us: Array<number>,
  /** Bytes, or bit/s for rates. */
  values: Array<number>, };

export type ServerLimit = { server: string,
  /** Its congestion window, rate or credit. */
  limit: Series,
  /** From request to completion. */
  answers_us: Array<[number, number]>, waits: Array<Wait>, };

/** Queries of the background service. */
export type Service = {
  /** Queries sent, mean over seeds. */
  queries: number,
  /** Queries unfinished at the run's end, mean over seeds. */
  unfinished: number,
  /** Query completion times over all seeds; unfinished queries count as longer than their waiting times. */
  qct_ms: Spread, };

/** A column of shares from 0 to 1. */
export type ShareColumn = { head: string,
  /** Its path in a row: keys joined by dots. */
  at: string, };

export type ShownPause = {
  /** The node at the sending end of the link. */
  sender: string,
  /** The port whose queue caused it. */
  cause: string, from_us: number, to_us: number, };

/** Pauses in the part of a run that is shown. */
export type ShownPauses = {
  /** Their number, including those omitted below. */
  total: number,
  /** The longest ones, by their starts. */
  longest: Array<ShownPause>, };

/** Flows of similar size. */
export type Slowdown = {
  /** Size range, such as `10 KB to 100 KB`; all sizes come first. */
  sizes: string,
  /** Lower bound of the payload, exclusive. */
  over_bytes: number,
  /** Upper bound, inclusive; absent if unlimited. */
  up_to_bytes: number | null,
  /** Finished flows of all seeds. */
  flows: number,
  /** Unfinished flows at the run's end. */
  unfinished: number,
  /** Mean of completion time over `ideal_ps` of `flows`; absent if none finished. */
  mean: number | null,
  /** Median of it. */
  p50: number | null,
  /** 99th percentile of it. */
  p99: number | null, };

/** Some rounds of a point. */
export type Slowest = {
  /** Seed and round, the longest first; at most five. */
  rounds: Array<[number, number]>,
  /** Number of rounds. */
  count: number,
  /** Number of finished rounds over all seeds. */
  of: number,
  /** Goodput without them, mean over seeds. */
  goodput_mbps: number, };

/** The rank that the others wait for; means over seeds. */
export type SlowestRank = {
  /** Its host. */
  host: number,
  /** Time for which the others waited for it, together. */
  delays_ms: number,
  /** Time in which it computed. */
  compute_ms: number,
  /** Time in which it moved data and did not compute. */
  network_ms: number,
  /** Time in which it only awaited others. */
  waiting_ms: number,
  /** Cause of its delay: `compute` or `network`, whichever exceeds the mean of all ranks by more. */
  because: string, };

/** Times in ms with six digits; all `None` if nothing started. */
export type Spread = {
  /** The mean. */
  mean: number | null,
  /** The median. */
  p50: number | null,
  /** The 95th percentile. */
  p95: number | null,
  /** The 99th percentile. */
  p99: number | null,
  /** The 99.9th percentile. */
  p999: number | null,
  /** The largest. */
  max: number | null,
  /** The first of `p50`, `p95`, `p99`, `p999`, `max` that is only a lower bound because of unfinished rounds; later ones and the mean
   * are too. */
  at_least: string | null, };

/** A port that refused packets. */
export type Squeezed = {
  /** Port with most packets refused because of other ports. */
  port: string,
  /** Packets that it refused, mean over seeds. */
  refused_packets: number,
  /** Share of the used memory that other ports held when they arrived, mean over these packets. */
  elsewhere_share: number,
  /** Port that held most. */
  holder: string,
  /** Its share of the shared memory, mean over these packets. */
  holder_share: number, };

/** A period in which nothing reaches the client. */
export type Stall = {
  /** Since the start of the timeline. */
  from_us: number, to_us: number,
  /** The server whose packet ends it; empty if the run ends first. */
  server: string,
  /** The awaited event, in words: `timeouts`, `tail-loss probes`. */
  waits_for: string,
  /** Number of further servers that time out before the next round. */
  others: number,
  /** The losses of that server that led to a timeout; `None` if the events do not show them. */
  loss: Loss | null,
  /** The packet that the timer retransmits; `None` if no timer ended the stall, or nothing was lost. */
  missing: Missing | null, };

/** The front end or a hub. */
export type SwarmNode = { host: string, rack: number,
  /** Number of hubs between it and the front end; 0 for the front end. */
  depth: number,
  /** Whether it is on the critical path: the front end waited for it last, directly or through other hubs. */
  critical: boolean,
  /** Servers whose objects it collects itself, these objects, and all objects sent through it. */
  servers: number, own_objects: number, objects: number,
  /** When it got its task, had all objects of its own servers, had all objects, and had sent all; when its receiver had all of them. */
  told_ms: number | null, own_ms: number | null, last_ms: number | null, left_ms: number | null, end_ms: number | null,
  /** The host that its last object came from. */
  waited_for: string | null, };

/** The slowest complete request among the watched ones. */
export type Swarms = { scheme: string,
  /** The sweep point, in words. */
  at: string, seed: number,
  /** When the request began in the run; all other times are relative to it. */
  start_ms: number,
  /** The end of the drawn time. */
  length_ms: number,
  /** The front end, then each hub after the one that it sends to, in descending order of end time. */
  nodes: Array<SwarmNode>,
  /** Number of hubs that are not shown. */
  left_out: number, speeds: DrawnChart,
  /** A description of the request and of its critical path. */
  says: string, };

/** The ports of one tier that carried packets, at one point. */
export type Tier = {
  /** Tier, such as `leaf down`: ports from leaf switches to hosts. */
  tier: string,
  /** Number of its ports that carried packets, mean over seeds. */
  ports: number,
  /** Time-averaged queue, mean over ports and seeds. */
  queue_mean_bytes: number,
  /** 99th percentile of the queue over time at the port where it is largest, over all seeds. */
  queue_p99_bytes: number,
  /** Longest queue of any port, over all seeds. */
  queue_max_bytes: number,
  /** Share of the run in which a link was sending, mean over ports and seeds. */
  busy_share: number,
  /** Share of the busiest link, over all seeds. */
  busiest_share: number,
  /** Bytes that all ports admitted, mean over seeds, as for the counts below. */
  wire_bytes: number,
  /** Packets dropped because the queue was full. */
  drops_full: number,
  /** Packets dropped early by the queue discipline. */
  drops_early: number,
  /** Packets dropped instead of marked because they were not ECN-capable. */
  drops_not_ect: number,
  /** Packets queued when the link failed, or arriving while it was down. */
  drops_down: number,
  /** Packets marked. */
  marks: number, };

/** A few watched rounds of one run. */
export type Timeline = { scheme: string,
  /** The point's index in the sweep, and its description. */
  place: number, at: string, seed: number,
  /** Its start in the run; all other times are relative to it. */
  start_ms: number, length_us: number,
  /** Whether a round stalls. */
  stalled: boolean,
  /** Duration of the first round shown, if it ends. */
  round_ms: number | null,
  /** The limit of the client's port queue, as in the scenario and in bytes; empty and zero if pauses bound it. */
  buffer: string, buffer_bytes: number,
  /** Payload of a full packet. */
  packet_bytes: number,
  /** The limit of a sender: `cwnd` (a congestion window, bytes), `rate` (bit/s) or `credit` (from its receiver, bytes). */
  limit: string, queue: Series,
  /** The queue's limit, and the use of the shared memory by all ports; empty if the switch's ports share no memory. */
  threshold: Series, memory: Series,
  /** Limits of some servers, in order of their timeouts; the last one is for comparison. */
  servers: Array<ServerLimit>, drops: Happenings, fast_retransmits: Happenings, timeouts: Happenings,
  /** Tail-loss probes that fired. */
  probes: Happenings,
  /** Data packets retransmitted in the whole run. */
  retransmits: number,
  /** Pauses of links by lossless ports. */
  pauses: ShownPauses, round_ends_us: Array<number>, stalls: Array<Stall>,
  /** The initial view: the longest stall's start and its causes, else everything. */
  opens_us: [number, number],
  /** A description in words. */
  says: string, };

/** Verdict on a scheme, at one point or over a sweep. A later variant of the first five is worse. */
export type Verdict = "sustains" | "slow" | "paused" | "degrades" | "collapsed" | "open" | "overall";

/** A period in which a server, or the client at the other end, receives nothing until a timer fires. */
export type Wait = { from_us: number, to_us: number,
  /** The kind of timer: `timeout` or `probe`. */
  timer: string, };
