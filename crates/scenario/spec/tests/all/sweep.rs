//! Sweeps over any key: their points, precedence, and errors.

use fanin_spec::{Problem, Scenario, Variant};

const BASE: &str = "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"64 KiB\"\n";

/// Resolves [`BASE`] with more lines and arguments: `--sweep` those that have no `--set` before them.
fn resolve(more: &str, arguments: &[&str]) -> Result<Vec<Variant>, Problem> {
    let mut scenario = Scenario::parse("my.toml", &format!("{BASE}{more}"))?;
    for argument in arguments {
        match argument.strip_prefix("--set ") {
            Some(assignment) => scenario.assign(argument, assignment)?,
            None => scenario.sweep(&format!("--sweep {argument}"), argument)?,
        }
    }
    scenario.variants()
}

fn points(more: &str, arguments: &[&str]) -> Vec<String> {
    let variants = resolve(more, arguments).unwrap_or_else(|problem| panic!("{problem}"));
    variants[0].points.iter().map(|at| at.point.to_string()).collect()
}

fn refused(more: &str, arguments: &[&str]) -> String {
    resolve(more, arguments).expect_err("refused").to_string()
}

#[test]
fn points_are_all_combinations_in_written_order() {
    let sweep = "[sweep]\n\"switch.buffer\" = [\"64 KiB\", \"128 KiB\"]\nfan_in = [4, 8]\n";
    let expected = [
        "switch.buffer 64 KiB, fan_in 4",
        "switch.buffer 64 KiB, fan_in 8",
        "switch.buffer 128 KiB, fan_in 4",
        "switch.buffer 128 KiB, fan_in 8",
    ];
    assert_eq!(points(sweep, &[]), expected);
    let variant = resolve(sweep, &[]).unwrap().remove(0);
    assert_eq!((variant.along(), variant.curves()), (0, vec![vec![0, 2], vec![1, 3]]));
    let set =
        |place: usize| variant.at(place, 1).map(|run| (run.settings.switch.buffer.to_string(), run.settings.servers()));
    assert_eq!(set(2), Some(("128 KiB".into(), 4)));
    assert_eq!(set(4), None);
}

#[test]
fn accepts_quoted_and_dotted_keys() {
    let dotted = points("[sweep]\nworkload.load = [\"20 %\", 0.6]\nfan_in = [4]\n", &[]);
    assert_eq!(dotted, points("[sweep]\n\"workload.load\" = [\"20 %\", 0.6]\nfan_in = [4]\n", &[]));
    assert_eq!(dotted, ["workload.load 20 %, fan_in 4", "workload.load 0.6, fan_in 4"]);
}

#[test]
fn arguments_override_the_files_values() {
    let sweep = "[sweep]\nfan_in = [4, 8]\n";
    assert_eq!(points(sweep, &["fan_in=2"]), ["fan_in 2"]);
    assert_eq!(points(sweep, &["--set workload.fan_in=2"]), ["fan_in 2"], "a value leaves one");
    let behind = points(sweep, &["tcp.rto_min=1 ms, 200 ms"]);
    assert_eq!(behind.first().map(String::as_str), Some("fan_in 4, tcp.rto_min 1 ms"));
    assert_eq!(behind.len(), 4);
}

#[test]
fn swept_values_override_the_file() {
    let more = "block = \"1 MB\"\n[tcp]\nrto_min = \"5 ms\"\n";
    let base = "schemes = [\"newreno\"]\n[workload]\n";
    let mut scenario = Scenario::parse("my.toml", &format!("{base}{more}")).unwrap();
    scenario.sweep("--sweep", "tcp.rto_min=1 ms,2 ms").unwrap();
    scenario.sweep("--sweep", "workload.fragment=4 KB").unwrap();
    let variant = scenario.variants().unwrap().remove(0);
    let at = &variant.points[1].settings;
    assert_eq!((at.tcp.rto_min.to_string(), at.workload.block.0), ("2 ms".into(), None));
    assert_eq!(at.servers(), 16, "what no axis says is workload.fan_in");
}

#[test]
fn curves_follow_the_first_swept_key() {
    let variant = resolve("[sweep]\nfan_in = [4]\n\"workload.load\" = [\"10 %\", \"20 %\"]\n", &[]).unwrap().remove(0);
    assert_eq!((variant.along(), variant.curves()), (1, vec![vec![0, 1]]));
    assert_eq!(variant.beside_fan_in(), Some("workload.load"));
}

#[test]
fn fabric_hosts_sets_the_number_of_hosts() {
    let poisson = |more: &str| format!("kind = \"poisson\"\nload = 0.5\n{more}");
    let hosts = |more: &str| {
        resolve(&poisson(more), &[]).unwrap()[0].points.iter().map(|at| at.settings.hosts()).collect::<Vec<_>>()
    };
    assert_eq!(hosts("[fabric]\nhosts = 16\n"), [16]);
    assert_eq!(hosts("[sweep]\n\"fabric.hosts\" = [16, 32]\n"), [16, 32]);
    assert_eq!(hosts("[sweep]\nfan_in = [15]\n"), [16], "as it was written before");
    let twice = refused(&poisson("[fabric]\nhosts = 16\n[sweep]\nfan_in = [15]\n"), &[]);
    assert!(twice.contains("`fabric.hosts` and `fan_in` both set the number of hosts"), "{twice}");
    let few = refused("[fabric]\nhosts = 8\n[sweep]\nfan_in = [4, 8]\n", &[]);
    assert_eq!(few, "my.toml:7: `fabric.hosts` is 8, too few for 8 servers and the client: use at least 9");
}

