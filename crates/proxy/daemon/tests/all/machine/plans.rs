//! Consistency test with replaced and returning plans while keys, most of them rarely used, are read and written. Front ends and servers
//! are killed and restarted between any two steps, and no read returns a value older than the last acknowledged change.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Front, PoolMigration, Shared, Stage, begin};
use fanin_daemon::routing::{Hash, Placement, Router, Weighted};
use fanin_memcache::{Limits, Lines, Next, Request};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use super::world::{Scripted, World};
use super::{MS, each_case, in_memory, versions};
use crate::migration::{SECRET, hashed, write_replica_plan, write_stage};
use crate::store::Store;

const SERVERS: usize = 4;
const KEYS: usize = 10;

/// State of a key: the last version whose change was started, and the last that was acknowledged. Odd versions are values, even ones are
/// deletions.
#[derive(Clone, Copy, Default)]
struct Known {
    begun: u64,
    answered: u64,
}

/// An expected response.
enum Waits {
    /// The end of these keys' values, with the versions acknowledged before.
    Read(Vec<(usize, u64)>),
    Written(usize, u64),
    /// Every key has this version then.
    Flushed([u64; KEYS]),
}

/// A front end that can be killed, with two clients.
struct Proxy {
    text: String,
    front: Front<Scripted>,
    world: super::world::Shared,
    shared: Arc<Shared>,
    kept: Vec<PoolMigration>,
    clients: Vec<(usize, Option<Waits>)>,
    talks: BTreeMap<usize, (Vec<u8>, Lines)>,
}

impl Proxy {
    fn start(text: String, seed: u8) -> Proxy {
        let settings = Settings::of_file("case.toml", &text).unwrap();
        let addresses: Vec<_> =
            settings.pools[0].servers.iter().map(|server| server.target.address.ip().unwrap()).collect();
        let world = Rc::new(RefCell::new(World::new(&addresses)));
        let shared = Arc::new(Shared::new(&settings, 100));
        let kept = begin(&settings, &shared).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let front = Front::new(Scripted(world.clone()), shared.clone(), 0, stop, [seed; 32], None);
        let clients = (0..2).map(|_| (world.borrow_mut().client(1 << 30), None)).collect();
        Proxy { text, front, world, shared, kept, clients, talks: BTreeMap::new() }
    }

    /// Stage reached.
    fn stage(&self) -> &'static str {
        self.kept[0].stage().map_or("on its way", Stage::word)
    }

    fn turn(&mut self, now: u64) {
        let events = self.world.borrow_mut().events(|| true);
        self.front.turn(now, events.into_iter());
    }
}

/// The plans of a case: old and new servers of each key.
fn plans(router: &Router, random: &mut StdRng, hashes: bool, replicas: usize) -> Vec<String> {
    let servers = |number| router.first_servers(key(number).as_bytes(), replicas);
    let by_hash: Vec<Vec<usize>> = (0..KEYS).map(servers).collect();
    let mut at = by_hash.clone();
    let mut moves = |by: &dyn Fn(usize) -> usize| {
        let to = |number: usize| {
            by_hash[number].iter().map(|server| (server + by(number)) % SERVERS).collect::<Vec<usize>>()
        };
        let rows = |number: usize| {
            // For a hashed key, only the front end knows the servers that the hash selects.
            let name = if hashes { hashed(SECRET, &key(number)) } else { key(number) };
            let is_by_hash = |servers: &[usize]| servers.iter().all(|server| by_hash[number].contains(server));
            let place = |servers: &[usize], replica: usize| {
                if is_by_hash(servers) { String::new() } else { (servers[replica] + 1).to_string() }
            };
            let (was, new) = (&at[number], to(number));
            let row = |replica| format!("{name},{},{}\n", place(&new, replica), place(was, replica));
            (0..replicas).map(row).collect::<String>()
        };
        let table = format!("key,server,was\n{}", (0..KEYS).map(rows).collect::<String>());
        at = (0..KEYS).map(to).collect();
        table
    };
    let by = random.random_range(1..SERVERS);
    let out = moves(&|_| by);
    // Some move back, then out again.
    let back = moves(&|number| if number % 4 == 3 { by } else { 0 });
    let again = moves(&|_| 1);
    vec![out, back, again]
}

fn key(number: usize) -> String {
    format!("{number}-key")
}

