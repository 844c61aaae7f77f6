// What the pages' JSON holds. Made from crates/lab, report and papers by `make docs`: change the structs there.

/** The axis of the sweep. */
export type AxisFacts = { title: string, log: boolean, };

/** What runs beside a workload: long flows, Poisson flows, a service. */
export type Background = {
  /** Payload delivered of what runs beside the workload, over the measured time: mean over seeds; absent where nothing
   * does, as what follows. */
  goodput_mbps: number,
  /** Its timeouts, mean over seeds. */
  timeouts: number,
  /** Its entries into fast recovery, mean over seeds. */
  fast_retransmits: number,
  /** Its packets that were dropped at all ports, mean over seeds. */
  drops: number, };

/** Between what a curve has to lie at each x. */
export type Band = { curve: string, x: Array<number>,
  /** Without a value there is no bound. */
  least: Array<number | null>, most: Array<number | null>,
  /** What the paper says. */
  reported: Array<number | null>, };

/** By cause, in the order of [`Cause::KNOWN`]; what nothing tells the cause of is what is left of all stalls. */
export type Causes = Record<string, { count: number, ms: number }>;

/** Times of one scheme at one point, pooled over seeds. */
export type Cdf = { scheme: string,
  /** The point's place in the sweep. */
  place: number,
  /** Of queries. */
  qct: Curve,
  /** Of flows. */
  fct: Curve, };

/** Rising times, and the share of all times that are no larger: under one at the end where some were cut off. */
export type Curve = { ms: Array<number>, share: Array<number>, };

/** A chart as the page draws it. */
export type DrawnChart = { x: string, y: string,
  /** Whether a value stands until the next. */
  steps: boolean,
  /** Whether there is one x: a bar a curve. */
  bars: boolean,
  /** Whether values are ratios to a curve's. */
  ratios: boolean, curves: Array<DrawnCurve>, expected: Array<Expected>, };

/** A claim as its figure shows it. */
export type DrawnClaim = { id: string,
  /** The curves that it is of. */
  curves: Array<string>, };

/** A curve by columns; `lo` and `hi` are empty where every point is of one run. */
export type DrawnCurve = { name: string, x: Array<number>, y: Array<number>, lo: Array<number>, hi: Array<number>, };

/** What a claim expects, as a chart of its measure shows it: in ratios, where those are drawn. */
export type Expected = { claim: string, mark: Mark, };

/** A sentence or two. */
export type Finding = {
  /** The scheme; none where several are spoken of. */
  scheme: string | null,
  /** How it fares. */
  verdict: Verdict,
  /** In a few words. */
  head: string,
  /** What is behind it. */
  says: string, };

/** Things that happened: `servers` names each one's server. */
export type Happenings = {
  /** How many there were; some may be left out below. */
  total: number, us: Array<number>, servers: Array<string>, };

/** A row a port, a column a part of the run. */
export type Heat = { scheme: string,
  /** Where in the sweep, in words. */
  at: string, seed: number,
  /** What a switch port holds, as the scenario says it and in bytes. */
  buffer: string, buffer_bytes: number,
  /** How long a part is. */
  span_ms: number,
  /** In the order of the tiers. */
  ports: Array<HeatRow>,
  /** Ports that carried packets and have no row here. */
  left_out: number,
  /** Who held a memory as packets found no room in it, in words. */
  refusals: Array<string>, };

/** A port, or what a switch's ports share, with a value a part. */
export type HeatRow = { port: string, tier: string,
  /** What it is full with. */
  full_bytes: number, mean_bytes: Array<number>, max_bytes: Array<number>,
  /** How busy its link was; empty of a memory, which has none. */
  busy_percent: Array<number>, };

/** A mean with its 95 % interval. */
export type Interval = {
  /** The arithmetic mean. */
  mean: number,
  /** The lower end. */
  lo: number,
  /** The upper end. */
  hi: number, };

/** Data packets of a class. */
export type Latency = {
  /** Whose packets they are, as in the table `latency`. */
  class: string,
  /** Data packets that arrived, mean over seeds. */
  packets: number,
  /** Their times from host to host: the mean over all packets of all seeds, percentiles as means over seeds, the longest of all. */
  ms: Spread, };

