//! The hub of a swarm: it asks the servers of its rack, gathers what they answer, packs it and sends it on at the speed that the
//! front end gave it (SICC, sections 3.1 to 3.3).
//!
//! It paces its own asking, too: what it has asked for and not received stays under a window, or its rack's answers would be an
//! incast of their own. What its children send goes the same way, unread.

use std::collections::{BTreeMap, VecDeque};

use fanin_fanout::packing;
use fanin_units::{Bytes, Rate, Time};

use crate::wire::{Body, Message, Node, Part, Swarm, Tag};
use crate::{Output, Outputs};

/// A hub's settings.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Its own machine: objects that it holds itself are outside of the window.
    pub me: Node,
    /// Payload of a packet.
    pub room: u32,
    /// Bytes of a packet besides, which count for its speed.
    pub overhead: u32,
    /// Whether it packs several objects into a packet.
    pub packs: bool,
    /// How long a packet that is not full waits for more.
    pub linger: Time,
    /// What it has asked for and not received, at most; one object in any case.
    pub window: Bytes,
    /// The size that objects are taken to have before the first is known.
    pub mean_object: Bytes,
    /// A holder that has not answered for so long is taken for gone.
    pub patience: Time,
    /// A request of which nothing was heard for so long is forgotten: its front end is gone.
    pub forget: Time,
}

/// An object to be asked for.
#[derive(Clone, Copy, Debug)]
struct Wanted<K> {
    index: u32,
    key: K,
    holder: Node,
}

/// One that was.
#[derive(Clone, Copy, Debug)]
struct Asked {
    index: u32,
    holder: Node,
    at: Time,
}

/// A message that waits to be sent on.
#[derive(Clone, Debug)]
struct Waiting<K, V> {
    message: Message<K, V>,
    len: u32,
    since: Time,
}

/// What is gathered for one request.
#[derive(Clone, Debug)]
struct Gathering<K, V> {
    tag: Tag,
    parent: Node,
    /// Zero: as fast as it goes.
    rate: Rate,
    /// What the machine manages at most, where it is busy with something else.
    strained: Option<Rate>,
    /// Objects that have not come yet, children's too.
    left: u32,
    wanted: VecDeque<Wanted<K>>,
    /// In the order of asking.
    asked: VecDeque<Asked>,
    /// Asked for, and not wanted any more.
    withdrawn: Vec<u32>,
    waiting: VecDeque<Waiting<K, V>>,
    /// When the next packet may go.
    free_at: Time,
    /// When something was last heard of it.
    heard: Time,
}

type Key = (Node, u32);

/// A hub's state: of all requests that it gathers for.
#[derive(Clone, Debug)]
pub struct Hub<K, V> {
    params: Params,
    /// An estimate of an object's bytes.
    mean: u64,
    /// Objects of others that were asked for and are not there.
    out: u32,
    gatherings: BTreeMap<Key, Gathering<K, V>>,
    /// Those with something to ask for, each in its turn.
    hungry: VecDeque<Key>,
}

fn key(tag: Tag) -> Key {
    (tag.origin, tag.request)
}

impl<K: Part, V: Part> Hub<K, V> {
    /// A hub of no swarm yet.
    pub fn new(params: Params) -> Hub<K, V> {
        Hub { params, mean: params.mean_object.0, out: 0, gatherings: BTreeMap::new(), hungry: VecDeque::new() }
    }

    /// Whether it waits for this object's answer: whoever else is at its machine does not.
    pub fn waits_for(&self, tag: Tag, index: u32) -> bool {
        let waits =
            |g: &Gathering<K, V>| g.asked.iter().any(|asked| asked.index == index) || g.withdrawn.contains(&index);
        self.gatherings.get(&key(tag)).is_some_and(waits)
    }

    /// Takes a message.
    pub fn handle(&mut self, now: Time, message: Message<K, V>, out: &mut Outputs<K, V>) {
        let (tag, index) = (message.tag, message.index);
        match message.body {
            Body::Swarm(swarm) => self.gather(now, tag, &swarm),
            Body::Ask { key, holder } => self.want(now, tag, Wanted { index, key, holder }, out),
            Body::Object(_) | Body::Miss | Body::Lost => self.arrived(now, message),
            Body::Speed(rate) => {
                if let Some(gathering) = self.of(tag, now) {
                    gathering.rate = rate;
                }
            }
            Body::Withdraw => self.withdraw(now, tag, index, out),
            Body::Over => self.forget(key(tag)),
            Body::Get(_) | Body::Withdrawn => {}
        }
        self.ask(now, out);
        self.send(now, key(tag), out);
    }

    /// A machine is gone: what it was asked for is lost, and what was gathered for it is of no use.
    pub fn gone(&mut self, now: Time, peer: Node, out: &mut Outputs<K, V>) {
        let of_peer: Vec<Key> = self.gatherings.keys().copied().filter(|(origin, _)| *origin == peer).collect();
        of_peer.into_iter().for_each(|key| self.forget(key));
        self.give_up(now, |asked| asked.holder == peer);
        self.ask(now, out);
        self.send_all(now, out);
    }

