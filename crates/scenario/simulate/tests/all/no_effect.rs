//! Keys that a warning calls ineffective change no table; keys with a condition have an effect where it is met.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{plan_of, run};
use fanin_spec::{Base, Discipline, KeyDoc, RunSpec, Scenario, Scheme, Settings};

/// Small scenarios that together meet every condition of a key.
const BASES: [&str; 49] = [
    "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KiB\"\n",
    "schemes = [\"newreno\"]\n[tcp]\nsack = false\ndelayed_ack = 1\n[workload]\nkind = \"one-shot\"\nblock = \"900 KiB\"\n",
    "schemes = [\"newreno\"]\n[tcp]\ntail_loss_probe = true\nmax_ack_delay = \"3 ms\"\nrack = true\n[workload]\nkind = \"one-shot\"\nfragment = \"200 KiB\"\n[service]\nqueries_per_s = 2000\nfan_out = 2\n",
    "schemes = [\"d2tcp\"]\n[workload]\nkind = \"web-search\"\nfragment = \"300 KB\"\nqueries = 3\nclients = 2\ndeadline = \"5 ms\"\n[ecn_threshold]\nk = \"5 packets\"\n",
    "schemes = [\"newreno+red+ecn\"]\n[workload]\nkind = \"long\"\nload = 0.3\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 6\nspines = 1\n",
    "schemes = [\"newreno+red\"]\n[red]\ntarget_delay = \"100 us\"\n[workload]\nkind = \"long\"\n",
    "schemes = [\"newreno+red\"]\n[red]\ninstantaneous = true\nbyte_mode = true\n[workload]\nkind = \"shuffle\"\nfragment = \"64 KiB\"\n[faults]\nreordering = 0.1\n",
    "schemes = [\"cubic+gss\"]\n[host]\npacket_jitter = \"none\"\n[link]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[tcp]\nrto_initial = \"1 s\"\n[workload]\nkind = \"long\"\nduration = \"8 s\"\n",
    "schemes = [\"newreno+codel\"]\n[switch]\nbuffer = \"2 MB\"\n[codel]\ntarget = \"200 us\"\ninterval = \"2 ms\"\n[workload]\nkind = \"long\"\nduration = \"500 ms\"\n",
    "schemes = [\"newreno+m21\"]\n[workload]\nkind = \"mapreduce\"\nduration = \"60 s\"\n[mapreduce]\ninput = \"10 MB\"\nmaps = 40\nreduces = 20\nheartbeat = \"100 ms\"\ntasks_per_heartbeat = 9\n",
    "schemes = [\"newreno\"]\n[link]\nclient_rate = \"200 Mbit/s\"\n[tcp]\nrack = true\ncut_window = true\nbyte_counting = true\nidle_restart = true\n[workload]\nfragment = \"32 KiB\"\nrequest_gap = \"300 us\"\nduration = \"1 s\"\n",
    // Slow starts that HyStart ends.
    "schemes = [\"cubic\"]\n[cubic]\nvariant = \"linux\"\n[tcp]\nrack = true\nrtt_variance = \"linux\"\ntimestamps = true\nbyte_counting = true\n[workload]\nfan_in = 3\nfragment = \"128 KiB\"\nduration = \"100 ms\"\n",
    // Clocks with ticks, and losses that timers repair.
    "schemes = [\"newreno\"]\n[switch]\nbuffer = \"20 KB\"\n[tcp]\nrack = true\ntick = \"4 ms\"\n[workload]\nfan_in = 5\nfragment = \"32 KiB\"\nduration = \"300 ms\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 2\nspines = 1\n",
    "schemes = [\"newreno+ictcp\"]\n[workload]\nfragment = \"256 KiB\"\n",
    // More connections than the budget has segments, and a pause between their requests.
    "schemes = [\"newreno+grants\"]\n[workload]\nfan_in = 40\nfragment = \"32 KiB\"\nrequest_gap = \"300 us\"\nduration = \"300 ms\"\n",
    "schemes = [\"newreno\"]\n[switch]\nshared_buffer = \"60 KB\"\n[workload]\nfragment = \"256 KiB\"\n",
    // Hubs whose racks can pass on queries, and fewer senders than hubs.
    "schemes = [\"sicc\"]\n[sicc]\nperiod = \"1 ms\"\n[switch]\nbuffer = \"10 KB\"\n[key_value]\nper_request = 400\nobjects = 500\noverloaded = 0.3\n[workload]\nkind = \"key_value\"\nqueries = 5\n[link]\nrate = \"100 Mbit/s\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 2\nspines = 1\n",
    "schemes = [\"sicc-nssc\"]\n[sicc]\nbound = \"fixed\"\nhubs = 1\n[key_value]\nper_request = 200\nobjects = 500\n[workload]\nkind = \"key_value\"\nqueries = 5\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 2\nspines = 1\n",
    // Servers that refuse.
    "schemes = [\"sw\"]\n[sliding_window]\ninitial = 2\n[key_value]\nper_request = 30\nmost = \"20 KB\"\nlookups = 1\n[workload]\nkind = \"key_value\"\nqueries = 5\n[host]\nservice_time = \"50 us\"\n[link]\nrate = \"100 Mbit/s\"\n",
    "schemes = [\"ictcp-window\"]\n[key_value]\nper_request = 300\n[workload]\nkind = \"key_value\"\nfan_in = 100\nqueries = 5\n[link]\nrate = \"1 Gbit/s\"\n[host]\nservice_time = \"20 us\"\nservice_jitter = \"50 us\"\n",
    "schemes = [\"one-all\"]\n[key_value]\nserver = \"reordered\"\nwithin = \"2 ms\"\nmost = \"20 KB\"\nper_request = 40\n[workload]\nkind = \"key_value\"\nqueries = 20\n[host]\nservice_time = \"20 us\"\n",
    "schemes = [\"one-all\"]\n[key_value]\nplacement = \"plan.csv\"\nobjects = 100\nper_request = 20\n[workload]\nkind = \"key_value\"\nqueries = 3\n",
    // Connections that are given up.
    "schemes = [\"one-all\"]\n[key_value]\nper_request = 20\n[workload]\nkind = \"key_value\"\nqueries = 3\n[faults]\nloss = 0.5\n",
    "schemes = [\"one-all\"]\n[key_value]\npopularity = \"two-class\"\nper_request = 20\n[workload]\nkind = \"key_value\"\nqueries = 3\n",
    "schemes = [\"one-all\"]\n[key_value]\npopularity = \"pages\"\npages = 5\nper_request = 50\nobjects = 500\n[workload]\nkind = \"key_value\"\nqueries = 3\n",
    "schemes = [\"picc\"]\n[picc]\ntheta = 2\nw = 2\nstrongest = 3\n[key_value]\npopularity = \"pages\"\npages = 8\npage = 10\nreplaced = 2\nper_request = 20\nobjects = 200\nreplicas = 2\nreplica_racks = \"distinct\"\nwithin = \"40 ms\"\nserver = \"fifo\"\n[workload]\nkind = \"key_value\"\nqueries = 20\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 2\nspines = 1\n",
    "schemes = [\"picc-no-correlation\"]\n[picc]\ntheta = 20\n[key_value]\npopularity = \"pages\"\npages = 8\npage = 10\nreplaced = 2\nper_request = 20\nobjects = 200\nreplicas = 2\nreplica_racks = \"distinct\"\nwithin = \"40 ms\"\nserver = \"fifo\"\n[workload]\nkind = \"key_value\"\nqueries = 20\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 2\nspines = 1\n",
    "schemes = [\"ictcp-window\"]\n[key_value]\nper_request = 200\nmost = \"20 KB\"\n[workload]\nkind = \"key_value\"\nfan_in = 40\nqueries = 5\n[host]\nservice_time = \"100 us\"\nservice_jitter = \"200 us\"\n",
    // Repeated planning, from enough requests to make it worthwhile to leave a group, and servers without room for all.
    "schemes = [\"groups\"]\n[groups]\nbusiest = 400\n[picc]\nlearn = \"running\"\nperiod = \"3 ms\"\n[key_value]\npopularity = \"pages\"\npages = 12\npage = 4\nreplaced = 0\nper_request = 8\nobjects = 40\nreplicas = 2\nreplica_racks = \"distinct\"\nwithin = \"40 ms\"\nserver = \"fifo\"\n[workload]\nkind = \"key_value\"\nfan_in = 11\nqueries = 150\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 4\nspines = 1\n",
    // RDMA: marks and losses, pauses, telemetry, a threshold.
    "schemes = [\"dcqcn\"]\n[dcqcn]\nprofile = \"ns-3\"\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nshared_buffer = \"2 MB\"\n[ecn_ramp]\nk_min = \"10 KB\"\nk_max = \"60 KB\"\n[workload]\nkind = \"long\"\nduration = \"6 ms\"\n[faults]\nloss = 0.01\n",
    "schemes = [\"timely\"]\n[link]\ndelay = \"5 us\"\n[switch]\nshared_buffer = \"200 KB\"\n[workload]\nfragment = \"256 KiB\"\nduration = \"30 ms\"\n",
    "schemes = [\"hpcc\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nshared_buffer = \"2 MB\"\n[workload]\nkind = \"long\"\nduration = \"3 ms\"\n",
    "schemes = [\"rdma-dctcp\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nshared_buffer = \"2 MB\"\n[ecn_ramp]\nk_min = \"10 KB\"\nk_max = \"60 KB\"\n[workload]\nkind = \"long\"\nduration = \"3 ms\"\n",
    // Ports that drop under RDMA, cards that drain slowly, and connections that break.
    "schemes = [\"dcqcn\"]\n[pfc]\nenabled = false\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"200 KB\"\n[host.nic]\ndrain = \"8 Gbit/s\"\nbuffer = \"20 KB\"\nnotify_at = \"5 KB\"\n[rdma]\nmessage = \"20 KB\"\ndepth = 2\n[workload]\nkind = \"long\"\nduration = \"6 ms\"\n",
    "schemes = [\"dcqcn\"]\n[pfc]\nenabled = false\n[rdma]\ntimeout = \"1 ms\"\n[key_value]\nper_request = 20\n[workload]\nkind = \"key_value\"\nqueries = 3\n[faults]\nloss = 0.3\n",
    // Traffic classes: RDMA beside TCP, and two classes of TCP.
    "schemes = [\"dcqcn\"]\n[dcqcn]\nprofile = \"ns-3\"\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nshared_buffer = \"2 MB\"\n[classes]\nqueues = [\"3: dwrr 5, lossless\", \"1: strict, buffer 60 KB\", \"0: dwrr 2, buffer 60 KB\"]\nworkload = 3\ncontrol = 0\nbackground_scheme = \"dctcp\"\n[workload]\nkind = \"long\"\nbackground = 2\nduration = \"4 ms\"\n",
    "schemes = [\"newreno\"]\n[classes]\nqueues = [\"3: dwrr 3\", \"1: strict\", \"0: dwrr 1\"]\n[workload]\nfragment = \"64 KiB\"\nbackground = 2\n",
    // Ultra Ethernet and its ancestors: full ports, losses.
    "schemes = [\"nscc\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"60 KB\"\n[workload]\nkind = \"long\"\nduration = \"2 ms\"\n[faults]\nloss = 0.001\n",
    "schemes = [\"rccc\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"20 KB\"\n[workload]\nfragment = \"128 KiB\"\nduration = \"3 ms\"\n",
    "schemes = [\"eqds\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"20 KB\"\n[workload]\nfragment = \"512 KiB\"\nduration = \"3 ms\"\n",
    // Entropies of REPS, beside paths of several lengths of queue.
    "schemes = [\"nscc\"]\n[uet]\nspraying = \"reps\"\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"60 KB\"\n[workload]\nkind = \"long\"\nduration = \"2 ms\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 4\nspines = 3\n",
    "schemes = [\"nscc\"]\n[uet]\nspraying = \"bitmap\"\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"60 KB\"\n[workload]\nkind = \"long\"\nduration = \"2 ms\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 4\nspines = 3\n",
    // Rails and groups.
    "schemes = [\"dctcp\"]\n[workload]\nkind = \"all-to-all\"\nfragment = \"64 KiB\"\nqueries = 1\n[fabric]\nkind = \"rails\"\nrails = 2\nracks = 4\nhosts_per_rack = 3\nspines = 2\nmachine_rate = \"40 Gbit/s\"\n",
    "schemes = [\"dctcp\"]\n[workload]\nkind = \"all-to-all\"\nfragment = \"64 KiB\"\nqueries = 1\n[fabric]\nkind = \"dragonfly\"\npods = 3\nracks = 6\nhosts_per_rack = 2\nglobal_links = 1\n",
    // Windows of Swift on either side of one packet.
    "schemes = [\"swift\"]\n[link]\ndelay = \"5 us\"\n[swift]\nbase_target = \"30 us\"\n[workload]\nkind = \"long\"\n",
    // Trees, peers at once, and a generator of bursts.
    "schemes = [\"newreno\"]\n[workload]\nkind = \"all-reduce\"\nalgorithm = \"tree\"\nfragment = \"64 KiB\"\nqueries = 2\n",
    "schemes = [\"dctcp\"]\n[workload]\nkind = \"all-to-all\"\nfragment = \"64 KiB\"\nqueries = 2\n",
    "schemes = [\"newreno\"]\n[workload]\nkind = \"bursts\"\n[bursts]\nspacing = \"1 ms\"\nheight = 2\nclustering = 0.5\n",
    "schemes = [\"ndp\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"40 KB\"\n[workload]\nfragment = \"128 KiB\"\nduration = \"3 ms\"\n",
];

