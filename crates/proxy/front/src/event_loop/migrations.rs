//! Migrations of keys: their actions, and keys of multigets that need another server.

use crate::Front;
use crate::clients::Client;
use crate::migrations::{
    Action, KeyMigration, Outcome, Owner, Step, StepRequest, Whose, copies_of_unread, keys_of_batch,
    moving_keys_of_batch,
};
use crate::multigets::{PlaceInBatch, Retrieval, Settled};
use crate::upstreams::pool::Pool;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

impl<N: Net> Front<N> {
    /// Carries out an action of a migration.
    pub(crate) fn carry_out(&mut self, action: Action<'_>) {
        match action {
            Action::Next(id, Some(step)) => self.take_step(id, step),
            Action::Next(id, None) => self.migrations.end(id),
            Action::Fill { id, server, flags, value } => {
                if let Some(StepRequest { server, ask, note, bytes }) =
                    self.migrations.fill(id, server, &flags, value, &mut self.context)
                {
                    self.ask(server, ask, &note, &[&bytes, value]);
                }
            }
            Action::Deliver { owner, outcome, silent } => self.deliver_outcome(owner, outcome, silent),
            Action::Copy { change, to } => {
                for copy in self.migrations.copies(change, to) {
                    if self.migrations.is_full() {
                        return;
                    }
                    self.begin_migration(copy);
                }
            }
            Action::Replace { server, group } => self.upstreams.is_uncertain(server, group, &self.context),
        }
    }

    /// Gives the pools the current plans, at the start of a loop iteration.
    pub(crate) fn refresh_plans(&mut self) {
        if !self.migrations.has_changed(self.context.shared.plans.edition()) {
            return;
        }
        self.upstreams.pools_mut().iter_mut().for_each(Pool::follow_plan);
        for slot in self.upstreams.current_slots().collect::<Vec<_>>() {
            let pool = self.upstreams.pool(slot);
            if pool.has_replicas() {
                pool.take_unread().iter().for_each(|key| self.copy_by_plan(slot, key));
                continue;
            }
            copies_of_unread(pool).into_iter().for_each(|copy| self.begin_migration(copy));
        }
    }

    /// Copies a key with replicas to the servers that a plan adds.
    pub(crate) fn copy_by_plan(&mut self, slot: usize, key: &[u8]) {
        for copy in self.migrations.of_pool(slot, &self.upstreams).copies_by_plan(key, &self.context) {
            if self.migrations.is_full() {
                return;
            }
            self.begin_migration(copy);
        }
    }

    /// Clears the servers of a key with replicas, which then is missing.
    pub(crate) fn clear_key(&mut self, slot: usize, owner: Owner, key: &[u8]) {
        let clears = self.migrations.of_pool(slot, &self.upstreams).clear(owner, key, &self.context);
        self.begin_migration(clears);
    }

    pub(crate) fn begin_migration(&mut self, migration: KeyMigration) {
        let deletes = migration.failover.is_some() && migration.change.is_none();
        let (id, step) = self.migrations.begin(migration);
        if !deletes {
            return self.take_step(id, step);
        }
        let actions = self.migrations.change_goes_on(id);
        actions.into_iter().for_each(|action| self.carry_out(action));
    }

    /// Sends the next request of a migration.
    pub(crate) fn take_step(&mut self, id: Id, step: Step) {
        let request = self.migrations.take_step(id, step, &self.upstreams, &mut self.context);
        if let Some(StepRequest { server, ask, note, bytes }) = request {
            self.ask(server, ask, &note, &[&bytes]);
        }
    }

    /// The change of a migration has been answered, or has failed and may have happened.
    pub(crate) fn change_responded(&mut self, id: Id) {
        let actions = self.migrations.change_responded(id);
        actions.into_iter().for_each(|action| self.carry_out(action));
    }

    /// Continues after a complete response to a step.
    pub(crate) fn migration_continues(&mut self, id: Id) {
        let come = self.migrations.take_received(id);
        let actions = self.migrations.step_responded(id, &come, &self.upstreams, &self.context);
        actions.into_iter().for_each(|action| self.carry_out(action));
    }

