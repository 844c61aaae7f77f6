//! Parsing of servers' responses, with input split anywhere.

use fanin_memcache::{Cursor, Limits, Lines, Mark, Meta, Next, Piece, Request, Shape, Verb, retold};
use proptest::prelude::*;

/// Pieces of a response and its length; none if it is incomplete.
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

/// Response to `mg` with a value.
const META: Shape = Shape::Meta { command: Meta::Get, value: true };
const BARE: Shape = Shape::Meta { command: Meta::Get, value: false };
const STORED: Shape = Shape::Stored { verb: Verb::Set };
const SET: Shape = Shape::Meta { command: Meta::Set, value: false };

#[test]
fn finds_end_of_response() {
    for (stream, shape, took) in [
        ("STORED\r\nx", STORED, Some(8)),
        ("CLIENT_ERROR no\r\nx", STORED, Some(17)),
        ("TOUCHED\r\n", Shape::Touched, Some(9)),
        ("18446744073709551615\r\n", Shape::Number, Some(22)),
        ("VERSION 1.6.18\r\n", Shape::Version, Some(16)),
        ("OK\r\n", Shape::Done, Some(4)),
        ("MEMLIMIT_TOO_SMALL x\r\n", Shape::Done, Some(22)),
        ("END\r\nx", Shape::Values, Some(5)),
        ("VALUE k 0 2\r\nab\r\nEND\r\nx", Shape::Values, Some(22)),
        ("VALUE k 0 5 77\r\nEND\r\n\r\nEND\r\n", Shape::Values, Some(28)),
        ("SERVER_ERROR out of memory\r\n", Shape::Values, Some(28)),
        ("VA 2 t0\r\nab\r\nHD\r\n", META, Some(13)),
        ("EN\r\n", META, Some(4)),
        ("NS O1\r\n", SET, Some(7)),
        ("STAT a 1\r\nSTAT b 2\r\nEND\r\nx", Shape::Listing, Some(25)),
        ("ITEM a [1 b; 0 s]\r\nEND\r\n", Shape::Listing, Some(24)),
        ("RESET\r\n", Shape::Alone, Some(7)),
        ("VALUE k 0 2\r\nab", Shape::Values, None),
    ] {
        assert_eq!(read(stream.as_bytes(), shape, &[]).1, took, "{stream:?}");
    }
}

#[test]
fn refuses_invalid_responses() {
    for (stream, shape) in [
        ("STORED\n", STORED),
        ("\r\n", STORED),
        ("DELETED\r\n", STORED),
        ("NOT_FOUND\r\n", STORED),
        ("EXISTS\r\n", Shape::Stored { verb: Verb::Add }),
        ("END\r\n", Shape::Deleted),
        ("STORED\r\n", Shape::Touched),
        ("1x\r\n", Shape::Number),
        ("OK\r\n", Shape::Version),
        ("STORED\r\n", Shape::Done),
        ("HTTP/1.1 400 Bad Request\r\n", Shape::Values),
        ("STORED\r\n", Shape::Values),
        ("VALUE k 0\r\n", Shape::Values),
        ("VALUE k 0 -1\r\n", Shape::Values),
        ("VALUE k 0 99999999999\r\n", Shape::Values),
        ("VALUE k 0 1 2 3\r\n", Shape::Values),
        ("VA x\r\n", META),
        ("VA 5\r\n", BARE),
        ("VA 5\r\n", SET),
        ("EN\r\n", SET),
        ("NF\r\n", META),
        ("MN\r\n", META),
        ("HDx\r\n", META),
        ("VALUE k 0 1\r\n", Shape::Listing),
        (&"x".repeat(5000), Shape::Alone),
    ] {
        assert_eq!(read(stream.as_bytes(), shape, &[]).0.last().map(String::as_str), Some("Broken"), "{stream:?}");
    }
}

/// Client's version of a meta response, with `O!` as the mark.
fn told(asked: &str, answer: &str) -> Option<String> {
    let limits = Limits { value: 1 << 20, keys: 1 << 16 };
    let keyed = match Lines::default().next(asked.as_bytes(), &limits) {
        Next::Request(Request::Keyed(keyed), _) => keyed,
        Next::Request(Request::Store(store), _) => store.keyed,
        other => panic!("{asked:?} is {other:?}"),
    };
    let (mut note, mut out) = (Vec::new(), Vec::new());
    keyed.note(Mark::of(1), |bytes| note.extend_from_slice(bytes));
    let answer = answer.replace('!', "0000000000000001");
    retold(answer.as_bytes(), &note, |bytes| out.extend_from_slice(bytes))?;
    Some(String::from_utf8(out).unwrap())
}

#[test]
fn restores_clients_opaque_and_key() {
    for (asked, answer, expected) in [
        ("mg k v\n", "VA 2 O!", "VA 2"),
        ("mg k v t O7 f\n", "VA 2 t-1 O! f0", "VA 2 t-1 O7 f0"),
        ("mg k O7 v q\n", "EN O!", "EN O7"),
        ("mg k k O7\n", "HD kk O!", "HD kk O7"),
        // An item with a binary key carries the `b` flag.
        ("mg foo k O7\n", "HD kZm9v b O!", "HD kZm9v b O7"),
        ("mg Zm9vYh== b k v t\n", "VA 1 t0 O!", "VA 1 kZm9vYg== b t0"),
        ("mg Zm9v b t k O7 f\n", "HD t0 O! f5 W", "HD t0 kZm9v b O7 f5 W"),
        ("mg Zm9v b O7 t k\n", "HD O! t0 W Z", "HD O7 t0 kZm9v b W Z"),
        ("mg Zm9v b t f k\n", "EN O!", "EN kZm9v b"),
        ("ma Zm9v b k v\n", "NF O!", "NF kZm9v b"),
        ("ms Zm9v 1 b s k\n", "HD O!", "HD kZm9v b"),
    ] {
        assert_eq!(told(asked, answer).as_deref(), Some(expected), "{asked:?}");
    }
}

#[test]
fn refuses_response_without_mark() {
    for answer in ["HD", "EN", "VA 5", "HD O2", "HD O0000000000000002", "HD O! O!", "HD O!x", "HD o!"] {
        assert_eq!(told("mg k v\n", answer), None, "{answer}");
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(vec![STORED, Shape::Number, Shape::Values, META, BARE, SET, Shape::Listing, Shape::Alone])
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
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn splits_do_not_change_response(stream in stream(), shape in shape(), mut cuts in prop::collection::vec(0usize..200, 0..8)) {
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(stream.len()));
        cuts.sort_unstable();
        prop_assert_eq!(read(&stream, shape, &cuts), read(&stream, shape, &[]));
    }
}
