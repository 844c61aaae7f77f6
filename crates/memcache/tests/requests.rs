//! What clients' lines are taken for, and that it does not matter how they are cut.

use fanin_memcache::{Keyed, Limits, Lines, Next, Quiet, Request, text};
use proptest::prelude::*;

const LIMITS: Limits = Limits { value: 1 << 20, keys: 1 << 16 };

fn only(line: &str) -> Request<'_> {
    match Lines::default().next(line.as_bytes(), &LIMITS) {
        Next::Request(request, took) if took == line.len() => request,
        other => panic!("{line:?} is {other:?}"),
    }
}

fn refused(line: &str) -> &'static str {
    match only(line) {
        Request::Refused(text) => text,
        other => panic!("{line:?} is {other:?}"),
    }
}

fn forwarded<'a>(keyed: &Keyed<'a>) -> String {
    String::from_utf8([keyed.line[0], keyed.line[1]].concat()).unwrap()
}

#[test]
fn a_command_of_one_key_goes_to_its_server_as_it_stands_but_for_what_asks_for_silence() {
    for (line, key, sent, quiet) in [
        ("delete k\r\n", "k", "delete k", Quiet::No),
        ("delete k 0 noreply\r\n", "k", "delete k 0", Quiet::All),
        ("delete noreply\r\n", "noreply", "delete noreply", Quiet::No),
        ("incr  k 5\n", "k", "incr  k 5", Quiet::No),
        ("touch k 10 noreply  \r\n", "k", "touch k 10", Quiet::All),
        ("mg k v q t\r\n", "k", "mg k v  t", Quiet::Answer(*b"EN")),
        ("mg k v q q\r\n", "k", "mg k v q q", Quiet::No),
        ("md k q\r\n", "k", "md k q", Quiet::Servers),
        ("ma k\r\n", "k", "ma k", Quiet::No),
        ("me k b\r\n", "k", "me k b", Quiet::No),
        ("incr k 5\0 6 7 8 9\r\n", "k", "incr k 5", Quiet::No),
    ] {
        let Request::Keyed(keyed) = only(line) else { panic!("{line:?}") };
        assert_eq!((keyed.key, forwarded(&keyed).as_str(), keyed.quiet), (key.as_bytes(), sent, quiet), "{line:?}");
    }
}

#[test]
fn a_command_with_a_value_says_how_much_follows() {
    for (line, sent, follow, quiet) in [
        ("set k 1 2 3\r\n", "set k 1 2 3", 5, Quiet::No),
        ("cas k 1 2 3 4 noreply\r\n", "cas k 1 2 3 4", 5, Quiet::All),
        ("append k -1 0 0\r\n", "", 0, Quiet::No),
        ("ms k 3 q T0\r\n", "ms k 3  T0", 5, Quiet::Answer(*b"HD")),
        ("ms k 4294967299\r\n", "ms k 4294967299", 5, Quiet::No),
    ] {
        match only(line) {
            Request::Store(store) => {
                let found = (forwarded(&store.keyed), store.follow, store.keyed.quiet);
                assert_eq!(found, (sent.to_owned(), follow, quiet), "{line:?}");
            }
            other => assert_eq!((other, follow), (Request::Refused(text::BAD_FORMAT), 0), "{line:?}"),
        }
    }
    let Request::Store(store) = only("set k 0 0 1048577\r\n") else { panic!() };
    assert!(store.too_large && store.forgets);
}

