//! Connections of an agent to front ends and other agents.

use std::io;

use fanin_ring::Event;
use fanin_roles::hub::Hub;
use fanin_roles::{Body, Node};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;

use super::{Agent, NoDirectory};
use fanin_proxy_config::racks::FRONT_ENDS;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::charged;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_net::{ACCEPT_PAUSE, Net, Token};
use fanin_proxy_peers::{GREETING, ItemMessage, PROGRESS, Peer, PeerError};

/// Unsent bytes up to which it sends again.
const GOES_ON_AT: usize = 64 << 10;
/// Least time between two texts about refused peers.
const BETWEEN_TEXTS: Nanos = 1_000_000_000;

/// Whether a certificate is valid for a name.
fn is_valid_for(certificate: &[u8], name: &ServerName<'_>) -> bool {
    let certificate = CertificateDer::from(certificate);
    ParsedCertificate::try_from(&certificate).is_ok_and(|certificate| verify_server_name(&certificate, name).is_ok())
}

/// Copies the key or value of a message, which may be kept for longer than the rest of the buffer.
fn detach(message: &mut ItemMessage) {
    match &mut message.body {
        Body::Ask { key, .. } | Body::Get(key) => key.key = key.key.detached(),
        Body::Object(item) => *item = item.detached(),
        _ => {}
    }
}

