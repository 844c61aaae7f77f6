//! Pauses between rounds: their effects and their limits.

use crate::common::{but, run, spec};
use fanin_spec::{Kind, RunSpec};
use fanin_tables::{QueryRow, RunTables};
use fanin_units::Time;

const READS: &str = r#"
    schemes = ["newreno"]
    [tcp]
    delayed_ack = 1
    rto_min = "5 ms"
    [host]
    packet_jitter = "none"
    [switch]
    buffer = "1 MiB"
    [workload]
    fragment = "100 KiB"
    duration = "100 ms"
    queries = 6
"#;

const PAUSE: Time = Time::from_millis(10);

fn paused(spec: &RunSpec) -> RunSpec {
    but(spec, |settings| settings.workload.pause = PAUSE)
}

fn ended(tables: &RunTables) -> Vec<&QueryRow> {
    tables.queries.iter().filter(|query| query.qct_ps.is_some()).collect()
}

#[test]
fn pauses_separate_rounds() {
    for kind in [Kind::Barrier, Kind::WebSearch] {
        let plain = but(&spec(READS, 2, 1), |settings| settings.workload.kind = kind);
        let (tables, plain) = (run(&paused(&plain)), run(&plain));
        let (with, without) = (ended(&tables), ended(&plain));
        assert!(with.len() >= 6, "{} rounds", with.len());
        for (with, without) in with.iter().zip(&without) {
            // Without a pause, a request leaves behind the last ACKs.
            let (with, without) = (with.qct_ps.unwrap(), without.qct_ps.unwrap());
            assert!(with.abs_diff(without) < 2_000_000, "{with} and {without} ps");
        }
        for pair in with.windows(2) {
            assert_eq!(pair[1].start_ps, pair[0].start_ps + pair[0].qct_ps.unwrap() + PAUSE.0);
        }
        assert_eq!((tables.totals.stalls, tables.totals.timeouts), (0, 0), "a pause is no stall");
    }
}

#[test]
fn no_pause_follows_the_last_query() {
    let tables = run(&paused(&but(&spec(READS, 2, 1), |settings| settings.workload.kind = Kind::WebSearch)));
    let last = tables.queries.last().unwrap();
    assert_eq!((tables.queries.len(), tables.totals.measured_ps), (6, last.start_ps + last.qct_ps.unwrap()));
}

#[test]
fn run_ending_in_pause_has_no_open_round() {
    let tables = run(&but(&spec(READS, 2, 1), |settings| settings.workload.pause = Time::from_secs(1)));
    assert_eq!((tables.totals.rounds, tables.totals.rounds_open), (1, 0));
}

#[test]
fn windows_persist_over_pauses() {
    let plain = paused(&spec(READS, 1, 1));
    let restarted = but(&plain, |settings| settings.tcp.idle_restart = true);
    let (plain, restarted) = (run(&plain), run(&restarted));
    let time = |tables: &RunTables, round: usize| ended(tables)[round].qct_ps.unwrap();
    assert_eq!(time(&plain, 0), time(&restarted, 0));
    // Later, the whole response fits in one window, and slow start is over.
    assert!(time(&plain, 3) < time(&plain, 0));
    assert_eq!(time(&restarted, 3), time(&restarted, 2));
    assert!(time(&restarted, 3) > time(&plain, 3), "{} and {}", time(&restarted, 3), time(&plain, 3));
}

#[test]
fn front_ends_pause_independently() {
    let text = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 5\npause = \"3 ms\"\n\
                [key_value]\nobjects = 200\nper_request = 20\nfront_ends = 2\n";
    let tables = run(&spec(text, 4, 1));
    for front in 0..2 {
        let rows: Vec<_> = tables.requests.iter().filter(|row| row.from_host == front).collect();
        assert_eq!(rows.len(), 5);
        for pair in rows.windows(2) {
            let end = pair[0].start_ps + pair[0].latency_ps.unwrap();
            assert_eq!(pair[1].start_ps, end + Time::from_millis(3).0);
        }
    }
}

#[test]
fn spaced_requests_complete_in_order() {
    let gap = Time::from_millis(1);
    let gapped = |s: &mut fanin_spec::Settings| s.workload.request_gap = gap;
    let tables = run(&but(&spec(READS, 4, 1), gapped));
    let starts = |round: u64| {
        let flows = tables.flows.iter().filter(move |flow| flow.round == Some(round));
        let mut starts: Vec<u64> = flows.map(|flow| flow.start_ps).collect();
        starts.sort_unstable();
        starts
    };
    for round in 0..5 {
        let starts = starts(round);
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == gap.0), "{starts:?}");
    }
    assert_eq!(tables.totals.stalls, 0, "waiting for the next request is no stall");
}

#[test]
fn reader_delays_large_responses() {
    for waits in [false, true] {
        let tables = run(&but(&spec(READS, 4, 1), |s| {
            s.workload.request_gap = Time::from_millis(5);
            (s.tcp.acks_wait_for_reader, s.tcp.delayed_ack, s.tcp.initial_window) = (waits, 2, 2);
            s.tcp.rto_min = Time::from_millis(200);
        }));
        let mut flows: Vec<_> = tables.flows.iter().filter(|flow| flow.round == Some(0)).collect();
        flows.sort_unstable_by_key(|flow| flow.start_ps);
        let [first, .., last] = flows[..] else { panic!("four servers") };
        let ends = first.start_ps + first.fct_ps.unwrap();
        assert_eq!(ends > last.start_ps, waits, "it ends at {ends}, the last is asked at {}", last.start_ps);
    }
}

#[test]
fn early_response_allows_another_request() {
    // With two requests in flight, each response takes 0.9 ms, less than the gap, so there is a request every millisecond and never two at
    // once.
    let plain = spec(READS, 4, 1);
    let tables = run(&but(&plain, |s| {
        s.workload.request_gap = Time::from_millis(5);
        s.workload.in_flight = fanin_spec::Optional(Some(2));
    }));
    let first: Vec<(u32, u64)> =
        tables.flows.iter().filter(|flow| flow.round == Some(0)).map(|flow| (flow.from_host, flow.start_ps)).collect();
    let mut hosts: Vec<u32> = first.iter().map(|(host, _)| *host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [1, 2, 3, 4], "{first:?}");
    assert!(tables.totals.rounds > 3);
}
