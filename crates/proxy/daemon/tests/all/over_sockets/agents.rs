//! Agents: multigets through hubs, over sockets. Tests are named after the sections of the SICC paper.
#![expect(clippy::disallowed_types, reason = "these peers wait for one another")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fanin_daemon::settings::racks::node_of;
use fanin_daemon::{AgentSettings, Running, RunningAgent, Settings};
use fanin_roles::wire::{Hello, Item, ItemKey, Key, Swarm, VERSION};
use fanin_roles::{Body, Message, Node, Tag};
use fanin_testing::wait_for;
use fanin_units::Rate;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;

use super::metrics;
use crate::certificates::{Authority, VALID, client_config, folder};
use crate::support::{Client, EVENT_LOOP, LIMIT, Manner, Server, connect, now, own_address, value, wait_until};

/// Servers in racks with an agent beside each, and a front end with two pools: the first with hubs, the second without.
pub struct Tier {
    pub servers: Vec<Server>,
    pub agents: Vec<Option<RunningAgent>>,
    pub front: Running,
    folder: TempDir,
}

/// Differences between tiers.
pub struct Manners<'a> {
    pub racks: usize,
    pub of_agents: &'a str,
    pub of_pool: &'a str,
}

/// Timeouts are longer than a busy machine holds a server up.
pub const PLAIN: Manners<'_> =
    Manners { racks: 4, of_agents: "plaintext = true\ntimeout = \"30 s\"\n", of_pool: "plaintext = true\n" };

/// The same for servers that do not answer.
pub const HURRIED: Manners<'_> = Manners {
    racks: 4,
    of_agents: "plaintext = true\ntimeout = \"2 s\"\n",
    of_pool: "plaintext = true\ntimeout = \"5 s\"\n",
};

impl Tier {
    pub fn start(servers: usize, manners: &Manners<'_>) -> Tier {
        Tier::in_folder(tempfile::tempdir().unwrap(), servers, manners)
    }

    fn in_folder(folder: TempDir, count: usize, manners: &Manners<'_>) -> Tier {
        let servers: Vec<Server> = (0..count).map(|_| Server::start()).collect();
        let addresses: Vec<SocketAddr> = (0..count).map(|_| own_address()).collect();
        let pairs = servers.iter().map(|server| server.address).zip(addresses.iter().copied());
        write_racks(&folder, pairs, manners.racks);
        let agent = |(server, agent): (&Server, &SocketAddr)| {
            Some(start_agent(&folder, server.address, *agent, manners.of_agents))
        };
        let agents = servers.iter().zip(&addresses).map(agent).collect();
        let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        let pool = |number: usize, more: &str| {
            let servers = listed.join(",");
            format!("[[pool]]\nname = \"p{number}\"\nlisten = \"127.0.0.{number}:0\"\nservers = [{servers}]\n{more}")
        };
        let multiget = if manners.of_pool.contains("multiget") { "" } else { "multiget = \"sicc\"\n" };
        let hubs = format!("{multiget}racks = \"racks.toml\"\n{}", manners.of_pool);
        let hubs = if hubs.contains("timeout") { hubs } else { hubs + "timeout = \"30 s\"\n" };
        let text = format!("threads = 1\n{EVENT_LOOP}{}{}", pool(1, &hubs), pool(2, "timeout = \"30 s\"\n"));
        let settings = Settings::of_file(&folder.path().join("front.toml").display().to_string(), &text);
        let front = fanin_daemon::start(&settings.unwrap_or_else(|problem| panic!("{problem}"))).unwrap();
        let tier = Tier { servers, agents, front, folder };
        let ready = || tier.agents.iter().flatten().all(|agent| agent.counters().peers_greeted.get() > 0);
        wait_until("the front end is connected with all agents", ready);
        tier
    }

    pub fn client(&self, pool: usize) -> Client {
        Client::to(self.front.listens()[pool].ip().unwrap())
    }

    /// Stores keys with values of these sizes, by turns.
    pub fn filled(&self, count: usize, sizes: &[usize]) -> Vec<String> {
        let keys: Vec<String> = (0..count).map(|number| format!("{number}-key")).collect();
        let mut client = self.client(1);
        for (key, size) in keys.iter().zip(sizes.iter().cycle()) {
            assert_eq!(client.set(key, &value(key, *size)), "STORED");
        }
        keys
    }

