//! Actions of an operator, and events that their pages describe, one after another under load: no read returns a wrong or stale value, and
//! when everything works again, nothing fails, and the next server that fails is replaced as the settings say.
//!
//! `list` has the actions, by the names that the pages give them. A failing sequence is shortened and printed.

mod list;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::reloads::number;
use super::*;
use list::{ACTIONS, Action, Does};

/// A pool's settings, as far as actions change them.
#[derive(Clone, Debug)]
struct Pool {
    name: &'static str,
    servers: Vec<String>,
    on_down: &'static str,
    replicas: usize,
    timeout: u64,
    placement: &'static str,
    hash: &'static str,
    /// Settings that change neither the places of keys nor failover.
    more: &'static str,
    /// Whether there is a second pool.
    second: bool,
}

impl Pool {
    /// Three of the servers, with this `on_down`, or with replicas.
    fn new(on_down: &'static str, replicas: usize) -> Pool {
        let servers = all_servers()[..3].to_vec();
        // Points on a ring take most of a test's time.
        let (placement, hash) = ("rendezvous", "fnv1a_64");
        Pool { name: "a", servers, on_down, replicas, timeout: 400, placement, hash, more: "", second: false }
    }

    fn settings(&self) -> Settings {
        let Pool { name, servers, on_down, replicas, timeout, placement, hash, more, second } = self;
        let second = if *second {
            "[[pool]]\nname = \"b\"\nlisten = \"127.0.0.2:0\"\nservers = [\"10.0.0.1:11211\"]\n"
        } else {
            ""
        };
        let text = format!(
            "threads = {THREADS}\n[[pool]]\nname = \"{name}\"\nlisten = \"127.0.0.1:0\"\nadmin = true\nservers = {servers:?}\n\
             on_down = \"{on_down}\"\nreplicas = {replicas}\ntimeout = \"{timeout} ms\"\nplacement = \"{placement}\"\nhash = \"{hash}\"\n\
             {more}\n{second}"
        );
        Settings::of_file("case.toml", &text).unwrap()
    }
}

/// A front end under load, and its settings.
struct Operated {
    case: Case,
    pool: Pool,
}

impl Operated {
    fn new(seed: u64, pool: &Pool) -> Operated {
        Operated { case: Case::with(seed, &pool.settings(), None), pool: pool.clone() }
    }

    /// A reload.
    fn reloads(&mut self, change: impl FnOnce(&mut Pool)) {
        change(&mut self.pool);
        let (case, new) = (&mut self.case, self.pool.settings());
        let old = case.shared.edition().settings.clone();
        old.check_reload(&new).unwrap();
        let all_up = case.shared.phases(0).iter().all(|phase| *phase == "up");
        // Where keys are, and where they would be if servers failed: docs/failover.md promises nothing about old values after a change of that.
        let places = [&old, &new].map(|settings| {
            let (pool, router) = (&settings.pools[0], settings.pools[0].router());
            let most = if all_up { pool.replicas } else { pool.servers.len() };
            let names = move |number: usize| {
                let first = router.first_servers(key(number).as_bytes(), most);
                first.iter().map(|server| pool.servers[*server].weighted.name.clone()).collect::<Vec<_>>()
            };
            (0..KEYS).map(names).collect::<Vec<_>>()
        });
        let replicas = [&old, &new].map(|settings| settings.pools[0].replicas);
        let moves = |number: usize| replicas[0] != replicas[1] || places[0][number] != places[1][number];
        for (number, loose) in case.loose.iter_mut().enumerate() {
            *loose |= moves(number);
        }
        case.may_show_leases |= replicas != [1, 1] && (0..KEYS).any(moves);
        case.shared.replace_settings(&new, 100);
    }

    /// A server of the pool, by its number.
    fn server(&mut self) -> usize {
        let pool = &self.case.shared.edition().settings.pools[0];
        number(pool.servers.choose(&mut self.case.random).unwrap())
    }

    /// A server that may fail now: docs/failover.md promises nothing for one that fails again with requests of connections that were reset, and
    /// nobody has the keys if all fail.
    fn server_to_fail(&mut self) -> Option<usize> {
        let server = self.server();
        let is_impaired = |server: &&Server| server.stopped || server.down;
        let others = self.case.servers.iter().filter(is_impaired).count();
        (others < 2 && self.case.servers[server].late.is_empty()).then_some(server)
    }

    /// A thread of the front end panics and is restarted; its clients connect again. Nobody notes the changes that it had in flight.
    fn thread_panics(&mut self) {
        let case = &mut self.case;
        case.may_show_leases |= self.pool.replicas > 1;
        for client in &case.threads[0].clients {
            match &client.waits {
                Some((Waits::Written(number, ..), _)) => case.loose[*number] = true,
                Some((Waits::Flushed(_), _)) => case.has_failed_change = true,
                _ => {}
            }
        }
        let thread = &mut case.threads[0];
        thread.world.borrow_mut().connections.iter_mut().for_each(|connection| connection.closed = true);
        case.gathers_late();
        let Thread { front, world, mut clients, talks } = case.threads.remove(0);
        drop(front);
        let stop = Arc::new(AtomicBool::new(false));
        let front = Front::new(Scripted(world.clone()), case.shared.clone(), 0, stop, [7; 32], None);
        for client in &mut clients {
            *client = Client { connection: world.borrow_mut().client(1 << 30), waits: None };
        }
        case.threads.insert(0, Thread { front, world, clients, talks });
    }

    fn happens(&mut self, action: &Action) {
        match action.does {
            Does::Simulated(does) => does(self),
            Does::Tested(_) => unreachable!("{}", action.name),
        }
    }