/** What a round cannot do without, in ms. */
export type Least = {
  /** What a round of the first client takes at the least by the closed form of `allowed_mbps`, a burst on average; absent
   * where that is not known, as what it is made of. */
  whole_ms: number,
  /** Of it, packets on the wire. */
  wire_ms: number,
  /** Of it, ways there and back, handshakes and slow start. */
  round_trips_ms: number,
  /** Of it, what servers need, and are put off. */
  work_ms: number,
  /** Of it, the requests before the last one. */
  requests_ms: number, };

/** Why a server heard nothing until its timer ran out. */
export type Loss = { "whole_window": { packets: number, } } | { "too_few_duplicates": { lost: number, window: number, } } | "recovery_stalled";

/** What a claim is of and what it expects, in the units of its measure. */
export type Mark = {
  /** The curves that it is of. */
  curves: Array<string>,
  /** The first and the last x that it is of; empty where nothing was measured. */
  span: Array<number>,
  /** The least and the largest onset that would pass; empty where it is of none. */
  onset: Array<number>,
  /** Where the paper has it. */
  reported_onset: number | null,
  /** What its curves may be, each. */
  bands: Array<Band>, };

/** The memories of all switches whose ports share one, at one point. */
export type Memories = {
  /** How many there are, mean over seeds. */
  switches: number,
  /** The share of what ports share that they held over time, mean over switches and seeds. */
  used_mean_share: number,
  /** Its 99th percentile over time at the switch where that is largest, over all seeds. */
  used_p99_share: number,
  /** The most at any switch, over all seeds. */
  used_max_share: number,
  /** Packets that found no room under their port's threshold, mean over seeds. */
  refused_packets: number,
  /** The port that lost most to what others held; absent where there was room for all. */
  squeezed: Squeezed | null, };

/** A lost packet, in words. */
export type Missing = {
  /** `the request to server1`, `data of server7 (sequence 1461)`. */
  packet: string,
  /** The port that it was lost at. */
  port: string,
  /** When it was lost, since the start of the story. */
  lost_us: number,
  /** What for: `as switch>client held 72 % of the shared memory`. */
  why: string, };

export type OverSeeds = { p50: [number, number] | null, p99: [number, number] | null, };

export type PaperFigure = { paper: string, id: string, log: boolean, charts: Array<DrawnChart>, claims: Array<DrawnClaim>, };

/** How many tasks are in each phase. */
export type Phases = { scheme: string,
  /** Where in the sweep, in words. */
  at: string, seed: number, chart: DrawnChart, };

/** Everything that the page shows; the JSON in it has this form. */
export type Report = {
  /** The version of this form: 1. */
  schema: number,
  /** The version of the program. */
  fanin: string,
  /** What the scenario says of itself, else its file's name. */
  title: string,
  /** The scenario file's own name. */
  scenario: string,
  /** The name of the resolved scenario: equal for equal settings. */
  hash: string,
  /** The command, without what changes no result: threads, and where results go. */
  command: string,
  /** The scenario's text as it was read. */
  scenario_text: string,
  /** The cluster; the workload and its seeds. */
  setting: [string, string],
  /** What is to be known of all figures. */
  notes: Array<string>,
  /** Whether many send to one client; otherwise there are no rounds, and no sweep is drawn. */
  many_to_one: boolean,
  /** The rate of the client's link, or of all hosts' links together where flows go between any two. */
  line_mbps: number,
  /** What was set and has no effect, or not the one that was meant. */
  warnings: Array<string>,
  /** What was found, in words: of all schemes first, then scheme by scheme. */
  findings: Array<Finding>,
  /** The schemes, in the order of the command. */
  schemes: Array<SchemeFacts>,
  /** What is drawn along the bottom: its title, and whether it is a logarithmic one. */
  axis: AxisFacts,
  /** By scheme, then point. */
  rows: Array<ReportRow>,
  /** Columns of shares, which stand last in the table of points. */
  shares: Array<ShareColumn>,
  /** Distributions of times: by scheme, then point. */
  cdfs: Array<Cdf>,
  /** What happened inside one run of each scheme; none of a scheme whose run could not be watched any more. */
  stories: Array<Story>,
  /** The hubs of one request in the same run of each scheme that has any. */
  swarms: Array<Swarms>,
  /** Phases of the job in the same run of each scheme, where the workload is one. */
  phases: Array<Phases>,
  /** Ports over time in that run, where they are measured. */
  heats: Array<Heat>, };

