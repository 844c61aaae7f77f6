//! Hand-over to a successor under load: nothing is refused, reset or lost.
#![expect(clippy::disallowed_types, reason = "simple clients that wait for responses")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fanin_daemon::control::{Order, Orders};
use fanin_daemon::{Predecessor, Running, Settings};
use fanin_testing::LIMIT;
use scopeguard::defer;
use sha2::{Digest, Sha256};

use super::cluster;
use crate::certificates::{self, folder};
use crate::support::{Client, Cluster, EVENT_LOOP, connect, now, own_address, value, wait_until};

fn settings(at: &str, servers: &Cluster, threads: usize, more: &str, of_pool: &str) -> Settings {
    let servers: Vec<String> = servers.servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
    let servers = servers.join(",");
    let text = format!(
        "threads = {threads}\n{EVENT_LOOP}{more}\n[[pool]]\nname = \"p\"\nlisten = \"{at}\"\nservers = [{servers}]\n{of_pool}\n"
    );
    Settings::of_file("hand-over.toml", &text).unwrap()
}

/// Names of a front end, which accept orders.
fn orders(of: &Running) -> Orders {
    let mut orders = Orders::default();
    orders.listen(&of.listens()).unwrap();
    orders
}

/// Hands over when asked to, and ends with the last client.
fn hands_over(mut old: Running) -> JoinHandle<()> {
    let mut orders = orders(&old);
    thread::spawn(move || {
        let Some(Order::HandOver(to)) = orders.next(LIMIT) else { panic!("nobody takes over") };
        old.hand_over(to, |_| orders.close()).unwrap();
        old.wait().unwrap();
    })
}

fn take_over(settings: &Settings) -> Running {
    let predecessor = Predecessor::find(&settings.listens()).unwrap().expect("a front end is running");
    predecessor.pause(settings).unwrap();
    predecessor.start(settings).unwrap()
}

fn stop(front: Running) {
    front.stop();
    front.wait().unwrap();
}

/// Sets and gets its own keys.
fn uses(client: &mut Client, number: usize, round: usize) {
    let keys: Vec<String> = (0..12).map(|key| format!("{key}-of-{number}")).collect();
    let key = &keys[round % keys.len()];
    assert_eq!(client.set(key, &value(key, 50 + round % 7 * 4_000)), "STORED");
    assert_eq!(client.get(&keys).1, "END");
}

/// Sends requests without waiting, so that some are always outstanding, and reads their responses.
fn pipelines(at: SocketAddr, over: &AtomicBool) -> usize {
    let stream = connect(at);
    let mut sender = stream.try_clone().unwrap();
    thread::scope(|scope| {
        let sent = scope.spawn(move || {
            let mut sent = 0;
            while !over.load(SeqCst) {
                // Cut in the middle of a request.
                let text = format!("get pipelined-{sent}\r\nmn\r\n");
                let (first, second) = text.split_at(sent % text.len());
                sender.write_all(first.as_bytes()).unwrap();
                sender.write_all(second.as_bytes()).unwrap();
                sent += 1;
                thread::sleep(Duration::from_micros(300));
            }
            sender.write_all(b"version\r\n").unwrap();
            sent
        });
        let mut lines = BufReader::new(stream).lines();
        let mut read = 0;
        for line in lines.by_ref() {
            match line.unwrap().as_str() {
                "END" | "MN" => read += 1,
                line => {
                    assert!(line.starts_with("VERSION"), "{line}");
                    break;
                }
            }
        }
        assert_eq!(read, 2 * sent.join().unwrap());
        read
    })
}

#[test]
fn many_hand_overs_under_load_lose_nothing() {
    let servers = cluster(3, "", "");
    let at = own_address();
    let of = |threads| settings(&at.to_string(), &servers, threads, "", "join = true");
    let mut front = fanin_daemon::start(&of(2)).unwrap();
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let (over, done) = (&over, &done);
        // Clients end when this fails, too.
        defer! { over.store(true, SeqCst) };
        let mut clients = Vec::new();
        for number in 0..3 {
            clients.push(scope.spawn(move || {
                let mut client = Client::to(at);
                for round in (0..).take_while(|_| !over.load(SeqCst)) {
                    uses(&mut client, number, round);
                    done.fetch_add(1, SeqCst);
                }
            }));
            clients.push(scope.spawn(move || {
                let rounds = (0..).take_while(|_| !over.load(SeqCst));
                rounds.for_each(|round| uses(&mut Client::to(at), 10 + number, round));
            }));
        }
        clients.push(scope.spawn(move || assert!(pipelines(at, over) > 0)));
        let mut idle: Vec<Client> = (0..20).map(|_| Client::to(at)).collect();
        for round in 0..25 {
            let old = hands_over(front);
            front = take_over(&of([1, 3, 2][round % 3]));
            old.join().unwrap();
            let before = done.load(SeqCst);
            wait_until("clients go on", || {
                assert!(!clients.iter().any(|client| client.is_finished()), "round {round}");
                done.load(SeqCst) > before + 3
            });
            idle.iter_mut().for_each(|client| assert_eq!(client.ask("mn\r\n"), "MN"));
        }
        over.store(true, SeqCst);
        clients.into_iter().for_each(|client| client.join().unwrap());
        stop(front);
    });
}

