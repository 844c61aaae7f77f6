//! Features crossed: schemes, networks, workloads, options and commands. Every pair of them meets in some cell, whose command gives a result
//! that agrees with itself, or refuses and simulates nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use fanin_spec::{FabricKind, Kind, REGISTRY, Scheme};
use serde_json::Value;

use super::common::Place;

/// Networks of every kind with at least nine hosts: its switch at the client, and its keys.
const NETWORKS: [(FabricKind, &str, &str); 9] = [
    (FabricKind::Star, "switch", ""),
    (FabricKind::Star, "switch", "link.client_rate = \"25 Gbit/s\""),
    (
        FabricKind::LeafSpine,
        "leaf1",
        "fabric.racks = 3\nfabric.hosts_per_rack = 3\nfabric.spines = 2\nfabric.placement = \"spread\"",
    ),
    (FabricKind::FatTree, "tor1", "fabric.arity = 4"),
    (
        FabricKind::Edges,
        "a",
        "fabric.edges = [\"client a 40 Gbit/s\", \"server1..4 a\", \"server5..8 b 2 Gbit/s\", \"a b 20 Gbit/s\"]",
    ),
    (FabricKind::Edges, "a", "fabric.edges = [\"client a\", \"client b\", \"server1..8 a\", \"server1..8 b\"]"),
    (FabricKind::Rails, "leaf1", "fabric.rails = 3\nfabric.racks = 3\nfabric.hosts_per_rack = 3\nfabric.spines = 1"),
    (
        FabricKind::Rails,
        "leaf1",
        "fabric.rails = 3\nfabric.racks = 3\nfabric.hosts_per_rack = 3\nfabric.spines = 1\nfabric.machine_rate = \"90 Gbit/s\"",
    ),
    (
        FabricKind::Dragonfly,
        "rack1",
        "fabric.pods = 3\nfabric.racks = 6\nfabric.hosts_per_rack = 2\nfabric.global_links = 1",
    ),
];

/// Settings that change ports, hosts or measurements.
const OPTIONS: [&str; 14] = [
    "",
    "pfc.enabled = false",
    "switch.buffer = \"20 KB\"",
    "switch.shared_buffer = \"4 MB\"",
    "classes.queues = [\"3: dwrr 50, lossless, dscp 26\", \"0: dwrr 50, buffer 100 KB, dscp 0\"]\nclasses.workload = \"dscp 26\"\n\
     classes.background = \"dscp 0\"\nswitch.shared_buffer = \"8 MB\"",
    "trimming.low = \"10 %\"\ntrimming.high = \"40 %\"",
    "faults.loss = \"1 %\"",
    "faults.hosts = [\"500 us server1 slows to 0.5\"]",
    "fabric.changes = [\"500 us client SWITCH down\", \"2 ms client SWITCH up\"]",
    "host.nic.drain = \"5 Gbit/s\"\nhost.nic.buffer = \"100 KB\"",
    "measure.ports = true\nmeasure.latency = true",
    "tcp.profile = \"linux\"",
    "workload.background = 2",
    "workload.clients = 2\nworkload.servers = \"others\"",
];

/// Commands on `my.toml`, with the scheme in place of `SCHEME`.
const COMMANDS: [&str; 9] = [
    "compare my.toml",
    "compare my.toml --json",
    "compare my.toml --out results",
    "run my.toml --scheme SCHEME",
    "run my.toml --scheme SCHEME --json",
    "run my.toml --scheme SCHEME --cores 2 --json --no-cache",
    "run my.toml --scheme SCHEME --samples 50us --out inside",
    "trace my.toml --scheme SCHEME --out trace.pcapng",
    "advise my.toml --budget 100k --remedies rto-min,mark-thresholds,trim-queue",
];

