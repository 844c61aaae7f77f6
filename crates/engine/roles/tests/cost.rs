//! Cost of a message: no allocations.

mod support;

use std::alloc::System;

use fanin_fanout::Kind;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::work::{Gathers, run_requests};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations(work: impl FnOnce() -> u32) -> (usize, u32) {
    let region = Region::new(ALLOCATOR);
    let messages = work();
    (region.change().allocations, messages)
}

#[test]
fn hub_message_allocates_nothing() {
    let mut gathers = Gathers::new();
    gathers.requests(10, 4_000);
    let (few, _) = allocations(|| gathers.requests(10, 1_000));
    let (many, messages) = allocations(|| gathers.requests(10, 4_000));
    assert!(messages >= 80_000);
    // Tables grow by doubling.
    assert!(many <= few + 10 * 3 * 4, "{few} allocations with 1,000 objects, {many} with 4,000");
}

#[test]
fn front_end_message_allocates_nothing() {
    for kind in [Kind::OneAll, Kind::Sicc] {
        let mut request = run_requests(kind);
        request();
        let (allocations, messages) = allocations(&mut request);
        // For creating the request and its periodic checks.
        assert!(messages == 2_000 && allocations < 300, "{kind:?}: {allocations} allocations");
    }
}
