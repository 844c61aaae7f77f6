//! Where a round stands still: the link to the client is idle until a timeout fires, and why it had to.

use fanin_spec::{EventRow, RunSpec, SampleRow};

use super::points::round_to;

/// A time in which nothing reaches the client and a timeout is waited for.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Stall {
    /// Since the start of the story.
    pub from_us: f64,
    pub to_us: f64,
    /// The server whose timeout ends it.
    pub server: String,
    /// How many more servers time out before the next round, the first one not counted.
    pub others: usize,
    /// Why that server had to wait; `None` where the events do not say.
    pub cause: Option<Cause>,
}

/// Why a server heard nothing until its timer ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(super) enum Cause {
    /// Every packet of its window was dropped.
    WholeWindow { packets: u64 },
    /// Some were, and too few came through behind them for a fast retransmit.
    TooFewDuplicates { lost: u64, window: u64 },
    /// It was in fast recovery, which did not end.
    RecoveryStalled,
}

impl Cause {
    /// What follows "server7, which".
    pub fn clause(self) -> String {
        let packets = |n: u64| if n == 1 { "1 packet".into() } else { format!("{n} packets") };
        match self {
            Cause::WholeWindow { packets: 1 } => "lost its whole window, 1 packet".into(),
            Cause::WholeWindow { packets: n } => format!("lost its whole window of {}", packets(n)),
            Cause::TooFewDuplicates { lost, window } => format!(
                "lost {} of a window of {window} and got too few duplicate ACKs for a fast retransmit",
                packets(lost)
            ),
            Cause::RecoveryStalled => "did not come out of its fast recovery".into(),
        }
    }
}

/// Every stall between the samples of the queue at the client's port, which has one whenever a packet comes or goes.
pub(super) fn stalls(spec: &RunSpec, from_ps: u64, samples: &[SampleRow], events: &[EventRow]) -> Vec<Stall> {
    let settings = &spec.settings;
    let least = (settings.tcp.rto_min.0 / 4).max(settings.link.delay.0.saturating_mul(8));
    let moves: Vec<u64> = samples.iter().filter(|s| s.series == "queue").map(|s| s.time_ps).collect();
    let idle = moves.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| b - a >= least);
    idle.filter_map(|(start, end)| {
        let fired = |e: &&EventRow| e.what == "timeout" && e.time_ps > start;
        let first = events.iter().find(|e| fired(e) && e.time_ps <= end)?;
        let round_end =
            events.iter().find(|e| e.what == "round_end" && e.time_ps > start).map_or(u64::MAX, |e| e.time_ps);
        let mut others: Vec<&str> =
            events.iter().filter(fired).filter(|e| e.time_ps <= round_end).map(|e| e.at.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        let us = |ps: u64| round_to((ps - from_ps) as f64 / 1e6, 0.1);
        Some(Stall {
            from_us: us(start),
            to_us: us(end),
            server: first.at.clone(),
            others: others.len() - 1,
            cause: cause(spec, first, samples, events),
        })
    })
    .collect()
}

