//! Deterministic fault simulation with random schedules: hosts and links fail, hubs slow down, packets are lost, duplicated and delayed.
//! Every request of a front end that stays up ends by its deadline, with each object answered, missed or failed.
//!
//! A case is a seed, which determines scenario and run. `make test` runs a few hundred; `make torture` runs any number. A failing case
//! prints a command that replays it, and leaves its scenario under `target/`.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::common::{but, planned, run, spec};
use fanin_spec::{FanOut, Replica, Route, RunSpec, Windows};
use fanin_tables::{Engine, RequestRow, RunTables};

/// A sequence of random draws.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A case: its scenario and the expected results.
struct Case {
    number: u64,
    scenario: String,
    fan_in: u32,
    deadline_ms: u64,
    front_ends: u64,
    requests: u64,
    /// Whether a front end crashes.
    cut_off: bool,
    /// Whether no fault can cost an object its response.
    harmless: bool,
}

fn host(number: u64) -> String {
    if number == 0 { "client".into() } else { format!("server{number}") }
}

/// Hosts that crash, return and slow down, each at most once. Returns whether one of the first `front_ends` crashes.
fn hosts(draws: &mut Draws, hosts: u64, front_ends: u64) -> (String, bool) {
    let mut faults: Vec<(u64, u64, String)> = Vec::new();
    let mut cut_off = false;
    let span_us = [5_000, 50_000, 500_000][draws.below(3) as usize];
    let mut taken = Vec::new();
    for _ in 0..draws.below(5) {
        let number = draws.below(hosts);
        if taken.contains(&number) {
            continue;
        }
        taken.push(number);
        let at = draws.below(span_us);
        if draws.one_in(4) {
            let pace = draws.pick(&["0.5", "0.1", "0.01"]);
            faults.push((at, number, format!("{at} us {} slows to {pace}", host(number))));
            continue;
        }
        cut_off |= number < front_ends;
        faults.push((at, number, format!("{at} us {} crashes", host(number))));
        // A front end must return, or it never makes its requests.
        if number < front_ends || !draws.one_in(3) {
            let back = at + 1 + draws.below(span_us);
            faults.push((back, number, format!("{back} us {} returns", host(number))));
        }
    }
    faults.sort();
    let list: Vec<String> = faults.into_iter().map(|(_, _, fault)| format!("\"{fault}\"")).collect();
    (list.join(", "), cut_off)
}

/// A fabric, its number of hosts, and links that fail and recover.
fn fabric(draws: &mut Draws) -> (String, u64) {
    let (racks, a_rack) = (2 + draws.below(3), 3 + draws.below(3));
    let mut text = match draws.one_in(3) {
        true => "kind = \"fat-tree\"\narity = 4\n".to_string(),
        false => format!("kind = \"leaf-spine\"\nracks = {racks}\nhosts_per_rack = {a_rack}\nspines = 2\n"),
    };
    let (hosts, racks, pods, rack, spine) = match text.contains("fat-tree") {
        true => (16, 8, 4, "tor", "agg"),
        false => (racks * a_rack, racks, 1, "leaf", "spine"),
    };
    let mut changes = Vec::new();
    for _ in 0..draws.below(3) {
        let (at, back) = (draws.below(100_000), draws.below(200_000));
        let (from, to) = match draws.one_in(2) {
            true => {
                let number = draws.below(racks);
                // Each pod has two spines.
                (format!("{rack}{}", 1 + number), format!("{spine}{}", 1 + 2 * (number / (racks / pods))))
            }
            false => {
                let number = draws.below(hosts);
                (host(number), format!("{rack}{}", 1 + number / (hosts / racks)))
            }
        };
        changes.push((at, format!("\"{at} us {from} {to} down\"")));
        changes.push((at + 1 + back, format!("\"{} us {from} {to} up\"", at + 1 + back)));
    }
    changes.sort();
    let list: Vec<String> = changes.into_iter().map(|(_, change)| change).collect();
    writeln!(text, "changes = [{}]", list.join(", ")).expect("a text");
    (text, hosts)
}

