//! Endpoints at their hosts. A closed connection's slots are reused.

use std::collections::VecDeque;

use fanin_driver::{ConnectionId, EndpointId, Meaning, MessageQueue, Owner};
use fanin_fabric::LinkId;
use fanin_transport::{Phase, Transport};
use fanin_units::Time;

use crate::conserved::{self, Account, Imbalance};
use crate::fetch::fetch;
use crate::places::{Every, Few, Places};
use crate::since::Sums;
use crate::slot::Slot;

/// An endpoint with the world's data about it. It is eight cache lines long: with thousands of endpoints, memory touched per
/// packet dominates.
#[repr(align(64))]
pub(crate) struct Socket<T> {
    pub endpoint: T,
    /// When its entry in the timer queue is due: at its deadline or before.
    pub armed: Time,
    pub id: EndpointId,
    /// The link of its host on which it sends.
    pub uplink: LinkId,
    /// Data touched once per message.
    messages: Box<MessageQueue>,
}

/// A message that the endpoint in a slot is to receive: it ends at this byte.
#[derive(Clone, Copy)]
pub(crate) struct ExpectedMessage {
    pub at: Slot,
    pub until: u64,
    pub meaning: Meaning,
}

impl<T: Transport> Socket<T> {
    pub fn new(endpoint: T, id: EndpointId, uplink: LinkId) -> Socket<T> {
        let messages = Box::<MessageQueue>::default();
        Socket { endpoint, armed: Time::NEVER, id, uplink, messages }
    }

    /// Owner of the connection.
    pub fn owner(&self) -> Owner {
        self.id.connection().owner()
    }

    /// Bytes that the application has written.
    pub fn written(&self) -> u64 {
        self.messages.written()
    }

    /// The application writes more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.messages.write(bytes);
    }

    /// The application discards unsent bytes.
    pub fn discard_unsent(&mut self) {
        self.endpoint.discard_unsent();
        self.messages.set_written(self.endpoint.written().total);
    }

    /// Expect a message that ends at this byte.
    pub fn expect(&mut self, until: u64, what: Meaning) {
        if self.messages.expect(until, what) {
            self.endpoint.wake_at(until);
        }
    }

    /// Take the next complete message.
    pub fn take(&mut self) -> Option<Meaning> {
        let message = self.messages.take(self.endpoint.delivered());
        if message.is_none()
            && let Some(until) = self.messages.first_ends_at()
        {
            self.endpoint.wake_at(until);
        }
        message
    }

    /// Its bytes, for the conservation checks.
    pub fn account(&self) -> Account {
        let (own, delivered) = (self.endpoint.written(), self.endpoint.delivered());
        Account { id: self.id, written: self.written(), own, delivered }
    }

    /// Bytes from the start of the connection to the end of the last message that it awaits; 0 if none.
    pub fn awaits_until(&self) -> u64 {
        self.messages.last_ends_at().unwrap_or(0)
    }

    /// Messages not yet complete.
    pub fn awaited(&self) -> usize {
        self.messages.awaited()
    }
}

/// The endpoints of a run or of a part of its hosts, by slot; contents of free slots are meaningless.
pub(crate) struct Ends<L, T> {
    places: L,
    sockets: Vec<Socket<T>>,
}

impl<L: Places, T> Default for Ends<L, T> {
    fn default() -> Ends<L, T> {
        Ends { places: L::default(), sockets: Vec::new() }
    }
}

impl<L: Places, T> Ends<L, T> {
    /// The endpoint in a used slot.
    #[inline(always)]
    pub fn at(&mut self, slot: Slot) -> &mut Socket<T> {
        &mut self.sockets[self.places.of(slot)]
    }

    /// The same, shared.
    pub fn seen_at(&self, slot: Slot) -> &Socket<T> {
        &self.sockets[self.places.of(slot)]
    }

    /// All endpoints that were put there.
    pub fn iter(&self) -> impl Iterator<Item = &Socket<T>> {
        self.sockets.iter()
    }

