//! Hub of a swarm: requests objects from the servers of its rack, collects and packs the responses, and forwards them at the speed that
//! the front end assigned (SICC, sections 3.1 to 3.3).
//!
//! Its outstanding bytes stay under a window, or its rack's responses would cause incast themselves. Responses of its children are
//! forwarded the same way, without parsing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fanin_fanout::packing;
use fanin_units::{Bytes, Rate, Time};

use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};

/// Settings of a hub.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// This machine. Its own objects come first; they do not count for the window, unless there are limits.
    pub me: Node,
    /// Payload of a packet.
    pub room: u32,
    /// Other bytes of a packet, which count for the speed.
    pub overhead: u32,
    /// Whether packets hold several objects.
    pub packs: bool,
    /// Maximum time that a packet waits to fill.
    pub linger: Time,
    /// Limit of outstanding bytes; always at least one object.
    pub window: Bytes,
    /// Assumed object size until the first is known.
    pub mean_object: Bytes,
    /// Timeout for a server's response.
    pub timeout: Time,
    /// Time without messages after which a request is dropped, since its front end is gone.
    pub forget: Time,
    /// Limits of a real machine; none in a simulation.
    pub limits: Option<Limits>,
    /// Time by which sending may be behind its speed and catch up: the resolution of the host's clock; zero if that is exact.
    pub behind: Time,
}

/// Limits of a hub on a real machine. With them, requests of several front ends get objects by turns.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that wait to be sent. A front end may have as many as are free; then no further objects are requested for it.
    pub waiting: Bytes,
    /// Rate of its link, which front ends, and then their requests, share equally.
    pub link: Rate,
}

impl Params {
    /// Whether outstanding objects of a server count for the window.
    fn counts(&self, holder: Node) -> bool {
        holder != self.me || self.limits.is_some()
    }
}

/// Stage of an object at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
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
struct Object<K> {
    key: K,
    holder: Node,
    stage: Stage,
}

impl<K> Object<K> {
    /// Whether a response is outstanding.
    fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Requested(_) | Stage::Unwanted(_))
    }
}

/// A message to forward.
#[derive(Clone, Debug)]
struct Waiting<K, V> {
    message: Message<K, V>,
    len: u32,
    since: Time,
}

/// The next packet: the first waiting messages.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    count: usize,
    bytes: u32,
    /// Nothing more fits.
    full: bool,
}

/// Objects collected for one request.
#[derive(Clone, Debug)]
struct Gathering<K, V> {
    tag: Tag,
    parent: Node,
    /// Zero: unlimited.
    rate: Rate,
    /// Limit while the machine is busy.
    strained: Option<Rate>,
    /// Its share of the link, if that is limited.
    share: Option<Rate>,
    /// Missing objects, children's included.
    left: u32,
    /// Sorted indices of the objects, apart from them for cache efficiency.
    indices: Vec<u32>,
    /// The objects, in the same order.
    objects: Vec<Object<K>>,
    /// Positions of queued objects, in order; others in it are skipped.
    wanted: VecDeque<u32>,
    /// Whether it is in the list of requests with queued objects.
    hungry: bool,
    /// Request times and positions of outstanding objects; received ones are skipped.
    asked: VecDeque<(Time, u32)>,
    waiting: VecDeque<Waiting<K, V>>,
    /// Bytes of these.
    waiting_bytes: u64,
    /// Whether the destination takes nothing for now.
    is_stopped: bool,
    packet: Packet,
    /// Start of the last packet, and its bytes on the wire.
    sent: (Time, u64),
    /// Time of the last message.
    heard: Time,
}

type Key = (Node, u32);

/// A request's collection and its next due time, which is checked more often than the rest.
#[derive(Clone, Debug)]
struct Slot<K, V> {
    alarm: Time,
    gathering: Box<Gathering<K, V>>,
}