#[test]
fn busy_client_and_its_next_requests_follow() {
    let servers = cluster(1, "", "");
    let at = own_address();
    let of = |threads| settings(&at.to_string(), &servers, threads, "", "");
    let front = fanin_daemon::start(&of(1)).unwrap();
    let (mut busy, mut half) = (Client::to(at), Client::to(at));
    assert_eq!(busy.set("a", &value("a", 10)), "STORED");
    servers.servers[0].set(crate::support::Manner::Slow(300));
    busy.send("get a\r\nmn\r\nget a\r\n");
    half.send("set b 0 0 100\r\nb/b/b");
    thread::sleep(Duration::from_millis(50));
    let old = hands_over(front);
    let front = take_over(&of(2));
    busy.send("mn\r\n");
    half.send(&format!("{}\r\n", &value("b", 100)[5..]));
    assert_eq!(busy.values(), (vec!["a".to_owned()], "END".to_owned()));
    assert_eq!(busy.line(), "MN");
    assert_eq!(busy.values(), (vec!["a".to_owned()], "END".to_owned()));
    assert_eq!((busy.line(), half.line()), ("MN".into(), "STORED".into()));
    old.join().unwrap();
    assert_eq!(busy.figure("curr_connections"), 2);
    stop(front);
}

#[test]
fn clients_of_removed_pools_stay_until_the_deadline() {
    let servers = cluster(1, "", "");
    let (at, gone) = (own_address().to_string(), own_address());
    let server = servers.servers[0].address;
    let more = "drain = \"2500 ms\"";
    let two = settings(
        &at,
        &servers,
        1,
        more,
        &format!("[[pool]]\nname = \"q\"\nlisten = \"{gone}\"\nservers = [\"{server}\"]"),
    );
    let front = fanin_daemon::start(&two).unwrap();
    let mut stays = Client::to(gone);
    assert_eq!(stays.ask("mn\r\n"), "MN");
    let old = hands_over(front);
    let front = take_over(&settings(&at, &servers, 1, more, ""));
    assert_eq!(stays.ask("mn\r\n"), "MN", "the old process serves it");
    assert!(TcpStream::connect(gone).is_err());
    assert!(Predecessor::find(&front.listens()).unwrap().is_none(), "the names are free");
    // One that still takes over does not hand over.
    let (mut middle, mut names) = (front, Orders::default());
    names.listen(&middle.listens()).unwrap();
    let middle = thread::spawn(move || {
        let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
        (middle.hand_over(to, |_| panic!("handed over")).unwrap_err(), middle)
    });
    let error = Predecessor::find(&[at.parse::<SocketAddr>().unwrap().into()]).unwrap_err();
    assert!(error.to_string().contains("try again"), "{error}");
    let (_, front) = middle.join().unwrap();
    let begun = now();
    assert_eq!(stays.line(), "", "closed at the deadline");
    assert!(begun.elapsed() < Duration::from_secs(10));
    old.join().unwrap();
    stop(front);
}

