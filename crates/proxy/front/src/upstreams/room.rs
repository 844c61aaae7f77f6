//! Room for responses at a server: the estimated bytes of outstanding ones, and gets that wait until these are fewer.

use std::collections::VecDeque;

use super::ask::{Ask, Expected, Progress};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::memory::{Buffer, Charge};

/// Estimated bytes of unanswered responses above which gets wait, so that others find a short queue.
pub const ENOUGH_EXPECTED: usize = 8 << 20;
/// Assumed mean size before the first value. Each value counts for one in `WEIGHT`.
const FIRST_MEAN: usize = 64 << 10;
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
pub struct Waiting {
    pub since: Nanos,
    pub progress: Progress,
    expected: Expected,
    pub waiter: Waiter,
}

/// Room of a connection.
#[derive(Debug)]
pub struct Room {
    /// Values and bytes of outstanding responses.
    values: usize,
    bytes: usize,
    /// Mean size of the connection's latest values, times `WEIGHT`.
    weighted: usize,
    waiting: VecDeque<Waiting>,
    charge: Charge,
}

impl Default for Room {
    fn default() -> Room {
        let (values, bytes, waiting, charge) = Default::default();
        Room { values, bytes, weighted: FIRST_MEAN * WEIGHT, waiting, charge }
    }
}

impl Room {
    /// Whether a response finds a short queue. Each value counts with the mean of the client's or of the server's values, the larger one.
    pub fn suffices(&self, more: Expected) -> bool {
        let (values, bytes) = (self.values + more.values as usize, self.bytes + more.bytes as usize);
        let expected = bytes.max(values * (self.weighted / WEIGHT));
        self.values == 0 || expected <= ENOUGH_EXPECTED
    }

    /// A request is sent.
    pub fn expect(&mut self, more: Expected) {
        self.values += more.values as usize;
        self.bytes += more.bytes as usize;
    }

    /// A value of the first response has come: its other values are expected.
    pub fn value_comes(&mut self, of: &mut Expected, size: usize) {
        self.weighted = self.weighted - self.weighted / WEIGHT + size;
        let come = Expected { values: of.values.min(1), bytes: of.bytes.min(size as u32) };
        (of.values, of.bytes) = (of.values - come.values, of.bytes - come.bytes);
        self.ends(come);
    }

    /// A response ends. Its missing keys count as values without bytes.
    pub fn response_ends(&mut self, rest: Expected) {
        (0..rest.values.min(WEIGHT as u32)).for_each(|_| self.weighted -= self.weighted / WEIGHT);
        self.ends(rest);
    }

    /// Nothing more comes of this.
    fn ends(&mut self, rest: Expected) {
        self.values -= rest.values as usize;
        self.bytes -= rest.bytes as usize;
    }

    /// The connection is closed: nothing comes any more.
    pub fn close(&mut self) {
        (self.values, self.bytes) = (0, 0);
    }

    /// Whether nobody waits.
    pub fn has_nobody_waiting(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a waiter.
    pub fn wait(&mut self, since: Nanos, progress: Progress, expected: Expected, waiter: Waiter) {
        self.waiting.push_back(Waiting { since, progress, expected, waiter });
        self.charge.set(self.waiting.capacity() * size_of::<Waiting>());
    }

    /// The first waiter.
    pub fn first(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// Takes the first waiter if there is room for its response, or if it has waited for too long.
    pub fn take_first(&mut self, too_long: bool) -> Option<Waiter> {
        let suffices = self.suffices(self.waiting.front()?.expected);
        self.waiting.pop_front_if(|_| too_long || suffices).map(|waiting| waiting.waiter)
    }

    /// Takes all waiters.
    pub fn take_all(&mut self) -> impl Iterator<Item = Waiter> + use<> {
        self.charge.set(0);
        std::mem::take(&mut self.waiting).into_iter().map(|waiting| waiting.waiter)
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
        for _ in 0..10 {
            room.expect(values(100, 0));
            room.response_ends(values(100, 0));
        }
        room.expect(values(1, 0));
        assert!(room.suffices(values(1 << 20, 0)) && !room.suffices(values(1, 9 << 20)));
    }

    #[test]
    fn values_count_with_the_larger_mean() {
        let mut room = Room::default();
        assert!(room.suffices(values(1024, 100 * ENOUGH_EXPECTED)), "one of any size");
        room.expect(values(1, 0));
        assert!(room.suffices(values(127, 0)) && !room.suffices(values(128, 0)), "by the first mean");
        assert!(!room.suffices(values(1, ENOUGH_EXPECTED + 1)), "by the client's mean");
        // A client that has read small values requests large ones.
        room.ends(values(1, 0));
        for _ in 0..1000 {
            room.value_comes(&mut values(0, 0), 1);
        }
        let mut large = values(1024, 1024);
        assert!(room.suffices(large));
        room.expect(large);
        assert!(room.suffices(values(1, 1)));
        (0..10).for_each(|_| room.value_comes(&mut large, 1 << 20));
        assert_eq!((large, room.values, room.bytes), (values(1014, 0), 1014, 0));
        assert!(!room.suffices(values(1, 1)), "the others are about as large");
        room.ends(large);
        assert!(room.suffices(values(1, 1)));
    }
}
