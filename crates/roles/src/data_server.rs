//! The data server: it is asked for an object, looks for it, and answers whoever asked.
//!
//! It sends each response immediately, or one after another. Then responses wait in a queue, first come, first served or in PICC's order
//! (`fanin_placement::SendQueue`). It limits the requests in progress and refuses others, whose senders try another replica. Requests
//! from its own machine wait instead, since a hub may store more objects than the limit.
//!
//! An object that was moved has left a link at its old place (PICC, section III): who looks for it there passes the question on to
//! the new place, which answers whoever asked. Links may lead to links, but not for ever.

use std::collections::{BTreeMap, VecDeque};

use fanin_placement::SendQueue;
use fanin_units::Time;

use crate::wire::{Body, Message, Node, Part, Tag};
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

/// In which order a data server sends what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// At once.
    AtOnce,
    /// One after another, by PICC's priorities within sub-queues of this length; 1 is first come, first served.
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
    /// In which order it sends.
    pub order: Order,
}

/// A data server's state.
#[derive(Clone, Debug)]
pub struct DataServer<K, V> {
    me: Node,
    /// Requests in progress: being looked up, or not sent yet.
    pending: u32,
    most: u32,
    /// Requests of its own machine above the limit.
    waiting: VecDeque<Lookup<K>>,
    line: Option<Box<Line<K, V>>>,
    /// Where objects are that it had.
    links: BTreeMap<K, Node>,
}

/// One answer after another, each to a machine.
#[derive(Clone, Debug)]
struct Line<K, V> {
    /// An answer is being sent.
    busy: bool,
    queue: SendQueue<(Node, Message<K, V>)>,
}

impl<K: Part + Ord + Clone, V: Part> DataServer<K, V> {
    /// One that has been asked for nothing.
    pub fn new(params: Params) -> DataServer<K, V> {
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

    /// Whether there is nothing that it looks for or sends.
    pub fn is_idle(&self) -> bool {
        self.pending == 0 && self.waiting.is_empty()
    }

    /// How many objects it could take besides those that it looks for or sends.
    pub fn spare(&self) -> u32 {
        self.most.saturating_sub(self.pending + self.waiting.len() as u32)
    }

    /// It is asked for an object: it looks ([`Output::Look`]), or refuses.
    pub fn asked(&mut self, lookup: Lookup<K>, out: &mut Outputs<K, V>) {
        if self.pending < self.most {
            self.pending += 1;
            out.push(Output::Look(lookup));
        } else if lookup.asker == self.me {
            self.waiting.push_back(lookup);
        } else {
            let message = Message { tag: lookup.tag, index: lookup.index, body: Body::Lost };
            out.push(Output::Send { to: lookup.asker, message, more: false });
        }
    }

    /// Takes the result of a lookup: a link to another server, the object, or a miss. Sends it now, or queues it.
    pub fn found(&mut self, now: Time, lookup: &Lookup<K>, value: Option<V>, out: &mut Outputs<K, V>) {
        let bytes = value.as_ref().map_or(0, |value| value.len() as u32);
        let (to, body, bytes) = match (self.links.get(&lookup.key), lookup.hops.checked_sub(1)) {
            (Some(&to), Some(hops)) => (to, Body::Pass { key: lookup.key.clone(), asker: lookup.asker, hops }, 0),
            (Some(_), None) => (lookup.asker, Body::Lost, 0),
            (None, _) => (lookup.asker, value.map_or(Body::Miss, Body::Object), bytes),
        };
        let message = Message { tag: lookup.tag, index: lookup.index, body };
        match &mut self.line {
            None => self.send(to, message, out),
            Some(line) => {
                line.queue.push((to, message), bytes, now.0);
                self.send_next(now, out);
            }
        }
    }

    /// The last response has left the machine: sends the next one from the queue.
    pub fn sent(&mut self, now: Time, out: &mut Outputs<K, V>) {
        if let Some(line) = &mut self.line {
            line.busy = false;
        }
        self.send_next(now, out);
    }

    fn send_next(&mut self, now: Time, out: &mut Outputs<K, V>) {
        if let Some(line) = self.line.as_mut().filter(|line| !line.busy)
            && let Some((to, message)) = line.queue.pop(now.0)
        {
            line.busy = true;
            self.send(to, message, out);
        }
    }

    fn send(&mut self, to: Node, message: Message<K, V>, out: &mut Outputs<K, V>) {
        match self.waiting.pop_front() {
            Some(next) => out.push(Output::Look(next)),
            None => self.pending -= 1,
        }
        out.push(Output::Send { to, message, more: false });
    }
}
