//! A capture that was read: what watched it, and its clock.

use crate::capture::End;
use crate::watch::Watch;

/// A clock that goes back by more than this was set; by less, packets of several interfaces were not quite in order.
const SET_BACK: u64 = 1_000_000_000;

/// No capture takes two years: later stamps are damage, and taken for this.
const FURTHEST: u64 = 1 << 56;

/// A capture that was read.
#[derive(Default)]
pub(crate) struct Capture {
    pub name: String,
    pub kind: &'static str,
    pub watch: Watch,
    pub end: End,
    /// Stamps of the first and the last packet, in nanoseconds since the epoch.
    pub first: Option<u64>,
    pub last: u64,
    /// How far stamps were moved on because the clock was set back, how often that was, and how often packets were out of order.
    shift: u64,
    pub set_back: u64,
    pub out_of_order: u64,
    pub tcp: u64,
    pub unclear: u64,
    latest: u64,
}

impl Capture {
    /// One of which nothing was read yet.
    pub fn new(name: &str, kind: &'static str) -> Capture {
        Capture { name: name.into(), kind, ..Capture::default() }
    }

    /// Nanoseconds since just before the first packet, which never go back.
    pub fn time(&mut self, at: u64) -> u64 {
        let first = *self.first.get_or_insert(at);
        self.last = self.last.max(at);
        // Since just before the first one; before that where the clock was set back by more than there is of the capture.
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
