//! Consistency test: writers write increasing versions while readers read, and plans begin, are replaced, and end.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use scopeguard::defer;

use super::{Moving, keys, table, write_plan};
use crate::support::Client;

const KEYS: usize = 24;
const WRITERS: usize = 3;
/// Between a client's requests: without it, clients take the processors of everything that waits.
const PAUSE: Duration = Duration::from_millis(1);

/// State shared by the clients.
struct Known {
    keys: Vec<String>,
    /// Per key, the last version whose write was started, and the last that was acknowledged. Odd versions are values, even ones are
    /// deletions.
    begun: Vec<AtomicU64>,
    answered: Vec<AtomicU64>,
    /// Whether undeleted values may be missing.
    may_miss: AtomicBool,
    over: AtomicBool,
    reads: AtomicU64,
    found: AtomicU64,
}

impl Known {
    fn of(keys: Vec<String>) -> Known {
        let zeros = || (0..keys.len()).map(|_| AtomicU64::new(0)).collect();
        let (begun, answered) = (zeros(), zeros());
        let none = || AtomicU64::new(0);
        let (may_miss, over) = (AtomicBool::new(false), AtomicBool::new(false));
        Known { keys, begun, answered, may_miss, over, reads: none(), found: none() }
    }

    /// Checks a read value against the last version acknowledged before the read.
    fn judge(&self, number: usize, before: u64, missed_before: bool, read: Option<u64>) {
        let (key, begun) = (&self.keys[number], self.begun[number].load(SeqCst));
        self.reads.fetch_add(1, SeqCst);
        match read {
            Some(version) => {
                self.found.fetch_add(1, SeqCst);
                assert!(version % 2 == 1, "{key}: {version} was never written");
                assert!(version >= before, "{key}: {version} was read, though {before} was answered before");
                assert!(version <= begun, "{key}: {version} is ahead of {begun}");
            }
            None if before % 2 == 1 && begun == before => {
                assert!(missed_before || self.may_miss.load(SeqCst), "{key}: {before} is gone");
            }
            None => {}
        }
    }
}

