//! Speeds: a front end's planned receive rate, and its distribution to hubs.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), sections 3.2.1 and 3.2.2, equations 2 to 6;
//!          section 4.4 for the settings.
//! Law:     initially, or in each period (`split`), each hub has B_p/|H|. At the end of a period, a hub that did not reach its share is
//!          assigned its actual speed, and the freed rate is split equally among hubs that could use more; then
//!          B_p <- B_p (1 - beta q/S_a) if q/S_a >= T, else min(B_d, B_p + alpha B_a), and hubs' shares keep their proportions.
//!          In this order, since actual speeds are compared with the old assignments.
//! Units:   bit/s, rounded down; shares in 1/65536.
//! Owns:    B_p. The driver owns hubs' assignments and measures what they reach.
//! Departs: equation 3's hubs, faster than assigned, cannot exist, since a hub sends no faster than assigned: here they are those with
//!          a backlog that reached `busy` of their assignment, or missed it by less than a packet, which is noise. If there are none,
//!          no hub loses rate. No hub falls below `floor` of an equal share, which equation 4 allows. Unassigned rate counts as free,
//!          so the sum is B_p again. B_a, a size, is read as its rate, and in equation 6 as at most B_p: alpha bounds the increment.
//!          B_p never falls below 1/64 of B_d, since equation 6 could not recover from zero.
//! Checked: vectors/speed.json; tests/trajectories/speed.txt.

use fanin_units::{Bytes, Rate, Time};

use crate::sicc::{Params, Split};

/// Planned receive rate of a front end: B_p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    capacity: Rate,
    rate: Rate,
}

impl Planned {
    /// The full rate of a link.
    pub fn new(capacity: Rate) -> Planned {
        Planned { capacity, rate: capacity }
    }

    /// Initial value: B_d - B_a, the unused rate of the last period.
    pub fn start(&mut self, received: Bytes, period: Time) {
        self.set(self.capacity.0.saturating_sub(Rate::of(received.0, period).0));
    }

    /// B_p.
    pub fn get(&self) -> Rate {
        self.rate
    }

    /// Equations 5 and 6, with the bytes received in a period and the queue of the aggregation port at its end.
    pub fn update(&mut self, queue: Bytes, buffer: Bytes, received: Bytes, period: Time, params: &Params) {
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
    /// Assigned speed.
    pub assigned: Rate,
    /// Actual speed in the last period.
    pub real: Rate,
    /// Whether it had more data than it could send.
    pub backlog: bool,
}

/// Equation 2: equal shares.
pub fn split(planned: Rate, hubs: &mut [Hub]) {
    let part = planned.0.checked_div(hubs.len() as u64).unwrap_or(0);
    for hub in hubs {
        hub.assigned = Rate(part);
    }
}

/// Section 3.2.2: the same proportions of another B_p. A hub without a share gets none.
pub fn rescale(planned: Rate, hubs: &mut [Hub]) {
    let sum: u128 = hubs.iter().map(|hub| u128::from(hub.assigned.0)).sum();
    if sum == 0 {
        return split(planned, hubs);
    }
    for hub in hubs {
        hub.assigned = Rate((u128::from(hub.assigned.0) * u128::from(planned.0) / sum) as u64);
    }
}

/// Corrected equations 3 and 4, before B_p changes, starting from the period's assignments or from equation 2. `packet` is the rate of one
/// more full packet per period.
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
    // Equation 4, if the freed rate is of use.
    let keeps = |hub: &Hub| match busy > 0 && !needs_more(hub) {
        true => from(hub).min(hub.real.0).max(floor),
        false => from(hub).max(floor),
    };
    let sum: u128 = hubs.iter().map(|hub| u128::from(keeps(hub))).sum();
    let (least, most) = (u128::from(count * floor), u128::from(planned.0));
    // Equation 3: equal shares of the free rate.
    let free = most.saturating_sub(sum).checked_div(busy.into()).unwrap_or(0) as u64;
    for hub in hubs {
        let kept = keeps(hub);
        hub.assigned.0 = match sum > most {
            // The assignments exceed the new B_p: scale down the parts above the floors.
            true => floor + (u128::from(kept - floor) * (most - least) / (sum - least)) as u64,
            false if needs_more(hub) => kept + free,
            false => kept,
        };
    }
}

/// A share, in units of 1/2^`bits` and at most one, of `value`.
fn share(value: u64, share_q: u64, bits: u32) -> u64 {
    ((u128::from(value) * u128::from(share_q)) >> bits) as u64
}
