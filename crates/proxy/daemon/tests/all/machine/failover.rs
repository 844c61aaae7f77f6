//! Consistency test of pools that replace failed servers, by the next one on the ring or by replicas: two threads, servers that stop,
//! crash, lose connections and execute old requests late. No read returns anything older than an acknowledged change, or than what any
//! client has read before; and afterwards all servers are in use again.

mod actions;
mod reloads;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Front, PoolMigration, Shared, Stage, begin};
use fanin_daemon::routing::Router;
use fanin_memcache::{Limits, Lines, Next, Request};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use super::world::{Scripted, World};
use super::{MS, TIMEOUT, each_case, in_memory, versions};
use crate::migration::{write_replica_plan, write_stage};
use crate::store::Store;

const SERVERS: usize = 4;
const THREADS: usize = 2;
const CLIENTS: usize = 2;
const KEYS: usize = 12;
/// Time in which a running server executes what is left of closed connections; less than the timeout.
const LATE: u64 = 300 * MS;

fn key(number: usize) -> String {
    format!("{number}-key")
}

/// Versions of a key. Odd ones are values, even ones are deletions.
#[derive(Clone, Copy, Default)]
struct Known {
    begun: u64,
    /// The last version that was acknowledged, or read by anybody.
    least: u64,
}

enum Waits {
    /// The end of these keys' values, with the least version of each.
    Read(Vec<(usize, u64)>),
    /// A change of this key to this version, and maybe a get of it before.
    Written(usize, u64, bool),
    /// Every key has this version then.
    Flushed([u64; KEYS]),
}

#[derive(Default)]
struct Client {
    connection: usize,
    waits: Option<(Waits, u64)>,
}

/// A thread of the front end, with its clients and connections.
struct Thread {
    front: Front<Scripted>,
    world: super::world::Shared,
    clients: Vec<Client>,
    talks: BTreeMap<usize, (Vec<u8>, Lines)>,
}

/// A memcached.
#[derive(Default)]
struct Server {
    store: Store,
    /// It does not execute anything, or rarely.
    stopped: bool,
    slow: bool,
    /// Connections are refused.
    down: bool,
    /// Outstanding requests of broken connections, with the time by which they are executed.
    late: Vec<(Vec<u8>, u64)>,
    /// Outstanding requests of connections that the front end watches.
    ending: Vec<(Vec<u8>, Option<Arc<()>>)>,
}

/// A plan that a front end carries out.
struct Planned {
    folder: TempDir,
    kept: Vec<PoolMigration>,
    router: Router,
}

/// All servers, as the settings list them.
fn all_servers() -> Vec<String> {
    (1..=SERVERS).map(|server| format!("10.0.0.{server}:11211")).collect()
}

/// Settings of a pool of these servers.
fn settings(servers: &[String], setting: &str) -> Settings {
    let text = format!(
        "threads = {THREADS}\n[[pool]]\nlisten = \"127.0.0.1:0\"\ntimeout = \"400 ms\"\nadmin = true\nservers = {servers:?}\n{setting}\n"
    );
    Settings::of_file("case.toml", &text).unwrap()
}

struct Case {
    random: StdRng,
    now: u64,
    planned: Option<Planned>,
    threads: Vec<Thread>,
    shared: Arc<Shared>,
    servers: Vec<Server>,
    known: [Known; KEYS],
    /// Keys that may have any of their values, as the documents say: they have moved in a reload, or nobody notes failed changes.
    loose: [bool; KEYS],
    /// Whether an empty value may be a copy that is being made.
    may_show_leases: bool,
    /// Whether a change has failed since all servers worked: it may still be made after a flush by another thread.
    has_failed_change: bool,
    reads: usize,
    found: usize,
    errors: usize,
    slowest: u64,
}

impl Case {
    fn new(case: u64, setting: &str) -> Case {
        Case::with(case, &settings(&all_servers(), setting), None)
    }

