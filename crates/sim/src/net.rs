//! The network: links, what travels on them, and the queue of their events.

use fanin_fabric::{Fabric, LinkId};
use fanin_tcp::{Block, Segment, Wire};
use fanin_units::Time;

use crate::heap::{Heap, Key};
use crate::link::{Due, Link, Todo};

/// A segment on its way to an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The endpoint that it is for.
    pub to: u32,
    /// Its SACK blocks' place; zero for none.
    sack: u32,
    /// The segment.
    pub segment: Segment,
}

impl Default for Packet {
    fn default() -> Packet {
        let segment = Segment {
            seq: 0,
            ack: 0,
            window: 0,
            mcw_offer: u32::MAX,
            mcw_echo: u32::MAX,
            ts_val: 0,
            ts_ecr: 0,
            len: 0,
            header: 0,
            flags: fanin_tcp::Flags::NONE,
        };
        Packet { to: 0, sack: 0, segment }
    }
}

/// SACK blocks of packets under way: few packets have any.
#[derive(Default)]
struct Sacks {
    blocks: Vec<Vec<Block>>,
    free: Vec<u32>,
}

impl Sacks {
    /// Keeps blocks; zero stands for none.
    #[inline]
    fn keep(&mut self, blocks: &[Block]) -> u32 {
        if blocks.is_empty() { 0 } else { self.keep_some(blocks) }
    }

    #[cold]
    fn keep_some(&mut self, blocks: &[Block]) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Vec::with_capacity(4));
            self.blocks.len() as u32
        });
        let place = &mut self.blocks[handle as usize - 1];
        place.clear();
        place.extend_from_slice(blocks);
        handle
    }

    #[inline]
    fn free(&mut self, handle: u32) {
        if handle != 0 {
            self.free.push(handle);
        }
    }
}

/// What is next in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Departure(LinkId),
    Arrival(LinkId),
}

impl Event {
    /// Departures come before arrivals of the same instant, by their link's number.
    fn departure(at: u64, link: LinkId) -> Key {
        Key::new(at, link.into())
    }

    /// Arrivals of the same instant: the packet whose link had been sending for the shortest time without a pause comes
    /// first, then by the link's number. (`docs/design.md` says why.)
    #[inline]
    fn arrival(due: Due, link: LinkId) -> Key {
        let busy = (due.busy / BUSY_STEP).min(BUSY_MAX);
        Key::new(due.at, 1 << 63 | busy << 32 | u64::from(link))
    }

    #[inline]
    pub fn of(key: Key) -> Event {
        let link = key.rank() as u32;
        if key.rank() >> 63 == 0 { Event::Departure(link) } else { Event::Arrival(link) }
    }
}

/// Busy times are told apart in steps of four nanoseconds, up to some nine seconds.
const BUSY_STEP: u64 = 1 << 12;
const BUSY_MAX: u64 = (1 << 31) - 1;

/// The network.
pub(crate) struct Net {
    pub fabric: Fabric,
    pub links: Vec<Link>,
    pub events: Heap,
    sacks: Sacks,
    pub injected: u64,
    pub delivered: u64,
    pub hops: u64,
}

impl Net {
    pub fn new(fabric: Fabric, links: Vec<Link>) -> Net {
        let (events, sacks) = (Heap::default(), Sacks::default());
        Net { fabric, links, events, sacks, injected: 0, delivered: 0, hops: 0 }
    }

    /// Gives a packet to a link.
    #[inline]
    fn enqueue(&mut self, now: u64, link: LinkId, packet: Packet) {
        match self.links[link as usize].enqueue(now, packet) {
            Todo::Nothing => {}
            Todo::Dropped => self.sacks.free(packet.sack),
            todo => self.schedule(link, todo),
        }
    }

    #[inline]
    fn schedule(&mut self, link: LinkId, todo: Todo) {
        match todo {
            Todo::Arrival(due) => self.events.push(Event::arrival(due, link)),
            Todo::Departure(at) => self.events.push(Event::departure(at, link)),
            Todo::Nothing | Todo::Dropped => {}
        }
    }

    /// Serves a departure.
    pub fn depart(&mut self, now: u64, link: LinkId) {
        self.events.pop();
        let (arrives, departs) = self.links[link as usize].depart(now);
        self.schedule(link, arrives);
        self.schedule(link, departs);
    }

    /// Serves an arrival: at a switch the packet goes on; at a host it comes out, with its endpoint's number.
    #[inline]
    pub fn arrive(&mut self, now: u64, id: LinkId, host_of: impl Fn(u32) -> u32) -> Option<Packet> {
        self.hops += 1;
        let link = &mut self.links[id as usize];
        let (packet, next) = link.arrive(now);
        match next {
            Some(due) => self.events.replace_top(Event::arrival(due, id)),
            None => self.events.pop(),
        }
        let node = self.links[id as usize].to;
        if self.fabric.is_host(node) {
            self.delivered += 1;
            return Some(packet);
        }
        let next = self.fabric.next_hop(node, host_of(packet.to));
        self.enqueue(now, next, packet);
        None
    }

    /// The SACK blocks of a packet that came out, which are freed.
    #[inline]
    pub fn take_sack(&mut self, packet: &Packet, blocks: &mut Vec<Block>) {
        blocks.clear();
        if packet.sack != 0 {
            blocks.extend_from_slice(&self.sacks.blocks[packet.sack as usize - 1]);
            self.sacks.free(packet.sack);
        }
    }

    /// Packets on links and in queues.
    pub fn in_flight(&self) -> u64 {
        self.links.iter().map(|link| link.len() as u64).sum()
    }
}

/// The way out of a host: what an endpoint is given to send by.
pub(crate) struct Uplink<'a> {
    pub net: &'a mut Net,
    pub now: Time,
    pub link: LinkId,
    /// The endpoint at the other end.
    pub peer: u32,
}

impl Wire for Uplink<'_> {
    #[inline]
    fn send(&mut self, segment: Segment, sack: &[Block]) {
        self.net.injected += 1;
        let sack = self.net.sacks.keep(sack);
        self.net.enqueue(self.now.0, self.link, Packet { to: self.peer, sack, segment });
    }
}
