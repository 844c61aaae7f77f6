//! Multigets through hubs in pools with replicas.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use fanin_daemon::RunningAgent;
use fanin_daemon::{Running, Settings};
use fanin_testing::wait_for;
use scopeguard::defer;
use tempfile::TempDir;

use super::agents::{start_agent, write_racks};
use crate::migration::model::Model;
use crate::support::{Client, EVENT_LOOP, own_address, value, wait_until};

/// Servers in two racks with replicas, agents, and a front end for each of these algorithms.
struct Tier {
    servers: Vec<Model>,
    agents: Vec<RunningAgent>,
    fronts: Vec<Running>,
    _folder: TempDir,
}

impl Tier {
    fn start(count: usize, of_agent: impl Fn(usize) -> String, multigets: &[&str], of_pool: &str) -> Tier {
        let folder = tempfile::tempdir().unwrap();
        let servers: Vec<Model> = (0..count).map(|_| Model::start()).collect();
        let agents: Vec<SocketAddr> = (0..count).map(|_| own_address()).collect();
        write_racks(&folder, servers.iter().map(|server| server.address).zip(agents.iter().copied()), 2);
        let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        let front = |multiget: &&str| {
            let text = format!(
                "threads = 2\n{EVENT_LOOP}[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [{}]\nmultiget = \"{multiget}\"\n\
                 racks = \"racks.toml\"\nplaintext = true\nreplicas = 2\n{of_pool}\n",
                listed.join(",")
            );
            let settings = Settings::of_file(&folder.path().join("front.toml").display().to_string(), &text);
            fanin_daemon::start(&settings.unwrap_or_else(|problem| panic!("{problem}"))).unwrap()
        };
        let agent = |number: usize| {
            let more = format!("plaintext = true\n{}\n", of_agent(number));
            start_agent(&folder, servers[number].address, agents[number], &more)
        };
        let agents: Vec<RunningAgent> = (0..count).map(agent).collect();
        let fronts: Vec<Running> = multigets.iter().map(front).collect();
        let greeted = |agent: &RunningAgent| agent.counters().peers_greeted.get() >= 2 * multigets.len() as u64;
        wait_until("the front ends are connected with all agents", || agents.iter().all(greeted));
        Tier { servers, agents, fronts, _folder: folder }
    }

    fn client(&self, front: usize) -> Client {
        Client::to(self.fronts[front].listens()[0].ip().unwrap())
    }

    /// Stores keys, and waits until each is on two servers.
    fn filled(&self, count: usize, size: usize) -> Vec<String> {
        let keys: Vec<String> = (0..count).map(|number| format!("{number}-key")).collect();
        let mut client = self.client(0);
        keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, size)), "STORED"));
        let is_there = |server: &&Model, key: &str| server.has(key).is_some_and(|value| !value.is_empty());
        let copied = || keys.iter().all(|key| self.servers.iter().filter(|server| is_there(server, key)).count() == 2);
        wait_until("every key is on two servers", copied);
        keys
    }
}

#[test]
fn section_3_3_2_queries_move_from_a_slow_hub() {
    // Each rack is a server, so that every key has a replica in both. One hub sends at a hundredth of the other's speed.
    let of_agent = |number: usize| format!("link = \"{}\"", if number == 0 { "2 Mbit/s" } else { "200 Mbit/s" });
    let tier = Tier::start(2, of_agent, &["sicc", "sicc-nqr"], "link = \"100 Mbit/s\"\ntimeout = \"30 s\"");
    let keys = tier.filled(400, 1000);
    let [with, without] = [0, 1].map(|front| {
        let carried = || tier.agents[0].counters().hub_objects.get();
        let (mut client, mut least) = (tier.client(front), u64::MAX);
        // The first request of a client is cut into pieces.
        for _ in 0..3 {
            let before = carried();
            assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
            least = least.min(carried() - before);
        }
        least
    });
    assert!(without > 100, "{without} of 400 objects by the slow hub");
    assert!(with < without * 3 / 4, "{with} objects by the slow hub with redirection, {without} without");
}

#[test]
fn section_5_balanced_replicas_make_equal_swarms() {
    let tier = Tier::start(2, |_| String::new(), &["sicc-balanced"], "timeout = \"30 s\"");
    let keys = tier.filled(100, 500);
    let mut client = tier.client(0);
    let sent = || [0, 1].map(|agent| tier.agents[agent].counters().hub_objects.get());
    // Objects move from a hub that a busy machine holds up.
    wait_for("three multigets in equal parts", || {
        let before = sent();
        (0..3).for_each(|_| assert_eq!(client.get(&keys).0, keys));
        let [one, two] = [0, 1].map(|agent| sent()[agent] - before[agent]);
        if one.abs_diff(two) <= 20 { Ok(()) } else { Err([one, two]) }
    });
}

/// Versions of the keys that a multiget finds: a value is its key, its version and more, separated by slashes.
fn versions(client: &mut Client, keys: &[String]) -> BTreeMap<String, u64> {
    client.send(&format!("get {}\r\n", keys.join(" ")));
    let mut found = BTreeMap::new();
    loop {
        let line = client.line();
        let Some(rest) = line.strip_prefix("VALUE ") else { return found };
        let words: Vec<&str> = rest.split(' ').collect();
        let mut bytes = vec![0; words[2].parse::<usize>().unwrap() + 2];
        client.0.read_exact(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut parts = text.split('/');
        assert_eq!(parts.next(), Some(words[0]), "a value of another key");
        found.insert(words[0].to_owned(), parts.next().unwrap().parse().unwrap());
    }
}

#[test]
fn beyond_no_stale_value_while_servers_stop_and_return() {
    let tier = Tier::start(4, |_| "timeout = \"50 ms\"".to_owned(), &["sicc"], "timeout = \"200 ms\"");
    let keys: Vec<String> = (0..20).map(|number| format!("{number}-key")).collect();
    let (acknowledged, ends): (Mutex<BTreeMap<String, u64>>, AtomicBool) = Default::default();
    let counts: [AtomicUsize; 2] = Default::default();
    let read = |count: &AtomicUsize| {
        let mut client = tier.client(0);
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        while !ends.load(SeqCst) {
            let least = acknowledged.lock().unwrap().clone();
            let found = versions(&mut client, &keys);
            for (key, version) in &found {
                let least = least.get(key).max(seen.get(key)).copied().unwrap_or(0);
                assert!(*version >= least, "{key}: version {version} behind {least}");
            }
            count.fetch_add(found.len(), SeqCst);
            seen.extend(found);
        }
    };
    let write = || {
        let mut client = tier.client(0);
        for version in 1.. {
            if ends.load(SeqCst) {
                return;
            }
            let key = &keys[version as usize * 7 % keys.len()];
            if client.set(key, &format!("{key}/{version}/{}", "x".repeat(200))) == "STORED" {
                acknowledged.lock().unwrap().insert(key.clone(), version);
            }
        }
    };
    thread::scope(|scope| {
        defer! {
            tier.servers.iter().for_each(|server| server.stopped.store(false, SeqCst));
            ends.store(true, SeqCst);
        }
        counts.iter().for_each(|count| _ = scope.spawn(|| read(count)));
        scope.spawn(write);
        for server in &tier.servers {
            thread::sleep(Duration::from_millis(400));
            server.stopped.store(true, SeqCst);
            thread::sleep(Duration::from_millis(500));
            server.stopped.store(false, SeqCst);
        }
        thread::sleep(Duration::from_millis(600));
        wait_until("both have read 1000 values", || counts.iter().all(|count| count.load(SeqCst) > 1000));
    });
}
