//! Keys in pools with failover: changes, which concern several servers, and reads from replicas.
//!
//! A change goes to the primary. Before the client gets the response, every other server of the key deletes its copy, and one that is away
//! gets the key into its journal. So no server that is read has anything older than the last acknowledged change. Then the copies are made
//! again as those of moving keys are: with a lease, from the primary's value (`key_migration.rs`). A read that misses at a copy makes it,
//! too. While a write is incomplete, its keys are read at the primary only, so that no client reads a new value and then an old one.

use std::rc::Rc;
use std::sync::Arc;

use fanin_memcache::{Get, Shape};
use fanin_placement::Server as Replica;

use super::Front;
use super::failover::note;
use super::key_migration::{Change, FirstStep, KeyFailover, KeyMigration, Outcome, Owner, SentKey, Step, Whose};
use super::multigets::Retrieval;
use super::upstreams::ask::{Ask, Destination};
use super::upstreams::hedges::Hedges;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::{Reserved, Route};
use fanin_proxy_migration::KeyMove;
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::Class;
use fanin_proxy_routing::writes::{OpenWrite, Writes};

/// Above this number of migrations, no copies are made that no client waits for.
const ENOUGH: usize = 4096;
/// Error for a change that the journal of a server has no room for.
const JOURNAL_FULL: &[u8] = b"SERVER_ERROR too many changes while a server is down\r\n";

/// Changes.
impl<N: Net> Front<N> {
    /// Starts a change of a key in a pool with failover; the key as it is stored, and as it is sent, maybe in base64.
    pub(super) fn change_with_failover(&mut self, pool: usize, key: &[u8], sent: SentKey<'_>, change: Change) {
        let owner = Owner { client: change.ask.client, whose: Whose::Client { number: change.ask.number } };
        let first = FirstStep { step: Step::Change, change: Some(change) };
        let (id, is_noted) = self.begin_change(pool, owner, key, sent, first);
        if is_noted {
            self.take_step(id, Step::Change);
        } else {
            self.deliver_outcome(id, Outcome::Failed(JOURNAL_FULL));
            self.migrations.remove(id);
        }
    }

    /// After a key of a multiget got a new time to live at the primary, the other servers delete it.
    pub(super) fn delete_copies(&mut self, pool: usize, owner: Owner, key: &[u8]) {
        let (id, _) = self.begin_change(pool, owner, key, SentKey::plain(key), Step::DeleteCopy.into());
        self.delete_next_copy(id);
    }

    /// A change of a key; and whether the servers that are away have a note of it, and the others a place for one.
    fn begin_change(
        &mut self,
        pool: usize,
        owner: Owner,
        key: &[u8],
        sent: SentKey<'_>,
        first: FirstStep,
    ) -> (Id, bool) {
        let from = self.upstreams.pool(pool);
        let (members, group) = (from.members(), Writes::group(key));
        let route = members.route(&from.router, key);
        let open = members.has_replicas().then(|| (group, OpenWrite::new(&self.shared.writes, group)));
        let tenant = self.clients.get(owner.client).map(|client| client.tenant().number);
        let reserved = tenant.map_or(Some(Vec::new()), |tenant| self.reserve(pool, &route, tenant));
        let is_noted = reserved.is_some() && self.note_absent(pool, &route, sent, open.is_none(), tenant);
        let [deletes, copies] = [&route.deletes, &route.copies].map(|of| self.slots(pool, of));
        let key_move = KeyMove::between_replicas(route.primary, route.primary);
        let mut migration = self.replica_migration(owner, pool, sent.bytes.to_vec(), sent.base64, key_move, first);
        migration.failover = Some(KeyFailover { open, deletes, copies, reserved: reserved.unwrap_or_default() });
        (self.migrations.insert(migration), is_noted)
    }

