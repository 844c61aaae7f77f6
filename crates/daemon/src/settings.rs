//! What a front end is told: a file of pools, or a list of servers on the command line. Whatever is wrong is refused with its line and
//! what would be right.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fanin_fanout::Kind;
use fanin_units::{Bytes, Rate, Share, Time};
use serde::Deserialize;
use toml::Spanned;

use crate::carrying::{self, Moves, Stage};
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
    /// The plan that is carried out, if there is one.
    pub plan: Option<Plan>,
}

/// A plan that is carried out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder that `fanin plan` wrote.
    pub folder: PathBuf,
    /// What moves, as it was read first, and how far that is carried out.
    pub moves: Arc<Moves>,
    /// The latter.
    pub stage: Stage,
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
    drain: Option<Spanned<String>>,
    nap: Option<Spanned<String>>,
    event_loop: Option<Spanned<String>>,
    memory: Option<Spanned<String>>,
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
    link: Option<Spanned<String>>,
    late: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    item: Option<Spanned<String>>,
    keys: Option<Spanned<String>>,
    join: Option<bool>,
    plan: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogInFile {
    file: Spanned<PathBuf>,
    share: Option<Spanned<String>>,
    keys: Option<Spanned<String>>,
    secret: Option<Spanned<PathBuf>>,
    size: Option<Spanned<String>>,
    files: Option<Spanned<i64>>,
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
        let servers = servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        let pool = Pool::plain("front".to_owned(), listen, servers);
        no_server_twice(&pool.servers, None).map_err(plain)?;
        no_pool_is_a_server(std::slice::from_ref(&pool), None).map_err(plain)?;
        Ok(Settings { pools: vec![pool], ..Settings::plain() })
    }

    /// What holds unless a file says otherwise.
    fn plain() -> Settings {
        Settings {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            clients: 50_000,
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

    /// What a file says.
    pub fn of_file(name: &str, text: &str) -> Result<Settings, Problem> {
        let in_line = |Wrong(place, why)| {
            let line =
                place.map(|place| (name.to_owned(), 1 + text[..place.start.min(text.len())].matches('\n').count()));
            Problem { place: Some(line.unwrap_or((name.to_owned(), 1))), text: why }
        };
        let file: File = toml::from_str(text).map_err(|error| in_line(unread(&error)))?;
        settings(file).map_err(in_line)
    }
}

/// A file that is no TOML, or has keys that there are not.
fn unread(error: &toml::de::Error) -> Wrong {
    let mut text = error.message().to_owned();
    let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    if let Some((unknown, expected)) = unknown {
        let known = expected.split('`').skip(1).step_by(2);
        let nearest = known.max_by(|a, b| strsim::jaro(unknown, a).total_cmp(&strsim::jaro(unknown, b)));
        text = format!("there is no key `{unknown}`: did you mean `{}`?", nearest.unwrap_or_default());
    }
    Wrong(error.span(), text)
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
    let drain = quantity(file.drain, plain.drain, "drain = \"5 s\"")?;
    let nap = bounded(file.nap, plain.nap, "nap = \"100 us\"", (Time::ZERO, LONGEST_NAP))?;
    let event_loop = word(file.event_loop, plain.event_loop, &EventLoop::WORDS)?;
    let memory = bounded(file.memory, plain.memory, "memory = \"256 MiB\"", (LEAST_MEMORY, Bytes(u64::MAX)))?;
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
    Ok(Settings { threads, clients, drain, nap, event_loop, memory, log, pools })
}

fn log_in_file(file: LogInFile) -> Result<log::Settings, Wrong> {
    let hashed = word(file.keys, true, &[("hashed", true), ("plain", false)])?;
    let place = file.file.span();
    let path = log_file(file.file.into_inner(), Some(place))?;
    let mut log = match (hashed, file.secret) {
        (true, secret) => log_settings(path, None, secret)?,
        (false, None) => log_settings(path, Some(Naming::Plain), None)?,
        (false, Some(secret)) => {
            return Err(Wrong(Some(secret.span()), "keys are plain: right would be no secret".to_owned()));
        }
    };
    let place = file.share.as_ref().map(Spanned::span);
    log.share = quantity(file.share, log.share, "share = \"1 %\"")?;
    if !(1..=1 << 30).contains(&log.share.in_q(30)) {
        return Err(Wrong(place, "a share is above 0 and at most 1; right is share = \"1 %\"".to_owned()));
    }
    log.size = bounded(file.size, log.size, "size = \"256 MiB\"", (Bytes(1 << 20), Bytes(1 << 40)))?;
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
    let wrong = || Wrong(place, "a log is a table: right would be a name that ends in .csv".to_owned());
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
    pool.link = bounded(file.link, pool.link, "link = \"10 Gbit/s\"", LINKS)?;
    pool.laws.sliding_window.late = quantity(file.late, pool.laws.sliding_window.late, "late = \"5 ms\"")?;
    pool.timeout = bounded(file.timeout, pool.timeout, "timeout = \"1 s\"", (SHORTEST_TIMEOUT, Time::from_secs(3600)))?;
    pool.item = quantity(file.item, pool.item, "item = \"1 MiB\"")?;
    pool.keys = quantity(file.keys, pool.keys, "keys = \"16 MiB\"")?;
    pool.join = file.join.unwrap_or(pool.join);
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
    let stage = carrying::plan::stage(&folder).map_err(|unfit| wrong(unfit.to_string()))?;
    let moves = reader.read(&folder).map_err(|unfit| wrong(unfit.to_string()))?;
    Ok(Plan { folder, moves: Arc::new(moves), stage, secret, drawn })
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
            plan: None,
        }
    }
}

