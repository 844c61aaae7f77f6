//! A capture that was read: its watch and its clock.

use crate::capture::End;
use crate::rdma::Rdma;
use crate::watch::Watch;

/// If the time goes back by more than this, someone set the clock; if by less, packets of several interfaces are slightly out of order.
const SET_BACK: u64 = 1_000_000_000;

/// No capture takes two years: clamp later timestamps, which are damage.
const FURTHEST: u64 = 1 << 56;

/// A capture that was read.
#[derive(Default)]
pub(crate) struct Capture {
    pub name: String,
    pub kind: &'static str,
    pub watch: Watch,
    pub end: End,
    /// Timestamps of the first and the last packet, in nanoseconds since the epoch.
    pub first: Option<u64>,
    pub last: u64,
    /// Total correction for a clock that was set back, how often that happened, and how often packets were out of order.
    shift: u64,
    pub set_back: u64,
    pub out_of_order: u64,
    pub tcp: u64,
    pub rdma: Rdma,
    pub unclear: u64,
    latest: u64,
}

impl Capture {
    /// A capture before its first packet.
    pub fn new(name: &str, kind: &'static str) -> Capture {
        Capture { name: name.into(), kind, ..Capture::default() }
    }

    /// Nanoseconds since just before the first packet; never decreases.
    pub fn time(&mut self, at: u64) -> u64 {
        let first = *self.first.get_or_insert(at);
        self.last = self.last.max(at);
        // Negative if the clock was set back to a time before the first packet.
        let since = i128::from(at) + i128::from(self.shift) - i128::from(first) + 1;
        let behind = i128::from(self.latest) - since;
        if behind > i128::from(SET_BACK) {
            self.shift += u64::try_from(behind).unwrap_or(u64::MAX - self.shift).min(u64::MAX - self.shift);
            self.set_back += 1;
        } else if behind > 0 {
            self.out_of_order += 1;
        }
        let now = u64::try_from(since).map_or(0, |since| since.min(FURTHEST)).max(self.latest);
        self.latest = now;
        now
    }
}
