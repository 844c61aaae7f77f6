//! Storage positions of endpoints.

use crate::slot::Slot;

/// Mapping from slots to storage positions.
pub(crate) trait Places: Default {
    /// A slot's position, if it has one.
    fn of(&self, slot: Slot) -> usize;
    /// The position for a slot's endpoint: its own, or else `next`, the next free one.
    fn give(&mut self, slot: Slot, next: usize) -> usize;
}

/// All slots are stored at their numbers.
#[derive(Default)]
pub(crate) struct Every;

impl Places for Every {
    #[inline(always)]
    fn of(&self, slot: Slot) -> usize {
        slot.index()
    }

    fn give(&mut self, slot: Slot, _next: usize) -> usize {
        slot.index()
    }
}

/// The endpoints of some slots are stored contiguously.
#[derive(Default)]
pub(crate) struct Few(Vec<u32>);

const NOWHERE: u32 = u32::MAX;

impl Places for Few {
    #[inline(always)]
    fn of(&self, slot: Slot) -> usize {
        self.0.get(slot.index()).copied().unwrap_or(NOWHERE) as usize
    }

    fn give(&mut self, slot: Slot, next: usize) -> usize {
        if self.0.len() <= slot.index() {
            self.0.resize(slot.index() + 1, NOWHERE);
        }
        let place = &mut self.0[slot.index()];
        if *place == NOWHERE {
            *place = next as u32;
        }
        *place as usize
    }
}
