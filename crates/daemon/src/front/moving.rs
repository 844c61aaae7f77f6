//! Requests for keys that move between two servers: look up, copy, change and delete a value, step by step.

use fanin_memcache::{Flags, Get, Keyed, LONGEST_KEY, Meta, Request, Shape, text};

use super::Front;
use super::multigets::{Retrieval, Settled};
use super::upstreams::ask::{Ask, Destination};
use super::upstreams::error::ServerError;
use crate::memory::Buffer;
use crate::memory::table::Id;
use crate::migration::key::{
    Change, Found, KeyMigration, LEASE, Lease, Step, Whose, changes, copy_flags, found, is_done, value_line,
};
use crate::migration::{KeyMove, Location, Moves, Side, Stage};
use crate::net::Net;

/// Above this number of migrations, none starts that no client waits for.
const ENOUGH: usize = 4096;

/// First copy to clear before a moving key is read: the authoritative server's, then the other's.
fn first_step(moves: &Moves, key_move: &KeyMove) -> Option<Step> {
    let copies = matches!(key_move.stage, Stage::Move | Stage::Copied);
    let of_copies = (copies && !moves.is_clear(key_move.index, Side::New)).then_some(Side::New);
    key_move.unclear_side(moves).or(of_copies).map(Step::Clear)
}

