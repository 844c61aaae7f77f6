//! Lifecycle of a front end: sockets, threads, shutdown, and succession by a front end with other settings.

mod listeners;
mod thread;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rand::TryRng;
use rand::rngs::SysRng;

use crate::exposition::{self, HttpThread, Source};
use crate::front::Front;
use crate::log::Writer;
use crate::messages;
use crate::migration::coordinator::{self, MigrationThread};
use crate::net::Net;
use crate::net::clock::unix;
use crate::net::sockets::{Sockets, Waker};
use crate::settings::Settings;
use crate::shared::Shared;
use listeners::Listeners;

/// File descriptors per thread besides connections, and per process besides threads.
const FILES_A_THREAD: usize = 16;
const FILES: usize = 64;

/// A running front end.
pub struct Running {
    threads: Vec<JoinHandle<io::Result<()>>>,
    log: Option<Writer>,
    coordinator: Option<MigrationThread>,
    metrics: Option<HttpThread>,
    /// Wakers of the threads; a restarted thread has a new one.
    wakers: Vec<Arc<Mutex<Option<Waker>>>>,
    stop: Arc<AtomicBool>,
    listeners: Arc<Listeners>,
    /// Addresses of the pools, with the actual ports.
    pub listens: Vec<SocketAddr>,
    /// Address of the metrics, if any, with the actual port.
    pub metrics_at: Option<SocketAddr>,
}

/// Starts a front end.
pub fn start(settings: &Settings) -> io::Result<Running> {
    start_after(settings, None)
}

/// Starts a front end, which shares the listening sockets of its predecessor.
fn start_after(settings: &Settings, predecessor: Option<&Listeners>) -> io::Result<Running> {
    messages::install(settings.messages);
    let clients = clients_for_files(settings)?;
    if clients < settings.clients {
        messages::warning(&format!(
            "the limit of open files allows {clients} clients, not {}; raise it (ulimit -n)",
            settings.clients
        ));
    }
    if nix::unistd::geteuid().is_root() {
        messages::warning("running as root, which a front end does not need; run it as another user");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared::new(settings, clients));
    let plans = coordinator::begin(settings, &shared)?;
    let addresses = settings.pools.iter().map(|pool| pool.listen);
    let listeners = Arc::new(Listeners::open(addresses, settings.threads, predecessor)?);
    let metrics = settings.metrics.as_ref().map(|metrics| exposition::listen(metrics.listen)).transpose()?;
    let writer = settings.log.as_ref().map(|log| Writer::start(log, shared.clone())).transpose()?;
    let rows = writer.as_ref().map(|writer| writer.to.clone());
    let mut running = Running {
        threads: Vec::new(),
        log: writer,
        coordinator: None,
        metrics: None,
        wakers: Vec::new(),
        stop: stop.clone(),
        listens: listeners.addresses(),
        metrics_at: metrics.as_ref().and_then(|socket| socket.local_addr().ok()?.as_socket()),
        listeners: listeners.clone(),
    };
    let mut event_loop = "";
    for number in 0..settings.threads {
        let (settings, shared, stop, listeners) = (settings.clone(), shared.clone(), stop.clone(), listeners.clone());
        let (counters, rows) = (shared.threads[number].clone(), rows.clone());
        let wakes = Arc::new(Mutex::new(None));
        running.wakers.push(wakes.clone());
        let (tell, told) = mpsc::channel();
        // A ring belongs to the thread that creates it.
        let work = move || {
            let (sockets, waker) = Sockets::new(settings.event_loop, listeners.of_thread(number, settings.threads)?)?;
            *wakes.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
            let name = sockets.name();
            let mut seed = [0; 32];
            SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
            let log = rows.clone().map(|rows| (rows, unix()));
            let front = Front::new(&settings, sockets, shared.clone(), number, stop.clone(), (seed, log));
            // The caller waits for this, unless it is gone.
            let _ = tell.send(name);
            thread::run(front, &shared.threads[number])
        };
        let thread = std::thread::Builder::new()
            .name("fanin-front".to_owned())
            .spawn(move || thread::restart_on_panic(&counters, work))?;
        running.threads.push(thread);
        let Ok(name) = told.recv() else {
            running.stop();
            return running.wait().and(Err(io::Error::other("a thread of the front end did not start")));
        };
        event_loop = name;
    }
    if let Some(listener) = metrics {
        let source = Source::new(settings, shared.clone(), event_loop, stop);
        running.metrics = Some(HttpThread::start(listener, source)?);
    }
    running.coordinator = MigrationThread::start(plans, shared, running.wakers.clone())?;
    Ok(running)
}

impl Running {
    /// Starts a front end with other settings on the same addresses, so that this one can be stopped without refusing a connection: both
    /// accept from the same queues. A plan that is being executed must not be in both.
    ///
    /// # Errors
    /// The new front end cannot start; this one continues.
    pub fn start_successor(&self, settings: &Settings) -> io::Result<Running> {
        start_after(settings, Some(&self.listeners))
    }

    /// Starts a graceful shutdown.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.listeners.close();
        for waker in &self.wakers {
            waker.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
        }
    }

    /// Waits until all threads have ended.
    pub fn wait(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the front end panicked")))?;
        }
        self.coordinator.into_iter().for_each(MigrationThread::end);
        self.metrics.into_iter().for_each(HttpThread::end);
        self.log.into_iter().for_each(Writer::end);
        Ok(())
    }

    /// Whether a thread has ended by itself.
    pub fn has_failed(&self) -> bool {
        !self.stop.load(Relaxed) && self.threads.iter().any(JoinHandle::is_finished)
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
