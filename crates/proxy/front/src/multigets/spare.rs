//! Unused buffers and tables of multigets.

use fanin_memcache::Get;

use super::batch::{Batch, KeyResult};
use fanin_proxy_core::memory::{Buffer, Charge};

/// Maximum number of unused multiget tables, and of buffer bytes.
const KEPT: usize = 256;
/// Size from which a buffer is large; above the second it is freed.
const LARGE: usize = 64 << 10;
const LARGEST_KEPT: usize = 1 << 20;

/// Buffers of a multiget.
#[derive(Debug, Default)]
pub struct Tables {
    /// Requests.
    pub text: Vec<u8>,
    /// Batch of each key.
    pub of_key: Vec<u16>,
    /// Place of each key in `text`, batch by batch.
    pub places: Vec<u32>,
    /// Result of each key.
    pub results: Vec<KeyResult>,
    pub charge: Charge,
}

/// Unused buffers.
#[derive(Debug, Default)]
pub struct Spare {
    tables: Vec<Tables>,
    batches: Vec<Vec<Batch>>,
    /// Small ones for batches, and large ones for whole responses.
    buffers: [Vec<Buffer>; 2],
    /// Their capacity, and its limit.
    room: usize,
    most: usize,
    /// For each server, its batch in the multiget under construction.
    pub of_server: Vec<u16>,
    /// Command before the keys.
    head: Vec<u8>,
}

impl Spare {
    /// A pool of buffers with a maximum size.
    pub fn new(most: usize) -> Spare {
        Spare { most, ..Spare::default() }
    }

    /// Empty tables for a multiget of keys on this many servers.
    pub fn tables(&mut self, servers: usize) -> (Tables, Vec<Batch>) {
        self.of_server.clear();
        self.of_server.resize(servers, u16::MAX);
        (self.tables.pop().unwrap_or_default(), self.batches.pop().unwrap_or_default())
    }

    /// Command before a request's keys.
    pub fn head_of(&mut self, get: &Get<'_>) -> &[u8] {
        self.head.clear();
        get.head(|bytes| self.head.extend_from_slice(bytes));
        &self.head
    }

    /// Frees all buffers.
    pub fn clear(&mut self) {
        *self = Spare::new(self.most);
    }

    /// An empty buffer.
    pub fn buffer(&mut self, large: bool) -> Buffer {
        let buffer = self.buffers[usize::from(large)].pop().unwrap_or_default();
        self.room -= buffer.capacity();
        buffer
    }

    /// Takes an unused buffer.
    pub fn keep(&mut self, mut buffer: Buffer) {
        let room = buffer.capacity();
        if room > 0 && room <= LARGEST_KEPT && self.room + room <= self.most {
            buffer.clear();
            self.room += room;
            self.buffers[usize::from(room >= LARGE)].push(buffer);
        }
    }

    /// Takes the tables of a multiget.
    pub fn take_back(&mut self, mut tables: Tables, mut batches: Vec<Batch>) {
        for batch in batches.drain(..) {
            self.keep(batch.held);
        }
        if self.tables.len() < KEPT && tables.text.capacity() <= LARGEST_KEPT {
            tables.text.clear();
            tables.of_key.clear();
            tables.places.clear();
            tables.results.clear();
            self.tables.push(tables);
            self.batches.push(batches);
        }
    }
}
