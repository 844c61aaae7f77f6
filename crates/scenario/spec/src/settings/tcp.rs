//! Settings of TCP at all hosts.

use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
use fanin_units::{Bytes, Time};

use crate::declare::{section, words};
use crate::literal::Literal;
use crate::range::Ranged;
use crate::setting::{Optional, Setting};
use crate::stacks::Stack;

words! {
    for Ect, "\"data\" (only new data, RFC 3168), \"agreed\" (every packet but the first SYN, ns-2's DCTCP) or \"all\" (every packet, Linux's DCTCP)" {
        Data = "data",
        Agreed = "agreed",
        All = "all",
    }
}

words! {
    for NewReno, "\"inflate\" (RFC 6582) or \"pipe\" (ns-3)" {
        Inflate = "inflate",
        Pipe = "pipe",
    }
}

words! {
    for RtoFloor, "\"timeout\" (RFC 6298) or \"variance\" (Linux)" {
        Timeout = "timeout",
        Variance = "variance",
    }
}

words! {
    for RttVariance, "\"rfc6298\" or \"linux\"" {
        Rfc6298 = "rfc6298",
        Linux = "linux",
    }
}

/// Time that a tail-loss probe allows for the peer's delayed ACK if one segment is in flight (RFC 8985, section 7.2: TLP.max_ack_delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxAckDelay {
    /// `tcp.delayed_ack_timeout`.
    DelayedAckTimeout,
    /// `tcp.rto_min`, as in Linux 6.12 (tcp_schedule_loss_probe).
    RtoMin,
    /// A given time.
    Of(Time),
}

impl MaxAckDelay {
    /// The time under these settings.
    pub fn time(self, tcp: &Tcp) -> Time {
        match self {
            MaxAckDelay::DelayedAckTimeout => tcp.delayed_ack_timeout,
            MaxAckDelay::RtoMin => tcp.least_rto(),
            MaxAckDelay::Of(time) => time,
        }
    }
}

impl Tcp {
    /// The minimum RTO in whole ticks, as Linux stores a route's (net/ipv4/fib_semantics.c, msecs_to_jiffies).
    pub fn least_rto(&self) -> Time {
        let tick = self.tick.0.max(1);
        Time(self.rto_min.0.div_ceil(tick).saturating_mul(tick))
    }
}

impl Setting for MaxAckDelay {
    const FORM: &'static str = "a time with its unit, such as \"200 ms\" or \"25 us\"; or \"rto_min\" or \"none\"";

    fn read(literal: &Literal) -> Result<MaxAckDelay, String> {
        match literal {
            Literal::Text(text) if text == "rto_min" => Ok(MaxAckDelay::RtoMin),
            Literal::Text(text) if text == "none" => Ok(MaxAckDelay::DelayedAckTimeout),
            other => Time::read(other).map(MaxAckDelay::Of),
        }
    }