fn case(number: u64) -> Case {
    let draws = &mut Draws(number);
    let scheme = FanOut::ALL[draws.below(FanOut::ALL.len() as u64) as usize].row().word;
    let (fabric, all) = fabric(draws);
    let front_ends = 1 + draws.below(3);
    let (hosts, cut_off) = hosts(draws, all, front_ends);
    let requests = 2 + draws.below(4);
    let per_request = 1 + draws.below(60);
    let deadline_ms = 100 + draws.below(900);
    let share = |draws: &mut Draws| *["0", "0", "0.001", "0.02"].get(draws.below(4) as usize).expect("one");
    let (loss, duplication, reordering) = (share(draws), share(draws), share(draws));
    let lookups = draws.pick(&["4", "10000"]);
    // `lookups` limits how often a refusing server is tried again.
    let harmless = hosts.is_empty() && !fabric.contains("down") && loss == "0" && lookups != "4";
    let overloaded = if scheme.starts_with("sicc") && draws.one_in(3) { "overloaded = 0.3\n" } else { "" };
    let scenario = format!(
        "schemes = [\"{scheme}\"]\n\n\
         [workload]\nkind = \"key_value\"\nqueries = {requests}\nconnections = \"{}\"\nduration = \"60 s\"\n\n\
         [key_value]\nobjects = 200\nreplicas = {}\nleast = \"20 B\"\nmost = \"{}\"\nper_request = {per_request}\n\
         missing = {}\nfront_ends = {front_ends}\ndeadline = \"{deadline_ms} ms\"\ntimeout = \"{} ms\"\n\
         tries = {}\nlookups = {lookups}\n{overloaded}\n\
         [tcp]\nrto_min = \"10 ms\"\nrto_initial = \"20 ms\"\nrto_max = \"200 ms\"\n\n\
         [switch]\nbuffer = \"{}\"\n\n[fabric]\n{fabric}\n\
         [faults]\nloss = {loss}\nduplication = {duplication}\nreordering = {reordering}\nreordering_delay = \"1 ms\"\n\
         hosts = [{hosts}]\n",
        draws.pick(&["standing", "new"]),
        1 + draws.below(3),
        draws.pick(&["100 B", "1000 B", "20 KB"]),
        draws.pick(&["0", "0.05"]),
        10 + draws.below(60),
        2 + draws.below(5),
        draws.pick(&["20 KB", "100 KB"]),
    );
    let (scenario, gives_up) = with_more(draws, &scenario);
    let harmless = harmless && !gives_up;
    let fan_in = all as u32 - 1;
    Case { number, scenario, fan_in, deadline_ms, front_ends, requests, cut_off, harmless }
}

/// Adds open-loop requests, servers that send objects sequentially, and a limit of retransmissions. Returns whether connections can be
/// given up.
fn with_more(draws: &mut Draws, scenario: &str) -> (String, bool) {
    let (within, most) = (draws.pick(&["none", "none", "20 ms"]), draws.pick(&["none", "none", "2"]));
    let server = draws.pick(&["parallel", "fifo", "reordered"]);
    let most = if most == "none" { "\"none\"" } else { most };
    let scenario =
        scenario.replace("[key_value]\n", &format!("[key_value]\nwithin = \"{within}\"\nserver = \"{server}\"\n"));
    (scenario.replace("[tcp]\n", &format!("[tcp]\nmax_retransmissions = {most}\n")), most == "2")
}

impl Case {
    /// The violation in a run's tables, if any.
    fn wrong(&self, tables: &RunTables) -> Option<String> {
        let of_row = |row: &RequestRow| {
            let ended = row.answered + row.missed + row.failed;
            match row.latency_ps {
                None if self.cut_off => None,
                None => Some("has not ended".to_string()),
                Some(_) if ended != row.objects => Some(format!("ended with {ended} of {} objects", row.objects)),
                // A deadline is a timer, so it is met to the picosecond.
                Some(took) if took > self.deadline_ms * 1_000_000_000 => Some(format!("took {took} ps")),
                Some(_) if self.harmless && row.failed > 0 => Some(format!("failed for {} objects", row.failed)),
                Some(_) => None,
            }
        };
        let ended = tables.requests.iter().filter(|row| row.latency_ps.is_some()).count() as u64;
        let wrong = tables.requests.iter().find_map(|row| Some(format!("request {} {}", row.request, of_row(row)?)));
        wrong.or_else(|| {
            let all = self.front_ends * self.requests;
            (ended != all).then(|| format!("{ended} of {all} requests have ended"))
        })
    }

