//! One direction of a link with the port in front of it.

use fanin_laws::port::{Drop, Header, Law, Queue, Verdict};
use fanin_tcp::Flags;
use fanin_units::Time;

use crate::net::Packet;
use crate::ring::Ring;
use crate::streams::Stream;

/// When the departures of a port are worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// As a packet comes: one event a link crossed.
    Eager,
    /// One event each: for laws that look at a packet as it leaves, and to check the other way.
    Lazy,
}

/// A packet on the link or in the queue in front of it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// When it arrives; in a lazy queue known only once it has left.
    arrival: u64,
    /// How long the link had been sending without a pause as it left.
    busy: u64,
    packet: Packet,
}

impl Slot {
    fn due(&self) -> Due {
        Due { at: self.arrival, busy: self.busy }
    }
}

/// When a packet arrives, and its place among those that arrive at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub at: u64,
    /// How long its link had been sending without a pause as it left: the shortest comes first.
    pub busy: u64,
}

/// What a port counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub packets: u64,
    pub wire_bytes: u64,
    pub drops_full: u64,
    pub drops_early: u64,
    pub drops_not_ect: u64,
    pub marks: u64,
    pub queue_max_bytes: u64,
}

impl Counts {
    pub fn drops(&self) -> u64 {
        self.drops_full + self.drops_early + self.drops_not_ect
    }
}

/// What a link's caller has to see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Todo {
    /// Nothing.
    Nothing,
    /// The head of an idle link arrives then.
    Arrival(Due),
    /// The next packet leaves the queue then.
    Departure(u64),
    /// The packet is gone; what it holds can be freed.
    Dropped,
}

/// One direction of a link: the FIFO holds packets on the wire first, then those that wait.
pub(crate) struct Link {
    slots: Ring<Slot>,
    /// Packets of the FIFO that wait: they count as the queue.
    waiting: u32,
    waiting_bytes: u64,
    /// When the first of them starts.
    next_start: u64,
    /// When everything so far has left.
    busy_until: u64,
    /// Since when the link has been sending without a pause.
    busy_from: u64,
    delay: u64,
    /// Picoseconds a byte where that is whole, else zero.
    per_byte: u64,
    pub to: u32,
    departures: Departures,
    law: Law,
    rate: fanin_units::Rate,
    framing: u32,
    pub counts: Counts,
    stream: Stream,
}

impl Link {
    pub fn new(link: &fanin_fabric::Link, framing: u32, law: Law, departures: Departures, stream: Stream) -> Link {
        let exact = 8_000_000_000_000u64.is_multiple_of(link.rate.0);
        Link {
            slots: Ring::new(),
            waiting: 0,
            waiting_bytes: 0,
            next_start: 0,
            busy_until: 0,
            busy_from: 0,
            delay: link.delay.0,
            per_byte: if exact { 8_000_000_000_000 / link.rate.0 } else { 0 },
            to: link.to,
            departures,
            law,
            rate: link.rate,
            framing,
            counts: Counts::default(),
            stream,
        }
    }