#[test]
fn goes_on_if_the_new_process_fails() {
    let servers = cluster(1, "", "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("front.sock");
    let at = format!("unix:{}", path.display());
    let of = |more: &str| settings(&at, &servers, 1, more, "");
    let log = format!("[log]\nfile = \"{}\"\nshare = 1.0", folder.path().join("log.csv").display());
    let mut front = fanin_daemon::start(&of(&log)).unwrap();
    let mut client = Client::at(&path);
    let mut names = orders(&front);
    for step in 0..3 {
        let front = &mut front;
        let names = &mut names;
        thread::scope(|scope| {
            let old = scope.spawn(move || {
                let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
                front.hand_over(to, |_| panic!("handed over")).unwrap_err()
            });
            let predecessor = Predecessor::find(&of("").listens()).unwrap().unwrap();
            if step > 0 {
                predecessor.pause(&of("")).unwrap();
            }
            if step == 2 {
                // A metrics address of another machine.
                let error = predecessor.start(&of("[metrics]\nlisten = \"192.0.2.1:1\"")).err().unwrap();
                assert!(error.to_string().contains("metrics"), "{error}");
            } else {
                drop(predecessor);
            }
            let error = old.join().unwrap();
            assert!(step < 2 || error.to_string().contains("metrics"), "{error}");
        });
        assert_eq!((client.ask("mn\r\n"), Client::at(&path).ask("mn\r\n")), ("MN".into(), "MN".into()));
    }
    assert!(path.exists());
    let old = thread::spawn(move || {
        let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
        front.hand_over(to, |_| names.close()).unwrap();
        front.wait().unwrap();
    });
    let front = take_over(&of(&log));
    old.join().unwrap();
    assert_eq!((client.ask("mn\r\n"), Client::at(&path).ask("mn\r\n")), ("MN".into(), "MN".into()));
    stop(front);
    assert!(!path.exists(), "the successor removes the file");
}

/// Only the old process knows which keys have changed while a server was away.
#[test]
fn waits_for_a_server_that_is_away() {
    let servers = cluster(3, "", "");
    let at = own_address();
    let of = settings(&at.to_string(), &servers, 1, "", "on_down = \"next\"");
    let mut front = fanin_daemon::start(&of).unwrap();
    let mut client = Client::to(at);
    let keys: Vec<String> = (0..60).map(|number| format!("{number}-key")).collect();
    for key in &keys {
        assert_eq!(client.set(key, &value(key, 10)), "STORED");
    }
    let server = &servers.servers[1];
    let state = format!("{}:state", server.address);
    server.kill();
    wait_until("it is away", || {
        client.get(&keys);
        client.word(&state) == "away"
    });
    let changed: Vec<String> =
        keys.iter().filter(|key| client.set(key, &value(key, 20)) == "STORED").cloned().collect();
    assert_eq!(changed, keys);
    let mut names = orders(&front);
    thread::scope(|scope| {
        let (front, names) = (&mut front, &mut names);
        let old = scope.spawn(move || {
            let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
            front.hand_over(to, |_| panic!("handed over")).unwrap_err()
        });
        let why = Predecessor::find(&of.listens()).unwrap_err();
        assert_eq!([why.kind(), old.join().unwrap().kind()], [ErrorKind::ResourceBusy; 2]);
        assert!(why.to_string().starts_with(&format!("p: {} is not in use", server.address)), "{why}");
    });
    let _again = server.restart();
    wait_until("it is in use again", || client.word(&state) == "up");
    let old = thread::spawn(move || {
        let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
        front.hand_over(to, |_| names.close()).unwrap();
        front.wait().unwrap();
    });
    let front = take_over(&of);
    old.join().unwrap();
    assert_eq!(Client::to(at).get(&keys).1, "END");
    stop(front);
}

#[test]
fn refuses_another_version_of_the_protocol() {
    use std::os::linux::net::SocketAddrExt;
    let servers = cluster(1, "", "");
    let at = own_address();
    let front = fanin_daemon::start(&settings(&at.to_string(), &servers, 1, "", "")).unwrap();
    let _orders = orders(&front);
    let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("fanin-front@{at}")).unwrap();
    let mut stream = UnixStream::connect_addr(&name).unwrap();
    stream.write_all(b"take-over 9999\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("error\n") && text.contains("version 9999") && text.contains("restart"), "{text}");
    assert_eq!(Client::to(at).ask("mn\r\n"), "MN");
    stop(front);
}

#[test]
fn metrics_go_over_without_a_refused_connection() {
    let servers = cluster(1, "", "");
    let (at, metrics) = (own_address().to_string(), own_address());
    let of = settings(&at, &servers, 1, &format!("[metrics]\nlisten = \"{metrics}\""), "");
    let mut front = fanin_daemon::start(&of).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        defer! { over.store(true, SeqCst) };
        let scraper = scope.spawn(|| {
            let mut scrapes = 0;
            while !over.load(SeqCst) {
                let mut stream = connect(metrics);
                stream.write_all(b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                let mut text = String::new();
                match stream.read_to_string(&mut text) {
                    Err(error) if error.kind() != ErrorKind::Interrupted => panic!("{error} after {text:?}"),
                    _ => assert!(text.starts_with("HTTP/1.1 200"), "{text:?}"),
                }
                scrapes += 1;
            }
            scrapes
        });
        for _ in 0..10 {
            let old = hands_over(front);
            front = take_over(&of);
            old.join().unwrap();
        }
        over.store(true, SeqCst);
        assert!(scraper.join().unwrap() > 0);
        stop(front);
    });
}

