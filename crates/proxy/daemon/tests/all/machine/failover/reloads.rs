//! Reloads of pools whose servers fail.

use super::*;

const NEXT: &str = "on_down = \"next\"";
const REPLICAS: &str = "replicas = 2";

impl Case {
    /// The front end reads other settings.
    fn reloads(&mut self, servers: &[String], setting: &str) {
        let settings = settings(servers, setting);
        self.shared.edition().settings.check_reload(&settings).unwrap();
        self.shared.replace_settings(&settings, 100);
    }

    /// Phase of the server with this number, wherever the settings list it.
    pub(super) fn phase_of(&self, server: usize) -> &'static str {
        let edition = self.shared.edition();
        let numbers = edition.settings.pools[0].servers.iter().map(number);
        let place = numbers.into_iter().position(|number| number == server).unwrap();
        let (phase, pool) = (self.shared.phases(0)[place], &edition.pools[0]);
        assert_eq!(pool.uses(&pool.servers[place]), phase == "up", "the gauge");
        phase
    }

    /// The first server of each key.
    pub(super) fn servers_of_keys(&self) -> [usize; KEYS] {
        let pool = &self.shared.edition().settings.pools[0];
        let router = pool.router();
        std::array::from_fn(|of| number(&pool.servers[router.server(key(of).as_bytes())]))
    }

    /// Writes a version of every key by a thread; returns the responses.
    pub(super) fn writes(&mut self, thread: usize, version: u64) -> Vec<String> {
        let line = |number| format!("set {} 0 0 1\r\n{version}\r\n", key(number));
        (0..KEYS).map(|number| self.answer(thread, &line(number))).collect()
    }

    /// Reads every key by a thread; returns the values, as far as there are any.
    fn values(&mut self, thread: usize) -> Vec<String> {
        let text = |case: &mut Case, number| case.answer(thread, &format!("get {}\r\n", key(number)));
        let texts: Vec<String> = (0..KEYS).map(|number| text(self, number)).collect();
        texts.iter().filter_map(|text| text.lines().nth(1)).map(str::to_owned).collect()
    }

    /// Stops a server, and runs until it has left.
    fn loses(&mut self, server: usize) {
        self.servers[server].stopped = true;
        self.writes(0, 1);
        self.runs("it has left", |case| case.phase_of(server) == "away");
    }
}

/// Number of a server of the settings.
pub(super) fn number(server: &fanin_daemon::settings::Server) -> usize {
    let address = server.target.address.ip().unwrap().ip().to_string();
    address.rsplit('.').next().unwrap().parse::<usize>().unwrap() - 1
}

fn servers(listed: &[&str]) -> Vec<String> {
    listed.iter().map(|server| format!("10.0.0.{server}")).collect()
}

/// Three servers; the same, one more, one fewer, in another order, with another name and with another weight.
fn lists() -> Vec<Vec<String>> {
    let lists: [&[&str]; 6] = [
        &["1:11211", "2:11211", "3:11211"],
        &["1:11211", "2:11211", "3:11211", "4:11211"],
        &["1:11211", "2:11211"],
        &["3:11211", "1:11211", "2:11211"],
        &["1:11211", "2:11211", "3:11211:1 third"],
        &["1:11211", "2:11211:5", "3:11211"],
    ];
    lists.map(servers).into()
}

#[test]
fn servers_leave_and_return_after_any_reload() {
    let lists = lists();
    for (before, after) in [(NEXT, NEXT), (REPLICAS, REPLICAS), (NEXT, REPLICAS), (REPLICAS, NEXT), ("", NEXT)] {
        for list in &lists {
            let mut case = Case::with(0, &settings(&lists[0], before), None);
            case.writes(0, 0);
            case.reloads(list, after);
            // Once more, and after a failure.
            for round in 0..2 {
                println!("{before:?}, then {after:?} with {list:?}, failure {round}");
                let server = case.servers_of_keys()[0];
                case.loses(server);
                for thread in 0..THREADS {
                    assert_eq!(case.writes(thread, 2), ["STORED\r\n"; KEYS], "{before} {after} {list:?}");
                    assert!(case.values(1 - thread).iter().all(|value| value == "2"));
                }
                case.recovers(server);
                case.runs("it is in use again", |case| case.phase_of(server) == "up");
                for thread in 0..THREADS {
                    assert!(case.values(thread).iter().all(|value| value == "2"), "{before} {after} {list:?}");
                }
                case.reloads(&lists[0], after);
            }
            case.ends();
        }
    }
}

/// Keys that changed while a server was away have old values there, whatever is to happen with its keys from then on.
#[test]
fn server_that_is_away_at_a_reload_returns_without_old_values() {
    let list = &lists()[0];
    for (before, after) in [(NEXT, ""), (NEXT, "on_down = \"miss\""), (NEXT, NEXT), (REPLICAS, REPLICAS)] {
        for steps in 0..4 {
            let mut case = Case::with(0, &settings(list, before), None);
            case.writes(0, 0);
            let server = case.servers_of_keys()[0];
            case.loses(server);
            assert_eq!(case.writes(1, 2), ["STORED\r\n"; KEYS]);
            case.reloads(&[&list[1..], &list[..1]].concat(), after);
            // The second thread knows late.
            (0..steps).for_each(|_| case.serves_all(0, None));
            case.recovers(server);
            (0..steps).for_each(|_| case.serves_all(0, None));
            for thread in [1, 0, 1] {
                let values = case.values(thread);
                assert!(values.iter().all(|value| value == "2"), "{before}, then {after}: {values:?}");
            }
            case.runs("it is in use again", |case| case.shared.phases(0).iter().all(|phase| *phase == "up"));
            let values = case.values(0);
            assert!(values.iter().all(|value| value == "2"), "{before}, then {after}: {values:?}");
            assert_eq!(case.writes(0, 3), ["STORED\r\n"; KEYS]);
            // It fails again, as the settings say.
            case.reloads(list, before);
            case.loses(server);
            case.ends();
        }
    }
}

/// Two reloads between two looks of a thread: the server has a new state, which all threads use.
#[test]
fn server_that_is_removed_and_added_again_can_leave() {
    let list = &lists()[0];
    for setting in [NEXT, REPLICAS] {
        let mut case = Case::with(0, &settings(list, setting), None);
        case.writes(0, 0);
        let server = case.servers_of_keys()[0];
        let others: Vec<String> =
            list.iter().enumerate().filter(|(of, _)| *of != server).map(|(_, one)| one.clone()).collect();
        case.reloads(&others, setting);
        case.reloads(list, setting);
        case.loses(server);
        case.ends();
    }
}
