//! Settings of a front end: a file of pools, or servers on the command line. Errors have the line and a valid value.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use fanin_fanout::Kind;
use fanin_units::{Bytes, ParseError, Rate, Share, Time};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use toml::Spanned;

use crate::log::{self, Naming, Secret};
use crate::migration::plan::InvalidPlan;
use crate::migration::progress::Progress;
use crate::migration::{self, MigrationState, Moves, Stage};
pub use crate::net::sockets::EventLoop;
use crate::routing::{Hash, Placement, Router, Weighted};

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
    pub nap: Time,
    /// Event loop.
    pub event_loop: EventLoop,
    /// Memory limit for clients, servers and the data between them.
    pub memory: Bytes,
    /// Log of requested keys, if any.
    pub log: Option<log::Settings>,
    /// Pools.
    pub pools: Vec<Pool>,
}

/// A pool: servers behind one address.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Name in `stats`.
    pub name: String,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Servers.
    pub servers: Vec<Server>,
    /// Placement of keys.
    pub placement: Placement,
    /// Hash of keys.
    pub hash: Hash,
    /// Request algorithm of multigets.
    pub multiget: Kind,
    /// Settings of the algorithms.
    pub laws: fanin_fanout::Settings,
    /// Whether a multiget starts with the concurrency limit of the last one.
    pub keeps_windows: bool,
    /// Rate of the link on which responses arrive.
    pub link: Rate,
    /// Response timeout.
    pub timeout: Time,
    /// Largest value.
    pub item: Bytes,
    /// Longest list of keys, in bytes.
    pub keys: Bytes,
    /// Whether concurrent equal gets are sent once.
    pub join: bool,
    /// Whether clients may send administrative commands, such as `flush_all`.
    pub admin: bool,
    /// Whether a get of a key whose server is down is a miss instead of an error.
    pub misses_when_down: bool,
    /// Placement plan to migrate to, if any.
    pub plan: Option<Plan>,
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
    pub(crate) progress: Progress,
    /// Secret by which keys are hashed, if they are.
    pub secret: Option<Secret>,
    /// Secret for plain keys.
    pub drawn: Secret,
}

/// A server of a pool.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name and weight.
    pub weighted: Weighted,
    /// Address.
    pub address: SocketAddr,
}

/// A settings error: problem and place.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    threads: Option<Spanned<i64>>,
    clients: Option<Spanned<i64>>,
    idle_timeout: Option<Spanned<Written>>,
    drain: Option<Spanned<Written>>,
    nap: Option<Spanned<Written>>,
    event_loop: Option<Spanned<String>>,
    memory: Option<Spanned<Written>>,
    log: Option<LogInFile>,
    pool: Spanned<Vec<Spanned<PoolInFile>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolInFile {
    name: Option<String>,
    listen: Spanned<String>,
    servers: Spanned<Vec<Spanned<String>>>,
    placement: Option<Spanned<String>>,
    hash: Option<Spanned<String>>,
    multiget: Option<Spanned<String>>,
    windows: Option<Spanned<String>>,
    link: Option<Spanned<Written>>,
    late: Option<Spanned<Written>>,
    timeout: Option<Spanned<Written>>,
    item: Option<Spanned<Written>>,
    keys: Option<Spanned<Written>>,
    join: Option<bool>,
    admin: Option<bool>,
    on_down: Option<Spanned<String>>,
    plan: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogInFile {
    file: Spanned<PathBuf>,
    share: Option<Spanned<Written>>,
    keys: Option<Spanned<String>>,
    secret: Option<Spanned<PathBuf>>,
    size: Option<Spanned<Written>>,
    files: Option<Spanned<i64>>,
}

/// A quantity in a file: a string, or a number without a unit, as in twemproxy's files.
struct Written(String);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written, D::Error> {
        deserializer.deserialize_any(Written(String::new()))
    }
}

impl Visitor<'_> for Written {
    type Value = Written;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string with a unit")
    }
    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written(text.to_owned()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Written, E> {
        Ok(Written(number.to_string()))
    }
}

/// A key with a valid value, and the unit that other programs use for plain numbers.
struct Right {
    key: &'static str,
    value: &'static str,
    unit: &'static str,
}

const fn right(key: &'static str, value: &'static str, unit: &'static str) -> Right {
    Right { key, value, unit }
}