/// State of a hub.
#[derive(Clone, Debug)]
pub struct Hub<K, V> {
    params: Params,
    /// Estimated size of an object.
    mean: u64,
    /// Number of outstanding objects of other machines.
    out: u32,
    gatherings: BTreeMap<Key, Slot<K, V>>,
    /// Requests with queued objects, in turn.
    hungry: VecDeque<Key>,
    /// Destinations that take nothing for now.
    stopped: BTreeSet<Node>,
    /// Lower bound of the next due time.
    alarm: Time,
}

fn key(tag: Tag) -> Key {
    (tag.origin, tag.request)
}

impl<K: Part + Clone, V: Part> Hub<K, V> {
    /// A hub without requests.
    pub fn new(params: Params) -> Hub<K, V> {
        Hub {
            params,
            mean: params.mean_object.0,
            out: 0,
            gatherings: BTreeMap::new(),
            hungry: VecDeque::new(),
            stopped: BTreeSet::new(),
            alarm: Time::NEVER,
        }
    }

    /// Whether it waits for this object, so that other roles on its machine ignore the response.
    pub fn waits_for(&self, tag: Tag, index: u32) -> bool {
        let gathering = self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag);
        gathering.is_some_and(|g| g.find(index).is_ok_and(|place| g.objects[place].is_out()))
    }

    /// Number of missing objects over all requests.
    pub fn missing_objects(&self) -> u32 {
        self.gatherings.values().map(|slot| slot.gathering.left).sum()
    }

    /// Whether it collects objects for a front end.
    pub fn serves(&self, front_end: Node) -> bool {
        self.gatherings.range((front_end, 0)..=(front_end, u32::MAX)).next().is_some()
    }

    /// Number of requests.
    pub fn open_requests(&self) -> usize {
        self.gatherings.len()
    }

    /// Bytes that wait to be sent.
    pub fn waiting_bytes(&self) -> u64 {
        self.gatherings.values().map(|slot| slot.gathering.waiting_bytes).sum()
    }

    /// Stops to send to a machine, which does not take more for now.
    pub fn stop_sending(&mut self, to: Node) {
        self.stopped.insert(to);
        self.set_stopped(to, true);
    }

    /// Sends to a machine again.
    pub fn send_again(&mut self, now: Time, to: Node, out: &mut Outputs<K, V>) {
        if self.stopped.remove(&to) {
            self.set_stopped(to, false);
            self.gatherings.values_mut().filter(|slot| slot.gathering.parent == to).for_each(|slot| slot.alarm = now);
            self.go_on(now, out);
        }
    }

    fn set_stopped(&mut self, to: Node, is_stopped: bool) {
        let to_it = self.gatherings.values_mut().filter(|slot| slot.gathering.parent == to);
        to_it.for_each(|slot| slot.gathering.is_stopped = is_stopped);
    }

    /// Handles a message.
    pub fn handle(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let (tag, index) = (message.tag, message.index);
        match message.body {
            Body::Swarm(swarm) => self.gather(now, tag, &swarm),
            Body::Ask { key, holder } => self.want(now, tag, index, key, holder, out),
            Body::Object(_) | Body::Miss | Body::Lost => self.arrived(now, message, out),
            Body::Speed(rate) => {
                if let Some(gathering) = self.of(tag, now) {
                    gathering.rate = rate;
                }
            }
            Body::Withdraw => self.withdraw(now, tag, index, out),
            Body::Over => {
                if self.of(tag, now).is_some() {
                    self.forget(key(tag));
                }
            }
            Body::Get(_) | Body::Pass { .. } | Body::Withdrawn | Body::Load(_) => {}
        }
        self.ask(now, out);
        self.split_link();
        if let Some(slot) = self.gatherings.get_mut(&key(tag)) {
            slot.send(now, &self.params, out);
            self.alarm = self.alarm.min(slot.alarm);
        }
        self.ask_if_room(now, out);
    }

    /// Handles the loss of a machine: its responses are lost, and its own requests are dropped.
    pub fn gone(&mut self, now: Time, peer: Node, out: &mut Outputs<K, V>) {
        self.forget_all(|gathering| gathering.tag.origin == peer);
        for Slot { alarm, gathering } in self.gatherings.values_mut() {
            *alarm = now;
            for place in 0..gathering.objects.len() {
                let object = &gathering.objects[place];
                if object.holder == peer && object.is_out() {
                    self.out -= gathering.give_up(now, place, &self.params);
                }
            }
        }
        self.go_on(now, out);
    }

    /// The connection to another hub is gone, and maybe responses with it: the front end learns which those may be, and gets the others
    /// directly.
    pub fn parent_lost(&mut self, now: Time, parent: Node, out: &mut Outputs<K, V>) {
        let below = |slot: &&mut Slot<K, V>| slot.gathering.parent == parent && slot.gathering.tag.origin != parent;
        for Slot { alarm, gathering } in self.gatherings.values_mut().filter(below) {
            let origin = gathering.tag.origin;
            (gathering.parent, gathering.is_stopped) = (origin, self.stopped.contains(&origin));
            *alarm = now;
            let sent = |index: &u32| !gathering.waiting.iter().any(|waiting| waiting.message.index == *index);
            let over =
                gathering.indices.iter().zip(&gathering.objects).filter(|(_, object)| object.stage == Stage::Over);
            for &index in over.map(|(index, _)| index).filter(|index| sent(index)) {
                let message = Message { tag: gathering.tag, index, body: Body::Lost };
                out.push(Output::Send { to: origin, message, more: false });
            }
        }
        self.go_on(now, out);
    }

    /// Does work that is due.
    pub fn due(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let Params { forget, timeout, .. } = self.params;
        let is_due = |slot: &&mut Slot<K, V>| slot.alarm <= now;
        let mut any_old = false;
        for Slot { gathering, .. } in self.gatherings.values_mut().filter(is_due) {
            any_old |= gathering.heard.saturating_add(forget) <= now;
            while let Some(&(at, place)) = gathering.asked.front().filter(|(at, _)| at.saturating_add(timeout) <= now) {
                gathering.asked.pop_front();
                if gathering.is_out_since(at, place) {
                    self.out -= gathering.give_up(now, place as usize, &self.params);
                }
            }
        }
        if any_old {
            self.forget_all(|gathering| gathering.heard.saturating_add(forget) <= now);
        }
        self.go_on(now, out);
    }

    /// Latest time for the next call of [`Hub::due`]; `NEVER` if nothing waits.
    pub fn deadline(&self) -> Time {
        self.alarm
    }

    /// Limits the speed of a request while the machine is busy.
    pub fn limit_speed(&mut self, tag: Tag, rate: Rate) {
        if let Some(slot) = self.gatherings.get_mut(&key(tag)).filter(|slot| slot.gathering.tag == tag) {
            slot.gathering.strained = Some(rate);
        }
    }

    /// The collection of a request; none for an earlier incarnation of its front end.
    fn of(&mut self, tag: Tag, now: Time) -> Option<&mut Gathering<K, V>> {
        let slot = self.gatherings.get_mut(&key(tag)).filter(|slot| slot.gathering.tag == tag)?;
        slot.gathering.heard = now;
        Some(&mut slot.gathering)
    }

    /// Becomes the hub of a swarm, or gets a new destination.
    fn gather(&mut self, now: Time, tag: Tag, swarm: &Swarm) {
        let is_stopped = self.stopped.contains(&swarm.parent);
        if let Some(gathering) = self.of(tag, now) {
            (gathering.parent, gathering.rate) = (swarm.parent, swarm.rate);
            (gathering.left, gathering.is_stopped) = (swarm.all, is_stopped);
            return;
        }
        let ours = |gathering: &Gathering<K, V>| gathering.tag.origin == tag.origin;
        if self.gatherings.values().any(|slot| ours(&slot.gathering) && tag.is_before(slot.gathering.tag)) {
            return;
        }
        self.forget_all(|gathering| ours(gathering) && gathering.tag.is_before(tag));
        let gathering = Gathering {
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
            is_stopped,
            packet: Packet::default(),
            sent: (now, 0),
            heard: now,
        };
        self.gatherings.insert(key(tag), Slot { alarm: now, gathering: Box::new(gathering) });
    }

    fn want(&mut self, now: Time, tag: Tag, index: u32, key: K, holder: Node, out: &mut Outputs<K, V>) {
        let params = self.params;
        let Some(gathering) = self.of(tag, now) else {
            // The hub has lost the swarm in a restart.
            let message = Message { tag, index, body: Body::Lost };
            out.push(Output::Send { to: tag.origin, message, more: false });
            return;
        };
        let place = match gathering.find(index) {
            Err(place) => {
                gathering.insert(place, index, Object { key, holder, stage: Stage::Over });
                place
            }
            Ok(place) => {
                match gathering.objects[place].stage {
                    Stage::Wanted | Stage::Requested(_) => return,
                    // The response is outstanding.
                    Stage::Unwanted(at) => return gathering.objects[place].stage = Stage::Requested(at),
                    Stage::Over if gathering.waiting.iter().any(|waiting| waiting.message.index == index) => {
                        return gathering.left = gathering.left.saturating_sub(1);
                    }
                    Stage::Over => gathering.objects[place].holder = holder,
                }
                place
            }
        };
        if !params.counts(holder) {
            out.push(gathering.ask(now, place));
        } else {
            gathering.objects[place].stage = Stage::Wanted;
            match holder == params.me {
                true => gathering.wanted.push_front(place as u32),
                false => gathering.wanted.push_back(place as u32),
            }
            if !std::mem::replace(&mut gathering.hungry, true) {
                self.hungry.push_back((tag.origin, tag.request));
            }
        }
    }

    /// Sends requests as the window allows.
    fn ask(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let (limits, mut skipped) = (self.params.limits, 0);
        while self.out == 0 || (u64::from(self.out) + 1) * self.mean <= self.params.window.0 {
            let Some(key) = self.hungry.front() else { return };
            if limits.is_some_and(|limits| !self.has_room(key.0, limits)) {
                // Others may have room.
                skipped += 1;
                if skipped >= self.hungry.len() {
                    return;
                }
                self.hungry.rotate_left(1);
                continue;
            }
            let Some(Slot { alarm, gathering }) = self.gatherings.get_mut(key) else {
                self.hungry.pop_front();
                continue;
            };
            let Some(place) = gathering.wanted.pop_front() else {
                gathering.hungry = false;
                self.hungry.pop_front();
                continue;
            };
            let place = place as usize;
            if gathering.objects[place].stage == Stage::Wanted {
                out.push(gathering.ask(now, place));
                self.out += 1;
                *alarm = now.saturating_add(self.params.timeout).min(*alarm);
                self.alarm = self.alarm.min(*alarm);
                skipped = 0;
                if limits.is_some() {
                    // The next request's turn.
                    self.hungry.rotate_left(1);
                }
            }
        }
    }

    /// Forwards a response of a server or a child.
    fn arrived(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let params = self.params;
        if let Body::Object(value) = &message.body {
            self.mean = ((self.mean * 7 + value.len() as u64) / 8).max(1);
        }
        let Some(gathering) = self.of(message.tag, now) else {
            // A child was faster than the front end, or the hub has restarted.
            out.push(Output::Send { to: message.tag.origin, message, more: false });
            return;
        };
        let (mut freed, mut wanted) = (0, true);
        if let Some(place) = gathering.find(message.index).ok().filter(|place| gathering.objects[*place].is_out()) {
            let object = &mut gathering.objects[place];
            freed = u32::from(params.counts(object.holder));
            wanted = matches!(object.stage, Stage::Requested(_));
            object.stage = Stage::Over;
            gathering.pass_over_what_came();
        }
        if wanted {
            gathering.left = gathering.left.saturating_sub(1);
            gathering.keep(now, message, &params);
        }
        self.out -= freed;
    }

    /// Withdraws an object, which the front end requests elsewhere, unless it has been sent.
    fn withdraw(&mut self, now: Time, tag: Tag, index: u32, out: &mut Outputs<K, V>) {
        let params = self.params;
        let Some(gathering) = self.of(tag, now) else { return };
        let found = gathering.find(index).ok().map(|place| &mut gathering.objects[place].stage);
        match found {
            Some(stage @ (Stage::Requested(_) | Stage::Wanted)) => {
                *stage = if let Stage::Requested(at) = *stage { Stage::Unwanted(at) } else { Stage::Over };
                gathering.left = gathering.left.saturating_sub(1);
            }
            _ => {
                let waits = gathering.waiting.iter().position(|waiting| waiting.message.index == index);
                let Some(place) = waits else { return };
                let removed = gathering.waiting.remove(place);
                gathering.waiting_bytes -= removed.map_or(0, |waiting| waiting.len.into());
                gathering.fill(&params);
            }
        }
        out.push(Output::Send { to: tag.origin, message: Message { tag, index, body: Body::Withdrawn }, more: false });
    }

    fn forget_all(&mut self, old: impl Fn(&Gathering<K, V>) -> bool) {
        while let Some(key) = self.gatherings.iter().find(|(_, slot)| old(&slot.gathering)).map(|(key, _)| *key) {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: Key) {
        if let Some(Slot { gathering, .. }) = self.gatherings.remove(&key) {
            let params = self.params;
            let counted = |object: &&Object<K>| params.counts(object.holder) && object.is_out();
            self.out -= gathering.objects.iter().filter(counted).count() as u32;
        }
        if self.gatherings.is_empty() {
            self.hungry.clear();
            self.alarm = Time::NEVER;
        }
    }

    /// Sends requests and responses that are due, and finds the next due time.
    fn go_on(&mut self, now: Time, out: &mut Outputs<K, V>) {
        self.ask(now, out);
        self.split_link();
        self.alarm = Time::NEVER;
        for slot in self.gatherings.values_mut() {
            if slot.alarm <= now {
                slot.send(now, &self.params, out);
            }
            self.alarm = self.alarm.min(slot.alarm);
        }
        self.ask_if_room(now, out);
    }

    /// After responses were sent: sends requests that there was no room for.
    fn ask_if_room(&mut self, now: Time, out: &mut Outputs<K, V>) {
        if self.params.limits.is_some() {
            self.ask(now, out);
        }
    }

    /// Whether a front end may have more responses that wait: no more than is free, so that one that does not read leaves room for others.
    fn has_room(&self, front_end: Node, limits: Limits) -> bool {
        let its = self.gatherings.range((front_end, 0)..=(front_end, u32::MAX));
        let its: u64 = its.map(|(_, slot)| slot.gathering.waiting_bytes).sum();
        its <= limits.waiting.0.saturating_sub(self.waiting_bytes())
    }

    /// Splits the link among the front ends that responses wait for, and each share among their requests.
    fn split_link(&mut self) {
        let Some(Limits { link, .. }) = self.params.limits else { return };
        let busy = |slot: &&Slot<K, V>| !slot.gathering.waiting.is_empty();
        let mut requests: BTreeMap<Node, u64> = BTreeMap::new();
        for slot in self.gatherings.values().filter(busy) {
            *requests.entry(slot.gathering.tag.origin).or_default() += 1;
        }
        let front_ends = requests.len() as u64;
        for slot in self.gatherings.values_mut() {
            let of_front_end = requests.get(&slot.gathering.tag.origin).copied().unwrap_or(1);
            slot.gathering.share = Some(Rate(link.0 / (front_ends.max(1) * of_front_end)));
        }
    }
}

