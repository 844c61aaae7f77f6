//! Keys in pools with failover: changes, which concern several servers, and reads from replicas.
//!
//! A change goes to the primary. Before the client gets the response, every other server of the key deletes its copy, and one that is away
//! gets the key into its journal. So no server that is read has anything older than the last acknowledged change. Then the copies are made
//! again as those of moving keys are: with a lease, from the primary's value (`key_migration.rs`). A read that misses at a copy makes it,
//! too. While a write is incomplete, its keys are read at the primary only, so that no client reads a new value and then an old one.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use fanin_memcache::Get;

use super::key_migration::{Change, FirstStep, KeyFailover, KeyMigration, Outcome, Owner, Race, SentKey, Step, Whose};
use super::{Action, Migrations};
use crate::context::Context;
use crate::multigets::{Multiget, Retrieval};
use crate::upstreams::hedges::Hedges;
use crate::upstreams::pool::Pool;
use crate::upstreams::{Upstreams, note_key};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::{Reserved, Route};
use fanin_proxy_migration::{KeyMove, MigrationState, ReplicaMove, Side, Stage};
use fanin_proxy_net::Net;
use fanin_proxy_routing::writes::{OpenWrite, Writes};

/// Error for a change that the journal of a server has no room for.
const JOURNAL_FULL: &[u8] = b"SERVER_ERROR too many changes while a server is down\r\n";

/// A change of a key in a pool with failover.
#[derive(Debug)]
pub struct FailoverChange {
    migration: KeyMigration,
    /// Whether the servers that are away have a note of it, and the others a place for one.
    is_noted: bool,
}

/// A key of a batch that is read at its primary, or whose copies are deleted since it was touched.
#[derive(Debug)]
pub struct KeyOfBatch {
    pub owner: Owner,
    pub key: Vec<u8>,
    pub touched: bool,
    /// Whether its servers must be cleared first.
    pub unclear: bool,
    primary: usize,
    /// The server that was asked.
    asked: usize,
}

/// Whether any replica of a key can answer a get; else only its primary does.
pub fn any_replica_answers(get: &Get<'_>) -> bool {
    !get.unique && get.time.is_none()
}

/// After all responses of a batch's server: the keys that it lacks, and those whose time to live was changed. The batch waits for them.
pub fn keys_of_batch(multiget: &mut Multiget, get: Id, batch: u32, pool: &Pool) -> Vec<KeyOfBatch> {
    let (client, asked) = (multiget.client, multiget.server_of(batch));
    let touched = multiget.retrieval() == Retrieval::Touch;
    let mut keys = Vec::new();
    let all_unclear = multiget.unclear(batch);
    multiget.each_of(batch, |slot, key, size| {
        let primary = pool.primary(key);
        let unclear = all_unclear.binary_search(&slot).is_ok();
        // An empty value may be a lease, also of a server that has become the primary since.
        if touched || unclear || size == Some(0) || size.is_none() && primary != asked {
            let owner = Owner { client, whose: Whose::Batch { get, batch, slot } };
            keys.push(KeyOfBatch { owner, key: key.to_vec(), touched, unclear, primary, asked });
        }
    });
    multiget.waits_for(batch, keys.len());
    keys
}

/// Migrations of the keys of a pool with failover.
pub struct OfPool<'a, S> {
    slot: usize,
    upstreams: &'a Upstreams<S>,
    /// State of keys that no plan moves.
    of_replicas: &'a Arc<MigrationState>,
}

