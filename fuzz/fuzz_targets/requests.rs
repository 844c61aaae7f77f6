//! Whatever a client sends ends in requests, in a wish for more, or in a refusal; a byte at a time it is the same; and what a server is
//! asked in its place is one short plain line that means the same again.
#![no_main]

use fanin_memcache::{Keyed, Limits, Lines, Mark, Next, Request};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { value: 1 << 20, keys: 1 << 16 };

fn asked(keyed: &Keyed<'_>, follow: Option<u32>) -> Vec<u8> {
    let mut line = Vec::new();
    keyed.line(follow, Mark::of(1), |bytes| line.extend_from_slice(bytes));
    line
}

fn means_the_same_again(keyed: &Keyed<'_>, follow: Option<u32>) {
    let line = asked(keyed, follow);
    let words = line.strip_suffix(b"\r\n").expect("a line ends");
    assert!(line.len() < 800 && !words.contains(&b'\n') && !words.contains(&0));
    for (place, word) in words.split(|byte| *byte == b' ').enumerate() {
        assert!(!word.is_empty() && (place == 1 || word.iter().all(u8::is_ascii_graphic)));
    }
    let again = match Lines::default().next(&line, &LIMITS) {
        Next::Request(Request::Keyed(again), _) => again,
        Next::Request(Request::Store(store), _) => store.keyed,
        other => panic!("{line:?} is {other:?}"),
    };
    assert_eq!(asked(&again, follow), line);
}

/// The requests, a prefix that grows by `step` at a time looked at again and again.
fn read(bytes: &[u8], step: usize) -> Vec<(usize, usize)> {
    let (mut lines, mut at, mut end, mut found) = (Lines::default(), 0, 0, Vec::new());
    while at < bytes.len() {
        match lines.next(&bytes[at.min(end)..end], &LIMITS) {
            Next::More if end == bytes.len() => break,
            Next::More => end = (end + step).min(bytes.len()),
            Next::Request(request, took) => {
                let mut follow = 0;
                match request {
                    Request::Get(get) => assert!(get.keys().map(<[u8]>::len).sum::<usize>() < took),
                    Request::Keyed(keyed) => means_the_same_again(&keyed, None),
                    Request::Store(store) => {
                        means_the_same_again(&store.keyed, Some(store.follow));
                        follow = store.follow as usize;
                    }
                    Request::Refused(_, swallowed) => follow = swallowed as usize,
                    _ => {}
                }
                found.push((at, took));
                at += took + follow;
                end = end.max(at.min(bytes.len()));
            }
            _ => break,
        }
    }
    found
}

fuzz_target!(|bytes: &[u8]| assert_eq!(read(bytes, 1), read(bytes, usize::MAX / 2)));
