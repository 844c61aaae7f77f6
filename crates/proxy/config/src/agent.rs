//! Settings of an agent: a TOML file.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use fanin_roles::Node;
use fanin_units::{Bytes, Rate, Time};
use serde::Deserialize;
use toml::Spanned;

use super::hubs::AGENT_TLS;
use super::messages_settings::{MessagesInFile, messages_in_file};
use super::metrics_settings::listens;
use super::racks::{AgentAuth, AgentAuthInFile, Racks, contradiction};
use super::security::{self, EntryInFile, Files, ServerTls, ServerTlsInFile, TlsInFile};
use super::text::{in_lines, unread};
use super::types::Problem;
use super::values::{LINKS, Written, Wrong, address, bounded, host, quantity, right, whole, word};
use fanin_proxy_net::sockets::EventLoop;
use fanin_proxy_net::{Address, Entry, Target};
use fanin_proxy_observe::messages;

/// Settings of an agent.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// Address to listen on.
    pub listen: Address,
    /// Requirements for its peers.
    pub entry: Arc<Entry>,
    /// Its server in the racks.
    pub server: usize,
    /// The memcached beside it, maybe at another address than in the racks, such as a UNIX socket.
    pub memcached: Arc<Target>,
    /// All servers, in the order of the racks.
    pub memcacheds: Vec<Arc<Target>>,
    /// The racks.
    pub racks: Arc<Racks>,
    /// Rate of its link: the most that it sends as a hub.
    pub link: Rate,
    /// Most outstanding bytes of its rack while it is a hub.
    pub window: Bytes,
    /// Whether a packet holds several values.
    pub pack: bool,
    /// Time that a packet waits to fill.
    pub linger: Time,
    /// Time for a memcached's response.
    pub timeout: Time,
    /// Largest value.
    pub item: Bytes,
    /// Most objects in progress.
    pub objects: u32,
    /// Objects of a sub-queue, within which a data server sends by PICC's priorities; 1 is first come, first served.
    pub sub_queue: usize,
    /// Most connected peers.
    pub peers: usize,
    /// Memory limit.
    pub memory: Bytes,
    /// Event loop.
    pub event_loop: EventLoop,
    /// Address of the metrics over HTTP, if any.
    pub metrics: Option<SocketAddr>,
    /// Messages for operators.
    pub messages: messages::Settings,
    /// Problems that do not prevent a start.
    pub warnings: Vec<Problem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Spanned<String>,
    memcached: Spanned<String>,
    racks: Spanned<PathBuf>,
    plaintext: Option<Spanned<bool>>,
    tls: Option<Spanned<TlsInFile>>,
    agent_tls: Option<Spanned<ServerTlsInFile>>,
    agent_secret: Option<Spanned<PathBuf>>,
    allow: Option<Spanned<Vec<Spanned<String>>>>,
    server_tls: Option<Spanned<ServerTlsInFile>>,
    server_auth: Option<Spanned<PathBuf>>,
    link: Option<Spanned<Written>>,
    window: Option<Spanned<Written>>,
    pack: Option<bool>,
    linger: Option<Spanned<Written>>,
    timeout: Option<Spanned<Written>>,
    item: Option<Spanned<Written>>,
    objects: Option<Spanned<i64>>,
    sub_queue: Option<Spanned<i64>>,
    peers: Option<Spanned<i64>>,
    memory: Option<Spanned<Written>>,
    event_loop: Option<Spanned<String>>,
    metrics: Option<Metrics>,
    messages: Option<MessagesInFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metrics {
    listen: Spanned<String>,
}

/// Bounds of a memcached's time for a response, and of the outstanding bytes.
const TIMEOUT: RangeInclusive<Time> = Time::from_millis(1)..=Time::from_secs(3600);
const WINDOW: RangeInclusive<Bytes> = Bytes(1)..=Bytes(1 << 30);
const MEMORY: RangeInclusive<Bytes> = Bytes(16 << 20)..=Bytes(u64::MAX);

impl AgentSettings {
    /// Parses a file.
    ///
    /// # Errors
    /// A setting is wrong; the error has its line.
    pub fn of_file(name: &str, text: &str) -> Result<AgentSettings, Problem> {
        let in_line = in_lines(name, text);
        let file: File = toml::from_str(text).map_err(|error| in_line(unread(name, &error)))?;
        let files = Files::of(name);
        let settings = settings(file, &files).map_err(&in_line)?;
        Ok(AgentSettings { warnings: files.warnings().into_iter().map(in_line).collect(), ..settings })
    }

    /// Its number in messages.
    pub fn node(&self) -> Node {
        self.racks.servers[self.server].node
    }
}

