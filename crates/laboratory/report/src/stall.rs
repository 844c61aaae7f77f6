//! Stalls of a round: idle periods at the client until a timer fires or a host responds, with their causes.

use fanin_spec::RunSpec;
use fanin_tables::{Cause, EventRow, RunTables, SampleRow};

use super::missing::Missing;
use super::points::round_to;
use super::window::Window;

/// A period in which nothing reaches the client.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Stall {
    /// Since the start of the timeline.
    pub from_us: f64,
    pub to_us: f64,
    /// The server whose packet ends it; empty if the run ends first.
    pub server: String,
    /// The awaited event, in words: `timeouts`, `tail-loss probes`.
    pub waits_for: &'static str,
    /// Number of further servers that time out before the next round.
    pub others: usize,
    /// The losses of that server that led to a timeout; `None` if the events do not show them.
    pub loss: Option<Loss>,
    /// The packet that the timer retransmits; `None` if no timer ended the stall, or nothing was lost.
    pub missing: Option<Missing>,
}

/// The server of a connection's event: the end that does not send requests.
pub(super) fn server_of(event: &EventRow) -> &str {
    let lost = matches!(event.what.as_str(), "drop" | "loss");
    let end = if lost { &event.of } else { &event.at };
    if end == CLIENT { &event.to } else { end }
}

/// The name of the client host.
const CLIENT: &str = "client";

/// Why a server received nothing until its timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(super) enum Loss {
    /// All packets of its window were dropped.
    WholeWindow { packets: u64 },
    /// Some packets were dropped, and too few arrived after them for a fast retransmit.
    TooFewDuplicates { lost: u64, window: u64 },
    /// Its fast recovery did not complete.
    RecoveryStalled,
}

impl Loss {
    /// A clause for use after "server7, which".
    pub fn clause(self) -> String {
        let packets = |n: u64| if n == 1 { "1 packet".into() } else { format!("{n} packets") };
        match self {
            Loss::WholeWindow { packets: 1 } => "lost its whole window, 1 packet".into(),
            Loss::WholeWindow { packets: n } => format!("lost its whole window of {}", packets(n)),
            Loss::TooFewDuplicates { lost, window } => format!(
                "lost {} of a window of {window} and got too few duplicate ACKs for a fast retransmit",
                packets(lost)
            ),
            Loss::RecoveryStalled => "did not complete its fast recovery".into(),
        }
    }
}

/// All stalls of the client within the watched part of a run.
pub(super) fn stalls(spec: &RunSpec, window: Window, seen: &RunTables) -> Vec<Stall> {
    let (events, samples) = (&seen.events, &seen.samples);
    let (from_ps, to_ps) = (window.from.0, window.to.0);
    let own = seen.stalls.iter().filter(|row| row.client_host == 0);
    let within = own.filter(|row| row.start_ps + row.took_ps > from_ps && row.start_ps < to_ps);
    let us = |ps: u64| round_to(ps.saturating_sub(from_ps) as f64 / 1e6, 0.1);
    within
        .map(|row| {
            let (start, end) = (row.start_ps, row.start_ps + row.took_ps);
            let server = row.from_host.map_or(String::new(), |host| format!("server{host}"));
            let fired = |e: &&EventRow| e.what == "timeout" && e.time_ps > start;
            let round_ends = |e: &&EventRow| e.what == "round_end" && e.time_ps > start;
            let round_end = events.iter().find(round_ends).map_or(u64::MAX, |e| e.time_ps);
            let later = events.iter().filter(fired).filter(|e| e.time_ps <= round_end).map(server_of);
            let mut others: Vec<&str> = later.filter(|name| *name != server).collect();
            others.sort_unstable();
            others.dedup();
            let timeout = events.iter().filter(fired).find(|e| e.time_ps <= end && e.at == server);
            let timeout = timeout.filter(|_| row.cause == Cause::Rto);
            let timer = |e: &&EventRow| matches!(e.what.as_str(), "timeout" | "probe") && server_of(e) == server;
            let timer = events.iter().filter(timer).find(|e| e.time_ps > start && e.time_ps <= end);
            let segment = spec.settings.packets(&spec.scheme).payload.0;
            Stall {
                from_us: us(start),
                to_us: us(end.min(to_ps)),
                server,
                waits_for: row.cause.says(),
                others: others.len(),
                loss: timeout.and_then(|timeout| loss(spec, timeout, samples, events)),
                missing: timer.and_then(|timer| Missing::of(timer, segment, events, us)),
            }
        })
        .collect()
}

