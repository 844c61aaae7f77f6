//! Output of a connection.

use std::collections::VecDeque;

use fanin_proxy_core::memory::{Buffer, Charge};

/// A larger sent prefix is freed, and a larger buffer is shrunk.
const KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;
/// Longest TLS record to a server. memcached reads up to 16 KiB at once.
const RECORD: usize = 8 << 10;

/// Bytes to send.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Buffer,
    /// Length of the sent prefix.
    sent: usize,
    /// Bytes that the kernel is sending.
    handed: usize,
    charge: Charge,
    /// Lengths of the TLS records for unsent requests to a server.
    records: VecDeque<usize>,
}

impl Outgoing {
    /// Number of unsent bytes.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.sent + self.handed
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends what `write` writes to free space of this size; it returns how many bytes.
    ///
    /// # Errors
    /// That of `write`; nothing is appended then.
    pub fn extend_by<E>(&mut self, most: usize, write: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<(), E> {
        self.bytes.with(|bytes| {
            let before = bytes.len();
            bytes.resize(before + most, 0);
            let wrote = write(&mut bytes[before..]);
            bytes.truncate(before + *wrote.as_ref().unwrap_or(&0));
            wrote.map(drop)
        })
    }

    /// Appends a buffer; a large one replaces an empty buffer.
    pub fn append(&mut self, more: Buffer) {
        if self.bytes.is_empty() && more.len() > KEPT {
            self.bytes = more;
        } else {
            self.bytes.extend(&more);
        }
    }

    /// Bytes to send next.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Notes that the last `length` bytes are a request to a server that uses TLS.
    ///
    /// A TLS record has whole requests, or a part of one that is longer, and nothing else. memcached reads a command, or the rest of a stored
    /// value, and then waits for the socket, although its TLS library may have more of the same record (1.6.18, `memcached.c`,
    /// `try_read_network` and `conn_nread`).
    pub fn request_ends(&mut self, length: usize) {
        match self.records.back_mut() {
            Some(last) if *last + length <= RECORD => *last += length,
            _ if length <= RECORD => self.records.push_back(length),
            _ => {
                self.records.extend(std::iter::repeat_n(RECORD, (length - 1) / RECORD));
                // The next request starts a record of its own.
                self.records.extend([(length - 1) % RECORD + 1, 0]);
            }
        }
    }

    /// Takes the length of the next TLS record to a server, if this is output to one.
    pub fn next_record(&mut self) -> Option<usize> {
        std::iter::from_fn(|| self.records.pop_front()).find(|length| *length > 0)
    }

    /// Counts sent bytes.
    pub fn wrote(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            if self.bytes.capacity() > MOST_KEPT {
                self.bytes.with(|bytes| bytes.shrink_to(MOST_KEPT));
            }
        } else if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            let sent = std::mem::take(&mut self.sent);
            self.bytes.with(|bytes| drop(bytes.drain(..sent)));
        }
    }

    /// Hands bytes to the kernel; `take` returns how many it has taken but not sent.
    pub fn hand_over<E>(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Result<usize, E>) -> Result<(), E> {
        self.handed = self.bytes.with(take)?;
        self.charge.set(self.handed);
        self.wrote(0);
        Ok(())
    }

    /// Counts bytes that are encoded but not sent, whose memory is charged elsewhere: output ends only with them.
    pub fn has_encoded(&mut self, count: usize) {
        self.handed = count;
    }

    /// Memory that it takes.
    pub fn holds(&self) -> usize {
        self.bytes.capacity() + self.handed
    }

    /// Takes the buffer if it is empty.
    pub fn take_empty(&mut self) -> Option<Buffer> {
        self.bytes.is_empty().then(|| std::mem::take(&mut self.bytes))
    }

    /// Returns the buffer, created if there is none.
    pub fn fill(&mut self, buffer: impl FnOnce() -> Buffer) -> &mut Buffer {
        if self.bytes.capacity() == 0 {
            self.bytes = buffer();
        }
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_ends_with_request() {
        let mut out = Outgoing::default();
        let mut records = |requests: &[usize]| {
            requests.iter().for_each(|length| out.request_ends(*length));
            std::iter::from_fn(|| out.next_record()).collect::<Vec<_>>()
        };
        assert_eq!(records(&[5000, 3192, 1]), [8192, 1]);
        assert_eq!(records(&[100, 20_000, 10, 8182, 1]), [100, 8192, 8192, 3616, 8192, 1]);
        assert_eq!(records(&[8192, 8193]), [8192, 8192, 1]);
        assert_eq!(records(&[16_384]), [8192, 8192]);
    }
}