    /// Serves what is due.
    pub fn due(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let forget = self.params.forget;
        let old = self.gatherings.iter().filter(|(_, g)| g.heard.saturating_add(forget) <= now);
        let old: Vec<Key> = old.map(|(key, _)| *key).collect();
        old.into_iter().for_each(|key| self.forget(key));
        let patience = self.params.patience;
        self.give_up(now, |asked| asked.at.saturating_add(patience) <= now);
        self.ask(now, out);
        self.send_all(now, out);
    }

    /// When [`Hub::due`] is to be called; `NEVER` where nothing waits.
    pub fn deadline(&self) -> Time {
        let of = |g: &Gathering<K, V>| {
            let answer = g.asked.front().map_or(Time::NEVER, |asked| asked.at.saturating_add(self.params.patience));
            let next = self.next(g).map_or(Time::NEVER, |(_, _, at)| at);
            answer.min(next).min(g.heard.saturating_add(self.params.forget))
        };
        self.gatherings.values().map(of).min().unwrap_or(Time::NEVER)
    }

    /// Its machine is busy with something else: it sends at no more than this, of one request.
    pub fn strain(&mut self, tag: Tag, rate: Rate) {
        if let Some(gathering) = self.gatherings.get_mut(&key(tag)) {
            gathering.strained = Some(rate);
        }
    }

    /// What is gathered for a request, of which something was heard; of an earlier life of its front end there is nothing.
    fn of(&mut self, tag: Tag, now: Time) -> Option<&mut Gathering<K, V>> {
        let gathering = self.gatherings.get_mut(&key(tag)).filter(|g| g.tag == tag)?;
        gathering.heard = now;
        Some(gathering)
    }

    /// It is made the hub of a swarm, or told anew where to send.
    fn gather(&mut self, now: Time, tag: Tag, swarm: &Swarm) {
        if let Some(gathering) = self.of(tag, now) {
            (gathering.parent, gathering.rate) = (swarm.parent, swarm.rate);
            gathering.left = swarm.all;
            return;
        }
        self.forget(key(tag));
        let gathering = Gathering {
            tag,
            parent: swarm.parent,
            rate: swarm.rate,
            strained: None,
            left: swarm.all,
            wanted: VecDeque::with_capacity(swarm.own as usize),
            asked: VecDeque::new(),
            withdrawn: Vec::new(),
            waiting: VecDeque::new(),
            free_at: now,
            heard: now,
        };
        self.gatherings.insert(key(tag), gathering);
    }

    fn want(&mut self, now: Time, tag: Tag, wanted: Wanted<K>, out: &mut Outputs<K, V>) {
        let me = self.params.me;
        let Some(gathering) = self.of(tag, now) else {
            // It knows nothing of the swarm: it was gone meanwhile.
            let message = Message { tag, index: wanted.index, body: Body::Lost };
            out.push(Output::Send { to: tag.origin, message, more: false });
            return;
        };
        if gathering.has(wanted.index) {
            return;
        }
        gathering.withdrawn.retain(|&index| index != wanted.index);
        if wanted.holder == me {
            gathering.asked.push_back(Asked { index: wanted.index, holder: me, at: now });
            out.push(get(tag, wanted));
            return;
        }
        gathering.wanted.push_back(wanted);
        if gathering.wanted.len() == 1 {
            self.hungry.push_back(key(tag));
        }
    }

    /// Asks for as much as the window allows.
    fn ask(&mut self, now: Time, out: &mut Outputs<K, V>) {
        while self.out == 0 || (u64::from(self.out) + 1) * self.mean <= self.params.window.0 {
            let Some(&key) = self.hungry.front() else { return };
            let next = self.gatherings.get_mut(&key).and_then(|g| Some((g.wanted.pop_front()?, g)));
            let Some((wanted, gathering)) = next else {
                self.hungry.pop_front();
                continue;
            };
            gathering.asked.push_back(Asked { index: wanted.index, holder: wanted.holder, at: now });
            out.push(get(gathering.tag, wanted));
            self.out += 1;
        }
    }

    /// An answer, of a server that was asked or of a child: it goes on.
    fn arrived(&mut self, now: Time, message: Message<K, V>) {
        let (me, index) = (self.params.me, message.index);
        if let Body::Object(value) = &message.body {
            let len = value.len() as u64;
            self.mean = (self.mean * 7 + len) / 8;
        }
        let Some(gathering) = self.gatherings.get_mut(&key(message.tag)).filter(|g| g.tag == message.tag) else {
            return;
        };
        gathering.heard = now;
        if let Some(place) = gathering.withdrawn.iter().position(|&withdrawn| withdrawn == index) {
            gathering.withdrawn.swap_remove(place);
            return;
        }
        if let Some(place) = gathering.asked.iter().position(|asked| asked.index == index) {
            let asked = gathering.asked.remove(place);
            self.out -= u32::from(asked.is_some_and(|asked| asked.holder != me));
        }
        gathering.left = gathering.left.saturating_sub(1);
        gathering.waiting.push_back(Waiting { len: message.len() as u32, message, since: now });
    }

