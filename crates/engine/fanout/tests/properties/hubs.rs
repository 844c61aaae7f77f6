//! Invariants of swarms, trees and speeds.

use fanin_fanout::speed::{self, Planned};
use fanin_fanout::swarm::{Policy, Swarms, Target};
use fanin_fanout::tree::{self, Bound, Concurrency, Tree, bound};
use fanin_units::{Bytes, Rate};
use proptest::prelude::*;

use crate::settings;

fn targets() -> impl Strategy<Value = Vec<Target>> {
    let target = (0..40u32, 0..1000u32, 0..1000u32);
    prop::collection::vec(target, 0..300).prop_map(|targets| {
        let numbered = targets.into_iter().zip(0..);
        let target = |((rack, objects, spare_io), server)| Target { server, rack, objects, spare_io };
        numbered.map(target).collect()
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::MostObjects), Just(Policy::SpareIo)]
}

/// Checks that these are swarms of all targets, each once, with the hubs of the policy.
fn are_swarms_of(swarms: &Swarms, targets: &[Target], policy: Policy) -> Result<(), TestCaseError> {
    let worth = |index: &u32| {
        let target = &targets[*index as usize];
        match policy {
            Policy::MostObjects => (target.objects, std::cmp::Reverse(target.server)),
            Policy::SpareIo => (target.spare_io, std::cmp::Reverse(target.server)),
        }
    };
    let mut seen = vec![false; targets.len()];
    for swarm in swarms.swarms() {
        let members = swarms.members(swarm);
        for member in members {
            prop_assert!(!std::mem::replace(&mut seen[*member as usize], true), "{member} is in two swarms");
        }
        let mut ranked = members.to_vec();
        ranked.sort_by_key(|index| std::cmp::Reverse(worth(index)));
        prop_assert_eq!(Some(&swarm.hub), ranked.first());
        let spare = |index: &&u32| {
            let target = &targets[**index as usize];
            (target.spare_io, target.objects, std::cmp::Reverse(target.server))
        };
        prop_assert_eq!(swarm.backup.as_ref(), ranked[1..].iter().max_by_key(spare));
        prop_assert_eq!(swarm.rack, targets[swarm.hub as usize].rack);
        prop_assert_eq!(
            swarm.objects,
            members.iter().map(|index| u64::from(targets[*index as usize].objects)).sum::<u64>()
        );
    }
    prop_assert!(seen.iter().all(|seen| *seen), "somebody is in no swarm");
    Ok(())
}

fn tree_hubs() -> impl Strategy<Value = Vec<tree::Hub>> {
    let objects = prop_oneof![0..10u64, 0..1000u64, 0..1u64 << 40];
    let hub = (objects, 0..12u32).prop_map(|(objects, aggregation)| tree::Hub { objects, aggregation });
    prop::collection::vec(hub, 0..150)
}

/// Number of objects of the tree under a hub.
fn total(tree: &Tree, hubs: &[tree::Hub], hub: u32) -> u64 {
    hubs[hub as usize].objects + tree.children(hub).iter().map(|child| total(tree, hubs, *child)).sum::<u64>()
}

fn speed_hubs() -> impl Strategy<Value = Vec<speed::Hub>> {
    let rate = || prop_oneof![0..1_000_000_000u64, 0..1000u64, any::<u64>()];
    let hub = (rate(), rate(), any::<bool>());
    let hub =
        hub.prop_map(|(assigned, real, backlog)| speed::Hub { assigned: Rate(assigned), real: Rate(real), backlog });
    prop::collection::vec(hub, 1..100)
}

fn assigned(hubs: &[speed::Hub]) -> u128 {
    hubs.iter().map(|hub| u128::from(hub.assigned.0)).sum()
}

