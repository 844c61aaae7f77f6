//! Parsing of clients' lines, and requests to servers, with input split anywhere.

use fanin_memcache::{Command, Keyed, Limits, Lines, Mark, Next, Request, text};
use proptest::prelude::*;

const LIMITS: Limits = Limits { value: 1 << 20, keys: 1 << 16 };
/// Mark in place of opaques.
const MARK: u64 = 0x0123_4567_89ab_cdef;

fn only(line: &str) -> Request<'_> {
    match Lines::default().next(line.as_bytes(), &LIMITS) {
        Next::Request(request, took) if took == line.len() => request,
        other => panic!("{line:?} is {other:?}"),
    }
}

/// Refusal of a line, and the length to discard after it.
fn refused(line: &str) -> (&'static str, u32) {
    match only(line) {
        Request::Refused(text, swallowed) => (text, swallowed),
        other => panic!("{line:?} is {other:?}"),
    }
}

/// Request to a server for a line, without its end.
fn asked(request: &Request<'_>) -> String {
    let mut out = Vec::new();
    let put = |bytes: &[u8]| out.extend_from_slice(bytes);
    match request {
        Request::Keyed(keyed) => keyed.line(None, Mark::of(MARK), put),
        Request::Store(store) => store.keyed.line(Some(store.follow), Mark::of(MARK), put),
        Request::Every(every, _) => every.line(put),
        Request::Stats(figures) => figures.line(put),
        other => panic!("{other:?} asks nobody"),
    }
    let text = String::from_utf8(out).unwrap();
    text.strip_suffix("\r\n").unwrap_or_else(|| panic!("{text:?} does not end")).to_owned()
}

fn keyed<'a>(request: &Request<'a>) -> Keyed<'a> {
    match request {
        Request::Keyed(keyed) => *keyed,
        Request::Store(store) => store.keyed,
        other => panic!("{other:?} has no key"),
    }
}

#[test]
fn rewrites_requests_without_silence() {
    for (line, sent, quiet) in [
        ("delete k\r\n", "delete k", false),
        ("delete k 0 noreply\r\n", "delete k", true),
        ("delete noreply\r\n", "delete noreply 0", true),
        ("incr  k 005\n", "incr k 5", false),
        ("decr k 18446744073709551615 x y\r\n", "decr k 18446744073709551615", false),
        ("touch k -10 noreply  \r\n", "touch k -10", true),
        ("me k b\r\n", "me k b b", false),
        ("me k\r\n", "me k", false),
        ("set  k 1 2 3 more \r\n", "set k 1 2 3", false),
        ("cas k 1 2 3 4 noreply\r\n", "cas k 1 2 3 4", true),
        ("prepend k 0 -1 0\r\n", "prepend k 0 -1 0", false),
    ] {
        let request = only(line);
        assert_eq!((asked(&request).as_str(), keyed(&request).quiet), (sent, quiet), "{line:?}");
    }
}

#[test]
fn rewrites_meta_commands_with_mark() {
    for (line, sent, quiet) in [
        ("mg k v q t\r\n", "mg k v t O0123456789abcdef", true),
        ("mg k O12 vv t\r\n", "mg k O0123456789abcdef v t", false),
        ("mg Zm9v b k v\r\n", "mg Zm9v b v O0123456789abcdef", false),
        ("mg k k\r\n", "mg k k O0123456789abcdef", false),
        ("md k q I T-1 Pproxy L9\r\n", "md k I T-1 O0123456789abcdef", true),
        ("ma k N0 J007 D2 M+x\r\n", "ma k N0 J7 D2 M+ O0123456789abcdef", false),
        ("ms k 3 q T0 F5 C1 E2 MS\r\n", "ms k 3 T0 F5 C1 E2 MS O0123456789abcdef", true),
        ("ms k 003\r\n", "ms k 3 O0123456789abcdef", false),
    ] {
        let request = only(line);
        assert_eq!((asked(&request).as_str(), keyed(&request).quiet), (sent, quiet), "{line:?}");
    }
}

#[test]
fn rewrites_broadcast_commands() {
    for (line, sent) in [
        ("flush_all\r\n", "flush_all"),
        (" flush_all  010 noreply\r\n", "flush_all 10"),
        ("verbosity 1 2 3\r\n", "verbosity 1"),
        ("cache_memlimit 64\r\n", "cache_memlimit 64"),
        ("stats  servers\r\n", "stats"),
        ("stats servers items\r\n", "stats items"),
        ("stats cachedump 4 0\r\n", "stats cachedump 4 0"),
        ("stats detail  on\r\n", "stats detail on"),
    ] {
        assert_eq!(asked(&only(line)), sent, "{line:?}");
    }
}