struct Case {
    random: StdRng,
    now: u64,
    folder: TempDir,
    fronts: Vec<Proxy>,
    stores: Vec<Store>,
    replicas: usize,
    known: [Known; KEYS],
    /// Active keys; and keys that are unused for a while.
    touched: Vec<usize>,
    resting: [bool; KEYS],
    /// Per mille of server restarts and of faults among events.
    restarts: u32,
    faults: u32,
    reads: usize,
    found: usize,
}

impl Case {
    /// With hashed keys (odd cases), only requests copy keys.
    fn new(case: u64, replicas: usize) -> (Case, Vec<String>) {
        let hashes = case % 2 == 1;
        let mut random = StdRng::seed_from_u64(case);
        let listed: Vec<String> = (1..=SERVERS).map(|server| format!("\"10.0.0.{server}:11211\"")).collect();
        let weighted: Vec<Weighted> =
            (1..=SERVERS).map(|server| Weighted { name: format!("10.0.0.{server}"), weight: 1 }).collect();
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &weighted);
        let plans = plans(&router, &mut random, hashes, replicas);
        let folder = in_memory();
        write_replica_plan(folder.path(), SERVERS, replicas, &plans[0]);
        write_stage(folder.path(), "begin");
        fs::write(folder.path().join("secret"), SECRET).unwrap();
        let named = if hashes { "secret = \"{0}/secret\"" } else { "keys = \"plain\"" };
        let log = format!("[log]\nfile = \"{{0}}/asked.csv\"\n{named}\n")
            .replace("{0}", &folder.path().display().to_string());
        let count = random.random_range(1..=2);
        // A front end that is killed forgets which keys have changed at a server that it has given up, and several front ends decide for
        // themselves which servers are in use (docs/failover.md): so with replicas, none gives up a server that has values.
        let alone = replicas == 1 || count == 1;
        let timeout = if replicas == 1 { "400 ms" } else { "4 s" };
        let text = |front: usize| {
            format!(
                "threads = 1\n{log}[[pool]]\nlisten = \"127.0.0.{front}:0\"\ntimeout = \"{timeout}\"\nadmin = true\nservers = [{}]\nreplicas = {replicas}\nplan = \"{}\"\n",
                listed.join(","),
                folder.path().display()
            )
        };
        let fronts = (1..=count).map(|front| Proxy::start(text(front), front as u8)).collect();
        let (restarts, faults) = *[(0, 1), (0, 5), (5, 5)].choose(&mut random).unwrap();
        let restarts = if alone { restarts } else { 0 };
        let stores = (0..SERVERS).map(|_| Store::default()).collect();
        let known = [Known::default(); KEYS];
        let (touched, resting) = ((0..KEYS).collect(), [false; KEYS]);
        let (now, reads, found) = (0, 0, 0);
        let case = Case {
            random,
            now,
            folder,
            fronts,
            stores,
            replicas,
            known,
            touched,
            resting,
            restarts,
            faults,
            reads,
            found,
        };
        (case, plans)
    }

    /// Stops using some keys.
    fn some_rest(&mut self) {
        self.resting = std::array::from_fn(|_| self.random.random_bool(0.6));
        self.touches_others();
    }

    /// Changes the active keys.
    fn touches_others(&mut self) {
        let share = *[0.2, 0.6, 1.0].choose(&mut self.random).unwrap();
        self.touched = (0..KEYS).filter(|key| !self.resting[*key] && self.random.random_bool(share)).collect();
    }

    /// Runs random events.
    fn happens(&mut self, steps: usize) {
        for _ in 0..steps {
            let front = self.random.random_range(0..self.fronts.len());
            match self.random.random_range(0..1000) {
                0..200 => self.asks(front),
                200..400 => self.fronts[front].turn(self.now),
                400..700 => self.serves(front, 1),
                700..800 => self.hears(front),
                800..960 => self.settles(front),
                at if at < 960 + self.faults => self.fault(front),
                at if at < 960 + self.faults + self.restarts => self.server_restarts(),
                _ => self.passes(50 * MS),
            }
        }
    }

    /// Runs until a front end's requests are answered.
    fn settles(&mut self, front: usize) {
        self.speaks_with(front, |_| true);
        self.hears(front);
    }

    /// An idle client sends a request.
    fn asks(&mut self, front: usize) {
        let r = &mut self.random;
        let client = r.random_range(0..2);
        if self.fronts[front].clients[client].1.is_some() {
            return;
        }
        // Each key is changed by only one client at a time, so its versions are ordered.
        let clients = 2 * self.fronts.len();
        let of_client = |number: &usize| number % clients == 2 * front + client;
        let owned: Vec<usize> = self.touched.iter().copied().filter(of_client).collect();
        let waits = || self.fronts.iter().flat_map(|front| &front.clients).filter_map(|(_, waits)| waits.as_ref());
        let flushes = waits().any(|waits| matches!(waits, Waits::Flushed(_)));
        let changes = flushes || waits().any(|waits| matches!(waits, Waits::Written(..)));
        let writes = !flushes && r.random_bool(0.4);
        let (line, waits) = match owned.choose(r) {
            _ if !changes && r.random_bool(0.02) => {
                self.known.iter_mut().for_each(|known| known.begun += 2 - known.begun % 2);
                ("flush_all\r\n".to_owned(), Waits::Flushed(self.known.map(|known| known.begun)))
            }
            Some(&number) if writes => {
                let known = &mut self.known[number];
                let deletes = r.random_bool(0.2);
                known.begun += if known.begun.is_multiple_of(2) == deletes { 2 } else { 1 };
                let value = format!("{}/{}", key(number), known.begun);
                let verb = *["set", "ms"].choose(r).unwrap();
                let line = match (deletes, verb) {
                    (true, _) => format!("delete {}\r\n", key(number)),
                    (_, "ms") => format!("ms {} {}\r\n{value}\r\n", key(number), value.len()),
                    _ => format!("set {} 0 0 {}\r\n{value}\r\n", key(number), value.len()),
                };
                (line, Waits::Written(number, known.begun))
            }
            _ => {
                let count = *[1, 1, 3, KEYS].choose(r).unwrap();
                let one = |_| self.touched.choose(r).copied();
                let numbers: Vec<usize> = (0..count).filter_map(one).collect();
                if numbers.is_empty() {
                    return;
                }
                let names: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
                let verb = *["get", "get", "gets"].choose(r).unwrap();
                let before = numbers.iter().map(|number| (*number, self.known[*number].answered)).collect();
                (format!("{verb} {}\r\n", names.join(" ")), Waits::Read(before))
            }
        };
        let connection = self.fronts[front].clients[client].0;
        self.fronts[front].world.borrow_mut().connections[connection].send(line.as_bytes());
        self.fronts[front].clients[client].1 = Some(waits);
    }

    /// Serves a random server connection of a front end.
    fn serves(&mut self, front: usize, most: usize) {
        let of_servers: Vec<usize> = self.connections(front, |_| true);
        let Some(&number) = of_servers.choose(&mut self.random) else { return };
        self.serves_connection(front, number, most);
    }

    /// Serves a server connection, up to a number of requests.
    fn serves_connection(&mut self, front: usize, number: usize, most: usize) {
        let proxy = &mut self.fronts[front];
        let world = &mut *proxy.world.borrow_mut();
        let connection = &mut world.connections[number];
        if connection.closed || connection.broken {
            // Requests on a closed connection are executed now or never.
            proxy.talks.remove(&number);
            return;
        }
        if !connection.open {
            connection.opens(true);
        }
        let (read, lines) = proxy.talks.entry(number).or_default();
        read.extend(connection.outbox.drain(..));
        let (mut at, limits) = (0, Limits { value: 1 << 20, keys: 1 << 20 });
        for _ in 0..most {
            let Next::Request(request, line) = lines.next(&read[at..], &limits) else { break };
            let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
            let Some(bytes) = read.get(at + line..at + line + follow) else { break };
            let store = &mut self.stores[connection.server.unwrap()];
            store.ahead = Duration::from_nanos(self.now);
            let answer = store.answer(&request, bytes.strip_suffix(b"\r\n").unwrap_or_default());
            connection.send(&answer);
            at += line + follow;
        }
        read.drain(..at);
    }

    /// Connections of a front end to these servers.
    fn connections(&self, front: usize, of: impl Fn(usize) -> bool) -> Vec<usize> {
        let connections = &self.fronts[front].world.borrow().connections;
        (0..connections.len()).filter(|number| connections[*number].server.is_some_and(&of)).collect()
    }

    /// Runs a front end's loop iteration, and these servers' responses.
    fn speaks_with(&mut self, front: usize, of: impl Fn(usize) -> bool) {
        for _ in 0..8 {
            self.fronts[front].turn(self.now);
            for number in self.connections(front, &of) {
                self.serves_connection(front, number, usize::MAX);
            }
        }
        self.fronts[front].turn(self.now);
    }

    /// A client sends a line.
    fn sends(&mut self, front: usize, line: &str) {
        let connection = self.fronts[front].clients[0].0;
        self.fronts[front].world.borrow_mut().connections[connection].send(line.as_bytes());
    }

    /// Response to it.
    fn answered(&mut self, front: usize) -> String {
        let connection = self.fronts[front].clients[0].0;
        let bytes = self.fronts[front].world.borrow_mut().connections[connection].outbox.drain(..).collect();
        String::from_utf8(bytes).unwrap()
    }

    /// Clients read their output.
    fn hears(&mut self, front: usize) {
        for client in 0..2 {
            let proxy = &mut self.fronts[front];
            let (connection, waits) = &mut proxy.clients[client];
            let bytes: Vec<u8> = proxy.world.borrow().connections[*connection].outbox.iter().copied().collect();
            let text = String::from_utf8(bytes).unwrap();
            let ends = match waits {
                None => continue,
                Some(Waits::Read(_)) => {
                    text.ends_with("END\r\n") || text.contains("SERVER_ERROR") && text.ends_with("\r\n")
                }
                Some(Waits::Written(..) | Waits::Flushed(_)) => text.ends_with("\r\n"),
            };
            if !ends {
                continue;
            }
            proxy.world.borrow_mut().connections[*connection].outbox.clear();
            let waited = waits.take();
            match waited {
                Some(Waits::Written(number, version)) if !text.contains("ERROR") => {
                    self.known[number].answered = version;
                }
                Some(Waits::Flushed(versions)) if !text.contains("ERROR") => {
                    for (known, version) in self.known.iter_mut().zip(versions) {
                        known.answered = version;
                    }
                }
                Some(Waits::Read(before)) => self.judge(&before, &text),
                _ => {}
            }
        }
    }

    fn judge(&mut self, before: &[(usize, u64)], text: &str) {
        self.reads += before.len();
        for (number, version) in versions(text) {
            let name = key(number);
            let answered = before.iter().find(|(of, _)| *of == number).unwrap().1;
            self.found += 1;
            assert!(version >= answered, "{name}: {version} was read, though {answered} was answered before");
            assert!(version <= self.known[number].begun, "{name}: {version} was never written");
        }
    }

    /// Advances time for all front ends.
    fn passes(&mut self, nanos: u64) {
        self.now += nanos;
        for proxy in &mut self.fronts {
            proxy.turn(self.now);
            for kept in &mut proxy.kept {
                kept.step(&proxy.shared, self.now, false);
            }
        }
    }

    fn fault(&mut self, front: usize) {
        match self.random.random_range(0..4) {
            // kill -9.
            0 => self.restarts(front),
            1 if self.replicas == 1 || self.fronts.len() == 1 => self.server_restarts(),
            1 => {}
            2 => drop(fs::remove_file(self.folder.path().join("stage"))),
            // A plan that does not follow the current one.
            _ => {
                let [plan, table] = ["plan.json", "placement.csv"].map(|name| self.folder.path().join(name));
                let before = [&plan, &table].map(|path| fs::read(path).unwrap());
                let row = |number: usize, replica: usize| {
                    format!("{},{},{}\n", key(number), (number + replica) % 3 + 1, (number + replica + 1) % 3 + 1)
                };
                let rows: String = (0..KEYS * self.replicas)
                    .map(|row_number| row(row_number / self.replicas, row_number % self.replicas))
                    .collect();
                write_replica_plan(self.folder.path(), SERVERS, self.replicas, &format!("key,server,was\n{rows}"));
                self.passes(300 * MS);
                if self.random.random_bool(0.5) {
                    self.restarts(front);
                }
                [plan, table].iter().zip(before).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            }
        }
    }

    /// Restarts a server, which is empty and repeats its CAS uniques.
    fn server_restarts(&mut self) {
        let (server, fewer) = (self.random.random_range(0..SERVERS), self.random.random_range(0..4));
        self.restarts_server(server, fewer);
    }

    fn restarts_server(&mut self, server: usize, fewer: u64) {
        self.stores[server] = self.stores[server].restarted(fewer);
        for proxy in &mut self.fronts {
            let its = |connection: &&mut super::world::Connection| connection.server == Some(server);
            let world = &mut *proxy.world.borrow_mut();
            world.connections.iter_mut().filter(its).filter(|one| !one.closed).for_each(|one| one.break_off());
            let connections = &world.connections;
            proxy.talks.retain(|number, _| connections[*number].server != Some(server));
        }
    }

    /// Kills and restarts a front end. Its requests are executed or not.
    fn restarts(&mut self, front: usize) {
        let count = self.random.random_range(0..4);
        (0..count).for_each(|_| self.serves(front, 2));
        let text = self.fronts[front].text.clone();
        self.fronts[front] = Proxy::start(text, 7);
    }

    /// Moves all front ends to a stage, with random events meanwhile.
    fn comes_to(&mut self, stage: &str) {
        for round in 0.. {
            assert!(
                round < 2000,
                "it does not come to {stage}: {:?}",
                self.fronts.iter().map(Proxy::stage).collect::<Vec<_>>()
            );
            // The `stage` file may have been removed.
            write_stage(self.folder.path(), stage);
            self.happens(10);
            self.passes(200 * MS);
            if self.fronts.iter().all(|proxy| proxy.stage() == stage) {
                return;
            }
        }
    }
}