impl<S> OfPool<'_, S> {
    fn pool(&self) -> &Pool {
        self.upstreams.pool(self.slot)
    }

    fn migration(&self, owner: Owner, key: Vec<u8>, base64: bool, key_move: KeyMove, first: FirstStep) -> KeyMigration {
        let (pool, servers) = (self.pool(), self.pool().servers_of(&key_move));
        let plan_state = pool.plan_state().unwrap_or(self.of_replicas).clone();
        let mut migration = KeyMigration::new(owner, servers, key, base64, key_move, plan_state, first);
        migration.members = Some(pool.members().clone());
        migration
    }

    /// A client's change of a key, which is given as it is stored, and as it is sent, maybe in base64; and the tenant of its client.
    pub fn change<N: Net<Socket = S>>(
        &self,
        key: &[u8],
        sent: SentKey<'_>,
        change: Change,
        tenant: Option<u32>,
        context: &Context<N>,
    ) -> FailoverChange {
        let owner = Owner { client: change.ask.client, whose: Whose::Client { number: change.ask.number } };
        let first = FirstStep { step: Step::Change, change: Some(change) };
        self.change_of(owner, key, sent, first, tenant, context)
    }

    /// A change of a key; and whether the servers that are away have a note of it, and the others a place for one.
    fn change_of<N: Net<Socket = S>>(
        &self,
        owner: Owner,
        key: &[u8],
        sent: SentKey<'_>,
        first: FirstStep,
        tenant: Option<u32>,
        context: &Context<N>,
    ) -> FailoverChange {
        let (pool, group) = (self.pool(), Writes::group(key));
        let by_plan = pool.replica_move(key);
        let route = pool.route(key, by_plan.as_ref());
        let open = pool.has_replicas().then(|| (group, OpenWrite::new(context.writes(), group)));
        let reserved = tenant.map_or(Some(Vec::new()), |tenant| self.reserve(&route, tenant));
        let is_noted = reserved.is_some() && self.note_absent(&route, sent, open.is_none(), tenant);
        let stores = first.change.as_ref().is_some_and(|change| change.stores);
        let copies = if stores && pool.is_in_force() { self.copies_of(&route, by_plan.as_ref()) } else { Vec::new() };
        let unclear = by_plan.as_ref().map_or(Vec::new(), ReplicaMove::unclear);
        let (before, deletes) = self.deletions(&route, by_plan.as_ref(), &unclear);
        let mut failover = KeyFailover {
            open,
            before: self.slots(&before),
            is_prepared: false,
            deletes: self.slots(&deletes),
            copies: self.slots(&copies),
            reserved: reserved.unwrap_or_default(),
            index: by_plan.filter(|_| is_noted).map(|by_plan| by_plan.index),
            misses: unclear.contains(&route.primary),
        };
        let key_move = KeyMove::between_replicas(route.primary, route.primary, true);
        let changes = first.change.is_some();
        let mut migration = self.migration(owner, sent.bytes.to_vec(), sent.base64, key_move, first);
        match failover.before.pop_if(|_| changes) {
            Some(server) => {
                migration.begin_step(Step::DeleteCopy);
                migration.servers.1 = server;
            }
            None => failover.is_prepared = changes,
        }
        migration.failover = Some(failover);
        FailoverChange { migration, is_noted }
    }

    /// The servers that delete a key before it is changed, and afterwards; the last ones first.
    fn deletions(&self, route: &Route, by_plan: Option<&ReplicaMove>, unclear: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut deletes = route.deletes.clone();
        let Some(by_plan) = by_plan else { return (Vec::new(), deletes) };
        let in_use = |server: &usize| *server == route.primary || deletes.contains(server);
        let mut before: Vec<usize> = unclear.iter().copied().filter(in_use).collect();
        // The primary of threads and front ends on the other side of the cutover. It deletes the key again after the change, before the
        // others do: they would get copies from it.
        let others = by_plan.other_homes();
        let other = (!others.is_empty()).then(|| self.pool().members().among(others, &[], false).primary);
        if let Some(place) = other.and_then(|other| deletes.iter().position(|server| *server == other)) {
            let first = deletes.remove(place);
            deletes.push(first);
            if !before.contains(&first) {
                before.push(first);
            }
        }
        (before, deletes)
    }

    /// The servers that get a copy of a stored value.
    fn copies_of(&self, route: &Route, by_plan: Option<&ReplicaMove>) -> Vec<usize> {
        match by_plan {
            Some(by_plan) if !by_plan.makes_copies() => Vec::new(),
            // The new servers are clear when they have deleted the key.
            Some(by_plan) if by_plan.stage == Stage::Move => {
                self.pool().members().among(by_plan.homes(), &by_plan.others(), true).copies
            }
            _ => route.copies.clone(),
        }
    }

    /// Clears the servers of a key that may have older values; then the key is missing.
    pub fn clear<N: Net<Socket = S>>(&self, owner: Owner, key: &[u8], context: &Context<N>) -> KeyMigration {
        let first = Step::DeleteCopy.into();
        let mut migration = self.change_of(owner, key, SentKey::plain(key), first, None, context).migration;
        migration.failover.iter_mut().for_each(|failover| failover.misses = true);
        migration
    }

    /// Copies of a key that a plan moves, at its new servers. If these may have older values, they delete the key first.
    pub fn copies_by_plan<N: Net<Socket = S>>(&self, key: &[u8], context: &Context<N>) -> Vec<KeyMigration> {
        let pool = self.pool();
        let Some(by_plan) = pool.replica_move(key).filter(|by_plan| by_plan.stage == Stage::Move) else {
            return Vec::new();
        };
        let route = pool.members().among(by_plan.homes(), &by_plan.others(), true);
        let joining =
            |servers: &[usize]| by_plan.joining().filter(|server| servers.contains(server)).collect::<Vec<_>>();
        let owner = Owner { client: Id::NOBODY, whose: Whose::Nobody };
        if by_plan.has_copies() {
            let copy = |server| self.read_and_copy(owner, key.to_vec(), route.primary, server);
            return joining(&route.copies).into_iter().map(copy).collect();
        }
        // Before it is read, the old servers must be cleared, too.
        if !by_plan.unclear().is_empty() {
            return Vec::new();
        }
        let mut clears = self.clear(owner, key, context);
        if let Some(failover) = &mut clears.failover {
            failover.deletes = self.slots(&joining(&route.deletes));
            failover.copies = self.slots(&joining(&route.copies));
        }
        vec![clears]
    }

    /// Notes a key that a tenant changes for the servers that are away. Without replicas, the primary must delete it, too, when they are
    /// back; returns false if there is no room for it.
    fn note_absent(&self, route: &Route, key: SentKey<'_>, is_moved: bool, tenant: Option<u32>) -> bool {
        let state = |server: usize| self.upstreams.server(self.pool().server(server)).state_of_all();
        let mut all = true;
        for absent in route.absent.iter().map(|server| state(*server)) {
            let moved_to = is_moved.then(|| state(route.primary));
            all &= absent.journal().add(key.bytes, key.base64, moved_to, tenant);
        }
        all
    }

    /// Places in the journals of the servers that change a key, if all have one.
    fn reserve(&self, route: &Route, tenant: u32) -> Option<Vec<Reserved>> {
        let servers = std::iter::once(&route.primary).chain(&route.deletes);
        let slots = servers.map(|server| self.pool().server(*server));
        slots.map(|slot| self.upstreams.server(slot).state_of_all().reserve(tenant)).collect()
    }

    fn slots(&self, servers: &[usize]) -> Vec<usize> {
        servers.iter().map(|server| self.pool().server(*server)).collect()
    }

    /// Between the primary and a copy of a key.
    fn between_replicas(&self, key: &[u8], primary: usize, copy: usize) -> KeyMove {
        let by_plan = self.pool().replica_move(key);
        let makes_copies = by_plan.is_none_or(|by_plan| by_plan.makes_copies()) && self.pool().is_in_force();
        KeyMove::between_replicas(primary, copy, makes_copies)
    }

    /// A get of a key from the replica with the fewest outstanding requests; and whether that is a copy's.
    pub fn get<N: Net<Socket = S>>(&self, owner: Owner, key: &[u8], context: &mut Context<N>) -> (KeyMigration, bool) {
        let (primary, copy, step) = self.choose_replica(key, context);
        let key_move = self.between_replicas(key, primary, copy);
        (self.migration(owner, key.to_vec(), false, key_move, step.into()), copy != primary)
    }

    /// The primary and a copy of a key that may be read, and the step that reads from the one with fewer outstanding requests. Without a copy,
    /// both are the primary, which is asked as a copy's is: it may have a lease of another front end.
    fn choose_replica<N: Net<Socket = S>>(&self, key: &[u8], context: &mut Context<N>) -> (usize, usize, Step) {
        let route = self.upstreams.readable(self.slot, key, context.writes());
        let load = |server: usize| self.upstreams.load(self.slot, server);
        let Some(copy) = route.copies.iter().copied().min_by_key(|copy| load(*copy)) else {
            return (route.primary, route.primary, Step::Old);
        };
        // Of equally loaded ones, each gets its share.
        let step = match load(route.primary).cmp(&load(copy)) {
            Ordering::Equal if context.random().is_multiple_of(1 + route.copies.len() as u64) => Step::Old,
            Ordering::Less => Step::Old,
            _ => Step::Copy,
        };
        (route.primary, copy, step)
    }

    /// A read of a key of a batch, which a server has `failed` to answer, from another replica; without one, from the same.
    pub fn read_other<N: Net<Socket = S>>(
        &self,
        owner: Owner,
        key: Vec<u8>,
        failed: usize,
        context: &Context<N>,
    ) -> KeyMigration {
        if self.pool().must_clear(&key) {
            return self.clear(owner, &key, context);
        }
        let route = self.upstreams.readable(self.slot, &key, context.writes());
        let copy = route.copies.iter().copied().find(|copy| *copy != failed);
        let (step, copy) = match copy {
            _ if route.primary != failed => (Step::Old, route.primary),
            Some(copy) => (Step::Copy, copy),
            None => (Step::Old, route.primary),
        };
        let key_move = self.between_replicas(&key, route.primary, copy);
        let mut migration = self.migration(owner, key, false, key_move, step.into());
        migration.failures = 1;
        migration
    }

    /// A read, at its primary, of a key that a hub's answer does not settle; it was asked of this server, if that is known.
    pub fn read_at_primary<N: Net<Socket = S>>(
        &self,
        owner: Owner,
        key: Vec<u8>,
        asked: Option<usize>,
        context: &Context<N>,
    ) -> KeyMigration {
        let primary = self.pool().primary(&key);
        let readable = || self.upstreams.readable(self.slot, &key, context.writes());
        let copy = asked.filter(|asked| readable().copies.contains(asked));
        self.read_and_copy(owner, key, primary, copy.unwrap_or(primary))
    }

    /// A read of a key at its primary, which copies it to the server that was asked and lacks it.
    fn read_and_copy(&self, owner: Owner, key: Vec<u8>, primary: usize, asked: usize) -> KeyMigration {
        let step = if primary == asked { Step::Old } else { Step::Copy };
        let key_move = self.between_replicas(&key, primary, asked);
        self.migration(owner, key, false, key_move, step.into())
    }

    /// A read of a key of a batch that its server lacks; or a change that deletes the copies of a touched one of a tenant.
    pub fn of_batch<N: Net<Socket = S>>(
        &self,
        of: KeyOfBatch,
        tenant: Option<u32>,
        context: &Context<N>,
    ) -> KeyMigration {
        let KeyOfBatch { owner, key, touched, unclear, primary, asked } = of;
        if unclear && !touched {
            return self.clear(owner, &key, context);
        }
        if touched {
            let first = Step::DeleteCopy.into();
            return self.change_of(owner, &key, SentKey::plain(&key), first, tenant, context).migration;
        }
        self.read_and_copy(owner, key, primary, asked)
    }

    /// The same get as one that has been outstanding for long, at a second replica.
    pub fn hedge(&self, of: Hedge) -> KeyMigration {
        let Hedge { owner, key, key_move, step, race } = of;
        let mut second = self.migration(owner, key, false, key_move, step.into());
        (second.race, second.failures) = (Some(race), 1);
        second
    }
}

