//! Transport of roles' messages between hosts, over persistent connections or one per request.

use std::collections::{BTreeMap, BTreeSet};

use fanin_driver::{ConnectionId, Driver, EndpointId, View};
use fanin_fabric::HostId;
use fanin_fanout::sicc::Queue;
use fanin_roles::front_end::Measured;
use fanin_roles::{Node, Tag};
use fanin_spec::RunSpec;
use fanin_tables::FlowKind;
use fanin_units::{Bytes, Time};

use super::carried::{Carried, Message};
use super::slab::Slab;

/// Messages that share a packet if they fit.
pub(super) struct Frame {
    pub from: Node,
    pub to: Node,
    /// The receiving end.
    pub at: EndpointId,
    pub messages: Vec<Message>,
}

/// The request of a connection, if each has its own.
type Of = Option<Tag>;

pub(super) struct Post {
    stand: bool,
    /// Sending end of each host, by the other host and the request.
    ends: Vec<BTreeMap<(Node, Of), EndpointId>>,
    /// Connections with possible events: request, opener and acceptor.
    known: BTreeMap<ConnectionId, (Of, Node, Node)>,
    /// Connections of each request in progress, if each has its own.
    own: BTreeMap<Tag, Vec<ConnectionId>>,
    /// Crashed machines: their persistent connections are gone.
    crashed: BTreeSet<Node>,
    /// Connections broken at one end.
    half: BTreeSet<ConnectionId>,
    /// Pairs of machines with a broken connection, the lower first: they have no persistent connection any more.
    broken: BTreeSet<(Node, Node)>,
    frames: Slab<Frame>,
    /// Number of frames at which lost ones are removed.
    look_at: usize,
    /// Emptied lists for reuse.
    empty: Vec<Vec<Message>>,
}

/// Two machines, the lower first.
fn pair(one: Node, other: Node) -> (Node, Node) {
    (one.min(other), one.max(other))
}

/// Connections opened for a request.
#[derive(Clone, Copy, Default)]
pub(super) struct Opened {
    /// Between the front end and other hosts.
    pub by_front_end: u64,
    /// Between other hosts.
    pub beyond: u64,
}

/// Minimum number of frames at which lost ones are removed.
const FRAMES: usize = 1024;

impl Post {
    /// Between `hosts`, over persistent connections or one per request.
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

    /// Return an emptied list.
    pub fn keep(&mut self, list: Vec<Message>) {
        self.empty.push(list);
    }

    /// Begin a request: if each has its own connections, messages of finished ones are late.
    pub fn begin(&mut self, request: Tag) {
        if !self.stand {
            self.own.insert(request, Vec::new());
        }
    }

    /// Send messages, all of one request; returns another list to fill.
    pub fn send(&mut self, driver: &mut dyn Driver, from: Node, to: Node, messages: Vec<Message>) -> Vec<Message> {
        let of = messages.first().map(|message| message.tag).filter(|_| !self.stand);
        let late = of.filter(|request| !self.own.contains_key(request));
        let end = match (self.ends[from.0 as usize].get(&(to, of)), late) {
            (Some(&end), _) => end,
            (None, None) => self.open(driver, of, from, to),
            // A late message of a finished request has a connection for itself, which it closes.
            (None, Some(_)) => driver.connect(HostId(from.0), HostId(to.0), FlowKind::Object).opener(),
        };
        let bytes = messages.iter().map(|message| message.len() as u64).sum();
        if self.frames.len() >= self.look_at {
            self.frames.retain(|frame| driver.carries(frame.at));
            self.look_at = FRAMES.max(2 * self.frames.len());
        }
        let number = self.frames.put(Frame { from, to, at: end.peer(), messages });
        driver.send(end, fanin_driver::Message::new(bytes, Carried::Frame(number)));
        if late.is_some() {
            driver.close(end);
        }
        self.empty()
    }

    /// A persistent connection, or a new one: the end that opens it.
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

