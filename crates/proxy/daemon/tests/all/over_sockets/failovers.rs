//! Pools in which other servers answer for one that is down, over sockets.

use std::sync::atomic::Ordering::SeqCst;

use fanin_daemon::routing::{Hash, Placement, Router, Weighted};
use fanin_daemon::{Running, Settings};
use scopeguard::defer;

use super::cluster;
use crate::migration::model::Model;
use crate::migration::{write_replica_plan, write_stage};
use crate::support::{Client, EVENT_LOOP, LIMIT, TIMEOUT, now, value, wait_until};

/// Servers, and a front end with two threads.
fn replicated(servers: usize, of_pool: &str) -> (Vec<Model>, Running) {
    let servers: Vec<Model> = (0..servers).map(|_| Model::start()).collect();
    let front = before(&servers, of_pool);
    (servers, front)
}

/// A front end of these servers, with two threads.
fn before(servers: &[Model], of_pool: &str) -> Running {
    let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
    let text = format!(
        "threads = 2\n{EVENT_LOOP}\n[[pool]]\nlisten = \"127.0.0.1:0\"\ntimeout = \"{} s\"\nadmin = true\nservers = [{}]\n{of_pool}\n",
        TIMEOUT.as_secs(),
        listed.join(",")
    );
    fanin_daemon::start(&Settings::of_file("test.toml", &text).unwrap()).unwrap()
}

fn client(front: &Running) -> Client {
    Client::to(front.listens()[0].ip().unwrap())
}

/// Number of servers that have a key.
fn copies(servers: &[Model], key: &str) -> usize {
    servers.iter().filter(|server| server.has(key).is_some_and(|value| !value.is_empty())).count()
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{number}-key")).collect()
}

#[test]
fn plan_moves_keys_with_replicas() {
    const SERVERS: usize = 5;
    let servers: Vec<Model> = (0..SERVERS).map(|_| Model::start()).collect();
    let weighted = servers.iter().map(|server| Weighted { name: server.address.to_string(), weight: 1 });
    let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &weighted.collect::<Vec<_>>());
    let keys = keys(40);
    // The last key stays.
    let homes = |key: &String| router.first_servers(key.as_bytes(), 2);
    let new = |key: &String| -> Vec<usize> {
        let by = if *key == keys[39] { 0 } else { 1 };
        homes(key).into_iter().map(|server| (server + by) % SERVERS).collect()
    };
    let rows = keys.iter().flat_map(|key| new(key).into_iter().map(move |server| format!("{key},{},\n", server + 1)));
    let folder = tempfile::tempdir().unwrap();
    write_replica_plan(folder.path(), SERVERS, 2, &format!("key,server,was\n{}", rows.collect::<String>()));
    write_stage(folder.path(), "begin");
    // A value from before the plan, at a new server.
    let joins = new(&keys[0]).into_iter().find(|server| !homes(&keys[0]).contains(server)).unwrap();
    servers[joins].put(&keys[0], "ancient");
    let front = before(&servers, &format!("replicas = 2\nplan = \"{}\"", folder.path().display()));
    let mut client = client(&front);
    let has = |servers: &[Model], key: &String, at: &[usize]| {
        at.iter().all(|server| servers[*server].has(key).is_some_and(|value| value == value_of(key)))
    };
    for key in &keys {
        assert_eq!(client.set(key, &value_of(key)), "STORED");
    }
    wait_until("both old servers have each key", || keys.iter().all(|key| has(&servers, key, &homes(key))));
    assert!(servers[joins].has(&keys[0]).is_none(), "a change clears the new servers");
    for stage in ["move", "copied", "turn", "over"] {
        write_stage(folder.path(), stage);
        wait_until(stage, || client.word("pool0.plan_stage") == stage);
        assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()), "{stage}");
        for key in &keys {
            assert_eq!(client.get(std::slice::from_ref(key)).0.len(), 1, "{stage}: {key}");
        }
        if stage == "move" {
            wait_until("the new servers have each key", || keys.iter().all(|key| has(&servers, key, &new(key))));
        }
    }
    // The old servers are not used any more.
    for key in &keys {
        assert_eq!(client.ask(&format!("delete {key}\r\n")), "DELETED", "{key}");
        assert!(new(key).iter().all(|server| servers[*server].has(key).is_none()));
        assert!(
            homes(key)
                .iter()
                .filter(|server| !new(key).contains(server))
                .all(|server| servers[*server].has(key).is_some())
        );
    }
    assert_eq!(client.get(&keys), (vec![], "END".to_owned()));
}

