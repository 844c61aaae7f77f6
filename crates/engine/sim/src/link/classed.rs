//! Links whose ports have traffic classes: packets that come and leave.

use fanin_fabric::LinkId;
use fanin_laws::port::{Departure, Drop, Leaving, Queue, Verdict};
use fanin_units::Time;

use super::classes::ClassQueues;
use super::outcome::{Cleared, Departed, Left, LinkAction, Queued, Why};
use super::slot::Slot;
use super::{CLASSED, Link, Port};
use crate::event::ArrivalOrder;
use crate::packet::{InFlight, PacketMetadata};

/// Verdict of a class's discipline on an arriving packet, counted.
fn verdict(port: &mut Port, now: u64, packet: &InFlight, metadata: &mut PacketMetadata) -> Result<bool, Drop> {
    let Port { stream, counts, classes: Some(classes), .. } = port else { return Ok(false) };
    let queue = &mut classes.queues[usize::from(packet.packet.class.number())];
    let is_idle = queue.slots.is_empty() && queue.idle_since <= now;
    let idle_since = is_idle.then_some(Time(queue.idle_since));
    let seen = Queue { bytes: queue.bytes, packets: queue.slots.len() as u32, idle_since };
    let note = metadata.note(packet.beside);
    match queue.law.enqueue(Time(now), &seen, &packet.header(), note, stream.rng()) {
        Verdict::Admit { mark } => {
            counts.marks += u64::from(mark);
            queue.counts.marks += u64::from(mark);
            Ok(mark)
        }
        Verdict::Drop(drop) => {
            *counts.of(drop) += 1;
            queue.counts.drops += 1;
            Err(drop)
        }
    }
}

impl Link {
    /// Divide a port that is set up into classes. Its departures become events.
    pub fn divide(&mut self, classes: ClassQueues) {
        if let Some(port) = &mut self.port {
            port.classes = Some(Box::new(classes));
            self.held |= CLASSED;
        }
    }

    /// The classes of the port, if it has any.
    #[inline]
    pub fn classes(&self) -> Option<&ClassQueues> {
        // Other links do not touch their port for this.
        if self.held & CLASSED == 0 {
            return None;
        }
        self.port.as_ref()?.classes.as_deref()
    }

    /// The same, mutable.
    pub(super) fn classes_mut(&mut self) -> Option<&mut ClassQueues> {
        self.port.as_mut()?.classes.as_deref_mut()
    }

    /// Accept a packet at a port with classes, or drop it.
    pub(super) fn enqueue_classed(&mut self, now: u64, packet: &InFlight, metadata: &mut PacketMetadata) -> LinkAction {
        let Some(port) = self.port.as_deref_mut() else { return LinkAction::Nothing };
        let mark = match verdict(port, now, packet, metadata) {
            Ok(mark) => mark,
            Err(drop) => return LinkAction::Dropped(Why::Law(drop)),
        };
        let (class, bytes) = (usize::from(packet.packet.class.number()), packet.bytes());
        self.packets += 1;
        self.data_packets += u64::from(packet.has_payload());
        self.wire_bytes += u64::from(bytes + self.gap);
        let is_alone = self.busy_until <= now && self.classes().is_none_or(|classes| classes.len() == 0);
        if is_alone && self.held & 1 << class == 0 {
            let start = self.start_at_once(now);
            let due = self.start(start, bytes);
            self.count_sent(class, bytes);
            self.put(due, packet, mark);
            return if self.slots.len() == 1 { LinkAction::Arrival(due) } else { LinkAction::Nothing };
        }
        self.waiting_bytes += u64::from(bytes);
        self.queue_max_bytes = self.queue_max_bytes.max(self.waiting_bytes);
        let mut slot = Slot { due: ArrivalOrder::new(now, 0), packet: *packet };
        slot.packet.mark(mark);
        self.classes_mut().into_iter().for_each(|classes| classes.push(class, slot));
        if self.departing || !self.can_leave() {
            return LinkAction::Nothing;
        }
        self.departing = true;
        LinkAction::Departure(self.busy_until.max(now))
    }

    /// Count a packet that has begun to leave.
    fn count_sent(&mut self, class: usize, bytes: u32) {
        let (wire_bytes, idle_since) = (u64::from(bytes + self.gap), self.busy_until);
        if let Some(classes) = self.classes_mut() {
            let queue = &mut classes.queues[class];
            (queue.counts.packets, queue.idle_since) = (queue.counts.packets + 1, idle_since);
            queue.counts.wire_bytes += wire_bytes;
        }
    }

    /// Verdict on the packet that the scheduler would send now: returns it with the reason if it is dropped.
    pub(super) fn drop_first_of_class(&mut self, now: u64) -> Option<(InFlight, Why)> {
        let held = self.held;
        let Port { stream, counts, classes: Some(classes), .. } = self.port.as_deref_mut()? else { return None };
        let class = classes.next(held)?;
        let queue = &mut classes.queues[class];
        let slot = queue.slots.front_mut().filter(|_| queue.law.needs_dequeue())?;
        let bytes = u64::from(slot.packet.bytes());
        let ect = slot.packet.is_ecn_capable();
        let leaving = Leaving { sojourn: Time(now - slot.due.at), behind: queue.bytes - bytes, ect };
        match queue.law.dequeue(Time(now), &leaving, stream.rng()) {
            Departure::Pass { mark } => {
                slot.packet.mark(mark);
                counts.marks += u64::from(mark);
                queue.counts.marks += u64::from(mark);
                None
            }
            Departure::Drop(drop) => {
                // A queued packet had space.
                let drop = if drop == Drop::NotEct { drop } else { Drop::Early };
                *counts.of(drop) += 1;
                queue.counts.drops += 1;
                self.waiting_bytes -= bytes;
                classes.take(class).map(|slot| (slot.packet, Why::Law(drop)))
            }
        }
    }

    /// Put the packet that the scheduler chooses onto the wire.
    pub(super) fn depart_classed(&mut self, now: u64) -> Departed {
        self.departing = false;
        let held = self.held;
        let Some(classes) = self.classes_mut() else { return Departed::default() };
        // The queued packets may have been lost, or paused.
        let Some(class) = classes.next(held) else { return Departed::default() };
        let Some(Slot { due, packet }) = classes.take(class) else { return Departed::default() };
        classes.scheduler.sent(class, packet.bytes());
        self.waiting_bytes -= u64::from(packet.bytes());
        let (came_by, arrival) = (LinkId(due.rank), self.start(now, packet.bytes()));
        self.count_sent(class, packet.bytes());
        let is_head = self.slots.len() == 0;
        self.put(arrival, &packet, false);
        self.departing = self.can_leave();
        Departed {
            arrival: is_head.then_some(arrival),
            next: self.departing.then_some(self.busy_until),
            left: Some(Left {
                queued: Queued { came_by, class: class as u8, bytes: packet.bytes() },
                to: packet.to,
                payload: packet.packet.payload,
                beside: packet.beside,
            }),
        }
    }

    /// Remove queued packets of all classes.
    pub(super) fn clear_classes(&mut self) -> Vec<Cleared> {
        self.waiting_bytes = 0;
        let cleared = |Slot { due, packet }| Cleared { came_by: LinkId(due.rank), packet };
        self.classes_mut().map_or(Vec::new(), |classes| classes.clear().map(cleared).collect())
    }
}