/// Lines by which one memcached took values as commands of another, or vice versa.
#[test]
fn ambiguous_lines_are_refused() {
    for size in ["+6", "6\t", "\t6", "4294967302", "-4294967290", "0x6", "6\u{b}", "99999999999999999999999"] {
        assert_eq!(refused(&format!("set k 0 0 {size}\r\n")), (text::BAD_FORMAT, 0), "{size}");
        assert_eq!(refused(&format!("ms k {size}\r\n")), (text::BAD_FORMAT, 0), "{size}");
    }
    for number in ["+6", "6\t", "4294967296", "-1", ""] {
        assert_eq!(refused(&format!("set k {number}x 0 6\r\n")), (text::BAD_FORMAT, 8), "{number}");
        assert_eq!(refused(&format!("ms k 6 F{number}x\r\n")), (text::BAD_FORMAT, 8), "{number}");
    }
    // 1.6.18 ends the line at a NUL, and does not discard the value after this many flags.
    assert_eq!(refused("set k\0 0 0 6\r\n"), (text::BAD_FORMAT, 8));
    let letters = "b k s t c f v l h u x I T0 N0 R0 C1";
    assert_eq!(refused(&format!("ms Zm9v 6 {letters} E1\r\n")), (text::FLAGS_TOO_LONG, 8));
    assert!(matches!(only(&format!("ms Zm9v 6 {letters}\r\n")), Request::Store(_)));
}

#[test]
fn reports_length_of_value() {
    let follow = |line: &str| match only(line) {
        Request::Store(store) => (store.follow, store.too_large, store.keyed.forgets()),
        other => panic!("{line:?} is {other:?}"),
    };
    assert_eq!(follow("set k 1 2 3\r\n"), (5, false, true));
    assert_eq!(follow("set k 0 0 1048577\r\n"), (1_048_579, true, true));
    assert_eq!(follow("add k 0 0 1048577\r\n"), (1_048_579, true, false));
    assert_eq!(follow("ms k 1048577 ME\r\n"), (1_048_579, true, true));
}

#[test]
fn refuses_like_memcached() {
    let long = "k".repeat(251);
    for (line, text) in [
        ("\r\n", text::BAD_FORMAT),
        ("mn\n", text::BAD_FORMAT),
        ("nonsense\r\n", text::ERROR),
        ("nonsense noreply\r\n", ""),
        ("bget k\r\n", text::ERROR),
        (" get k\r\n", text::ERROR),
        ("get\r\n", text::BAD_FORMAT),
        ("get \r\n", text::BAD_FORMAT),
        ("GET k\r\n", text::ERROR),
        ("set k 0 0\r\n", text::BAD_FORMAT),
        ("set k 0 0 x noreply\r\n", text::BAD_FORMAT),
        ("set k 0 0 -1\r\n", text::BAD_FORMAT),
        ("incr k\r\n", text::BAD_FORMAT),
        ("incr k x\r\n", text::BAD_DELTA),
        ("incr k -1 noreply\r\n", ""),
        ("touch k x\r\n", text::BAD_EXPTIME),
        ("touch k 99999999999\r\n", text::BAD_EXPTIME),
        ("touch k noreply\r\n", ""),
        ("gat x k\r\n", text::BAD_EXPTIME),
        ("gat 10\r\n", text::BAD_FORMAT),
        ("delete\r\n", text::BAD_FORMAT),
        (&format!("delete {long}\r\n"), text::BAD_FORMAT),
        ("delete k 1\r\n", text::BAD_DELETE),
        ("delete k 1 noreply\r\n", ""),
        ("flush_all x\r\n", text::BAD_EXPTIME),
        ("verbosity\r\n", text::BAD_FORMAT),
        ("verbosity noreply\r\n", ""),
        ("cache_memlimit x\r\n", text::ERROR),
    ] {
        assert_eq!(refused(line), (text, 0), "{line:?}");
    }
    for (line, text) in [
        ("set k x 0 1 noreply\r\n", ""),
        ("set k 0 x 1\r\n", text::BAD_FORMAT),
        ("cas k 0 0 1\r\n", text::BAD_FORMAT),
        (&format!("add {long} 0 0 1\r\n"), text::BAD_FORMAT),
    ] {
        assert_eq!(refused(line), (text, 3), "{line:?}");
    }
    assert_eq!(only("GET / HTTP/1.1\r\n"), Request::Quit);
    let line = format!("get a {long}\r\n");
    let Request::Get(get) = only(&line) else { panic!("{line:?}") };
    assert!(get.is_refused());
    assert_eq!(refused("get a b\0c\r\n"), (text::BAD_FORMAT, 0));
}

