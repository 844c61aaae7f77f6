//! Tests of a front end without sockets and clock, with random orders of events: partial reads, full output buffers, clients that leave,
//! servers that hang, crash or send wrong responses, and timeouts.
//!
//! A failing case prints its number; `CASES=1 FIRST=<number>` runs it alone.

mod actors;
mod agent_memory;
mod agents;
mod any_bytes;
mod decorated;
mod endless;
mod failover;
mod figures;
mod plans;
mod shares;
mod site;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Front, Shared, begin};
use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

use crate::migration::{write_plan, write_stage};
use actors::{Client, Manner, Memcached, Talk};
use world::{Scripted, World};

const MS: u64 = 1_000_000;
/// Timeout of the pool.
const TIMEOUT: u64 = 400 * MS;

/// Setting of a pool for a random plan in a random stage.
fn plan(folder: &Path, servers: usize, random: &mut StdRng) -> String {
    let rows = (0..50).map(|number| format!("{},{},\n", actors::key(number), random.random_range(1..=servers)));
    write_plan(folder, servers, &format!("key,server,was\n{}", rows.collect::<String>()));
    format!("plan = \"{}\"\n", folder.display())
}

/// Settings of a pool of these servers, or, without a plan, of some of them.
fn pool(servers: usize, plan: &str, random: &mut StdRng) -> String {
    let all = !plan.is_empty() || random.random_bool(0.5);
    let mut listed: Vec<String> = (0..servers).map(|server| format!("\"10.0.0.{}:11211\"", server + 1)).collect();
    if !all {
        listed.shuffle(random);
        listed.truncate(random.random_range(1..=servers));
    }
    let how = ["one-all", "sliding-window", "ictcp-window"].choose(random).unwrap();
    let kept = ["kept", "anew"].choose(random).unwrap();
    format!(
        "threads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\ntimeout = \"400 ms\"\njoin = {}\nmultiget = \"{how}\"\nwindows = \"{kept}\"\nservers = [{}]\n{plan}",
        random.random_bool(0.3),
        listed.join(",")
    )
}

/// A folder in memory, since syncing many files to disk is slow.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Advances a plan to a random stage.
fn goes_on(folder: &Path, settings: &Settings, shared: &Shared, random: &mut StdRng) {
    let Ok(mut kept) = begin(settings, shared) else { panic!("the disk") };
    write_stage(folder, ["begin", "move", "move", "copied", "turn", "over"].choose(random).unwrap());
    for minutes in 0..20 {
        for kept in &mut kept {
            kept.step(shared, minutes * 60_000 * MS, false);
        }
    }
}

/// Injected faults.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Faults {
    None,
    /// Servers hang, crash and return; clients leave.
    Crashes,
    /// Servers send arbitrary responses.
    Lies,
}

struct Stage {
    world: world::Shared,
    front: Front<Scripted>,
    shared: Arc<Shared>,
    /// The plan's setting, and its folder.
    plan: String,
    _folder: tempfile::TempDir,
    clients: Vec<Client>,
    servers: Vec<Memcached>,
    talks: BTreeMap<usize, Talk>,
    random: StdRng,
    now: u64,
    faults: Faults,
}

impl Stage {
    fn new(case: u64, faults: Faults) -> Stage {
        let mut random = StdRng::seed_from_u64(case);
        let servers = *[1, 3, 14, 40].choose(&mut random).unwrap();
        let folder = in_memory();
        let plan = if random.random_bool(0.4) { plan(folder.path(), servers, &mut random) } else { String::new() };
        let text = pool(servers, &plan, &mut random);
        let settings = Settings::of_file("case.toml", &text).unwrap();
        let addresses: Vec<_> = (1..=servers).map(|server| format!("10.0.0.{server}:11211").parse().unwrap()).collect();
        let world = Rc::new(RefCell::new(World::new(&addresses)));
        let shared = Arc::new(Shared::new(&settings, settings.clients));
        goes_on(folder.path(), &settings, &shared, &mut random);
        let seed = [case as u8; 32];
        let mut stage = Stage {
            front: Front::new(Scripted(world.clone()), shared.clone(), 0, Arc::new(AtomicBool::new(false)), seed, None),
            world,
            shared,
            plan,
            _folder: folder,
            clients: Vec::new(),
            servers: (0..servers).map(|_| Memcached::new()).collect(),
            talks: BTreeMap::new(),
            random,
            now: 0,
            faults,
        };
        let keys = *[3, 50, 4000].choose(&mut stage.random).unwrap();
        for _ in 0..stage.random.random_range(1..=8) {
            let room = *[0, 1000, 1 << 30].choose(&mut stage.random).unwrap();
            let connection = stage.world.borrow_mut().client(room);
            let requests = stage.random.random_range(1..12);
            stage.clients.push(Client::new(connection, requests, keys, &mut stage.random));
        }
        stage
    }

