//! Room for responses at a server: the estimated bytes of outstanding ones, by tenant, and gets that wait until these are fewer.
//!
//! A tenant may use as much as is free (the dynamic threshold of Choudhury and Hahne, 1998, with a factor of one), and gets of tenants that
//! wait have turns: so whoever requests large values has at most half of the room, and others find a short queue.

use std::collections::{BTreeMap, VecDeque};

use super::ask::{Ask, Expected, Progress};
use super::shares::NOBODY;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::memory::{Buffer, Charge};

/// Estimated bytes of unanswered responses for which there is room.
pub const ENOUGH_EXPECTED: usize = 8 << 20;
/// Assumed mean size before a tenant's first value, which may be the largest. Each further value counts for one in `WEIGHT`.
const FIRST_MEAN: usize = 256 << 10;
const WEIGHT: usize = 64;

/// A get that waits; its client sends nothing more until it is sent.
#[derive(Debug)]
pub struct WaitingGet {
    pub ask: Ask,
    /// Its note, and the request.
    text: Buffer,
    _charge: Charge,
}

impl WaitingGet {
    pub fn new(ask: Ask, note: &[u8], bytes: &[&[u8]]) -> WaitingGet {
        let (mut text, mut charge) = (Buffer::default(), Charge::default());
        text.extend(note);
        bytes.iter().for_each(|bytes| text.extend(bytes));
        charge.set(size_of::<WaitingGet>());
        WaitingGet { ask: Ask { note: note.len() as u32, ..ask }, text, _charge: charge }
    }

    /// Its note, and the request.
    pub fn text(&self) -> (&[u8], &[u8]) {
        self.text.split_at(self.ask.note as usize)
    }
}

/// Who waits.
#[derive(Debug)]
pub enum Waiter {
    /// A multiget, with its next batch.
    Batch(Id),
    /// A get of one key.
    Get(Box<WaitingGet>),
}

/// A waiter: since when, after which progress of the connection, and for which response.
#[derive(Debug)]
struct Waiting {
    /// Its place among all that have waited.
    number: u64,
    since: Nanos,
    progress: Progress,
    expected: Expected,
    waiter: Waiter,
}

/// Since when a waiter waits, and after which progress of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub since: Nanos,
    pub progress: Progress,
}

/// Outstanding responses of a tenant.
#[derive(Clone, Copy, Debug)]
struct Load {
    values: usize,
    bytes: usize,
    /// Mean size of its latest values on this connection, times `WEIGHT`, and whether there has been one.
    weighted: usize,
    is_known: bool,
}

impl Default for Load {
    fn default() -> Load {
        Load { values: 0, bytes: 0, weighted: FIRST_MEAN * WEIGHT, is_known: false }
    }
}

impl Load {
    /// Estimated bytes. Each value counts with the mean of the client's or of the tenant's values here, the larger one.
    fn expected(&self) -> usize {
        self.bytes.max(self.values * (self.weighted / WEIGHT))
    }
}

/// Room of a connection.
#[derive(Debug, Default)]
pub struct Room {
    /// Of requests of the front end itself; and of tenants, by their numbers, which are small.
    own: Load,
    of_tenants: Vec<Load>,
    /// Estimated bytes of all.
    expected: usize,
    /// Waiters by tenant, in order; and tenants with waiters, in the order of their turns.
    waiting: BTreeMap<u32, VecDeque<Waiting>>,
    turns: VecDeque<u32>,
    /// All waiters in order, and those that have left since.
    order: VecDeque<(u64, u32)>,
    next: u64,
    loads: Charge,
    waiters: Charge,
}

impl Room {
    fn load(&self, tenant: u32) -> Load {
        if tenant == NOBODY { self.own } else { self.of_tenants.get(tenant as usize).copied().unwrap_or_default() }
    }

    /// Changes the load of a tenant.
    #[inline]
    fn change(&mut self, tenant: u32, change: impl FnOnce(&mut Load)) {
        let load = if tenant == NOBODY {
            &mut self.own
        } else {
            if tenant as usize >= self.of_tenants.len() {
                self.of_tenants.resize(tenant as usize + 1, Load::default());
                self.loads.set(self.of_tenants.capacity() * size_of::<Load>());
            }
            &mut self.of_tenants[tenant as usize]
        };
        let before = load.expected();
        change(load);
        self.expected = self.expected - before + load.expected();
    }

    /// Mean size of a tenant's latest values, if there have been some.
    pub fn mean_value(&self, tenant: u32) -> Option<usize> {
        let load = self.load(tenant);
        load.is_known.then_some(load.weighted / WEIGHT)
    }

    /// Whether a response for a tenant finds a short queue.
    #[inline]
    pub fn suffices(&self, tenant: u32, more: Expected) -> bool {
        let load = self.load(tenant);
        let after =
            Load { values: load.values + more.values as usize, bytes: load.bytes + more.bytes as usize, ..load };
        let (own, all) = (after.expected(), self.expected - load.expected() + after.expected());
        load.values == 0 || own <= ENOUGH_EXPECTED.saturating_sub(all)
    }

