//! Limits of a packet's cost: no allocation, few bytes.

mod common;

use std::alloc::System;

use common::{run, schemes, spec};
use fanin_spec::Kind;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and data packets of a run with `fragment` from each of eight senders.
fn allocations(scheme: &str, tcp: &str, fragment: &str) -> (usize, u64) {
    let scenario = format!(
        r#"
        schemes = ["{scheme}"]
        [tcp]
        {tcp}
        [link]
        rate = "10 Gbit/s"
        [switch]
        buffer = "100 packets"
        [workload]
        kind = "one-shot"
        fragment = "{fragment}"
        duration = "600 s"
    "#
    );
    let spec = spec(&scenario, 8, 1);
    let region = Region::new(ALLOCATOR);
    let tables = run(&spec);
    (region.change().allocations, tables.totals.data_packets)
}

#[test]
fn packets_allocate_nothing() {
    let timed = ["newreno", "dctcp"].map(|scheme| (scheme.to_string(), "rack = true\ntail_loss_probe = true"));
    for (scheme, tcp) in schemes(Kind::OneShot).map(|scheme| (scheme.to_string(), "")).chain(timed) {
        let (few, packets_of_few) = allocations(&scheme, tcp, "1 MB");
        let (many, packets_of_many) = allocations(&scheme, tcp, "9 MB");
        let packets = packets_of_many - packets_of_few;
        // Queues, scoreboards and reassembly grow to their maximum once, and then no more.
        assert!(many <= few + 300, "{scheme} {tcp}: {} allocations for {packets} packets", many - few);
    }
}

#[test]
fn packet_and_socket_are_small() {
    assert_eq!(size_of::<fanin_transport::Packet>(), 28);
    assert_eq!(size_of::<fanin_sim::InFlight>(), 40);
    assert!(size_of::<fanin_tcp::Endpoint>() <= 496, "{}", size_of::<fanin_tcp::Endpoint>());
}
