//! Failures of servers and clients: no wrong values, no losses beyond the failed server's keys, errors in time, and no delay for others.

use std::io::Write;
use std::thread;
use std::time::Duration;

use super::cluster;
use crate::support::{Client, Cluster, LIMIT, Manner, TIMEOUT, now, value, wait_until};
use fanin_testing::wait_for;

/// Checks that keys of the other servers are answered soon, alone and together.
fn check_others_answer(cluster: &Cluster, sick: usize, keys: &[String]) {
    let mut client = cluster.client();
    for server in (0..cluster.servers.len()).filter(|server| *server != sick) {
        let theirs = cluster.keys_of(server, keys);
        let begun = now();
        assert_eq!(client.get(&theirs[..1]), (theirs[..1].to_vec(), "END".to_owned()));
        assert_eq!(client.get(&theirs), (theirs.clone(), "END".to_owned()));
        assert!(begun.elapsed() < TIMEOUT, "held up for {:?}", begun.elapsed());
    }
}

/// Checks that a get of all keys returns all values but the failed server's, and ends with an error within the timeout.
fn check_all_but_failed(cluster: &Cluster, sick: usize, keys: &[String]) {
    let his = cluster.keys_of(sick, keys);
    let others: Vec<String> = keys.iter().filter(|key| !his.contains(key)).cloned().collect();
    let begun = now();
    let (found, end) = cluster.client().get(keys);
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    assert_eq!(found, others);
    assert!(end.starts_with("SERVER_ERROR "), "{end}");
}

/// Repeats a get until it succeeds.
fn get_until_success(client: &mut Client, key: &str) -> Vec<String> {
    wait_for(key, || {
        let (found, end) = client.get(&[key.to_owned()]);
        if end == "END" { Ok(found) } else { Err(end) }
    })
}

#[test]
fn killed_server_fails_only_its_keys() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(120);
    let his = cluster.keys_of(1, &keys);
    cluster.servers[1].kill();
    let mut client = cluster.client();
    check_all_but_failed(&cluster, 1, &keys);
    for key in &his {
        // None waits for its timeout.
        let begun = now();
        assert!(client.get(std::slice::from_ref(key)).1.starts_with("SERVER_ERROR "));
        assert!(client.set(key, "x").starts_with("SERVER_ERROR "));
        assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    }
    check_others_answer(&cluster, 1, &keys);
    let _again = cluster.servers[1].restart();
    assert_eq!(get_until_success(&mut client, &his[0]), Vec::<String>::new());
    assert_eq!(client.set(&his[0], &value(&his[0], 50)), "STORED");
    assert_eq!(client.get(&his[..1]), (his[..1].to_vec(), "END".to_owned()));
}

#[test]
fn on_down_miss_turns_errors_into_misses() {
    for how in ["error", "miss"] {
        let cluster = cluster(3, "", &format!("on_down = \"{how}\""));
        let keys = cluster.filled(120);
        let his = cluster.keys_of(1, &keys);
        cluster.servers[1].kill();
        let others: Vec<String> = keys.iter().filter(|key| !his.contains(key)).cloned().collect();
        let mut client = cluster.client();
        for _ in 0..3 {
            let (found, end) = client.get(&keys);
            assert_eq!((found, end == "END"), (others.clone(), how == "miss"), "{how}: {end}");
            let (found, end) = client.get(&his[..1]);
            assert_eq!((found.len(), end == "END"), (0, how == "miss"), "{how}: {end}");
        }
        // Changes always fail.
        assert!(client.set(&his[0], "x").starts_with("SERVER_ERROR "));
        cluster.servers[0].set(Manner::Hangs);
        let (_, end) = client.get(&keys);
        assert_eq!(end == "END", how == "miss", "{how}: {end}");
    }
}

#[test]
fn hung_server_fails_own_keys_by_timeout() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(120);
    cluster.servers[2].set(Manner::Hangs);
    let his = cluster.keys_of(2, &keys);
    let mut waiting = cluster.client();
    waiting.send(&format!("get {}\r\n", his[0]));
    check_others_answer(&cluster, 2, &keys);
    let begun = now();
    assert!(waiting.line().starts_with("SERVER_ERROR "));
    assert!(begun.elapsed() < LIMIT);
    check_all_but_failed(&cluster, 2, &keys);
    cluster.servers[2].set(Manner::Answers);
    assert_eq!(get_until_success(&mut waiting, &his[0]), his[..1]);
}

#[test]
fn waits_for_slow_server_without_delaying_others() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(60);
    cluster.servers[0].set(Manner::Slow(100));
    let his = cluster.keys_of(0, &keys);
    let mut waiting = cluster.client();
    waiting.send(&format!("get {}\r\n", his[0]));
    check_others_answer(&cluster, 0, &keys);
    assert_eq!(waiting.values(), (his[..1].to_vec(), "END".to_owned()));
    assert_eq!(waiting.get(&keys), (keys.clone(), "END".to_owned()));
}

