//! Clients of a thread, and which of them need attention at the end of this loop iteration.

mod admission;
mod client;
mod input;
mod memory;
mod outcomes;
mod refusal;
mod requests;
mod responses;

pub use client::Client;
pub use requests::{NextStep, Parsed, Sent};
pub use responses::{ClientLoad, Gathered, Kind};

use fanin_ring::Event;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::{Id, Table};

/// The clients.
#[derive(Debug)]
pub struct Clients<S> {
    table: Table<Client<S>>,
    /// To write to at the end of the iteration.
    marked: Vec<Id>,
    /// When to look for requests that are not finished in time, if there may be some.
    look_at: Option<Nanos>,
}

/// Time between two such looks.
const LOOK: Nanos = 1_000_000_000;

impl<S> Clients<S> {
    pub fn new() -> Clients<S> {
        Clients { table: Table::default(), marked: Vec::new(), look_at: None }
    }

    /// Id of the client in a slot.
    pub fn in_slot(&self, slot: usize) -> Option<Id> {
        self.table.at(slot)
    }

    pub fn get(&self, id: Id) -> Option<&Client<S>> {
        self.table.get(id)
    }

    pub fn get_mut(&mut self, id: Id) -> Option<&mut Client<S>> {
        self.table.get_mut(id)
    }

    pub fn ids(&self) -> Vec<Id> {
        self.table.ids()
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// The pool of a client.
    pub fn pool_of(&self, id: Id) -> Option<usize> {
        self.get(id).map(Client::pool)
    }

    /// Handles an event of a client; returns whether it has input.
    pub fn event(&mut self, id: Id, event: &Event) -> bool {
        if event.writable {
            self.mark(id);
        }
        if event.readable {
            self.get_mut(id).into_iter().for_each(|client| client.input.becomes_readable(event.ended));
        }
        event.readable
    }

    /// Notes that bytes of a client have come, and whether a request has been taken.
    pub fn progresses(&mut self, id: Id, count: usize, taken: bool, now: Nanos) {
        let Some(client) = self.get_mut(id) else { return };
        client.input.progresses(count, taken, now);
        if client.input.unparsed() > 0 {
            self.may_be_unfinished(now);
        }
    }

    /// Marks all clients.
    pub fn mark_all(&mut self) {
        self.ids().into_iter().for_each(|id| self.mark(id));
    }

    /// Marks a client to be written to at the end of the iteration.
    pub fn mark(&mut self, id: Id) {
        if self.table.get_mut(id).is_some_and(Client::mark) {
            self.marked.push(id);
        }
    }

    pub fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Takes the list of marked clients; return it with [`Clients::recycle`].
    pub fn take_marked(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.marked)
    }

    /// Reuses the memory of an emptied list.
    pub fn recycle(&mut self, list: Vec<Id>) {
        if self.marked.is_empty() {
            self.marked = list;
        }
    }

    /// Clients that have been idle for this long.
    pub fn idle(&self, now: Nanos, longest: Nanos) -> Vec<Id> {
        let is_idle = |id: &Id| self.get(*id).is_some_and(|client| client.is_idle(now, longest));
        self.ids().into_iter().filter(is_idle).collect()
    }

    /// A client may not have finished a request.
    fn may_be_unfinished(&mut self, now: Nanos) {
        self.look_at.get_or_insert(now + LOOK);
    }

    /// When to call [`Clients::late`].
    pub fn next_look(&self) -> Option<Nanos> {
        self.look_at
    }

    /// Clients that take too long for a request, if it is time to look for them.
    pub fn late(&mut self, now: Nanos) -> Vec<Id> {
        if self.look_at.take_if(|at| *at <= now).is_none() {
            return Vec::new();
        }
        let mut late = Vec::new();
        for id in self.table.ids() {
            let unfinished = self.get(id).and_then(Client::unfinished);
            if unfinished.is_some() {
                self.may_be_unfinished(now);
            }
            late.extend(unfinished.filter(|one| one.is_late(now)).map(|_| id));
        }
        late
    }

    /// Each client.
    pub fn all(&self) -> impl Iterator<Item = (Id, &Client<S>)> {
        self.ids().into_iter().filter_map(|id| Some((id, self.get(id)?)))
    }
}