/// These, and one for each algorithm whose settings none of them uses.
fn bases() -> Vec<String> {
    // A base begins with its scheme's name, in quotes.
    let sections = |base: &str| Scheme::parse(base.split('"').nth(1).unwrap()).unwrap().sections();
    let looked_at: Vec<&str> = BASES.into_iter().flat_map(sections).collect();
    let senders = Base::ALL.iter().map(|base| (base.row(), base.row().word.to_string()));
    // The ramp's base is DCQCN's, and trimming's NSCC's.
    let ports = Discipline::ALL.iter().filter(|law| !matches!(law, Discipline::EcnRamp | Discipline::Trimming));
    let ports = ports.map(|law| (law.row(), format!("newreno+{}", law.row().word)));
    let others = senders.chain(ports).filter(|(row, _)| row.sections.iter().any(|own| !looked_at.contains(own)));
    // The large buffer lets the algorithm, not a loss, end slow start.
    let long = |(_, name): (_, String)| {
        format!("schemes = [\"{name}\"]\n[switch]\nbuffer = \"2 MB\"\n[workload]\nkind = \"long\"\n")
    };
    BASES.into_iter().map(String::from).chain(others.map(long)).collect()
}

/// Values of all forms; those invalid for a key, or inconsistent with the rest, are refused.
const VALUES: [&str; 38] = [
    "0.1",
    "100 B",
    "1",
    "3",
    "40",
    "110",
    "true",
    "false",
    "0.3",
    "3 ms",
    "300 us",
    "7 KB",
    "300 Mbit/s",
    "11 packets",
    "16 packets",
    "data",
    "agreed",
    "pipe",
    "at-once",
    "variance",
    "spread",
    "data-mining",
    "0.6",
    "estimated",
    "mended",
    "fixed",
    "spare-io",
    "full",
    "zipfian",
    "distinct",
    "fifo",
    "same",
    "direct",
    "together",
    "own",
    "jumbo",
    "cubic",
    "[\"server1..4: memory 2 KB\"]",
];

