//! How roles' messages go from host to host: over a connection between the two, which stands or is opened for a request.

use std::collections::{BTreeMap, BTreeSet};

use fanin_fabric::HostId;
use fanin_fanout::sicc::Queue;
use fanin_roles::front_end::Measured;
use fanin_roles::{Node, Tag};
use fanin_spec::{FlowKind, RunSpec};
use fanin_units::{Bytes, Time};

use super::carried::{Carried, Message};
use super::slab::Slab;
use crate::application::{Driver, View};
use crate::ids::{ConnectionId, EndpointId};
use crate::message;

/// Messages that go in one packet, where it has room.
pub(super) struct Frame {
    pub from: Node,
    pub to: Node,
    /// Where it is awaited.
    pub at: EndpointId,
    pub messages: Vec<Message>,
}

/// Of whose request a connection is, where each has its own.
type Of = Option<Tag>;

pub(super) struct Post {
    stand: bool,
    /// Of each host, by the other one and whose request it is for, the end that it sends by.
    ends: Vec<BTreeMap<(Node, Of), EndpointId>>,
    /// Of connections that an end may still hear of: whose request each is for, who opened it and who answered.
    known: BTreeMap<ConnectionId, (Of, Node, Node)>,
    /// Connections of each request under way, where each has its own.
    own: BTreeMap<Tag, Vec<ConnectionId>>,
    /// Machines that crashed: connections to them do not stand any more.
    crashed: BTreeSet<Node>,
    /// Connections that are broken at one end.
    half: BTreeSet<ConnectionId>,
    /// Pairs of machines between which one broke, the lower first: none stands between them any more.
    broken: BTreeSet<(Node, Node)>,
    frames: Slab<Frame>,
    /// With so many frames it is time to see which were lost.
    look_at: usize,
    /// Emptied lists, to be filled again.
    empty: Vec<Vec<Message>>,
}

/// Two machines, the lower first.
fn pair(one: Node, other: Node) -> (Node, Node) {
    (one.min(other), one.max(other))
}

/// So many frames are kept before anybody asks whether some were lost.
const FRAMES: usize = 1024;