proptest! {
    #![proptest_config(fanin_testing::cases(1000))]

    #[test]
    fn swarms_partition_targets_by_rack(targets in targets(), policy in policy(), used in targets()) {
        let mut swarms = Swarms::default();
        // Buffers may be dirty.
        swarms.form(&used, policy);
        swarms.form(&targets, policy);
        are_swarms_of(&swarms, &targets, policy)?;
        for swarm in swarms.swarms() {
            let is_here = |index: &u32| targets[*index as usize].rack == swarm.rack;
            prop_assert!(swarms.members(swarm).iter().all(is_here), "{swarm:?} spans racks");
        }
        let racks: Vec<u32> = swarms.swarms().iter().map(|swarm| swarm.rack).collect();
        prop_assert!(racks.is_sorted_by(|one, next| one < next), "two swarms of one rack: {racks:?}");
    }

    #[test]
    fn random_swarms_have_sizes_of_racks(
        targets in targets(),
        policy in policy(),
        draws in prop::collection::vec(any::<u32>(), 300),
    ) {
        let sizes = |swarms: &Swarms| swarms.swarms().iter().map(|swarm| swarm.members.len()).collect::<Vec<_>>();
        let (mut by_rack, mut at_random) = (Swarms::default(), Swarms::default());
        by_rack.form(&targets, policy);
        let mut draws = draws.into_iter();
        at_random.form_at_random(&targets, policy, &mut |below| draws.next().unwrap_or(0) % below);
        are_swarms_of(&at_random, &targets, policy)?;
        prop_assert_eq!(sizes(&by_rack), sizes(&at_random));
    }

    #[test]
    fn tree_has_allowed_roots_and_every_hub(hubs in tree_hubs(), most in 0..200u32) {
        let tree = Tree::build(&hubs, most);
        prop_assert_eq!(tree.roots().len(), hubs.len().min(most.max(1) as usize));
        let mut reached = tree.roots().to_vec();
        let mut next = 0;
        while let Some(hub) = reached.get(next).copied() {
            for child in tree.children(hub) {
                prop_assert_eq!(tree.parent(*child), Some(hub));
                reached.push(*child);
            }
            next += 1;
            prop_assert!(reached.len() <= hubs.len(), "a hub is reached twice");
        }
        reached.sort_unstable();
        prop_assert!(reached.into_iter().eq(0..hubs.len() as u32), "a hub is not reached");
        prop_assert!(tree.depth() as usize <= hubs.len());
    }

    #[test]
    fn child_is_no_larger_than_rest_of_tree(hubs in tree_hubs(), most in 1..60u32) {
        let tree = Tree::build(&hubs, most);
        for parent in 0..hubs.len() as u32 {
            let whole = total(&tree, &hubs, parent);
            for child in tree.children(parent) {
                let part = total(&tree, &hubs, *child);
                prop_assert!(part <= whole - part, "{child} has {part} of the {whole} of {parent}");
            }
        }
    }

    #[test]
    fn links_stay_under_router_if_possible(hubs in tree_hubs(), more in 0..50u32) {
        let tree = Tree::build(&hubs, 12 + more);
        for hub in 0..hubs.len() as u32 {
            let router = |hub: u32| hubs[hub as usize].aggregation;
            prop_assert!(tree.parent(hub).is_none_or(|parent| router(parent) == router(hub)));
        }
    }

    #[test]
    fn bound_is_positive_and_readings_mirror(
        buffer in any::<u64>(),
        packet in any::<u64>(),
        up in any::<u64>(),
        down in any::<u64>(),
    ) {
        let n = |reading, up, down| bound(reading, Bytes(buffer), Bytes(packet), Rate(up), Rate(down), 0);
        prop_assert!(n(Bound::Printed, up, down) >= 1 && n(Bound::Fixed, up, down) == 1);
        prop_assert_eq!(n(Bound::Printed, up, down), n(Bound::Mended, down, up));
    }

    #[test]
    fn shares_are_the_bound_over_the_mean(bound in 1..=u32::MAX, under_way in prop::collection::vec(1..10_000u32, 1..50)) {
        let mut concurrency = Concurrency::default();
        under_way.iter().for_each(|&requests| concurrency.begin(requests));
        let mean = under_way.iter().map(|&requests| f64::from(requests)).sum::<f64>() / under_way.len() as f64;
        let share = f64::from(concurrency.share(bound));
        let exact = (f64::from(bound) / mean).max(1.0);
        prop_assert!(share <= exact + 1e-6 && share + 1.0 >= exact - 1e-6, "{share}, not {exact}");
    }

    #[test]
    fn assignments_stay_between_floor_and_plan(
        set in settings(),
        mut hubs in speed_hubs(),
        planned in prop_oneof![0..10_000_000_000u64, 0..100u64, any::<u64>()],
        (other, packet) in (0..10_000_000_000u64, prop_oneof![Just(0), 0..10_000_000u64, any::<u64>()]),
    ) {
        let params = set.sicc;
        let part = u128::from(planned / hubs.len() as u64);
        let floor = (part * u128::from(params.floor.in_q(16))) >> 16;
        let needs_more = |hub: &speed::Hub| {
            let reached = (u128::from(hub.assigned.0) * u128::from(params.busy.in_q(16))) >> 16;
            hub.backlog && u128::from(hub.real.0.saturating_add(packet)) >= reached
        };
        let busy = hubs.iter().any(needs_more);
        speed::reassign(Rate(planned), &mut hubs, Rate(packet), &params);
        prop_assert!(assigned(&hubs) <= planned.into(), "{} of {planned}", assigned(&hubs));
        prop_assert!(hubs.iter().all(|hub| u128::from(hub.assigned.0) >= floor), "under {floor}: {hubs:?}");
        // If a hub could use more, everything is assigned, up to rounding.
        prop_assert!(!busy || assigned(&hubs) + hubs.len() as u128 > planned.into(), "{} of {planned}", assigned(&hubs));
        for planned in [other, planned] {
            speed::rescale(Rate(planned), &mut hubs);
            prop_assert!(assigned(&hubs) <= planned.into(), "{} of {planned}", assigned(&hubs));
        }
        speed::split(Rate(other), &mut hubs);
        prop_assert!(assigned(&hubs) <= other.into(), "{} of {other}", assigned(&hubs));
    }

    #[test]
    fn planned_rate_stays_within_bounds(
        set in settings(),
        capacity in prop_oneof![1..100_000_000_000u64, any::<u64>()],
        started in any::<u64>(),
        told in prop::collection::vec((0..200_000u64, 0..200_000u64, any::<u64>()), 1..50),
    ) {
        let params = set.sicc;
        let mut planned = Planned::new(Rate(capacity));
        planned.start(Bytes(started), params.period);
        for (queue, buffer, received) in told {
            let before = u128::from(planned.get().0);
            planned.update(Bytes(queue), Bytes(buffer), Bytes(received), params.period, &params);
            let after = u128::from(planned.get().0);
            prop_assert!(after <= capacity.into() && after >= u128::from(capacity / 64) && (after > 0 || capacity == 0));
            let most = before + ((before * u128::from(params.alpha.in_q(16))) >> 16);
            let least = before - ((before * u128::from(params.beta.in_q(16))) >> 16);
            prop_assert!(after <= most, "{before} became {after}");
            prop_assert!(after >= least, "{before} became {after}");
        }
    }
}