    /// A request is sent.
    #[inline]
    pub fn expect(&mut self, tenant: u32, more: Expected) {
        if more.values > 0 {
            self.change(tenant, |load| {
                load.values += more.values as usize;
                load.bytes += more.bytes as usize;
            });
        }
    }

    /// A value of the first response has come: its other values are expected.
    #[inline]
    pub fn value_comes(&mut self, tenant: u32, of: &mut Expected, size: usize) {
        let come = Expected { values: of.values.min(1), bytes: of.bytes.min(size as u32) };
        (of.values, of.bytes) = (of.values - come.values, of.bytes - come.bytes);
        self.change(tenant, |load| {
            load.weighted = if load.is_known { load.weighted - load.weighted / WEIGHT + size } else { size * WEIGHT };
            load.is_known = true;
            load.values -= come.values as usize;
            load.bytes -= come.bytes as usize;
        });
    }

    /// A response ends. Its missing keys count as values without bytes; bytes may be left although all values have come.
    #[inline]
    pub fn response_ends(&mut self, tenant: u32, rest: Expected) {
        if rest != Expected::default() {
            self.change(tenant, |load| {
                (0..rest.values.min(WEIGHT as u32)).for_each(|_| load.weighted -= load.weighted / WEIGHT);
                load.values -= rest.values as usize;
                load.bytes -= rest.bytes as usize;
            });
        }
    }

    /// The connection is closed: nothing comes any more.
    pub fn close(&mut self) {
        for load in self.of_tenants.iter_mut().chain([&mut self.own]) {
            (load.values, load.bytes) = (0, 0);
        }
        self.expected = 0;
    }