impl<K: Part + Clone, V: Part> Slot<K, V> {
    /// Sends responses that are due, and finds the next due time.
    fn send(&mut self, now: Time, params: &Params, out: &mut Outputs<K, V>) {
        self.gathering.send(now, params, out);
        self.alarm = self.gathering.alarm(params);
    }
}

impl<K: Part + Clone, V: Part> Gathering<K, V> {
    fn find(&self, index: u32) -> Result<usize, usize> {
        // Front ends request objects in order.
        if self.indices.last().is_none_or(|&last| last < index) {
            return Err(self.indices.len());
        }
        self.indices.binary_search(&index)
    }

    /// Inserts an object, and shifts later positions.
    fn insert(&mut self, place: usize, index: u32, object: Object<K>) {
        if place < self.objects.len() {
            let behind = |other: &&mut u32| **other as usize >= place;
            let asked = self.asked.iter_mut().map(|(_, other)| other);
            self.wanted.iter_mut().chain(asked).filter(behind).for_each(|other| *other += 1);
        }
        self.indices.insert(place, index);
        self.objects.insert(place, object);
    }

    /// Whether an object requested at this time is outstanding.
    fn is_out_since(&self, at: Time, place: u32) -> bool {
        let stage = self.objects[place as usize].stage;
        stage == Stage::Requested(at) || stage == Stage::Unwanted(at)
    }

