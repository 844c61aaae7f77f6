//! What a front end is told: a file of pools, or a list of servers on the command line. Whatever is wrong is refused with its line and
//! what would be right.

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

use crate::carrying::plan::InvalidPlan;
use crate::carrying::progress::Progress;
use crate::carrying::{self, Moves, Stage, Standing};
use crate::log::{self, Naming, Secret};
use crate::routing::{Hash, Placement, Router, Weighted};
pub use crate::sockets::EventLoop;

/// All of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads, each with connections of its own to every server.
    pub threads: usize,
    /// Clients that may be connected at once.
    pub clients: usize,
    /// How long a client may send nothing and wait for nothing before it is closed; zero: for ever.
    pub idle_timeout: Time,
    /// How long a front end that is told to stop goes on with what it has taken.
    pub drain: Time,
    /// The longest wait of a thread for more requests, under load.
    pub nap: Time,
    /// What threads wait for events with.
    pub event_loop: EventLoop,
    /// The most memory that is taken for clients, servers and what is under way between them.
    pub memory: Bytes,
    /// What is logged of what clients ask for, if anything.
    pub log: Option<log::Settings>,
    /// What listens.
    pub pools: Vec<Pool>,
}

/// Servers behind one address.
#[derive(Clone, Debug)]
pub struct Pool {
    /// What `stats` calls it.
    pub name: String,
    /// Where clients come.
    pub listen: SocketAddr,
    /// Its servers.
    pub servers: Vec<Server>,
    /// How keys are placed on them.
    pub placement: Placement,
    /// What keys are hashed with.
    pub hash: Hash,
    /// How a multiget's servers are asked.
    pub multiget: Kind,
    /// The laws' settings.
    pub laws: fanin_fanout::Settings,
    /// Whether a multiget's window begins as the last one ended.
    pub keeps_windows: bool,
    /// The rate of the link by which answers come.
    pub link: Rate,
    /// An answer that is not there after this will not come.
    pub timeout: Time,
    /// The largest value.
    pub item: Bytes,
    /// The longest list of keys, in bytes.
    pub keys: Bytes,
    /// Whether equal gets that are under way are asked once.
    pub join: bool,
    /// Whether clients may administer the servers: empty them, say, or change their memory.
    pub admin: bool,
    /// Whether a get of a key whose server is away is answered as a miss, and not with an error.
    pub misses_when_down: bool,
    /// The plan that is carried out, if there is one.
    pub plan: Option<Plan>,
}

/// A plan that is carried out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder that `fanin plan` wrote.
    pub folder: PathBuf,
    /// What moves: by the plan that was carried out before, where one was, else by the folder's.
    pub moves: Arc<Moves>,
    /// How far that is carried out.
    pub stage: Stage,
    /// Whether it was never begun.
    pub is_new: bool,
    /// Where its progress is kept.
    pub(crate) progress: Progress,
    /// By what its keys are hashed, if they are; and otherwise.
    pub secret: Option<Secret>,
    /// The latter.
    pub drawn: Secret,
}

/// A server of a pool.
#[derive(Clone, Debug)]
pub struct Server {
    /// As far as keys are concerned.
    pub weighted: Weighted,
    /// Where it is.
    pub address: SocketAddr,
}

/// What is wrong, and where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub struct Problem {
    /// The file and the line, where there is one.
    pub place: Option<(String, usize)>,
    /// What is wrong and what would be right.
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

/// A quantity as a file has it: a text, or a number, which lacks its unit as in twemproxy's files.
struct Written(String);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written, D::Error> {
        deserializer.deserialize_any(Written(String::new()))
    }
}

impl Visitor<'_> for Written {
    type Value = Written;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with its unit")
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

/// A key with a right value, and the unit that a number without one has where people bring it from.
struct Right {
    key: &'static str,
    value: &'static str,
    unit: &'static str,
}

const fn right(key: &'static str, value: &'static str, unit: &'static str) -> Right {
    Right { key, value, unit }
}

