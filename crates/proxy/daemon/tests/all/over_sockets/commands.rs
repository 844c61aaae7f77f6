//! Commands of clients, and the order of responses.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::cluster;
use crate::support::{Client, Cluster, Manner, value};
use fanin_testing::{wait_for, wait_until};

/// Sends everything at once, and reads all responses.
fn talk(cluster: &Cluster, sent: &str) -> String {
    let mut client = cluster.client();
    client.send(sent);
    client.send("quit\r\n");
    let mut answer = String::new();
    client.0.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn responses_follow_request_order() {
    let cluster = cluster(4, "", "");
    let keys = cluster.filled(40);
    cluster.servers[0].set(Manner::Slow(5));
    let asked: Vec<&String> = keys.iter().chain(keys.iter().rev()).collect();
    let sent: String = asked.iter().map(|key| format!("get {key}\r\nmn\r\n")).collect();
    let one = |key: &str| format!("VALUE {key} 0 100\r\n{}\r\nEND\r\nMN\r\n", value(key, 100));
    assert_eq!(talk(&cluster, &sent), asked.iter().map(|key| one(key)).collect::<String>());
}

#[test]
fn multiget_keeps_key_order_and_duplicates() {
    let cluster = cluster(4, "", "");
    let keys = cluster.filled(30);
    let mut asked = vec!["none".to_owned()];
    asked.extend(keys.iter().rev().cloned());
    asked.extend(["none".to_owned(), keys[3].clone(), keys[3].clone()]);
    let there: Vec<String> = asked.iter().filter(|key| *key != "none").cloned().collect();
    assert_eq!(cluster.client().get(&asked), (there, "END".to_owned()));
}

#[test]
fn multiget_completes_despite_slow_first_keys() {
    let cluster = cluster(24, "", "multiget = \"sliding-window\"");
    let mut client = cluster.client();
    let keys: Vec<String> = (0..200).map(|number| format!("{number}-key")).collect();
    keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 50_000)), "STORED"));
    // The concurrency limit starts at ten servers, which have 4 MB.
    assert!((0..24).filter(|server| !cluster.keys_of(*server, &keys).is_empty()).count() > 20);
    assert_eq!(client.get(&keys), (keys, "END".to_owned()));
}

#[test]
fn logs_requested_keys_per_query() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("asked.csv");
    let log = format!("\n[log]\nfile = \"{}\"\nshare = \"100 %\"\nkeys = \"plain\"\n", file.display());
    let cluster = cluster(3, &log, "");
    let keys = cluster.filled(4);
    let mut client = cluster.client();
    client.get(&[keys[0].clone(), "none".to_owned(), keys[1].clone()]);
    client.get(&keys[2..3]);
    let rows = wait_for("a log of five lines", || {
        let text = std::fs::read_to_string(&file).unwrap();
        let rows: Vec<Vec<String>> = text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
        if rows.len() == 5 { Ok(rows) } else { Err(text) }
    });
    assert_eq!(rows[0], ["time", "query", "key", "size", "server_by_hash"]);
    assert!(rows[1..].iter().all(|row| (1..=3).contains(&row[4].parse::<usize>().unwrap())), "{rows:?}");
    let of = |key: &str| rows.iter().find(|row| row[2] == key).unwrap();
    assert_eq!(of(&keys[0])[1], of("none")[1]);
    assert_ne!(of(&keys[0])[1], of(&keys[2])[1]);
    let size = value(&keys[0], 100).len();
    assert_eq!((of(&keys[0])[3].clone(), of("none")[3].as_str()), (size.to_string(), ""));
    assert!(of(&keys[0])[0].parse::<f64>().unwrap() > 1.7e9);
}

#[test]
fn write_does_not_overtake_multiget() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(20);
    let sent = format!("get {}\r\ndelete {}\r\nget {}\r\n", keys.join(" "), keys[7], keys[7]);
    let answer = talk(&cluster, &sent);
    assert!(
        answer.contains(&format!("VALUE {} ", keys[7])) && answer.ends_with("END\r\nDELETED\r\nEND\r\n"),
        "{answer}"
    );
}

#[test]
fn honours_quiet_commands_and_barrier() {
    let cluster = cluster(3, "", "admin = true");
    let sent = "set a 0 0 1 noreply\r\nx\r\nmg none q\r\nms b 1 q\r\nx\r\nset bad x 0 1 noreply\r\ndelete none noreply\r\n\
        flush_all noreply\r\nmg none\r\nmn\r\nverbosity 1\r\nflush_all\r\n";
    assert_eq!(talk(&cluster, sent), "EN\r\nMN\r\nOK\r\nOK\r\n");
}

#[test]
fn errors_match_memcached_and_keep_connection() {
    let cluster = cluster(2, "", "");
    let long = "k".repeat(251);
    let sent = format!("nonsense\r\nget {long}\r\nget a {long} b\r\nincr a x\r\n\r\nset a 0 0\r\nmg\r\nmn\r\n");
    let format = "CLIENT_ERROR bad command line format\r\n";
    let told = format!(
        "ERROR\r\n{format}{format}CLIENT_ERROR invalid numeric delta argument\r\n{format}{format}{format}MN\r\n"
    );
    assert_eq!(talk(&cluster, &sent), told);
}

