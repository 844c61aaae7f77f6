//! `racks.toml`: servers by rack, and the agents beside them. Front ends and agents read the same file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use fanin_roles::Node;
use serde::Deserialize;
use toml::Spanned;

use super::security::{Files, ServerTls, ServerTlsInFile};
use super::values::{Wrong, address, host, line_of};
use fanin_proxy_net::{Address, Target};
use fanin_proxy_peers::secret::{LEAST, PeerSecret};
use fanin_proxy_routing::Hash;

/// The servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Racks {
    /// In the order of the file.
    pub servers: Vec<RackServer>,
    /// The secret by which front ends and agents know each other without TLS.
    pub secret: Option<Arc<PeerSecret>>,
}

/// A server of a rack.
#[derive(Clone, Debug, PartialEq)]
pub struct RackServer {
    /// Address of its memcached.
    pub memcached: Address,
    /// Its host in the file, if it has one.
    pub host: Option<String>,
    /// The agent beside it, if there is one.
    pub agent: Option<Arc<Target>>,
    /// Its rack; racks are numbered in the order of the file.
    pub rack: u32,
    /// Its number in messages, by the name of its memcached, so that files with more servers or in another order agree.
    pub node: Node,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    server: Spanned<Vec<Spanned<ServerInFile>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerInFile {
    memcached: Spanned<String>,
    agent: Option<Spanned<String>>,
    rack: String,
}

/// How agents and front ends authenticate each other; by default not at all.
#[derive(Default)]
pub struct AgentAuth {
    /// By certificates.
    pub tls: Option<ServerTls>,
    /// By a secret, without encryption.
    pub secret: Option<Arc<PeerSecret>>,
}

/// The keys of a file that say so.
pub struct AgentAuthInFile {
    /// TLS towards agents.
    pub agent_tls: Option<Spanned<ServerTlsInFile>>,
    /// Path of the secret.
    pub agent_secret: Option<Spanned<PathBuf>>,
    /// Whether anybody may be a peer.
    pub plaintext: Option<Spanned<bool>>,
}

impl AgentAuth {
    /// Reads how agents are authenticated, or explicitly not at all; `place` and `missing` are for the error if nothing is said.
    pub fn read(file: AgentAuthInFile, place: Range<usize>, missing: &str, files: &Files) -> Result<AgentAuth, Wrong> {
        let AgentAuthInFile { agent_tls, agent_secret, plaintext } = file;
        let plain = plaintext.filter(|plain| *plain.get_ref()).map(|plain| plain.span());
        match (agent_tls, agent_secret, plain) {
            (Some(tls), None, None) if !tls.get_ref().is_certified() => {
                let why = "agents require a certificate: add certificate = \"cert.pem\" and key = \"key.pem\"";
                Err(Wrong(Some(tls.span()), why.to_owned()))
            }
            (Some(tls), None, None) => Ok(AgentAuth { tls: Some(ServerTls::of(tls, files)?), secret: None }),
            (None, Some(path), None) => Ok(AgentAuth { tls: None, secret: Some(Arc::new(peer_secret(&path, files)?)) }),
            (None, None, Some(plain)) => {
                files.warn(Wrong(Some(plain), NOT_SECURE.to_owned()));
                Ok(AgentAuth::default())
            }
            (None, None, None) => {
                let right = "agent_secret = \"peers.secret\" in a network that nobody else reads";
                Err(Wrong(Some(place), format!("agents are not authenticated: add {missing}, or {right}")))
            }
            (Some(tls), _, _) => Err(contradiction(tls.span())),
            (None, Some(secret), Some(_)) => Err(contradiction(secret.span())),
        }
    }
}

/// Reads the secret of the peers.
fn peer_secret(path: &Spanned<PathBuf>, files: &Files) -> Result<PeerSecret, Wrong> {
    let (full, bytes) = files.read_secret(path)?;
    let short = || {
        let right = format!("use a file of at least {LEAST} B, such as from `openssl rand -hex 32`");
        Wrong(Some(path.span()), format!("{}: too short for a secret; {right}", full.display()))
    };
    PeerSecret::of(&bytes).ok_or_else(short)
}

/// Two ways to authenticate agents.
pub fn contradiction(place: Range<usize>) -> Wrong {
    let why = "only one of TLS, agent_secret and plaintext = true is possible: remove the others";
    Wrong(Some(place), why.to_owned())
}

/// Warning about agents without TLS.
const NOT_SECURE: &str = "agents and their peers are neither authenticated nor encrypted (plaintext = true): anybody who reaches an agent can \
                          read every value";

/// First number that is no server's: a front end's.
pub const FRONT_ENDS: u32 = 1 << 31;

/// The number in messages of the server with this memcached.
pub fn node_of(memcached: &str) -> Node {
    Node(Hash::Fnv1a32.of(memcached.as_bytes()) % FRONT_ENDS)
}

impl Racks {
    /// Reads a file that a configuration names.
    pub fn read(path: &Spanned<PathBuf>, auth: &AgentAuth, files: &Files) -> Result<Racks, Wrong> {
        let (full, bytes) = files.read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let in_line = |Wrong(place, why): Wrong| {
            let line = place.map_or(1, |place| line_of(&text, place.start));
            Wrong(Some(path.span()), format!("{}:{line}: {why}", full.display()))
        };
        let unread = |error: toml::de::Error| {
            let text = error.message().to_owned();
            in_line(Wrong(error.span(), text + "; write each server as [[server]] with memcached, agent and rack"))
        };
        let file: File = toml::from_str(&text).map_err(unread)?;
        Racks::of(file, auth).map_err(in_line)
    }

