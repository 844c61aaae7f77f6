//! A warm-up is excluded from all figures, and does not change the time after it.

use crate::common::{run, run_as, spec};
use fanin_sim::Departures;
use fanin_tables::{FlowKind, RunTables};

/// Slow start on cold connections overflows the buffer; later rounds do not.
const BARRIER: &str = r#"
    schemes = ["dctcp"]
    [link]
    rate = "1 Gbit/s"
    delay = "25 us"
    framing = "2 B"
    [host]
    packet_jitter = "none"
    [switch]
    buffer = "64 KiB"
    [tcp]
    rto_min = "10 ms"
    [workload]
    fragment = "64 KiB"
    duration = "400 ms"
    [ecn_threshold]
    k = "20 packets"
"#;

fn tables(extra: &str, fan_in: u32) -> RunTables {
    run(&spec(&BARRIER.replace("[ecn", &format!("{extra}\n[ecn")), fan_in, 1))
}

fn conserved(tables: &RunTables) -> bool {
    let t = &tables.totals;
    t.injected_packets == t.delivered_packets + t.drops + t.in_flight_packets
}

#[test]
fn warm_up_rounds_are_excluded() {
    let whole = tables("", 16);
    let warmed = tables("warm_up = \"2 rounds\"", 16);
    let begin = whole.queries[2].start_ps;
    assert!(whole.queries[0].qct_ps > Some(10_000_000_000), "the first round stalls: {:?}", whole.queries[0]);
    // Rounds after the warm-up are those of the run without one, counted from zero.
    for (number, query) in warmed.queries.iter().enumerate().take(whole.queries.len() - 3) {
        let before = &whole.queries[number + 2];
        assert_eq!((query.round as usize, query.start_ps + begin), (number, before.start_ps));
        assert_eq!(query.qct_ps, before.qct_ps);
    }
    assert!(warmed.flows.iter().all(|flow| flow.start_ps < 400_000_000_000));
    assert_eq!(warmed.totals.measured_ps, 400_000_000_000);
    assert!(warmed.totals.timeouts < whole.totals.timeouts && warmed.totals.drops < whole.totals.drops);
    assert!(warmed.totals.stalls < whole.totals.stalls);
    let ports: u64 = warmed.ports.iter().map(|port| port.drops()).sum();
    assert_eq!(ports, warmed.totals.drops);
    assert!(conserved(&warmed) && warmed.totals.in_flight_packets > 0);
}

#[test]
fn timed_warm_up_ends_with_a_round() {
    let whole = tables("", 4);
    let warmed = tables("warm_up = \"10 ms\"", 4);
    let next = whole.queries.iter().find(|query| query.start_ps >= 10_000_000_000).unwrap();
    assert_eq!(warmed.queries[0].qct_ps, next.qct_ps);
    assert_eq!((warmed.queries[0].start_ps, warmed.totals.measured_ps), (0, 400_000_000_000));
    assert!(conserved(&warmed));
}

#[test]
fn hung_round_does_not_block_measurement() {
    // No response arrives: all are lost.
    let dead = BARRIER.replace("duration = \"400 ms\"", "duration = \"10 ms\"\nwarm_up = \"1 round\"")
        + "\n[fabric]\nchanges = [\"1 ms switch client down\"]\n";
    let tables = run(&spec(&dead, 2, 1));
    assert_eq!((tables.totals.measured_ps, tables.totals.rounds, tables.totals.rounds_open), (10_000_000_000, 0, 1));
    assert!(tables.queries[0].waited_ps >= Some(10_000_000_000), "{:?}", tables.queries);
    assert_eq!((tables.totals.stalls, tables.totals.stalled_ps), (1, 10_000_000_000));
}

#[test]
fn web_search_measures_all_queries() {
    let search = BARRIER.replace("duration", "kind = \"web-search\"\nqueries = 5\nwarm_up = \"3 rounds\"\nduration");
    let warmed = run(&spec(&search, 8, 1));
    let whole = run(&spec(&search.replace("queries = 5", "queries = 8").replace("3 rounds", "0 rounds"), 8, 1));
    assert_eq!((warmed.queries.len(), warmed.totals.rounds), (5, 5));
    let times = |tables: &RunTables| tables.queries.iter().map(|query| query.qct_ps).collect::<Vec<_>>();
    assert_eq!(times(&warmed), times(&whole)[3..]);
    assert_eq!(warmed.totals.payload_bytes, 5 * 8 * 65_536);
}

#[test]
fn flows_are_measured_after_warm_up() {
    let long = BARRIER.replace("duration", "kind = \"long\"\nwarm_up = \"100 ms\"\nduration");
    let tables = run(&spec(&long, 4, 1));
    assert_eq!(tables.totals.measured_ps, 400_000_000_000);
    let moved: u64 = tables.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert_eq!((moved, tables.flows.len()), (tables.totals.payload_bytes, 4));
    // 1,460 of 1,502 bytes are payload: no more than line rate in the measured time.
    assert!(tables.goodput_mbps() > 900.0 && tables.goodput_mbps() < 973.0, "{}", tables.goodput_mbps());

    let poisson =
        |warm_up: &str| BARRIER.replace("duration", &format!("kind = \"poisson\"\nload = 0.3\n{warm_up}\nduration"));
    let warmed = run(&spec(&poisson("warm_up = \"100 ms\""), 4, 1));
    let whole = run(&spec(&poisson("").replace("400 ms", "500 ms"), 4, 1));
    let late: Vec<_> = whole.flows.iter().filter(|flow| flow.start_ps >= 100_000_000_000).collect();
    assert_eq!(warmed.flows.len(), late.len());
    assert!(
        warmed.flows.iter().zip(late).all(|(a, b)| (a.start_ps + 100_000_000_000, a.fct_ps) == (b.start_ps, b.fct_ps))
    );
    assert!(warmed.flows.iter().all(|flow| flow.class == FlowKind::Poisson));
}

#[test]
fn ports_are_measured_after_warm_up() {
    let spec = |ports: bool| {
        let scenario = BARRIER.replace("duration", "warm_up = \"3 rounds\"\nduration");
        spec(&format!("{scenario}\n[measure]\nports = {ports}\nlatency = true\n"), 16, 1)
    };
    let (eager, lazy, watched) = (run(&spec(false)), run_as(&spec(false), Departures::Lazy), run(&spec(true)));
    assert_eq!(eager.totals, lazy.totals);
    assert_eq!((&eager.totals, &eager.queries, &eager.latency), (&watched.totals, &watched.queries, &watched.latency));
}