/// Words of twemproxy's, mcrouter's and memcached's settings, and what there is of them here.
const FOREIGN: [(&[&str], &str); 19] = [
    (&["distribution"], "write it as `placement`: ketama, ketama-libmemcached or rendezvous"),
    (
        &["modula", "random"],
        "keys are placed by consistent hashing or rendezvous alone, which move few of them when servers change",
    ),
    (
        &["auto_eject_hosts", "server_failure_limit", "server_retry_timeout", "failover"],
        "no server is ejected: one that is down is tried again after 50 ms to 2 s, and until then its keys fail, or are misses with \
         `on_down = \"miss\"`; leave it out",
    ),
    (
        &["tls", "ssl", "use_ssl", "ssl_cert_path", "ssl_key_path", "ssl_ca_cert"],
        "there is no TLS, neither to clients nor to servers: leave it out, and have a TLS proxy or tunnel on both sides",
    ),
    (
        &["sasl", "auth", "user", "username", "password", "redis_auth"],
        "there is no authentication: leave it out, and let nobody else reach `listen`",
    ),
    (&["redis", "redis_db"], "memcached's text protocol alone is spoken: leave it out"),
    (&["backlog"], "up to 4096 connections wait, or as many as the system allows: leave it out"),
    (&["tcpkeepalive"], "there are no keepalives: leave it out; `idle_timeout` closes clients that are idle"),
    (&["hash_tag"], "whole keys are hashed: there are no hash tags"),
    (&["preconnect"], "servers are always connected to at the start: leave it out"),
    (&["server_connections"], "each thread has one connection to every server: `threads` says how many"),
    (&["num_proxies", "num-proxies", "workers"], "write it as `threads`"),
    (&["client_connections", "max_connections", "maxconns"], "write it as `clients`"),
    (&["server_timeout", "server_timeout_ms", "rcvtimeo"], "write it as `timeout`, with its unit"),
    (&["max_item_size", "item_size_max"], "write it as `item`, with its unit"),
    (&["weight", "weights"], "a server's weight stands behind its port, as in \"10.0.0.1:11211:2\""),
    (&["port", "bind", "address", "addresses"], "write it as `listen = \"host:port\"`"),
    (&["pools"], "write each pool as [[pool]]"),
    (
        &["route", "routes"],
        "a pool has one route, by `placement` and `hash`; whatever needs another is a pool of its own",
    ),
];

/// What there is here of a word of other programs' settings.
fn foreign(word: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(words, _)| words.contains(&word)).map(|(_, says)| *says)
}

/// A thread that naps longer hears of nothing meanwhile.
const LONGEST_NAP: Time = Time::from_millis(100);
/// Links are no slower and no faster.
const LINKS: (Rate, Rate) = (Rate(1_000_000), Rate(1_000_000_000_000));
/// No server answers sooner than this without fail.
const SHORTEST_TIMEOUT: Time = Time::from_millis(1);
/// Two threads' buffers and one large value each way.
const LEAST_MEMORY: Bytes = Bytes(16 << 20);

/// What is wrong in a file, by the bytes where it stands.
struct Wrong(Option<Range<usize>>, String);

impl Settings {
    /// A pool of servers as the command line has them, with a file's defaults.
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

    /// What holds unless a file says otherwise.
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

    /// Logs what clients ask for into a file, with what a log's settings are unless a file says otherwise.
    pub fn log_to(&mut self, file: &Path) -> Result<(), Problem> {
        let plain = |Wrong(_, text)| Problem { place: None, text: format!("--log {}: {text}", file.display()) };
        match &mut self.log {
            Some(log) => log.file = log_file(file.to_owned(), None).map_err(plain)?,
            None => self.log = Some(log_settings(file.to_owned(), None, None).map_err(plain)?),
        }
        Ok(())
    }

    /// Whether plans' folders ask for something that is refused of a front end which has got as far as this one.
    ///
    /// # Errors
    /// The plan or stage that is refused.
    pub fn check_plans(&self) -> Result<(), Problem> {
        let refused = |unfit: InvalidPlan| Problem { place: None, text: unfit.to_string() };
        self.pools.iter().try_for_each(|pool| carrying::keeper::check(pool).map_err(refused))
    }

    /// What a file says.
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

/// A file that is no TOML, or has keys that there are not.
fn unread(name: &str, error: &toml::de::Error) -> Wrong {
    let text = error.message();
    let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let is_other = [".yml", ".yaml", ".json"].iter().any(|ending| name.ends_with(ending));
    let text = match unknown {
        Some((unknown, expected)) => unknown_key(unknown, expected),
        None if is_other => "settings are TOML; docs/front.md shows a pool of nutcracker.yml as TOML".to_owned(),
        None if text.ends_with("map, expected a sequence") => "a pool is written as [[pool]]".to_owned(),
        None => {
            text.replace("expected i64", "expected a whole number").replace("expected usize", "expected a whole number")
        }
    };
    Wrong(error.span(), text)
}

/// A key that there is not: what there is in its place, or the key that is meant, or all keys, which stand in backticks.
fn unknown_key(unknown: &str, expected: &str) -> String {
    /// Words that are less alike are others.
    const ALIKE: f64 = 0.75;
    if let Some(says) = foreign(unknown) {
        return format!("there is no key `{unknown}`: {says}");
    }
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let alike = |key: &&&str| strsim::jaro(unknown, key);
    match known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|nearest| alike(nearest) >= ALIKE) {
        Some(nearest) => format!("there is no key `{unknown}`: did you mean `{nearest}`?"),
        None => format!("there is no key `{unknown}`: the keys here are {}", known.join(", ")),
    }
}