    /// Puts an endpoint into a slot.
    pub fn put(&mut self, slot: Slot, socket: Socket<T>) {
        let place = self.places.give(slot, self.sockets.len());
        match self.sockets.get_mut(place) {
            Some(there) => *there = socket,
            None => self.sockets.push(socket),
        }
    }

    /// Prefetch an endpoint, if it exists: a packet that begins a connection is ahead of the end that accepts it.
    #[inline(always)]
    pub fn fetch(&self, slot: Slot) {
        if let Some(socket) = self.sockets.get(self.places.of(slot)) {
            fetch(socket);
        }
    }
}

impl<T> Ends<Every, T> {
    /// All endpoints by slot.
    pub fn all(self) -> impl Iterator<Item = Socket<T>> {
        self.sockets.into_iter()
    }
}

impl<T> Ends<Few, T> {
    /// Move the endpoints out, slot by slot.
    pub fn give_away(self) -> impl FnMut(Slot) -> Option<Socket<T>> {
        let mut sockets: Vec<Option<Socket<T>>> = self.sockets.into_iter().map(Some).collect();
        move |slot| sockets.get_mut(self.places.of(slot))?.take()
    }
}

/// Open connections and their slots.
#[derive(Default)]
pub(crate) struct ConnectionTable {
    /// Pairs of slots created, and free ones.
    made: u32,
    free: Vec<u32>,
    /// The pair of each connection, by owner; `OVER` once it is closed.
    pairs: [Vec<u32>; Owner::MOST],
    /// Connections with a closed end: soon they are over.
    closing: VecDeque<ConnectionId>,
    /// Sums of closed connections: the workload's, and background traffic's.
    over: [Sums; 2],
    /// The first conservation error of a closed connection.
    broken: Option<Imbalance>,
}

const OVER: u32 = u32::MAX;

/// Closing connections checked per opened one: more than one, so that their number falls.
const AT_ONCE: usize = 4;

impl ConnectionTable {
    /// Open a connection of `owner`; returns the slots of its ends, opener first.
    pub fn open(&mut self, owner: Owner) -> (ConnectionId, [Slot; 2]) {
        let pair = self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        });
        let pairs = &mut self.pairs[usize::from(owner.number())];
        let connection = ConnectionId::new(owner, pairs.len() as u32);
        pairs.push(pair);
        (connection, Slot::pair(pair))
    }

    /// A table that knows the same connections, for a part of the network.
    pub fn copy(&self) -> ConnectionTable {
        ConnectionTable { pairs: self.pairs.clone(), ..ConnectionTable::default() }
    }

    fn pair(&self, connection: ConnectionId) -> u32 {
        self.pairs[usize::from(connection.owner().number())][connection.place() as usize]
    }

    /// The slot of an endpoint, unless its connection is over.
    pub fn slot(&self, id: EndpointId) -> Option<Slot> {
        let pair = Some(self.pair(id.connection())).filter(|&pair| pair != OVER)?;
        Some(Slot::pair(pair)[usize::from(!id.is_opener())])
    }

    /// The slots of each open connection, opener first.
    fn slots(&self) -> impl Iterator<Item = [Slot; 2]> {
        let pairs = self.pairs.iter().flatten().filter(|&&pair| pair != OVER);
        pairs.map(|&pair| Slot::pair(pair))
    }

    /// Sums of the workload's endpoints, and of background traffic's. `end` returns the endpoint in a slot.
    pub fn sums<'a, T: Transport + 'a>(&self, end: impl Fn(Slot) -> &'a Socket<T>) -> [Sums; 2] {
        let mut sums = self.over;
        for end in self.slots().flatten().map(end) {
            let of = &mut sums[usize::from(end.owner() != Owner::WORKLOAD)];
            *of = of.and(Sums::of(&end.endpoint));
        }
        sums
    }

    /// An end of a connection has seen the other one close.
    pub fn closes(&mut self, at: EndpointId) {
        if self.closing.back() != Some(&at.connection()) {
            self.closing.push_back(at.connection());
        }
    }

    /// Number of pairs of slots created.
    pub fn pairs_made(&self) -> u32 {
        self.made
    }

    /// Add closing connections noted elsewhere.
    pub fn close_with(&mut self, other: &mut ConnectionTable) {
        self.closing.append(&mut other.closing);
    }

    /// Free the slots of some finished connections: both ends have closed and acknowledged, and no packet is in flight to
    /// either. `end` returns the endpoint in a slot, `lost` the number of dropped packets to it.
    pub fn give_back<'a, T: Transport>(&mut self, end: impl Fn(Slot) -> &'a Socket<T>, lost: impl Fn(Slot) -> u32) {
        for _ in 0..self.closing.len().min(AT_ONCE) {
            let Some(connection) = self.closing.pop_front() else { return };
            let pair = self.pair(connection);
            if pair == OVER {
                continue;
            }
            let slots = Slot::pair(pair);
            let ends = slots.map(&end);
            if ends.iter().any(|end| end.endpoint.phase() == Phase::Reset) {
                // It never finishes and keeps its slots: its application may use it at any time.
                continue;
            }
            let [a, b] = ends.map(|end| end.endpoint.stats());
            // Counts wrap.
            let to_a = b.segments_sent.wrapping_sub(a.segments_received).wrapping_sub(lost(slots[0]));
            let to_b = a.segments_sent.wrapping_sub(b.segments_received).wrapping_sub(lost(slots[1]));
            if (to_a, to_b) != (0, 0) || ends.iter().any(|end| end.endpoint.phase() != Phase::Finished) {
                self.closing.push_back(connection);
                continue;
            }
            if let Err(imbalance) = conserved::connection(ends.map(Socket::account)) {
                self.broken.get_or_insert(imbalance);
            }
            let sums = &mut self.over[usize::from(ends[0].owner() != Owner::WORKLOAD)];
            *sums = ends.into_iter().fold(*sums, |sums, end| sums.and(Sums::of(&end.endpoint)));
            self.pairs[usize::from(connection.owner().number())][connection.place() as usize] = OVER;
            self.free.push(pair);
        }
    }
}

