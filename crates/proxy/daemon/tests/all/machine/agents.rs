//! A front end, agents and servers without sockets and clock, with random orders of events and faults: agents that are killed, stopped or
//! cut off, servers that hang. Every multiget ends by its deadline, and no value is wrong, older than an acknowledged change, or older than
//! one that any client has read before. With replicas, servers leave and return meanwhile.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::machine::{Agent, AgentCounters, Event, Front, Shared};
use fanin_daemon::settings::AgentRole;
use fanin_daemon::{AgentSettings, Settings};
use fanin_memcache::{Limits, Lines, Next, Request};
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

use super::world::{Scripted, World};
use super::{MS, TIMEOUT, each_case, in_memory, world};
use crate::store::Store;

/// Time for which a response may be later than the deadline: the loop iterations that it takes.
const SLACK: u64 = 20 * MS;

/// A process with its end of the network.
struct Process {
    world: world::Shared,
    machine: Machine,
    /// Whether it does not run, for a while.
    stopped: bool,
}

enum Machine {
    Front(Box<Front<Scripted>>),
    Agent(Box<Agent<Scripted>>),
}

/// Two ends of a connection between processes: process and connection there.
type Link = [(usize, usize); 2];

/// A client that waits for each response.
struct Client {
    connection: usize,
    /// The request: when it was sent, its keys, the least versions that they must have; none for a change.
    asks: Option<Asked>,
    read: Vec<u8>,
    left: usize,
}

struct Asked {
    at: u64,
    keys: Vec<usize>,
    least: Vec<u64>,
    /// The version that is stored, of the first key.
    stores: Option<u64>,
}

/// A connection of a server: bytes that it has not executed, and responses that it has not sent.
#[derive(Default)]
struct Talk {
    read: Vec<u8>,
    lines: Lines,
    says: Vec<u8>,
}

impl Talk {
    /// The server executes the requests that it has read.
    fn executes(&mut self, store: &mut Store) {
        let (mut at, limits) = (0, Limits { value: 1 << 20, keys: 1 << 24 });
        while let Next::Request(request, line) = self.lines.next(&self.read[at..], &limits) {
            let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
            let Some(value) = self.read.get(at + line..at + line + follow) else { break };
            self.says.extend(store.answer(&request, value.strip_suffix(b"\r\n").unwrap_or_default()));
            at += line + follow;
        }
        self.read.drain(..at);
    }
}

/// A schedule.
struct Schedule {
    /// Whether keys have two replicas.
    replicas: bool,
    settings: (Settings, Vec<AgentSettings>),
    _folder: tempfile::TempDir,
    shared: Arc<Shared>,
    counters: Arc<AgentCounters>,
    addresses: Vec<SocketAddr>,
    /// The front end, then the agents; those that are killed are gone.
    processes: Vec<Option<Process>>,
    links: Vec<Link>,
    servers: Vec<Store>,
    /// By process and connection.
    talks: BTreeMap<(usize, usize), Talk>,
    /// Agents whose connections deliver nothing.
    cut: Vec<bool>,
    hangs: Vec<bool>,
    clients: Vec<Client>,
    /// Versions of each key that were acknowledged or read, and the last one sent.
    acknowledged: Vec<u64>,
    sent: Vec<u64>,
    /// Whether no value may be missing: no server has failed.
    is_complete: bool,
    now: u64,
    random: StdRng,
    answers: [usize; 3],
}

fn key(number: usize) -> String {
    format!("{number}-key")
}

/// Settings of a front end for these servers.
fn pool(count: usize, replicas: bool, random: &mut StdRng) -> String {
    let how = ["sicc", "sicc-nopack", "sicc-nmt", "sicc-nssc", "sicc-nqr", "sicc-balanced", "picc", "picc"];
    let how = how.choose(random).unwrap();
    let (hubs, rate) = (random.random_range(1..=3), ["1000", "10000"].choose(random).unwrap());
    let servers: Vec<String> = (1..=count).map(|server| format!("\"10.0.0.{server}:11211\"")).collect();
    let sicc = if *how == "picc" { String::new() } else { format!("sicc = {{ hubs = {hubs} }}\n") };
    format!(
        "threads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\ntimeout = \"400 ms\"\nmultiget = \"{how}\"\nracks = \"racks.toml\"\n\
         plaintext = true\nlink = \"{rate} Mbit/s\"\n{}servers = [{}]\n{}",
        sicc,
        servers.join(","),
        if replicas { "replicas = 2\n" } else { "" }
    )
}

