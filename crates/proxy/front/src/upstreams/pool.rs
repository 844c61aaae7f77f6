//! A thread's state of a pool: placement and concurrency limits.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_memcache::Limits;
use fanin_placement::Cover;

use super::hedges::Hedges;
use fanin_proxy_config::OnDown;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_core::memory::Charge;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::{Members, Route};
use fanin_proxy_migration::{KeyMove, Location, MigrationState, ReplicaMove, Stage};
use fanin_proxy_observe::metrics::PoolFigures;
use fanin_proxy_routing::Router;
use fanin_proxy_state::shared::PoolState;

/// No server gets more requests for keys than this multiple of the mean, in 256ths, as long as others have them.
const MOST_LOAD: u64 = 320;
/// Capacity that an empty list of multigets keeps.
const MOST_KEPT: usize = 1024;
/// Maximum age of a cached concurrency limit: picoseconds in 64 bits overflow after months.
const LONGEST_KEPT: Nanos = 24 * 3600 * 1_000_000_000;

/// Future of a pool's clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// They stay: the pool is in force.
    None,
    /// They go to this pool when their outstanding requests are complete.
    Pool(usize),
    /// They are closed then.
    Closing,
}

/// A pool.
pub struct Pool {
    pub shared: Arc<PoolState>,
    pub router: Router,
    /// Which servers are in use. Without failover, all are.
    members: Arc<Members>,
    /// Choice of replicas for multigets.
    cover: Option<Cover>,
    /// Its migration, if any.
    plan_state: Option<Arc<MigrationState>>,
    pub limits: Limits,
    /// Its servers, in the router's order.
    servers: Vec<u32>,
    /// Number of its clients in this thread.
    pub clients: usize,
    /// Where its clients go when the settings have changed.
    pub successor: Successor,
    thread: usize,
    /// Initial concurrency limit of a multiget, and the most servers that it allows, if a prediction limits them.
    fresh: Window,
    most: Option<u32>,
    /// Limit of the last multiget and its time zero, if limits are cached.
    kept: Option<(Nanos, Window)>,
    /// Time from which a multiget is reported as slow.
    pub slow: Nanos,
    /// Whether equal gets are joined.
    pub joins: bool,
    /// Whether clients may send administrative commands.
    pub admin: bool,
    /// Whether a get of a key whose server is down is a miss.
    misses_when_down: bool,
    /// Multigets to check for late batches, with times; the delay is the same for all.
    late: VecDeque<(Nanos, Id)>,
    charge: Charge,
    /// Gets to send to another replica if they are not answered.
    pub hedges: Option<Hedges>,
}

impl Pool {
    /// A server by its number in the router.
    pub fn server(&self, number: usize) -> usize {
        self.servers[number] as usize
    }

    /// Its servers, in the router's order.
    pub fn servers(&self) -> &[u32] {
        &self.servers
    }

    /// The old and the new server of a moving key.
    pub fn servers_of(&self, key_move: &KeyMove) -> (usize, usize) {
        (self.server(key_move.old), self.server(key_move.new))
    }

    /// Gives up its servers, when its last client has left.
    pub fn release(&mut self) -> Vec<u32> {
        (self.late, self.charge, self.hedges) = Default::default();
        std::mem::take(&mut self.servers)
    }

    /// Its figures in this thread.
    pub fn figures(&self) -> &PoolFigures {
        &self.shared.figures[self.thread]
    }

    /// Location of a key.
    pub fn place(&self, key: &[u8]) -> Location {
        match &self.plan_state {
            Some(plan_state) if !self.has_replicas() => plan_state.place(key, &self.router),
            _ => Location::At(self.primary(key)),
        }
    }

    /// The move of a key with replicas, if the plan names it.
    pub fn replica_move(&self, key: &[u8]) -> Option<ReplicaMove> {
        self.plan_state.as_ref().filter(|_| self.has_replicas())?.replicas_of(key, &self.router)
    }

    /// The server that has the value of a key with replicas, or of one that no plan moves.
    pub fn primary(&self, key: &[u8]) -> usize {
        match self.replica_move(key) {
            Some(key_move) => self.members.among(key_move.homes(), &[], false).primary,
            None => self.members.primary(&self.router, key),
        }
    }

    /// Servers of a key with replicas, or of one that no plan moves.
    pub fn route(&self, key: &[u8], key_move: Option<&ReplicaMove>) -> Route {
        match key_move {
            Some(key_move) => self.members.among(key_move.homes(), &key_move.others(), key_move.has_copies()),
            None => self.members.route(&self.router, key),
        }
    }