/// Reads versions of keys by `get` or `gets`.
fn versions(client: &mut Client, known: &Known, numbers: &[usize], verb: &str) -> Vec<Option<u64>> {
    let asked: Vec<&str> = numbers.iter().map(|number| known.keys[*number].as_str()).collect();
    client.send(&format!("{verb} {}\r\n", asked.join(" ")));
    let mut read = vec![None; numbers.len()];
    loop {
        let line = client.line();
        let Some(rest) = line.strip_prefix("VALUE ") else {
            assert_eq!(line, "END");
            return read;
        };
        let words: Vec<&str> = rest.split(' ').collect();
        let mut bytes = vec![0; words[2].parse::<usize>().unwrap() + 2];
        client.0.read_exact(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (key, version) =
            text.trim_end().split_once('/').unwrap_or_else(|| panic!("{}: {text:?} is no value", words[0]));
        assert_eq!(key, words[0]);
        let place = asked.iter().position(|asked| *asked == key).expect("a key that was asked for");
        read[place] = Some(version.parse().unwrap());
    }
}

fn read(mut client: Client, known: &Known, seed: usize) {
    let mut draw = seed;
    while !known.over.load(SeqCst) {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (first, count) = ((draw >> 33) % KEYS, [1, 1, 2, 7, KEYS][(draw >> 40) % 5]);
        let numbers: Vec<usize> = (0..count).map(|next| (first + next) % KEYS).collect();
        let missed = known.may_miss.load(SeqCst);
        let before: Vec<u64> = numbers.iter().map(|number| known.answered[*number].load(SeqCst)).collect();
        let verb = if (draw >> 50).is_multiple_of(8) { "gets" } else { "get" };
        let found = versions(&mut client, known, &numbers, verb);
        for ((number, before), found) in numbers.iter().zip(before).zip(found) {
            known.judge(*number, before, missed, found);
        }
        thread::sleep(PAUSE);
    }
}

/// Writes every `WRITERS`th key, and reads it back.
fn write(mut client: Client, known: &Known, writer: usize) {
    let mut round = 0usize;
    while !known.over.load(SeqCst) {
        round += 1;
        for number in (writer..KEYS).step_by(WRITERS) {
            let key = &known.keys[number];
            let last = known.answered[number].load(SeqCst);
            let how = (round * 7 + number) % 10;
            let next = if how == 0 { last + 2 - last % 2 } else { last + 1 + last % 2 };
            let value = format!("{key}/{next}");
            let stores = |verb: &str| format!("{verb} {key} 0 0 {}", value.len());
            let missed = known.may_miss.load(SeqCst);
            known.begun[number].store(next, SeqCst);
            match how {
                0 => assert!(["DELETED", "NOT_FOUND"].contains(&client.ask(&format!("delete {key}\r\n")).as_str())),
                1..=3 if last % 2 == 1 => {
                    client.send(&format!("gets {key}\r\n"));
                    let line = client.line();
                    if line == "END" {
                        assert!(missed || known.may_miss.load(SeqCst), "{key}: {last} is gone");
                        assert_eq!(client.ask(&format!("{}\r\n{value}\r\n", stores("set"))), "STORED");
                    } else {
                        let unique = line.rsplit(' ').next().unwrap().to_owned();
                        assert_eq!((client.line(), client.line()), (format!("{key}/{last}"), "END".into()));
                        let told = client.ask(&format!("{} {unique}\r\n{value}\r\n", stores("cas")));
                        if told != "STORED" {
                            assert!(missed || known.may_miss.load(SeqCst), "{key}: nobody else writes it, but {told}");
                            assert_eq!(client.ask(&format!("{}\r\n{value}\r\n", stores("set"))), "STORED");
                        }
                    }
                }
                4 => {
                    client.send(&format!("{} noreply\r\n{value}\r\n", stores("set")));
                    assert_eq!(client.ask("mn\r\n"), "MN");
                }
                5 => assert_eq!(client.ask(&format!("ms {key} {}\r\n{value}\r\n", value.len())), "HD"),
                _ => assert_eq!(client.ask(&format!("{}\r\n{value}\r\n", stores("set"))), "STORED"),
            }
            known.answered[number].store(next, SeqCst);
            let missed = known.may_miss.load(SeqCst);
            let found = versions(&mut client, known, &[number], "get");
            known.judge(number, next, missed, found[0]);
            thread::sleep(PAUSE);
        }
    }
}

#[test]
fn reads_never_return_stale_values_during_plans() {
    let known = Known::of(keys(KEYS));
    let moving = Moving::start(3, &known.keys, "begin", false);
    moving.servers.iter().for_each(|server| server.slow.store(600, SeqCst));
    thread::scope(|scope| {
        let works: Vec<_> = (0..WRITERS)
            .map(|writer| (writer, moving.client_of(writer)))
            .map(|(writer, client)| {
                scope.spawn({
                    let known = &known;
                    move || write(client, known, writer)
                })
            })
            .chain((0..5).map(|seed| {
                let (known, client) = (&known, moving.client_of(seed));
                scope.spawn(move || read(client, known, seed))
            }))
            .collect();
        let goes_on = |millis| {
            thread::sleep(Duration::from_millis(millis));
            // A client that has found an error has ended.
            assert!(!works.iter().any(|work| work.is_finished()), "a client has ended");
        };
        // Clients end when this fails, too.
        defer! { known.over.store(true, SeqCst) };
        goes_on(300);
        moving.told("move");
        moving.reaches("move");
        goes_on(1500);
        // Another plan: keys move two servers on. It waits in `begin` until all front ends are there.
        moving.told("begin");
        moving.reaches("begin");
        write_plan(moving.folder.path(), 3, &table(&moving.router, &known.keys, 3, 2));
        goes_on(3000);
        moving.told("move");
        moving.reaches("move");
        goes_on(1500);
        // A damaged plan changes nothing.
        std::fs::write(moving.folder.path().join("placement.csv"), "key,server,was\n").unwrap();
        goes_on(600);
        write_plan(moving.folder.path(), 3, &table(&moving.router, &known.keys, 3, 2));
        moving.told("copied");
        moving.reaches("copied");
        goes_on(500);
        known.may_miss.store(true, SeqCst);
        moving.told("over");
        moving.reaches("turn");
        goes_on(300);
        moving.reaches("over");
        goes_on(500);
    });
    let figure = |name| moving.client().figure(name) + moving.client_of(1).figure(name);
    let [found, fell_back, copied] = ["moving_found", "moving_fell_back", "moving_copied"].map(figure);
    let (reads, values) = (known.reads.load(SeqCst), known.found.load(SeqCst));
    println!("{reads} reads, {values} values; {found} at new places, {fell_back} at old ones, {copied} copies");
    assert!(values * 2 > reads && found > 500 && fell_back > 500 && copied > 500);
    assert!(figure("plan_refused") >= 2 && figure("plan_reloads") >= 6);
}
