//! Objects on servers, and the front ends that ask for them.

use fanin_units::{Bytes, Share, Time};

use crate::declare::{section, words};
use crate::range::LEAST_SHARE;
use crate::setting::{FilePath, Optional};

words! {
    /// Which objects are asked for.
    Popularity, "\"uniform\", \"zipfian\", \"two-class\" or \"pages\"" {
        /// Each as often as any other.
        Uniform = "uniform",
        /// As YCSB's zipfian workloads ask: ranks of a zipfian distribution over ten billion, scattered over the objects by a hash.
        Zipfian = "zipfian",
        /// A share of the objects gets a share of the requests; within either class each is asked for as often as any other.
        TwoClass = "two-class",
        /// A page's objects together: pages by a zipfian distribution over them, and some of the objects replaced by draws of their own.
        Pages = "pages",
    }
}

words! {
    /// In which order a data server sends what it found.
    ServerOrder, "\"parallel\", \"fifo\" or \"reordered\"" {
        /// Each as soon as it is found, after `host.service_time`.
        Parallel = "parallel",
        /// One after another, each when the last one has left at the link's rate, in the order in which they were found; servers of schemes that gather objects reorder them.
        Fifo = "fifo",
        /// One after another too, small ones and those that have waited longest first (PICC, Algorithm 3).
        Reordered = "reordered",
    }
}

words! {
    /// How a front end asks for an object that was moved.
    Route, "\"links\" or \"direct\"" {
        /// At its old place, which passes the question on to the new one.
        Links = "links",
        /// At its new place.
        Direct = "direct",
    }
}

words! {
    /// Which replica of an object that was moved is asked for.
    Replica, "\"random\", \"together\" or \"cover\"" {
        /// Any.
        Random = "random",
        /// One at a server that answers the request anyway, if there is one.
        Together = "together",
        /// Those with which servers are few, none with more than its part.
        Cover = "cover",
    }
}

words! {
    /// How long a front end's window over servers lasts.
    Windows, "\"kept\" or \"anew\"" {
        /// As long as the front end: what one request taught it, the next one knows.
        Kept = "kept",
        /// As long as a request, each of which begins with a new one, as with new connections.
        Anew = "anew",
    }
}

words! {
    /// In which racks the replicas of an object are.
    ReplicaRacks, "\"any\" or \"distinct\"" {
        /// Wherever their servers are.
        Any = "any",
        /// Each in a rack of its own.
        Distinct = "distinct",
    }
}

