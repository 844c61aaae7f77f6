//! Findings: sentences about schemes, derived from the figures.

mod comparison;
mod curve;
mod finding;
mod judgement;
mod rate;
#[cfg(test)]
mod sample;
mod spread;
mod verdict;
mod why;

use fanin_spec::Variant;

use crate::figures::{capital, three};
use crate::stats::Interval;
use crate::{Axis, Slowest, Summary, SummaryRow};
use comparison::comparison;
pub use curve::sure_onsets;
use curve::{Curve, best_before, within_intervals};
pub use finding::{Finding, Seen};
pub(crate) use judgement::verdict_if;
use judgement::{Judged, judged, over_the_sweep, with_stalls};
pub use judgement::{focus, verdict_at};
pub use rate::line_mbps;
use rate::{rate, rate_alone};
pub use verdict::Verdict;
use why::{bound_by, first_drops, main_cause, named, real_tcp, room, why};

/// All findings: one for the comparison of several schemes, then one per scheme.
pub fn findings(variants: &[Variant], summary: &Summary) -> Vec<Finding> {
    findings_with(variants, summary, &[])
}

/// All findings, with sentences about single runs.
pub fn findings_with(variants: &[Variant], summary: &Summary, seen: &[Seen]) -> Vec<Finding> {
    let line_mbps = line_mbps(variants);
    let axis = Axis::of(variants);
    let mut schemes = Vec::new();
    for variant in variants {
        let seen = seen.iter().find(|seen| seen.scheme == variant.label);
        for curve in Curve::all(variant, summary) {
            let subject = Subject { variant, curve, axis: &axis, seen, line_mbps, searched: summary.searched };
            schemes.push(subject.finding());
        }
    }
    let overall = match variants.iter().any(|c| c.settings.workload.kind.many_to_one()) {
        true => comparison(summary, &schemes, line_mbps, &axis),
        false => spread::comparison(summary),
    };
    overall.into_iter().chain(schemes).collect()
}

/// The first rounds of a point's runs, if its verdict would be better without them.
pub fn start_decides(row: &SummaryRow) -> Option<&Slowest> {
    row.cold.as_ref().filter(|cold| better_without(row, cold))
}

/// Whether a point's verdict would be better without some rounds.
fn better_without(row: &SummaryRow, some: &Slowest) -> bool {
    with_stalls(row, some.goodput_mbps) < judged(row).verdict
}

struct Subject<'a> {
    variant: &'a Variant,
    curve: Curve<'a>,
    axis: &'a Axis,
    seen: Option<&'a Seen>,
    line_mbps: f64,
    searched: bool,
}

