//! Speeds: what a front end plans to receive, and how hubs share it.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), sections 3.2.1 and 3.2.2, equations 2 to 6;
//!          section 4.4 for the settings.
//! Law:     at first, or with each period (`split`), each hub has B_p/|H|. At the end of a period, one that did not reach its share is
//!          assigned what it reached, and what that frees goes in equal parts to hubs that could use more; then B_p <- B_p (1 - beta q/S_a) where
//!          q/S_a >= T, else min(B_d, B_p + alpha B_a), and hubs' shares keep their proportions. In this order: what a hub
//!          reached is held against what it was assigned, not against what it will be.
//! Units:   bit/s, rounded down; shares in 1/65536.
//! Owns:    B_p. The driver owns hubs' assignments and measures what they reach.
//! Departs: equation 3's hubs, faster than assigned, cannot be, as a hub sends no faster than assigned: here they are those with
//!          a backlog that reached `busy` of their assignment, or were a packet short of it: of ten in a period one more or less
//!          says nothing. Where there is none, nothing is taken from anyone. No hub falls
//!          under `floor` of an equal share, which equation 4 allows. What nobody was assigned counts as free, so that the sum
//!          is B_p again. B_a, a size, is taken as its rate, and in equation 6 as no more than B_p: alpha bounds the increment.
//!          B_p never falls under 1/64 of B_d: equation 6 would not lead back from nothing.
//! Checked: vectors/speed.json; tests/trajectories/speed.txt.

use fanin_units::{Bytes, Rate, Time};

use crate::sicc::{Params, Split};

/// What a front end plans to receive: B_p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    capacity: Rate,
    rate: Rate,
}

impl Planned {
    /// All of a link that takes `capacity`.
    pub fn new(capacity: Rate) -> Planned {
        Planned { capacity, rate: capacity }
    }

    /// At first: B_d - B_a, what of the link was not in use by others in the last period.
    pub fn start(&mut self, received: Bytes, period: Time) {
        self.set(self.capacity.0.saturating_sub(Rate::of(received.0, period).0));
    }

    /// B_p.
    pub fn get(&self) -> Rate {
        self.rate
    }

    /// Equations 5 and 6, of a period in which the front end received so much, at whose end so much waits in its aggregation
    /// port.
    pub fn told(&mut self, queue: Bytes, buffer: Bytes, received: Bytes, period: Time, params: &Params) {
        let planned = self.rate.0;
        let queue = queue.0.min(buffer.0);
        let full_q16 = (u128::from(queue) << 16).checked_div(buffer.0.into()).unwrap_or(0) as u64;
        if full_q16 >= u64::from(params.threshold.in_q(16)) {
            let off_q32 = u64::from(params.beta.in_q(16)) * full_q16;
            self.set(planned - share(planned, off_q32, 32));
        } else {
            let used = Rate::of(received.0, period).0.min(planned);
            self.set(planned.saturating_add(share(used, params.alpha.in_q(16).into(), 16)));
        }
    }

    fn set(&mut self, rate: u64) {
        self.rate = Rate(rate.clamp((self.capacity.0 >> 6).max(1).min(self.capacity.0), self.capacity.0));
    }
}

/// A hub that sends to the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// What it may send.
    pub assigned: Rate,
    /// What it sent in the last period.
    pub real: Rate,
    /// Whether it has more to send than it could.
    pub backlog: bool,
}

/// Equation 2: equal parts.
pub fn split(planned: Rate, hubs: &mut [Hub]) {
    let part = planned.0.checked_div(hubs.len() as u64).unwrap_or(0);
    for hub in hubs {
        hub.assigned = Rate(part);
    }
}

/// Section 3.2.2: the same proportions of another B_p. A hub that has nothing of it gets nothing.
pub fn rescale(planned: Rate, hubs: &mut [Hub]) {
    let sum: u128 = hubs.iter().map(|hub| u128::from(hub.assigned.0)).sum();
    if sum == 0 {
        return split(planned, hubs);
    }
    for hub in hubs {
        hub.assigned = Rate((u128::from(hub.assigned.0) * u128::from(planned.0) / sum) as u64);
    }
}

/// Equations 3 and 4, mended, of a period in which hubs had these assignments: before B_p changes. They begin from those, or from
/// equation 2 anew. `packet` is what a full packet more in the period would have been.
pub fn reassign(planned: Rate, hubs: &mut [Hub], packet: Rate, params: &Params) {
    let count = hubs.len() as u64;
    let part = planned.0.checked_div(count).unwrap_or(0);
    let floor = share(part, params.floor.in_q(16).into(), 16);
    let busy_q16 = u64::from(params.busy.in_q(16));
    let from = |hub: &Hub| match params.split {
        Split::Once => hub.assigned.0,
        Split::EachPeriod => part,
    };
    let needs_more = |hub: &Hub| hub.backlog && hub.real.0.saturating_add(packet.0) >= share(from(hub), busy_q16, 16);
    let busy = hubs.iter().filter(|hub| needs_more(hub)).count() as u64;
    // Equation 4, where what it frees is of use.
    let keeps = |hub: &Hub| match busy > 0 && !needs_more(hub) {
        true => from(hub).min(hub.real.0).max(floor),
        false => from(hub).max(floor),
    };
    let sum: u128 = hubs.iter().map(|hub| u128::from(keeps(hub))).sum();
    let (least, most) = (u128::from(count * floor), u128::from(planned.0));
    // Equation 3: equal parts of what is free.
    let free = most.saturating_sub(sum).checked_div(busy.into()).unwrap_or(0) as u64;
    for hub in hubs {
        let kept = keeps(hub);
        hub.assigned.0 = match sum > most {
            // More is assigned than B_p is by now: what is above the floors shrinks alike.
            true => floor + (u128::from(kept - floor) * (most - least) / (sum - least)) as u64,
            false if needs_more(hub) => kept + free,
            false => kept,
        };
    }
}

/// `value` times a share in units of 1/2^`bits`, which is at most one.
fn share(value: u64, share_q: u64, bits: u32) -> u64 {
    ((u128::from(value) * u128::from(share_q)) >> bits) as u64
}
