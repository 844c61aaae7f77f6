//! Settings in a TOML file.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Arc;

use fanin_fanout::Kind;
use fanin_units::{Bytes, Time};
use serde::Deserialize;
use toml::Spanned;

use super::checks::{no_pool_is_a_server, no_server_twice};
use super::failover::{FailoverInFile, HedgeInFile, failover};
use super::hubs::{self, HubsInFile, Multigets, SiccInFile};
use super::incast_settings::{IncastInFile, incast_in_file};
use super::log_settings::{LogInFile, log_in_file};
use super::messages_settings::{MessagesInFile, messages_in_file};
use super::metrics_settings::{MetricsInFile, metrics_in_file};
use super::racks::AgentAuthInFile;
use super::security::{self, EntryInFile, Files, ServerTls, ServerTlsInFile, TlsInFile};
use super::text::{in_lines, unread};
use super::types::{OnDown, Plan, Pool, Problem, Server, Settings};
use super::values::{LINKS, Written, Wrong, address, bounded, quantity, right, server, whole, word};
use fanin_proxy_migration::plan::InvalidPlan;
use fanin_proxy_migration::progress::Progress;
use fanin_proxy_migration::{MigrationState, Stage};
use fanin_proxy_net::Target;
use fanin_proxy_net::sockets::EventLoop;
use fanin_proxy_observe::log::{self, Naming, Secret};
use fanin_proxy_routing::{Hash, Placement};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    threads: Option<Spanned<i64>>,
    clients: Option<Spanned<i64>>,
    idle_timeout: Option<Spanned<Written>>,
    drain: Option<Spanned<Written>>,
    batching_delay: Option<Spanned<Written>>,
    /// Its former name, accepted until the next release.
    nap: Option<Spanned<Written>>,
    event_loop: Option<Spanned<String>>,
    memory: Option<Spanned<Written>>,
    log: Option<LogInFile>,
    metrics: Option<MetricsInFile>,
    messages: Option<MessagesInFile>,
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
    incast: Option<Spanned<IncastInFile>>,
    late: Option<Spanned<Written>>,
    timeout: Option<Spanned<Written>>,
    slow: Option<Spanned<Written>>,
    item: Option<Spanned<Written>>,
    keys: Option<Spanned<Written>>,
    join: Option<bool>,
    admin: Option<bool>,
    on_down: Option<Spanned<String>>,
    replicas: Option<Spanned<i64>>,
    hedge: Option<Spanned<HedgeInFile>>,
    plan: Option<Spanned<PathBuf>>,
    tls: Option<Spanned<TlsInFile>>,
    server_tls: Option<Spanned<ServerTlsInFile>>,
    allow: Option<Spanned<Vec<Spanned<String>>>>,
    proxy_protocol: Option<bool>,
    auth: Option<Spanned<PathBuf>>,
    server_auth: Option<Spanned<PathBuf>>,
    racks: Option<Spanned<PathBuf>>,
    plaintext: Option<Spanned<bool>>,
    agent_tls: Option<Spanned<ServerTlsInFile>>,
    agent_secret: Option<Spanned<PathBuf>>,
    sicc: Option<Spanned<SiccInFile>>,
}

/// A longer batching delay would delay events too much.
const MAX_DELAY: Time = Time::from_millis(100);
/// Shortest timeout that a server can meet reliably.
const SHORTEST_TIMEOUT: Time = Time::from_millis(1);
/// Bounds of the time from which a multiget is slow.
const SLOW: RangeInclusive<Time> = Time::from_micros(100)..=Time::from_secs(3600);
/// Buffers of two threads and one large value in each direction.
const LEAST_MEMORY: Bytes = Bytes(16 << 20);

/// Algorithms that request from servers directly.
const MULTIGETS: [(&str, Kind); 4] = [
    ("one-all", Kind::OneAll),
    ("sw", Kind::SlidingWindow),
    ("sliding-window", Kind::SlidingWindow),
    ("ictcp-window", Kind::IctcpWindow),
];

/// Parses a file.
pub fn parse(name: &str, text: &str) -> Result<Settings, Problem> {
    let in_line = in_lines(name, text);
    let file: File = toml::from_str(text).map_err(|error| in_line(unread(name, &error)))?;
    let files = Files::of(name);
    let settings = settings(file, &files).map_err(&in_line)?;
    Ok(Settings { warnings: files.warnings().into_iter().map(in_line).collect(), ..settings })
}