impl Schedule {
    fn new(case: u64, replicas: bool) -> Schedule {
        let mut random = StdRng::seed_from_u64(case);
        let (count, racks) = (random.random_range(2..=if replicas { 4 } else { 6 }), random.random_range(1..=3));
        let folder = in_memory();
        let mut text = String::new();
        for server in 1..=count {
            let rack = server % racks;
            writeln!(
                text,
                "[[server]]\nmemcached = \"10.0.0.{server}:11211\"\nagent = \"10.0.1.{server}:1\"\nrack = \"r{rack}\""
            )
            .unwrap();
        }
        fs::write(folder.path().join("racks.toml"), text).unwrap();
        let front = pool(count, replicas, &mut random);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let agent = |server: usize| {
            let text = format!(
                "listen = \"10.0.1.{server}:1\"\nmemcached = \"10.0.0.{server}:11211\"\nracks = \"racks.toml\"\nplaintext = true\n\
                 timeout = \"50 ms\"\n"
            );
            AgentSettings::of_file(&at("agent.toml"), &text).unwrap()
        };
        let settings = (Settings::of_file(&at("front.toml"), &front).unwrap(), (1..=count).map(agent).collect());
        let address = |text: String| text.parse().unwrap();
        let addresses = (1..=count).map(|server| address(format!("10.0.0.{server}:11211")));
        let addresses = addresses.chain((1..=count).map(|server| address(format!("10.0.1.{server}:1")))).collect();
        let keys = random.random_range(1..=if replicas { 8 } else { 50 });
        let shared = Arc::new(Shared::new(&settings.0, 100));
        let mut schedule = Schedule {
            replicas,
            settings,
            _folder: folder,
            shared: shared.clone(),
            counters: Arc::default(),
            addresses,
            processes: Vec::new(),
            links: Vec::new(),
            servers: (0..count).map(|_| Store::default()).collect(),
            talks: BTreeMap::new(),
            cut: vec![false; count],
            hangs: vec![false; count],
            clients: Vec::new(),
            acknowledged: vec![0; keys],
            sent: vec![0; keys],
            is_complete: true,
            now: 0,
            random,
            answers: [0; 3],
        };
        let world = schedule.world();
        let front =
            Front::new(Scripted(world.clone()), shared, 0, Arc::new(AtomicBool::new(false)), [case as u8; 32], None);
        let machine = Machine::Front(Box::new(front));
        schedule.processes.push(Some(Process { world: world.clone(), machine, stopped: false }));
        (0..count).for_each(|agent| {
            let process = schedule.agent(agent);
            schedule.processes.push(Some(process));
        });
        for _ in 0..schedule.random.random_range(1..=4) {
            let connection = world.borrow_mut().client(1 << 30);
            let left = if replicas { usize::MAX } else { schedule.random.random_range(1..=20) };
            schedule.clients.push(Client { connection, asks: None, read: Vec::new(), left });
        }
        schedule
    }

    fn world(&self) -> world::Shared {
        Rc::new(RefCell::new(World::new(&self.addresses)))
    }

    fn agent(&self, agent: usize) -> Process {
        let world = self.world();
        let (settings, stop) = (Arc::new(self.settings.1[agent].clone()), Arc::new(AtomicBool::new(false)));
        let machine = Agent::new(Scripted(world.clone()), settings, self.counters.clone(), stop).unwrap();
        Process { world, machine: Machine::Agent(Box::new(machine)), stopped: false }
    }

    // Clients.