#[test]
fn logins_go_over_and_tls_stays_until_the_deadline() {
    let ((folder, authority), servers) = (folder(), cluster(1, "", ""));
    fs::write(folder.path().join("users"), "ann:secret\n").unwrap();
    // The certificate has this address.
    let tls = SocketAddr::from(([127, 0, 0, 2], own_address().port()));
    let (auth, server) = (own_address(), servers.servers[0].address);
    let text = format!(
        "threads = 1\n{EVENT_LOOP}drain = \"2 s\"\n\
         [[pool]]\nname = \"tls\"\nlisten = \"{tls}\"\nservers = [\"{server}\"]\n\
         tls = {{ certificate = \"front.pem\", key = \"front-key.pem\" }}\n\
         [[pool]]\nname = \"auth\"\nlisten = \"{auth}\"\nservers = [\"{server}\"]\nauth = \"users\"\n"
    );
    let settings = Settings::of_file(&folder.path().join("front.toml").display().to_string(), &text).unwrap();
    let front = fanin_daemon::start(&settings).unwrap();
    let (mut encrypted, mut ann, mut late) =
        (certificates::client(tls, &authority), Client::to(auth), Client::to(auth));
    let login = "set any 0 0 10\r\nann secret\r\n";
    assert_eq!((encrypted.ask("mn\r\n"), ann.ask(login)), ("MN".into(), "STORED".into()));
    assert_eq!(late.ask("mn\r\n"), "CLIENT_ERROR unauthenticated");
    let old = hands_over(front);
    let front = take_over(&settings);
    assert_eq!((encrypted.ask("mn\r\n"), ann.ask("mn\r\n")), ("MN".into(), "MN".into()));
    assert_eq!(late.ask("mn\r\n"), "CLIENT_ERROR unauthenticated", "no way round the login");
    assert_eq!((late.ask(login), late.ask("mn\r\n")), ("STORED".into(), "MN".into()));
    wait_until("both are in the new process", || ann.figure("curr_connections") == 2);
    assert_eq!(encrypted.line(), "", "closed at the deadline");
    old.join().unwrap();
    assert_eq!(certificates::client(tls, &authority).ask("mn\r\n"), "MN");
    assert_eq!(Client::to(auth).ask("mn\r\n"), "CLIENT_ERROR unauthenticated");
    stop(front);
}

#[test]
fn plans_advance_in_one_process_only() {
    let (folder, servers) = (tempfile::tempdir().unwrap(), cluster(1, "", ""));
    let (path, table) = (folder.path(), "key,server,was\n");
    fs::write(path.join("placement.csv"), table).unwrap();
    let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
    let plan = format!("{{\"cluster\": {{\"servers\": 1, \"replicas\": 1}}, \"placement_sha256\": \"{digest}\"}}");
    fs::write(path.join("plan.json"), plan).unwrap();
    fs::write(path.join("stage"), "begin").unwrap();
    let (at, other, server) = (own_address(), own_address(), servers.servers[0].address);
    let of_pool = format!("plan = \"{}\"\n", path.display());
    let more = format!("{of_pool}[[pool]]\nname = \"q\"\nlisten = \"{other}\"\nservers = [\"{server}\"]");
    let of = |of_pool: &str| settings(&at.to_string(), &servers, 1, "drain = \"2500 ms\"", of_pool);
    let mut front = fanin_daemon::start(&of(&more)).unwrap();
    let mut names = orders(&front);
    // Another plan is refused, and the old process goes on with its own.
    thread::scope(|scope| {
        let (front, names) = (&mut front, &mut names);
        let old = scope.spawn(move || {
            let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
            front.hand_over(to, |_| panic!("handed over")).unwrap_err()
        });
        let predecessor = Predecessor::find(&of("").listens()).unwrap().unwrap();
        let error = predecessor.pause(&of("")).unwrap_err().to_string();
        assert!(error.contains("plan") && old.join().unwrap().to_string() == error, "{error}");
    });
    // A client keeps the old process.
    let mut stays = Client::to(other);
    assert_eq!(stays.ask("mn\r\n"), "MN");
    let old = thread::spawn(move || {
        let Some(Order::HandOver(to)) = names.next(LIMIT) else { panic!("nobody takes over") };
        front.hand_over(to, |_| names.close()).unwrap();
        front.wait().unwrap();
    });
    let front = take_over(&of(&of_pool));
    let mut client = Client::to(at);
    assert_eq!(client.word("p.plan_stage"), "begin");
    fs::write(path.join("stage"), "move").unwrap();
    let begun = now();
    while !old.is_finished() {
        assert_eq!(client.word("p.plan_stage"), "begin", "after {:?}", begun.elapsed());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(stays.line(), "");
    old.join().unwrap();
    wait_until("the new process advances", || client.word("p.plan_stage") == "move");
    stop(front);
}
