//! Requests to servers in each stage.

use super::{Moving, keys};
use crate::support::Client;
use fanin_testing::wait_until;

/// Value of a single get.
fn value_of(client: &mut Client, key: &str) -> Option<String> {
    client.send(&format!("get {key}\r\n"));
    let line = client.line();
    if line == "END" {
        return None;
    }
    assert!(line.starts_with(&format!("VALUE {key} ")), "{line}");
    let value = client.line();
    assert_eq!(client.line(), "END");
    Some(value)
}

#[test]
fn first_read_copies_key_to_new_server() {
    let moving = Moving::start(3, &keys(4), "move", true);
    let mut client = moving.client();
    let [old, new] = moving.places("1-key");
    old.put("1-key", "one");
    // Values at the new server from before the plan are ignored.
    new.put("1-key", "ancient");
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("one"));
    wait_until("the new server has a copy", || new.has("1-key").as_deref() == Some("one"));
    let before = old.asked.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("one"));
    assert_eq!(old.asked.load(std::sync::atomic::Ordering::SeqCst), before);
    assert_eq!((client.figure("moving_found"), client.figure("moving_fell_back")), (1, 1));
    assert_eq!((client.figure("moving_copied"), client.figure("p.plan_keys")), (1, 4));
    // A miss leaves no lease behind.
    assert_eq!(value_of(&mut client, "2-key"), None);
    let [_, new] = moving.places("2-key");
    wait_until("the new server's copy is gone", || new.has("2-key").is_none());
}

#[test]
fn multiget_reads_new_servers_in_key_order() {
    let all = keys(40);
    let moving = Moving::start(4, &all, "move", true);
    let mut client = moving.client();
    for (number, key) in all.iter().enumerate().filter(|(number, _)| number % 5 != 0) {
        moving.places(key)[0].put(key, &crate::support::value(key, number));
    }
    let asked: Vec<String> = all.iter().chain(["none".to_owned()].iter()).rev().cloned().collect();
    let there: Vec<String> =
        all.iter().enumerate().filter(|(number, _)| number % 5 != 0).map(|(_, key)| key.clone()).rev().collect();
    for _ in 0..3 {
        assert_eq!(client.get(&asked), (there.clone(), "END".to_owned()));
    }
    wait_until("the new servers have copies", || {
        there.iter().all(|key| moving.places(key)[1].has(key).is_some_and(|value| !value.is_empty()))
    });
    // Leases for misses have been returned.
    wait_until("leases for misses are returned", || {
        all.iter().step_by(5).all(|key| moving.places(key)[1].has(key).is_none())
    });
    let before: Vec<u64> =
        moving.servers.iter().map(|server| server.asked.load(std::sync::atomic::Ordering::SeqCst)).collect();
    assert_eq!(client.get(&there), (there.clone(), "END".to_owned()));
    for (server, before) in moving.servers.iter().zip(before) {
        let asked = server.asked.load(std::sync::atomic::Ordering::SeqCst) - before;
        assert_eq!(asked, 1, "one multiget is all that a server is asked");
    }
}

#[test]
fn copy_keeps_flags_and_lifetime() {
    let moving = Moving::start(3, &keys(4), "move", true);
    let mut client = moving.client();
    assert_eq!(client.ask("set 1-key 77 100 3\r\none\r\n"), "STORED");
    let [old, new] = moving.places("1-key");
    wait_until("the new server has a copy", || new.has("1-key").as_deref() == Some("one"));
    assert!(old.lives("1-key").unwrap().abs_diff(new.lives("1-key").unwrap()) <= 1);
    assert_eq!(client.ask("get 1-key\r\n"), "VALUE 1-key 77 3");
}

#[test]
fn changes_go_to_old_server_and_delete_copy() {
    let moving = Moving::start(3, &keys(4), "move", true);
    let mut client = moving.client();
    let [old, new] = moving.places("1-key");
    assert_eq!(client.ask("add 1-key 0 0 1\r\n5\r\n"), "STORED");
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("5"));
    wait_until("the new server has a copy", || new.has("1-key").as_deref() == Some("5"));
    assert_eq!(client.ask("incr 1-key 2\r\n"), "7");
    assert_eq!((old.has("1-key").as_deref(), new.has("1-key")), (Some("7"), None));
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("7"));
    assert_eq!(client.ask("append 1-key 0 0 1\r\n1\r\n"), "STORED");
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("71"));
    // A CAS unique belongs to the server that compares it.
    let line = client.ask("gets 1-key\r\n");
    let unique = line.rsplit(' ').next().unwrap().to_owned();
    assert_eq!((client.line(), client.line()), ("71".to_owned(), "END".to_owned()));
    assert_eq!(client.ask(&format!("cas 1-key 0 0 2 {unique}\r\n72\r\n")), "STORED");
    assert_eq!(client.ask(&format!("cas 1-key 0 0 2 {unique}\r\n73\r\n")), "EXISTS");
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("72"));
    assert_eq!(client.ask("touch 1-key 50\r\n"), "TOUCHED");
    assert_eq!(new.has("1-key"), None);
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("72"));
    assert!(old.lives("1-key").unwrap() <= 50);
    assert_eq!(client.ask("gat 0 1-key\r\n"), "VALUE 1-key 0 2");
    assert_eq!((client.line(), client.line()), ("72".to_owned(), "END".to_owned()));
    assert_eq!((old.lives("1-key"), new.has("1-key")), (None, None));
    // The same with meta commands, and in base64.
    assert_eq!(client.ask("ms MS1rZXk= 2 b\r\n80\r\n"), "HD");
    assert_eq!(client.ask("mg 1-key v\r\n"), "VA 2");
    assert_eq!(client.line(), "80");
    assert_eq!(client.ask("ma 1-key\r\n").split(' ').next(), Some("NF"));
    assert_eq!(client.ask("delete 1-key\r\n"), "DELETED");
    assert_eq!((old.has("1-key"), new.has("1-key"), value_of(&mut client, "1-key")), (None, None, None));
}