    fn client_acts(&mut self, number: usize) {
        if self.clients[number].asks.is_some() || self.clients[number].left == 0 {
            return;
        }
        self.clients[number].left -= 1;
        let (all, clients, random) = (self.sent.len(), self.clients.len(), &mut self.random);
        // A key has one writer, or its versions would not say which value is the last.
        let its: Vec<usize> = (number..all).step_by(clients).collect();
        let (text, asked) = if !its.is_empty() && random.random_bool(0.3) {
            let one = *its.choose(random).unwrap();
            self.sent[one] += 1;
            let version = self.sent[one];
            let size = *[1, 50, 2000, if self.replicas { 1 } else { 60_000 }].choose(random).unwrap();
            let value = format!("{}/{version}/{}", key(one), "x".repeat(size));
            let asked = Asked { at: self.now, keys: vec![one], least: Vec::new(), stores: Some(version) };
            (format!("set {} 0 0 {}\r\n{value}\r\n", key(one), value.len()), asked)
        } else {
            let count = if self.replicas { random.random_range(1..=10) } else { random.random_range(2..=50) };
            let keys: Vec<usize> = (0..count).map(|_| random.random_range(0..all)).collect();
            let least = keys.iter().map(|key| self.acknowledged[*key]).collect();
            let names: Vec<String> = keys.iter().map(|number| key(*number)).collect();
            let verb =
                if self.replicas { *["get", "get", "get", "gets", "gat 0"].choose(random).unwrap() } else { "get" };
            (format!("{verb} {}\r\n", names.join(" ")), Asked { at: self.now, keys, least, stores: None })
        };
        self.sends(number, &text, asked);
    }

    fn sends(&mut self, number: usize, text: &str, asked: Asked) {
        self.clients[number].asks = Some(asked);
        let world = &self.processes[0].as_ref().unwrap().world;
        world.borrow_mut().connections[self.clients[number].connection].send(text.as_bytes());
    }

    /// The first client stores the next version of the first key, and gets the response.
    fn stores(&mut self) {
        self.sent[0] += 1;
        let version = self.sent[0];
        let value = format!("{}/{version}/", key(0));
        let asked = Asked { at: self.now, keys: vec![0], least: Vec::new(), stores: Some(version) };
        self.sends(0, &format!("set {} 0 0 {}\r\n{value}\r\n", key(0), value.len()), asked);
        self.runs("a change", |schedule| schedule.clients[0].asks.is_none());
    }

    /// The first client gets the first key twice, as a multiget, and gets the response.
    fn reads(&mut self) {
        let asked = Asked { at: self.now, keys: vec![0; 2], least: vec![self.acknowledged[0]; 2], stores: None };
        self.sends(0, &format!("get {0} {0}\r\n", key(0)), asked);
        self.runs("a multiget", |schedule| schedule.clients[0].asks.is_none());
    }

    /// Runs everything until something is the case; time passes only if nothing else can happen.
    fn runs(&mut self, what: &str, until: impl Fn(&Schedule) -> bool) {
        for _ in 0..20_000 {
            if until(self) {
                return;
            }
            self.round();
            self.waits();
        }
        panic!("never: {what}; {}", self.lacks());
    }

    /// Whether a server is in this phase.
    fn is(&self, server: usize, phase: &str) -> bool {
        self.shared.phases(0)[server] == phase
    }

    fn client_reads(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let connection = &mut self.processes[0].as_ref().unwrap().world.borrow_mut().connections[client.connection];
        client.read.extend(connection.outbox.drain(..));
        assert!(!connection.closed, "the front end closes a client");
        let Some(asked) = &client.asks else { return assert!(client.read.is_empty(), "nobody asked") };
        let text = String::from_utf8_lossy(&client.read).into_owned();
        let lines: Vec<&str> = text.split("\r\n").collect();
        let Some(last) = lines.len().checked_sub(2).map(|last| lines[last]) else { return };
        let is_error = last.starts_with("SERVER_ERROR");
        let ends = match asked.stores {
            Some(_) => true,
            None => last == "END" || is_error,
        };
        if !ends || !text.ends_with("\r\n") {
            return;
        }
        // With replicas, one for each server that it needs, and for one that is the primary next.
        let longest = TIMEOUT * if self.replicas { 4 } else { 1 } + SLACK;
        assert!(self.now <= asked.at + longest, "{last} comes after {} ms", (self.now - asked.at) / MS);
        match asked.stores {
            Some(version) if last == "STORED" => {
                let stored = &mut self.acknowledged[asked.keys[0]];
                *stored = version.max(*stored);
            }
            Some(_) => assert!(is_error, "{last}"),
            None if is_error && self.is_complete => panic!("{last}, though every server answers"),
            None => {
                for (key, version) in check(asked, &lines[..lines.len() - 2], (is_error, self.is_complete)) {
                    let read = &mut self.acknowledged[key];
                    *read = version.max(*read);
                }
            }
        }
        self.answers[usize::from(asked.stores.is_none()) + usize::from(is_error && asked.stores.is_none())] += 1;
        client.read.clear();
        client.asks = None;
    }