fn settings(file: File, files: &Files) -> Result<Settings, Wrong> {
    let plain = Settings::plain();
    let threads = whole(file.threads, plain.threads, 1024)?;
    let clients = whole(file.clients, plain.clients, 10_000_000)?;
    let drain = quantity(file.drain, plain.drain, right("drain", "5 s", "s"))?;
    let idle_timeout = quantity(file.idle_timeout, plain.idle_timeout, right("idle_timeout", "10 min", "s"))?;
    if let Some(nap) = &file.nap {
        let what = "`nap` is now `batching_delay`; the old name is accepted until the next release".to_owned();
        files.warn(Wrong(Some(nap.span()), what));
    }
    let batching_delay = bounded(
        file.batching_delay.or(file.nap),
        plain.batching_delay,
        right("batching_delay", "100 us", "us"),
        Time::ZERO..=MAX_DELAY,
    )?;
    let event_loop = word(file.event_loop, plain.event_loop, &EventLoop::WORDS)?;
    let memory = bounded(file.memory, plain.memory, right("memory", "256 MiB", "MiB"), LEAST_MEMORY..=Bytes(u64::MAX))?;
    if file.pool.get_ref().is_empty() {
        return Err(Wrong(Some(file.pool.span()), "no pool: add one as [[pool]]".to_owned()));
    }
    let log = file.log.map(log_in_file).transpose()?;
    let messages = file.messages.map(messages_in_file).transpose()?.unwrap_or_default();
    let metrics = file.metrics.map(metrics_in_file).transpose()?;
    let mut pools: Vec<Pool> = Vec::new();
    for in_file in file.pool.into_inner() {
        let place = in_file.span();
        let pool = pool(in_file.into_inner(), pools.len(), log.as_ref(), files)?;
        if let Some(other) = pools.iter().find(|other| other.listen == pool.listen || other.name == pool.name) {
            let what = if other.name == pool.name { &pool.name } else { &pool.listen.to_string() };
            return Err(Wrong(Some(place), format!("two pools have `{what}`: give each its own name and address")));
        }
        pools.push(pool);
        no_pool_is_a_server(&pools, Some(place))?;
    }
    let warnings = Vec::new();
    Ok(Settings {
        threads,
        clients,
        idle_timeout,
        drain,
        batching_delay,
        event_loop,
        memory,
        log,
        messages,
        metrics,
        pools,
        warnings,
    })
}

fn pool(file: PoolInFile, number: usize, log: Option<&log::Settings>, files: &Files) -> Result<Pool, Wrong> {
    let listen = address(file.listen.get_ref()).map_err(|why| Wrong(Some(file.listen.span()), why))?;
    if file.servers.get_ref().is_empty() {
        return Err(Wrong(Some(file.servers.span()), "no servers: add servers = [\"10.0.0.1:11211\", ...]".to_owned()));
    }
    let place = file.servers.span();
    let tls = file.server_tls.map(|tls| ServerTls::of(tls, files)).transpose()?;
    let user = file.server_auth.map(|path| security::server_user(&path, files)).transpose()?.map(Arc::new);
    let one = |text: Spanned<String>| {
        let (weighted, address, host) = server(text.get_ref()).map_err(|why| Wrong(Some(text.span()), why))?;
        let tls = tls.as_ref().map(|tls| tls.of_server(host.as_deref())).transpose()?;
        let target = Target { tls, user: user.clone(), ..Target::new(address, host.as_deref()) };
        Ok(Server { weighted, target: Arc::new(target) })
    };
    let servers = file.servers.into_inner().into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    no_server_twice(&servers, Some(place))?;
    let entry = EntryInFile { allow: file.allow, proxy_protocol: file.proxy_protocol, tls: file.tls, auth: file.auth };
    let entry = Arc::new(security::entry(entry, &listen, files)?);
    let mut pool = Pool::plain(file.name.unwrap_or_else(|| format!("pool{number}")), listen, servers);
    pool.entry = entry;
    pool.placement = word(file.placement, pool.placement, &Placement::WORDS)?;
    pool.hash = word(file.hash, pool.hash, &Hash::WORDS)?;
    let through_agents = multiget(file.multiget, &mut pool)?;
    pool.keeps_windows = word(file.windows, pool.keeps_windows, &[("kept", true), ("anew", false)])?;
    pool.link = bounded(file.link, pool.link, right("link", "10 Gbit/s", "Gbit/s"), LINKS)?;
    pool.incast = file.incast.map(|incast| incast_in_file(incast, pool.link)).transpose()?;
    pool.late = quantity(file.late, pool.late, right("late", "5 ms", "ms"))?;
    pool.timeout =
        bounded(file.timeout, pool.timeout, right("timeout", "1 s", "ms"), SHORTEST_TIMEOUT..=Time::from_secs(3600))?;
    let slow = file.slow.map(|slow| bounded(Some(slow), Time::ZERO, right("slow", "100 ms", "ms"), SLOW));
    pool.slow = slow.transpose()?;
    pool.item = quantity(file.item, pool.item, right("item", "1 MiB", "B"))?;
    pool.keys = quantity(file.keys, pool.keys, right("keys", "16 MiB", "B"))?;
    pool.join = file.join.unwrap_or(pool.join);
    pool.admin = file.admin.unwrap_or(pool.admin);
    failover(FailoverInFile { on_down: file.on_down, replicas: file.replicas, hedge: file.hedge }, &mut pool)?;
    pool.plan = file.plan.map(|folder| plan(folder, &pool, log)).transpose()?;
    let (agent_tls, agent_secret, plaintext) = (file.agent_tls, file.agent_secret, file.plaintext);
    let auth = AgentAuthInFile { agent_tls, agent_secret, plaintext };
    hubs::hubs(HubsInFile { racks: file.racks, auth, sicc: file.sicc }, through_agents, &mut pool, files)?;
    Ok(pool)
}