/// Runs one case; returns the numbers of keys read and found.
fn run(case: u64, replicas: usize) -> [usize; 2] {
    let (mut case, plans) = Case::new(case, replicas);
    for plan in plans {
        write_stage(case.folder.path(), "begin");
        write_replica_plan(case.folder.path(), SERVERS, replicas, &plan);
        case.comes_to("begin");
        case.happens(200);
        case.some_rest();
        for stage in ["move", "copied", "turn", "over"] {
            case.comes_to(stage);
            case.happens(100);
            case.touches_others();
        }
        case.some_rest();
        case.happens(400);
        case.some_rest();
    }
    [case.reads, case.found]
}

#[test]
fn lease_from_before_restart_stores_nothing() {
    let (mut case, _) = Case::hashed(2, 1);
    (0..2).for_each(|front| case.speaks_with(front, |_| true));
    // The servers' CAS unique is nine.
    case.stores.iter_mut().for_each(|store| (0..9).for_each(|_| store.put(b"other", b"", 0, 0)));
    case.sends(1, "set 1-key 0 0 2\r\nv1\r\n");
    case.speaks_with(1, |_| true);
    assert_eq!(case.answered(1), "STORED\r\n");
    write_stage(case.folder.path(), "move");
    (0..30).for_each(|_| case.passes(200 * MS));
    assert!(case.fronts.iter().all(|proxy| proxy.stage() == "move"));
    let old = (0..SERVERS).find(|server| case.stores[*server].value(b"1-key").is_some()).unwrap();
    // A front end has a lease of the new server, and has asked the old one.
    case.sends(0, "get 1-key\r\n");
    case.speaks_with(0, |server| server != old);
    let new = (0..SERVERS).find(|server| case.stores[*server].value(b"1-key") == Some(b"")).unwrap();
    // The new server restarts, then the old one responds.
    case.restarts_server(new, 2);
    case.speaks_with(0, |server| server == old);
    assert_eq!(case.answered(0), "VALUE 1-key 0 2\r\nv1\r\nEND\r\n");
    // Meanwhile the other front end writes the key, and the copy gets the lease's number.
    case.speaks_with(1, |_| true);
    case.sends(1, "set 1-key 0 0 2\r\nv2\r\n");
    case.speaks_with(1, |_| true);
    assert_eq!((case.answered(1).as_str(), case.stores[new].value(b"1-key")), ("STORED\r\n", Some(&b"v2"[..])));
    case.speaks_with(0, |_| true);
    case.sends(1, "get 1-key\r\n");
    case.speaks_with(1, |_| true);
    assert_eq!(case.answered(1), "VALUE 1-key 0 2\r\nv2\r\nEND\r\n");
}

