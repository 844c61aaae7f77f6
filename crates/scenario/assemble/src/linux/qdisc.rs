//! Queue disciplines of Linux: what a port's algorithm is in `tc`.

use std::fmt;

use fanin_laws::port::red;
use fanin_spec::{Discipline, RunSpec, Settings};
use fanin_units::{QueueSize, Rate, Share, Time};

use super::unsupported::Unsupported;

/// Bytes of an Ethernet header, which `tc` counts with a packet.
const HEADER: u64 = 14;
/// Bytes beyond a frame that a burst of htb has: 1,600 B for a frame of 1,514 B. A burst of one frame sends no two back to back.
const BURST_BEYOND_FRAME: u64 = 86;
/// Ticks in which `tc` passes a burst: 64 ns (PSCHED_SHIFT, include/net/pkt_sched.h).
const TICK_PS: u64 = 64_000;
/// Fewest ticks of a burst: with fewer, their rounding changes the burst by more than an eighth.
const LEAST_TICKS: u64 = 8;
/// Bits in a byte, times picoseconds in a second.
const PS_BITS: u64 = 8_000_000_000_000;
/// Bytes per packet that RED's `burst` is counted in.
const AVPKT: u64 = 1_500;
/// Packets of a host's queue without a limit: a device's default (DEFAULT_TX_QUEUE_LEN, include/net/pkt_sched.h).
const TX_QUEUE_LEN: u32 = 1_000;

/// A hierarchical token bucket with one class (sch_htb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Htb {
    /// Rate, of which `ceil` is the same.
    pub rate: Rate,
    /// `burst` and `cburst` in bytes: little more than a frame.
    pub burst: u64,
    /// Bytes of a class's turn: one frame.
    pub quantum: u64,
    /// Bytes on the wire per packet beyond the frame that the kernel sees (psched_l2t_ns).
    pub overhead: u64,
    /// Fewest bytes of a packet on the wire. Zero: no minimum.
    pub mpu: u64,
}

impl Htb {
    /// The bucket of a link of this rate.
    pub(super) fn new(s: &Settings, rate: Rate, mtu: u64) -> Result<Htb, Unsupported> {
        let (quantum, framing) = (mtu + HEADER, s.link.framing);
        let burst = quantum + BURST_BEYOND_FRAME;
        let most = Rate(burst * PS_BITS / (LEAST_TICKS * TICK_PS));
        if rate > most {
            let ticks = "htb has bursts in ticks of 64 ns, and one of a frame would have fewer than 8";
            return Err(Unsupported::new("link.rate", rate.to_string(), format!("{ticks}: use at most {most}")));
        }
        let on_wire = u64::from(framing.on_wire(mtu as u32)); // at most 9,052 B
        let Some(overhead) = on_wire.checked_sub(quantum) else {
            let why = "the kernel counts 14 B of Ethernet header per packet: use \"14 B\" or \"ethernet\"";
            return Err(Unsupported::new("link.framing", format!("{} B", on_wire - mtu), why));
        };
        let least = u64::from(framing.on_wire(0));
        let mpu = if least == HEADER + overhead { 0 } else { least };
        Ok(Htb { rate, burst, quantum, overhead, mpu })
    }
}

impl fmt::Display for Htb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Htb { rate: Rate(rate), burst, quantum, overhead, mpu } = self;
        write!(f, "htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum {quantum}")?;
        if *overhead > 0 {
            write!(f, " overhead {overhead}")?;
        }
        if *mpu > 0 { write!(f, " mpu {mpu}") } else { Ok(()) }
    }
}

/// Random early detection (sch_red).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Bytes of the queue.
    pub limit: u64,
    /// Bytes of the average queue from which it marks or drops.
    pub min: u64,
    /// Bytes from which it marks or drops every packet.
    pub max: u64,
    /// Packets of 1,500 B from which `tc` makes the average's weight.
    pub burst: u32,
    /// Probability at `max`.
    pub probability: Share,
    /// Rate by which the average decays over idle time.
    pub bandwidth: Rate,
    /// Mark ECN-capable packets.
    pub ecn: bool,
}

/// Controlled delay (sch_codel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDel {
    /// Packets of the queue.
    pub limit: u64,
    /// Acceptable standing delay.
    pub target: Time,
    /// Time that the delay may exceed it.
    pub interval: Time,
    /// Mark ECN-capable packets.
    pub ecn: bool,
}

/// The queue below a rate.
///
/// HTB takes a packet from the queue as its time begins, where the packet in transmission does not count in fanin: a port's queue here is one
/// frame longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Qdisc {
    /// First in, first out, this many bytes (sch_fifo).
    Bfifo(u64),
    /// First in, first out, this many packets (sch_fifo).
    Pfifo(u64),
    /// Random early detection, or a threshold at which every packet is marked.
    Red(Red),
    /// Controlled delay.
    CoDel(CoDel),
}

impl Qdisc {
    /// The queue of a host's link.
    pub(super) fn of_host(buffer: Option<QueueSize>, mtu: u64) -> Qdisc {
        match buffer {
            None => Qdisc::Pfifo(TX_QUEUE_LEN.into()),
            Some(size) => Qdisc::drop_tail(size, mtu + HEADER),
        }
    }

