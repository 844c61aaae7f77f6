//! A run on several cores: the tables of one core, byte for byte.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::small::{all_schemes, settings_of};
use crate::common::{run, spec, specs};
use fanin_sim::{Reached, Team};
use fanin_simulate::{one_core, run_in_parts};
use fanin_spec::{FabricKind, Kind, Optional, RunSpec, Settings, WarmUp};
use fanin_tables::{RunError, RunTables};
use fanin_units::Time;
use proptest::prelude::*;

/// One thread per part.
struct Threads;

impl Team for Threads {
    fn together<'a>(&self, others: Vec<Box<dyn FnOnce() + Send + 'a>>, lead: &mut dyn FnMut()) {
        thread::scope(|scope| {
            others.into_iter().for_each(|other| drop(scope.spawn(other)));
            lead();
        });
    }
}

fn on(cores: usize, spec: &RunSpec) -> RunTables {
    let cores = NonZeroUsize::new(cores).expect("some");
    run_in_parts(spec, cores, &Threads, &AtomicBool::new(false), &mut |_| ())
        .unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// The same hosts at one switch, or in racks, close enough that parts exchange packets often.
fn in_racks(mut s: Settings, fan_in: u32) -> Settings {
    let (racks, hosts) = (2 + fan_in % 4, fan_in + 1 + s.workload.background);
    if !fan_in.is_multiple_of(7) {
        s.fabric.kind = FabricKind::LeafSpine;
        s.fabric.racks = Optional(Some(racks));
        s.fabric.hosts_per_rack = Optional(Some(hosts.div_ceil(racks)));
        s.fabric.spines = Optional(Some(1 + fan_in % 3));
    }
    s.link.delay = s.link.delay.max(Time::from_micros(1));
    s
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..fanin_testing::cases(12) })]

    #[test]
    fn several_cores_give_the_same_tables(
        (settings, fan_in) in settings_of(vec![Kind::Flows, Kind::Poisson, Kind::Shuffle, Kind::OneShot, Kind::AllReduce, Kind::AllToAll]), seed: u64, cores in 2usize..5,
        warm_up in prop::option::of(1u64..3_000),
    ) {
        let mut settings = in_racks(settings, fan_in);
        if settings.workload.kind == Kind::Poisson {
            // The network is sampled when the measured time begins.
            settings.workload.warm_up = Optional(warm_up.map(|us| WarmUp::For(Time::from_micros(us))));
        }
        for spec in all_schemes(&settings, fan_in, seed) {
            let depends = matches!(settings.workload.kind, Kind::AllReduce | Kind::AllToAll)
                && (!settings.connections_stand() || settings.workload.in_flight.0.is_some());
            if !spec.scheme.sets_receive_windows() && !spec.scheme.m21 && !depends {
                prop_assert_eq!(one_core(&spec), None);
            }
            prop_assert_eq!(on(cores, &spec), run(&spec), "{}", spec.label);
        }
    }
}

#[test]
fn busy_parts_run_on_threads() {
    let text = "schemes = [\"newreno\", \"dctcp\", \"codel\", \"gss\"]\n[fabric]\nkind = \"leaf-spine\"\nracks = 5\nhosts_per_rack = 8\nspines = 3\n\
        [link]\nrate = \"10 Gbit/s\"\ndelay = \"20 us\"\n[switch]\nbuffer = \"60 packets\"\n[tcp]\nprofile = \"linux\"\n\
        [workload]\nkind = \"shuffle\"\nfragment = \"30 KB\"\nstart_jitter = \"1 ms\"\n";
    for spec in specs(text, 39, 5) {
        assert_eq!(one_core(&spec), None);
        let one = run(&spec);
        for cores in [2, 3] {
            assert_eq!(on(cores, &spec), one, "{}", spec.label);
        }
    }
}

/// On one core and on two, a run tells how far it is, and can be stopped.
#[test]
fn tells_how_far_it_is() {
    let text = "schemes = [\"dctcp\", \"hpcc\", \"nscc\"]\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 8\nspines = 2\n\
        [link]\ndelay = \"5 us\"\n[workload]\nkind = \"all-reduce\"\nfragment = \"8 MB\"\nqueries = 1\n";
    for spec in specs(text, 15, 1) {
        for cores in [1, 2].map(|cores| NonZeroUsize::new(cores).expect("some")) {
            let mut told: Vec<Reached> = Vec::new();
            let never = AtomicBool::new(false);
            let tables = run_in_parts(&spec, cores, &Threads, &never, &mut |reached| told.push(reached()));
            let totals = tables.unwrap_or_else(|failure| panic!("{failure:?}")).totals;
            let label = format!("{} on {cores}: {} times", spec.label, told.len());
            assert!(told.len() > 3, "{label}");
            assert!(
                told.windows(2).all(|two| two[0].now <= two[1].now && two[0].data_packets <= two[1].data_packets),
                "{label}"
            );
            let last = told[told.len() - 1].data_packets as f64 / totals.data_packets as f64;
            assert!((0.7..=1.3).contains(&last), "{label}, and then {last}");
            let stop = AtomicBool::new(false);
            let stopped = run_in_parts(&spec, cores, &Threads, &stop, &mut |_| stop.store(true, Ordering::Relaxed));
            assert!(matches!(stopped, Err(RunError::Stopped)), "{label}");
        }
    }
}

#[test]
fn explains_runs_on_one_core() {
    let why = |text: &str| one_core(&spec(&format!("schemes = [\"dctcp\"]\n{text}"), 8, 1)).expect("on one core");
    let tree = "[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 3\nspines = 2\n";
    assert_eq!(
        why(&format!("{tree}[workload]\nkind = \"barrier\"\nfragment = \"9 KB\"\n")),
        "its rounds are counted over all clients"
    );
    assert_eq!(
        why(&format!("{tree}[link]\ndelay = \"100 ns\"\n[workload]\nkind = \"shuffle\"\nfragment = \"9 KB\"\n")),
        "packets take at least 772 ns from rack to rack, less than the 1000 ns that parts need between synchronizations"
    );
}
