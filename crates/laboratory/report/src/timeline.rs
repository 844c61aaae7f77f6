//! Timeline of one run of a scheme, watched again around its most informative round.

use core::sync::atomic::AtomicBool;

use fanin_spec::{RunSpec, Watch};
use fanin_tables::{EventRow, RunError, RunTables};

use super::lane::{LIMITS, Wait, answers, is_limit, waits};
use super::paused::ShownPauses;
use super::points::{round_to, thinned};
use super::stall::{Stall, server_of, stalls};
use super::window::Window;
use fanin_lab::figures::{bytes, capital, time};
use fanin_lab::focus;
use fanin_lab::place_of;
use fanin_lab::{Broken, Runner, Seen, SummaryRow};

/// A few watched rounds of one run.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Timeline {
    pub scheme: String,
    /// The point's index in the sweep, and its description.
    pub place: usize,
    pub at: String,
    pub seed: u64,
    /// Its start in the run; all other times are relative to it.
    pub start_ms: f64,
    pub length_us: f64,
    /// Whether a round stalls.
    pub stalled: bool,
    /// Duration of the first round shown, if it ends.
    pub round_ms: Option<f64>,
    /// The limit of the client's port queue, as in the scenario and in bytes; empty and zero if pauses bound it.
    pub buffer: String,
    pub buffer_bytes: u64,
    /// Payload of a full packet.
    pub packet_bytes: u64,
    /// The limit of a sender: `cwnd` (a congestion window, bytes), `rate` (bit/s) or `credit` (from its receiver, bytes).
    pub limit: &'static str,
    pub queue: Series,
    /// The queue's limit, and the use of the shared memory by all ports; empty if the switch's ports share no memory.
    pub threshold: Series,
    pub memory: Series,
    /// Limits of some servers, in order of their timeouts; the last one is for comparison.
    pub servers: Vec<ServerLimit>,
    pub drops: Happenings,
    pub fast_retransmits: Happenings,
    pub timeouts: Happenings,
    /// Tail-loss probes that fired.
    pub probes: Happenings,
    /// Data packets retransmitted in the whole run.
    pub retransmits: u64,
    /// Pauses of links by lossless ports.
    pub pauses: ShownPauses,
    pub round_ends_us: Vec<f64>,
    pub stalls: Vec<Stall>,
    /// The initial view: the longest stall's start and its causes, else everything.
    pub opens_us: [f64; 2],
    /// A description in words.
    pub says: String,
}

/// A value that holds until the next time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Series {
    us: Vec<f64>,
    /// Bytes, or bit/s for rates.
    values: Vec<u64>,
}

#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct ServerLimit {
    server: String,
    /// Its congestion window, rate or credit.
    limit: Series,
    /// From request to completion.
    answers_us: Vec<[f64; 2]>,
    waits: Vec<Wait>,
}

/// Events of a kind: `servers` names each one's server.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Happenings {
    /// Their number, including those omitted below.
    total: usize,
    us: Vec<f64>,
    servers: Vec<String>,
}

/// Numbers of watched servers and of shown ones.
const WATCHED: usize = 256;
const SHOWN: usize = 8;
/// Maximum numbers of a series' points, and of events of a kind.
const QUEUE_POINTS: usize = 2_000;
const WINDOW_POINTS: usize = 600;
const HAPPENINGS: usize = 3_000;

/// The run to show: of the median seed by goodput, at a point where the scheme collapses or degrades, else at the largest fan-in.
pub(super) fn choose<'a>(
    runs: &[(&'a RunSpec, &'a RunTables)],
    label: &str,
    rows: &[&SummaryRow],
) -> Option<(&'a RunSpec, &'a RunTables)> {
    let place = focus(rows)?.place;
    let mut of_point: Vec<_> =
        runs.iter().filter(|(spec, _)| spec.label == label && spec.place == place).copied().collect();
    of_point.sort_by(|(a, x), (b, y)| x.goodput_mbps().total_cmp(&y.goodput_mbps()).then(a.seed.cmp(&b.seed)));
    of_point.get(of_point.len().checked_sub(1)? / 2).copied()
}