    /// With these settings, and with a folder of plans, which has an empty one.
    fn with(case: u64, settings: &Settings, folder: Option<TempDir>) -> Case {
        let shared = Arc::new(Shared::new(settings, 100));
        let planned = folder.map(|folder| {
            let kept = begin(settings, &shared).unwrap();
            Planned { folder, kept, router: settings.pools[0].router() }
        });
        let addresses: Vec<_> = (1..=SERVERS).map(|server| format!("10.0.0.{server}:11211").parse().unwrap()).collect();
        let threads = (0..THREADS).map(|number| {
            let world = Rc::new(RefCell::new(World::new(&addresses)));
            let stop = Arc::new(AtomicBool::new(false));
            let front = Front::new(Scripted(world.clone()), shared.clone(), number, stop, [case as u8; 32], None);
            let client = || Client { connection: world.borrow_mut().client(1 << 30), waits: None };
            let clients = (0..CLIENTS).map(|_| client()).collect();
            Thread { front, world: world.clone(), clients, talks: BTreeMap::new() }
        });
        Case {
            random: StdRng::seed_from_u64(case),
            now: 0,
            planned,
            threads: threads.collect(),
            shared,
            servers: (0..SERVERS).map(|_| Server::default()).collect(),
            known: [Known::default(); KEYS],
            loose: [false; KEYS],
            may_show_leases: false,
            has_failed_change: false,
            reads: 0,
            found: 0,
            errors: 0,
            slowest: 0,
        }
    }

    /// Runs random events; of a thousand, `faults` are faults.
    fn happens(&mut self, steps: usize, faults: u32) {
        for _ in 0..steps {
            let thread = self.random.random_range(0..THREADS);
            match self.random.random_range(0..1000) {
                at if at < faults => self.fault(),
                0..300 => self.asks(thread),
                300..500 => self.turns(thread),
                500..850 => self.serves(thread),
                850..900 => self.executes_late(0.03),
                900..980 => self.hears(thread),
                _ => self.passes(20 * MS),
            }
        }
    }

    fn turns(&mut self, thread: usize) {
        let thread = &mut self.threads[thread];
        let events = thread.world.borrow_mut().events(|| true);
        thread.front.turn(self.now, events.into_iter());
        self.gathers_late();
    }

    /// Bytes on connections that the front end has closed reach the server or not.
    fn gathers_late(&mut self) {
        for thread in &mut self.threads {
            for (number, connection) in thread.world.borrow_mut().connections.iter_mut().enumerate() {
                let Some(server) = connection.server.filter(|_| connection.closed) else { continue };
                let (server, held) = (&mut self.servers[server], connection.held.take());
                let (mut bytes, _) = thread.talks.remove(&number).unwrap_or_default();
                bytes.extend(connection.outbox.drain(..));
                if connection.broken || server.down {
                    continue;
                }
                match held {
                    None if bytes.is_empty() => {}
                    Some(held) => server.ending.push((bytes, Some(held))),
                    // Only reads are left.
                    None => server.late.push((bytes, self.now + LATE)),
                }
            }
        }
    }

    /// A server executes an old request. On connections that the front end watches, that may take much longer than a timeout.
    fn executes_late(&mut self, share: f64) {
        let server = self.random.random_range(0..SERVERS);
        let Server { stopped, late, ending, store, .. } = &mut self.servers[server];
        if *stopped {
            return;
        }
        if !ending.is_empty() && !self.random.random_bool(share) {
            return;
        }
        if let Some((bytes, held)) = ending.pop() {
            store.ahead = Duration::from_nanos(self.now);
            let (_, took) = execute(store, &bytes, &mut Lines::default(), 1);
            if took > 0 {
                ending.push((bytes[took..].to_vec(), held));
            }
        } else if !late.is_empty() {
            self.executes_one_late(server);
        }
    }

    fn executes_one_late(&mut self, server: usize) {
        let Server { store, late, .. } = &mut self.servers[server];
        let Some((bytes, until)) = late.pop() else { return };
        store.ahead = Duration::from_nanos(self.now);
        let (_, took) = execute(store, &bytes, &mut Lines::default(), 1);
        if took > 0 {
            late.push((bytes[took..].to_vec(), until));
        }
    }