/// Value of a key.
fn value_of(key: &str) -> String {
    value(key, 100)
}

#[test]
fn next_server_has_keys_of_one_that_is_down() {
    let cluster = cluster(3, "", "on_down = \"next\"");
    let keys = cluster.filled(120);
    let his = cluster.keys_of(1, &keys);
    let mut client = cluster.client();
    cluster.servers[1].kill();
    wait_until("the next server has its keys", || client.get(&his).1 == "END");
    assert_eq!(client.get(&his), (vec![], "END".to_owned()), "they are not there yet");
    for key in &his {
        assert_eq!(client.set(key, &value(key, 100)), "STORED");
    }
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    assert!(cluster.keys_of(0, &his).len() + cluster.keys_of(2, &his).len() == his.len());
    // When it is back, the others must not keep what they had for it.
    let again = cluster.servers[1].restart();
    let state = format!("{}:state", again.address);
    wait_until("it is in use again", || client.word(&state) == "up");
    assert_eq!(cluster.keys_of(0, &his).len() + cluster.keys_of(2, &his).len(), 0);
    assert_eq!(client.get(&his), (vec![], "END".to_owned()));
    assert_eq!(client.set(&his[0], &value(&his[0], 50)), "STORED");
    assert_eq!(client.get(&his[..1]), (his[..1].to_vec(), "END".to_owned()));
}

#[test]
fn replicas_answer_for_one_that_is_stopped() {
    let (servers, front) = replicated(4, "replicas = 2");
    let (mut client, keys) = (client(&front), keys(60));
    for key in &keys {
        assert_eq!(client.set(key, &value(key, 100)), "STORED");
    }
    wait_until("every key is on two servers", || keys.iter().all(|key| copies(&servers, key) == 2));
    let stopped = &servers[1];
    stopped.stopped.store(true, SeqCst);
    // The front end outlives this test, and each of its connections to a stopped server keeps a thread.
    defer! { stopped.stopped.store(false, SeqCst) };
    // A get goes to the other replica after the timeout; then the stopped server is not asked any more.
    let begun = now();
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    let state = format!("{}:state", stopped.address);
    wait_until("it is not in use", || {
        assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
        client.word(&state) == "away"
    });
    for key in &keys {
        let begun = now();
        assert_eq!(client.set(key, &value(key, 50)), "STORED");
        assert!(begun.elapsed() < TIMEOUT, "{key} took {:?}", begun.elapsed());
    }
    stopped.stopped.store(false, SeqCst);
    wait_until("it is in use again", || client.word(&state) == "up");
    assert_eq!(client.figure("servers_ejected"), 1);
    let has_old = |key: &&String| stopped.has(key).is_some_and(|stored| stored == value(key, 100));
    assert_eq!(keys.iter().find(has_old), None, "an old value");
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    // A multiget asks few servers, maybe always the same ones; a get of one key asks either.
    wait_until("reads fill it", || {
        keys.iter().for_each(|key| _ = client.get(std::slice::from_ref(key)));
        keys.iter().all(|key| copies(&servers, key) == 2)
    });
}

/// Clients that read with CAS uniques or meta commands only lose nothing while a server hangs.
#[test]
fn reads_of_the_primary_follow_it_to_another_server() {
    let (servers, front) = replicated(4, "replicas = 2");
    let (mut client, keys) = (client(&front), keys(40));
    for key in &keys {
        assert_eq!(client.set(key, &value(key, 100)), "STORED");
    }
    wait_until("every key is on two servers", || keys.iter().all(|key| copies(&servers, key) == 2));
    let stopped = &servers[1];
    stopped.stopped.store(true, SeqCst);
    defer! { stopped.stopped.store(false, SeqCst) };
    // Each kind of request comes while the server is thought to be up, and all of it in one pipeline.
    client.send(&keys.iter().map(|key| format!("gets {key}\r\nmg {key} v c\r\n")).collect::<String>());
    client.send(&format!("gets {}\r\n", keys.join(" ")));
    let mut uniques = Vec::new();
    for key in &keys {
        let line = client.line();
        uniques.push(line.strip_prefix(&format!("VALUE {key} 0 100 ")).unwrap_or_else(|| panic!("{line}")).to_owned());
        assert_eq!([client.line(), client.line()], [value(key, 100), "END".to_owned()]);
        assert_eq!(client.line(), format!("VA 100 c{}", uniques.last().unwrap()));
        assert_eq!(client.line(), value(key, 100));
    }
    for (key, unique) in keys.iter().zip(&uniques) {
        assert_eq!(client.line(), format!("VALUE {key} 0 100 {unique}"));
        assert_eq!(client.line(), value(key, 100));
    }
    assert_eq!(client.line(), "END");
    // The unique is that of the server to which the change goes.
    for (key, unique) in keys.iter().zip(&uniques) {
        assert_eq!(client.ask(&format!("cas {key} 0 0 3 {unique}\r\nnew\r\n")), "STORED", "{key}");
    }
    assert!(client.figure("replicas_retried") > 0);
}