    /// Take a received frame.
    pub fn take(&mut self, number: u32) -> Frame {
        self.frames.take(number)
    }

    /// The connections opened for a request in progress, if it has its own.
    pub fn opened(&self, request: Tag) -> Opened {
        let own = self.own.get(&request).map_or(&[][..], Vec::as_slice);
        let has_front_end = |connection: &&ConnectionId| {
            let ends = self.known.get(connection);
            ends.is_some_and(|(_, opener, answerer)| [opener, answerer].contains(&&request.origin))
        };
        let by_front_end = own.iter().filter(has_front_end).count() as u64;
        Opened { by_front_end, beyond: own.len() as u64 - by_front_end }
    }

    /// A request is over: close its own connections.
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

    /// Whether messages are sent over a connection.
    fn is_in_use(&self, connection: ConnectionId) -> bool {
        let end = |(of, opener, answerer): &(Of, Node, Node)| self.ends[opener.0 as usize].get(&(*answerer, *of));
        self.known.get(&connection).and_then(end) == Some(&connection.opener())
    }

    /// Stop using a connection.
    fn disuse(&mut self, connection: ConnectionId) {
        if self.is_in_use(connection) {
            let (of, opener, answerer) = self.known[&connection];
            self.ends[opener.0 as usize].remove(&(answerer, of));
            self.ends[answerer.0 as usize].remove(&(opener, of));
        }
    }

    /// An end's connection is broken and no longer used; returns the end's machine and its peer. The other end may notice later, or never.
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

    /// A machine has crashed: replace its connections, and end its own requests.
    pub fn crashed(&mut self, driver: &mut dyn Driver, host: Node) {
        self.crashed.insert(host);
        for (peer, of) in std::mem::take(&mut self.ends[host.0 as usize]).into_keys() {
            self.ends[peer.0 as usize].remove(&(host, of));
        }
        let own: Vec<Tag> = self.own.keys().filter(|request| request.origin == host).copied().collect();
        own.into_iter().for_each(|request| self.over(driver, request));
    }

    /// Congestion towards a front end's rack, from its ports if the driver sees them, otherwise measured by the front end: the median of its round trips, since single
    /// ones include delayed ACKs or are outdated.
    pub fn measured(&self, view: &dyn View, spec: &RunSpec, front: Node) -> Measured {
        let host = HostId(front.0);
        let ports = view.queue_into_rack(host);
        match (spec.settings.fan_outs.sicc.queue, ports) {
            (Queue::Reported, Some((queue, buffer))) => Measured::Queue(Bytes(queue), Bytes(buffer)),
            (_, ports) => {
                let mut rtts: Vec<Time> =
                    self.ends[front.0 as usize].values().filter_map(|&end| view.srtt(end)).collect();
                rtts.sort_unstable();
                let rtt = rtts.get(rtts.len() / 2).copied().unwrap_or(Time::ZERO);
                let buffer =
                    ports.map_or_else(|| spec.settings.in_bytes(spec.settings.switch.buffer), |(_, buffer)| buffer);
                Measured::RoundTrip(rtt, view.rate_into_rack(host), Bytes(buffer))
            }
        }
    }

    /// Whether connections are persistent or of requests in progress, and frames at most twice those in flight.
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

    const TAG: Tag = Tag { origin: Node(0), request: 7, epoch: 0, nonce: 0 };

    fn messages() -> Vec<Message> {
        vec![Message { tag: TAG, index: 0, body: Body::Over }]
    }

    #[test]
    fn lost_frames_are_removed() {
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
    fn late_messages_leave_no_connection_open() {
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
    fn crash_ends_requests_of_the_front_end() {
        let (mut driver, mut post) = (Still::new(4), Post::new(4, false));
        post.begin(TAG);
        post.send(&mut driver, Node(1), Node(2), messages());
        post.crashed(&mut driver, TAG.origin);
        assert!(post.is_tidy() && post.own.is_empty() && post.known.is_empty());
    }
}