    // The network.

    /// Opens connections, and delivers some of the bytes between processes.
    fn deliver(&mut self, all: bool) {
        let servers = self.servers.len();
        for number in 0..self.processes.len() {
            let Some(process) = &self.processes[number] else { continue };
            let opening: Vec<(usize, usize)> = {
                let world = process.world.borrow();
                let connections = world.connections.iter().enumerate();
                let opening = connections.filter(|(_, one)| !one.open && !one.broken && !one.closed);
                opening.filter_map(|(at, one)| Some((at, one.server?))).collect()
            };
            for (at, to) in opening {
                if !all && self.random.random_bool(0.3) {
                    continue;
                }
                let from = process.world.clone();
                let opens = |well: bool| from.borrow_mut().connections[at].opens(well);
                match to.checked_sub(servers) {
                    None => opens(true),
                    Some(agent) if self.cut[agent] || number > 0 && self.cut[number - 1] => {}
                    Some(agent) => match &self.processes[1 + agent] {
                        Some(target) => {
                            let there = target.world.borrow_mut().client(1 << 30);
                            self.links.push([(number, at), (1 + agent, there)]);
                            opens(true);
                        }
                        None => opens(false),
                    },
                }
            }
        }
        for index in 0..self.links.len() {
            let link = self.links[index];
            let is_cut = link.iter().any(|(process, _)| *process > 0 && self.cut[*process - 1]);
            for [from, to] in [link, [link[1], link[0]]] {
                if is_cut || !all && self.random.random_bool(0.3) {
                    continue;
                }
                let few = if all { usize::MAX } else { *[1, 30, 500, 1 << 20].choose(&mut self.random).unwrap() };
                let (Some(sender), Some(receiver)) = (&self.processes[from.0], &self.processes[to.0]) else { continue };
                let (mut sender, mut receiver) = (sender.world.borrow_mut(), receiver.world.borrow_mut());
                let (one, other) = (&mut sender.connections[from.1], &mut receiver.connections[to.1]);
                if one.broken || other.broken || other.closed {
                    continue;
                }
                let count = few.min(one.outbox.len());
                if count > 0 {
                    let bytes: Vec<u8> = one.outbox.drain(..count).collect();
                    other.send(&bytes);
                }
                if one.closed && one.outbox.is_empty() && !other.ended {
                    other.end();
                }
            }
        }
    }

    /// Servers read and answer.
    fn serve(&mut self, all: bool) {
        for number in 0..self.processes.len() {
            let Some(process) = &self.processes[number] else { continue };
            let world = &mut *process.world.borrow_mut();
            for (at, connection) in world.connections.iter_mut().enumerate() {
                let server = connection.server.filter(|server| *server < self.servers.len());
                let is_over = connection.closed && connection.held.is_none();
                let Some(server) = server.filter(|_| connection.open && !is_over && !connection.broken) else {
                    continue;
                };
                if self.hangs[server] || !all && self.random.random_bool(0.4) {
                    continue;
                }
                let talk = self.talks.entry((number, at)).or_default();
                talk.read.extend(connection.outbox.drain(..));
                talk.executes(&mut self.servers[server]);
                if connection.closed {
                    // The server has executed everything, and closes its side.
                    connection.held = None;
                    continue;
                }
                let few = if all { usize::MAX } else { *[1, 100, 1 << 20].choose(&mut self.random).unwrap() };
                let count = few.min(talk.says.len());
                if count > 0 {
                    let bytes: Vec<u8> = talk.says.drain(..count).collect();
                    connection.send(&bytes);
                }
            }
        }
    }

    fn turn(&mut self, number: usize, all: bool) {
        let (now, random) = (self.now, &mut self.random);
        let Some(process) = self.processes[number].as_mut().filter(|process| !process.stopped) else { return };
        let mut events = process.world.borrow_mut().events(|| all || random.random_bool(0.7));
        events.shuffle(random);
        process.turn(now, events);
    }

