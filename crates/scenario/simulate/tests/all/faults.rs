//! Packets that are lost, duplicated or delayed, and hosts that crash, return or slow down, under every workload.

use std::sync::atomic::AtomicBool;

use crate::common::small::{all_schemes, settings};
use crate::common::{but, run, run_as, spec};
use fanin_sim::{Departures, TapPoint};
use fanin_simulate::{begin, tap};
use fanin_spec::{Settings, Share};
use fanin_tables::{Engine, FaultRow, FlowRow, RunTables};
use fanin_transport::Bits;
use fanin_units::Time;
use proptest::prelude::*;

const MS: u64 = 1_000_000_000;

/// A shuffle between four hosts under faults.
fn shuffle(faults: &str) -> RunTables {
    let scenario = format!(
        "schemes = [\"newreno\"]\n[tcp]\nrto_min = \"10 ms\"\nrto_initial = \"20 ms\"\n[workload]\nkind = \"shuffle\"\n\
         fragment = \"2 MB\"\nduration = \"20 s\"\n[faults]\n{faults}\n"
    );
    run(&spec(&scenario, 3, 1))
}

fn sum(tables: &RunTables, what: fn(&FaultRow) -> u64) -> u64 {
    tables.faults.iter().map(what).sum()
}

/// Packets that hosts' ports accepted: all that hosts sent, if these ports dropped none.
fn sent(tables: &RunTables) -> u64 {
    tables.ports.iter().filter(|port| port.tier == "host up").map(|port| port.packets).sum()
}

/// Whether a count is within five standard deviations of a share of `of` draws.
fn is_share(found: u64, share: f64, of: u64) -> bool {
    let (mean, deviation) = (share * of as f64, (share * (1.0 - share) * of as f64).sqrt());
    (found as f64 - mean).abs() < 5.0 * deviation
}

#[test]
fn fault_shares_match_and_add_up() {
    let tables = shuffle("loss = 0.01\nduplication = \"2 %\"\nreordering = 0.05\nreordering_delay = \"50 us\"");
    assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "every flow ends");
    let n = sent(&tables);
    assert!(n > 10_000, "{n} packets");
    let (lost, twice, late) = (
        sum(&tables, |row| row.lost_packets),
        sum(&tables, |row| row.duplicated_packets),
        sum(&tables, |row| row.reordered_packets),
    );
    assert!(is_share(lost, 0.01, n), "{lost} of {n} lost");
    // A lost packet is neither duplicated nor delayed.
    assert!(is_share(twice, 0.02, n - lost) && is_share(late, 0.05, n - lost), "{twice} and {late} of {n}");
    let t = &tables.totals;
    assert_eq!(t.injected_packets + twice, t.delivered_packets + t.drops + lost + t.in_flight_packets);
    // Faults apply behind hosts' links only, once to each packet.
    assert!(tables.faults.iter().all(|row| row.port.ends_with(">switch")), "{:?}", tables.faults);
    assert_eq!(tables.faults.len(), 4);
}

#[test]
fn loss_is_independent_of_the_path() {
    let fabric = "[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\nplacement = \"spread\"";
    let tables = shuffle(&format!("loss = 0.01\n{fabric}"));
    let (lost, n) = (sum(&tables, |row| row.lost_packets), sent(&tables));
    assert!(is_share(lost, 0.01, n), "{lost} of {n} lost");
}

#[test]
fn ineffective_faults_change_nothing() {
    let tables = |faults| RunTables { engine: Engine::default(), ..shuffle(faults) };
    let plain = tables("");
    assert_eq!(plain, tables("hosts = [\"1000 s server1 crashes\"]"));
    assert_eq!(plain, tables("hosts = [\"1 ms server1 slows to 1\"]\nreordering_delay = \"1 ms\""));
    assert!(plain.faults.is_empty());
}

#[test]
fn duplication_is_independent_of_reordering() {
    // A host sends its first hundred packets before it hears of any loss: a handshake takes 4 ms, the packets 1.2 ms more.
    let scenario = |faults: &str| {
        format!(
            "schemes = [\"newreno\"]\n[tcp]\ninitial_window = 100\n[workload]\nkind = \"long\"\nduration = \"7 ms\"\n\
             [link]\ndelay = \"1 ms\"\n[switch]\nbuffer = \"1 MB\"\n[faults]\n{faults}\n"
        )
    };
    let twice = |faults: &str| {
        let tables = run(&spec(&scenario(faults), 1, 3));
        tables.faults.iter().find(|row| row.port == "server1>switch").map(|row| row.duplicated_packets)
    };
    assert_eq!(twice("duplication = 0.3"), twice("duplication = 0.3\nreordering = 0.3"));
    assert!(twice("duplication = 0.3") > Some(20));
}

/// When flows from or to a host ended, in ps.
fn ends(tables: &RunTables, host: u32) -> Vec<u64> {
    let of = |flow: &&FlowRow| flow.from_host == host || flow.to_host == host;
    tables.flows.iter().filter(of).filter_map(|flow| Some(flow.start_ps + flow.fct_ps?)).collect()
}

