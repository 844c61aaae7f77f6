//! Hub of a swarm: requests objects from the servers of its rack, collects and packs the responses, and forwards them at the speed that
//! the front end assigned (SICC, sections 3.1 to 3.3).
//!
//! Its outstanding bytes stay under a window, or its rack's responses would cause incast themselves. Responses of its children are
//! forwarded the same way, without parsing.

mod front_ends;
mod gathering;
mod params;

use std::collections::{BTreeMap, BTreeSet};

use fanin_units::{Rate, Time};

use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};
pub use params::{Limits, Params};

use front_ends::FrontEnds;
use gathering::{Gathering, Key, Object, Slot, Stage};

/// Memory of a child's number, in a tree that may be half empty.
const CHILD: u64 = 16;

/// State of a hub.
#[derive(Clone, Debug)]
pub struct Hub<K, V> {
    params: Params,
    /// Estimated size of an object.
    mean: u64,
    /// Number of outstanding objects of other machines.
    out: u32,
    gatherings: BTreeMap<Key, Slot<K, V>>,
    /// Requests by when they are due, and by destination.
    alarms: BTreeSet<(Time, Key)>,
    by_parent: BTreeSet<(Node, Key)>,
    front_ends: FrontEnds,
    /// Destinations that take nothing for now.
    stopped: BTreeSet<Node>,
    /// Lower bound of the next due time.
    alarm: Time,
    /// Requests that are due: an emptied list, which is reused.
    due: Vec<Key>,
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
            alarms: BTreeSet::new(),
            by_parent: BTreeSet::new(),
            front_ends: FrontEnds::new(params.limits),
            stopped: BTreeSet::new(),
            alarm: Time::NEVER,
            due: Vec::new(),
        }
    }

    /// Whether it waits for this object, so that other roles on its machine ignore the response.
    pub fn waits_for(&self, tag: Tag, index: u32) -> bool {
        let gathering = self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag);
        gathering.is_some_and(|g| g.find(index).is_some_and(|place| g.objects[place].is_out()))
    }

    /// Whether it takes an object from another hub: from one that the front end has named, if this one was not asked for the object
    /// itself. Objects of requests that it does not know are reported as lost.
    pub fn takes(&self, from: Node, tag: Tag, index: u32) -> bool {
        let gathering =
            self.gatherings.get(&key(tag)).map(|slot| &slot.gathering).filter(|g| g.tag == tag && g.is_made);
        gathering.is_none_or(|gathering| gathering.children.contains(&from) && gathering.find(index).is_none())
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
        gathering.is_some_and(|g| g.left > 0 || g.is_busy())
    }

    /// Number of requests.
    pub fn open_requests(&self) -> usize {
        self.gatherings.len()
    }

    /// Memory of the open requests and of what waits for their front ends, if it is limited.
    pub fn memory(&self) -> u64 {
        self.front_ends.memory()
    }

    /// The same of one front end.
    pub fn memory_of(&self, front_end: Node) -> u64 {
        self.front_ends.memory_of(front_end)
    }

    /// Bytes that wait to be sent.
    pub fn waiting_bytes(&self) -> u64 {
        self.gatherings.values().map(|slot| slot.gathering.waiting_bytes).sum()
    }

    /// Requests whose responses go to a machine.
    fn to(&self, parent: Node) -> impl Iterator<Item = Key> {
        let first = (parent, (Node(0), 0));
        self.by_parent.range(first..).take_while(move |(to, _)| *to == parent).map(|(_, key)| *key)
    }

    /// Sum of the speeds at which it sends to a machine; none if it sends nothing, or without a limit.
    pub fn speed_to(&self, to: Node) -> Option<Rate> {
        let mut sum = None;
        for gathering in self.to(to).filter_map(|key| Some(&self.gatherings.get(&key)?.gathering)) {
            match gathering.speed(self.front_ends.share(gathering.tag.origin)) {
                Rate(0) => return None,
                Rate(speed) => sum = Some(Rate(sum.unwrap_or(Rate(0)).0 + speed)),
            }
        }
        sum
    }

    /// Stops to send to a machine, which does not take more for now.
    pub fn stop_sending(&mut self, to: Node) {
        self.stopped.insert(to);
        for key in self.to(to).collect::<Vec<_>>() {
            self.gatherings.get_mut(&key).into_iter().for_each(|slot| slot.gathering.is_stopped = true);
        }
    }

    /// Sends to a machine again.
    pub fn send_again(&mut self, now: Time, to: Node, out: &mut Outputs<K, V>) {
        if self.stopped.remove(&to) {
            for key in self.to(to).collect::<Vec<_>>() {
                self.gatherings.get_mut(&key).into_iter().for_each(|slot| slot.gathering.is_stopped = false);
                self.set_alarm(key, now);
            }
            self.go_on(now, out);
        }
    }

    /// Sets when a request is due.
    fn set_alarm(&mut self, key: Key, at: Time) {
        let Some(slot) = self.gatherings.get_mut(&key).filter(|slot| slot.alarm != at) else { return };
        self.alarms.remove(&(slot.alarm, key));
        self.alarms.insert((at, key));
        slot.alarm = at;
    }

    /// Sends responses of a request that are due, and finds the next due time.
    fn send(&mut self, now: Time, key: Key, out: &mut Outputs<K, V>) {
        let Some(Slot { gathering, .. }) = self.gatherings.get_mut(&key) else { return };
        gathering.send(now, &self.params, self.front_ends.share(key.0), out);
        self.front_ends.count(gathering);
        let alarm = gathering.alarm(&self.params, self.front_ends.share(key.0));
        self.set_alarm(key, alarm);
    }

    /// Handles a message.
    pub fn handle(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let tag = message.tag;
        self.take(now, message, out);
        self.ask(now, out);
        self.send(now, key(tag), out);
        self.alarm = self.gatherings.get(&key(tag)).map_or(self.alarm, |slot| self.alarm.min(slot.alarm));
        self.ask_if_room(now, out);
    }

    /// Takes in a message; [`Hub::go_on`] then sends what follows from all that were taken in.
    pub(crate) fn take_in(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let tag = message.tag;
        self.take(now, message, out);
        self.set_alarm(key(tag), now);
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
            Body::Child(child) => self.add_child(now, tag, child),
            Body::Get(_) | Body::Pass { .. } | Body::Withdrawn | Body::Load(_) => {}
        }
    }

    /// Another hub may send through this one, which is about to become a hub of the request.
    fn add_child(&mut self, now: Time, tag: Tag, child: Node) {
        if self.of(tag, now).is_none() {
            self.gather(now, tag, &Swarm { parent: tag.origin, rate: Rate(0), own: 0, all: 0 });
            self.of(tag, now).into_iter().for_each(|gathering| gathering.is_made = false);
        }
        let is_known = self.of(tag, now).is_none_or(|gathering| gathering.children.contains(&child));
        if !is_known
            && self.front_ends.take(tag.origin, 0, CHILD)
            && let Some(gathering) = self.of(tag, now)
        {
            gathering.children.insert(child);
            gathering.state += CHILD;
        }
    }

    /// Handles the loss of a machine: its responses are lost, and its own requests are dropped. A real machine's servers are no peers.
    pub fn gone(&mut self, now: Time, peer: Node, out: &mut Outputs<K, V>) {
        for key in self.of_front_end(peer).collect::<Vec<_>>() {
            self.forget(key);
        }
        if self.params.limits.is_none() {
            for key in self.gatherings.keys().copied().collect::<Vec<_>>() {
                self.holder_gone(now, key, peer);
                self.set_alarm(key, now);
            }
        }
        self.go_on(now, out);
    }

    /// Gives up the objects of a request that a lost server has.
    fn holder_gone(&mut self, now: Time, key: Key, peer: Node) {
        let Some(Slot { gathering, .. }) = self.gatherings.get_mut(&key) else { return };
        for place in gathering.in_order() {
            let object = &gathering.objects[place];
            if object.holder == peer && object.is_out() {
                self.out -= gathering.give_up(now, place, &self.params);
            }
        }
    }

    /// The connection to another hub is gone, and maybe responses with it: the front end learns which those may be, and gets the others
    /// directly.
    pub fn parent_lost(&mut self, now: Time, parent: Node, out: &mut Outputs<K, V>) {
        for key in self.to(parent).filter(|(origin, _)| *origin != parent).collect::<Vec<_>>() {
            let origin = key.0;
            self.set_parent(key, origin);
            self.set_alarm(key, now);
            let Some(Slot { gathering, .. }) = self.gatherings.get(&key) else { continue };
            let is_sent = |place: &usize| {
                gathering.objects[*place].stage == Stage::Over && !gathering.has_waiting(gathering.index(*place))
            };
            for place in gathering.in_order().into_iter().filter(is_sent) {
                let message = Message { tag: gathering.tag, index: gathering.index(place), body: Body::Lost };
                out.push(Output::Send { to: origin, message, more: false });
            }
        }
        self.go_on(now, out);
    }

    /// Sends the responses of a request to another machine.
    fn set_parent(&mut self, key: Key, parent: Node) {
        let Some(Slot { gathering, .. }) = self.gatherings.get_mut(&key) else { return };
        self.by_parent.remove(&(gathering.parent, key));
        self.by_parent.insert((parent, key));
        (gathering.parent, gathering.is_stopped) = (parent, self.stopped.contains(&parent));
    }

    /// Takes the list of requests that are due, sorted.
    fn take_due(&mut self, now: Time) -> Vec<Key> {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        due.extend(self.alarms.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key));
        due.sort_unstable();
        due
    }

    /// Does work that is due.
    pub fn due(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let Params { forget, timeout, .. } = self.params;
        let due = self.take_due(now);
        for key in &due {
            let Some(Slot { gathering, .. }) = self.gatherings.get_mut(key) else { continue };
            while let Some(&(at, place)) = gathering.asked.front().filter(|(at, _)| at.saturating_add(timeout) <= now) {
                gathering.asked.pop_front();
                if gathering.is_out_since(at, place) {
                    self.out -= gathering.give_up(now, place as usize, &self.params);
                }
            }
            self.front_ends.count(gathering);
        }
        for key in &due {
            if self.gatherings.get(key).is_some_and(|slot| slot.gathering.heard.saturating_add(forget) <= now) {
                self.forget(*key);
            }
        }
        self.due = due;
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

    /// Forgets requests of earlier incarnations of a front end; returns whether this request is of none.
    fn forget_before(&mut self, tag: Tag) -> bool {
        let others = || self.of_front_end(tag.origin).map(|key| (key, self.gatherings[&key].gathering.tag));
        if others().any(|(_, other)| tag.is_before(other)) {
            return false;
        }
        let old: Vec<Key> = others().filter(|(_, other)| other.is_before(tag)).map(|(key, _)| key).collect();
        old.into_iter().for_each(|key| self.forget(key));
        true
    }

    /// Open requests of a front end.
    fn of_front_end(&self, node: Node) -> impl Iterator<Item = Key> {
        self.gatherings.range((node, 0)..=(node, u32::MAX)).map(|(key, _)| *key)
    }

    /// Becomes the hub of a swarm, or gets a new destination.
    fn gather(&mut self, now: Time, tag: Tag, swarm: &Swarm) {
        if let Some(gathering) = self.of(tag, now) {
            (gathering.rate, gathering.left, gathering.is_made) = (swarm.rate, swarm.all, true);
            return self.set_parent(key(tag), swarm.parent);
        }
        if self.params.limits.is_some() {
            // Tags are random, and this number has been used before.
            self.forget(key(tag));
        } else if !self.forget_before(tag) {
            return;
        }
        let state = size_of::<Slot<K, V>>() as u64 + size_of::<Gathering<K, V>>() as u64;
        if !self.front_ends.take(tag.origin, 1, state) {
            // Its objects are lost, and the front end gets them elsewhere.
            return;
        }
        let is_stopped = self.stopped.contains(&swarm.parent);
        let mut gathering = Gathering::new(tag, swarm, is_stopped, now);
        gathering.state = state;
        self.alarms.insert((now, key(tag)));
        self.by_parent.insert((swarm.parent, key(tag)));
        self.gatherings.insert(key(tag), Slot { alarm: now, gathering: Box::new(gathering) });
    }

    fn want(&mut self, now: Time, tag: Tag, index: u32, key: K, holder: Node, out: &mut Outputs<K, V>) {
        let params = self.params;
        // Lists have room for twice as many entries at most.
        let more = (2 * size_of::<(Object<K>, [u32; 4], (Time, u32))>() + key.len()) as u64;
        let is_known = self.gatherings.get(&self::key(tag)).is_some_and(|slot| slot.gathering.tag == tag);
        let fits = is_known && self.front_ends.take(tag.origin, 0, more);
        let Some(gathering) = self.of(tag, now).filter(|_| fits) else {
            // The hub has lost the swarm in a restart, or had no memory for it.
            let message = Message { tag, index, body: Body::Lost };
            out.push(Output::Send { to: tag.origin, message, more: false });
            return;
        };
        gathering.state += if params.limits.is_some() { more } else { 0 };
        let place = match gathering.find(index) {
            None => gathering.add(index, Object { key, holder, stage: Stage::Over }),
            Some(place) => {
                match gathering.objects[place].stage {
                    Stage::Wanted | Stage::Requested(_) => return,
                    // The response is outstanding.
                    Stage::Unwanted(at) => return gathering.objects[place].stage = Stage::Requested(at),
                    Stage::Over if gathering.has_waiting(index) => {
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
            if gathering.hungry.is_none() {
                let turn = self.front_ends.line_up(self::key(tag));
                self.of(tag, now).into_iter().for_each(|gathering| gathering.hungry = Some(turn));
            }
        }
    }

    /// Sends requests as the window allows.
    fn ask(&mut self, now: Time, out: &mut Outputs<K, V>) {
        while self.out == 0 || (u64::from(self.out) + 1) * self.mean <= self.params.window.0 {
            let Some(key) = self.front_ends.turn() else { return };
            let Some(Slot { alarm, gathering }) = self.gatherings.get_mut(&key) else {
                self.front_ends.leave();
                continue;
            };
            let Some(place) = gathering.wanted.pop_front() else {
                gathering.hungry = None;
                self.front_ends.leave();
                continue;
            };
            let place = place as usize;
            if gathering.objects[place].stage == Stage::Wanted {
                out.push(gathering.ask(now, place));
                self.out += 1;
                if let Some(turn) = self.front_ends.pass_turn() {
                    gathering.hungry = Some(turn);
                }
                let alarm = now.saturating_add(self.params.timeout).min(*alarm);
                self.alarm = self.alarm.min(alarm);
                self.set_alarm(key, alarm);
            }
        }
    }

    /// Forwards a response of a server or a child.
    fn arrived(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let (params, tag, index) = (self.params, message.tag, message.index);
        if let Body::Object(value) = &message.body
            && (params.limits.is_none() || self.waits_for(tag, index))
        {
            self.mean = ((self.mean * 7 + value.len() as u64) / 8).max(1);
        }
        let has_room = self.front_ends.has_room(tag.origin, Gathering::<K, V>::memory_of(1, message.len() as u64));
        // A real hub does not pass on what it cannot attribute.
        let lost = Message { tag, index, body: Body::Lost };
        let Some(gathering) = self.of(tag, now).filter(|gathering| gathering.is_made) else {
            // A child was faster than the front end, or the hub has restarted.
            let message = if params.limits.is_some() { lost } else { message };
            out.push(Output::Send { to: tag.origin, message, more: false });
            return;
        };
        let (mut freed, mut wanted) = (0, true);
        match gathering.find(index) {
            Some(place) if gathering.objects[place].is_out() => {
                let object = &mut gathering.objects[place];
                freed = u32::from(params.counts(object.holder));
                wanted = matches!(object.stage, Stage::Requested(_));
                object.stage = Stage::Over;
                gathering.pass_over_what_came();
            }
            Some(_) => {}
            None if has_room => {}
            None => {
                gathering.left = gathering.left.saturating_sub(1);
                out.push(Output::Send { to: tag.origin, message: lost, more: false });
                return;
            }
        }
        if wanted {
            gathering.left = gathering.left.saturating_sub(1);
            gathering.keep(now, message, &params);
        }
        self.out -= freed;
        self.count(key(tag));
    }

    /// Withdraws an object, which the front end requests elsewhere, unless it has been sent.
    fn withdraw(&mut self, now: Time, tag: Tag, index: u32, out: &mut Outputs<K, V>) {
        let params = self.params;
        let Some(gathering) = self.of(tag, now) else { return };
        match gathering.find(index).map(|place| &mut gathering.objects[place].stage) {
            Some(stage @ (Stage::Requested(_) | Stage::Wanted)) => {
                *stage = if let Stage::Requested(at) = *stage { Stage::Unwanted(at) } else { Stage::Over };
                gathering.left = gathering.left.saturating_sub(1);
            }
            _ => {
                if !gathering.remove_waiting(index, &params) {
                    return;
                }
            }
        }
        out.push(Output::Send { to: tag.origin, message: Message { tag, index, body: Body::Withdrawn }, more: false });
        self.count(key(tag));
    }

    /// Counts the responses of a request that wait.
    fn count(&mut self, key: Key) {
        self.gatherings.get_mut(&key).into_iter().for_each(|slot| self.front_ends.count(&mut slot.gathering));
    }

    fn forget(&mut self, key: Key) {
        if let Some(Slot { alarm, mut gathering }) = self.gatherings.remove(&key) {
            self.alarms.remove(&(alarm, key));
            self.by_parent.remove(&(gathering.parent, key));
            self.front_ends.release(&mut gathering);
            let params = self.params;
            let counted = |object: &&Object<K>| params.counts(object.holder) && object.is_out();
            self.out -= gathering.objects.iter().filter(counted).count() as u32;
        }
        if self.gatherings.is_empty() {
            self.front_ends.clear();
            self.alarm = Time::NEVER;
        }
    }

    /// Sends requests and responses that are due, and finds the next due time.
    pub(crate) fn go_on(&mut self, now: Time, out: &mut Outputs<K, V>) {
        self.ask(now, out);
        let due = self.take_due(now);
        due.iter().for_each(|key| self.send(now, *key, out));
        self.due = due;
        self.alarm = self.alarms.first().map_or(Time::NEVER, |(at, _)| *at);
        self.ask_if_room(now, out);
    }

    /// After responses were sent: sends requests that there was no room for.
    fn ask_if_room(&mut self, now: Time, out: &mut Outputs<K, V>) {
        if self.params.limits.is_some() {
            self.ask(now, out);
        }
    }
}
