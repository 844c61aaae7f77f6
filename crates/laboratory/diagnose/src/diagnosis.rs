//! The diagnosis: plain data, in seconds and bytes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observation::Observation;
use crate::origin::Known;
use crate::sketch::Sketch;

/// Cause of a slow round. The first five are losses; the others are not the network's. `rto`, `syn`, `tlp`, `link-fault`, `delayed-ack` and
/// `zero-window` are also causes of simulated stalls (`Cause`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// A retransmission timeout.
    Rto,
    /// A retransmitted SYN or SYN-ACK.
    Syn,
    /// A tail-loss probe.
    Tlp,
    /// A loss recovered without a timeout.
    Recovery,
    /// Losses that no full queue explains.
    LinkFault,
    /// A queue that other flows keep.
    StandingQueue,
    /// A delayed ACK.
    DelayedAck,
    /// The client's receive window was zero.
    ZeroWindow,
    /// The client acknowledged nothing for some time, or did not read.
    ClientStopped,
    /// A server that responded late.
    SlowServer,
    /// A server that paused within its response.
    ApplicationPause,
    /// No idle time.
    None,
}

impl Signature {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Signature::Rto => "rto",
            Signature::Syn => "syn",
            Signature::Tlp => "tlp",
            Signature::Recovery => "recovery",
            Signature::LinkFault => "link-fault",
            Signature::StandingQueue => "standing-queue",
            Signature::DelayedAck => "delayed-ack",
            Signature::ZeroWindow => "zero-window",
            Signature::ClientStopped => "client-stopped",
            Signature::SlowServer => "slow-server",
            Signature::ApplicationPause => "application-pause",
            Signature::None => "none",
        }
    }

    /// The cause that it is a sign of.
    pub fn cause(self) -> Cause {
        match self {
            Signature::Rto | Signature::Syn | Signature::Tlp | Signature::Recovery => Cause::Incast,
            Signature::LinkFault => Cause::BadLink,
            Signature::StandingQueue => Cause::StandingQueue,
            Signature::DelayedAck => Cause::DelayedAck,
            Signature::ZeroWindow | Signature::ClientStopped => Cause::Receiver,
            Signature::SlowServer | Signature::ApplicationPause => Cause::SlowServer,
            Signature::None => Cause::Unknown,
        }
    }

    /// A sentence about it.
    pub fn says(self) -> &'static str {
        match self {
            Signature::Rto => "responses waited for retransmission timeouts",
            Signature::Syn => "connections waited for lost SYNs",
            Signature::Tlp => "responses waited for tail-loss probes",
            Signature::Recovery => "responses waited for loss recovery without timeouts",
            Signature::LinkFault => "packets were lost without a full queue: a faulty link, not incast",
            Signature::StandingQueue => "responses waited in a queue that long flows keep",
            Signature::DelayedAck => "responses waited for delayed ACKs, which is not the network's fault",
            Signature::ZeroWindow => "the client's receive window was closed, which is not the network's fault",
            Signature::ClientStopped => "the client stopped for some time, which is not the network's fault",
            Signature::SlowServer => "servers responded late, which is not the network's fault",
            Signature::ApplicationPause => "servers paused within their responses, which is not the network's fault",
            Signature::None => "connections were almost never idle",
        }
    }
}

/// A cause of lost time: who has to do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A full queue at the client's port lost packets.
    Incast,
    /// A full queue lost packets of a connection that filled it alone.
    FullQueue,
    /// Responses waited in a queue that long flows keep, or were lost there.
    StandingQueue,
    /// A link lost packets, whatever the queue.
    BadLink,
    /// A server responded late, or paused.
    SlowServer,
    /// The client's receive window was closed.
    Receiver,
    /// A server waited for an ACK that the client held back.
    DelayedAck,
    /// The evidence fits several causes.
    Unknown,
}

impl Cause {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Incast => "incast",
            Cause::FullQueue => "full-queue",
            Cause::StandingQueue => "standing-queue",
            Cause::BadLink => "bad-link",
            Cause::SlowServer => "slow-server",
            Cause::Receiver => "receiver",
            Cause::DelayedAck => "delayed-ack",
            Cause::Unknown => "unknown",
        }
    }

    /// Whether packets were lost, or may have been.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Cause::Incast | Cause::FullQueue | Cause::BadLink | Cause::Unknown)
    }

    /// A signature of it.
    pub fn signature(self) -> Signature {
        match self {
            Cause::Incast | Cause::FullQueue => Signature::Rto,
            Cause::StandingQueue => Signature::StandingQueue,
            Cause::BadLink => Signature::LinkFault,
            Cause::SlowServer => Signature::SlowServer,
            Cause::Receiver => Signature::ZeroWindow,
            Cause::DelayedAck => Signature::DelayedAck,
            Cause::Unknown => Signature::None,
        }
    }
}

