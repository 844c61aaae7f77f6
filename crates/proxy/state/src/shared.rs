//! State shared by threads: the settings in force, counters, writes, number of clients, and memory.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::handover::{Arrivals, Departures};
use crate::incast::IncastState;
use fanin_proxy_config::{Pool, Server, Settings};
use fanin_proxy_core::clock::unix;
use fanin_proxy_core::memory::Memory;
use fanin_proxy_core::tenants::{Tenant, Tenants};
pub use fanin_proxy_failover::ServerState;
use fanin_proxy_failover::{Failover, Phase};
use fanin_proxy_migration::{Plans, PoolPlan};
use fanin_proxy_net::sockets::Waker;
use fanin_proxy_observe::metrics::{COUNTERS, Counters, Metric, MetricKind, PoolFigures};
use fanin_proxy_routing::writes::Writes;

/// Values of all counters.
type CounterValues = [u64; COUNTERS.len()];

/// Shared state.
#[derive(Debug)]
pub struct Shared {
    /// Counters by thread.
    pub threads: Vec<Arc<Counters>>,
    /// Writes of clients.
    pub writes: Arc<Writes>,
    /// Memory limit, and the charges of all threads.
    pub memory: Memory,
    /// Changes of all pools' plans.
    pub plans: Plans,
    /// Clients of a predecessor process.
    pub arrivals: Arrivals,
    departures: OnceLock<Arc<Departures>>,
    /// Unix time of the start, in seconds.
    pub started: u64,
    /// The settings in force, and the number of their edition.
    edition: Mutex<Arc<Edition>>,
    number: AtomicU64,
    /// The edition that each thread has installed.
    installed: Vec<AtomicU64>,
    /// Number of changes of pools' members.
    members: AtomicU64,
    /// By thread; a restarted thread has a new one.
    wakers: Vec<Mutex<Option<Waker>>>,
    /// Tenants and their clients.
    pub tenants: Tenants,
    most_clients: AtomicUsize,
    /// Log rows that could not be written.
    unwritten: AtomicU64,
    /// Counter values at the last reset.
    zeros: Mutex<CounterValues>,
}

/// Counters of a thread, as the settings want them.
fn counters(settings: &Settings) -> Counters {
    let metrics = settings.metrics.as_ref();
    Counters::new(metrics.is_some(), metrics.is_some_and(|metrics| metrics.hot_keys > 0))
}

/// Settings in force. Each reload makes a new edition; pools and servers that stay keep their state.
#[derive(Debug)]
pub struct Edition {
    /// Its number, from 1 on.
    pub number: u64,
    /// The settings.
    pub settings: Settings,
    /// State of their pools, in their order.
    pub pools: Vec<Arc<PoolState>>,
}

/// State of a pool that threads share.
#[derive(Debug)]
pub struct PoolState {
    /// Its settings.
    pub settings: Pool,
    /// State of its servers, in the order of the settings.
    pub servers: Vec<Arc<ServerState>>,
    /// Its plan, if any.
    pub plan: Option<Arc<PoolPlan>>,
    /// Which servers are in use, if others answer for one that is down.
    pub failover: Option<Arc<Failover>>,
    /// By thread.
    pub figures: Arc<Vec<PoolFigures>>,
    /// Its incast prediction, if wanted.
    pub incast: Option<Arc<IncastState>>,
}

impl PoolState {
    /// Whether a server of the pool has its keys.
    pub fn uses(&self, server: &Arc<ServerState>) -> bool {
        let phase = |failover: &Arc<Failover>| Some(failover.members().phase(failover.position(server)?));
        self.failover.as_ref().and_then(phase).is_none_or(|phase| phase == Phase::Up)
    }