    fn asks(&mut self, thread: usize) {
        let r = &mut self.random;
        let number = r.random_range(0..CLIENTS);
        if self.threads[thread].clients[number].waits.is_some() {
            return;
        }
        // Each key is changed by only one client at a time, so its versions are ordered.
        let of_client = |key: &usize| key % (THREADS * CLIENTS) == thread * CLIENTS + number;
        let own: Vec<usize> = (0..KEYS).filter(of_client).collect();
        let waits =
            || self.threads.iter().flat_map(|thread| &thread.clients).filter_map(|client| client.waits.as_ref());
        let flushes = waits().any(|(waits, _)| matches!(waits, Waits::Flushed(_)));
        let changes = flushes || waits().any(|(waits, _)| matches!(waits, Waits::Written(..)));
        let (line, waits) = if !changes && !self.has_failed_change && r.random_bool(0.02) {
            self.known.iter_mut().for_each(|known| known.begun += 2 - known.begun % 2);
            ("flush_all\r\n".to_owned(), Waits::Flushed(self.known.map(|known| known.begun)))
        } else if !flushes && r.random_bool(0.4) {
            let which = *own.choose(r).unwrap();
            let known = &mut self.known[which];
            let deletes = r.random_bool(0.2);
            known.begun += if known.begun.is_multiple_of(2) == deletes { 2 } else { 1 };
            let value = format!("{}/{}", key(which), known.begun);
            let line = match (deletes, r.random_bool(0.5)) {
                (true, false) => format!("delete {}\r\n", key(which)),
                (true, true) => format!("md {}\r\n", key(which)),
                (false, true) => format!("ms {} {}\r\n{value}\r\n", key(which), value.len()),
                (false, false) => format!("set {} 0 0 {}\r\n{value}\r\n", key(which), value.len()),
            };
            let reads = r.random_bool(0.3);
            let line = if reads { format!("get {}\r\n{line}", key(which)) } else { line };
            (line, Waits::Written(which, known.begun, reads))
        } else {
            let count = *[1, 1, 3, KEYS].choose(r).unwrap();
            let which: Vec<usize> = (0..count).map(|_| r.random_range(0..KEYS)).collect();
            let names: Vec<String> = which.iter().map(|number| key(*number)).collect();
            let verb = *["get", "get", "get", "gets", "gat 0"].choose(r).unwrap();
            let least = which.iter().map(|number| (*number, self.known[*number].least)).collect();
            (format!("{verb} {}\r\n", names.join(" ")), Waits::Read(least))
        };
        let thread = &mut self.threads[thread];
        let client = &mut thread.clients[number];
        thread.world.borrow_mut().connections[client.connection].send(line.as_bytes());
        client.waits = Some((waits, self.now));
    }

    /// A server executes something of a random connection, unless it is stopped or down.
    fn serves(&mut self, thread: usize) {
        let count = self.threads[thread].world.borrow().connections.len();
        let of_server = |number: &usize| {
            let connection = &self.threads[thread].world.borrow().connections[*number];
            connection.server.is_some() && !connection.closed && !connection.broken
        };
        let all: Vec<usize> = (0..count).filter(of_server).collect();
        if let Some(&number) = all.choose(&mut self.random) {
            let most = self.random.random_range(1..4);
            self.serves_connection(thread, number, most);
        }
    }

    fn serves_connection(&mut self, thread: usize, number: usize, most: usize) {
        let thread = &mut self.threads[thread];
        let connection = &mut thread.world.borrow_mut().connections[number];
        let server = &mut self.servers[connection.server.unwrap()];
        if !connection.open {
            // The kernel accepts for a stopped server.
            connection.opens(!server.down);
        }
        let (read, lines) = thread.talks.entry(number).or_default();
        read.extend(connection.outbox.drain(..));
        if server.stopped || connection.broken || server.slow && self.random.random_bool(0.9) {
            return;
        }
        server.store.ahead = Duration::from_nanos(self.now);
        let (answers, took) = execute(&mut server.store, read, lines, most);
        read.drain(..took);
        connection.send(&answers);
    }