#[test]
fn refuses_meta_commands_like_memcached() {
    let long = "k".repeat(251);
    let flags = "mg k ".to_owned() + &"v ".repeat(19) + "\r\n";
    for (line, text) in [
        ("mg\r\n", text::BAD_FORMAT),
        ("mg k ~\r\n", text::BAD_FORMAT),
        ("mg k ^\r\n", text::NO_FLAG),
        ("mg k Z\r\n", text::NO_FLAG),
        ("mg k v t v\r\n", text::FLAG_TWICE),
        ("ma k v t v\r\n", text::NO_FLAG_OR_TWICE),
        ("mg k T N1\r\n", text::BAD_TOKEN),
        ("mg Z b\r\n", text::BAD_BASE64),
        ("ma k J Dx\r\n", text::NO_FLAG_OR_TWICE),
        ("ma k Mx\r\n", text::BAD_COUNT_MODE),
        ("me\r\n", text::BAD_FORMAT),
        ("ms k\r\n", text::BAD_FORMAT),
        ("ms k x\r\n", text::BAD_FORMAT),
        ("ms k 1 ~\r\n", text::BAD_FORMAT),
        ("shutdown\r\n", text::NO_SHUTDOWN),
        ("mx k\r\n", text::ERROR),
        ("watch fetchers\r\n", text::ERROR),
        ("lru_crawler metadump all\r\n", text::ERROR),
        ("stats nonsense\r\n", text::ERROR),
        ("stats detail\r\n", text::DETAIL_USAGE),
        ("stats cachedump 4\r\n", text::BAD_LINE),
        ("stats cachedump 4 x\r\n", text::BAD_FORMAT),
        (&flags, text::FLAGS_TOO_LONG),
        (&format!("mg k O{}\r\n", "o".repeat(32)), text::OPAQUE_TOO_LONG),
        ("mg k O\u{1}\r\n", text::BAD_FORMAT),
        (&format!("mg {long} v\r\n"), text::BAD_FORMAT),
    ] {
        assert_eq!(refused(line), (text, 0), "{line:?}");
    }
    for (line, text) in [
        ("ms k 1 Mx\r\n", text::BAD_STORE_MODE),
        ("ms k 1 M\r\n", text::BAD_STORE_MODE),
        ("ms k 1 Z\r\n", text::NO_FLAG),
        (&format!("ms {long} 1\r\n"), text::BAD_FORMAT),
    ] {
        assert_eq!(refused(line), (text, 3), "{line:?}");
    }
}

#[test]
fn lists_keys_in_order() {
    for (line, head, keys) in [
        ("get a\r\n", "get", &["a"][..]),
        ("gets  a b  a \r\n", "gets", &["a", "b", "a"]),
        ("gat  010 a b\n", "gat 10", &["a", "b"]),
        ("gats -1 a\n", "gats -1", &["a"]),
    ] {
        let Request::Get(get) = only(line) else { panic!("{line:?}") };
        let named = |get: &fanin_memcache::Get<'_>| -> Vec<String> {
            get.keys().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
        };
        let mut written = Vec::new();
        get.head(|bytes| written.extend_from_slice(bytes));
        assert_eq!((&written[..], named(&get)), (head.as_bytes(), keys.iter().map(ToString::to_string).collect()));
        let mut left = get.keys();
        left.next();
        assert_eq!(named(&get.of(&left)), &keys[1..]);
    }
}

#[test]
fn takes_long_lists_in_pieces() {
    let stream = b"gats 5 a bb  ccc d \r\nmn\r\n";
    let (mut lines, mut at, mut found) = (Lines::default(), 0, Vec::new());
    while let Next::Request(request, took) = lines.next(&stream[at..], &LIMITS) {
        let Request::Get(get) = request else {
            assert_eq!((request, &stream[at..]), (Request::Barrier, &b"mn\r\n"[..]));
            break;
        };
        let mut keys = get.keys();
        found.extend(keys.next().map(|key| (key.to_vec(), get.unique, get.time)));
        let goes_on = keys.clone().next().is_some();
        at += if goes_on { lines.leave(&get.of(&keys), &stream[at..at + took]) } else { took };
        assert_eq!(lines.is_in_a_list(), goes_on);
    }
    let keys = ["a", "bb", "ccc", "d"].map(|key| (key.as_bytes().to_vec(), true, Some(5)));
    assert_eq!(found, keys);
}

