//! Where in memory endpoints lie.

use crate::slot::Slot;

/// Where in memory the endpoint of a slot lies.
pub(crate) trait Places: Default {
    /// Its place, where it has one.
    fn of(&self, slot: Slot) -> usize;
    /// The place where a slot's endpoint will lie: this one, which is the next free one, unless it has one already.
    fn give(&mut self, slot: Slot, next: usize) -> usize;
}

/// All slots lie here, each at its number.
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

/// The endpoints of some slots lie side by side.
#[derive(Default)]
pub(crate) struct Few(Vec<u32>);

const NOWHERE: u32 = u32::MAX;

impl Places for Few {
    #[inline(always)]
    fn of(&self, slot: Slot) -> usize {
        self.0[slot.index()] as usize
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
