//! A multiget: its keys, whose server each is at, what has come of it, and how far it has been written to the client.
//!
//! All that one server has of it is a batch: one command there, whose answer is held until its keys' turn comes, since an answer is in
//! the order of its keys, as memcached's is. Everything is done once a key; buffers are used again by later multigets.

use fanin_fanout::Window;
use fanin_memcache::{Get, LONGEST_KEY};

use crate::routing::Router;
use crate::schedule::Schedule;
use crate::table::Id;

/// A key of a multiget.
#[derive(Clone, Copy, Debug)]
struct Key {
    at: u32,
    len: u8,
    batch: u16,
    /// Where its answer begins among what its batch holds, and how long it is.
    found: u32,
    size: u32,
}

/// Nothing has come of a key yet; or it is known not to be there.
const UNKNOWN: u32 = u32::MAX;
const MISSED: u32 = 0;

/// All that one server is asked for.
#[derive(Debug, Default)]
pub struct Batch {
    /// Which server.
    pub server: u32,
    /// Its keys, as a range of the multiget's order: those before `next` are answered or missed.
    first: u32,
    next: u32,
    end: u32,
    /// The answers, as they came.
    held: Vec<u8>,
    over: bool,
}

/// One multiget.
#[derive(Debug)]
pub struct Multiget {
    /// Whose it is, and which of his requests.
    pub client: Id,
    pub number: u64,
    /// When it began.
    pub began: u64,
    pub schedule: Schedule,
    pub batches: Vec<Batch>,
    /// The command, then the keys, without anything between them.
    text: Vec<u8>,
    head: u32,
    keys: Vec<Key>,
    /// Keys by their batches.
    order: Vec<u32>,
    written: usize,
    /// Batches that are not over.
    pub left: u32,
    /// What went wrong first.
    failed: Option<&'static str>,
}

/// Buffers of multigets that are over.
#[derive(Debug, Default)]
pub struct Spare {
    texts: Vec<(Vec<u8>, Vec<Key>, Vec<u32>)>,
    batches: Vec<Vec<Batch>>,
    held: Vec<Vec<u8>>,
    /// For each server, its batch in the multiget that is being made.
    of_server: Vec<u16>,
}

/// Buffers that are kept, and the bytes of the largest.
const KEPT: usize = 256;
const LARGEST_KEPT: usize = 256 << 10;

impl Multiget {
    /// The batches of a request's keys, in the order of their first keys; none where a key is too long.
    pub fn new(
        get: &Get<'_>,
        whose: (Id, u64, u64),
        router: &Router,
        window: Window,
        servers: usize,
        spare: &mut Spare,
    ) -> Option<Multiget> {
        let (mut text, mut keys, mut order) = spare.texts.pop().unwrap_or_default();
        let mut batches: Vec<Batch> = spare.batches.pop().unwrap_or_default();
        spare.of_server.clear();
        spare.of_server.resize(servers, u16::MAX);
        text.extend_from_slice(get.head);
        let head = text.len() as u32;
        for key in get.keys() {
            if key.len() > LONGEST_KEY {
                spare.take_back(text, keys, order, batches);
                return None;
            }
            let server = router.server(key);
            let batch = &mut spare.of_server[server];
            if *batch == u16::MAX {
                *batch = batches.len() as u16;
                let held = spare.held.pop().unwrap_or_default();
                batches.push(Batch { server: server as u32, held, ..Batch::default() });
            }
            batches[*batch as usize].end += 1;
            keys.push(Key { at: text.len() as u32, len: key.len() as u8, batch: *batch, found: UNKNOWN, size: 0 });
            text.extend_from_slice(key);
        }
        let mut first = 0;
        for batch in &mut batches {
            let count = batch.end;
            (batch.first, batch.next, batch.end) = (first, first, first);
            first += count;
        }
        order.resize(keys.len(), 0);
        for (index, key) in (0..).zip(&keys) {
            let batch = &mut batches[key.batch as usize];
            order[batch.end as usize] = index;
            batch.end += 1;
        }
        let (client, number, began) = whose;
        let left = batches.len() as u32;
        let schedule = Schedule::new(window, left);
        Some(Multiget {
            client,
            number,
            began,
            schedule,
            batches,
            text,
            head,
            keys,
            order,
            written: 0,
            left,
            failed: None,
        })
    }

