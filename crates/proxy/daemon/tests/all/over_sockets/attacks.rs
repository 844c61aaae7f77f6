//! Isolation between clients: attacks by one client or by a server's responses must not affect others.

use std::time::Duration;

use super::cluster;
use crate::support::{Client, Cluster, INJECTED, Manner, now, value};
use fanin_testing::wait_until;

/// Other clients' requests succeed during an attack, and no server connection is closed.
fn unharmed(cluster: &Cluster, attack: impl Fn(&mut Client)) {
    let keys = cluster.filled(20);
    let mut victims: Vec<Client> = (0..6).map(|_| cluster.client()).collect();
    for round in 0..30 {
        let mut attackers: Vec<Client> = (0..4).map(|_| cluster.client()).collect();
        attackers.iter_mut().for_each(&attack);
        for (number, victim) in victims.iter_mut().enumerate() {
            let key = &keys[(round + number) % keys.len()];
            victim.send(&format!("get {key}\r\nmg {key} v\r\n"));
            assert_eq!(victim.values(), (vec![key.clone()], "END".to_owned()));
            assert_eq!((victim.line(), victim.line()), ("VA 100".to_owned(), value(key, 100)));
        }
    }
    // Each of two threads has connected once to each server, so no connection was closed.
    assert_eq!(cluster.client().figure("server_connects"), 2 * cluster.servers.len() as u64);
}

#[test]
fn ambiguous_length_smuggles_no_commands() {
    let cluster = cluster(1, "", "");
    unharmed(&cluster, |client| {
        for size in ["+6", "6\t", "4294967302", "-4294967290", "6\u{b}"] {
            let hidden = "set 1-key 0 0 5\r\nEVIL!\r\nmg 1-key v\r\n".replace("1-key", "none");
            client.send(&format!("set a 0 0 {size}\r\n{hidden}ms a {size}\r\n{hidden}"));
        }
    });
}

#[test]
fn key_with_embedded_response_stays_private() {
    let cluster = cluster(1, "", "");
    // "x\r\nEN\r\nVALUE ...": a server that is asked for `k` would print it unchanged.
    unharmed(&cluster, |client| {
        client.send("ma eA0KRU4NCkVODQo= b N0 J5\r\nmg eA0KRU4NCkVODQo= b k v\r\nmd eA0KRU4NCkVODQo= b k\r\n");
    });
    assert!(!cluster.servers[0].has_printed_a_key(), "k is never asked for of a key in base64");
    let mut client = cluster.client();
    assert_eq!(client.ask("mg eA0KRU4NCkVODQo= b k\r\n"), "EN keA0KRU4NCkVODQo= b");
}

#[test]
fn dumps_use_second_connection() {
    let cluster = cluster(2, "", "admin = true");
    unharmed(&cluster, |client| client.send("stats cachedump 4 0\r\nme 1-key\r\nstats servers cachedump 1 1\r\n"));
    let mut client = cluster.client();
    // The client gets errors, and its next responses are right.
    client.send("stats cachedump 4 0\r\nme 1-key\r\nmn\r\n");
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(lines.iter().filter(|line| line.starts_with("ITEM evil")).count(), 2);
    assert!(lines.contains(&"ME evil".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("VALUE")) && INJECTED.contains("VALUE"), "{lines:?}");
}

#[test]
fn dumps_share_one_connection() {
    let cluster = cluster(1, "", "admin = true");
    let mut client = cluster.client();
    client.send(&format!("{}mn\r\n", "me 1-key\r\nstats cachedump 4 0\r\n".repeat(200)));
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(lines.iter().filter(|line| *line == "ME evil").count(), 200);
    // Two threads with one shared connection each, and one second connection.
    assert!(cluster.servers[0].accepted() <= 3, "{}", cluster.servers[0].accepted());
    // If the server is down, all fail after one attempt.
    cluster.servers[0].kill();
    let begun = now();
    client.send(&format!("{}mn\r\n", "me 1-key\r\n".repeat(500)));
    let failed = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN");
    assert_eq!(failed.filter(|line| line.starts_with("SERVER_ERROR ")).count(), 500);
    // With a timeout each it would take 200 s.
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
}