    fn show(&self) -> String {
        match self {
            MaxAckDelay::DelayedAckTimeout => "\"none\"".into(),
            MaxAckDelay::RtoMin => "\"rto_min\"".into(),
            MaxAckDelay::Of(time) => time.show(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            MaxAckDelay::Of(time) => time.number(),
            _ => None,
        }
    }
}

impl Ranged for MaxAckDelay {
    type Of = Time;
    fn values(&self) -> &[Time] {
        match self {
            MaxAckDelay::Of(time) => core::slice::from_ref(time),
            _ => &[],
        }
    }
}

section! {
    /// TCP of every host.
    Tcp in "tcp" {
        /// A real operating system's TCP: sets the keys that `fanin explain SCHEME` lists; explicit keys override it.
        profile: Optional<Stack> = Optional::NONE,
        /// Largest payload of a segment.
        #[range(Bytes(64)..=Bytes(9_000))]
        mss: Bytes = Bytes(1460),
        /// Initial congestion window, in segments.
        #[needs(NoGss)]
        #[range(1..=1_000)]
        initial_window: u32 = 10,
        /// Minimum retransmission timeout (RTO).
            #[range(Time(1).., "a timeout of zero would retransmit forever")]
        rto_min: Time = Time::from_millis(200),
        /// Lower bound set by rto_min: of the whole RTO (RFC 6298), or of its term 4 × RTTVAR, to which SRTT is added (Linux).
        rto_floor: RtoFloor = RtoFloor::Timeout,
        /// RTTVAR: a smoothed deviation (RFC 6298); or the largest smoothed deviation of a round trip, which decreases by a quarter per round trip (Linux), so that one late ACK matters for several round trips instead of several samples.
        #[needs(Variance)]
        rtt_variance: RttVariance = RttVariance::Rfc6298,
        /// Maximum retransmission timeout after backoff.
        #[range(..=Time::from_secs(3_600))]
        rto_max: Time = Time::from_secs(60),
        /// Retransmission timeout before the first RTT sample.
            #[range(Time(1).., "a timeout of zero would retransmit forever")]
        rto_initial: Time = Time::from_secs(1),
        /// Clock granularity G of the RTO (RFC 6298).
        rto_clock: Time = Time::from_millis(1),
        /// Number of timeout retransmissions of a segment before the connection is aborted with a reset, which may itself be lost (RFC 9293's R2, Linux's tcp_retries2); "none": unlimited. Applies only to key_value workloads that set `key_value.timeout` or `key_value.deadline`, whose front ends then use another server.
            #[range(1..=255, "\"none\" is unlimited")]
        max_retransmissions: Optional<u32> = Optional::NONE,
        /// Keep a backed-off RTO until a segment that was sent once is acknowledged (Karn); off: until any new ACK, as deployed stacks do.
        karn_backoff: bool = false,
        /// Timeout of the first SYN; "none": rto_initial.
            #[range(Time(1).., "a timeout of zero would retransmit forever")]
        syn_timeout: Optional<Time> = Optional::NONE,
        /// Selective acknowledgements (RFC 2018, 6675) with proportional rate reduction (RFC 6937); off: NewReno recovery (RFC 6582).
        sack: bool = true,
        /// Time-based loss detection (RACK, RFC 8985): segments sent a round trip before a delivered one are lost, retransmissions included; off: duplicate-ACK counting (RFC 6675). Needs sack.
        rack: bool = false,
        /// Tail-loss probe after two round trips without an ACK (TLP, RFC 8985, section 7); it does not count as a timeout. Needs sack.
        tail_loss_probe: bool = false,
        /// Time that a probe allows for the peer's delayed ACK if one segment is in flight: a time, "rto_min" (Linux 6.12) or "none", which means delayed_ack_timeout.
        #[needs(Probes)]
        #[range(..=Time::from_secs(10))]
        max_ack_delay: MaxAckDelay = MaxAckDelay::DelayedAckTimeout,
        /// Time added to RACK's reordering timer, and to a probe's timer if several segments are in flight (Linux 6.12: 2 ms; 6.1: two ticks of its clock).
        #[needs(RackTimers)]
        #[range(..=Time::from_secs(10))]
        timer_margin: Time = Time::ZERO,
        /// Tick of hosts' timers: a timer fires on the first tick after its time (Linux: 4 ms with Debian's HZ = 250). Hosts tick at different phases unless ticks_together is true. With a tick, a round trip of less than a microsecond counts as a tick for RACK's minimum (Linux). Zero: exact timers.
        #[range(..=Time::from_secs(1))]
        tick: Time = Time::ZERO,
        /// Give all hosts the same tick phase, as with namespaces or containers of one kernel: their timer retransmissions leave simultaneously.
        #[needs(Ticks)]
        ticks_together: bool = false,
        /// NewReno's fast recovery without sack: duplicate ACKs inflate the window (RFC 6582), or leave the pipe (ns-3).
        #[needs(NoSack)]
        newreno: NewReno = NewReno::Inflate,
        /// Send new data on the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool = true,
        /// Timestamps (RFC 7323): twelve bytes per segment, and an RTT sample per ACK.
        timestamps: bool = false,
        /// Full segments per delayed ACK; 1 acknowledges every packet.
        #[range(1..=64, "1 acknowledges every packet")]
        delayed_ack: u32 = 2,
        /// Acknowledge a segment with CWR immediately, as Linux does, because its sender may have a window of one segment.
        #[needs(DelayedAcksAndEcn)]
        ack_cwr: bool = true,
        /// Maximum delay of an ACK.
        #[needs(DelayedAcks)]
        delayed_ack_timeout: Time = Time::from_millis(40),
        /// While the client sends a round's requests (workload.request_gap), it does not read and does not acknowledge in-order data, as in Linux, whose window does not move until the application reads.
        #[needs(DelayedAcksAndGaps)]
        acks_wait_for_reader: bool = false,
        /// Linux's pingpong mode: a host that sends within delayed_ack_timeout of receiving is interactive and uses no quick_acks until an ACK waits its whole time or data is duplicated. A host that is not interactive immediately acknowledges segments shorter than full size.
        #[needs(DelayedAcks)]
        pingpong: bool = false,
        /// ACK compression: from the fourth ACK of one gap on, ACKs of out-of-order data wait for more data, for a twentieth of the round trip and at most 1 ms (Linux: tcp_comp_sack_delay_ns).
        #[needs(Sack)]
        ack_compression: bool = false,
        /// Data segments acknowledged immediately in spite of delayed_ack: at a connection's start, after one RTO of idle time, and after duplicate data (Linux: 16).
        #[needs(DelayedAcks)]
        #[range(..=255)]
        quick_acks: u32 = 0,
        /// Restart from the initial window after one RTO of idle time (RFC 5681, section 4.1); with window_validation, the window halves for each RTO instead, down to the initial one (Linux; RFC 2861, section 3).
        idle_restart: bool = false,
        /// Appropriate byte counting: grow the window by the bytes that an ACK acknowledges (RFC 3465, without its limit, as in Linux), so that delayed ACKs do not slow growth; off: by ACKs (RFC 5681). With rack or tail_loss_probe, by the bytes delivered, including those of the ACK that ends a recovery (Linux).
        byte_counting: bool = false,
        /// Reduce from the current window (Linux) instead of from the flight size (RFC 5681, RFC 9438), which is smaller if the application sends little. With rack or tail_loss_probe, a timeout during recovery keeps recovery's ssthresh (Linux).
        cut_window: bool = false,
        /// Congestion window validation: grow the window only if it is full; in slow start up to twice the data in flight, later only if the window was the limit. With idle_restart, a window that was not full for an RTO moves halfway down to its used part (Linux; RFC 7661's idea, RFC 2861's rule).
        #[needs(Validation)]
        window_validation: bool = false,
        /// The congestion window counts packets, as in Linux: a segment with few bytes takes as much of it as a full one, which matters where small objects fill the window; off: it counts bytes (RFC 5681).
        #[needs(Validation)]
        packet_window: bool = false,
        /// Undo a window reduction that proves unnecessary: if all retransmissions were duplicates (DSACK, RFC 2883 and 3708), or the acknowledged data was sent before the retransmission (Eifel, RFC 3522 and 4015; needs timestamps). As in Linux.
        #[needs(Undo)]
        undo: bool = false,
        /// F-RTO (RFC 5682): after a timeout, the first ACK lets new data go instead of retransmissions; if data that was not retransmitted is acknowledged next, the timeout was spurious and the window is restored. As in Linux.
        #[needs(Undo)]
        frto: bool = false,
        /// HyStart as in Linux: end CUBIC's slow start at windows of 16 segments or more if the ACKs of a round trip take more than half of the least one, or if round trips have grown by 4 ms. Off: slow start ends with a loss.
        #[needs(HyStart)]
        hystart: bool = false,
        /// Receive window.
        #[range(..=Bytes(1 << 30))]
        receive_window: Bytes = Bytes(16 << 20),
        /// Packets marked ECN-capable if the scheme uses ECN.
        #[needs(Ecn)]
        ect: Ect = Ect::Data,
    }
}