#[test]
fn what_memcached_refuses_is_refused_in_its_words() {
    let long = "k".repeat(251);
    let flags = "mg k ".to_owned() + &"v ".repeat(18) + "\r\n";
    for (line, text) in [
        ("\r\n", text::ERROR),
        ("nonsense\r\n", text::ERROR),
        ("get\r\n", text::ERROR),
        ("get \r\n", text::ERROR),
        ("GET k\r\n", text::ERROR),
        ("set k 0 0\r\n", text::ERROR),
        ("set k 0 0 x\r\n", text::BAD_FORMAT),
        ("set k 0 0 -1\r\n", text::BAD_FORMAT),
        ("set k x 0 1 noreply\r\n", ""),
        ("incr k x\r\n", text::BAD_DELTA),
        ("touch k x\r\n", text::BAD_EXPTIME),
        ("touch k noreply\r\n", ""),
        ("gat x k\r\n", text::BAD_EXPTIME),
        ("gat 10\r\n", text::END),
        ("delete k 1\r\n", text::BAD_DELETE),
        ("delete k 1 noreply\r\n", ""),
        ("flush_all x\r\n", text::BAD_EXPTIME),
        ("verbosity\r\n", text::ERROR),
        ("verbosity x\r\n", text::BAD_FORMAT),
        ("mg\r\n", text::ERROR),
        ("me\r\n", text::BAD_FORMAT),
        ("ms k\r\n", text::BAD_FORMAT),
        ("ms k x\r\n", text::BAD_FORMAT),
        ("shutdown\r\n", text::NO_SHUTDOWN),
        ("mx k\r\n", text::ERROR),
        (&flags, text::GET_FLAGS_TOO_LONG),
        (&format!("delete {long}\r\n"), text::BAD_FORMAT),
        (&format!("mg {long} v\r\n"), text::BAD_FORMAT),
    ] {
        assert_eq!(refused(line), text, "{line:?}");
    }
    assert_eq!(only("GET / HTTP/1.1\r\n"), Request::Quit);
    let line = format!("get a {long}\r\n");
    let Request::Get(get) = only(&line) else { panic!() };
    assert!(get.is_refused());
}

#[test]
fn a_retrieval_names_its_keys_in_their_order() {
    for (line, head, keys) in [
        ("get a\r\n", "get", &["a"][..]),
        ("gets  a b  a \r\n", "gets", &["a", "b", "a"]),
        ("gat  10 a b\n", "gat  10", &["a", "b"]),
    ] {
        let Request::Get(get) = only(line) else { panic!("{line:?}") };
        let found: Vec<&str> = get.keys().map(|key| std::str::from_utf8(key).unwrap()).collect();
        assert_eq!((get.head, &found[..]), (head.as_bytes(), keys));
    }
}

#[test]
fn a_line_without_end_is_not_waited_for() {
    let mut endless = vec![b'x'; 2049];
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::Endless);
    endless[..4].copy_from_slice(b"get ");
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::More);
    endless.resize(LIMITS.keys + 1, b'x');
    assert_eq!(Lines::default().next(&endless, &LIMITS), Next::TooManyKeys);
    assert_eq!(Lines::default().next(&[0x80, 0, 0], &LIMITS), Next::Binary);
}

/// All requests of a stream as text, values skipped, read in pieces that end at `cuts`.
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
                    if let Request::Store(store) = request {
                        skip = store.follow as usize;
                    }
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
    let known =
        "get|gets|gat|set|add|cas|ms|mg|md|ma|mn|me|incr|delete|touch|noreply|q|b|v|k|0|1|5|-1|stats|flush_all|x\t|";
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
    #[test]
    fn any_bytes_cut_anywhere_are_the_same_requests(stream in stream(), mut cuts in prop::collection::vec(0usize..3000, 0..8)) {
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(stream.len()));
        cuts.sort_unstable();
        prop_assert_eq!(read(&stream, &cuts), read(&stream, &[]));
    }

    #[test]
    fn what_was_composed_is_read_again(key in "[!-~]{1,250}", flags: u32, time: i32, bytes in 0u32..(1 << 20), noreply: bool) {
        let end = if noreply { " noreply" } else { "" };
        let line = format!("set {key} {flags} {time} {bytes}{end}\r\n");
        let Request::Store(store) = only(&line) else { panic!("{line}") };
        prop_assert_eq!((store.keyed.key, store.follow), (key.as_bytes(), bytes + 2));
        prop_assert_eq!(forwarded(&store.keyed), format!("set {key} {flags} {time} {bytes}"));
        prop_assert_eq!(store.keyed.quiet, if noreply { Quiet::All } else { Quiet::No });
    }
}
