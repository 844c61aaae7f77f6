//! Runs over this kernel's TCP. Where something is lacking, such as root, each is skipped with a printed reason.

use std::sync::atomic::AtomicBool;

use fanin_lab::Measurement;
use fanin_spec::{RunSpec, Scenario};
use fanin_tables::{Cause, Counter, RunError, RunTables, StallRow};
use fanin_testbed::{Testbed, Trouble};

/// Barrier reads over links that any machine carries.
const STAR: &str = include_str!("../star.toml");

/// Whether something is lacking here, which it prints.
fn is_lacking() -> bool {
    match Testbed::here().check(&spec(STAR)) {
        Err(Trouble::Lacks(why)) => {
            eprintln!("skipped: {why}");
            true
        }
        checked => {
            checked.unwrap();
            false
        }
    }
}

fn spec(text: &str) -> RunSpec {
    let scenario = Scenario::parse("testbed.toml", text).unwrap();
    scenario.variants().unwrap()[0].at(0, 1).unwrap()
}

fn measured(text: &str) -> RunTables {
    Testbed::here().measure(&spec(text), &AtomicBool::new(false)).unwrap()
}

#[test]
fn barrier_reads_fill_the_clients_port() {
    if is_lacking() {
        return;
    }
    let tables = measured(STAR);
    let goodput = tables.goodput_mbps();
    // 20 Mbit/s less headers, and less what a busy machine loses.
    assert!((10.0..=20.0).contains(&goodput), "{goodput}");
    assert!(tables.totals.rounds >= 5 && tables.totals.data_packets > 100, "{:?}", tables.totals);
    assert_eq!(tables.totals.drops, 0);
    let client = tables.ports.iter().max_by_key(|port| port.wire_bytes).unwrap();
    assert!(client.wire_bytes > tables.totals.payload_bytes, "{client:?}");
    assert_eq!(tables.unmeasured, [Counter::Queues]);
}

#[test]
fn small_buffers_drop_packets_that_are_retransmitted() {
    if is_lacking() {
        return;
    }
    let tables = measured(&STAR.replace("256 KB", "6 KB"));
    assert!(tables.totals.drops > 0, "{:?}", tables.totals);
    assert!(tables.totals.retransmits > 0, "{:?}", tables.totals);
    // Whole responses are lost, so the client waits for timers.
    let timers = [Cause::Rto, Cause::Tlp, Cause::Reordering];
    let waits: Vec<&StallRow> = tables.stalls.iter().filter(|stall| timers.contains(&stall.cause)).collect();
    assert!(waits.iter().any(|stall| stall.took_ps > 10_000_000_000), "{:?}", tables.stalls);
}

#[test]
fn hosts_of_all_racks_reach_each_other() {
    if is_lacking() {
        return;
    }
    // It ends with its flows, which a busy machine delays.
    let shuffle = STAR
        .replace("kind = \"barrier\"", "kind = \"shuffle\"")
        .replace("fan_in = [4]", "fan_in = [5]")
        .replace("duration = \"400 ms\"", "duration = \"10 s\"")
        + "[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 3\nspines = 2\nuplink_rate = \"100 Mbit/s\"\n";
    let tables = measured(&shuffle);
    assert_eq!(tables.flows.len(), 6 * 5);
    assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()));
}

#[test]
fn requests_for_objects_are_answered_through_hubs() {
    if is_lacking() {
        return;
    }
    let scenario = STAR
        .replace("\"cubic\"", "\"sicc\"")
        .replace(
            "kind = \"barrier\"\nfragment = \"16 KiB\"\nduration = \"400 ms\"",
            "kind = \"key_value\"\nqueries = 5\nduration = \"60 s\"",
        )
        .replace("fan_in = [4]", "fan_in = [8]")
        + "[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 3\nspines = 1\nuplink_rate = \"100 Mbit/s\"\n\
           [key_value]\nobjects = 100\nper_request = 20\n";
    let tables = measured(&scenario);
    let times: Vec<_> = tables.queries.iter().map(|query| query.qct_ps).collect();
    assert!(
        times.len() == 5 && times.iter().all(|time| time.is_some_and(|time| time < 5_000_000_000_000)),
        "{times:?}"
    );
}

#[test]
fn a_stopped_run_ends_soon() {
    if is_lacking() {
        return;
    }
    let ended = Testbed::here().measure(&spec(STAR), &AtomicBool::new(true));
    assert!(matches!(ended, Err(RunError::Stopped)), "{ended:?}");
}

#[test]
fn impossible_networks_are_refused() {
    let refusal = |text: &str| Testbed::here().check(&spec(text)).unwrap_err();
    let switch = refusal(&STAR.replace("\"cubic\"", "\"cubic+ictcp\""));
    assert!(matches!(switch, Trouble::Unsupported(_)), "{switch}");
    let fast = refusal(&STAR.replace("\"100 Mbit/s\"", "\"100 Gbit/s\""));
    assert!(matches!(fast, Trouble::Unsupported(_)), "{fast}");
    let large = refusal(&STAR.replace("fan_in = [4]", "fan_in = [2000]"));
    assert!(matches!(large, Trouble::TooLarge(2_002)), "{large}");
}

/// Whether the program that loads others is missing, or cannot load them here, which it prints.
fn has_programs(scheme: &str) -> bool {
    match Testbed::here().check(&spec(&STAR.replace("cubic", scheme))) {
        Err(Trouble::Lacks(why)) => {
            eprintln!("skipped: {why}");
            false
        }
        checked => {
            checked.unwrap();
            true
        }
    }
}

#[test]
fn gentle_slow_start_runs_on_this_kernel() {
    if !has_programs("newreno+gss") {
        return;
    }
    let new = STAR.replace("kind = \"barrier\"", "kind = \"barrier\"\nconnections = \"new\"");
    let tables = measured(&new.replace("cubic", "newreno+gss"));
    assert!(tables.totals.rounds >= 2 && tables.goodput_mbps() > 5.0, "{:?}", tables.totals);
}

#[test]
fn routers_assign_windows_on_this_kernel() {
    if !has_programs("cubic+m21") {
        return;
    }
    // 16 KB of buffer, where four senders would otherwise fill 4 times 10 segments.
    let small = STAR.replace("256 KB", "16 KB").replace("profile", "delayed_ack = 1\ninitial_window = 1\nprofile");
    let [plain, assigned] = ["cubic", "cubic+m21"].map(|scheme| measured(&small.replace("cubic", scheme)).totals.drops);
    assert!(assigned < plain && assigned <= 2, "{assigned} drops instead of {plain}");
}