    fn stop(&mut self, agent: usize) {
        let agent = self.agents[agent].take().unwrap();
        agent.stop();
        agent.wait().unwrap();
    }

    /// Sum of a counter over all agents.
    pub fn sum(&self, name: &str) -> u64 {
        let value = |agent: &RunningAgent| agent.counters().all().find(|(metric, _)| metric.name == name).unwrap().1;
        self.agents.iter().flatten().map(value).sum()
    }
}

/// Writes the file of these servers and their agents, by turns in each of `count` racks.
pub fn write_racks(folder: &TempDir, servers: impl Iterator<Item = (SocketAddr, SocketAddr)>, count: usize) {
    let mut racks = String::new();
    for (number, (memcached, agent)) in servers.enumerate() {
        let rack = number % count;
        writeln!(racks, "[[server]]\nmemcached = \"{memcached}\"\nagent = \"{agent}\"\nrack = \"r{rack}\"").unwrap();
    }
    fs::write(folder.path().join("racks.toml"), racks).unwrap();
}

/// Starts an agent beside a server, in the folder of its racks.
pub fn start_agent(folder: &TempDir, server: SocketAddr, listen: SocketAddr, more: &str) -> RunningAgent {
    // The default is shorter than a busy machine holds a server up.
    let timeout = if more.contains("timeout") { "" } else { "timeout = \"30 s\"\n" };
    let text =
        format!("listen = \"{listen}\"\nmemcached = \"{server}\"\nracks = \"racks.toml\"\n{timeout}{EVENT_LOOP}{more}");
    let settings = AgentSettings::of_file(&folder.path().join("agent.toml").display().to_string(), &text);
    fanin_daemon::start_agent(settings.unwrap_or_else(|problem| panic!("{problem}"))).unwrap()
}

/// A response up to the line that ends it, whose bytes no value here has.
fn response(client: &mut Client, request: &str) -> Vec<u8> {
    client.send(request);
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"END\r\n") && !bytes.ends_with(b"time\r\n") {
        let mut some = [0; 1 << 16];
        let count = client.0.read(&mut some).unwrap();
        assert!(count > 0, "the connection has ended");
        bytes.extend_from_slice(&some[..count]);
    }
    bytes
}

#[test]
fn beyond_multiget_through_hubs_is_the_direct_one_byte_for_byte() {
    let tier = Tier::start(8, &PLAIN);
    let mut keys = tier.filled(300, &[1, 100, 1400, 20_000]);
    keys.extend((0..3).map(|number| format!("large-{number}")));
    let (mut hubs, mut direct) = (tier.client(0), tier.client(1));
    (0..3).for_each(|number| {
        assert_eq!(hubs.set(&format!("large-{number}"), &value(&format!("large-{number}"), 1_000_000)), "STORED")
    });
    let mut asked: Vec<&str> = keys.iter().map(String::as_str).collect();
    // Misses, and keys that occur twice.
    asked.extend(["nobody", "7-key", "nobody", "large-1"]);
    for turn in 0..4 {
        asked.rotate_left(57 * turn);
        for command in ["get", "gets"] {
            let line = format!("{command} {}\r\n", asked.join(" "));
            assert!(response(&mut hubs, &line) == response(&mut direct, &line), "{command}");
        }
    }
    assert!(hubs.figure("hub_requests") >= 8 && hubs.figure("hub_keys_direct") == 0);
    assert_eq!(hubs.figure("errors_timeout"), 0);
    assert!(tier.sum("hub_objects") > 1000 && tier.sum("memcached_failures") == 0);
}

#[test]
fn section_3_1_servers_without_requested_keys_get_nothing() {
    let tier = Tier::start(8, &PLAIN);
    let keys = tier.filled(40, &[100]);
    let of_server =
        |server: usize| -> Vec<String> { keys.iter().filter(|key| tier.servers[server].has(key)).cloned().collect() };
    let asked = (0..8).max_by_key(|server| of_server(*server).len()).unwrap();
    assert_eq!(tier.client(0).get(&of_server(asked)).0, of_server(asked));
    let gets: Vec<u64> = tier.agents.iter().flatten().map(|agent| agent.counters().hub_gets.get()).collect();
    let expected = (0..8).map(|server| if server == asked { of_server(asked).len() as u64 } else { 0 });
    assert_eq!(gets, expected.collect::<Vec<_>>());
}