/// A get that is sent to a second replica.
#[derive(Debug)]
pub struct Hedge {
    owner: Owner,
    key: Vec<u8>,
    key_move: KeyMove,
    step: Step,
    race: Rc<Race>,
}

impl Migrations {
    /// Migrations of the keys of a pool with failover, by its slot.
    pub fn of_pool<'a, S>(&'a self, slot: usize, upstreams: &'a Upstreams<S>) -> OfPool<'a, S> {
        OfPool { slot, upstreams, of_replicas: &self.of_replicas }
    }

    /// Begins a change of a key of a pool with failover; returns its first step. Without room to note it, there is none, but a refusal for
    /// the client.
    pub fn begin_change(&mut self, change: FailoverChange) -> Result<(Id, Step), Option<Action<'static>>> {
        let FailoverChange { migration, is_noted } = change;
        let (id, step) = self.begin(migration);
        if is_noted {
            return Ok((id, step));
        }
        let refusal = self.deliver(id, Outcome::Failed(JOURNAL_FULL));
        self.end(id);
        Err(refusal)
    }

    /// The next step of a change in a pool with failover, when the last one has been answered or has failed: servers delete the key before
    /// the change, and others after it.
    pub fn change_goes_on(&mut self, id: Id) -> Vec<Action<'static>> {
        let Some(migration) = self.table.get_mut(id) else { return Vec::new() };
        let Some(failover) = &mut migration.failover else { return Vec::new() };
        let mut next = failover.before.pop();
        if next.is_none() && !std::mem::replace(&mut failover.is_prepared, true) {
            let moves = &migration.plan_state.moves;
            let sides = if migration.plan_state.stage.is_turned() { &[Side::Old, Side::New][..] } else { &[Side::Old] };
            failover.index.into_iter().for_each(|index| sides.iter().for_each(|side| moves.cleared(index, *side)));
            if migration.change.is_some() {
                return vec![Action::Next(id, Some(Step::Change))];
            }
        }
        next = next.or_else(|| failover.deletes.pop());
        match next {
            Some(server) => {
                migration.servers.1 = server;
                vec![Action::Next(id, Some(Step::DeleteCopy))]
            }
            None => self.change_ends(id),
        }
    }

    /// The client gets the response; a stored value is then copied.
    fn change_ends(&mut self, id: Id) -> Vec<Action<'static>> {
        let Some(migration) = self.table.get_mut(id) else { return Vec::new() };
        let Some(KeyFailover { copies, index, misses, .. }) = migration.failover.take() else { return Vec::new() };
        index.into_iter().for_each(|index| migration.plan_state.moves.cleared(index, Side::New));
        let outcome = if misses && migration.change.is_none() { Outcome::Missed } else { Outcome::Done };
        self.deliver(id, outcome).into_iter().chain([Action::Copy { change: id, to: copies }]).collect()
    }

    /// Ends a change; returns the migrations that copy its value to servers.
    pub fn copies(&mut self, change: Id, to: Vec<usize>) -> Vec<KeyMigration> {
        let Some(migration) = self.table.remove(change) else { return Vec::new() };
        let copy = |copy| {
            let owner = Owner { client: migration.client, whose: Whose::Nobody };
            let (servers, plan_state) = ((migration.servers.0, copy), migration.plan_state.clone());
            let (key, key_move) = (migration.key.clone(), migration.key_move);
            let mut fill =
                KeyMigration::new(owner, servers, key, migration.base64, key_move, plan_state, Step::Copy.into());
            fill.members = migration.members.clone();
            fill
        };
        to.into_iter().map(copy).collect()
    }

    /// A change has failed at the primary, which may execute it later: until it is away, its keys are read nowhere else.
    pub fn change_fails<S>(
        &mut self,
        id: Id,
        trouble: ServerError,
        upstreams: &Upstreams<S>,
    ) -> Option<Action<'static>> {
        let migration = self.table.get_mut(id)?;
        let failover = migration.failover.as_mut()?;
        (failover.copies, failover.index) = (Vec::new(), None);
        if matches!(trouble, ServerError::Down | ServerError::Busy) {
            // It was not sent.
            failover.deletes.clear();
            return None;
        }
        Some(key_is_uncertain(migration, migration.servers.0, upstreams))
    }

    /// A server has failed to delete its copy.
    pub(super) fn copy_delete_fails<S>(&mut self, id: Id, upstreams: &Upstreams<S>) -> Vec<Action<'static>> {
        let Some(migration) = self.table.get_mut(id) else { return Vec::new() };
        let server = migration.servers.1;
        let mut actions = vec![key_is_uncertain(migration, server, upstreams)];
        let Some(failover) = &mut migration.failover else { return actions };
        failover.copies.retain(|copy| *copy != server);
        failover.index = None;
        if !failover.is_prepared {
            // The key has not been changed or read.
            actions.extend(self.deliver(id, Outcome::Failed(ServerError::Down.text().as_bytes())));
            actions.push(Action::Next(id, None));
            return actions;
        }
        actions.extend(self.change_goes_on(id));
        actions
    }

    /// A step of a migration has ended. If it has failed at a copy, or the connection to that is a new one, a lease may be left there,
    /// which must not be taken for a value.
    pub(super) fn check_lease<S>(&self, id: Id, failed: bool, upstreams: &Upstreams<S>) -> Option<Action<'static>> {
        let migration = self.table.get(id).filter(|migration| migration.members.is_some())?;
        let copy = migration.servers.1;
        let at_copy = matches!(migration.step(), Step::Copy | Step::Fill | Step::ReturnLease);
        let is_lost = || migration.step() == Step::Old && migration.has_lost_lease(upstreams.server(copy).life());
        (at_copy && failed || is_lost()).then(|| key_is_uncertain(migration, copy, upstreams))
    }

    /// Prepares a get that has been outstanding for long to be sent to a second replica, if that is possible and the pool's budget has
    /// room for it.
    pub fn hedge<N: Net>(&mut self, get: Id, pool: &mut Pool, context: &Context<N>) -> Option<Hedge> {
        let migration = self.table.get_mut(get).filter(|one| one.failures == 0 && one.lease().is_none())?;
        if !matches!(migration.whose, Whose::Client { .. }) {
            return None;
        }
        let step = if migration.step() == Step::Copy { Step::Old } else { Step::Copy };
        // Only the primary has the value while a write is incomplete.
        let is_open = step == Step::Copy && context.writes().is_open(Writes::group(&migration.key));
        // Its servers may have other roles now.
        let is_current = migration.members.as_ref().is_some_and(|members| Arc::ptr_eq(members, pool.members()));
        if is_open || !is_current || !pool.hedges.as_mut().is_some_and(Hedges::spend) {
            return None;
        }
        let race = migration.race.insert(Rc::default()).clone();
        let owner = Owner { client: migration.client, whose: migration.whose };
        Some(Hedge { owner, key: migration.key.clone(), key_move: migration.key_move, step, race })
    }

    /// The step that reads a key elsewhere after a server has failed to answer, if there is another one.
    pub(super) fn other_replica<N: Net>(&mut self, id: Id, context: &Context<N>) -> Option<Step> {
        let migration = self.table.get_mut(id)?;
        let is_read = migration.key_move.is_between_replicas() && migration.failover.is_none();
        if !is_read
            || migration.change.is_some()
            || migration.race.is_some()
            || matches!(migration.whose, Whose::Nobody)
        {
            return None;
        }
        migration.failures += 1;
        let step = match migration.step() {
            Step::Copy => Step::Old,
            Step::Old if migration.lease().is_none() => Step::Copy,
            _ => return None,
        };
        let is_first = migration.failures == 1 && migration.servers.0 != migration.servers.1;
        // Only the primary has the value while a write is incomplete.
        let is_open = || context.writes().is_open(Writes::group(&migration.key));
        let goes_on = is_first && (step == Step::Old || !is_open());
        context.counters.replicas_retried.add(u64::from(goes_on));
        goes_on.then_some(step)
    }
}

/// Whether a server has executed a change of a key is not known: it leaves, and deletes the key before it is read again.
fn key_is_uncertain<S>(migration: &KeyMigration, server: usize, upstreams: &Upstreams<S>) -> Action<'static> {
    let of_change = migration.failover.as_ref();
    let group = of_change.and_then(|failover| failover.open.as_ref()).map(|(group, _)| *group);
    let state = upstreams.server(server).state_of_all();
    match of_change.and_then(KeyFailover::tenant) {
        Some(tenant) => state.journal().add_reserved(&migration.key, migration.base64, tenant),
        None => note_key(state, &migration.key, migration.base64),
    }
    Action::Replace { server, group }
}
