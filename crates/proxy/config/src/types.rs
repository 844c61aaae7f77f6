//! Settings as values, with their defaults.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use fanin_fanout::sicc::{self, Parts};
use fanin_fanout::{Kind, Window};
use fanin_units::{Bytes, Rate, Share, Time};

use super::racks::Racks;
use fanin_proxy_migration::progress::Progress;
use fanin_proxy_migration::{Moves, Stage};
use fanin_proxy_net::sockets::EventLoop;
use fanin_proxy_net::{Address, Entry, Target};
use fanin_proxy_observe::log::{self, Secret};
use fanin_proxy_observe::messages;
use fanin_proxy_routing::{Hash, Placement, Router, Weighted};

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of threads; each has its own connections to every server.
    pub threads: usize,
    /// Maximum number of connected clients.
    pub clients: usize,
    /// Idle time after which a client is closed; zero: never.
    pub idle_timeout: Time,
    /// Time to finish outstanding requests at a stop.
    pub drain: Time,
    /// Longest batching delay under load.
    pub batching_delay: Time,
    /// Event loop.
    pub event_loop: EventLoop,
    /// Memory limit for clients, servers and the data between them.
    pub memory: Bytes,
    /// Log of requested keys, if any.
    pub log: Option<log::Settings>,
    /// Messages for operators.
    pub messages: messages::Settings,
    /// Metrics for Prometheus, if any.
    pub metrics: Option<MetricsSettings>,
    /// Pools.
    pub pools: Vec<Pool>,
    /// Problems that do not prevent a start.
    pub warnings: Vec<Problem>,
}

/// Metrics over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Number of hot keys to report; zero: none.
    pub hot_keys: usize,
}

/// A pool: servers behind one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Name in `stats`.
    pub name: String,
    /// Address to listen on.
    pub listen: Address,
    /// Requirements for clients.
    pub entry: Arc<Entry>,
    /// Servers.
    pub servers: Vec<Server>,
    /// Placement of keys.
    pub placement: Placement,
    /// Hash of keys.
    pub hash: Hash,
    /// Request algorithm of multigets.
    pub multiget: Kind,
    /// Response time above which a sliding window halves.
    pub late: Time,
    /// Whether a multiget starts with the concurrency limit of the last one.
    pub keeps_windows: bool,
    /// Rate of the link on which responses arrive.
    pub link: Rate,
    /// The network for incast predictions, if wanted.
    pub incast: Option<Incast>,
    /// Response timeout.
    pub timeout: Time,
    /// Time from which a multiget is reported as slow, if any.
    pub slow: Option<Time>,
    /// Largest value.
    pub item: Bytes,
    /// Longest list of keys, in bytes.
    pub keys: Bytes,
    /// Whether concurrent equal gets are sent once.
    pub join: bool,
    /// Whether clients may send administrative commands, such as `flush_all`.
    pub admin: bool,
    /// Handling of keys whose server is down.
    pub on_down: OnDown,
    /// Servers per key.
    pub replicas: usize,
    /// Whether and when a slow get is sent to another replica.
    pub hedge: Option<Hedge>,
    /// Placement plan to migrate to, if any.
    pub plan: Option<Plan>,
    /// Hubs of multigets, if any.
    pub hubs: Option<Arc<HubSettings>>,
}

/// Handling of keys whose server is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDown {
    /// Requests fail.
    Error,
    /// Gets miss; other requests fail.
    Miss,
    /// The next server on the ring has them.
    Next,
}

impl OnDown {
    /// Each with its name.
    pub const WORDS: [(&'static str, OnDown); 3] =
        [("error", OnDown::Error), ("miss", OnDown::Miss), ("next", OnDown::Next)];
}

/// Role of a pool's agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentRole {
    /// Hubs of racks: SICC.
    Hub,
    /// Data servers, which send in the order of Algorithm 3: PICC.
    DataServer,
}

/// Agents of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct HubSettings {
    /// Their role.
    pub role: AgentRole,
    /// Enabled parts of SICC.
    pub parts: Parts,
    /// Its settings.
    pub sicc: sicc::Params,
    /// Most hubs that send to the front end itself: N, or M of equation 1.
    pub most: u32,
    /// The racks.
    pub racks: Arc<Racks>,
    /// Buffer of the port to the front end.
    pub buffer: Bytes,
    /// File with the bytes of that port's queue, if there is one.
    pub queue: Option<PathBuf>,
}

/// Gets that are sent to a second replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    /// Time without a response after which a get is sent again.
    pub after: Time,
    /// Most of all gets that are.
    pub share: Share,
}

/// The network in front of a pool, and the multigets to assume until some are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incast {
    /// Buffer of the switch's port to the front end.
    pub buffer: Bytes,
    /// Minimum retransmission timeout of the servers.
    pub rto_min: Time,
    /// Rate of the link on which responses arrive.
    pub link: Rate,
    /// Round-trip time to a server of the idle network.
    pub rtt: Time,
    /// Assumed keys of a multiget.
    pub keys: u32,
    /// Assumed size of a value.
    pub value: Bytes,
}

impl Incast {
    /// Default round-trip time.
    pub const RTT: Time = Time::from_micros(100);
    /// Default number of keys.
    pub const KEYS: u32 = 100;
    /// Default size of a value.
    pub const VALUE: Bytes = Bytes(1 << 10);
}

