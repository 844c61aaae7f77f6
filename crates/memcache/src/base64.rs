//! Keys in base64, as the meta commands' flag `b` has them: what a server stores is the key behind it.

use crate::LONGEST_KEY;

/// The key that a word stands for; none where it is no base64.
pub fn decoded<'b>(word: &[u8], room: &'b mut [u8; LONGEST_KEY]) -> Option<&'b [u8]> {
    let digits = word.strip_suffix(b"==").or(word.strip_suffix(b"=")).unwrap_or(word);
    if !word.len().is_multiple_of(4) || digits.is_empty() {
        return None;
    }
    let (mut bits, mut held, mut len) = (0u32, 0, 0);
    for &byte in digits {
        bits = bits << 6 | u32::from(digit(byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            *room.get_mut(len)? = (bits >> held) as u8;
            len += 1;
        }
    }
    Some(&room[..len])
}

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_base64_is_the_key_behind_it() {
        let mut room = [0; LONGEST_KEY];
        for (word, key) in [("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"), ("+/+/", "\u{0}")] {
            let decoded = decoded(word.as_bytes(), &mut room);
            if key == "\0" {
                assert_eq!(decoded, Some(&[0xfb, 0xff, 0xbf][..]));
            } else {
                assert_eq!(decoded, Some(key.as_bytes()));
            }
        }
        for word in ["", "=", "====", "Zm9", "Zm!v", "Z=9v"] {
            assert_eq!(decoded(word.as_bytes(), &mut room), None, "{word}");
        }
    }
}
