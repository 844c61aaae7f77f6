//! Numbers as memcached takes them, by C's `strtol` and its like: white space and a sign in front, white space behind.

/// C's `isspace`; the space itself cannot be in a word.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The sign and the digits' value; none where there are no digits, or more behind them than white space, or too many.
fn parts(word: &[u8]) -> Option<(bool, u64)> {
    let start = word.iter().position(|byte| !is_space(*byte))?;
    let (negative, digits) = match &word[start..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 || digits.get(end).is_some_and(|byte| !is_space(*byte)) {
        return None;
    }
    let mut value = 0u64;
    for digit in &digits[..end] {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some((negative, value))
}

/// Whether it is a number of 64 bits without a sign, as `cas` and `incr` want one. One with a sign is taken if it wraps to what
/// could have none.
pub fn unsigned(word: &[u8]) -> Option<u64> {
    let (negative, value) = parts(word)?;
    let value = if negative { value.wrapping_neg() } else { value };
    // A minus anywhere in the word counts.
    let refused = (value as i64) < 0 && word.contains(&b'-');
    (!refused).then_some(value)
}

/// A number with a sign, of which the lower 32 bits are heeded.
pub fn signed(word: &[u8]) -> Option<i32> {
    let (negative, value) = parts(word)?;
    let value = if negative { 0i64.checked_sub_unsigned(value)? } else { i64::try_from(value).ok()? };
    Some(value as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_c_takes_for_numbers() {
        for (word, value) in [("0", 0), ("-1", -1), ("+7", 7), ("7\t", 7), ("\t7", 7), ("4294967296", 0)] {
            assert_eq!(signed(word.as_bytes()), Some(value), "{word}");
        }
        for word in ["", "-", "x", "7x", "9223372036854775808", "-9223372036854775809", "0x10", "--1"] {
            assert_eq!(signed(word.as_bytes()), None, "{word}");
        }
        assert_eq!(signed(b"-9223372036854775808"), Some(0));
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"-18446744073709551615"), Some(1));
    }
}