    // Faults.

    fn fault(&mut self) {
        let which = self.random.random_range(0..self.servers.len());
        if self.replicas && self.random.random_bool(0.6) {
            // All replicas of a key may hang together, and return one after the other.
            return if self.random.random_bool(0.4) { self.hang(which) } else { self.hangs[which] = false };
        }
        match self.random.random_range(0..14) {
            0..3 => self.kill(which),
            3..6 if self.processes[1 + which].is_none() => {
                let process = self.agent(which);
                self.processes[1 + which] = Some(process);
            }
            6..8 => self.stop(which, true),
            8..10 => self.stop(which, false),
            10 => self.cut[which] = true,
            11 => self.cut[which] = false,
            12 if self.random.random_bool(0.2) => self.hang(which),
            13 => self.hangs[which] = false,
            _ => {}
        }
    }

    fn stop(&mut self, agent: usize, stopped: bool) {
        self.processes[1 + agent].iter_mut().for_each(|process| process.stopped = stopped);
    }

    fn hang(&mut self, server: usize) {
        (self.hangs[server], self.is_complete) = (true, false);
    }

    /// An agent ends; its peers see it at once.
    fn kill(&mut self, agent: usize) {
        let killed = 1 + agent;
        if self.processes[killed].take().is_none() {
            return;
        }
        self.talks.retain(|(process, _), _| *process != killed);
        for link in self.links.extract_if(.., |link| link.iter().any(|(process, _)| *process == killed)) {
            for (process, connection) in link.into_iter().filter(|(process, _)| *process != killed) {
                let world = &self.processes[process].as_ref().unwrap().world;
                world.borrow_mut().connections[connection].break_off();
            }
        }
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..15 => {
                let client = self.random.random_range(0..self.clients.len());
                self.client_acts(client);
            }
            15..25 => {
                let client = self.random.random_range(0..self.clients.len());
                self.client_reads(client);
            }
            25..45 => {
                let all = self.is_fast();
                self.deliver(all);
            }
            45..60 => {
                let all = self.is_fast();
                self.serve(all);
            }
            60..90 => {
                let (process, all) = (self.random.random_range(0..self.processes.len()), self.is_fast());
                self.turn(process, all);
            }
            90..97 => self.pass(2 * MS),
            // A server leaves and returns after timeouts.
            _ if self.replicas && self.random.random_bool(0.9) => self.pass(100 * MS),
            _ => self.fault(),
        }
    }

    /// Whether everything on its way arrives: with replicas, most requests have to end before the next fault.
    fn is_fast(&mut self) -> bool {
        self.replicas && self.random.random_bool(0.7)
    }

    /// Lets up to this much time pass, but nothing that is due; a front end that is not run cannot meet a deadline.
    fn pass(&mut self, most: u64) {
        let front = self.processes[0].as_ref().unwrap().waits().unwrap_or(u64::MAX);
        self.now += self.random.random_range(0..most).min(front);
        self.turn(0, true);
        (0..self.clients.len()).for_each(|client| self.client_reads(client));
    }

    /// Delivers everything; time passes only if nothing else can happen.
    fn end(&mut self) {
        for round in 0.. {
            assert!(round < 200_000, "it goes on and on");
            (0..self.clients.len()).for_each(|client| self.client_acts(client));
            self.round();
            if self.clients.iter().all(|client| client.asks.is_none() && client.left == 0) {
                return;
            }
            if !self.clients.iter().any(|client| client.asks.is_none() && client.left > 0) {
                self.waits();
            }
        }
    }

    /// Delivers everything once.
    fn round(&mut self) {
        self.deliver(true);
        self.serve(true);
        (0..self.processes.len()).for_each(|process| self.turn(process, true));
        (0..self.clients.len()).for_each(|client| self.client_reads(client));
    }

    /// Lets time pass until something is due, if nothing else can happen.
    fn waits(&mut self) {
        if self.is_quiet() {
            let running = self.processes.iter().flatten().filter(|process| !process.stopped);
            let next = running.filter_map(Process::waits).min();
            self.now += next.unwrap_or_else(|| panic!("it waits for ever: {}", self.lacks())).max(1);
        }
    }

    fn lacks(&self) -> String {
        let mut text = format!("at {}", self.now);
        for client in &self.clients {
            let asks = client.asks.as_ref().map(|asked| (asked.at, asked.keys.len(), asked.stores));
            write!(text, "; a client waits for {asks:?}, {} to come", client.left).unwrap();
        }
        for (number, process) in self.processes.iter().enumerate() {
            let Some(process) = process else { continue };
            write!(text, "\nprocess {number}, stopped: {}", process.stopped).unwrap();
            for (at, one) in process.world.borrow().connections.iter().enumerate() {
                let state = (one.server, one.open, one.broken, one.closed, one.inbox.len(), one.outbox.len());
                write!(text, "\n  {at}: {state:?}").unwrap();
            }
        }
        text
    }

    /// Whether no byte is on its way.
    fn is_quiet(&self) -> bool {
        let has_events = |process: &Process| !process.stopped && process.world.borrow().has_events();
        let waits = |process: &Process| !process.stopped && process.waits() == Some(0);
        let processes = self.processes.iter().flatten();
        let moves = |(process, connection): &(usize, usize), other: &(usize, usize)| {
            let (Some(one), Some(other_process)) = (&self.processes[*process], &self.processes[other.0]) else {
                return false;
            };
            let is_cut = [process, &other.0].into_iter().any(|process| *process > 0 && self.cut[*process - 1]);
            let (one, other) = (one.world.borrow(), &other_process.world.borrow().connections[other.1]);
            let one = &one.connections[*connection];
            !is_cut
                && !one.broken
                && !other.broken
                && !other.closed
                && (!one.outbox.is_empty() || one.closed && !other.ended)
        };
        let moving = self.links.iter().any(|link| moves(&link[0], &link[1]) || moves(&link[1], &link[0]));
        let served = |(number, process): (usize, &Option<Process>)| {
            let Some(process) = process else { return false };
            let world = process.world.borrow();
            world.connections.iter().enumerate().any(|(at, connection)| {
                let server = connection.server.filter(|server| *server < self.servers.len());
                let says = || self.talks.get(&(number, at)).is_some_and(|talk| !talk.says.is_empty());
                let has_work = match connection.closed {
                    true => connection.held.is_some(),
                    false => !connection.outbox.is_empty() || says(),
                };
                server.is_some_and(|server| !self.hangs[server] && connection.open && !connection.broken) && has_work
            })
        };
        !processes.clone().any(has_events)
            && !processes.clone().any(waits)
            && !moving
            && !self.processes.iter().enumerate().any(served)
    }
}

