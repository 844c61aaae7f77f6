//! What is said: plain data, in seconds and bytes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::sketch::Sketch;

/// Why a round took longer than it should have. The first four are of losses; the others are not the network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// A retransmission timeout.
    Rto,
    /// A probe for a lost tail.
    TailLossProbe,
    /// A loss that was found and sent again sooner than by any timeout.
    Recovery,
    /// Losses where no queue can have been full.
    LinkFault,
    /// An acknowledgement that was kept back.
    DelayedAck,
    /// The asker had no room.
    ZeroWindow,
    /// A server that took its time before it answered.
    SlowServer,
    /// A server that paused within its answer.
    ApplicationPause,
    /// Nothing stood still.
    None,
}

impl Signature {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Signature::Rto => "rto",
            Signature::TailLossProbe => "tail-loss-probe",
            Signature::Recovery => "recovery",
            Signature::LinkFault => "link-fault",
            Signature::DelayedAck => "delayed-ack",
            Signature::ZeroWindow => "zero-window",
            Signature::SlowServer => "slow-server",
            Signature::ApplicationPause => "application-pause",
            Signature::None => "none",
        }
    }

    /// What it is, in words.
    pub fn says(self) -> &'static str {
        match self {
            Signature::Rto => "answers waited for retransmission timeouts",
            Signature::TailLossProbe => "answers waited for probes of a lost tail",
            Signature::Recovery => "answers waited until losses were found and sent again, sooner than by a timeout",
            Signature::LinkFault => {
                "packets were lost where no queue can have been full: a fault of a link, not incast"
            }
            Signature::DelayedAck => "acknowledgements that were kept back held answers up: not the network",
            Signature::ZeroWindow => "the client had no room for what came: not the network",
            Signature::SlowServer => "servers took their time before they answered: not the network",
            Signature::ApplicationPause => "servers paused within their answers: not the network",
            Signature::None => "nothing stood still",
        }
    }
}

/// A time in which nothing came.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct StallFound {
    pub start_s: f64,
    pub took_s: f64,
    /// How long a timer of the server's would have run by its end.
    pub timer_s: f64,
    pub signature: Signature,
    /// Whose packet ended it.
    pub server: String,
    /// Servers that had not answered by then.
    pub waiting: u32,
}

/// A request to two or more servers until its last answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct EpisodeFound {
    /// Since the first packet of the captures.
    pub start_s: f64,
    pub fan_in: u32,
    pub bytes: u64,
    pub took_s: f64,
    /// What it takes where nothing is lost: the wait for the first byte, and all bytes at the rate of the link.
    pub should_s: f64,
    pub stall_s: f64,
    pub signature: Signature,
    pub confidence: f64,
    pub asker: String,
    pub lost: [u64; 2],
    pub stalls: Vec<StallFound>,
}

/// A value with where it is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Known<T> {
    pub value: T,
    /// `measured`, `inferred` or `assumed`.
    pub how: How,
    pub confidence: f64,
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub enum How {
    Measured,
    Inferred,
    Assumed,
}

impl How {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            How::Measured => "measured",
            How::Inferred => "inferred",
            How::Assumed => "assumed",
        }
    }
}

/// What a host's stack shows of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
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
    /// Segments larger than packets were captured: the card cuts them up, or puts them together.
    pub offloads: bool,
    pub zero_windows: u64,
}

/// What is known of the way to the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct WayFound {
    /// Of the client's link.
    pub rate_mbps: Option<Known<f64>>,
    pub round_trip_s: Option<Known<f64>>,
    /// The least and the most that the queue at its port can hold, as a switch counts.
    pub buffer_bytes: Option<Known<[u64; 2]>>,
    /// Of what came to the client, the share that belongs to no episode.
    pub background: f64,
    /// Losses came however little was on its way: a link's own.
    pub faulty: bool,
    /// Segments that were marked as having met a queue.
    pub marked: u64,
}

/// Goodput at one number of servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct PointFound {
    pub fan_in: u32,
    pub episodes: u64,
    pub goodput_mbps: f64,
    pub stalled: f64,
}

/// What an input was.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct InputFound {
    pub name: String,
    pub kind: &'static str,
    pub packets: u64,
    pub tcp: u64,
    /// How much of it was read, unpacked.
    pub bytes: u64,
    pub span_s: f64,
    /// Why it ends there, where it ends early.
    pub ends: Option<String>,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Verdict {
    /// Incast hurts; absent where there is too little to tell.
    pub incast: Option<bool>,
    pub cause: Signature,
    pub says: String,
    pub confidence: f64,
    /// Where servers are the cause: those that were waited for longest, at most three.
    pub servers: Vec<SlowServer>,
}

/// A server that was waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct SlowServer {
    pub server: String,
    /// In how many stalls of the cause, of how many.
    pub stalls: [u64; 2],
    pub stall_s: f64,
}

/// All rounds together; times of those with a stall are medians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct RoundsFound {
    pub count: u64,
    /// The most servers of any.
    pub fan_in: u32,
    pub mean_took_s: f64,
    pub goodput_mbps: f64,
    /// Rounds in which something stood still.
    pub stalled: u64,
    pub stalled_took_s: f64,
    pub stalled_should_s: f64,
    pub stalled_stall_s: f64,
}

/// What was measured at a number of servers, beside what the scenario gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Simulated {
    pub fan_in: u32,
    pub measured_mbps: f64,
    pub simulated_mbps: f64,
}

impl Simulated {
    /// From this share on the scenario behaves otherwise than what was measured.
    const FAR: f64 = 0.2;

    /// By which share what is simulated is more, or less.
    pub fn off(&self) -> f64 {
        self.simulated_mbps / self.measured_mbps.max(1e-9) - 1.0
    }

    /// Whether what follows from the scenario is doubtful.
    pub fn is_far(&self) -> bool {
        self.off().abs() > Simulated::FAR
    }
}

/// One server's part in the round that is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Lane {
    pub server: String,
    pub asked_s: f64,
    pub first_s: f64,
    pub done_s: f64,
    pub bytes: u64,
    pub lost: u32,
    /// From when to when it was silent, and why.
    pub waits: Vec<(f64, f64, Signature)>,
}

/// All that is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Diagnosis {
    pub schema: u32,
    pub verdict: Verdict,
    pub episodes: Vec<EpisodeFound>,
    /// All of them, also where not all are listed.
    pub rounds: RoundsFound,
    /// Episodes that had not ended with the capture, and the most servers of any.
    pub unfinished: (u64, u32),
    /// Of the answers of one server alone: how many there were, and where something stood still.
    pub alone: u64,
    pub alone_stalls: Vec<StallFound>,
    pub losses: [u64; 2],
    pub reordered: u64,
    /// Segments that came behind later ones of their connection, or had come before: losses that were mended, packets out of order, and
    /// what was sent for nothing.
    pub behind: u64,
    pub way: WayFound,
    /// Goodput against the number of servers, and the onset in it.
    pub points: Vec<PointFound>,
    pub onset: Option<u32>,
    pub hosts: BTreeMap<String, HostFound>,
    /// The slowest round, server by server.
    pub slowest: Option<(EpisodeFound, Vec<Lane>)>,
    /// What counters say beside the captures.
    pub counters: Vec<String>,
    /// What cannot be told, and why.
    pub cautions: Vec<String>,
    pub inputs: Vec<InputFound>,
    /// What the scenario gives beside what was measured; empty where it was not simulated.
    pub simulated: Vec<Simulated>,
    /// Where the scenario was written.
    pub scenario: Option<String>,
    /// The scenario, where there is one to write.
    #[serde(skip)]
    pub sketch: Option<Sketch>,
}