#[test]
fn refuses_admin_commands_by_default() {
    let sent = "flush_all\r\nflush_all noreply\r\nverbosity 1\r\ncache_memlimit 64\r\nstats detail on\r\nstats servers reset\r\nshutdown\r\nmn\r\n";
    let listed = "stats cachedump 1 0\r\nstats servers cachedump 1 0\r\nstats detail dump\r\nmn\r\n";
    let mut client = cluster(1, "", "").client();
    client.send(sent);
    let answers: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(answers.len(), 6);
    assert!(
        answers[..5].iter().all(|line| line.starts_with("CLIENT_ERROR ") && line.ends_with("not allowed")),
        "{answers:?}"
    );
    assert!(answers[5].contains("shutdown not enabled"));
    client.send(listed);
    let answers: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert!(answers.len() == 3 && answers.iter().all(|line| line.ends_with("not allowed")), "{answers:?}");
    let allowed = cluster(1, "", "admin = true");
    let mut client = allowed.client();
    client.send(sent);
    let answers: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(answers[..5], ["OK", "OK", "OK", "OK", "RESET"]);
    assert!(answers[5].contains("shutdown not enabled"));
}

#[test]
fn refuses_value_without_terminator() {
    let cluster = cluster(1, "", "");
    let large = "v".repeat(600_000);
    unharmed(&cluster, |client| {
        client.send(&format!("set a 0 0 600000\r\n{large}xxms a 2 q\r\nvvxxset a 0 0 2 noreply\r\nvvxx"));
        assert_eq!([client.line(), client.line()], ["CLIENT_ERROR bad data chunk"; 2]);
    });
}

#[test]
fn discards_unsolicited_responses() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(40);
    let his = cluster.keys_of(0, &keys);
    let mut client = cluster.client();
    for manner in [Manner::SaysMore, Manner::WrongLength] {
        cluster.servers[0].set(manner);
        for _ in 0..20 {
            // `values` panics on a value of another key.
            let mut another = cluster.client();
            let (found, end) = another.get(&his[..1]);
            assert!(found == his[..1] && end == "END" || end.starts_with("SERVER_ERROR ") || end.is_empty(), "{end}");
        }
        cluster.servers[0].set(Manner::Answers);
        wait_until("the server's values return", || client.get(&his) == (his.clone(), "END".to_owned()));
    }
}

#[test]
fn similar_keys_get_own_values() {
    let cluster = cluster(1, "", "");
    // The same length, and the same first and last eight bytes.
    let (asked, other) = ("user:1234:aaaa:profile", "user:123ZZZZZZ:profile");
    let mut client = cluster.client();
    [asked, other].iter().for_each(|key| assert_eq!(client.set(key, &value(key, 50)), "STORED"));
    cluster.servers[0].set(Manner::AnswersFor(other));
    let (found, end) = client.get(&[asked.to_owned()]);
    assert_eq!((found.len(), end.starts_with("SERVER_ERROR ")), (0, true), "{end}");
}

#[test]
fn value_of_wrong_length_closes_client() {
    let cluster = cluster(1, "", "");
    let key = &cluster.filled(1)[0];
    cluster.servers[0].set(Manner::WrongLength);
    let mut client = cluster.client();
    client.send(&format!("get {key}\r\n"));
    assert!(client.line().starts_with("SERVER_ERROR "));
    assert_eq!(client.line(), "", "closed");
}

#[test]
fn broadcast_is_answered_once() {
    let cluster = cluster(3, "", "admin = true");
    cluster.servers[1].set(Manner::Hangs);
    for asked in ["stats servers reset", "stats detail on"] {
        let mut client = cluster.client();
        client.send(&format!("{asked}\r\nmn\r\n"));
        let (answer, barrier) = (client.line(), client.line());
        assert!(answer.starts_with("SERVER_ERROR ") && barrier == "MN", "{asked}: {answer}, {barrier}");
    }
    cluster.servers[1].set(Manner::Answers);
    let mut client = cluster.client();
    client.send("stats servers reset\r\nstats detail on\r\nstats detail\r\nmn\r\n");
    let answers: Vec<String> = (0..4).map(|_| client.line()).collect();
    assert_eq!(answers, ["RESET", "OK", "CLIENT_ERROR usage: stats detail on|off|dump", "MN"]);
}