/// Watches the run again and returns its most informative part; `None` after a stop, or if the runner cannot watch runs.
pub(super) fn look(
    runner: &dyn Runner,
    spec: &RunSpec,
    tables: &RunTables,
    stop: &AtomicBool,
) -> Result<Option<(Window, RunTables)>, Broken> {
    let window = Window::of(spec, tables);
    let servers = slowest(tables, window.round, spec.settings.servers());
    let watch = Watch { step: window.step(), from: window.from, to: window.to, servers };
    match runner.watch(spec, watch, stop) {
        Ok(seen) if seen.samples.is_empty() => Ok(None),
        Ok(seen) => Ok(Some((window, seen))),
        Err(RunError::Stopped | RunError::Raised(_)) => Ok(None),
        Err(RunError::Broken(what)) => Err(Broken::new(spec, what)),
    }
}

/// The servers of a round in descending order of completion; if there are too many, the last ones and, for comparison, the first.
fn slowest(tables: &RunTables, round: u32, servers: u32) -> Vec<u32> {
    let mut flows: Vec<_> = tables.flows.iter().filter(|f| f.round == Some(round.into()) && f.from_host > 0).collect();
    flows.sort_by_key(|f| (std::cmp::Reverse(f.fct_ps.unwrap_or(u64::MAX)), f.from_host));
    let mut last: Vec<u32> = flows.iter().map(|f| f.from_host - 1).collect();
    if last.is_empty() {
        last = (0..servers).collect();
    }
    shortened(last, WATCHED)
}

/// The first elements of a list and its last one, `most` in all.
fn shortened<T>(mut list: Vec<T>, most: usize) -> Vec<T> {
    if list.len() > most {
        let last = list.len() - 1;
        list.swap(most - 1, last);
        list.truncate(most);
    }
    list
}

