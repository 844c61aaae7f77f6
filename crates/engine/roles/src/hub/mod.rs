//! Hub of a swarm: requests objects from the servers of its rack, collects and packs the responses, and forwards them at the speed that
//! the front end assigned (SICC, sections 3.1 to 3.3).
//!
//! Its outstanding bytes stay under a window, or its rack's responses would cause incast themselves. Responses of its children are
//! forwarded the same way, without parsing.

mod gathering;
mod params;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fanin_units::{Rate, Time};

use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};
pub use params::{Limits, Params};

use gathering::{Gathering, Object, Slot, Stage};

type Key = (Node, u32);

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
    /// Open requests and their memory by front end, and their sum, if they are limited.
    held: BTreeMap<Node, Held>,
    all_held: Held,
    /// Destinations that take nothing for now.
    stopped: BTreeSet<Node>,
    /// Lower bound of the next due time.
    alarm: Time,
}

/// Open requests, and their memory in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    requests: u32,
    state: u64,
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
            held: BTreeMap::new(),
            all_held: Held::default(),
            stopped: BTreeSet::new(),
            alarm: Time::NEVER,
        }
    }

    /// Whether it waits for this object, so that other roles on its machine ignore the response.
    pub fn waits_for(&self, tag: Tag, index: u32) -> bool {
        let gathering = self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag);
        gathering.is_some_and(|g| g.find(index).is_ok_and(|place| g.objects[place].is_out()))
    }

    /// Whether the front end asked it for this object, so that no other hub sends it.
    pub fn was_asked(&self, tag: Tag, index: u32) -> bool {
        let gathering = self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag);
        gathering.is_some_and(|gathering| gathering.find(index).is_ok())
    }

    /// Number of missing objects over all requests.
    pub fn missing_objects(&self) -> u32 {
        self.gatherings.values().map(|slot| slot.gathering.left).sum()
    }

    /// Whether it collects objects for a front end.
    pub fn serves(&self, front_end: Node) -> bool {
        self.gatherings.range((front_end, 0)..=(front_end, u32::MAX)).next().is_some()
    }

    /// Whether objects of this request are missing or wait to be sent.
    pub fn owes(&self, tag: Tag) -> bool {
        let gathering = self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag);
        gathering.is_some_and(|g| g.left > 0 || !g.waiting.is_empty())
    }

    /// Number of requests.
    pub fn open_requests(&self) -> usize {
        self.gatherings.len()
    }

    /// Memory of the open requests, if it is limited.
    pub fn state_bytes(&self) -> u64 {
        self.all_held.state
    }

    /// Bytes that wait to be sent.
    pub fn waiting_bytes(&self) -> u64 {
        self.gatherings.values().map(|slot| slot.gathering.waiting_bytes).sum()
    }

    /// Sum of the speeds at which it sends to a machine; none if it sends nothing, or without a limit.
    pub fn speed_to(&self, to: Node) -> Option<Rate> {
        let requests = self.gatherings.values().map(|slot| &slot.gathering).filter(|gathering| gathering.parent == to);
        let mut sum = None;
        for gathering in requests {
            match gathering.speed() {
                Rate(0) => return None,
                Rate(speed) => sum = Some(Rate(sum.unwrap_or(Rate(0)).0 + speed)),
            }
        }
        sum
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
        let tag = message.tag;
        self.take(now, message, out);
        self.ask(now, out);
        self.split_link();
        if let Some(slot) = self.gatherings.get_mut(&key(tag)) {
            slot.send(now, &self.params, out);
            self.alarm = self.alarm.min(slot.alarm);
        }
        self.ask_if_room(now, out);
    }

    /// Takes in a message; [`Hub::go_on`] then sends what follows from all that were taken in.
    pub(crate) fn take_in(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let tag = message.tag;
        self.take(now, message, out);
        if let Some(slot) = self.gatherings.get_mut(&key(tag)) {
            slot.alarm = now;
        }
    }

    /// Takes a message in, without what follows from it.
    fn take(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
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
        let ours = (tag.origin, 0)..=(tag.origin, u32::MAX);
        if self.gatherings.range(ours.clone()).any(|(_, slot)| tag.is_before(slot.gathering.tag)) {
            return;
        }
        let is_old = |(_, slot): &(&Key, &Slot<K, V>)| slot.gathering.tag.is_before(tag);
        let old: Vec<Key> = self.gatherings.range(ours).filter(is_old).map(|(key, _)| *key).collect();
        old.into_iter().for_each(|key| self.forget(key));
        let memory = Held { requests: 1, state: size_of::<Slot<K, V>>() as u64 + size_of::<Gathering<K, V>>() as u64 };
        if !self.hold(tag.origin, memory) {
            // Its objects are lost, and the front end gets them elsewhere.
            return;
        }
        let gathering = Gathering { state: memory.state, ..Gathering::new(tag, swarm, is_stopped, now) };
        self.gatherings.insert(key(tag), Slot { alarm: now, gathering: Box::new(gathering) });
    }

    /// Takes memory for a front end, if it may have more: no more than is free, so that one front end leaves memory for others.
    fn hold(&mut self, front_end: Node, more: Held) -> bool {
        let Some(limits) = self.params.limits else { return true };
        let its = self.held.get(&front_end).copied().unwrap_or_default();
        let fits = its.requests + more.requests <= limits.requests.saturating_sub(self.all_held.requests)
            && its.state + more.state <= limits.state.0.saturating_sub(self.all_held.state);
        if fits {
            for held in [self.held.entry(front_end).or_default(), &mut self.all_held] {
                *held = Held { requests: held.requests + more.requests, state: held.state + more.state };
            }
        }
        fits
    }

    fn release(&mut self, front_end: Node, less: Held) {
        let Entry::Occupied(mut its) = self.held.entry(front_end) else { return };
        for held in [its.get_mut(), &mut self.all_held] {
            *held = Held { requests: held.requests - less.requests, state: held.state - less.state };
        }
        if its.get().requests == 0 {
            its.remove();
        }
    }

    fn want(&mut self, now: Time, tag: Tag, index: u32, key: K, holder: Node, out: &mut Outputs<K, V>) {
        let params = self.params;
        let more = (size_of::<Object<K>>() + size_of::<u32>() + key.len()) as u64;
        let is_known = self.gatherings.get(&self::key(tag)).is_some_and(|slot| slot.gathering.tag == tag);
        let fits = is_known && self.hold(tag.origin, Held { requests: 0, state: more });
        let Some(gathering) = self.of(tag, now).filter(|_| fits) else {
            // The hub has lost the swarm in a restart, or had no memory for it.
            let message = Message { tag, index, body: Body::Lost };
            out.push(Output::Send { to: tag.origin, message, more: false });
            return;
        };
        gathering.state += if params.limits.is_some() { more } else { 0 };
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
            // A child was faster than the front end, or the hub has restarted. A real one does not pass on what it cannot attribute.
            let message = if params.limits.is_some() { Message { body: Body::Lost, ..message } } else { message };
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
            self.release(key.0, Held { requests: 1, state: gathering.state });
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
    pub(crate) fn go_on(&mut self, now: Time, out: &mut Outputs<K, V>) {
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