    /// Everything works again: all servers come back into use, and everything is answered.
    fn settles(&mut self) {
        let case = &mut self.case;
        (0..SERVERS).for_each(|server| case.recovers(server));
        // Without failover, nothing shows when each thread has tried again, which is every 2 s at least.
        let least = if case.shared.edition().settings.pools[0].fails_over() { 10 } else { 45 };
        for pass in 0..160 {
            case.passes(50 * MS);
            (0..4 * SERVERS).for_each(|_| case.executes_late(if pass < 4 { 0.02 } else { 1.0 }));
            for thread in 0..THREADS {
                case.serves_all(thread, None);
                case.hears(thread);
            }
            let is_up = case.shared.phases(0).iter().all(|phase| *phase == "up");
            let waits = case.threads.iter().flat_map(|thread| &thread.clients).any(|client| client.waits.is_some());
            let owes = case.servers.iter().any(|server| !server.late.is_empty() || !server.ending.is_empty());
            if pass > least && is_up && !waits && !owes {
                case.has_failed_change = false;
                return;
            }
        }
        let of = |client: &Client| match &client.waits {
            Some((Waits::Read(keys), _)) => format!("reads {} keys", keys.len()),
            Some((Waits::Written(key, ..), _)) => format!("writes {key}"),
            Some((Waits::Flushed(_), _)) => "flushes".to_owned(),
            None => "has everything".to_owned(),
        };
        let clients: Vec<String> = case.threads.iter().flat_map(|thread| &thread.clients).map(of).collect();
        let owed: Vec<_> = case.servers.iter().map(|server| (server.late.len(), server.ending.len())).collect();
        panic!("it does not settle: {:?}, {clients:?}, late and ending requests {owed:?}", case.shared.phases(0));
    }

    /// A server fails, and is replaced if the settings say so.
    fn replaces_a_server(&mut self) {
        let case = &mut self.case;
        let server = case.servers_of_keys()[0];
        case.servers[server].stopped = true;
        case.writes(0, 1);
        if self.pool.on_down != "next" && self.pool.replicas == 1 {
            case.runs("it is down", |case| case.answer(1, "get 0-key\r\n").contains("is down") || is_miss(case));
            let servers = case.servers_of_keys();
            for number in (0..KEYS).filter(|number| servers[*number] != server) {
                assert_eq!(case.answer(1, &format!("set {} 0 0 1\r\n2\r\n", key(number))), "STORED\r\n");
            }
            return;
        }
        case.runs("it has left", |case| case.phase_of(server) == "away");
        for thread in 0..THREADS {
            assert_eq!(case.writes(thread, 2), ["STORED\r\n"; KEYS]);
        }
    }
}

/// Whether a get of a key misses.
fn is_miss(case: &mut Case) -> bool {
    case.answer(0, "get 0-key\r\n") == "END\r\n"
}

/// Carries out a sequence of actions.
fn runs_through(seed: u64, pool: &Pool, actions: &[&Action]) {
    let mut operated = Operated::new(seed, pool);
    operated.case.happens(100, 0);
    for action in actions {
        operated.happens(action);
        let events = operated.case.random.random_range(0..150);
        operated.case.happens(events, 0);
    }
    operated.settles();
    let before = operated.case.errors;
    operated.case.happens(100, 0);
    assert_eq!(operated.case.errors, before, "nothing fails when everything works");
    operated.settles();
    operated.replaces_a_server();
}

fn fails(seed: u64, pool: &Pool, actions: &[&Action]) -> bool {
    catch_unwind(AssertUnwindSafe(|| runs_through(seed, pool, actions))).is_err()
}

/// Carries out a sequence, and prints the shortest part of it that fails.
fn check(seed: u64, pool: &Pool, actions: &[&Action]) {
    if !fails(seed, pool, actions) {
        return;
    }
    let mut shortest = actions.to_vec();
    while let Some(place) = (0..shortest.len()).find(|place| {
        let mut shorter = shortest.clone();
        shorter.remove(*place);
        fails(seed, pool, &shorter)
    }) {
        shortest.remove(place);
    }
    let names: Vec<&str> = shortest.iter().map(|action| action.name).collect();
    panic!("{names:?} fail with seed {seed} and {pool:?}");
}

fn pools() -> [Pool; 3] {
    [Pool::new("next", 1), Pool::new("error", 2), Pool::new("error", 1)]
}

fn simulated() -> Vec<&'static Action> {
    ACTIONS.iter().filter(|action| matches!(action.does, Does::Simulated(_))).collect()
}

/// Every third pair with one of the pools, so that each pair is carried out once.
fn pairs(of: usize) {
    let (actions, pool) = (simulated(), &pools()[of]);
    for (one, first) in actions.iter().enumerate() {
        for (other, second) in actions.iter().enumerate().filter(|(other, _)| (one + other) % pools().len() == of) {
            check((one * actions.len() + other) as u64, pool, &[first, second]);
        }
    }
}

#[test]
fn pairs_of_actions_with_the_next_server() {
    pairs(0);
}

#[test]
fn pairs_of_actions_with_replicas() {
    pairs(1);
}

#[test]
fn pairs_of_actions_with_errors() {
    pairs(2);
}

#[test]
fn random_sequences_of_actions() {
    let (actions, pools) = (simulated(), pools());
    each_case(30, |case| {
        let mut random = StdRng::seed_from_u64(case);
        let count = random.random_range(2..=6);
        let sequence: Vec<&Action> = (0..count).map(|_| *actions.choose(&mut random).unwrap()).collect();
        check(case, pools.choose(&mut random).unwrap(), &sequence);
        [count]
    });
}