#[test]
fn pipelined_reads_see_earlier_writes() {
    let moving = Moving::start(3, &keys(4), "move", true);
    moving.servers.iter().for_each(|server| server.slow.store(800, std::sync::atomic::Ordering::SeqCst));
    let mut client = moving.client();
    for version in 0..60 {
        let value = format!("{version:04}");
        client.send(&format!(
            "get 1-key\r\nset 1-key 0 0 4 noreply\r\n{value}\r\nget 1-key\r\nget 1-key 2-key\r\ndelete 1-key noreply\r\nget 1-key\r\n"
        ));
        assert_eq!(client.line(), "END");
        for _ in 0..2 {
            assert_eq!((client.line(), client.line()), ("VALUE 1-key 0 4".to_owned(), value.clone()));
            assert_eq!(client.line(), "END");
        }
        assert_eq!(client.line(), "END");
    }
}

#[test]
fn new_server_is_authoritative_after_cutover() {
    let moving = Moving::start(3, &keys(6), "move", true);
    moving.told("turn");
    moving.reaches("turn");
    let mut client = moving.client();
    let [old, new] = moving.places("1-key");
    old.put("1-key", "old");
    new.put("1-key", "ancient");
    assert_eq!(value_of(&mut client, "1-key"), None);
    assert_eq!(client.ask("set 1-key 0 0 3\r\nnew\r\n"), "STORED");
    assert_eq!((old.has("1-key"), new.has("1-key").as_deref()), (None, Some("new")));
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("new"));
    moving.told("over");
    moving.reaches("over");
    old.put("1-key", "old");
    assert_eq!(client.ask("append 1-key 0 0 1\r\n!\r\n"), "STORED");
    assert_eq!(value_of(&mut client, "1-key").as_deref(), Some("new!"));
    assert_eq!(old.has("1-key").as_deref(), Some("old"), "nobody asks it any more");
    moving.told("move");
    wait_until("the plan is refused", || client.figure("plan_refused") > 0);
    assert_eq!(client.word("p.plan_stage"), "over");
}

#[test]
fn keys_that_nobody_reads_are_copied_before_cutover() {
    let all = keys(700);
    let moving = Moving::start(3, &all, "begin", false);
    for key in &all {
        moving.places(key)[0].put(key, "here");
        moving.places(key)[1].put(key, "ancient");
    }
    for stage in ["move", "copied", "turn", "over"] {
        moving.told(stage);
        moving.reaches(stage);
    }
    for key in &all {
        assert_eq!(moving.places(key)[1].has(key).as_deref(), Some("here"), "{key}");
    }
    let copied: u64 = (0..2).map(|front| moving.client_of(front).figure("moving_copied")).sum();
    assert!(copied >= 700, "{copied}");
    // Each front end clears a key at its new server when it first reads it there, and has done so with all keys.
    for front in 0..2 {
        let mut client = moving.client_of(front);
        for key in &all {
            assert_eq!(value_of(&mut client, key).as_deref(), Some("here"), "{key}");
        }
    }
}

#[test]
fn unavailable_server_fails_only_its_requests() {
    let moving = Moving::start(3, &keys(4), "move", true);
    let mut client = moving.client();
    let [_, new] = moving.places("1-key");
    new.slow.store(1 << 40, std::sync::atomic::Ordering::SeqCst);
    let wrong = "SERVER_ERROR server did not answer in time";
    let all: Vec<String> = (0..8).map(|_| client.ask("get 1-key\r\n")).collect();
    assert!(all.iter().any(|line| line == wrong || line == "SERVER_ERROR server is down"), "{all:?}");
    let stored: Vec<String> = (0..8).map(|_| client.ask("set 1-key 0 0 1\r\nx\r\n")).collect();
    assert!(stored.iter().any(|line| line.starts_with("SERVER_ERROR ")), "{stored:?}");
}