    /// Notes a key that a tenant changes for the servers that are away. Without replicas, the primary must delete it, too, when they are
    /// back; returns false if there is no room for it.
    fn note_absent(&self, pool: usize, route: &Route, key: SentKey<'_>, is_moved: bool, tenant: Option<u32>) -> bool {
        let state = |server: usize| {
            let slot = self.upstreams.pool(pool).server(server);
            self.upstreams.server(slot).state_of_all()
        };
        let mut all = true;
        for absent in route.absent.iter().map(|server| state(*server)) {
            let moved_to = is_moved.then(|| state(route.primary));
            all &= absent.journal().add(key.bytes, key.base64, moved_to, tenant);
        }
        all
    }

    /// Places in the journals of the servers that change a key, if all have one.
    fn reserve(&self, pool: usize, route: &Route, tenant: u32) -> Option<Vec<Reserved>> {
        let servers = std::iter::once(&route.primary).chain(&route.deletes);
        let slots = servers.map(|server| self.upstreams.pool(pool).server(*server));
        slots.map(|slot| self.upstreams.server(slot).state_of_all().reserve(tenant)).collect()
    }

    fn slots(&self, pool: usize, servers: &[usize]) -> Vec<usize> {
        servers.iter().map(|server| self.upstreams.pool(pool).server(*server)).collect()
    }

    fn replica_migration(
        &self,
        owner: Owner,
        pool: usize,
        key: Vec<u8>,
        base64: bool,
        key_move: KeyMove,
        first: FirstStep,
    ) -> KeyMigration {
        let from = self.upstreams.pool(pool);
        let (servers, plan_state) = (from.servers_of(&key_move), self.migrations.of_replicas());
        let mut migration = KeyMigration::new(owner, servers, key, base64, key_move, plan_state, first);
        migration.members = Some(from.members().clone());
        migration
    }

    /// A change in a pool with failover has been answered or has failed: other servers delete the key.
    pub(super) fn delete_next_copy(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let Some(failover) = &mut migration.failover else { return };
        match failover.deletes.pop() {
            Some(server) => {
                migration.servers.1 = server;
                self.take_step(id, Step::DeleteCopy);
            }
            None => self.change_ends(id),
        }
    }

    /// The client gets the response; a stored value is then copied.
    fn change_ends(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let stores = migration.change.as_ref().is_some_and(|change| change.stores);
        let copies = migration.failover.take().map_or(Vec::new(), |failover| failover.copies);
        self.deliver_outcome(id, Outcome::Done);
        let Some(migration) = self.migrations.remove(id) else { return };
        for copy in copies.into_iter().filter(|_| stores) {
            if self.migrations.len() >= ENOUGH {
                return;
            }
            let owner = Owner { client: migration.client, whose: Whose::Nobody };
            let mut fill = KeyMigration::new(
                owner,
                (migration.servers.0, copy),
                migration.key.clone(),
                migration.base64,
                migration.key_move,
                migration.plan_state.clone(),
                Step::Copy.into(),
            );
            fill.members = migration.members.clone();
            let fill = self.migrations.insert(fill);
            self.take_step(fill, Step::Copy);
        }
    }

