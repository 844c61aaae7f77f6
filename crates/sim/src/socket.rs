//! Endpoints at their hosts. A connection that is over gives its place to another.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use fanin_apps::{ConnectionId, EndpointId, Meaning, Owner};
use fanin_fabric::LinkId;
use fanin_tcp::Endpoint;
use fanin_units::Time;

use crate::conserved;
use crate::fetch::fetch;
use crate::places::{Every, Few, Places};
use crate::since::Sums;
use crate::slot::Slot;

/// An endpoint, and what the world keeps beside it. It is eight lines of a cache long: with thousands of them, what is touched
/// a packet is what counts.
#[repr(align(64))]
pub(crate) struct Socket {
    pub endpoint: Endpoint,
    /// When its entry in the queue of timers is due: at its deadline or before.
    pub armed: Time,
    pub id: EndpointId,
    /// The way out of its host.
    pub uplink: LinkId,
    /// What is touched a message.
    desk: Box<MessageQueue>,
}

/// What an application and its endpoint have to do with each other.
struct MessageQueue {
    /// Bytes that the application gave the endpoint to send.
    written: u64,
    /// The first message on its way to it.
    first: Option<Coming>,
    /// Those behind it, where there are any.
    #[expect(clippy::box_collection, reason = "there are millions of desks, and few have any")]
    rest: Option<Box<VecDeque<Coming>>>,
}

/// A message on its way: the number of bytes that are there with its last one, and what it means.
#[derive(Clone, Copy)]
struct Coming {
    until: NonZeroU64,
    what: Meaning,
}

impl Socket {
    pub fn new(endpoint: Endpoint, id: EndpointId, uplink: LinkId) -> Socket {
        let desk = Box::new(MessageQueue { written: 0, first: None, rest: None });
        Socket { endpoint, armed: Time::NEVER, id, uplink, desk }
    }

    /// Whose the connection is.
    pub fn owner(&self) -> Owner {
        self.id.connection().owner()
    }

    /// Bytes that the application gave it to send.
    pub fn written(&self) -> u64 {
        self.desk.written
    }

    /// The application gives it more to send.
    pub fn write(&mut self, bytes: u64) {
        self.desk.written += bytes;
    }

    /// The application takes back what has not been sent.
    pub fn take_back(&mut self) {
        self.endpoint.take_back();
        self.desk.written = self.endpoint.written().total;
    }

    /// A message that ends with this many bytes is on its way here.
    pub fn expect(&mut self, until: u64, what: Meaning) {
        let Some(until) = NonZeroU64::new(until) else { unreachable!("a message has a byte at least") };
        let coming = Coming { until, what };
        if self.desk.first.is_none() {
            self.endpoint.wake_at(until.get());
            self.desk.first = Some(coming);
        } else {
            self.desk.rest.get_or_insert_default().push_back(coming);
        }
    }

    /// Takes the next message that is there.
    pub fn take(&mut self) -> Option<Meaning> {
        let Coming { until, what } = self.desk.first?;
        if until.get() > self.endpoint.delivered() {
            self.endpoint.wake_at(until.get());
            return None;
        }
        self.desk.first = self.desk.rest.as_mut().and_then(|rest| rest.pop_front());
        Some(what)
    }

    /// Messages that are not there yet.
    pub fn awaited(&self) -> usize {
        usize::from(self.desk.first.is_some()) + self.desk.rest.as_ref().map_or(0, |rest| rest.len())
    }
}

/// The endpoints of a run, or those of a part of its hosts, by slot; what lies in a slot that is free is of no account.
#[derive(Default)]
pub(crate) struct Ends<L> {
    places: L,
    sockets: Vec<Socket>,
}

impl<L: Places> Ends<L> {
    /// The endpoint in a slot that is in use.
    #[inline(always)]
    pub fn at(&mut self, slot: Slot) -> &mut Socket {
        &mut self.sockets[self.places.of(slot)]
    }

    /// As above, to look at.
    pub fn seen_at(&self, slot: Slot) -> &Socket {
        &self.sockets[self.places.of(slot)]
    }

    /// Puts an endpoint into a slot.
    pub fn put(&mut self, slot: Slot, socket: Socket) {
        let place = self.places.give(slot, self.sockets.len());
        match self.sockets.get_mut(place) {
            Some(there) => *there = socket,
            None => self.sockets.push(socket),
        }
    }

    /// Asks for the memory of an endpoint.
    #[inline(always)]
    pub fn fetch(&self, slot: Slot) {
        fetch(&self.sockets[self.places.of(slot)]);
    }
}

impl Ends<Every> {
    /// All of them, in the order of their slots.
    pub fn all(self) -> impl Iterator<Item = Socket> {
        self.sockets.into_iter()
    }
}

impl Ends<Few> {
    /// Gives them away, slot by slot.
    pub fn give_away(self) -> impl FnMut(Slot) -> Option<Socket> {
        let mut sockets: Vec<Option<Socket>> = self.sockets.into_iter().map(Some).collect();
        move |slot| sockets.get_mut(self.places.of(slot))?.take()
    }
}

/// Which connections there are, and where each has its slots.
#[derive(Default)]
pub(crate) struct ConnectionTable {
    /// Pairs of slots that there are, and those that are free.
    made: u32,
    free: Vec<u32>,
    /// The pair of each connection, by owner; `OVER` where it has none any more.
    pairs: [Vec<u32>; Owner::MOST],
    /// Connections of which an end has closed: soon they are over.
    closing: VecDeque<ConnectionId>,
    /// What those counted that are over: the workload's, and those beside it.
    over: [Sums; 2],
    /// What did not add up as a connection was over.
    broken: Option<String>,
}