/// The file that a base names: a plan that moves every object's first replica to the next server without one.
fn read(path: &str, base: &str) -> Result<(String, Vec<u8>), String> {
    if path != "plan.csv" {
        return Err("no such file".into());
    }
    let empty = |_: &str| Ok(("plan.csv".to_string(), "object,from,to,reason\n".into()));
    let mut scenario = Scenario::parse("test.toml", base).unwrap();
    scenario.assign("fan-in", "sweep.fan_in=[5]").unwrap();
    let spec = scenario.variants_with(&empty).unwrap()[0].at(0, 1).unwrap();
    let to = |homes: &[u32]| (1..=5).map(|step| 1 + (homes[0] + step) % 5).find(|server| !homes.contains(server));
    Ok(("plan.csv".into(), plan_of(&spec, |_, homes| vec![(homes[0], to(homes).unwrap())]).into()))
}

/// The scenario of a base, short.
fn scenario_of(base: &str) -> Scenario {
    let mut scenario = Scenario::parse("test.toml", base).unwrap();
    let short = ["workload.duration=100 ms", "tcp.rto_min=20 ms", "tcp.rto_initial=20 ms"];
    let first = ["sweep.fan_in=[5]", "measure.latency=true"].into_iter().chain(short);
    let says = |key: &str| base.lines().any(|line| line.starts_with(key));
    let first = first.filter(|set| !set.split(['.', '=']).nth(1).is_some_and(says));
    for set in first {
        scenario.assign(set, set).unwrap();
    }
    scenario
}

