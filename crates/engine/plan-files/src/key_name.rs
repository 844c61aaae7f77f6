//! Names of keys in logs and tables: the key itself with unsafe bytes as `%3A`, or a hash of it by a secret.

use std::io::Write;

/// A key's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyName {
    /// The key.
    Plain(Vec<u8>),
    /// The key's hash.
    Hashed {
        /// Id of the secret by which it is hashed.
        secret: u32,
        /// The hash.
        hash: u128,
    },
}

impl KeyName {
    /// Decodes a name. Every text is the name of a key; only `~`, 8 digits, `~` and 32 digits are a hash.
    pub fn decode(name: &[u8]) -> KeyName {
        hashed(name).unwrap_or_else(|| KeyName::Plain(plain(name)))
    }
}

/// Writes the name of a plain key: letters, digits and `-._~` as they are, other bytes as `%3A`, like memcached's watcher.
pub fn write_plain(key: &[u8], out: &mut Vec<u8>) {
    // A leading `~` means a hash, and spreadsheets read a leading `-` as a formula.
    let is_safe =
        |place, byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte) || place > 0 && b"-~".contains(&byte);
    write_escaped(key, is_safe, out);
}

/// Writes the name of a hashed key: `~`, the secret's id, `~`, and 32 digits.
pub fn write_hashed(secret: u32, hash: u128, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "~{secret:08x}~{hash:032x}");
}

/// Escapes a name from a log of any program: all bytes but letters, digits and `-._~`. A percent sign already starts an escaped byte.
pub fn escape(name: &[u8], out: &mut Vec<u8>) {
    let is_safe =
        |place, byte: u8| byte.is_ascii_alphanumeric() || byte == b'%' || place > 0 && b"-._~".contains(&byte);
    write_escaped(name, is_safe, out);
}

fn write_escaped(bytes: &[u8], is_safe: impl Fn(usize, u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for (place, byte) in bytes.iter().enumerate() {
        if is_safe(place, *byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// Decodes `~0123abcd~` with 32 digits.
fn hashed(name: &[u8]) -> Option<KeyName> {
    let text = str::from_utf8(name).ok()?;
    let (secret, hash) = text.strip_prefix('~')?.split_once('~')?;
    let hex = |text: &str, len| text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex(secret, 8) || !hex(hash, 32) {
        return None;
    }
    let (secret, hash) = (u32::from_str_radix(secret, 16).ok()?, u128::from_str_radix(hash, 16).ok()?);
    Some(KeyName::Hashed { secret, hash })
}

/// Decodes a plain name: `%3A` is one byte.
fn plain(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|digits| *byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let coded = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        key.push(coded.unwrap_or(*byte));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(key: &[u8]) -> Vec<u8> {
        let mut name = Vec::new();
        write_plain(key, &mut name);
        name
    }

    #[test]
    fn plain_names_follow_memcacheds_watcher() {
        assert_eq!(named(b"user:7,\"a\"~b"), b"user%3A7%2C%22a%22~b");
        assert_eq!(named(b"~00000000~0\xff"), b"%7E00000000~0%FF");
        assert_eq!(named(b"-1-x"), b"%2D1-x", "nor like a formula");
    }

    #[test]
    fn decodes_every_encoded_key() {
        for key in [&b"user:7"[..], b"%41", b"~0123abcd~000102030405060708090a0b0c0d0e0f", b"-", b"\xff\0", b""] {
            assert_eq!(KeyName::decode(&named(key)), KeyName::Plain(key.to_vec()), "{}", key.escape_ascii());
        }
        let mut name = Vec::new();
        write_hashed(0x0123_abcd, 7, &mut name);
        assert_eq!(name, b"~0123abcd~00000000000000000000000000000007");
        assert_eq!(KeyName::decode(&name), KeyName::Hashed { secret: 0x0123_abcd, hash: 7 });
    }

    #[test]
    fn malformed_names_are_plain_keys() {
        assert_eq!(KeyName::decode(b"a%3Ab%20c%zz%4"), KeyName::Plain(b"a:b c%zz%4".to_vec()));
        for name in [&b"~0123abcd~00"[..], b"~+123abcd~000102030405060708090a0b0c0d0e0f", b"~", b"", b"\xff~"] {
            assert_eq!(KeyName::decode(name), KeyName::Plain(name.to_vec()));
        }
    }
}
