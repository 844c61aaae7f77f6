//! Kinds of workload, and their common settings.

use fanin_units::{Bytes, Share, Time};

use crate::declare::{section, words};
use crate::range::{CLIENTS_MAX, FAN_IN_MAX, LEAST_SHARE};
use crate::setting::{FilePath, Optional, WarmUp};
use crate::sizes::Distribution;

words! {
    /// Communication pattern of clients and servers.
    Kind, "\"barrier\", \"one-shot\", \"web-search\", \"long\", \"flows\", \"shuffle\", \"poisson\", \"mapreduce\", \"all-reduce\", \"all-to-all\", \"pulls\", \"trace\", \"bursts\" or \"key_value\"" {
        /// Barrier-synchronised reads over persistent connections: the next round starts when every server has responded.
        Barrier = "barrier",
        /// Every sender opens a connection and sends one fragment.
        OneShot = "one-shot",
        /// An aggregator queries every worker over new connections, query after query; all responses make one result.
        WebSearch = "web-search",
        /// Every sender sends forever.
        Long = "long",
        /// The flows of a file, each over its own connection, between any two hosts.
        Flows = "flows",
        /// Every host, including the client, sends the same amount to every other host, each over its own connection.
        Shuffle = "shuffle",
        /// Every host, including the client, sends flows of random size to random hosts at random times.
        Poisson = "poisson",
        /// A MapReduce job on the servers, with the client as its master: Terasort unless [mapreduce] differs.
        MapReduce = "mapreduce",
        /// All-reduces in sequence: every host, including the client, has a vector, and gets the sum of all.
        AllReduce = "all-reduce",
        /// All-to-alls in sequence: every host, including the client, sends a part to every other host, of one size or by a matrix.
        AllToAll = "all-to-all",
        /// Pulls of a file: a host requests data from one or several others, such as a decoder the key-value cache of a prompt.
        Pulls = "pulls",
        /// The trace of a file: for each host sends, receives and computations that wait for one another, such as a step of a training job.
        Trace = "trace",
        /// Bursts into the client, measured or drawn from a distribution: in each, some servers send at once.
        Bursts = "bursts",
        /// Front ends request many small objects from many servers, request after request; the scheme schedules the requests.
        KeyValue = "key_value",
    }
}

words! {
    /// How an all-reduce moves its parts.
    Algorithm, "\"ring\", \"tree\" or \"halving-doubling\"" {
        /// Every host passes parts to the next one, twice around: sums, then results.
        Ring = "ring",
        /// Two binary trees, each for half of the vector: sums go up in chunks, results go down.
        Tree = "tree",
        /// Pairs of hosts exchange halves, then quarters and so on, and then results in reverse order.
        HalvingDoubling = "halving-doubling",
    }
}

words! {
    /// Connections of requests and responses.
    Connections, "\"usual\", \"standing\" or \"new\"" {
        /// Persistent for a barrier, an all-reduce, an all-to-all, pulls, a trace, bursts and key_value; new for all others.
        Usual = "usual",
        /// One persistent connection per pair of hosts.
        Standing = "standing",
        /// A new connection for each response, closed after it.
        New = "new",
    }
}

impl Connections {
    /// Whether connections persist, given the workload's default.
    pub fn stand(self, usually: bool) -> bool {
        match self {
            Connections::Usual => usually,
            Connections::Standing => true,
            Connections::New => false,
        }
    }
}

words! {
    /// Assignment of servers to clients.
    Servers, "\"same\", \"own\" or \"others\"" {
        /// All clients use the same servers; the clients other than the first are the hosts after them.
        Same = "same",
        /// Each client has its own servers, the hosts after it.
        Own = "own",
        /// Each client uses the hosts after it, wrapping around, so that clients are also servers. With as many clients as hosts, each uses all others.
        Others = "others",
    }
}