    /// A pool that takes over the state of its predecessor.
    fn new(pool: &Pool, old: Option<&PoolState>, settings: &Settings) -> PoolState {
        let (threads, exposed) = (settings.threads, settings.metrics.is_some());
        let server = || Arc::new(ServerState::new(threads, exposed));
        let stays = |server: &Server| {
            let place = old?.settings.servers.iter().position(|other| other.is_same_server(server))?;
            old?.servers.get(place).cloned()
        };
        let servers: Vec<_> = pool.servers.iter().map(|one| stays(one).unwrap_or_else(server)).collect();
        let before = old.and_then(|old| old.failover.as_ref());
        PoolState {
            settings: pool.clone(),
            failover: Failover::new(pool.replicas, pool.fails_over(), &servers, before),
            servers,
            plan: pool.plan.as_ref().map(|plan| {
                let running = old.and_then(|old| old.plan.clone());
                running.unwrap_or_else(|| Arc::new(PoolPlan::new(plan.moves.clone(), plan.stage)))
            }),
            figures: match old.filter(|old| old.settings.name == pool.name) {
                Some(old) => old.figures.clone(),
                None => Arc::new((0..threads).map(|_| PoolFigures::new(exposed)).collect()),
            },
            incast: pool.incast.map(|incast| {
                let before = old.filter(|old| old.settings.name == pool.name).and_then(|old| old.incast.as_deref());
                Arc::new(IncastState::new(incast, threads, before))
            }),
        }
    }
}

impl PoolState {
    /// Segments that TCP sent to its servers again.
    pub fn retransmits(&self) -> u64 {
        let figures = self.servers.iter().flat_map(|server| server.all_figures());
        figures.map(|figures| figures.retransmits.get()).sum()
    }
}

impl Edition {
    /// The next edition, with these settings.
    fn next(&self, settings: &Settings) -> Edition {
        let old: Vec<&Pool> = self.pools.iter().map(|pool| &pool.settings).collect();
        let pools = settings.pools.iter().map(|pool| {
            let old = pool.predecessor(&settings.pools, &old).map(|place| &self.pools[place]);
            match old.filter(|old| old.settings == *pool) {
                Some(same) => same.clone(),
                None => Arc::new(PoolState::new(pool, old.map(Arc::as_ref), settings)),
            }
        });
        Edition { number: self.number + 1, pools: pools.collect(), settings: settings.clone() }
    }
}

