//! An endpoint at its host.

use std::collections::VecDeque;

use fanin_fabric::LinkId;
use fanin_tcp::Endpoint;
use fanin_units::Time;

use crate::ids::Owner;
use crate::message::Meaning;

/// An endpoint, and what the world keeps beside it.
pub(crate) struct Socket {
    pub endpoint: Endpoint,
    /// When its entry in the queue of timers is due: at its deadline or before.
    pub armed: Time,
    /// The way out of its host.
    pub uplink: LinkId,
    /// Whose the connection is.
    pub owner: Owner,
    /// Bytes that the application gave it to send.
    pub written: u64,
    /// Messages on their way to it: the number of bytes that are there with the last one's, and what it means.
    inbox: VecDeque<(u64, Meaning)>,
}

impl Socket {
    pub fn new(endpoint: Endpoint, uplink: LinkId, owner: Owner) -> Socket {
        Socket { endpoint, armed: Time::NEVER, uplink, owner, written: 0, inbox: VecDeque::new() }
    }

    /// A message that ends with this many bytes is on its way here.
    pub fn expect(&mut self, until: u64, meaning: Meaning) {
        if self.inbox.is_empty() {
            self.endpoint.wake_at(until);
        }
        self.inbox.push_back((until, meaning));
    }

    /// Takes the next message that is there.
    pub fn take(&mut self) -> Option<Meaning> {
        let &(until, meaning) = self.inbox.front()?;
        if until > self.endpoint.delivered() {
            self.endpoint.wake_at(until);
            return None;
        }
        self.inbox.pop_front();
        Some(meaning)
    }

    /// Messages that are not there yet.
    pub fn awaited(&self) -> usize {
        self.inbox.len()
    }
}
