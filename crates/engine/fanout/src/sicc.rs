//! Settings and variants of SICC. Its algorithms are in `swarm`, `tree`, `speed`, `packing` and `redirect`; an improvement is in `balance`.

use fanin_laws::settings::{params, words};
use fanin_units::{Bytes, Share, Time};

use crate::swarm::Policy;
use crate::tree::Bound;

words! {
    /// Source of a front end's knowledge of its aggregation port's queue.
    Queue, "\"reported\" or \"estimated\"" {
        /// The router reports it.
        Reported = "reported",
        /// Estimated from the excess of round-trip times over the minimum.
        Estimated = "estimated",
    }
}

words! {
    /// Starting point of the ablations.
    Ablated, "\"base\" or \"full\"" {
        /// SICC without its enhancements, which the paper measures first.
        Base = "base",
        /// All of SICC.
        Full = "full",
    }
}

words! {
    /// Initial planned receive rate of a front end: B_p.
    Start, "\"line\" or \"spare\"" {
        /// The link's rate, or the last planned rate.
        Line = "line",
        /// B_d - B_a, as printed: the link's unused rate in the last period (section 3.2.1).
        Spare = "spare",
    }
}

words! {
    /// When equation 2 assigns equal shares to hubs.
    Split, "\"once\" or \"each-period\"" {
        /// When a request begins or ends: equations 3 and 4 start from the current assignments.
        Once = "once",
        /// "At the initial time of each short time period" (section 3.2.1): equations 3 and 4 start from equal shares each time, so
        /// that a hub once lowered is not raised before the others end.
        EachPeriod = "each-period",
    }
}

words! {
    /// Speed of hubs without speed control.
    Uncontrolled, "\"unpaced\" or \"assigned\"" {
        /// As fast as their connections allow.
        Unpaced = "unpaced",
        /// The equal shares that they are assigned initially (section 4.4).
        Assigned = "assigned",
    }
}

params! {
    /// Swarms of servers behind hubs (SICC).
    sicc {
        /// Interval of speed updates and redirections (section 4.4).
        #[range(Time::from_micros(100)..=Time::from_secs(100), "a period below a round trip has no measurements")]
        period: Time = Time::from_millis(10),
        /// T: share of the aggregation port's buffer from which front ends reduce their planned rate (section 4.4).
        #[range(Share::of(1, 1 << 16)..)]
        threshold: Share = Share::of(1, 10),
        /// Maximum increase of the planned rate per period (equation 6; section 4.4).
        #[range(Share::of(1, 1 << 16).., "the planned rate would never increase again")]
        alpha: Share = Share::of(1, 5),
        /// Maximum decrease of the planned rate per period (equation 5; section 4.4).
        #[range(Share::of(1, 1 << 16).., "the planned rate would never decrease")]
        beta: Share = Share::of(1, 5),
        /// Number of hubs that may send to the front end at once, shared by the mean number of its concurrent requests (section 3.1): equation 1 as printed (S_e/s B_u/B_d, where B_u is a server's share of its rack's uplinks), corrected (S_e/s B_d/B_u: fewer on a slower downlink, as in section 4.3), or a fixed number for each request.
        bound: Bound = Bound::Printed,
        /// N if fixed: the number of racks in section 4.
        #[needs(|sicc| sicc.bound == Bound::Fixed, "N follows from equation 1 unless `sicc.bound` is \"fixed\"")]
        #[range(1..=1_000_000)]
        hubs: u32 = 50,
        /// Mean object size, which the front end knows; for 20 to 1,000 B, as in section 4.
        #[range(Bytes(1)..=Bytes(1_000_000_000))]
        mean_object: Bytes = Bytes(510),
        /// Hub of a rack: the server with the most requested objects (Algorithm 1), or with the most spare I/O (section 3.1).
        hub: Policy = Policy::MostObjects,
        /// Minimum speed of a hub, as a share of an equal one: equation 4 alone would reduce an idle hub's to zero.
        #[range(Share::of(1, 1 << 10).., "a hub without speed never finishes")]
        floor: Share = Share::of(1, 20),
        /// A hub with a backlog that reached this share of its assignment could use more; equation 3's condition as printed can never be true.
        #[range(Share::of(1, 2).., "a hub that is idle half of the time needs no more")]
        busy: Share = Share::of(19, 20),
        /// Maximum time that a packet waits to fill: a few round trips in a rack, and short compared with a request.
        #[range(..=Time::from_secs(1))]
        linger: Time = Time::from_micros(100),
        /// Maximum outstanding bytes of a hub in its rack: below half of an edge port's 100 KB, so that a rack's servers cannot overflow its port.
        #[range(Bytes(1)..=Bytes(1_000_000_000))]
        hub_window: Bytes = Bytes(32 << 10),
        /// Whether routers report the queue of the aggregation port to front ends (section 3.2.2), or front ends estimate it.
        queue: Queue = Queue::Reported,
        /// Initial planned receive rate of front ends (section 3.2.1).
        start: Start = Start::Line,
        /// Whether equations 3 and 4 start from equal shares (equation 2) in each period, or from the current assignments.
        split: Split = Split::Once,
        /// Speed of hubs in sicc-nssc.
        uncontrolled: Uncontrolled = Uncontrolled::Unpaced,
        /// Basis of sicc-nps, sicc-nmt and sicc-nssc, each without one part: SICC without its enhancements, or all of it.
        ablate: Ablated = Ablated::Base,
    }
}

/// Formation of swarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swarms {
    /// By rack.
    ByRack,
    /// Of the same sizes, drawn from all servers.
    AtRandom,
}

/// Enabled parts of SICC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Formation of swarms.
    pub swarms: Swarms,
    /// Hubs forward along a tree if there are too many.
    pub tree: bool,
    /// The front end sets hubs' speeds each period.
    pub speed: bool,
    /// Packets hold several objects.
    pub packing: bool,
    /// Objects of slow hubs are redirected.
    pub redirect: bool,
    /// Replicas are chosen so that hubs finish together.
    pub balanced: bool,
}