impl Shared {
    /// State of a new front end with this maximum number of clients.
    pub fn new(settings: &Settings, clients: usize) -> Shared {
        let none = Edition { number: 0, settings: settings.clone(), pools: Vec::new() };
        let edition = none.next(settings);
        Shared {
            threads: (0..settings.threads).map(|_| Arc::new(counters(settings))).collect(),
            writes: Arc::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().any(|pool| pool.plan.is_some())),
            arrivals: Arrivals::new(settings.threads),
            departures: OnceLock::new(),
            started: unix() / 1_000_000_000,
            number: AtomicU64::new(edition.number),
            edition: Mutex::new(Arc::new(edition)),
            installed: (0..settings.threads).map(|_| AtomicU64::new(0)).collect(),
            members: AtomicU64::new(0),
            wakers: (0..settings.threads).map(|_| Mutex::default()).collect(),
            tenants: Tenants::default(),
            most_clients: AtomicUsize::new(clients),
            unwritten: AtomicU64::new(0),
            zeros: Mutex::new([0; COUNTERS.len()]),
        }
    }

    /// Counters of a thread.
    pub fn counters(&self, thread: usize) -> Arc<Counters> {
        self.threads[thread].clone()
    }

    /// The settings in force.
    pub fn edition(&self) -> Arc<Edition> {
        self.edition.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of their edition.
    pub fn edition_number(&self) -> u64 {
        self.number.load(SeqCst)
    }

    /// Replaces the settings, with this maximum number of clients. Threads install them in their next loop iteration.
    pub fn replace_settings(&self, settings: &Settings, clients: usize) -> Arc<Edition> {
        let mut edition = self.edition.lock().unwrap_or_else(PoisonError::into_inner);
        *edition = Arc::new(edition.next(settings));
        self.most_clients.store(clients, Relaxed);
        self.number.store(edition.number, SeqCst);
        edition.clone()
    }

    /// Records that a thread has installed an edition.
    pub fn has_installed(&self, thread: usize, edition: u64) {
        self.installed[thread].store(edition, SeqCst);
    }

    /// Whether all threads have installed the current edition.
    pub fn is_installed(&self) -> bool {
        let number = self.edition_number();
        self.installed.iter().all(|installed| installed.load(SeqCst) == number)
    }

    /// Phases of a pool's servers, for operators; none without failover.
    pub fn phases(&self, pool: usize) -> Vec<&'static str> {
        let edition = self.edition();
        let failover = edition.pools[pool].failover.as_ref();
        failover.map_or_else(Vec::new, |failover| {
            failover.members().list.iter().map(|member| member.phase.word()).collect()
        })
    }

    /// Servers that are not in use, or are about to leave, as `POOL: SERVER`: until they are back, only this process knows which keys must be
    /// deleted there.
    pub fn unsettled_servers(&self) -> Vec<String> {
        let edition = self.edition();
        let of_pool = |pool: &Arc<PoolState>| {
            let numbers = pool.failover.as_ref().map_or_else(Vec::new, |failover| failover.unsettled());
            let name =
                |number: usize| format!("{}: {}", pool.settings.name, pool.settings.servers[number].weighted.name);
            numbers.into_iter().map(name).collect::<Vec<_>>()
        };
        edition.pools.iter().flat_map(of_pool).collect()
    }

    /// Number of changes of pools' members.
    pub fn members_number(&self) -> u64 {
        self.members.load(SeqCst)
    }

    /// A pool's members have changed: all threads follow.
    pub fn members_change(&self) {
        self.members.fetch_add(1, SeqCst);
        self.wake();
    }

    /// Sets the waker of a thread.
    pub fn set_waker(&self, thread: usize, waker: Waker) {
        *self.wakers[thread].lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Wakes a thread.
    pub fn wake_thread(&self, thread: usize) {
        self.wakers[thread].lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
    }

    /// Wakes all threads.
    pub fn wake(&self) {
        (0..self.wakers.len()).for_each(|thread| self.wake_thread(thread));
    }

    /// Counts a new client of a tenant, if the limit allows it.
    pub fn admit_client(&self, tenant: &Tenant) -> bool {
        // Clients of a predecessor keep their places.
        let most = self.most_clients.load(Relaxed).saturating_sub(self.arrivals.expected());
        self.tenants.admit(tenant, most)
    }

    /// Number of clients that a tenant may have at the expense of larger ones.
    pub fn fair_share(&self, tenant: &Tenant) -> usize {
        self.tenants.fair_share(tenant, self.most_clients.load(Relaxed))
    }

    /// The way to a successor process, if there is one.
    pub fn departures(&self) -> Option<Arc<Departures>> {
        self.departures.get().cloned()
    }

    /// There is a successor from now on.
    pub fn depart(&self, to: Arc<Departures>) {
        // There is only one.
        let _ = self.departures.set(to);
    }

    /// Sum of each counter over all threads.
    fn sums(&self) -> CounterValues {
        let mut sums = [0u64; COUNTERS.len()];
        for thread in &self.threads {
            sums.iter_mut().zip(thread.values()).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        sums
    }

    /// The same with descriptions.
    pub fn since_start(&self) -> impl Iterator<Item = (Metric, u64)> {
        COUNTERS.iter().copied().zip(self.sums())
    }

    /// The same relative to the last reset; gauges are absolute.
    pub fn since_reset(&self) -> impl Iterator<Item = (Metric, u64)> {
        let zeros = *self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |(metric, (sum, zero)): (&Metric, (u64, u64))| {
            (*metric, if metric.kind == MetricKind::Gauge { sum } else { sum.wrapping_sub(zero) })
        };
        COUNTERS.iter().zip(self.sums().into_iter().zip(zeros)).map(since)
    }

    /// Resets the counters.
    pub fn reset(&self) {
        *self.zeros.lock().unwrap_or_else(PoisonError::into_inner) = self.sums();
    }

    /// Counts lost log rows.
    pub fn lost_of_log(&self, rows: u64) {
        self.unwritten.fetch_add(rows, Relaxed);
    }

    /// Number of lost log rows.
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Relaxed)
    }

    /// Maximum number of clients.
    pub fn most_clients(&self) -> usize {
        self.most_clients.load(Relaxed)
    }

    /// Number of clients.
    pub fn clients(&self) -> usize {
        self.tenants.clients()
    }
}
