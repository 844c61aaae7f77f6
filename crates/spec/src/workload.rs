//! The workloads: their words, their settings, what is to be known of each besides what it does, and what its flows are called.
//! What a workload does is a file of the simulator.

use serde::{Deserialize, Serialize};

use fanin_units::{Bytes, Share, Time};

use crate::declare::{KeyDoc, section, words};
use crate::facts::{Leaves, Moves, Payload, Swept};
use crate::literal::Literal;
use crate::problem::{Wrong, wrong};
use crate::range::{CLIENTS_MAX, FAN_IN_MAX, LEAST_SHARE};
use crate::setting::{FilePath, Optional, Setting, WarmUp};
use crate::settings::Settings;
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

impl Kind {
    /// What there is to know of it besides what it does.
    pub const fn facts(self) -> Facts {
        match self {
            Kind::Barrier => BARRIER,
            Kind::OneShot => ONE_SHOT,
            Kind::WebSearch => WEB_SEARCH,
            Kind::Long => LONG,
            Kind::Flows => FLOWS,
            Kind::Shuffle => SHUFFLE,
            Kind::Poisson => POISSON,
            Kind::MapReduce => MAP_REDUCE,
            Kind::AllReduce => ALL_REDUCE,
            Kind::Bursts => BURSTS,
            Kind::KeyValue => KEY_VALUE,
        }
    }

    /// Whether many send to one client; otherwise flows go between any two hosts.
    pub const fn many_to_one(self) -> bool {
        self.facts().many_to_one
    }
}

/// Facts of a workload.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Whether many send to one client; otherwise flows go between any hosts.
    pub many_to_one: bool,
    /// Whether the client asks again and again: then it may ask some at once.
    pub(crate) asks: bool,
    /// Whether several clients may ask at once.
    pub(crate) many_clients: bool,
    /// Whether it lasts as long as it is given, whatever is done; others end by themselves.
    pub(crate) lasts: bool,
    /// Whether it takes all of the fabric's hosts where nothing says how many.
    pub(crate) all_hosts: bool,
    /// Whether its flows have no end.
    pub endless: bool,
    /// Whether its flows are those of a list.
    pub listed: bool,
    /// Whether its flows are Poisson flows: they need a load, and nothing of that kind runs beside.
    pub poisson: bool,
    /// What is sent.
    pub payload: Payload,
    pub(crate) leaves: Leaves,
    /// Whether its connections usually stand, and carry answer after answer.
    pub stands: bool,
    /// Round trips before the first byte of who sends unasked over a new connection.
    pub(crate) setup_rtts: Option<f64>,
    /// What a run moves: of one that lasts, in a round.
    pub(crate) moves: fn(&Settings) -> Moves,
    /// What it does, in a few words, for whoever reads its figures.
    pub says: fn(&Settings, &Swept) -> String,
    /// Refuses what cannot work under it alone.
    pub(crate) check: fn(&Settings) -> Result<(), Wrong>,
}

impl Facts {
    /// Reads, round after round, over standing connections.
    pub(crate) const READS: Facts = Facts {
        many_to_one: true,
        asks: true,
        many_clients: false,
        lasts: true,
        all_hosts: false,
        endless: false,
        listed: false,
        poisson: false,
        payload: Payload::Answers,
        leaves: Leaves::TimeOrRounds,
        stands: true,
        setup_rtts: None,
        moves: |_| Moves { flows: 0.0, bytes: 0.0, draws: 0.0 },
        says: |_, _| String::new(),
        check: |_| Ok(()),
    };
    /// Flows between any hosts, until they are done.
    pub(crate) const BETWEEN: Facts = Facts {
        many_to_one: false,
        asks: false,
        lasts: false,
        payload: Payload::Own,
        leaves: Leaves::Nothing,
        stands: false,
        ..Facts::READS
    };
}

const BARRIER: Facts = Facts {
    many_clients: true,
    moves: |s| answers_of(s, 1),
    says: |s, _| format!("barrier reads for {}: {}", s.workload.duration, answers(s)),
    ..Facts::READS
};