impl Process {
    fn turn(&mut self, now: u64, events: Vec<Event>) {
        match &mut self.machine {
            Machine::Front(front) => drop(front.turn(now, events.into_iter())),
            Machine::Agent(agent) => agent.turn(now, events.into_iter()),
        }
    }

    fn waits(&self) -> Option<u64> {
        match &self.machine {
            Machine::Front(front) => front.waits(),
            Machine::Agent(agent) => agent.waits(),
        }
    }
}

/// Checks the values of a response; returns the version of each key that was found.
fn check(asked: &Asked, lines: &[&str], (is_error, is_complete): (bool, bool)) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    let mut wanted = asked.keys.iter().zip(&asked.least);
    let is_missing = |least: u64| assert!(is_error || !is_complete || least == 0, "a value is missing");
    for pair in lines.chunks(2) {
        let [head, text] = pair else { panic!("half a value: {pair:?}") };
        let words: Vec<&str> = head.split(' ').collect();
        assert_eq!((words[0], words[3].parse::<usize>().unwrap()), ("VALUE", text.len()));
        let (number, least) = loop {
            let (number, least) = wanted.next().unwrap_or_else(|| panic!("{head}: not asked, or in another order"));
            if key(*number) == words[1] {
                break (*number, *least);
            }
            is_missing(*least);
        };
        let (name, rest) = text.split_once('/').unwrap();
        let version: u64 = rest.split('/').next().unwrap().parse().unwrap();
        assert!(name == words[1] && version >= least, "{head}: version {version} behind {least}");
        found.push((number, version));
    }
    wanted.for_each(|(_, least)| is_missing(*least));
    found
}