fn settings(file: File) -> Result<Settings, Wrong> {
    let at_least_one = |number: Option<Spanned<i64>>, default: usize, most: i64| match number {
        None => Ok(default),
        Some(number) if (1..=most).contains(number.get_ref()) => Ok(*number.get_ref() as usize),
        Some(number) => Err(Wrong(Some(number.span()), format!("{} is not from 1 to {most}", number.get_ref()))),
    };
    let plain = Settings::plain();
    let threads = at_least_one(file.threads, plain.threads, 1024)?;
    let clients = at_least_one(file.clients, plain.clients, 10_000_000)?;
    let drain = quantity(file.drain, plain.drain, right("drain", "5 s", "s"))?;
    let idle_timeout = quantity(file.idle_timeout, plain.idle_timeout, right("idle_timeout", "10 min", "s"))?;
    let nap = bounded(file.nap, plain.nap, right("nap", "100 us", "us"), (Time::ZERO, LONGEST_NAP))?;
    let event_loop = word(file.event_loop, plain.event_loop, &EventLoop::WORDS)?;
    let memory =
        bounded(file.memory, plain.memory, right("memory", "256 MiB", "MiB"), (LEAST_MEMORY, Bytes(u64::MAX)))?;
    if file.pool.get_ref().is_empty() {
        return Err(Wrong(Some(file.pool.span()), "no pool: a front end needs one, as [[pool]]".to_owned()));
    }
    let log = file.log.map(log_in_file).transpose()?;
    let mut pools: Vec<Pool> = Vec::new();
    for in_file in file.pool.into_inner() {
        let place = in_file.span();
        let pool = pool(in_file.into_inner(), pools.len(), log.as_ref())?;
        if let Some(other) = pools.iter().find(|other| other.listen == pool.listen || other.name == pool.name) {
            let what = if other.name == pool.name { &pool.name } else { &pool.listen.to_string() };
            return Err(Wrong(
                Some(place),
                format!("two pools are `{what}`: each needs a name and an address of its own"),
            ));
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
        return Err(Wrong(place, "a share is above 0 and at most 1; right is share = \"1 %\"".to_owned()));
    }
    log.size = bounded(file.size, log.size, right("size", "256 MiB", "MiB"), (Bytes(1 << 20), Bytes(1 << 40)))?;
    if let Some(files) = file.files {
        let right = (1..=1000).contains(files.get_ref());
        let wrong = || Wrong(Some(files.span()), format!("{} is not from 1 to 1000", files.get_ref()));
        log.files = right.then(|| *files.get_ref() as usize).ok_or_else(wrong)?;
    }
    Ok(log)
}

/// Where a log goes: a table.
fn log_file(file: PathBuf, place: Option<Range<usize>>) -> Result<PathBuf, Wrong> {
    let is_table = file.extension().is_some_and(|ending| ending == "csv");
    let wrong = || Wrong(place, "a log is a table: use a name that ends in .csv".to_owned());
    is_table.then_some(file).ok_or_else(wrong)
}

/// A log with what it has unless it is told otherwise: a secret beside it, which is made where there is none.
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
            let wrong = |error| Wrong(place, format!("{}: {error}; right is a file of 16 B or more", path.display()));
            Naming::Hashed(Secret::of_file(&path).map_err(wrong)?)
        }
    };
    Ok(log::Settings { file, share: Share::of(1, 100), naming, size: Bytes(256 << 20), files: 4 })
}