    fn fault(&mut self) {
        let which = self.random.random_range(0..SERVERS);
        let r = self.random.random_range(0..10);
        let others = self.servers.iter().filter(|server| server.stopped || server.down).count();
        // docs/failover.md does not promise anything if a server stops again with requests of connections that the network has reset.
        let has_late = !self.servers[which].late.is_empty();
        match r {
            0..4 if others < 2 && !has_late => self.servers[which].stopped = true,
            // It crashes, and is empty when it is back. What it had not executed is lost.
            4..6 if others < 2 => self.crashes(which),
            6 => self.breaks_connections(which, true),
            _ => self.recovers(which),
        }
    }

    fn crashes(&mut self, which: usize) {
        let fewer = self.random.random_range(0..4);
        let server = &mut self.servers[which];
        *server =
            Server { store: server.store.restarted(fewer), down: self.random.random_bool(0.7), ..Server::default() };
        self.breaks_connections(which, false);
    }

    /// The connections of a server break. If its process goes on, it may have received requests that it has not executed.
    fn breaks_connections(&mut self, which: usize, goes_on: bool) {
        for thread in &mut self.threads {
            let world = &mut *thread.world.borrow_mut();
            for (number, connection) in world.connections.iter_mut().enumerate() {
                if connection.server == Some(which) && !connection.closed && !connection.broken {
                    connection.break_off();
                    let left = thread.talks.remove(&number);
                    let server = &mut self.servers[which];
                    if let Some((mut bytes, _)) = left
                        && goes_on
                        && !server.down
                        && self.random.random_bool(0.5)
                    {
                        bytes.extend(connection.outbox.drain(..));
                        server.late.push((bytes, self.now + LATE));
                    }
                }
            }
        }
    }

    fn recovers(&mut self, which: usize) {
        let server = &mut self.servers[which];
        if std::mem::take(&mut server.stopped) {
            server.late.iter_mut().for_each(|(_, until)| *until = self.now + LATE);
        }
        (server.down, server.slow) = (false, false);
    }

    /// Clients read their output.
    fn hears(&mut self, thread: usize) {
        for number in 0..CLIENTS {
            let world = self.threads[thread].world.clone();
            let client = &mut self.threads[thread].clients[number];
            let Some((waits, since)) = &client.waits else { continue };
            let outbox = &mut world.borrow_mut().connections[client.connection].outbox;
            let text = String::from_utf8(outbox.iter().copied().collect()).unwrap();
            let ends = match waits {
                Waits::Read(_) => text.ends_with("END\r\n") || text.contains("SERVER_ERROR") && text.ends_with("\r\n"),
                Waits::Written(_, _, true) => text.ends_with("\r\n") && responses(&text) == 2,
                Waits::Written(..) | Waits::Flushed(_) => text.ends_with("\r\n"),
            };
            if !ends {
                continue;
            }
            outbox.clear();
            let is_shown = |line: &&str| {
                !self.may_show_leases || !line.starts_with("VALUE ") || line.split(' ').nth(3) != Some("0")
            };
            let text = text.split_inclusive("\r\n").filter(|line| is_shown(&line.trim_end())).collect::<String>();
            self.slowest = self.slowest.max(self.now - since);
            self.errors += usize::from(text.contains("ERROR"));
            let changes = !matches!(waits, Waits::Read(_));
            self.has_failed_change |= changes && text.contains("ERROR");
            match client.waits.take() {
                Some((Waits::Written(number, version, _), _)) => {
                    let reads_ahead = versions(&text).any(|(_, read)| read >= version);
                    assert!(!reads_ahead, "{}: {version} was read by a get before it", key(number));
                    if !text.lines().next_back().is_some_and(|line| line.contains("ERROR")) {
                        self.known[number].least = self.known[number].least.max(version);
                    } else if !self.shared.edition().settings.pools[0].fails_over() {
                        self.loose[number] = true;
                    }
                }
                Some((Waits::Flushed(versions), _)) if !text.contains("ERROR") => {
                    for (known, version) in self.known.iter_mut().zip(versions) {
                        known.least = known.least.max(version);
                    }
                }
                Some((Waits::Read(least), _)) => self.judge(&least, &text),
                _ => {}
            }
        }
    }