#[test]
fn crashed_host_delivers_nothing() {
    let tables = shuffle("hosts = [\"8 ms server2 crashes\"]");
    let t = &tables.totals;
    // Packets on the wire arrive within the time of two links.
    assert!(ends(&tables, 2).iter().all(|&end| end < 8 * MS + MS / 5), "{:?}", ends(&tables, 2));
    assert!(tables.flows.iter().filter(|flow| flow.from_host != 2 && flow.to_host != 2).all(|f| f.fct_ps.is_some()));
    assert_eq!((t.rounds, t.rounds_open, t.measured_ps), (0, 1, 20_000 * MS));
    let crashed = sum(&tables, |row| row.crashed_packets);
    assert!(crashed > 0);
    assert_eq!(t.injected_packets, t.delivered_packets + t.drops + crashed + t.in_flight_packets);
    let places: Vec<&str> = tables.faults.iter().map(|row| row.port.as_str()).collect();
    assert_eq!(places, ["switch>server2", "server2>switch"], "what came for it, and what waited in its port");
}

/// Two servers send to a client that crashes in the middle and returns.
const ONE_SHOT: &str = "schemes = [\"newreno\"]\n[tcp]\nrto_min = \"10 ms\"\nrto_initial = \"20 ms\"\n[workload]\n\
                        kind = \"one-shot\"\nfragment = \"2 MB\"\nduration = \"2 s\"\n[faults]\n";

#[test]
fn returned_host_resets_its_senders() {
    let hosts = "hosts = [\"10 ms client crashes\", \"100 ms client returns\"]";
    let spec = spec(&format!("{ONE_SHOT}{hosts}"), 2, 1);
    let point = TapPoint::Port("client>switch".into());
    let (tables, caught) = tap(&spec, &point, &AtomicBool::new(false)).unwrap().unwrap();
    let late: Vec<_> = caught.iter().filter(|one| one.time > Time::from_millis(10)).collect();
    assert_eq!(late.len(), 2, "a host that is down says nothing, and one that returns answers each once");
    assert!(late.iter().all(|one| one.packet.bits.any(Bits::BREAKS) && one.time > Time::from_millis(100)));
    let mut simulation = begin(&spec);
    simulation.until(Time::from_millis(400));
    assert_eq!(simulation.totals().injected_packets, tables.totals.injected_packets, "nothing is sent after that");
    assert_eq!(simulation.totals().timeouts, tables.totals.timeouts);
    assert!(tables.totals.timeouts > 0 && tables.totals.rounds_open == 1);
}

#[test]
fn requests_to_down_hosts_complete_after_return() {
    let hosts = "hosts = [\"0 s client crashes\", \"100 ms client returns\"]";
    let tables = run(&spec(&format!("{ONE_SHOT}{hosts}"), 2, 1));
    assert!(tables.flows.iter().all(|flow| flow.fct_ps > Some(100 * MS)), "{:?}", tables.flows);
    assert_eq!(tables.totals.rounds, 1);
}

#[test]
fn slow_host_scales_rate_and_work() {
    let long = |faults: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[workload]\nkind = \"long\"\nduration = \"2 s\"\n[faults]\nhosts = [{faults}]\n"
        );
        run(&spec(&scenario, 1, 1)).goodput_mbps()
    };
    let (whole, slow) = (long(""), long("\"1 s server1 slows to 0.1\""));
    assert!(whole > 900.0 && (0.5..0.65).contains(&(slow / whole)), "{whole} and {slow} Mbit/s");
    let healed = long("\"0 s server1 slows to 0.1\", \"1 s server1 slows to 1\"");
    assert!((0.45..0.6).contains(&(healed / whole)), "{healed} of {whole} Mbit/s");
    // A request of about 0.1 ms, then 20 ms of work for a tiny response.
    let barrier = |hosts: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[host]\nservice_time = \"2 ms\"\n[workload]\nfragment = \"1 KB\"\n\
             request = \"64 B\"\nduration = \"200 ms\"\n[faults]\nhosts = [{hosts}]\n"
        );
        let tables = run(&spec(&scenario, 2, 1));
        let times = tables.queries.iter().filter_map(|query| query.qct_ps);
        times.skip(1).min().unwrap_or(0) as f64 / MS as f64
    };
    let (usual, slow) = (barrier(""), barrier("\"0 s server2 slows to 0.1\""));
    assert!((2.0..2.5).contains(&usual) && (20.0..20.6).contains(&slow), "{usual} and {slow} ms");
}

#[test]
fn slow_host_scales_new_link_rate() {
    let goodput = |changes: &str, hosts: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[fabric]\nchanges = [{changes}]\n[workload]\nkind = \"long\"\nduration = \"2 s\"\n\
             [faults]\nhosts = [{hosts}]\n"
        );
        run(&spec(&scenario, 1, 1)).goodput_mbps()
    };
    let (slow, change) = ("\"0 s server1 slows to 0.5\"", "\"1 ms server1 switch 200 Mbit/s\"");
    let (one, other) = (goodput(change, slow), goodput(change, "\"2 ms server1 slows to 0.5\""));
    assert!((85.0..100.0).contains(&one) && (85.0..100.0).contains(&other), "{one} and {other} Mbit/s");
}