impl<N: Net> Agent<N> {
    pub(super) fn accept(&mut self) {
        loop {
            let stream = match self.net.accept(0, &self.settings.entry) {
                Ok(stream) => stream,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.accept_at = Some(self.now + ACCEPT_PAUSE);
                    }
                    return;
                }
            };
            if self.peers.len() >= self.settings.peers {
                self.counters.peers_refused.add(1);
                self.net.refuse(stream, b"");
                continue;
            }
            let token = Token::Client(self.peers.next());
            if let Ok(socket) = self.net.add(stream, token, false)
                && let Ok(peer) = Peer::accepted(socket, self.me, self.settings.racks.secret.as_ref())
            {
                self.add(peer);
            }
        }
    }

    pub(super) fn add(&mut self, peer: Peer<N::Socket>) -> Id {
        let id = self.peers.insert(peer);
        self.greetings.push_back((self.now + GREETING, id));
        self.mark(id);
        id
    }

    pub(super) fn mark(&mut self, id: Id) {
        if self.peers.get_mut(id).is_some_and(Peer::mark) {
            self.marked.push(id);
        }
    }

    pub(super) fn peer_event(&mut self, id: Id, event: &Event) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let reads = match peer.event(&mut self.net, event) {
            Ok(reads) => reads,
            Err(error) => return self.peer_fails(id, &error),
        };
        self.mark(id);
        if reads && let Err(error) = self.read(id) {
            self.peer_fails(id, &error);
        }
    }

    /// Reads and handles a peer's messages.
    fn read(&mut self, id: Id) -> Result<(), PeerError> {
        let mut messages = Vec::new();
        loop {
            let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
            let before = peer.node();
            let more = peer.read(&mut self.net, &mut self.buffer)?;
            let result = peer.take(&mut self.net, &mut messages);
            let Some(from) = peer.node() else {
                if !more {
                    return Ok(());
                }
                continue;
            };
            if before.is_none() {
                self.check_identity(id, from)?;
                // The last connection of a node counts: an earlier one may not have ended yet.
                self.by_node.insert(from, id);
                self.counters.peers_greeted.add(1);
                if from.0 >= FRONT_ENDS {
                    self.reports.insert(from, None);
                    self.report_at = self.now;
                    self.send_early(from);
                }
            }
            self.watch(id);
            messages.iter_mut().for_each(detach);
            let hub = self.machine.hub();
            let ends_early = |message: &ItemMessage| {
                matches!(message.body, Body::Over) && hub.is_some_and(|hub| hub.owes(message.tag))
            };
            if messages.iter().any(ends_early) {
                self.report_soon(from);
            }
            self.machine.handle_all(self.time(), from, messages.drain(..), &NoDirectory, &mut self.out);
            self.act();
            result?;
            // After a greeting, more may be there.
            if !more && before.is_some() {
                return Ok(());
            }
        }
    }

    /// Checks with TLS that a peer is the node that it claims to be: an agent has a certificate for its address in the racks, and a front
    /// end the certificate of an earlier connection that is still open, since its number is random.
    fn check_identity(&self, id: Id, node: Node) -> Result<(), PeerError> {
        let certificate = |id: Id| self.peers.get(id).and_then(|peer| peer.certificate(&self.net));
        let place = self.settings.racks.of_node(node);
        let agent = place.and_then(|place| self.settings.racks.servers[place].agent.as_deref());
        let is_it = match (agent.and_then(|agent| agent.tls.as_ref()), certificate(id)) {
            (Some((_, name)), Some(certificate)) => is_valid_for(certificate, name),
            (Some(_), None) => false,
            (None, own) if node.0 >= FRONT_ENDS => self
                .by_node
                .get(&node)
                .is_none_or(|earlier| self.peers.get(*earlier).is_none() || certificate(*earlier) == own),
            // Without TLS nothing can be checked. With it, no agent has this number.
            (None, own) => own.is_none(),
        };
        if is_it { Ok(()) } else { Err(PeerError::Certificate(node)) }
    }

    /// A connection has failed: closes it, and says why unless the peer has just gone.
    pub(super) fn peer_fails(&mut self, id: Id, error: &PeerError) {
        let is_refused = !matches!(error, PeerError::Io(_) | PeerError::Closed);
        if is_refused {
            self.counters.peers_refused.add(1);
            // Strangers must not fill the log.
            if self.told_at.is_none_or(|at| at + BETWEEN_TEXTS <= self.now) {
                self.told_at = Some(self.now);
                self.net.tell(&format!("a peer was refused: {error}"));
            }
        }
        if matches!(error, PeerError::Certificate(_)) {
            // Its end says nothing about the node that it claimed to be.
            return self.peers.remove(id).into_iter().for_each(|peer| peer.close(&mut self.net));
        }
        self.close(id);
    }

    pub(super) fn close(&mut self, id: Id) {
        let Some(peer) = self.peers.remove(id) else { return };
        let node = peer.node_or_expected();
        peer.close(&mut self.net);
        let Some(node) = node else { return };
        if self.stopped.contains(&id) {
            self.stopped.retain(|other| *other != id);
            self.machine.set_stopped(self.time(), node, false, &mut self.out);
        }
        if node.0 < FRONT_ENDS {
            // Another agent's memcached may be well.
            self.machine.parent_lost(self.time(), node, &mut self.out);
        }
        if self.by_node.get(&node) == Some(&id) {
            self.by_node.remove(&node);
            self.reports.remove(&node);
            if node.0 >= FRONT_ENDS {
                self.machine.lost(self.time(), node, &NoDirectory, &mut self.out);
            }
        }
        self.act();
    }

    /// Writes to all marked connections.
    pub(super) fn flush(&mut self) {
        for server in std::mem::take(&mut self.marked_memcacheds) {
            if self.memcacheds[server].flush(&mut self.net, Token::Server(server), self.now).is_err() {
                self.memcached_fails(server);
            }
        }
        self.take_found();
        for id in std::mem::take(&mut self.marked) {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let hub = self.machine.hub().filter(|_| peer.unsent() > 0);
            if let Some(speed) = hub.zip(peer.node()).and_then(|(hub, node)| hub.speed_to(node)) {
                peer.pace(&mut self.net, speed);
            }
            if let Err(error) = peer.write(&mut self.net) {
                self.peer_fails(id, &error);
            }
        }
    }

    /// The hub sends again to peers that have taken most of their output.
    pub(super) fn go_on_sending(&mut self) {
        let stopped = std::mem::take(&mut self.stopped);
        for id in stopped {
            let Some(peer) = self.peers.get(id) else { continue };
            match peer.node_or_expected() {
                Some(node) if peer.unsent() <= GOES_ON_AT => {
                    self.machine.set_stopped(self.time(), node, false, &mut self.out);
                    self.act();
                }
                _ => self.stopped.push(id),
            }
        }
    }

    /// Watches the progress of a peer's message, if that is unfinished.
    pub(super) fn watch(&mut self, id: Id) {
        if self.peers.get_mut(id).is_some_and(Peer::watch) {
            self.unfinished.push_back((self.now + PROGRESS, id));
        }
    }

    /// Memory that peers, servers and the hub take.
    fn held(&mut self) -> u64 {
        let of_hub = self.machine.hub().map_or(0, Hub::memory) as usize;
        self.hub_memory.set(of_hub + self.early_bytes + self.serving.waiting() as usize);
        charged().wrapping_sub(self.charged_before) as u64 + self.net.held() as u64
    }

    /// At the limit, closes peers until there is room.
    pub(super) fn limit_memory(&mut self) {
        let mut held = self.held();
        while held >= self.settings.memory.0
            && let Some(id) = self.largest()
        {
            self.counters.peers_cut_off.add(1);
            self.close(id);
            held = self.held();
        }
        self.counters.memory_bytes.set(held);
    }

    /// The peer that takes most memory: for an unfinished message if all of these take more than all output, else for its output and its
    /// requests. Many unfinished messages thus end no front end that reads its responses.
    fn largest(&self) -> Option<Id> {
        let hub = self.machine.hub();
        let of_hub = |id: Id, peer: &Peer<N::Socket>| {
            let node = peer.node().filter(|node| self.by_node.get(node) == Some(&id));
            hub.zip(node).map_or(0, |(hub, node)| hub.memory_of(node) as usize)
        };
        let peers: Vec<(Id, usize, usize)> = self
            .peers
            .ids()
            .into_iter()
            .filter_map(|id| {
                let peer = self.peers.get(id)?;
                Some((id, peer.unfinished(), peer.output() + of_hub(id, peer)))
            })
            .collect();
        let sum = |of: fn(&(Id, usize, usize)) -> usize| peers.iter().map(of).sum::<usize>();
        let is_input = sum(|(_, input, _)| *input) > sum(|(.., output)| *output);
        let most = peers.iter().max_by_key(|(_, input, output)| if is_input { *input } else { *output });
        most.map(|(id, ..)| *id)
    }
}