section! {
    /// Objects on servers, and front ends that ask for many of them at once.
    #[only(KeyValue)]
    KeyValue in "key_value" {
        /// Objects in all.
        #[range(1..=10_000_000)]
        objects: u32 = 100_000,
        /// Servers that have each object, drawn at random.
        #[range(1..=64)]
        replicas: u32 = 3,
        /// Whether the replicas of an object are in racks of their own: then the servers of each rack that has none of them yet are drawn from.
        replica_racks: ReplicaRacks = ReplicaRacks::Any,
        /// What data servers can give that differ from what [picc] says of all, such as "server1..8: memory 4 GB, requests_per_s 20000"; either may be left out. What one can send in a period is its link's.
        #[needs(GATHERS)]
        servers: Vec<String> = Vec::new(),
        /// A plan of placement: a table with the header object,from,to,reason (popular or correlated), whose moves are made, in their order, before a run begins; or one with the header key,server, such as `placement.csv` of `fanin plan`, which has the servers of the first objects, numbered as their keys come. Objects count from 0, hosts from the client, which is 0. It is a plan of one placement: under every seed the objects are put where `run.first_seed` puts them, and moved from there.
        placement: Optional<FilePath> = Optional::NONE,
        /// How a front end asks for an object that was moved: "links", at its old place, which passes the question on to the new one, or "direct".
        #[needs(PLAN)]
        route: Route = Route::Links,
        /// Which replica of an object is asked for: "random", or, of one that was moved, "together", one at a server that answers the request anyway, if there is one; or "cover", of any object: servers go first that have most of the request, as long as they are not asked for more than `groups.busiest`.
        replica: Replica = Replica::Random,
        /// How long a window over servers lasts: "kept", as long as the front end, over all its requests, or "anew" with each request.
        #[needs(WINDOWED)]
        windows: Windows = Windows::Kept,
        /// The least object; sizes are uniform.
        #[range(Bytes(1)..=Bytes(1 << 20))]
        least: Bytes = Bytes(20),
        /// The largest.
        #[range(Bytes(1)..=Bytes(1 << 20))]
        most: Bytes = Bytes(1_000),
        /// Objects that a request is for, drawn at random, none twice.
        #[range(1..=1_000_000, "a request with no object is none")]
        per_request: u32 = 1_000,
        /// Which objects are asked for.
        popularity: Popularity = Popularity::Uniform,
        /// The constant of zipfian popularity: what is of rank r is asked for in proportion to 1/r to this power.
        #[needs(ZIPFIAN)]
        #[range(LEAST_SHARE..=Share::of(999, 1_000), "at 1 the generator has no curve")]
        zipfian: Share = Share::of(99, 100),
        /// The share of the objects that are popular, where there are two classes.
        #[needs(TWO_CLASSES)]
        popular: Share = Share::of(1, 100),
        /// The share of the objects asked for that are popular ones.
        #[needs(TWO_CLASSES)]
        popular_asked: Share = Share::of(8, 10),
        /// Pages; a request is for as many of them as have its objects.
        #[needs(PAGES)]
        #[range(1..=1_000_000)]
        pages: u32 = 5_000,
        /// Objects of a page, drawn at random.
        #[needs(PAGES)]
        #[range(1..=1_000_000)]
        page: u32 = 50,
        /// Of a page's objects, how many a request has others in the place of, drawn as by "zipfian"; which, is drawn too.
        #[needs(PAGES)]
        replaced: u32 = 10,
        /// Of the objects asked for, the share that no server has: a miss is an answer, too.
        missing: Share = Share::of(0, 1),
        /// Hosts that ask: the client and those after it, which are servers, too.
        #[range(1..=100_000)]
        front_ends: u32 = 1,
        /// In which the requests of a front end begin, at random times as a Poisson process has it, whether those before are over or not; no pause counts as a stall. "none": one after another.
        #[range(Time(1)..=Time::from_secs(100_000), "\"none\" is for one after another")]
        within: Optional<Time> = Optional::NONE,
        /// What is not there so long after its request began has failed; "none": it is waited for.
        #[range(Time(1)..=Time::from_secs(1_000), "\"none\" waits for ever")]
        deadline: Optional<Time> = Optional::NONE,
        /// Who has been silent for so long is taken for gone, and asked no more; a hub takes its servers for gone after half of that, so that it can say so before it is taken for gone itself; "none": nobody is.
        #[range(Time(1)..=Time::from_secs(1_000), "\"none\" waits for ever")]
        patience: Optional<Time> = Optional::NONE,
        /// How often an object is asked for before it has failed.
        #[range(1..=255)]
        tries: u32 = 6,
        /// Objects that a server looks for at once; it refuses more.
        #[range(1..=1_000_000)]
        lookups: u32 = 10_000,
        /// In which order a server sends what it found. "fifo" and "reordered": one answer after another; "reordered": those of a sub-queue by their waits to a power over their sizes (PICC).
        server: ServerOrder = ServerOrder::Parallel,
        /// PICC's m: the first so many that wait are put in order and sent before the next so many are looked at.
        #[needs(REORDERED)]
        #[range(1..=1_000_000)]
        sub_queue: u32 = 10,
        /// The power of the wait.
        #[needs(REORDERED)]
        #[range(..=8)]
        wait_exponent: u32 = 3,
        /// The share of hubs, drawn anew for each request, whose machines are busy with something else.
        #[needs(HUBS)]
        overloaded: Share = Share::of(0, 1),
        /// What such a hub sends at, as a share of the speed that it is first assigned.
        #[needs(HUBS)]
        #[range(Share::of(1, 1_000)..)]
        overloaded_speed: Share = Share::of(1, 10),
    }
}
