//! One direction of a link with its port.

mod classed;
mod classes;
mod outcome;
mod slot;

use std::hint::cold_path;

use fanin_driver::Stream;
use fanin_fabric::LinkId;
use fanin_laws::port::trimming::Trim;
use fanin_laws::port::{Departure, Drop, Law, Leaving, Queue, Verdict, drop_tail};
use fanin_laws::rate::Hop;
use fanin_transport::Class;
use fanin_units::{QueueSize, Rate, Time};

use crate::event::{ArrivalOrder, PauseFrame};
use crate::fetch::fetch;
use crate::pace::Pace;
use crate::packet::{InFlight, PacketMetadata};
use crate::ring::Ring;
use slot::Slot;

pub(crate) use classes::{ClassQueues, CountsByClass};
pub use outcome::Queued;
pub(crate) use outcome::{Cleared, Counts, Departed, Left, LinkAction, Why};

/// When a port's departures are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// On arrival: one event per link crossed.
    Eager,
    /// As separate events: for disciplines that inspect departing packets, and to check eager departures.
    Lazy,
}

/// One direction of a link: the FIFO holds packets on the wire first, then queued ones. It is two cache lines long.
#[repr(align(64))]
pub(crate) struct Link {
    slots: Ring<Slot>,
    /// Queued packets of the FIFO.
    waiting: u32,
    departures: Departures,
    /// A departure is scheduled.
    departing: bool,
    /// Whether the port is set up, if there is one.
    ready: bool,
    /// Paused classes of service, one bit each, [`DOWN`] and [`CLASSED`]: only links with lazy departures pause, fail or have classes.
    held: u16,
    /// When all packets so far have left.
    busy_until: u64,
    /// Start of the current busy period.
    busy_from: u64,
    /// When the first queued packet starts.
    next_start: u64,
    /// Packets accepted.
    pub packets: u64,
    port: Option<Box<Port>>,
    /// Bytes on the wire of accepted packets.
    pub wire_bytes: u64,
    pace: Pace,
    /// Accepted packets with payload.
    pub data_packets: u64,
    delay: u64,
    waiting_bytes: u64,
    pub queue_max_bytes: u64,
    /// Bytes of wire time beyond each frame.
    gap: u32,
}

/// Bit of a link that is down, beside those of classes.
const DOWN: u16 = 1 << 8;
/// Bit of a link whose port has classes, so that packets take another path there.
const CLASSED: u16 = 1 << 9;

/// The algorithm and rare counters: separate, since most links seldom need them, and many never.
struct Port {
    law: Law,
    stream: Stream,
    counts: Counts,
    /// If it trims, queued bytes of the highest class.
    urgent_bytes: u64,
    /// Queues of traffic classes, if it has any; its own discipline has no effect then.
    classes: Option<Box<ClassQueues>>,
}

impl Port {
    /// Request the algorithm's verdict.
    #[inline(always)]
    fn verdict(&mut self, now: u64, queue: &Queue, packet: &InFlight, metadata: &mut PacketMetadata) -> Verdict {
        let note = metadata.note(packet.beside);
        self.law.enqueue(Time(now), queue, &packet.header(), note, self.stream.rng())
    }
}

/// Whether a packet is of the highest class, as trimmed ones are.
fn is_urgent(packet: &InFlight) -> bool {
    packet.packet.class.number() == Class::HIGHEST.number()
}

impl Link {
    /// Prefetch its own memory.
    #[inline(always)]
    pub fn fetch(&self) {
        fetch(self);
    }

    /// Once its own memory is near: prefetch its port and the place of the next packet.
    #[inline(always)]
    pub fn fetch_port(&self) {
        if let Some(port) = &self.port {
            fetch(&**port);
        }
        self.slots.fetch(self.slots.len());
    }

