//! Requests for keys that move between two servers: look up, copy, change and delete a value, step by step.

use fanin_memcache::{Every, Flags, Get, Keyed, LONGEST_KEY, Meta, Request, Shape, text};

use super::Front;
use super::key_migration::{
    Change, Counted, FirstStep, KeyMigration, Outcome, Owner, Progress, SentKey, Step, Whose, changes, first_step,
    is_done,
};
use super::multigets::{Retrieval, Settled};
use super::upstreams::ask::{Ask, Destination, Recipient};
use super::upstreams::pool::Pool;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_migration::{KeyMove, LEASE, Location, Side, Stage};
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::Class;

/// Above this number of migrations, none starts that no client waits for, and none between replicas gets a lease.
const ENOUGH: usize = 4096;

impl<N: Net> Front<N> {
    /// Gives the pools the current plans, at the start of a loop iteration.
    pub(super) fn refresh_plans(&mut self) {
        if self.migrations.has_changed(self.shared.plans.edition()) {
            self.upstreams.pools_mut().iter_mut().for_each(Pool::follow_plan);
            let current: Vec<usize> = self.upstreams.current_slots().collect();
            current.into_iter().for_each(|pool| self.copy_unread(pool));
        }
    }

    /// Copies keys that clients may not read before cutover.
    fn copy_unread(&mut self, pool: usize) {
        for key in self.upstreams.pool(pool).take_unread() {
            let Location::Moving(key_move) = self.upstreams.pool(pool).place(&key) else { continue };
            let Some(plan_state) = self.upstreams.pool(pool).plan_state() else { return };
            if key_move.stage == Stage::Move {
                let step = first_step(&plan_state.moves, &key_move).unwrap_or(Step::Copy);
                let owner = Owner { client: Id::NOBODY, whose: Whose::Nobody };
                self.begin_migration(owner, pool, SentKey::plain(&key), key_move, step.into());
            }
        }
    }

    /// Whether a request must wait for earlier responses of its client, so that its requests take effect in their order. A change of a moving
    /// key and a flush wait for all, and later requests wait for them. A change of a key with replicas waits for gets, which may have to
    /// ask a second server.
    pub(super) fn waits_for_earlier(&mut self, id: Id, request: &Request<'_>) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return false };
        let pool = self.upstreams.pool(client.pool());
        let keyed = match request {
            Request::Every(Every::Flush(_), _) => return client.waits_alone(true),
            Request::Store(store) => &store.keyed,
            Request::Keyed(keyed) => keyed,
            _ => return false,
        };
        if pool.has_replicas() {
            return client.waits_for_gets(changes(keyed));
        }
        let mut room = [0; LONGEST_KEY];
        client.waits_alone(changes(keyed) && matches!(pool.place(keyed.stored(&mut room)), Location::Moving(_)))
    }

    /// Handles a single get of a moving key; returns false if one plain request is enough.
    pub(super) fn get_moving_key(&mut self, id: Id, get: &Get<'_>, key: &[u8], key_move: KeyMove) -> bool {
        let Some(pool) = self.clients.get(id).map(|client| client.pool()) else { return true };
        let touches = get.time.is_some();
        if matches!(key_move.stage, Stage::Move | Stage::Copied) && !touches && !get.unique {
            let number =
                self.expect_one(id, false, Destination::Relay { quiet: false }, Shape::Values, Class::Get).number;
            let Some(plan_state) = self.upstreams.pool(pool).plan_state() else { return false };
            let step = first_step(&plan_state.moves, &key_move).unwrap_or(Step::Copy);
            let owner = Owner { client: id, whose: Whose::Client { number } };
            self.begin_migration(owner, pool, SentKey::plain(key), key_move, step.into());
            return true;
        }
        let Some(key_move) = self.upstreams.pool(pool).key_move_of(Location::Moving(key_move), touches) else {
            return false;
        };
        let held = !key_move.stage.is_turned();
        let ask = self.expect_one(id, held, Destination::Relay { quiet: false }, Shape::Values, Class::Get);
        let mut bytes = Vec::new();
        get.head(|head| bytes.extend_from_slice(head));
        [b" ", key, b"\r\n"].iter().for_each(|part| bytes.extend_from_slice(part));
        let change = Change { ask, note: key.to_vec(), bytes, stores: false, silent: false };
        self.change_moving_key(pool, SentKey::plain(key), key_move, change, touches);
        true
    }