impl Case {
    /// A case with hashed keys, this number of front ends, and no faults.
    fn hashed(fronts: usize, replicas: usize) -> (Case, Vec<String>) {
        let cases = (1..).step_by(2).map(|case| Case::new(case, replicas));
        cases.into_iter().find(|(case, _)| case.fronts.len() == fronts).unwrap()
    }

    /// Moves all front ends to a stage, without requests.
    fn goes_to(&mut self, stage: &str) {
        write_stage(self.folder.path(), stage);
        for _ in 0..300 {
            self.passes(200 * MS);
            (0..self.fronts.len()).for_each(|front| self.speaks_with(front, |_| true));
        }
        assert!(self.fronts.iter().all(|front| front.stage() == stage), "it does not come to {stage}");
    }

    /// Carries out a plan up to a stage, without requests.
    fn follows(&mut self, plan: &str, stage: &str) {
        write_stage(self.folder.path(), "begin");
        write_replica_plan(self.folder.path(), SERVERS, self.replicas, plan);
        self.goes_to("begin");
        self.goes_to(stage);
    }

    fn asks_for(&mut self, front: usize, line: &str) -> String {
        self.sends(front, line);
        self.speaks_with(front, |_| true);
        self.answered(front)
    }

    fn sets(&mut self, front: usize, number: usize, value: &str) {
        assert_eq!(self.asks_for(front, &format!("set {} 0 0 2\r\n{value}\r\n", key(number))), "STORED\r\n");
    }

