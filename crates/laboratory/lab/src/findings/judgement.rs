//! Judgement of a scheme at each point of a sweep and over it, against the closed-form upper bound and no more certain than its
//! interval. Low goodput is a collapse or degradation if losses and stalls explain it; otherwise it is slow.

use fanin_tables::Counter;

use super::verdict::Verdict;
use crate::{Axis, SummaryRow};

/// Minimum share of the upper bound that counts as sustained.
const HOLDS: f64 = 0.8;
/// Shares below this are a collapse.
const HALF: f64 = 0.5;
/// Stalls per round from which idle time is the rule.
const OFTEN: f64 = 0.3;
/// A p99 of this many medians is far above them.
pub(super) const FAR: f64 = 3.0;
/// Maximum number of stretches listed in order; more are grouped by verdict.
const MOST_STRETCHES: usize = 4;

/// A point's verdict by its mean, and whether its whole interval agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub verdict: Verdict,
    pub sure: bool,
}

/// A point's share of its upper bound, and the explained part of the deficit; times are of one client's run.
struct Share {
    of_allowed: f64,
    /// Over the measured time, or over the time of bursts.
    whole_ms: f64,
}

impl Share {
    /// The share for a goodput; `None` without an upper bound.
    fn of(row: &SummaryRow, mbps: f64) -> Option<Share> {
        let of_goodput = |allowed| Share { of_allowed: mbps / allowed, whole_ms: row.measured_ms };
        // Bursts have fixed start times: judge their durations, not goodput.
        let of_bursts = || {
            let (least, mean) = (row.least?, row.qct_ms.mean?);
            let rounds = row.rounds + row.rounds_open;
            Some(Share { of_allowed: least.whole_ms / mean, whole_ms: mean * rounds })
        };
        // Nothing of anything.
        let of_nothing = || (mbps == 0.0).then_some(Share { of_allowed: 0.0, whole_ms: row.measured_ms });
        row.allowed_mbps.map(of_goodput).or_else(of_bursts).or_else(of_nothing)
    }

    fn missing_ms(&self) -> f64 {
        self.whole_ms * (1.0 - self.of_allowed)
    }
}

/// Time of one client's run spent in stalls, or in rounds with a timeout.
pub(super) fn trouble_ms(row: &SummaryRow) -> f64 {
    row.stalled_ms.max(row.repair_ms) / f64::from(row.clients.max(1))
}

/// Whether this much of a run's time explains at least half of a point's deficit.
pub(super) fn explains(row: &SummaryRow, ms: f64) -> bool {
    let share = Share::of(row, row.goodput_mbps.mean);
    share.is_some_and(|share| ms / f64::from(row.clients.max(1)) >= HALF * share.missing_ms())
}

/// The verdict on a point if its mean goodput were `mbps`.
pub(crate) fn verdict_if(row: &SummaryRow, mbps: f64) -> Verdict {
    // A loss that nobody could see may have happened.
    let unseen = Counter::TROUBLE.iter().any(|&counter| !row.measures(counter));
    let losses = unseen || row.drops + row.card_drops + row.lost + row.timeouts + row.stalls > 0.0;
    match Share::of(row, mbps) {
        Some(share) if share.of_allowed >= HOLDS => Verdict::Sustains,
        Some(share) if trouble_ms(row) >= HALF * share.missing_ms() && losses => {
            if share.of_allowed >= HALF {
                Verdict::Degrades
            } else {
                Verdict::Collapsed
            }
        }
        Some(_) if losses => Verdict::Degrades,
        Some(_) => Verdict::Slow,
        None => by_times(row),
    }
}

/// The verdict without an upper bound, or by times: by the share of time in stalls and timeouts, and their frequency.
fn by_times(row: &SummaryRow) -> Verdict {
    let whole_ms = match row.qct_ms.mean {
        Some(mean) => mean * (row.rounds + row.rounds_open) / f64::from(row.clients.max(1)),
        None => row.measured_ms,
    };
    match trouble_ms(row) {
        trouble if trouble > 0.0 && trouble >= HALF * whole_ms => Verdict::Collapsed,
        _ if row.a_round(row.timeouts) >= OFTEN && row.begun() > 0.0 => Verdict::Degrades,
        _ => Verdict::Sustains,
    }
}

