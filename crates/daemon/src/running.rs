//! A front end as a whole: its sockets, its threads, and how it is told to stop.

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

use crate::carrying::keeper::{self, MigrationThread};
use crate::clock::unix;
use crate::front::{Front, tokens};
use crate::log::Writer;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sockets::{Sockets, Waker};
use crate::thread;

/// Connections that may wait to be taken.
const BACKLOG: i32 = 4096;
/// Files that each thread has beside its connections, and the program beside its threads'.
const FILES_A_THREAD: usize = 16;
const FILES: usize = 64;
/// How often an address that is in use is tried again, and how long after.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// A front end that runs.
pub struct Running {
    threads: Vec<JoinHandle<io::Result<()>>>,
    log: Option<Writer>,
    keeper: Option<MigrationThread>,
    /// Each thread's, which is another one when it has begun anew.
    wakers: Vec<Arc<Mutex<Option<Waker>>>>,
    stop: Arc<AtomicBool>,
    /// Where its pools listen: with the port that was found where the settings leave it open.
    pub listens: Vec<SocketAddr>,
}

/// Starts one.
pub fn start(settings: &Settings) -> io::Result<Running> {
    let clients = clients_for_files(settings)?;
    if clients < settings.clients {
        warn(&format!(
            "the limit of open files lets {clients} clients be connected, not {} (ulimit -n)",
            settings.clients
        ));
    }
    if nix::unistd::geteuid().is_root() {
        warn("running as root: a front end needs no rights of its own, so start it as another user");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared::new(settings, clients));
    let plans = keeper::begin(settings, &shared)?;
    let mut listens: Vec<SocketAddr> = settings.pools.iter().map(|pool| pool.listen).collect();
    for address in &mut listens {
        // Threads share the address; another program must not.
        let alone = listen_alone(*address)?;
        *address = alone.local_addr()?.as_socket().unwrap_or(*address);
    }
    let writer = settings.log.as_ref().map(|log| Writer::start(log, shared.clone())).transpose()?;
    let rows = writer.as_ref().map(|writer| writer.to.clone());
    let mut running = Running {
        threads: Vec::new(),
        log: writer,
        keeper: None,
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
        // A ring belongs to the thread that makes it.
        let work = move || {
            let open = |address: &SocketAddr| listen(*address, true).map(|socket| TcpListener::from_std(socket.into()));
            let listeners = listens.iter().map(open).collect::<io::Result<Vec<_>>>()?;
            let (sockets, waker) = Sockets::new(settings.event_loop, tokens(&settings) - 1, listeners)?;
            *wakes.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
            let mut seed = [0; 32];
            SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
            let log = rows.clone().map(|rows| (rows, unix()));
            let front = Front::new(&settings, sockets, shared.clone(), number, stop.clone(), (seed, log));
            // Who started it waits for this, unless it is gone.
            let _ = tell.send(());
            thread::run(front)
        };
        let thread = std::thread::Builder::new()
            .name("fanin-front".to_owned())
            .spawn(move || thread::again_and_again(&counters, work))?;
        running.threads.push(thread);
        if told.recv().is_err() {
            running.stop();
            return running.wait().and(Err(io::Error::other("a thread of the front end did not begin")));
        }
    }
    running.keeper = MigrationThread::start(plans, shared, running.wakers.clone())?;
    Ok(running)
}

impl Running {
    /// Tells it to answer what it has taken and to end.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
        for waker in &self.wakers {
            waker.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
        }
    }

    /// Waits until it has ended.
    pub fn wait(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the front end panicked")))?;
        }
        self.keeper.into_iter().for_each(MigrationThread::end);
        self.log.into_iter().for_each(Writer::end);
        Ok(())
    }

    /// Whether a thread has ended by itself.
    pub fn has_failed(&self) -> bool {
        !self.stop.load(Relaxed) && self.threads.iter().any(JoinHandle::is_finished)
    }
}

#[expect(clippy::print_stderr, reason = "who starts a front end looks there")]
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

/// Takes an address for this program alone. One that was killed may have its sockets for a moment longer, by io_uring: so this tries
/// for some seconds.
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

/// Who listens at an address, as far as this user may know.
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

/// Asks the system for as many files as this user may have: how many clients there may be.
fn clients_for_files(settings: &Settings) -> io::Result<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let reserve = files_apart(settings);
    let clients = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(reserve).min(settings.clients);
    let what = format!(
        "{limit} open files are too few, since servers, plans and logs take {reserve}: raise the limit (ulimit -n)"
    );
    (clients > 0).then_some(clients).ok_or_else(|| io::Error::other(what))
}

/// Files that are kept back from clients: each thread has two connections to every server, and listens for every pool by two files.
fn files_apart(settings: &Settings) -> usize {
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    settings.threads * (2 * servers + 2 * settings.pools.len() + FILES_A_THREAD) + FILES
}