    /// How many keys it has.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Writes what a batch's server is asked.
    pub fn put_request(&self, batch: u32, out: &mut Vec<u8>) {
        let batch = &self.batches[batch as usize];
        out.extend_from_slice(&self.text[..self.head as usize]);
        for index in &self.order[batch.first as usize..batch.end as usize] {
            let Key { at, len, .. } = self.keys[*index as usize];
            out.push(b' ');
            out.extend_from_slice(&self.text[at as usize..at as usize + usize::from(len)]);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// A batch's server answers with a key's value, so many bytes with its line, which [`Multiget::hold`] gets: whether the key is one
    /// that can come now. Those before it are not there.
    #[must_use]
    pub fn value(&mut self, batch: u32, key: &[u8], size: u32) -> bool {
        let batch = &mut self.batches[batch as usize];
        while batch.next < batch.end {
            let asked = &mut self.keys[self.order[batch.next as usize] as usize];
            batch.next += 1;
            if &self.text[asked.at as usize..asked.at as usize + usize::from(asked.len)] == key {
                (asked.found, asked.size) = (batch.held.len() as u32, size);
                return batch.held.len() as u64 + u64::from(size) < u64::from(UNKNOWN);
            }
            (asked.found, asked.size) = (0, MISSED);
        }
        false
    }

    /// Takes bytes of a batch's answers.
    pub fn hold(&mut self, batch: u32, bytes: &[u8]) {
        self.batches[batch as usize].held.extend_from_slice(bytes);
    }

    /// A batch's answer has ended, well or not: what has not come of it will not.
    pub fn end(&mut self, batch: u32, failed: Option<&'static str>) {
        self.failed = self.failed.or(failed);
        let batch = &mut self.batches[batch as usize];
        if std::mem::replace(&mut batch.over, true) {
            return;
        }
        self.left -= 1;
        if failed.is_some() && batch.next > batch.first {
            // The last one that was told of may not have come whole.
            let last = &mut self.keys[self.order[batch.next as usize - 1] as usize];
            if last.found as usize + last.size as usize > batch.held.len() {
                (last.found, last.size) = (0, MISSED);
            }
        }
        for index in &self.order[batch.next as usize..batch.end as usize] {
            let key = &mut self.keys[*index as usize];
            (key.found, key.size) = (0, MISSED);
        }
        batch.next = batch.end;
    }

    /// The bytes that a batch has brought.
    pub fn bytes_of(&self, batch: u32) -> u64 {
        self.batches[batch as usize].held.len() as u64
    }

    /// Writes what can be written in the keys' order, and the end behind the last: whether that was it.
    pub fn write(&mut self, out: &mut Vec<u8>) -> bool {
        while let Some(key) = self.keys.get(self.written) {
            let held = &self.batches[key.batch as usize].held;
            match key.size {
                MISSED if key.found == UNKNOWN => return false,
                MISSED => {}
                size => match held.get(key.found as usize..key.found as usize + size as usize) {
                    Some(answer) => out.extend_from_slice(answer),
                    // It has not come whole.
                    None => return false,
                },
            }
            self.written += 1;
        }
        if self.left > 0 {
            return false;
        }
        out.extend_from_slice(self.failed.unwrap_or(fanin_memcache::text::END).as_bytes());
        true
    }

    /// Gives its buffers back.
    pub fn over(self, spare: &mut Spare) {
        spare.take_back(self.text, self.keys, self.order, self.batches);
    }
}

impl Spare {
    fn take_back(&mut self, mut text: Vec<u8>, mut keys: Vec<Key>, mut order: Vec<u32>, mut batches: Vec<Batch>) {
        for batch in batches.drain(..) {
            let mut held = batch.held;
            if self.held.len() < KEPT && held.capacity() <= LARGEST_KEPT {
                held.clear();
                self.held.push(held);
            }
        }
        if self.texts.len() < KEPT && text.capacity() <= LARGEST_KEPT {
            text.clear();
            keys.clear();
            order.clear();
            self.texts.push((text, keys, order));
            self.batches.push(batches);
        }
    }
}