impl Subject<'_> {
    fn finding(&self) -> Finding {
        let (verdict, head, says) = self.words();
        // With several curves, name the one that is meant.
        let which = self.curve.rows.first().map_or(String::new(), |row| self.axis.curve(row));
        let head = if which.is_empty() { head } else { format!("{which} {head}") };
        Finding { scheme: Some(self.variant.label.clone()), verdict, head, says }
    }

    fn words(&self) -> (Verdict, String, String) {
        let rows = &self.curve.rows;
        let Some(last) = rows.last() else {
            return (Verdict::Open, "has no finished run".into(), String::new());
        };
        if !self.variant.settings.workload.kind.many_to_one() {
            return self.between_hosts(last);
        }
        let points: Vec<(String, Judged)> = rows.iter().map(|row| (self.axis.tick(row), judged(row))).collect();
        let (verdict, head) = over_the_sweep(&points, self.axis);
        let row = focus(rows).unwrap_or(last);
        let says = self.level(row)
            + &self.doubt(row)
            + &why(row, self.variant, self.seen)
            + &bound_by(row, self.variant)
            + &room(row, self.variant)
            + &real_tcp(row, self.variant)
            + &first_drops(rows, self.axis, self.searched)
            + &self.depends_on_rounds(row)
            + &self.onset();
        (verdict, head, says + &self.searched())
    }

    /// The finding of an any-to-any workload: the first point with timeouts whose goodput per host is under half of an earlier
    /// point's; otherwise the last point, compared with the first.
    fn between_hosts(&self, last: &SummaryRow) -> (Verdict, String, String) {
        if let Some((best, row)) = spread::collapse(&self.curve.rows) {
            let [before, there] = [best, row].map(|row| (self.rate(row.goodput_mbps.mean), self.axis.tick(row)));
            let line_mbps = self.variant.points[row.place].settings.line_rate() as f64 / 1e6;
            let (head, says) = spread::words(row, &rate(row.goodput_mbps.mean, line_mbps), None);
            let factor = three(spread::a_host(best) / spread::a_host(row));
            let head = format!("collapses {}: {head}", self.axis.at(&there.1));
            let fall = format!(
                "{} it reaches {}, {} {}: {factor}× less per host, with timeouts.",
                capital(&self.axis.at(&there.1)),
                there.0,
                before.0,
                self.axis.again(&before.1)
            );
            return (Verdict::Collapsed, head, format!("{fall} {says}"));
        }
        let (head, says) = self.last_and_first(last);
        (Verdict::Open, head, says)
    }

    fn last_and_first(&self, last: &SummaryRow) -> (String, String) {
        let of = |row: &SummaryRow| {
            let workload = &self.variant.points[row.place].settings.workload;
            let offered = workload.load.0.filter(|_| workload.kind.facts().poisson);
            let line_mbps = self.variant.points[row.place].settings.line_rate() as f64 / 1e6;
            let offered = offered.map(|load| self.rate(load.as_f64() * line_mbps));
            spread::words(row, &self.rate(row.goodput_mbps.mean), offered.as_deref())
        };
        let (head, says) = of(last);
        match self.curve.rows.as_slice() {
            [first, .., _] => {
                let [tick, before] = [last, *first].map(|row| self.axis.tick(row));
                let head = format!("{head} {}", self.axis.at(&tick));
                (head, format!("{says} {} it {}.", capital(&self.axis.at(&before)), of(first).0))
            }
            _ => (head, says),
        }
    }

    /// Goodput at a point, the point that it fell from, the upper bound, and the main cause of stalls.
    fn level(&self, row: &SummaryRow) -> String {
        let (tick, goodput) = (self.axis.tick(row), row.goodput_mbps.mean);
        let level = self.rate(goodput);
        let allowed = row.allowed_mbps.map_or(String::new(), |allowed| {
            let share = three(goodput / allowed * 100.0);
            format!(" ({share} % of the {} that the network allows)", rate(allowed, self.line_mbps))
        });
        let because =
            main_cause(row).map_or(String::new(), |cause| format!(", because rounds wait for {}", named(row, cause)));
        match best_before(&self.curve.rows, row)
            .filter(|best| goodput < best.goodput_mbps.mean && judged(row).verdict > judged(best).verdict)
        {
            Some(best) => {
                let from = self.rate(best.goodput_mbps.mean);
                let (before, there) = (self.axis.at(&self.axis.tick(best)), self.axis.again(&tick));
                format!("Goodput falls from {from} {before} to {level} {there}{allowed}{because}.")
            }
            None => format!("{level} {}{allowed}{because}.", self.axis.at(&tick)),
        }
    }

    /// A note on an interval that is too wide for a verdict.
    fn doubt(&self, row: &SummaryRow) -> String {
        if judged(row).sure {
            return String::new();
        }
        let Interval { lo, hi, .. } = row.goodput_mbps;
        let [lo, hi] = [lo, hi].map(|end| rate_alone(end, self.line_mbps));
        format!(" Its 95 % CI, {lo} to {hi}, is too wide for a verdict: run more seeds.")
    }

    /// A note on a verdict that depends on the first rounds or on a few others.
    fn depends_on_rounds(&self, row: &SummaryRow) -> String {
        let cold = start_decides(row);
        let slowest = row.slowest.as_ref().filter(|some| better_without(row, some));
        let Some(rounds) = cold.or(slowest) else { return String::new() };
        let one_seed = row.seeds == 1;
        let name = |(seed, round): &(u64, u32)| match one_seed {
            true => round.to_string(),
            false => format!("{round} (seed {seed})"),
        };
        let mut named = rounds.rounds.iter().map(name).collect::<Vec<_>>().join(", ");
        if rounds.count > rounds.rounds.len() {
            named += ", ...";
        }
        let (round, they) = if rounds.count == 1 { ("round", "it") } else { ("rounds", "them") };
        let hint = if cold.is_some() { "; set `workload.warm_up` to exclude the first rounds" } else { "" };
        format!(
            " This verdict depends on {} of {} rounds ({round} {named}): without {they}, goodput is {}{hint}.",
            rounds.count,
            rounds.of,
            self.rate(rounds.goodput_mbps)
        )
    }

    /// A note on the collapse point of `--json` if it differs from the one above, or is within the intervals.
    fn onset(&self) -> String {
        let rows = &self.curve.rows;
        let named = rows.iter().find(|row| judged(row).verdict == Verdict::Collapsed).map(|row| row.place);
        let Some(row) = self.curve.onset.and_then(|place| rows.iter().find(|row| row.place == place)) else {
            return String::new();
        };
        let Some(best) = best_before(rows, row) else { return String::new() };
        let span = |row: &SummaryRow| {
            let Interval { mean, lo, hi } = row.goodput_mbps;
            let [mean, lo, hi] = [mean, lo, hi].map(|end| rate_alone(end, self.line_mbps));
            format!("{mean} ({lo} to {hi})")
        };
        let tick = self.axis.tick(row);
        if within_intervals(best, row) {
            return format!(
                " The fall from {} to {} at {tick} is within the 95 % CIs, so it is not a collapse point.",
                span(best),
                span(row)
            );
        }
        match named {
            Some(named) if named != row.place => {
                format!(" Its collapse point, where goodput is under half of its earlier best, is {tick}.")
            }
            _ => String::new(),
        }
    }

    /// A note on points that a search skipped.
    fn searched(&self) -> String {
        let (all, tried) = (self.curve.points, self.curve.rows.len());
        match self.searched && tried < all {
            true => format!(" The search ran {tried} of {all} {}s.", self.axis.noun()),
            false => String::new(),
        }
    }

    fn rate(&self, mbps: f64) -> String {
        rate(mbps, self.line_mbps)
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{COLLAPSE, Point, found, seen, summed, variants, variants_with};
    use super::*;
    use fanin_tables::{Cause, RunTables, StallRow};

    use crate::{Least, Memories, Spread, Squeezed};

    fn one(onset: Option<u32>, points: &[Point], seen: &[Seen]) -> (Verdict, String) {
        let all = found(&[("newreno", onset, points)], seen);
        assert_eq!(all.len(), 1, "one scheme is compared with nothing");
        (all[0].verdict, format!("{}: {}", all[0].head, all[0].says))
    }

    #[test]
    fn describes_a_collapse_with_goodput_rounds_and_queue() {
        let (verdict, says) = one(Some(16), COLLAPSE, &[]);
        assert_eq!(verdict, Verdict::Collapsed);
        for figure in [
            "sustains 8, collapses at 16: ",
            "from 905 Mbit/s with 8 ",
            "to 212 Mbit/s with 16 (21.2 %",
            "203 ms",
            "2.1 timeouts",
            "200 ms",
            "99.2 % of its 64 KiB",
        ] {
            assert!(says.contains(figure), "{figure}: {says}");
        }
        assert!(one(Some(16), COLLAPSE, &[seen("newreno", 16)]).1.contains(" One flow was seen to wait."));
    }

    #[test]
    fn names_a_cause_only_if_it_explains_the_deficit() {
        let says = |ms: f64| {
            let mut summary = summed(&[("newreno", Some(16), COLLAPSE)]);
            let row = &mut summary.rows[2];
            (row.stalls, row.stalled_ms) = (10.0, ms);
            let stall = StallRow {
                client_host: 0,
                start_ps: 0,
                took_ps: (ms * 1e9) as u64,
                cause: Cause::Rto,
                from_host: None,
            };
            row.stalls_by_cause = crate::Causes::of(&[&RunTables { stalls: vec![stall], ..RunTables::default() }]);
            findings(&variants(&["newreno"]), &summary)[0].says.clone()
        };
        let missing_ms = summed(&[("newreno", Some(16), COLLAPSE)]).rows[2].measured_ms * (1.0 - 0.212);
        assert!(says(0.51 * missing_ms).contains(", because rounds wait for retransmission timeouts."));
        assert!(!says(0.49 * missing_ms).contains("because"));
    }

    #[test]
    fn a_wait_beyond_the_end_of_the_run_is_not_called_a_timeout() {
        let mut summary = summed(&[("newreno", None, &[(16, 212.0, 203.0, 0.0, 0.0, 0.0)])]);
        let row = &mut summary.rows[0];
        (row.stalls, row.stalled_ms) = (10.0, 1_900.0);
        let stall =
            StallRow { client_host: 0, start_ps: 0, took_ps: 1_900_000_000_000, cause: Cause::Rto, from_host: None };
        row.stalls_by_cause = crate::Causes::of(&[&RunTables { stalls: vec![stall], ..RunTables::default() }]);
        let says = findings(&variants(&["newreno"]), &summary)[0].says.clone();
        assert!(says.contains("no timeouts") && says.contains("timeouts beyond the end of the run."), "{says}");
    }

    #[test]
    fn ignores_runs_of_other_points() {
        assert!(!one(Some(16), COLLAPSE, &[seen("newreno", 64)]).1.contains("seen to wait"));
    }

    #[test]
    fn reports_that_no_round_ended() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 12.0, 0.0, 4.1, 50.0, 0.0)];
        assert!(one(Some(16), &points, &[]).1.contains(" No round ended, after 41 timeouts per run."));
    }

    #[test]
    fn a_low_start_is_a_collapse() {
        let points =
            [(4, 128.0, 10.0, 0.1, 1.4, 0.0), (8, 400.0, 20.0, 0.1, 9.0, 0.0), (16, 178.0, 46.0, 0.3, 36.0, 0.0)];
        let (verdict, says) = one(Some(16), &points, &[]);
        assert_eq!(verdict, Verdict::Collapsed);
        assert!(
            says.starts_with("collapses at every fan-in tried: 128 Mbit/s with 4 senders (12.8 % of the 1000 Mbit/s that the network allows)."),
            "{says}"
        );
        assert!(
            says.ends_with(" Its collapse point, where goodput is under half of its earlier best, is 16."),
            "{says}"
        );
    }

    #[test]
    fn a_collapse_names_the_kernel_that_the_profile_stands_for() {
        let says = |schemes: &[&str], profile: &str| {
            let sections = format!("[tcp]\nprofile = \"{profile}\"\n");
            let summary = summed(&[(schemes[0], Some(16), COLLAPSE)]);
            findings(&variants_with(schemes, &sections), &summary)[0].says.clone()
        };
        let today = says(&["newreno"], "linux");
        assert!(
            today.contains(" stands for Linux 6.12: past the collapse, its goodput was within a factor of 6.00"),
            "{today}"
        );
        let older = says(&["newreno"], "linux-6.1");
        assert!(older.contains(" stands for Linux 6.1. Linux 6.12 adds 2 ms instead of 8 ms to a probe's"), "{older}");
        assert!(!one(Some(16), COLLAPSE, &[]).1.contains("tcp.profile"), "no profile stands for no kernel");
        let holds = summed(&[("newreno", None, &COLLAPSE[..2])]);
        let holds = &findings(&variants_with(&["newreno"], "[tcp]\nprofile = \"linux\"\n"), &holds)[0].says;
        assert!(!holds.contains("tcp.profile"), "{holds}");
    }

    #[test]
    fn less_than_four_fifths_degrades() {
        let points =
            [(32, 930.0, 70.0, 0.0, 0.0, 9.0), (48, 600.0, 220.0, 1.0, 9.0, 9.0), (64, 690.0, 240.0, 1.0, 9.0, 9.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Degrades);
        for figure in [
            "sustains 32, degrades from 48 on: ",
            "600 Mbit/s with 48 (60.0 %",
            "220 ms",
            "one timeout",
            "Drops start with 48",
        ] {
            assert!(says.contains(figure), "{figure}: {says}");
        }
    }

    #[test]
    fn reports_a_recovery() {
        let points =
            [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 212.0, 203.0, 1.0, 0.0, 0.0), (32, 850.0, 99.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Collapsed);
        assert!(says.starts_with("sustains 8, collapses at 16, recovers at 32: Goodput falls from 905"), "{says}");
    }

    #[test]
    fn a_fall_within_the_intervals_is_no_collapse_point() {
        // 33.1 to 14.9 between 0.5 and 60: was "collapses at 256".
        let points = [(128, 33.1, 200.0, 2.0, 9.0, 0.0), (256, 14.9, 400.0, 5.0, 9.0, 0.0)];
        let mut summary = summed(&[("newreno", Some(256), &points)]);
        summary.rows[1].goodput_mbps = Interval { mean: 14.9, lo: 0.5, hi: 60.0 };
        let says = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(says.head, "collapses at every fan-in tried");
        let expected = " The fall from 33.1 (32.4 to 33.8) to 14.9 (0.50 to 60.0) at 256 is within the 95 % CIs, so it is not a collapse point.";
        assert!(says.says.contains(expected), "{}", says.says);
    }

    #[test]
    fn a_wide_interval_leaves_the_verdict_open() {
        let points = [(2, 454.0, 5.0, 0.9, 0.9, 0.0), (8, 900.0, 20.0, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        summary.rows[0].goodput_mbps = Interval { mean: 454.0, lo: 120.0, hi: 840.0 };
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!((found.verdict, found.head.as_str()), (Verdict::Open, "may collapse at 2, recovers at 8"));
        assert!(
            found.says.contains(" Its 95 % CI, 120 to 840, is too wide for a verdict: run more seeds."),
            "{}",
            found.says
        );
    }

    #[test]
    fn names_the_few_rounds_that_decide() {
        let points = [(64, 940.0, 9.0, 0.0, 0.0, 0.0), (128, 330.0, 9.0, 0.0, 0.5, 0.0)];
        let mut summary = summed(&[("newreno", Some(128), &points)]);
        let slowest = Slowest { rounds: vec![(1, 0), (1, 1)], count: 2, of: 1_255, goodput_mbps: 933.0 };
        summary.rows[1].cold = Some(slowest);
        summary.rows[1].seeds = 1;
        // Two rounds of 200 ms, and the others' 9.
        (summary.rows[1].rounds, summary.rows[1].measured_ms) = (1_255.0, 11_700.0);
        (summary.rows[1].stalls, summary.rows[1].stalled_ms) = (2.0, 8_000.0);
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        assert!(
            says.contains(" 2 of 1255 rounds (rounds 0, 1)") && says.contains(" 933 Mbit/s; set `workload.warm_up`"),
            "{says}"
        );
    }

    #[test]
    fn a_sustained_load_has_its_goodput_and_cost() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Sustains);
        for figure in [
            "sustains 128, the largest fan-in tried: 900 Mbit/s",
            "(90.0 %",
            "300 ms, with no drops, no marks and no timeouts.",
        ] {
            assert!(says.contains(figure), "{figure}: {says}");
        }
        let marked = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.01, 3.0, 61.0)];
        assert!(one(None, &marked, &[]).1.contains(", with 3.0 drops, 61 marks and almost no timeouts."));
    }

    #[test]
    fn names_the_port_that_held_the_memory() {
        let mut summary = summed(&[("newreno", Some(16), COLLAPSE)]);
        let (port, holder) = ("switch>client".into(), "switch>server1".into());
        let squeezed = Squeezed { port, refused_packets: 40.0, elsewhere_share: 0.8, holder, holder_share: 0.72 };
        summary.rows[2].memories = Some(Memories { squeezed: Some(squeezed), ..Memories::default() });
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        let held = " switch>server1 held 72 % of the shared memory when switch>client refused 40 packets";
        assert!(says.contains(held), "{says}");
    }

    #[test]
    fn reports_idle_time_without_timeouts() {
        // 41 ms for a delayed ACK in every round, and not one timeout: was "holds".
        let points = [(8, 67.0, 41.0, 0.0, 0.0, 0.0), (16, 67.0, 41.0, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        for row in &mut summary.rows {
            (row.stalls, row.stalled_ms) = (10.0, 400.0);
        }
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!((found.verdict, found.head.as_str()), (Verdict::Collapsed, "collapses at every fan-in tried"));
        assert!(found.says.contains("no timeouts. It is idle once, 40.0 ms in all."), "{}", found.says);
    }

    #[test]
    fn counts_unfinished_rounds() {
        let points = [(16, 8.3, 1_000.0, 0.5, 4.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        let row = &mut summary.rows[0];
        (row.rounds, row.rounds_open) = (1.0, 1.0);
        row.qct_ms = Spread {
            mean: Some(1_000.0),
            p50: Some(0.38),
            p99: Some(2_000.0),
            max: Some(2_000.0),
            at_least: Some("p95"),
            ..Spread::default()
        };
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        assert!(says.contains("An average round takes at least 1.00 s"), "{says}");
        assert!(says.contains(" 1.0 of 2.0 rounds per run were unfinished after up to 2.00 s."), "{says}");
        assert!(says.contains(" The median is 380 us, p99 at least 2.00 s."), "{says}");
    }

    #[test]
    fn long_flows_have_no_rounds() {
        let points = [(4, 940.0, 0.0, 0.2, 3.0, 0.0), (8, 930.0, 0.0, 0.4, 3.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        for row in &mut summary.rows {
            row.rounds_open = 0.0;
        }
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(found.head, "sustains 8, the largest fan-in tried");
        assert!(
            found.says.contains("A run has 4.0 timeouts, 30 drops, 0 marks; Jain's index of their goodputs is 1.00."),
            "{}",
            found.says
        );
    }

    #[test]
    fn counts_the_points_of_a_search() {
        let mut summary = summed(&[("newreno", Some(16), COLLAPSE)]);
        summary.searched = true;
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        assert!(says.ends_with(" The search ran 3 of 256 fan-ins."), "{says}");
    }

    #[test]
    fn judges_a_single_fan_in() {
        let (verdict, says) = one(None, &[(32, 200.0, 240.0, 1.0, 3.0, 0.0)], &[]);
        assert_eq!(verdict, Verdict::Collapsed);
        assert!(says.starts_with("collapses with 32 senders, the only fan-in tried: 200 Mbit/s"), "{says}");
        assert_eq!(one(None, &[], &[]), (Verdict::Open, "has no finished run: ".into()));
    }

    #[test]
    fn slow_without_losses_or_stalls_is_latency_bound() {
        let points = [(50, 461.0, 0.449, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        let least = Least { whole_ms: 0.3, wire_ms: 0.1, round_trips_ms: 0.15, work_ms: 0.05, requests_ms: 0.0 };
        summary.rows[0].least = Some(least);
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(
            (found.verdict, found.head.as_str()),
            (Verdict::Slow, "is slow with 50 senders, the only fan-in tried")
        );
        let expected =
            " 300 us, 150 us for round trips, 50.0 us for the servers' processing, 100 us for its bytes on the wire.";
        assert!(found.says.contains(expected), "{}", found.says);
        summary.rows[0].drops = 1.0;
        let lossy = &findings(&variants(&["newreno"]), &summary)[0];
        assert!(lossy.verdict == Verdict::Degrades && !lossy.says.contains("latency"), "{lossy:?}");
    }
}
