//! Gets that are sent to a second replica if the first one is slow (Dean and Barroso, "The tail at scale", 2013), within a budget.

use std::collections::VecDeque;

use fanin_proxy_config::Hedge;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_core::memory::Charge;
use fanin_proxy_core::memory::table::Id;

/// One request of the budget.
const ONE: u64 = 1 << 30;
/// Most requests that the budget saves up.
const MOST_SAVED: u64 = 10;

/// Outstanding gets of a pool, and the budget for second requests.
#[derive(Debug)]
pub struct Hedges {
    after: Nanos,
    /// Budget per get, and what is left.
    share: u64,
    budget: u64,
    /// By time; the delay is the same for all.
    due: VecDeque<(Nanos, Id)>,
    charge: Charge,
}

impl Hedges {
    pub fn new(hedge: Hedge) -> Hedges {
        Hedges {
            after: nanos(hedge.after),
            share: hedge.share.in_q(30).into(),
            budget: 0,
            due: VecDeque::new(),
            charge: Charge::default(),
        }
    }

    /// A get has been sent.
    pub fn sent(&mut self, now: Nanos, get: Id) {
        self.budget = (self.budget + self.share).min(MOST_SAVED * ONE);
        self.due.push_back((now + self.after, get));
        self.charge.set(self.due.capacity() * size_of::<(Nanos, Id)>());
    }

    /// When the first get is due.
    pub fn next_due(&self) -> Option<Nanos> {
        self.due.front().map(|(at, _)| *at)
    }

    /// A get that has been outstanding for long.
    pub fn take_due(&mut self, now: Nanos) -> Option<Id> {
        self.due.pop_front_if(|(at, _)| *at <= now).map(|(_, get)| get)
    }

    /// Takes a second request from the budget, if it is there.
    pub fn spend(&mut self) -> bool {
        let rest = self.budget.checked_sub(ONE);
        self.budget = rest.unwrap_or(self.budget);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::{Share, Time};

    use super::*;

    #[test]
    fn second_requests_stay_within_budget() {
        let mut hedges = Hedges::new(Hedge { after: Time::from_millis(5), share: Share::of(1, 20) });
        let get = fanin_proxy_core::memory::table::Table::default().insert(());
        let mut spent = 0;
        for now in 1..=1000 {
            hedges.sent(now, get);
            spent += u64::from(hedges.spend());
        }
        assert_eq!(spent, 49, "a twentieth, rounded down");
        assert_eq!((hedges.next_due(), hedges.take_due(5_000_000)), (Some(5_000_001), None));
        assert!(hedges.take_due(5_000_001).is_some());
        (0..1000).for_each(|now| hedges.sent(now, get));
        assert_eq!((0..100).filter(|_| hedges.spend()).count(), 10, "a pause is not saved up");
    }
}