/** One scheme at one point. */
export type ReportRow = {
  /** The point's place in the sweep. */
  place: number, hosts: number,
  /** Where it lies on the axis, and what stands there. */
  x: number, tick: string,
  /** Which of the curves it is on; empty where there is one. */
  curve: string,
  /** Other keys that move than the number of servers, with their values. */
  keys: Array<[string, string]>,
  /** Of the seeds' own percentiles of query times the smallest and the largest. */
  qct_ms_over_seeds: OverSeeds,
  /** The label, else the canonical name. */
  scheme: string,
  /** Where in the sweep. */
  point: Record<string, unknown>,
  /** Clients that ask, each for itself. */
  clients: number,
  /** Runs that finished, each with a seed of its own. */
  seeds: number,
  /** The measured time of a run, mean over seeds. */
  measured_ms: number,
  /** Payload delivered in order over the measured time: mean over seeds, with an interval that lies between nothing and line
   * rate. */
  goodput_mbps: Interval,
  /** Whether seeds change anything in the runs; absent of a single one. */
  seeds_differ: boolean | null,
  /** The goodput that a closed form allows (`fanin explain model`, allowed), which no run beats but by what is drawn; absent
   * where no bound is known: of bursts, where flows go between any hosts, beside other traffic. */
  allowed_mbps: number | null,
  /** What a round takes at the least; absent where that is not known. */
  least: Least | null,
  /** Completion times of queries or rounds, all seeds' together, those that were cut off as longer than they had waited;
   * absent where none was begun. */
  qct_ms: Spread,
  /** Completion times of the workload's own flows (Poisson flows beside it apart), all seeds' together, those that ended
   * (`slowdown` counts the others); absent where none did. */
  fct_ms: Spread,
  /** Retransmission timeouts that fired (`timeouts` of `totals`) but for those of what runs beside the workload, mean over
   * seeds. */
  timeouts: number,
  /** Entries into fast recovery (`fast_retransmits` of `totals`), but for those too, mean over seeds. */
  fast_retransmits: number,
  /** Packets that were dropped (`drops` of `totals`), but for those too, mean over seeds. */
  drops: number,
  /** Packets that `faults.loss` lost, and those of hosts that were down, mean over seeds. */
  lost: number,
  /** Packets that were marked (`marks` of `totals`), mean over seeds. */
  marks: number,
  /** Distinct data segments delivered (`data_packets` of `totals`), mean over seeds. */
  data_packets: number,
  /** Rounds or queries that ended (`rounds` of `totals`), mean over seeds. */
  rounds: number,
  /** Those that the run's end cut off (`rounds_open` of `totals`), mean over seeds. */
  rounds_open: number,
  /** Times in which nothing came to a client that waited (`stalls` of `totals`), mean over seeds. */
  stalls: number,
  /** How long these took together in a run, mean over seeds. */
  stalled_ms: number,
  /** The same by what they were for. */
  stalls_by_cause: Causes,
  /** How long rounds with a timeout took in a run, each up to the least timeout, mean over seeds. */
  repair_ms: number,
  /** The rounds that take longest, up to one in a hundred, and what goodput is without them; absent where that is none. */
  slowest: Slowest | null,
  /** The first rounds of each run that take over three medians, in the same form; absent where there are none. */
  cold: Slowest | null,
  /** The longest queue where the workload's bytes come together (`queue_max_bytes` of `totals`), over all seeds. */
  queue_max_bytes: number,
  /** Jain's index, from 0 to 1 where all are equal, mean over seeds: over the servers' goodputs while they answer, over what
   * long flows moved, over the speeds of flows between any hosts (one over their slowdown); absent where nothing was
   * delivered, and of a job. */
  jain: number | null,
  /** Jain's index over the servers' goodputs within a round, mean over a run's rounds and then over seeds, with an interval
   * that lies between 0 and 1: fairness over time, where `jain` is over the whole run; absent where no round of answers
   * ended. */
  jain_rounds: Interval | null,
  /** The least of any round, over all seeds. */
  jain_worst: number | null,
  /** Slowdown of flows of a list and of Poisson flows, as in `slowdown`; empty where there are none. */
  slowdown: Array<Slowdown>,
  /** Ports by tier; empty unless measure.ports is on. */
  tiers: Array<Tier>,
  /** Memories that switches' ports share; absent where there are none or measure.ports is off. */
  memories: Memories | null,
  /** The service beside the workload; absent where there is none. */
  service: Service | null,
  /** How long data packets took, by class; empty unless measure.latency is on. */
  latency: Array<Latency>,
  /** What runs beside the workload, and that service, together; absent where nothing does. */
  background: Background | null, };

