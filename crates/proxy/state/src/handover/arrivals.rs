//! Clients on their way from the predecessor's process to the threads of this one.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use super::{Message, PoolName};

/// A client.
#[derive(Debug)]
pub struct Arrival {
    /// Its pool in the predecessor.
    pub pool: PoolName,
    /// Its socket.
    pub file: OwnedFd,
    /// Bytes that the predecessor has read and not handled.
    pub unread: Vec<u8>,
}

impl Arrival {
    /// The client of a message; none if it is invalid or has lost its file.
    pub fn of(message: Message) -> Option<Arrival> {
        let (length, rest) = message.body.split_first_chunk::<4>()?;
        let (name, unread) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        Some(Arrival { pool: serde_json::from_slice(name).ok()?, file: message.file?, unread: unread.to_vec() })
    }
}

/// Arrived clients of each thread, and the number that is still to come.
#[derive(Debug)]
pub struct Arrivals {
    threads: Vec<Inbox>,
    next: AtomicUsize,
    expected: AtomicUsize,
    /// Whether the predecessor has not ended.
    is_open: AtomicBool,
}

#[derive(Debug, Default)]
struct Inbox {
    has_some: AtomicBool,
    clients: Mutex<Vec<Arrival>>,
}

impl Arrivals {
    /// No arrivals, for this many threads.
    pub fn new(threads: usize) -> Arrivals {
        Arrivals {
            threads: (0..threads).map(|_| Inbox::default()).collect(),
            next: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            is_open: AtomicBool::new(false),
        }
    }

    /// There is a predecessor.
    pub fn open(&self) {
        self.is_open.store(true, SeqCst);
    }

    /// The predecessor has this many clients.
    pub fn expect(&self, clients: usize) {
        self.expected.store(clients, SeqCst);
    }

    /// The predecessor has ended.
    pub fn close(&self) {
        self.expect(0);
        self.is_open.store(false, SeqCst);
    }

    /// Whether there is a predecessor.
    pub fn are_open(&self) -> bool {
        self.is_open.load(SeqCst)
    }

    /// Number of clients that the predecessor still has.
    pub fn expected(&self) -> usize {
        self.expected.load(SeqCst)
    }

    /// A client has left the predecessor.
    pub fn one_left(&self) {
        let _ = self.expected.fetch_update(SeqCst, SeqCst, |clients| clients.checked_sub(1));
    }

    /// Gives a client to the next thread; returns its number.
    pub fn put(&self, arrival: Arrival) -> usize {
        let thread = self.next.fetch_add(1, SeqCst) % self.threads.len();
        let inbox = &self.threads[thread];
        inbox.clients.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        inbox.has_some.store(true, SeqCst);
        thread
    }

    /// The clients for a thread.
    pub fn take(&self, thread: usize) -> Vec<Arrival> {
        let inbox = &self.threads[thread];
        if !inbox.has_some.load(SeqCst) {
            return Vec::new();
        }
        inbox.has_some.store(false, SeqCst);
        std::mem::take(&mut *inbox.clients.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
