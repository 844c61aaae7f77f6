//! Events at one end that its application learns of.

use std::ops::BitOr;

/// Set of events for the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress(u8);

impl Progress {
    /// Nothing.
    pub const NONE: Progress = Progress(0);
    /// The handshake is done.
    pub const ESTABLISHED: Progress = Progress(1);
    /// The bytes requested by [`Transport::wake_at`](crate::Transport::wake_at) are delivered.
    pub const AWAKE: Progress = Progress(1 << 1);
    /// The peer closed its side, and all earlier data is delivered.
    pub const CLOSED: Progress = Progress(1 << 2);
    /// The connection is gone: the peer reset it, or it was given up.
    pub const BROKEN: Progress = Progress(1 << 3);

    /// Whether it contains any of `what`.
    #[inline]
    pub const fn any(self, what: Progress) -> bool {
        self.0 & what.0 != 0
    }

    /// `self` if `condition` holds, else nothing.
    #[inline]
    pub const fn when(self, condition: bool) -> Progress {
        if condition { self } else { Progress::NONE }
    }
}

/// What the application of a receiving end waits for; each event is reported once.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    wake_at: u64,
    told_closed: bool,
}

impl Awaited {
    /// Nothing but the end of the stream.
    pub const NONE: Awaited = Awaited { wake_at: u64::MAX, told_closed: false };

    /// It waits for these bytes in all.
    pub fn wake_at(&mut self, bytes: u64) {
        self.wake_at = bytes;
    }

    /// Events that are news now that these bytes are delivered, and whether the peer has closed.
    pub fn progress(&mut self, delivered: u64, closed: bool) -> Progress {
        let awake = delivered >= self.wake_at;
        if awake {
            self.wake_at = u64::MAX;
        }
        let told = std::mem::replace(&mut self.told_closed, closed);
        Progress::AWAKE.when(awake) | Progress::CLOSED.when(closed && !told)
    }
}

impl BitOr for Progress {
    type Output = Progress;
    #[inline]
    fn bitor(self, other: Progress) -> Progress {
        Progress(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_reported_once() {
        let mut awaited = Awaited::NONE;
        awaited.wake_at(100);
        assert_eq!(awaited.progress(99, false), Progress::NONE);
        assert_eq!(awaited.progress(120, false), Progress::AWAKE);
        assert_eq!(awaited.progress(120, true), Progress::CLOSED);
        assert_eq!(awaited.progress(120, true), Progress::NONE);
    }
}