#[test]
fn refuses_keys_that_cannot_be_swept() {
    for (more, expected) in [
        (
            "[sweep]\n\"workload.laod\" = [1]\n",
            "my.toml:5: unknown key `workload.laod` to sweep (did you mean `workload.load`?)",
        ),
        ("[sweep]\nfanin = [1]\n", "my.toml:5: unknown key `fanin` to sweep (did you mean `fan_in`?)"),
        (
            "[sweep]\n\"run.seeds\" = [1, 2]\n",
            "my.toml:5: `run.seeds` cannot be swept: it applies to a whole comparison",
        ),
        ("[sweep]\n\"workload.kind\" = [\"long\"]\n", "my.toml:5: `workload.kind` cannot be swept"),
        ("[sweep]\n\"fabric.edges\" = [\"a b\"]\n", "my.toml:5: `fabric.edges` cannot be swept: its value is a list"),
        ("[sweep]\n\"sweep.fan_in\" = [1]\n", "my.toml:5: unknown key `sweep.fan_in` to sweep"),
        ("[sweep]\nfan_in = []\n", "my.toml:5: `sweep.fan_in` is empty: write at least one value, such as [16]"),
        ("[sweep]\nfan_in = 4\n", "my.toml:5: `sweep.fan_in` must be a list of values, such as [8, 16]"),
        ("[sweep]\nfan_in = [8, 4]\n", "my.toml:5: the fan-ins must rise"),
        ("[sweep]\nfan_in = [4]\n\"workload.fan_in\" = [8]\n", "my.toml:6: `workload.fan_in` is swept twice: keep one"),
        (
            "[sweep]\n\"workload.load\" = [\n  \"20 %\",\n  \"120 %\",\n]\n",
            "my.toml:7: `sweep.workload.load`: \"120 %\" has the wrong form",
        ),
        ("[sweep]\n\"tcp.mss\" = [\n  \"1460 B\",\n  \"10 B\",\n]\n", "my.toml:7: `tcp.mss` of 10 B: use 64 B to 9 KB"),
        (
            "[sweep]\n\"workload.load\" = [0.6, \"60 %\"]\n",
            "my.toml:5: `sweep.workload.load` has 0.6 and \"60 %\", which are the same: keep one",
        ),
        ("[sweep]\n\"link.rate\" = [10]\n", "my.toml:5: `sweep.link.rate`: 10 has no unit"),
        (
            "[sweep]\n\"workload.fragment\" = [\"1 KB\"]\n\"workload.block\" = [\"1 KB\"]\n",
            "my.toml:6: `workload.fragment` and `workload.block` are mutually exclusive",
        ),
    ] {
        let said = refused(more, &[]);
        assert!(said.contains(expected), "{more}: {said}");
    }
}

#[test]
fn refuses_contradictory_arguments() {
    for (arguments, expected) in [
        (&["switch.buffer"][..], "--sweep switch.buffer: write it as KEY=A,B,C"),
        (&["switch.buffer="], "--sweep switch.buffer=: `sweep.switch.buffer` is empty"),
        (&["fan_in=2", "fan_in=4"], "--sweep fan_in=4: `fan_in` is swept twice"),
        (
            &["tcp.rto_min=1 ms,2 ms", "--set tcp.rto_min=3 ms"],
            "--set tcp.rto_min=3 ms: `tcp.rto_min` is swept by another",
        ),
        (&["fan_in=1,1000001"], "--sweep fan_in=1,1000001: `workload.fan_in` of 1000001: use 1 to 1000000"),
    ] {
        let said = refused("", arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let own = "[[schemes]]\nscheme = \"newreno\"\nrto_min = \"1 ms\"\n[workload]\nfragment = \"4 KB\"\n[sweep]\n\"tcp.rto_min\" = [\"2 ms\"]\n";
    let said = Scenario::parse("my.toml", own).unwrap().variants().unwrap_err().to_string();
    assert!(said.starts_with("my.toml:3: `tcp.rto_min` is swept, but `newreno` sets its own"), "{said}");
    let many: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let times: Vec<String> = (1..=100).map(|n| format!("{n} ms")).collect();
    let said = refused("", &[&format!("fan_in={}", many.join(",")), &format!("tcp.rto_min={}", times.join(","))]);
    assert!(said.contains("10100 points to sweep: use at most 10000"), "{said}");
}

#[test]
fn warns_about_swept_keys_without_effect() {
    let mut scenario = Scenario::parse("my.toml", BASE).unwrap();
    scenario.sweep("--sweep workload.pairs=0.5,1", "workload.pairs=0.5,1").unwrap();
    let variants = scenario.variants().unwrap();
    let warned: Vec<String> = scenario.warnings(&variants).iter().map(ToString::to_string).collect();
    let expected = "--sweep workload.pairs=0.5,1: `workload.pairs` has no effect here";
    assert!(warned.iter().any(|warning| warning.starts_with(expected)), "{warned:?}");
}
