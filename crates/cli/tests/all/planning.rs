//! `fanin plan`.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use fanin_testing::{wait_for_exit, wait_until};
use serde_json::Value;

use super::common::{Place, SMALL};

/// A place with the demonstration's log and cluster in `try`.
fn whole_demo() -> Place {
    let place = Place::with(SMALL);
    place.says(&["plan", "--demo", "try"]);
    place
}

/// The same with the first 500 queries, of 40 keys each.
fn demo() -> Place {
    let place = whole_demo();
    let log = fs::read_to_string(place.path("try/log.csv")).unwrap();
    fs::write(place.path("try/log.csv"), log.split_inclusive('\n').take(1 + 20_000).collect::<String>()).unwrap();
    place
}

const PLAN: [&str; 4] = ["plan", "try/log.csv", "--cluster", "try/cluster.toml"];

#[test]
fn evaluates_plans_on_later_queries() {
    let place = whole_demo();
    let told: Value = serde_json::from_str(&place.says(&[&PLAN[..], &["--json", "--out", "made"]].concat())).unwrap();
    let number = |name: &str| told[name].as_f64().unwrap();
    assert_eq!(told["planned_from_queries"], 2_000);
    assert_eq!(told["held_against_queries"], 2_000);
    assert!(number("servers_after") * 2.0 < number("servers_before") && number("busiest_after") < 2.0, "{told}");
    // Fewer packets are dropped, hence fewer timeouts.
    let [before, after] = ["query_ms_before", "query_ms_after"].map(|when| told[when].clone());
    for what in ["mean", "p50", "p99", "dropped_packets"] {
        assert!(after[what].as_f64() < before[what].as_f64(), "{what}: {told}");
    }
    assert!(told["recommended"] == true && told["why"].as_str().unwrap().starts_with("do it: fewer servers"), "{told}");
    for file in
        ["placement.csv", "plan.csv", "plan.parquet", "servers.csv", "servers.parquet", "servers.svg", "plan.json"]
    {
        assert!(place.path("made").join(file).is_file(), "{file}");
    }
    let plan = fs::read_to_string(place.path("made").join("plan.csv")).unwrap();
    assert!(plan.starts_with("object,from,to,reason,key\n"));
    let moves = &told["moves"];
    let all = moves["popular"].as_u64().unwrap() + moves["correlated"].as_u64().unwrap();
    assert_eq!(plan.lines().count() as u64, 1 + all);
    // The same command gives the same plan.
    let again: Value = serde_json::from_str(&place.says(&[&PLAN[..], &["--json"]].concat())).unwrap();
    assert_eq!(again, told);
    let words = place.says(&PLAN);
    assert!(words.contains("which the plan has not seen") && words.contains("do it: fewer servers"), "{words}");
}

#[test]
fn refuses_impossible_plans_and_writes_nothing() {
    let place = demo();
    let log = fs::read_to_string(place.path("try/log.csv")).unwrap();
    fs::write(place.path("bad.csv"), log.replacen("0.020,q1,", "soon,q1,", 1)).unwrap();
    fs::write(place.path("short.csv"), "time,query,key,size\n1,q,a,1\n").unwrap();
    let with = |log: &'static str, more: &[&'static str]| {
        [&["plan", log, "--cluster", "try/cluster.toml", "--out", "made"][..], more].concat()
    };
    for (arguments, told) in [
        (with("bad.csv", &[]), "bad.csv: line 42: `soon` is not a time: use seconds, such as 12.5"),
        (
            with("short.csv", &[]),
            "short.csv: it has one query; a plan needs one half to plan from and one to evaluate on",
        ),
        (with("none.csv", &[]), "none.csv: No such file or directory"),
        (with("try/log.csv", &["--method", "picc", "--set", "picc.theta=0"]), "`picc.theta` of 0"),
        (with("try/log.csv", &["--method", "picc", "--set", "picc.alpha=0.95"]), "their sum is above 1"),
        (
            with("try/log.csv", &["--method", "picc", "--set", "picc.memory=1000 B"]),
            "is popular and asks each server that has it for",
        ),
        (with("try/log.csv", &["--set", "picc.memory=10 KB"]), "`picc.memory`: all servers need "),
        (with("try/log.csv", &["--method", "fewest"]), "use one of picc, picc-no-correlation, groups"),
        (with("try/log.csv", &["--move-budget", "much"]), "--move-budget"),
        (with("try/log.csv", &["--every", "1 ps"]), "at least 1 s"),
        (with("try/log.csv", &["--every", "999 ms"]), "at least 1 s"),
        (vec!["plan", "try/log.csv"], "a log and a cluster are required"),
        (vec!["plan", "--demo", "try"], "try/log.csv already exists; use another folder"),
    ] {
        let message = place.refuses(&arguments);
        assert!(message.contains(told), "{arguments:?} says {message}");
        assert!(!place.path("made").exists(), "{arguments:?}");
    }
    let left_out = place.says(&["plan", "bad.csv", "--cluster", "try/cluster.toml", "--skip-bad", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&left_out).unwrap()["log"]["bad_lines"], 1);
}