#[test]
fn agents_have_metrics_over_http() {
    let of_agents = "plaintext = true\n[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let tier = Tier::start(4, &Manners { of_agents, racks: 1, ..PLAIN });
    let keys = tier.filled(40, &[100]);
    assert_eq!(tier.client(0).get(&keys).0.len(), 40);
    let sum = |name: &str| -> f64 {
        let of_agent = |agent: &RunningAgent| -> f64 {
            let text = metrics::get(agent.metrics_at().unwrap(), "/metrics", "");
            let line = text.lines().find(|line| line.starts_with(&format!("fanin_agent_{name} "))).expect(&text);
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        tier.agents.iter().flatten().map(of_agent).sum()
    };
    assert_eq!((sum("hub_gets_total"), sum("peers"), sum("ready")), (40.0, 4.0, 4.0));
    assert!(sum("memory_bytes") > 0.0);
    // The end of a request waits for the next message to its hub, but not for long.
    wait_until("hubs have no request", || sum("hub_requests") == 0.0);
    let agent = tier.agents[0].as_ref().unwrap();
    assert!(metrics::get(agent.metrics_at().unwrap(), "/healthz", "").starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn section_3_1_hub_that_fails_is_replaced_by_its_backup() {
    let of_agents = "plaintext = true\ntimeout = \"1 s\"\n";
    let mut tier = Tier::start(8, &Manners { racks: 2, of_agents, ..PLAIN });
    let keys = tier.filled(200, &[100, 3000]);
    let mut client = tier.client(0);
    assert_eq!(client.get(&keys).0, keys);
    // Before a request, and during one: servers that take their time hold the hubs' answers back.
    tier.stop(0);
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    tier.servers.iter().for_each(|server| server.set(Manner::Slow(50)));
    client.send(&format!("get {}\r\n", keys.join(" ")));
    std::thread::sleep(Duration::from_millis(20));
    tier.stop(1);
    tier.stop(2);
    assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
    // The rest goes directly when a rack has no agent any more.
    tier.servers.iter().for_each(|server| server.set(Manner::Answers));
    (3..8).for_each(|agent| tier.stop(agent));
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    let asked = client.figure("hub_requests");
    assert_eq!(client.get(&keys).0, keys);
    assert_eq!(client.figure("hub_requests"), asked, "no rack has an agent");
}

#[test]
fn section_3_1_more_hubs_than_the_bound_form_a_tree() {
    for (hubs, is_tree) in [(2, true), (100, false)] {
        let of_pool = format!("plaintext = true\nsicc = {{ hubs = {hubs} }}\n");
        let tier = Tier::start(8, &Manners { of_pool: &of_pool, ..PLAIN });
        let keys = tier.filled(60, &[100]);
        let before = tier.sum("peers_greeted");
        let mut client = tier.client(0);
        assert_eq!(client.get(&keys).0, keys);
        // Two of the four hubs send through the other two, each over a connection that both ends count.
        let greetings = if is_tree { 4 } else { 0 };
        wait_until("both ends have counted", || tier.sum("peers_greeted") - before == greetings);
        // An object below another hub is sent on twice.
        let sent = tier.sum("hub_objects");
        assert!(if is_tree { (75..105).contains(&sent) } else { sent == 60 }, "{sent}");
    }
}

#[test]
fn section_3_1_dead_agents_are_no_hubs_and_return() {
    let mut tier = Tier::start(4, &Manners { racks: 1, ..PLAIN });
    let (keys, mut client) = (tier.filled(80, &[10]), tier.client(0));
    let address = tier.agents[2].as_ref().unwrap().listens().ip().unwrap();
    tier.stop(2);
    (0..3).for_each(|_| assert_eq!(client.get(&keys).0, keys));
    let failures = client.figure("hub_failures");
    tier.agents[2] = Some(start_agent(&tier.folder, tier.servers[2].address, address, PLAIN.of_agents));
    let returned = || tier.agents[2].as_ref().unwrap().counters().peers_greeted.get() > 0;
    wait_until("the front end connects again", returned);
    assert_eq!((client.get(&keys).0, failures > 0), (keys, true));
}

#[test]
fn client_reads_its_own_unanswered_changes() {
    let tier = Tier::start(4, &PLAIN);
    let (keys, mut client) = (tier.filled(8, &[10]), tier.client(0));
    let all = format!("get {}\r\n", keys.join(" "));
    for key in keys.iter().cycle().take(1_000) {
        client.send(&format!("delete {key} noreply\r\n{all}set {key} 0 0 10 noreply\r\n{}\r\n{all}", value(key, 10)));
        assert!(!client.values().0.contains(key), "the deleted value of {key}");
        assert_eq!(client.values().0, keys, "no value of {key}");
    }
    // Once they are answered, its multigets go through hubs again.
    let before = client.figure("hub_keys");
    assert_eq!(client.get(&keys).0, keys);
    assert_eq!(client.figure("hub_keys") - before, 8);
}

#[test]
fn beyond_deadline_gives_what_is_there() {
    let tier = Tier::start(8, &HURRIED);
    let keys = tier.filled(80, &[100]);
    // All servers of the first rack.
    [0, 4].iter().for_each(|server| tier.servers[*server].set(Manner::Hangs));
    let there: Vec<String> =
        keys.iter().filter(|key| ![0, 4].iter().any(|server| tier.servers[*server].has(key))).cloned().collect();
    let begun = now();
    let mut client = tier.client(0);
    let (found, end) = client.get(&keys);
    assert_eq!((found, end), (there.clone(), "SERVER_ERROR server did not answer in time".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    // A server that is back serves again.
    [0, 4].iter().for_each(|server| tier.servers[*server].set(Manner::Answers));
    wait_until("all keys are there again", || client.get(&keys).0 == keys);
}

#[test]
fn beyond_server_errors_are_told() {
    // Agents that are silent for an eighth of the timeout, on a busy machine, would leave the keys to the front end.
    let tier = Tier::start(4, &HURRIED);
    let (keys, mut client) = (tier.filled(40, &[100]), tier.client(0));
    for manner in [Manner::Garbage, Manner::Mistakes, Manner::ClosesInTheMiddle, Manner::WrongLength] {
        tier.servers[1].set(manner);
        let of_others: Vec<String> = keys.iter().filter(|key| !tier.servers[1].has(key)).cloned().collect();
        let (found, end) = client.get(&keys);
        assert!(end.starts_with("SERVER_ERROR"), "{manner:?}: {end}");
        assert!(of_others.iter().all(|key| found.contains(key)), "{manner:?}");
        tier.servers[1].set(Manner::Answers);
        wait_until("the server is asked again", || client.get(&keys).0 == keys);
    }
}

#[test]
fn beyond_values_above_the_front_ends_limit_are_refused() {
    // Agents allow more than the front end.
    let tier = Tier::start(2, &Manners { racks: 1, of_agents: "plaintext = true\nitem = \"8 MiB\"\n", ..PLAIN });
    let keys = tier.filled(4, &[10]);
    let server = tier.servers.iter().find(|server| server.has("0-key")).unwrap();
    let mut direct = Client::to(server.address);
    assert_eq!(direct.set("0-key", &value("0-key", 2_000_000)), "STORED");
    let (found, end) = tier.client(0).get(&keys);
    assert_eq!((found, end), (keys[1..].to_vec(), "SERVER_ERROR value exceeds this front end's limit".to_owned()));
}

/// A greeting.
pub fn hello(version: u8, node: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello { version, node: Node(node), proves: false }.put(&mut bytes);
    bytes
}

/// A front end's greeting, and its request for keys of a server through the agent that gets this.
pub fn swarm(front_end: u32, server: &Server, keys: &[String]) -> Vec<u8> {
    let (me, holder) = (Node(1 << 31 | front_end), node_of(&server.address.to_string()));
    let (tag, count) = (Tag { origin: me, request: 1, epoch: 0, nonce: 0 }, keys.len() as u32);
    let mut bytes = hello(VERSION, me.0);
    let swarm = Swarm { parent: me, rate: Rate(0), own: count, all: count };
    Message::<ItemKey, Item> { tag, index: 0, body: Body::Swarm(swarm) }.put(&mut bytes);
    for (index, key) in (0..).zip(keys) {
        let key = ItemKey { with_cas: false, key: Key::new(Bytes::from(key.clone())).unwrap() };
        Message::<ItemKey, Item> { tag, index, body: Body::Ask { key, holder } }.put(&mut bytes);
    }
    bytes
}

/// A front end's greeting, and its requests for keys from the data server of the agent that gets this.
fn gets(front_end: u32, keys: &[String]) -> Vec<u8> {
    let me = Node(1 << 31 | front_end);
    let tag = Tag { origin: me, request: 1, epoch: 0, nonce: 0 };
    let mut bytes = hello(VERSION, me.0);
    for (index, key) in (0..).zip(keys) {
        let key = ItemKey { with_cas: false, key: Key::new(Bytes::from(key.clone())).unwrap() };
        Message::<ItemKey, Item> { tag, index, body: Body::Get(key) }.put(&mut bytes);
    }
    bytes
}

/// Responses of an agent to a peer that sends these bytes, by index: sizes of values, or none for a miss.
fn responses(agent: &RunningAgent, bytes: &[u8], count: usize) -> Vec<(u32, Option<usize>)> {
    let mut stream = connect(agent.listens().ip().unwrap());
    stream.write_all(bytes).unwrap();
    let (mut got, mut some, mut found) = (Vec::new(), vec![0; 1 << 16], Vec::new());
    while found.len() < count {
        let read = stream.read(&mut some).unwrap();
        assert!(read > 0, "the agent closes the connection");
        got.extend_from_slice(&some[..read]);
        found.clear();
        let messages = Bytes::copy_from_slice(got.get(Hello::LEN..).unwrap_or_default());
        let mut at = 0;
        while let Some((message, len)) = Message::<ItemKey, Item>::take(&messages.slice(at..)).unwrap() {
            match message.body {
                Body::Object(item) => found.push((message.index, Some(item.value.len()))),
                Body::Miss => found.push((message.index, None)),
                Body::Load(_) => {}
                other => panic!("{other:?}"),
            }
            at += len;
        }
    }
    found
}

#[test]
fn section_iii_c_data_server_sends_in_the_order_of_algorithm_3() {
    let folder = tempfile::tempdir().unwrap();
    let (server, listen) = (Server::start(), own_address());
    write_racks(&folder, std::iter::once((server.address, listen)), 1);
    let agent = |sub_queue: usize, listen: SocketAddr| {
        start_agent(
            &folder,
            server.address,
            listen,
            &format!("plaintext = true\nlink = \"1 Mbit/s\"\nsub_queue = {sub_queue}\n"),
        )
    };
    let mut direct = Client::to(server.address);
    // While the first value takes 240 ms of the link, the others wait: those of the paper's Figure 3, in proportion, and a missing key.
    let sizes = [30_000, 40_000, 200, 200, 20_000];
    let mut keys: Vec<String> = (0..5).map(|number| format!("{number}-key")).collect();
    for (key, size) in keys.iter().zip(sizes) {
        assert_eq!(direct.set(key, &value(key, size)), "STORED");
    }
    keys.push("no-key".to_owned());
    let found = |order: [usize; 6]| order.map(|index| (index as u32, sizes.get(index).copied())).to_vec();
    let agents = agent(10, listen);
    // If the agent is held up for that time, a part of them is sent before the others come.
    wait_for("the smallest values first", || {
        let sent = responses(&agents, &gets(7, &keys), 6);
        if sent == found([0, 5, 2, 3, 4, 1]) { Ok(()) } else { Err(sent) }
    });
    assert!(agents.counters().server_objects.get() >= 5);
    agents.stop();
    agents.wait().unwrap();
    // With sub-queues of one object: first come, first served.
    let agents = agent(1, listen);
    assert_eq!(responses(&agents, &gets(7, &keys), 6), found([0, 1, 2, 3, 4, 5]));
}

#[test]
fn section_iii_c_multigets_come_from_data_servers() {
    let of_pool = "multiget = \"picc\"\nplaintext = true\ntimeout = \"30 s\"\n";
    let mut tier = Tier::start(4, &Manners { of_pool, ..PLAIN });
    let keys = tier.filled(100, &[10, 2000]);
    let mut client = tier.client(0);
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    assert_eq!([tier.sum("server_objects"), tier.sum("hub_objects"), tier.sum("hub_gets")], [100, 0, 0]);
    // The memcached of a dead agent answers the front end itself.
    tier.stop(0);
    assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()));
    let missing = [keys.clone(), vec!["no-key".to_owned()]].concat();
    assert_eq!(client.get(&missing), (keys, "END".to_owned()));
}

/// Time without bytes after which a connection counts as one that stays open.
const SILENCE: Duration = Duration::from_millis(300);

/// An agent's bytes for a peer that sends these and then nothing; `true` if it closes the connection within this time without bytes.
fn told(agent: &RunningAgent, bytes: &[u8], limit: Duration) -> (Vec<u8>, bool) {
    let mut stream = connect(agent.listens().ip().unwrap());
    stream.set_read_timeout(Some(limit)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut got = Vec::new();
    loop {
        let mut some = [0; 4096];
        match stream.read(&mut some) {
            Ok(0) => return (got, true),
            Ok(count) => got.extend_from_slice(&some[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return (got, true),
            Err(_) => return (got, false),
        }
    }
}

#[test]
fn beyond_peers_of_other_versions_are_refused() {
    let tier = Tier::start(1, &Manners { racks: 1, ..PLAIN });
    let agent = tier.agents[0].as_ref().unwrap();
    let refused = || agent.counters().peers_refused.get();
    for (count, bytes) in [
        hello(VERSION + 1, 1 << 31),
        b"get a\r\n".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 100_000],
        [hello(VERSION, 1 << 31), vec![9; 100]].concat(),
    ]
    .into_iter()
    .enumerate()
    {
        let (got, closed) = told(agent, &bytes, LIMIT);
        // The peer learns this agent's version.
        assert_eq!(Hello::take(&got).unwrap().unwrap().version, VERSION);
        assert!(closed && refused() == count as u64 + 1, "{count}");
    }
    assert!(!told(agent, &hello(VERSION, 1 << 31), SILENCE).1, "a right greeting");
    let keys = tier.filled(3, &[10]);
    assert_eq!(tier.client(0).get(&keys).0, keys, "others are served");
}

/// Without TLS, a secret tells peers from strangers.
#[test]
fn beyond_peers_without_the_secret_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.secret");
    fs::write(&path, "a secret of these peers\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let of_pool = "agent_secret = \"peers.secret\"\n";
    let of_agents = &format!("{of_pool}timeout = \"30 s\"\n");
    let tier = Tier::in_folder(folder, 4, &Manners { racks: 2, of_agents, of_pool });
    let keys = tier.filled(40, &[100]);
    assert_eq!(tier.client(0).get(&keys), (keys.clone(), "END".to_owned()));
    let agent = tier.agents[0].as_ref().unwrap();
    let proving = |number: u8| {
        let mut bytes = Vec::new();
        Hello { version: VERSION, node: Node(1 << 31), proves: true }.put(&mut bytes);
        [bytes, vec![number; 32]].concat()
    };
    for bytes in [hello(VERSION, 1 << 31), [proving(1), vec![2; 32]].concat()] {
        assert!(told(agent, &bytes, LIMIT).1, "{bytes:?}");
    }
    // Nor is one accepted that repeats the agent's own words.
    let mut mirror = connect(agent.listens().ip().unwrap());
    let mut said = [0; Hello::LEN + 32];
    mirror.read_exact(&mut said).unwrap();
    mirror.write_all(&said).unwrap();
    let mut proof = [0; 32];
    mirror.read_exact(&mut proof).unwrap();
    mirror.write_all(&proof).unwrap();
    assert!(mirror.read(&mut said).is_ok_and(|count| count == 0) || mirror.read(&mut said).is_err());
    wait_until("all are refused", || agent.counters().peers_refused.get() == 3);
    assert_eq!(tier.client(0).get(&keys), (keys, "END".to_owned()), "others are served");
}

#[test]
fn beyond_strangers_cost_bounded_memory() {
    let tier = Tier::start(2, &Manners { racks: 1, of_agents: "plaintext = true\npeers = 200\n", ..PLAIN });
    let agent = tier.agents[0].as_ref().unwrap();
    let address = agent.listens().ip().unwrap();
    let strangers: Vec<TcpStream> = (0..300).map(|_| connect(address)).collect();
    wait_until("the limit is reached", || agent.counters().peers_refused.get() >= 100);
    let keys = tier.filled(20, &[10]);
    assert_eq!(tier.client(0).get(&keys).0, keys, "who was there before is served");
    drop(strangers);
    wait_until("there is room again", || !told(agent, &hello(VERSION, 1 << 31), SILENCE).1);
}

#[test]
fn beyond_hub_waits_for_a_front_end_that_does_not_read() {
    let tier = Tier::start(
        1,
        &Manners { racks: 1, of_agents: "plaintext = true\ntimeout = \"30 s\"\nmemory = \"16 MiB\"\n", ..PLAIN },
    );
    let agent = tier.agents[0].as_ref().unwrap();
    let count = 100;
    let keys = tier.filled(count, &[900_000]);
    let mut stream = connect(agent.listens().ip().unwrap());
    let bytes = swarm(77, &tier.servers[0], &keys);
    stream.write_all(&bytes).unwrap();
    // It asks for no more than it may hold.
    let asked = || agent.counters().hub_gets.get();
    wait_until("it asks for some", || asked() >= 5);
    std::thread::sleep(Duration::from_millis(500));
    assert!(asked() < 60, "{}", asked());
    assert_eq!(agent.counters().peers_cut_off.get(), 0);
    let other = tier.filled(3, &[10]);
    assert_eq!(tier.client(0).get(&other).0, other, "another front end is served");
    // When the front end reads, all values come.
    let mut greeting = [0; Hello::LEN];
    stream.read_exact(&mut greeting).unwrap();
    let (mut read, mut values) = (Vec::new(), 0);
    while values < count {
        let mut some = vec![0; 1 << 20];
        let got = stream.read(&mut some).unwrap();
        assert!(got > 0);
        read.extend_from_slice(&some[..got]);
        let all = Bytes::from(std::mem::take(&mut read));
        let mut at = 0;
        while let Some((message, len)) = Message::<ItemKey, Item>::take(&all.slice(at..)).unwrap() {
            at += len;
            let Body::Object(item) = message.body else {
                assert!(matches!(message.body, Body::Load(_)), "{:?}", message.body);
                continue;
            };
            let key = &keys[message.index as usize];
            assert!(item.value[..] == *value(key, 900_000).as_bytes() || message.index < 3);
            values += 1;
        }
        read.extend_from_slice(&all[at..]);
    }
}

#[test]
fn beyond_open_requests_of_one_peer_leave_room_for_others() {
    let of_agents = "plaintext = true\ntimeout = \"30 s\"\nmemory = \"64 MiB\"\n";
    let tier = Tier::start(2, &Manners { racks: 1, of_agents, ..PLAIN });
    let agent = tier.agents[0].as_ref().unwrap();
    let (me, holder) = (Node(1 << 31 | 77), node_of(&tier.servers[0].address.to_string()));
    tier.servers[0].set(Manner::Hangs);
    let mut stream = connect(agent.listens().ip().unwrap());
    let mut bytes = hello(VERSION, me.0);
    let key = Bytes::from("k".repeat(250));
    for request in 0..20_000 {
        let tag = Tag { origin: me, request, epoch: 0, nonce: 0 };
        let swarm = Swarm { parent: me, rate: Rate(0), own: 4, all: 4 };
        Message::<ItemKey, Item> { tag, index: 0, body: Body::Swarm(swarm) }.put(&mut bytes);
        for index in 0..4 {
            let key = ItemKey { with_cas: false, key: Key::new(key.clone()).unwrap() };
            Message::<ItemKey, Item> { tag, index, body: Body::Ask { key, holder } }.put(&mut bytes);
        }
    }
    let mut reads = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || std::io::copy(&mut reads, &mut std::io::sink()));
    stream.write_all(&bytes).unwrap();
    wait_until("the hub is full for this peer", || agent.counters().hub_requests.get() >= 1_000);
    tier.servers[0].set(Manner::Answers);
    let other = tier.filled(3, &[10]);
    assert_eq!(tier.client(0).get(&other).0, other, "another front end is served");
    assert!(agent.counters().hub_requests.get() <= 8_192);
    assert!(agent.counters().memory_bytes.get() < 64 << 20);
    drop((stream.shutdown(std::net::Shutdown::Both), stream));
    reader.join().unwrap().ok();
    wait_until("its requests have gone", || agent.counters().hub_requests.get() <= 1);
}

#[test]
fn beyond_peers_authenticate_each_other() {
    let (folder, authority) = folder();
    let of_agents = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\" }\n\
                     agent_tls = { ca = \"ca.pem\", certificate = \"front.pem\", key = \"front-key.pem\", name = \"127.0.0.1\" }\n";
    let of_pool = "agent_tls = { ca = \"ca.pem\", certificate = \"front.pem\", key = \"front-key.pem\", name = \"127.0.0.1\" }\n\
                   sicc = { hubs = 1 }\n";
    let tier = Tier::in_folder(folder, 4, &Manners { racks: 2, of_agents, of_pool });
    let keys = tier.filled(100, &[10, 2000]);
    let mut client = tier.client(0);
    assert_eq!(client.get(&keys).0, keys, "also between the two hubs");
    assert!(client.figure("hub_keys_direct") == 0 && tier.sum("hub_objects") > 110);
    // Who has no certificate, or another authority's, gets nothing.
    let agent = tier.agents[0].as_ref().unwrap();
    let (got, _) = told(agent, &hello(VERSION, 1 << 31), LIMIT);
    assert!(Hello::take(&got) != Ok(None) && Hello::take(&got).is_err(), "an alert of TLS");
    let [right, wrong] =
        [&authority, &Authority::new("other", VALID)].map(|issuer| issuer.issue("peer", &["127.0.0.1"], VALID));
    for (own, is_served) in [(Some(&right), true), (None, false), (Some(&wrong), false)] {
        let config = Arc::new(client_config(&authority, own, &[&TLS13]));
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = connect(agent.listens().ip().unwrap());
        let mut peer = StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream);
        let sent = peer.write_all(&hello(VERSION, 1 << 31));
        let mut greeting = [0; Hello::LEN];
        let is_greeted = sent.is_ok() && peer.read_exact(&mut greeting).is_ok();
        assert_eq!(is_greeted, is_served);
    }
}

#[test]
fn beyond_peers_have_the_numbers_of_their_certificates() {
    let (folder, authority) = folder();
    let of_agents = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\" }\n\
                     agent_tls = { ca = \"ca.pem\", certificate = \"front.pem\", key = \"front-key.pem\", name = \"127.0.0.1\" }\n";
    let of_pool =
        "agent_tls = { ca = \"ca.pem\", certificate = \"front.pem\", key = \"front-key.pem\", name = \"127.0.0.1\" }\n";
    let tier = Tier::in_folder(folder, 2, &Manners { racks: 2, of_agents, of_pool });
    let agent = tier.agents[0].as_ref().unwrap();
    let [agents, others] = ["127.0.0.1", "10.9.9.9"].map(|name| authority.issue("peer", &[name], VALID));
    let other_agent = node_of(&tier.servers[1].address.to_string()).0;
    let front_end = 1 << 31 | 7;
    let (greeted, refused) = (|| agent.counters().peers_greeted.get(), || agent.counters().peers_refused.get());
    let mut peers = Vec::new();
    let claims = [
        (&others, other_agent, false),
        (&agents, other_agent, true),
        // An agent's number that the racks do not have.
        (&agents, 12_345, false),
        // A front end has any number, until another one has it.
        (&others, front_end, true),
        (&agents, front_end, false),
        (&others, front_end, true),
    ];
    for (number, (own, node, is_taken)) in claims.into_iter().enumerate() {
        let before = (greeted(), refused());
        let config = Arc::new(client_config(&authority, Some(own), &[&TLS13]));
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = connect(agent.listens().ip().unwrap());
        let mut peer = StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream);
        peer.write_all(&hello(VERSION, node)).unwrap();
        peers.push(peer);
        let expected = if is_taken { (before.0 + 1, before.1) } else { (before.0, before.1 + 1) };
        wait_until(&format!("verdict on claim {number}"), || (greeted(), refused()) == expected);
    }
}