fn pool(file: PoolInFile, number: usize, log: Option<&log::Settings>) -> Result<Pool, Wrong> {
    let listen = address(file.listen.get_ref()).map_err(|why| Wrong(Some(file.listen.span()), why))?;
    if file.servers.get_ref().is_empty() {
        return Err(Wrong(Some(file.servers.span()), "no servers: servers = [\"10.0.0.1:11211\", ...]".to_owned()));
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
    let reader = carrying::plan::Reader { names, router: &pool.router(), secret, drawn };
    let unfit = |unfit: InvalidPlan| wrong(unfit.to_string());
    let mut progress = Progress::new(&folder, &pool.name, pool.listen);
    if let Some(Standing { moves, stage }) = progress.read(&reader).map_err(unfit)? {
        // Plain keys of later plans are hashed by the same secret, so that plans can be compared.
        let drawn = if moves.secret.id() == 0 { moves.secret } else { drawn };
        return Ok(Plan { folder, moves, stage, is_new: false, progress, secret, drawn });
    }
    let stage = carrying::plan::stage(&folder).map_err(unfit)?.unwrap_or(Stage::Move);
    let moves = Arc::new(reader.read(&folder).map_err(unfit)?);
    if stage > Stage::Move {
        return Err(wrong(format!(
            "{}: this front end has not begun the plan, so it starts in `begin` or `move`, not in `{}`, which would give up the values at \
             old places; beside front ends that are there already, start with a copy of what one of them has in `carried`",
            folder.join(carrying::plan::STAGE).display(),
            stage.word()
        )));
    }
    Ok(Plan { folder, moves, stage, is_new: true, progress, secret, drawn })
}

/// The laws of `fanout` that ask servers themselves; those that ask hubs need agents.
const MULTIGETS: [(&str, Kind); 4] = [
    ("one-all", Kind::OneAll),
    ("sw", Kind::SlidingWindow),
    ("sliding-window", Kind::SlidingWindow),
    ("ictcp-window", Kind::IctcpWindow),
];

impl Pool {
    /// Where its keys lie by their hashes.
    pub fn router(&self) -> Router {
        let weighted: Vec<_> = self.servers.iter().map(|server| server.weighted.clone()).collect();
        Router::new(self.placement, self.hash, &weighted)
    }

    /// The number of a key's server by its hash, by the key's name in a log; a hashed name does not say.
    pub fn rule(&self) -> impl Fn(&[u8]) -> Option<u32> + Send + Sync + use<> {
        let router = self.router();
        move |name| carrying::plan::by_hash(name, &router)
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
        Wrong(Some(found.span()), format!("`{}` is none of {}{says}", found.get_ref(), all.join(", ")))
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
        Wrong(Some(found.span()), format!("`{text}`: {why}; right is {key} = \"{right}\""))
    })
}

/// A quantity that is neither too small nor too large.
fn bounded<T: FromStr<Err = ParseError> + PartialOrd + fmt::Display + Copy>(
    found: Option<Spanned<Written>>,
    default: T,
    right: Right,
    (least, most): (T, T),
) -> Result<T, Wrong> {
    let place = found.as_ref().map(Spanned::span);
    let Right { key, value: such_as, .. } = right;
    let value = quantity(found, default, right)?;
    let wrong = |what: String| Err(Wrong(place, format!("`{value}` is {what}; right is {key} = \"{such_as}\"")));
    match value {
        value if value < least => wrong(format!("less than {least}")),
        value if value > most => wrong(format!("more than {most}")),
        value => Ok(value),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| format!("`{text}` is no address: right is host:port, such as 127.0.0.1:11211"))
}

/// `host:port[:weight][ name]`, as twemproxy has it.
fn server(text: &str) -> Result<Server, String> {
    const RIGHT: &str =
        "right is host:port, host:port:weight or \"host:port:weight name\", with a weight from 1 to 65535";
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
    let address = found.ok_or_else(|| format!("`{text}`: no such host as {host}"))?;
    let usual = if port == 11211 { host.to_owned() } else { format!("{host}:{port}") };
    let name = name.filter(|name| !name.is_empty()).map_or(usual, str::to_owned);
    Ok(Server { weighted: Weighted { name, weight: weight.into() }, address })
}

/// Two servers of one name would have the same keys.
fn no_server_twice(servers: &[Server], place: Option<Range<usize>>) -> Result<(), Wrong> {
    let name = |index: usize| &servers[index].weighted.name;
    match (1..servers.len()).find(|&index| (0..index).any(|other| name(other) == name(index))) {
        Some(index) => Err(Wrong(place, format!("the server {} is there twice", name(index)))),
        None => Ok(()),
    }
}

/// A front end that is its own server would ask itself without end, by whatever of this machine's addresses.
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
            // To connect to no address is to connect to this machine.
            let [listen, at] = [pool.listen, server.address].map(|address| address.ip().to_canonical());
            let is_here = |ip: IpAddr| ip.is_unspecified() || is_own(ip);
            let same =
                listen == at || listen.is_unspecified() && is_here(at) || at.is_unspecified() && listen.is_loopback();
            pool.listen.port() != 0 && pool.listen.port() == server.address.port() && same
        });
        if let Some(pool) = itself {
            let why = format!("the server {} is the address where `{}` listens itself", server.address, pool.name);
            return Err(Wrong(place, why));
        }
    }
    Ok(())
}
