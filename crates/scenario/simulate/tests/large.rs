//! Large, mostly idle networks: unused parts cost almost nothing.

mod common;

use std::alloc::System;

use common::{run, spec};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A fat tree of 150,000 hosts, some of which send to the client.
fn large(fan_in: u32) -> (stats_alloc::Stats, u64) {
    let scenario = r#"
        schemes = ["dctcp"]
        [fabric]
        kind = "fat-tree"
        pods = 50
        racks = 2500
        hosts_per_rack = 60
        spines = 4
        oversubscription = 5
        [link]
        rate = "10 Gbit/s"
        [workload]
        kind = "one-shot"
        fragment = "1 KB"
        start_jitter = "100 ms"
        duration = "100 s"
    "#;
    let spec = spec(scenario, fan_in, 1);
    let region = Region::new(ALLOCATOR);
    let tables = run(&spec);
    let change = region.change();
    // The forecast is a lower bound.
    let foreseen = fanin_simulate::need(&spec.scheme, &spec.settings).least.working;
    assert!(foreseen <= change.bytes_allocated as f64, "{foreseen} bytes foreseen, {change:?}");
    (change, tables.totals.data_packets)
}

#[test]
fn large_fat_tree_fits_memory() {
    let (idle, packets) = large(1);
    assert_eq!(packets, 1);
    assert!(idle.allocations < 1_000, "{} allocations", idle.allocations);
    assert!(idle.bytes_allocated < 150_000_000, "{} bytes", idle.bytes_allocated);
    let (busy, packets) = large(50_000);
    assert_eq!(packets, 50_000);
    // All allocations, including those freed meanwhile.
    assert!(busy.bytes_allocated < 1_000_000_000, "{} bytes", busy.bytes_allocated);
}
