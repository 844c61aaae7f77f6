//! Listening sockets of a front end: one per pool and thread, by SO_REUSEPORT.
//!
//! A thread gets duplicates, so that connections in a socket's queue survive the thread: another front end, which has duplicates too,
//! accepts them. Only when all are closed does the kernel refuse connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mio::net::TcpListener;
use procfs::process::FDTarget;
use socket2::{Domain, Protocol, Socket, Type};

/// Maximum number of connections that wait for accept.
const BACKLOG: i32 = 4096;
/// Number of attempts to bind an address in use, and the pause between them.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// The sockets of each pool.
#[derive(Debug)]
pub struct Listeners {
    pools: Vec<(SocketAddr, Mutex<Vec<Socket>>)>,
}

impl Listeners {
    /// Listens at an address per pool, for this many threads; shares the sockets of a predecessor that listens there.
    pub fn open(
        addresses: impl Iterator<Item = SocketAddr>,
        threads: usize,
        predecessor: Option<&Listeners>,
    ) -> io::Result<Listeners> {
        let of_pool = |address: SocketAddr| {
            let mut sockets = predecessor.map_or(Ok(Vec::new()), |predecessor| predecessor.at(address))?;
            // Threads share the address, but other programs must not.
            let alone = if sockets.is_empty() { Some(listen_alone(address)?) } else { None };
            let actual = alone.as_ref().or(sockets.first()).and_then(|socket| socket.local_addr().ok());
            let address = actual.and_then(|actual| actual.as_socket()).unwrap_or(address);
            drop(alone);
            for _ in sockets.len()..threads {
                sockets.push(listen(address, true)?);
            }
            Ok((address, Mutex::new(sockets)))
        };
        Ok(Listeners { pools: addresses.map(of_pool).collect::<io::Result<_>>()? })
    }

    /// Addresses of the pools, with the actual ports.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.pools.iter().map(|(address, _)| *address).collect()
    }

    /// Duplicates of the sockets at an address.
    fn at(&self, address: SocketAddr) -> io::Result<Vec<Socket>> {
        let Some((_, sockets)) = self.pools.iter().find(|(listens, _)| *listens == address) else {
            return Ok(Vec::new());
        };
        sockets.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Socket::try_clone).collect()
    }

    /// Duplicates for a thread, by pool. All threads together get all sockets.
    pub fn of_thread(&self, number: usize, threads: usize) -> io::Result<Vec<Vec<TcpListener>>> {
        let of_pool = |(_, sockets): &(SocketAddr, Mutex<Vec<Socket>>)| {
            let sockets = sockets.lock().unwrap_or_else(PoisonError::into_inner);
            let its = sockets.iter().skip(number).step_by(threads);
            its.map(|socket| Ok(TcpListener::from_std(socket.try_clone()?.into()))).collect()
        };
        self.pools.iter().map(of_pool).collect()
    }

    /// Closes the sockets; threads close their duplicates.
    pub fn close(&self) {
        self.pools.iter().for_each(|(_, sockets)| sockets.lock().unwrap_or_else(PoisonError::into_inner).clear());
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