    fn drop_tail(size: QueueSize, frame: u64) -> Qdisc {
        match size {
            QueueSize::Bytes(bytes) => Qdisc::Bfifo(bytes + frame),
            QueueSize::Packets(packets) => Qdisc::Pfifo(u64::from(packets) + 1),
        }
    }

    /// The queue of a switch's port of this rate, by the scheme's queue discipline.
    pub(super) fn of_port(spec: &RunSpec, rate: Rate, mtu: u64) -> Result<Qdisc, Unsupported> {
        let (s, frame, ecn) = (&spec.settings, mtu + HEADER, spec.scheme.ecn);
        let in_bytes = |size| match size {
            QueueSize::Bytes(bytes) => bytes,
            QueueSize::Packets(packets) => u64::from(packets) * frame,
        };
        let (size, bandwidth) = (s.buffer_at(rate), rate);
        let limit = in_bytes(size) + frame;
        Ok(match spec.scheme.discipline {
            Discipline::DropTail => Qdisc::drop_tail(size, frame),
            Discipline::EcnThreshold => {
                // The nearest to a threshold of the instantaneous queue: RED's largest weight is 1/2.
                let (k, _) = s.threshold_at(rate);
                let (min, probability) = (in_bytes(k), Share::of(1, 1));
                let burst = burst("ecn_threshold.k", k.to_string(), min, 1)?;
                Qdisc::Red(Red { limit, min, max: min + 1, burst, probability, bandwidth, ecn })
            }
            Discipline::Red => {
                let red::Params { min_th, max_th, max_p, weight, .. } = s.laws.ports.red;
                let min = in_bytes(min_th);
                let burst = burst("red.weight", weight.to_string(), min, shift(weight))?;
                Qdisc::Red(Red { limit, min, max: in_bytes(max_th), burst, probability: max_p, bandwidth, ecn })
            }
            Discipline::CoDel => {
                let codel = &s.laws.ports.codel;
                let limit = (limit + frame / 2) / frame;
                Qdisc::CoDel(CoDel { limit, target: codel.target, interval: codel.interval, ecn })
            }
            Discipline::EcnRamp | Discipline::Trimming => {
                let why = "no queue discipline marks departing packets by the queue behind them";
                return Err(Unsupported::new("schemes", spec.scheme.to_string(), why));
            }
        })
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Qdisc::Bfifo(bytes) => write!(f, "bfifo limit {bytes}"),
            Qdisc::Pfifo(packets) => write!(f, "pfifo limit {packets}"),
            Qdisc::Red(Red { limit, min, max, burst, probability, bandwidth, ecn }) => {
                let (probability, bandwidth) = (probability.as_f64(), kbit(*bandwidth));
                write!(f, "red limit {limit} min {min} max {max} avpkt {AVPKT} burst {burst}")?;
                write!(f, " probability {probability} bandwidth {bandwidth}kbit")?;
                f.write_str(if *ecn { " ecn" } else { "" })
            }
            Qdisc::CoDel(CoDel { limit, target, interval, ecn }) => {
                let [target, interval] = [target, interval].map(|time| time.0 as f64 / 1e6);
                write!(f, "codel limit {limit} target {target}us interval {interval}us")?;
                f.write_str(if *ecn { " ecn" } else { " noecn" })
            }
        }
    }
}

/// The k of the weight 2^-k nearest to a share, by the ratio.
fn shift(weight: Share) -> u32 {
    let weight = u128::from(weight.in_q(32));
    (0..32).find(|k| weight * weight >= 1 << (63 - 2 * k)).unwrap_or(32)
}

/// The burst, in packets, from which `tc` makes a weight of 2^-`wanted`: it takes the first k for which the queue stays below `least`
/// meanwhile (iproute2, tc_red_eval_ewma).
fn burst(setting: &str, value: String, least: u64, wanted: u32) -> Result<u32, Unsupported> {
    let least = least as f64 / AVPKT as f64;
    let first = (least as u32).max(1);
    let found = (first..100_000).find(|burst| {
        let room = f64::from(*burst) + 1.0 - least;
        room >= 1.0 && (1..32).find(|k| room <= held(*k, *burst)) == Some(wanted)
    });
    found.ok_or_else(|| Unsupported::new(setting, value, "tc has no `burst` that gives RED's average this weight"))
}

/// (1 - (1 - w)^burst) / w of a weight w = 2^-k.
fn held(k: u32, burst: u32) -> f64 {
    let weight = 1.0 / (1u64 << k) as f64;
    let (mut rest, mut power, mut left) = (1.0, 1.0 - weight, burst);
    while left > 0 {
        if left & 1 == 1 {
            rest *= power;
        }
        power *= power;
        left >>= 1;
    }
    (1.0 - rest) / weight
}

/// A rate in whole kbit/s, rounded down.
fn kbit(rate: Rate) -> u64 {
    rate.0 / 1_000
}