fn cause(spec: &RunSpec, timeout: &EventRow, samples: &[SampleRow], events: &[EventRow]) -> Option<Cause> {
    let server = &timeout.at;
    let before = || events.iter().filter(|e| e.time_ps < timeout.time_ps);
    let round_start = before().rfind(|e| e.what == "round_end").map_or(0, |e| e.time_ps);
    let in_round = || before().filter(move |e| e.time_ps >= round_start);
    let turn = in_round().rfind(|e| e.at == *server && (e.what == "fast_retransmit" || e.what == "timeout"));
    if turn.is_some_and(|e| e.what == "fast_retransmit") {
        return Some(Cause::RecoveryStalled);
    }
    let since = turn.map_or(round_start, |e| e.time_ps);
    let lost = in_round().filter(|e| e.what == "drop" && e.of == *server && e.time_ps >= since).count() as u64;
    let cwnd = samples.iter().rfind(|s| s.series == "cwnd" && s.of == *server && s.time_ps < timeout.time_ps)?;
    let window = (cwnd.value_bytes / spec.settings.tcp.mss.0.max(1)).max(1);
    match lost {
        0 => None,
        lost if lost >= window => Some(Cause::WholeWindow { packets: lost }),
        lost => Some(Cause::TooFewDuplicates { lost, window }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::run;
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn spec() -> RunSpec {
        run("newreno", 8, 1)
    }

    fn queue(ms: &[u64]) -> Vec<SampleRow> {
        ms.iter()
            .map(|ms| SampleRow {
                time_ps: ms * MS,
                series: "queue".into(),
                of: "switch>client".into(),
                value_bytes: 1500,
            })
            .collect()
    }

    /// Samples of a queue that stands still from 30 to 230 ms, with server7's window before it.
    fn still(window: u64) -> Vec<SampleRow> {
        let mut samples = queue(&[0, 10, 20, 30, 230, 231]);
        let cwnd =
            SampleRow { time_ps: 25 * MS, series: "cwnd".into(), of: "server7".into(), value_bytes: window * 1460 };
        samples.insert(3, cwnd);
        samples
    }

    fn event(ms: u64, what: &str, at: &str, of: &str) -> EventRow {
        EventRow { time_ps: ms * MS, what: what.into(), at: at.into(), of: of.into() }
    }

    fn lost(ms: u64) -> EventRow {
        event(ms, "drop", "switch>client", "server7")
    }

    fn causes(window: u64, events: &[EventRow]) -> Vec<Option<Cause>> {
        stalls(&spec(), 0, &still(window), events).into_iter().map(|s| s.cause).collect()
    }

    #[test]
    fn an_idle_link_that_a_timeout_ends_is_a_stall() {
        let events = [
            lost(26),
            lost(27),
            event(229, "timeout", "server7", ""),
            event(231, "timeout", "server3", ""),
            event(240, "round_end", "client", "0"),
            event(250, "timeout", "server4", ""),
        ];
        let found = stalls(&spec(), 10 * MS, &still(2), &events);
        let cause = Some(Cause::WholeWindow { packets: 2 });
        let expected = Stall { from_us: 20_000.0, to_us: 220_000.0, server: "server7".into(), others: 1, cause };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn an_idle_link_without_a_timeout_is_none() {
        assert_eq!(causes(2, &[lost(26), event(300, "timeout", "server7", "")]), []);
    }

    #[test]
    fn a_loss_within_a_larger_window_had_too_few_duplicate_acks() {
        let events = [lost(26), event(229, "timeout", "server7", "")];
        assert_eq!(causes(3, &events), [Some(Cause::TooFewDuplicates { lost: 1, window: 3 })]);
    }

    #[test]
    fn a_timeout_after_a_fast_retransmit_is_a_recovery_that_stalled() {
        let events = [lost(20), event(25, "fast_retransmit", "server7", ""), event(229, "timeout", "server7", "")];
        assert_eq!(causes(9, &events), [Some(Cause::RecoveryStalled)]);
    }

    #[test]
    fn losses_of_earlier_rounds_are_no_cause() {
        let events = [lost(20), event(24, "round_end", "client", "0"), event(229, "timeout", "server7", "")];
        assert_eq!(causes(2, &events), [None]);
    }

    #[test]
    fn a_cause_is_told_in_words() {
        let told = [
            Cause::WholeWindow { packets: 1 },
            Cause::WholeWindow { packets: 4 },
            Cause::TooFewDuplicates { lost: 1, window: 3 },
            Cause::RecoveryStalled,
        ]
        .map(Cause::clause);
        assert_eq!(told[0], "lost its whole window, 1 packet");
        assert_eq!(told[1], "lost its whole window of 4 packets");
        assert_eq!(told[2], "lost 1 packet of a window of 3 and got too few duplicate ACKs for a fast retransmit");
        assert_eq!(told[3], "did not come out of its fast recovery");
    }
}
