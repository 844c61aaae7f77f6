//! State of a request: its objects, and the path of each.

use fanin_fanout::{ServerQueue, Window};
use fanin_units::{Rate, Time};

use crate::wire::{Node, Tag};

/// State of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not requested.
    NotRequested,
    /// Requested through [`ObjectRequest::via`].
    Requested,
    /// To be requested through another hub once the current one confirms that it will not send it.
    Moving(u32),
    /// Received, missed or failed.
    Done,
}

/// An object of a request.
#[derive(Clone, Debug)]
pub(super) struct ObjectRequest<K> {
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

impl<K> ObjectRequest<K> {
    /// Its server, if no other one was asked.
    pub fn only_holder(&self) -> Option<Node> {
        (self.tries == 1 && self.redirected == 0).then_some(self.holder)
    }
}

/// A path: a hub, or a data server that is asked directly.
#[derive(Clone, Debug)]
pub(super) struct Path {
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

impl Path {
    pub fn to(node: Node, rack: u32, at: Time) -> Path {
        Path {
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
    pub object_requests: Vec<ObjectRequest<K>>,
    /// Number of unfinished objects.
    pub left: u32,
    pub paths: Vec<Path>,
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
    /// Number of objects before the next path.
    pub objects_asked: u32,
    /// The servers of the first paths; repeated requests have later ones.
    pub servers: ServerQueue,
}

impl Path {
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
        let open = || self.object_requests.iter().filter(|object_request| object_request.state != State::Done);
        let mut missing = vec![0; self.paths.len()];
        open().for_each(|object_request| missing[object_request.via as usize] += 1);
        let missing_objects = |path: &&Path| !path.hub && !path.gone && path.missing > 0 && path.asked != Time::NEVER;
        self.left == open().count() as u32
            && self
                .paths
                .iter()
                .zip(missing)
                .all(|(path, missing)| path.missing == missing && (missing == 0 || !path.gone))
            && self.line.servers.busy() == self.paths.iter().filter(missing_objects).count() as u32
    }

    /// Removes an object from its path; returns whether it was the server's last missing one.
    pub fn remove_object(&mut self, path: u32) -> bool {
        let path = &mut self.paths[path as usize];
        path.missing -= 1;
        let was_last = !path.hub && path.missing == 0 && !path.gone;
        if was_last {
            self.line.servers.end();
        }
        was_last
    }

    /// Records a message from a machine; `via` is its likely path.
    pub fn record_message(&mut self, now: Time, from: Node, via: u32, bytes: u64) {
        let root = self.root(via);
        let of_node = |path: &mut Path| (path.heard, path.period_bytes) = (now, path.period_bytes + bytes);
        match self.answers_for(root, from) {
            true => of_node(&mut self.paths[root as usize]),
            // A late message came by another path.
            false => self.paths.iter_mut().filter(|path| path.node == from).for_each(of_node),
        }
    }

    /// Ends a period: computes each root's speed while it had data, and whether it still owes more than this many objects of a packet.
    pub fn measure(&mut self, began: Time, now: Time, of_packet: u64) {
        let missing = self.missing_by_root();
        for (path, missing) in self.paths.iter_mut().zip(missing) {
            let bytes = std::mem::take(&mut path.period_bytes);
            let ended = if missing > 0 { now } else { path.heard };
            if missing > 0 || bytes > 0 {
                path.real = Rate::of(bytes, ended.since(began.max(path.asked)));
            }
            path.backlog = u64::from(missing) > of_packet;
        }
    }

    /// Whether a message is a path's own response: from its machine, or from a machine without a request to which that one forwarded the
    /// request through a link.
    pub fn answers_for(&self, path: u32, from: Node) -> bool {
        self.paths[path as usize].node == from || !self.paths.iter().any(|path| path.node == from)
    }

    /// Whether a machine was asked for the objects of a path, or is the root above it. Agents forward no requests, so that an object
    /// from another machine is a forgery, or late.
    pub fn asks_through(&self, path: u32, from: Node) -> bool {
        [path, self.root(path)].iter().any(|&path| self.paths[path as usize].node == from)
    }

    /// The root above a path.
    pub fn root(&self, mut path: u32) -> u32 {
        while let Some(parent) = self.paths[path as usize].parent {
            path = parent;
        }
        path
    }

    /// Missing objects of each root, by path; zero for others.
    pub fn missing_by_root(&self) -> Vec<u32> {
        let mut missing = vec![0; self.paths.len()];
        for (path, number) in self.paths.iter().zip(0..) {
            missing[self.root(number) as usize] += path.missing;
        }
        missing
    }

    /// Live hub of a rack.
    pub fn hub_of(&self, rack: u32) -> Option<u32> {
        let path = self.paths.iter().position(|path| path.is_hub() && path.rack == rack)?;
        Some(path as u32)
    }
}
