//! Numbers as the newest memcached accepts them: digits only, with a minus sign only for times.

/// Maximum length of 32-bit and 64-bit numbers.
const LONGEST_32: usize = 11;
const LONGEST_64: usize = 22;

/// Unsigned 32 bits.
pub fn unsigned_32(word: &[u8]) -> Option<u32> {
    (word.len() <= LONGEST_32).then(|| digits(word)).flatten().and_then(|value| u32::try_from(value).ok())
}

/// Unsigned 64 bits.
pub fn unsigned_64(word: &[u8]) -> Option<u64> {
    (word.len() <= LONGEST_64).then(|| digits(word)).flatten()
}

/// Signed 32 bits.
pub fn signed_32(word: &[u8]) -> Option<i32> {
    let (minus, rest) = word.strip_prefix(b"-").map_or((false, word), |rest| (true, rest));
    let value = (word.len() <= LONGEST_32).then(|| digits(rest)).flatten()?;
    let value = i64::try_from(value).ok()?;
    i32::try_from(if minus { -value } else { value }).ok()
}

fn digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_only() {
        for (word, value) in [("0", 0), ("-1", -1), ("2147483647", i32::MAX), ("-2147483648", i32::MIN), ("007", 7)] {
            assert_eq!(signed_32(word.as_bytes()), Some(value), "{word}");
        }
        for word in ["", "-", "x", "7x", "+7", "7\t", " 7", "2147483648", "-2147483649", "0x10", "--1", "000000000007"]
        {
            assert_eq!(signed_32(word.as_bytes()), None, "{word}");
        }
        assert_eq!((unsigned_32(b"4294967295"), unsigned_32(b"4294967296")), (Some(u32::MAX), None));
        assert_eq!(unsigned_64(b"18446744073709551615"), Some(u64::MAX));
        for word in ["18446744073709551616", "-1", "+1", "-18446744073709551615", "00000000000000000000001"] {
            assert_eq!(unsigned_64(word.as_bytes()), None, "{word}");
        }
    }
}