    fn judge(&mut self, least: &[(usize, u64)], text: &str) {
        self.reads += least.len();
        for (number, version) in versions(text) {
            let name = key(number);
            let before = least.iter().find(|(of, _)| *of == number).unwrap().1;
            self.found += 1;
            let known = &mut self.known[number];
            assert!(version <= known.begun, "{name}: {version} was never written");
            if self.loose[number] {
                continue;
            }
            assert!(version >= before, "{name}: {version} was read, though {before} was known before");
            known.least = known.least.max(version);
        }
    }

    /// Time passes; what is late is executed in time.
    fn passes(&mut self, nanos: u64) {
        self.now += nanos;
        for server in 0..SERVERS {
            let is_over = |case: &Case| {
                let Server { late, stopped, .. } = &case.servers[server];
                !stopped && late.iter().any(|(_, until)| *until <= case.now)
            };
            while is_over(self) {
                self.executes_one_late(server);
            }
        }
        for kept in self.planned.iter_mut().flat_map(|planned| &mut planned.kept) {
            kept.step(&self.shared, self.now, false);
        }
        (0..THREADS).for_each(|thread| self.turns(thread));
    }

    /// The stage of the plan, if it is settled.
    fn stage(&self) -> &'static str {
        self.planned.as_ref().and_then(|planned| planned.kept[0].stage()).map_or("on its way", Stage::word)
    }

    /// Writes a plan that moves each key from its servers by hash plus `from` to those plus `to`.
    fn plans(&self, replicas: usize, from: usize, to: usize) {
        let planned = self.planned.as_ref().unwrap();
        let rows = (0..KEYS).flat_map(|number| {
            let homes = planned.router.first_servers(key(number).as_bytes(), replicas);
            let row = move |home: usize| {
                format!("{},{},{}\n", key(number), (home + to) % SERVERS + 1, (home + from) % SERVERS + 1)
            };
            homes.into_iter().map(row)
        });
        let table = format!("key,server,was\n{}", rows.collect::<String>());
        write_stage(planned.folder.path(), "begin");
        write_replica_plan(planned.folder.path(), SERVERS, replicas, &table);
    }

    /// Goes to a stage, with random events meanwhile.
    fn comes_to(&mut self, stage: &str, faults: u32) {
        write_stage(self.planned.as_ref().unwrap().folder.path(), stage);
        for round in 0.. {
            assert!(round < 4000, "it does not come to {stage}, but is {}", self.stage());
            self.happens(20, faults);
            self.passes(20 * MS);
            if self.stage() == stage {
                return;
            }
        }
    }

    /// Everything works again: all servers come back into use, and everything is answered.
    fn ends(&mut self) {
        (0..SERVERS).for_each(|server| self.recovers(server));
        for pass in 0..400 {
            self.passes(20 * MS);
            let share = if pass < 200 { 0.02 } else { 1.0 };
            (0..4 * SERVERS).for_each(|_| self.executes_late(share));
            for thread in 0..THREADS {
                let count = self.threads[thread].world.borrow().connections.len();
                for number in 0..count {
                    let is_open = {
                        let connection = &self.threads[thread].world.borrow().connections[number];
                        connection.server.is_some() && !connection.closed && !connection.broken
                    };
                    if is_open {
                        self.serves_connection(thread, number, usize::MAX);
                    }
                }
                self.turns(thread);
                self.hears(thread);
            }
        }
        let open =
            self.threads.iter().flat_map(|thread| &thread.clients).filter(|client| client.waits.is_some()).count();
        assert_eq!(open, 0, "requests without a response");
        let phases: Vec<&str> = self.shared.phases(0);
        assert!(phases.iter().all(|phase| *phase == "up"), "all servers work: {phases:?}");
        self.has_failed_change = false;
    }
}