/// All endpoints of a run with open connections.
pub(crate) struct Sockets<L, T> {
    pub ends: Ends<L, T>,
    pub book: ConnectionTable,
}

impl<L: Places, T: Transport> Sockets<L, T> {
    /// With capacity for `endpoints`.
    pub fn with_capacity(endpoints: usize) -> Sockets<L, T> {
        let ends = Ends { places: L::default(), sockets: Vec::with_capacity(endpoints) };
        Sockets { ends, book: ConnectionTable::default() }
    }

    /// The endpoint in a used slot.
    #[inline(always)]
    pub fn at(&mut self, slot: Slot) -> &mut Socket<T> {
        self.ends.at(slot)
    }

    /// An endpoint, unless its connection is over.
    pub fn get(&self, id: EndpointId) -> Option<&Socket<T>> {
        self.book.slot(id).map(|slot| self.ends.seen_at(slot))
    }

    /// The two ends of each open connection, opener first.
    pub fn connections(&self) -> impl Iterator<Item = [&Socket<T>; 2]> {
        self.book.slots().map(|slots| slots.map(|slot| self.ends.seen_at(slot)))
    }

    /// Call `act` for each endpoint of an open connection, with its slot.
    pub fn each(&mut self, mut act: impl FnMut(Slot, &mut Socket<T>)) {
        self.book.slots().flatten().for_each(|slot| act(slot, self.ends.at(slot)));
    }

    /// As [`ConnectionTable::give_back`].
    pub fn give_back(&mut self, lost: impl Fn(Slot) -> u32) {
        self.book.give_back(|slot| self.ends.seen_at(slot), lost);
    }

    /// The first conservation error so far.
    pub fn broken(&self) -> Option<&Imbalance> {
        self.book.broken.as_ref()
    }

    /// As [`ConnectionTable::sums`].
    pub fn sums(&self) -> [Sums; 2] {
        self.book.sums(|slot| self.ends.seen_at(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_fits_eight_cache_lines() {
        assert_eq!(size_of::<Socket<fanin_tcp::Endpoint>>(), 8 * 64);
    }
}
