//! State of a request: its objects, and the path of each.

use fanin_fanout::Window;
use fanin_units::{Rate, Time};

use crate::wire::{Node, Tag};

/// State of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not requested.
    Unasked,
    /// Requested through [`Wish::via`].
    Asked,
    /// To be requested through another hub once the current one confirms that it will not send it.
    Moving(u32),
    /// Received, missed or failed.
    Done,
}

/// An object of a request.
#[derive(Clone, Debug)]
pub(super) struct Wish<K> {
    pub key: K,
    pub holder: Node,
    /// Its path.
    pub via: u32,
    pub state: State,
    /// Number of attempts.
    pub tries: u8,
    /// Number of redirections.
    pub redirected: u8,
}

/// A path: a hub, or a data server that is asked directly.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub node: Node,
    pub rack: u32,
    /// The hub above it.
    pub parent: Option<u32>,
    /// The hub's backup.
    pub backup: Option<Node>,
    /// Whether it is a hub.
    pub hub: bool,
    /// Missing objects of this path, without its children's.
    pub missing: u32,
    /// Times of its request and of its last message; `NEVER` before the request.
    pub asked: Time,
    pub heard: Time,
    /// Bytes received through it in this period, packet overhead included.
    pub period_bytes: u64,
    /// Its speed in the last period in which it had data.
    pub real: Rate,
    /// Whether more than a packet was missing at the end of the last period.
    pub backlog: bool,
    /// Bytes of its own objects.
    pub bytes: u64,
    pub assigned: Rate,
    pub gone: bool,
}

impl Way {
    pub fn to(node: Node, rack: u32, at: Time) -> Way {
        Way {
            node,
            rack,
            parent: None,
            backup: None,
            hub: false,
            missing: 0,
            asked: at,
            heard: at,
            period_bytes: 0,
            real: Rate(0),
            backlog: true,
            bytes: 0,
            assigned: Rate(0),
            gone: false,
        }
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request<K> {
    pub tag: Tag,
    pub deadline: Time,
    pub wishes: Vec<Wish<K>>,
    /// Number of unfinished objects.
    pub left: u32,
    pub ways: Vec<Way>,
    /// Queue of servers, for direct requests.
    pub line: Line,
    /// Its own concurrency limit, if it is not shared by all requests.
    pub window: Option<Window>,
}

/// Queue of servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Objects sorted by server, with their paths.
    pub objects: Vec<(u32, u32)>,
    /// Number of paths in the queue; repeated requests have later ones.
    pub ways: u32,
    /// Number of objects before the next path.
    pub objects_asked: u32,
    /// The next path to request.
    pub next: u32,
    /// The first path that may be late.
    pub oldest: u32,
    /// Number of servers with incomplete responses.
    pub busy: u32,
}

impl Way {
    /// Whether it sends to the front end itself.
    pub fn is_root(&self) -> bool {
        self.parent.is_none() && !self.gone
    }

    /// Whether it is a live hub.
    pub fn is_hub(&self) -> bool {
        self.hub && !self.gone
    }
}

impl<K> Request<K> {
    /// Whether the counters are consistent.
    pub fn adds_up(&self) -> bool {
        let open = || self.wishes.iter().filter(|wish| wish.state != State::Done);
        let mut missing = vec![0; self.ways.len()];
        open().for_each(|wish| missing[wish.via as usize] += 1);
        let owes = |way: &&Way| !way.hub && !way.gone && way.missing > 0 && way.asked != Time::NEVER;
        self.left == open().count() as u32
            && self.ways.iter().zip(missing).all(|(way, missing)| way.missing == missing && (missing == 0 || !way.gone))
            && self.line.busy == self.ways.iter().filter(owes).count() as u32
    }

    /// Removes an object from its path; returns whether it was the server's last missing one.
    pub fn comes_off(&mut self, way: u32) -> bool {
        let way = &mut self.ways[way as usize];
        way.missing -= 1;
        let was_last = !way.hub && way.missing == 0 && !way.gone;
        self.line.busy -= u32::from(was_last);
        was_last
    }

    /// Records a message from a machine; `via` is its likely path.
    pub fn heard_of(&mut self, now: Time, from: Node, via: u32, bytes: u64) {
        let root = self.root(via);
        let of_node = |way: &mut Way| (way.heard, way.period_bytes) = (now, way.period_bytes + bytes);
        match self.answers_for(root, from) {
            true => of_node(&mut self.ways[root as usize]),
            // A late message came by another path.
            false => self.ways.iter_mut().filter(|way| way.node == from).for_each(of_node),
        }
    }

    /// Ends a period: computes each root's speed while it had data, and whether it still owes more than this many objects of a packet.
    pub fn measure(&mut self, began: Time, now: Time, of_packet: u64) {
        let missing = self.missing_by_root();
        for (way, missing) in self.ways.iter_mut().zip(missing) {
            let bytes = std::mem::take(&mut way.period_bytes);
            let ended = if missing > 0 { now } else { way.heard };
            if missing > 0 || bytes > 0 {
                way.real = Rate::of(bytes, ended.since(began.max(way.asked)));
            }
            way.backlog = u64::from(missing) > of_packet;
        }
    }

    /// Whether a message is a path's own response: from its machine, or from a machine without a request to which that one forwarded the
    /// request through a link.
    pub fn answers_for(&self, way: u32, from: Node) -> bool {
        self.ways[way as usize].node == from || !self.ways.iter().any(|way| way.node == from)
    }

    /// The root above a path.
    pub fn root(&self, mut way: u32) -> u32 {
        while let Some(parent) = self.ways[way as usize].parent {
            way = parent;
        }
        way
    }

    /// Missing objects of each root, by path; zero for others.
    pub fn missing_by_root(&self) -> Vec<u32> {
        let mut missing = vec![0; self.ways.len()];
        for (way, number) in self.ways.iter().zip(0..) {
            missing[self.root(number) as usize] += way.missing;
        }
        missing
    }

    /// Live hub of a rack.
    pub fn hub_of(&self, rack: u32) -> Option<u32> {
        let way = self.ways.iter().position(|way| way.is_hub() && way.rack == rack)?;
        Some(way as u32)
    }
}