    /// Packets on the link and in its queue.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn wire_bytes(&self, packet: &Packet) -> u32 {
        packet.segment.packet_bytes() + self.framing
    }

    #[inline]
    fn time_for(&self, bytes: u32) -> u64 {
        match self.per_byte {
            0 => self.rate.time_for(bytes.into()).0,
            per_byte => per_byte * u64::from(bytes),
        }
    }

    /// Takes a packet, or drops it.
    #[inline]
    pub fn enqueue(&mut self, now: u64, mut packet: Packet) -> Todo {
        if self.departures == Departures::Eager {
            self.settle(now);
        }
        let bytes = self.wire_bytes(&packet);
        let idle = self.busy_until <= now;
        match self.verdict(now, &packet, bytes, idle) {
            Verdict::Admit { mark, offer } => {
                if mark {
                    packet.segment.flags |= Flags::CE;
                    self.counts.marks += 1;
                }
                packet.segment.mcw_offer = packet.segment.mcw_offer.min(offer);
            }
            Verdict::Drop(cause) => {
                match cause {
                    Drop::Full => self.counts.drops_full += 1,
                    Drop::Early => self.counts.drops_early += 1,
                    Drop::NotEct => self.counts.drops_not_ect += 1,
                }
                return Todo::Dropped;
            }
        }
        self.counts.packets += 1;
        self.counts.wire_bytes += u64::from(bytes);
        let todo = if idle { self.start_at_once(now, packet, bytes) } else { self.wait(packet, bytes) };
        self.counts.queue_max_bytes = self.counts.queue_max_bytes.max(self.waiting_bytes);
        todo
    }

    #[inline]
    fn verdict(&mut self, now: u64, packet: &Packet, bytes: u32, idle: bool) -> Verdict {
        let flags = packet.segment.flags;
        let header = Header {
            bytes,
            ect: flags.any(Flags::ECT | Flags::CE),
            flow: packet.to,
            opens: flags.any(Flags::SYN),
            closes: flags.any(Flags::FIN | Flags::RST),
        };
        let idle_since = idle.then_some(Time(self.busy_until));
        let queue = Queue { bytes: self.waiting_bytes, packets: self.waiting, idle_since };
        self.law.enqueue(Time(now), &queue, &header, self.stream.rng())
    }

    /// The link is free: the packet goes onto the wire.
    #[inline]
    fn start_at_once(&mut self, now: u64, packet: Packet, bytes: u32) -> Todo {
        if self.busy_until < now {
            self.busy_from = now;
        }
        let slot = self.start(now, packet, bytes);
        self.slots.push(slot);
        if self.slots.len() == 1 { Todo::Arrival(slot.due()) } else { Todo::Nothing }
    }

    /// The packet leaves at `start`, when the link is free.
    #[inline]
    fn start(&mut self, start: u64, packet: Packet, bytes: u32) -> Slot {
        self.busy_until = start + self.time_for(bytes);
        Slot { arrival: self.busy_until + self.delay, busy: start - self.busy_from, packet }
    }

    /// The packet waits behind others.
    #[inline]
    fn wait(&mut self, packet: Packet, bytes: u32) -> Todo {
        let first = self.waiting == 0;
        self.waiting += 1;
        self.waiting_bytes += u64::from(bytes);
        match self.departures {
            Departures::Eager => {
                if first {
                    self.next_start = self.busy_until;
                }
                let slot = self.start(self.busy_until, packet, bytes);
                self.slots.push(slot);
                Todo::Nothing
            }
            Departures::Lazy => {
                self.slots.push(Slot { arrival: u64::MAX, busy: 0, packet });
                if first { Todo::Departure(self.busy_until) } else { Todo::Nothing }
            }
        }
    }

    /// Takes what has left by `now` out of the queue: departures come before arrivals.
    #[inline]
    fn settle(&mut self, now: u64) {
        while self.waiting > 0 && self.next_start <= now {
            let Slot { arrival, packet, .. } = *self.slots.get(self.slots.len() - self.waiting as usize);
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(self.wire_bytes(&packet));
            // The next one starts as this one has left.
            self.next_start = arrival - self.delay;
        }
    }

    /// The first packet that waits goes onto the wire. Gives its arrival where the wire is empty, and the next departure.
    pub fn depart(&mut self, now: u64) -> (Todo, Todo) {
        let on_wire = self.slots.len() - self.waiting as usize;
        let packet = self.slots.get(on_wire).packet;
        let bytes = self.wire_bytes(&packet);
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(bytes);
        let slot = self.start(now, packet, bytes);
        *self.slots.get_mut(on_wire) = slot;
        let arrives = if on_wire == 0 { Todo::Arrival(slot.due()) } else { Todo::Nothing };
        let departs = if self.waiting > 0 { Todo::Departure(self.busy_until) } else { Todo::Nothing };
        (arrives, departs)
    }

    /// The head arrives: it, and when the next one does where that is known.
    #[inline]
    pub fn arrive(&mut self, now: u64) -> (Packet, Option<Due>) {
        if self.waiting as usize == self.slots.len() {
            self.settle(now);
        }
        let packet = self.slots.pop().packet;
        let on_wire = match self.departures {
            Departures::Eager => self.slots.len(),
            Departures::Lazy => self.slots.len() - self.waiting as usize,
        };
        (packet, (on_wire > 0).then(|| self.slots.get(0).due()))
    }
}
