//! A large value on its way through.

use fanin_proxy_core::memory::Buffer;

/// A large value being received.
#[derive(Debug)]
pub struct StreamedValue {
    /// Its line and the bytes so far.
    pub bytes: Buffer,
    /// Missing bytes, terminator included; and whether the response ends with it.
    pub left: u32,
    pub last: bool,
    /// Whether a client still wants it.
    pub keeps: bool,
}

impl StreamedValue {
    /// A value of which `left` bytes are missing.
    pub fn new(left: u32, last: bool, keeps: bool) -> StreamedValue {
        StreamedValue { bytes: Buffer::default(), left, last, keeps }
    }

    /// Takes more bytes; returns how many.
    pub fn take(&mut self, come: &[u8]) -> usize {
        if self.keeps {
            self.bytes.extend(come);
        }
        self.left -= come.len() as u32;
        come.len()
    }
}