const ONE_SHOT: Facts = Facts {
    asks: false,
    lasts: false,
    leaves: Leaves::Nothing,
    // A handshake takes one; who sends unasked needs half of what a request and its answer do.
    setup_rtts: Some(1.5),
    moves: |s| answers_of(s, 1),
    says: |s, _| format!("one shot: {}", answers(s)),
    ..Facts::READS
};

const WEB_SEARCH: Facts = Facts {
    many_clients: true,
    lasts: false,
    stands: false,
    moves: |s| answers_of(s, s.workload.queries),
    says: |s, _| format!("web search, {} queries: {}", s.workload.queries, answers(s)),
    check: |s| match s.workload.queries == 0 || s.workload.request.0 == 0 {
        true => wrong(
            &["workload.queries", "workload.request"],
            "a web search has at least one query, and its request at least 1 B",
        ),
        false => Ok(()),
    },
    ..Facts::READS
};

const LONG: Facts = Facts {
    asks: false,
    endless: true,
    payload: Payload::Own,
    leaves: Leaves::Time,
    moves: |s| Moves { flows: s.servers().into(), ..Moves::default() },
    says: |s, _| format!("long flows for {}", s.workload.duration),
    ..Facts::READS
};

const FLOWS: Facts = Facts {
    listed: true,
    moves: |s| {
        let list = s.inputs.flows.as_ref().map_or(&[][..], |flows| flows.list());
        let bytes = s.listed_bytes();
        Moves { flows: list.len() as f64, bytes, draws: 0.0 }
    },
    says: |s, swept| {
        let list = s.inputs.flows.as_ref().map_or((0, ""), |flows| (flows.list().len(), flows.name()));
        format!("{} flows of {} between {} hosts", list.0, last_part(list.1), swept.hosts)
    },
    check: |s| match s.workload.file.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the flows workload needs `workload.file`, such as \"flows.csv\""),
    },
    ..Facts::BETWEEN
};

const SHUFFLE: Facts = Facts {
    all_hosts: true,
    payload: Payload::Fragments,
    moves: |s| {
        let hosts = f64::from(s.hosts());
        let flows = hosts * f64::from(s.servers()) * s.workload.pairs.as_f64();
        Moves { flows, bytes: flows * s.answer(s.servers(), 0).0 as f64, draws: hosts * hosts }
    },
    says: shuffle_says,
    check: |s| match s.workload.pairs.in_q(32) {
        0 => wrong(
            &["workload.pairs"],
            "a shuffle between none of the pairs: right would be a share above 0, such as 0.1",
        ),
        _ => Ok(()),
    },
    ..Facts::BETWEEN
};

const POISSON: Facts = Facts {
    all_hosts: true,
    poisson: true,
    lasts: true,
    leaves: Leaves::Time,
    moves: |s| {
        let (flows, bytes) = s.poisson(f64::from(s.hosts()), s.given_s());
        Moves { flows, bytes, draws: 0.0 }
    },
    says: |s, swept| {
        format!("Poisson flows for {} between {} hosts: {}", s.workload.duration, swept.hosts, swept.poisson)
    },
    check: |s| match s.workload.load.0 {
        Some(_) => Ok(()),
        None => wrong(
            &["workload.kind"],
            "the poisson workload needs `workload.load`, a share of the hosts' links such as 0.5",
        ),
    },
    ..Facts::BETWEEN
};

const MAP_REDUCE: Facts = Facts { moves: job_moves, says: job_says, check: job_check, ..Facts::BETWEEN };

const ALL_REDUCE: Facts = Facts {
    all_hosts: true,
    stands: true,
    payload: Payload::Fragments,
    // Each host sends as many parts of its vector as it has, but one, twice.
    moves: |s| {
        let (hosts, others, all) = (f64::from(s.hosts()), f64::from(s.servers()), f64::from(s.workload.queries));
        let vector = s.answer(s.servers(), 0).0 as f64;
        Moves { flows: 2.0 * hosts * others * all, bytes: 2.0 * others * vector * all, draws: 0.0 }
    },
    says: |s, swept| {
        let vector = s.workload.fragment.0.map_or(String::new(), |size| size.to_string());
        format!("{} ring all-reduces of {vector} over {} hosts", s.workload.queries, swept.hosts)
    },
    check: |s| match (s.workload.fragment.0, s.hosts()) {
        (Some(vector), hosts) if vector.0 < hosts.into() => {
            wrong(&["workload.fragment"], format!("{vector} leave less than a byte for each of {hosts} hosts"))
        }
        _ if s.workload.queries == 0 => wrong(&["workload.queries"], "no all-reduce: right would be at least 1"),
        _ => Ok(()),
    },
    ..Facts::BETWEEN
};

