//! What was found, in plain words, from the numbers alone.

use fanin_spec::Contender;

use super::spread;
use super::story::Story;
use crate::figures::{count, three, time};
use crate::{Summary, SummaryRow};

/// A sentence or two.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// The scheme; none where several are spoken of.
    pub scheme: Option<String>,
    /// How it fares.
    pub verdict: Verdict,
    /// In a few words.
    pub head: String,
    /// What is behind it.
    pub says: String,
}

/// What is left of the best goodput where a scheme is still said to hold.
const HELD: f64 = 0.75;
/// Timeouts a round that make waiting the rule.
const OFTEN: f64 = 0.3;
const DOUBT: &str = " Rounds wait for timeouts at every fan-in tried: an onset may lie below the smallest.";

/// How a scheme fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its goodput stays up.
    Holds,
    /// Its goodput falls by a quarter or more; it has no onset in the strict sense.
    Falls,
    /// It has an onset.
    Collapses,
    /// The sweep does not tell.
    Open,
    /// Not one scheme, but all.
    Overall,
}

/// The first row whose goodput is under three quarters of the best before it.
pub(super) fn fall<'a>(rows: &[&'a SummaryRow]) -> Option<&'a SummaryRow> {
    let mut best = 0.0_f64;
    rows.iter().copied().find(|row| {
        let falls = row.goodput_mbps.mean < HELD * best;
        best = best.max(row.goodput_mbps.mean);
        falls
    })
}

/// The rate of the client's link, or of all hosts' links where flows go between any two, in Mbit/s; the fastest where
/// it differs by scheme.
pub(super) fn line_mbps(contenders: &[Contender]) -> f64 {
    let most = |c: &Contender| c.settings.sweep.fan_in.iter().map(|&n| c.settings.line_rate(n)).max().unwrap_or(0);
    contenders.iter().map(most).max().unwrap_or(0) as f64 / 1e6
}

/// Every finding: of all schemes, if there are several, then one a scheme.
pub fn findings(contenders: &[Contender], summary: &Summary) -> Vec<Finding> {
    told(contenders, summary, &[])
}

/// Every finding, with what stories show.
pub(super) fn told(contenders: &[Contender], summary: &Summary, stories: &[Story]) -> Vec<Finding> {
    let line_mbps = line_mbps(contenders);
    let schemes: Vec<Finding> = contenders
        .iter()
        .map(|contender| {
            let label = &contender.label;
            let rows: Vec<&SummaryRow> = summary.rows.iter().filter(|row| row.scheme == *label).collect();
            let onset = summary.onset.0.iter().find(|(l, _)| l == label).and_then(|(_, onset)| *onset);
            let story = stories.iter().find(|story| story.scheme == *label);
            Subject { contender, rows, onset, story, line_mbps }.finding()
        })
        .collect();
    let overall = match contenders.iter().any(|c| c.settings.workload.kind.many_to_one()) {
        true => comparison(summary, &schemes, line_mbps),
        false => spread::comparison(summary),
    };
    overall.into_iter().chain(schemes).collect()
}

struct Subject<'a> {
    contender: &'a Contender,
    rows: Vec<&'a SummaryRow>,
    onset: Option<u32>,
    story: Option<&'a Story>,
    line_mbps: f64,
}

