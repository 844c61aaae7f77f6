//! Endpoints at their hosts. A connection that is over gives its place to another.

use std::collections::VecDeque;

use fanin_apps::{ConnectionId, EndpointId, Meaning, Owner};
use fanin_fabric::LinkId;
use fanin_tcp::Endpoint;
use fanin_units::Time;

use crate::conserved;
use crate::fetch::fetch;
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
    desk: Box<Desk>,
}

/// What an application and its endpoint have to do with each other.
struct Desk {
    /// Bytes that the application gave the endpoint to send.
    written: u64,
    /// Messages on their way to it: the number of bytes that are there with the last one's, and what it means.
    inbox: VecDeque<(u64, Meaning)>,
}

impl Socket {
    pub fn new(endpoint: Endpoint, id: EndpointId, uplink: LinkId) -> Socket {
        let desk = Box::new(Desk { written: 0, inbox: VecDeque::new() });
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
    pub fn expect(&mut self, until: u64, meaning: Meaning) {
        if self.desk.inbox.is_empty() {
            self.endpoint.wake_at(until);
        }
        self.desk.inbox.push_back((until, meaning));
    }

    /// Takes the next message that is there.
    pub fn take(&mut self) -> Option<Meaning> {
        let &(until, meaning) = self.desk.inbox.front()?;
        if until > self.endpoint.delivered() {
            self.endpoint.wake_at(until);
            return None;
        }
        self.desk.inbox.pop_front();
        Some(meaning)
    }

    /// Messages that are not there yet.
    pub fn awaited(&self) -> usize {
        self.desk.inbox.len()
    }
}

/// All endpoints of a run whose connections are not over.
pub(crate) struct Sockets {
    /// By slot; what lies in one that is free is of no account.
    slots: Vec<Socket>,
    /// Pairs of slots that are free.
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

impl Sockets {
    /// With room for so many.
    pub fn with_capacity(endpoints: usize) -> Sockets {
        let (free, pairs, closing) = (Vec::new(), Default::default(), VecDeque::new());
        Sockets { slots: Vec::with_capacity(endpoints), free, pairs, closing, over: Default::default(), broken: None }
    }

    /// Adds a connection of `owner`, whose two ends `socket` makes, opener first.
    pub fn add(&mut self, owner: Owner, mut socket: impl FnMut(EndpointId) -> Socket) -> (ConnectionId, [Slot; 2]) {
        let pairs = &mut self.pairs[usize::from(owner.number())];
        let connection = ConnectionId::new(owner, pairs.len() as u32);
        let ends = [connection.opener(), connection.answerer()].map(&mut socket);
        let pair = self.free.pop().unwrap_or(self.slots.len() as u32 / 2);
        pairs.push(pair);
        let slots = Slot::pair(pair);
        for (slot, end) in slots.into_iter().zip(ends) {
            match self.slots.get_mut(slot.index()) {
                Some(place) => *place = end,
                None => self.slots.push(end),
            }
        }
        (connection, slots)
    }

    /// The endpoint in a slot that is in use.
    #[inline(always)]
    pub fn at(&mut self, slot: Slot) -> &mut Socket {
        &mut self.slots[slot.index()]
    }

    /// As above, to look at.
    pub fn seen_at(&self, slot: Slot) -> &Socket {
        &self.slots[slot.index()]
    }

    fn pair(&self, connection: ConnectionId) -> u32 {
        self.pairs[usize::from(connection.owner().number())][connection.place() as usize]
    }

    /// Where an endpoint lies, unless its connection is over.
    pub fn slot(&self, id: EndpointId) -> Option<Slot> {
        let pair = Some(self.pair(id.connection())).filter(|&pair| pair != OVER)?;
        Some(Slot::pair(pair)[usize::from(!id.is_opener())])
    }

    /// Asks for the memory of an endpoint.
    #[inline(always)]
    pub fn fetch(&self, slot: Slot) {
        fetch(&self.slots[slot.index()]);
    }

    /// An endpoint, unless its connection is over.
    pub fn get(&self, id: EndpointId) -> Option<&Socket> {
        self.slot(id).map(|slot| &self.slots[slot.index()])
    }

    /// The two ends of each connection that is not over, opener first.
    pub fn connections(&self) -> impl Iterator<Item = [&Socket; 2]> {
        let pairs = self.pairs.iter().flatten().filter(|&&pair| pair != OVER);
        pairs.map(|&pair| Slot::pair(pair).map(|slot| &self.slots[slot.index()]))
    }

    /// Does something to each endpoint whose connection is not over.
    pub fn each(&mut self, act: impl FnMut(&mut Socket)) {
        let pairs = self.pairs.iter().flatten().filter(|&&pair| pair != OVER);
        let slots: Vec<Slot> = pairs.flat_map(|&pair| Slot::pair(pair)).collect();
        let mut act = act;
        slots.into_iter().for_each(|slot| act(&mut self.slots[slot.index()]));
    }

    /// An end of a connection has heard the other one close.
    pub fn closes(&mut self, at: EndpointId) {
        if self.closing.back() != Some(&at.connection()) {
            self.closing.push_back(at.connection());
        }
    }

    /// Frees the slots of some connections that are over: both ends have closed and said so, and no packet is under way to
    /// either. `lost` says how many of those to a slot were dropped.
    pub fn give_back(&mut self, lost: impl Fn(Slot) -> u32) {
        for _ in 0..self.closing.len().min(AT_ONCE) {
            let Some(connection) = self.closing.pop_front() else { return };
            let pair = self.pair(connection);
            if pair == OVER {
                continue;
            }
            let slots = Slot::pair(pair);
            let ends = slots.map(|slot| &self.slots[slot.index()]);
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

    /// What did not add up so far.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// What the workload's endpoints have counted, and those beside it.
    pub fn sums(&self) -> [Sums; 2] {
        let mut sums = self.over;
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