const BURSTS: Facts = Facts {
    asks: false,
    payload: Payload::Own,
    leaves: Leaves::Nothing,
    setup_rtts: None,
    moves: |s| {
        let (_, flows, bytes) = s.inputs.bursts.as_ref().map_or((0.0, 0.0, 0.0), |bursts| bursts.within(s.given_s()));
        Moves { flows, bytes, draws: 0.0 }
    },
    says: |s, _| {
        let name = s.inputs.bursts.as_ref().map_or("", |bursts| bursts.name());
        format!("bursts of {} for {}", last_part(name), s.workload.duration)
    },
    check: |s| match s.workload.bursts.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the bursts workload needs `workload.bursts`, such as \"bursts.csv\""),
    },
    ..Facts::READS
};

const KEY_VALUE: Facts = Facts {
    lasts: false,
    payload: Payload::Own,
    leaves: Leaves::TimeOrRounds,
    moves: objects_moved,
    says: |s, _| {
        let k = &s.key_value;
        let ends =
            if k.front_ends == 1 { "a front end".into() } else { format!("each of {} front ends", k.front_ends) };
        let apart = k.within.0.map_or(String::new(), |within| format!(" within {within}"));
        let (times, objects) = (s.workload.queries, k.per_request);
        format!("{ends} asks {times} times{apart} for {objects} objects of {} to {}", k.least, k.most)
    },
    check: key_value_check,
    ..Facts::READS
};

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

/// An answer of each server, so many times and in each round of a warm-up: the connections where each has a new one.
fn answers_of(s: &Settings, times: u32) -> Moves {
    let warm_up = if let Some(WarmUp::Rounds(rounds)) = s.workload.warm_up.0 { rounds } else { 0 };
    let again = if s.workload.kind.facts().lasts { 0 } else { warm_up };
    let flows = f64::from(s.servers()) * f64::from(s.clients()) * (f64::from(times) + f64::from(again));
    Moves { flows, bytes: flows * s.answer(s.servers(), 0).0 as f64, draws: 0.0 }
}

fn answers(s: &Settings) -> String {
    let each = match s.clients() {
        1 => String::new(),
        clients => format!(" to each of {clients} clients"),
    };
    part_of_all(s) + &each
}

fn part_of_all(s: &Settings) -> String {
    match (s.workload.fragment.0, s.workload.block.0) {
        (Some(fragment), _) => format!("{fragment} from each server"),
        (None, Some(block)) => format!("{block} from all servers together"),
        (None, None) => "no end".into(),
    }
}

fn shuffle_says(s: &Settings, swept: &Swept) -> String {
    let of = match s.workload.pairs.as_f64() {
        1.0 => "each other one".into(),
        share => format!("{} % of the others", (swept.three)(100.0 * share)),
    };
    let size = s.workload.fragment.0.map_or(String::new(), |size| size.to_string());
    format!("shuffle between {} hosts: {size} from each to {of}", swept.hosts)
}

fn job_moves(s: &Settings) -> Moves {
    let (m, nodes) = (&s.mapreduce, f64::from(s.servers()));
    let fetches = f64::from(m.maps) * f64::from(m.reduces.0.unwrap_or(s.servers()));
    Moves { flows: fetches * (nodes - 1.0) / nodes, bytes: m.input.0 as f64, draws: 0.0 }
}

fn job_says(s: &Settings, _: &Swept) -> String {
    let m = &s.mapreduce;
    format!("MapReduce over {}: {} maps, {} reduces", m.input, m.maps, m.reduces.0.unwrap_or(s.servers()))
}

