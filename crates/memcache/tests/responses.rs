//! What servers' bytes are taken for, and that it does not matter how they are cut.

use fanin_memcache::{Cursor, Piece, Shape};
use proptest::prelude::*;

/// The pieces of one answer, and how many bytes it took; none where it has not ended.
fn read(stream: &[u8], shape: Shape, cuts: &[usize]) -> (Vec<String>, Option<usize>) {
    let (mut cursor, mut at, mut found) = (Cursor::default(), 0, Vec::new());
    for &end in cuts.iter().chain([&stream.len()]) {
        while at < end {
            let piece = cursor.next(&stream[at..end], shape);
            if piece == Piece::More {
                break;
            }
            found.push(format!("{piece:?}"));
            let last = match piece {
                Piece::Line { line, last } => (at += line.len(), last).1,
                Piece::Value { line, follow, last, .. } => (at += line.len() + follow as usize, last).1,
                _ => return (found, None),
            };
            if last && at <= stream.len() {
                return (found, Some(at));
            }
        }
    }
    (found, None)
}

#[test]
fn an_answer_ends_where_it_ends() {
    for (stream, shape, took) in [
        ("STORED\r\nx", Shape::Line, Some(8)),
        ("END\r\nx", Shape::Values, Some(5)),
        ("VALUE k 0 2\r\nab\r\nEND\r\nx", Shape::Values, Some(22)),
        ("VALUE k 0 5 77\r\nEND\r\n\r\nEND\r\n", Shape::Values, Some(28)),
        ("SERVER_ERROR out of memory\r\n", Shape::Values, Some(28)),
        ("VA 2 t0\r\nab\r\nHD\r\n", Shape::Meta, Some(13)),
        ("EN\r\n", Shape::Meta, Some(4)),
        ("VA 1 c2\r\n5\r\nMN\r\nx", Shape::UntilBarrier, Some(16)),
        ("MN\r\n", Shape::UntilBarrier, Some(4)),
        ("STAT a 1\r\nSTAT b 2\r\nEND\r\nx", Shape::Listing, Some(25)),
        ("ITEM a [1 b; 0 s]\r\nEND\r\n", Shape::Listing, Some(24)),
        ("RESET\r\n", Shape::Listing, Some(7)),
        ("VALUE k 0 2\r\nab", Shape::Values, None),
    ] {
        assert_eq!(read(stream.as_bytes(), shape, &[]).1, took, "{stream:?}");
    }
}

#[test]
fn what_is_no_answer_is_broken() {
    for (stream, shape) in [
        ("STORED\n", Shape::Line),
        ("\r\n", Shape::Line),
        ("HTTP/1.1 400 Bad Request\r\n", Shape::Values),
        ("STORED\r\n", Shape::Values),
        ("VALUE k 0\r\n", Shape::Values),
        ("VALUE k 0 -1\r\n", Shape::Values),
        ("VALUE k 0 99999999999\r\n", Shape::Values),
        ("VALUE k 0 1 2 3\r\n", Shape::Values),
        ("VA x\r\n", Shape::Meta),
        (&"x".repeat(5000), Shape::Line),
    ] {
        assert_eq!(read(stream.as_bytes(), shape, &[]).0.last().map(String::as_str), Some("Broken"), "{stream:?}");
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(vec![Shape::Line, Shape::Values, Shape::Meta, Shape::UntilBarrier, Shape::Listing])
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let known =
        ["END", "MN", "HD", "EN", "VA 3", "VALUE k 0 3", "VALUE k 1 0 9", "STAT a b", "ERROR", "abc", "", "STORED"];
    let line = prop_oneof![
        9 => prop::sample::select(known.map(|line| line.as_bytes().to_vec()).to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..80),
    ];
    prop::collection::vec(line, 0..12)
        .prop_map(|lines| lines.iter().flat_map(|line| [line, &b"\r\n"[..]].concat()).collect())
}

proptest! {
    #[test]
    fn any_bytes_cut_anywhere_are_the_same_answer(stream in stream(), shape in shape(), mut cuts in prop::collection::vec(0usize..200, 0..8)) {
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(stream.len()));
        cuts.sort_unstable();
        prop_assert_eq!(read(&stream, shape, &cuts), read(&stream, shape, &[]));
    }
}