    /// The case's run. In every third case, half of the objects are moved to the next server without a replica, by links or directly.
    fn spec(&self) -> RunSpec {
        let spec = spec(&self.scenario, self.fan_in, self.number);
        let windows = if self.number.is_multiple_of(2) { Windows::Kept } else { Windows::Anew };
        let spec = but(&spec, |s| s.key_value.windows = windows);
        if !self.number.is_multiple_of(3) {
            return spec;
        }
        let (servers, route) = (self.fan_in, if self.number.is_multiple_of(2) { Route::Links } else { Route::Direct });
        // Replicas in distinct racks stay so because no replica leaves its rack; then fewer are moved.
        let racks = fanin_assemble::racks(&spec);
        let spec = planned(&spec, |object, homes| {
            let next = 1 + homes[0] % servers;
            let may = object % 2 == 0 && !homes.contains(&next) && racks[next as usize] == racks[homes[0] as usize];
            if may { vec![(homes[0], next)] } else { Vec::new() }
        });
        but(&spec, |s| {
            (s.key_value.route, s.key_value.replica) = (route, Replica::Together);
        })
    }

    /// Runs the case, twice if `again`. Returns its sums, or the violation.
    fn run(&self, again: bool) -> Result<Sums, String> {
        let spec = self.spec();
        let tables = run(&spec);
        if let Some(wrong) = self.wrong(&tables) {
            return Err(wrong);
        }
        if again {
            let plain = |tables: RunTables| RunTables { engine: Engine::default(), ..tables };
            let same = plain(run(&spec)) == plain(tables.clone());
            if !same {
                return Err("a second run gave something else".into());
            }
        }
        Ok(Sums::of(&tables))
    }

    /// Returns the command that replays the case.
    fn replay(&self) -> String {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("case-{}.toml", self.number));
        std::fs::write(&path, &self.scenario).expect("the target directory takes a file");
        format!(
            "make torture CASES=1 FIRST={}; or its scenario: fanin compare {} --fan-in {} --seeds 1 --first-seed {}",
            self.number,
            path.display(),
            self.fan_in,
            self.number
        )
    }
}

/// Results of requests and objects.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    requests: u64,
    cut_off: u64,
    answered: u64,
    missed: u64,
    failed: u64,
}

impl Sums {
    fn of(tables: &RunTables) -> Sums {
        tables.requests.iter().fold(Sums::default(), |sums, row| Sums {
            requests: sums.requests + 1,
            cut_off: sums.cut_off + u64::from(row.latency_ps.is_none()),
            answered: sums.answered + row.answered,
            missed: sums.missed + row.missed,
            failed: sums.failed + row.failed,
        })
    }

    fn and(self, other: Sums) -> Sums {
        Sums {
            requests: self.requests + other.requests,
            cut_off: self.cut_off + other.cut_off,
            answered: self.answered + other.answered,
            missed: self.missed + other.missed,
            failed: self.failed + other.failed,
        }
    }
}

/// Runs cases; every tenth twice.
fn torture(first: u64, cases: u64) -> Sums {
    let (mut sums, mut failures) = (Sums::default(), 0);
    for number in first..first + cases {
        let case = case(number);
        let done = std::panic::catch_unwind(|| case.run(number % 10 == 0));
        match done.unwrap_or_else(|_| Err("it panicked".into())) {
            Ok(more) => sums = sums.and(more),
            Err(wrong) => {
                failures += 1;
                println!("case {number}: {wrong}\n  replay: {}", case.replay());
            }
        }
    }
    assert!(failures == 0, "{failures} of {cases} cases failed");
    sums
}

#[test]
fn requests_end_by_deadline_under_faults() {
    let sums = torture(0, 300);
    assert!(sums.answered > 10 * sums.failed && sums.missed > 0 && sums.failed > 0 && sums.cut_off > 0, "{sums:?}");
}

#[test]
fn waiting_hub_is_not_declared_dead() {
    // All of the first request's objects on server7, which is no hub's backup, have replicas elsewhere.
    let scenario = "schemes = [\"sicc\"]\n[workload]\nkind = \"key_value\"\nqueries = 1\nduration = \"10 s\"\n\
                    [key_value]\nobjects = 300\nper_request = 200\ntimeout = \"40 ms\"\ndeadline = \"1 s\"\n\
                    [fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 6\nspines = 2\n\
                    [faults]\nhosts = [\"1 ps server7 crashes\"]\n";
    let tables = run(&spec(scenario, 11, 3));
    let row = &tables.requests[0];
    assert_eq!((row.answered, row.failed), (200, 0));
    let took_ms = row.latency_ps.expect("it ends") / 1_000_000_000;
    assert!((20..40).contains(&took_ms), "{took_ms} ms");
}

#[test]
#[ignore = "takes minutes: make torture"]
#[expect(clippy::disallowed_methods, reason = "make sets the number of cases")]
fn under_many_schedules_of_faults() {
    let variable = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().expect("a number"));
    let (first, cases) = (variable("FIRST", 1_000), variable("CASES", 10_000));
    println!("{cases} cases from {first} on: {:?}", torture(first, cases));
}