impl Post {
    /// Between so many hosts, over connections that stand, or are opened for each request.
    pub fn new(hosts: u32, stand: bool) -> Post {
        Post {
            stand,
            ends: vec![BTreeMap::new(); hosts as usize],
            known: BTreeMap::new(),
            own: BTreeMap::new(),
            crashed: BTreeSet::new(),
            half: BTreeSet::new(),
            broken: BTreeSet::new(),
            frames: Slab::default(),
            look_at: FRAMES,
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

    /// A request begins: where each has its own connections, what is of none under way is late.
    pub fn begin(&mut self, request: Tag) {
        if !self.stand {
            self.own.insert(request, Vec::new());
        }
    }

    /// Sends messages, all of one request; gives another list to fill.
    pub fn send(&mut self, driver: &mut dyn Driver, from: Node, to: Node, messages: Vec<Message>) -> Vec<Message> {
        let of = messages.first().map(|message| message.tag).filter(|_| !self.stand);
        let late = of.filter(|request| !self.own.contains_key(request));
        let end = match (self.ends[from.0 as usize].get(&(to, of)), late) {
            (Some(&end), _) => end,
            (None, None) => self.open(driver, of, from, to),
            // Nobody closes what is of a request that is over: it has a connection for itself.
            (None, Some(_)) => driver.connect(HostId(from.0), HostId(to.0), FlowKind::Object).opener(),
        };
        let bytes = messages.iter().map(|message| message.len() as u64).sum();
        if self.frames.len() >= self.look_at {
            self.frames.retain(|frame| driver.carries(frame.at));
            self.look_at = FRAMES.max(2 * self.frames.len());
        }
        let number = self.frames.put(Frame { from, to, at: end.peer(), messages });
        driver.send(end, message::Message::new(bytes, Carried::Frame(number)));
        if late.is_some() {
            driver.close(end);
        }
        self.empty()
    }

    /// A connection that stands, or a new one: the end that opens it.
    fn open(&mut self, driver: &mut dyn Driver, of: Of, from: Node, to: Node) -> EndpointId {
        let (one, other) = (HostId(from.0), HostId(to.0));
        let fell = self.crashed.contains(&from) || self.crashed.contains(&to) || self.broken.contains(&pair(from, to));
        let stands = self.stand && !fell;
        let connection = match stands {
            true => driver.stand(one, other, FlowKind::Object),
            false => driver.connect(one, other, FlowKind::Object),
        };
        self.known.insert(connection, (of, from, to));
        self.ends[from.0 as usize].insert((to, of), connection.opener());
        self.ends[to.0 as usize].insert((from, of), connection.answerer());
        if let Some(own) = of.and_then(|request| self.own.get_mut(&request)) {
            own.push(connection);
        }
        connection.opener()
    }

    /// What has come.
    pub fn take(&mut self, number: u32) -> Frame {
        self.frames.take(number)
    }

    /// A request is over, and the connections that were its own.
    pub fn over(&mut self, driver: &mut dyn Driver, request: Tag) {
        let mut own = self.own.remove(&request).unwrap_or_default();
        own.sort_by_key(|connection| self.known.get(connection).map(|(_, opener, answerer)| pair(*opener, *answerer)));
        for connection in own {
            if self.is_in_use(connection) {
                driver.close(connection.opener());
            }
            self.disuse(connection);
            self.known.remove(&connection);
            self.half.remove(&connection);
        }
    }

    /// Whether what is to be sent goes over a connection.
    fn is_in_use(&self, connection: ConnectionId) -> bool {
        let end = |(of, opener, answerer): &(Of, Node, Node)| self.ends[opener.0 as usize].get(&(*answerer, *of));
        self.known.get(&connection).and_then(end) == Some(&connection.opener())
    }

    /// Nothing goes over a connection any more.
    fn disuse(&mut self, connection: ConnectionId) {
        if self.is_in_use(connection) {
            let (of, opener, answerer) = self.known[&connection];
            self.ends[opener.0 as usize].remove(&(answerer, of));
            self.ends[answerer.0 as usize].remove(&(opener, of));
        }
    }

    /// An end's connection is broken, and out of use: the end's machine and its peer. Its other end may hear of it later, or never.
    pub fn broken(&mut self, at: EndpointId) -> Option<(Node, Node)> {
        let connection = at.connection();
        let &(_, opener, answerer) = self.known.get(&connection)?;
        self.disuse(connection);
        self.broken.insert(pair(opener, answerer));
        if !self.half.insert(connection) {
            self.half.remove(&connection);
            self.known.remove(&connection);
        }
        Some(if at.is_opener() { (opener, answerer) } else { (answerer, opener) })
    }

    /// A machine has crashed: what it had connections for goes over new ones, and its own requests are over.
    pub fn crashed(&mut self, driver: &mut dyn Driver, host: Node) {
        self.crashed.insert(host);
        for (peer, of) in std::mem::take(&mut self.ends[host.0 as usize]).into_keys() {
            self.ends[peer.0 as usize].remove(&(host, of));
        }
        let own: Vec<Tag> = self.own.keys().filter(|request| request.origin == host).copied().collect();
        own.into_iter().for_each(|request| self.over(driver, request));
    }

    /// What a front end is told of the ports towards its rack, or measures itself: the median of its round trips, as single
    /// ones have waited for an ACK that was kept back, or have not been measured for long.
    pub fn measured(&self, view: &dyn View, spec: &RunSpec, front: Node) -> Measured {
        let host = HostId(front.0);
        let (queue, buffer) = view.queue_into_rack(host);
        match spec.settings.fan_outs.sicc.queue {
            Queue::Told => Measured::Queue(Bytes(queue), Bytes(buffer)),
            Queue::Estimated => {
                let mut rtts: Vec<Time> =
                    self.ends[front.0 as usize].values().filter_map(|&end| view.srtt(end)).collect();
                rtts.sort_unstable();
                let rtt = rtts.get(rtts.len() / 2).copied().unwrap_or(Time::ZERO);
                Measured::RoundTrip(rtt, view.rate_into_rack(host), Bytes(buffer))
            }
        }
    }

    /// Whether connections are kept of requests under way alone, or stand; of frames no more than those under way and as many again.
    pub fn is_tidy(&self) -> bool {
        let mut of = self.ends.iter().flat_map(BTreeMap::keys).map(|(_, of)| of);
        of.all(|of| of.is_none_or(|request| self.own.contains_key(&request))) && self.frames.len() <= self.look_at
    }
}

#[cfg(test)]
mod tests {
    use fanin_roles::Body;

    use super::*;
    use crate::still::Still;

    const TAG: Tag = Tag { origin: Node(0), request: 7, epoch: 0 };

    fn messages() -> Vec<Message> {
        vec![Message { tag: TAG, index: 0, body: Body::Over }]
    }

    #[test]
    fn frames_that_a_crash_lost_are_dropped_before_they_are_as_many_again() {
        let servers = 4 * FRAMES as u32;
        let (mut driver, mut post) = (Still::new(servers + 1), Post::new(servers + 1, true));
        let mut most = 0;
        for host in 1..=servers {
            post.send(&mut driver, Node(0), Node(host), messages());
            most = most.max(post.frames.len());
            driver.crash(HostId(host));
            post.crashed(&mut driver, Node(host));
        }
        assert_eq!(most, FRAMES, "none of them is ever under way beside another");
    }

    #[test]
    fn what_is_said_of_a_request_that_is_over_leaves_no_connection_open() {
        let (mut driver, mut post) = (Still::new(4), Post::new(4, false));
        post.begin(TAG);
        post.send(&mut driver, Node(0), Node(1), messages());
        assert!(post.is_tidy());
        post.over(&mut driver, TAG);
        // A hub asks a server before it hears so.
        post.send(&mut driver, Node(1), Node(2), messages());
        assert!(post.is_tidy() && post.known.is_empty());
    }

    #[test]
    fn requests_of_a_front_end_that_crashes_are_over() {
        let (mut driver, mut post) = (Still::new(4), Post::new(4, false));
        post.begin(TAG);
        post.send(&mut driver, Node(1), Node(2), messages());
        post.crashed(&mut driver, TAG.origin);
        assert!(post.is_tidy() && post.own.is_empty() && post.known.is_empty());
    }
}
