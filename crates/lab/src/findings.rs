//! What was found, in plain words, from the numbers alone.

mod comparison;
mod curve;
mod finding;
mod judgement;
mod rate;
#[cfg(test)]
mod sample;
mod spread;
mod why;

use fanin_spec::Variant;

use crate::figures::{capital, three};
use crate::stats::Interval;
use crate::{Axis, Slowest, Summary, SummaryRow};
use comparison::comparison;
pub use curve::sure_onsets;
use curve::{Curve, best_before, within_intervals};
pub use finding::{Finding, Verdict};
pub(crate) use judgement::state;
use judgement::{Judged, judged, over_the_sweep, with_stalls};
pub use judgement::{State, focus, state_at};
pub use rate::line_mbps;
use rate::{rate, rate_alone};
use why::{bound_by, first_drops, room, why};

/// Every finding: of all schemes, if there are several, then one a scheme.
pub fn findings(variants: &[Variant], summary: &Summary) -> Vec<Finding> {
    findings_with(variants, summary, &[])
}

/// What was seen inside a run of a scheme at a point, in a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The scheme's label.
    pub scheme: String,
    /// The point's place in the sweep.
    pub place: usize,
    /// The sentence.
    pub says: String,
}

/// Every finding, with what was seen inside runs.
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
        // Of several curves each is told from the others.
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
            + &room(row, self.variant)
            + &first_drops(rows, self.axis, self.searched)
            + &why(row, self.variant, self.seen)
            + &bound_by(row)
            + &self.hangs_on(row)
            + &self.onset();
        (verdict, head, says + &self.searched())
    }

    /// Of a workload between any hosts the first point at which goodput a host is under half of what it was at one before, with
    /// timeouts: else the last point, and the first one beside it.
    fn between_hosts(&self, last: &SummaryRow) -> (Verdict, String, String) {
        if let Some((best, row)) = spread::collapse(&self.curve.rows) {
            let [before, there] = [best, row].map(|row| (self.rate(row.goodput_mbps.mean), self.axis.tick(row)));
            let line_mbps = self.variant.points[row.place].settings.line_rate() as f64 / 1e6;
            let (head, says) = spread::words(row, &rate(row.goodput_mbps.mean, line_mbps), None);
            let factor = three(spread::a_host(best) / spread::a_host(row));
            let head = format!("collapses {}: {head}", self.axis.at(&there.1));
            let fall = format!(
                "{} it moves {}, {} {}: {factor} times less a host, with timeouts.",
                capital(&self.axis.at(&there.1)),
                there.0,
                before.0,
                self.axis.again(&before.1)
            );
            return (Verdict::Collapses, head, format!("{fall} {says}"));
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

    /// How much it moves at a point, from where it fell, and what is allowed.
    fn level(&self, row: &SummaryRow) -> String {
        let (tick, goodput) = (self.axis.tick(row), row.goodput_mbps.mean);
        let level = self.rate(goodput);
        let allowed = row.allowed_mbps.map_or(String::new(), |allowed| {
            let share = three(goodput / allowed * 100.0);
            format!(", {share} % of the {} that the network allows", rate_alone(allowed, self.line_mbps))
        });
        match best_before(&self.curve.rows, row)
            .filter(|best| goodput < best.goodput_mbps.mean && judged(row).state > judged(best).state)
        {
            Some(best) => {
                let from = self.rate(best.goodput_mbps.mean);
                let (before, there) = (self.axis.at(&self.axis.tick(best)), self.axis.again(&tick));
                format!("Goodput falls from {from} {before} to {level} {there}{allowed}.")
            }
            None => format!("{level} {}{allowed}.", self.axis.at(&tick)),
        }
    }

    /// Where an interval is too wide to tell.
    fn doubt(&self, row: &SummaryRow) -> String {
        if judged(row).sure {
            return String::new();
        }
        let Interval { lo, hi, .. } = row.goodput_mbps;
        let [lo, hi] = [lo, hi].map(|end| rate_alone(end, self.line_mbps));
        format!(" Its interval, {lo} to {hi}, does not tell: more seeds may.")
    }

    /// Where a verdict follows from the first rounds, or from a few: without them it is another.
    fn hangs_on(&self, row: &SummaryRow) -> String {
        let better = |some: &&Slowest| with_stalls(row, some.goodput_mbps) < judged(row).state;
        let cold = row.cold.as_ref().filter(better);
        let Some(rounds) = cold.or(row.slowest.as_ref().filter(better)) else { return String::new() };
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
        let hint = if cold.is_some() { "; `workload.warm_up` leaves the first ones out" } else { "" };
        format!(
            " This hangs on {} of {} rounds, {round} {named}: without {they} it moves {}{hint}.",
            rounds.count,
            rounds.of,
            self.rate(rounds.goodput_mbps)
        )
    }

    /// The onset as `--json` has it, where the words above name another point, or where it lies within the seeds' scatter.
    fn onset(&self) -> String {
        let rows = &self.curve.rows;
        let named = rows.iter().find(|row| judged(row).state == State::Collapsed).map(|row| row.place);
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
                " The fall from {} to {} at {tick} lies within the intervals: no onset is told from it.",
                span(best),
                span(row)
            );
        }
        match named {
            Some(named) if named != row.place => {
                format!(" Its onset, under half of its own best before, is at {tick}.")
            }
            _ => String::new(),
        }
    }

    /// Where points were left out.
    fn searched(&self) -> String {
        let (all, tried) = (self.curve.points, self.curve.rows.len());
        match self.searched && tried < all {
            true => format!(
                " Searched: {tried} of {all} {}s were tried, and of the others nothing is known.",
                self.axis.noun()
            ),
            false => String::new(),
        }
    }

    fn rate(&self, mbps: f64) -> String {
        rate(mbps, self.line_mbps)
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{COLLAPSE, Point, found, seen, summed, variants};
    use super::*;
    use crate::{Least, Memories, Spread, Squeezed};

    fn one(onset: Option<u32>, points: &[Point], seen: &[Seen]) -> (Verdict, String) {
        let all = found(&[("newreno", onset, points)], seen);
        assert_eq!(all.len(), 1, "one scheme is compared with nothing");
        (all[0].verdict, format!("{}: {}", all[0].head, all[0].says))
    }

    #[test]
    fn a_collapse_says_how_far_it_holds_how_it_falls_and_what_a_round_waits_for() {
        let expected = "holds to 8, collapses at 16: Goodput falls from 905 Mbit/s with 8 senders to 212 Mbit/s with 16, \
                        21.2 % of the 1000 that the network allows. The queue at the client's port took at most 99.2 % of its \
                        64 KiB. A round takes 203 ms on average and has 2.1 timeouts of 200 ms or more.";
        assert_eq!(one(Some(16), COLLAPSE, &[]), (Verdict::Collapses, expected.into()));
        let says = one(Some(16), COLLAPSE, &[seen("newreno", 16)]).1;
        assert_eq!(says, expected.to_string() + " One flow was seen to wait.");
    }

    #[test]
    fn what_was_seen_at_another_point_explains_nothing() {
        assert!(!one(Some(16), COLLAPSE, &[seen("newreno", 64)]).1.contains("seen to wait"));
    }

    #[test]
    fn a_collapse_in_which_no_round_ends_says_so() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 12.0, 0.0, 4.1, 50.0, 0.0)];
        assert!(one(Some(16), &points, &[]).1.ends_with(" No round ended, after 41 timeouts a run."));
    }

    #[test]
    fn what_never_had_half_of_what_is_allowed_is_collapsed_from_the_first_fan_in_on() {
        let points =
            [(4, 128.0, 10.0, 0.1, 1.4, 0.0), (8, 400.0, 20.0, 0.1, 9.0, 0.0), (16, 178.0, 46.0, 0.3, 36.0, 0.0)];
        let (verdict, says) = one(Some(16), &points, &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(
            says.starts_with(
                "is collapsed at every fan-in tried: 128 Mbit/s with 4 senders, 12.8 % of the 1000 that the network allows."
            ),
            "{says}"
        );
        assert!(says.ends_with(" Its onset, under half of its own best before, is at 16."), "{says}");
    }

    #[test]
    fn less_than_four_fifths_is_a_sag() {
        let points =
            [(32, 930.0, 70.0, 0.0, 0.0, 9.0), (48, 600.0, 220.0, 1.0, 9.0, 9.0), (64, 690.0, 240.0, 1.0, 9.0, 9.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Sags);
        assert_eq!(
            says,
            "holds to 32, sags from 48 on: Goodput falls from 930 Mbit/s with 32 senders to 600 Mbit/s with 48, 60.0 % of \
             the 1000 that the network allows. The queue at the client's port took at most 99.2 % of its 64 KiB. The first \
             drops of the sweep come with 48 senders. A round takes 220 ms on average and has one timeout of 200 ms or more."
        );
    }

    #[test]
    fn goodput_that_falls_and_recovers_is_said_to() {
        let points =
            [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 212.0, 203.0, 1.0, 0.0, 0.0), (32, 850.0, 99.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(says.starts_with("holds to 8, collapses at 16, holds at 32: Goodput falls from 905"), "{says}");
    }

    #[test]
    fn a_fall_inside_the_intervals_is_no_onset() {
        // 33.1 to 14.9 between 0.5 and 60: was "collapses at 256".
        let points = [(128, 33.1, 200.0, 2.0, 9.0, 0.0), (256, 14.9, 400.0, 5.0, 9.0, 0.0)];
        let mut summary = summed(&[("newreno", Some(256), &points)]);
        summary.rows[1].goodput_mbps = Interval { mean: 14.9, lo: 0.5, hi: 60.0 };
        let says = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(says.head, "is collapsed at every fan-in tried");
        let expected = " The fall from 33.1 (32.4 to 33.8) to 14.9 (0.50 to 60.0) at 256 lies within the intervals: no onset \
                        is told from it.";
        assert!(says.says.ends_with(expected), "{}", says.says);
    }

    #[test]
    fn an_interval_too_wide_to_tell_makes_no_verdict() {
        let points = [(2, 454.0, 5.0, 0.9, 0.9, 0.0), (8, 900.0, 20.0, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        summary.rows[0].goodput_mbps = Interval { mean: 454.0, lo: 120.0, hi: 840.0 };
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!((found.verdict, found.head.as_str()), (Verdict::Open, "may be collapsed at 2, holds at 8"));
        assert!(found.says.contains(" Its interval, 120 to 840, does not tell: more seeds may."), "{}", found.says);
    }

    #[test]
    fn what_hangs_on_few_rounds_names_them() {
        let points = [(64, 940.0, 9.0, 0.0, 0.0, 0.0), (128, 330.0, 9.0, 0.0, 0.5, 0.0)];
        let mut summary = summed(&[("newreno", Some(128), &points)]);
        let slowest = Slowest { rounds: vec![(1, 0), (1, 1)], count: 2, of: 1_255, goodput_mbps: 933.0 };
        summary.rows[1].cold = Some(slowest);
        summary.rows[1].seeds = 1;
        // Two rounds of 200 ms, and the others' 9.
        (summary.rows[1].rounds, summary.rows[1].measured_ms) = (1_255.0, 11_700.0);
        (summary.rows[1].stalls, summary.rows[1].stalled_ms) = (2.0, 8_000.0);
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        let expected = " This hangs on 2 of 1255 rounds, rounds 0, 1: without them it moves 933 Mbit/s; `workload.warm_up` \
                        leaves the first ones out.";
        assert!(says.contains(expected), "{says}");
    }

    #[test]
    fn what_holds_says_how_far_how_well_and_at_what_cost() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Holds);
        assert_eq!(
            says,
            "holds to 128, the largest fan-in tried: 900 Mbit/s with 128 senders, 90.0 % of the 1000 that the network \
             allows. The queue at the client's port took at most 99.2 % of its 64 KiB. A round takes 300 ms on average, with no drops and no marks and no timeout."
        );
        let marked = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.01, 3.0, 61.0)];
        assert!(one(None, &marked, &[]).1.ends_with(", with 3.0 drops and 61 marks and hardly a timeout."));
    }

    #[test]
    fn who_held_the_memory_comes_before_what_followed() {
        let mut summary = summed(&[("newreno", Some(16), COLLAPSE)]);
        let (port, holder) = ("switch>client".into(), "switch>server1".into());
        let squeezed = Squeezed { port, refused_packets: 40.0, elsewhere_share: 0.8, holder, holder_share: 0.72 };
        summary.rows[2].memories = Some(Memories { squeezed: Some(squeezed), ..Memories::default() });
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        let held = " switch>server1 held 72 % of the shared memory as 40 packets a run found no room at switch>client. A round";
        assert!(says.contains(held), "{says}");
    }

    #[test]
    fn a_stall_that_no_timeout_ended_is_told() {
        // 41 ms for a delayed ACK in every round, and not one timeout: was "holds".
        let points = [(8, 67.0, 41.0, 0.0, 0.0, 0.0), (16, 67.0, 41.0, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        for row in &mut summary.rows {
            (row.stalls, row.stalled_ms) = (10.0, 400.0);
        }
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!((found.verdict, found.head.as_str()), (Verdict::Collapses, "is collapsed at every fan-in tried"));
        assert!(found.says.ends_with("no timeout. On average it stands still once, for 40.0 ms."), "{}", found.says);
    }

    #[test]
    fn a_round_that_hung_is_in_the_words() {
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
        assert!(says.contains("A round takes at least 1.00 s on average"), "{says}");
        assert!(says.contains(" 1.0 of 2.0 rounds a run had not ended, having waited up to 2.00 s."), "{says}");
        assert!(says.ends_with(" The median is 380 us, the 99th percentile at least 2.00 s."), "{says}");
    }

    #[test]
    fn long_flows_have_no_rounds_that_wait() {
        let points = [(4, 940.0, 0.0, 0.2, 3.0, 0.0), (8, 930.0, 0.0, 0.4, 3.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        for row in &mut summary.rows {
            row.rounds_open = 0.0;
        }
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(found.head, "holds to 8, the largest fan-in tried");
        assert!(
            found.says.ends_with("A run has 4.0 timeouts, 30 drops, 0 marks; Jain's index of what they moved is 1.00."),
            "{}",
            found.says
        );
    }

    #[test]
    fn a_search_says_that_it_did_not_look_everywhere() {
        let mut summary = summed(&[("newreno", Some(16), COLLAPSE)]);
        summary.searched = true;
        let says = &findings(&variants(&["newreno"]), &summary)[0].says;
        assert!(
            says.ends_with(" Searched: 3 of 256 fan-ins were tried, and of the others nothing is known."),
            "{says}"
        );
    }

    #[test]
    fn one_fan_in_is_judged_and_none_is_not() {
        let (verdict, says) = one(None, &[(32, 200.0, 240.0, 1.0, 3.0, 0.0)], &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(says.starts_with("is collapsed with 32 senders, the only fan-in tried: 200 Mbit/s"), "{says}");
        assert_eq!(one(None, &[], &[]), (Verdict::Open, "has no finished run: ".into()));
    }

    #[test]
    fn what_is_slow_without_a_loss_or_a_stall_is_bound_by_latency() {
        let points = [(50, 461.0, 0.449, 0.0, 0.0, 0.0)];
        let mut summary = summed(&[("newreno", None, &points)]);
        let least = Least { whole_ms: 0.3, wire_ms: 0.1, round_trips_ms: 0.15, work_ms: 0.05, requests_ms: 0.0 };
        summary.rows[0].least = Some(least);
        let found = &findings(&variants(&["newreno"]), &summary)[0];
        assert_eq!(
            (found.verdict, found.head.as_str()),
            (Verdict::Slow, "is slow with 50 senders, the only fan-in tried")
        );
        let expected = " Nothing is lost and nothing stands still: it is slow, bound by latency. At the least a round takes 300 us here, \
                        150 us for round trips, 50.0 us for the servers' work, 100 us for its bytes on the wire.";
        assert!(found.says.ends_with(expected), "{}", found.says);
        summary.rows[0].drops = 1.0;
        let lossy = &findings(&variants(&["newreno"]), &summary)[0];
        assert!(lossy.verdict == Verdict::Sags && !lossy.says.contains("latency"), "{lossy:?}");
    }
}
