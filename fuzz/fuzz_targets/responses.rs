//! Whatever a server sends ends in pieces, in a wish for more, or in a refusal; a byte at a time it is the same. The first byte says
//! what was asked.
#![no_main]

use fanin_memcache::{Cursor, Meta, Piece, Shape, Verb, retold};
use libfuzzer_sys::fuzz_target;

/// Where the answer's pieces begin and end, a prefix that grows by `step` at a time looked at again and again.
fn read(bytes: &[u8], shape: Shape, step: usize) -> Vec<(usize, usize)> {
    let (mut cursor, mut at, mut end, mut found) = (Cursor::default(), 0, 0, Vec::new());
    while at < bytes.len() {
        let (took, last) = match cursor.next(&bytes[at..end.max(at)], shape) {
            Piece::More if end == bytes.len() => break,
            Piece::More => {
                end = (end + step).min(bytes.len());
                continue;
            }
            Piece::Line { line, last } => (line.len(), last),
            Piece::Value { line, key, follow, last } => {
                assert!(key.len() < line.len());
                (line.len() + follow as usize, last)
            }
            Piece::Broken => break,
        };
        found.push((at, took));
        at += took;
        end = end.max(at.min(bytes.len()));
        if last {
            break;
        }
    }
    found
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let shapes = [
        Shape::Values,
        Shape::Stored { verb: Verb::Cas },
        Shape::Number,
        Shape::Meta { command: Meta::Get, value: true },
        Shape::Meta { command: Meta::Arithmetic, value: true },
        Shape::Listing,
        Shape::Done,
        Shape::Alone,
    ];
    // Any answer to a meta command is told or is none, whatever was noted.
    if let Some((note, answer)) = bytes.split_at_checked(40) {
        let mut told = Vec::new();
        let _ = retold(answer, note, |bytes| told.extend_from_slice(bytes));
    }
    let shape = shapes[usize::from(*first) % shapes.len()];
    assert_eq!(read(bytes, shape, 1), read(bytes, shape, usize::MAX / 2));
});