impl Subject<'_> {
    fn finding(&self) -> Finding {
        let (verdict, head, says) = self.words();
        Finding { scheme: Some(self.contender.label.clone()), verdict, head, says }
    }

    fn words(&self) -> (Verdict, String, String) {
        let Some(last) = self.rows.last() else {
            return (Verdict::Open, "has no finished run".into(), String::new());
        };
        if !self.contender.settings.workload.kind.many_to_one() {
            let (head, says) = spread::words(last, &self.rate(last.goodput_mbps.mean));
            return (Verdict::Open, head, says);
        }
        if self.rows.len() == 1 {
            let says = format!("{}{} One fan-in shows no onset.", self.level(last), self.why(last));
            return (Verdict::Open, format!("tried with {} senders alone", last.point.fan_in), says);
        }
        let fall = fall(&self.rows);
        let held = fall.and_then(|fall| self.rows.iter().rfind(|row| row.point.fan_in < fall.point.fan_in));
        let waits = self.rows.iter().all(|row| row.a_round(row.timeouts) >= OFTEN);
        if let Some(row) = self.onset.and_then(|n| self.rows.iter().find(|row| row.point.fan_in == n)) {
            if waits {
                let says = self.fallen(row, 0.5) + DOUBT;
                return (
                    Verdict::Collapses,
                    format!("waits for timeouts at every fan-in, collapses at {}", row.point.fan_in),
                    says,
                );
            }
            let held = held.map_or(String::new(), |held| format!("holds to {}, ", held.point.fan_in));
            return (Verdict::Collapses, format!("{held}collapses at {}", row.point.fan_in), self.fallen(row, 0.5));
        }
        if waits {
            let says = format!("{}{}{DOUBT}", self.level(last), self.why(last));
            return (Verdict::Collapses, "waits for timeouts at every fan-in".into(), says);
        }
        match (fall, held) {
            (Some(row), Some(held)) => {
                (Verdict::Falls, format!("holds to {}, then falls", held.point.fan_in), self.fallen(row, HELD))
            }
            _ => {
                let head = format!("holds to {}, the largest fan-in tried", last.point.fan_in);
                (Verdict::Holds, head, format!("{}{}", self.level(last), self.why(last)))
            }
        }
    }

    /// From where to where, why, and where `share` of the best is reached again, if anywhere.
    fn fallen(&self, row: &SummaryRow, share: f64) -> String {
        let before = self.rows.iter().filter(|r| r.point.fan_in < row.point.fan_in);
        let best = before.reduce(|a, b| if b.goodput_mbps.mean > a.goodput_mbps.mean { b } else { a });
        let from = best.map_or(String::new(), |best| {
            format!(" from {} with {} senders", self.rate(best.goodput_mbps.mean), best.point.fan_in)
        });
        let to = self.rate(row.goodput_mbps.mean);
        let least = share * best.map_or(f64::INFINITY, |best| best.goodput_mbps.mean);
        let again = self.rows.iter().find(|r| r.point.fan_in > row.point.fan_in && r.goodput_mbps.mean >= least);
        let recovery = again.map_or(String::new(), |again| {
            format!(" Goodput recovers to {} with {}.", self.rate(again.goodput_mbps.mean), again.point.fan_in)
        });
        format!("Goodput falls{from} to {to} with {}.{}{recovery}", row.point.fan_in, self.why(row))
    }

    /// How much it moves at a point.
    fn level(&self, row: &SummaryRow) -> String {
        let share = row.goodput_mbps.mean / self.line_mbps * 100.0;
        let level = self.rate(row.goodput_mbps.mean);
        format!("{level} with {} senders, {} % of line rate.", row.point.fan_in, three(share))
    }

    /// What a round is like at a point, and what the story shows of one.
    fn why(&self, row: &SummaryRow) -> String {
        let Some(mean) = row.qct_ms.mean else {
            return match row.timeouts {
                0.0 => String::new(),
                timeouts => format!(" No round ended, after {} timeouts a run.", count(timeouts)),
            };
        };
        let timeouts = row.a_round(row.timeouts);
        if timeouts < 0.05 {
            let (drops, marks) = (row.a_round(row.drops), row.a_round(row.marks));
            let signs = match (drops >= 0.05, marks >= 0.05) {
                (false, false) => "no drops and no marks".into(),
                (true, false) => format!("{} drops", count(drops)),
                (false, true) => format!("no drops and {} marks", count(marks)),
                (true, true) => format!("{} drops and {} marks", count(drops), count(marks)),
            };
            let rare = if timeouts > 0.0 { "hardly a timeout" } else { "no timeout" };
            return format!(" A round takes {} on average, with {signs} and {rare}.", time(mean));
        }
        let rto_min = self.contender.settings.tcp.rto_min;
        let number =
            if count(timeouts) == "1.0" { "one timeout".into() } else { format!("{} timeouts", count(timeouts)) };
        let mut text = format!(" A round takes {} on average and has {number} of {rto_min} or more.", time(mean));
        let story = self.story.filter(|story| story.fan_in == row.point.fan_in);
        if let Some(stall) = story.and_then(Story::longest_stall) {
            let waits = time((stall.to_us - stall.from_us) / 1e3);
            let cause = stall.cause.map(|cause| cause.clause());
            text += &match (stall.others, cause) {
                (0, Some(cause)) => {
                    format!(" In the round shown below everyone waits {waits} for one flow that {cause}.")
                }
                (0, None) => format!(" In the round shown below everyone waits {waits} for one flow."),
                (n, Some(cause)) => {
                    format!(" In the round shown below everyone waits {waits} for {} flows; the first {cause}.", n + 1)
                }
                (n, None) => format!(" In the round shown below everyone waits {waits} for {} flows.", n + 1),
            };
        }
        text
    }

    fn rate(&self, mbps: f64) -> String {
        rate(mbps, self.line_mbps)
    }
}