/// A cause's share of the lost time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct CauseFound {
    pub cause: Cause,
    pub share: f64,
    pub stall_s: f64,
    pub stalls: u64,
    pub confidence: f64,
    /// Observations that support it, with numbers of stalls.
    pub evidence: String,
    /// Servers whose packets ended the stalls, those with most of the time first, at most three.
    pub servers: Vec<ServerFound>,
}

/// A server's part in a cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct ServerFound {
    pub server: String,
    pub stalls: u64,
    pub stall_s: f64,
    /// Its share of the cause's time.
    pub share: f64,
}

/// A stall.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct StallFound {
    pub start_s: f64,
    pub took_s: f64,
    /// How long a timer at the server had been running when the stall ended.
    pub timer_s: f64,
    pub signature: Signature,
    /// Server whose packet ended it.
    pub server: String,
    /// Servers that had not responded by then.
    pub waiting: u32,
    pub cause: Cause,
    pub confidence: f64,
    /// Observation that supports the cause.
    pub evidence: Observation,
}

/// A request to two or more servers, until its last response.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct EpisodeFound {
    /// Since the first packet of the captures.
    pub start_s: f64,
    pub fan_in: u32,
    pub bytes: u64,
    pub took_s: f64,
    /// Ideal duration without losses: the wait for the first byte, and all bytes at link rate.
    pub should_s: f64,
    pub stall_s: f64,
    pub signature: Signature,
    pub confidence: f64,
    pub asker: String,
    pub lost: [u64; 2],
    pub stalls: Vec<StallFound>,
}

/// Properties of a host's TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct HostFound {
    pub role: &'static str,
    /// Bytes of payload of a full segment.
    pub segment: Option<u32>,
    pub sack: Option<bool>,
    pub timestamps: Option<bool>,
    pub window_scale: Option<u8>,
    pub ecn: Option<bool>,
    /// Segments of a first flight.
    pub initial_window: Option<u64>,
    pub rto_min_s: Option<f64>,
    /// Full segments that one of its ACKs covers.
    pub segments_per_ack: Option<f64>,
    pub ack_kept_back_s: Option<f64>,
    /// Captured segments were larger than packets: the network card segments or merges them (TSO, LRO).
    pub offloads: bool,
    pub zero_windows: u64,
}

/// The path to the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct WayFound {
    /// Rate of the client's link.
    pub rate_mbps: Option<Known<f64>>,
    pub round_trip_s: Option<Known<f64>>,
    /// Lower and upper bound of the buffer at the client's port, in bytes as a switch counts them.
    pub buffer_bytes: Option<Known<[u64; 2]>>,
    /// Share of the client's traffic that belongs to no episode.
    pub background: f64,
    /// Losses are independent of load: a faulty link.
    pub faulty: bool,
    /// Segments with a CE mark.
    pub marked: u64,
    /// The queue that long flows keep, if rounds waited in one.
    pub standing: Option<StandingFound>,
}

/// Packets of RDMA and pause frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct RdmaFound {
    /// Packets of RoCEv2, and of Ultra Ethernet.
    pub roce: u64,
    pub ultra_ethernet: u64,
    /// Bytes of IP packets.
    pub bytes: u64,
    pub hosts: u64,
    pub span_s: f64,
    /// Packets with a CE mark.
    pub marked: u64,
    /// Congestion notification packets of RoCEv2.
    pub notifications: u64,
    /// Negative acknowledgements of missing packets, and of receivers that were not ready.
    pub missing: u64,
    pub not_ready: u64,
    pub sent_again: u64,
    pub pauses: u64,
    /// The largest number of senders to one receiver within 1 ms, their rate, and the receiver.
    pub fan_in: u32,
    pub burst_mbps: f64,
    pub receiver: Option<String>,
}

/// A queue that long flows keep at the client's port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct StandingFound {
    /// The largest flows first, at most three.
    pub flows: Vec<FlowFound>,
    /// Median wait of rounds' first bytes.
    pub queue_s: f64,
    /// Number of rounds that waited, and of all rounds.
    pub rounds: [u64; 2],
}

/// A long flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct FlowFound {
    pub server: String,
    pub bytes: u64,
}

/// Goodput at one number of servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct PointFound {
    pub fan_in: u32,
    pub episodes: u64,
    pub goodput_mbps: f64,
    pub stalled: f64,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct InputFound {
    pub name: String,
    pub kind: &'static str,
    pub packets: u64,
    pub tcp: u64,
    /// Bytes read, unpacked.
    pub bytes: u64,
    pub span_s: f64,
    /// Why it ends early, if it does.
    pub ends: Option<String>,
    /// Where it was captured, if its packets show that.
    pub place: Option<Place>,
    /// Bytes that arrived, as ACKs show, and that the capture lacks.
    pub lacking: u64,
}

/// Where packets were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub enum Place {
    Client,
    Server,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct Verdict {
    /// Whether there is harmful incast; absent without enough data.
    pub incast: Option<bool>,
    /// Whether stalls took more than 5 % of the time.
    pub impaired: bool,
    pub cause: Signature,
    pub says: String,
    pub confidence: f64,
    /// The servers with most of the main cause's time, at most three, if servers or their links are the cause.
    pub servers: Vec<SlowServer>,
    /// Shares of the lost time by cause, the largest first.
    pub causes: Vec<CauseFound>,
}

