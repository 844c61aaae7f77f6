//! Clients of a thread, and which of them need attention at the end of this loop iteration.

mod client;
mod input;
mod responses;

pub use client::Client;
pub use responses::{ClientLoad, Gathered, Kind};

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

    /// Slot of the next client.
    pub fn next_slot(&self) -> usize {
        self.table.next()
    }

    /// Adds a client, in the next slot.
    pub fn add(&mut self, client: Client<S>) {
        self.table.insert(client);
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

    pub fn remove(&mut self, id: Id) -> Option<Client<S>> {
        self.table.remove(id)
    }

    pub fn ids(&self) -> Vec<Id> {
        self.table.ids()
    }

    pub fn len(&self) -> usize {
        self.table.len()
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
    pub fn may_be_unfinished(&mut self, now: Nanos) {
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