    /// Starts a change of a moving key, or a request to its new server that must first be cleared.
    pub(super) fn change_moving_key(
        &mut self,
        pool: usize,
        key: SentKey<'_>,
        key_move: KeyMove,
        change: Change,
        changes: bool,
    ) {
        let plan_state = self.upstreams.pool(pool).plan_state();
        let unclear = plan_state.and_then(|plan_state| key_move.unclear_side(&plan_state.moves));
        let step = match (key_move.stage, unclear) {
            (Stage::Turn, _) if changes => Step::DeleteCopy,
            (_, Some(side)) => Step::Clear(side),
            (_, None) => Step::Change,
        };
        let owner = Owner { client: change.ask.client, whose: Whose::Client { number: change.ask.number } };
        self.begin_migration(owner, pool, key, key_move, FirstStep { step, change: Some(change) });
    }

    fn begin_migration(&mut self, owner: Owner, pool: usize, key: SentKey<'_>, key_move: KeyMove, first: FirstStep) {
        let Some(plan_state) = self.upstreams.pool(pool).plan_state().cloned() else { return };
        let (servers, step) = (self.upstreams.pool(pool).servers_of(&key_move), first.step);
        let migration = KeyMigration::new(owner, servers, key.bytes.to_vec(), key.base64, key_move, plan_state, first);
        let migration = self.migrations.insert(migration);
        self.take_step(migration, step);
    }

    /// Sends the next request of a migration.
    pub(super) fn take_step(&mut self, id: Id, step: Step) {
        let has_many = self.migrations.len() > ENOUGH;
        let Some(migration) = self.migrations.get_mut(id) else { return };
        migration.begin_step(step);
        let (old, new) = migration.servers;
        match step {
            Step::Change => self.ask_change(id),
            Step::Clear(side) => self.ask_step(id, if side == Side::Old { old } else { new }, Meta::Delete, "", None),
            // A server that may become the primary gets no lease. Of replicas, there are no more than the journals have places for if servers fail.
            Step::Copy
                if migration.key_move.stage == Stage::Move
                    && !self.upstreams.server(old).is_out()
                    && (migration.members.is_none() || !has_many) =>
            {
                self.ask_step(id, new, Meta::Get, &format!("f v c N{LEASE}"), None);
            }
            Step::Copy => self.ask_step(id, new, Meta::Get, "f v c", None),
            Step::Old => self.ask_step(id, old, Meta::Get, "f t v", None),
            Step::ReturnLease => {
                let flags = migration.lease().map_or(String::new(), |token| format!("C{token}"));
                self.ask_step(id, new, Meta::Delete, &flags, None);
            }
            Step::DeleteCopy => {
                let other = if migration.key_move.stage.is_turned() { old } else { new };
                self.ask_step(id, other, Meta::Delete, "", None);
            }
            // The value is sent with it.
            Step::Fill => {}
        }
    }

