//! Waits of threads and tasks for a shared limiter, and the grants that they get.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::vec::Vec;

use crate::share::Share;
use crate::{Figures, Limiter, Settings, Ticket};

/// Wakers that are taken while the limiter is locked, and called after it is unlocked.
const BATCH: usize = 8;

/// A limiter that threads and tasks share; clones are the same limiter.
#[derive(Clone, Debug)]
pub struct Limit {
    shared: Arc<Shared>,
    caller: u64,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    begun: Instant,
}

#[derive(Debug)]
struct State {
    limiter: Limiter,
    /// Waker of each waiting request, by its ticket's index.
    wakers: Vec<Option<Waker>>,
}

/// Permission for one response, and its share of the bytes in flight, which the grant gives back when it is dropped.
#[derive(Debug)]
#[must_use = "a dropped grant gives its bytes back"]
pub struct Grant {
    shared: Arc<Shared>,
    ticket: Ticket,
    has_ended: bool,
}

/// A task's wait for a [`Grant`]; a dropped one leaves the queue.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Ready {
    limit: Limit,
    expected: Option<u64>,
    ticket: Option<Ticket>,
}

impl Limit {
    /// A limiter without requests.
    #[expect(clippy::disallowed_methods, reason = "the limiter's clock")]
    pub fn new(settings: Settings) -> Limit {
        let state = State { limiter: Limiter::new(settings), wakers: Vec::new() };
        Limit { shared: Arc::new(Shared { state: Mutex::new(state), begun: Instant::now() }), caller: 0 }
    }

    /// A limiter whose budget all processes of the host share that use this folder, such as one in `/dev/shm`, with the same settings. Each
    /// has its own algorithm. A process that ends, however it does, gives back its part at once; one that forks should do that before.
    ///
    /// # Errors
    ///
    /// If the settings have no budget, if files of the folder cannot be written and locked, or if 64 processes use it.
    pub fn with_shared_budget(settings: Settings, folder: impl AsRef<Path>) -> io::Result<Limit> {
        let mut share = Share::join(folder.as_ref(), &settings)?;
        let limit = Limit::new(settings);
        let own = share.adjust(&limit.figures())?;
        limit.shared.change(|limiter, _| limiter.set_budget(own));
        let weak = Arc::downgrade(&limit.shared);
        thread::Builder::new().name("fanin-limit".into()).spawn(move || {
            while let Some(shared) = weak.upgrade() {
                let period = shared.adjust(&mut share);
                drop(shared);
                thread::sleep(period);
            }
        })?;
        Ok(limit)
    }

    /// The same limiter for another caller. Callers with waiting requests get equal shares of bytes; each number is one.
    #[must_use]
    pub fn caller(&self, caller: u64) -> Limit {
        Limit { shared: self.shared.clone(), caller }
    }

    /// Waits, without a task, until a response of this size may be requested. Give `None` if the request does not state its size.
    pub fn acquire(&self, expected: impl Into<Option<u64>>) -> Grant {
        let expected = expected.into();
        if let Some(grant) = self.try_acquire(expected) {
            return grant;
        }
        let waker = Waker::from(Arc::new(Parker(thread::current())));
        let mut ready = self.ready(expected);
        loop {
            match Pin::new(&mut ready).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(grant) => return grant,
                Poll::Pending => thread::park(),
            }
        }
    }

    /// Waits as [`acquire`](Limit::acquire) does, for at most this long.
    #[expect(clippy::disallowed_methods, reason = "a wait with a limit")]
    pub fn acquire_timeout(&self, expected: impl Into<Option<u64>>, timeout: Duration) -> Option<Grant> {
        let expected = expected.into();
        if let Some(grant) = self.try_acquire(expected) {
            return Some(grant);
        }
        let begun = Instant::now();
        let waker = Waker::from(Arc::new(Parker(thread::current())));
        let mut ready = self.ready(expected);
        loop {
            match Pin::new(&mut ready).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(grant) => return Some(grant),
                Poll::Pending => thread::park_timeout(timeout.checked_sub(begun.elapsed())?),
            }
        }
    }

    /// A grant without a wait, if there is one.
    pub fn try_acquire(&self, expected: impl Into<Option<u64>>) -> Option<Grant> {
        let now = self.shared.now();
        let ticket = self.shared.lock().limiter.try_request(now, expected.into())?;
        Some(Grant { shared: self.shared.clone(), ticket, has_ended: false })
    }

    /// A future that is ready when a response of this size may be requested.
    pub fn ready(&self, expected: impl Into<Option<u64>>) -> Ready {
        Ready { limit: self.clone(), expected: expected.into(), ticket: None }
    }

    /// Counters and state.
    pub fn figures(&self) -> Figures {
        self.shared.lock().limiter.figures()
    }
}