fn word<T: Copy>(found: Option<Spanned<String>>, default: T, words: &[(&str, T)]) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let meant = words.iter().find(|(word, _)| word == found.get_ref());
    meant.map(|(_, kind)| *kind).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Wrong(Some(found.span()), format!("`{}` is none of {}", found.get_ref(), all.join(", ")))
    })
}

fn quantity<T: std::str::FromStr<Err: fmt::Display>>(
    found: Option<Spanned<String>>,
    default: T,
    right: &str,
) -> Result<T, Wrong> {
    let Some(found) = found else { return Ok(default) };
    let wrong = |why| Wrong(Some(found.span()), format!("`{}`: {why}; right is {right}", found.get_ref()));
    found.get_ref().parse().map_err(wrong)
}

/// A quantity that is neither too small nor too large.
fn bounded<T: std::str::FromStr<Err: fmt::Display> + PartialOrd + fmt::Display + Copy>(
    found: Option<Spanned<String>>,
    default: T,
    right: &str,
    (least, most): (T, T),
) -> Result<T, Wrong> {
    let place = found.as_ref().map(Spanned::span);
    let value = quantity(found, default, right)?;
    match value {
        value if value < least => Err(Wrong(place, format!("`{value}` is less than {least}; right is {right}"))),
        value if value > most => Err(Wrong(place, format!("`{value}` is more than {most}; right is {right}"))),
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
        _ => return Err(format!("`{text}` is no server: {RIGHT}")),
    };
    let right = number(port).zip(weight.filter(|weight| *weight > 0)).filter(|_| !host.is_empty());
    let Some((port, weight)) = right else { return Err(format!("`{text}` is no server: {RIGHT}")) };
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
    for server in pools.iter().flat_map(|pool| &pool.servers) {
        let itself = pools.iter().find(|pool| {
            let (listen, at) = (pool.listen, server.address);
            let everywhere = listen.ip().is_unspecified() && (at.ip().is_loopback() || at.ip().is_unspecified());
            listen.port() != 0 && listen.port() == at.port() && (listen.ip() == at.ip() || everywhere)
        });
        if let Some(pool) = itself {
            let why = format!("the server {} is the address where `{}` listens itself", server.address, pool.name);
            return Err(Wrong(place, why));
        }
    }
    Ok(())
}
