//! The receiving half.

use fanin_transport::Awaited;
use fanin_units::Time;

use crate::settings::Settings;

#[derive(Clone, Debug)]
pub struct Receiver {
    /// First byte that has not arrived; the end of the stream counts as one.
    pub expected: u64,
    pub closed: bool,
    pub awaited: Awaited,
    /// Byte that was last asked for, and until when it is not asked for again.
    asked: u64,
    quiet_until: Time,
    /// When a mark is next reported.
    notifies_from: Time,
}

/// Reply to a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was the next one.
    Ack,
    /// Earlier ones are missing.
    Nack,
    /// It had come before; the sender may have missed its ACK.
    Again,
    /// None: the missing one has just been asked for.
    None,
}

impl Receiver {
    pub fn new() -> Receiver {
        Receiver {
            expected: 0,
            closed: false,
            awaited: Awaited::NONE,
            asked: u64::MAX,
            quiet_until: Time::ZERO,
            notifies_from: Time::ZERO,
        }
    }

    /// Takes these bytes from `at` on; the end of the stream is one.
    pub fn take(&mut self, now: Time, at: u64, bytes: u64, settings: &Settings) -> Reply {
        if at == self.expected {
            self.expected += bytes;
            return Reply::Ack;
        }
        if at < self.expected {
            return Reply::Again;
        }
        if now < self.quiet_until && self.asked == self.expected {
            return Reply::None;
        }
        (self.asked, self.quiet_until) = (self.expected, now.saturating_add(settings.nack_interval));
        Reply::Nack
    }

    /// Whether the acknowledgement of a marked packet reports it.
    pub fn notifies(&mut self, now: Time, settings: &Settings) -> bool {
        let notifies = now >= self.notifies_from;
        if notifies {
            self.notifies_from = now.saturating_add(settings.cnp_interval);
        }
        notifies
    }

    /// Bytes delivered.
    pub fn delivered(&self) -> u64 {
        self.expected - u64::from(self.closed)
    }
}
