//! Output of a connection.

use crate::memory::{Buffer, Charge};

/// A larger sent prefix is freed, and a larger buffer is shrunk.
const KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;

/// Bytes to send.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Buffer,
    /// Length of the sent prefix.
    sent: usize,
    /// Bytes that the kernel is sending.
    handed: usize,
    charge: Charge,
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
