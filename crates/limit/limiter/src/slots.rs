//! Requests that have not ended, each in a slot that its ticket names.

use alloc::vec::Vec;

/// Name of a request. A ticket of a request that has ended names nothing, even when its slot is in use again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of a number that [`to_u64`](Ticket::to_u64) returned; any other number names nothing.
    pub fn from_u64(number: u64) -> Ticket {
        Ticket(number)
    }

    /// Its number, for other languages.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// Index of its slot: a small number, unique among requests that have not ended.
    pub fn index(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Admitted,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub state: State,
    /// Bytes that it has, or will have, in flight.
    pub charge: u64,
    /// Bytes of the response so far.
    pub received: u64,
    /// Time of the request while it waits, then of its admission.
    pub since: u64,
}

/// All slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// Generation of each slot, and its request. Even generations are free.
    slots: Vec<(u32, Slot)>,
    free: Vec<u32>,
    waiting: u32,
    admitted: u32,
}

impl Slots {
    /// A slot for a waiting request.
    pub fn take(&mut self, charge: u64, now: u64) -> Ticket {
        let slot = Slot { state: State::Waiting, charge, received: 0, since: now };
        self.waiting += 1;
        let index = match self.free.pop() {
            Some(index) => {
                let (generation, at) = &mut self.slots[index as usize];
                (*generation, *at) = (generation.wrapping_add(1), slot);
                index
            }
            None => {
                self.slots.push((1, slot));
                (self.slots.len() - 1) as u32
            }
        };
        Ticket(u64::from(self.slots[index as usize].0) << 32 | u64::from(index))
    }

    pub fn get(&self, ticket: Ticket) -> Option<&Slot> {
        let (generation, slot) = self.slots.get(ticket.index())?;
        (*generation == ticket.generation() && generation % 2 == 1).then_some(slot)
    }

    pub fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        let (generation, slot) = self.slots.get_mut(ticket.index())?;
        (*generation == ticket.generation() && *generation % 2 == 1).then_some(slot)
    }

    /// Turns a waiting request into an admitted one and returns its charge.
    pub fn admit(&mut self, ticket: Ticket, now: u64) -> u64 {
        let Some(slot) = self.get_mut(ticket) else { return 0 };
        (slot.state, slot.since) = (State::Admitted, now);
        let charge = slot.charge;
        self.waiting -= 1;
        self.admitted += 1;
        charge
    }

    /// Frees a slot and returns its request.
    pub fn free(&mut self, ticket: Ticket) -> Option<Slot> {
        let slot = *self.get(ticket)?;
        let generation = &mut self.slots[ticket.index()].0;
        *generation = generation.wrapping_add(1);
        self.free.push(ticket.index() as u32);
        match slot.state {
            State::Waiting => self.waiting -= 1,
            State::Admitted => self.admitted -= 1,
        }
        Some(slot)
    }

    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    pub fn admitted(&self) -> u32 {
        self.admitted
    }
}
