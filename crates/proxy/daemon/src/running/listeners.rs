//! Listening sockets of a front end: one per address and thread, by SO_REUSEPORT.
//!
//! A thread gets duplicates, so that connections in a socket's queue survive the thread: a restarted thread accepts them. In the same way
//! they survive a process that passes its sockets to a successor. All passed sockets of an address are used, whatever the number of
//! threads, since closing the last duplicate of a socket resets the connections in its queue.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use listenfd::ListenFd;
use procfs::process::FDTarget;
use socket2::{Domain, Protocol, Socket, Type};

use super::socket_file::SocketFile;
use fanin_proxy_net::Address;
use fanin_proxy_net::stream::Listener;
use fanin_proxy_state::handover::{OfferedSocket, Origin};

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
    /// Sockets of a predecessor process, with their actual addresses.
    inherited: Mutex<Vec<(OfferedSocket, Address, Socket)>>,
}

/// An address as in the settings, and with its actual port; its sockets, their origin, and the file of a UNIX socket.
#[derive(Debug)]
struct Place {
    at: Address,
    actual: Address,
    sockets: Vec<Socket>,
    origin: Origin,
    file: Option<SocketFile>,
}

impl Listeners {
    /// No sockets yet, for this many threads, but those that systemd or a predecessor has passed.
    ///
    /// # Errors
    /// A passed file is no listening socket.
    pub fn new(threads: usize, of_predecessor: Vec<(OfferedSocket, OwnedFd)>) -> io::Result<Listeners> {
        let (mut passed, mut inherited) = (passed_sockets()?, Vec::new());
        for (offered, file) in of_predecessor {
            let socket = Socket::from(file);
            let Some(at) = address(&socket)? else { continue };
            match offered.origin {
                Origin::Systemd => passed.push((at, socket)),
                Origin::Own => inherited.push((offered, at, socket)),
            }
        }
        Ok(Listeners { threads, places: Mutex::default(), passed, inherited: Mutex::new(inherited) })
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
            let (sockets, origin) = (vec![socket.try_clone()?], Origin::Systemd);
            return Ok(Place { at: at.clone(), actual: at.clone(), sockets, origin, file: None });
        }
        if let Some(place) = self.inherited_place(at) {
            return Ok(place);
        }
        let origin = Origin::Own;
        match at {
            Address::Ip(address) => {
                // Threads share the address, but other programs must not.
                let alone = retry(at, || listen(*address, false))?;
                let actual = alone.local_addr()?.as_socket().unwrap_or(*address);
                drop(alone);
                let sockets = (0..self.threads).map(|_| listen(actual, true)).collect::<io::Result<_>>()?;
                Ok(Place { at: at.clone(), actual: actual.into(), sockets, origin, file: None })
            }
            Address::Unix(path) => {
                let (socket, file) = retry(at, || SocketFile::listen(path, BACKLOG))?;
                Ok(Place { at: at.clone(), actual: at.clone(), sockets: vec![socket], origin, file: Some(file) })
            }
        }
    }

    /// The predecessor's sockets at an address. Their file still belongs to the predecessor.
    fn inherited_place(&self, at: &Address) -> Option<Place> {
        let mut inherited = self.inherited.lock().unwrap_or_else(PoisonError::into_inner);
        let text = at.to_string();
        let of_place = inherited.extract_if(.., |(offered, actual, _)| offered.listen == text || actual == at);
        let (addresses, sockets): (Vec<_>, Vec<_>) = of_place.map(|(_, actual, socket)| (actual, socket)).unzip();
        let actual = addresses.into_iter().next()?;
        Some(Place { at: at.clone(), actual, sockets, origin: Origin::Own, file: None })
    }

    /// The predecessor has released its sockets: their files belong to this process, and unused ones are closed.
    pub fn keep_inherited(&self) {
        self.inherited.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for place in self.places().iter_mut().filter(|place| place.origin == Origin::Own && place.file.is_none()) {
            if let Address::Unix(path) = &place.at {
                place.file = Some(SocketFile::of(path));
            }
        }
    }

    /// Duplicates of all sockets, for a successor.
    ///
    /// # Errors
    /// There are no free file descriptors.
    pub fn offer(&self) -> io::Result<Vec<(OfferedSocket, Socket)>> {
        let (places, mut offered) = (self.places(), Vec::new());
        let passed = self.passed.iter().map(|(at, socket)| (at, socket, Origin::Systemd));
        let own = places.iter().filter(|place| place.origin == Origin::Own);
        let own = own.flat_map(|place| place.sockets.iter().map(move |socket| (&place.at, socket, Origin::Own)));
        for (at, socket, origin) in passed.chain(own) {
            offered.push((OfferedSocket { listen: at.to_string(), origin }, socket.try_clone()?));
        }
        Ok(offered)
    }

    /// Closes all sockets. The files at these addresses belong to a successor; others are removed.
    pub fn release(&self, of_successor: &[String]) {
        for place in self.places().drain(..) {
            if of_successor.contains(&place.at.to_string()) {
                place.file.into_iter().for_each(SocketFile::leave);
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
        sockets.extend(address(&socket)?.map(|at| (at, socket)));
    }
    Ok(sockets)
}

/// Address of a passed socket, which becomes non-blocking.
fn address(socket: &Socket) -> io::Result<Option<Address>> {
    socket.set_nonblocking(true)?;
    let at = socket.local_addr()?;
    let path = at.as_pathname().map(|path| Address::Unix(path.to_owned()));
    Ok(at.as_socket().map(Address::Ip).or(path))
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