/// The run with a key set, and whether a warning names the key; `None` if the setting is refused.
fn spec(base: &str, scenario: &Scenario, set: Option<&str>) -> Option<(RunSpec, bool)> {
    let mut scenario = scenario.clone();
    if let Some(set) = set {
        scenario.assign(set, set).ok()?;
    }
    let variant = scenario.variants_with(&|path| read(path, base)).ok()?.remove(0);
    let warnings =
        scenario.warnings(std::slice::from_ref(&variant)).iter().map(ToString::to_string).collect::<Vec<_>>();
    let idle = |set: &str| warnings.iter().any(|what| what.starts_with(set) && what.contains(" no effect here"));
    let spec = variant.at(0, 3)?;
    fanin_assemble::fits(&spec).ok()?;
    Some((spec, set.is_some_and(idle)))
}

/// Whether to try a key: not those of the run plan, of file names, or those that are refused instead of warned about.
fn tried(key: &KeyDoc) -> bool {
    let apart = [
        "workload.kind",
        "workload.file",
        "workload.bursts",
        "workload.matrix",
        "workload.pulls",
        "key_value.placement",
        "workload.duration",
        "fabric.kind",
    ];
    !apart.contains(&key.path.as_str()) && !key.path.starts_with("sweep.") && !key.path.starts_with("run.")
}

