//! Memory of a run. Tests run one at a time because they share the allocator.

mod common;

use std::alloc::System;
use std::sync::{Mutex, PoisonError};

use common::spec;
use fanin_simulate::begin;
use fanin_tables::FlowRow;
use fanin_units::Time;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static TURN: Mutex<()> = Mutex::new(());

fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

/// Bytes that a web search holds after `queries` queries, each over eight new connections.
fn held_after(queries: u32) -> usize {
    let scenario = format!(
        r#"
        schemes = ["newreno"]
        [workload]
        kind = "web-search"
        fragment = "1 KB"
        duration = "600 s"
        queries = {queries}
    "#
    );
    let spec = spec(&scenario, 8, 1);
    let region = Region::new(ALLOCATOR);
    let mut simulation = begin(&spec);
    simulation.until(Time::NEVER);
    let held = held(&region);
    assert_eq!(simulation.totals().rounds, queries.into());
    held
}

#[test]
fn closed_connections_free_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Powers of two, so that lists have the same capacity ratio.
    let (few, many) = (held_after(256), held_after(2_048));
    let connections = 8 * (2_048 - 256);
    // A closed connection's two endpoints took over a kilobyte; its table row, its number and pending timers remain.
    let each = (many - few) / connections;
    assert!(each <= size_of::<FlowRow>() + 128, "{each} bytes a connection, {} of them its row", size_of::<FlowRow>());
}

#[test]
fn estimates_mapreduce_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // No fetch crosses the network, so only the job's own lists remain.
    let scenario = r#"
        schemes = ["newreno"]
        [workload]
        kind = "mapreduce"
        duration = "1000 s"
        [mapreduce]
        input = "100 MB"
        maps = 1000
        reduces = 200
        map_slots = 1000
        reduce_slots = 200
        tasks_per_heartbeat = 1000
        task_start = "0 s"
        disk_read = "100 Gbit/s"
        disk_write = "100 Gbit/s"
    "#;
    let spec = spec(scenario, 1, 1);
    let region = Region::new(ALLOCATOR);
    let mut simulation = begin(&spec);
    let begins_with = held(&region) as f64;
    simulation.until(Time::NEVER);
    let ends_with = held(&region) as f64;
    assert_eq!(simulation.totals().rounds, 1, "it ends");
    let need = fanin_simulate::need(&spec.scheme, &spec.settings);
    for (foreseen, held) in [(need.least.working, begins_with), (need.memory.working, ends_with)] {
        assert!(foreseen <= held && held <= 1.5 * foreseen, "{foreseen} bytes foreseen, {held} held");
    }
}

#[test]
fn estimates_memory_of_connections_over_every_transport() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let switches = [("newreno", "buffer"), ("dcqcn", "shared_buffer"), ("hpcc", "shared_buffer"), ("nscc", "buffer")];
    for (scheme, memory) in switches {
        for (kind, hosts) in [("shuffle", 80), ("shuffle", 130), ("all-to-all", 90), ("all-to-all", 120)] {
            let text = format!(
                "schemes = [\"{scheme}\"]\n[switch]\n{memory} = \"100 MB\"\n[workload]\nkind = \"{kind}\"\nfragment = \"1 KB\"\n\
                 queries = 1\n"
            );
            let spec = spec(&text, hosts, 1);
            let region = Region::new(ALLOCATOR);
            let mut simulation = begin(&spec);
            simulation.until(Time::NEVER);
            // At the end, the rows exist twice.
            let rows = f64::from(hosts * (hosts + 1)) * size_of::<FlowRow>() as f64;
            let held = held(&region) as f64 + rows;
            let foreseen = fanin_simulate::need(&spec.scheme, &spec.settings).least.working;
            let share = held / foreseen;
            assert!(
                (0.89..=1.11).contains(&share),
                "{scheme}, {kind} of {hosts}: {held} B held, {foreseen} B foreseen"
            );
        }
    }
}
