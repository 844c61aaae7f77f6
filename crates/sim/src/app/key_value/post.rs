//! How roles' messages go from host to host: over a connection between the two, which stands or is opened for a request.

use std::collections::{BTreeMap, BTreeSet};

use fanin_fabric::HostId;
use fanin_fanout::sicc::Queue;
use fanin_roles::Node;
use fanin_roles::front_end::Measured;
use fanin_spec::{FlowKind, RunSpec};
use fanin_units::{Bytes, Time};

use super::super::application::{Driver, View};
use super::slab::Slab;
use super::{Carried, Message};
use crate::ids::{ConnectionId, EndpointId};
use crate::message;

/// Messages that go in one packet, where it has room.
pub(super) struct Frame {
    pub from: Node,
    pub to: Node,
    pub messages: Vec<Message>,
}

/// Of whose request a connection is, where each has its own: front end and request.
type Of = Option<(Node, u32)>;

pub(super) struct Post {
    stand: bool,
    /// By whose it is and the two hosts, the lower first, who opened it.
    connections: BTreeMap<(Of, Node, Node), ConnectionId>,
    /// Which of them a connection is.
    known: BTreeMap<ConnectionId, (Of, Node, Node)>,
    /// Machines that crashed: connections to them do not stand any more.
    crashed: BTreeSet<Node>,
    frames: Slab<Frame>,
    /// Emptied lists, to be filled again.
    empty: Vec<Vec<Message>>,
}

impl Post {
    /// Over connections that stand, or are opened for each request.
    pub fn new(stand: bool) -> Post {
        Post {
            stand,
            connections: BTreeMap::new(),
            known: BTreeMap::new(),
            crashed: BTreeSet::new(),
            frames: Slab::default(),
            empty: Vec::new(),
        }
    }

    /// A list to fill.
    pub fn empty(&mut self) -> Vec<Message> {
        self.empty.pop().unwrap_or_default()
    }

    /// Takes an emptied list back.
    pub fn keep(&mut self, list: Vec<Message>) {
        self.empty.push(list);
    }

    /// Sends messages; gives another list to fill.
    pub fn send(&mut self, driver: &mut dyn Driver, frame: Frame) -> Vec<Message> {
        let (from, to) = (frame.from, frame.to);
        let of =
            frame.messages.first().filter(|_| !self.stand).map(|message| (message.tag.origin, message.tag.request));
        let bytes = frame.messages.iter().map(|message| message.len() as u64).sum();
        let (low, high) = (from.min(to), from.max(to));
        let connection = *self.connections.entry((of, low, high)).or_insert_with(|| {
            let (one, other) = (HostId(from.0), HostId(to.0));
            let stands = self.stand && !self.crashed.contains(&low) && !self.crashed.contains(&high);
            let connection = match stands {
                true => driver.stand(one, other, FlowKind::Object),
                false => driver.connect(one, other, FlowKind::Object),
            };
            self.known.insert(connection, (of, from, to));
            connection
        });
        let (_, opener, _) = self.known[&connection];
        let end = if from == opener { connection.opener() } else { connection.answerer() };
        let number = self.frames.put(frame);
        driver.send(end, message::Message::new(bytes, Carried::Frame(number)));
        self.empty()
    }

    /// What has come.
    pub fn take(&mut self, number: u32) -> Frame {
        self.frames.take(number)
    }

    /// A request is over, and the connections that were its own.
    pub fn over(&mut self, driver: &mut dyn Driver, front: Node, request: u32) {
        let of = Some((front, request));
        let own = self.connections.range((of, Node(0), Node(0))..=(of, Node(u32::MAX), Node(u32::MAX)));
        let own: Vec<_> = own.map(|(key, connection)| (*key, *connection)).collect();
        for (key, connection) in own {
            self.connections.remove(&key);
            self.known.remove(&connection);
            driver.close(connection.opener());
        }
    }

    /// An end's connection is broken, and out of use: the end's machine and its peer.
    pub fn broken(&mut self, at: EndpointId) -> Option<(Node, Node)> {
        let connection = at.connection();
        let (of, opener, answerer) = self.known.remove(&connection)?;
        let key = (of, opener.min(answerer), opener.max(answerer));
        if self.connections.get(&key) == Some(&connection) {
            self.connections.remove(&key);
        }
        Some(if at.is_opener() { (opener, answerer) } else { (answerer, opener) })
    }

    /// A machine has crashed: what it had connections for goes over new ones.
    pub fn crashed(&mut self, host: Node) {
        self.crashed.insert(host);
        self.connections.retain(|(_, low, high), _| *low != host && *high != host);
    }

    /// What a front end is told of the ports towards its rack, or measures itself: the median of its round trips, as single
    /// ones have waited for an ACK that was kept back, or have not been measured for long.
    pub fn measured(&self, view: &dyn View, spec: &RunSpec, front: Node) -> Measured {
        let host = HostId(front.0);
        let (queue, buffer) = view.queue_into_rack(host);
        match spec.settings.fan_outs.sicc.queue {
            Queue::Told => Measured::Queue(Bytes(queue), Bytes(buffer)),
            Queue::Estimated => {
                let own = self.connections.iter().filter(|((_, low, high), _)| *low == front || *high == front);
                let end = |connection: &ConnectionId| match self.known[connection].1 == front {
                    true => connection.opener(),
                    false => connection.answerer(),
                };
                let mut rtts: Vec<Time> = own.filter_map(|(_, connection)| view.srtt(end(connection))).collect();
                rtts.sort_unstable();
                let rtt = rtts.get(rtts.len() / 2).copied().unwrap_or(Time::ZERO);
                Measured::RoundTrip(rtt, view.rate_into_rack(host), Bytes(buffer))
            }
        }
    }
}