    /// For a long queue: prefetch memory needed soon at its head, at its first queued packet and at its end. Returns the packet this
    /// far behind the head.
    #[inline(always)]
    pub fn fetch_queue(&self, ahead: usize) -> Option<&InFlight> {
        let len = self.slots.len();
        if len <= 2 * ahead {
            return (ahead < len).then(|| &self.slots.get(ahead).packet);
        }
        self.slots.fetch(2 * ahead);
        self.slots.fetch(len - self.waiting as usize + ahead);
        self.slots.fetch(len + ahead);
        Some(&self.slots.get(ahead).packet)
    }

    /// A link without a port yet, with `gap` bytes between frames.
    pub fn new(link: &fanin_fabric::Link, gap: u32) -> Link {
        Link {
            slots: Ring::new(),
            waiting: 0,
            departures: Departures::Eager,
            departing: false,
            ready: false,
            held: 0,
            busy_until: 0,
            busy_from: 0,
            next_start: 0,
            packets: 0,
            port: None,
            wire_bytes: 0,
            pace: Pace::of(link.rate),
            data_packets: 0,
            delay: link.delay.0,
            waiting_bytes: 0,
            queue_max_bytes: 0,
            gap,
        }
    }

    /// Whether the port is set up.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Set up the port of a link that `changes` or not.
    pub fn set_up(&mut self, law: Law, departures: Departures, changes: bool, stream: Stream) {
        self.departures = if law.decides_departures() { Departures::Lazy } else { departures };
        self.ready = true;
        // Omit a port that never affects packets.
        let decides = changes || !law.admits_everything();
        self.port =
            decides.then(|| Box::new(Port { law, stream, counts: Counts::default(), urgent_bytes: 0, classes: None }));
    }

