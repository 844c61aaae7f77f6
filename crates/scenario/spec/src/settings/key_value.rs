//! Settings of objects on servers, and of the front ends that request them.

use fanin_units::{Bytes, Share, Time};

use crate::declare::{section, words};
use crate::range::LEAST_SHARE;
use crate::setting::{FilePath, Optional};

words! {
    /// Distribution of requests over objects.
    Popularity, "\"uniform\", \"zipfian\", \"two-class\" or \"pages\"" {
        /// All objects are equally likely.
        Uniform = "uniform",
        /// YCSB's zipfian workload: ranks follow a zipfian distribution over ten billion and are hashed onto the objects.
        Zipfian = "zipfian",
        /// A share of the objects gets a share of the requests; objects within a class are equally likely.
        TwoClass = "two-class",
        /// All objects of a page together. Pages follow a zipfian distribution; some objects of each page are replaced by independent draws.
        Pages = "pages",
    }
}

words! {
    /// Order in which a data server sends the objects that it has looked up.
    ServerOrder, "\"parallel\", \"fifo\" or \"reordered\"" {
        /// Each as soon as its lookup finishes, after `host.service_time`.
        Parallel = "parallel",
        /// One after another at the link's rate, in the order of their lookups; schemes that co-locate objects reorder instead.
        Fifo = "fifo",
        /// One after another at the link's rate; small objects and long waits first (PICC, Algorithm 3).
        Reordered = "reordered",
    }
}

words! {
    /// How a front end requests an object that has moved.
    Route, "\"links\" or \"direct\"" {
        /// From its old server, which forwards the request to the new one.
        Links = "links",
        /// From its new server.
        Direct = "direct",
    }
}

words! {
    /// Which replica a front end requests.
    Replica, "\"random\", \"together\" or \"cover\"" {
        /// A random one.
        Random = "random",
        /// For an object that has moved, one on a server that already takes part in the request, if any.
        Together = "together",
        /// A small set of servers that covers the request, none above its limit.
        Cover = "cover",
    }
}

words! {
    /// Lifetime of a front end's concurrency limit.
    Windows, "\"kept\" or \"anew\"" {
        /// Lifetime of the front end: later requests start from the limit that earlier ones reached.
        Kept = "kept",
        /// One request: each request starts with a new limit, as with new connections.
        Anew = "anew",
    }
}

words! {
    /// Racks of an object's replicas.
    ReplicaRacks, "\"any\" or \"distinct\"" {
        /// Any racks.
        Any = "any",
        /// A different rack for each replica.
        Distinct = "distinct",
    }
}

