//! Redirection: queries go from hubs that will be late to hubs that will be early.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.3.2, equations 7 and 8.
//! Law:     p = |D| s / b, a hub's remaining time: D its objects that are not sent yet, b its speed; an object of a hub with p
//!          above the mean goes to one with p below the mean that has a replica in its tree, until either is on the other side.
//! Units:   p in picoseconds, rounded down; objects; bit/s.
//! Owns:    nothing: who holds what is the driver's, and moves with the verdict.
//! Departs: of several hubs with a replica, the earliest takes it, where the paper says nothing; none takes one that would be
//!          as late there. A hub without speed counts as at 1/20 of the mean speed of those that have one, or no remaining time
//!          would be under the mean. An object moves at most once a call.
//! Checked: vectors/redirect.json; tests/trajectories/redirect.txt.

use alloc::vec::Vec;

use fanin_units::{Bytes, Rate, Time};

/// A hub that sends to the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// How many objects of its tree it has not sent: |D|.
    pub remaining: u64,
    /// How fast it sends: of one that had nothing to send lately, how fast it did.
    pub real: Rate,
}

/// An object that may still be asked for elsewhere. It stands once among those of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub object: u32,
    /// By whom.
    pub hub: u32,
}

/// An object that is to be asked for elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub object: u32,
    /// The hub that is not to send it.
    pub from: u32,
    /// The hub that is.
    pub to: u32,
}

/// Which of the `held` objects change hubs: pushed to `moves`, and counted in the hubs' `remaining`. `replicas` appends the hubs that
/// have a replica of an object in their trees.
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

/// What a hub without speed counts as.
fn slowest(hubs: &[Hub]) -> Rate {
    let speeds = || hubs.iter().map(|hub| u128::from(hub.real.0)).filter(|speed| *speed > 0);
    let mean = speeds().sum::<u128>().checked_div(speeds().count() as u128).unwrap_or(0) as u64;
    Rate((mean / 20).max(1))
}