/// Placement plan under migration.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folder that `fanin plan` wrote.
    pub folder: PathBuf,
    /// Table of moves: of the plan in progress, if there is one, else of the folder.
    pub moves: Arc<Moves>,
    /// Stage of the migration.
    pub stage: Stage,
    /// Whether the migration has not begun.
    pub is_new: bool,
    /// Progress on disk.
    pub progress: Progress,
    /// Secret by which keys are hashed, if they are.
    pub secret: Option<Secret>,
    /// Secret for plain keys.
    pub drawn: Secret,
}

/// A server of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Name and weight.
    pub weighted: Weighted,
    /// Its address, and how to connect to it.
    pub target: Arc<Target>,
}

/// A settings error: problem and place.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub struct Problem {
    /// File and line, if known.
    pub place: Option<(String, usize)>,
    /// The problem, and a valid value.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((file, line)) => write!(f, "{file}:{line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Settings {
    /// The defaults.
    pub(super) fn plain() -> Settings {
        Settings {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            clients: 50_000,
            idle_timeout: Time::ZERO,
            drain: Time::from_secs(5),
            batching_delay: Time::from_micros(100),
            event_loop: EventLoop::Auto,
            memory: Bytes(256 << 20),
            log: None,
            messages: messages::Settings::default(),
            metrics: None,
            pools: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether anything reports TCP's figures of servers.
    pub fn observes_servers(&self) -> bool {
        self.metrics.is_some() || self.pools.iter().any(|pool| pool.incast.is_some())
    }
}

impl Server {
    /// Whether connections to the other server may be used for this one.
    pub fn is_same_server(&self, other: &Server) -> bool {
        self.weighted.name == other.weighted.name && self.target.is_same_server(&other.target)
    }
}

impl PartialEq for Plan {
    /// Whether both read the same folder in the same way; how far they are is not compared.
    fn eq(&self, other: &Plan) -> bool {
        (&self.folder, self.secret) == (&other.folder, other.secret)
    }
}

impl Settings {
    /// Addresses of the pools.
    pub fn listens(&self) -> Vec<Address> {
        self.pools.iter().map(|pool| pool.listen.clone()).collect()
    }
}

impl Pool {
    /// Largest value that clients may store, in bytes.
    pub fn longest_value(&self) -> u32 {
        u32::try_from(self.item.0).unwrap_or(u32::MAX)
    }

    /// Initial concurrency limit of a multiget, which never exceeds `most`.
    pub fn window(&self, most: Option<u32>) -> Window {
        let mut settings = fanin_fanout::Settings::default();
        settings.sliding_window.late = self.late;
        settings.sliding_window.most = most.unwrap_or(settings.sliding_window.most);
        settings.ictcp_window.most = most.unwrap_or(settings.ictcp_window.most);
        self.multiget.window(&settings, self.link).expect("a law that asks servers")
    }

    /// Whether other servers answer for one that is down.
    pub fn fails_over(&self) -> bool {
        self.replicas > 1 || self.on_down == OnDown::Next
    }

    /// Placement by hash.
    pub fn router(&self) -> Router {
        let weighted: Vec<_> = self.servers.iter().map(|server| server.weighted.clone()).collect();
        Router::new(self.placement, self.hash, &weighted)
    }

    /// The pool among `old` that this one of `all` continues: the one at its address, else the one of its name whose address is given up.
    pub fn predecessor(&self, all: &[Pool], old: &[&Pool]) -> Option<usize> {
        let goes_on = |other: &Pool| all.iter().any(|pool| pool.listen == other.listen);
        let at_address = old.iter().position(|other| other.listen == self.listen);
        at_address.or_else(|| old.iter().position(|other| other.name == self.name && !goes_on(other)))
    }

    /// Description of its plan, if any, and of all that must not change while two processes use that.
    pub fn plan_description(&self) -> Option<String> {
        let folder = &self.plan.as_ref()?.folder;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let hash = Hash::WORDS.iter().find(|(_, hash)| *hash == self.hash)?.0;
        let placement = Placement::WORDS.iter().find(|(_, placement)| *placement == self.placement)?.0;
        let mut text = format!("{} {} {} {hash} {placement}", folder.display(), self.name, self.listen);
        if self.replicas > 1 {
            text += &format!(" {} replicas", self.replicas);
        }
        for server in &self.servers {
            text += &format!(" {}:{}:{}", server.weighted.name, server.weighted.weight, server.target.address);
        }
        Some(text)
    }

    /// Function from a key's name in a log to the servers of its replicas by hash; none for a hashed name.
    pub fn rule(&self) -> impl Fn(&[u8]) -> Option<Vec<u32>> + Send + Sync + use<> {
        let (router, replicas) = (self.router(), self.replicas);
        move |name| fanin_proxy_migration::plan::by_hash(name, replicas, &router)
    }

    /// A pool with default settings.
    pub(super) fn plain(name: String, listen: Address, servers: Vec<Server>) -> Pool {
        Pool {
            name,
            listen,
            entry: Arc::default(),
            servers,
            placement: Placement::WORDS[0].1,
            hash: Hash::Fnv1a64,
            multiget: Kind::SlidingWindow,
            late: fanin_fanout::Settings::default().sliding_window.late,
            keeps_windows: true,
            link: Rate(10_000_000_000),
            incast: None,
            timeout: Time::from_secs(1),
            slow: None,
            item: Bytes(1 << 20),
            keys: Bytes(16 << 20),
            join: false,
            admin: false,
            on_down: OnDown::Error,
            replicas: 1,
            hedge: None,
            plan: None,
            hubs: None,
        }
    }
}
