//! State shared by threads: the settings in force, counters, writes, number of clients, and memory.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use crate::front::multigets::coalescing::Writes;
use crate::incast::IncastState;
use crate::memory::Memory;
use crate::metrics::{COUNTERS, Counters, Metric, MetricKind, PoolFigures, ServerFigures};
use crate::migration::{Plans, PoolPlan};
use crate::net::clock::unix;
use crate::settings::{self, Settings};

/// Values of all counters.
type CounterValues = [u64; COUNTERS.len()];

/// Shared state.
#[derive(Debug)]
pub struct Shared {
    pub(crate) threads: Vec<Arc<Counters>>,
    pub(crate) writes: Writes,
    pub(crate) memory: Memory,
    pub(crate) plans: Plans,
    /// Unix time of the start, in seconds.
    pub(crate) started: u64,
    /// The settings in force, and the number of their edition.
    edition: Mutex<Arc<Edition>>,
    number: AtomicU64,
    /// The edition that each thread has installed.
    installed: Vec<AtomicU64>,
    clients: AtomicUsize,
    most_clients: AtomicUsize,
    /// Log rows that could not be written.
    unwritten: AtomicU64,
    /// Counter values at the last reset.
    zeros: Mutex<CounterValues>,
}

/// Settings in force. Each reload makes a new edition; pools and servers that stay keep their state.
#[derive(Debug)]
pub struct Edition {
    /// Its number, from 1 on.
    pub number: u64,
    pub settings: Settings,
    pub pools: Vec<Arc<PoolState>>,
}

/// State of a pool that threads share.
#[derive(Debug)]
pub struct PoolState {
    pub settings: settings::Pool,
    pub servers: Vec<Arc<ServerState>>,
    /// Its plan, if any.
    pub plan: Option<Arc<PoolPlan>>,
    /// By thread.
    pub figures: Arc<Vec<PoolFigures>>,
    /// Its incast prediction, if wanted.
    pub incast: Option<Arc<IncastState>>,
}

/// State of a server that threads share.
#[derive(Debug, Default)]
pub struct ServerState {
    /// Whether it was last reported as down.
    is_down: AtomicBool,
    /// By thread.
    figures: Vec<ServerFigures>,
}

impl ServerState {
    /// A server that is up, with figures of this many threads.
    fn new(threads: usize, exposed: bool) -> ServerState {
        ServerState { figures: (0..threads).map(|_| ServerFigures::new(exposed)).collect(), ..ServerState::default() }
    }

    /// Figures of a thread.
    pub fn figures(&self, thread: usize) -> Option<&ServerFigures> {
        self.figures.get(thread)
    }

    /// Figures of all threads.
    pub fn all_figures(&self) -> &[ServerFigures] {
        &self.figures
    }

    /// Whether it was last reported as up.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Relaxed)
    }

    /// Records whether it is up; returns whether that is unchanged.
    pub fn stays(&self, up: bool) -> bool {
        self.is_down.swap(!up, Relaxed) != up
    }
}

impl PoolState {
    /// A pool that takes over the state of its predecessor.
    fn new(pool: &settings::Pool, old: Option<&PoolState>, settings: &Settings) -> PoolState {
        let (threads, exposed) = (settings.threads, settings.metrics.is_some());
        let server = || Arc::new(ServerState::new(threads, exposed));
        let stays = |server: &settings::Server| {
            let place = old?.settings.servers.iter().position(|other| other.is_same_server(server))?;
            old?.servers.get(place).cloned()
        };
        PoolState {
            settings: pool.clone(),
            servers: pool.servers.iter().map(|one| stays(one).unwrap_or_else(server)).collect(),
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
        let old: Vec<&settings::Pool> = self.pools.iter().map(|pool| &pool.settings).collect();
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
            threads: (0..settings.threads).map(|_| Arc::new(Counters::of(settings))).collect(),
            writes: Writes::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().any(|pool| pool.plan.is_some())),
            started: unix() / 1_000_000_000,
            number: AtomicU64::new(edition.number),
            edition: Mutex::new(Arc::new(edition)),
            installed: (0..settings.threads).map(|_| AtomicU64::new(0)).collect(),
            clients: AtomicUsize::new(0),
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
    pub(crate) fn has_installed(&self, thread: usize, edition: u64) {
        self.installed[thread].store(edition, SeqCst);
    }

    /// Whether all threads have installed the current edition.
    pub fn is_installed(&self) -> bool {
        let number = self.edition_number();
        self.installed.iter().all(|installed| installed.load(SeqCst) == number)
    }

    /// Counts a new client, if the limit allows it.
    pub(crate) fn admit_client(&self) -> bool {
        let most = self.most_clients.load(Relaxed);
        self.clients.fetch_update(Relaxed, Relaxed, |clients| (clients < most).then_some(clients + 1)).is_ok()
    }

    /// Counts a closed client.
    pub(crate) fn release_client(&self) {
        self.clients.fetch_sub(1, Relaxed);
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
    pub(crate) fn since_start(&self) -> impl Iterator<Item = (Metric, u64)> {
        COUNTERS.iter().copied().zip(self.sums())
    }

    /// The same relative to the last reset; gauges are absolute.
    pub(crate) fn since_reset(&self) -> impl Iterator<Item = (Metric, u64)> {
        let zeros = *self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |(metric, (sum, zero)): (&Metric, (u64, u64))| {
            (*metric, if metric.kind == MetricKind::Gauge { sum } else { sum.wrapping_sub(zero) })
        };
        COUNTERS.iter().zip(self.sums().into_iter().zip(zeros)).map(since)
    }

    /// Resets the counters.
    pub(crate) fn reset(&self) {
        *self.zeros.lock().unwrap_or_else(PoisonError::into_inner) = self.sums();
    }

    /// Counts lost log rows.
    pub(crate) fn lost_of_log(&self, rows: u64) {
        self.unwritten.fetch_add(rows, Relaxed);
    }

    /// Number of lost log rows.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten.load(Relaxed)
    }

    /// Maximum number of clients.
    pub(crate) fn most_clients(&self) -> usize {
        self.most_clients.load(Relaxed)
    }

    /// Number of clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }
}
