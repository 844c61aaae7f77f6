//! The receiving half.

use fanin_laws::rate::rdma::Recovery;
use fanin_transport::{Awaited, Block};
use fanin_units::Time;

use crate::blocks;
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
    /// Place of the last packet that came out of order.
    last: u64,
    /// With selective repeat, later bytes that have arrived.
    later: Vec<Block>,
    /// Place of the end of the stream if it has come out of order.
    ends_at: u64,
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
    /// Earlier ones are missing; this one is kept, with those of the block.
    Kept(Block),
    /// It had come before; the sender may have missed its ACK.
    Again,
    /// None: the missing one has just been asked for.
    None,
}

/// A data packet, or the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its place in the stream.
    pub at: u64,
    /// Its bytes; the end of the stream is one.
    pub bytes: u64,
    /// Whether it is the end.
    pub ends: bool,
}

impl Receiver {
    pub fn new() -> Receiver {
        Receiver {
            expected: 0,
            closed: false,
            awaited: Awaited::NONE,
            asked: u64::MAX,
            quiet_until: Time::ZERO,
            last: 0,
            later: Vec::new(),
            ends_at: u64::MAX,
            notifies_from: Time::ZERO,
        }
    }

    /// Takes a packet.
    pub fn take(&mut self, now: Time, arrival: Arrival, settings: &Settings) -> Reply {
        let Arrival { at, bytes, ends } = arrival;
        if ends && at >= self.expected {
            self.ends_at = at;
        }
        if at == self.expected {
            self.expected = blocks::end_after(&mut self.later, at + bytes);
            self.closed |= self.expected > self.ends_at;
            self.last = at;
            return Reply::Ack;
        }
        if at < self.expected {
            return Reply::Again;
        }
        match settings.recovery {
            Recovery::GoBackN => self.out_of_order(now, at, settings),
            Recovery::SelectiveRepeat => match blocks::add(&mut self.later, Block { start: at, end: at + bytes }) {
                Some(block) => Reply::Kept(block),
                None => Reply::Again,
            },
        }
    }

    /// Whether to ask for the first missing byte now that a later packet has come.
    fn out_of_order(&mut self, now: Time, at: u64, settings: &Settings) -> Reply {
        let is_asked = self.asked == self.expected;
        // A sender that has gone back: the packet that was asked for is lost again.
        let went_back = at <= std::mem::replace(&mut self.last, at);
        let waits = match settings.nack_interval {
            Some(_) => now < self.quiet_until,
            None => !went_back,
        };
        if is_asked && waits {
            return Reply::None;
        }
        self.asked = self.expected;
        self.quiet_until = settings.nack_interval.map_or(Time::NEVER, |interval| now.saturating_add(interval));
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
