//! Hash functions of twemproxy and libmemcached, bit for bit, since the placement of keys depends on them.
//!
//! They are C code with signed `char`, so some treat bytes from 0x80 on as negative numbers.
//! Verified against the programs' own output in vectors/keys_to_servers.json.

use md5::{Digest, Md5};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// Jenkins' one at a time.
    OneAtATime,
    /// The first four bytes of MD5.
    Md5,
    /// CRC-16/XMODEM without truncation to 16 bits.
    Crc16,
    /// 15 bits of CRC-32.
    Crc32,
    /// CRC-32.
    Crc32a,
    /// FNV-1 of 64 bits, truncated to 32.
    Fnv1_64,
    /// FNV-1a as they name 64 bits, but computed in 32.
    Fnv1a64,
    /// FNV-1 of 32 bits.
    Fnv1_32,
    /// FNV-1a of 32 bits.
    Fnv1a32,
    /// Hsieh's SuperFastHash.
    Hsieh,
    /// MurmurHash2.
    Murmur,
    /// Jenkins' lookup3.
    Jenkins,
}

impl Hash {
    /// Each with twemproxy's name.
    pub const WORDS: [(&'static str, Hash); 12] = [
        ("one_at_a_time", Hash::OneAtATime),
        ("md5", Hash::Md5),
        ("crc16", Hash::Crc16),
        ("crc32", Hash::Crc32),
        ("crc32a", Hash::Crc32a),
        ("fnv1_64", Hash::Fnv1_64),
        ("fnv1a_64", Hash::Fnv1a64),
        ("fnv1_32", Hash::Fnv1_32),
        ("fnv1a_32", Hash::Fnv1a32),
        ("hsieh", Hash::Hsieh),
        ("murmur", Hash::Murmur),
        ("jenkins", Hash::Jenkins),
    ];

    /// Hash of a key.
    pub fn of(self, key: &[u8]) -> u32 {
        match self {
            Hash::OneAtATime => one_at_a_time(key),
            Hash::Md5 => md5(key)[0],
            Hash::Crc16 => key.iter().fold(0, |crc, byte| crc << 8 ^ CRC16[((crc >> 8) as u8 ^ byte) as usize]),
            Hash::Crc32 => crc32fast::hash(key) >> 16 & 0x7fff,
            Hash::Crc32a => crc32fast::hash(key),
            Hash::Fnv1_64 => {
                key.iter().fold(FNV_64, |hash, byte| hash.wrapping_mul(FNV_64_PRIME) ^ signed(*byte) as u64) as u32
            }
            Hash::Fnv1a64 => fnv1a(FNV_64 as u32, FNV_64_PRIME as u32, key),
            Hash::Fnv1_32 => {
                key.iter().fold(FNV_32, |hash, byte| hash.wrapping_mul(FNV_32_PRIME) ^ signed(*byte) as u32)
            }
            Hash::Fnv1a32 => fnv1a(FNV_32, FNV_32_PRIME, key),
            Hash::Hsieh => hsieh(key),
            Hash::Murmur => murmur(key),
            Hash::Jenkins => jenkins(key),
        }
    }
}

const FNV_64: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_64_PRIME: u64 = 0x100_0000_01b3;
const FNV_32: u32 = 2_166_136_261;
const FNV_32_PRIME: u32 = 16_777_619;

/// A byte as a signed `char`.
fn signed(byte: u8) -> i64 {
    i64::from(byte as i8)
}

fn fnv1a(start: u32, prime: u32, key: &[u8]) -> u32 {
    key.iter().fold(start, |hash, byte| (hash ^ signed(*byte) as u32).wrapping_mul(prime))
}

/// MD5 of a key as four words.
pub fn md5(key: &[u8]) -> [u32; 4] {
    let digest: [u8; 16] = Md5::digest(key).into();
    [0, 4, 8, 12].map(|at| u32::from_le_bytes([digest[at], digest[at + 1], digest[at + 2], digest[at + 3]]))
}

fn one_at_a_time(key: &[u8]) -> u32 {
    let mut hash = 0u32;
    for byte in key {
        hash = hash.wrapping_add(signed(*byte) as u32);
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

const CRC16: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = ((byte as u32) << 8, 0);
        while bit < 8 {
            crc = (crc << 1 ^ if crc & 0x8000 != 0 { 0x1021 } else { 0 }) & 0xffff;
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn hsieh(key: &[u8]) -> u32 {
    let two = |bytes: &[u8]| u32::from(bytes[0]) | u32::from(bytes[1]) << 8;
    let mut hash = 0u32;
    let (fours, rest) = key.as_chunks::<4>();
    for four in fours {
        hash = hash.wrapping_add(two(four));
        hash = hash << 16 ^ two(&four[2..]) << 11 ^ hash;
        hash = hash.wrapping_add(hash >> 11);
    }
    match rest {
        [a, b, c] => {
            hash = hash.wrapping_add(two(&[*a, *b]));
            hash ^= hash << 16;
            hash ^= (signed(*c) as u32) << 18;
            hash = hash.wrapping_add(hash >> 11);
        }
        [a, b] => {
            hash = hash.wrapping_add(two(&[*a, *b]));
            hash ^= hash << 11;
            hash = hash.wrapping_add(hash >> 17);
        }
        [a] => {
            hash = hash.wrapping_add(u32::from(*a));
            hash ^= hash << 10;
            hash = hash.wrapping_add(hash >> 1);
        }
        _ if key.is_empty() => return 0,
        _ => {}
    }
    hash ^= hash << 3;
    hash = hash.wrapping_add(hash >> 5);
    hash ^= hash << 4;
    hash = hash.wrapping_add(hash >> 17);
    hash ^= hash << 25;
    hash.wrapping_add(hash >> 6)
}

fn murmur(key: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let len = key.len() as u32;
    let mut hash = 0xdead_beef_u32.wrapping_mul(len) ^ len;
    let (fours, rest) = key.as_chunks::<4>();
    for four in fours {
        let mut word = u32::from_le_bytes(*four).wrapping_mul(M);
        word = (word ^ word >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ word;
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        hash = (hash ^ word).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}

fn jenkins(key: &[u8]) -> u32 {
    const START: u32 = 13;
    let start = 0xdead_beef_u32.wrapping_add(key.len() as u32).wrapping_add(START);
    let (mut a, mut b, mut c) = (start, start, start);
    let word =
        |block: &[u8; 12], at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    let mut rest = key;
    loop {
        let mut block = [0; 12];
        let take = rest.len().min(12);
        block[..take].copy_from_slice(&rest[..take]);
        if take == 0 {
            return c;
        }
        a = a.wrapping_add(word(&block, 0));
        b = b.wrapping_add(word(&block, 4));
        c = c.wrapping_add(word(&block, 8));
        if rest.len() <= 12 {
            break;
        }
        rest = &rest[12..];
        for [one, two, three] in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(one);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(two);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(three);
            b = b.wrapping_add(a);
        }
    }
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
