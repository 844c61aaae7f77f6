//! Listening sockets of a front end: one per address and thread, by SO_REUSEPORT.
//!
//! A thread gets duplicates, so that connections in a socket's queue survive the thread: a restarted thread accepts them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use listenfd::ListenFd;
use procfs::process::FDTarget;
use socket2::{Domain, Protocol, Socket, Type};

use super::socket_file::SocketFile;
use crate::net::Address;
use crate::net::stream::Listener;

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
    /// Sockets that systemd listens with, and their addresses.
    passed: Vec<(Address, Socket)>,
}

/// An address as in the settings, and with its actual port; its sockets, and the file of a UNIX socket.
#[derive(Debug)]
struct Place {
    at: Address,
    actual: Address,
    sockets: Vec<Socket>,
    _file: Option<SocketFile>,
}

impl Listeners {
    /// No sockets yet, for this many threads, but those that systemd has passed.
    ///
    /// # Errors
    /// A passed file is no listening socket.
    pub fn new(threads: usize) -> io::Result<Listeners> {
        Ok(Listeners { threads, places: Mutex::default(), passed: passed_sockets()? })
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens at those of these addresses at which it does not yet.
    ///
    /// # Errors
    /// An address cannot be used; then nothing has changed.
    pub fn open(&self, addresses: &[Address]) -> io::Result<()> {
        let mut places = self.places();
        let missing = addresses.iter().filter(|at| places.iter().all(|place| place.at != **at));
        let new: Vec<Place> = missing.map(|at| self.place(at)).collect::<io::Result<_>>()?;
        places.extend(new);
        Ok(())
    }

    fn place(&self, at: &Address) -> io::Result<Place> {
        if let Some((_, socket)) = self.passed.iter().find(|(address, _)| address == at) {
            return Ok(Place { at: at.clone(), actual: at.clone(), sockets: vec![socket.try_clone()?], _file: None });
        }
        match at {
            Address::Ip(address) => {
                // Threads share the address, but other programs must not.
                let alone = retry(at, || listen(*address, false))?;
                let actual = alone.local_addr()?.as_socket().unwrap_or(*address);
                drop(alone);
                let sockets = (0..self.threads).map(|_| listen(actual, true)).collect::<io::Result<_>>()?;
                Ok(Place { at: at.clone(), actual: actual.into(), sockets, _file: None })
            }
            Address::Unix(path) => {
                let (socket, file) = retry(at, || SocketFile::listen(path, BACKLOG))?;
                Ok(Place { at: at.clone(), actual: at.clone(), sockets: vec![socket], _file: Some(file) })
            }
        }
    }

    /// Closes the sockets at other addresses than these, and removes their files; threads close their duplicates.
    pub fn keep(&self, addresses: &[Address]) {
        self.places().retain(|place| addresses.contains(&place.at));
    }

    /// The addresses with their actual ports.
    pub fn actual(&self, addresses: &[Address]) -> Vec<Address> {
        let places = self.places();
        let place = |at: &Address| places.iter().find(|place| place.at == *at);
        addresses.iter().map(|at| place(at).map_or(at, |place| &place.actual).clone()).collect()
    }

    /// Duplicates of a thread's sockets at an address. All threads together get all sockets; if there are fewer, threads share them.
    pub fn of_thread(&self, number: usize, at: &Address) -> io::Result<Vec<Listener>> {
        let places = self.places();
        let Some(place) = places.iter().find(|place| place.at == *at) else { return Ok(Vec::new()) };
        let first = number % place.sockets.len();
        let its = place.sockets.iter().skip(first).step_by(self.threads);
        its.map(|socket| Ok(Listener::of(at, socket.try_clone()?))).collect()
    }
}

/// Listening sockets of systemd's socket activation (sd_listen_fds(3)), with their addresses.
fn passed_sockets() -> io::Result<Vec<(Address, Socket)>> {
    let mut passed = ListenFd::from_env();
    let mut sockets = Vec::new();
    for index in 0..passed.len() {
        let tcp = passed.take_tcp_listener(index).map(|listener| listener.map(Socket::from));
        let socket = match tcp {
            Ok(socket) => socket,
            Err(_) => passed.take_unix_listener(index)?.map(Socket::from),
        };
        let Some(socket) = socket else { continue };
        socket.set_nonblocking(true)?;
        let at = socket.local_addr()?;
        let path = at.as_pathname().map(|path| Address::Unix(path.to_owned()));
        sockets.extend(at.as_socket().map(Address::Ip).or(path).map(|at| (at, socket)));
    }
    Ok(sockets)
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

/// Binds an address. Sockets of a killed process may exist a little longer with io_uring, so this retries for some seconds.
fn retry<T>(address: &Address, bind: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut tries = TRIES;
    loop {
        match bind() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {
                tries -= 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                let whose = holder(address).map_or_else(String::new, |whose| format!(", by {whose}"));
                return Err(io::Error::new(error.kind(), format!("{address}: {error}{whose}")));
            }
            bound => return bound,
        }
    }
}

/// The process that listens at an address, if this user can see it.
fn holder(address: &Address) -> Option<String> {
    let sockets: Vec<u64> = match address {
        Address::Ip(address) => {
            let listening = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
            let at = |entry: &procfs::net::TcpNetEntry| {
                entry.state == procfs::net::TcpState::Listen && entry.local_address.port() == address.port()
            };
            listening.filter(at).map(|entry| entry.inode).collect()
        }
        Address::Unix(path) => {
            let sockets = procfs::net::unix().into_iter().flatten();
            sockets.filter(|entry| entry.path.as_ref() == Some(path)).map(|entry| entry.inode).collect()
        }
    };
    let process = procfs::process::all_processes().ok()?.flatten().find(|process| {
        process.fd().is_ok_and(|mut files| {
            files.any(|file| {
                matches!(file, Ok(file) if matches!(file.target, FDTarget::Socket(inode) if sockets.contains(&inode)))
            })
        })
    })?;
    Some(format!("{} (process {})", process.stat().ok()?.comm, process.pid))
}
