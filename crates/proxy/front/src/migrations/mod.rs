//! Migrations of keys that are under way in a thread.

use std::sync::Arc;

use super::key_migration::KeyMigration;
use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_migration::{MigrationState, Moves, Stage};

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
    /// State of every key with replicas.
    pub fn of_replicas(&self) -> Arc<MigrationState> {
        self.of_replicas.clone()
    }

    pub fn insert(&mut self, migration: KeyMigration) -> Id {
        self.table.insert(migration)
    }

    pub fn get(&self, id: Id) -> Option<&KeyMigration> {
        self.table.get(id)
    }

    pub fn get_mut(&mut self, id: Id) -> Option<&mut KeyMigration> {
        self.table.get_mut(id)
    }

    pub fn remove(&mut self, id: Id) -> Option<KeyMigration> {
        self.table.remove(id)
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether the plans have changed since the last call.
    pub fn has_changed(&mut self, edition: u64) -> bool {
        std::mem::replace(&mut self.edition, edition) != edition
    }

    /// Takes response bytes of the current step.
    pub fn receives(&mut self, id: Id, bytes: &[u8]) {
        self.table.get_mut(id).into_iter().for_each(|migration| migration.receives(bytes));
    }
}
