//! A front end's connection to an agent, which is opened again after a failure.

use std::sync::Arc;

use fanin_ring::Event;
use fanin_roles::Node;
use fanin_roles::wire::Load;
use fanin_units::Time;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_net::backoff::Backoff;
use fanin_proxy_net::{Net, Target, Token};
use fanin_proxy_peers::secret::PeerSecret;
use fanin_proxy_peers::{GREETING, ItemMessage, Peer, PeerError};

/// The connection.
pub struct AgentLink<S> {
    /// None: its server has no agent, or none that this pool needs.
    target: Option<Arc<Target>>,
    secret: Option<Arc<PeerSecret>>,
    node: Node,
    token: Token,
    peer: Option<Peer<S>>,
    /// Its last report, and when that came.
    load: Option<(Load, Nanos)>,
    /// Whether it has been silent as a hub, and nothing has come since.
    is_silent: bool,
    /// When to connect, or to give up a connection without a greeting.
    until: Nanos,
    backoff: Backoff,
}

impl<S> AgentLink<S> {
    /// A connection to be opened, with the secret of the peers, if they have one.
    pub fn new(target: Option<Arc<Target>>, secret: Option<Arc<PeerSecret>>, node: Node, token: Token) -> AgentLink<S> {
        AgentLink {
            target,
            secret,
            node,
            token,
            peer: None,
            load: None,
            is_silent: false,
            until: 0,
            backoff: Backoff::default(),
        }
    }

    /// Whether the agent has greeted.
    pub fn has_greeted(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.node().is_some())
    }

    /// Whether the agent can be a hub: it has greeted, and is not silent.
    pub fn is_usable(&self) -> bool {
        self.has_greeted() && !self.is_silent
    }

    /// It has been silent as a hub: it is none before something comes from it.
    pub fn is_dismissed(&mut self) {
        self.is_silent = true;
    }

    /// Objects that the agent has room for; none if it cannot be a hub.
    pub fn spare_io(&self) -> u32 {
        let reported = self.load.map_or(1, |(load, _)| load.spare);
        if self.is_usable() { reported } else { 0 }
    }

    /// Takes a report.
    pub fn reports(&mut self, load: Load, now: Nanos) {
        self.load = Some((load, now));
    }

    /// Round-trip time to the agent, if it has been reported since then.
    pub fn round_trip(&self, since: Nanos) -> Option<Time> {
        let (load, _) = self.load.filter(|(load, at)| *at >= since && load.round_trip > 0)?;
        Some(Time::from_micros(load.round_trip.into()))
    }

    /// The agent's node.
    pub fn node(&self) -> Node {
        self.node
    }

    /// Its address.
    pub fn address(&self) -> String {
        self.target.as_ref().map_or_else(String::new, |target| target.address_now().to_string())
    }

    /// Whether the last attempts have failed.
    pub fn has_failed(&self) -> bool {
        self.backoff.has_failed()
    }

    /// Connects, or gives up a connection without a greeting, if that is due.
    pub fn connect<N: Net<Socket = S>>(&mut self, net: &mut N, me: Node, now: Nanos) {
        if self.next_due().is_none_or(|at| at > now) {
            return;
        }
        let Some(target) = self.target.as_ref().filter(|_| self.peer.is_none()) else { return self.fail(net, me, now) };
        match Peer::connect(net, target, self.token, me, self.node, self.secret.as_ref()) {
            Ok(peer) => (self.peer, self.until) = (Some(peer), now + GREETING),
            Err(_) => self.fail(net, me, now),
        }
    }

    /// When to connect or to give up, if the agent has not greeted.
    pub fn next_due(&self) -> Option<Nanos> {
        (self.target.is_some() && !self.has_greeted()).then_some(self.until)
    }

    /// Queues a message; returns whether there is a connection.
    pub fn send(&mut self, message: &ItemMessage) -> bool {
        let Some(peer) = self.peer.as_mut().filter(|peer| peer.node().is_some()) else { return false };
        peer.put(message);
        true
    }

    /// Bytes to send.
    pub fn unsent(&self) -> usize {
        self.peer.as_ref().map_or(0, Peer::unsent)
    }

    /// Marks it to be written to; returns whether it was not marked.
    pub fn mark(&mut self) -> bool {
        self.peer.as_mut().is_some_and(Peer::mark)
    }

    /// Writes as much as possible.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn write<N: Net<Socket = S>>(&mut self, net: &mut N) -> Result<(), PeerError> {
        self.peer.as_mut().map_or(Ok(()), |peer| peer.write(net))
    }

    /// Handles an event: takes the messages that have come. Returns whether the agent has greeted by that.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn event<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        event: &Event,
        buffer: &mut [u8],
        messages: &mut Vec<ItemMessage>,
    ) -> Result<bool, PeerError> {
        let had_greeted = self.has_greeted();
        let Some(peer) = &mut self.peer else { return Ok(false) };
        if !peer.event(net, event)? {
            return Ok(false);
        }
        self.is_silent = false;
        loop {
            let greeted = peer.node().is_some();
            let more = peer.read(net, buffer)?;
            peer.take(net, messages)?;
            // After the greeting, more may be there.
            let goes_on = more || !greeted && peer.node().is_some();
            if !goes_on {
                break;
            }
        }
        let greets = !had_greeted && self.has_greeted();
        if greets {
            self.backoff.succeed();
        }
        Ok(greets)
    }

    /// Closes a failed connection, which is opened again after a pause.
    pub fn fail<N: Net<Socket = S>>(&mut self, net: &mut N, me: Node, now: Nanos) {
        self.peer.take().into_iter().for_each(|peer| peer.close(net));
        (self.load, self.is_silent) = (None, false);
        // The number of a front end is random.
        self.until = now + self.backoff.fail(me.0.into());
    }

    /// Closes it.
    pub fn close<N: Net<Socket = S>>(self, net: &mut N) {
        self.peer.into_iter().for_each(|peer| peer.close(net));
    }
}