    /// Set the rate from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.pace = Pace::of(rate);
    }

    /// Remove queued packets; packets on the wire arrive. For links with lazy departures.
    pub fn clear(&mut self) -> Vec<Cleared> {
        if self.held & CLASSED != 0 {
            return self.clear_classes();
        }
        let on_wire = self.slots.len() - self.waiting as usize;
        let cleared = |Slot { due, packet }: Slot| Cleared { came_by: LinkId(due.rank), packet };
        let waiting = (0..self.waiting).map(|_| cleared(self.slots.remove(on_wire))).collect();
        (self.waiting, self.waiting_bytes) = (0, 0);
        self.port.iter_mut().for_each(|port| port.urgent_bytes = 0);
        waiting
    }

    /// Take the link down; return the queued packets, which are lost.
    pub fn fail(&mut self) -> Vec<Cleared> {
        let lost = self.clear();
        self.held |= DOWN;
        self.count_lost(lost.len());
        lost
    }

    /// Bring the link up.
    pub fn heal(&mut self) {
        self.held &= !DOWN;
    }

    /// Count a packet of a class that flow control refuses.
    pub fn count_refused(&mut self, class: u8) {
        self.count_dropped(Drop::Full);
        self.classes_mut().into_iter().for_each(|classes| classes.count_dropped(class));
    }

    fn count_dropped(&mut self, drop: Drop) {
        if let Some(port) = &mut self.port {
            *port.counts.of(drop) += 1;
        }
    }

    fn count_lost(&mut self, packets: usize) {
        if let Some(port) = &mut self.port {
            port.counts.drops_down += packets as u64;
        }
    }

    /// Maximum time until the head's arrival, for packets of up to `packet` bytes.
    pub fn head_span(&self, packet: u32) -> u64 {
        self.pace.time_for(packet + self.gap) + self.delay
    }

    /// Packets on the link and in its queue.
    pub fn len(&self) -> usize {
        self.slots.len() + self.classes().map_or(0, ClassQueues::len)
    }

    /// Bytes in the queue at the last arrival or departure.
    pub fn queue_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Bytes in the queue at a time after the last arrival or departure.
    pub fn queue_at(&self, now: Time) -> u64 {
        match self.departures {
            Departures::Lazy => self.waiting_bytes,
            Departures::Eager => {
                let waiting = (self.slots.len() - self.waiting as usize..self.slots.len()).map(|at| self.slots.get(at));
                let sizes = waiting.filter_map(|slot| {
                    let bytes = slot.packet.bytes();
                    let starts = slot.due.at - self.delay - self.pace.time_for(bytes);
                    (starts > now.0).then_some(u64::from(bytes))
                });
                sizes.sum()
            }
        }
    }

    /// Set the queue limit of a switch's port with shared memory.
    #[inline]
    pub fn set_limit(&mut self, bytes: u64) {
        if let Some(port) = &mut self.port {
            port.law.limit = Some(QueueSize::Bytes(bytes));
        }
    }

    /// Remove packets that have left by now from the queue, if departures are not events.
    #[inline]
    pub fn bring_up(&mut self, now: u64) {
        if self.departures == Departures::Eager {
            self.settle(now);
        }
    }

    /// When the first queued packet leaves the queue, if departures are not events.
    #[inline]
    pub fn leaves_unseen(&self) -> Option<u64> {
        (self.departures == Departures::Eager && self.waiting > 0).then_some(self.next_start)
    }

    /// Restart the maximum queue length from now on.
    pub fn forget_longest_queue(&mut self) {
        self.queue_max_bytes = self.waiting_bytes;
        self.classes_mut().into_iter().for_each(ClassQueues::forget_longest);
    }

    /// Count a flow that opened before the simulation started.
    pub fn count_open(&mut self, flow: crate::slot::Slot) {
        let Some(port) = &mut self.port else { return };
        let of_classes = port.classes.iter_mut().flat_map(|classes| classes.laws_mut());
        for many_to_one in of_classes.chain([&mut port.law]).filter_map(|law| law.many_to_one.as_mut()) {
            many_to_one.count_open(flow.0);
        }
    }

    /// When all started packets will have left.
    pub fn busy_until(&self) -> Time {
        Time(self.busy_until)
    }

    /// Telemetry about a packet of `bytes` that leaves now.
    pub fn hop(&self, now: u64, bytes: u32, rate: Rate) -> Hop {
        let waiting = u64::from(self.waiting) + self.classes().map_or(0, |classes| classes.len() as u64);
        let behind = self.waiting_bytes + waiting * u64::from(self.gap);
        let sent = self.wire_bytes - behind - u64::from(bytes + self.gap);
        Hop { at: Time(now), sent, queue: self.waiting_bytes, rate: rate.0 }
    }

    pub fn counts(&self) -> Counts {
        self.port.as_ref().map_or(Counts::default(), |port| port.counts)
    }

    /// Pause a class of service, or end its pause. Returns whether packets can leave that could not. The link has lazy departures, so that
    /// none of them has been computed in advance.
    pub fn pause(&mut self, PauseFrame { class, on }: PauseFrame) -> bool {
        debug_assert_eq!(self.departures, Departures::Lazy);
        match on {
            true => self.held |= 1 << class,
            false => self.held &= !(1 << class),
        }
        let leaves = !self.departing && self.can_leave();
        self.departing |= leaves;
        leaves
    }

    /// Whether a class of service is paused.
    pub fn is_paused(&self, class: u8) -> bool {
        self.held & 1 << class != 0
    }

    /// Whether a queued packet may leave.
    fn can_leave(&self) -> bool {
        match self.classes() {
            Some(classes) => classes.can_leave(self.held),
            None => self.first_to_leave().is_some(),
        }
    }

    /// Place of the queued packet that leaves next: the first whose class is not paused.
    fn first_to_leave(&self) -> Option<usize> {
        let leaves = |&at: &usize| self.held & 1 << self.slots.get(at).packet.packet.class.number() == 0;
        (self.slots.len() - self.waiting as usize..self.slots.len()).find(leaves)
    }

    /// Accept a packet, which may have an entry in `metadata`, or drop it.
    ///
    /// Where a host has several links, one may leave by a link at the time at which a queued one is due to leave: that one precedes.
    ///
    /// Inlined so that a packet is built in place: copying it whole from freshly written parts would wait for them.
    #[inline(always)]
    pub fn enqueue(&mut self, now: u64, packet: &InFlight, metadata: &mut PacketMetadata) -> LinkAction {
        debug_assert!(self.ready, "a packet came to a port that no flow was announced to");
        let mut idle = self.busy_until <= now;
        if self.departures == Departures::Eager {
            self.settle(now);
        } else if self.held != 0 {
            return LinkAction::Held;
        } else {
            idle &= self.waiting == 0;
        }
        // Without a port, nothing is dropped or marked.
        let Some(port) = &mut self.port else { return self.take(now, packet, idle, false) };
        let idle_since = idle.then_some(Time(self.busy_until));
        let queue = Queue { bytes: self.waiting_bytes, packets: self.waiting, idle_since };
        match port.verdict(now, &queue, packet, metadata) {
            Verdict::Admit { mark } => {
                port.counts.marks += u64::from(mark);
                self.take(now, packet, idle, mark)
            }
            Verdict::Drop(drop) => {
                *port.counts.of(drop) += 1;
                LinkAction::Dropped(Why::Law(drop))
            }
        }
    }

    /// Accept a packet for a [held](LinkAction::Held) link, or drop it: on a paused one it is queued, and leaves if its class may. A link
    /// with classes is always held.
    pub fn enqueue_held(&mut self, now: u64, packet: &InFlight, metadata: &mut PacketMetadata) -> LinkAction {
        if self.held & DOWN != 0 {
            self.count_lost(1);
            return LinkAction::Dropped(Why::Down);
        }
        if self.held & CLASSED != 0 {
            return self.enqueue_classed(now, packet, metadata);
        }
        // Busy for ever, so that nothing starts at once.
        let (free, held) = (std::mem::replace(&mut self.busy_until, u64::MAX), std::mem::take(&mut self.held));
        let todo = self.enqueue(now, packet, metadata);
        (self.busy_until, self.held) = (free, held);
        match todo {
            LinkAction::Departure(_) => {
                self.departing = self.first_to_leave().is_some();
                if self.departing { LinkAction::Departure(free.max(now)) } else { LinkAction::Nothing }
            }
            other => other,
        }
    }

    /// Accept a packet at a port that trims, or lose it. Returns the action, and the lost packet: this one or another. Memory for packets of
    /// the highest class, which are served first, is separate from that of others.
    pub fn enqueue_trimming(&mut self, now: u64, packet: InFlight) -> (LinkAction, Option<(InFlight, Why)>) {
        if self.held & DOWN != 0 {
            self.count_lost(1);
            return (LinkAction::Nothing, Some((packet, Why::Down)));
        }
        let idle = self.busy_until <= now && self.waiting == 0;
        let Some(Port { law: Law { limit, trim: Some(trim), .. }, stream, urgent_bytes, .. }) =
            self.port.as_deref_mut()
        else {
            unreachable!("a port that does not trim")
        };
        let (limit, trim) = (*limit, *trim);
        if is_urgent(&packet) {
            return self.take_urgent(now, packet, trim, idle);
        }
        let others = Queue { bytes: self.waiting_bytes - *urgent_bytes, packets: self.waiting, idle_since: None };
        if drop_tail::has_room(limit, &others, &packet.header()) {
            return (self.take_by_class(now, &packet, idle), None);
        }
        let last = self.slots.len().saturating_sub(1);
        let has_data = self.waiting > 0 && !is_urgent(&self.slots.get(last).packet);
        let mut trimmed = packet;
        if has_data && !trim.takes_arriving(stream.rng()) {
            trimmed = std::mem::replace(&mut self.slots.get_mut(last).packet, packet);
            let [added, removed] = [packet.bytes(), trimmed.bytes()].map(u64::from);
            self.waiting_bytes = self.waiting_bytes + added - removed;
            self.wire_bytes = self.wire_bytes + added - removed;
        }
        trimmed.packet.trim(trim.bytes);
        self.take_urgent(now, trimmed, trim, idle)
    }

    /// Accept a packet of the highest class at a port that trims, or lose it.
    fn take_urgent(
        &mut self,
        now: u64,
        packet: InFlight,
        trim: Trim,
        idle: bool,
    ) -> (LinkAction, Option<(InFlight, Why)>) {
        let bytes = packet.bytes();
        let port = self.port.as_mut().expect("it trims");
        if !trim.has_room(port.urgent_bytes, bytes) {
            self.count_dropped(Drop::Full);
            return (LinkAction::Nothing, Some((packet, Why::Law(Drop::Full))));
        }
        port.urgent_bytes += if idle { 0 } else { bytes.into() };
        (self.take_by_class(now, &packet, idle), None)
    }

    fn take_by_class(&mut self, now: u64, packet: &InFlight, idle: bool) -> LinkAction {
        let todo = self.take(now, packet, idle, false);
        if !idle {
            self.place(LinkId(0));
        }
        todo
    }

    /// Queue a packet, marked or not.
    #[inline(always)]
    fn take(&mut self, now: u64, packet: &InFlight, idle: bool, mark: bool) -> LinkAction {
        self.packets += 1;
        self.data_packets += u64::from(packet.has_payload());
        self.wire_bytes += u64::from(packet.bytes() + self.gap);
        if !idle && self.departures == Departures::Lazy {
            let leaves = self.wait(packet.bytes());
            self.put(ArrivalOrder::new(now, 0), packet, mark);
            return if std::mem::replace(&mut self.departing, true) {
                LinkAction::Nothing
            } else {
                LinkAction::Departure(leaves)
            };
        }
        let start = if idle { self.start_at_once(now) } else { self.wait(packet.bytes()) };
        let due = self.start(start, packet.bytes());
        self.put(due, packet, mark);
        if self.slots.len() == 1 { LinkAction::Arrival(due) } else { LinkAction::Nothing }
    }

    /// Queued packets of a port whose departures are not computed on arrival.
    pub fn waiting_packets(&self) -> impl Iterator<Item = &InFlight> {
        self.waiting_slots().map(|slot| &slot.packet)
    }

    fn waiting_slots(&self) -> impl Iterator<Item = &Slot> {
        let in_line = (self.slots.len() - self.waiting as usize..self.slots.len()).map(|at| self.slots.get(at));
        in_line.chain(self.classes().into_iter().flat_map(ClassQueues::slots))
    }

    /// The same as a flow control knows them.
    pub fn queued(&self) -> impl Iterator<Item = Queued> {
        self.waiting_slots().map(|slot| {
            let class = slot.packet.packet.class.number();
            Queued { came_by: LinkId(slot.due.rank), class, bytes: slot.packet.bytes() }
        })
    }

    /// The last packet has just been queued: note the link by which it came, and if the port has classes, move it before all queued ones
    /// of lower classes. Separate from `enqueue`, since few networks need it. Returns nothing if departures are computed on arrival: they
    /// depend on neither.
    pub fn place(&mut self, came_by: LinkId) -> Option<Queued> {
        if self.departures == Departures::Eager {
            return None;
        }
        if self.held & CLASSED != 0 {
            return self.classes_mut()?.place(came_by);
        }
        let (first, last) = (self.slots.len() - self.waiting as usize, self.slots.len() - 1);
        let slot = self.slots.get_mut(last);
        slot.due.rank = came_by.0;
        let (bytes, class) = (slot.packet.bytes(), slot.packet.packet.class.number());
        let of = |at: usize| self.slots.get(at).packet.packet.class.number();
        // Queued packets are in the order of their classes.
        if first < last && of(last - 1) < class && self.port.as_ref().is_some_and(|port| port.law.by_class) {
            let (mut from, mut to) = (first, last - 1);
            while from < to {
                let middle = from.midpoint(to);
                if of(middle) < class { to = middle } else { from = middle + 1 }
            }
            self.slots.lift_last(from);
        }
        Some(Queued { came_by, class, bytes })
    }

    #[inline(always)]
    fn put(&mut self, due: ArrivalOrder, packet: &InFlight, mark: bool) {
        let slot = self.slots.push();
        slot.due = due;
        slot.packet = *packet;
        slot.packet.mark(mark);
    }

    /// The link is idle: a packet goes onto the wire.
    #[inline(always)]
    fn start_at_once(&mut self, now: u64) -> u64 {
        if self.busy_until < now {
            self.busy_from = now;
        }
        now
    }

    /// Queue a packet of `bytes`; returns when it will have left.
    #[inline(always)]
    fn wait(&mut self, bytes: u32) -> u64 {
        if self.waiting == 0 {
            self.next_start = self.busy_until;
        }
        self.waiting += 1;
        self.waiting_bytes += u64::from(bytes);
        self.queue_max_bytes = self.queue_max_bytes.max(self.waiting_bytes);
        self.busy_until
    }

    /// Send a frame at `start`, when the link is idle. Returns its arrival.
    #[inline]
    fn start(&mut self, start: u64, bytes: u32) -> ArrivalOrder {
        self.busy_until = start + self.pace.time_for(bytes + self.gap);
        ArrivalOrder::new(self.busy_until + self.delay, start - self.busy_from)
    }

    /// Remove packets that have left by `now` from the queue: departures precede arrivals.
    #[inline]
    fn settle(&mut self, now: u64) {
        while self.waiting > 0 && self.next_start <= now {
            let slot = self.slots.get(self.slots.len() - self.waiting as usize);
            self.waiting -= 1;
            self.waiting_bytes -= u64::from(slot.packet.bytes());
            // The next one starts as this one has left.
            self.next_start = slot.due.at - self.delay;
        }
    }

    /// Verdict on the first queued packet, which would leave now: returns it with the reason if it is dropped.
    pub fn drop_first(&mut self, now: u64) -> Option<(InFlight, Why)> {
        if self.held & CLASSED != 0 {
            return self.drop_first_of_class(now);
        }
        let port = self.port.as_mut().filter(|port| self.waiting > 0 && port.law.needs_dequeue())?;
        let at = self.slots.len() - self.waiting as usize;
        let slot = self.slots.get_mut(at);
        let bytes = u64::from(slot.packet.bytes());
        let is_urgent = port.urgent_bytes > 0 && is_urgent(&slot.packet);
        // Data waits behind headers, which are not marked.
        let ahead = if is_urgent { 0 } else { port.urgent_bytes };
        let ect = slot.packet.is_ecn_capable() && !is_urgent;
        let leaving = Leaving { sojourn: Time(now - slot.due.at), behind: self.waiting_bytes - bytes - ahead, ect };
        match port.law.dequeue(Time(now), &leaving, port.stream.rng()) {
            Departure::Pass { mark } => {
                slot.packet.mark(mark);
                port.counts.marks += u64::from(mark);
                None
            }
            Departure::Drop(drop) => {
                // A queued packet had space.
                let drop = if drop == Drop::NotEct { drop } else { Drop::Early };
                *port.counts.of(drop) += 1;
                self.waiting -= 1;
                self.waiting_bytes -= bytes;
                Some((self.slots.remove(at).packet, Why::Law(drop)))
            }
        }
    }

    /// Put the first queued packet that is not paused onto the wire.
    pub fn depart(&mut self, now: u64) -> Departed {
        if self.held & CLASSED != 0 {
            return self.depart_classed(now);
        }
        self.departing = false;
        // The queued packets may have been lost, or paused.
        let Some(first) = self.first_to_leave() else { return Departed::default() };
        let on_wire = self.slots.len() - self.waiting as usize;
        if first > on_wire {
            self.slots.lift(first, on_wire);
        }
        let slot = self.slots.get(on_wire);
        let (bytes, class, came_by) = (slot.packet.bytes(), slot.packet.packet.class, LinkId(slot.due.rank));
        let (InFlight { to, beside, packet, .. }, is_urgent) = (slot.packet, is_urgent(&slot.packet));
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(bytes);
        if is_urgent && let Some(port) = &mut self.port {
            // Ports that do not trim do not count them.
            port.urgent_bytes = port.urgent_bytes.saturating_sub(bytes.into());
        }
        let due = self.start(now, bytes);
        self.slots.get_mut(on_wire).due = due;
        self.departing = self.first_to_leave().is_some();
        Departed {
            arrival: (on_wire == 0).then_some(due),
            next: self.departing.then_some(self.busy_until),
            left: Some(Left {
                queued: Queued { came_by, class: class.number(), bytes },
                to,
                payload: packet.payload,
                beside,
            }),
        }
    }

    /// For a link to another part of the network: hand over packets whose arrival has just become known. Packets on the wire are no
    /// longer stored here.
    pub fn hand_over(&mut self, give: impl FnOnce(ArrivalOrder, &InFlight)) {
        let waiting = self.waiting as usize;
        if self.departures == Departures::Lazy {
            if self.slots.len() > waiting {
                let (slot, _) = self.slots.pop();
                give(slot.due, &slot.packet);
            }
            return;
        }
        let last = self.slots.get_mut(self.slots.len() - 1);
        give(last.due, &last.packet);
        last.packet.beside = 0;
        self.slots.forget(self.slots.len() - waiting);
    }

    /// At the far end of such a link: accept an arriving packet. Returns its time if it is the head.
    pub fn take_over(&mut self, due: ArrivalOrder, packet: &InFlight, beside: u32) -> Option<ArrivalOrder> {
        let slot = self.slots.push();
        slot.due = due;
        slot.packet = *packet;
        slot.packet.beside = beside;
        (self.slots.len() == 1).then_some(due)
    }

    /// Become a link to another part: return the packets handed over so far, as their far end sees them.
    pub fn part(&mut self, whole: &fanin_fabric::Link) -> Link {
        let waiting = match self.departures {
            Departures::Eager => 0,
            Departures::Lazy => self.waiting as usize,
        };
        let mut other = Link::new(whole, self.gap);
        for _ in waiting..self.slots.len() {
            *other.slots.push() = self.slots.pop().0;
        }
        if self.departures == Departures::Eager {
            for at in other.slots.len() - self.waiting as usize..other.slots.len() {
                let slot = self.slots.push();
                *slot = *other.slots.get(at);
                slot.packet.beside = 0;
            }
        }
        other
    }

    /// Reunite with the far end.
    pub fn rejoin(&mut self, mut other: Link) {
        if self.departures == Departures::Lazy {
            while self.slots.len() > 0 {
                *other.slots.push() = self.slots.pop().0;
            }
        }
        // Update arrived packets as of their arrival, since they may have been counted in the queue until then.
        while self.slots.len() > other.slots.len() {
            self.arrive(self.slots.get(0).due.at);
        }
        self.slots = other.slots;
    }

    /// Call `act` for each packet on the link and in its queue.
    pub fn each_packet(&mut self, mut act: impl FnMut(&mut InFlight)) {
        (0..self.slots.len()).for_each(|at| act(&mut self.slots.get_mut(at).packet));
        self.classes_mut().into_iter().flat_map(ClassQueues::packets_mut).for_each(act);
    }

    /// Whether the link and its queue are empty.
    #[inline(always)]
    pub fn rest(&mut self) {
        self.slots.rest();
    }

    /// The head arrives. Returns it, and the arrival of the next one if known.
    #[inline(always)]
    pub fn arrive(&mut self, now: u64) -> (InFlight, Option<ArrivalOrder>) {
        if self.waiting as usize == self.slots.len() {
            self.settle(now);
        }
        let left = self.slots.len() - 1;
        let (Slot { packet, .. }, next) = self.slots.pop();
        if left == 0 {
            return (packet, None);
        }
        if self.departures == Departures::Lazy {
            cold_path();
            return (packet, (left > self.waiting as usize).then_some(next.due));
        }
        (packet, Some(next.due))
    }
}

#[cfg(test)]
mod tests;
