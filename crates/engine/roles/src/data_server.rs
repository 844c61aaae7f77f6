//! Data server: looks up requested objects and responds.
//!
//! It sends each response immediately, or one after another. Then responses wait in a queue, first come, first served or in PICC's order
//! (`fanin_placement::SendQueue`). It limits the requests in progress and refuses others, whose senders try another replica. Requests
//! from its own machine wait instead, since a hub may store more objects than the limit.
//!
//! A moved object leaves a link at its old server (PICC, section III), which forwards requests to the new server; that responds to the
//! requester. Chains of links are followed up to a limit.

use std::collections::{BTreeMap, VecDeque};

use fanin_placement::SendQueue;
use fanin_units::Time;

pub use crate::output::Lookup;
use crate::wire::{Body, Message, Node, Part};
use crate::{Output, Outputs};

/// Maximum number of links followed, which ends cycles: objects move once per period, and links are updated long before such a chain
/// arises.
pub const HOPS: u8 = 8;

/// Order of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Immediately.
    AtOnce,
    /// One after another, by PICC's priorities within sub-queues of this length; 1 is FIFO.
    Queued {
        /// Objects of a sub-queue.
        sub_queue: usize,
        /// Exponent of the waiting time.
        exponent: u32,
    },
}

/// Settings of a data server.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// This machine.
    pub me: Node,
    /// Maximum number of objects in progress.
    pub most: u32,
    /// Order of responses.
    pub order: Order,
}

/// State of a data server.
#[derive(Clone, Debug)]
pub struct DataServer<K, V> {
    me: Node,
    /// Requests in progress: being looked up, or not sent yet.
    pending: u32,
    most: u32,
    /// Requests of its own machine above the limit.
    waiting: VecDeque<Lookup<K>>,
    line: Option<Box<Line<K, V>>>,
    /// Links to moved objects.
    links: BTreeMap<K, Node>,
}

/// Send queue of responses.
#[derive(Clone, Debug)]
struct Line<K, V> {
    /// A response is being sent.
    busy: bool,
    queue: SendQueue<(Node, Message<K, V>)>,
}

impl<K: Part + Ord + Clone, V: Part> DataServer<K, V> {
    /// An idle server.
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

    /// Records that an object has moved to a server.
    pub fn link(&mut self, key: K, to: Node) {
        self.links.insert(key, to);
    }

    /// Records that an object is here again.
    pub fn take_back(&mut self, key: &K) {
        self.links.remove(key);
    }

    /// Whether nothing is in progress.
    pub fn is_idle(&self) -> bool {
        self.pending == 0 && self.waiting.is_empty()
    }

    /// Number of objects that it could take besides those in progress.
    pub fn spare(&self) -> u32 {
        self.most.saturating_sub(self.pending + self.waiting.len() as u32)
    }

    /// Takes a request: looks the object up ([`Output::Look`]), or refuses.
    pub fn handle_request(&mut self, lookup: Lookup<K>, out: &mut Outputs<K, V>) {
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
        self.respond(now, to, Message { tag: lookup.tag, index: lookup.index, body }, bytes, out);
    }

    /// A lookup has failed: whether the object exists is not known.
    pub fn failed(&mut self, now: Time, lookup: &Lookup<K>, out: &mut Outputs<K, V>) {
        self.respond(now, lookup.asker, Message { tag: lookup.tag, index: lookup.index, body: Body::Lost }, 0, out);
    }

    /// Sends a response now, or queues it.
    fn respond(&mut self, now: Time, to: Node, message: Message<K, V>, bytes: u32, out: &mut Outputs<K, V>) {
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