/// Number of responses.
fn responses(text: &str) -> usize {
    let is_part = |line: &&str| line.is_empty() || line.starts_with("VALUE ") || line.contains('/');
    text.lines().filter(|line| !is_part(line)).count()
}

/// Executes requests; returns the responses and the bytes taken.
fn execute(store: &mut Store, bytes: &[u8], lines: &mut Lines, most: usize) -> (Vec<u8>, usize) {
    let (mut answers, mut at, limits) = (Vec::new(), 0, Limits { value: 1 << 20, keys: 1 << 20 });
    for _ in 0..most {
        let Next::Request(request, line) = lines.next(&bytes[at..], &limits) else { break };
        let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
        let Some(value) = bytes.get(at + line..at + line + follow) else { break };
        answers.extend(store.answer(&request, value.strip_suffix(b"\r\n").unwrap_or_default()));
        at += line + follow;
    }
    (answers, at)
}

/// Runs one case; returns the numbers of keys read and found, of errors, and the slowest response in milliseconds.
fn run(case: u64, setting: &str) -> [usize; 3] {
    let mut case = Case::new(case, setting);
    for _ in 0..3 {
        case.happens(600, 0);
        case.happens(1500, 15);
        case.ends();
    }
    assert!(case.slowest <= 4 * TIMEOUT, "a response took {} ms", case.slowest / MS);
    let before = case.errors;
    case.happens(300, 0);
    assert_eq!(case.errors, before, "nothing fails when all servers are back");
    [case.reads, case.found, case.errors]
}

/// The same while keys move from servers to others, and on, and back.
fn run_with_plans(case: u64, replicas: usize) -> [usize; 3] {
    let folder = in_memory();
    write_stage(folder.path(), "begin");
    write_replica_plan(folder.path(), SERVERS, replicas, "key,server,was\n");
    let setting = format!("replicas = {replicas}\nplan = \"{}\"", folder.path().display());
    let mut case = Case::with(case, &settings(&all_servers(), &setting), Some(folder));
    case.comes_to("over", 0);
    for (from, to) in [(0, 1), (1, 3), (3, 0)] {
        case.plans(replicas, from, to);
        for stage in ["begin", "move", "copied", "turn", "over"] {
            case.comes_to(stage, 2);
            case.happens(300, 5);
            (0..SERVERS).for_each(|server| case.recovers(server));
        }
        case.ends();
    }
    let before = case.errors;
    case.happens(300, 0);
    assert_eq!(case.errors, before, "nothing fails when all servers are back");
    [case.reads, case.found, case.errors]
}

fn cases_with_plans(replicas: usize) {
    let [reads, found, errors] = each_case(2, |case| run_with_plans(case, replicas));
    println!("plans of {replicas} replicas: {reads} keys were read, {found} found, {errors} errors");
    assert!(found * 5 > reads, "too little is found for this to say anything");
}

fn cases(setting: &str) {
    let [reads, found, errors] = each_case(4, |case| run(case, setting));
    println!("{setting}: {reads} keys were read, {found} found, {errors} errors");
    assert!(found * 5 > reads, "too little is found for this to say anything");
}

impl Case {
    /// Serves all connections of a thread, but those to one server.
    fn serves_all(&mut self, thread: usize, without: Option<usize>) {
        self.turns(thread);
        let count = self.threads[thread].world.borrow().connections.len();
        for number in 0..count {
            let is_open = {
                let connection = &self.threads[thread].world.borrow().connections[number];
                let server = connection.server.filter(|server| Some(*server) != without);
                server.is_some() && !connection.closed && !connection.broken
            };
            if is_open {
                self.serves_connection(thread, number, usize::MAX);
            }
        }
        self.turns(thread);
    }

    /// Everything runs for up to two seconds, until something is the case.
    fn runs(&mut self, what: &str, mut until: impl FnMut(&mut Case) -> bool) {
        for _ in 0..200 {
            if until(self) {
                return;
            }
            (0..THREADS).for_each(|thread| self.serves_all(thread, None));
            (0..4 * SERVERS).for_each(|_| self.executes_late(1.0));
            self.passes(10 * MS);
        }
        panic!("never: {what}");
    }