    /// A change has failed at the primary, which may execute it later: until it is away, its keys are read nowhere else.
    pub(super) fn change_fails(&mut self, id: Id, trouble: ServerError) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let Some(failover) = &mut migration.failover else { return };
        failover.copies.clear();
        if matches!(trouble, ServerError::Down | ServerError::Busy) {
            // It was not sent.
            failover.deletes.clear();
            return;
        }
        let server = migration.servers.0;
        self.key_is_uncertain(id, server);
    }

    /// A server has failed to delete its copy.
    pub(super) fn copy_delete_fails(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let server = migration.servers.1;
        if let Some(failover) = &mut migration.failover {
            failover.copies.retain(|copy| *copy != server);
        }
        self.key_is_uncertain(id, server);
        self.delete_next_copy(id);
    }

    /// A server has not flushed everything when asked to: it does so before it is read again.
    pub(super) fn note_flush(&mut self, server: usize, ask: &Ask) {
        if matches!(ask.to, Destination::Flush { .. }) && self.fails_over(server) {
            self.upstreams.server(server).state_of_all().journal().flush_instead();
        }
    }

    /// A step of a migration has ended. If it has failed at a copy, or the connection to that is a new one, a lease may be left there,
    /// which must not be taken for a value.
    pub(super) fn check_lease(&mut self, id: Id, failed: bool) {
        let Some(migration) = self.migrations.get(id).filter(|migration| migration.members.is_some()) else { return };
        let copy = migration.servers.1;
        let at_copy = matches!(migration.step(), Step::Copy | Step::Fill | Step::ReturnLease);
        let life = self.upstreams.server(copy).life();
        if at_copy && failed || migration.step() == Step::Old && migration.has_lost_lease(life) {
            self.key_is_uncertain(id, copy);
        }
    }

    /// Whether a server has executed a change of a key is not known: it leaves, and deletes the key before it is read again.
    fn key_is_uncertain(&mut self, id: Id, server: usize) {
        let Some(migration) = self.migrations.get(id) else { return };
        let of_change = migration.failover.as_ref();
        let group = of_change.and_then(|failover| failover.open.as_ref()).map(|(group, _)| *group);
        let state = self.upstreams.server(server).state_of_all();
        match of_change.and_then(KeyFailover::tenant) {
            Some(tenant) => state.journal().add_reserved(&migration.key, migration.base64, tenant),
            None => note(state, &migration.key, migration.base64),
        }
        if let Some((failover, number)) = self.failover_of(server) {
            let open = group.map(|group| OpenWrite::new(&self.shared.writes, group));
            self.fail_member(server, &failover, number, open);
        }
    }
}

/// Reads.
impl<N: Net> Front<N> {
    /// Requests a key with replicas from the one with the fewest outstanding requests; returns false if the request is for the primary only.
    pub(super) fn get_replicated(&mut self, id: Id, get: &Get<'_>, key: &[u8]) -> bool {
        let Some(pool) = self.clients.get(id).map(|client| client.pool()) else { return true };
        if get.unique || get.time.is_some() {
            return false;
        }
        let (primary, copy, step) = self.choose_replica(pool, key);
        let number = self.expect_one(id, false, Destination::Relay { quiet: false }, Shape::Values, Class::Get).number;
        let key_move = KeyMove::between_replicas(primary, copy);
        let owner = Owner { client: id, whose: Whose::Client { number } };
        let migration = self.replica_migration(owner, pool, key.to_vec(), false, key_move, step.into());
        let migration = self.migrations.insert(migration);
        if copy != primary
            && let Some(hedges) = &mut self.upstreams.pool_mut(pool).hedges
        {
            hedges.sent(self.now, migration);
        }
        self.take_step(migration, step);
        true
    }

    /// Sends gets that have been outstanding for long to a second replica, within the budget.
    pub(super) fn hedge_slow_gets(&mut self) {
        for slot in 0..self.upstreams.pools_mut().len() {
            while let Some(hedges) = &mut self.upstreams.pool_mut(slot).hedges
                && let Some(get) = hedges.take_due(self.now)
            {
                self.hedge(slot, get);
            }
        }
    }

    fn hedge(&mut self, slot: usize, get: Id) {
        let Some(migration) = self.migrations.get_mut(get).filter(|one| one.failures == 0 && one.lease().is_none())
        else {
            return;
        };
        if !matches!(migration.whose, Whose::Client { .. }) {
            return;
        }
        let step = if migration.step() == Step::Copy { Step::Old } else { Step::Copy };
        // Only the primary has the value while a write is incomplete.
        let is_open = step == Step::Copy && self.shared.writes.is_open(Writes::group(&migration.key));
        let pool = self.upstreams.pool_mut(slot);
        // Its servers may have other roles now.
        let is_current = migration.members.as_ref().is_some_and(|members| Arc::ptr_eq(members, pool.members()));
        if is_open || !is_current || !pool.hedges.as_mut().is_some_and(Hedges::spend) {
            return;
        }
        let race = migration.race.insert(Rc::default()).clone();
        let owner = Owner { client: migration.client, whose: migration.whose };
        let (key, key_move) = (migration.key.clone(), migration.key_move);
        let mut second = self.replica_migration(owner, slot, key, false, key_move, step.into());
        (second.race, second.failures) = (Some(race), 1);
        self.counters.replicas_hedged.add(1);
        let second = self.migrations.insert(second);
        self.take_step(second, step);
    }

