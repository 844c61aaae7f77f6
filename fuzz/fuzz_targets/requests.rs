//! Whatever a client sends ends in requests, in a wish for more, or in a refusal; all of it lies in its bytes, and a byte at a time it
//! is the same.
#![no_main]

use fanin_memcache::{Limits, Lines, Next, Request};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { value: 1 << 20, keys: 1 << 16 };

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
                    Request::Keyed(keyed) => assert!(keyed.line[0].len() + keyed.line[1].len() < took),
                    Request::Store(store) => follow = store.follow as usize,
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