    fn pass_over_what_came(&mut self) {
        while self.asked.front().is_some_and(|&(at, place)| !self.is_out_since(at, place)) {
            self.asked.pop_front();
        }
    }

    /// Requests an object from its server.
    fn ask(&mut self, now: Time, place: usize) -> Output<K, V> {
        let object = &mut self.objects[place];
        object.stage = Stage::Requested(now);
        self.asked.push_back((now, place as u32));
        let message = Message { tag: self.tag, index: self.indices[place], body: Body::Get(object.key.clone()) };
        Output::Send { to: object.holder, message, more: false }
    }

    /// Gives up an outstanding object; returns the number of objects that this frees in the window.
    fn give_up(&mut self, now: Time, place: usize, params: &Params) -> u32 {
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
    fn keep(&mut self, now: Time, message: Message<K, V>, params: &Params) {
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
    fn fill(&mut self, params: &Params) {
        let of_packet = if params.packs { self.waiting.len() } else { self.waiting.len().min(1) };
        let (count, bytes) = packing::fill(params.room, self.waiting.range(..of_packet).map(|waiting| waiting.len));
        let full = !params.packs || count < self.waiting.len() || bytes >= params.room;
        self.packet = Packet { count, bytes, full };
    }

    /// When the next packet may be sent; `NEVER` if nothing waits.
    fn next(&self, params: &Params) -> Time {
        let Some(first) = self.waiting.front().filter(|_| !self.is_stopped) else { return Time::NEVER };
        let due = packing::due(first.since, self.packet.full, self.left == 0, first.since, params.linger);
        due.max(self.free_at())
    }

    /// When the last packet ends at the current speed.
    fn free_at(&self) -> Time {
        let (began, bytes) = self.sent;
        match self.speed() {
            Rate(0) => began,
            rate => began.saturating_add(rate.time_for(bytes)),
        }
    }

    /// Sends packets that are due.
    fn send(&mut self, now: Time, params: &Params, out: &mut Outputs<K, V>) {
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
    fn alarm(&self, params: &Params) -> Time {
        let answer = self.asked.front().map_or(Time::NEVER, |(at, _)| at.saturating_add(params.timeout));
        answer.min(self.next(params)).min(self.heard.saturating_add(params.forget))
    }

    /// Zero: unlimited.
    fn speed(&self) -> Rate {
        let assigned = Some(self.rate).filter(|rate| rate.0 > 0);
        [assigned, self.strained, self.share].into_iter().flatten().min().unwrap_or(Rate(0))
    }
}