/// Sets the algorithm of multigets; returns it if it uses agents. Then the default one is for servers without them.
fn multiget(file: Option<Spanned<String>>, pool: &mut Pool) -> Result<Option<(Multigets, Range<usize>)>, Wrong> {
    let place = file.as_ref().map(Spanned::span);
    let direct = MULTIGETS.into_iter().map(|(name, kind)| (name, Multigets::Direct(kind)));
    let through_hubs = hubs::kinds().map(|(name, kind)| (name, Multigets::Hubs(kind)));
    let all: Vec<(&str, Multigets)> =
        direct.chain(through_hubs).chain([(hubs::DATA_SERVERS, Multigets::DataServers)]).collect();
    match word(file, Multigets::Direct(pool.multiget), &all)? {
        Multigets::Direct(kind) => {
            pool.multiget = kind;
            Ok(None)
        }
        through_agents => Ok(place.map(|place| (through_agents, place))),
    }
}

/// Reads a pool's plan.
fn plan(folder: Spanned<PathBuf>, pool: &Pool, log: Option<&log::Settings>) -> Result<Plan, Wrong> {
    let (place, folder) = (folder.span(), folder.into_inner());
    let wrong = |what: String| Wrong(Some(place.clone()), what);
    if pool.on_down == OnDown::Next {
        return Err(wrong("with `on_down = \"next\"`, a key has no plan: remove one of them".to_owned()));
    }
    let secret = log.and_then(|log| match log.naming {
        Naming::Hashed(secret) => Some(secret),
        Naming::Plain => None,
    });
    let drawn = Secret::drawn().map_err(|error| wrong(error.to_string()))?;
    let names = pool.servers.iter().map(|server| server.weighted.name.as_str()).collect();
    let (router, replicas) = (pool.router(), pool.replicas);
    let reader = fanin_proxy_migration::plan::Reader { names, router: &router, replicas, secret, drawn };
    let unfit = |unfit: InvalidPlan| wrong(unfit.to_string());
    let mut progress = Progress::new(&folder, &pool.name, &pool.listen);
    if let Some(MigrationState { moves, stage }) = progress.read(&reader).map_err(unfit)? {
        // Plain keys of later plans are hashed by the same secret, so plans can be compared.
        let drawn = if moves.secret.id() == 0 { moves.secret } else { drawn };
        return Ok(Plan { folder, moves, stage, is_new: false, progress, secret, drawn });
    }
    let stage = fanin_proxy_migration::plan::stage(&folder).map_err(unfit)?.unwrap_or(Stage::Move);
    let moves = Arc::new(reader.read(&folder).map_err(unfit)?);
    if stage > Stage::Move {
        return Err(wrong(format!(
            "{}: this front end has not begun the plan, so it must start in `begin` or `move`, not in `{}`, or values on old servers are \
             lost; to join running front ends, first copy the state of one of them in `carried`",
            folder.join(fanin_proxy_migration::plan::STAGE).display(),
            stage.word()
        )));
    }
    Ok(Plan { folder, moves, stage, is_new: true, progress, secret, drawn })
}
