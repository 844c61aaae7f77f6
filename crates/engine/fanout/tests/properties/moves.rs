//! Invariants of objects: packing, redirection, and choice of replicas.

use fanin_fanout::balance::{Object, balance};
use fanin_fanout::packing;
use fanin_fanout::redirect::{Held, Hub, redirect};
use fanin_units::{Bytes, Rate};
use proptest::prelude::*;

/// Replicas of objects: for each the first one, and the others.
fn replicas(hubs: u32, objects: usize) -> impl Strategy<Value = Vec<(u32, Vec<u32>)>> {
    prop::collection::vec((0..hubs, prop::collection::vec(0..hubs, 0..3)), 0..objects)
}

/// Remaining time of a hub, at 1,000 B per object.
fn time(hub: &Hub, slowest: u64) -> u128 {
    let rate = if hub.real.0 == 0 { slowest } else { hub.real.0 };
    (u128::from(hub.remaining) * 1000 * 8_000_000_000_000).div_ceil(rate.into())
}

proptest! {
    #![proptest_config(fanin_testing::cases(1000))]

    #[test]
    fn packets_are_full_and_in_order(
        room in 1..3000u32,
        waiting in prop::collection::vec(0..4000u32, 0..200),
    ) {
        let mut left = &waiting[..];
        while !left.is_empty() {
            let (count, bytes) = packing::fill(room, left.iter().copied());
            prop_assert!(count >= 1 && bytes == left[..count].iter().sum::<u32>());
            prop_assert!(bytes <= room || count == 1, "{bytes} in {room}");
            prop_assert!(left.get(count).is_none_or(|next| bytes + next > room), "there was room");
            left = &left[count..];
        }
        prop_assert_eq!(packing::fill(room, [].into_iter()), (0, 0));
    }

    #[test]
    fn redirection_moves_each_object_at_most_once(
        speeds in prop::collection::vec(prop_oneof![Just(0u64), 1..1_000_000_000u64], 12),
        objects in replicas(12, 300),
        sent in 0..100usize,
    ) {
        // Sent objects cannot move.
        let held: Vec<Held> = objects
            .iter()
            .zip(0..)
            .skip(sent)
            .map(|((hub, _), object)| Held { object, hub: *hub })
            .collect();
        let count = |hub: u32| held.iter().filter(|held| held.hub == hub).count() as u64;
        let mut hubs: Vec<Hub> =
            speeds.iter().zip(0..).map(|(real, hub)| Hub { remaining: count(hub), real: Rate(*real) }).collect();
        let before = hubs.clone();
        let mut moves = Vec::new();
        let mut asked = |object: u32, hubs: &mut Vec<u32>| hubs.extend(&objects[object as usize].1);
        redirect(&mut hubs, Bytes(1000), &held, &mut asked, &mut moves);

        let mut holders: Vec<Option<u32>> = vec![None; objects.len()];
        for held in &held {
            holders[held.object as usize] = Some(held.hub);
        }
        let mut moved = vec![false; objects.len()];
        for step in &moves {
            prop_assert!(!std::mem::replace(&mut moved[step.object as usize], true), "{step:?} is not its first");
            prop_assert_eq!(holders[step.object as usize].replace(step.to), Some(step.from));
            prop_assert!(step.to != step.from && objects[step.object as usize].1.contains(&step.to), "{step:?}");
        }
        for (hub, index) in hubs.iter().zip(0..) {
            let now = holders.iter().filter(|holder| **holder == Some(index)).count() as u64;
            prop_assert_eq!(hub.remaining, now, "of hub {}", index);
        }
        // The last hub finishes no later than before.
        let with_speed: Vec<u64> = speeds.iter().copied().filter(|speed| *speed > 0).collect();
        let mean = with_speed.iter().sum::<u64>().checked_div(with_speed.len() as u64).unwrap_or(0);
        let slowest = (mean / 20).max(1);
        let last = |hubs: &[Hub]| hubs.iter().map(|hub| time(hub, slowest)).max();
        prop_assert!(last(&hubs) <= last(&before), "{before:?} became {hubs:?}");
    }

    #[test]
    fn balance_is_locally_optimal(
        objects in prop::collection::vec((1..1000u32, prop::collection::vec(0..10u32, 1..4)), 0..200),
    ) {
        let objects: Vec<Object<'_>> = objects.iter().map(|(bytes, racks)| Object { bytes: *bytes, racks }).collect();
        let chosen = balance(&objects);
        prop_assert_eq!(chosen.len(), objects.len());
        let mut loads = [0u64; 10];
        for (object, replica) in objects.iter().zip(&chosen) {
            prop_assert!((*replica as usize) < object.racks.len());
            loads[object.racks[*replica as usize] as usize] += u64::from(object.bytes);
        }
        for (object, replica) in objects.iter().zip(&chosen) {
            let here = loads[object.racks[*replica as usize] as usize];
            let least = object.racks.iter().map(|rack| loads[*rack as usize]).min().unwrap_or(0);
            prop_assert!(least + u64::from(object.bytes) >= here, "{object:?} would better be elsewhere: {loads:?}");
        }
    }
}

/// Draws below a bound from a fixed sequence (linear congruence).
fn draws(mut state: u64) -> impl FnMut(u32) -> u32 {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    }
}

/// Ratio of the most loaded of 50 racks to the mean, with 1,000 objects of 20 to 1,000 B and three replicas each.
fn overload(seed: u64, choose: impl Fn(&[Object<'_>]) -> Vec<u32>) -> f64 {
    let mut draw = draws(seed);
    let objects: Vec<(u32, [u32; 3])> = (0..1000).map(|_| (20 + draw(981), [0; 3].map(|_| draw(50)))).collect();
    let objects: Vec<Object<'_>> = objects.iter().map(|(bytes, racks)| Object { bytes: *bytes, racks }).collect();
    let mut loads = [0.0; 50];
    for (object, replica) in objects.iter().zip(choose(&objects)) {
        loads[object.racks[replica as usize] as usize] += f64::from(object.bytes);
    }
    let mean = loads.iter().sum::<f64>() / 50.0;
    loads.iter().copied().fold(0.0, f64::max) / mean
}

#[test]
fn balance_beats_random_replicas() {
    for seed in 0..20 {
        let drawn = overload(seed, |objects| vec![0; objects.len()]);
        let balanced = overload(seed, balance);
        assert!(drawn > 1.3, "drawn at random the slowest rack has {drawn:.2} of the mean");
        assert!(balanced < 1.1, "balanced the slowest rack has {balanced:.2} of the mean");
    }
}
