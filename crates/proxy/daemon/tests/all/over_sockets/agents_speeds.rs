//! Load and speeds of hubs, and front ends that share them.

use std::fs;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use fanin_daemon::RunningAgent;

use super::agents::{Manners, PLAIN, Tier, swarm};
use crate::support::{Client, Manner, connect, now, wait_until};

/// How long a multiget of all keys takes.
fn took(client: &mut Client, keys: &[String]) -> Duration {
    let begun = now();
    assert_eq!(client.get(keys), (keys.to_vec(), "END".to_owned()));
    begun.elapsed()
}

fn gets(agent: &Option<RunningAgent>) -> u64 {
    agent.as_ref().unwrap().counters().hub_gets.get()
}

#[test]
fn section_3_1_loaded_agent_is_no_hub() {
    // The window has room for all objects: one full of requests to a server that does not answer would hold up everybody's.
    let of_agents = "plaintext = true\nobjects = 100\nwindow = \"4 MiB\"\ntimeout = \"60 s\"\n";
    let of_pool = "plaintext = true\ntimeout = \"20 s\"\n";
    let tier = Tier::start(4, &Manners { racks: 1, of_agents, of_pool });
    // Nobody but the other front end needs the last server, which does not answer.
    let keys: Vec<String> = tier.filled(60, &[100]).into_iter().filter(|key| !tier.servers[3].has(key)).collect();
    tier.servers[3].set(Manner::Hangs);
    let mut client = tier.client(0);
    let hubs = |client: &mut Client| {
        let before: Vec<u64> = tier.agents.iter().map(gets).collect();
        assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
        let after: Vec<u64> = tier.agents.iter().map(gets).collect();
        (0..4).filter(|agent| after[*agent] > before[*agent]).collect::<Vec<usize>>()
    };
    let first = hubs(&mut client)[0];
    let unknown: Vec<String> = (0..95).map(|number| format!("unknown-{number}")).collect();
    let busy = |agent: usize| {
        let before = gets(&tier.agents[agent]);
        let mut stream = connect(tier.agents[agent].as_ref().unwrap().listens().ip().unwrap());
        stream.write_all(&swarm(9, &tier.servers[3], &unknown)).unwrap();
        wait_until("it is a hub for another front end", || gets(&tier.agents[agent]) >= before + 95);
        stream
    };
    let of_first = busy(first);
    wait_until("it has room for five objects", || !hubs(&mut client).contains(&first));
    // The choice changes when the load does.
    drop(of_first);
    let others: Vec<_> = (0..3).filter(|agent| *agent != first).map(busy).collect();
    wait_until("it is chosen again", || hubs(&mut client).contains(&first));
    drop(others);
}

#[test]
fn section_3_2_2_full_port_slows_hubs_down() {
    let folder = tempfile::tempdir().unwrap();
    let queue = folder.path().join("queue");
    fs::write(&queue, "0\n").unwrap();
    let of_pool = format!(
        "plaintext = true\nlink = \"20 Mbit/s\"\ntimeout = \"20 s\"\nsicc = {{ buffer = \"64 KiB\", queue = \"{}\" }}\n",
        queue.display()
    );
    let tier = Tier::start(4, &Manners { of_pool: &of_pool, ..PLAIN });
    let (keys, mut client) = (tier.filled(400, &[1000]), tier.client(0));
    took(&mut client, &keys);
    let free = took(&mut client, &keys);
    fs::write(&queue, "65536\n").unwrap();
    let full = took(&mut client, &keys);
    // 400 kB at 20 Mbit/s take 160 ms; equation 5 takes up to a fifth of the rate each period.
    assert!(free.as_millis() > 140, "{free:?}");
    assert!(full > free * 2, "{free:?}, {full:?} with a full port");
    fs::write(&queue, "nonsense").unwrap();
    took(&mut client, &keys);
    assert!(took(&mut client, &keys) < full, "a queue that is not known counts as empty");
}

#[test]
fn section_3_2_2_front_ends_share_a_hub_equally() {
    // Each pool is a front end of its own.
    let of_agents = "plaintext = true\nlink = \"20 Mbit/s\"\n";
    let tier = Tier::start(1, &Manners { racks: 1, of_agents, of_pool: "plaintext = true\ntimeout = \"20 s\"\n" });
    let keys = tier.filled(400, &[1000]);
    let agent = tier.agents[0].as_ref().unwrap().listens().ip().unwrap();
    let mut client = tier.client(0);
    took(&mut client, &keys);
    let alone = took(&mut client, &keys);
    assert!(alone.as_millis() > 140, "400 kB at 20 Mbit/s: {alone:?}");
    // A second front end asks for ten times as much at the same time.
    let mut greedy = connect(agent);
    let many: Vec<String> = keys.iter().cycle().take(4000).cloned().collect();
    greedy.write_all(&swarm(9, &tier.servers[0], &many)).unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let counted = received.clone();
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 4096];
        while let Ok(bytes @ 1..) = greedy.read(&mut buffer) {
            counted.fetch_add(bytes as u64, Relaxed);
        }
    });
    wait_until("the greedy one receives", || received.load(Relaxed) > 100_000);
    let before = received.load(Relaxed);
    let shared = took(&mut client, &keys);
    let beside = received.load(Relaxed) - before;
    // Half of 20 Mbit/s carries 400 kB in 320 ms. In order of arrival the greedy one would have received nearly 4 MB first.
    assert!(shared.as_millis() > 280, "{shared:?} beside another");
    assert!((100_000..1_600_000).contains(&beside), "{beside} bytes for the greedy one beside 400 kB");
    // A few keys of a third one end long before.
    let few = took(&mut client, &keys[..10]);
    assert!(few < shared / 2, "{few:?} for ten keys");
    tier.agents[0].as_ref().unwrap().stop();
    drop(reader.join());
}