/// Best against worst, at the largest fan-in that all schemes have finished.
fn comparison(summary: &Summary, schemes: &[Finding], line_mbps: f64) -> Option<Finding> {
    let of = |row: &SummaryRow| row.point.fan_in;
    let complete = |n: u32| summary.rows.iter().filter(|row| of(row) == n).count() == schemes.len();
    let fan_in = summary.rows.iter().map(of).filter(|&n| complete(n)).max().filter(|_| schemes.len() > 1)?;
    let there = || summary.rows.iter().filter(|row| of(row) == fan_in);
    let better = |a: &SummaryRow, b: &SummaryRow| a.goodput_mbps.mean > b.goodput_mbps.mean;
    let best = there().reduce(|a, b| if better(b, a) { b } else { a })?;
    let worst = there().reduce(|a, b| if better(a, b) { b } else { a })?;
    let held = schemes.iter().filter(|f| f.verdict == Verdict::Holds).count();
    let head = match (held, schemes.len()) {
        _ if schemes.iter().all(|f| f.verdict == Verdict::Open) => "one fan-in was tried".into(),
        (0, _) => "no scheme holds over the whole sweep".into(),
        (held, all) if held == all => "every scheme holds over the whole sweep".into(),
        (1, all) => format!("one scheme of {all} holds over the whole sweep"),
        (held, all) => format!("{held} schemes of {all} hold over the whole sweep"),
    };
    let mut says = format!("With {fan_in} senders {} moves {}", best.scheme, rate(best.goodput_mbps.mean, line_mbps));
    let factor = best.goodput_mbps.mean / worst.goodput_mbps.mean;
    says += &match factor {
        f if f < 1.05 => "; the others move about as much".into(),
        f if f.is_finite() => format!(", {} times as much as {}", three(f), worst.scheme),
        _ => format!("; {} moves nothing", worst.scheme),
    };
    if let (Some(best_p99), Some(worst_p99)) = (best.qct_ms.p99, worst.qct_ms.p99)
        && factor >= 1.05
    {
        says += &format!("; 99 % of its rounds end within {}, against {}", time(best_p99), time(worst_p99));
    }
    Some(Finding { scheme: None, verdict: Verdict::Overall, head, says: says + "." })
}