/// How TCP lost the packet that a timeout sends again; other transports do not count duplicate ACKs.
fn loss(spec: &RunSpec, timeout: &EventRow, samples: &[SampleRow], events: &[EventRow]) -> Option<Loss> {
    if !spec.scheme.is_tcp() {
        return None;
    }
    let server = &timeout.at;
    let before = || events.iter().filter(|e| e.time_ps < timeout.time_ps);
    let round_start = before().rfind(|e| e.what == "round_end").map_or(0, |e| e.time_ps);
    let in_round = || before().filter(move |e| e.time_ps >= round_start);
    let turn = in_round().rfind(|e| e.at == *server && (e.what == "fast_retransmit" || e.what == "timeout"));
    if turn.is_some_and(|e| e.what == "fast_retransmit") {
        return Some(Loss::RecoveryStalled);
    }
    let since = turn.map_or(round_start, |e| e.time_ps);
    let lost = in_round().filter(|e| e.what == "drop" && e.of == *server && e.time_ps >= since).count() as u64;
    let cwnd = samples.iter().rfind(|s| s.series == "cwnd" && s.of == *server && s.time_ps < timeout.time_ps)?;
    let window = (cwnd.value_bytes? / spec.settings.tcp.mss.0.max(1)).max(1);
    match lost {
        0 => None,
        lost if lost >= window => Some(Loss::WholeWindow { packets: lost }),
        lost => Some(Loss::TooFewDuplicates { lost, window }),
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::run;
    use fanin_tables::StallRow;
    use fanin_units::Time;

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
                value_bytes: Some(1500),
                ..SampleRow::default()
            })
            .collect()
    }

    /// Samples of a queue that is idle from 30 to 230 ms, with server7's window before it.
    fn still(window: u64) -> Vec<SampleRow> {
        let mut samples = queue(&[0, 10, 20, 30, 230, 231]);
        let cwnd = SampleRow {
            time_ps: 25 * MS,
            series: "cwnd".into(),
            of: "server7".into(),
            value_bytes: Some(window * 1460),
            ..SampleRow::default()
        };
        samples.insert(3, cwnd);
        samples
    }

    fn event(ms: u64, what: &str, at: &str, of: &str) -> EventRow {
        EventRow { time_ps: ms * MS, what: what.into(), at: at.into(), of: of.into(), ..EventRow::default() }
    }

    fn lost(ms: u64) -> EventRow {
        event(ms, "drop", "switch>client", "server7")
    }

    /// A run that is idle from 30 to 230 ms, until a timeout at server7.
    fn seen(window: u64, events: &[EventRow]) -> RunTables {
        let row = StallRow {
            start_ps: 30 * MS,
            took_ps: 200 * MS,
            cause: Cause::Rto,
            from_host: Some(7),
            ..StallRow::default()
        };
        RunTables { samples: still(window), events: events.to_vec(), stalls: vec![row], ..RunTables::default() }
    }

    fn shown(from: u64) -> Window {
        Window { from: Time::from_millis(from), to: Time::from_millis(400), round: 0, stalls: true }
    }

    fn losses(window: u64, events: &[EventRow]) -> Vec<Option<Loss>> {
        stalls(&spec(), shown(0), &seen(window, events)).into_iter().map(|s| s.loss).collect()
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
        let found = stalls(&spec(), shown(10), &seen(2, &events));
        let loss = Some(Loss::WholeWindow { packets: 2 });
        let (server, waits_for) = ("server7".into(), "retransmission timeouts");
        let expected = Stall { from_us: 20_000.0, to_us: 220_000.0, server, waits_for, others: 1, loss, missing: None };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn waits_without_a_timeout_have_no_loss() {
        let mut probed = seen(2, &[lost(26)]);
        probed.stalls[0].cause = Cause::Tlp;
        let found = stalls(&spec(), shown(0), &probed);
        assert_eq!((found[0].waits_for, found[0].loss), ("tail-loss probes", None));
        assert_eq!(stalls(&spec(), shown(300), &probed), []);
    }

    #[test]
    fn a_loss_within_a_larger_window_had_too_few_duplicate_acks() {
        let events = [lost(26), event(229, "timeout", "server7", "")];
        assert_eq!(losses(3, &events), [Some(Loss::TooFewDuplicates { lost: 1, window: 3 })]);
    }

    #[test]
    fn a_timeout_after_a_fast_retransmit_is_a_recovery_that_stalled() {
        let events = [lost(20), event(25, "fast_retransmit", "server7", ""), event(229, "timeout", "server7", "")];
        assert_eq!(losses(9, &events), [Some(Loss::RecoveryStalled)]);
    }

    #[test]
    fn losses_of_earlier_rounds_are_ignored() {
        let events = [lost(20), event(24, "round_end", "client", "0"), event(229, "timeout", "server7", "")];
        assert_eq!(losses(2, &events), [None]);
    }

    #[test]
    fn describes_causes_in_words() {
        let told = [
            Loss::WholeWindow { packets: 1 },
            Loss::WholeWindow { packets: 4 },
            Loss::TooFewDuplicates { lost: 1, window: 3 },
            Loss::RecoveryStalled,
        ]
        .map(Loss::clause);
        assert_eq!(told[0], "lost its whole window, 1 packet");
        assert_eq!(told[1], "lost its whole window of 4 packets");
        assert_eq!(told[2], "lost 1 packet of a window of 3 and got too few duplicate ACKs for a fast retransmit");
        assert_eq!(told[3], "did not complete its fast recovery");
    }
}
