//! Keys in base64 (flag `b` of meta commands): servers store the decoded key.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::LONGEST_KEY;

/// As memcached encodes and decodes, except that memcached skips invalid characters.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);
/// Maximum length of an encoded key.
const LONGEST_WRITTEN: usize = LONGEST_KEY.div_ceil(3) * 4;

/// Decodes a key; none if it is not base64.
pub fn decoded<'b>(word: &[u8], room: &'b mut [u8; LONGEST_KEY]) -> Option<&'b [u8]> {
    let len = BASE64.decode_slice(word, room).ok().filter(|len| *len > 0)?;
    Some(&room[..len])
}

/// Writes the canonical encoding of an encoded key, as memcached prints it.
pub fn canonical(word: &[u8], mut put: impl FnMut(&[u8])) {
    let (mut key, mut written) = ([0; LONGEST_KEY], [0; LONGEST_WRITTEN]);
    let len = decoded(word, &mut key).and_then(|key| BASE64.encode_slice(key, &mut written).ok());
    put(&written[..len.unwrap_or(0)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_keys_in_base64() {
        let mut room = [0; LONGEST_KEY];
        for (word, key) in
            [("Zm9v", &b"foo"[..]), ("Zm9vYg==", b"foob"), ("Zm9vYmE=", b"fooba"), ("+/+/", b"\xfb\xff\xbf")]
        {
            assert_eq!(decoded(word.as_bytes(), &mut room), Some(key));
        }
        for word in ["", "=", "====", "Zm9", "Zm!v", "Z=9v", "Zm9v!", "Zm9vYg=", "Zm9v Zm9v"] {
            assert_eq!(decoded(word.as_bytes(), &mut room), None, "{word}");
        }
    }

    #[test]
    fn canonicalizes_base64_keys() {
        let mut written = std::vec::Vec::new();
        canonical(b"Zm9vYh==", |bytes| written.extend_from_slice(bytes));
        assert_eq!(written, b"Zm9vYg==");
    }
}
