//! Objects that a hub collects for one request, and the packets in which it sends them on.

use std::collections::VecDeque;

use fanin_fanout::packing;
use fanin_units::{Rate, Time};

use super::params::Params;
use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};

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
    /// Its share of the link, if that is limited.
    pub share: Option<Rate>,
    /// Missing objects, children's included.
    pub left: u32,
    /// Sorted indices of the objects, apart from them for cache efficiency.
    pub indices: Vec<u32>,
    /// The objects, in the same order.
    pub objects: Vec<Object<K>>,
    /// Positions of queued objects, in order; others in it are skipped.
    pub wanted: VecDeque<u32>,
    /// Whether it is in the list of requests with queued objects.
    pub hungry: bool,
    /// Request times and positions of outstanding objects; received ones are skipped.
    pub asked: VecDeque<(Time, u32)>,
    pub waiting: VecDeque<Waiting<K, V>>,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Memory of the request and its objects, if that is limited.
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

impl<K: Part + Clone, V: Part> Slot<K, V> {
    /// Sends responses that are due, and finds the next due time.
    pub fn send(&mut self, now: Time, params: &Params, out: &mut Outputs<K, V>) {
        self.gathering.send(now, params, out);
        self.alarm = self.gathering.alarm(params);
    }
}

impl<K: Part + Clone, V: Part> Gathering<K, V> {
    /// A request without objects yet; its destination may take nothing for now.
    pub fn new(tag: Tag, swarm: &Swarm, is_stopped: bool, now: Time) -> Gathering<K, V> {
        Gathering {
            tag,
            parent: swarm.parent,
            rate: swarm.rate,
            strained: None,
            share: None,
            left: swarm.all,
            indices: Vec::new(),
            objects: Vec::new(),
            wanted: VecDeque::new(),
            hungry: false,
            asked: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            state: 0,
            is_stopped,
            packet: Packet::default(),
            sent: (now, 0),
            heard: now,
        }
    }

    pub fn find(&self, index: u32) -> Result<usize, usize> {
        // Front ends request objects in order.
        if self.indices.last().is_none_or(|&last| last < index) {
            return Err(self.indices.len());
        }
        self.indices.binary_search(&index)
    }

    /// Inserts an object, and shifts later positions.
    pub fn insert(&mut self, place: usize, index: u32, object: Object<K>) {
        if place < self.objects.len() {
            let behind = |other: &&mut u32| **other as usize >= place;
            let asked = self.asked.iter_mut().map(|(_, other)| other);
            self.wanted.iter_mut().chain(asked).filter(behind).for_each(|other| *other += 1);
        }
        self.indices.insert(place, index);
        self.objects.insert(place, object);
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
        self.waiting.push_back(Waiting { len, message, since: now });
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

    /// Determines the next packet.
    pub fn fill(&mut self, params: &Params) {
        let of_packet = if params.packs { self.waiting.len() } else { self.waiting.len().min(1) };
        let (count, bytes) = packing::fill(params.room, self.waiting.range(..of_packet).map(|waiting| waiting.len));
        let full = !params.packs || count < self.waiting.len() || bytes >= params.room;
        self.packet = Packet { count, bytes, full };
    }

    /// When the next packet may be sent; `NEVER` if nothing waits.
    pub fn next(&self, params: &Params) -> Time {
        let Some(first) = self.waiting.front().filter(|_| !self.is_stopped) else { return Time::NEVER };
        let due = packing::due(first.since, self.packet.full, self.left == 0, first.since, params.linger);
        due.max(self.free_at())
    }

    /// When the last packet ends at the current speed.
    pub fn free_at(&self) -> Time {
        let (began, bytes) = self.sent;
        match self.speed() {
            Rate(0) => began,
            rate => began.saturating_add(rate.time_for(bytes)),
        }
    }

    /// Sends packets that are due.
    pub fn send(&mut self, now: Time, params: &Params, out: &mut Outputs<K, V>) {
        loop {
            let due = self.next(params);
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
            for (left, waiting) in (0..count).rev().zip(self.waiting.drain(..count)) {
                out.push(Output::Send { to, message: waiting.message, more: left > 0 });
            }
            self.fill(params);
        }
    }

    /// Next due time.
    pub fn alarm(&self, params: &Params) -> Time {
        let answer = self.asked.front().map_or(Time::NEVER, |(at, _)| at.saturating_add(params.timeout));
        answer.min(self.next(params)).min(self.heard.saturating_add(params.forget))
    }

    /// Zero: unlimited.
    pub fn speed(&self) -> Rate {
        let assigned = Some(self.rate).filter(|rate| rate.0 > 0);
        [assigned, self.strained, self.share].into_iter().flatten().min().unwrap_or(Rate(0))
    }
}
