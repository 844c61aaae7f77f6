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

impl BitOr for Progress {
    type Output = Progress;
    #[inline]
    fn bitor(self, other: Progress) -> Progress {
        Progress(self.0 | other.0)
    }
}