    /// Sends a meta command with these flags for the key of a migration.
    fn ask_step(&mut self, id: Id, server: usize, command: Meta, flags: &str, value: Option<&[u8]>) {
        let mark = self.upstreams.random_mark();
        let Some(migration) = self.migrations.get(id) else { return };
        let words = format!("{}{flags}", if migration.base64 { "b " } else { "" });
        let Ok(flags) = Flags::read(command, &migration.key, words.as_bytes()) else { return };
        let keyed = Keyed { command: fanin_memcache::Command::Meta(command, flags), key: &migration.key, quiet: false };
        let (mut line, mut note) = (Vec::new(), Vec::new());
        keyed.line(value.map(|value| value.len() as u32), mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        let changes = migration.members.is_some() && migration.step() != Step::Old;
        // Not part of a client's response.
        let ask = Ask::new(Recipient::apart(migration.client), Destination::KeyMigration(id), keyed.shape(), self.now);
        let ask = Ask { changes, ..ask };
        self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
    }

    /// Sends the change to the authoritative server. After cutover this is the last step.
    fn ask_change(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let Some(change) = &mut migration.change else { return };
        let (bytes, note) = (std::mem::take(&mut change.bytes), std::mem::take(&mut change.note));
        let (old, new) = migration.servers;
        let (ask, server) = (change.ask, if migration.key_move.stage.is_turned() { new } else { old });
        let then = (!migration.key_move.stage.is_turned()).then_some(id);
        if then.is_none() {
            self.migrations.remove(id);
        }
        self.ask(server, Ask { then, at: self.now, ..ask }, &note, &[&bytes]);
    }

    /// The change has been answered, or has failed and may have happened.
    pub(super) fn change_responded(&mut self, id: Id) {
        match self.migrations.get(id) {
            Some(migration) if migration.failover.is_some() => self.delete_next_copy(id),
            _ => self.take_step(id, Step::DeleteCopy),
        }
    }

    /// Continues after a complete response.
    pub(super) fn migration_continues(&mut self, id: Id) {
        self.check_lease(id, false);
        let full = self.migrations.len() >= ENOUGH;
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let (_, new) = migration.servers;
        let (come, life) = (migration.take_received(), self.upstreams.server(new).life());
        if migration.failover.is_some() {
            return if is_done(&come) { self.delete_next_copy(id) } else { self.copy_delete_fails(id) };
        }
        let Progress { counts, outcome, next, copy } = migration.responded(&come, life, full);
        match counts {
            _ if migration.key_move.is_between_replicas() => {
                self.counters.replicas_copied.add(u64::from(counts == Some(Counted::Copied)))
            }
            None => {}
            Some(Counted::Found) => self.counters.moving_found.add(1),
            Some(Counted::FellBack) => self.counters.moving_fell_back.add(1),
            Some(Counted::Copied) => self.counters.moving_copied.add(1),
        }
        if let Some(outcome) = outcome {
            self.deliver_outcome(id, outcome);
        }
        self.take_step_or_end(id, next);
        if let Some((flags, value)) = copy {
            self.ask_step(id, new, Meta::Set, &flags, Some(value));
        }
    }

    fn take_step_or_end(&mut self, id: Id, next: Option<Step>) {
        match next {
            Some(step) => self.take_step(id, step),
            None => drop(self.migrations.remove(id)),
        }
    }

    /// Handles a failed step.
    pub(super) fn migration_fails(&mut self, id: Id, trouble: ServerError) {
        let Some(migration) = self.migrations.get(id) else { return };
        if migration.failover.is_some() {
            return self.copy_delete_fails(id);
        }
        self.check_lease(id, !matches!(trouble, ServerError::Down | ServerError::Busy));
        if self.read_elsewhere(id) {
            return;
        }
        let Some(migration) = self.migrations.get(id) else { return };
        let misses = migration.change.is_none() && self.upstreams.pool_of(migration.servers.0).misses(trouble);
        let outcome = if misses { Outcome::Missed } else { Outcome::Failed(trouble.text().as_bytes()) };
        let life = self.upstreams.server(migration.servers.1).life();
        let next = if migration.step() == Step::Old { migration.return_lease(life) } else { None };
        self.deliver_outcome(id, outcome);
        self.take_step_or_end(id, next);
    }

    /// Delivers the result to whoever waits for the migration.
    pub(super) fn deliver_outcome(&mut self, id: Id, outcome: Outcome<'_>) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        if migration.race.as_ref().is_some_and(|race| !race.wins(&outcome)) {
            migration.whose = Whose::Nobody;
            return;
        }
        let change = migration.change.take();
        match std::mem::replace(&mut migration.whose, Whose::Nobody) {
            Whose::Nobody => {}
            Whose::Client { number } => {
                let whose = migration.client;
                let silent = change.is_some_and(|change| change.silent);
                let Some(client) = self.clients.get_mut(whose) else { return };
                // This is the last part of the response.
                client.responses.last_part(number);
                self.counters.get_hits.add(u64::from(matches!(outcome, Outcome::Value(_))));
                self.counters.get_misses.add(u64::from(matches!(outcome, Outcome::Missed)));
                match outcome {
                    Outcome::Value(answer) => {
                        [&answer, text::END.as_bytes()].iter().for_each(|part| client.responses.put(number, part))
                    }
                    Outcome::Missed => client.responses.put(number, text::END.as_bytes()),
                    Outcome::Done => {}
                    Outcome::Failed(_) if silent => client.responses.retract(number),
                    Outcome::Failed(line) => {
                        client.responses.retract(number);
                        client.responses.put(number, line);
                    }
                }
                client.responses.part_ends(number);
                self.clients.mark(whose);
            }
            Whose::Batch { get, batch, slot } => {
                let (settled, failed) = match outcome {
                    Outcome::Value(answer) => (Settled::Value(answer.into()), None),
                    Outcome::Missed => (Settled::Missed, None),
                    Outcome::Done => (Settled::AsServed, None),
                    Outcome::Failed(_) => (Settled::Missed, Some("SERVER_ERROR a server responded with an error\r\n")),
                };
                self.batch_settles(get, batch, (slot, settled), failed);
            }
        }
    }