/// Verdict on a point by its mean.
pub fn verdict_at(row: &SummaryRow) -> Verdict {
    judged(row).verdict
}

/// Judges a point.
pub(super) fn judged(row: &SummaryRow) -> Judged {
    let goodput = row.goodput_mbps;
    let by_goodput = with_stalls(row, goodput.mean);
    let sure = match by_goodput {
        // Sure if the interval's other end is not a collapse, or has the same verdict.
        Verdict::Sustains => verdict_if(row, goodput.lo) < Verdict::Collapsed,
        worse => with_stalls(row, goodput.hi) == worse,
    };
    Judged { verdict: by_goodput, sure }
}

/// The verdict on a goodput. It is worse if idle rounds are the rule or pauses hold senders back: a paused link carries nothing to other
/// hosts either. Requests that start at times of their own are sent however long others
/// take, so that their times and timeouts count as well.
pub(super) fn with_stalls(row: &SummaryRow, mbps: f64) -> Verdict {
    let still = row.begun() > 0.0 && row.a_round(row.stalls) >= OFTEN;
    match verdict_if(row, mbps) {
        verdict if verdict < Verdict::Collapsed && row.is_held_back() => Verdict::Paused,
        Verdict::Sustains if still || is_late(row) => Verdict::Degrades,
        verdict => verdict,
    }
    .max(if row.open_loop { by_times(row) } else { Verdict::Sustains })
}

/// Whether timeouts decide the p99 of requests that start at times of their own.
fn is_late(row: &SummaryRow) -> bool {
    let far = row.qct_ms.p50.zip(row.qct_ms.p99).is_some_and(|(p50, p99)| p99 >= FAR * p50);
    row.open_loop && row.timeouts > 0.0 && far
}

/// The row to describe: the first that collapses, else the first that degrades or is slow, else the last.
pub fn focus<'a>(rows: &[&'a SummaryRow]) -> Option<&'a SummaryRow> {
    let first = |wanted| rows.iter().copied().find(|row| judged(row) == wanted);
    let of = |verdict| first(Judged { verdict, sure: true }).or_else(|| first(Judged { verdict, sure: false }));
    Verdict::OF_POINTS.into_iter().skip(1).rev().find_map(of).or_else(|| rows.last().copied())
}

/// Consecutive points with the same verdict.
struct Stretch {
    judged: Judged,
    from: String,
    to: String,
}

/// Verdict over a sweep, and a headline with those of its points.
pub(super) fn over_the_sweep(points: &[(String, Judged)], axis: &Axis) -> (Verdict, String) {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (tick, judged) in points {
        match stretches.last_mut().filter(|last| last.judged == *judged) {
            Some(last) => last.to = tick.clone(),
            None => stretches.push(Stretch { judged: *judged, from: tick.clone(), to: tick.clone() }),
        }
    }
    (verdict(points), words(points, &stretches, axis))
}

/// The worst verdict that is sure of some point.
fn verdict(points: &[(String, Judged)]) -> Verdict {
    let sure = points.iter().filter(|(_, judged)| judged.sure).map(|(_, judged)| judged.verdict).max();
    match sure {
        Some(worst) if worst > Verdict::Sustains => worst,
        _ if points.iter().any(|(_, judged)| !judged.sure) => Verdict::Open,
        _ => Verdict::Sustains,
    }
}