/// Keys of twemproxy, mcrouter and memcached, and their equivalents here.
const FOREIGN: [(&[&str], &str); 19] = [
    (&["distribution"], "write it as `placement`: ketama, ketama-libmemcached or rendezvous"),
    (
        &["modula", "random"],
        "only consistent hashing and rendezvous hashing are supported, which move few keys when servers change",
    ),
    (
        &["auto_eject_hosts", "server_failure_limit", "server_retry_timeout", "failover"],
        "servers are not ejected: a server that is down is retried after 50 ms to 2 s, and until then its keys fail, or miss with \
         `on_down = \"miss\"`; remove it",
    ),
    (
        &["tls", "ssl", "use_ssl", "ssl_cert_path", "ssl_key_path", "ssl_ca_cert"],
        "TLS is not supported: remove it, and use a TLS proxy or tunnel on both sides",
    ),
    (
        &["sasl", "auth", "user", "username", "password", "redis_auth"],
        "authentication is not supported: remove it, and restrict access to `listen`",
    ),
    (&["redis", "redis_db"], "only memcached's text protocol is supported: remove it"),
    (&["backlog"], "the backlog is 4096, or the system's limit: remove it"),
    (&["tcpkeepalive"], "keepalives are not supported: remove it; `idle_timeout` closes idle clients"),
    (&["hash_tag"], "hash tags are not supported: whole keys are hashed"),
    (&["preconnect"], "servers are always connected at startup: remove it"),
    (&["server_connections"], "each thread has one connection to every server: set `threads`"),
    (&["num_proxies", "num-proxies", "workers"], "write it as `threads`"),
    (&["client_connections", "max_connections", "maxconns"], "write it as `clients`"),
    (&["server_timeout", "server_timeout_ms", "rcvtimeo"], "write it as `timeout`, with its unit"),
    (&["max_item_size", "item_size_max"], "write it as `item`, with its unit"),
    (&["weight", "weights"], "write a server's weight after its port, as in \"10.0.0.1:11211:2\""),
    (&["port", "bind", "address", "addresses"], "write it as `listen = \"host:port\"`"),
    (&["pools"], "write each pool as [[pool]]"),
    (&["route", "routes"], "a pool has one route, by `placement` and `hash`; use a separate pool for each route"),
];

/// The equivalent of another program's key.
fn foreign(word: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(words, _)| words.contains(&word)).map(|(_, says)| *says)
}

/// A longer batching delay would delay events too much.
const MAX_DELAY: Time = Time::from_millis(100);
/// Slowest and fastest link.
const LINKS: (Rate, Rate) = (Rate(1_000_000), Rate(1_000_000_000_000));
/// Shortest timeout that a server can meet reliably.
const SHORTEST_TIMEOUT: Time = Time::from_millis(1);
/// Buffers of two threads and one large value in each direction.
const LEAST_MEMORY: Bytes = Bytes(16 << 20);

/// A problem and its byte range in the file.
struct Wrong(Option<Range<usize>>, String);

impl Settings {
    /// A pool with default settings, from command-line arguments.
    pub fn of_servers(listen: &str, servers: &[String]) -> Result<Settings, Problem> {
        let plain = |Wrong(_, text)| Problem { place: None, text };
        let listen = address(listen).map_err(|text| plain(Wrong(None, format!("--listen {listen}: {text}"))))?;
        let server = |text: &String| server(text).map_err(|why| plain(Wrong(None, format!("--servers {text}: {why}"))));
        let all = servers.join(",");
        let servers = servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        let pool = Pool::plain("front".to_owned(), listen, servers);
        let of_all = |Wrong(_, text)| plain(Wrong(None, format!("--servers {all}: {text}")));
        no_server_twice(&pool.servers, None).map_err(of_all)?;
        no_pool_is_a_server(std::slice::from_ref(&pool), None).map_err(of_all)?;
        Ok(Settings { pools: vec![pool], ..Settings::plain() })
    }

    /// The defaults.
    fn plain() -> Settings {
        Settings {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            clients: 50_000,
            idle_timeout: Time::ZERO,
            drain: Time::from_secs(5),
            nap: Time::from_micros(100),
            event_loop: EventLoop::Auto,
            memory: Bytes(256 << 20),
            log: None,
            pools: Vec::new(),
        }
    }

    /// Logs requested keys to a file, with default log settings.
    pub fn log_to(&mut self, file: &Path) -> Result<(), Problem> {
        let plain = |Wrong(_, text)| Problem { place: None, text: format!("--log {}: {text}", file.display()) };
        match &mut self.log {
            Some(log) => log.file = log_file(file.to_owned(), None).map_err(plain)?,
            None => self.log = Some(log_settings(file.to_owned(), None, None).map_err(plain)?),
        }
        Ok(())
    }