    /// The front end asks for an object elsewhere, unless it is on its way.
    fn withdraw(&mut self, now: Time, tag: Tag, index: u32, out: &mut Outputs<K, V>) {
        let me = self.params.me;
        let Some(gathering) = self.of(tag, now) else { return };
        let place = gathering.asked.iter().position(|asked| asked.index == index);
        if let Some(asked) = place.and_then(|place| gathering.asked.remove(place)) {
            gathering.withdrawn.push(index);
            gathering.left = gathering.left.saturating_sub(1);
            self.out -= u32::from(asked.holder != me);
        } else if let Some(place) = gathering.wanted.iter().position(|wanted| wanted.index == index) {
            gathering.wanted.remove(place);
            gathering.left = gathering.left.saturating_sub(1);
        } else if let Some(place) = gathering.waiting.iter().position(|waiting| waiting.message.index == index) {
            gathering.waiting.remove(place);
        } else {
            return;
        }
        out.push(Output::Send { to: tag.origin, message: Message { tag, index, body: Body::Withdrawn }, more: false });
    }

    /// Takes what was asked of these for lost.
    fn give_up(&mut self, now: Time, lost: impl Fn(&Asked) -> bool) {
        let me = self.params.me;
        for gathering in self.gatherings.values_mut() {
            let mut place = 0;
            while let Some(asked) = gathering.asked.get(place).copied() {
                if !lost(&asked) {
                    place += 1;
                    continue;
                }
                gathering.asked.remove(place);
                self.out -= u32::from(asked.holder != me);
                gathering.left = gathering.left.saturating_sub(1);
                let message = Message { tag: gathering.tag, index: asked.index, body: Body::Lost };
                gathering.waiting.push_back(Waiting { len: message.len() as u32, message, since: now });
            }
        }
    }

    fn forget(&mut self, key: Key) {
        if let Some(gathering) = self.gatherings.remove(&key) {
            let me = self.params.me;
            self.out -= gathering.asked.iter().filter(|asked| asked.holder != me).count() as u32;
        }
    }

    /// The next packet: how many messages, of how many bytes, and when.
    fn next(&self, g: &Gathering<K, V>) -> Option<(usize, u32, Time)> {
        let first = g.waiting.front()?;
        if !self.params.packs {
            return Some((1, first.len, g.free_at));
        }
        let (count, bytes) = packing::fill(self.params.room, g.waiting.iter().map(|waiting| waiting.len));
        let (full, last) = (count < g.waiting.len() || bytes >= self.params.room, g.left == 0);
        Some((count, bytes, g.free_at.max(packing::due(first.since, full, last, first.since, self.params.linger))))
    }

    fn send_all(&mut self, now: Time, out: &mut Outputs<K, V>) {
        let keys: Vec<Key> = self.gatherings.keys().copied().collect();
        keys.into_iter().for_each(|key| self.send(now, key, out));
    }

    /// Sends on what may go now.
    fn send(&mut self, now: Time, key: Key, out: &mut Outputs<K, V>) {
        let Params { room, overhead, .. } = self.params;
        while let Some(gathering) = self.gatherings.get(&key) {
            let Some((count, bytes, at)) = self.next(gathering).filter(|(_, _, at)| *at <= now) else { return };
            debug_assert!(at <= now);
            let Some(gathering) = self.gatherings.get_mut(&key) else { return };
            let to = gathering.parent;
            for (left, waiting) in (0..count).rev().zip(gathering.waiting.drain(..count)) {
                out.push(Output::Send { to, message: waiting.message, more: left > 0 });
            }
            let rate = gathering.speed();
            if rate.0 > 0 {
                let packets = u64::from(bytes.div_ceil(room));
                let wire = u64::from(bytes) + packets * u64::from(overhead);
                gathering.free_at = gathering.free_at.max(now) + rate.time_for(wire);
            }
        }
    }
}

impl<K, V> Gathering<K, V> {
    /// Whether an object is on its way through here.
    fn has(&self, index: u32) -> bool {
        self.wanted.iter().any(|wanted| wanted.index == index)
            || self.asked.iter().any(|asked| asked.index == index)
            || self.waiting.iter().any(|waiting| waiting.message.index == index)
    }

    /// Zero: as fast as it goes.
    fn speed(&self) -> Rate {
        match (self.rate, self.strained) {
            (Rate(0), Some(strained)) => strained,
            (rate, Some(strained)) => rate.min(strained),
            (rate, None) => rate,
        }
    }
}

fn get<K, V>(tag: Tag, Wanted { index, key, holder }: Wanted<K>) -> Output<K, V> {
    Output::Send { to: holder, message: Message { tag, index, body: Body::Get(key) }, more: false }
}
