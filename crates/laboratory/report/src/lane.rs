//! Lane of one server in a timeline: responses, and waits for a timer.

use fanin_tables::{EventRow, RunTables, SampleRow};

use super::stall::server_of;

/// A period in which a server, or the client at the other end, receives nothing until a timer fires.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Wait {
    pub from_us: f64,
    pub to_us: f64,
    /// The kind of timer: `timeout` or `probe`.
    pub timer: String,
}

/// The limit of a sender, by its transport.
pub(super) const LIMITS: [&str; 3] = ["cwnd", "rate", "credit"];

/// Whether a sample is of a sender's limit.
pub(super) fn is_limit(sample: &SampleRow) -> bool {
    LIMITS.contains(&sample.series.as_str())
}

/// The server's responses, from request to completion; unfinished ones end with the timeline.
pub(super) fn answers(seen: &RunTables, server: &str, us: impl Fn(u64) -> f64, [from, to]: [u64; 2]) -> Vec<[f64; 2]> {
    let own = seen.flows.iter().filter(|flow| flow.to_host == 0 && format!("server{}", flow.from_host) == server);
    let spans = own.map(|flow| (flow.start_ps, flow.fct_ps.map_or(to, |took| flow.start_ps.saturating_add(took))));
    spans.filter(|&(start, end)| end > from && start < to).map(|(start, end)| [us(start), us(end.min(to))]).collect()
}

/// Its waits: each from the last packet received or lost up to the timer. A sample's time is the start of its step.
pub(super) fn waits(seen: &RunTables, server: &str, us: impl Fn(u64) -> f64, from: u64, step: u64) -> Vec<Wait> {
    let own = |e: &&EventRow| e.what != "round_end" && server_of(e) == server;
    let is_timer = |e: &&EventRow| matches!(e.what.as_str(), "timeout" | "probe");
    let heard: Vec<u64> = seen.samples.iter().filter(|s| is_limit(s) && s.of == server).map(|s| s.time_ps).collect();
    let timers = seen.events.iter().filter(own).filter(is_timer);
    timers
        .map(|timer| {
            let before = seen.events.iter().filter(own).map(|e| e.time_ps).filter(|&at| at < timer.time_ps);
            // In the timer's own step the window is already reduced.
            let heard = heard[..heard.partition_point(|&at| at + step < timer.time_ps)].last().copied();
            let since = before.max().max(heard).unwrap_or(from);
            Wait { from_us: us(since), to_us: us(timer.time_ps), timer: timer.what.clone() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use fanin_tables::FlowRow;

    use super::*;

    const US: u64 = 1_000_000;

    fn us(ps: u64) -> f64 {
        ps as f64 / 1e6
    }

    #[test]
    fn responses_last_from_request_to_last_byte_or_the_end() {
        let flow = |from_host, start: u64, took: Option<u64>| FlowRow {
            from_host,
            start_ps: start * US,
            fct_ps: took.map(|took| took * US),
            ..FlowRow::default()
        };
        let flows = vec![flow(7, 0, Some(10)), flow(7, 20, Some(30)), flow(7, 60, None), flow(8, 20, Some(9))];
        let seen = RunTables { flows, ..RunTables::default() };
        assert_eq!(answers(&seen, "server7", us, [15 * US, 90 * US]), [[20.0, 50.0], [60.0, 90.0]]);
    }

    #[test]
    fn waits_last_from_the_last_arrival_or_loss_to_the_timer() {
        let event = |at_us: u64, what: &str, at: &str, to: &str| EventRow {
            time_ps: at_us * US,
            what: what.into(),
            at: at.into(),
            to: to.into(),
            ..EventRow::default()
        };
        let sample = |at_us| SampleRow {
            time_ps: at_us * US,
            series: "cwnd".into(),
            of: "server7".into(),
            ..SampleRow::default()
        };
        let lost = EventRow { of: "client".into(), ..event(12, "drop", "switch>server7", "server7") };
        let timers = [event(9, "probe", "server7", "client"), lost, event(212, "timeout", "client", "server7")];
        let seen = RunTables { events: timers.into(), samples: vec![sample(5), sample(8)], ..RunTables::default() };
        let expected = [(5.0, 9.0, "probe"), (12.0, 212.0, "timeout")];
        let expected = expected.map(|(from_us, to_us, timer)| Wait { from_us, to_us, timer: timer.into() });
        assert_eq!(waits(&seen, "server7", us, 0, 2 * US), expected);
    }
}
