//! One request under way: its objects, and through whom each is asked for.

use fanin_fanout::Window;
use fanin_units::{Rate, Time};

use crate::wire::{Node, Tag};

/// How it stands with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was not asked for yet.
    Unasked,
    /// It is asked for through [`Wish::via`].
    Asked,
    /// It is to be asked for through another hub, as soon as the present one has said that it will not send it.
    Moving(u32),
    /// It is there, missing or given up.
    Done,
}

/// One object of a request.
#[derive(Clone, Debug)]
pub(super) struct Wish<K> {
    pub key: K,
    pub holder: Node,
    /// Through whom, among the request's ways.
    pub via: u32,
    pub state: State,
    /// How often it was asked for.
    pub tries: u8,
    /// How often it was redirected.
    pub redirected: u8,
}

/// Who is asked: a hub, or a data server itself.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub node: Node,
    pub rack: u32,
    /// Of a hub below another one.
    pub parent: Option<u32>,
    /// Who takes the hub's place when it is gone.
    pub backup: Option<Node>,
    /// Whether it is a hub.
    pub hub: bool,
    /// Objects asked for through it that are not there, children's apart.
    pub missing: u32,
    /// When it was asked, and when something was last heard of it or through it; `NEVER` before it is asked.
    pub asked: Time,
    pub heard: Time,
    /// Bytes that came from it, or through it, in this period, with those of packets.
    pub period_bytes: u64,
    /// How fast it sent in the last period in which it had something to send.
    pub real: Rate,
    /// Whether it owed more than a packet at the end of the last period.
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
    /// Objects that are not done.
    pub left: u32,
    pub ways: Vec<Way>,
    /// Of servers that are asked one after another.
    pub line: Line,
    /// How many of them at once, where that is not the front end's for all its requests.
    pub window: Option<Window>,
}

/// Servers in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Objects in the order of the servers that have them, each behind its server's way.
    pub objects: Vec<(u32, u32)>,
    /// Ways that stand in the line: those of objects that are asked for elsewhere come behind.
    pub ways: u32,
    /// Objects of the ways before the next one to ask.
    pub objects_asked: u32,
    /// The next way to ask.
    pub next: u32,
    /// The first that may be late.
    pub oldest: u32,
    /// Servers that were asked and have not answered whole.
    pub busy: u32,
}

impl Way {
    /// Whether it sends to the front end itself.
    pub fn is_root(&self) -> bool {
        self.parent.is_none() && !self.gone
    }

    /// Whether it is a hub still.
    pub fn is_hub(&self) -> bool {
        self.hub && !self.gone
    }
}

impl<K> Request<K> {
    /// Whether what is counted is what there is.
    pub fn adds_up(&self) -> bool {
        let open = || self.wishes.iter().filter(|wish| wish.state != State::Done);
        let mut missing = vec![0; self.ways.len()];
        open().for_each(|wish| missing[wish.via as usize] += 1);
        let owes = |way: &&Way| !way.hub && !way.gone && way.missing > 0 && way.asked != Time::NEVER;
        self.left == open().count() as u32
            && self.ways.iter().zip(missing).all(|(way, missing)| way.missing == missing && (missing == 0 || !way.gone))
            && self.line.busy == self.ways.iter().filter(owes).count() as u32
    }

    /// An object does not come through its way any more, or has come: whether it was the last that was waited for of a server.
    pub fn comes_off(&mut self, way: u32) -> bool {
        let way = &mut self.ways[way as usize];
        way.missing -= 1;
        let was_last = !way.hub && way.missing == 0 && !way.gone;
        self.line.busy -= u32::from(was_last);
        was_last
    }

    /// A machine of this request was heard of; `via`: perhaps it is that way's.
    pub fn heard_of(&mut self, now: Time, from: Node, via: u32, bytes: u64) {
        let root = self.root(via);
        let of_node = |way: &mut Way| (way.heard, way.period_bytes) = (now, way.period_bytes + bytes);
        match self.answers_for(root, from) {
            true => of_node(&mut self.ways[root as usize]),
            // What comes late comes by another way.
            false => self.ways.iter_mut().filter(|way| way.node == from).for_each(of_node),
        }
    }

    /// A period that began then is over: how fast each root sent, while it had something to send, and whether it owes more than so
    /// many objects of a packet.
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

    /// Whether what one says is a way's own answer: of whom it leads to, or of one who was asked for nothing, to whom that one passed
    /// the question on, as he has a link to where the object is now.
    pub fn answers_for(&self, way: u32, from: Node) -> bool {
        self.ways[way as usize].node == from || !self.ways.iter().any(|way| way.node == from)
    }

    /// The way that goes to the front end itself, from this one on.
    pub fn root(&self, mut way: u32) -> u32 {
        while let Some(parent) = self.ways[way as usize].parent {
            way = parent;
        }
        way
    }

    /// Objects that each root has yet to deliver, by way; zero of what is no root.
    pub fn missing_by_root(&self) -> Vec<u32> {
        let mut missing = vec![0; self.ways.len()];
        for (way, number) in self.ways.iter().zip(0..) {
            missing[self.root(number) as usize] += way.missing;
        }
        missing
    }

    /// A rack's hub, unless it is gone.
    pub fn hub_of(&self, rack: u32) -> Option<u32> {
        let way = self.ways.iter().position(|way| way.is_hub() && way.rack == rack)?;
        Some(way as u32)
    }
}
