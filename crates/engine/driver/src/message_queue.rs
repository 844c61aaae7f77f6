//! The message boundaries of one end of a connection, over a transport that carries bytes in order.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use crate::message::Meaning;

/// Bytes written at one end of a connection, and messages on their way to it.
#[derive(Default)]
pub struct MessageQueue {
    /// Bytes that the application has written.
    written: u64,
    /// The first message in flight to this end.
    first: Option<IncomingMessage>,
    /// Further messages, if any.
    #[expect(clippy::box_collection, reason = "there are millions of queues, and few have any")]
    rest: Option<Box<VecDeque<IncomingMessage>>>,
}

/// A message in flight: the stream offset of its end, and its meaning.
#[derive(Clone, Copy)]
struct IncomingMessage {
    until: NonZeroU64,
    what: Meaning,
}

impl MessageQueue {
    /// Bytes that the application has written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The application writes more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// The application discards unsent bytes; `total` remain written.
    pub fn set_written(&mut self, total: u64) {
        self.written = total;
    }

    /// Expects a message that ends at byte `until`; returns whether it is the first one.
    pub fn expect(&mut self, until: u64, what: Meaning) -> bool {
        let Some(until) = NonZeroU64::new(until) else { unreachable!("a message has a byte at least") };
        let coming = IncomingMessage { until, what };
        if self.first.is_none() {
            self.first = Some(coming);
            return true;
        }
        self.rest.get_or_insert_default().push_back(coming);
        false
    }

    /// Offset of the end of the first message.
    pub fn first_ends_at(&self) -> Option<u64> {
        self.first.map(|message| message.until.get())
    }

    /// Offset of the end of the last message.
    pub fn last_ends_at(&self) -> Option<u64> {
        let last = self.rest.as_ref().and_then(|rest| rest.back());
        last.or(self.first.as_ref()).map(|message| message.until.get())
    }

    /// Takes the first message, if `delivered` bytes complete it.
    pub fn take(&mut self, delivered: u64) -> Option<Meaning> {
        let IncomingMessage { what, .. } = self.first.filter(|message| message.until.get() <= delivered)?;
        self.first = self.rest.as_mut().and_then(|rest| rest.pop_front());
        Some(what)
    }

    /// Number of messages that are not complete yet.
    pub fn awaited(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_in_order_when_complete() {
        let what = |number| Meaning { kind: 0, number };
        let mut queue = MessageQueue::default();
        assert!(queue.expect(10, what(1)));
        assert!(!queue.expect(10 + 5, what(2)));
        assert_eq!((queue.take(9), queue.first_ends_at(), queue.awaited()), (None, Some(10), 2));
        assert_eq!(queue.last_ends_at(), Some(15));
        assert_eq!((queue.take(12), queue.take(12)), (Some(what(1)), None));
        assert_eq!((queue.take(15), queue.take(99), queue.awaited()), (Some(what(2)), None, 0));
    }
}