impl Shared {
    /// Nanoseconds since the limiter's start.
    fn now(&self) -> u64 {
        let elapsed = self.begun.elapsed();
        elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adapts this process's part of a shared budget to its requests; returns the time until the next call.
    fn adjust(&self, share: &mut Share) -> Duration {
        let figures = self.lock().limiter.figures();
        // A process without its files keeps its part.
        if let Ok(own) = share.adjust(&figures) {
            self.change(|limiter, _| limiter.set_budget(own));
        }
        Share::period(&figures)
    }

    /// Changes the limiter, and wakes those that it admits then.
    fn change(&self, change: impl FnOnce(&mut Limiter, u64)) {
        let now = self.now();
        let mut state = self.lock();
        change(&mut state.limiter, now);
        if state.limiter.waiting() == 0 {
            return;
        }
        loop {
            let mut admitted: [Option<Waker>; BATCH] = [const { None }; BATCH];
            let mut count = 0;
            while count < BATCH
                && let Some(ticket) = state.limiter.admit_next(now)
            {
                admitted[count] = state.wakers.get_mut(ticket.index()).and_then(Option::take);
                count += 1;
            }
            drop(state);
            admitted.into_iter().flatten().for_each(Waker::wake);
            if count < BATCH {
                return;
            }
            state = self.lock();
        }
    }
}

impl State {
    /// Whether a ticket is admitted; if not, the waker is called when it is.
    fn is_admitted_or_wakes(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        if self.limiter.is_admitted(ticket) {
            return true;
        }
        let index = ticket.index();
        if self.wakers.len() <= index {
            self.wakers.resize_with(index + 1, || None);
        }
        match &mut self.wakers[index] {
            Some(present) => present.clone_from(waker),
            empty => *empty = Some(waker.clone()),
        }
        false
    }
}

impl Future for Ready {
    type Output = Grant;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Grant> {
        let shared = &self.limit.shared;
        let now = shared.now();
        let mut state = shared.lock();
        let ticket = self.ticket.unwrap_or_else(|| state.limiter.request(now, self.limit.caller, self.expected));
        let is_admitted = state.is_admitted_or_wakes(ticket, context.waker());
        drop(state);
        if is_admitted {
            self.ticket = None;
            return Poll::Ready(Grant { shared: self.limit.shared.clone(), ticket, has_ended: false });
        }
        self.ticket = Some(ticket);
        Poll::Pending
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let waker = self.limit.shared.lock().wakers.get_mut(ticket.index()).and_then(Option::take);
            drop(waker);
            self.limit.shared.change(|limiter, now| limiter.cancel(now, ticket));
        }
    }
}

impl Grant {
    /// Corrects the expected size, such as by the response's header.
    pub fn expect(&self, bytes: u64) {
        self.shared.change(|limiter, _| limiter.expect(self.ticket, bytes));
    }

    /// Records bytes that have arrived: others may use their place.
    pub fn received(&self, bytes: u64) {
        self.shared.change(|limiter, _| limiter.received(self.ticket, bytes));
    }

    /// Ends the request with a complete response of this size, or of the bytes [recorded](Grant::received) if these are more.
    pub fn finish(mut self, bytes: u64) {
        self.has_ended = true;
        self.shared.change(|limiter, now| limiter.finish(now, self.ticket, bytes));
    }
}

impl Drop for Grant {
    /// Gives back the bytes of a failed or cancelled request; nothing after [`finish`](Grant::finish).
    fn drop(&mut self) {
        if !self.has_ended {
            self.shared.change(|limiter, now| limiter.cancel(now, self.ticket));
        }
    }
}

/// Waker of a thread.
struct Parker(Thread);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
