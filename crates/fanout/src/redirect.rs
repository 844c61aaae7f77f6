//! Redirection: queries go from hubs that will be late to hubs that will be early.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.3.2, equations 7 and 8.
//! Law:     p = |D| s / b, a hub's remaining time: D its objects that are not sent yet, b its speed; an object of a hub with p
//!          above the mean goes to one with p below the mean that has a replica in its tree, until either is on the other side.
//! Units:   p in picoseconds, rounded down; objects; bit/s.
//! Owns:    nothing: who holds what is the driver's, and moves with the verdict.
//! Departs: of several hubs with a replica, the earliest takes it, where the paper says nothing; none takes one that would be
//!          as late there. A hub without speed never ends: it is late as long as it has anything, takes nothing, and is left
//!          out of the mean, which would be infinite. An object moves at most once a call.
//! Checked: vectors/redirect.json; tests/trajectories/redirect.txt.

use alloc::vec::Vec;

use fanin_units::{Bytes, Rate, Time};

/// A hub that sends to the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// How many objects of its tree it has not sent: |D|.
    pub remaining: u64,
    /// How fast it sends.
    pub real: Rate,
}

impl Hub {
    /// Equation 7; without end where it has no speed.
    pub fn time(&self, mean_object: Bytes) -> Time {
        match self.real {
            _ if self.remaining == 0 => Time::ZERO,
            Rate(0) => Time::NEVER,
            rate => rate.time_for(self.remaining.saturating_mul(mean_object.0)),
        }
    }
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
    let mean = mean(hubs, mean_object);
    let mut with_replica = Vec::new();
    for &Held { object, hub: from } in held {
        let late = hubs[from as usize].time(mean_object);
        if late <= mean {
            continue;
        }
        with_replica.clear();
        replicas(object, &mut with_replica);
        let early = |to: &u32| {
            let hub = hubs[*to as usize];
            let with_it = Hub { remaining: hub.remaining + 1, ..hub }.time(mean_object);
            let time = hub.time(mean_object);
            (*to != from && hub.real > Rate(0) && time < mean && with_it < late).then_some((time, *to))
        };
        if let Some((_, to)) = with_replica.iter().filter_map(early).min() {
            let left = &mut hubs[from as usize].remaining;
            *left = left.saturating_sub(1);
            hubs[to as usize].remaining += 1;
            moves.push(Move { object, from, to });
        }
    }
}

/// Equation 8.
fn mean(hubs: &[Hub], mean_object: Bytes) -> Time {
    let (mut sum, mut count) = (0u128, 0);
    for hub in hubs.iter().filter(|hub| hub.real > Rate(0)) {
        sum += u128::from(hub.time(mean_object).0);
        count += 1;
    }
    Time(sum.checked_div(count).unwrap_or(0) as u64)
}