section! {
    /// The traffic to simulate.
    Workload in "workload" {
        /// Pattern of requests and responses.
        kind: Kind = Kind::Barrier,
        /// Servers that respond to the client if `fan_in` is not swept; for an any-to-any workload, the default number of hosts other than the client.
        #[range(1..=FAN_IN_MAX)]
        fan_in: u32 = 16,
        /// Connections of each server of a long workload, such as the queue pairs of an RDMA benchmark.
        #[only(Long)]
        #[range(1..=1_024)]
        streams: u32 = 1,
        /// Number of clients, each with its own rounds, fan_in and queries.
        #[only(Barrier, WebSearch)]
        #[range(1..=CLIENTS_MAX)]
        clients: u32 = 1,
        /// Servers of each client: "same", the same servers for all; "own", separate ones, the hosts after each client; "others", the hosts after each client, wrapping around, so that clients are also servers, and as many clients as hosts use all others.
        #[only(Barrier, WebSearch)]
        #[needs(SeveralClients)]
        servers: Servers = Servers::Same,
        /// Servers that a client requests from in a round, drawn at random for each, such as the data servers of an erasure code; "none", or more than there are: all of them.
        #[only(Barrier, WebSearch)]
        #[range(1..=FAN_IN_MAX)]
        stripe: Optional<u32> = Optional::NONE,
        /// Bytes that each server sends, independent of their number; of a shuffle, that each host sends to each other host, as in an all-to-all; of an all-reduce, each host's vector. Excludes block.
        #[only(Barrier, OneShot, WebSearch, Shuffle, AllReduce, AllToAll)]
        #[range(..=Bytes(1 << 40))]
        fragment: Optional<Bytes> = Optional::NONE,
        /// Total bytes of all servers, divided evenly. Excludes fragment.
        #[only(Barrier, OneShot, WebSearch)]
        #[range(..=Bytes(1 << 40))]
        block: Optional<Bytes> = Optional::NONE,
        /// Size of a request; 0 B: servers start without a request.
        #[only(Barrier, WebSearch, MapReduce, Pulls)]
        #[range(..=Bytes(1 << 20))]
        request: Bytes = Bytes(64),
        /// Connections: "standing", persistent ones that carry several responses (of a barrier or web search, opened before the first); "new", one for each response; "usual", persistent for a barrier, an all-reduce, an all-to-all, pulls, bursts and key_value, new for the others.
        #[only(Barrier, WebSearch, MapReduce, AllReduce, AllToAll, Pulls, Trace, KeyValue, Bursts)]
        connections: Connections = Connections::Usual,
        /// Upper end of a uniform random start delay: of each server in each round, each flow of a shuffle, each fetch of a mapreduce job, or each host of an all-reduce or all-to-all.
        #[only(Barrier, OneShot, WebSearch, Long, Shuffle, MapReduce, AllReduce, AllToAll)]
        #[range(..=Time::from_secs(1_000))]
        start_jitter: Time = Time::ZERO,
        /// Measured time of a barrier or long workload; time in which Poisson flows and bursts start; for the others a time limit.
        #[range(Time(1)..=Time::from_secs(100_000))]
        duration: Time = Time::from_secs(5),
        /// Warm-up excluded from all figures: rounds or queries, or a time, after which a barrier or web search continues with the next round. The measured time, or the queries, come after it.
        #[only(Barrier, WebSearch, Long, Poisson, KeyValue)]
        warm_up: Optional<WarmUp> = Optional::NONE,
        /// Share of ordered pairs of hosts that a shuffle uses, drawn at random.
        #[only(Shuffle)]
        pairs: Share = Share::of(1, 1),
        /// Queries of a web search, all-reduces, all-to-alls, or requests of each front end of a key_value workload, in sequence unless `key_value.within` is set.
        #[only(WebSearch, AllReduce, AllToAll, KeyValue)]
        queries: u32 = 100,
        /// Maximum servers with an outstanding request of a client; of an all-to-all, hosts that a host sends to at once; "none": all.
        #[only(Barrier, WebSearch, AllToAll, Pulls)]
            #[range(1.., "\"none\" means all servers")]
        in_flight: Optional<u32> = Optional::NONE,
        /// Maximum bytes that a client, or a reduce, has requested and not received (Spark: spark.reducer.maxSizeInFlight); one request is always allowed. A front end of objects counts a server's response at the mean of the last ones, as `fanin-limit` does. "none": unlimited.
        #[only(Barrier, WebSearch, MapReduce, Pulls, KeyValue)]
        #[needs(AsksServers)]
        #[range(Bytes(1)..=Bytes(1 << 40), "\"none\" means unlimited")]
        bytes_in_flight: Optional<Bytes> = Optional::NONE,
        /// How an all-reduce moves its parts, also in a trace.
        #[only(AllReduce, Trace)]
        algorithm: Algorithm = Algorithm::Ring,
        /// Bytes that a host of a tree passes on at once: larger chunks cost less, smaller ones fill a tree's links earlier.
        #[only(AllReduce, Trace)]
        #[needs(Tree)]
        #[range(Bytes(1)..=Bytes(1 << 40))]
        chunk: Bytes = Bytes(512 << 10),
        /// Bytes between all hosts of each all-to-all: a table with the header src,dst,bytes, or operation,src,dst,bytes for several, which are used in turn. Hosts count from 0, the client; there are as many as the table needs unless fabric.hosts is set. Excludes fragment.
        #[only(AllToAll)]
        matrix: Optional<FilePath> = Optional::NONE,
        /// Pulls: a table with the header pull,start_us,src,dst,bytes. Lines with the same pull have the same start and dst, the host that requests; src are the hosts that answer. Hosts count from 0, the client; there are as many as the table needs unless fabric.hosts is set.
        #[only(Pulls)]
        pulls: Optional<FilePath> = Optional::NONE,
        /// Time between two requests at the start of a round or query, which the client writes one after another. A response that arrives before the last request frees a slot, which goes to the end of the queue.
        #[only(Barrier, WebSearch)]
        #[range(..=Time::from_secs(1_000))]
        request_gap: Time = Time::ZERO,
        /// Pause between the end of a round, query or request and the next one of the same client. It counts as measured time, but not as query time or as a stall. Persistent connections are idle and keep their windows, unless `tcp.idle_restart` is on and the pause exceeds their RTO.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        pause: Time = Time::ZERO,
        /// Response deadline, counted from the request; used by d2tcp only.
        #[needs(Deadlines)]
        deadline: Optional<Time> = Optional::NONE,
        /// Long-lived flows into the client in the background, each from a separate host.
        background: u32 = 0,
        /// For the trace workload (docs/traces.md) GOAL's text or binary form, or Chakra's execution traces (.et), a file for each rank: "step.{0..7}.et". Ranks are hosts. Otherwise a flow list, for the flows workload or as background traffic of another one for its whole time: HPCC's flow file (.txt, .flow), htsim's connection matrix (.cm), or a table with the header src,dst,bytes,start_us (.csv). In a table with an additional column stop_us, a flow without bytes is unlimited and stops at that time, if given; the table of flows then has a row for each interval between starts and stops of such flows. Hosts count from 0, the client; a flows workload has as many hosts as the file needs unless fabric.hosts is set.
        file: Optional<FilePath> = Optional::NONE,
        /// Bursts: either a table with the header gap_us,fan_in,bytes, played in order and repeated, each starting that long after the previous one started; or a table with the header of,value,cdf with points of the distributions of gap_us, fan_in and bytes, interpolated linearly, from which each burst is drawn. A burst's bytes are divided evenly among its servers, which are drawn for each burst.
        #[only(Bursts)]
        bursts: Optional<FilePath> = Optional::NONE,
        /// Poisson flows between client and servers, as the poisson workload or in the background of another one: mean payload offered by each host, as a share of the total rate of its links.
            #[range(LEAST_SHARE..=Share::of(1, 1), "\"none\" disables Poisson flows")]
        load: Optional<Share> = Optional::NONE,
        /// Sizes of Poisson flows: a published distribution, or a file with lines `bytes percent`, the cumulative percentage of flows up to that size, interpolated linearly.
        #[needs(Load)]
        sizes: Distribution = Distribution("web-search".into()),
    }
}
