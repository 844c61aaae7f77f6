//! What is sent: the workloads' words, and the settings of all.

use fanin_units::{Bytes, Share, Time};

use crate::declare::{section, words};
use crate::range::{CLIENTS_MAX, FAN_IN_MAX, LEAST_SHARE};
use crate::setting::{FilePath, Optional, WarmUp};
use crate::sizes::Distribution;

words! {
    /// What the client and the servers do.
    Kind, "\"barrier\", \"one-shot\", \"web-search\", \"long\", \"flows\", \"shuffle\", \"poisson\", \"mapreduce\", \"all-reduce\", \"bursts\" or \"key_value\"" {
        /// Barrier-synchronised reads over standing connections: the next round starts when every server has answered.
        Barrier = "barrier",
        /// Every sender opens a connection and sends one fragment.
        OneShot = "one-shot",
        /// An aggregator asks every worker over new connections, query after query; all answers make one response.
        WebSearch = "web-search",
        /// Every sender sends without end.
        Long = "long",
        /// The flows of a file, each over a connection of its own, between any two hosts.
        Flows = "flows",
        /// Every host, the client too, sends the same to every other one, each over a connection of its own.
        Shuffle = "shuffle",
        /// Every host, the client too, sends flows of random size to random hosts at random times.
        Poisson = "poisson",
        /// A MapReduce job on the servers, with the client as its master: Terasort unless [mapreduce] says otherwise.
        MapReduce = "mapreduce",
        /// Ring all-reduces, one after another: every host, the client too, passes parts of its vector on to the next one.
        AllReduce = "all-reduce",
        /// Bursts into the client, as they were measured or by a distribution: some of the servers send at once, burst after burst.
        Bursts = "bursts",
        /// Front ends ask for many small objects that lie on many servers, request after request: a scheme says whom they ask.
        KeyValue = "key_value",
    }
}

words! {
    /// What connections requests and answers go over.
    Connections, "\"usual\", \"standing\" or \"new\"" {
        /// Standing ones for a barrier, an all-reduce, bursts and a key_value workload, new ones for all others.
        Usual = "usual",
        /// One between two hosts, which stays and carries answer after answer.
        Standing = "standing",
        /// One an answer, closed behind it.
        New = "new",
    }
}

impl Connections {
    /// Whether they stay, where they do so or not by default.
    pub fn stand(self, usually: bool) -> bool {
        match self {
            Connections::Usual => usually,
            Connections::Standing => true,
            Connections::New => false,
        }
    }
}

words! {
    /// Whom several clients ask.
    Servers, "\"same\", \"own\" or \"others\"" {
        /// All the same servers; the clients but for the first are the hosts behind them.
        Same = "same",
        /// Each its own, which are the hosts behind it.
        Own = "own",
        /// Each the hosts behind it, the first one following the last: clients are servers, too. With as many clients as hosts, each asks all others.
        Others = "others",
    }
}