    /// Number of servers with this value of a key.
    fn have(&self, number: usize, value: &str) -> usize {
        self.stores.iter().filter(|store| store.value(key(number).as_bytes()) == Some(value.as_bytes())).count()
    }
}

#[test]
fn uncleared_server_is_not_copied() {
    let (mut case, plans) = Case::hashed(1, 1);
    // The key moves away. Its old server keeps its value.
    case.sets(0, 1, "v1");
    case.goes_to("over");
    case.sets(0, 1, "v2");
    // It moves back and out again, without any request before the second move.
    case.follows(&plans[1], "over");
    case.follows(&plans[2], "move");
    assert_eq!(case.asks_for(0, "get 0-key 1-key\r\n"), "END\r\n");
}

#[test]
fn uncleared_replicas_are_not_read() {
    for (stage, verb) in
        ["move", "turn", "over"].into_iter().flat_map(|stage| ["get", "gets", "mg"].map(|verb| (stage, verb)))
    {
        let (mut case, plans) = Case::hashed(1, 2);
        (0..KEYS).for_each(|number| case.sets(0, number, "v1"));
        case.goes_to("over");
        (0..KEYS).for_each(|number| case.sets(0, number, "v2"));
        let moved: Vec<usize> = (0..KEYS).filter(|number| case.have(*number, "v1") > 0).collect();
        assert!(!moved.is_empty(), "no old server has kept its value");
        // They move back without any request, to servers that still have the first value.
        case.follows(&plans[1], stage);
        let names = moved.iter().map(|number| format!(" {}", key(*number))).collect::<String>();
        let mut texts: Vec<String> = (0..3).map(|_| case.asks_for(0, &format!("get{names}\r\n"))).collect();
        for number in moved.iter().cycle().take(3 * KEYS) {
            let flags = if verb == "mg" { " v" } else { "" };
            texts.push(case.asks_for(0, &format!("{verb} {}{flags}\r\n", key(*number))));
        }
        assert!(
            texts.iter().all(|text| text.ends_with("\r\n") && !text.contains("v1")),
            "{verb} in {stage}: {texts:?}"
        );
        assert!(stage != "move" || texts.iter().any(|text| text.contains("v2")), "{verb}: the old servers have them");
    }
}

