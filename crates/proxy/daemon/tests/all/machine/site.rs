//! Front ends and agents without sockets and clock, over the network that counts the work of connections.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::machine::{Agent, AgentCounters, Event, Front, Secure, Shared, Value};
use fanin_daemon::{AgentSettings, Settings};
use fanin_memcache::{Limits, Lines, Next, Request};

use super::MS;
use super::world::{self, Scripted, Source, World};
use crate::store::Store;

/// Most bytes that a thread may read in an iteration: a budget, and a read by which a connection may exceed its own.
const MOST_READ: usize = 20 << 20;
/// Most iterations in which a client that is served has its response.
pub const SOON: usize = 20;

type Net = Secure<Scripted>;

/// The process that is tested.
pub enum Process {
    Front(Box<Front<Net>>),
    Agent(Box<Agent<Net>>),
}

/// A process without sockets and clock, behind the network decorator that counts work.
pub struct Site {
    pub world: world::Shared,
    pub process: Process,
    pub now: u64,
    /// Of an agent.
    pub agent_counters: Arc<AgentCounters>,
    /// By connection: bytes that the server's end has read, and their parser.
    talks: BTreeMap<usize, (Vec<u8>, Lines)>,
    store: Store,
}

impl Site {
    /// A front end with these settings, whose servers and agents are at 10.0.0.x and 10.0.1.x.
    pub fn front(folder: &Path, pools: &str) -> Site {
        Site::front_for(folder, pools, 100_000)
    }

    /// The same, with a maximum number of clients.
    pub fn front_for(folder: &Path, pools: &str, clients: usize) -> Site {
        let name = folder.join("front.toml").display().to_string();
        let settings = Settings::of_file(&name, &format!("threads = 1\n{pools}")).unwrap();
        let world = world();
        let shared = Arc::new(Shared::new(&settings, clients));
        let net = Secure::new(Scripted(world.clone()), shared.counters(0));
        let front = Front::new(net, shared, 0, Arc::new(AtomicBool::new(false)), [1; 32], None);
        Site {
            world,
            process: Process::Front(Box::new(front)),
            now: 0,
            agent_counters: Arc::default(),
            talks: BTreeMap::new(),
            store: Store::default(),
        }
    }

    pub fn agent(folder: &Path, memcached: &str) -> Site {
        let settings = agent_settings(folder, memcached);
        let (world, counters) = (world(), Arc::new(AgentCounters::default()));
        let net = Secure::new(Scripted(world.clone()), Arc::default());
        let agent = Agent::new(net, Arc::new(settings), counters.clone(), Arc::new(AtomicBool::new(false))).unwrap();
        Site {
            world,
            process: Process::Agent(Box::new(agent)),
            now: 0,
            agent_counters: counters,
            talks: BTreeMap::new(),
            store: Store::default(),
        }
    }

    pub fn turn(&mut self) {
        self.now += MS;
        let events: Vec<Event> = {
            let world = &mut *self.world.borrow_mut();
            (world.read, world.most_read) = (0, Some(MOST_READ));
            for connection in world.connections.iter_mut().filter(|connection| connection.server.is_some()) {
                if !connection.open {
                    connection.opens(true);
                }
            }
            world.events(|| true)
        };
        match &mut self.process {
            Process::Front(front) => drop(front.turn(self.now, events.into_iter())),
            Process::Agent(agent) => agent.turn(self.now, events.into_iter()),
        }
    }

    /// Lets the servers read requests and respond to them, with a maximum number of bytes each.
    pub fn serve(&mut self, most: usize) {
        let world = &mut *self.world.borrow_mut();
        for (number, connection) in world.connections.iter_mut().enumerate().filter(|(_, one)| one.server.is_some()) {
            let (read, lines) = self.talks.entry(number).or_default();
            read.extend(connection.outbox.drain(..));
            let (mut at, mut says, limits) = (0, Vec::new(), Limits { value: 1 << 21, keys: 1 << 24 });
            while says.len() < most
                && let Next::Request(request, line) = lines.next(&read[at..], &limits)
            {
                let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
                let Some(value) = read.get(at + line..at + line + follow) else { break };
                says.extend(self.store.answer(&request, value.strip_suffix(b"\r\n").unwrap_or_default()));
                at += line + follow;
            }
            read.drain(..at);
            if !says.is_empty() {
                connection.send(&says);
            }
        }
    }

    /// A figure of the front end.
    pub fn figure(&self, name: &str) -> u64 {
        let Process::Front(front) = &self.process else { panic!("an agent") };
        let figures = front.figures();
        match figures.iter().find(|figure| figure.metric.name == name).map(|figure| figure.value) {
            Some(Value::Number(number)) => number,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub fn send(&self, connection: usize, bytes: &[u8]) {
        self.world.borrow_mut().connections[connection].send(bytes);
    }

    /// The peer of a connection always has more to send.
    pub fn floods(&self, connection: usize, more: impl FnMut(&mut VecDeque<u8>) + 'static) {
        let connection = &mut self.world.borrow_mut().connections[connection];
        connection.source = Source(Some(Box::new(more)));
        connection.send(b"");
    }

    /// Bytes that a peer has got.
    pub fn said(&self, connection: usize) -> Vec<u8> {
        self.world.borrow_mut().connections[connection].outbox.drain(..).collect()
    }

    /// The connection to a server.
    pub fn connect_to_server(&mut self, server: usize) -> usize {
        for _ in 0..10 {
            let found =
                self.world.borrow().connections.iter().rposition(|one| one.server == Some(server) && !one.closed);
            if let Some(found) = found {
                return found;
            }
            self.turn();
        }
        panic!("no connection to server {server}");
    }

    pub fn is_closed(&self, connection: usize) -> bool {
        self.world.borrow().connections[connection].closed
    }

    /// While the floods go on, a client of the first listener gets every response soon.
    pub fn serves_others(&mut self, what: &str) {
        let client = self.world.borrow_mut().client(usize::MAX / 2);
        let mut got = Vec::new();
        for round in 0..4 {
            self.send(client, b"mn\r\n");
            let took = (0..SOON).find(|_| {
                self.turn();
                got.extend(self.said(client));
                got.len() == 4 * (round + 1)
            });
            assert!(took.is_some(), "{what}: round {round}: {}", got.escape_ascii());
        }
        assert_eq!(got, b"MN\r\n".repeat(4), "{what}");
    }
}

fn world() -> world::Shared {
    let servers = (1..=2).map(|server| format!("10.0.0.{server}:1"));
    let addresses: Vec<_> = servers.chain(["10.0.1.1:1".to_owned()]).map(|address| address.parse().unwrap()).collect();
    Rc::new(RefCell::new(World::new(&addresses)))
}

/// A pool of both servers with these settings.
pub fn pool(more: &str) -> String {
    format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"10.0.0.1:1\", \"10.0.0.2:1\"]\n{more}")
}

/// Settings of an agent in racks of one server.
pub fn agent_settings(folder: &Path, memcached: &str) -> AgentSettings {
    let racks = "[[server]]\nmemcached = \"10.0.0.1:1\"\nagent = \"10.0.1.1:1\"\nrack = \"a\"\n";
    fs::write(folder.join("racks.toml"), racks).unwrap();
    let text = format!(
        "listen = \"10.0.1.1:1\"\nmemcached = \"10.0.0.1:1\"\nracks = \"racks.toml\"\nplaintext = true\n{memcached}"
    );
    AgentSettings::of_file(&folder.join("agent.toml").display().to_string(), &text).unwrap()
}