#[test]
fn refuses_binary_protocol() {
    let cluster = cluster(1, "", "");
    let mut client = cluster.client();
    let mut header = [0u8; 24];
    (header[0], header[1], header[15]) = (0x80, 0x0a, 7);
    client.0.get_mut().write_all(&header).unwrap();
    let mut answer = Vec::new();
    client.0.read_to_end(&mut answer).unwrap();
    assert_eq!((answer[0], answer[1], answer[7], answer[15]), (0x81, 0x0a, 0x83, 7));
    assert_eq!(answer.len(), 24 + answer[11] as usize);
}

#[test]
fn stats_cover_front_end_and_servers() {
    let cluster = cluster(2, "", "");
    cluster.filled(10);
    let mut client = cluster.client();
    assert_eq!(client.figure("stores"), 10);
    client.get(&["a".to_owned(), "b".to_owned(), "c".to_owned()]);
    assert_eq!((client.figure("get_keys"), client.figure("multigets_of_2_keys_or_more")), (3, 1));
    assert!(client.figure("pool0.get_us_p99") > 0 && client.figure("pool0.change_us_p99") > 0);
    // Another thread may not have seen yet that the first client has left.
    wait_until("one connection is left", || client.figure("curr_connections") == 1);
    assert_eq!(client.ask("stats reset\r\n"), "RESET");
    assert_eq!((client.figure("stores"), client.figure("get_keys"), client.figure("curr_connections")), (0, 0, 1));
    client.send("stats servers\r\n");
    let lines: Vec<String> = (0..3).map(|_| client.line()).collect();
    let expected: Vec<String> = cluster.servers.iter().map(|server| format!("STAT {}:pid 1", server.address)).collect();
    assert!(expected.iter().all(|line| lines.contains(line)) && lines[2] == "END", "{lines:?}");
}

/// Figures by the rules of memcached_exporter 0.15: of three words, whose second has a whole number before one colon or between two; another
/// number of words is an error in `stats settings`.
fn exported(client: &mut Client, asked: &str) -> BTreeMap<String, String> {
    client.send(&format!("{asked}\r\n"));
    let mut figures = BTreeMap::new();
    loop {
        let line = client.line();
        if line == "END" {
            return figures;
        }
        let words: Vec<&str> = line.split(' ').collect();
        assert!(words.len() == 3 || asked != "stats settings" && words.len() > 3, "{asked}: {line}");
        let parts: Vec<&str> = words[1].split(':').collect();
        match parts[..] {
            [class, _] | [_, class, _] if words.len() == 3 => assert!(class.parse::<i64>().is_ok(), "{asked}: {line}"),
            _ => {}
        }
        figures.insert(words[1].to_owned(), words[2].to_owned());
    }
}

#[test]
fn stats_are_readable_by_memcached_exporter() {
    let cluster = cluster(2, "", "name = \"cache:a\"");
    cluster.filled(10);
    let mut client = cluster.client();
    client.get(&["0-key".to_owned(), "none".to_owned()]);
    assert_eq!((client.ask("mg 1-key v\r\n"), client.line()), ("VA 100".to_owned(), value("1-key", 100)));
    let figures = exported(&mut client, "stats");
    let figure = |name: &str| figures[name].parse::<u64>().unwrap_or_else(|_| panic!("{name}: {}", figures[name]));
    for (name, value) in [
        ("cmd_get", 3),
        ("cmd_set", 10),
        ("get_hits", 2),
        ("get_misses", 1),
        ("curr_connections", 1),
        ("proxy_conn_requests", 13),
        ("proxy_conn_errors", 0),
        ("proxy_req_active", 0),
        ("proxy_backend_total", 2),
        ("pointer_size", 64),
        ("limit_maxbytes", 256 << 20),
    ] {
        assert_eq!(figure(name), value, "{name}");
    }
    assert!(figure("time") > 1_700_000_000 && figure("max_connections") > 100 && figure("total_connections") >= 2);
    let (seconds, micros) = figures["rusage_user"].split_once('.').unwrap();
    assert!(seconds.parse::<u64>().is_ok() && micros.len() == 6 && micros.parse::<u64>().is_ok());
    assert!(figures["cache_a.get_us_p99"].parse::<u64>().unwrap() > 0);
    let address = cluster.servers[0].address;
    assert_eq!(figures[&format!("{address}:state")], "up");
    for asked in ["stats slabs", "stats items", "stats settings"] {
        assert!(exported(&mut client, asked).contains_key(&format!("{address}:1:chunk_size")), "{asked}");
    }
    // A server that is down breaks nothing.
    cluster.servers[0].kill();
    let error = format!("{address}:error");
    wait_until("the server is down", || {
        exported(&mut client, "stats settings").get(&error).map(String::as_str) == Some("down")
    });
    let others = exported(&mut client, "stats items");
    assert!(others.contains_key(&format!("{}:1:chunk_size", cluster.servers[1].address)), "{others:?}");
}
