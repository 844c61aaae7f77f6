//! Listening sockets of a front end: one per pool and thread, by SO_REUSEPORT.
//!
//! A thread gets duplicates, so that connections in a socket's queue survive the thread: another front end, which has duplicates too,
//! accepts them. Only when all are closed does the kernel refuse connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

/// The sockets of a pool.
#[derive(Debug)]
struct OfPool {
    address: Address,
    sockets: Vec<Socket>,
    /// The file of a UNIX socket, which a successor shares.
    file: Option<Arc<SocketFile>>,
}

/// The sockets of each pool.
#[derive(Debug)]
pub struct Listeners {
    pools: Vec<(Address, Mutex<OfPool>)>,
}

impl Listeners {
    /// Listens at an address per pool, for this many threads; shares the sockets of a predecessor that listens there.
    pub fn open<'a>(
        addresses: impl Iterator<Item = &'a Address>,
        threads: usize,
        predecessor: Option<&Listeners>,
    ) -> io::Result<Listeners> {
        let of_pool = |address: &Address| {
            let shared = predecessor.map_or(Ok(None), |predecessor| predecessor.at(address))?;
            let of_pool = match address {
                Address::Ip(address) => listen_tcp(*address, threads, shared)?,
                Address::Unix(path) => {
                    let listen = || retry(address, || SocketFile::listen(path, BACKLOG));
                    let opened = |(socket, file): (Socket, SocketFile)| OfPool {
                        address: address.clone(),
                        sockets: vec![socket],
                        file: Some(Arc::new(file)),
                    };
                    let mut of_pool = shared.map_or_else(|| listen().map(opened), Ok)?;
                    // Threads share one queue.
                    for _ in of_pool.sockets.len()..threads {
                        of_pool.sockets.push(of_pool.sockets[0].try_clone()?);
                    }
                    of_pool
                }
            };
            Ok((of_pool.address.clone(), Mutex::new(of_pool)))
        };
        Ok(Listeners { pools: addresses.map(of_pool).collect::<io::Result<_>>()? })
    }

    /// Addresses of the pools, with the actual ports.
    pub fn addresses(&self) -> Vec<Address> {
        self.pools.iter().map(|(address, _)| address.clone()).collect()
    }

    /// Duplicates of the sockets at an address, if there are any.
    fn at(&self, address: &Address) -> io::Result<Option<OfPool>> {
        let Some((address, of_pool)) = self.pools.iter().find(|(listens, _)| listens == address) else {
            return Ok(None);
        };
        let of_pool = of_pool.lock().unwrap_or_else(PoisonError::into_inner);
        let sockets: Vec<_> = of_pool.sockets.iter().map(Socket::try_clone).collect::<io::Result<_>>()?;
        let shared = OfPool { address: address.clone(), sockets, file: of_pool.file.clone() };
        Ok((!shared.sockets.is_empty()).then_some(shared))
    }

    /// Duplicates for a thread, by pool. All threads together get all sockets.
    pub fn of_thread(&self, number: usize, threads: usize) -> io::Result<Vec<Vec<Listener>>> {
        let of_pool = |(address, of_pool): &(Address, Mutex<OfPool>)| {
            let of_pool = of_pool.lock().unwrap_or_else(PoisonError::into_inner);
            let its = of_pool.sockets.iter().skip(number).step_by(threads);
            its.map(|socket| Ok(Listener::of(address, socket.try_clone()?))).collect()
        };
        self.pools.iter().map(of_pool).collect()
    }

    /// Closes the sockets and removes their files; threads close their duplicates.
    pub fn close(&self) {
        for (_, of_pool) in &self.pools {
            let mut of_pool = of_pool.lock().unwrap_or_else(PoisonError::into_inner);
            of_pool.sockets.clear();
            of_pool.file = None;
        }
    }
}

/// Listens at a TCP address, with a socket per thread, or more if they are shared with a predecessor.
fn listen_tcp(address: SocketAddr, threads: usize, shared: Option<OfPool>) -> io::Result<OfPool> {
    let mut sockets = shared.map_or(Vec::new(), |shared| shared.sockets);
    // Threads share the address, but other programs must not.
    let listen_alone = || retry(&address.into(), || listen(address, false));
    let alone = if sockets.is_empty() { Some(listen_alone()?) } else { None };
    let actual = alone.as_ref().or(sockets.first()).and_then(|socket| socket.local_addr().ok());
    let address = actual.and_then(|actual| actual.as_socket()).unwrap_or(address);
    drop(alone);
    for _ in sockets.len()..threads {
        sockets.push(listen(address, true)?);
    }
    Ok(OfPool { address: address.into(), sockets, file: None })
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