fn settings(file: File, files: &Files) -> Result<AgentSettings, Wrong> {
    let at = |text: &Spanned<String>| address(text.get_ref()).map_err(|why| Wrong(Some(text.span()), why));
    let (listen, memcached) = (at(&file.listen)?, at(&file.memcached)?);
    authenticates(&file)?;
    let missing =
        format!("tls = {{ certificate = \"cert.pem\", key = \"key.pem\", client_ca = \"ca.pem\" }} and {AGENT_TLS}");
    let auth =
        AgentAuthInFile { agent_tls: file.agent_tls, agent_secret: file.agent_secret, plaintext: file.plaintext };
    let auth = AgentAuth::read(auth, file.racks.span(), &missing, files)?;
    let racks = Racks::read(&file.racks, &auth, files)?;
    let server = own_server(&racks, &listen, &memcached).map_err(|why| Wrong(Some(file.racks.span()), why))?;
    let entry = EntryInFile { allow: file.allow, proxy_protocol: None, tls: file.tls, auth: None };
    let entry = Arc::new(security::entry(entry, &listen, files)?);
    let server_tls = file.server_tls.map(|tls| ServerTls::of(tls, files)).transpose()?;
    let user = file.server_auth.map(|path| security::server_user(&path, files)).transpose()?.map(Arc::new);
    let target = |address: &Address, host: Option<&str>| {
        let tls = server_tls.as_ref().map(|tls| tls.of_server(host)).transpose()?;
        Ok(Arc::new(Target { tls, user: user.clone(), ..Target::new(address.clone(), host) }))
    };
    let memcached_target = target(&memcached, host(file.memcached.get_ref()))?;
    let of_racks = racks.servers.iter().map(|server| target(&server.memcached, server.host.as_deref()));
    let memcacheds = of_racks.collect::<Result<_, Wrong>>()?;
    Ok(AgentSettings {
        listen,
        entry,
        server,
        memcached: memcached_target,
        memcacheds,
        racks: Arc::new(racks),
        link: bounded(file.link, Rate(10_000_000_000), right("link", "10 Gbit/s", "Gbit/s"), LINKS)?,
        window: bounded(file.window, Bytes(32 << 10), right("window", "32 KiB", "KiB"), WINDOW)?,
        pack: file.pack.unwrap_or(true),
        linger: quantity(file.linger, Time::from_micros(100), right("linger", "100 us", "us"))?,
        timeout: bounded(file.timeout, Time::from_millis(100), right("timeout", "100 ms", "ms"), TIMEOUT)?,
        item: quantity(file.item, Bytes(1 << 20), right("item", "1 MiB", "B"))?,
        objects: whole(file.objects, 1 << 16, 1 << 30)? as u32,
        sub_queue: whole(file.sub_queue, 10, 1 << 16)?,
        peers: whole(file.peers, 10_000, 1_000_000)?,
        memory: bounded(file.memory, Bytes(128 << 20), right("memory", "128 MiB", "MiB"), MEMORY)?,
        event_loop: word(file.event_loop, EventLoop::Auto, &EventLoop::WORDS)?,
        metrics: file.metrics.map(|metrics| listens(&metrics.listen)).transpose()?,
        messages: file.messages.map(messages_in_file).transpose()?.unwrap_or_default(),
        warnings: Vec::new(),
    })
}

/// Checks that an agent with TLS authenticates its peers, in both directions.
fn authenticates(file: &File) -> Result<(), Wrong> {
    let is_plain = file.plaintext.as_ref().is_some_and(|plain| *plain.get_ref()) || file.agent_secret.is_some();
    match (&file.tls, &file.agent_tls) {
        (Some(tls), _) if is_plain => Err(contradiction(tls.span())),
        (Some(tls), _) if !tls.get_ref().authenticates() => {
            Err(Wrong(Some(tls.span()), "an agent authenticates its peers: add client_ca = \"ca.pem\"".to_owned()))
        }
        (None, Some(tls)) if !is_plain => {
            Err(Wrong(Some(tls.span()), "an agent authenticates its peers: add tls, with client_ca, too".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The server that an agent belongs to: the one with this memcached, else the one whose agent listens here.
fn own_server(racks: &Racks, listen: &Address, memcached: &Address) -> Result<usize, String> {
    let agent = |server: usize| racks.servers[server].agent.as_ref().map(|agent| &agent.address);
    if let Some(server) = racks.position(memcached) {
        return match agent(server) {
            Some(address) if reaches(address, listen) => Ok(server),
            Some(other) => Err(format!(
                "the agent of {memcached} is {other} in the racks, and this one listens on {listen}: two agents cannot have one server"
            )),
            None => Err(format!("{memcached} has no agent in the racks: add agent = \"{listen}\"")),
        };
    }
    let found = (0..racks.servers.len()).find(|server| agent(*server) == Some(listen));
    found.ok_or_else(|| {
        format!("the racks have neither the memcached {memcached} nor an agent at {listen}: add [[server]] for it")
    })
}

/// Whether connections to an address reach a listener at another.
fn reaches(address: &Address, listen: &Address) -> bool {
    match (address.ip(), listen.ip()) {
        (Some(address), Some(listen)) => {
            address == listen || listen.ip().is_unspecified() && address.port() == listen.port()
        }
        _ => address == listen,
    }
}
