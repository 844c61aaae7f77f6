//! What one client must not be able to do to others by what it says, and what a server's answers must not do to who did not ask.

use std::time::Duration;

use super::cluster;
use crate::support::{Client, Cluster, INJECTED, Manner, now, value};

/// Others ask for what they know while somebody attacks: everything is right, and no server's connection is given up.
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
    // Each of two threads has connected once to each server: no connection was given up.
    assert_eq!(cluster.client().figure("server_connects"), 2 * cluster.servers.len() as u64);
}

#[test]
fn a_length_of_which_two_servers_make_two_things_smuggles_no_commands() {
    let cluster = cluster(1, "", "");
    unharmed(&cluster, |client| {
        for size in ["+6", "6\t", "4294967302", "-4294967290", "6\u{b}"] {
            let hidden = "set 1-key 0 0 5\r\nEVIL!\r\nmg 1-key v\r\n".replace("1-key", "none");
            client.send(&format!("set a 0 0 {size}\r\n{hidden}ms a {size}\r\n{hidden}"));
        }
    });
}

#[test]
fn a_key_that_holds_an_answer_is_printed_to_nobody_else() {
    let cluster = cluster(1, "", "");
    // "x\r\nEN\r\nVALUE ...": the server would print it as it is where it is asked for `k`.
    unharmed(&cluster, |client| {
        client.send("ma eA0KRU4NCkVODQo= b N0 J5\r\nmg eA0KRU4NCkVODQo= b k v\r\nmd eA0KRU4NCkVODQo= b k\r\n");
    });
    assert!(!cluster.servers[0].has_printed_a_key(), "k is never asked for of a key in base64");
    let mut client = cluster.client();
    assert_eq!(client.ask("mg eA0KRU4NCkVODQo= b k\r\n"), "EN keA0KRU4NCkVODQo= b");
}

#[test]
fn what_lists_stored_bytes_has_a_connection_of_its_own() {
    let cluster = cluster(2, "", "");
    unharmed(&cluster, |client| client.send("stats cachedump 4 0\r\nme 1-key\r\nstats servers cachedump 1 1\r\n"));
    let mut client = cluster.client();
    // Who asks hears of it, and its own next answers are right all the same.
    client.send("stats cachedump 4 0\r\nme 1-key\r\nmn\r\n");
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(lines.iter().filter(|line| line.starts_with("ITEM evil")).count(), 2);
    assert!(lines.contains(&"ME evil".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("VALUE")) && INJECTED.contains("VALUE"), "{lines:?}");
}

#[test]
fn questions_whose_answers_print_stored_bytes_share_one_connection() {
    let cluster = cluster(1, "", "");
    let mut client = cluster.client();
    client.send(&format!("{}mn\r\n", "me 1-key\r\nstats cachedump 4 0\r\n".repeat(200)));
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(lines.iter().filter(|line| *line == "ME evil").count(), 200);
    // Two threads with a shared connection each, and a second one of the thread that was asked.
    assert!(cluster.servers[0].accepted() <= 3, "{}", cluster.servers[0].accepted());
    // Where nobody listens, all of them fail with one try.
    cluster.servers[0].kill();
    let begun = now();
    client.send(&format!("{}mn\r\n", "me 1-key\r\n".repeat(500)));
    let failed = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN");
    assert_eq!(failed.filter(|line| line.starts_with("SERVER_ERROR ")).count(), 500);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn clients_do_not_administer_servers_unless_they_may() {
    let sent = "flush_all\r\nflush_all noreply\r\nverbosity 1\r\ncache_memlimit 64\r\nstats detail on\r\nstats servers reset\r\nshutdown\r\nmn\r\n";
    let mut client = cluster(1, "", "").client();
    client.send(sent);
    let answers: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(answers.len(), 6);
    assert!(
        answers[..5].iter().all(|line| line.starts_with("CLIENT_ERROR ") && line.ends_with("not allowed")),
        "{answers:?}"
    );
    assert!(answers[5].contains("shutdown not enabled"));
    let allowed = cluster(1, "", "admin = true");
    let mut client = allowed.client();
    client.send(sent);
    let answers: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "MN").collect();
    assert_eq!(answers[..5], ["OK", "OK", "OK", "OK", "RESET"]);
    assert!(answers[5].contains("shutdown not enabled"));
}

#[test]
fn a_value_without_its_end_is_refused_before_any_server_sees_it() {
    let cluster = cluster(1, "", "");
    let large = "v".repeat(600_000);
    unharmed(&cluster, |client| {
        client.send(&format!("set a 0 0 600000\r\n{large}xxms a 2 q\r\nvvxxset a 0 0 2 noreply\r\nvvxx"));
        assert_eq!([client.line(), client.line()], ["CLIENT_ERROR bad data chunk"; 2]);
    });
}

#[test]
fn what_servers_say_unasked_is_nobodys() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(40);
    let his = cluster.keys_of(0, &keys);
    let mut client = cluster.client();
    for manner in [Manner::SaysMore, Manner::WrongLength] {
        cluster.servers[0].set(manner);
        for _ in 0..20 {
            // Every value that comes is its key's, or `values` panics.
            let mut another = cluster.client();
            let (found, end) = another.get(&his[..1]);
            assert!(found == his[..1] && end == "END" || end.starts_with("SERVER_ERROR ") || end.is_empty(), "{end}");
        }
        cluster.servers[0].set(Manner::Answers);
        let begun = now();
        while client.get(&his) != (his.clone(), "END".to_owned()) {
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    }
}

#[test]
fn a_key_that_looks_like_another_is_not_answered_with_its_value() {
    let cluster = cluster(1, "", "");
    // Of the same length, with the same first and last eight bytes.
    let (asked, other) = ("user:1234:aaaa:profile", "user:123ZZZZZZ:profile");
    let mut client = cluster.client();
    [asked, other].iter().for_each(|key| assert_eq!(client.set(key, &value(key, 50)), "STORED"));
    cluster.servers[0].set(Manner::AnswersFor(other));
    let (found, end) = client.get(&[asked.to_owned()]);
    assert_eq!((found.len(), end.starts_with("SERVER_ERROR ")), (0, true), "{end}");
}

#[test]
fn a_value_that_is_not_as_long_as_was_said_ends_its_clients_connection_without_a_byte_of_it() {
    let cluster = cluster(1, "", "");
    let key = &cluster.filled(1)[0];
    cluster.servers[0].set(Manner::WrongLength);
    let mut client = cluster.client();
    client.send(&format!("get {key}\r\n"));
    assert!(client.line().starts_with("SERVER_ERROR "));
    assert_eq!(client.line(), "", "closed");
}

#[test]
fn telling_all_servers_something_is_answered_once_though_one_of_them_hangs() {
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
