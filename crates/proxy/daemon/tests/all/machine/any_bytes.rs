//! Clients with arbitrary bytes in keys and lines: they close no server connection, and get no other key's value.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Front, Shared};
use fanin_memcache::{Limits, Lines, Next, Request};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};

use super::each_case;
use super::world::{Scripted, World};
use crate::store::Store;

/// Draws a key; most are similar, such as `a` and `a\r`.
fn key(random: &mut StdRng) -> Vec<u8> {
    let near: [&[u8]; 10] = [b"a", b"b", b"a\r", b"b\r", b"a\r\r", b"\ra", b"aa", b"a\t", b"noreply", b"0"];
    if random.random_bool(0.7) {
        return near.choose(random).unwrap().to_vec();
    }
    let any = |random: &mut StdRng| loop {
        let byte: u8 = random.random();
        if byte != b' ' && byte != b'\n' {
            return byte;
        }
    };
    (0..random.random_range(1..5)).map(|_| any(random)).collect()
}

/// A value that names its key.
fn value(key: &[u8]) -> Vec<u8> {
    key.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

fn request(random: &mut StdRng) -> Vec<u8> {
    let one = key(random);
    let stored = value(&one);
    let line = |verb: &str, rest: String| [verb.as_bytes(), b" ", &one, rest.as_bytes()].concat();
    let stores = |line: Vec<u8>| [&line[..], b"\r\n", &stored, b"\r\n"].concat();
    match random.random_range(0..12) {
        0..3 => {
            let verb = *["get", "gets", "gat 5", "gats 0"].choose(random).unwrap();
            let keys: Vec<Vec<u8>> = (0..random.random_range(1..7)).map(|_| key(random)).collect();
            [verb.as_bytes(), b" ", &keys.join(&b' '), b"\r\n"].concat()
        }
        3..6 => stores(line("set", format!(" 0 0 {}", stored.len()))),
        6 => stores(line("ms", format!(" {} T0", stored.len()))),
        7 => line("mg", " v k O1\r\n".into()),
        8 => line("md", " q\r\n".into()),
        9 => line("delete", "\r\n".into()),
        10 => line("touch", " 0\r\n".into()),
        _ => {
            let mut junk: Vec<u8> = (0..random.random_range(0..40)).map(|_| random.random()).collect();
            junk.retain(|byte| *byte != b'\n');
            [&junk[..], b"\r\n"].concat()
        }
    }
}

/// Checks that every value names its key; returns the number of values.
fn judge(answers: &[u8]) -> usize {
    let (mut values, mut lines) = (0, answers.split(|byte| *byte == b'\n'));
    while let Some(line) = lines.next() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(b"VALUE ") {
            let key = rest.split(|byte| *byte == b' ').next().unwrap();
            assert_eq!(lines.next().unwrap().trim_ascii_end(), value(key), "{}", key.escape_ascii());
            values += 1;
        }
        assert!(!line.starts_with(b"SERVER_ERROR"), "{}", line.escape_ascii());
    }
    values
}

/// Runs servers that respond at once.
fn serve(world: &mut World, stores: &mut [Store], talks: &mut Vec<(Vec<u8>, Lines)>) {
    talks.resize_with(world.connections.len(), Default::default);
    for (connection, (read, lines)) in world.connections.iter_mut().zip(talks) {
        let Some(server) = connection.server.filter(|_| !connection.closed) else { continue };
        if !connection.open {
            connection.opens(true);
        }
        read.extend(connection.outbox.drain(..));
        let (mut at, limits) = (0, Limits { value: 1 << 20, keys: 1 << 24 });
        while let Next::Request(request, line) = lines.next(&read[at..], &limits) {
            let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
            let Some(bytes) = read.get(at + line..at + line + follow) else { break };
            let answer = stores[server].answer(&request, bytes.strip_suffix(b"\r\n").unwrap_or_default());
            connection.send(&answer);
            at += line + follow;
        }
        read.drain(..at);
    }
}

/// Runs one case; returns the number of values.
fn run(case: u64) -> [usize; 1] {
    let mut random = StdRng::seed_from_u64(case);
    let servers = random.random_range(1..4);
    let listed: Vec<String> = (1..=servers).map(|server| format!("\"10.0.0.{server}:11211\"")).collect();
    let join = random.random_bool(0.5);
    let text =
        format!("threads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\njoin = {join}\nservers = [{}]\n", listed.join(","));
    let settings = Settings::of_file("case.toml", &text).unwrap();
    let addresses: Vec<_> =
        settings.pools[0].servers.iter().map(|server| server.target.address.ip().unwrap()).collect();
    let world = Rc::new(RefCell::new(World::new(&addresses)));
    let shared = Arc::new(Shared::new(&settings, 100));
    let stop = Arc::new(AtomicBool::new(false));
    let mut front = Front::new(Scripted(world.clone()), shared, 0, stop, [1; 32], None);
    let (mut stores, mut talks) = ((0..servers).map(|_| Store::default()).collect::<Vec<_>>(), Vec::new());
    let clients: Vec<usize> = (0..3).map(|_| world.borrow_mut().client(1 << 30)).collect();
    for step in 0..200 {
        let bytes: Vec<u8> = (0..random.random_range(1..6)).flat_map(|_| request(&mut random)).collect();
        world.borrow_mut().connections[*clients.choose(&mut random).unwrap()].send(&bytes);
        let mut events = world.borrow_mut().events(|| true);
        if random.next_u64().is_multiple_of(2) {
            events.reverse();
        }
        front.turn(step * 100_000, events.into_iter());
        serve(&mut world.borrow_mut(), &mut stores, &mut talks);
    }
    for step in 200..300 {
        let events = world.borrow_mut().events(|| true);
        front.turn(step * 100_000, events.into_iter());
        serve(&mut world.borrow_mut(), &mut stores, &mut talks);
    }
    let world = world.borrow();
    assert!(!world.gave_up(), "a connection to a server was given up");
    [clients.iter().map(|client| judge(&Vec::from(world.connections[*client].outbox.clone()))).sum()]
}

#[test]
fn arbitrary_bytes_close_no_server_connection() {
    let [values] = each_case(50, run);
    println!("{values} values, each its key's");
    assert!(values > 0);
}