section! {
    /// What is sent.
    Workload in "workload" {
        /// The pattern of requests and answers.
        kind: Kind = Kind::Barrier,
        /// Servers that answer the client, where `fan_in` is not swept; of a workload between any hosts, the hosts besides the client where nothing else says.
        #[range(1..=FAN_IN_MAX)]
        fan_in: u32 = 16,
        /// Clients that ask at once, each in rounds of its own; `fan_in` is of each, and `queries`, too.
        #[only(Barrier, WebSearch)]
        #[range(1..=CLIENTS_MAX)]
        clients: u32 = 1,
        /// Whom they ask: "same", all the same servers; "own", each its own, the hosts behind it; "others", each the hosts behind it, the first one following the last, so that clients are servers, too, and as many clients as hosts ask all others.
        #[only(Barrier, WebSearch)]
        #[needs(SEVERAL_CLIENTS)]
        servers: Servers = Servers::Same,
        /// What each server sends, whatever their number, or each host of a shuffle to each other one; of an all-reduce the vector that each host has; excludes block.
        #[only(Barrier, OneShot, WebSearch, Shuffle, AllReduce)]
        #[range(..=Bytes(1 << 40))]
        fragment: Optional<Bytes> = Optional::NONE,
        /// What all servers together send, shared evenly; excludes fragment.
        #[only(Barrier, OneShot, WebSearch)]
        #[range(..=Bytes(1 << 40))]
        block: Optional<Bytes> = Optional::NONE,
        /// Size of a request; 0 B: none is sent and the servers start by themselves.
        #[only(Barrier, WebSearch, MapReduce)]
        #[range(..=Bytes(1 << 20))]
        request: Bytes = Bytes(64),
        /// What requests and answers go over: a standing connection, which carries answer after answer (of a barrier or web search opened before the first), or a new one for each; "usual": standing for a barrier, an all-reduce, bursts and a key_value workload, new for the others.
        #[only(Barrier, WebSearch, MapReduce, AllReduce, KeyValue, Bursts)]
        connections: Connections = Connections::Usual,
        /// Each server's start is uniform in 0 up to this, every round; of a shuffle each flow's, of a mapreduce job each fetch's, of an all-reduce each host's.
        #[only(Barrier, OneShot, WebSearch, Long, Shuffle, MapReduce, AllReduce)]
        #[range(..=Time::from_secs(1_000))]
        start_jitter: Time = Time::ZERO,
        /// Measured time of a barrier or long workload; of a poisson one or of bursts, in which they start; the others end when they are done, at the latest then.
        #[range(Time(1)..=Time::from_secs(100_000))]
        duration: Time = Time::from_secs(5),
        /// What is left out of all figures at the beginning: rounds or queries, or a time, behind which a barrier or web search goes on to the next round. The measured time, or the queries, come after it.
        #[only(Barrier, WebSearch, Long, Poisson, KeyValue)]
        warm_up: Optional<WarmUp> = Optional::NONE,
        /// Of all ordered pairs of hosts, the share between which a shuffle sends, drawn at random.
        #[only(Shuffle)]
        pairs: Share = Share::of(1, 1),
        /// Queries of a web search, all-reduces, or requests of each front end of a key_value workload, one after another, but for `key_value.within`.
        #[only(WebSearch, AllReduce, KeyValue)]
        queries: u32 = 100,
        /// Servers asked at once; "none" asks all.
        #[only(Barrier, WebSearch)]
        #[range(1.., "\"none\" asks all")]
        in_flight: Optional<u32> = Optional::NONE,
        /// From one request to the next as a round or query begins: the client writes them one after another. An answer that comes before the last of them makes room for one more, behind those.
        #[only(Barrier, WebSearch)]
        #[range(..=Time::from_secs(1_000))]
        request_gap: Time = Time::ZERO,
        /// From the end of a round, query or request to the next one of the same client. It counts as measured time, not as a query's, and is no stall. Standing connections are idle in it and keep their windows, unless `tcp.idle_restart` is on and it is longer than their timeout.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        pause: Time = Time::ZERO,
        /// Time in which an answer ought to be complete, from when it was asked for: d2tcp alone looks at it.
        #[needs(DEADLINES)]
        deadline: Optional<Time> = Optional::NONE,
        /// Long flows into the client beside the workload, each from a host of its own.
        background: u32 = 0,
        /// A list of flows, which are the flows workload, or beside another one, from its beginning to its end: HPCC's flow file (.txt, .flow), htsim's connection matrix (.cm), or a table with the header src,dst,bytes,start_us (.csv). With stop_us behind it, one without bytes has no end and stops at that time, if it has one, and the table of flows has a row for each time between two starts or stops of such flows. Hosts count from 0, the client; of a flows workload there are as many as the file needs, unless fabric.hosts says how many.
        file: Optional<FilePath> = Optional::NONE,
        /// Bursts: a table with the header gap_us,fan_in,bytes, which are played in their order, again and again, each so long after the one before it began; or with the header of,value,cdf, whose lines are points of the distributions of gap_us, fan_in and bytes, linear in between, from which each burst is drawn. A burst's bytes are shared evenly by its servers, which are drawn anew.
        #[only(Bursts)]
        bursts: Optional<FilePath> = Optional::NONE,
        /// Poisson flows between client and servers, as the poisson workload or beside another one: the mean payload that each host offers, as a share of its own link's rate.
        #[range(LEAST_SHARE..=Share::of(1, 1), "\"none\" is for no Poisson flows")]
        load: Optional<Share> = Optional::NONE,
        /// Sizes of Poisson flows: of a published distribution, or of a file whose lines `bytes percent` say which percentage of flows is no larger, linear in between.
        #[needs(LOAD)]
        sizes: Distribution = Distribution("web-search".into()),
    }
}