    /// Checks that the plans' folders request a valid next step from the state that this front end has reached.
    ///
    /// # Errors
    /// The plan or stage that is refused.
    pub fn check_plans(&self) -> Result<(), Problem> {
        let refused = |unfit: InvalidPlan| Problem { place: None, text: unfit.to_string() };
        self.pools.iter().try_for_each(|pool| migration::coordinator::check(pool).map_err(refused))
    }

    /// Parses a file.
    pub fn of_file(name: &str, text: &str) -> Result<Settings, Problem> {
        let in_line = |Wrong(place, why)| {
            let line =
                place.map(|place| (name.to_owned(), 1 + text[..place.start.min(text.len())].matches('\n').count()));
            Problem { place: Some(line.unwrap_or((name.to_owned(), 1))), text: why }
        };
        let file: File = toml::from_str(text).map_err(|error| in_line(unread(name, &error)))?;
        settings(file).map_err(in_line)
    }
}

/// Converts a TOML or unknown-key error.
fn unread(name: &str, error: &toml::de::Error) -> Wrong {
    let text = error.message();
    let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let is_other = [".yml", ".yaml", ".json"].iter().any(|ending| name.ends_with(ending));
    let text = match unknown {
        Some((unknown, expected)) => unknown_key(unknown, expected),
        None if is_other => "settings must be TOML; docs/front.md shows a pool of nutcracker.yml as TOML".to_owned(),
        None if text.ends_with("map, expected a sequence") => "write a pool as [[pool]]".to_owned(),
        None => {
            text.replace("expected i64", "expected a whole number").replace("expected usize", "expected a whole number")
        }
    };
    Wrong(error.span(), text)
}

/// Message for an unknown key: its equivalent, the nearest key, or all keys, which `expected` has in backticks.
fn unknown_key(unknown: &str, expected: &str) -> String {
    /// Words less similar than this are not suggested.
    const ALIKE: f64 = 0.75;
    if let Some(says) = foreign(unknown) {
        return format!("unknown key `{unknown}`: {says}");
    }
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let alike = |key: &&&str| strsim::jaro(unknown, key);
    match known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|nearest| alike(nearest) >= ALIKE) {
        Some(nearest) => format!("unknown key `{unknown}`: did you mean `{nearest}`?"),
        None => format!("unknown key `{unknown}`: use one of {}", known.join(", ")),
    }
}

fn settings(file: File) -> Result<Settings, Wrong> {
    let at_least_one = |number: Option<Spanned<i64>>, default: usize, most: i64| match number {
        None => Ok(default),
        Some(number) if (1..=most).contains(number.get_ref()) => Ok(*number.get_ref() as usize),
        Some(number) => Err(Wrong(Some(number.span()), format!("{} is outside 1 to {most}", number.get_ref()))),
    };
    let plain = Settings::plain();
    let threads = at_least_one(file.threads, plain.threads, 1024)?;
    let clients = at_least_one(file.clients, plain.clients, 10_000_000)?;
    let drain = quantity(file.drain, plain.drain, right("drain", "5 s", "s"))?;
    let idle_timeout = quantity(file.idle_timeout, plain.idle_timeout, right("idle_timeout", "10 min", "s"))?;
    let nap = bounded(file.nap, plain.nap, right("nap", "100 us", "us"), (Time::ZERO, MAX_DELAY))?;
    let event_loop = word(file.event_loop, plain.event_loop, &EventLoop::WORDS)?;
    let memory =
        bounded(file.memory, plain.memory, right("memory", "256 MiB", "MiB"), (LEAST_MEMORY, Bytes(u64::MAX)))?;
    if file.pool.get_ref().is_empty() {
        return Err(Wrong(Some(file.pool.span()), "no pool: add one as [[pool]]".to_owned()));
    }
    let log = file.log.map(log_in_file).transpose()?;
    let mut pools: Vec<Pool> = Vec::new();
    for in_file in file.pool.into_inner() {
        let place = in_file.span();
        let pool = pool(in_file.into_inner(), pools.len(), log.as_ref())?;
        if let Some(other) = pools.iter().find(|other| other.listen == pool.listen || other.name == pool.name) {
            let what = if other.name == pool.name { &pool.name } else { &pool.listen.to_string() };
            return Err(Wrong(Some(place), format!("two pools have `{what}`: give each its own name and address")));
        }
        pools.push(pool);
        no_pool_is_a_server(&pools, Some(place))?;
    }
    Ok(Settings { threads, clients, idle_timeout, drain, nap, event_loop, memory, log, pools })
}