    /// A random event.
    fn step(&mut self) {
        let r = &mut self.random;
        let few = *[1, 7, 100, 5000, 1 << 20].choose(r).unwrap();
        match r.random_range(0..100) {
            0..25 => self.client_sends(few),
            25..45 => self.client_reads(few),
            45..60 => self.server_reads(few),
            60..80 => self.server_says(few),
            80..95 => self.turn(true),
            95..98 => self.now += r.random_range(0..2 * MS),
            98 => self.reload(),
            _ => self.fault(),
        }
    }

    fn client_sends(&mut self, few: usize) {
        let Some(client) = self.clients.choose_mut(&mut self.random) else { return };
        let connection = &mut self.world.borrow_mut().connections[client.connection];
        let count = few.min(client.to_send.len());
        if count > 0 {
            let bytes: Vec<u8> = client.to_send.drain(..count).collect();
            connection.send(&bytes);
        }
        if client.to_send.is_empty() && client.half_closes && !connection.ended {
            connection.end();
        }
    }

    fn client_reads(&mut self, few: usize) {
        let Some(client) = self.clients.choose_mut(&mut self.random) else { return };
        let connection = &mut self.world.borrow_mut().connections[client.connection];
        let count = few.min(connection.outbox.len());
        client.reads(connection.outbox.drain(..count));
        connection.make_room(few);
    }

    fn server_reads(&mut self, few: usize) {
        let world = &mut *self.world.borrow_mut();
        for (number, connection) in world.connections.iter_mut().enumerate() {
            let Some(server) = connection.server.filter(|_| !connection.closed && !connection.broken) else { continue };
            let server = &mut self.servers[server];
            if server.manner == Manner::Hangs || self.random.random_bool(0.3) {
                continue;
            }
            if !connection.open {
                connection.opens(true);
            }
            let count = few.min(connection.outbox.len());
            let talk = self.talks.entry(number).or_default();
            server.reads(talk, connection.outbox.drain(..count), &mut self.random);
        }
    }

    fn server_says(&mut self, few: usize) {
        let world = &mut *self.world.borrow_mut();
        for (number, talk) in &mut self.talks {
            let connection = &mut world.connections[*number];
            if connection.closed || connection.broken || talk.says.is_empty() || self.random.random_bool(0.3) {
                continue;
            }
            let count = few.min(talk.says.len());
            let bytes: Vec<u8> = talk.says.drain(..count).collect();
            connection.send(&bytes);
        }
    }

    fn turn(&mut self, some: bool) {
        let random = &mut self.random;
        let mut events = self.world.borrow_mut().events(|| !some || random.random_bool(0.7));
        events.shuffle(random);
        self.front.turn(self.now, events.into_iter());
    }

    /// Other servers and algorithms; connections stay.
    fn reload(&mut self) {
        let text = pool(self.servers.len(), &self.plan, &mut self.random);
        let settings = Settings::of_file("case.toml", &text).unwrap();
        self.shared.edition().settings.check_reload(&settings).unwrap();
        self.shared.replace_settings(&settings, settings.clients);
    }

    fn fault(&mut self) {
        match self.faults {
            Faults::None => {}
            Faults::Lies => {
                let server = self.servers.choose_mut(&mut self.random).unwrap();
                server.manner = *[Manner::Lies, Manner::Answers].choose(&mut self.random).unwrap();
            }
            Faults::Crashes => {
                let which = self.random.random_range(0..self.servers.len());
                let r = self.random.random_range(0..10);
                let world = &mut *self.world.borrow_mut();
                match r {
                    0..3 => self.servers[which].manner = Manner::Hangs,
                    3..6 => self.servers[which].manner = Manner::Answers,
                    6..9 => {
                        let its = world.connections.iter_mut().filter(|connection| connection.server == Some(which));
                        for connection in its.filter(|connection| !connection.closed) {
                            if r < 8 { connection.break_off() } else { connection.end() }
                        }
                    }
                    _ => {
                        let client = self.clients.pop();
                        client.into_iter().for_each(|client| world.connections[client.connection].break_off());
                    }
                }
            }
        }
    }