/// A goodput with its unit; the unit follows from line rate, so that figures can be compared.
fn rate(mbps: f64, line_mbps: f64) -> String {
    if line_mbps >= 100_000.0 { format!("{} Gbit/s", three(mbps / 1e3)) } else { format!("{} Mbit/s", three(mbps)) }
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::super::sample::{Point, rows, stalled};
    use super::*;
    use crate::{Cost, Onsets};

    /// The findings of schemes with these curves and onsets.
    fn found(schemes: &[(&str, Option<u32>, &[Point])], stories: &[Story]) -> Vec<Finding> {
        let names: Vec<&str> = schemes.iter().map(|(name, ..)| *name).collect();
        let text = format!("schemes = {names:?}\n[workload]\nfragment = \"256 KiB\"\n");
        let contenders = Scenario::parse("sample.toml", &text).and_then(|s| s.contenders()).unwrap();
        let summary = Summary {
            schema: 1,
            scenario: "sample.toml".into(),
            hash: Scenario::hash(&contenders),
            warnings: Vec::new(),
            rows: schemes.iter().flat_map(|(name, _, points)| rows(name, points)).collect(),
            onset: Onsets(schemes.iter().map(|(name, onset, _)| (name.to_string(), *onset)).collect()),
            engine: Cost::default(),
        };
        told(&contenders, &summary, stories)
    }

    fn one(onset: Option<u32>, points: &[Point], stories: &[Story]) -> (Verdict, String) {
        let all = found(&[("newreno", onset, points)], stories);
        assert_eq!(all.len(), 1, "one scheme is compared with nothing");
        (all[0].verdict, format!("{}: {}", all[0].head, all[0].says))
    }

    const COLLAPSE: &[Point] =
        &[(4, 900.0, 10.0, 0.0, 3.0, 0.0), (8, 905.0, 20.0, 0.0, 9.0, 0.0), (16, 212.0, 203.0, 2.1, 50.0, 0.0)];

    #[test]
    fn a_collapse_says_how_far_it_holds_how_it_falls_and_what_a_round_waits_for() {
        let expected = "holds to 8, collapses at 16: Goodput falls from 905 Mbit/s with 8 senders to 212 Mbit/s with 16. \
                        A round takes 203 ms on average and has 2.1 timeouts of 200 ms or more.";
        assert_eq!(one(Some(16), COLLAPSE, &[]), (Verdict::Collapses, expected.into()));
        let says = one(Some(16), COLLAPSE, &[stalled("newreno", 16, 0)]).1;
        let wait =
            " In the round shown below everyone waits 200 ms for one flow that lost its whole window of 2 packets.";
        assert_eq!(says, expected.to_string() + wait);
    }

    #[test]
    fn a_wait_for_several_flows_counts_them() {
        let says = one(Some(16), COLLAPSE, &[stalled("newreno", 16, 4)]).1;
        assert!(says.ends_with("waits 200 ms for 5 flows; the first lost its whole window of 2 packets."), "{says}");
    }

    #[test]
    fn a_story_of_another_point_explains_nothing() {
        assert!(!one(Some(16), COLLAPSE, &[stalled("newreno", 64, 0)]).1.contains("shown below"));
    }

    #[test]
    fn a_collapse_in_which_no_round_ends_says_so() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 12.0, 0.0, 4.1, 50.0, 0.0)];
        assert!(one(Some(16), &points, &[]).1.ends_with(" No round ended, after 41 timeouts a run."));
    }

    #[test]
    fn a_fall_by_a_quarter_that_is_no_collapse_is_a_fall() {
        let points =
            [(32, 930.0, 70.0, 0.0, 0.0, 9.0), (48, 600.0, 220.0, 1.0, 9.0, 9.0), (64, 690.0, 240.0, 1.0, 9.0, 9.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Falls);
        assert_eq!(
            says,
            "holds to 32, then falls: Goodput falls from 930 Mbit/s with 32 senders to 600 Mbit/s with 48. \
             A round takes 220 ms on average and has one timeout of 200 ms or more."
        );
    }

    #[test]
    fn goodput_that_falls_and_recovers_is_said_to() {
        let points =
            [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 212.0, 203.0, 0.0, 0.0, 0.0), (32, 800.0, 99.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Falls);
        assert!(says.ends_with("no timeout. Goodput recovers to 800 Mbit/s with 32."), "{says}");
        let longer = [points[0], points[1], (24, 200.0, 203.0, 0.0, 0.0, 0.0), points[2]];
        let (verdict, says) = one(Some(16), &longer, &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(says.ends_with(" Goodput recovers to 800 Mbit/s with 32."), "{says}");
        assert!(!one(Some(16), COLLAPSE, &[]).1.contains("recovers"));
    }

    #[test]
    fn what_holds_says_how_far_how_well_and_at_what_cost() {
        let points = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Holds);
        assert_eq!(
            says,
            "holds to 128, the largest fan-in tried: 900 Mbit/s with 128 senders, 90.0 % of line rate. \
             A round takes 300 ms on average, with no drops and no marks and no timeout."
        );
        let marked = [(8, 905.0, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.01, 3.0, 61.0)];
        assert!(one(None, &marked, &[]).1.ends_with(", with 3.0 drops and 61 marks and hardly a timeout."));
    }

    #[test]
    fn what_waits_for_timeouts_everywhere_is_not_said_to_hold() {
        let points = [(32, 200.0, 400.0, 3.0, 0.0, 0.0), (64, 190.0, 800.0, 5.0, 0.0, 0.0)];
        let (verdict, says) = one(None, &points, &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(
            says.starts_with("waits for timeouts at every fan-in: 190 Mbit/s with 64 senders, 19.0 % of line rate.")
        );
        assert!(says.ends_with(DOUBT));
    }

    #[test]
    fn what_waits_from_the_first_point_on_does_not_hold_before_it_collapses() {
        let points = [(8, 121.0, 200.0, 0.5, 0.0, 0.0), (32, 41.0, 201.0, 9.0, 0.0, 0.0)];
        let (verdict, says) = one(Some(32), &points, &[]);
        assert_eq!(verdict, Verdict::Collapses);
        assert!(says.starts_with("waits for timeouts at every fan-in, collapses at 32: Goodput falls from 121 Mbit/s"));
        assert!(says.ends_with(DOUBT), "{says}");
    }

    #[test]
    fn one_fan_in_shows_no_onset_and_none_shows_nothing() {
        let (verdict, says) = one(None, &[(32, 200.0, 400.0, 0.0, 0.0, 0.0)], &[]);
        assert_eq!(verdict, Verdict::Open);
        assert!(
            says.starts_with("tried with 32 senders alone: 200 Mbit/s") && says.ends_with("One fan-in shows no onset.")
        );
        assert_eq!(one(None, &[], &[]), (Verdict::Open, "has no finished run: ".into()));
    }

    #[test]
    fn schemes_are_compared_where_all_have_finished() {
        let well: &[Point] =
            &[(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 901.0, 40.0, 0.0, 0.0, 0.0), (32, 900.0, 80.0, 0.0, 0.0, 0.0)];
        let all = found(&[("newreno", Some(16), COLLAPSE), ("dctcp", None, well)], &[]);
        assert_eq!(
            (all[0].verdict, all[0].head.as_str()),
            (Verdict::Overall, "one scheme of 2 holds over the whole sweep")
        );
        assert_eq!(
            all[0].says,
            "With 16 senders dctcp moves 901 Mbit/s, 4.25 times as much as newreno; 99 % of its rounds end within \
             80.0 ms, against 406 ms."
        );
        let alone = found(&[("newreno", None, &well[..1]), ("dctcp", None, &well[..1])], &[]);
        assert_eq!(alone[0].head, "one fan-in was tried");
        let alike = found(&[("newreno", None, well), ("dctcp", None, well)], &[]);
        assert_eq!(alike[0].head, "every scheme holds over the whole sweep");
        assert!(alike[0].says.ends_with("; the others move about as much."), "{}", alike[0].says);
    }
}
