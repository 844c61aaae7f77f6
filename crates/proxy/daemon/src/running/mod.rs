//! Lifecycle of a front end: sockets, threads, reload of settings, hand-over to another process, and shutdown.

pub mod agent;
pub mod control;
pub mod coordinator;
mod hand_over;
mod incast_thread;
pub mod listeners;
mod socket_file;
pub mod take_over;
mod thread;
mod watchdog;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;
use socket2::Socket;

use crate::exposition::FrontEndMetrics;
use crate::running::watchdog::Watchdog;
use coordinator::{MigrationThread, PoolMigration};
use fanin_proxy_config::{MetricsSettings, Settings};
use fanin_proxy_core::clock::unix;
use fanin_proxy_front::Front;
use fanin_proxy_net::secure::Secure;
use fanin_proxy_net::sockets::Sockets;
use fanin_proxy_net::{Address, Net};
use fanin_proxy_observe::exposition::{self, HttpThread};
use fanin_proxy_observe::log::{self, Writer};
use fanin_proxy_observe::messages;
use fanin_proxy_state::handover::OfferedSocket;
use fanin_proxy_state::incast::{Predictor, Workload};
use fanin_proxy_state::shared::Shared;
use incast_thread::IncastThread;
use listeners::Listeners;

/// File descriptors per thread besides connections, and per process besides threads.
const FILES_A_THREAD: usize = 16;
const FILES: usize = 64;

/// Time in which all threads install new settings, unless one hangs.
const INSTALL_TIME: Duration = Duration::from_secs(10);
const INSTALL_LOOK: Duration = Duration::from_millis(1);

/// A running front end.
pub struct Running {
    settings: Settings,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    log: Option<Writer>,
    coordinator: Option<MigrationThread>,
    metrics: Option<HttpThread>,
    incast: Option<IncastThread>,
    watchdog: Option<Watchdog>,
    stop: Arc<AtomicBool>,
    listeners: Arc<Listeners>,
    /// Listening socket of the metrics, if any.
    metrics_socket: Option<Socket>,
    /// Delivers clients to a successor, if there is one.
    delivery: Option<JoinHandle<()>>,
}

/// Possessions of a predecessor process.
#[derive(Default)]
struct Inherited {
    sockets: Vec<(OfferedSocket, OwnedFd)>,
    metrics: Option<Socket>,
    /// Its end: the other end of this is dropped then.
    end: Option<Receiver<()>>,
}

/// Starts a front end.
///
/// # Errors
/// An address, a file or a thread is not available.
pub fn start(settings: &Settings) -> io::Result<Running> {
    start_with(settings, Inherited::default())
}