/// The limits of the shown servers.
fn limits(seen: &RunTables, window: Window, us: impl Fn(u64) -> f64) -> Vec<ServerLimit> {
    let (from, to, step) = (window.from.0, window.to.0, window.step().0);
    let samples = || seen.samples.iter().filter(|sample| is_limit(sample));
    let mut names: Vec<&str> = samples().map(|s| s.of.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let first_timeout = |name: &str| {
        let fired = seen.events.iter().find(|e| e.what == "timeout" && server_of(e) == name);
        (fired.map_or(u64::MAX, |e| e.time_ps), number(name))
    };
    names.sort_by_key(|name| first_timeout(name));
    let lane = |name: &str| {
        let own = samples().filter(|s| s.of == name);
        let values: Vec<_> = own.filter_map(|s| Some((s.time_ps, s.value_bytes.or(s.rate_bps)?))).collect();
        let values = thinned(&changes(&values), step * 1_000, WINDOW_POINTS);
        let (answers_us, waits) = (answers(seen, name, &us, [from, to]), waits(seen, name, &us, from, step));
        ServerLimit { server: name.to_string(), limit: Series::new(&values, &us), answers_us, waits }
    };
    shortened(names, SHOWN).into_iter().map(lane).collect()
}

impl Timeline {
    /// The cause of the longest wait shown, and the lost packet.
    pub fn seen(&self) -> Option<Seen> {
        let stall = self.longest_stall()?;
        let waits = time((stall.to_us - stall.from_us) / 1e3);
        let lost = stall.loss.map(|loss| loss.clause());
        let text = match (stall.others, lost) {
            (0, Some(lost)) => format!("The round shown below waits {waits} for one flow that {lost}"),
            (0, None) => format!("The round shown below waits {waits} for one flow"),
            (n, Some(lost)) => {
                format!("The round shown below waits {waits} for {} flows; the first {lost}", n + 1)
            }
            (n, None) => format!("The round shown below waits {waits} for {} flows", n + 1),
        };
        let missing = stall.missing.as_ref().map_or(String::new(), |missing| format!("; {}", missing.clause()));
        Some(Seen { scheme: self.scheme.clone(), place: self.place, says: format!("{text}{missing}.") })
    }

    pub fn new(spec: &RunSpec, window: Window, seen: &RunTables) -> Timeline {
        let RunTables { queries, samples, events, .. } = seen;
        let settings = &spec.settings;
        let from = window.from.0;
        let us = |ps: u64| round_to(ps.saturating_sub(from) as f64 / 1e6, 0.1);
        let length_us = us(window.to.0);
        let frame = settings.wire_packet(&spec.scheme);
        // While the link is busy, its queue changes at least once per packet time.
        let rate = settings.link.client_rate.0.unwrap_or(settings.link.rate);
        let busy = window.step().0.saturating_mul(2).max(rate.time_for(frame).0.saturating_mul(2));
        let series = |kind: &str| {
            let rows = samples.iter().filter(|s| s.series == kind).filter_map(|s| Some((s.time_ps, s.value_bytes?)));
            Series::new(&thinned(&rows.collect::<Vec<_>>(), busy, QUEUE_POINTS), us)
        };
        let happenings = |what: &str, most: usize| {
            let rows: Vec<&EventRow> = events.iter().filter(|e| e.what == what).collect();
            let every = rows.len().div_ceil(most.max(1)).max(1);
            let kept = || rows.iter().step_by(every);
            Happenings {
                total: rows.len(),
                us: kept().map(|e| us(e.time_ps)).collect(),
                servers: kept().map(|e| server_of(e).to_string()).collect(),
            }
        };
        let buffer = settings.client_limit(&spec.scheme);
        let first = queries.iter().find(|q| q.start_ps >= from);
        // The end of the round before falls on the timeline's start.
        let ends = events.iter().filter(|e| e.what == "round_end" && e.time_ps > from);
        let mut timeline = Timeline {
            scheme: spec.label.clone(),
            place: spec.place,
            at: place_of(spec),
            seed: spec.seed,
            start_ms: round_to(from as f64 / 1e9, 1e-4),
            length_us,
            stalled: window.stalls,
            round_ms: first.and_then(|q| q.qct_ps).map(|ps| round_to(ps as f64 / 1e9, 1e-4)),
            buffer: buffer.map_or(String::new(), |size| size.to_string()),
            buffer_bytes: buffer.map_or(0, |size| settings.in_bytes(size)),
            packet_bytes: settings.packets(&spec.scheme).payload.0,
            limit: LIMITS.into_iter().find(|limit| samples.iter().any(|s| s.series == *limit)).unwrap_or_default(),
            queue: series("queue"),
            threshold: series("threshold"),
            memory: series("memory"),
            servers: limits(seen, window, us),
            drops: happenings("drop", HAPPENINGS),
            fast_retransmits: happenings("fast_retransmit", HAPPENINGS),
            timeouts: happenings("timeout", usize::MAX),
            probes: happenings("probe", usize::MAX),
            retransmits: seen.totals.retransmits,
            pauses: ShownPauses::of(events, length_us, us),
            round_ends_us: ends.map(|e| us(e.time_ps)).collect(),
            stalls: stalls(spec, window, seen),
            opens_us: [0.0, length_us],
            says: String::new(),
        };
        timeline.says = timeline.in_words(spec.scheme.is_tcp());
        timeline.opens_us = timeline.cause().map_or(timeline.opens_us, |view| view.map(|us| round_to(us, 0.1)));
        timeline
    }

    /// From the first drop or timeout after the stall that preceded the loss, to enough of the longest stall to be visible; `None`
    /// if there is no stall.
    fn cause(&self) -> Option<[f64; 2]> {
        let longest = self.longest_stall()?;
        let lost_us = longest.missing.as_ref().map_or(longest.from_us, |missing| missing.lost_us);
        let before = self.stalls.iter().map(|stall| stall.to_us).filter(|&end| end <= lost_us.min(longest.from_us));
        let earliest = before.fold(0.0, f64::max);
        let causes = [&self.drops.us, &self.fast_retransmits.us, &self.timeouts.us].into_iter().flatten().copied();
        let first = causes.filter(|&us| us >= earliest && us <= longest.from_us).fold(longest.from_us, f64::min);
        // If all of it happened at once, include a little of the time before.
        let lead = (longest.from_us - first).max((longest.to_us - longest.from_us) / 50.0);
        let from = (longest.from_us - 1.2 * lead).max(0.0);
        let to = longest.from_us + 0.6 * (longest.from_us - from).max(lead);
        Some([from, to.min(longest.to_us)])
    }

    /// The longest stall.
    pub fn longest_stall(&self) -> Option<&Stall> {
        let length = |s: &Stall| s.to_us - s.from_us;
        self.stalls.iter().reduce(|a, b| if length(b) > length(a) { b } else { a })
    }

    fn in_words(&self, is_tcp: bool) -> String {
        let repair = if is_tcp { "fast retransmit" } else { "retransmission request" };
        // After the end of a stalled round, events are shown but not counted.
        let end = if self.stalled { self.round_ends_us.first().copied().unwrap_or(f64::MAX) } else { f64::MAX };
        let many = |of: &Happenings, what: &str| match of.until(end) {
            0 => format!("no {what}"),
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        let rounds = match (self.stalled, self.round_ends_us.len()) {
            (true, _) => "The first round that stalls".into(),
            (false, 0) => format!("The first {}", time(self.length_us / 1e3)),
            (false, 1) => "The first round".into(),
            (false, n) => format!("The first {n} rounds"),
        };
        let pauses = match self.pauses.total {
            0 => String::new(),
            1 => ", 1 pause".into(),
            n => format!(", {n} pauses"),
        };
        let mut text = format!(
            "{rounds}, with {} under seed {}: {}, {}, {}{pauses}.",
            self.at,
            self.seed,
            many(&self.drops, "dropped packet"),
            many(&self.fast_retransmits, repair),
            many(&self.timeouts, "timeout"),
        );
        text += &match self.longest_stall() {
            Some(stall) => self.wait_in_words(stall),
            None if self.stalled => " The link to the client is busy during the timeouts.".into(),
            None => {
                let most = self.queue.values.iter().max().copied().unwrap_or(0);
                let share = most as f64 / self.buffer_bytes.max(1) as f64 * 100.0;
                let at_most = match (self.buffer_bytes, self.threshold.values.is_empty()) {
                    (0, _) => format!("{}, which pauses bound", bytes(most as f64)),
                    (_, true) => format!("{share:.0} % of its buffer of {}", self.buffer),
                    (_, false) => {
                        format!("{share:.0} % of its limit without congestion at other ports, {}", self.buffer)
                    }
                };
                format!(" The queue at the client's port reaches at most {at_most}.")
            }
        };
        text
    }

    fn wait_in_words(&self, stall: &Stall) -> String {
        let mut text = format!(
            " From {} to {} nothing reaches the client: the round waits for {}{}",
            time(stall.from_us / 1e3),
            time(stall.to_us / 1e3),
            stall.waits_for,
            if stall.server.is_empty() { String::new() } else { format!(", of {} first", stall.server) },
        );
        text += &stall.loss.map_or(String::new(), |loss| format!(", which {}", loss.clause()));
        text += &match stall.others {
            0 => ".".into(),
            1 => "; 1 more server times out in this round.".into(),
            n => format!("; {n} more servers time out in this round."),
        };
        if let Some(missing) = &stall.missing {
            text += &format!(" {}.", capital(&missing.clause()));
        }
        if let Some(round) = self.round_ms {
            let lasts = (stall.to_us - stall.from_us) / 1e3;
            let share = lasts / round * 100.0;
            text += &format!(" The round takes {}, of which this wait is {}, {share:.0} %.", time(round), time(lasts));
        }
        text
    }
}

impl Happenings {
    /// The number of events up to a time.
    fn until(&self, end_us: f64) -> usize {
        match self.us.iter().rposition(|&us| us <= end_us) {
            _ if end_us == f64::MAX => self.total,
            Some(last) => (last + 1) * self.total / self.us.len(),
            None => 0,
        }
    }
}

impl Series {
    fn new(points: &[(u64, u64)], us: impl Fn(u64) -> f64) -> Series {
        Series { us: points.iter().map(|p| us(p.0)).collect(), values: points.iter().map(|p| p.1).collect() }
    }
}

/// The number in `server12`, for natural sort order.
fn number(name: &str) -> u64 {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// The points at which the value changes, and the last one.
fn changes(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let keep = |i: usize| i == 0 || i + 1 == points.len() || points[i].1 != points[i - 1].1;
    (0..points.len()).filter(|&i| keep(i)).map(|i| points[i]).collect()
}

#[cfg(test)]
mod tests {
    use fanin_tables::{FlowRow, Totals};

    use super::*;
    use crate::missing::Missing;
    use crate::sample::{Point, rows, run};
    use crate::stall::Loss;

    /// Runs of newreno at 8 and 16 senders under seeds 1 to 3; the goodput of seed 2 is the least.
    fn chosen(points: &[Point]) -> Option<(u32, u64)> {
        let runs: Vec<(RunSpec, RunTables)> = [8, 16]
            .iter()
            .flat_map(|&fan_in| [1, 2, 3].map(|seed| (fan_in, seed)))
            .map(|(fan_in, seed)| {
                let payload_bytes = [30, 10, 20][seed as usize - 1];
                let totals = Totals { payload_bytes, measured_ps: 1_000_000, ..Totals::default() };
                (run("newreno", fan_in, seed), RunTables { totals, ..RunTables::default() })
            })
            .collect();
        let runs: Vec<_> = runs.iter().map(|(spec, tables)| (spec, tables)).collect();
        let rows = rows("newreno", points);
        let chosen = choose(&runs, "newreno", &rows.iter().collect::<Vec<_>>());
        chosen.map(|(spec, _)| (spec.fan_in, spec.seed))
    }

    #[test]
    fn shows_the_median_seed_at_the_collapse() {
        let points = [(4, 600.0, 1.0), (8, 90.0, 1.0), (16, 900.0, 0.0)];
        assert_eq!(chosen(&points), Some((8, 3)));
    }

    #[test]
    fn without_collapse_shows_degradation_or_largest_fan_in() {
        let falls = [(4, 900.0, 0.0), (8, 600.0, 0.0), (16, 700.0, 0.0)];
        assert_eq!(chosen(&falls), Some((8, 3)));
        let holds = [(8, 900.0, 0.0), (16, 900.0, 0.0)];
        assert_eq!(chosen(&holds), Some((16, 3)));
    }

    #[test]
    fn schemes_without_finished_runs_have_no_timeline() {
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[(99, 900.0, 0.0)]), None);
    }

    /// The description of a wait of 200 ms for server7, which lost its whole window, and for `others` more servers.
    fn said(others: usize) -> String {
        let loss = Some(Loss::WholeWindow { packets: 2 });
        let stall = Stall { from_us: 20_000.0, to_us: 220_000.0, others, loss, ..Stall::default() };
        Timeline { stalls: vec![stall], ..Timeline::default() }.seen().expect("a wait").says
    }

    #[test]
    fn describes_a_wait_with_its_loss_and_number_of_flows() {
        let one = "The round shown below waits 200 ms for one flow that lost its whole window of 2 packets.";
        assert_eq!(said(0), one);
        let several = "waits 200 ms for 5 flows; the first lost its whole window of 2 packets.";
        assert!(said(4).ends_with(several), "{}", said(4));
    }

    #[test]
    fn only_changes_and_the_last_point_are_kept() {
        assert_eq!(changes(&[(0, 1), (1, 1), (2, 2), (3, 2), (4, 2)]), [(0, 1), (2, 2), (4, 2)]);
        assert_eq!(changes(&[]), []);
    }

    #[test]
    fn thinning_keeps_peaks_dips_and_isolated_points() {
        let mut points: Vec<(u64, u64)> = (0..10_000).map(|i| (i, 50 + i % 7)).collect();
        points[1_234].1 = 900;
        points[7_000].1 = 0;
        points.push((1_000_000, 55));
        let thin = thinned(&points, 100, 400);
        assert!(thin.len() <= 440, "{}", thin.len());
        assert!(thin.contains(&(1_234, 900)) && thin.contains(&(7_000, 0)));
        assert_eq!(thin[thin.len() - 2..], [(9_999, points[9_999].1), (1_000_000, 55)]);
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn servers_are_sorted_by_completion_latest_first() {
        let flow =
            |server: u32, fct_ps| FlowRow { round: Some(2), from_host: server + 1, fct_ps, ..FlowRow::default() };
        let mut flows = vec![flow(0, Some(5)), flow(1, None), flow(2, Some(9)), flow(3, Some(1))];
        flows.push(FlowRow { round: Some(1), ..flow(4, None) });
        let tables = RunTables { flows, ..RunTables::default() };
        assert_eq!(slowest(&tables, 2, 5), [1, 2, 0, 3]);
        assert_eq!(slowest(&tables, 7, 3), [0, 1, 2]);
    }

    /// A timeline of 220 ms with a stall from 20 ms to 210 ms, and with these drops.
    fn opening(drops_us: &[f64], earlier: Option<Stall>) -> Option<[f64; 2]> {
        let stall = |from_us, to_us| Stall { from_us, to_us, ..Stall::default() };
        let drops = Happenings { total: drops_us.len(), us: drops_us.to_vec(), servers: Vec::new() };
        let stalls = earlier.into_iter().chain([stall(20_000.0, 210_000.0)]).collect();
        Timeline { length_us: 220_000.0, drops, stalls, ..Timeline::default() }.cause()
    }

    #[test]
    fn opens_on_drops_and_the_start_of_their_wait() {
        assert_eq!(opening(&[10_000.0, 15_000.0, 215_000.0], None), Some([8_000.0, 27_200.0]));
    }

    #[test]
    fn opens_after_the_preceding_wait() {
        let earlier = Stall { from_us: 1_000.0, to_us: 9_000.0, ..Stall::default() };
        assert_eq!(opening(&[500.0, 15_000.0], Some(earlier)), Some([14_000.0, 23_600.0]));
    }

    #[test]
    fn opens_before_the_first_loss_despite_a_wait_between() {
        let earlier = Stall { from_us: 12_000.0, to_us: 18_000.0, ..Stall::default() };
        let missing = Missing { lost_us: 9_000.0, ..Missing::default() };
        let stall = Stall { from_us: 20_000.0, to_us: 210_000.0, missing: Some(missing), ..Stall::default() };
        let drops = Happenings { total: 2, us: vec![8_000.0, 9_000.0], servers: Vec::new() };
        let timeline = Timeline { length_us: 220_000.0, drops, stalls: vec![earlier, stall], ..Timeline::default() };
        assert!(timeline.cause().is_some_and(|[from, to]| from < 8_000.0 && to > 20_000.0), "{:?}", timeline.cause());
    }

    #[test]
    fn opens_slightly_before_drops_at_the_start_of_a_wait() {
        let [from, to] = opening(&[20_000.0], None).expect("a stall");
        assert!(from < 17_000.0 && to > 21_000.0 && to < 30_000.0, "{from} to {to}");
    }

    #[test]
    fn a_timeline_beginning_with_a_wait_opens_on_part_of_it() {
        let stall = Stall { from_us: 0.0, to_us: 100_000.0, ..Stall::default() };
        let timeline = Timeline { length_us: 110_000.0, stalls: vec![stall], ..Timeline::default() };
        assert_eq!(timeline.cause(), Some([0.0, 1_200.0]));
    }

    #[test]
    fn a_timeline_without_a_wait_opens_whole() {
        assert_eq!(Timeline { length_us: 9.0, ..Timeline::default() }.cause(), None);
    }
}
