//! Settings of an endpoint and values derived from them; all endpoints of a run share them.

use std::ops::Deref;

use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
use fanin_units::Time;

use crate::segment::header_bytes;

/// How a receiver echoes congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// From the mark until the sender sets CWR (RFC 3168, section 6.1.3).
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
    /// Minimum retransmission timeout.
    pub rto_min: Time,
    /// Quantity that the minimum timeout bounds.
    pub rto_floor: RtoFloor,
    /// The variance estimator; Linux's only with `rack` or `tail_loss_probe`.
    pub rtt_variance: RttVariance,
    /// Largest timeout after backoff.
    pub rto_max: Time,
    /// Timeout before the first round-trip sample.
    pub rto_initial: Time,
    /// Granularity of the timeout's clock.
    pub rto_clock: Time,
    /// Timeout of the first SYN.
    pub syn_timeout: Time,
    /// Retransmissions by timeout before the connection is given up (RFC 9293, section 3.8.3: R2); `None`: unlimited.
    pub max_retransmissions: Option<u8>,
    /// Keep a backed-off timeout until a segment that was sent only once is acknowledged.
    pub karn_backoff: bool,
    /// Selective acknowledgements and proportional rate reduction; off: NewReno recovery.
    pub sack: bool,
    /// Loss by time (RFC 8985) instead of by counts; requires `sack`.
    pub rack: bool,
    /// Tail loss probe (RFC 8985, section 7); requires `sack`.
    pub tail_loss_probe: bool,
    /// How long the peer may delay an ACK, for a probe with one segment outstanding (TLP.max_ack_delay).
    pub max_ack_delay: Time,
    /// Added to the reordering timer, and to the probe timer with more than one segment outstanding.
    pub timer_margin: Time,
    /// Timers are rounded up to whole ticks; zero: exact. The driver knows when ticks occur.
    pub tick: Time,
    /// NewReno variant without selective acknowledgements.
    pub newreno: NewReno,
    /// New data on the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// A timestamp in every segment.
    pub timestamps: bool,
    /// Segments that one ACK may cover.
    pub delayed_ack: u32,
    /// Acknowledge a segment with CWR at once.
    pub ack_cwr: bool,
    /// Maximum delay of an ACK.
    pub delayed_ack_timeout: Time,
    /// In-order data is not acknowledged before the application reads it or the maximum delay has passed.
    pub acks_wait_for_reader: bool,
    /// An end that responds to received data acknowledges only with its responses; one that does not acknowledges less than a
    /// full segment when it is read.
    pub pingpong: bool,
    /// From the fourth on, ACKs of out-of-order data at one place wait for more, a twentieth of the round trip; requires `sack`.
    pub ack_compression: bool,
    /// Segments acknowledged at once while the sender may lack ACKs.
    pub quick_acks: u8,
    /// Restart from the initial window after an idle time of one timeout.
    pub idle_restart: bool,
    /// Grow the window by acknowledged bytes instead of by ACKs.
    pub byte_counting: bool,
    /// Window reductions start from the window instead of the data in flight; with loss by time, a timeout in recovery keeps the
    /// recovery's ssthresh.
    pub cut_window: bool,
    /// The congestion window counts packets, a partial segment as a whole one; requires `rack` or `tail_loss_probe`.
    pub packet_window: bool,
    /// Undo unnecessary window reductions and report duplicates (RFC 2883); requires `rack` or `tail_loss_probe`.
    pub undo: bool,
    /// After a timeout, new data shows whether it was spurious (F-RTO, RFC 5682); requires `rack` or `tail_loss_probe`.
    pub frto: bool,
    /// HyStart may end CUBIC's slow start; requires Linux's variance.
    pub hystart: bool,
    /// Grow the window only when it is filled; requires `rack` or `tail_loss_probe`.
    pub window_validation: bool,
    /// Receive window.
    pub receive_window: u32,
    /// ECN-capable packets; `None`: ECN is not negotiated.
    pub ect: Option<Ect>,
    /// How the receiver echoes marks.
    pub echo: Echo,
    /// Every segment has the option in which switches assign windows.
    pub mcw_option: bool,
}

/// TCP by the RFCs, with selective acknowledgements and without Linux's additions: a scenario's TCP without settings.
impl Default for Params {
    fn default() -> Params {
        let mss = 1_460;
        Params {
            mss,
            initial_cwnd: 10 * mss,
            rto_min: Time::from_millis(200),
            rto_floor: RtoFloor::Timeout,
            rtt_variance: RttVariance::Rfc6298,
            rto_max: Time::from_secs(60),
            rto_initial: Time::from_secs(1),
            rto_clock: Time::from_millis(1),
            syn_timeout: Time::from_secs(1),
            max_retransmissions: None,
            karn_backoff: false,
            sack: true,
            rack: false,
            tail_loss_probe: false,
            max_ack_delay: Time::from_millis(40),
            timer_margin: Time::ZERO,
            tick: Time::ZERO,
            newreno: NewReno::Inflate,
            limited_transmit: true,
            timestamps: false,
            delayed_ack: 2,
            ack_cwr: true,
            delayed_ack_timeout: Time::from_millis(40),
            acks_wait_for_reader: false,
            pingpong: false,
            ack_compression: false,
            quick_acks: 0,
            idle_restart: false,
            byte_counting: false,
            cut_window: false,
            packet_window: false,
            undo: false,
            frto: false,
            hystart: false,
            window_validation: false,
            receive_window: 16 << 20,
            ect: None,
            echo: Echo::Latched,
            mcw_option: false,
        }
    }
}

/// Settings with per-segment values precomputed.
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
    /// Whether reports of duplicates help some sender.
    pub(crate) const fn reports_duplicates(&self) -> bool {
        self.undo && self.sack && (self.rack || self.tail_loss_probe)
    }

    /// Share of the congestion window that a segment takes, bytes.
    #[inline]
    pub(crate) fn share(&self, span: u64) -> u64 {
        if self.packet_window { self.mss.into() } else { span }
    }

    /// Bytes in which the congestion window is counted.
    pub(crate) fn window_unit(&self) -> u32 {
        if self.packet_window { self.mss } else { 1 }
    }

    /// The minimum variance term of a timeout.
    #[inline]
    pub(crate) fn least_spread(&self) -> Time {
        if self.rto_floor == RtoFloor::Variance { self.rto_min } else { Time::ZERO }
    }

    /// A wait, rounded up to whole ticks.
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

    /// Bytes of TCP options that only a SYN has: MSS and window scale (padded), and SACK permitted (padded unless it shares the
    /// word of the timestamps).
    pub const fn syn_option_bytes(&self) -> u32 {
        8 + if self.sack && !self.timestamps { 4 } else { 0 }
    }
}
