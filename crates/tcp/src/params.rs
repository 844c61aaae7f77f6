//! The settings of an endpoint, and what follows from them; all endpoints of a run share both.

use std::ops::Deref;

use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
use fanin_units::Time;

use crate::segment::header_bytes;

/// How a receiver echoes congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// From the mark until the sender says CWR (RFC 3168, section 6.1.3).
    Latched,
    /// Exactly the marked packets (RFC 8257, section 3.2).
    Exact,
}

/// Settings; sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Largest payload of a segment.
    pub mss: u32,
    /// Congestion window of a new connection.
    pub initial_cwnd: u32,
    /// Least retransmission timeout.
    pub rto_min: Time,
    /// What the least timeout bounds.
    pub rto_floor: RtoFloor,
    /// The estimate of the variance; Linux's with `rack` or `tail_loss_probe` alone.
    pub rtt_variance: RttVariance,
    /// Largest timeout after backoff.
    pub rto_max: Time,
    /// Timeout before the first round-trip sample.
    pub rto_initial: Time,
    /// Granularity of the timeout's clock.
    pub rto_clock: Time,
    /// Timeout of the first SYN.
    pub syn_timeout: Time,
    /// A segment is sent again so often by timeout before the connection is given up (RFC 9293, section 3.8.3: R2); `None`: for ever.
    pub max_retransmissions: Option<u8>,
    /// Keep a backed-off timeout until a segment that was sent once is acknowledged.
    pub karn_backoff: bool,
    /// Selective acknowledgements and proportional rate reduction; off: NewReno recovery.
    pub sack: bool,
    /// Loss by time (RFC 8985), in place of counts; with `sack` alone.
    pub rack: bool,
    /// Of an ACK its SACKs are taken first, so that the round trip that loss is told by is that of what it acknowledges.
    pub sacks_first: bool,
    /// A probe for a lost tail (RFC 8985, section 7); with `sack` alone.
    pub tail_loss_probe: bool,
    /// How long the peer may keep an ACK back, for a probe where one segment is out (TLP.max_ack_delay).
    pub max_ack_delay: Time,
    /// Added to the reordering timer, and to the probe's where more than one segment is out.
    pub timer_margin: Time,
    /// Waits are whole ticks; zero: exact. When ticks are, its driver knows.
    pub tick: Time,
    /// NewReno's way where there are no selective acknowledgements.
    pub newreno: NewReno,
    /// New data on the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// A timestamp in every segment.
    pub timestamps: bool,
    /// Segments that one ACK may cover.
    pub delayed_ack: u32,
    /// A segment that says CWR is acknowledged at once.
    pub ack_cwr: bool,
    /// Longest time that an ACK waits.
    pub delayed_ack_timeout: Time,
    /// What came in order is not acknowledged before the application reads, or its ACK has waited for its longest time.
    pub acks_wait_for_reader: bool,
    /// An end that answers what it receives acknowledges nothing at once but with its answers; one that does not acknowledges what is
    /// shorter than a full segment as it is read.
    pub pingpong: bool,
    /// From the fourth on, ACKs of what comes out of order in one place wait for more, a twentieth of the round trip; with `sack` alone.
    pub ack_compression: bool,
    /// So many segments are acknowledged at once where the sender may be short of ACKs.
    pub quick_acks: u8,
    /// Restart from the initial window after an idle time of one timeout.
    pub idle_restart: bool,
    /// The window grows by what is acknowledged, in place of by ACKs.
    pub byte_counting: bool,
    /// Congestion is answered by the window, in place of what was in flight; where loss is told by time, a timeout in a recovery leaves
    /// ssthresh as the recovery has cut it.
    pub cut_window: bool,
    /// A cut of the window that turns out to have been needless is taken back, and what came twice is told of (RFC 2883); with `rack`
    /// or `tail_loss_probe` alone.
    pub undo: bool,
    /// The window grows only where it is filled; with `rack` or `tail_loss_probe` alone.
    pub window_validation: bool,
    /// Receive window.
    pub receive_window: u32,
    /// ECN-capable packets; `None`: ECN is not negotiated.
    pub ect: Option<Ect>,
    /// The receiver's echo of marks.
    pub echo: Echo,
    /// Every segment has the option in which switches hand out windows.
    pub mcw_option: bool,
}

/// Settings with what every segment asks of them worked out once.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    params: Params,
    /// Retransmissions and packets without data are ECN-capable too, on a connection that has agreed on ECN.
    pub(crate) ect_everywhere: bool,
    /// Bytes of the IP and TCP headers of a segment without SACK blocks.
    pub(crate) header: u8,
}

impl From<Params> for Stack {
    fn from(params: Params) -> Stack {
        let ect_everywhere = matches!(params.ect, Some(Ect::Agreed | Ect::All));
        Stack { params, ect_everywhere, header: header_bytes(params.option_bytes(), 0) }
    }
}

impl Deref for Stack {
    type Target = Params;

    #[inline]
    fn deref(&self) -> &Params {
        &self.params
    }
}

impl Params {
    /// Whether there is a sender whom it helps to know what came twice.
    pub(crate) const fn tells_of_duplicates(&self) -> bool {
        self.undo && self.sack && (self.rack || self.tail_loss_probe)
    }

    /// The least term of variance in a timeout.
    #[inline]
    pub(crate) fn least_spread(&self) -> Time {
        if self.rto_floor == RtoFloor::Variance { self.rto_min } else { Time::ZERO }
    }

    /// A wait in whole ticks.
    #[inline]
    pub(crate) fn in_ticks(&self, wait: Time) -> Time {
        if self.tick == Time::ZERO { wait } else { self.whole_ticks(wait) }
    }

    #[cold]
    fn whole_ticks(&self, wait: Time) -> Time {
        Time(wait.0.div_ceil(self.tick.0).saturating_mul(self.tick.0))
    }

    /// Bytes of TCP options in a segment without SACK blocks: timestamps (RFC 7323, padded) and the window option
    /// (RFC 6994's experimental form: kind, length, two bytes of identifier, four of value).
    pub const fn option_bytes(&self) -> u32 {
        12 * self.timestamps as u32 + 8 * self.mcw_option as u32
    }

    /// Bytes of TCP options that only a SYN has: MSS and window scale (padded), and SACK permitted (padded) where there
    /// are no timestamps to share its word with.
    pub const fn syn_option_bytes(&self) -> u32 {
        8 + if self.sack && !self.timestamps { 4 } else { 0 }
    }
}