#[test]
fn invalid_responses_are_errors() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(60);
    let his = cluster.keys_of(1, &keys);
    let mut client = cluster.client();
    for manner in [Manner::Garbage, Manner::Mistakes, Manner::ClosesInTheMiddle] {
        cluster.servers[1].set(manner);
        check_all_but_failed_or_partial(&cluster, &keys, &his);
        let begun = now();
        let (found, end) = client.get(&his[..1]);
        assert_eq!((found.len(), end.starts_with("SERVER_ERROR ")), (0, true), "{manner:?}: {end}");
        assert!(begun.elapsed() < TIMEOUT, "{manner:?} is noticed after {:?}", begun.elapsed());
        check_others_answer(&cluster, 1, &keys);
        cluster.servers[1].set(Manner::Answers);
        assert_eq!(get_until_success(&mut client, &his[0]), his[..1], "{manner:?}");
    }
}

/// The same; a truncated batch may have returned its first values.
fn check_all_but_failed_or_partial(cluster: &Cluster, keys: &[String], his: &[String]) {
    let (found, end) = cluster.client().get(keys);
    assert!(end.starts_with("SERVER_ERROR "), "{end}");
    assert!(keys.iter().all(|key| his.contains(key) || found.contains(key)));
}

#[test]
fn truncated_large_value_is_an_error() {
    let cluster = cluster(2, "", "");
    let large = value("large", 1_000_000);
    let mut client = cluster.client();
    assert_eq!(client.set("large", &large), "STORED");
    assert_eq!(client.get(&["large".to_owned()]), (vec!["large".to_owned()], "END".to_owned()));
    let many = vec!["large".to_owned(), "none".to_owned(), "large".to_owned()];
    assert_eq!(client.get(&many).0.len(), 2);
    cluster.servers.iter().for_each(|server| server.set(Manner::ClosesInTheMiddle));
    let (found, end) = client.get(&["large".to_owned()]);
    assert!(found.is_empty() && end.starts_with("SERVER_ERROR "), "{end}");
    assert_eq!(cluster.client().set("over", &value("over", (1 << 20) + 1)), "SERVER_ERROR object too large for cache");
}

/// Memory of this process.
fn resident() -> u64 {
    let memory = std::fs::read_to_string("/proc/self/statm").unwrap();
    memory.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn client_that_reads_nothing_is_paused() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(40);
    let mut client = cluster.client();
    assert_eq!(client.set("large", &value("large", 500_000)), "STORED");
    let mut deaf = cluster.client();
    deaf.0.get_mut().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let asks = "get large\r\n".repeat(1000);
    // Responses would be 500 MB each, a thousand times; at some point no more requests are read.
    let (mut taken, before) = (0, resident());
    while deaf.0.get_mut().write_all(asks.as_bytes()).is_ok() {
        taken += 1;
        assert!(taken < 1000, "everything is taken");
    }
    check_others_answer(&cluster, 2, &keys);
    // Other tests run at the same time.
    let more = resident().saturating_sub(before);
    assert!(more < 1 << 30, "{} MB", more / 1_000_000);
    // A client that reads at last gets its responses.
    for _ in 0..20 {
        assert_eq!(deaf.values(), (vec!["large".to_owned()], "END".to_owned()));
    }
}

#[test]
fn endless_line_closes_connection() {
    let cluster = cluster(1, "", "");
    let mut client = cluster.client();
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..1024).take_while(|_| client.0.get_mut().write_all(&piece).is_ok()).count();
    assert!(sent < 100, "{sent} MiB were taken");
    let mut client = cluster.client();
    client.send("get ");
    let sent = (0..1024).take_while(|_| client.0.get_mut().write_all(&piece).is_ok()).count();
    assert!(sent < 100, "{sent} MiB were taken");
    assert_eq!(cluster.client().ask("mn\r\n"), "MN");
}

#[test]
fn forgets_clients_that_disconnect() {
    let cluster = cluster(1, "", "");
    for _ in 0..200 {
        cluster.client().send("set a 0 0 1 noreply\r\nx\r\n");
    }
    let mut client = cluster.client();
    wait_until("the others are gone", || client.figure("curr_connections") == 1);
}

#[test]
fn clients_can_leave_during_multiget() {
    let cluster = cluster(3, "", "");
    let keys = cluster.filled(100);
    cluster.servers[0].set(Manner::Slow(20));
    for _ in 0..20 {
        cluster.client().send(&format!("get {}\r\nget {}\r\n", keys.join(" "), keys[0]));
    }
    cluster.servers[0].set(Manner::Answers);
    let mut client = cluster.client();
    get_until_success(&mut client, &cluster.keys_of(0, &keys)[0]);
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    wait_until("one connection is left", || client.figure("curr_connections") == 1);
}