    fn sends(&mut self, thread: usize, line: &str) {
        let thread = &mut self.threads[thread];
        thread.world.borrow_mut().connections[thread.clients[0].connection].send(line.as_bytes());
    }

    /// Responses to the first client of a thread.
    fn got(&mut self, thread: usize) -> String {
        let thread = &mut self.threads[thread];
        let outbox = &mut thread.world.borrow_mut().connections[thread.clients[0].connection].outbox;
        String::from_utf8(outbox.drain(..).collect()).unwrap()
    }

    /// Sends a request of the first client of a thread; returns the response.
    fn answer(&mut self, thread: usize, line: &str) -> String {
        self.sends(thread, line);
        let mut text = String::new();
        self.runs(line, |case| {
            text += &case.got(thread);
            text.ends_with("\r\n")
        });
        text
    }

    fn is(&self, server: usize, phase: &str) -> bool {
        self.shared.phases(0)[server] == phase
    }
}

/// While both servers of a key are away, one of them returns: it deletes the key, and executes no change that is based on its old value.
#[test]
fn joining_server_executes_no_change_of_a_client() {
    for first in [0, 1] {
        let mut case = Case::new(0, "replicas = 2");
        assert_eq!(case.answer(0, "set 0-key 0 0 1\r\n1\r\n"), "STORED\r\n");
        let has =
            |case: &Case, server: usize| case.servers[server].store.value(b"0-key").is_some_and(|value| value == b"1");
        let homes = |case: &Case| (0..SERVERS).filter(|server| has(case, *server)).collect::<Vec<_>>();
        case.runs("both servers have it", |case| homes(case).len() == 2);
        let homes = homes(&case);
        let (one, other) = (homes[first], homes[1 - first]);
        for server in [one, other] {
            case.servers[server].stopped = true;
            case.answer(0, "set 0-key 0 0 1\r\n2\r\n");
            case.runs("it has left", |case| case.is(server, "away"));
            // Its outstanding requests are lost.
            case.servers[server].ending.clear();
            case.servers[server].late.clear();
            case.answer(0, "set 0-key 0 0 1\r\n3\r\n");
        }
        assert!(has(&case, one), "it has missed the changes");
        // The first thread takes it back, and its deletion of the key is on its way.
        case.recovers(one);
        for _ in 0..200 {
            if case.is(one, "joining") {
                break;
            }
            case.serves_all(0, None);
            (0..4 * SERVERS).for_each(|_| case.executes_late(1.0));
            case.passes(10 * MS);
        }
        for _ in 0..20 {
            case.serves_all(0, Some(one));
            case.serves_all(1, None);
        }
        assert!(case.is(one, "joining") && has(&case, one), "the deletion has not been executed");
        case.got(1);
        for line in
            ["mg 0-key v T100", "gat 100 0-key", "incr 0-key 1", "append 0-key 0 0 1\r\n0", "gets 0-key", "get 0-key"]
        {
            case.sends(1, &format!("{line}\r\n"));
            case.serves_all(1, None);
            case.serves_all(1, None);
            let text = case.got(1);
            assert!(text.starts_with("SERVER_ERROR") || line.starts_with("get") && text.is_empty(), "{line}: {text}");
        }
        assert!(has(&case, one), "{}", "no command was executed there");
        case.ends();
    }
}

#[test]
fn next_server_never_returns_stale_values() {
    cases("on_down = \"next\"");
}

#[test]
fn two_replicas_never_return_stale_values() {
    cases("replicas = 2\nhedge = { after = \"10 ms\", share = \"50 %\" }");
}

#[test]
fn moving_replicas_never_return_stale_values() {
    cases_with_plans(2);
    cases_with_plans(3);
}

#[test]
fn three_replicas_never_return_stale_values() {
    cases("replicas = 3\nplacement = \"rendezvous\"");
}
