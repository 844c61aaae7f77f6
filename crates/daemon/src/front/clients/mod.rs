//! Clients of a thread, and which of them need attention at the end of this loop iteration or in the next.

mod client;
mod input;
mod responses;

pub use client::Client;
pub use responses::{Gathered, Kind};

use crate::memory::table::{Id, Table};
use crate::net::clock::Nanos;

/// The clients.
#[derive(Debug)]
pub struct Clients<S> {
    table: Table<Client<S>>,
    /// To write to at the end of the iteration.
    marked: Vec<Id>,
    /// To continue with in the next iteration.
    again: Vec<Id>,
}

impl<S> Clients<S> {
    pub fn new() -> Clients<S> {
        Clients { table: Table::default(), marked: Vec::new(), again: Vec::new() }
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

    /// Continues with a client in the next iteration, after the others.
    pub fn look_again(&mut self, id: Id) {
        if self.table.get_mut(id).is_some_and(Client::look_again) {
            self.again.push(id);
        }
    }

    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Clients to continue with.
    pub fn take_again(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.again)
    }

    /// Clients that have been idle for this long.
    pub fn idle(&self, now: Nanos, longest: Nanos) -> Vec<Id> {
        let is_idle = |id: &Id| self.get(*id).is_some_and(|client| client.is_idle(now, longest));
        self.ids().into_iter().filter(is_idle).collect()
    }

    /// Memory and id of each client, largest first.
    pub fn by_memory(&self, holds: impl Fn(&Client<S>) -> usize) -> Vec<(usize, Id)> {
        let mut clients: Vec<_> = self.ids().into_iter().filter_map(|id| Some((holds(self.get(id)?), id))).collect();
        clients.sort_unstable_by_key(|(holds, _)| std::cmp::Reverse(*holds));
        clients
    }
}
