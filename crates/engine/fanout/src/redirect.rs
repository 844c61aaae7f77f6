//! Redirection: objects move from late hubs to early ones.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.3.2, equations 7 and 8.
//! Law:     p = |D| s / b, a hub's remaining time: D its unsent objects, b its speed; an object of a hub with p above the mean moves to
//!          one with p below the mean and a replica in its tree, until either crosses the mean.
//! Units:   p in picoseconds, rounded down; objects; bit/s.
//! Owns:    nothing: the driver owns the assignment and moves objects by the result.
//! Departs: of several hubs with a replica, the earliest takes it, which the paper leaves open; none takes one that would be as late
//!          there. A hub without speed counts as 1/20 of the mean speed of the others, or no remaining time would be below the mean.
//!          An object moves at most once per call.
//! Checked: vectors/redirect.json; tests/trajectories/redirect.txt.

use alloc::vec::Vec;

use fanin_units::{Bytes, Rate, Time};

/// A hub that sends to the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Number of unsent objects of its tree: |D|.
    pub remaining: u64,
    /// Its speed, or its last speed while it had data.
    pub real: Rate,
}

/// An object that may be redirected. It occurs once per call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The object.
    pub object: u32,
    /// Its hub.
    pub hub: u32,
}

/// A redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The object.
    pub object: u32,
    /// Old hub.
    pub from: u32,
    /// New hub.
    pub to: u32,
}

/// Redirects some of the `held` objects: appends them to `moves`, and updates `remaining`. `replicas` appends the hubs that have a replica
/// of an object in their trees.
pub fn redirect(
    hubs: &mut [Hub],
    mean_object: Bytes,
    held: &[Held],
    replicas: &mut dyn FnMut(u32, &mut Vec<u32>),
    moves: &mut Vec<Move>,
) {
    let slowest = slowest(hubs);
    // Equation 7.
    let time = |hub: &Hub| {
        let rate = if hub.real == Rate(0) { slowest } else { hub.real };
        rate.time_for(hub.remaining.saturating_mul(mean_object.0))
    };
    // Equation 8.
    let sum: u128 = hubs.iter().map(|hub| u128::from(time(hub).0)).sum();
    let mean = Time(sum.checked_div(hubs.len() as u128).unwrap_or(0) as u64);
    let mut with_replica = Vec::new();
    for &Held { object, hub: from } in held {
        let late = time(&hubs[from as usize]);
        if late <= mean {
            continue;
        }
        with_replica.clear();
        replicas(object, &mut with_replica);
        let early = |to: &u32| {
            let hub = hubs[*to as usize];
            let with_it = Hub { remaining: hub.remaining.saturating_add(1), ..hub };
            (time(&hub) < mean && time(&with_it) < late).then(|| (time(&hub), *to))
        };
        if let Some((_, to)) = with_replica.iter().filter_map(early).min() {
            hubs[from as usize].remaining -= 1;
            hubs[to as usize].remaining += 1;
            moves.push(Move { object, from, to });
        }
    }
}

/// Speed assumed for a hub without speed.
fn slowest(hubs: &[Hub]) -> Rate {
    let speeds = || hubs.iter().map(|hub| u128::from(hub.real.0)).filter(|speed| *speed > 0);
    let mean = speeds().sum::<u128>().checked_div(speeds().count() as u128).unwrap_or(0) as u64;
    Rate((mean / 20).max(1))
}
