//! A batch of a multiget: the keys of one server, and their results.

use std::ops::Range;

use crate::upstreams::receiving::END;
use fanin_proxy_core::memory::{Buffer, Charge};

/// Result of a key: the sizes of its response, line included, and of its value in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyResult {
    pub size: u32,
    pub value: u32,
}

impl KeyResult {
    /// A miss.
    pub const MISSED: KeyResult = KeyResult { size: 0, value: 0 };

    /// Size of the value, unless it is a miss.
    pub fn value(self) -> Option<u32> {
        (self != KeyResult::MISSED).then_some(self.value)
    }
}

/// Keys of one server.
#[derive(Debug, Default)]
pub struct Batch {
    /// The server.
    pub server: u32,
    /// The request, as a range of the multiget's text, and the end of its part with keys while that is laid out.
    pub asked: Range<usize>,
    pub laid_out: usize,
    /// Index of its first key among all results, and the number of keys with results.
    pub first: usize,
    pub count: usize,
    pub come: usize,
    pub found: usize,
    /// Keys written, and bytes of `held` written.
    pub written: usize,
    pub written_bytes: usize,
    /// Response bytes of the server, in key order.
    pub held: Buffer,
    /// Whether it has ended.
    pub over: bool,
    /// Keys whose server was not known to be clear at the request.
    pub unclear: Vec<u32>,
    /// Number of keys that are looked up elsewhere, the results of such keys by index, the bytes of these, and how many are written.
    pub waits: usize,
    pub more: Vec<(u32, Settled)>,
    pub of_more: Charge,
    pub more_bytes: usize,
    pub more_written: usize,
}

impl Batch {
    /// The response of the next key to write, which has this result; none if it is not complete.
    #[inline]
    pub fn next_answer(&mut self, result: KeyResult) -> Option<&[u8]> {
        if let Some((place, Settled::Value(value))) = self.more.get(self.more_written)
            && *place as usize == self.written
        {
            self.more_written += 1;
            return Some(&value.bytes);
        }
        let from = self.written_bytes;
        let answer = self.held.get(from..from + result.size as usize)?;
        self.written_bytes += answer.len();
        Some(answer)
    }

    /// Records the result of a key that was looked up elsewhere; returns whether it was the last. Then all results are merged.
    pub fn settle(&mut self, place: u32, settled: Settled, results: &mut [KeyResult]) -> bool {
        if let Settled::Value(value) = &settled {
            self.more_bytes += value.bytes.len();
        }
        if self.more.is_empty() {
            self.more.reserve_exact(self.waits);
            self.charge_more();
        }
        self.more.push((place, settled));
        let is_whole = self.more.len() >= self.waits;
        if is_whole {
            self.merge(results);
        }
        is_whole
    }

    /// Merges the results of keys that were looked up elsewhere with the server's. Values stay where they are.
    fn merge(&mut self, results: &mut [KeyResult]) {
        self.more.sort_unstable_by_key(|(place, _)| *place);
        let (held, mut at) = (std::mem::take(&mut self.held), 0);
        let mut more = self.more.iter().peekable();
        self.found = 0;
        for (place, result) in results.iter_mut().enumerate() {
            let own = &held[at..at + result.size as usize];
            at += own.len();
            match more.next_if(|(of, _)| *of as usize == place) {
                Some((_, Settled::Value(value))) => *result = value.result(),
                Some((_, Settled::Missed)) => *result = KeyResult::MISSED,
                _ => self.held.extend(own),
            }
            self.found += usize::from(*result != KeyResult::MISSED);
        }
        self.come = self.count;
        self.more.retain(|(_, settled)| matches!(settled, Settled::Value(_)));
        self.more.shrink_to_fit();
        self.charge_more();
    }

    fn charge_more(&mut self) {
        self.of_more.set(self.more.capacity() * size_of::<(u32, Settled)>());
    }
}

/// A value that was looked up elsewhere, as a response to `get`.
#[derive(Debug)]
pub struct LookedUp {
    bytes: Buffer,
    /// Size of the value.
    value: u32,
}

impl LookedUp {
    fn result(&self) -> KeyResult {
        KeyResult { size: self.bytes.len() as u32, value: self.value }
    }
}

/// Result of a key that was looked up elsewhere.
#[derive(Debug)]
pub enum Settled {
    /// This value, in place of the server's.
    Value(LookedUp),
    /// A miss.
    Missed,
    /// The server's result stands.
    AsServed,
}

impl Settled {
    /// A value of this size, with its line and end.
    pub fn value(bytes: impl Into<Buffer>, value: usize) -> Settled {
        Settled::Value(LookedUp { bytes: bytes.into(), value: value as u32 })
    }

    /// A value with its line and end.
    pub fn response(bytes: Buffer) -> Settled {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let value = bytes.len().saturating_sub(line + END.len());
        Settled::value(bytes, value)
    }
}