/// A server that delayed rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct SlowServer {
    pub server: String,
    /// Number of stalls with this cause that it caused, and of all such stalls.
    pub stalls: [u64; 2],
    pub stall_s: f64,
}

/// All rounds together; times of those with a stall are medians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct RoundsFound {
    pub count: u64,
    /// The largest number of servers in a round.
    pub fan_in: u32,
    pub mean_took_s: f64,
    pub goodput_mbps: f64,
    /// Rounds with a stall.
    pub stalled: u64,
    pub stalled_took_s: f64,
    pub stalled_should_s: f64,
    pub stalled_stall_s: f64,
}

/// Measured and simulated goodput for a number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct Simulated {
    pub fan_in: u32,
    /// Recorded rounds with this number of servers.
    pub episodes: u64,
    pub measured_mbps: f64,
    pub simulated_mbps: f64,
}

impl Simulated {
    /// Deviation from which the scenario is not reliable.
    const FAR: f64 = 0.2;

    /// Relative deviation of the simulation.
    pub fn off(&self) -> f64 {
        self.simulated_mbps / self.measured_mbps.max(1e-9) - 1.0
    }
}

impl Diagnosis {
    /// The number of servers of most rounds.
    pub fn usual_fan_in(&self) -> Option<u32> {
        self.points.iter().max_by_key(|point| (point.episodes, point.fan_in)).map(|point| point.fan_in)
    }

    /// The point for which the scenario is not reliable: the mean deviation, in which each point counts by its rounds, is too large, and
    /// this one has the largest part in it.
    pub fn far(&self) -> Option<&Simulated> {
        let part = |of: &Simulated| of.off().abs() * of.episodes as f64;
        let rounds: f64 = self.simulated.iter().map(|of| of.episodes as f64).sum();
        let off: f64 = self.simulated.iter().map(part).sum();
        let far = self.simulated.iter().max_by(|a, b| part(a).total_cmp(&part(b)));
        far.filter(|_| off > Simulated::FAR * rounds)
    }

    /// Withholds a scenario that does not predict the measured goodput, and names its measured values.
    pub fn withhold(&mut self) {
        let Some(far) = self.far().copied() else { return };
        let Some(sketch) = self.sketch.take() else { return };
        self.cautions.push(format!(
            "no scenario: with {} servers it would give {:.1} Mbit/s, and {} rounds show {:.1} ({:+.0} %). Measured in it are {}",
            far.fan_in,
            far.simulated_mbps,
            far.episodes,
            far.measured_mbps,
            100.0 * far.off(),
            sketch.measured().join(", ")
        ));
        self.withheld = Some(sketch);
    }
}

/// One server's part in the round of the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct Lane {
    pub server: String,
    pub asked_s: f64,
    pub first_s: f64,
    pub done_s: f64,
    pub bytes: u64,
    pub lost: u32,
    /// Its idle periods: begin, end and cause.
    pub waits: Vec<(f64, f64, Signature)>,
}

/// A diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct Diagnosis {
    pub schema: u32,
    pub verdict: Verdict,
    pub episodes: Vec<EpisodeFound>,
    /// All rounds, including those not listed.
    pub rounds: RoundsFound,
    /// Episodes still in progress at the end of the capture, and their largest number of servers.
    pub unfinished: (u64, u32),
    /// Number of responses of single servers.
    pub alone: u64,
    /// Stalls outside of the listed rounds: of single servers' responses, and of rounds that the capture contains in part.
    pub alone_stalls: Vec<StallFound>,
    pub losses: [u64; 2],
    pub reordered: u64,
    /// Segments that arrived after later ones of their connection, or twice: retransmissions, packets out of order, and spurious
    /// retransmissions.
    pub behind: u64,
    pub way: WayFound,
    /// Packets of RDMA and pause frames, if there are any.
    pub rdma: Option<RdmaFound>,
    /// Goodput by number of servers, and the collapse point.
    pub points: Vec<PointFound>,
    pub onset: Option<u32>,
    pub hosts: BTreeMap<String, HostFound>,
    /// The slowest round, server by server.
    pub slowest: Option<(EpisodeFound, Vec<Lane>)>,
    /// Findings from counters.
    pub counters: Vec<String>,
    /// Cautions: gaps of the data.
    pub cautions: Vec<String>,
    pub inputs: Vec<InputFound>,
    /// Simulated and measured goodputs; empty if not simulated.
    pub simulated: Vec<Simulated>,
    /// Path of the written scenario.
    pub scenario: Option<String>,
    /// The scenario, if there is one.
    #[serde(skip)]
    pub sketch: Option<Sketch>,
    /// A scenario that does not predict the measured goodput.
    #[serde(skip)]
    pub withheld: Option<Sketch>,
}