    /// Handles a failed step.
    pub(crate) fn migration_fails(&mut self, id: Id, trouble: ServerError) {
        let actions = self.migrations.step_failed(id, trouble, &self.upstreams, &self.context);
        actions.into_iter().for_each(|action| self.carry_out(action));
    }

    /// Delivers an outcome to whoever waits for it.
    fn deliver_outcome(&mut self, owner: Owner, outcome: Outcome<'_>, silent: bool) {
        match owner.whose {
            Whose::Nobody => {}
            Whose::Client { number } => {
                self.clients.deliver_outcome(owner.client, number, outcome, silent, &self.context);
            }
            Whose::Batch { get, batch, slot } => {
                let (settled, failed) = match outcome {
                    Outcome::Value(answer) => (Settled::response(answer.into()), None),
                    Outcome::Missed => (Settled::Missed, None),
                    Outcome::Done => (Settled::AsServed, None),
                    Outcome::Failed(_) => (Settled::Missed, Some("SERVER_ERROR a server responded with an error\r\n")),
                };
                self.batch_settles(PlaceInBatch { get, batch, place: slot }, settled, failed);
            }
        }
    }

    /// The number of a client's tenant.
    pub(crate) fn tenant_of(&self, client: Id) -> Option<u32> {
        self.clients.get(client).map(Client::tenant).map(|tenant| tenant.number)
    }

    /// After all responses of a batch's server, starts migrations for keys that need another server. Returns whether there are any.
    pub(crate) fn batch_needs_more(&mut self, get: Id, batch: u32, slot: usize) -> bool {
        let Some(multiget) = self.multigets.get_mut(get).filter(|multiget| !multiget.is_over(batch)) else {
            return false;
        };
        if !multiget.has_replicas() {
            let moving = moving_keys_of_batch(multiget, get, batch, self.upstreams.pool(slot), &self.context);
            let any = !moving.is_empty();
            moving.into_iter().for_each(|migration| self.begin_migration(migration));
            return any;
        }
        let Some(slot) = self.clients.pool_of(multiget.client) else { return false };
        let pool = self.upstreams.pool(slot);
        let keys = keys_of_batch(multiget, get, batch, pool);
        let mut lack_copies = Vec::new();
        if multiget.plan_state().is_some() {
            multiget.each_of(batch, |_, key, _| lack_copies.extend(pool.lacks_copies(key).then(|| key.to_vec())));
        }
        let any = !keys.is_empty();
        for key in keys {
            let tenant = self.tenant_of(key.owner.client);
            let migration = self.migrations.of_pool(slot, &self.upstreams).of_batch(key, tenant, &self.context);
            self.begin_migration(migration);
        }
        lack_copies.iter().for_each(|key| self.copy_by_plan(slot, key));
        any
    }

    /// Reads the keys of a failed batch from their other replicas; returns whether any is read.
    pub(crate) fn read_batch_elsewhere(&mut self, get: Id, batch: u32) -> bool {
        let Some(multiget) = self.multigets.get_mut(get).filter(|multiget| !multiget.is_over(batch)) else {
            return false;
        };
        let Some(slot) = self.clients.pool_of(multiget.client) else { return false };
        if !self.upstreams.pool(slot).has_replicas() || multiget.retrieval() == Retrieval::Touch {
            return false;
        }
        let (asked, recipient) = (multiget.server_of(batch), multiget.recipient());
        let with_cas = multiget.retrieval() == Retrieval::WithCas;
        let keys = multiget.take_keys(batch);
        if !with_cas {
            self.context.counters.replicas_retried.add(keys.len() as u64);
        }
        for (place, key) in keys {
            let owner = Owner { client: recipient.client, whose: Whose::Batch { get, batch, slot: place } };
            if with_cas && self.upstreams.pool(slot).must_clear(&key) {
                self.clear_key(slot, owner, &key);
                continue;
            }
            if with_cas {
                let of = PlaceInBatch { get, batch, place };
                self.primary_reads.read_key_again(slot, recipient, of, &key, self.context.now);
                continue;
            }
            let of_pool = self.migrations.of_pool(slot, &self.upstreams);
            let migration = of_pool.read_other(owner, key, asked, &self.context);
            self.begin_migration(migration);
        }
        true
    }
}
