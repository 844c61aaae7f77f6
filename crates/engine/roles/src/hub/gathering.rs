//! Objects that a hub collects for one request, and the packets in which it sends them on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fanin_fanout::packing;
use fanin_units::{Rate, Time};

use super::params::Params;
use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};

/// A request: its front end and its number.
pub type Key = (Node, u32);

/// Stage of an object at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Queued.
    Wanted,
    /// Requested at this time.
    Requested(Time),
    /// Requested at this time, but withdrawn since.
    Unwanted(Time),
    /// Received, given up or returned.
    Over,
}

/// A requested object.
#[derive(Clone, Copy, Debug)]
pub struct Object<K> {
    pub key: K,
    pub holder: Node,
    pub stage: Stage,
}

impl<K> Object<K> {
    /// Whether a response is outstanding.
    pub fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Requested(_) | Stage::Unwanted(_))
    }
}

/// A message to forward.
#[derive(Clone, Debug)]
pub struct Waiting<K, V> {
    pub message: Message<K, V>,
    pub len: u32,
    pub since: Time,
}

/// The next packet: the first waiting messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    pub count: usize,
    pub bytes: u32,
    /// Nothing more fits.
    pub full: bool,
}

/// Objects collected for one request.
#[derive(Clone, Debug)]
pub struct Gathering<K, V> {
    pub tag: Tag,
    pub parent: Node,
    /// Zero: unlimited.
    pub rate: Rate,
    /// Limit while the machine is busy.
    pub strained: Option<Rate>,
    /// Whether the front end has made this a hub of the request, not only named its children; and these, on a real machine.
    pub is_made: bool,
    pub children: BTreeSet<Node>,
    /// Missing objects, children's included.
    pub left: u32,
    /// Indices of the objects in the order in which they were requested, apart from them for cache efficiency.
    indices: Vec<u32>,
    /// Their positions by index, unless they are sorted.
    unsorted: BTreeMap<u32, u32>,
    /// The objects, in the same order as their indices.
    pub objects: Vec<Object<K>>,
    /// Positions of queued objects, in order; others in it are skipped.
    pub wanted: VecDeque<u32>,
    /// Its turn among the requests with queued objects.
    pub hungry: Option<u64>,
    /// Request times and positions of outstanding objects; received ones are skipped.
    pub asked: VecDeque<(Time, u32)>,
    /// Messages to forward, in order, and where those of an index are.
    waiting: BTreeMap<u64, Waiting<K, V>>,
    places: BTreeSet<(u32, u64)>,
    next: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Their memory, as it was last counted, and that of the request and its objects, if they are limited.
    pub counted: u64,
    pub state: u64,
    /// Whether the destination takes nothing for now.
    pub is_stopped: bool,
    pub packet: Packet,
    /// Start of the last packet, and its bytes on the wire.
    pub sent: (Time, u64),
    /// Time of the last message.
    pub heard: Time,
}

/// A request's collection and its next due time, which is checked more often than the rest.
#[derive(Clone, Debug)]
pub struct Slot<K, V> {
    pub alarm: Time,
    pub gathering: Box<Gathering<K, V>>,
}

impl<K: Part + Clone, V: Part> Gathering<K, V> {
    /// A request without objects yet; its destination may take nothing for now.
    pub fn new(tag: Tag, swarm: &Swarm, is_stopped: bool, now: Time) -> Gathering<K, V> {
        Gathering {
            tag,
            parent: swarm.parent,
            rate: swarm.rate,
            strained: None,
            is_made: true,
            children: BTreeSet::new(),
            left: swarm.all,
            indices: Vec::new(),
            unsorted: BTreeMap::new(),
            objects: Vec::new(),
            wanted: VecDeque::new(),
            hungry: None,
            asked: VecDeque::new(),
            waiting: BTreeMap::new(),
            places: BTreeSet::new(),
            next: 0,
            waiting_bytes: 0,
            counted: 0,
            state: 0,
            is_stopped,
            packet: Packet::default(),
            sent: (now, 0),
            heard: now,
        }
    }

    /// Position of an object.
    pub fn find(&self, index: u32) -> Option<usize> {
        if !self.unsorted.is_empty() {
            return self.unsorted.get(&index).map(|place| *place as usize);
        }
        // Front ends request objects in order.
        if self.indices.last().is_none_or(|&last| last < index) {
            return None;
        }
        self.indices.binary_search(&index).ok()
    }

    /// Adds an object with a new index; returns its position.
    pub fn add(&mut self, index: u32, object: Object<K>) -> usize {
        let place = self.indices.len();
        if self.unsorted.is_empty() && self.indices.last().is_some_and(|&last| index < last) {
            self.unsorted = self.indices.iter().copied().zip(0..).collect();
        }
        if !self.unsorted.is_empty() {
            self.unsorted.insert(index, place as u32);
        }
        self.indices.push(index);
        self.objects.push(object);
        place
    }

    /// Positions of all objects, sorted by index.
    pub fn in_order(&self) -> Vec<usize> {
        match self.unsorted.is_empty() {
            true => (0..self.indices.len()).collect(),
            false => self.unsorted.values().map(|place| *place as usize).collect(),
        }
    }

    /// Index of the object at a position.
    pub fn index(&self, place: usize) -> u32 {
        self.indices[place]
    }

    /// Whether an object requested at this time is outstanding.
    pub fn is_out_since(&self, at: Time, place: u32) -> bool {
        let stage = self.objects[place as usize].stage;
        stage == Stage::Requested(at) || stage == Stage::Unwanted(at)
    }