/** A scheme and the places of its onsets, one a curve, where the seeds tell one. */
export type SchemeFacts = { label: string, onsets: Array<number>, };

/** What the charts' code reads. */
export type ScorecardData = {
  /** The version of this form. */
  schema: number,
  /** What tells this page from a comparison's. */
  kind: "scorecard", figures: Array<PaperFigure>, };

/** A value that stands from each time to the next. */
export type Series = { us: Array<number>, bytes: Array<number>, };

export type ServerWindow = { server: string, cwnd: Series,
  /** From question to answer. */
  answers_us: Array<[number, number]>, waits: Array<Wait>, };

/** Queries of the service beside a workload. */
export type Service = {
  /** Queries that were asked, mean over seeds. */
  queries: number,
  /** Of these, those that the run's end cut off. */
  unfinished: number,
  /** From a query's start to its last answer, pooled over seeds; those that were cut off took longer than they had waited. */
  qct_ms: Spread, };

/** A column of shares from 0 to 1. */
export type ShareColumn = { head: string,
  /** Where it stands in a row: keys with dots between. */
  at: string, };

/** Flows of like size. */
export type Slowdown = {
  /** The flows' sizes, for people, such as `10 KB to 100 KB`; all sizes come first. */
  sizes: string,
  /** Flows of more payload than this. */
  over_bytes: number,
  /** And of no more than this; absent where there is no bound. */
  up_to_bytes: number | null,
  /** Flows that ended, all seeds' together. */
  flows: number,
  /** Flows that had not ended as the run did. */
  unfinished: number,
  /** Mean of their times over the least time alone in the network (`ideal_ps` of `flows`); absent where none ended. */
  mean: number | null,
  /** Median of it. */
  p50: number | null,
  /** 99th percentile of it. */
  p99: number | null, };

/** Some of a point's rounds. */
export type Slowest = {
  /** Seed and round, the longest first; at most five. */
  rounds: Array<[number, number]>,
  /** How many rounds they are. */
  count: number,
  /** Of how many that ended, over all seeds. */
  of: number,
  /** Goodput without them: mean over seeds. */
  goodput_mbps: number, };

/** Times in ms to six digits; all `None` where nothing was begun. */
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
  /** The first of `p50`, `p95`, `p99`, `p999`, `max` that is a lower bound only, since rounds were cut off: those after it
   * are as well, and so is the mean. */
  at_least: string | null, };

/** A port that found no room for packets. */
export type Squeezed = {
  /** The port that lost most to what others held. */
  port: string,
  /** Its packets without room, mean over seeds. */
  refused_packets: number,
  /** Of what was held as they came, the share that other ports held, mean over them. */
  elsewhere_share: number,
  /** The port that held most then. */
  holder: string,
  /** Its share of what the ports share, mean over these packets. */
  holder_share: number, };

/** A time in which nothing reaches the client. */
export type Stall = {
  /** Since the start of the story. */
  from_us: number, to_us: number,
  /** The server whose packet ends it; empty where the run does. */
  server: string,
  /** What it waits for, in words: `timeouts`, `tail-loss probes`. */
  waits_for: string,
  /** How many more servers time out before the next round, the first one not counted. */
  others: number,
  /** Of a wait for a timeout, what that server had lost; `None` where the events do not say. */
  loss: Loss | null,
  /** The packet that the timer sent again; `None` where no timer ended it, or nothing was lost. */
  missing: Missing | null, };

