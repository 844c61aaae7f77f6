//! Every object of every request ends exactly once, under any faults of messages and machines.

use crate::support::toy::{Faults, Toy};
use crate::support::{Cluster, asks_hubs, asks_servers, ms};
use fanin_fanout::sicc;
use fanin_fanout::{Kind, Window};
use fanin_roles::Node;
use fanin_roles::front_end::{Params, RequestMethod};
use fanin_units::Time;
use proptest::prelude::*;

/// Front ends with all fan-outs, and trees with one root or many.
fn fan_outs() -> impl Strategy<Value = Params> {
    let hubs = (0..Kind::ALL.len(), 1..5u32);
    hubs.prop_map(|(kind, bound)| match Kind::ALL[kind].parts(&sicc::Params::default()) {
        Some(parts) => asks_hubs(parts, bound),
        None => asks_servers(Kind::ALL[kind]),
    })
}

fn faults(machines: u32) -> impl Strategy<Value = Faults> {
    let back = prop_oneof![Just(None), (1..600u64).prop_map(Some)];
    let deaths = proptest::collection::vec((1..machines, 0..500u64, back), 0..4);
    (1..20_000u64, any::<bool>(), 0..50u32, deaths, any::<bool>()).prop_map(|(delay, in_order, twice, deaths, told)| {
        let death = |(host, at, back): (u32, u64, Option<u64>)| (host, ms(at), back.map(|back| ms(at + back)));
        // A machine crashes once.
        let mut deaths: Vec<_> = deaths.into_iter().map(death).collect();
        deaths.sort();
        deaths.dedup_by_key(|(host, _, _)| *host);
        Faults { delay: Time::from_micros(delay), in_order, twice, deaths, told }
    })
}

proptest! {
    #![proptest_config(fanin_testing::cases(1_000))]

    #[test]
    fn every_object_ends_once_by_deadline(
        params in fan_outs(),
        faults in faults(16),
        (front_ends, objects, replicas) in (1..3u32, 1..40u64, 1..4u32),
        seed in any::<u64>(),
    ) {
        let params = Params { anew: seed >> 63 == 1, ..params };
        let windowed = matches!(params.method, RequestMethod::Servers(Window::Sliding(_) | Window::Ictcp(_)));
        let tries = params.tries;
        let in_turn = windowed && !faults.deaths.is_empty();
        let orderly = faults.deaths.is_empty() && faults.in_order;
        let mut draws = Toy::new(Cluster::of(4, &[]), 1, 0, &params, Faults { deaths: vec![], ..faults.clone() }, seed);
        let mut holders = |_| {
            let first = draws.below(15) as u32;
            (0..replicas).map(|replica| Node(1 + (first + replica * 5) % 15)).collect()
        };
        let cluster = Cluster { a_rack: 4, holders: (0..objects).map(&mut holders).collect(), homes: Vec::new() };
        let mut toy = Toy::new(cluster, 16, front_ends, &params, faults, seed);
        toy.run();
        for (of, (fates, began, done)) in &toy.fates {
            let done = done.unwrap_or_else(|| panic!("{of:?} is never done: {fates:?}"));
            prop_assert!(fates.iter().all(|fate| fate.iter().sum::<u32>() == 1), "{:?}: {:?}", of, fates);
            // Lost machines are detected, and nothing waits for the deadline; but a limit that has shrunk to one waits for lost machines
            // one after another.
            let deadline = began.saturating_add(ms(2_000));
            prop_assert!(done < deadline || (done == deadline && in_turn), "{:?} took {}", of, done.since(*began));
            // An overloaded server refuses, and a hub may time out on a chain of links: a failed object was lost in every attempt, where
            // duplicates count twice.
            let (front_end, incarnation, request) = *of;
            for (fate, index) in fates.iter().zip(0..) {
                let lost = toy.lost.get(&(front_end, incarnation, request, index)).copied().unwrap_or(0);
                let given_up = lost >= u32::from(tries);
                prop_assert!(fate[2] == 0 || given_up || !orderly, "{:?}: {} failed, {} times lost", of, index, lost);
            }
        }
        prop_assert!(!toy.fates.is_empty());
        prop_assert!(toy.holds_nothing());
    }
}