    /// The primary and a copy of a key that may be read, and the step that reads from the one with fewer outstanding requests. Without a copy,
    /// both are the primary, which is asked as a copy's is: it may have a lease of another front end.
    fn choose_replica(&mut self, pool: usize, key: &[u8]) -> (usize, usize, Step) {
        let route = self.readable(pool, key);
        let load = |server: usize| self.upstreams.server(self.upstreams.pool(pool).server(server)).unanswered();
        let Some(copy) = route.copies.iter().copied().min_by_key(|copy| load(*copy)) else {
            return (route.primary, route.primary, Step::Old);
        };
        let order = load(route.primary).cmp(&load(copy));
        // Of equally loaded ones, each gets its share.
        let step = match order {
            std::cmp::Ordering::Equal if self.upstreams.random().is_multiple_of(1 + route.copies.len() as u64) => {
                Step::Old
            }
            std::cmp::Ordering::Less => Step::Old,
            _ => Step::Copy,
        };
        (route.primary, copy, step)
    }

    /// Servers that have a key's value: during a write only the primary.
    pub(super) fn readable(&self, pool: usize, key: &[u8]) -> Route {
        let from = self.upstreams.pool(pool);
        let mut route = from.members().route(&from.router, key);
        if self.shared.writes.is_open(Writes::group(key)) {
            route.copies.clear();
        }
        route
    }

    /// Chooses the servers of a multiget's first keys, if they have replicas.
    pub(super) fn choose_servers(&mut self, pool: usize, get: &Get<'_>, most: usize) -> Option<Vec<Replica>> {
        if !self.upstreams.pool(pool).has_replicas() || get.unique || get.time.is_some() {
            return None;
        }
        let mut replicas = Vec::with_capacity(most.min(1024));
        for key in get.keys().take(most) {
            let route = self.readable(pool, key);
            let servers = std::iter::once(route.primary).chain(route.copies);
            replicas.push(servers.map(|server| Replica(server as u32)).collect());
        }
        Some(self.upstreams.pool_mut(pool).cover(&replicas))
    }

    /// Reads a key elsewhere after a server has failed to answer; returns whether there is another one.
    pub(super) fn read_elsewhere(&mut self, id: Id) -> bool {
        let Some(migration) = self.migrations.get_mut(id) else { return false };
        let is_read = migration.key_move.is_between_replicas() && migration.failover.is_none();
        if !is_read
            || migration.change.is_some()
            || migration.race.is_some()
            || matches!(migration.whose, Whose::Nobody)
        {
            return false;
        }
        migration.failures += 1;
        let step = match migration.step() {
            Step::Copy => Step::Old,
            Step::Old if migration.lease().is_none() => Step::Copy,
            _ => return false,
        };
        let is_first = migration.failures == 1 && migration.servers.0 != migration.servers.1;
        // Only the primary has the value while a write is incomplete.
        let goes_on = is_first && (step == Step::Old || !self.shared.writes.is_open(Writes::group(&migration.key)));
        if goes_on {
            self.counters.replicas_retried.add(1);
            self.take_step(id, step);
        }
        goes_on
    }

