//! Encoding of messages of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>).

/// Types of fields on the wire.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

/// The fields of a message.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 1 << 7 {
            self.0.push(number as u8 | 1 << 7);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// An `uint64`, `uint32` or enum.
    pub fn uint(mut self, field: u64, number: u64) -> Message {
        self.varint(field << 3 | VARINT);
        self.varint(number);
        self
    }

    /// A `sint64` or `sint32`, of which small ones of either sign are short.
    pub fn sint(self, field: u64, number: i64) -> Message {
        self.uint(field, (number << 1 ^ number >> 63) as u64)
    }

    /// A `double`.
    pub fn double(self, field: u64, number: f64) -> Message {
        self.fixed(field, number.to_bits())
    }

    /// A `fixed64`.
    pub fn fixed(mut self, field: u64, number: u64) -> Message {
        self.varint(field << 3 | FIXED64);
        self.0.extend(number.to_le_bytes());
        self
    }

    /// A string or a message.
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | LENGTH);
        self.delimited(bytes);
        self
    }

    /// Bytes after their length.
    pub fn delimited(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// The encoded fields.
    pub fn encoded(&self) -> &[u8] {
        &self.0
    }

    /// The encoded fields.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