#[test]
fn bounds_and_counts_connections() {
    let cluster = cluster(1, "clients = 8", "");
    let mut all: Vec<Client> = (0..40).map(|_| cluster.client()).collect();
    let answers: Vec<String> = all
        .iter_mut()
        .map(|client| {
            let _ = client.0.get_mut().write_all(b"mn\r\n");
            client.line()
        })
        .collect();
    let served = answers.iter().filter(|line| *line == "MN").count();
    assert!((1..=8).contains(&served), "{served}");
    let index = answers.iter().position(|line| line == "MN").unwrap();
    assert_eq!(all[index].figure("rejected_connections") as usize, 40 - served);
}

#[test]
fn stop_completes_outstanding_requests() {
    let cluster = cluster(2, "drain = \"100 s\"", "timeout = \"30 s\"");
    let keys = cluster.filled(20);
    cluster.servers.iter().for_each(|server| server.set(Manner::Slow(150)));
    let (mut client, mut other) = (cluster.client(), cluster.client());
    assert_eq!(client.ask("mn\r\n"), "MN");
    client.send(&format!("get {}\r\n", keys.join(" ")));
    wait_until("the front end has the request", || other.figure("cmd_get") == 20);
    let begun = now();
    cluster.front.stop();
    assert_eq!(client.values(), (keys, "END".to_owned()));
    assert_eq!(client.line(), "", "then it is closed");
    cluster.front.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(90), "it waits for no more than the responses");
}

/// Several clients request a key at once; returns the length of each response.
fn sizes(clients: &mut [Client], key: &str) -> Vec<usize> {
    clients.iter_mut().for_each(|client| client.send(&format!("get {key}\r\n")));
    let size = |client: &mut Client| {
        let size = client.line().rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a value");
        assert_eq!([client.line(), client.line()], [value(key, size), "END".to_owned()]);
        size
    };
    clients.iter_mut().map(size).collect()
}

#[test]
fn joins_concurrent_equal_gets() {
    for (manner, timeout) in [(Manner::Slow(1_000), "timeout = \"30 s\""), (Manner::Hangs, "")] {
        let cluster = cluster(1, "", &format!("join = true\n{timeout}"));
        let key = &cluster.filled(1)[0];
        let mut clients: Vec<Client> = (0..12).map(|_| cluster.client()).collect();
        cluster.servers[0].set(manner);
        if manner == Manner::Hangs {
            clients.iter_mut().for_each(|client| client.send(&format!("get {key}\r\n")));
            clients.iter_mut().for_each(|client| assert!(client.line().starts_with("SERVER_ERROR ")));
        } else {
            assert_eq!(sizes(&mut clients, key), [100; 12]);
        }
        // Each of two threads sends one get.
        let joined = clients[0].figure("get_joined");
        assert!((10..12).contains(&joined), "{joined}");
    }
}

#[test]
fn gets_do_not_join_across_a_known_write() {
    let cluster = cluster(1, "", "join = true");
    let key = &cluster.filled(1)[0];
    let mut early = cluster.client();
    let mut late: Vec<Client> = (0..6).map(|_| cluster.client()).collect();
    // The server looks the value up at once and responds later; meanwhile the write completes on the other thread's connection.
    cluster.servers[0].set(Manner::Slow(60));
    for size in 101..113 {
        early.send(&format!("get {key}\r\n"));
        thread::sleep(Duration::from_millis(20));
        assert_eq!(cluster.client().set(key, &value(key, size)), "STORED");
        assert_eq!(sizes(&mut late, key), [size; 6]);
        early.values();
    }
}

#[test]
fn hung_server_costs_two_timeouts_until_it_responds() {
    let cluster = cluster(2, "", "");
    let keys = cluster.filled(20);
    let hung = cluster.keys_of(0, &keys);
    let mut client = cluster.client();
    cluster.servers[0].set(Manner::Hangs);
    let errors: Vec<String> = (0..2).map(|_| client.ask(&format!("get {}\r\n", hung[0]))).collect();
    assert!(errors.iter().all(|error| error.contains("in time")), "{errors:?}");
    // From now on only probes wait for it, each for a timeout.
    let begun = now();
    let mut requests = 0;
    while begun.elapsed() < TIMEOUT * 3 / 2 {
        let asked = now();
        assert!(client.ask(&format!("get {}\r\n", hung[0])).starts_with("SERVER_ERROR server is down"));
        assert!(asked.elapsed() < TIMEOUT, "{:?}", asked.elapsed());
        requests += 1;
    }
    assert!(requests > 1, "{requests}");
    cluster.servers[0].set(Manner::Answers);
    wait_until("it is back", || client.get(&hung).1 == "END");
    assert_eq!(client.get(&hung).0, hung);
}