#[test]
fn barrier_with_a_dead_server_ends() {
    let barrier = |faults: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[tcp]\nrto_max = \"2 s\"\n[workload]\nfragment = \"64 KiB\"\nduration = \"1 s\"\n\
             [faults]\n{faults}\n"
        );
        run(&spec(&scenario, 4, 1)).totals
    };
    // Once before its connections are opened, once during a round.
    let never = barrier("hosts = [\"0 s server3 crashes\"]");
    assert_eq!((never.rounds, never.measured_ps), (0, 0));
    let hangs = barrier("hosts = [\"500 ms server3 crashes\"]");
    assert!(hangs.rounds > 10 && hangs.rounds_open == 1 && hangs.measured_ps == 1_000 * MS, "{hangs:?}");
    assert_eq!(barrier("loss = 1").delivered_packets, 0);
}

/// Faults within the first 20 ms of a network with `hosts` hosts.
fn faults(hosts: u32) -> impl Strategy<Value = fanin_spec::Faults> {
    let share = || prop_oneof![Just(Share::of(0, 1)), (1u32..30).prop_map(|n| Share::of(n, 100))];
    let host = (0..hosts, 0u32..20_000, prop::option::of(1u32..20_000), prop::option::of(1u32..9));
    let texts = prop::collection::btree_map(0..hosts, host, 0..3).prop_map(|of| {
        let mut texts = Vec::new();
        for (number, (_, at, returns, pace)) in of {
            let name = if number == 0 { "client".to_string() } else { format!("server{number}") };
            texts.extend(pace.map(|pace| format!("{} us {name} slows to {pace}/9", at / 2)));
            texts.push(format!("{at} us {name} crashes"));
            texts.extend(returns.map(|after| format!("{} us {name} returns", at + after)));
        }
        texts
    });
    (share(), share(), share(), 1u64..2_000, texts).prop_map(|(loss, duplication, reordering, us, hosts)| {
        let reordering_delay = Time::from_micros(us);
        fanin_spec::Faults { loss, duplication, reordering, reordering_delay, hosts }
    })
}

fn faulty() -> impl Strategy<Value = (Settings, u32)> {
    settings().prop_flat_map(|(settings, fan_in)| {
        faults(fan_in + 1).prop_map(move |faults| {
            let mut settings = settings.clone();
            settings.faults = faults;
            // Rounds that cannot complete stay open until the end.
            settings.workload.duration = settings.workload.duration.min(Time::from_millis(10_000));
            (settings, fan_in)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..fanin_testing::cases(12) })]

    #[test]
    fn faulty_runs_are_consistent(
        (settings, fan_in) in faulty(),
        seed: u64,
        step_us in 100u64..5_000,
    ) {
        // Every run checks conservation.
        for spec in all_schemes(&settings, fan_in, seed) {
            let tables = run(&spec);
            prop_assert_eq!(&tables, &run(&spec), "{}", spec.label);
            let lazy = run_as(&spec, Departures::Lazy);
            prop_assert_eq!(
                (&tables.totals, &tables.flows, &tables.faults), (&lazy.totals, &lazy.flows, &lazy.faults), "{}", spec.label
            );
            let mut simulation = begin(&spec);
            (1..20).for_each(|step| simulation.until(Time::from_micros(step * step_us)));
            let middle = simulation.totals();
            simulation.until(Time::NEVER);
            prop_assert!(middle.injected_packets <= tables.totals.injected_packets);
            prop_assert_eq!(simulation.finish(), Ok(tables), "{}", spec.label);
        }
    }

    #[test]
    fn interrupted_faulty_run_adds_up((settings, fan_in) in faulty(), seed: u64, at_us in 0u64..30_000) {
        for spec in all_schemes(&settings, fan_in, seed) {
            let mut simulation = begin(&spec);
            simulation.until(Time::from_micros(at_us));
            prop_assert!(simulation.finish().is_ok(), "{}", spec.label);
        }
    }
}

#[test]
fn warm_up_excludes_fault_counts() {
    let scenario = "schemes = [\"newreno\"]\n[workload]\nkind = \"long\"\nduration = \"500 ms\"\n\
                    [faults]\nloss = 0.001\nduplication = 0.1\n";
    let whole = spec(scenario, 2, 1);
    let half = but(&whole, |s| {
        s.workload.warm_up.0 = Some(fanin_spec::WarmUp::For(Time::from_millis(250)));
        s.workload.duration = Time::from_millis(250);
    });
    let (whole, half) = (run(&whole), run(&half));
    assert!(half.totals.injected_packets < whole.totals.injected_packets * 2 / 3);
    let twice = |tables: &RunTables| sum(tables, |row| row.duplicated_packets);
    assert!(
        (0.3..0.7).contains(&(twice(&half) as f64 / twice(&whole) as f64)),
        "{} of {}",
        twice(&half),
        twice(&whole)
    );
}