    pub fn pass_over_what_came(&mut self) {
        while self.asked.front().is_some_and(|&(at, place)| !self.is_out_since(at, place)) {
            self.asked.pop_front();
        }
    }

    /// Requests an object from its server.
    pub fn ask(&mut self, now: Time, place: usize) -> Output<K, V> {
        let object = &mut self.objects[place];
        object.stage = Stage::Requested(now);
        self.asked.push_back((now, place as u32));
        let message = Message { tag: self.tag, index: self.indices[place], body: Body::Get(object.key.clone()) };
        Output::Send { to: object.holder, message, more: false }
    }

    /// Gives up an outstanding object; returns the number of objects that this frees in the window.
    pub fn give_up(&mut self, now: Time, place: usize, params: &Params) -> u32 {
        let object = &mut self.objects[place];
        let wanted = matches!(object.stage, Stage::Requested(_));
        object.stage = Stage::Over;
        let (index, holder) = (self.indices[place], object.holder);
        if wanted {
            self.left = self.left.saturating_sub(1);
            self.keep(now, Message { tag: self.tag, index, body: Body::Lost }, params);
        }
        u32::from(params.counts(holder))
    }

    /// Queues a message to forward.
    pub fn keep(&mut self, now: Time, message: Message<K, V>, params: &Params) {
        let len = message.len() as u32;
        self.places.insert((message.index, self.next));
        self.waiting.insert(self.next, Waiting { len, message, since: now });
        self.next += 1;
        self.waiting_bytes += u64::from(len);
        let Packet { count, bytes, full } = self.packet;
        if count == 0 {
            self.fill(params);
        } else if !full {
            let (both, bytes) = packing::fill(params.room, [bytes, len].into_iter());
            let full = both < 2 || bytes >= params.room;
            self.packet = Packet { count: count + both - 1, bytes, full };
        }
    }

    /// Whether a message about an object waits.
    pub fn has_waiting(&self, index: u32) -> bool {
        self.places.range((index, 0)..=(index, u64::MAX)).next().is_some()
    }

    /// Removes the first message about an object that waits; returns whether there was one.
    pub fn remove_waiting(&mut self, index: u32, params: &Params) -> bool {
        let Some(&(_, place)) = self.places.range((index, 0)..=(index, u64::MAX)).next() else { return false };
        self.places.remove(&(index, place));
        self.waiting_bytes -= self.waiting.remove(&place).map_or(0, |waiting| waiting.len.into());
        self.fill(params);
        true
    }

    /// Drops all messages that wait.
    pub fn drop_waiting(&mut self) {
        self.waiting.clear();
        self.places.clear();
        self.waiting_bytes = 0;
    }

    /// Whether messages wait.
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Memory of messages that wait: the trees that they are in may be half empty.
    pub fn memory_of(messages: u64, bytes: u64) -> u64 {
        bytes + 2 * messages * size_of::<(u64, Waiting<K, V>, u32, u64)>() as u64
    }

    /// Memory of its messages that wait.
    pub fn waiting_memory(&self) -> u64 {
        Self::memory_of(self.waiting.len() as u64, self.waiting_bytes)
    }

    /// Determines the next packet.
    fn fill(&mut self, params: &Params) {
        let of_packet = if params.packs { self.waiting.len() } else { self.waiting.len().min(1) };
        let (count, bytes) =
            packing::fill(params.room, self.waiting.values().take(of_packet).map(|waiting| waiting.len));
        let full = !params.packs || count < self.waiting.len() || bytes >= params.room;
        self.packet = Packet { count, bytes, full };
    }

    /// When the next packet may be sent; `NEVER` if nothing waits.
    fn due(&self, params: &Params, share: Option<Rate>) -> Time {
        let Some((_, first)) = self.waiting.first_key_value().filter(|_| !self.is_stopped) else { return Time::NEVER };
        let due = packing::due(first.since, self.packet.full, self.left == 0, first.since, params.linger);
        due.max(self.free_at(share))
    }

    /// When the last packet ends at the current speed.
    fn free_at(&self, share: Option<Rate>) -> Time {
        let (began, bytes) = self.sent;
        match self.speed(share) {
            Rate(0) => began,
            rate => began.saturating_add(rate.time_for(bytes)),
        }
    }

    /// Sends packets that are due, with this share of the link, if that is limited.
    pub fn send(&mut self, now: Time, params: &Params, share: Option<Rate>, out: &mut Outputs<K, V>) {
        loop {
            let due = self.due(params, share);
            if due > now {
                return;
            }
            let Packet { count, bytes, .. } = self.packet;
            let packets = u64::from(bytes.div_ceil(params.room));
            self.sent = (
                due.max(Time(now.0.saturating_sub(params.behind.0))),
                u64::from(bytes) + packets * u64::from(params.overhead),
            );
            let to = self.parent;
            self.waiting_bytes -= u64::from(bytes);
            for left in (0..count).rev() {
                let Some((place, Waiting { message, .. })) = self.waiting.pop_first() else { break };
                self.places.remove(&(message.index, place));
                out.push(Output::Send { to, message, more: left > 0 });
            }
            self.fill(params);
        }
    }

    /// Next due time.
    pub fn alarm(&self, params: &Params, share: Option<Rate>) -> Time {
        let answer = self.asked.front().map_or(Time::NEVER, |(at, _)| at.saturating_add(params.timeout));
        answer.min(self.due(params, share)).min(self.heard.saturating_add(params.forget))
    }

    /// Zero: unlimited.
    pub fn speed(&self, share: Option<Rate>) -> Rate {
        let assigned = Some(self.rate).filter(|rate| rate.0 > 0);
        [assigned, self.strained, share].into_iter().flatten().min().unwrap_or(Rate(0))
    }
}
