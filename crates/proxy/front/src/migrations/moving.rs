//! Requests for keys that move between two servers: look up, copy, change and delete a value, step by step.

use fanin_memcache::{Flags, Get, Keyed, Meta};

use super::key_migration::{Change, Counted, FirstStep, KeyMigration, Outcome, Owner, Progress, SentKey, Step, Whose};
use super::key_migration::{first_step, is_done};
use super::{Action, ENOUGH, Migrations, StepRequest};
use crate::context::Context;
use crate::multigets::{Multiget, Retrieval};
use crate::upstreams::Upstreams;
use crate::upstreams::ask::{Ask, Destination, Recipient};
use crate::upstreams::pool::Pool;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Buffer;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_migration::{KeyMove, LEASE, Location, Side, Stage};
use fanin_proxy_net::Net;

/// How a single get of a moving key is sent.
#[derive(Clone, Copy, Debug)]
pub enum MovingGet {
    /// Plainly, to the authoritative server.
    Plain,
    /// As a migration's lookup at the new server and then the old one, with this first step.
    LookUp(Step),
    /// As a change.
    Change(KeyMove),
}

/// How a pool sends a single get of a moving key.
pub fn moving_get(pool: &Pool, get: &Get<'_>, key_move: KeyMove) -> MovingGet {
    let touches = get.time.is_some();
    if matches!(key_move.stage, Stage::Move | Stage::Copied) && !touches && !get.unique {
        let first = pool.plan_state().and_then(|plan_state| first_step(&plan_state.moves, &key_move));
        return MovingGet::LookUp(first.unwrap_or(Step::Copy));
    }
    pool.key_move_of(Location::Moving(key_move), touches).map_or(MovingGet::Plain, MovingGet::Change)
}

/// A get of a moving key as a change, whose response `ask` is for.
pub fn get_as_change(get: &Get<'_>, key: &[u8], ask: Ask) -> Change {
    let mut bytes = Vec::new();
    get.head(|head| bytes.extend_from_slice(head));
    [b" ", key, b"\r\n"].iter().for_each(|part| bytes.extend_from_slice(part));
    Change { ask, note: key.to_vec(), bytes, stores: false, silent: false }
}

/// The lookup of a moving key for a client's request.
pub fn look_up(pool: &Pool, owner: Owner, key: &[u8], key_move: KeyMove, first: Step) -> Option<KeyMigration> {
    by_plan(pool, owner, SentKey::plain(key), key_move, first.into())
}

/// Copies of the keys that clients may not read before cutover, if no other thread makes them.
pub fn copies_of_unread(pool: &Pool) -> Vec<KeyMigration> {
    let copy = |key: Vec<u8>| {
        let (Location::Moving(key_move), Some(plan_state)) = (pool.place(&key), pool.plan_state()) else { return None };
        let step = first_step(&plan_state.moves, &key_move).unwrap_or(Step::Copy);
        let owner = Owner { client: Id::NOBODY, whose: Whose::Nobody };
        let copies = key_move.stage == Stage::Move;
        copies.then(|| by_plan(pool, owner, SentKey::plain(&key), key_move, step.into())).flatten()
    };
    pool.take_unread().into_iter().filter_map(copy).collect()
}

/// A migration of a key by a pool's plan.
fn by_plan(pool: &Pool, owner: Owner, key: SentKey<'_>, key_move: KeyMove, first: FirstStep) -> Option<KeyMigration> {
    let (plan_state, servers) = (pool.plan_state()?.clone(), pool.servers_of(&key_move));
    Some(KeyMigration::new(owner, servers, key.bytes.to_vec(), key.base64, key_move, plan_state, first))
}

/// A change of a moving key, or a request to its new server that must first be cleared.
pub fn change_moving_key(
    pool: &Pool,
    key: SentKey<'_>,
    key_move: KeyMove,
    change: Change,
    changes: bool,
) -> Option<KeyMigration> {
    let unclear = pool.plan_state().and_then(|plan_state| key_move.unclear_side(&plan_state.moves));
    let step = match (key_move.stage, unclear) {
        (Stage::Turn, _) if changes => Step::DeleteCopy,
        (_, Some(side)) => Step::Clear(side),
        (_, None) => Step::Change,
    };
    let owner = Owner { client: change.ask.client, whose: Whose::Client { number: change.ask.number } };
    by_plan(pool, owner, key, key_move, FirstStep { step, change: Some(change) })
}

