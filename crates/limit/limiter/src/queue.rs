//! Waiting requests: fair among callers by bytes, and in order within a caller.
//!
//! Sources: Goyal, Vin and Cheng, "Start-time Fair Queueing" (SIGCOMM 1996). A request starts at the later of the queue's virtual time and
//!          the end of its caller's last one, and ends its size later. Requests leave by their start. Counting begins anew when nothing waits.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::slots::Ticket;

/// Waiting requests, by start and order of arrival; some may have been cancelled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    /// Start of the last request that left.
    virtual_time: u64,
    /// Arrivals so far.
    arrivals: u64,
    /// End of each caller's last request, by caller.
    ends: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    start: u64,
    arrival: u64,
    ticket: Ticket,
}

impl Queue {
    /// Begins anew, when nothing waits.
    pub fn restart(&mut self) {
        self.heap.clear();
        self.ends.clear();
        self.virtual_time = 0;
    }

    pub fn push(&mut self, ticket: Ticket, caller: u64, charge: u64) {
        let at = self.ends.binary_search_by_key(&caller, |(caller, _)| *caller);
        let start = at.map_or(0, |at| self.ends[at].1).max(self.virtual_time);
        let end = start.saturating_add(charge);
        match at {
            Ok(at) => self.ends[at].1 = end,
            Err(at) => self.ends.insert(at, (caller, end)),
        }
        self.arrivals += 1;
        self.heap.push(Reverse(Entry { start, arrival: self.arrivals, ticket }));
    }

    pub fn first(&self) -> Option<Ticket> {
        self.heap.peek().map(|Reverse(entry)| entry.ticket)
    }

    /// Takes the first request, which is admitted.
    pub fn serve(&mut self) {
        if let Some(Reverse(entry)) = self.heap.pop() {
            self.virtual_time = entry.start;
        }
    }

    /// Takes the first request, which was cancelled.
    pub fn drop_first(&mut self) {
        self.heap.pop();
    }

    /// Removes entries of cancelled requests if they outnumber the live ones.
    pub fn tidy(&mut self, live: usize, spare: usize, is_live: impl Fn(Ticket) -> bool) {
        if self.heap.len() > spare + 2 * live {
            self.heap.retain(|Reverse(entry)| is_live(entry.ticket));
        }
    }
}