fn job_check(s: &Settings) -> Result<(), Wrong> {
    let m = &s.mapreduce;
    if m.input.0 < u64::from(m.maps) {
        return wrong(&["mapreduce.input"], format!("{} leave less than a byte for each of {} maps", m.input, m.maps));
    }
    if s.workload.request.0 == 0 {
        return wrong(&["workload.request"], "a mapreduce job's nodes ask each other: a request has at least 1 B");
    }
    Ok(())
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn objects_moved(s: &Settings) -> Moves {
    let k = &s.key_value;
    let requests = f64::from(s.workload.queries) * f64::from(k.front_ends);
    let objects = requests * f64::from(k.per_request);
    let bytes = objects * (k.least.0 + k.most.0) as f64 / 2.0;
    let pages = if k.popularity == Popularity::Pages { f64::from(k.pages) * f64::from(k.per_request) } else { 0.0 };
    Moves { flows: objects, bytes, draws: f64::from(k.objects) * f64::from(k.replicas) + pages }
}

fn key_value_check(s: &Settings) -> Result<(), Wrong> {
    let k = &s.key_value;
    let servers = s.servers();
    if k.per_request > k.objects {
        let what = format!("a request for {} of {} objects: right would be at most as many", k.per_request, k.objects);
        return wrong(&["key_value.per_request", "key_value.objects"], what);
    }
    if k.popularity == Popularity::Pages {
        pages_check(k)?;
    }
    if k.least > k.most {
        let what = format!("objects of {} to {}: the least is above the most", k.least, k.most);
        return wrong(&["key_value.least", "key_value.most"], what);
    }
    if k.replicas > servers {
        let what =
            format!("{} replicas of an object on {servers} servers: right would be at most {servers}", k.replicas);
        return wrong(&["key_value.replicas", "workload.fan_in"], what);
    }
    if k.front_ends > servers + 1 {
        let what = format!("{} front ends among {} hosts", k.front_ends, servers + 1);
        return wrong(&["key_value.front_ends", "workload.fan_in"], what);
    }
    if s.workload.queries == 0 {
        return wrong(&["workload.queries"], "no request: right would be at least 1");
    }
    own_times(s)?;
    if let (Some(within), pause @ Time(1..)) = (k.within.0, s.workload.pause) {
        let what = format!(
            "requests within {within} begin by themselves, and a pause of {pause} would be after those that wait for one another: keep one"
        );
        return wrong(&["workload.pause", "key_value.within"], what);
    }
    Ok(())
}

/// Requests that begin by themselves do so one after another, and no more of them than a run gets done in its warm-up.
fn own_times(s: &Settings) -> Result<(), Wrong> {
    const EARLY_MAX: f64 = 1e7;
    let (Some(interval), queries) = (s.request_interval(), s.workload.queries) else { return Ok(()) };
    if interval == Time::ZERO {
        let what = format!("{queries} requests begin within fewer picoseconds: right would be a longer time");
        return wrong(&["key_value.within", "workload.queries"], what);
    }
    let Some(WarmUp::For(warm_up)) = s.workload.warm_up.0 else { return Ok(()) };
    let early = warm_up.0 as f64 / interval.0 as f64 * f64::from(s.key_value.front_ends);
    if early > EARLY_MAX {
        let what = format!(
            "some {early:.0} requests begin in a warm-up of {warm_up}: right would be at most {EARLY_MAX:.0}, in a shorter one or further apart"
        );
        return wrong(&["workload.warm_up", "key_value.within"], what);
    }
    Ok(())
}

/// Pages that fit into memory, and of whose objects no more are replaced than there are.
fn pages_check(k: &KeyValue) -> Result<(), Wrong> {
    const OBJECTS_OF_PAGES_MAX: u64 = 100_000_000;
    let all = u64::from(k.pages) * u64::from(k.page);
    if all > OBJECTS_OF_PAGES_MAX {
        let what = format!(
            "{} pages of {} objects: right would be at most {OBJECTS_OF_PAGES_MAX} objects of all pages together",
            k.pages, k.page
        );
        return wrong(&["key_value.pages", "key_value.page"], what);
    }
    if k.page > k.objects {
        let what = format!("a page of {} of {} objects: right would be at most as many", k.page, k.objects);
        return wrong(&["key_value.page", "key_value.objects", "key_value.popularity"], what);
    }
    if k.replaced > k.page {
        let what = format!("{} of {} objects replaced: right would be at most as many", k.replaced, k.page);
        return wrong(&["key_value.replaced", "key_value.page", "key_value.popularity"], what);
    }
    Ok(())
}

/// Declares what flows are of, with the words of tables; the first is what is taken where nothing is said.
macro_rules! flow_kinds {
    ($(#[doc = $says:literal])* $usual:ident = $its:literal,
     $($(#[doc = $doc:literal])* $kind:ident = $word:literal,)*) => {
        /// What a flow is of.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FlowKind {
            $(#[doc = $says])*
            #[default]
            $usual,
            $($(#[doc = $doc])* $kind,)*
        }

        impl FlowKind {
            /// All of them, with what they are.
            pub const ALL: &[(FlowKind, &str)] = &[
                (FlowKind::$usual, concat!($($says),*).trim_ascii()),
                $((FlowKind::$kind, concat!($($doc),*).trim_ascii()),)*
            ];

            /// Its word in tables.
            pub const fn word(self) -> &'static str {
                match self {
                    FlowKind::$usual => $its,
                    $(FlowKind::$kind => $word,)*
                }
            }
        }
    };
}

flow_kinds! {
    /// A server's answer to a round or query, or a sender's fragment.
    Answer = "answer",
    /// A long flow, or one of a list that has no end: between two starts or stops of such ones.
    Long = "long",
    /// A line of the workload's file.
    Listed = "listed",
    /// A flow of a shuffle.
    Shuffle = "shuffle",
    /// A flow of the poisson workload.
    Poisson = "poisson",
    /// A flow beside another workload: a Poisson flow, or one of a list.
    Beside = "beside",
    /// A split that a map of a job reads from another node.
    Split = "split",
    /// A part of a map's output that a reduce fetches.
    Fetch = "fetch",
    /// A replica of a reduce's output.
    Replica = "replica",
    /// An answer to a query of the service.
    Query = "query",
    /// A part of a vector that an all-reduce passes on.
    Part = "part",
    /// An object that a front end asked for.
    Object = "object",
}

impl FlowKind {
    /// Whether it is a flow that the workload itself starts between any hosts, for its own sake.
    pub const fn is_own(self) -> bool {
        matches!(self, FlowKind::Listed | FlowKind::Shuffle | FlowKind::Poisson | FlowKind::Part)
    }
}

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
    /// In which order a data server serves what it is asked for.
    ServerOrder, "\"parallel\", \"fifo\" or \"reordered\"" {
        /// All at once, each for as long as `host.service_time` says.
        Parallel = "parallel",
        /// One object after another, in the order of arrival, but for schemes that gather objects, whose servers reorder them; the next one's service begins when the last answer has left at the link's rate.
        Fifo = "fifo",
        /// One after another too, small ones and those that have waited first (PICC, Algorithm 3).
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
    Replica, "\"random\" or \"together\"" {
        /// Any.
        Random = "random",
        /// One at a server that answers the request anyway, if there is one.
        Together = "together",
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
        /// A plan of placement: a table with the header object,from,to,reason (popular or correlated), whose moves are made, in their order, before a run begins. Objects count from 0, hosts from the client, which is 0. It is a plan of one placement: under every seed the objects are put where `run.first_seed` puts them, and moved from there.
        placement: Optional<FilePath> = Optional::NONE,
        /// How a front end asks for an object that was moved: "links", at its old place, which passes the question on to the new one, or "direct".
        #[needs(PLAN)]
        route: Route = Route::Links,
        /// Which replica of an object that was moved is asked for: "random", or "together", one at a server that answers the request anyway, if there is one; of other objects one is drawn.
        #[needs(PLAN)]
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
        /// In which order a server serves what it is asked for. "fifo" and "reordered": one object after another; "reordered": those of a sub-queue by their waits to a power over their sizes (PICC).
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
