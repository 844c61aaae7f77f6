//! Byte queue.

use std::ops::Deref;

use super::Buffer;

/// A larger consumed prefix is freed.
const KEPT: usize = 64 << 10;

/// The bytes.
#[derive(Debug, Default)]
pub struct Bytes {
    bytes: Buffer,
    /// Number of consumed bytes.
    from: usize,
}

impl Bytes {
    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Removes bytes from the front.
    pub fn take(&mut self, count: usize) {
        self.from += count;
        if self.from >= self.bytes.len() {
            self.bytes.clear();
            self.from = 0;
        } else if self.from > KEPT && self.from > self.bytes.len() / 2 {
            let from = std::mem::take(&mut self.from);
            self.bytes.with(|bytes| drop(bytes.drain(..from)));
        }
    }

    /// Capacity.
    pub fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the emptied buffer.
    pub fn into_buffer(self) -> Buffer {
        self.bytes
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_bytes_in_order() {
        let mut line = Bytes::default();
        let all: Vec<u8> = (0..300_000u32).map(|number| number as u8).collect();
        let mut at = 0;
        for piece in all.chunks(7001) {
            line.put(piece);
            while line.len() > 5000 {
                assert_eq!(line[..100], all[at..at + 100]);
                line.take(100);
                at += 100;
            }
        }
        assert_eq!(line[..], all[at..]);
        line.take(line.len());
        assert!(line.is_empty());
    }
}
