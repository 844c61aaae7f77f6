//! `racks.toml`: servers by rack, and the agents beside them. Front ends and agents read the same file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use fanin_roles::Node;
use serde::Deserialize;
use toml::Spanned;

use super::security::{Files, ServerTls, ServerTlsInFile};
use super::values::{Wrong, address, line_of};
use crate::net::{Address, Target};
use crate::routing::Hash;

/// The servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Racks {
    /// In the order of the file.
    pub servers: Vec<RackServer>,
}

/// A server of a rack.
#[derive(Clone, Debug, PartialEq)]
pub struct RackServer {
    /// Address of its memcached.
    pub memcached: Address,
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

/// How an agent authenticates its peers; `None`: not at all.
pub type AgentTls = Option<ServerTls>;

/// Reads how agents are authenticated, by certificates or explicitly not at all; `place` and `missing` are for the error if nothing is said.
pub fn agent_tls(
    tls: Option<Spanned<ServerTlsInFile>>,
    plaintext: Option<Spanned<bool>>,
    (place, missing): (Range<usize>, &str),
    files: &Files,
) -> Result<AgentTls, Wrong> {
    let plain = plaintext.filter(|plain| *plain.get_ref()).map(|plain| plain.span());
    match (tls, plain) {
        (Some(tls), None) if !tls.get_ref().is_certified() => {
            let why = "agents require a certificate: add certificate = \"cert.pem\" and key = \"key.pem\"";
            Err(Wrong(Some(tls.span()), why.to_owned()))
        }
        (Some(tls), None) => ServerTls::of(tls, files).map(Some),
        (Some(tls), Some(_)) => Err(contradiction(tls.span())),
        (None, Some(plain)) => {
            files.warn(Wrong(Some(plain), NOT_SECURE.to_owned()));
            Ok(None)
        }
        (None, None) => {
            let right = "plaintext = true in a network that only trusted hosts reach";
            Err(Wrong(Some(place), format!("agents are not authenticated: add {missing}, or {right}")))
        }
    }
}

/// TLS beside `plaintext`.
pub fn contradiction(place: Range<usize>) -> Wrong {
    Wrong(Some(place), "TLS contradicts plaintext = true: remove one of them".to_owned())
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
    pub fn read(path: &Spanned<PathBuf>, tls: &AgentTls, files: &Files) -> Result<Racks, Wrong> {
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
        Racks::of(file, tls).map_err(in_line)
    }

    fn of(file: File, tls: &AgentTls) -> Result<Racks, Wrong> {
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
            let agent = agent.map(|agent| target(&agent, tls)).transpose()?;
            let node = node_of(&name);
            let memcached = at(&memcached)?;
            let server = RackServer { memcached, agent, rack: rack as u32, node };
            servers.iter().try_for_each(|other| differ(other, &server, &name, &place))?;
            servers.push(server);
        }
        Ok(Racks { servers })
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
fn target(text: &Spanned<String>, tls: &AgentTls) -> Result<Arc<Target>, Wrong> {
    let address = at(text)?;
    let host = text.get_ref().rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']']));
    let host = host.filter(|_| address.ip().is_some());
    let tls = tls
        .as_ref()
        .map(|tls| tls.of_server(host))
        .transpose()
        .map_err(|Wrong(_, why)| Wrong(Some(text.span()), why))?;
    Ok(Arc::new(Target { address, tls, user: None }))
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