const OVER: u32 = u32::MAX;

/// So many closing connections are looked at as one is opened: more than one, so that they get fewer.
const AT_ONCE: usize = 4;

impl ConnectionTable {
    /// A new connection of `owner`, with the slots of its ends, opener first.
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

    fn pair(&self, connection: ConnectionId) -> u32 {
        self.pairs[usize::from(connection.owner().number())][connection.place() as usize]
    }

    /// Where an endpoint lies, unless its connection is over.
    pub fn slot(&self, id: EndpointId) -> Option<Slot> {
        let pair = Some(self.pair(id.connection())).filter(|&pair| pair != OVER)?;
        Some(Slot::pair(pair)[usize::from(!id.is_opener())])
    }

    /// The slots of each connection that is not over, opener first.
    fn slots(&self) -> impl Iterator<Item = [Slot; 2]> {
        let pairs = self.pairs.iter().flatten().filter(|&&pair| pair != OVER);
        pairs.map(|&pair| Slot::pair(pair))
    }

    /// An end of a connection has heard the other one close.
    pub fn closes(&mut self, at: EndpointId) {
        if self.closing.back() != Some(&at.connection()) {
            self.closing.push_back(at.connection());
        }
    }

    /// Pairs of slots that there are.
    pub fn pairs_made(&self) -> u32 {
        self.made
    }

    /// What was noted elsewhere of connections that close.
    pub fn close_with(&mut self, other: &mut ConnectionTable) {
        self.closing.append(&mut other.closing);
    }

    /// Frees the slots of some connections that are over: both ends have closed and said so, and no packet is under way to
    /// either. `end` gives the endpoint in a slot, `lost` says how many of the packets to it were dropped.
    pub fn give_back<'a>(&mut self, end: impl Fn(Slot) -> &'a Socket, lost: impl Fn(Slot) -> u32) {
        for _ in 0..self.closing.len().min(AT_ONCE) {
            let Some(connection) = self.closing.pop_front() else { return };
            let pair = self.pair(connection);
            if pair == OVER {
                continue;
            }
            let slots = Slot::pair(pair);
            let ends = slots.map(&end);
            if ends.iter().any(|end| end.endpoint.is_reset()) {
                // It will never be whole, and keeps its place: its application may ask for it at any time.
                continue;
            }
            let [a, b] = ends.map(|end| end.endpoint.stats());
            // Counts wrap.
            let to_a = b.segments_sent.wrapping_sub(a.segments_received).wrapping_sub(lost(slots[0]));
            let to_b = a.segments_sent.wrapping_sub(b.segments_received).wrapping_sub(lost(slots[1]));
            if (to_a, to_b) != (0, 0) || ends.iter().any(|end| !end.endpoint.finished()) {
                self.closing.push_back(connection);
                continue;
            }
            if let Err(what) = conserved::connection(ends) {
                self.broken.get_or_insert(what);
            }
            let sums = &mut self.over[usize::from(ends[0].owner() != Owner::WORKLOAD)];
            *sums = ends.into_iter().fold(*sums, |sums, end| sums.and(Sums::of(&end.endpoint)));
            self.pairs[usize::from(connection.owner().number())][connection.place() as usize] = OVER;
            self.free.push(pair);
        }
    }
}

/// All endpoints of a run whose connections are not over.
#[derive(Default)]
pub(crate) struct Sockets<L> {
    pub ends: Ends<L>,
    pub book: ConnectionTable,
}

impl<L: Places> Sockets<L> {
    /// With room for so many.
    pub fn with_capacity(endpoints: usize) -> Sockets<L> {
        let ends = Ends { places: L::default(), sockets: Vec::with_capacity(endpoints) };
        Sockets { ends, book: ConnectionTable::default() }
    }

    /// The endpoint in a slot that is in use.
    #[inline(always)]
    pub fn at(&mut self, slot: Slot) -> &mut Socket {
        self.ends.at(slot)
    }

    /// An endpoint, unless its connection is over.
    pub fn get(&self, id: EndpointId) -> Option<&Socket> {
        self.book.slot(id).map(|slot| self.ends.seen_at(slot))
    }

    /// The two ends of each connection that is not over, opener first.
    pub fn connections(&self) -> impl Iterator<Item = [&Socket; 2]> {
        self.book.slots().map(|slots| slots.map(|slot| self.ends.seen_at(slot)))
    }

    /// Does something to each endpoint whose connection is not over.
    pub fn each(&mut self, mut act: impl FnMut(&mut Socket)) {
        self.book.slots().flatten().for_each(|slot| act(self.ends.at(slot)));
    }

    /// As [`ConnectionTable::give_back`].
    pub fn give_back(&mut self, lost: impl Fn(Slot) -> u32) {
        self.book.give_back(|slot| self.ends.seen_at(slot), lost);
    }

    /// What did not add up so far.
    pub fn broken(&self) -> Option<&str> {
        self.book.broken.as_deref()
    }

    /// What the workload's endpoints have counted, and those beside it.
    pub fn sums(&self) -> [Sums; 2] {
        let mut sums = self.book.over;
        for end in self.connections().flatten() {
            let of = &mut sums[usize::from(end.owner() != Owner::WORKLOAD)];
            *of = of.and(Sums::of(&end.endpoint));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_a_packet_lies_in_eight_lines_of_a_cache() {
        assert_eq!(size_of::<Socket>(), 8 * 64);
    }
}