#[test]
fn front_ends_on_both_sides_of_cutover_read_no_stale_replicas() {
    let (mut case, _) = Case::hashed(2, 2);
    (0..KEYS).for_each(|number| case.sets(0, number, "v0"));
    case.goes_to("move");
    (0..2).for_each(|_| (0..KEYS).for_each(|number| drop(case.asks_for(1, &format!("get {}\r\n", key(number))))));
    case.goes_to("copied");
    write_stage(case.folder.path(), "turn");
    while case.fronts[1].stage() != "turn" {
        case.now += 200 * MS;
        let proxy = &mut case.fronts[1];
        proxy.kept[0].step(&proxy.shared, case.now, false);
        case.speaks_with(1, |_| true);
    }
    assert_eq!(case.fronts[0].stage(), "copied");
    for (version, front) in (1..9).zip([0, 1].into_iter().cycle()) {
        for number in 0..KEYS {
            let value = format!("v{version}");
            case.sets(front, number, &value);
            for reader in (0..2).cycle().take(8) {
                let text = case.asks_for(reader, &format!("get {}\r\n", key(number)));
                assert!(text == "END\r\n" || text.contains(&value), "front end {reader} reads {text} after {value}");
            }
            assert!(case.asks_for(front, &format!("get {}\r\n", key(number))).contains(&value));
        }
    }
}

#[test]
fn reads_never_return_stale_values_after_faults() {
    cases(1, 12);
}

#[test]
fn reads_of_replicas_never_return_stale_values_after_faults() {
    cases(2, 4);
    cases(3, 3);
}

fn cases(replicas: usize, count: u64) {
    let [reads, found] = each_case(count, |case| run(case, replicas));
    println!("{replicas} replicas: {reads} keys were read, {found} found");
    assert!(found * 10 > reads, "too little is found for this to say anything");
}
