//! Multigets through hubs in pools with a placement plan: PICC and SICC together.

use std::net::SocketAddr;

use fanin_daemon::Settings;
use fanin_daemon::routing::{Hash, Placement, Router, Weighted};

use super::agents::{start_agent, write_racks};
use crate::migration::model::Model;
use crate::migration::{keys, table, write_plan, write_stage};
use crate::support::{Client, EVENT_LOOP, own_address, wait_until};

const SERVERS: usize = 4;

#[test]
fn moved_keys_come_through_hubs_of_their_new_racks() {
    let folder = tempfile::tempdir().unwrap();
    let servers: Vec<Model> = (0..SERVERS).map(|_| Model::start()).collect();
    let agents: Vec<SocketAddr> = (0..SERVERS).map(|_| own_address()).collect();
    write_racks(&folder, servers.iter().map(|server| server.address).zip(agents.iter().copied()), 2);
    let weighted: Vec<Weighted> =
        servers.iter().map(|server| Weighted { name: server.address.to_string(), weight: 1 }).collect();
    let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &weighted);
    let (keys, plans) = (keys(60), folder.path().join("plans"));
    std::fs::create_dir(&plans).unwrap();
    // Half of the keys move, each to a server of the other rack.
    let (moving, staying) = keys.split_at(30);
    write_plan(&plans, SERVERS, &table(&router, moving, SERVERS, 1));
    write_stage(&plans, "move");
    let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
    let text = format!(
        "threads = 1\n{EVENT_LOOP}[[pool]]\nname = \"p\"\nlisten = \"127.0.0.1:0\"\ntimeout = \"10 s\"\nservers = [{}]\n\
         multiget = \"sicc\"\nracks = \"racks.toml\"\nplaintext = true\nplan = \"{}\"\n",
        listed.join(","),
        plans.display()
    );
    let agents: Vec<_> = (0..SERVERS)
        .map(|number| start_agent(&folder, servers[number].address, agents[number], "plaintext = true\n"))
        .collect();
    let settings = Settings::of_file(&folder.path().join("front.toml").display().to_string(), &text);
    let front = fanin_daemon::start(&settings.unwrap_or_else(|problem| panic!("{problem}"))).unwrap();
    wait_until("the agents are connected", || agents.iter().all(|agent| agent.counters().peers_greeted.get() > 0));
    let mut client = Client::to(front.listens()[0].ip().unwrap());
    for key in &keys {
        assert_eq!(client.ask(&format!("set {key} 0 0 {}\r\n{key}\r\n", key.len())), "STORED");
    }
    // With keys that are moving, the concurrency limit goes on; those alone that are not go through hubs.
    let all = |client: &mut Client, keys: &[String]| {
        client.send(&format!("get {}\r\n", keys.join(" ")));
        for key in keys {
            assert_eq!((client.line(), &client.line()), (format!("VALUE {key} 0 {}", key.len()), key));
        }
        assert_eq!(client.line(), "END");
    };
    all(&mut client, &keys);
    assert_eq!(client.figure("hub_keys"), 0);
    all(&mut client, staying);
    assert_eq!(client.figure("hub_keys"), 30);
    write_stage(&plans, "over");
    wait_until("the plan is over", || client.word("p.plan_stage") == "over");
    all(&mut client, &keys);
    assert_eq!((client.figure("hub_keys"), client.figure("hub_keys_direct")), (90, 0));
    for key in moving {
        let new = &servers[(router.server(key.as_bytes()) + 1) % SERVERS];
        assert_eq!(new.has(key).as_deref(), Some(&key[..]));
    }
    let asked: u64 = agents.iter().map(|agent| agent.counters().hub_gets.get()).sum();
    assert_eq!(asked, 90);
}