/// Result of a migration.
enum Outcome<'a> {
    /// A value, as a response to `get`.
    Value(&'a [u8]),
    /// A miss.
    Missed,
    /// Done; the response sent before stands.
    Done,
    /// An error line.
    Failed(&'a [u8]),
}

impl<N: Net> Front<N> {
    /// Gives the pools the current plans, at the start of a loop iteration.
    pub(super) fn refresh_plans(&mut self) {
        if self.migrations.has_changed(self.shared.plans.edition()) {
            for pool in 0..self.upstreams.pools().len() {
                self.upstreams.pool_mut(pool).plan_state = self.shared.plans.of(pool);
            }
        }
    }

    /// Whether a request must wait for all earlier responses of its client because it changes a moving key. Later requests wait, too.
    pub(super) fn waits_alone(&mut self, id: Id, request: &Request<'_>) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return false };
        let pool = self.upstreams.pool(client.pool());
        let keyed = match request {
            _ if pool.plan_state.is_none() => return false,
            Request::Store(store) => &store.keyed,
            Request::Keyed(keyed) => keyed,
            _ => return false,
        };
        let mut room = [0; LONGEST_KEY];
        client.waits_alone(changes(keyed) && matches!(pool.place(keyed.stored(&mut room)), Location::Moving(_)))
    }

    /// Handles a single get of a moving key; returns false if one plain request is enough.
    pub(super) fn get_moving_key(&mut self, id: Id, get: &Get<'_>, key: &[u8], key_move: KeyMove) -> bool {
        let Some(pool) = self.clients.get(id).map(|client| client.pool()) else { return true };
        let touches = get.time.is_some();
        if matches!(key_move.stage, Stage::Move | Stage::Copied) && !touches && !get.unique {
            let number = self.expect_one(id, None, Destination::Relay { quiet: false }, Shape::Values).number;
            let Some(plan_state) = &self.upstreams.pool(pool).plan_state else { return false };
            let step = first_step(&plan_state.moves, &key_move).unwrap_or(Step::Copy);
            self.begin_migration((id, Whose::Client { number }), pool, (key, false), key_move, (step, None));
            return true;
        }
        let Some(key_move) = self.upstreams.pool(pool).key_move_of(Location::Moving(key_move), touches) else {
            return false;
        };
        let ask = self.expect_one(id, Some(key_move), Destination::Relay { quiet: false }, Shape::Values);
        let mut bytes = Vec::new();
        get.head(|head| bytes.extend_from_slice(head));
        [b" ", key, b"\r\n"].iter().for_each(|part| bytes.extend_from_slice(part));
        let change = Change { ask, note: key.to_vec(), bytes, stores: false, silent: false };
        self.change_moving_key(pool, (key, false), key_move, change, touches);
        true
    }

    /// Starts a change of a moving key, or a request to its new server that must first be cleared.
    pub(super) fn change_moving_key(
        &mut self,
        pool: usize,
        key: (&[u8], bool),
        key_move: KeyMove,
        change: Change,
        changes: bool,
    ) {
        let unclear = self
            .upstreams
            .pool(pool)
            .plan_state
            .as_ref()
            .and_then(|plan_state| key_move.unclear_side(&plan_state.moves));
        let step = match (key_move.stage, unclear) {
            (Stage::Turn, _) if changes => Step::DeleteCopy,
            (_, Some(side)) => Step::Clear(side),
            (_, None) => Step::Change,
        };
        let whose = Whose::Client { number: change.ask.number };
        self.begin_migration((change.ask.client, whose), pool, key, key_move, (step, Some(change)));
    }

    fn begin_migration(
        &mut self,
        (client, whose): (Id, Whose),
        pool: usize,
        (key, base64): (&[u8], bool),
        key_move: KeyMove,
        (step, change): (Step, Option<Change>),
    ) {
        let Some(plan_state) = self.upstreams.pool(pool).plan_state.clone() else { return };
        let (first, key) = (self.upstreams.pool(pool).first, (key.to_vec(), base64));
        let migration = KeyMigration::new((client, whose), first, key, (key_move, plan_state), (step, change));
        let migration = self.migrations.insert(migration);
        self.take_step(migration, step);
    }

    /// Sends the next request of a migration.
    fn take_step(&mut self, id: Id, step: Step) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        (migration.step, migration.come) = (step, Buffer::default());
        let (old, new) = (migration.first + migration.key_move.old, migration.first + migration.key_move.new);
        match step {
            Step::Change => self.ask_change(id),
            Step::Clear(side) => self.ask_step(id, if side == Side::Old { old } else { new }, Meta::Delete, "", None),
            Step::Copy if migration.key_move.stage == Stage::Move => {
                self.ask_step(id, new, Meta::Get, &format!("f v c N{LEASE}"), None);
            }
            Step::Copy => self.ask_step(id, new, Meta::Get, "f v c", None),
            Step::Old => self.ask_step(id, old, Meta::Get, "f t v", None),
            Step::ReturnLease => {
                let flags = migration.lease.map_or(String::new(), |lease| format!("C{}", lease.token));
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
        // Not part of a client's response.
        let ask = Ask::new((migration.client, u64::MAX), Destination::KeyMigration(id), keyed.shape(), self.now);
        self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
    }

    /// Sends the change to the authoritative server. After cutover this is the last step.
    fn ask_change(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let Some(change) = &mut migration.change else { return };
        let (bytes, note) = (std::mem::take(&mut change.bytes), std::mem::take(&mut change.note));
        let (ask, server) = (change.ask, migration.first + migration.key_move.authority());
        let then = (!migration.key_move.stage.is_turned()).then_some(id);
        if then.is_none() {
            self.migrations.remove(id);
        }
        self.ask(server, Ask { then, at: self.now, ..ask }, &note, &[&bytes]);
    }

    /// The change has been answered, or has failed and may have happened.
    pub(super) fn change_responded(&mut self, id: Id) {
        self.take_step(id, Step::DeleteCopy);
    }

    /// Continues after a complete response.
    pub(super) fn migration_continues(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let come = std::mem::take(&mut migration.come);
        let (step, turned) = (migration.step, migration.key_move.stage.is_turned());
        match step {
            Step::DeleteCopy | Step::Clear(_) if !is_done(&come) => self.migration_ends(id, Outcome::Failed(&come)),
            Step::Clear(side) => {
                migration.plan_state.moves.cleared(migration.key_move.index, side);
                match (&migration.change, turned || side == Side::Old) {
                    (Some(_), _) => self.take_step(id, Step::Change),
                    // The authoritative server has no value now.
                    (None, true) => self.migration_ends(id, Outcome::Missed),
                    // The copy is made from the old server's value, so clear that server first.
                    (None, false) => {
                        let next = first_step(&migration.plan_state.moves, &migration.key_move).unwrap_or(Step::Copy);
                        self.take_step(id, next);
                    }
                }
            }
            Step::DeleteCopy if turned && migration.change.is_some() => {
                let unclear = migration.key_move.unclear_side(&migration.plan_state.moves);
                self.take_step(id, unclear.map_or(Step::Change, Step::Clear));
            }
            Step::DeleteCopy => self.copy_deleted(id),
            Step::Copy => self.new_responded(id, &come),
            Step::Old => self.old_responded(id, &come),
            Step::Fill => {
                self.counters.moving_copied.add(u64::from(come.starts_with(b"HD")));
                self.migrations.remove(id);
            }
            Step::ReturnLease | Step::Change => drop(self.migrations.remove(id)),
        }
    }

    /// Continues after the other server has deleted its copy; a stored value is then copied.
    fn copy_deleted(&mut self, id: Id) {
        let many = self.migrations.len() >= ENOUGH;
        let Some(migration) = self.migrations.get_mut(id) else { return };
        if !migration.key_move.stage.is_turned() {
            migration.plan_state.moves.cleared(migration.key_move.index, Side::New);
        }
        let copies =
            migration.key_move.stage == Stage::Move && migration.change.as_ref().is_some_and(|change| change.stores);
        self.deliver_outcome(id, Outcome::Done);
        if copies && !many { self.take_step(id, Step::Copy) } else { drop(self.migrations.remove(id)) }
    }

    /// Handles the new server's response.
    fn new_responded(&mut self, id: Id, come: &[u8]) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        match found(come, true) {
            Found::Error(line) => self.migration_ends(id, Outcome::Failed(line)),
            Found::Value { value, flags, .. } => {
                let mut answer = Vec::new();
                value_line(&migration.key, flags, value, &mut answer);
                self.counters.moving_found.add(u64::from(!matches!(migration.whose, Whose::Nobody)));
                self.migration_ends(id, Outcome::Value(&answer));
            }
            lacks => {
                let life = self.upstreams.server(migration.first + migration.key_move.new).life();
                migration.lease = if let Found::Lease(token) = lacks { Some(Lease { token, life }) } else { None };
                match (migration.lease, migration.whose) {
                    (None, Whose::Nobody) => drop(self.migrations.remove(id)),
                    _ => self.take_step(id, Step::Old),
                }
            }
        }
    }

    /// Handles the old server's response.
    fn old_responded(&mut self, id: Id, come: &[u8]) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        self.counters.moving_fell_back.add(u64::from(!matches!(migration.whose, Whose::Nobody)));
        let said = found(come, false);
        let lease = self.lease_of(id);
        let Found::Value { value, flags, lives } = said else {
            let outcome = if let Found::Error(line) = said { Outcome::Failed(line) } else { Outcome::Missed };
            self.deliver_outcome(id, outcome);
            return self.return_lease(id);
        };
        let Some(migration) = self.migrations.get(id) else { return };
        let mut answer = Vec::new();
        value_line(&migration.key, flags, value, &mut answer);
        let copy = lease.and_then(|lease| copy_flags(lease.token, flags, lives)).filter(|_| value.len() > 2);
        let server = migration.first + migration.key_move.new;
        self.deliver_outcome(id, Outcome::Value(&answer));
        match copy {
            Some(flags) => {
                self.take_step(id, Step::Fill);
                self.ask_step(id, server, Meta::Set, &flags, Some(value));
            }
            None => self.return_lease(id),
        }
    }

    /// Returns an unused lease.
    fn return_lease(&mut self, id: Id) {
        match self.lease_of(id) {
            Some(_) => self.take_step(id, Step::ReturnLease),
            None => drop(self.migrations.remove(id)),
        }
    }

    /// The lease, if the current connection got it: a restarted server reuses its numbers, so another item may have this one.
    fn lease_of(&self, id: Id) -> Option<Lease> {
        let migration = self.migrations.get(id)?;
        migration
            .lease
            .filter(|lease| lease.life == self.upstreams.server(migration.first + migration.key_move.new).life())
    }

    /// Handles a failed step.
    pub(super) fn migration_fails(&mut self, id: Id, trouble: ServerError) {
        let Some(migration) = self.migrations.get(id) else { return };
        let pool = self.upstreams.server(migration.first).pool;
        let misses = migration.change.is_none() && self.upstreams.pool(pool).misses(trouble);
        let outcome = if misses { Outcome::Missed } else { Outcome::Failed(trouble.text().as_bytes()) };
        if migration.step == Step::Old {
            self.deliver_outcome(id, outcome);
            return self.return_lease(id);
        }
        self.migration_ends(id, outcome);
    }

    fn migration_ends(&mut self, id: Id, outcome: Outcome<'_>) {
        self.deliver_outcome(id, outcome);
        self.migrations.remove(id);
    }

    /// Delivers the result to whoever waits for the migration.
    fn deliver_outcome(&mut self, id: Id, outcome: Outcome<'_>) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let change = migration.change.take();
        match std::mem::replace(&mut migration.whose, Whose::Nobody) {
            Whose::Nobody => {}
            Whose::Client { number } => {
                let whose = migration.client;
                let silent = change.is_some_and(|change| change.silent);
                let Some(client) = self.clients.get_mut(whose) else { return };
                // This is the last part of the response.
                client.responses.last_part(number);
                match outcome {
                    Outcome::Value(answer) => {
                        [answer, text::END.as_bytes()].iter().for_each(|part| client.responses.put(number, part))
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
                    Outcome::Value(answer) => (Settled::Value(answer.to_vec().into()), None),
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
        let first = self.upstreams.pool(pool).first;
        for (slot, key, key_move, step) in needs {
            let (whose, plan_state) = (Whose::Batch { get, batch, slot }, plan_state.clone());
            let migration =
                KeyMigration::new((client, whose), first, (key, false), (key_move, plan_state), (step, None));
            let migration = self.migrations.insert(migration);
            self.take_step(migration, step);
        }
        any
    }
}
