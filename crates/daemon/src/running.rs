//! Lifecycle of a front end: sockets, threads, and shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use procfs::process::FDTarget;
use rand::TryRng;
use rand::rngs::SysRng;
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::unix;
use crate::front::{Front, tokens};
use crate::log::Writer;
use crate::migration::coordinator::{self, MigrationThread};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sockets::{Sockets, Waker};
use crate::thread;

/// Maximum number of connections that wait for accept.
const BACKLOG: i32 = 4096;
/// File descriptors per thread besides connections, and per process besides threads.
const FILES_A_THREAD: usize = 16;
const FILES: usize = 64;
/// Number of attempts to bind an address in use, and the pause between them.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// A running front end.
pub struct Running {
    threads: Vec<JoinHandle<io::Result<()>>>,
    log: Option<Writer>,
    coordinator: Option<MigrationThread>,
    /// Wakers of the threads; a restarted thread has a new one.
    wakers: Vec<Arc<Mutex<Option<Waker>>>>,
    stop: Arc<AtomicBool>,
    /// Addresses of the pools, with the actual ports.
    pub listens: Vec<SocketAddr>,
}

/// Starts a front end.
pub fn start(settings: &Settings) -> io::Result<Running> {
    let clients = clients_for_files(settings)?;
    if clients < settings.clients {
        warn(&format!(
            "the limit of open files allows {clients} clients, not {}; raise it (ulimit -n)",
            settings.clients
        ));
    }
    if nix::unistd::geteuid().is_root() {
        warn("running as root, which a front end does not need; run it as another user");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared::new(settings, clients));
    let plans = coordinator::begin(settings, &shared)?;
    let mut listens: Vec<SocketAddr> = settings.pools.iter().map(|pool| pool.listen).collect();
    for address in &mut listens {
        // Threads share the address, but other programs must not.
        let alone = listen_alone(*address)?;
        *address = alone.local_addr()?.as_socket().unwrap_or(*address);
    }
    let writer = settings.log.as_ref().map(|log| Writer::start(log, shared.clone())).transpose()?;
    let rows = writer.as_ref().map(|writer| writer.to.clone());
    let mut running = Running {
        threads: Vec::new(),
        log: writer,
        coordinator: None,
        wakers: Vec::new(),
        stop: stop.clone(),
        listens: listens.clone(),
    };
    for number in 0..settings.threads {
        let (settings, shared, stop, listens) = (settings.clone(), shared.clone(), stop.clone(), listens.clone());
        let (counters, rows) = (shared.threads[number].clone(), rows.clone());
        let wakes = Arc::new(Mutex::new(None));
        running.wakers.push(wakes.clone());
        let (tell, told) = mpsc::channel();
        // A ring belongs to the thread that creates it.
        let work = move || {
            let open = |address: &SocketAddr| listen(*address, true).map(|socket| TcpListener::from_std(socket.into()));
            let listeners = listens.iter().map(open).collect::<io::Result<Vec<_>>>()?;
            let (sockets, waker) = Sockets::new(settings.event_loop, tokens(&settings) - 1, listeners)?;
            *wakes.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
            let mut seed = [0; 32];
            SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
            let log = rows.clone().map(|rows| (rows, unix()));
            let front = Front::new(&settings, sockets, shared.clone(), number, stop.clone(), (seed, log));
            // The caller waits for this, unless it is gone.
            let _ = tell.send(());
            thread::run(front)
        };
        let thread = std::thread::Builder::new()
            .name("fanin-front".to_owned())
            .spawn(move || thread::restart_on_panic(&counters, work))?;
        running.threads.push(thread);
        if told.recv().is_err() {
            running.stop();
            return running.wait().and(Err(io::Error::other("a thread of the front end did not start")));
        }
    }
    running.coordinator = MigrationThread::start(plans, shared, running.wakers.clone())?;
    Ok(running)
}

impl Running {
    /// Starts a graceful shutdown.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
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
        self.log.into_iter().for_each(Writer::end);
        Ok(())
    }

    /// Whether a thread has ended by itself.
    pub fn has_failed(&self) -> bool {
        !self.stop.load(Relaxed) && self.threads.iter().any(JoinHandle::is_finished)
    }
}

#[expect(clippy::print_stderr, reason = "operators look there")]
fn warn(text: &str) {
    eprintln!("warning: {text}");
}

fn listen(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    if shared {
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
    }
    Ok(socket)
}

/// Binds an address exclusively. Sockets of a killed process may exist a little longer with io_uring, so this retries for some seconds.
fn listen_alone(address: SocketAddr) -> io::Result<Socket> {
    let mut tries = TRIES;
    loop {
        match listen(address, false) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {
                tries -= 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                let whose = holder(address).map_or_else(String::new, |whose| format!(", by {whose}"));
                return Err(io::Error::new(error.kind(), format!("{address}: {error}{whose}")));
            }
            Ok(socket) => return Ok(socket),
        }
    }
}

/// The process that listens at an address, if this user can see it.
fn holder(address: SocketAddr) -> Option<String> {
    let listening = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
    let sockets: Vec<u64> = listening
        .filter(|entry| entry.state == procfs::net::TcpState::Listen && entry.local_address.port() == address.port())
        .map(|entry| entry.inode)
        .collect();
    let process = procfs::process::all_processes().ok()?.flatten().find(|process| {
        process.fd().is_ok_and(|mut files| {
            files.any(|file| {
                matches!(file, Ok(file) if matches!(file.target, FDTarget::Socket(inode) if sockets.contains(&inode)))
            })
        })
    })?;
    Some(format!("{} (process {})", process.stat().ok()?.comm, process.pid))
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

/// File descriptors reserved: per thread two connections to every server, and two for every pool's listener.
fn files_apart(settings: &Settings) -> usize {
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    settings.threads * (2 * servers + 2 * settings.pools.len() + FILES_A_THREAD) + FILES
}