    /// Whether a key with replicas must be copied to servers that a plan adds, which may have older values.
    pub fn lacks_copies(&self, key: &[u8]) -> bool {
        self.replica_move(key).is_some_and(|key_move| key_move.stage == Stage::Move && !key_move.has_copies())
    }

    /// Whether servers of a key with replicas must be cleared before it is read.
    pub fn must_clear(&self, key: &[u8]) -> bool {
        self.replica_move(key).is_some_and(|key_move| !key_move.unclear().is_empty())
    }

    /// Whether the server to ask may hold something older than the key's last change.
    pub fn is_unclear(&self, key: &[u8], place: &Location, plainly: bool) -> bool {
        if self.has_replicas() {
            return self.must_clear(key);
        }
        let (Location::Moving(key_move), Some(plan_state)) = (place, &self.plan_state) else { return false };
        !plan_state.moves.is_clear(key_move.index, key_move.side_asked(plainly))
    }

    /// Its migration, if any.
    pub fn plan_state(&self) -> Option<&Arc<MigrationState>> {
        self.plan_state.as_ref()
    }

    /// Takes the current state of its migration.
    pub fn follow_plan(&mut self) {
        self.plan_state = self.shared.plan.as_ref().map(|plan| plan.state());
    }

    /// Keys of the plan to copy, if no other thread has taken them.
    pub fn take_unread(&self) -> Vec<Vec<u8>> {
        self.shared.plan.as_ref().map(|plan| std::mem::take(&mut *plan.unread())).unwrap_or_default()
    }

    /// Which servers are in use.
    pub fn members(&self) -> &Arc<Members> {
        &self.members
    }

    /// Whether others answer for a server that is down.
    pub fn fails_over(&self) -> bool {
        self.shared.failover.as_ref().is_some_and(|failover| failover.replaces())
    }

    /// Whether keys have replicas.
    pub fn has_replicas(&self) -> bool {
        self.cover.is_some()
    }

    /// Whether values are copied between its servers.
    pub fn makes_copies(&self) -> bool {
        self.has_replicas() || self.plan_state.is_some()
    }

    /// Takes the current members; returns them if they are others.
    pub fn follow_members(&mut self) -> Option<Arc<Members>> {
        let current = self.shared.failover.as_ref()?.members();
        let is_new = !Arc::ptr_eq(&self.members, &current);
        self.members = current.clone();
        is_new.then_some(current)
    }

    /// Whether it is one of the settings in force. If not, a lease that its reads took would delay no server that becomes a primary.
    pub fn is_in_force(&self) -> bool {
        self.successor == Successor::None
    }

    /// Keeps the members that it has, without delaying others: its clients only wait for outstanding requests.
    pub fn detach_members(&mut self) {
        self.members = Arc::new(Members::clone(&self.members));
    }

    /// Chooses few servers that have these keys, by their replicas; for each key one.
    pub fn cover(&mut self, replicas: &[Vec<fanin_placement::Server>]) -> Vec<fanin_placement::Server> {
        let mut chosen = Vec::new();
        if let Some(cover) = &mut self.cover {
            cover.choose(replicas.len(), |key| &replicas[key], &mut chosen);
        }
        chosen
    }

    /// The move of a key to change or read, if a single request to the authoritative server is not enough.
    pub fn key_move_of(&self, place: Location, changes: bool) -> Option<KeyMove> {
        let (Location::Moving(key_move), Some(plan_state)) = (place, &self.plan_state) else { return None };
        let is_clear = key_move.unclear_side(&plan_state.moves).is_none();
        (changes || !is_clear).then_some(key_move)
    }

    /// Time zero and concurrency limit of a new multiget.
    pub fn begins(&mut self, now: Nanos) -> (Nanos, Window) {
        if let Some(incast) = &self.shared.incast
            && incast.limit() != self.most
        {
            self.most = incast.limit();
            self.fresh = self.shared.settings.window(self.most);
            self.kept = self.kept.map(|_| (now, self.fresh));
        }
        if let Some((since, window)) = &mut self.kept
            && now.saturating_sub(*since) > LONGEST_KEPT
        {
            (*since, *window) = (now, self.fresh);
        }
        self.kept.unwrap_or((now, self.fresh))
    }

