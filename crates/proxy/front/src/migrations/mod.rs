//! Migrations of keys that are under way in a thread: of keys that move between two servers (`moving`), and of keys with replicas
//! (`replicas`).
//!
//! They send nothing themselves, but return an [`Action`] for the event loop.

mod key_migration;
mod moving;
mod replicas;

use std::sync::Arc;

pub use key_migration::{Change, KeyMigration, Outcome, Owner, SentKey, Step, Whose, changes};
pub use moving::{
    MovingGet, change_moving_key, copies_of_unread, get_as_change, look_up, moving_get, moving_keys_of_batch,
};
pub use replicas::{any_replica_answers, keys_of_batch};

use crate::upstreams::ask::Ask;
use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_migration::{MigrationState, Moves, Stage};

/// Above this number of migrations, none starts that no client waits for, and none between replicas gets a lease.
const ENOUGH: usize = 4096;

/// Work of a migration for the event loop. Several are carried out in their order, each with its consequences before the next.
#[derive(Debug)]
pub enum Action<'a> {
    /// Take the next step, or end the migration.
    Next(Id, Option<Step>),
    /// Store a copy with these flags at a server.
    Fill { id: Id, server: usize, flags: String, value: &'a [u8] },
    /// Deliver the outcome; a silent request gets no error.
    Deliver { owner: Owner, outcome: Outcome<'a>, silent: bool },
    /// Copy a stored value to these servers; the change has ended.
    Copy { change: Id, to: Vec<usize> },
    /// Replace a server that may not have executed a change. Until then a write of this group of keys is incomplete.
    Replace { server: usize, group: Option<u16> },
}

/// A request to a server for a step of a migration.
#[derive(Debug)]
pub struct StepRequest {
    pub server: usize,
    pub ask: Ask,
    /// The opaque token that the response must have.
    pub note: Vec<u8>,
    /// The request, without the value of a copy.
    pub bytes: Vec<u8>,
}

/// The migrations, and the edition of the plans that they follow.
#[derive(Debug)]
pub struct Migrations {
    table: Table<KeyMigration>,
    edition: u64,
    /// State of every key with replicas: copies may be made.
    of_replicas: Arc<MigrationState>,
}

impl Default for Migrations {
    fn default() -> Migrations {
        let of_replicas = Arc::new(MigrationState { moves: Arc::new(Moves::of_replicas()), stage: Stage::Move });
        Migrations { table: Table::default(), edition: 0, of_replicas }
    }
}

impl Migrations {
    /// Begins a migration; returns its id and its first step.
    pub fn begin(&mut self, migration: KeyMigration) -> (Id, Step) {
        let step = migration.step();
        (self.table.insert(migration), step)
    }

    /// Whether none begins that no client waits for.
    pub fn is_full(&self) -> bool {
        self.table.len() >= ENOUGH
    }

    /// Ends a migration.
    pub fn end(&mut self, id: Id) {
        self.table.remove(id);
    }

    /// Whether the plans have changed since the last call.
    pub fn has_changed(&mut self, edition: u64) -> bool {
        std::mem::replace(&mut self.edition, edition) != edition
    }

    /// Takes response bytes of the current step.
    pub fn receives(&mut self, id: Id, bytes: &[u8]) {
        self.table.get_mut(id).into_iter().for_each(|migration| migration.receives(bytes));
    }

    /// Delivers an outcome to whoever waits for a migration. Of the same get at two replicas, only the first outcome counts.
    fn deliver<'a>(&mut self, id: Id, outcome: Outcome<'a>) -> Option<Action<'a>> {
        let migration = self.table.get_mut(id)?;
        if migration.race.as_ref().is_some_and(|race| !race.wins(&outcome)) {
            migration.whose = Whose::Nobody;
            return None;
        }
        let silent = migration.change.take().is_some_and(|change| change.silent);
        let whose = std::mem::replace(&mut migration.whose, Whose::Nobody);
        (!matches!(whose, Whose::Nobody)).then_some(Action::Deliver {
            owner: Owner { client: migration.client, whose },
            outcome,
            silent,
        })
    }
}