    /// Reads the keys of a failed batch from their other replicas; returns whether any is read.
    pub(super) fn read_batch_elsewhere(&mut self, get: Id, batch: u32) -> bool {
        let Some(multiget) = self.multigets.get_mut(get).filter(|multiget| !multiget.is_over(batch)) else {
            return false;
        };
        let Some(slot) = self.clients.get(multiget.client).map(|client| client.pool()) else { return false };
        if !self.upstreams.pool(slot).has_replicas() || multiget.retrieval() == Retrieval::Touch {
            return false;
        }
        let (asked, with_cas) = (multiget.server_of(batch), multiget.retrieval() == Retrieval::WithCas);
        multiget.forget_values(batch);
        let (client, mut keys) = (multiget.client, Vec::new());
        multiget.each_of(batch, |place, key, _| keys.push((place, key.to_vec())));
        multiget.waits_for(batch, keys.len());
        if with_cas {
            self.read_batch_again(slot, get, batch, keys);
            return true;
        }
        self.counters.replicas_retried.add(keys.len() as u64);
        for (place, key) in keys {
            let owner = Owner { client, whose: Whose::Batch { get, batch, slot: place } };
            self.read_other_replica(slot, owner, key, asked);
        }
        true
    }

    /// Reads a key from a replica other than `failed`; without one, the key counts as failed.
    fn read_other_replica(&mut self, pool: usize, owner: Owner, key: Vec<u8>, failed: usize) {
        let route = self.readable(pool, &key);
        let copy = route.copies.iter().copied().find(|copy| *copy != failed);
        let (step, copy) = match copy {
            _ if route.primary != failed => (Step::Old, route.primary),
            Some(copy) => (Step::Copy, copy),
            None => (Step::Old, route.primary),
        };
        let key_move = KeyMove::between_replicas(route.primary, copy);
        let mut migration = self.replica_migration(owner, pool, key, false, key_move, step.into());
        migration.failures = 1;
        let id = self.migrations.insert(migration);
        self.take_step(id, step);
    }

    /// After all responses of a batch's server, reads keys that it lacks from their primaries, and has the copies of touched keys deleted.
    /// Returns whether there are any.
    pub(super) fn batch_needs_replicas(&mut self, get: Id, batch: u32) -> bool {
        let Some(multiget) = self.multigets.get_mut(get) else { return false };
        let Some(slot) = self.clients.get(multiget.client).map(|client| client.pool()) else { return false };
        let (pool, asked, client) = (self.upstreams.pool(slot), multiget.server_of(batch), multiget.client);
        let touches = multiget.retrieval() == Retrieval::Touch;
        let mut keys = Vec::new();
        multiget.each_of(batch, |place, key, size| {
            let primary = pool.members().primary(&pool.router, key);
            // An empty value may be a lease, also of a server that has become the primary since.
            if touches || size == Some(0) || size.is_none() && primary != asked {
                keys.push((place, key.to_vec(), primary));
            }
        });
        multiget.waits_for(batch, keys.len());
        let any = !keys.is_empty();
        for (place, key, primary) in keys {
            let owner = Owner { client, whose: Whose::Batch { get, batch, slot: place } };
            if touches {
                self.delete_copies(slot, owner, &key);
                continue;
            }
            self.read_and_copy(slot, owner, key, primary, asked);
        }
        any
    }

    /// Reads a key that a hub's answer does not settle at its primary; it was asked of this server, if that is known.
    pub(super) fn read_at_primary(&mut self, slot: usize, owner: Owner, key: Vec<u8>, asked: Option<usize>) {
        let pool = self.upstreams.pool(slot);
        let primary = pool.members().primary(&pool.router, &key);
        let copy = asked.filter(|asked| self.readable(slot, &key).copies.contains(asked));
        self.read_and_copy(slot, owner, key, primary, copy.unwrap_or(primary));
    }

    /// Reads a key at its primary, and copies it to the server that was asked and lacks it.
    fn read_and_copy(&mut self, slot: usize, owner: Owner, key: Vec<u8>, primary: usize, asked: usize) {
        let (key_move, step) =
            (KeyMove::between_replicas(primary, asked), if primary == asked { Step::Old } else { Step::Copy });
        let migration = self.replica_migration(owner, slot, key, false, key_move, step.into());
        let migration = self.migrations.insert(migration);
        self.take_step(migration, step);
    }
}