fn log_in_file(file: LogInFile) -> Result<log::Settings, Wrong> {
    let hashed = word(file.keys, true, &[("hashed", true), ("plain", false)])?;
    let place = file.file.span();
    let path = log_file(file.file.into_inner(), Some(place))?;
    let mut log = match (hashed, file.secret) {
        (true, secret) => log_settings(path, None, secret)?,
        (false, None) => log_settings(path, Some(Naming::Plain), None)?,
        (false, Some(secret)) => {
            return Err(Wrong(Some(secret.span()), "keys are plain: remove the secret".to_owned()));
        }
    };
    let place = file.share.as_ref().map(Spanned::span);
    log.share = quantity(file.share, log.share, right("share", "1 %", "%"))?;
    if !(1..=1 << 30).contains(&log.share.in_q(30)) {
        return Err(Wrong(place, "the share must be above 0 and at most 1, such as share = \"1 %\"".to_owned()));
    }
    log.size = bounded(file.size, log.size, right("size", "256 MiB", "MiB"), (Bytes(1 << 20), Bytes(1 << 40)))?;
    if let Some(files) = file.files {
        let right = (1..=1000).contains(files.get_ref());
        let wrong = || Wrong(Some(files.span()), format!("{} is outside 1 to 1000", files.get_ref()));
        log.files = right.then(|| *files.get_ref() as usize).ok_or_else(wrong)?;
    }
    Ok(log)
}

/// Checks that the log's name ends in `.csv`.
fn log_file(file: PathBuf, place: Option<Range<usize>>) -> Result<PathBuf, Wrong> {
    let is_table = file.extension().is_some_and(|ending| ending == "csv");
    let wrong = || Wrong(place, "the log is a CSV file: use a name that ends in .csv".to_owned());
    is_table.then_some(file).ok_or_else(wrong)
}

/// Log settings with defaults: the secret is a file beside the log, created if it does not exist.
fn log_settings(
    file: PathBuf,
    naming: Option<Naming>,
    secret: Option<Spanned<PathBuf>>,
) -> Result<log::Settings, Wrong> {
    let file = log_file(file, None)?;
    let naming = match naming {
        Some(naming) => naming,
        None => {
            let place = secret.as_ref().map(Spanned::span);
            let path = secret.map_or_else(|| file.with_extension("secret"), Spanned::into_inner);
            let wrong = |error| Wrong(place, format!("{}: {error}; use a file of at least 16 B", path.display()));
            Naming::Hashed(Secret::of_file(&path).map_err(wrong)?)
        }
    };
    Ok(log::Settings { file, share: Share::of(1, 100), naming, size: Bytes(256 << 20), files: 4 })
}

fn pool(file: PoolInFile, number: usize, log: Option<&log::Settings>) -> Result<Pool, Wrong> {
    let listen = address(file.listen.get_ref()).map_err(|why| Wrong(Some(file.listen.span()), why))?;
    if file.servers.get_ref().is_empty() {
        return Err(Wrong(Some(file.servers.span()), "no servers: add servers = [\"10.0.0.1:11211\", ...]".to_owned()));
    }
    let place = file.servers.span();
    let one = |text: Spanned<String>| server(text.get_ref()).map_err(|why| Wrong(Some(text.span()), why));
    let servers = file.servers.into_inner().into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    no_server_twice(&servers, Some(place))?;
    let mut pool = Pool::plain(file.name.unwrap_or_else(|| format!("pool{number}")), listen, servers);
    pool.placement = word(file.placement, pool.placement, &Placement::WORDS)?;
    pool.hash = word(file.hash, pool.hash, &Hash::WORDS)?;
    pool.multiget = word(file.multiget, pool.multiget, &MULTIGETS)?;
    pool.keeps_windows = word(file.windows, pool.keeps_windows, &[("kept", true), ("anew", false)])?;
    pool.link = bounded(file.link, pool.link, right("link", "10 Gbit/s", "Gbit/s"), LINKS)?;
    pool.laws.sliding_window.late = quantity(file.late, pool.laws.sliding_window.late, right("late", "5 ms", "ms"))?;
    pool.timeout =
        bounded(file.timeout, pool.timeout, right("timeout", "1 s", "ms"), (SHORTEST_TIMEOUT, Time::from_secs(3600)))?;
    pool.item = quantity(file.item, pool.item, right("item", "1 MiB", "B"))?;
    pool.keys = quantity(file.keys, pool.keys, right("keys", "16 MiB", "B"))?;
    pool.join = file.join.unwrap_or(pool.join);
    pool.admin = file.admin.unwrap_or(pool.admin);
    pool.misses_when_down = word(file.on_down, pool.misses_when_down, &[("error", false), ("miss", true)])?;
    pool.plan = file.plan.map(|folder| plan(folder, &pool, log)).transpose()?;
    Ok(pool)
}

