//! The data server: it is asked for an object, looks for it, and answers whoever asked.
//!
//! It looks for no more than so many at once; whoever asks for more is refused at once, and asks elsewhere. A role of its own
//! machine waits instead: a hub may have more objects itself than that.

use std::collections::VecDeque;

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
}

/// A data server's state.
#[derive(Clone, Debug)]
pub struct DataServer<K> {
    me: Node,
    pending: u32,
    most: u32,
    /// What its own machine asked for beyond that.
    waiting: VecDeque<Lookup<K>>,
}

impl<K> DataServer<K> {
    /// One on a machine, that looks for so many objects at once at most.
    pub fn new(me: Node, most: u32) -> DataServer<K> {
        DataServer { me, pending: 0, most, waiting: VecDeque::new() }
    }

    /// Whether there is nothing that it looks for.
    pub fn is_idle(&self) -> bool {
        self.pending == 0 && self.waiting.is_empty()
    }

    /// It is asked for an object: it looks ([`Output::Look`]), or refuses.
    pub fn asked<V>(&mut self, lookup: Lookup<K>, out: &mut Outputs<K, V>) {
        if self.pending == self.most && lookup.asker == self.me {
            self.waiting.push_back(lookup);
        } else if self.pending == self.most {
            let message = Message { tag: lookup.tag, index: lookup.index, body: Body::Lost };
            out.push(Output::Send { to: lookup.asker, message, more: false });
        } else {
            self.pending += 1;
            out.push(Output::Look(lookup));
        }
    }

    /// What came of a lookup: the object, or that there is none.
    pub fn found<V>(&mut self, lookup: &Lookup<K>, value: Option<V>, out: &mut Outputs<K, V>) {
        match self.waiting.pop_front() {
            Some(next) => out.push(Output::Look(next)),
            None => self.pending -= 1,
        }
        let body = value.map_or(Body::Miss, Body::Object);
        let message = Message { tag: lookup.tag, index: lookup.index, body };
        out.push(Output::Send { to: lookup.asker, message, more: false });
    }
}
