//! Hostile input: reading always ends, with a diagnosis or an error.

use std::io::{self, Read};

use crate::script::{MS, Script, US};
use fanin_diagnose::{Input, diagnose};
use proptest::prelude::*;

fn read(bytes: &[u8]) {
    // Any verdict will do.
    if let Ok(found) = diagnose(vec![Input { name: "x".into(), stream: Box::new(bytes) }]) {
        assert!(!found.verdict.says.is_empty());
    }
}

fn capture() -> Vec<u8> {
    let mut script = Script::open(3, true);
    script.ask(5 * MS);
    (0..3).for_each(|server| script.answer(5 * MS + 120 * US, server, 0..10));
    script.pcap()
}

const PCAPNG: &[u8] = &[
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
];

proptest! {
    #![proptest_config(fanin_testing::cases(400))]

    #[test]
    fn survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000), kind in 0usize..6) {
        let head: &[u8] = match kind {
            0 => &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 1, 0, 0, 0],
            1 => PCAPNG,
            2 => &[0x0a, 0x0d, 0x0d, 0x0a],
            3 => &[0x1f, 0x8b],
            4 => b"#kernel\n",
            _ => &[],
        };
        read(&[head, &bytes].concat());
    }

    #[test]
    fn survives_frames_of_any_link(
        link in prop::sample::select(vec![0u32, 1, 12, 14, 101, 108, 113, 228, 229, 276]),
        frames in prop::collection::vec((prop::collection::vec(prop_oneof![Just(0xffu8), Just(0), any::<u8>()], 0..120), any::<u32>()), 1..8),
    ) {
        let mut bytes = Vec::new();
        for word in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 65_535, link] {
            bytes.extend(word.to_le_bytes());
        }
        for (frame, length) in frames {
            for word in [1, 2, frame.len() as u32, length] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(frame);
        }
        read(&bytes);
    }

    #[test]
    fn survives_damaged_captures(damage in prop::collection::vec((0usize..8000, any::<u8>()), 1..20), cut in 24usize..8000) {
        let mut bytes = capture();
        for (place, byte) in damage {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        bytes.truncate(cut);
        read(&bytes);
    }

    #[test]
    fn survives_any_blocks(blocks in prop::collection::vec((0u32..12, prop::collection::vec(any::<u8>(), 0..60)), 0..12)) {
        let mut bytes = PCAPNG.to_vec();
        for (kind, mut body) in blocks {
            body.resize(body.len().next_multiple_of(4), 0);
            let length = body.len() as u32 + 12;
            bytes.extend(kind.to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend(body);
            bytes.extend(length.to_le_bytes());
        }
        read(&bytes);
    }
}

/// A stream of one endless block.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = [PCAPNG, &[6, 0, 0, 0, 252, 255, 255, 255]].concat();
        for byte in buffer.iter_mut() {
            *byte = begin.get(self.0 as usize).copied().unwrap_or(7);
            self.0 += 1;
        }
        // An invalid block must not cause more reads than this.
        if self.0 > 64 << 20 { Err(io::Error::other("too much was asked for")) } else { Ok(buffer.len()) }
    }
}

#[test]
fn gives_up_an_endless_block() {
    let why = diagnose(vec![Input { name: "endless".into(), stream: Box::new(Endless(0)) }]).unwrap_err();
    assert!(why.0.contains("16 MiB") && why.0.contains("byte 48"), "{why}");
}