/** One run, watched for some rounds. */
export type Story = { scheme: string,
  /** The point's place in the sweep, and where that is in words. */
  place: number, at: string, seed: number,
  /** When it begins in the run; every other time is since then. */
  start_ms: number, length_us: number,
  /** Whether a round stands still. */
  stalled: boolean,
  /** How long the first round of the story takes, if it ends. */
  round_ms: number | null,
  /** What the client's port holds, as the scenario says it and in bytes. */
  buffer: string, buffer_bytes: number,
  /** What a packet carries. */
  mss_bytes: number, queue: Series,
  /** What the queue may be, and what all ports hold of what they share; empty where the switch's ports share no memory. */
  threshold: Series, memory: Series,
  /** Windows of some servers, in the order in which they time out; the last one is for comparison. */
  windows: Array<ServerWindow>, drops: Happenings, fast_retransmits: Happenings, timeouts: Happenings,
  /** Timers for lost tails that fired. */
  probes: Happenings, round_ends_us: Array<number>, stalls: Array<Stall>,
  /** What is shown at first: what led to the longest stall and where that begins, else all. */
  opens_us: [number, number],
  /** The story in words. */
  says: string, };

/** The front end or a hub. */
export type SwarmNode = { host: string, rack: number,
  /** How many hubs further the front end is; that of the front end is 0. */
  depth: number,
  /** Whether the front end waited for it last, or for one that waited for it. */
  critical: boolean,
  /** Servers that it had objects of itself, these objects, and all that came through it. */
  servers: number, own_objects: number, objects: number,
  /** When it was told, had all objects of its own servers, had all, and had sent all; when all that was where it sends to. */
  told_ms: number | null, own_ms: number | null, last_ms: number | null, left_ms: number | null, end_ms: number | null,
  /** Whom its last object came from. */
  waited_for: string | null, };

/** The slowest whole request of those that were watched. */
export type Swarms = { scheme: string,
  /** Where in the sweep, in words. */
  at: string, seed: number,
  /** When the request began in the run; every other time is since then. */
  start_ms: number,
  /** Until when times are drawn. */
  length_ms: number,
  /** The front end, and behind it each hub under the one that it sends to, those that end last first. */
  nodes: Array<SwarmNode>,
  /** Hubs that are not among these. */
  left_out: number, speeds: DrawnChart,
  /** The request in words: whom the front end waited for, and that one, and so on. */
  says: string, };

/** The ports of one tier that carried packets, at one point. */
export type Tier = {
  /** The tier, such as `leaf down`: ports from leaf switches to hosts. */
  tier: string,
  /** Its ports that carried packets, mean over seeds. */
  ports: number,
  /** The queue over time, mean over ports and seeds. */
  queue_mean_bytes: number,
  /** Its 99th percentile over time at the port where that is largest, over all seeds. */
  queue_p99_bytes: number,
  /** The longest queue of any of them, over all seeds. */
  queue_max_bytes: number,
  /** The share of the run for which a link was sending, mean over ports and seeds. */
  busy_share: number,
  /** That of the busiest link, over all seeds. */
  busiest_share: number,
  /** Bytes that all of them took, mean over seeds, as are the counts below. */
  wire_bytes: number,
  /** Packets that found no room. */
  drops_full: number,
  /** Packets that the law dropped early. */
  drops_early: number,
  /** Packets that would have been marked and were not ECN-capable. */
  drops_not_ect: number,
  /** Packets that waited as the link failed, or came while it was down. */
  drops_down: number,
  /** Packets marked. */
  marks: number, };

/** How a scheme fares. */
export type Verdict = "holds" | "slow" | "sags" | "collapses" | "open" | "overall";

/** A time in which a server, or the client that asks it, hears nothing of the other until a timer fires. */
export type Wait = { from_us: number, to_us: number,
  /** The timer's word: `timeout` or `probe`. */
  timer: string, };