section! {
    /// Objects on servers, and front ends that request many of them at once.
    #[only(KeyValue)]
    KeyValue in "key_value" {
        /// Total number of objects.
        #[range(1..=10_000_000)]
        objects: u32 = 100_000,
        /// Replicas of each object, on servers drawn at random.
        #[range(1..=64)]
        replicas: u32 = 3,
        /// Whether the replicas of an object are in different racks; servers are then drawn from racks that have no replica yet.
        replica_racks: ReplicaRacks = ReplicaRacks::Any,
        /// Servers whose resources differ from [picc], such as "server1..8: memory 4 GB, requests_per_s 20000"; either resource may be omitted. A server's link limits the bytes that it sends in a period.
        #[needs(Gathers)]
        servers: Vec<String> = Vec::new(),
        /// Placement file, in one of two formats. With the header object,from,to,reason (reason: popular or correlated), such as `plan.csv` of `fanin plan`, its moves are applied in order before the run. With the header key,server, such as `placement.csv` of `fanin plan`, it lists the servers of the first objects, numbered in the order of their keys. Objects count from 0; hosts count from the client, which is 0. A placement file refers to one placement: under every seed, objects start where `run.first_seed` puts them.
        placement: Optional<FilePath> = Optional::NONE,
        /// How a front end requests an object that has moved: "links", from its old server, which forwards the request; or "direct".
        #[needs(Plan)]
        route: Route = Route::Links,
        /// Which replica a front end requests: "random"; "together", for an object that has moved, one on a server that already takes part in the request, if any; or "cover", servers with most of the request first, each up to the limit `groups.busiest`.
        replica: Replica = Replica::Random,
        /// Lifetime of a concurrency limit over servers: "kept", the front end's lifetime; "anew", one request.
        #[needs(Windowed)]
        windows: Windows = Windows::Kept,
        /// Smallest object; sizes are uniform.
        #[range(Bytes(1)..=Bytes(1 << 20))]
        least: Bytes = Bytes(20),
        /// Largest object.
        #[range(Bytes(1)..=Bytes(1 << 20))]
        most: Bytes = Bytes(1_000),
        /// Distinct objects in each request, drawn at random.
            #[range(1..=1_000_000, "a request needs at least one object")]
        per_request: u32 = 1_000,
        /// Distribution of requests over objects.
        popularity: Popularity = Popularity::Uniform,
        /// Exponent of the zipfian distribution: the object of rank r is requested in proportion to 1/r to this power.
        #[needs(Zipfian)]
            #[range(LEAST_SHARE..=Share::of(999, 1_000), "the generator is undefined at 1")]
        zipfian: Share = Share::of(99, 100),
        /// Share of objects in the popular class, for "two-class".
        #[needs(TwoClasses)]
        popular: Share = Share::of(1, 100),
        /// Share of requests for objects in the popular class.
        #[needs(TwoClasses)]
        popular_asked: Share = Share::of(8, 10),
        /// Number of pages; a request combines as many pages as its number of objects needs.
        #[needs(Pages)]
        #[range(1..=1_000_000)]
        pages: u32 = 5_000,
        /// Objects of each page, drawn at random.
        #[needs(Pages)]
        #[range(1..=1_000_000)]
        page: u32 = 50,
        /// Number of a page's objects that each request replaces by zipfian draws; which ones is random.
        #[needs(Pages)]
        replaced: u32 = 10,
        /// Share of requested objects that no server stores; a miss is also a response.
        missing: Share = Share::of(0, 1),
        /// Number of front ends: the client and the hosts after it, which are also servers.
        #[range(1..=100_000)]
        front_ends: u32 = 1,
        /// Time over which a front end's requests start, as a Poisson process, whether earlier requests have finished or not; pauses do not count as stalls. "none": each request starts when the previous one ends.
            #[range(Time(1)..=Time::from_secs(100_000), "\"none\" starts one request after another")]
        within: Optional<Time> = Optional::NONE,
        /// An object has failed if it has not arrived this long after its request started; "none": wait forever.
            #[range(Time(1)..=Time::from_secs(1_000), "\"none\" waits forever")]
        deadline: Optional<Time> = Optional::NONE,
        /// A peer that is silent for this long is considered failed and gets no more requests. A hub considers its servers failed after half of this time, so that it can report them before it is considered failed itself. "none": never.
            #[range(Time(1)..=Time::from_secs(1_000), "\"none\" waits forever")]
        timeout: Optional<Time> = Optional(Some(Time::from_secs(10))),
        /// Attempts to request an object before it has failed.
        #[range(1..=255)]
        tries: u32 = 6,
        /// Concurrent lookups of a server; it refuses further ones.
        #[range(1..=1_000_000)]
        lookups: u32 = 10_000,
        /// Order in which a server sends objects: "parallel", each when its lookup ends; "fifo", one after another; "reordered", one after another, by waiting time to a power divided by size within a sub-queue (PICC).
        server: ServerOrder = ServerOrder::Parallel,
        /// PICC's m, the sub-queue's length: the server orders and sends this many waiting objects before it looks at the next ones.
        #[needs(Reordered)]
        #[range(1..=1_000_000)]
        sub_queue: u32 = 10,
        /// Exponent of the waiting time.
        #[needs(Reordered)]
        #[range(..=8)]
        wait_exponent: u32 = 3,
        /// Share of hubs whose machines are busy with other work; drawn for each request.
        #[needs(Hubs)]
        overloaded: Share = Share::of(0, 1),
        /// Sending rate of a busy hub, as a share of its initially assigned speed.
        #[needs(Hubs)]
        #[range(Share::of(1, 1_000)..)]
        overloaded_speed: Share = Share::of(1, 10),
    }
}