    /// Ends a multiget that began so.
    pub fn ends(&mut self, since: Nanos, window: Window) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.0 == since) {
            kept.1 = window;
        }
    }

    /// Whether a get with this error is answered as a miss.
    pub fn misses(&self, trouble: ServerError) -> bool {
        self.misses_when_down && trouble.is_away()
    }

    /// Schedules a check for late batches.
    pub fn check_for_late(&mut self, at: Nanos, get: Id) {
        self.late.push_back((at, get));
        self.charge.set(self.late.capacity() * size_of::<(Nanos, Id)>());
    }

    /// Time of the first check.
    pub fn late_at(&self) -> Option<Nanos> {
        self.late.front().map(|(at, _)| *at)
    }

    /// The first check, if due.
    pub fn next_late(&mut self, now: Nanos) -> Option<Id> {
        let next = self.late.pop_front_if(|(at, _)| *at <= now).map(|(_, get)| get);
        if self.late.is_empty() && self.late.capacity() > MOST_KEPT {
            self.late.shrink_to(MOST_KEPT);
            self.charge.set(self.late.capacity() * size_of::<(Nanos, Id)>());
        }
        next
    }

    /// A pool with these servers in a thread.
    pub fn new(shared: Arc<PoolState>, servers: Vec<u32>, thread: usize) -> Pool {
        let pool = &shared.settings;
        let all = || Arc::new(Members::all_up(pool.servers.len()));
        let most = shared.incast.as_ref().and_then(|incast| incast.limit());
        let fresh = pool.window(most);
        Pool {
            router: pool.router(),
            members: shared.failover.as_ref().map_or_else(all, |failover| failover.members()),
            cover: (pool.replicas > 1).then(|| Cover::new(pool.servers.len(), MOST_LOAD)),
            plan_state: shared.plan.as_ref().map(|plan| plan.state()),
            limits: Limits { value: pool.longest_value(), keys: usize::try_from(pool.keys.0).unwrap_or(usize::MAX) },
            servers,
            clients: 0,
            successor: Successor::None,
            thread,
            fresh,
            most,
            kept: pool.keeps_windows.then_some((0, fresh)),
            slow: pool.slow.map_or(Nanos::MAX, nanos),
            joins: pool.join,
            admin: pool.admin,
            misses_when_down: pool.on_down == OnDown::Miss,
            late: VecDeque::new(),
            charge: Charge::default(),
            hedges: pool.hedge.map(Hedges::new),
            shared,
        }
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::Time;

    use super::*;
    use fanin_proxy_config::Settings;
    use fanin_proxy_state::shared::Shared;

    fn pool(windows: &str, more: &str) -> Pool {
        let text = format!(
            "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\nmultiget = \"sliding-window\"\nwindows = \"{windows}\"\n{more}"
        );
        let settings = Settings::of_file("f.toml", &text).unwrap();
        Pool::new(Shared::new(&settings, 1).edition().pools[0].clone(), vec![0], 0)
    }

    #[test]
    fn cached_limit_lasts_a_day() {
        for (windows, next) in [("kept", 20), ("anew", 10)] {
            let mut pool = pool(windows, "");
            let (since, mut window) = pool.begins(5);
            assert_eq!(window.window(), 10);
            (0..10).for_each(|_| window.answered(Time(1), 1, Time(1)));
            pool.ends(since, window);
            assert_eq!(pool.begins(9).1.window(), next);
            let (since, window) = pool.begins(10 + LONGEST_KEPT);
            assert_eq!((since, window.window()), (10 + LONGEST_KEPT, 10));
        }
    }

    #[test]
    fn predicted_limit_applies_to_new_multigets() {
        for windows in ["kept", "anew"] {
            let mut pool = pool(windows, "incast = { buffer = \"64 KiB\", rto_min = \"200 ms\" }\n");
            let (since, mut window) = pool.begins(5);
            assert_eq!(window.window(), 10);
            pool.shared.incast.as_ref().unwrap().set_limit(Some(7));
            let (began, mut limited) = pool.begins(6);
            (0..10).for_each(|_| {
                window.answered(Time(1), 1, Time(1));
                limited.answered(Time(1), 1, Time(1));
            });
            assert_eq!((window.window(), limited.window()), (20, 7));
            // A multiget that began before does not bring its limit back.
            pool.ends(began, limited);
            pool.ends(since, window);
            assert_eq!(pool.begins(8).1.window(), 7);
            pool.shared.incast.as_ref().unwrap().set_limit(None);
            assert_eq!(pool.begins(9).1.window(), 10);
        }
    }
}