    /// Delivers everything, and advances time only if nothing else can happen; returns how often.
    fn end(&mut self) -> u64 {
        self.servers
            .iter_mut()
            .filter(|server| server.manner == Manner::Lies)
            .for_each(|server| server.manner = Manner::Answers);
        let mut waited = 0;
        for round in 0.. {
            assert!(round < 100_000, "it goes on and on");
            let before = self.now;
            for index in 0..self.clients.len() {
                let client = &mut self.clients[index];
                let connection = &mut self.world.borrow_mut().connections[client.connection];
                if !client.to_send.is_empty() {
                    let bytes: Vec<u8> = client.to_send.drain(..).collect();
                    connection.send(&bytes);
                }
                if client.half_closes && !connection.ended {
                    connection.end();
                }
                let there = connection.outbox.len();
                client.reads(connection.outbox.drain(..there));
                connection.make_room(1 << 24);
            }
            self.server_reads(usize::MAX);
            self.server_says(usize::MAX);
            self.turn(false);
            let quiet = |stage: &Stage| {
                let world = stage.world.borrow();
                let says = stage.talks.iter().any(|(number, talk)| {
                    let connection = &world.connections[*number];
                    !talk.says.is_empty() && !connection.closed && !connection.broken
                });
                let asked = world.connections.iter().any(|connection| {
                    let hangs = connection.server.is_some_and(|server| stage.servers[server].manner == Manner::Hangs);
                    !connection.closed
                        && !connection.broken
                        && !hangs
                        && (!connection.open || !connection.outbox.is_empty())
                });
                let unread = |client: &Client| !world.connections[client.connection].outbox.is_empty();
                !says
                    && !asked
                    && !stage.clients.iter().any(unread)
                    && !world.has_events()
                    && stage.front.waits() != Some(0)
            };
            if !quiet(self) || before != self.now {
                continue;
            }
            if self.is_over() {
                return waited;
            }
            // Only time can advance.
            match self.front.waits() {
                Some(wait) => self.now += wait.max(1),
                None => panic!("it waits for ever: {}", self.lacks()),
            }
            waited += 1;
            assert!(waited < 10_000, "nothing comes of waiting: {}", self.lacks());
        }
        waited
    }

    /// Whether every client has its responses, and is closed if it has closed its side.
    fn is_over(&self) -> bool {
        let world = self.world.borrow();
        self.clients.iter().all(|client| {
            let connection = &world.connections[client.connection];
            connection.closed || client.is_through() && !client.half_closes
        })
    }

    fn lacks(&self) -> String {
        let world = self.world.borrow();
        let each = |client: &Client| {
            let connection = &world.connections[client.connection];
            format!(
                "{} answers lacking, {} to send, closed: {}",
                client.lacks(),
                client.to_send.len(),
                connection.closed
            )
        };
        self.clients.iter().map(each).collect::<Vec<_>>().join("; ")
    }
}

/// Numbers of keys and versions of the values in a response to a get; each value is `NUMBER-key/VERSION`.
fn versions(text: &str) -> impl Iterator<Item = (usize, u64)> {
    text.lines().filter_map(|line| {
        let is_empty = line.starts_with("VALUE ") && line.split(' ').nth(3) == Some("0");
        assert!(!is_empty, "{line}: an empty value, which nobody wrote");
        let (name, version) = line.split_once('/')?;
        Some((name.strip_suffix("-key").unwrap().parse().unwrap(), version.parse().unwrap()))
    })
}

/// Runs one case; returns the numbers of responses and of errors.
fn run(case: u64, faults: Faults) -> (usize, usize) {
    let mut stage = Stage::new(case, faults);
    for _ in 0..stage.random.random_range(0..400) {
        stage.step();
    }
    let begun = stage.now;
    stage.end();
    let requests: usize = stage.clients.iter().map(|client| client.answered + client.lacks()).sum();
    let errors = stage.clients.iter().map(|client| client.errors).sum();
    for client in &stage.clients {
        let connection = &stage.world.borrow().connections[client.connection];
        // Only wrong responses may cost a client its connection.
        let is_cut = faults == Faults::Lies && connection.closed;
        assert!(client.is_through() || is_cut || faults == Faults::Crashes && connection.closed, "{}", stage.lacks());
    }
    match faults {
        Faults::None => {
            assert_eq!(errors, 0, "nothing was wrong");
            assert!(stage.now - begun < TIMEOUT, "it took {} ms though nobody hung", (stage.now - begun) / MS);
        }
        // Requests of one client may wait for one another, each with its timeout; and for a moving key, for two servers.
        _ => assert!(stage.now - begun < (requests as u64 + 4) * 9 * TIMEOUT, "{} ms", (stage.now - begun) / MS),
    }
    (stage.clients.iter().map(|client| client.answered).sum(), errors)
}

fn cases(count: u64, faults: Faults) {
    let [answers, errors] = each_case(count, |case| <[usize; 2]>::from(run(case, faults)));
    println!("{answers} answers, {errors} of them errors");
}

/// Runs cases (CASES overrides the number), and sums up their counts.
fn each_case<const N: usize>(count: u64, run: impl Fn(u64) -> [usize; N] + std::panic::RefUnwindSafe) -> [usize; N] {
    let mut sums = [0; N];
    let (first, count) = crate::support::cases(count);
    for case in first..first + count {
        let found = std::panic::catch_unwind(|| run(case));
        let found = found.unwrap_or_else(|why| {
            println!("case {case} fails: CASES=1 FIRST={case} runs it alone");
            std::panic::resume_unwind(why)
        });
        sums.iter_mut().zip(found).for_each(|(sum, more)| *sum += more);
    }
    print!("{count} cases from {first} on: ");
    sums
}

#[test]
fn any_event_order_completes_without_timeouts() {
    cases(60, Faults::None);
}

#[test]
fn crashes_end_every_request_within_timeout() {
    cases(60, Faults::Crashes);
}

#[test]
fn wrong_responses_never_leak_values() {
    cases(60, Faults::Lies);
}