fn words(points: &[(String, Judged)], stretches: &[Stretch], axis: &Axis) -> String {
    let noun = axis.noun();
    match stretches {
        [only] if points.len() == 1 && only.judged.verdict == Verdict::Sustains => {
            format!("{} {}, the only {noun} tried", verb(only.judged, true), only.from)
        }
        [only] if points.len() == 1 => {
            format!("{} {}, the only {noun} tried", verb(only.judged, true), axis.at(&only.from))
        }
        [only] if only.judged.verdict == Verdict::Sustains => {
            format!("{} {}, the {} {noun} tried", verb(only.judged, true), only.to, axis.last())
        }
        [only] => format!("{} at every {noun} tried", verb(only.judged, true)),
        several if several.len() > MOST_STRETCHES => by_verdict(several),
        several => {
            let last = several.len() - 1;
            let parts = several.iter().enumerate().map(|(i, stretch)| describe(stretch, i == 0, i == last));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Lists the stretches of each verdict.
fn by_verdict(stretches: &[Stretch]) -> String {
    let mut verdicts: Vec<Judged> = Vec::new();
    for stretch in stretches {
        if !verdicts.contains(&stretch.judged) {
            verdicts.push(stretch.judged);
        }
    }
    verdicts.sort_by_key(|judged| (judged.verdict, !judged.sure));
    let range = |Stretch { from, to, .. }: &Stretch| if from == to { from.clone() } else { format!("{from} to {to}") };
    let of_verdict = |judged: &Judged| {
        let own = stretches.iter().filter(|stretch| stretch.judged == *judged);
        let mut ranges: Vec<String> = own.map(range).collect();
        let last = ranges.pop().unwrap_or_default();
        let all = if ranges.is_empty() { last } else { format!("{} and {last}", ranges.join(", ")) };
        match judged.verdict {
            Verdict::Sustains => format!("{} {all}", verb(*judged, true)),
            _ => format!("{} at {all}", verb(*judged, true)),
        }
    };
    verdicts.iter().map(of_verdict).collect::<Vec<_>>().join(", ")
}

fn describe(stretch: &Stretch, first: bool, last: bool) -> String {
    let Stretch { judged, from, to } = stretch;
    let verb = verb(*judged, first);
    match judged.verdict {
        Verdict::Sustains if first => format!("{verb} {to}"),
        // A collapse lasts until the next stretch.
        Verdict::Collapsed if !first => format!("{verb} at {from}"),
        _ if from == to => format!("{verb} at {from}"),
        _ if last => format!("{verb} from {from} on"),
        _ => format!("{verb} from {from} to {to}"),
    }
}

fn verb(Judged { verdict, sure }: Judged, first: bool) -> String {
    let recovers = verdict == Verdict::Sustains && !first;
    match sure {
        true if recovers => "recovers".into(),
        false if recovers => "may recover".into(),
        true => verdict.verb().into(),
        false => format!("may {}", verdict.infinitive()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::rows;
    use crate::stats::Interval;

    fn at(mbps: f64, lo: f64, hi: f64) -> SummaryRow {
        let row = rows("newreno", &[(8, mbps, 20.0, 0.0, 0.0, 0.0)]).remove(0);
        // Stalls explain whatever is missing.
        let (stalls, stalled_ms) = (0.1, row.measured_ms);
        SummaryRow {
            goodput_mbps: Interval { mean: mbps, lo, hi },
            allowed_mbps: Some(900.0),
            stalls,
            stalled_ms,
            ..row
        }
    }

    #[test]
    fn compares_points_with_the_upper_bound() {
        let of = |mbps: f64| judged(&at(mbps, mbps, mbps));
        assert_eq!(of(720.0), Judged { verdict: Verdict::Sustains, sure: true });
        assert_eq!(of(719.0), Judged { verdict: Verdict::Degrades, sure: true });
        assert_eq!(of(450.0), Judged { verdict: Verdict::Degrades, sure: true });
        assert_eq!(of(449.0), Judged { verdict: Verdict::Collapsed, sure: true });
    }

    #[test]
    fn low_goodput_is_a_collapse_if_stalls_explain_it() {
        // Two thirds are missing of 200 ms: 67 explain half of it.
        let at = |stalled_ms: f64, drops: f64| {
            let row = at(300.0, 290.0, 310.0);
            judged(&SummaryRow { stalls: f64::from(u8::from(stalled_ms > 0.0)), stalled_ms, drops, ..row }).verdict
        };
        assert_eq!(
            [at(67.0, 9.0), at(66.0, 9.0), at(0.0, 9.0), at(0.0, 0.0)],
            [Verdict::Collapsed, Verdict::Degrades, Verdict::Degrades, Verdict::Slow]
        );
    }

    #[test]
    fn judges_by_stall_time_without_a_bound() {
        let none = |trouble_ms: f64, timeouts: f64| {
            let row = at(300.0, 290.0, 310.0);
            let (stalled_ms, repair_ms, stalls) = (0.0, trouble_ms, 0.0);
            judged(&SummaryRow { allowed_mbps: None, stalled_ms, stalls, repair_ms, timeouts, ..row }).verdict
        };
        // Ten rounds of 20 ms.
        assert_eq!(
            [none(0.0, 0.0), none(50.0, 3.0), none(100.0, 3.0)],
            [Verdict::Sustains, Verdict::Degrades, Verdict::Collapsed]
        );
    }

    #[test]
    fn compares_bursts_with_their_ideal_time() {
        let least = |whole_ms| {
            Some(crate::Least { whole_ms, wire_ms: whole_ms, round_trips_ms: 0.0, work_ms: 0.0, requests_ms: 0.0 })
        };
        let of = |whole_ms, repair_ms| {
            let row = at(300.0, 290.0, 310.0);
            let (timeouts, stalled_ms) = (f64::from(u8::from(repair_ms > 0.0)), 0.0);
            judged(&SummaryRow {
                allowed_mbps: None,
                least: least(whole_ms),
                repair_ms,
                timeouts,
                stalled_ms,
                stalls: 0.0,
                ..row
            })
            .verdict
        };
        assert_eq!(
            [of(16.0, 0.0), of(9.0, 0.0), of(9.0, 60.0)],
            [Verdict::Sustains, Verdict::Slow, Verdict::Collapsed]
        );
    }

    #[test]
    fn requests_with_their_own_start_times_are_judged_by_their_times() {
        let of = |open_loop, timeouts, p99| {
            let row = SummaryRow { stalls: 0.0, stalled_ms: 0.0, ..at(890.0, 880.0, 899.0) };
            let qct_ms = crate::Spread { p99: Some(p99), ..row.qct_ms };
            judged(&SummaryRow { open_loop, timeouts, qct_ms, ..row }).verdict
        };
        // Ten requests, of which 6.4 have a timeout; then one slow one, with and without a timeout.
        assert_eq!([of(false, 64.0, 40.0), of(true, 64.0, 40.0)], [Verdict::Sustains, Verdict::Degrades]);
        assert_eq!(
            [of(true, 1.0, 59.0), of(true, 1.0, 60.0), of(true, 0.0, 60.0)],
            [Verdict::Sustains, Verdict::Degrades, Verdict::Sustains]
        );
        let row = SummaryRow {
            open_loop: true,
            timeouts: 64.0,
            repair_ms: 100.0,
            stalls: 0.0,
            stalled_ms: 0.0,
            ..at(890.0, 880.0, 899.0)
        };
        assert_eq!(judged(&row).verdict, Verdict::Collapsed, "half of the requests' time is that of timeouts");
    }

    #[test]
    fn a_run_that_delivers_nothing_does_not_sustain() {
        let nothing = SummaryRow { allowed_mbps: None, stalls: 0.0, stalled_ms: 0.0, ..at(0.0, 0.0, 0.0) };
        assert_eq!(judged(&nothing).verdict, Verdict::Slow);
        let idle = SummaryRow { stalls: 1.0, stalled_ms: nothing.measured_ms, ..nothing };
        assert_eq!(judged(&idle).verdict, Verdict::Collapsed);
    }

    #[test]
    fn verdict_needs_a_clear_interval() {
        assert_eq!(judged(&at(400.0, 100.0, 500.0)), Judged { verdict: Verdict::Collapsed, sure: false });
        assert_eq!(judged(&at(400.0, 100.0, 449.0)), Judged { verdict: Verdict::Collapsed, sure: true });
        assert_eq!(judged(&at(500.0, 400.0, 719.0)), Judged { verdict: Verdict::Degrades, sure: true });
        assert_eq!(judged(&at(500.0, 400.0, 730.0)), Judged { verdict: Verdict::Degrades, sure: false });
        assert_eq!(judged(&at(800.0, 300.0, 890.0)), Judged { verdict: Verdict::Sustains, sure: false });
        assert_eq!(judged(&at(800.0, 500.0, 890.0)), Judged { verdict: Verdict::Sustains, sure: true });
    }

    #[test]
    fn scheme_idle_in_every_third_round_does_not_sustain() {
        let still = SummaryRow { stalls: 3.5, ..at(880.0, 870.0, 890.0) };
        assert_eq!(judged(&still).verdict, Verdict::Degrades, "ten rounds begun");
        let seldom = SummaryRow { stalls: 1.0, ..at(880.0, 870.0, 890.0) };
        assert_eq!(judged(&seldom).verdict, Verdict::Sustains);
    }

    fn swept(states: &str) -> (Verdict, String) {
        let judged = |word| match word {
            'H' => Judged { verdict: Verdict::Sustains, sure: true },
            'h' => Judged { verdict: Verdict::Sustains, sure: false },
            'S' => Judged { verdict: Verdict::Degrades, sure: true },
            's' => Judged { verdict: Verdict::Degrades, sure: false },
            'C' => Judged { verdict: Verdict::Collapsed, sure: true },
            _ => Judged { verdict: Verdict::Collapsed, sure: false },
        };
        let points: Vec<_> = states.chars().zip(1..).map(|(word, n)| ((1 << n).to_string(), judged(word))).collect();
        over_the_sweep(&points, &Axis::of(&[]))
    }

    #[test]
    fn headlines_give_the_verdict_on_every_point() {
        for (states, verdict, words) in [
            ("H", Verdict::Sustains, "sustains 2, the only fan-in tried"),
            ("C", Verdict::Collapsed, "collapses with 2 senders, the only fan-in tried"),
            ("HHHH", Verdict::Sustains, "sustains 16, the largest fan-in tried"),
            ("CCC", Verdict::Collapsed, "collapses at every fan-in tried"),
            ("SSS", Verdict::Degrades, "degrades at every fan-in tried"),
            ("HHSC", Verdict::Collapsed, "sustains 4, degrades at 8, collapses at 16"),
            ("HHCC", Verdict::Collapsed, "sustains 4, collapses at 8"),
            ("SSHHC", Verdict::Collapsed, "degrades from 2 to 4, recovers from 8 to 16, collapses at 32"),
            ("HCCH", Verdict::Collapsed, "sustains 2, collapses at 4, recovers at 16"),
            ("CHHH", Verdict::Collapsed, "collapses at 2, recovers from 4 on"),
            ("ccCC", Verdict::Collapsed, "may collapse from 2 to 4, collapses at 8"),
            ("HHc", Verdict::Open, "sustains 4, may collapse at 8"),
            ("HsS", Verdict::Degrades, "sustains 2, may degrade at 4, degrades at 8"),
            ("hh", Verdict::Open, "may sustain 4, the largest fan-in tried"),
            ("HSHSH", Verdict::Degrades, "sustains 2, 8 and 32, degrades at 4 and 16"),
            (
                "HSHHSScC",
                Verdict::Collapsed,
                "sustains 2 and 8 to 16, degrades at 4 and 32 to 64, collapses at 256, may collapse at 128",
            ),
        ] {
            assert_eq!(swept(states), (verdict, words.into()), "{states}");
        }
    }
}