/// After all responses of a batch's server: migrations for its moving keys that need another server. The batch waits for these keys.
pub fn moving_keys_of_batch<N: Net>(
    multiget: &mut Multiget,
    get: Id,
    batch: u32,
    pool: &Pool,
    context: &Context<N>,
) -> Vec<KeyMigration> {
    let Some(plan_state) = multiget.plan_state() else { return Vec::new() };
    let asked = multiget.retrieval();
    let mut needs = Vec::new();
    let unclear = multiget.unclear(batch);
    multiget.each_of(batch, |slot, key, size| {
        let was_unclear = unclear.binary_search(&slot).is_ok();
        let Some(key_move) = plan_state.key_move(key, &pool.router, was_unclear) else { return };
        let copies = matches!(key_move.stage, Stage::Move | Stage::Copied);
        let step = match (asked, first_step(&plan_state.moves, &key_move)) {
            (Retrieval::Plain, Some(step)) => step,
            (_, _) if let Some(side) = key_move.unclear_side(&plan_state.moves) => Step::Clear(side),
            // Another thread has cleared the copy since, so the value may be outdated.
            _ if was_unclear => Step::Clear(key_move.side_asked(asked == Retrieval::Plain)),
            (Retrieval::Touch, _) => Step::DeleteCopy,
            (Retrieval::Plain, _) if copies && size.is_none_or(|size| size == 0) => Step::Copy,
            (Retrieval::Plain, _) if copies => return context.counters.moving_found.add(1),
            _ => return,
        };
        needs.push((slot, key.to_vec(), key_move, step));
    });
    multiget.waits_for(batch, needs.len());
    let client = multiget.client;
    let begins = needs.into_iter().map(|(slot, key, key_move, step)| {
        let owner = Owner { client, whose: Whose::Batch { get, batch, slot } };
        let (servers, plan_state) = (pool.servers_of(&key_move), plan_state.clone());
        KeyMigration::new(owner, servers, key, false, key_move, plan_state, step.into())
    });
    begins.collect()
}

impl Migrations {
    /// Takes a step of a migration; returns its request.
    pub fn take_step<N: Net>(
        &mut self,
        id: Id,
        step: Step,
        upstreams: &Upstreams<N::Socket>,
        context: &mut Context<N>,
    ) -> Option<StepRequest> {
        let has_many = self.table.len() > ENOUGH;
        let migration = self.table.get_mut(id)?;
        migration.begin_step(step);
        let (old, new) = migration.servers;
        match step {
            Step::Change => self.change(id, context.now),
            Step::Clear(side) => {
                self.ask(id, if side == Side::Old { old } else { new }, Meta::Delete, "", None, context)
            }
            // A server that may become the primary gets no lease. Of replicas, there are no more than the journals have places for if servers fail.
            Step::Copy
                if migration.key_move.stage == Stage::Move
                    && !upstreams.server(old).is_out()
                    && (migration.members.is_none() || !has_many) =>
            {
                self.ask(id, new, Meta::Get, &format!("f v c N{LEASE}"), None, context)
            }
            Step::Copy => self.ask(id, new, Meta::Get, "f v c", None, context),
            Step::Old => self.ask(id, old, Meta::Get, "f t v", None, context),
            Step::ReturnLease => {
                let flags = migration.lease().map_or(String::new(), |token| format!("C{token}"));
                self.ask(id, new, Meta::Delete, &flags, None, context)
            }
            Step::DeleteCopy => {
                let other = if migration.key_move.stage.is_turned() { old } else { new };
                self.ask(id, other, Meta::Delete, "", None, context)
            }
            // The value is sent with it.
            Step::Fill => None,
        }
    }

    /// The request that stores a copy of a value with these flags.
    pub fn fill<N: Net>(
        &self,
        id: Id,
        server: usize,
        flags: &str,
        value: &[u8],
        context: &mut Context<N>,
    ) -> Option<StepRequest> {
        self.ask(id, server, Meta::Set, flags, Some(value.len() as u32), context)
    }

    /// A meta command with these flags, and a value of this length, for the key of a migration.
    fn ask<N: Net>(
        &self,
        id: Id,
        server: usize,
        command: Meta,
        flags: &str,
        value: Option<u32>,
        context: &mut Context<N>,
    ) -> Option<StepRequest> {
        let mark = context.random_mark();
        let migration = self.table.get(id)?;
        let words = format!("{}{flags}", if migration.base64 { "b " } else { "" });
        let flags = Flags::read(command, &migration.key, words.as_bytes()).ok()?;
        let keyed = Keyed { command: fanin_memcache::Command::Meta(command, flags), key: &migration.key, quiet: false };
        let (mut bytes, mut note) = (Vec::new(), Vec::new());
        keyed.line(value, mark, |part| bytes.extend_from_slice(part));
        keyed.note(mark, |part| note.extend_from_slice(part));
        let changes = migration.members.is_some() && migration.step() != Step::Old;
        // Not part of a client's response.
        let (recipient, to) = (Recipient::apart(migration.client), Destination::KeyMigration(id));
        let ask = Ask { changes, ..Ask::new(recipient, to, keyed.shape(), context.now) };
        Some(StepRequest { server, ask, note, bytes })
    }