/// Reads a pool's plan.
fn plan(folder: Spanned<PathBuf>, pool: &Pool, log: Option<&log::Settings>) -> Result<Plan, Wrong> {
    let (place, folder) = (folder.span(), folder.into_inner());
    let wrong = |what: String| Wrong(Some(place.clone()), what);
    let secret = log.and_then(|log| match log.naming {
        Naming::Hashed(secret) => Some(secret),
        Naming::Plain => None,
    });
    let drawn = Secret::drawn().map_err(|error| wrong(error.to_string()))?;
    let names = pool.servers.iter().map(|server| server.weighted.name.as_str()).collect();
    let reader = migration::plan::Reader { names, router: &pool.router(), secret, drawn };
    let unfit = |unfit: InvalidPlan| wrong(unfit.to_string());
    let mut progress = Progress::new(&folder, &pool.name, pool.listen);
    if let Some(MigrationState { moves, stage }) = progress.read(&reader).map_err(unfit)? {
        // Plain keys of later plans are hashed by the same secret, so plans can be compared.
        let drawn = if moves.secret.id() == 0 { moves.secret } else { drawn };
        return Ok(Plan { folder, moves, stage, is_new: false, progress, secret, drawn });
    }
    let stage = migration::plan::stage(&folder).map_err(unfit)?.unwrap_or(Stage::Move);
    let moves = Arc::new(reader.read(&folder).map_err(unfit)?);
    if stage > Stage::Move {
        return Err(wrong(format!(
            "{}: this front end has not begun the plan, so it must start in `begin` or `move`, not in `{}`, or values on old servers are \
             lost; to join running front ends, first copy the state of one of them in `carried`",
            folder.join(migration::plan::STAGE).display(),
            stage.word()
        )));
    }
    Ok(Plan { folder, moves, stage, is_new: true, progress, secret, drawn })
}

/// Algorithms that request from servers directly; the others need agents.
const MULTIGETS: [(&str, Kind); 4] = [
    ("one-all", Kind::OneAll),
    ("sw", Kind::SlidingWindow),
    ("sliding-window", Kind::SlidingWindow),
    ("ictcp-window", Kind::IctcpWindow),
];

impl Pool {
    /// Placement by hash.
    pub fn router(&self) -> Router {
        let weighted: Vec<_> = self.servers.iter().map(|server| server.weighted.clone()).collect();
        Router::new(self.placement, self.hash, &weighted)
    }

    /// Function from a key's name in a log to its server by hash; none for a hashed name.
    pub fn rule(&self) -> impl Fn(&[u8]) -> Option<u32> + Send + Sync + use<> {
        let router = self.router();
        move |name| migration::plan::by_hash(name, &router)
    }

    fn plain(name: String, listen: SocketAddr, servers: Vec<Server>) -> Pool {
        Pool {
            name,
            listen,
            servers,
            placement: Placement::WORDS[0].1,
            hash: Hash::Fnv1a64,
            multiget: Kind::SlidingWindow,
            laws: fanin_fanout::Settings::default(),
            keeps_windows: true,
            link: Rate(10_000_000_000),
            timeout: Time::from_secs(1),
            item: Bytes(1 << 20),
            keys: Bytes(16 << 20),
            join: false,
            admin: false,
            misses_when_down: false,
            plan: None,
        }
    }
}

fn word<T: Copy>(found: Option<Spanned<String>>, default: T, words: &[(&str, T)]) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let meant = words.iter().find(|(word, _)| word == found.get_ref());
    meant.map(|(_, kind)| *kind).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let says = foreign(found.get_ref()).map_or(String::new(), |says| format!("; {says}"));
        Wrong(Some(found.span()), format!("unknown value `{}`: use one of {}{says}", found.get_ref(), all.join(", ")))
    })
}

