//! Listening sockets of a front end: one per address and thread, by SO_REUSEPORT.
//!
//! A thread gets duplicates, so that connections in a socket's queue survive the thread: a restarted thread accepts them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mio::net::TcpListener;
use procfs::process::FDTarget;
use socket2::{Domain, Protocol, Socket, Type};

/// Maximum number of connections that wait for accept.
const BACKLOG: i32 = 4096;
/// Number of attempts to bind an address in use, and the pause between them.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// The sockets at each address.
#[derive(Debug)]
pub struct Listeners {
    threads: usize,
    places: Mutex<Vec<Place>>,
}

/// An address as in the settings, and with its actual port; and its sockets.
#[derive(Debug)]
struct Place {
    at: SocketAddr,
    actual: SocketAddr,
    sockets: Vec<Socket>,
}

impl Listeners {
    /// No sockets yet, for this many threads.
    pub fn new(threads: usize) -> Listeners {
        Listeners { threads, places: Mutex::default() }
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens at those of these addresses at which it does not yet.
    ///
    /// # Errors
    /// An address cannot be used; then nothing has changed.
    pub fn open(&self, addresses: &[SocketAddr]) -> io::Result<()> {
        let mut places = self.places();
        let missing = addresses.iter().filter(|at| places.iter().all(|place| place.at != **at));
        let new: Vec<Place> = missing.map(|at| self.place(*at)).collect::<io::Result<_>>()?;
        places.extend(new);
        Ok(())
    }

    fn place(&self, at: SocketAddr) -> io::Result<Place> {
        // Threads share the address, but other programs must not.
        let alone = listen_alone(at)?;
        let actual = alone.local_addr()?.as_socket().unwrap_or(at);
        drop(alone);
        let sockets = (0..self.threads).map(|_| listen(actual, true)).collect::<io::Result<_>>()?;
        Ok(Place { at, actual, sockets })
    }

    /// Closes the sockets at other addresses than these; threads close their duplicates.
    pub fn keep(&self, addresses: &[SocketAddr]) {
        self.places().retain(|place| addresses.contains(&place.at));
    }

    /// The addresses with their actual ports.
    pub fn actual(&self, addresses: &[SocketAddr]) -> Vec<SocketAddr> {
        let places = self.places();
        let actual = |at: &SocketAddr| places.iter().find(|place| place.at == *at).map_or(*at, |place| place.actual);
        addresses.iter().map(actual).collect()
    }

    /// Duplicates of a thread's sockets at an address. All threads together get all sockets.
    pub fn of_thread(&self, number: usize, at: SocketAddr) -> io::Result<Vec<TcpListener>> {
        let places = self.places();
        let sockets = places.iter().find(|place| place.at == at).map_or(&[][..], |place| &place.sockets);
        let its = sockets.iter().skip(number).step_by(self.threads);
        its.map(|socket| Ok(TcpListener::from_std(socket.try_clone()?.into()))).collect()
    }
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