    /// After all responses of a batch's server, starts migrations for moving keys that need another server. Returns whether there are any.
    pub(super) fn batch_needs_more(&mut self, get: Id, batch: u32, pool: usize) -> bool {
        let Some(multiget) = self.multigets.get_mut(get).filter(|multiget| !multiget.is_over(batch)) else {
            return false;
        };
        if multiget.has_replicas() {
            return self.batch_needs_replicas(get, batch);
        }
        let Some(plan_state) = multiget.plan_state() else { return false };
        let (asked, router) = (multiget.retrieval(), &self.upstreams.pool(pool).router);
        let mut needs = Vec::new();
        let unclear = multiget.unclear(batch);
        multiget.each_of(batch, |slot, key, size| {
            let was_unclear = unclear.binary_search(&slot).is_ok();
            let Some(key_move) = plan_state.key_move(key, router, was_unclear) else { return };
            let copies = matches!(key_move.stage, Stage::Move | Stage::Copied);
            let step = match (asked, first_step(&plan_state.moves, &key_move)) {
                (Retrieval::Plain, Some(step)) => step,
                (_, _) if let Some(side) = key_move.unclear_side(&plan_state.moves) => Step::Clear(side),
                // Another thread has cleared the copy since, so the value may be outdated.
                _ if was_unclear => Step::Clear(key_move.side_asked(asked == Retrieval::Plain)),
                (Retrieval::Touch, _) => Step::DeleteCopy,
                (Retrieval::Plain, _) if copies && size.is_none_or(|size| size == 0) => Step::Copy,
                (Retrieval::Plain, _) if copies => return self.counters.moving_found.add(1),
                _ => return,
            };
            needs.push((slot, key.to_vec(), key_move, step));
        });
        multiget.waits_for(batch, needs.len());
        let (client, any) = (multiget.client, !needs.is_empty());
        for (slot, key, key_move, step) in needs {
            let owner = Owner { client, whose: Whose::Batch { get, batch, slot } };
            let plan_state = plan_state.clone();
            let servers = self.upstreams.pool(pool).servers_of(&key_move);
            let migration = KeyMigration::new(owner, servers, key, false, key_move, plan_state, step.into());
            let migration = self.migrations.insert(migration);
            self.take_step(migration, step);
        }
        any
    }
}
