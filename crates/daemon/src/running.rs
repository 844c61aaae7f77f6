//! A front end as a whole: its sockets, its threads, and how it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use mio::net::TcpListener;
use socket2::{Domain, Protocol, Socket, Type};

use crate::counters::Counters;
use crate::front::Front;
use crate::settings::Settings;
use crate::sockets::{Sockets, Waker};
use crate::stats::Shared;

/// Connections that may wait to be taken.
const BACKLOG: i32 = 4096;

/// A front end that runs.
pub struct Running {
    threads: Vec<JoinHandle<io::Result<()>>>,
    wakers: Vec<Waker>,
    stop: Arc<AtomicBool>,
    /// Where its pools listen: with the port that was found where the settings leave it open.
    pub listens: Vec<SocketAddr>,
}

/// Starts one.
pub fn start(settings: &Settings) -> io::Result<Running> {
    allow_many_files();
    let stop = Arc::new(AtomicBool::new(false));
    let counters: Vec<Arc<Counters>> =
        (0..settings.threads).map(|_| Arc::new(Counters::of_pools(settings.pools.len()))).collect();
    let shared = Arc::new(Shared { threads: counters.clone(), writes: Default::default() });
    let mut listens: Vec<SocketAddr> = settings.pools.iter().map(|pool| pool.listen).collect();
    for address in &mut listens {
        // Threads share the address; another program must not.
        let alone = listen(*address, false)?;
        *address = alone.local_addr()?.as_socket().unwrap_or(*address);
    }
    let mut running = Running { threads: Vec::new(), wakers: Vec::new(), stop: stop.clone(), listens: listens.clone() };
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    for counters in counters {
        let open = |address: &SocketAddr| listen(*address, true).map(|socket| TcpListener::from_std(socket.into()));
        let listeners = listens.iter().map(open).collect::<io::Result<Vec<_>>>()?;
        let (settings, shared, stop) = (settings.clone(), shared.clone(), stop.clone());
        let (tell, told) = mpsc::channel();
        // A ring belongs to the thread that makes it.
        let work = move || {
            // The one number between servers and clients.
            let (sockets, waker) = Sockets::new(settings.event_loop, listeners.len() + servers)?;
            let front = Front::new(&settings, sockets, listeners, shared, counters, stop)?;
            // Who started it waits for this, unless it is gone.
            let _ = tell.send(waker);
            front.run()
        };
        let thread = thread::Builder::new().name("fanin-front".to_owned()).spawn(work)?;
        running.threads.push(thread);
        match told.recv() {
            Ok(waker) => running.wakers.push(waker),
            Err(_) => {
                running.stop();
                return running.wait().and(Err(io::Error::other("a thread of the front end did not begin")));
            }
        }
    }
    Ok(running)
}

impl Running {
    /// Tells it to answer what it has taken and to end.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Waits until it has ended.
    pub fn wait(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the front end panicked")))?;
        }
        Ok(())
    }

    /// Whether a thread has ended by itself.
    pub fn has_failed(&self) -> bool {
        !self.stop.load(Relaxed) && self.threads.iter().any(JoinHandle::is_finished)
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

/// As many connections as the system lets this user have; fewer will do.
fn allow_many_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
