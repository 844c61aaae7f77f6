//! What a run holds. One test alone: the allocator is everybody's.

mod common;

use std::alloc::System;

use common::spec;
use fanin_sim::Simulation;
use fanin_spec::FlowRow;
use fanin_units::Time;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that a web search holds after so many queries, each over eight new connections.
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
    let mut simulation = Simulation::new(&spec);
    simulation.until(Time::NEVER);
    let change = region.change();
    assert_eq!(simulation.totals().rounds, queries.into());
    change.bytes_allocated - change.bytes_deallocated
}

#[test]
fn a_connection_that_is_over_gives_its_memory_back() {
    // Powers of two, so that lists have grown alike.
    let (few, many) = (held_after(256), held_after(2_048));
    let connections = 8 * (2_048 - 256);
    // Its two endpoints took over a kilobyte; its row of the tables, its numbers and timers not yet due stay.
    let each = (many - few) / connections;
    assert!(each <= size_of::<FlowRow>() + 128, "{each} bytes a connection, {} of them its row", size_of::<FlowRow>());
}
