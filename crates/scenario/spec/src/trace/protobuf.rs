//! Fields of messages in protobuf's encoding, without a schema.

/// A value as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    /// A text, a message or a packed list.
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message; `Err` ends a message that is cut off or has another encoding.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), ()>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = field(&mut self.0);
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(()))
    }
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(bytes)?;
    let value = match key & 7 {
        0 => Value::Varint(varint(bytes)?),
        1 => Value::Fixed64(u64::from_le_bytes(bytes.split_off(..8)?.try_into().ok()?)),
        2 => Value::Bytes(delimited(bytes)?),
        5 => Value::Fixed32(u32::from_le_bytes(bytes.split_off(..4)?.try_into().ok()?)),
        _ => return None,
    };
    Some((key >> 3, value))
}

/// Bytes after their length.
pub(super) fn delimited<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = varint(bytes)?;
    bytes.split_off(..usize::try_from(length).ok()?)
}

/// A number in groups of seven bits, the lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A signed number of protobuf's `sint` types.
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        // Field 1 with 150, field 2 with "testing", field 3 with a fixed number, field 4 with another one.
        let bytes = b"\x08\x96\x01\x12\x07testing\x1d\x01\0\0\0\x21\x02\0\0\0\0\0\0\0";
        let fields: Vec<_> = Fields(bytes).collect();
        let expected =
            [(1, Value::Varint(150)), (2, Value::Bytes(b"testing")), (3, Value::Fixed32(1)), (4, Value::Fixed64(2))];
        assert_eq!(fields, expected.map(Ok));
        assert_eq!([0, 1, 2, 3].map(zigzag), [0, -1, 1, -2]);
    }

    #[test]
    fn cut_messages_end_with_an_error() {
        for bytes in [
            &b"\x08"[..],
            b"\x08\x96",
            b"\x12\x07test",
            b"\x0b",
            b"\x1d\x01",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(Fields(bytes).collect::<Vec<_>>(), [Err(())], "{bytes:?}");
        }
        assert_eq!(varint(&mut &[0xff; 11][..]), None);
    }
}