/// Runs a schedule; returns the numbers of changes, and of multigets without an error and with one.
fn run(case: u64) -> [usize; 3] {
    let mut schedule = Schedule::new(case, false);
    for _ in 0..schedule.random.random_range(0..600) {
        schedule.step();
    }
    schedule.end();
    schedule.answers
}

/// The same with replicas, while servers leave and return.
fn run_with_replicas(case: u64) -> [usize; 3] {
    let mut schedule = Schedule::new(case, true);
    for _ in 0..20_000 {
        schedule.step();
    }
    schedule.hangs.fill(false);
    schedule.clients.iter_mut().for_each(|client| client.left = 0);
    schedule.end();
    schedule.answers
}

#[test]
fn multigets_through_hubs_end_right_under_any_faults() {
    let [changes, multigets, errors] = each_case(12, run);
    println!("{changes} changes, {multigets} multigets without an error, {errors} with one");
    // A case alone may be one of those whose servers hang.
    assert!(errors * 2 < multigets || multigets + errors < 300, "{errors} fail, {multigets} do not");
}

#[test]
fn agents_ask_no_server_that_is_not_in_use() {
    for role in [AgentRole::Hub, AgentRole::DataServer] {
        // Of two servers, both have every key.
        let is_it = |schedule: &Schedule| {
            let hubs = schedule.settings.0.pools[0].hubs.as_ref().unwrap();
            hubs.role == role && schedule.servers.len() == 2
        };
        returning_server_is_not_asked((0..).map(|case| Schedule::new(case, true)).find(is_it).unwrap());
    }
}

/// Of two servers with all keys, both leave, and one returns.
fn returning_server_is_not_asked(mut schedule: Schedule) {
    schedule.clients.truncate(1);
    schedule.clients[0].left = 0;
    schedule.stores();
    let has =
        |schedule: &Schedule, server: usize| schedule.servers[server].value(key(0).as_bytes()) == Some(b"0-key/1/");
    schedule.runs("both have the key", |schedule| has(schedule, 0) && has(schedule, 1));
    schedule.runs("the agents are connected", |schedule| schedule.now > 100 * MS);
    schedule.reads();
    let counters = &schedule.counters;
    assert!(counters.hub_gets.get() + counters.server_objects.get() > 0, "the multiget went through agents");
    for server in [0, 1] {
        schedule.hang(server);
        schedule.stores();
        schedule.runs("the server has left", |schedule| schedule.is(server, "away"));
        schedule.stores();
    }
    let acknowledged = schedule.acknowledged[0];
    assert!(acknowledged > 1 && has(&schedule, 0), "the first server has missed a change");
    // It goes on, and has not deleted the key yet: all replicas are away.
    schedule.hangs[0] = false;
    let errors = schedule.answers[2];
    schedule.reads();
    assert_eq!(schedule.answers[2], errors + 1, "no server has the value");
    assert!(schedule.is(0, "away"), "nothing else was to be tested");
    schedule.runs("the first server is back", |schedule| schedule.is(0, "up"));
    assert!(!has(&schedule, 0), "it has deleted the key");
    schedule.hangs[1] = false;
    schedule.runs("both are back", |schedule| schedule.is(1, "up"));
    schedule.reads();
    assert_eq!(schedule.answers[2], errors + 1, "both servers are in use again");
}

#[test]
fn replicas_through_hubs_never_return_stale_values() {
    let [changes, multigets, errors] = each_case(5, run_with_replicas);
    println!("{changes} changes, {multigets} multigets without an error, {errors} with one");
    assert!(errors < multigets, "too little is found for this to say anything");
}

#[test]
fn stopped_agents_delay_one_request() {
    for case in 0..20 {
        let mut schedule = Schedule::new(case, false);
        // A first request, with which the front end is connected.
        schedule.clients.truncate(1);
        schedule.clients[0].left = 1;
        schedule.end();
        (0..schedule.servers.len()).for_each(|agent| schedule.stop(agent, true));
        let begun = schedule.now;
        schedule.clients[0].left = 20;
        schedule.end();
        // An eighth of the timeout for a hub, its backup and a hub below it, and never again.
        let took = schedule.now - begun;
        assert!(took < TIMEOUT, "case {case}: twenty requests took {} ms", took / MS);
    }
}
