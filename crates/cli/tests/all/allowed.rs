//! The upper bound of the closed form against random runs of every workload that it covers: no run exceeds it, and unhindered runs come
//! close.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use fanin_lab::stats::mean;
use fanin_lab::{allowed_mbps, plan};
use fanin_spec::Scenario;
use fanin_tables::RunTables;

const CASES: u64 = 400;
const SEEDS: u64 = 4;
const MANY: u64 = 200;
const ROUNDING: f64 = 1e-9;

/// Draws of one case (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }

    fn often(&mut self, in_ten: u64) -> bool {
        self.next() % 10 < in_ten
    }
}

const SCHEMES: [&str; 7] = ["newreno", "dctcp", "cubic", "newreno+m21", "newreno+gss", "ictcp", "newreno+red+ecn"];
const ASKING: [&str; 5] = ["one-all", "sicc", "ictcp-window", "tsw", "dctcp"];

/// A scenario of one point. Returns also whether it draws values for which the bound uses the mean.
fn scenario(draws: &mut Draws) -> (String, bool) {
    let kind = draws.one_of(&["barrier", "barrier", "barrier", "web-search", "one-shot", "long", "key_value"]);
    let scheme = if kind == "key_value" { draws.one_of(&ASKING) } else { draws.one_of(&SCHEMES) };
    let fan_in = draws.one_of(&[1, 2, 3, 8, 20, 40]);
    let mut text = format!(
        "schemes = [\"{scheme}\"]\n[link]\nrate = \"{}\"\ndelay = \"{} us\"\n[tcp]\nprofile = \"{}\"\nrto_min = \"10 ms\"\n",
        draws.one_of(&["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]),
        draws.one_of(&[1, 5, 25, 200]),
        draws.one_of(&["none", "linux"]),
    );
    if draws.often(1) {
        writeln!(text, "receive_window = \"{}\"", draws.one_of(&["4 KiB", "64 KiB"])).unwrap();
    }
    writeln!(text, "[switch]\nbuffer = \"{}\"\n[host]", draws.one_of(&["64 KiB", "1 MiB", "16 MiB", "16 MiB"]))
        .unwrap();
    writeln!(text, "service_time = \"{} us\"", draws.one_of(&[0, 0, 20, 500])).unwrap();
    let mut drawn = kind == "key_value";
    match draws.often(5) {
        true => text.push_str("packet_jitter = \"none\"\n"),
        false => drawn = true,
    }
    if kind != "long" && draws.often(3) {
        writeln!(text, "service_jitter = \"{} us\"", draws.one_of(&[10, 100, 1_000])).unwrap();
        drawn = true;
    }
    if kind == "barrier" && draws.often(2) {
        let racks = "kind = \"leaf-spine\"\nhosts_per_rack = 10\nspines = 2\noversubscription = \"4:1\"";
        writeln!(text, "[fabric]\n{racks}").unwrap();
    }
    writeln!(text, "[workload]\nkind = \"{kind}\"\nduration = \"{} ms\"", draws.one_of(&[100, 300])).unwrap();
    if kind == "key_value" {
        objects(&mut text, draws);
    } else {
        if kind != "long" {
            let size = draws.one_of(&["100 B", "1500 B", "10 KB", "64 KiB", "300 KB"]);
            writeln!(text, "{} = \"{size}\"", draws.one_of(&["fragment", "fragment", "block"])).unwrap();
        }
        if draws.often(2) {
            writeln!(text, "start_jitter = \"{} us\"", draws.one_of(&[10, 200])).unwrap();
            drawn = true;
        }
    }
    if kind == "barrier" || kind == "web-search" {
        rounds(&mut text, draws, kind == "web-search");
    }
    writeln!(text, "[sweep]\nfan_in = [{fan_in}]").unwrap();
    (text, drawn)
}

/// Keys of workloads with rounds.
fn rounds(text: &mut String, draws: &mut Draws, queries: bool) {
    let mut set = |in_ten: u64, draws: &mut Draws, key: &str, values: &[&str]| {
        if draws.often(in_ten) {
            writeln!(text, "{key} = {}", draws.one_of(values)).unwrap();
        }
    };
    set(3, draws, "in_flight", &["1", "2", "4", "8"]);
    set(2, draws, "pause", &["\"100 us\"", "\"5 ms\"", "\"60 ms\""]);
    set(2, draws, "request", &["\"1 B\"", "\"1 KB\"", "\"20 KB\""]);
    set(2, draws, "request_gap", &["\"1 us\"", "\"20 us\""]);
    set(2, draws, "connections", &["\"new\"", "\"standing\""]);
    set(2, draws, "warm_up", &["\"2 rounds\"", "\"3 ms\""]);
    if draws.often(2) {
        let (clients, servers) = (draws.one_of(&[2, 5]), draws.one_of(&["same", "own", "others"]));
        writeln!(text, "clients = {clients}\nservers = \"{servers}\"").unwrap();
    }
    if queries {
        writeln!(text, "queries = {}", draws.one_of(&[1, 5, 30])).unwrap();
    }
}

fn objects(text: &mut String, draws: &mut Draws) {
    if draws.often(2) {
        writeln!(text, "pause = \"{}\"", draws.one_of(&["100 us", "5 ms"])).unwrap();
    }
    writeln!(text, "queries = {}", draws.one_of(&[10, 30])).unwrap();
    writeln!(
        text,
        "[key_value]\nobjects = 20000\nreplicas = 1\nper_request = {}\nleast = \"20 B\"\nmost = \"{}\"",
        draws.one_of(&[1, 10, 50, 300]),
        draws.one_of(&["20 B", "1 KB", "4 KB"])
    )
    .unwrap();
}

/// The goodputs of its seeds, the upper bound, and the runs; `None` if the scenario is invalid.
fn ran(text: &str, seeds: u64) -> Option<(Vec<f64>, Option<f64>, Vec<RunTables>)> {
    let text = format!("{text}[run]\nseeds = {seeds}\n");
    let scenario = Scenario::parse("random.toml", &text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let variant = scenario.variants().ok()?.remove(0);
    let specs = plan(std::slice::from_ref(&variant));
    let allowed = allowed_mbps(&variant.scheme, &specs[0].settings);
    let runs: Vec<RunTables> =
        specs.iter().map(|spec| fanin_simulate::run(spec, &AtomicBool::new(false)).unwrap()).collect();
    Some((runs.iter().map(RunTables::goodput_mbps).collect(), allowed, runs))
}

/// Whether no algorithm of its scheme limits it, with or without losses.
fn unhindered(text: &str) -> bool {
    ["newreno\"", "cubic\"", "dctcp\"", "one-all\""]
        .iter()
        .any(|scheme| text.starts_with(&format!("schemes = [\"{scheme}")))
}

/// Three standard errors under the mean.
fn least_mean(goodputs: &[f64]) -> f64 {
    let (n, average) = (goodputs.len() as f64, mean(goodputs).unwrap());
    let spread: f64 = goodputs.iter().map(|mbps| (mbps - average) * (mbps - average)).sum();
    average - 3.0 * (spread / (n * (n - 1.0))).sqrt()
}

#[test]
#[ignore = "takes half a minute: make check-long"]
fn unhindered_runs_come_close_to_the_upper_bound() {
    let (mut tried, mut free, mut near) = (0, 0, 0);
    for case in 0..CASES {
        let (text, drawn) = scenario(&mut Draws(case));
        let Some((goodputs, Some(allowed), runs)) = ran(&text, SEEDS) else { continue };
        tried += 1;
        let average = mean(&goodputs).unwrap();
        match drawn {
            // If one seed exceeds the bound, decide with many.
            true if average > allowed * (1.0 + ROUNDING) => {
                let least = least_mean(&ran(&text, MANY).expect("it was run").0);
                assert!(
                    least <= allowed * (1.0 + ROUNDING),
                    "case {case}: {least:.3} of {allowed:.3} Mbit/s at the least\n{text}"
                );
            }
            true => {}
            false => {
                let most = goodputs.iter().copied().fold(0.0, f64::max);
                assert!(most <= allowed * (1.0 + ROUNDING), "case {case}: {most:.3} of {allowed:.3} Mbit/s\n{text}");
            }
        }
        let still =
            |run: &RunTables| run.totals.drops + run.totals.timeouts + run.totals.stalls + run.totals.marks == 0;
        if unhindered(&text) && runs.iter().all(still) {
            free += 1;
            near += u32::from(average >= 0.8 * allowed);
            if average < 0.8 * allowed {
                eprintln!("case {case}: {average:.2} of {allowed:.2}\n{text}");
            }
        }
    }
    assert!(tried > CASES / 2 && free > CASES / 8, "{tried} tried, {free} of them free");
    assert!(f64::from(near) >= 0.9 * free as f64, "{near} of {free} runs that nothing hinders come near");
}

#[test]
fn one_persistent_connection_is_within_10_percent_of_the_bound() {
    for case in 0..60 {
        let mut draws = Draws(case);
        let text = format!(
            "schemes = [\"{}\"]\n[link]\nrate = \"{}\"\ndelay = \"{} us\"\n[host]\npacket_jitter = \"none\"\n\
             service_time = \"{} us\"\n[switch]\nbuffer = \"16 MiB\"\n[tcp]\ninitial_window = 200\n\
             [workload]\nfragment = \"{}\"\npause = \"{} us\"\nduration = \"100 ms\"\n[sweep]\nfan_in = [1]\n",
            draws.one_of(&["newreno", "cubic", "dctcp"]),
            draws.one_of(&["100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]),
            draws.one_of(&[1, 25, 200]),
            draws.one_of(&[0, 50]),
            draws.one_of(&["1 B", "1460 B", "3000 B", "64 KiB", "200 KB"]),
            draws.one_of(&[0, 300, 20_000]),
        );
        let (goodputs, allowed, _) = ran(&text, 1).expect("it can be run");
        let share = goodputs[0] / allowed.expect("a bound");
        assert!((0.9..=1.0 + ROUNDING).contains(&share), "case {case}: {share}\n{text}");
    }
}

/// Hosts with one to three links each, of different rates, so that a flow may have a fast or a slow one.
#[test]
fn no_run_over_several_links_exceeds_the_upper_bound() {
    const ANY: [&str; 8] = ["newreno", "dctcp", "cubic", "dcqcn", "nscc", "rccc", "eqds", "ndp"];
    let mut near = 0;
    for case in 0..120 {
        let mut draws = Draws(5_000 + case);
        let kind = draws.one_of(&["barrier", "one-shot", "long", "web-search"]);
        let size = match kind {
            "long" => String::new(),
            _ => format!("fragment = \"{}\"\n", draws.one_of(&["100 B", "20 KB", "300 KB"])),
        };
        let fan_in = draws.one_of(&[1, 2, 8, 20]);
        let mut edges = vec!["a core 100 Gbit/s".to_string(), "b core 100 Gbit/s".into(), "c core 100 Gbit/s".into()];
        for host in 0..=fan_in {
            let name = if host == 0 { "client".into() } else { format!("server{host}") };
            let links = draws.one_of(&[1, 2, 3]);
            edges.extend(
                (0..links).map(|_| {
                    format!("{name} {} {} Gbit/s", draws.one_of(&["a", "b", "c"]), draws.one_of(&[10, 10, 25]))
                }),
            );
        }
        let text = format!(
            "schemes = [\"{}\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"{} us\"\n[host]\npacket_jitter = \"none\"\n\
             [fabric]\nkind = \"edges\"\nedges = {edges:?}\n[switch]\nshared_buffer = \"64 MiB\"\n\
             [workload]\nkind = \"{kind}\"\n{size}duration = \"4 ms\"\nqueries = 3\n[sweep]\nfan_in = [{fan_in}]\n",
            ANY[case as usize % ANY.len()],
            draws.one_of(&[1, 5]),
        );
        let Some((goodputs, Some(allowed), _)) = ran(&text, 1) else { continue };
        let share = goodputs[0] / allowed;
        assert!(share <= 1.0 + ROUNDING, "case {case}: {share} of {allowed} Mbit/s\n{text}");
        near += u32::from(share > 0.8);
    }
    assert!(near > 20, "{near} come near");
}

/// RDMA and Ultra Ethernet, whose packets and first bytes differ from TCP's.
#[test]
fn no_transport_exceeds_the_upper_bound() {
    const WITHOUT_TCP: [&str; 9] =
        ["dcqcn", "dcqcn-window", "hpcc", "timely", "rdma-dctcp", "nscc", "rccc", "eqds", "ndp"];
    let mut near = 0;
    for case in 0..90 {
        let mut draws = Draws(1_000 + case);
        let kind = draws.one_of(&["barrier", "one-shot", "long", "web-search"]);
        let size = match kind {
            "long" => String::new(),
            _ => format!("fragment = \"{}\"\n", draws.one_of(&["100 B", "20 KB", "300 KB"])),
        };
        let text = format!(
            "schemes = [\"{}\"]\n[link]\nrate = \"{}\"\ndelay = \"{} us\"\n[host]\npacket_jitter = \"none\"\n[switch]\n\
             shared_buffer = \"32 MiB\"\n[workload]\nkind = \"{kind}\"\n{size}duration = \"4 ms\"\nqueries = 3\n[sweep]\nfan_in = [{}]\n",
            WITHOUT_TCP[case as usize % WITHOUT_TCP.len()],
            draws.one_of(&["10 Gbit/s", "100 Gbit/s"]),
            draws.one_of(&[1, 5]),
            draws.one_of(&[1, 2, 8, 20]),
        );
        let (goodputs, allowed, _) = ran(&text, 1).expect("it can be run");
        let share = goodputs[0] / allowed.expect("a bound");
        assert!(share <= 1.0 + ROUNDING, "case {case}: {share}\n{text}");
        near += u32::from(share >= 0.8);
    }
    assert!(near > 25, "{near} of 90 runs come near");
}
