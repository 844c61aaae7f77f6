//! The data server: it is asked for an object, looks for it, and answers whoever asked.
//!
//! It looks for what it is asked for at once, or for one object after another: then what waits is in a queue, in the order of arrival
//! or in PICC's (`fanin_placement::SendQueue`). It takes no more than so many at once; whoever asks for more is refused at once, and
//! asks elsewhere. A role of its own machine waits instead: a hub may have more objects itself than that.
//!
//! An object that was moved has left a link at its old place (PICC, section III): who looks for it there passes the question on to
//! the new place, which answers whoever asked. Links may lead to links, but not for ever.

use std::collections::{BTreeMap, VecDeque};

use fanin_placement::SendQueue;
use fanin_units::Time;

use crate::wire::{Body, Message, Node, Tag};
use crate::{Output, Outputs};

/// What is being looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup<K> {
    /// Who asked.
    pub asker: Node,
    /// Of which request.
    pub tag: Tag,
    /// The object's place in it.
    pub index: u32,
    /// The object.
    pub key: K,
    /// How often it may be passed on: [`HOPS`] where who asked was the first to.
    pub hops: u8,
}

/// Links that are followed one after another, so that a question which goes round in a circle ends: an object is moved once a period,
/// and its links are put right long before it has moved so often.
pub const HOPS: u8 = 8;

/// In which order a data server serves what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All at once.
    AtOnce,
    /// One after another, by PICC's priorities within sub-queues of so many; with one, in the order of arrival.
    Queued {
        /// Objects of a sub-queue.
        sub_queue: usize,
        /// The exponent of a wait.
        exponent: u32,
    },
}

/// A data server's settings.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Its own machine.
    pub me: Node,
    /// Objects that it takes at once at most.
    pub most: u32,
    /// In which order.
    pub order: Order,
}

/// A data server's state.
#[derive(Clone, Debug)]
pub struct DataServer<K> {
    me: Node,
    pending: u32,
    most: u32,
    /// What its own machine asked for beyond that, with the bytes of each.
    waiting: VecDeque<(Lookup<K>, u32)>,
    line: Option<Box<Line<K>>>,
    /// Where objects are that it had.
    links: BTreeMap<K, Node>,
}

/// One object after another.
#[derive(Clone, Debug)]
struct Line<K> {
    /// It looks for something.
    busy: bool,
    queue: SendQueue<Lookup<K>>,
}

impl<K: Ord + Clone> DataServer<K> {
    /// One that has been asked for nothing.
    pub fn new(params: Params) -> DataServer<K> {
        let line = match params.order {
            Order::AtOnce => None,
            Order::Queued { sub_queue, exponent } => {
                Some(Box::new(Line { busy: false, queue: SendQueue::new(sub_queue, exponent) }))
            }
        };
        DataServer {
            me: params.me,
            pending: 0,
            most: params.most,
            waiting: VecDeque::new(),
            line,
            links: BTreeMap::new(),
        }
    }

    /// An object that it had is there from now on.
    pub fn link(&mut self, key: K, to: Node) {
        self.links.insert(key, to);
    }

    /// An object that it had is here again.
    pub fn take_back(&mut self, key: &K) {
        self.links.remove(key);
    }

    /// Whether there is nothing that it looks for.
    pub fn is_idle(&self) -> bool {
        self.pending == 0 && self.waiting.is_empty()
    }

    /// How many objects it could take besides those that it looks for.
    pub fn spare(&self) -> u32 {
        self.most.saturating_sub(self.pending + self.waiting.len() as u32)
    }

    /// It is asked for an object, of so many bytes: it looks ([`Output::Look`]), now or in its turn, or refuses.
    pub fn asked<V>(&mut self, now: Time, lookup: Lookup<K>, bytes: u32, out: &mut Outputs<K, V>) {
        let bytes = if self.links.contains_key(&lookup.key) { 0 } else { bytes };
        if self.pending == self.most && lookup.asker == self.me {
            self.waiting.push_back((lookup, bytes));
        } else if self.pending == self.most {
            let message = Message { tag: lookup.tag, index: lookup.index, body: Body::Lost };
            out.push(Output::Send { to: lookup.asker, message, more: false });
        } else {
            self.pending += 1;
            self.take(now, lookup, bytes, out);
        }
    }

    /// What came of a lookup: the object, or that there is none; where it has a link, that goes before.
    pub fn found<V>(&mut self, now: Time, lookup: &Lookup<K>, value: Option<V>, out: &mut Outputs<K, V>) {
        if let Some(line) = &mut self.line {
            line.busy = false;
        }
        match self.waiting.pop_front() {
            Some((next, bytes)) => self.take(now, next, bytes, out),
            None => self.pending -= 1,
        }
        self.go_on(now, out);
        let (to, body) = match (self.links.get(&lookup.key), lookup.hops.checked_sub(1)) {
            (Some(&to), Some(hops)) => (to, Body::Pass { key: lookup.key.clone(), asker: lookup.asker, hops }),
            (Some(_), None) => (lookup.asker, Body::Lost),
            (None, _) => (lookup.asker, value.map_or(Body::Miss, Body::Object)),
        };
        out.push(Output::Send { to, message: Message { tag: lookup.tag, index: lookup.index, body }, more: false });
    }

    /// Looks for an object, now or in its turn.
    fn take<V>(&mut self, now: Time, lookup: Lookup<K>, bytes: u32, out: &mut Outputs<K, V>) {
        match &mut self.line {
            None => out.push(Output::Look(lookup)),
            Some(line) => {
                line.queue.push(lookup, bytes, now.0);
                self.go_on(now, out);
            }
        }
    }

    /// Looks for the next in the queue, if it looks for none.
    fn go_on<V>(&mut self, now: Time, out: &mut Outputs<K, V>) {
        if let Some(line) = self.line.as_mut().filter(|line| !line.busy)
            && let Some(next) = line.queue.pop(now.0)
        {
            line.busy = true;
            out.push(Output::Look(next));
        }
    }
}