    /// The change at the authoritative server. After cutover this is the last step.
    fn change(&mut self, id: Id, now: Nanos) -> Option<StepRequest> {
        let migration = self.table.get_mut(id)?;
        let change = migration.change.as_mut()?;
        let (bytes, note) = (std::mem::take(&mut change.bytes), std::mem::take(&mut change.note));
        let (old, new) = migration.servers;
        let (ask, is_turned) = (change.ask, migration.key_move.stage.is_turned());
        let (server, then) = if is_turned { (new, None) } else { (old, Some(id)) };
        if is_turned {
            self.table.remove(id);
        }
        Some(StepRequest { server, ask: Ask { then, at: now, ..ask }, note, bytes })
    }

    /// The change has been answered, or has failed and may have happened.
    pub fn change_responded(&mut self, id: Id) -> Vec<Action<'static>> {
        match self.table.get(id) {
            Some(migration) if migration.failover.is_some() => self.change_goes_on(id),
            _ => vec![Action::Next(id, Some(Step::DeleteCopy))],
        }
    }

    /// Takes all response bytes of the current step, which is complete.
    pub fn take_received(&mut self, id: Id) -> Buffer {
        self.table.get_mut(id).map(KeyMigration::take_received).unwrap_or_default()
    }

    /// Continues after this complete response.
    pub fn step_responded<'a, N: Net>(
        &mut self,
        id: Id,
        come: &'a [u8],
        upstreams: &Upstreams<N::Socket>,
        context: &Context<N>,
    ) -> Vec<Action<'a>> {
        let mut actions: Vec<Action<'a>> = self.check_lease(id, false, upstreams).into_iter().collect();
        let full = self.table.len() >= ENOUGH;
        let Some(migration) = self.table.get_mut(id) else { return actions };
        let (_, server) = migration.servers;
        if migration.failover.is_some() {
            let more = if is_done(come) { self.change_goes_on(id) } else { self.copy_delete_fails(id, upstreams) };
            actions.extend(more);
            return actions;
        }
        let life = upstreams.server(server).life();
        let Progress { counts, outcome, next, copy } = migration.responded(come, life, full);
        let counters = &context.counters;
        match counts {
            _ if migration.key_move.is_between_replicas() => {
                counters.replicas_copied.add(u64::from(counts == Some(Counted::Copied)))
            }
            None => {}
            Some(Counted::Found) => counters.moving_found.add(1),
            Some(Counted::FellBack) => counters.moving_fell_back.add(1),
            Some(Counted::Copied) => counters.moving_copied.add(1),
        }
        actions.extend(outcome.and_then(|outcome| self.deliver(id, outcome)));
        actions.push(Action::Next(id, next));
        actions.extend(copy.map(|(flags, value)| Action::Fill { id, server, flags, value }));
        actions
    }

    /// Handles a failed step.
    pub fn step_failed<N: Net>(
        &mut self,
        id: Id,
        trouble: ServerError,
        upstreams: &Upstreams<N::Socket>,
        context: &Context<N>,
    ) -> Vec<Action<'static>> {
        let Some(migration) = self.table.get(id) else { return Vec::new() };
        if migration.failover.is_some() {
            return self.copy_delete_fails(id, upstreams);
        }
        let was_sent = !matches!(trouble, ServerError::Down | ServerError::Busy);
        let mut actions: Vec<Action<'static>> = self.check_lease(id, was_sent, upstreams).into_iter().collect();
        if let Some(step) = self.other_replica(id, context) {
            actions.push(Action::Next(id, Some(step)));
            return actions;
        }
        let Some(migration) = self.table.get(id) else { return actions };
        let misses = migration.change.is_none() && upstreams.pool_of(migration.servers.0).misses(trouble);
        let outcome = if misses { Outcome::Missed } else { Outcome::Failed(trouble.text().as_bytes()) };
        let life = upstreams.server(migration.servers.1).life();
        let next = if migration.step() == Step::Old { migration.return_lease(life) } else { None };
        actions.extend(self.deliver(id, outcome));
        actions.push(Action::Next(id, next));
        actions
    }
}