#[test]
fn new_time_to_live_is_that_of_all_replicas() {
    let (servers, front) = replicated(3, "replicas = 2");
    let (mut client, keys) = (client(&front), keys(20));
    for key in &keys {
        assert_eq!(client.set(key, &value(key, 100)), "STORED");
    }
    wait_until("every key is on two servers", || keys.iter().all(|key| copies(&servers, key) == 2));
    for key in &keys {
        assert_eq!(client.ask(&format!("gat 1000 {key}\r\n")), format!("VALUE {key} 0 100"));
        assert_eq!([client.line(), client.line()], [value(key, 100), "END".to_owned()]);
        let having = servers.iter().filter(|server| server.has(key).is_some_and(|value| !value.is_empty()));
        let lives: Vec<Option<u64>> = having.map(|server| server.lives(key)).collect();
        assert!(
            !lives.is_empty() && lives.iter().all(|lives| lives.is_some_and(|lives| lives <= 1000)),
            "{key}: {lives:?}"
        );
    }
}

#[test]
fn lease_of_another_front_end_is_no_value() {
    let (servers, front) = replicated(2, "replicas = 2");
    let (mut client, mut direct, keys) = (client(&front), Client::to(servers[0].address), keys(20));
    let state = format!("{}:state", servers[1].address);
    servers[1].stopped.store(true, SeqCst);
    defer! { servers[1].stopped.store(false, SeqCst) };
    wait_until("the other replica is not in use", || {
        client.get(&keys);
        client.word(&state) == "away"
    });
    for key in &keys {
        let leased = direct.ask(&format!("mg {key} f v c N30 O1\r\n"));
        assert!(leased.contains(" W") && direct.line().is_empty(), "{leased}");
        assert_eq!(client.get(std::slice::from_ref(key)), (vec![], "END".to_owned()));
    }
    assert_eq!(client.get(&keys), (vec![], "END".to_owned()));
}

#[test]
fn slow_get_is_sent_to_second_replica_within_budget() {
    let (servers, front) = replicated(2, "replicas = 2\nhedge = { after = \"20 ms\", share = \"50 %\" }");
    let (mut client, keys) = (client(&front), keys(40));
    for key in &keys {
        assert_eq!(client.set(key, &value(key, 100)), "STORED");
        assert_eq!(client.get(std::slice::from_ref(key)).0.len(), 1);
    }
    wait_until("every key is on both", || keys.iter().all(|key| copies(&servers, key) == 2));
    servers[0].stopped.store(true, SeqCst);
    defer! { servers[0].stopped.store(false, SeqCst) };
    // Gets that go to it are answered by the other one.
    for key in &keys {
        let begun = now();
        assert_eq!(client.get(std::slice::from_ref(key)), (vec![key.clone()], "END".to_owned()));
        assert!(begun.elapsed() < TIMEOUT, "{key} took {:?}", begun.elapsed());
    }
    let (gets, hedged) = (2 * keys.len() as u64, client.figure("replicas_hedged"));
    assert!((1..=gets / 2).contains(&hedged), "{hedged} of {gets}");
}

#[test]
fn pipelined_requests_take_effect_in_their_order() {
    let (servers, front) = replicated(4, "replicas = 2");
    let mut client = client(&front);
    for number in 0..100 {
        let key = format!("{number}-key");
        // The get may have to ask two servers, and every server flushes twice.
        let sent = format!(
            "get {key}\r\nset {key} 0 0 3\r\nold\r\nflush_all noreply\r\nadd {key} 0 0 3\r\nnew\r\nget {key}\r\nmn\r\n"
        );
        client.send(&sent);
        let lines: Vec<String> = (0..7).map(|_| client.line()).collect();
        assert_eq!(lines, ["END", "STORED", "STORED", &format!("VALUE {key} 0 3"), "new", "END", "MN"]);
    }
    drop(servers);
}