    fn of(file: File, auth: &AgentAuth) -> Result<Racks, Wrong> {
        if file.server.get_ref().is_empty() {
            return Err(Wrong(Some(file.server.span()), "no servers: add one as [[server]]".to_owned()));
        }
        let (mut racks, mut servers): (Vec<String>, Vec<RackServer>) = (Vec::new(), Vec::new());
        for server in file.server.into_inner() {
            let (place, ServerInFile { memcached, agent, rack }) = (server.span(), server.into_inner());
            let name = memcached.get_ref().clone();
            let rack = racks.iter().position(|other| *other == rack).unwrap_or_else(|| {
                racks.push(rack);
                racks.len() - 1
            });
            let agent = agent.map(|agent| target(&agent, auth.tls.as_ref())).transpose()?;
            let (node, host) = (node_of(&name), host(&name).map(str::to_owned));
            let memcached = at(&memcached)?;
            let server = RackServer { memcached, host, agent, rack: rack as u32, node };
            servers.iter().try_for_each(|other| differ(other, &server, &name, &place))?;
            servers.push(server);
        }
        Ok(Racks { servers, secret: auth.secret.clone() })
    }

    /// Number of racks.
    pub fn count(&self) -> u32 {
        self.servers.iter().map(|server| server.rack + 1).max().unwrap_or(0)
    }

    /// The position of a server by its memcached's address.
    pub fn position(&self, memcached: &Address) -> Option<usize> {
        self.servers.iter().position(|server| server.memcached == *memcached)
    }

    /// The position of a server by its number in messages.
    pub fn of_node(&self, node: Node) -> Option<usize> {
        self.servers.iter().position(|server| server.node == node)
    }
}

fn at(text: &Spanned<String>) -> Result<Address, Wrong> {
    address(text.get_ref()).map_err(|why| Wrong(Some(text.span()), why))
}

/// An agent to connect to.
fn target(text: &Spanned<String>, tls: Option<&ServerTls>) -> Result<Arc<Target>, Wrong> {
    let address = at(text)?;
    let host = host(text.get_ref());
    let tls = tls.map(|tls| tls.of_server(host)).transpose().map_err(|Wrong(_, why)| Wrong(Some(text.span()), why))?;
    Ok(Arc::new(Target { tls, ..Target::new(address, host) }))
}

/// Checks that two servers have nothing in common.
fn differ(one: &RackServer, other: &RackServer, name: &str, place: &Range<usize>) -> Result<(), Wrong> {
    let wrong = |what: String| Err(Wrong(Some(place.clone()), what));
    let agents = one.agent.as_ref().zip(other.agent.as_ref());
    match agents {
        _ if one.memcached == other.memcached => wrong(format!("the memcached {name} occurs twice: name each once")),
        Some((one, other)) if one.address == other.address => {
            wrong(format!("the agent {} occurs twice: each memcached has its own", other.address))
        }
        _ if one.node == other.node => wrong(format!(
            "{name} has the same number ({}) as {}: write one of them in another way, such as by its IP address",
            one.node.0, one.memcached
        )),
        _ => Ok(()),
    }
}
