//! Requests that an agent's data server has in progress, and its link.

use std::collections::BTreeMap;

use fanin_roles::Node;

use fanin_proxy_core::clock::Nanos;

/// Responses of a data server that wait for its link.
#[derive(Debug, Default)]
pub struct Serving {
    /// Bytes of their values.
    waiting: u64,
    /// Requests in progress by front end.
    requests: BTreeMap<Node, u32>,
    /// Whether a response is being sent; and when the last one has left, at the rate of the link.
    is_sending: bool,
    free_at: Nanos,
}

impl Serving {
    /// Whether requests of a front end are in progress.
    pub fn serves(&self, front_end: Node) -> bool {
        self.requests.contains_key(&front_end)
    }

    /// Whether no request is in progress.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// When the next response may be sent, if one is being sent.
    pub fn next_due(&self) -> Option<Nanos> {
        self.is_sending.then_some(self.free_at)
    }

    /// A request of a front end begins.
    pub fn begins(&mut self, front_end: Node) {
        *self.requests.entry(front_end).or_default() += 1;
    }

    /// A value waits.
    pub fn waits(&mut self, bytes: u64) {
        self.waiting += bytes;
    }

    /// A response to a front end, with a value of these bytes, is being sent.
    pub fn leaves(&mut self, front_end: Node, bytes: u64) {
        self.is_sending = true;
        self.waiting -= bytes;
        if let Some(requests) = self.requests.get_mut(&front_end) {
            *requests -= 1;
            self.requests.retain(|_, requests| *requests > 0);
        }
    }

    /// It takes the link for a time, from this one on at the earliest.
    pub fn takes(&mut self, earliest: Nanos, time: Nanos) {
        self.free_at = self.free_at.max(earliest) + time;
    }

    /// It has left.
    pub fn has_sent(&mut self) {
        self.is_sending = false;
    }
}