    /// Whether nobody waits.
    pub fn has_nobody_waiting(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether a get of a tenant must wait, unless it is its turn: for room, or for those of the tenant that wait.
    #[inline]
    pub fn must_wait(&self, tenant: u32, expected: Expected, turn: bool) -> bool {
        !turn && !self.turns.is_empty() && self.waiting.contains_key(&tenant) || !self.suffices(tenant, expected)
    }

    /// Adds a waiter of a tenant.
    pub fn wait(&mut self, tenant: u32, begun: Begun, expected: Expected, waiter: Waiter) {
        let queue = self.waiting.entry(tenant).or_default();
        if queue.is_empty() {
            self.turns.push_back(tenant);
        }
        queue.push_back(Waiting { number: self.next, since: begun.since, progress: begun.progress, expected, waiter });
        self.order.push_back((self.next, tenant));
        self.next += 1;
        let all = self.order.capacity() * (size_of::<(u64, u32)>() + size_of::<Waiting>());
        self.waiters.set(all + self.turns.capacity() * size_of::<u32>());
    }

    /// Since when the first waiter of all waits.
    pub fn first(&self) -> Option<Begun> {
        let (_, tenant) = self.order.front()?;
        let first = self.waiting.get(tenant)?.front()?;
        Some(Begun { since: first.since, progress: first.progress })
    }

    /// Takes the first waiter of all, which has waited for too long.
    pub fn take_first(&mut self) -> Option<Waiter> {
        let (_, tenant) = *self.order.front()?;
        let place = self.turns.iter().position(|turn| *turn == tenant)?;
        self.take(place, false)
    }

    /// Takes the first waiter of the next tenant for whose response there is room.
    pub fn take_next(&mut self) -> Option<Waiter> {
        let finds_room = |tenant: &u32| {
            let first = self.waiting.get(tenant).and_then(VecDeque::front);
            first.is_some_and(|first| self.suffices(*tenant, first.expected))
        };
        let place = self.turns.iter().position(finds_room)?;
        self.take(place, true)
    }

    /// Takes the first waiter of the tenant at this place of the turns, which may have been its turn.
    fn take(&mut self, place: usize, turn: bool) -> Option<Waiter> {
        let tenant = *self.turns.get(place)?;
        let queue = self.waiting.get_mut(&tenant)?;
        let taken = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&tenant);
            self.turns.remove(place);
        } else if turn {
            self.turns.remove(place);
            self.turns.push_back(tenant);
        }
        let has_left = |(number, tenant): &mut (u64, u32)| {
            self.waiting.get(tenant).and_then(VecDeque::front).is_none_or(|first| first.number > *number)
        };
        while self.order.pop_front_if(has_left).is_some() {}
        Some(taken.waiter)
    }

    /// Takes all waiters.
    pub fn take_all(&mut self) -> Vec<Waiter> {
        self.waiters.set(0);
        (self.turns, self.order) = Default::default();
        let mut all: Vec<Waiting> = std::mem::take(&mut self.waiting).into_values().flatten().collect();
        all.sort_by_key(|waiting| waiting.number);
        all.into_iter().map(|waiting| waiting.waiter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: u32, bytes: usize) -> Expected {
        Expected { values, bytes: bytes as u32 }
    }

    #[test]
    fn misses_are_small() {
        let mut room = Room::default();
        for _ in 0..20 {
            room.expect(1, values(100, 0));
            room.response_ends(1, values(100, 0));
        }
        room.expect(1, values(1, 0));
        assert!(room.suffices(1, values(1 << 20, 0)) && !room.suffices(1, values(1, 9 << 20)));
    }

    #[test]
    fn values_count_with_the_larger_mean() {
        let mut room = Room::default();
        assert!(room.suffices(1, values(1024, 100 * ENOUGH_EXPECTED)), "one of any size");
        room.expect(1, values(1, 0));
        assert!(room.suffices(1, values(15, 0)) && !room.suffices(1, values(16, 0)), "by the first mean");
        assert!(!room.suffices(1, values(1, ENOUGH_EXPECTED / 2 + 1)), "by the client's mean");
        // A client that has read small values requests large ones.
        room.response_ends(1, values(1, 0));
        (0..10).for_each(|_| room.value_comes(1, &mut values(0, 0), 1));
        let mut large = values(1024, 1024);
        assert!(room.suffices(1, large));
        room.expect(1, large);
        assert!(room.suffices(1, values(1, 1)));
        (0..10).for_each(|_| room.value_comes(1, &mut large, 1 << 20));
        assert_eq!((large, room.load(1).values, room.load(1).bytes), (values(1014, 0), 1014, 0));
        assert!(!room.suffices(1, values(1, 1)), "the others are about as large");
        assert!(room.suffices(2, values(1, 1)), "another tenant has nothing here");
        room.response_ends(1, large);
        assert!(room.suffices(1, values(1, 1)));
        assert_eq!(room.expected, 0);
    }

    #[test]
    fn values_smaller_than_expected_leave_nothing_behind() {
        let mut room = Room::default();
        for _ in 0..1000 {
            let mut rest = values(2, 200_000);
            room.expect(1, rest);
            (0..2).for_each(|_| room.value_comes(1, &mut rest, 10));
            assert_eq!(rest, values(0, 199_980));
            room.response_ends(1, rest);
        }
        assert_eq!((room.expected, room.load(1).values, room.load(1).bytes), (0, 0, 0));
    }

    /// Gets of a tenant until it has to wait.
    fn fill(room: &mut Room, tenant: u32, size: usize) -> usize {
        let more = values(1, size);
        let sent = (0..1000).take_while(|_| {
            let sends = room.suffices(tenant, more);
            room.expect(tenant, if sends { more } else { Expected::default() });
            sends
        });
        sent.count()
    }

    #[test]
    fn tenants_share_the_room() {
        let mut room = Room::default();
        let sent = [1, 2, 3].map(|tenant| fill(&mut room, tenant, 256 << 10));
        assert_eq!(sent, [16, 8, 4], "each has half of the free room");
        assert_eq!(fill(&mut room, 4, 8 << 20), 1, "and one response, whatever its size");
        room.close();
        assert_eq!((room.expected, fill(&mut room, 1, 256 << 10)), (0, 16));
    }

    fn number(waiter: Option<Waiter>) -> Option<u64> {
        match waiter? {
            Waiter::Get(get) => Some(get.ask.number),
            Waiter::Batch(_) => None,
        }
    }

    #[test]
    fn waiting_tenants_have_turns() {
        use super::super::ask::{Destination, Recipient};
        use fanin_memcache::Shape;
        let mut room = Room::default();
        let wait = |room: &mut Room, tenant: u32, number: u64| {
            let recipient = Recipient { number, ..Recipient::NOBODY };
            let ask = Ask::new(recipient, Destination::Relay { quiet: false }, Shape::Values, 0);
            let begun = Begun { since: number, progress: Progress::default() };
            room.wait(tenant, begun, values(1, 1), Waiter::Get(Box::new(WaitingGet::new(ask, b"", &[]))));
        };
        for (tenant, of) in [(1, 0..4), (2, 4..6), (3, 6..7)] {
            of.for_each(|number| wait(&mut room, tenant, number));
        }
        assert!(room.must_wait(1, values(1, 1), false) && !room.must_wait(1, values(1, 1), true));
        assert!(!room.must_wait(4, values(1, 1), false), "others do not wait for them");
        let taken: Vec<u64> = (0..3).filter_map(|_| number(room.take_next())).collect();
        assert_eq!(taken, [0, 4, 6]);
        // The first of all has waited for too long: it has no turn before others for that.
        assert_eq!((room.first().unwrap().since, number(room.take_first())), (1, Some(1)));
        assert_eq!((0..3).filter_map(|_| number(room.take_next())).collect::<Vec<_>>(), [2, 5, 3]);
        assert!(room.has_nobody_waiting() && room.first().is_none() && room.take_next().is_none());
        wait(&mut room, 9, 10);
        wait(&mut room, 8, 11);
        wait(&mut room, 9, 12);
        let all: Vec<u64> = room.take_all().into_iter().filter_map(|waiter| number(Some(waiter))).collect();
        assert_eq!((all, room.has_nobody_waiting()), (vec![10, 11, 12], true));
    }
}