/// Parts of the keys, which threads try one after another.
const PARTS: usize = 4;

/// Keys seen so far: those that a warning named, and those that changed a table.
#[derive(Default)]
struct Seen<'a> {
    warned_of: BTreeSet<&'a str>,
    moving: BTreeSet<&'a str>,
}

/// Tries some keys in the base of this number, and those of `again` even if they have moved a table before.
fn try_keys<'a>(
    number: usize,
    base: &str,
    docs: impl Iterator<Item = &'a KeyDoc>,
    again: impl Fn(&str) -> bool,
    seen: &Mutex<Seen<'a>>,
) {
    let scenario = scenario_of(base);
    let plain = run(&spec(base, &scenario, None).expect("the base is right").0);
    // One value shows that a key has no effect here. Other bases begin with other values.
    let mut values = VALUES;
    values.rotate_left(number % VALUES.len());
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    for (key, value) in docs.flat_map(|key| values.map(|value| (key, value))) {
        let path = key.path.as_str();
        let set = format!("{path}={value}");
        // Nothing is left to be shown.
        if (shown.contains(path) || !again(path)) && seen.lock().unwrap().moving.contains(path) {
            continue;
        }
        let Some((spec, warned)) = spec(base, &scenario, Some(&set)) else { continue };
        if warned && !shown.insert(path) {
            continue;
        }
        // One observed change is enough.
        if !warned && seen.lock().unwrap().moving.contains(path) {
            continue;
        }
        let moves = run(&spec) != plain;
        assert!(!(warned && moves), "{set} is warned of, and moves the tables of {base}");
        let mut seen = seen.lock().unwrap();
        if warned {
            seen.warned_of.insert(path);
        }
        if moves {
            seen.moving.insert(path);
        }
    }
}

/// Tries every key in every base until it moves a table, and then in every `stride`th base.
fn warned_keys_have_no_effect(stride: usize) {
    let docs: Vec<KeyDoc> = Settings::default().docs().into_iter().filter(tried).collect();
    let (bases, next, seen) = (bases(), AtomicUsize::new(0), Mutex::new(Seen::default()));
    // In parallel: otherwise the longest test would run alone at the end.
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    let (number, part) = (task / PARTS, task % PARTS);
                    let Some(base) = bases.get(number) else { break };
                    let again = |path: &str| (number + path.len()).is_multiple_of(stride);
                    try_keys(number, base, docs.iter().skip(part).step_by(PARTS), again, &seen);
                }
            });
        }
    });
    let Seen { warned_of, moving } = seen.into_inner().unwrap();
    assert!(warned_of.len() > 50, "{} keys: {warned_of:?}", warned_of.len());
    let still: Vec<_> = warned_of.difference(&moving).collect();
    assert!(still.is_empty(), "never seen to move anything: {still:?}");
}

#[test]
fn warned_keys_have_no_effect_in_some_bases() {
    warned_keys_have_no_effect(4);
}

#[test]
#[ignore = "takes two minutes: make check-long"]
fn warned_keys_have_no_effect_in_any_base() {
    warned_keys_have_no_effect(1);
}