fn quantity<T: FromStr<Err = ParseError>>(
    found: Option<Spanned<Written>>,
    default: T,
    Right { key, value, unit }: Right,
) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let Written(text) = found.get_ref();
    text.parse().map_err(|why| {
        let right = match why {
            ParseError::NoUnit => format!("{text} {unit}"),
            _ => value.to_owned(),
        };
        Wrong(Some(found.span()), format!("`{text}`: {why}; use a value such as {key} = \"{right}\""))
    })
}

/// Parses a quantity within bounds.
fn bounded<T: FromStr<Err = ParseError> + PartialOrd + fmt::Display + Copy>(
    found: Option<Spanned<Written>>,
    default: T,
    right: Right,
    (least, most): (T, T),
) -> Result<T, Wrong> {
    let place = found.as_ref().map(Spanned::span);
    let Right { key, value: such_as, .. } = right;
    let value = quantity(found, default, right)?;
    let wrong =
        |what: String| Err(Wrong(place, format!("`{value}` is {what}; use a value such as {key} = \"{such_as}\"")));
    match value {
        value if value < least => wrong(format!("less than {least}")),
        value if value > most => wrong(format!("more than {most}")),
        value => Ok(value),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| format!("`{text}` is not an address: use host:port, such as 127.0.0.1:11211"))
}

/// Parses `host:port[:weight][ name]`, twemproxy's format.
fn server(text: &str) -> Result<Server, String> {
    const RIGHT: &str = "use host:port, host:port:weight or \"host:port:weight name\", with a weight from 1 to 65535";
    let (at, name) = text.split_once(' ').map_or((text, None), |(at, name)| (at, Some(name.trim())));
    let parts: Vec<&str> = at.rsplitn(3, ':').collect();
    let number = |text: &str| text.parse::<u16>().ok();
    let (host, port, weight) = match parts[..] {
        [weight, port, host] if number(port).is_some() => (host, port, number(weight)),
        [port, _] | [port, _, _] => (&at[..at.len() - port.len() - 1], port, Some(1)),
        _ => return Err(format!("`{text}` is not a server: {RIGHT}")),
    };
    let right = number(port).zip(weight.filter(|weight| *weight > 0)).filter(|_| !host.is_empty());
    let Some((port, weight)) = right else { return Err(format!("`{text}` is not a server: {RIGHT}")) };
    let found = (host.trim_matches(['[', ']']), port).to_socket_addrs().ok().and_then(|mut found| found.next());
    let address = found.ok_or_else(|| format!("`{text}`: host {host} not found"))?;
    let usual = if port == 11211 { host.to_owned() } else { format!("{host}:{port}") };
    let name = name.filter(|name| !name.is_empty()).map_or(usual, str::to_owned);
    Ok(Server { weighted: Weighted { name, weight: weight.into() }, address })
}

/// Checks that no server occurs twice, since both would get the same keys.
fn no_server_twice(servers: &[Server], place: Option<Range<usize>>) -> Result<(), Wrong> {
    let name = |index: usize| &servers[index].weighted.name;
    match (1..servers.len()).find(|&index| (0..index).any(|other| name(other) == name(index))) {
        Some(index) => Err(Wrong(place, format!("the server {} occurs twice", name(index)))),
        None => Ok(()),
    }
}

/// Checks that no pool is its own server, under any address of this machine, since requests would loop.
fn no_pool_is_a_server(pools: &[Pool], place: Option<Range<usize>>) -> Result<(), Wrong> {
    let own: Vec<IpAddr> = nix::ifaddrs::getifaddrs().map_or(Vec::new(), |all| {
        let addresses = all.filter_map(|one| one.address);
        let ip = |address: nix::sys::socket::SockaddrStorage| {
            let four = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        };
        addresses.filter_map(ip).collect()
    });
    let is_own = |ip: IpAddr| ip.is_loopback() || own.contains(&ip);
    for server in pools.iter().flat_map(|pool| &pool.servers) {
        let itself = pools.iter().find(|pool| {
            // Connecting to the unspecified address means connecting to this machine.
            let [listen, at] = [pool.listen, server.address].map(|address| address.ip().to_canonical());
            let is_here = |ip: IpAddr| ip.is_unspecified() || is_own(ip);
            let same =
                listen == at || listen.is_unspecified() && is_here(at) || at.is_unspecified() && listen.is_loopback();
            pool.listen.port() != 0 && pool.listen.port() == server.address.port() && same
        });
        if let Some(pool) = itself {
            let why = format!("the server {} is the address on which `{}` listens", server.address, pool.name);
            return Err(Wrong(place, why));
        }
    }
    Ok(())
}
