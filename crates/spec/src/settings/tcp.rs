//! TCP at all hosts.

use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
use fanin_units::{Bytes, Time};

use crate::declare::{section, words};
use crate::literal::Literal;
use crate::range::Ranged;
use crate::setting::{Optional, Setting};
use crate::stacks::Stack;

words! {
    for Ect, "\"data\" (new data alone, RFC 3168), \"agreed\" (every packet but the first SYN, ns-2's DCTCP) or \"all\" (every packet, Linux's DCTCP)" {
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

/// How long a probe allows the peer to keep an ACK back where one segment is out (RFC 8985, section 7.2: TLP.max_ack_delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxAckDelay {
    /// As long as receivers here do: `tcp.delayed_ack_timeout`.
    DelayedAckTimeout,
    /// `tcp.rto_min`, as Linux 6.12 has it (tcp_schedule_loss_probe).
    RtoMin,
    /// A time of its own.
    Of(Time),
}

impl MaxAckDelay {
    /// The time, with these settings.
    pub fn time(self, tcp: &Tcp) -> Time {
        match self {
            MaxAckDelay::DelayedAckTimeout => tcp.delayed_ack_timeout,
            MaxAckDelay::RtoMin => tcp.least_rto(),
            MaxAckDelay::Of(time) => time,
        }
    }
}

impl Tcp {
    /// The least retransmission timeout in whole ticks, as Linux keeps a route's (net/ipv4/fib_semantics.c, msecs_to_jiffies).
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
    /// TCP at every host.
    Tcp in "tcp" {
        /// A real host's TCP: sets what `fanin explain scheme` says of it; what is set beside it stands over it.
        profile: Optional<Stack> = Optional::NONE,
        /// Largest payload of a segment.
        #[range(Bytes(64)..=Bytes(9_000))]
        mss: Bytes = Bytes(1460),
        /// Congestion window of a new connection, in segments.
        #[needs(NO_GSS)]
        #[range(1..=1_000)]
        initial_window: u32 = 10,
        /// Least retransmission timeout.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        rto_min: Time = Time::from_millis(200),
        /// What rto_min bounds: the timeout (RFC 6298), or four times RTTVAR within it, so that SRTT comes on top (Linux).
        rto_floor: RtoFloor = RtoFloor::Timeout,
        /// RTTVAR: a smoothed deviation (RFC 6298), or the largest of such a deviation in a round trip, which comes down by a quarter a round trip (Linux): a single late ACK then counts for some round trips, and not for some samples.
        #[needs(VARIANCE)]
        rtt_variance: RttVariance = RttVariance::Rfc6298,
        /// Largest retransmission timeout after backoff.
        #[range(..=Time::from_secs(3_600))]
        rto_max: Time = Time::from_secs(60),
        /// Retransmission timeout before the first round-trip sample.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        rto_initial: Time = Time::from_secs(1),
        /// Granularity G of the timeout's clock (RFC 6298).
        rto_clock: Time = Time::from_millis(1),
        /// How often a segment is sent again by timeout before its connection is given up and the peer told so with a reset, which may be lost (RFC 9293's R2, Linux's tcp_retries2); "none": for ever. With a key_value workload alone, whose front ends then ask elsewhere; and there with `key_value.patience` or `key_value.deadline`.
        #[range(1..=255, "\"none\" is for ever")]
        max_retransmissions: Optional<u32> = Optional::NONE,
        /// Keep a backed-off timeout until a segment sent once is acknowledged (Karn); off: until any new ACK, as deployed stacks do.
        karn_backoff: bool = false,
        /// Timeout of the first SYN; "none" takes rto_initial.
        #[range(Time(1).., "what times out at once is sent again for ever")]
        syn_timeout: Optional<Time> = Optional::NONE,
        /// Selective acknowledgements (RFC 2018, 6675) with proportional rate reduction (RFC 6937); off: NewReno recovery (RFC 6582).
        sack: bool = true,
        /// Loss told by time (RACK, RFC 8985): what was sent a round trip before something that arrived is lost, a retransmission too; off: by counts (RFC 6675). Needs sack.
        rack: bool = false,
        /// Of an ACK its SACKs are taken before what it acknowledges (Linux), so that RACK.rtt, for which RFC 8985 names no order, is that of the latter: a delayed ACK makes it long, and what was sent with what is acknowledged waits for the reordering timer.
        #[needs(RACK)]
        sacks_first: bool = false,
        /// A probe after two round trips without news of a tail (TLP, RFC 8985, section 7); its time-outs are not counted. Needs sack.
        tail_loss_probe: bool = false,
        /// How long a probe allows the peer to keep an ACK back where one segment is out; "rto_min" takes that (Linux 6.12), "none" delayed_ack_timeout.
        #[needs(PROBES)]
        #[range(..=Time::from_secs(10))]
        max_ack_delay: MaxAckDelay = MaxAckDelay::DelayedAckTimeout,
        /// Added to RACK's reordering timer, and to a probe's where more than one segment is out (Linux 6.12: 2 ms; 6.1: two ticks of its clock).
        #[needs(RACK_TIMERS)]
        #[range(..=Time::from_secs(10))]
        timer_margin: Time = Time::ZERO,
        /// The tick of hosts' timers: a wait is rounded up to whole ticks and ends on one (Linux: 4 ms with Debian's HZ = 250). Hosts tick at different phases unless ticks_together is true. Zero: timers are exact.
        #[range(..=Time::from_secs(1))]
        tick: Time = Time::ZERO,
        /// All hosts' ticks at one phase, as those of namespaces or containers of one kernel: what a timer sends again leaves all of them at once.
        #[needs(TICKS)]
        ticks_together: bool = false,
        /// NewReno's fast recovery where sack is off: duplicates inflate the window (RFC 6582), or leave the pipe (ns-3).
        #[needs(NO_SACK)]
        newreno: NewReno = NewReno::Inflate,
        /// New data on the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool = true,
        /// Timestamps (RFC 7323): twelve bytes a segment, a round-trip sample an ACK.
        timestamps: bool = false,
        /// Full segments that one ACK may cover; 1 acknowledges every packet.
        #[range(1..=64, "1 acknowledges every packet")]
        delayed_ack: u32 = 2,
        /// Acknowledge at once a segment that says CWR, in spite of delayed_ack, as Linux does: its sender may have a window of one segment.
        #[needs(DELAYED_ACKS_AND_ECN)]
        ack_cwr: bool = true,
        /// Longest time that an ACK waits.
        #[needs(DELAYED_ACKS)]
        delayed_ack_timeout: Time = Time::from_millis(40),
        /// While the client is still sending a round's requests (workload.request_gap) it reads nothing, and what comes in order is not acknowledged: as in Linux, where the window does not move before the application reads.
        #[needs(DELAYED_ACKS_AND_GAPS)]
        acks_wait_for_reader: bool = false,
        /// An end that sends within delayed_ack_timeout of what it received is answering: none of quick_acks, until an ACK had to wait for its whole time or data came again. One that is not answering acknowledges at once what is shorter than a full segment (Linux's pingpong mode).
        #[needs(DELAYED_ACKS)]
        pingpong: bool = false,
        /// From the fourth on, ACKs of what comes out of order in one place wait for those of more, a twentieth of the round trip and at most 1 ms (Linux: tcp_comp_sack_delay_ns).
        #[needs(SACK)]
        ack_compression: bool = false,
        /// Data segments that are acknowledged at once, in spite of delayed_ack: the first of a connection, after a pause of one RTO, after data that came twice (Linux: 16).
        #[needs(DELAYED_ACKS)]
        #[range(..=255)]
        quick_acks: u32 = 0,
        /// Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1).
        idle_restart: bool = false,
        /// A window grows by what an ACK acknowledges (RFC 3465, without its limit, as Linux has it), so that delayed ACKs do not slow it down; off: by each ACK (RFC 5681). With rack or tail_loss_probe by what an ACK says was delivered, and what ends a recovery counts (Linux).
        byte_counting: bool = false,
        /// A loss or a mark cuts the window as it stood (Linux), in the place of what was in flight (RFC 5681, RFC 9438), which is less where the application has little to send. With rack or tail_loss_probe a timeout in a recovery leaves ssthresh as the recovery has cut it (Linux).
        cut_window: bool = false,
        /// A window grows only where it is filled: in slow start up to twice what was out, later as it was in the way; with idle_restart one that was not filled for an RTO comes down half the way to what was used (Linux; RFC 7661's idea, RFC 2861's rule).
        #[needs(VALIDATION)]
        window_validation: bool = false,
        /// A cut of the window that turns out to have been needless is taken back: as all that was sent again had come already, of which the receiver tells (DSACK, RFC 2883 and 3708), or as what is acknowledged was sent before it (Eifel, RFC 3522 and 4015; with timestamps). As Linux has it.
        #[needs(UNDO)]
        undo: bool = false,
        /// Receive window.
        #[range(..=Bytes(1 << 30))]
        receive_window: Bytes = Bytes(16 << 20),
        /// Packets that are ECN-capable where the scheme uses ECN.
        #[needs(ECN)]
        ect: Ect = Ect::Data,
    }
}