/// Warnings about a front end with these settings on this machine, for a start and for a check.
pub fn warnings(settings: &Settings) -> Vec<String> {
    let files = match clients_for_files(settings) {
        Ok(clients) if clients < settings.clients => {
            let wanted = settings.clients;
            Some(format!("the limit of open files allows {clients} clients, not {wanted}; raise it (ulimit -n)"))
        }
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let is_root = nix::unistd::geteuid().is_root();
    let root = is_root.then(|| "running as root, which a front end does not need; run it as another user".to_owned());
    files.into_iter().chain(root).chain(settings.warnings.iter().map(ToString::to_string)).collect()
}

fn start_with(settings: &Settings, inherited: Inherited) -> io::Result<Running> {
    messages::install(&settings.messages)?;
    let clients = clients_for_files(settings)?;
    warnings(settings).iter().for_each(|warning| messages::warning(warning));
    let shared = Arc::new(Shared::new(settings, clients));
    if inherited.end.is_some() {
        shared.arrivals.open();
        shared.writes.set_elsewhere(true);
    }
    let plans = coordinator::begin(settings, &shared)?;
    let listeners = Arc::new(Listeners::new(settings.threads, inherited.sockets)?);
    listeners.open(&settings.listens())?;
    let listen = |metrics: &MetricsSettings| inherited.metrics.map_or_else(|| exposition::listen(metrics.listen), Ok);
    let metrics = settings.metrics.as_ref().map(listen).transpose()?;
    let mut running = Running {
        settings: settings.clone(),
        log: settings.log.as_ref().map(|log| writer(log, &shared)).transpose()?,
        shared,
        threads: Vec::new(),
        coordinator: None,
        metrics: None,
        incast: None,
        watchdog: None,
        stop: Arc::new(AtomicBool::new(false)),
        metrics_socket: metrics.as_ref().map(Socket::try_clone).transpose()?,
        delivery: None,
        listeners,
    };
    let mut event_loop = "";
    for number in 0..settings.threads {
        let Some(name) = running.start_thread(number)? else {
            running.stop();
            return running.wait().and(Err(io::Error::other("a thread of the front end did not start")));
        };
        event_loop = name;
    }
    if let Some(listener) = metrics {
        let source = FrontEndMetrics::new(running.shared.clone(), event_loop, running.stop.clone());
        running.metrics = Some(HttpThread::start(listener, source)?);
    }
    let (pulses, stalls) = (running.shared.clone(), running.shared.clone());
    let watchdog = Watchdog::start(
        settings.threads,
        move |thread| pulses.threads[thread].pulse.stall(),
        move |thread| stalls.threads[thread].stalls.add(1),
    )?;
    running.watchdog = Some(watchdog);
    running.start_migrations(plans, inherited.end)?;
    Ok(running)
}

impl Running {
    /// Starts a thread; returns the name of its event loop if it has begun its work.
    fn start_thread(&mut self, number: usize) -> io::Result<Option<&'static str>> {
        let (event_loop, shared, stop) = (self.settings.event_loop, self.shared.clone(), self.stop.clone());
        let (listeners, counters) = (self.listeners.clone(), shared.threads[number].clone());
        let rows = self.log.as_ref().map(|writer| writer.to.clone());
        let (tell, told) = mpsc::channel();
        // A ring belongs to the thread that creates it.
        let work = move || {
            let its = listeners.clone();
            let (sockets, waker) = Sockets::new(event_loop, Box::new(move |at| its.of_thread(number, at)))?;
            shared.set_waker(number, waker);
            let name = sockets.name();
            let mut seed = [0; 32];
            SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
            let log = rows.clone().map(|rows| (rows, unix()));
            let sockets = Secure::new(sockets, shared.counters(number));
            let front = Front::new(sockets, shared.clone(), number, stop.clone(), seed, log);
            // The caller waits for this, unless it is gone.
            let _ = tell.send(name);
            thread::run(front, &shared.threads[number])
        };
        let thread = std::thread::Builder::new()
            .name("fanin-front".to_owned())
            .spawn(move || thread::restart_on_panic(&counters, work))?;
        self.threads.push(thread);
        Ok(told.recv().ok())
    }

    /// Starts to advance plans, after the end of another process that uses them.
    fn start_migrations(&mut self, plans: Vec<PoolMigration>, after: Option<Receiver<()>>) -> io::Result<()> {
        let after = after.unwrap_or_else(|| mpsc::channel().1);
        self.coordinator = MigrationThread::start(plans, self.shared.clone(), after)?;
        Ok(())
    }

    /// Replaces the settings. Connections of clients and of servers that stay are not affected.
    ///
    /// # Errors
    /// A setting cannot change without a restart, or an address is not available; then the old settings stay.
    pub fn reload(&mut self, settings: &Settings) -> io::Result<()> {
        self.settings.check_reload(settings).map_err(|problem| io::Error::other(problem.to_string()))?;
        settings.warnings.iter().for_each(|warning| messages::warning(&warning.to_string()));
        let clients = clients_for_files(settings)?;
        self.listeners.open(&settings.listens())?;
        self.shared.replace_settings(settings, clients);
        self.settings = settings.clone();
        self.shared.wake();
        self.wait_until(INSTALL_TIME, || self.shared.is_installed());
        self.listeners.keep(&settings.listens());
        Ok(())
    }

    /// Waits until other threads have done something, up to a maximum time.
    fn wait_until(&self, longest: Duration, is_done: impl Fn() -> bool) {
        let looks = longest.as_millis() / INSTALL_LOOK.as_millis();
        for _ in 0..looks {
            if is_done() || self.has_failed() {
                return;
            }
            std::thread::sleep(INSTALL_LOOK);
        }
    }

    /// Predicts incast from now on, for pools with `incast`, on a thread of low priority. A second call changes nothing.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn predict_with(&mut self, predictor: Box<dyn Predictor>) -> io::Result<()> {
        if self.incast.is_none() {
            self.incast = Some(IncastThread::start(self.shared.clone(), predictor)?);
        }
        Ok(())
    }

    /// Mean multigets of the last seconds, by pool; only pools with `incast` and some multigets.
    pub fn observed(&self) -> BTreeMap<String, Workload> {
        let pools = &self.shared.edition().pools;
        let observed = pools.iter().filter_map(|pool| {
            let observed = pool.incast.as_ref()?.observed()?;
            Some((pool.settings.name.clone(), observed.workload))
        });
        observed.collect()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Addresses of the pools, with the actual ports.
    pub fn listens(&self) -> Vec<Address> {
        self.listeners.actual(&self.settings.listens())
    }

    /// Address of the metrics, if any, with the actual port.
    pub fn metrics_at(&self) -> Option<SocketAddr> {
        self.metrics_socket.as_ref()?.local_addr().ok()?.as_socket()
    }

    /// Starts a graceful shutdown.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.listeners.keep(&[]);
        self.shared.wake();
    }

    /// Waits until all threads have ended.
    ///
    /// # Errors
    /// A thread has failed.
    pub fn wait(self) -> io::Result<()> {
        let ended = self.join();
        messages::flush();
        ended
    }

    fn join(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the front end panicked")))?;
        }
        self.shared.departures().into_iter().for_each(|departures| departures.end());
        self.delivery.into_iter().for_each(|delivery| drop(delivery.join()));
        self.coordinator.into_iter().for_each(|coordinator| drop(coordinator.end()));
        self.metrics.into_iter().for_each(HttpThread::end);
        self.incast.into_iter().for_each(IncastThread::end);
        self.watchdog.into_iter().for_each(Watchdog::end);
        self.log.into_iter().for_each(Writer::end);
        Ok(())
    }

    /// Whether a thread has ended by itself.
    pub fn has_failed(&self) -> bool {
        let may_end = self.stop.load(Relaxed) || self.shared.departures().is_some();
        !may_end && self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Whether all threads have ended.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }
}

/// Raises the limit of open files to the hard limit; returns how many clients it allows.
fn clients_for_files(settings: &Settings) -> io::Result<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let reserve = files_apart(settings);
    let clients = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(reserve).min(settings.clients);
    let what = format!(
        "the limit of {limit} open files is too low: servers, plans and logs take {reserve}; raise it (ulimit -n)"
    );
    (clients > 0).then_some(clients).ok_or_else(|| io::Error::other(what))
}

/// File descriptors reserved: per thread two connections to every server, and three for every pool's listener.
fn files_apart(settings: &Settings) -> usize {
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    settings.threads * (2 * servers + 3 * settings.pools.len() + FILES_A_THREAD) + FILES
}

/// The log's writer.
fn writer(log: &log::Settings, shared: &Arc<Shared>) -> io::Result<Writer> {
    let shared = shared.clone();
    Writer::start(log, move |rows| shared.lost_of_log(rows))
}
