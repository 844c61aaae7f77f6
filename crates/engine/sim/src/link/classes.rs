//! Traffic classes of a port: a queue for each, and the scheduler that chooses among them. A port without classes has no such state.
//! `classed.rs` applies them.

use std::array;
use std::collections::VecDeque;

use fanin_fabric::LinkId;
use fanin_laws::port::Law;
use fanin_laws::scheduler::{CLASSES, Scheduler};

use super::outcome::Queued;
use super::slot::Slot;
use crate::packet::InFlight;

/// Counters of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassCounts {
    /// Packets sent, and their bytes on the wire.
    pub packets: u64,
    pub wire_bytes: u64,
    pub drops: u64,
    pub marks: u64,
}

impl ClassCounts {
    /// Counts since an earlier state.
    pub fn since(&self, before: &ClassCounts) -> ClassCounts {
        ClassCounts {
            packets: self.packets - before.packets,
            wire_bytes: self.wire_bytes - before.wire_bytes,
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
        }
    }
}

/// Counters of a port's classes.
pub(crate) type CountsByClass = [ClassCounts; CLASSES];

/// The queue of a class.
pub(super) struct ClassQueue {
    pub law: Law,
    pub slots: VecDeque<Slot>,
    pub bytes: u64,
    longest: u64,
    /// When the last packet that has begun to leave is gone.
    pub idle_since: u64,
    pub counts: ClassCounts,
}

/// The classes of a port.
pub(crate) struct ClassQueues {
    pub(super) scheduler: Scheduler,
    pub(super) queues: [ClassQueue; CLASSES],
    packets: usize,
    /// The class of the last packet that was queued.
    last: usize,
}

impl ClassQueues {
    /// Empty queues with these disciplines.
    pub fn new(scheduler: Scheduler, laws: [Law; CLASSES]) -> ClassQueues {
        let counts = ClassCounts::default();
        let queue = |law| ClassQueue { law, slots: VecDeque::new(), bytes: 0, longest: 0, idle_since: 0, counts };
        ClassQueues { scheduler, queues: laws.map(queue), packets: 0, last: 0 }
    }

    /// Number of queued packets.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Queued packets, class by class.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.queues.iter().flat_map(|queue| &queue.slots)
    }

    /// The same, mutable.
    pub fn packets_mut(&mut self) -> impl Iterator<Item = &mut InFlight> {
        self.queues.iter_mut().flat_map(|queue| &mut queue.slots).map(|slot| &mut slot.packet)
    }

    /// The disciplines of all classes.
    pub fn laws_mut(&mut self) -> impl Iterator<Item = &mut Law> {
        self.queues.iter_mut().map(|queue| &mut queue.law)
    }

    /// Remove all queued packets.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Slot> {
        self.packets = 0;
        self.queues.iter_mut().flat_map(|queue| {
            queue.bytes = 0;
            queue.slots.drain(..)
        })
    }

    /// Counters by class.
    pub fn counts(&self) -> CountsByClass {
        array::from_fn(|class| self.queues[class].counts)
    }

    /// The longest queue of a class in bytes.
    pub fn longest(&self, class: usize) -> u64 {
        self.queues[class].longest
    }

    /// Restart the longest queues from now on.
    pub fn forget_longest(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.longest = queue.bytes);
    }

    /// Count a packet of a class that flow control refuses.
    pub fn count_dropped(&mut self, class: u8) {
        self.queues[usize::from(class)].counts.drops += 1;
    }

    /// Note the link by which the last queued packet came.
    pub fn place(&mut self, came_by: LinkId) -> Option<Queued> {
        let slot = self.queues[self.last].slots.back_mut()?;
        slot.due.rank = came_by.0;
        Some(Queued { came_by, class: self.last as u8, bytes: slot.packet.bytes() })
    }

    /// Whether a packet of a class that is not held may leave.
    pub fn can_leave(&self, held: u16) -> bool {
        (0..CLASSES).any(|class| held & 1 << class == 0 && !self.queues[class].slots.is_empty())
    }

    /// The class that sends next. The answer is the same until a packet comes or leaves.
    pub(super) fn next(&mut self, held: u16) -> Option<usize> {
        let head = |class: usize| self.queues[class].slots.front().map(|slot| slot.packet.bytes());
        let heads = array::from_fn(|class| head(class).filter(|_| held & 1 << class == 0));
        self.scheduler.next(&heads)
    }

    /// Queue a packet.
    pub(super) fn push(&mut self, class: usize, slot: Slot) {
        let queue = &mut self.queues[class];
        queue.bytes += u64::from(slot.packet.bytes());
        queue.longest = queue.longest.max(queue.bytes);
        queue.slots.push_back(slot);
        (self.packets, self.last) = (self.packets + 1, class);
    }

    /// Remove the first packet of a class.
    pub(super) fn take(&mut self, class: usize) -> Option<Slot> {
        let queue = &mut self.queues[class];
        let slot = queue.slots.pop_front()?;
        queue.bytes -= u64::from(slot.packet.bytes());
        self.packets -= 1;
        Some(slot)
    }
}
