//! Settings and variants of SICC. Its algorithms are in `swarm`, `tree`, `speed`, `packing` and `redirect`; an improvement is in `balance`.

use fanin_laws::settings::{params, words};
use fanin_units::{Bytes, Share, Time};

use crate::swarm::Policy;
use crate::tree::Bound;

words! {
    /// How a front end knows the queue of its aggregation port.
    Queue, "\"told\" or \"estimated\"" {
        /// The router tells it.
        Told = "told",
        /// From how much longer than at best its round trips take.
        Estimated = "estimated",
    }
}

words! {
    /// From what the ablations take away.
    Ablated, "\"base\" or \"full\"" {
        /// SICC without its enhancements, which the paper measures first.
        Base = "base",
        /// All of SICC.
        Full = "full",
    }
}

words! {
    /// What a front end plans to receive as it begins to ask: B_p.
    Start, "\"line\" or \"spare\"" {
        /// All that its link takes, or what it planned last.
        Line = "line",
        /// B_d - B_a, as printed: what the last period left of its link (section 3.2.1).
        Spare = "spare",
    }
}

words! {
    /// When equation 2 gives hubs equal parts.
    Split, "\"once\" or \"each-period\"" {
        /// As a request begins or ends: equations 3 and 4 go on from what hubs were assigned.
        Once = "once",
        /// "At the initial time of each short time period" (section 3.2.1): equations 3 and 4 begin from equal parts each time, so
        /// that a hub once lowered is not raised before the others end.
        EachPeriod = "each-period",
    }
}

words! {
    /// How fast hubs send whose speeds nobody controls.
    Uncontrolled, "\"unpaced\" or \"assigned\"" {
        /// As fast as their connections let them.
        Unpaced = "unpaced",
        /// At the equal parts that they are assigned at first (section 4.4).
        Assigned = "assigned",
    }
}

params! {
    /// Swarms of servers behind hubs (SICC).
    sicc {
        /// How often speeds are set and queries redirected (section 4.4).
        #[range(Time::from_micros(100)..=Time::from_secs(100), "shorter than a round trip, nothing has been measured")]
        period: Time = Time::from_millis(10),
        /// T: from this share of the aggregation port's buffer on, front ends ask for less (section 4.4).
        #[range(Share::of(1, 1 << 16)..)]
        threshold: Share = Share::of(1, 10),
        /// The most by which a front end asks for more, period by period (equation 6; section 4.4).
        #[range(Share::of(1, 1 << 16).., "a front end that asked for less would never ask for more")]
        alpha: Share = Share::of(1, 5),
        /// The most by which a front end asks for less, period by period (equation 5; section 4.4).
        #[range(Share::of(1, 1 << 16).., "a front end would never ask for less")]
        beta: Share = Share::of(1, 5),
        /// How many hubs may send to the front end at once: equation 1 as printed (S_e/s B_u/B_d, B_u being a server's part of its rack's uplinks), mended (S_e/s B_d/B_u: fewer on a slower downlink, as section 4.3 has it), or a fixed number.
        bound: Bound = Bound::Printed,
        /// N where it is fixed: the racks of section 4.
        #[needs(|sicc| sicc.bound == Bound::Fixed, "N follows from equation 1 unless `sicc.bound` is \"fixed\"")]
        #[range(1..=1_000_000)]
        hubs: u32 = 50,
        /// m: the requests of a front end at a time, which share M (section 3.1).
        #[needs(|sicc| sicc.bound != Bound::Fixed, "`sicc.hubs` is N for one request")]
        #[range(1..=1_000_000)]
        requests: u32 = 1,
        /// The mean size of an object, which the front end knows without knowing each: of 20 to 1,000 B, as section 4 draws them.
        #[range(Bytes(1)..=Bytes(1_000_000_000))]
        mean_object: Bytes = Bytes(510),
        /// Which server of a rack is its hub: the one with most of the requested objects (Algorithm 1), or with most spare I/O (section 3.1).
        hub: Policy = Policy::MostObjects,
        /// The least speed of a hub, as a share of an equal one: equation 4 alone would lower an idle hub to nothing.
        #[range(Share::of(1, 1 << 10).., "a hub of no speed never ends")]
        floor: Share = Share::of(1, 20),
        /// A hub with a backlog that reached this share of its assignment could use more: equation 3's condition cannot hold as printed.
        #[range(Share::of(1, 2).., "a hub that idles half of the time needs no more")]
        busy: Share = Share::of(19, 20),
        /// How long a packet that is not full waits for more objects: a few round trips in a rack, and little of a request's milliseconds.
        #[range(..=Time::from_secs(1))]
        linger: Time = Time::from_micros(100),
        /// What a hub has asked its rack for and not received, at most: under half of an edge port's 100 KB, so that one rack's servers cannot overflow its own port.
        #[range(Bytes(1)..=Bytes(1_000_000_000))]
        hub_window: Bytes = Bytes(32 << 10),
        /// Whether front ends are told the queue of their aggregation port (section 3.2.2) or estimate it.
        queue: Queue = Queue::Told,
        /// What front ends plan to receive as they begin to ask (section 3.2.1).
        start: Start = Start::Line,
        /// Whether equations 3 and 4 begin from equal parts (equation 2) in each period, or from what hubs were assigned.
        split: Split = Split::Once,
        /// How fast hubs of sicc-nssc send.
        uncontrolled: Uncontrolled = Uncontrolled::Unpaced,
        /// What sicc-nps, sicc-nmt and sicc-nssc are without a part of: SICC without its enhancements, or all of it.
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