/// The keys of a workload, and the files that it needs.
fn workload(kind: Kind, place: &Place) -> String {
    let file = |name: &str, text: &str| fs::write(place.path(name), text).unwrap();
    let own = match kind {
        Kind::Barrier | Kind::Long => "fragment = \"40 KB\"\nduration = \"3 ms\"",
        Kind::Poisson => "load = \"20 %\"\nsizes = \"hadoop\"\nduration = \"3 ms\"",
        Kind::Bursts => {
            file("bursts.csv", "gap_us,fan_in,bytes\n100,4,80000\n300,8,200000\n");
            "bursts = \"bursts.csv\"\nduration = \"3 ms\""
        }
        Kind::OneShot => "fragment = \"40 KB\"\nduration = \"1 s\"",
        Kind::WebSearch => "fragment = \"40 KB\"\nqueries = 2\nduration = \"1 s\"",
        Kind::Shuffle => "fragment = \"20 KB\"\nduration = \"1 s\"",
        Kind::AllReduce | Kind::AllToAll => "fragment = \"90 KB\"\nqueries = 1\nduration = \"1 s\"",
        Kind::Flows => {
            file("flows.csv", "src,dst,bytes,start_us\n1,0,50000,0\n2,0,50000,10\n3,4,9000,20\n");
            "file = \"flows.csv\"\nduration = \"1 s\""
        }
        Kind::Pulls => {
            file("pulls.csv", "pull,start_us,src,dst,bytes\n0,0,1,0,50000\n0,0,2,0,50000\n1,100,3,4,9000\n");
            "pulls = \"pulls.csv\"\nduration = \"1 s\""
        }
        Kind::Trace => {
            let mut text = "num_ranks 9\n".to_owned();
            for rank in 0..9 {
                let line = match rank {
                    0 => "recv 50000b from 1 tag 0\n",
                    1 => "c: calc 1000\ns: send 50000b to 0 tag 0\ns requires c\n",
                    _ => "calc 1\n",
                };
                write!(text, "rank {rank} {{\n{line}}}\n").unwrap();
            }
            file("step.goal", &text);
            "file = \"step.goal\"\nduration = \"1 s\""
        }
        Kind::MapReduce => "duration = \"10 s\"",
        Kind::KeyValue => "queries = 3\nduration = \"1 s\"",
    };
    let more = match kind {
        Kind::MapReduce => {
            "\nmapreduce.input = \"200 KB\"\nmapreduce.maps = 2\nmapreduce.reduces = 2\nmapreduce.heartbeat = \"20 ms\"\n\
             mapreduce.task_start = \"5 ms\""
        }
        Kind::KeyValue => "\nkey_value.objects = 100\nkey_value.per_request = 8\nkey_value.most = \"2 KB\"",
        _ => "",
    };
    format!(
        "workload.kind = \"{}\"\nworkload.fan_in = 8\nworkload.{}{more}\n",
        kind.word(),
        own.replace('\n', "\nworkload.")
    )
}

/// A cell: places in the lists of schemes, networks, workloads, options and commands.
type Cell = [usize; 5];

/// Cells in which every two features of different lists meet, but schemes only as far as those suffice unless `whole`.
fn cells(sizes: Cell, whole: bool, fits: &dyn Fn(&Cell) -> bool) -> Vec<Cell> {
    let pairs = |cell: &Cell| -> Vec<(usize, usize, usize, usize)> {
        let of = |i: usize| (i + 1..5).map(move |j| (i, cell[i], j, cell[j]));
        (usize::from(!whole)..5).flat_map(of).collect()
    };
    let mut left: BTreeSet<(usize, usize, usize, usize)> = BTreeSet::new();
    for i in usize::from(!whole)..5 {
        for (j, one, other) in
            (i + 1..5).flat_map(|j| (0..sizes[i]).flat_map(move |one| (0..sizes[j]).map(move |other| (j, one, other))))
        {
            left.insert((i, one, j, other));
        }
    }
    // Numbers of a fixed sequence (Knuth's multiplier).
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut cells = Vec::new();
    while let Some(&(i, one, j, other)) = left.first() {
        let mut candidates: Vec<Cell> = (0..40).map(|_| sizes.map(&mut draw)).collect();
        candidates.iter_mut().for_each(|cell| (cell[i], cell[j]) = (one, other));
        let news = |cell: &Cell| pairs(cell).iter().filter(|pair| left.contains(pair)).count();
        let mut best = *candidates.iter().max_by_key(|cell| news(cell)).expect("forty of them");
        if !whole {
            // The next scheme in turn that fits.
            let turn = |cell: &Cell, by: usize| [(cells.len() + by) % sizes[0], cell[1], cell[2], cell[3], cell[4]];
            best = (0..sizes[0]).map(|by| turn(&best, by)).find(fits).unwrap_or(best);
        }
        pairs(&best).iter().for_each(|pair| {
            left.remove(pair);
        });
        cells.push(best);
    }
    cells
}

/// What is wrong with numbers of a result, by the names of their keys.
fn doubts(key: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| doubts(key, value, found)),
        Value::Array(all) => all.iter().for_each(|value| doubts(key, value, found)),
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            if (key.ends_with("share") || key == "jain") && !(0.0..=1.000_001).contains(&number) {
                found.push(format!("{key} is {number}"));
            }
        }
        _ => {}
    }
}