#[test]
fn measured_capacity_replaces_the_declared_one() {
    let place = demo();
    let stats = |gets: u64, cpu: &str| {
        format!(
            "STAT rusage_user {cpu}\nSTAT rusage_system 0\nSTAT cmd_get {gets}\nSTAT cmd_set 0\nSTAT limit_maxbytes 64000000\n\
             STAT threads 1\nEND\n"
        )
    };
    fs::write(place.path("fast.txt"), stats(0, "1") + &stats(100_000, "2")).unwrap();
    fs::write(place.path("idle.txt"), stats(5, "1") + &stats(5, "1")).unwrap();
    let plan = |more: &[&'static str]| [&PLAN[..], &["--json"], more].concat();
    let told: Value = serde_json::from_str(&place.says(&plan(&["--stats", "fast.txt", "fast.txt"]))).unwrap();
    assert!(told["servers_after"].as_f64() < told["servers_before"].as_f64(), "{told}");
    for (files, why) in
        [(["idle.txt", "fast.txt"], "idle.txt: the server took 0.000 s"), (["fast.txt", "none.txt"], "none.txt: ")]
    {
        let message = place.refuses(&plan(&["--stats", files[0], files[1]]));
        assert!(message.contains(&format!("--stats {why}")), "{message}");
    }
}

#[test]
fn plans_without_racks_need_one_replica() {
    let place = demo();
    // A star without any of the required keys.
    fs::write(place.path("bare.toml"), "[workload]\nfan_in = 4\n[link]\nrate = \"10 Gbit/s\"\n").unwrap();
    let plan = ["plan", "try/log.csv", "--cluster", "bare.toml", "--json"];
    let message = place.refuses(&plan);
    let right = "use a fabric of 3 racks (`fabric.kind = \"leaf-spine\"`) and `key_value.replica_racks = \"distinct\"`, or \
                 `key_value.replicas = 1`";
    assert!(message.contains(right), "{message}");
    let told: Value =
        serde_json::from_str(&place.says(&[&plan[..], &["--set", "key_value.replicas=1"]].concat())).unwrap();
    assert!(told["servers_after"].as_f64() < told["servers_before"].as_f64(), "{told}");
}

#[test]
fn first_signal_ends_it_and_leaves_nothing() {
    let place = demo();
    // Planning for this many periods takes hours.
    let rows = (0..1_000_000)
        .map(|second| format!("{second},q{second},a{},1\n{second},q{second},b{},1\n", second % 9, second % 7));
    fs::write(place.path("long.csv"), format!("time,query,key,size\n{}", rows.collect::<String>())).unwrap();
    let arguments = ["plan", "long.csv", "--cluster", "try/cluster.toml", "--every", "1 s", "--out", "made"];
    let mut child = place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a lock", || place.path("made/.unfinished/lock").exists());
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(wait_for_exit("fanin plan", &mut child).code(), Some(143));
    assert!(!place.path("made").exists());
}

#[test]
fn keys_of_plans_are_safe_text_and_are_found_again() {
    let place = demo();
    let log = fs::read_to_string(place.path("try/log.csv")).unwrap();
    let log =
        log.replace("object:1", "=cmd|'/C calc'!A").replace("object:2", "a\u{202e}b").replace("object:3", "\u{1b}[31m");
    fs::write(place.path("log.csv"), log).unwrap();
    let plan = ["plan", "log.csv", "--cluster", "try/cluster.toml"];
    place.says(&[&plan[..], &["--out", "made"]].concat());
    for file in ["placement.csv", "plan.csv"] {
        let text = fs::read_to_string(place.path("made").join(file)).unwrap();
        assert!(!text.contains(['\u{202e}', '\u{1b}']) && text.contains("%3Dcmd%7C"), "{file}");
        let begins = |cell: &str| cell.starts_with(['=', '+', '-', '@']);
        assert!(!text.lines().flat_map(|line| line.split(',')).any(begins), "{file}");
    }
    // The earlier plan includes all keys of the same log, so the next plan moves almost nothing.
    let again: Value =
        serde_json::from_str(&place.says(&[&plan[..], &["--previous", "made", "--json"]].concat())).unwrap();
    let first: Value = serde_json::from_str(&place.says(&[&plan[..], &["--json"]].concat())).unwrap();
    assert_eq!(again["servers_before"], first["servers_after"]);
}

#[test]
fn full_servers_get_no_objects() {
    let place = demo();
    // Its memory is already full.
    let small = "key_value.servers=[\"server2..3: memory 1 KB\"]";
    place.says(&[&PLAN[..], &["--out", "made", "--set", small]].concat());
    let plan = fs::read_to_string(place.path("made").join("plan.csv")).unwrap();
    let to: Vec<&str> = plan.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert!(to.len() > 1_000 && to.contains(&"1") && to.contains(&"4"), "{} moves", to.len());
    assert!(!to.contains(&"2") && !to.contains(&"3"));
    let refused = place.refuses(&[&PLAN[..], &["--set", "key_value.servers=[\"server201: memory 1 KB\"]"]].concat());
    assert!(refused.contains("`key_value.servers`") && refused.contains("there are 200 servers"), "{refused}");
}

#[test]
fn refuses_damaged_parquet_with_its_row_and_writes_nothing() {
    let place = demo();
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../laboratory/plan/tests/logs/polars.parquet")).unwrap();
    let mut refused = Vec::new();
    for at in (0..whole.len()).step_by(17) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(place.path("log.parquet"), bytes).unwrap();
        let done = place.fanin(&["plan", "log.parquet", "--cluster", "try/cluster.toml", "--out", "made"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.code() {
            Some(0) => fs::remove_dir_all(place.path("made")).unwrap(),
            code => {
                assert_eq!(code, Some(2), "byte {at}: {told}");
                assert!(told.starts_with("error: log.parquet: ") && told.lines().count() == 1, "byte {at}: {told}");
                assert!(!place.path("made").exists(), "byte {at}");
                refused.push(told);
            }
        }
    }
    assert!(refused.iter().any(|told| told.starts_with("error: log.parquet: row ")), "{refused:?}");
}

#[test]
fn plans_from_logs_of_several_servers() {
    let place = demo();
    // Twenty times per second.
    let line = |at: u32, key: u32| {
        let (seconds, micros) = (at / 20, at % 20 * 50_000);
        format!("ts={seconds}.{micros} gid=1 type=item_get key=k{key} status=found clsid=1 cfd=28 size=90\n")
    };
    for (name, keys) in [("one.log", 0), ("two.log", 10)] {
        let lines: String = (0..40).flat_map(|at| (0..3).map(move |key| line(at, keys + key))).collect();
        fs::write(place.path(name), lines).unwrap();
    }
    let told = place.says(&["plan", "one.log", "two.log", "--cluster", "try/cluster.toml"]);
    assert!(told.contains("one.log and 1 more: 80 queries for 6 keys, 3.00 keys each on average"), "{told}");
    fs::write(place.path("two.log"), "what").unwrap();
    let refused = place.refuses(&["plan", "one.log", "two.log", "--cluster", "try/cluster.toml"]);
    assert!(refused.contains("two.log: line 1: no `ts=`"), "{refused}");
}

#[test]
#[ignore = "takes ten seconds: make check-long"]
fn planning_from_an_applied_plan_moves_few_objects() {
    let place = whole_demo();
    place.says(&[&PLAN[..], &["--out", "made"]].concat());
    let told = |more: &[&str]| -> Value { serde_json::from_str(&place.says(&[&PLAN[..], more].concat())).unwrap() };
    let [first, again] = [&["--json"][..], &["--json", "--previous", "made"]].map(told);
    let moves = |told: &Value| told["moves"]["correlated"].as_u64().unwrap();
    assert!(moves(&again) * 20 < moves(&first), "{again}");
    let near = |one: &Value, other: &Value| (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-9;
    assert!(near(&again["servers_before"], &first["servers_after"]), "{again}");
    // `placement.csv` contains the former servers of keys, as far as they are known.
    place.says(&[&PLAN[..], &["--out", "again", "--previous", "made"]].concat());
    let was = |folder: &str| {
        let table = fs::read_to_string(place.path(folder).join("placement.csv")).unwrap();
        let told: Vec<bool> = table.lines().skip(1).map(|line| !line.ends_with(',')).collect();
        (table.starts_with("key,server,was\n"), told.iter().all(|told| *told), told.iter().any(|told| *told))
    };
    assert_eq!((was("made"), was("again")), ((true, false, false), (true, true, true)));
    // The same placement as a table of current servers.
    let current = told(&["--json", "--current", "made/placement.csv", "--move-budget", "0 B"]);
    assert!(near(&current["servers_before"], &first["servers_after"]) && current["bytes_moved"] == 0, "{current}");
    assert!(current["recommended"] == false && current["why"].as_str().unwrap().starts_with("do not: "), "{current}");
}

#[test]
fn plans_from_a_proxys_placement_and_names_its_servers() {
    let place = demo();
    let servers: Vec<String> = (1..=8).map(|number| format!("\"10.0.0.{number}:11211\"")).collect();
    let pool = format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [{}]\n", servers.join(", "));
    fs::write(place.path("front.toml"), &pool).unwrap();
    let sets = ["--set", "fabric.placement=spread", "--set", "workload.fan_in=8", "--front", "front.toml"];
    let one = [&PLAN[..], &sets, &["--set", "key_value.replicas=1"]].concat();
    let told: Value = serde_json::from_str(&place.says(&[&one[..], &["--json", "--out", "made"]].concat())).unwrap();
    assert_eq!((&told["servers"][0], &told["servers"][7]), (&"10.0.0.1".into(), &"10.0.0.8".into()));
    // Every key moves from its server at the front end, or does not move.
    let moves = told["moves"]["correlated"].as_u64().unwrap();
    fs::write(place.path("planned.toml"), format!("{pool}plan = \"{}\"\n", place.path("made").display())).unwrap();
    let checked = place.says(&["front", "--config", "planned.toml", "--check"]);
    assert!(checked.contains(&format!("the plan migrates {moves} keys, stage move")), "{checked} {moves}");
    let message = place.refuses(&[&PLAN[..], &sets].concat());
    assert!(message.contains("`key_value.replicas` of 3: the front end has 1 of each key"), "{message}");
    let message = place.refuses(&[&one[..], &["--set", "workload.fan_in=9"]].concat());
    assert!(message.contains("has 9 servers, but the front end has 8"), "{message}");
    fs::write(
        place.path("front.toml"),
        format!("{pool}{}", pool.replace("[[pool]]", "[[pool]]\nname = \"b\"").replace(":0\"", ":1\"")),
    )
    .unwrap();
    let message = place.refuses(&one);
    assert!(message.contains("front.toml: has 2 pools; use a file with one pool"), "{message}");
}

#[test]
fn plans_from_the_replicas_of_a_proxy() {
    let place = demo();
    let servers: Vec<String> = (1..=8).map(|number| format!("\"10.0.0.{number}:11211\"")).collect();
    let pool = format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nreplicas = 2\nservers = [{}]\n", servers.join(", "));
    fs::write(place.path("front.toml"), &pool).unwrap();
    let sets = ["--set", "fabric.placement=spread", "--set", "workload.fan_in=8", "--front", "front.toml"];
    let two = [&PLAN[..], &sets, &["--set", "key_value.replicas=2"]].concat();
    let message = place.refuses(&two);
    assert!(message.contains("which are in the same rack: use as many `fabric.racks` as servers"), "{message}");
    let racks = ["--set", "fabric.racks=8", "--set", "fabric.hosts_per_rack=2", "--out", "made"];
    place.says(&[&two[..], &racks[..]].concat());
    fs::write(place.path("planned.toml"), format!("{pool}plan = \"{}\"\n", place.path("made").display())).unwrap();
    let checked = place.says(&["front", "--config", "planned.toml", "--check"]);
    assert!(checked.contains("the plan migrates ") && checked.contains(" keys, stage move"), "{checked}");
    // A pool with one replica has no use for it.
    fs::write(
        place.path("one.toml"),
        fs::read_to_string(place.path("planned.toml")).unwrap().replace("replicas = 2\n", ""),
    )
    .unwrap();
    let message = place.refuses(&["front", "--config", "one.toml", "--check"]);
    assert!(message.contains("the plan has 2 replicas per key, this pool has 1"), "{message}");
}

#[test]
fn plans_hashed_keys_from_the_servers_in_their_log() {
    let place = demo();
    let servers: Vec<String> = (1..=8).map(|number| format!("\"10.0.0.{number}:11211\"")).collect();
    fs::write(
        place.path("front.toml"),
        format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [{}]\n", servers.join(", ")),
    )
    .unwrap();
    let cluster = ["--cluster", "try/cluster.toml", "--front", "front.toml", "--set", "fabric.placement=spread"];
    let sets = ["--set", "workload.fan_in=8", "--set", "key_value.replicas=1"];
    let plan = |log: &str, out: &str| {
        let asked = [&["plan", log][..], &cluster, &sets, &["--out", out]].concat();
        place.says(&asked);
        fs::read_to_string(place.path(out).join("placement.csv")).unwrap()
    };
    let plain = plan("try/log.csv", "plain");
    // Each key's name as a hash, and its server.
    let hashed = |key: &str| format!("~00000001~{:032x}", key.trim_start_matches("object:").parse::<u32>().unwrap());
    let rows = plain.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let was: BTreeMap<&str, &str> = rows.map(|row| (row[0], row[2])).collect();
    let written = fs::read_to_string(place.path("try/log.csv")).unwrap();
    let logged = |head: &str, server: &dyn Fn(&str) -> String| {
        let row = |row: &str| {
            let [time, query, key, size] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
            format!("{time},{query},{},{size}{}\n", hashed(key), server(key))
        };
        format!("{head}\n{}", written.lines().skip(1).map(row).collect::<String>())
    };
    fs::write(place.path("hashed.csv"), logged("time,query,key,size,server_by_hash", &|key| format!(",{}", was[key])))
        .unwrap();
    let planned = plan("hashed.csv", "hashed");
    let expected = plain.lines().skip(1).map(|row| {
        let (key, rest) = row.split_once(',').unwrap();
        format!("{},{rest}\n", hashed(key))
    });
    assert!(planned == format!("key,server,was\n{}", expected.collect::<String>()));

    fs::write(place.path("silent.csv"), logged("time,query,key,size", &|_| String::new())).unwrap();
    let message = place.refuses(&[&["plan", "silent.csv"][..], &cluster, &sets].concat());
    assert!(message.contains("keys are hashed, and the log does not give their servers"), "{message}");
    fs::write(place.path("other.csv"), logged("time,query,key,size,server_by_hash", &|_| ",9".into())).unwrap();
    let message = place.refuses(&[&["plan", "other.csv"][..], &cluster, &sets].concat());
    assert!(message.contains("other.csv: the log has keys of server 9, but the front end has 8 servers"), "{message}");
}

#[test]
fn refuses_impossible_current_placements_with_their_line() {
    let place = demo();
    place.says(&[&PLAN[..], &["--out", "made"]].concat());
    let cluster = fs::read_to_string(place.path("try/cluster.toml")).unwrap();
    fs::write(place.path("small.toml"), cluster.replace("fan_in = 200", "fan_in = 190")).unwrap();
    for (name, text) in [
        ("none.csv", "what,where\n"),
        ("far.csv", "key,server\nobject:1,1\nobject:1,201\n"),
        ("together.csv", "key,server\nobject:1,1\nobject:1,2\n"),
        ("few.csv", "key,server\nobject:1,1\n"),
        ("words.csv", "key,server\nobject:1,first\n"),
    ] {
        fs::write(place.path(name), text).unwrap();
    }
    fs::create_dir(place.path("other")).unwrap();
    fs::write(place.path("other/plan.json"), "{}").unwrap();
    for (more, told) in [
        (["--current", "none.csv"], "none.csv: line 1: no columns key and server: use the header key,server"),
        (["--current", "far.csv"], "far.csv: line 3: `201` is not a server of this cluster: use 1 to 200"),
        (
            ["--current", "together.csv"],
            "together.csv: line 3: `object:1` is on servers 1 and 2, which are in the same rack",
        ),
        (["--current", "few.csv"], "few.csv: `object:1` is on 1 servers, but `key_value.replicas` is 3"),
        (["--current", "words.csv"], "words.csv: line 2: `first` is not a server"),
        (["--current", "absent.csv"], "absent.csv: No such file"),
        (["--previous", "absent"], "absent/plan.json: No such file"),
        (["--previous", "other"], "other/plan.json: the plan does not name its cluster"),
    ] {
        let message = place.refuses(&[&PLAN[..], &more].concat());
        assert!(message.contains(told), "{more:?} says {message}");
    }
    let message = place.refuses(&["plan", "try/log.csv", "--cluster", "small.toml", "--previous", "made"]);
    assert!(message.contains("made/plan.json: the plan is for another cluster, {"), "{message}");
}

#[test]
fn refuses_logs_of_different_times_and_accepts_hostile_keys() {
    let place = demo();
    let table = |zero: u64, key: &str| {
        let row = |at: u64| format!("{},q{at},{key},1\n", zero + at);
        format!("time,query,key,size\n{}", (0..40).map(row).collect::<String>())
    };
    fs::write(place.path("one.csv"), table(0, "a")).unwrap();
    fs::write(place.path("two.csv"), table(1_700_000_000, "b")).unwrap();
    let message = place.refuses(&["plan", "one.csv", "two.csv", "--cluster", "try/cluster.toml"]);
    assert!(message.contains("two.csv: the log starts 1699999961 s after the others end"), "{message}");
    // A comma, a line break, a formula, markup, bytes that are no text, and a very long key.
    let mut log = b"time,query,key,size\n".to_vec();
    let long = "k".repeat(100_000);
    let keys: [&[u8]; 6] = [b"\"a,b\"", b"\"a\nb\"", b"=1+1", b"</script>", b"\xff\xfe\x00", long.as_bytes()];
    for at in 0..40 {
        for key in keys {
            log.extend(format!("{at},q{at},").bytes());
            log.extend(key);
            log.extend(b",9\n");
        }
    }
    fs::write(place.path("hostile.csv"), log).unwrap();
    let plan = ["plan", "hostile.csv", "--cluster", "try/cluster.toml", "--json"];
    let first: Value = serde_json::from_str(&place.says(&[&plan[..], &["--out", "kept"]].concat())).unwrap();
    assert_eq!(first["log"]["keys"], 6);
    let again: Value = serde_json::from_str(&place.says(&[&plan[..], &["--previous", "kept"]].concat())).unwrap();
    assert_eq!(again["servers_before"], first["servers_after"], "every key is found again: {again}");
}

#[test]
fn plans_again_after_every_period_on_request() {
    let place = whole_demo();
    for method in ["groups", "picc"] {
        let more = ["--every", "20 s", "--method", method, "--json"];
        let told: Value = serde_json::from_str(&place.says(&[&PLAN[..], &more].concat())).unwrap();
        let periods = told["periods"].as_array().unwrap();
        assert_eq!(periods.len(), 4, "{told}");
        let servers = |period: &Value, way: &str| period[format!("servers_{way}")].as_f64().unwrap();
        assert_eq!(servers(&periods[0], "unplanned"), servers(&periods[0], "planned_again"));
        for later in &periods[1..] {
            assert!(servers(later, "planned_again") < servers(later, "unplanned"), "{method}: {later}");
        }
    }
    let words = place.says(&[&PLAN[..], &["--every", "20 s"]].concat());
    assert!(words.contains("Planned again after every period"), "{words}");
}

/// Requests start with the log, so there is no warm-up.
#[test]
fn plans_ignore_the_clusters_warm_up() {
    let place = demo();
    let warm = [&PLAN[..], &["--set", "workload.warm_up=1 s"]].concat();
    assert_eq!(place.says(&warm), place.says(&PLAN));
}

#[test]
fn plans_from_watcher_logs_and_reports_dropped_lines() {
    let place = demo();
    let mut lines = String::from("OK\n");
    for query in 0..40 {
        for key in 0..5 {
            let (micros, key) = (query * 20_000 % 1_000_000 + key * 10, 5 * (query % 3) + key);
            lines += &format!(
                "ts={}.{micros} gid=1 type=item_get key=k{key} status=found clsid=1 cfd=7 size=90\n",
                query * 20_000 / 1_000_000
            );
        }
    }
    lines += "skipped=17\n";
    fs::write(place.path("mc.log"), lines).unwrap();
    let told = place.says(&["plan", "mc.log", "--cluster", "try/cluster.toml"]);
    assert!(told.contains("40 queries for 15 keys, 5.00 keys each on average"), "{told}");
    assert!(told.contains("17 lines dropped by memcached's watcher"), "{told}");
}
