//! No client waits for what will not come.

use std::io::Read;
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use super::cluster;
use crate::support::{Client, Cluster, Manner, now, value};

/// A front end that asks for long lists by and by, and their keys.
fn windowed() -> (Cluster, Vec<String>) {
    let cluster = cluster(40, "", "multiget = \"sliding-window\"");
    let keys = cluster.filled(400);
    (cluster, keys)
}

#[test]
fn a_request_that_comes_while_a_list_is_being_asked_for_is_read_once_it_is() {
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
fn a_client_that_reads_late_has_all_of_its_answers() {
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
fn a_client_that_has_said_its_last_word_has_its_answers_and_then_its_end() {
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
    // Those who are gone altogether leave nothing behind.
    for _ in 0..10 {
        cluster.client().send(&format!("get {}\r\n", keys.join(" ")));
    }
    let (mut client, begun) = (cluster.client(), now());
    while client.figure("curr_connections") > 1 {
        assert!(begun.elapsed() < Duration::from_secs(5), "{} are still there", client.figure("curr_connections") - 1);
    }
}

#[test]
fn a_list_of_many_keys_is_answered_in_their_order_with_one_end_and_errors_if_some_of_it_fails() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(60);
    let asked: Vec<String> = (0..5000).map(|number| keys[number * 7 % 60].clone()).collect();
    let mut client = cluster.client();
    assert_eq!(client.get(&asked), (asked.clone(), "END".to_owned()));
    assert_eq!(client.ask("mn\r\n"), "MN");
    // A key that is too long behind all of these: none is answered.
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
fn all_clients_that_may_come_do_whichever_thread_takes_them() {
    let cluster = cluster(1, "clients = 100", "");
    let mut all: Vec<Client> = (0..100).map(|_| cluster.client()).collect();
    all.iter_mut().for_each(|client| assert_eq!(client.ask("mn\r\n"), "MN"));
    assert_eq!(all[0].figure("rejected_connections"), 0);
    let mut one_more = cluster.client();
    assert_eq!(one_more.line(), "ERROR Too many open connections");
}

#[test]
fn memory_has_a_bound_and_whoever_takes_most_of_it_is_cut_off() {
    let cluster = cluster(2, "memory = \"32 MiB\"", "");
    let keys: Vec<String> = (0..200).map(|number| format!("{number}-key")).collect();
    let mut client = cluster.client();
    keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 500_000)), "STORED"));
    // Each asks for 100 MB at once, and reads nothing.
    let mut greedy: Vec<Client> = (0..24).map(|_| cluster.client()).collect();
    greedy.iter_mut().for_each(|client| client.send(&format!("get {}\r\n", keys.join(" "))));
    let begun = now();
    while client.figure("clients_cut_off") == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "nobody is cut off");
    }
    // What these have asked for is still on its way from the servers; then others are served.
    let one = &keys[..1];
    while client.get(one) != (one.to_vec(), "END".to_owned()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "others are not served");
    }
}

#[test]
fn who_takes_memory_and_goes_no_further_gives_it_back() {
    let cluster = cluster(1, "memory = \"16 MiB\"", "");
    let half = format!("set a 0 0 1000000\r\n{}", "v".repeat(500_000));
    let mut stalled: Vec<Client> = (0..26).map(|_| cluster.client()).collect();
    stalled.iter_mut().for_each(|client| client.send(&half));
    let (mut client, begun) = (cluster.client(), now());
    while client.figure("clients_cut_off") == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "nobody is cut off");
    }
    let large = value("large", 100_000);
    assert_eq!(cluster.client().set("large", &large), "STORED");
}

#[test]
fn who_asks_for_much_does_not_keep_others_waiting() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(60);
    let burst = format!("get {}\r\n", keys.iter().cycle().take(4000).cloned().collect::<Vec<_>>().join(" ")).repeat(20);
    let mut greedy: Vec<Client> = (0..4).map(|_| cluster.client()).collect();
    for client in &mut greedy {
        client.send(&burst[..burst.len().min(100_000)]);
    }
    let mut client = cluster.client();
    let mut longest = Duration::ZERO;
    for key in keys.iter().cycle().take(200) {
        let begun = now();
        assert_eq!(client.get(std::slice::from_ref(key)).1, "END");
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_millis(400), "{longest:?}");
}

#[test]
fn a_client_that_is_idle_for_too_long_is_closed_and_one_that_waits_is_not() {
    let cluster = cluster(1, "idle_timeout = \"100 ms\"", "");
    let (mut idle, mut busy, mut waits) = (cluster.client(), cluster.client(), cluster.client());
    assert_eq!(idle.ask("mn\r\n"), "MN");
    cluster.servers[0].set(Manner::Slow(300));
    waits.send("get a\r\n");
    let begun = now();
    while begun.elapsed() < Duration::from_millis(250) {
        assert_eq!(busy.ask("mn\r\n"), "MN");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((idle.line(), waits.line()), (String::new(), "END".to_owned()));
    assert_eq!(busy.figure("clients_idle"), 1);
}