/// Whether a cell's command gives a result, and its faults.
fn tried(cell: Cell, schemes: &[&str], kinds: &[Kind]) -> (bool, Vec<String>) {
    let scheme = schemes[cell[0]];
    let (fabric, switch, network) = NETWORKS[cell[1]];
    let (option, command) = (OPTIONS[cell[3]].replace("SWITCH", switch), COMMANDS[cell[4]]);
    let place = Place::with("");
    let workload = workload(kinds[cell[2]], &place);
    let text = format!(
        "schemes = [\"{scheme}\"]\nlink.rate = \"10 Gbit/s\"\nlink.delay = \"1 us\"\nfabric.kind = \"{}\"\n{network}\ntcp.rto_min = \"2 ms\"\n\
         run.seeds = 1\n{option}\n{workload}",
        fabric.word()
    );
    fs::write(place.path("my.toml"), &text).unwrap();
    let words: Vec<&str> = command.split(' ').map(|word| if word == "SCHEME" { scheme } else { word }).collect();
    let done = place.fanin(&words);
    let [out, err] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut found = Vec::new();
    match done.status.code() {
        Some(0) => {
            if command.ends_with("--json") || command.contains("--json ") {
                match serde_json::from_str::<Value>(&out) {
                    Ok(value) => doubts("", &value, &mut found),
                    Err(why) => found.push(format!("no JSON: {why}")),
                }
            }
            let parts: Vec<&str> = out.split(" % of ").collect();
            let shares = parts.windows(2).filter(|pair| {
                let number = pair[0].rsplit(char::is_whitespace).next().and_then(|word| word.parse::<f64>().ok());
                // A remedy may take more than today's time.
                number.is_some_and(|share| share > 100.0) && !pair[1].starts_with("today")
            });
            found.extend(shares.map(|pair| format!("says {} % of {}", pair[0], pair[1])));
            if ["NaN", " inf", "-0 "].iter().any(|odd| out.contains(odd)) {
                found.push("no number".into());
            }
            if option == "pfc.enabled = false" && out.contains("pauses (pfc)") {
                found.push("speaks of pauses without PFC".into());
            }
        }
        Some(2) => {
            let last = err.lines().filter(|line| line.starts_with("error: ")).count();
            if last != 1 || err.contains("first run") || !out.is_empty() || err.contains("panicked") {
                found.push(format!("refuses late or unclearly: {err}"));
            }
        }
        code => found.push(format!("ends with {code:?}: {err}")),
    }
    let shown = found.into_iter().map(|what| format!("fanin {}\n{text}\n{what}\n", words.join(" "))).collect();
    (done.status.success(), shown)
}

fn crossed(whole: bool) {
    let schemes: Vec<&str> = REGISTRY.iter().map(|offer| offer.name).collect();
    let kinds: Vec<Kind> = Kind::all().into_iter().map(|(kind, _)| kind).collect();
    let missing = FabricKind::all().into_iter().find(|(kind, _)| !NETWORKS.iter().any(|(known, ..)| known == kind));
    assert!(missing.is_none(), "NETWORKS lacks {missing:?}");
    let sizes = [schemes.len(), NETWORKS.len(), kinds.len(), OPTIONS.len(), COMMANDS.len()];
    let of_objects: Vec<bool> = schemes.iter().map(|name| Scheme::parse(name).unwrap().is_of_objects()).collect();
    let cells = cells(sizes, whole, &|cell| !of_objects[cell[0]] || kinds[cell[2]] == Kind::KeyValue);
    let tried: Vec<(bool, Vec<String>)> = cells.iter().map(|&cell| tried(cell, &schemes, &kinds)).collect();
    let wrong: Vec<&str> = tried.iter().flat_map(|(_, wrong)| wrong).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} in {} cells:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
    let results = tried.iter().filter(|(gives_result, _)| *gives_result).count();
    assert!(2 * results > cells.len(), "{results} of {} cells give results: too many are refused", cells.len());
}

#[test]
fn networks_workloads_options_and_commands_meet() {
    crossed(false);
}

#[test]
#[ignore = "takes minutes: make check-long"]
fn every_two_features_meet() {
    crossed(true);
}

/// Five switches in a ring, each with a host that sends to the next but one: all links fill, and each waits for the next one.
const RING: &str = "schemes = [\"dcqcn\"]\nlink.rate = \"10 Gbit/s\"\nlink.delay = \"1 us\"\nfabric.kind = \"edges\"\n\
    fabric.edges = [\"client a\", \"server1 b\", \"server2 c\", \"server3 d\", \"server4 e\", \"a b\", \"b c\", \"c d\", \"d e\", \"e a\"]\n\
    switch.shared_buffer = \"300 KB\"\necn_ramp.k_min = \"100 MB\"\necn_ramp.k_max = \"101 MB\"\nrun.seeds = 1\n\
    workload.kind = \"flows\"\nworkload.file = \"ring.csv\"\nworkload.duration = \"100 ms\"\n";

#[test]
fn every_output_names_a_deadlock() {
    let place = Place::with(RING);
    let flows: String = (0..5).map(|from| format!("{from},{},2000000,0\n", (from + 2) % 5)).collect();
    fs::write(place.path("ring.csv"), format!("src,dst,bytes,start_us\n{flows}")).unwrap();
    let compared = place.says(&["compare", "my.toml", "--out", "results"]);
    assert!(compared.contains("deadlock: 1 of 1 runs of dcqcn end"), "{compared}");
    assert!(compared.contains("1 of 1 runs end in a deadlock"), "{compared}");
    let report = fs::read_to_string(place.path("results/report.html")).unwrap();
    assert!(report.contains("1 of 1 runs end in a deadlock"));
    let ran = place.says(&["run", "my.toml", "--scheme", "dcqcn"]);
    assert!(ran.contains("deadlock: the run ends"), "{ran}");
    let json: Value = serde_json::from_str(&place.says(&["compare", "my.toml", "--json"])).unwrap();
    assert_eq!(json["rows"][0]["pauses"]["deadlocked_runs"], 1);
}
