//! Clients on their way from this process to its successor.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Kind, Link, PoolName, Started};

/// A change of this process's clients.
#[derive(Debug)]
pub enum Departure {
    /// A client goes to the successor.
    Client(PoolName, OwnedFd, Vec<u8>),
    /// A client has left.
    Left,
    /// There are no more clients.
    End,
}

/// The successor, as the threads see it.
#[derive(Debug)]
pub struct Departures {
    to: Sender<Departure>,
    pools: Vec<PoolName>,
    /// Number of clients that the successor still takes.
    room: AtomicUsize,
    /// Threads that have stopped accepting.
    stopped: Vec<AtomicBool>,
}

impl Departures {
    /// Departures to this successor, from this many threads; and the queue for [`deliver`].
    pub fn new(successor: Started, threads: usize) -> (Departures, Receiver<Departure>) {
        let (to, queue) = channel();
        let stopped = (0..threads).map(|_| AtomicBool::new(false)).collect();
        let room = AtomicUsize::new(successor.clients);
        (Departures { to, pools: successor.pools, room, stopped }, queue)
    }

    /// Whether the successor takes clients of a pool.
    pub fn takes(&self, pool: &PoolName) -> bool {
        self.room.load(SeqCst) > 0 && pool.successor(&self.pools).is_some()
    }

    /// Reserves a place for a client.
    pub fn reserve(&self) -> bool {
        self.room.fetch_update(SeqCst, SeqCst, |room| room.checked_sub(1)).is_ok()
    }

    /// Sends a client to the successor.
    pub fn send(&self, pool: PoolName, file: OwnedFd, unread: Vec<u8>) {
        // Without a successor, the client is closed.
        let _ = self.to.send(Departure::Client(pool, file, unread));
    }

    /// A client has left by itself.
    pub fn client_left(&self) {
        let _ = self.to.send(Departure::Left);
    }

    /// All clients have gone.
    pub fn end(&self) {
        let _ = self.to.send(Departure::End);
    }

    /// A thread has stopped accepting.
    pub fn has_stopped(&self, thread: usize) {
        self.stopped[thread].store(true, SeqCst);
    }

    /// Whether all threads have.
    pub fn all_have_stopped(&self) -> bool {
        self.stopped.iter().all(|stopped| stopped.load(SeqCst))
    }
}

/// Delivers departures to the successor until the last one. If the successor has ended, the clients are closed.
pub fn deliver(queue: &Receiver<Departure>, link: &Link) {
    for departure in queue {
        let sent = match departure {
            Departure::End => return,
            Departure::Left => link.send(Kind::Left, &[], None),
            Departure::Client(pool, file, unread) => serde_json::to_vec(&pool).map_err(Into::into).and_then(|name| {
                let body = [&(name.len() as u32).to_be_bytes(), &name[..], &unread].concat();
                link.send(Kind::Client, &body, Some(file.as_fd()))
            }),
        };
        if sent.is_err() {
            return;
        }
    }
}
