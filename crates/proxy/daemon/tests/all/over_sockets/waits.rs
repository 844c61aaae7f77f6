//! Liveness: no client waits forever.

use std::io::Read;
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use fanin_testing::{wait_for, wait_until};

use super::cluster;
use crate::support::{Client, Cluster, Manner, now, value};

/// A front end with a concurrency limit for long lists, and keys.
fn windowed() -> (Cluster, Vec<String>) {
    let cluster = cluster(40, "", "multiget = \"sliding-window\"");
    let keys = cluster.filled(400);
    (cluster, keys)
}

#[test]
fn reads_request_after_long_list() {
    let (cluster, keys) = windowed();
    let line = format!("get {}\r\n", keys.join(" "));
    for gap in [0, 50, 100, 200, 400, 800, 1500] {
        let mut client = cluster.client();
        client.send(&line);
        thread::sleep(Duration::from_micros(gap));
        client.send("mn\r\n");
        assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
        assert_eq!(client.line(), "MN", "after {gap} us");
    }
}

#[test]
fn late_reader_gets_all_responses() {
    let cluster = cluster(4, "", "");
    let keys: Vec<String> = (0..40).map(|number| format!("{number}-key")).collect();
    let mut client = cluster.client();
    keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 50_000)), "STORED"));
    let line = format!("get {}\r\n", keys.join(" "));
    for pause in [1, 5, 20, 50] {
        client.send(&line);
        thread::sleep(Duration::from_millis(pause));
        client.send(&line);
        thread::sleep(Duration::from_millis(pause));
        client.send("mn\r\n");
        assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
        assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
        assert_eq!(client.line(), "MN");
    }
}

#[test]
fn half_closed_client_gets_responses() {
    let (cluster, keys) = windowed();
    for _ in 0..10 {
        let mut client = cluster.client();
        client.send(&format!("get {}\r\nmg none v\r\n", keys.join(" ")));
        client.0.get_ref().shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
        let mut rest = String::new();
        client.0.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "EN\r\n");
    }
    // Clients that disconnect leave nothing behind.
    for _ in 0..10 {
        cluster.client().send(&format!("get {}\r\n", keys.join(" ")));
    }
    let mut client = cluster.client();
    wait_until("the others are gone", || client.figure("curr_connections") == 1);
}

#[test]
fn long_list_keeps_key_order_and_reports_errors() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(60);
    let asked: Vec<String> = (0..5000).map(|number| keys[number * 7 % 60].clone()).collect();
    let mut client = cluster.client();
    assert_eq!(client.get(&asked), (asked.clone(), "END".to_owned()));
    assert_eq!(client.ask("mn\r\n"), "MN");
    // One key is too long: none is answered.
    let mut wrong = asked.clone();
    wrong.push("k".repeat(251));
    assert_eq!(client.get(&wrong), (vec![], "CLIENT_ERROR bad command line format".to_owned()));
    let his = cluster.keys_of(1, &keys);
    cluster.servers[1].set(Manner::Garbage);
    let (found, end) = client.get(&asked);
    assert!(end.starts_with("SERVER_ERROR ") && found.iter().all(|key| !his.contains(key)), "{end}");
    assert_eq!(client.ask("mn\r\n"), "MN");
}

#[test]
fn admits_clients_up_to_limit() {
    let cluster = cluster(1, "clients = 100", "");
    let mut all: Vec<Client> = (0..100).map(|_| cluster.client()).collect();
    all.iter_mut().for_each(|client| assert_eq!(client.ask("mn\r\n"), "MN"));
    assert_eq!(all[0].figure("rejected_connections"), 0);
    let mut one_more = cluster.client();
    assert_eq!(one_more.line(), "ERROR Too many open connections");
}

#[test]
fn closes_largest_clients_at_memory_limit() {
    let cluster = cluster(2, "memory = \"16 MiB\"", "timeout = \"60 s\"");
    let keys: Vec<String> = (0..200).map(|number| format!("{number}-key")).collect();
    let mut client = cluster.client();
    keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 100_000)), "STORED"));
    // Each requests 20 MB at once, and reads nothing.
    let mut greedy: Vec<Client> = (0..24).map(|_| cluster.client()).collect();
    greedy.iter_mut().for_each(|client| client.send(&format!("get {}\r\n", keys.join(" "))));
    wait_until("somebody is cut off", || client.figure("clients_cut_off") > 0);
    // Once the responses under way are received, others are served.
    let one = &keys[..1];
    wait_until("others are served", || client.get(one) == (one.to_vec(), "END".to_owned()));
}

#[test]
fn idle_memory_holders_are_closed() {
    let cluster = cluster(1, "memory = \"16 MiB\"", "");
    let half = format!("set a 0 0 1000000\r\n{}", "v".repeat(500_000));
    let mut stalled: Vec<Client> = (0..26).map(|_| cluster.client()).collect();
    stalled.iter_mut().for_each(|client| client.send(&half));
    let mut client = cluster.client();
    wait_until("somebody is cut off", || client.figure("clients_cut_off") > 0);
    let large = value("large", 100_000);
    assert_eq!(cluster.client().set("large", &large), "STORED");
}

#[test]
fn large_requests_do_not_delay_others() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(60);
    let burst = format!("get {}\r\n", keys.iter().cycle().take(4000).cloned().collect::<Vec<_>>().join(" ")).repeat(20);
    let mut client = cluster.client();
    // A busy machine delays some of them.
    wait_for("200 gets beside large ones, none of which takes 400 ms", || {
        let mut greedy: Vec<Client> = (0..4).map(|_| cluster.client()).collect();
        greedy.iter_mut().for_each(|client| client.send(&burst[..burst.len().min(100_000)]));
        let times = keys.iter().cycle().take(200).map(|key| {
            let begun = now();
            assert_eq!(client.get(std::slice::from_ref(key)).1, "END");
            begun.elapsed()
        });
        times.max().filter(|longest| *longest >= Duration::from_millis(400)).map_or(Ok(()), Err)
    });
}

#[test]
fn closes_idle_but_not_waiting_clients() {
    let cluster = cluster(1, "idle_timeout = \"1 s\"", "timeout = \"30 s\"");
    let (mut idle, mut busy, mut waits) = (cluster.client(), cluster.client(), cluster.client());
    assert_eq!(idle.ask("mn\r\n"), "MN");
    cluster.servers[0].set(Manner::Slow(2_000));
    waits.send("get a\r\n");
    wait_until("the idle client is closed", || busy.figure("clients_idle") == 1);
    assert_eq!(idle.line(), "");
    let answer = thread::spawn(move || waits.line());
    wait_until("the waiting client is answered", || {
        assert_eq!(busy.figure("clients_idle"), 1);
        answer.is_finished()
    });
    assert_eq!(answer.join().unwrap(), "END");
}