#[test]
fn refuses_endless_lines() {
    let mut endless = vec![b'x'; 2049];
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::Endless);
    endless[..4].copy_from_slice(b"get ");
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::More);
    endless.resize(LIMITS.keys + 1, b'x');
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::TooManyKeys);
    assert_eq!(Lines::default().next(&[0x80, 0, 0], &LIMITS), Next::Binary);
}

/// All requests of a stream as text, without values, split at `cuts`.
fn read(stream: &[u8], cuts: &[usize]) -> Vec<String> {
    let (mut lines, mut at, mut found, mut skip) = (Lines::default(), 0, Vec::new(), 0);
    for &end in cuts.iter().chain([&stream.len()]) {
        loop {
            let passed = skip.min(end.saturating_sub(at));
            (at, skip) = (at + passed, skip - passed);
            if skip > 0 || at >= end {
                break;
            }
            match lines.next(&stream[at..end], &LIMITS) {
                Next::More => break,
                Next::Request(request, took) => {
                    skip = match request {
                        Request::Store(store) => store.follow as usize,
                        Request::Refused(_, swallowed) => swallowed as usize,
                        _ => 0,
                    };
                    found.push(format!("{request:?}"));
                    at += took;
                }
                other => {
                    found.push(format!("{other:?}"));
                    return found;
                }
            }
        }
    }
    found
}

fn word() -> impl Strategy<Value = Vec<u8>> {
    let known = "get|gets|gat|set|add|cas|ms|mg|md|ma|mn|me|incr|delete|touch|noreply|q|b|v|k|0|1|5|-1|stats|flush_all|x\t|Zm9v|T0|O12|MS|C5|F1|s|t|I|\0|";
    prop_oneof![
        9 => prop::sample::select(known.split('|').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let end = prop::sample::select(vec![&b"\r\n"[..], b"\n", b"\r\n\r\n"]);
    let line = (prop::collection::vec(word(), 0..9), end);
    let line = line.prop_map(|(words, end)| [words.join(&b' '), end.to_vec()].concat());
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn splits_do_not_change_requests(stream in stream(), mut cuts in prop::collection::vec(0usize..3000, 0..8)) {
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(stream.len()));
        cuts.sort_unstable();
        prop_assert_eq!(read(&stream, &cuts), read(&stream, &[]));
    }

    /// Any server parses it alike.
    #[test]
    fn requests_are_short_and_idempotent_to_parse(stream in stream()) {
        let Next::Request(request, _) = Lines::default().next(&stream, &LIMITS) else { return Ok(()) };
        let (follow, Ok(keyed)) = (match request { Request::Store(store) => Some(store.follow), _ => None }, match request {
            Request::Keyed(keyed) => Ok(keyed),
            Request::Store(store) => Ok(store.keyed),
            other => Err(other),
        }) else { return Ok(()) };
        let mut line = Vec::new();
        keyed.line(follow, Mark::of(MARK), |bytes| line.extend_from_slice(bytes));
        let words: Vec<&[u8]> = line.strip_suffix(b"\r\n").unwrap().split(|byte| *byte == b' ').collect();
        prop_assert!(words.len() <= 19 && line.len() < 800);
        for (place, word) in words.iter().enumerate() {
            prop_assert!(!word.is_empty() && !word.contains(&b'\n') && !word.contains(&0));
            prop_assert!(place == 1 || word.iter().all(u8::is_ascii_graphic), "{:?}", word);
        }
        let Next::Request(again, took) = Lines::default().next(&line, &LIMITS) else { panic!("{line:?} is none") };
        prop_assert_eq!(took, line.len());
        let (Request::Keyed(again) | Request::Store(fanin_memcache::Store { keyed: again, .. })) = again else {
            panic!("{line:?} is {again:?}")
        };
        let mut twice = Vec::new();
        again.line(follow, Mark::of(MARK), |bytes| twice.extend_from_slice(bytes));
        prop_assert_eq!(&line, &twice);
        if let (Command::Meta(..), Command::Meta(..)) = (keyed.command, again.command) {
            prop_assert_eq!((keyed.key, keyed.base64()), (again.key, again.base64()));
        } else {
            prop_assert_eq!((keyed.key, keyed.command), (again.key, again.command));
        }
    }
}
