//! Statements of the commands about their figures: no sentence contradicts the figures beside it.

use serde_json::Value;

use crate::common::Place;

/// A rack at 25 Gbit/s whose second round stalls, with every seed, because no host has jitter.
const RACK: &str = r#"
schemes = ["cubic"]
[link]
rate = "25 Gbit/s"
delay = "1 us"
framing = "2 B"
[host]
packet_jitter = "none"
[switch]
buffer = "512 KiB"
[workload]
fragment = "256 KiB"
duration = "1 s"
[sweep]
fan_in = [16]
[run]
seeds = 2
"#;

fn rows(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let text = place.says(&[&["compare", "my.toml", "--no-cache", "--json"], arguments].concat());
    let object: Value = serde_json::from_str(&text).unwrap();
    object["rows"].as_array().unwrap().clone()
}

/// Output without line ends, whose positions depend on the width.
fn text(place: &Place, arguments: &[&str]) -> String {
    let text = place.says(&[&["compare", "my.toml", "--no-cache"], arguments].concat());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn reports_a_round_that_never_ends() {
    // No response arrives once the link to the client is down, so the open round never ends.
    let roomy = RACK.replace("512 KiB", "8 MiB");
    let place = Place::with(&(roomy + "[fabric]\nchanges = [\"20 ms switch client down\"]\n"));
    let row = &rows(&place, &[])[0];
    assert_eq!((row["rounds_open"].as_f64(), row["qct_ms"]["at_least"].is_null()), (Some(1.0), false), "{row}");
    assert!(row["qct_ms"]["max"].as_f64() > Some(970.0), "{row}");
    assert!(row["stalls"].as_f64() >= Some(1.0) && row["stalled_ms"].as_f64() > Some(970.0), "{row}");
    let says = text(&place, &[]);
    assert!(says.contains("cubic collapses with 16 senders, the only fan-in tried."), "{says}");
    assert!(says.contains("rounds per run were unfinished after up to"), "{says}");
    assert!(says.contains("nothing is random: all seeds give the same run"), "{says}");
}

#[test]
fn schemes_below_half_of_line_rate_do_not_sustain() {
    let place = Place::with(
        "schemes = [\"newreno\"]\n[link]\nframing = \"2 B\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"32 KiB\"\n\
         [tcp]\ninitial_window = 2\n[workload]\nfragment = \"64 KiB\"\nduration = \"500 ms\"\n[sweep]\nfan_in = [16, 32]\n",
    );
    let says = text(&place, &[]);
    assert!(says.contains("newreno collapses at every fan-in tried."), "{says}");
    assert!(!says.contains("holds"), "{says}");
    for row in rows(&place, &[]) {
        let [mean, allowed] = [&row["goodput_mbps"]["mean"], &row["allowed_mbps"]].map(|value| value.as_f64().unwrap());
        assert!(mean < allowed / 2.0, "{row}");
        let goodput = &row["goodput_mbps"];
        assert!(goodput["lo"].as_f64() >= Some(0.0) && goodput["hi"].as_f64() <= Some(1000.0), "{row}");
    }
}

#[test]
fn waits_without_timeout_are_stalls() {
    // The ACK of a lone segment is delayed by 40 ms, and a window of one segment waits for it, without a timeout.
    let place = Place::with(
        "schemes = [\"newreno\"]\n[link]\ndelay = \"5 us\"\n[tcp]\ninitial_window = 1\n\
         [workload]\nkind = \"web-search\"\nfragment = \"6000 B\"\nqueries = 20\n[sweep]\nfan_in = [4]\n",
    );
    let row = &rows(&place, &[])[0];
    assert_eq!((row["timeouts"].as_f64(), row["rounds"].as_f64()), (Some(0.0), Some(20.0)), "{row}");
    assert!(row["stalls"].as_f64() >= Some(20.0) && row["stalled_ms"].as_f64() > Some(20.0 * 35.0), "{row}");
    let says = text(&place, &[]);
    assert!(
        says.contains("collapses") && says.contains("It is idle once, 40.0 ms in all, waiting for delayed ACKs."),
        "{says}"
    );
}

/// 10 Gbit/s, a Linux TCP and small buffers.
const LINUX: &str = "schemes = [\"cubic\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"256 KiB\"\n\
                     [tcp]\nprofile = \"linux\"\n[workload]\nfragment = \"32 KiB\"\nduration = \"500 ms\"\n[run]\nseeds = 2\n";

fn set<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    keys.iter().flat_map(|key| ["--set", key]).collect()
}

#[test]
fn limited_requests_and_pauses_are_no_collapse() {
    let place = Place::with(LINUX);
    let busy = set(&["workload.in_flight=8", "host.service_time=100 us", "host.service_jitter=100 us"]);
    for (fan_in, keys) in [("64", busy), ("64", set(&["workload.in_flight=4"])), ("2", set(&["workload.pause=300 ms"]))]
    {
        let arguments = [&["--fan-in", fan_in], &keys[..]].concat();
        let row = &rows(&place, &arguments)[0];
        let [mean, allowed] = [&row["goodput_mbps"]["mean"], &row["allowed_mbps"]].map(|value| value.as_f64().unwrap());
        assert!(mean <= 1.001 * allowed && mean >= 0.8 * allowed, "{mean} of {allowed}: {keys:?}");
        let says = text(&place, &arguments);
        assert!(says.contains("cubic sustains") && !says.contains("collapse"), "{says}");
    }
}

#[test]
fn several_clients_have_a_bound_and_can_collapse() {
    let place = Place::with(LINUX);
    let clients = [&["--fan-in", "32,64"], &set(&["workload.clients=4", "workload.servers=own"])[..]].concat();
    let all = rows(&place, &clients);
    assert!(all[1]["goodput_mbps"]["mean"].as_f64() < Some(0.1 * all[0]["goodput_mbps"]["mean"].as_f64().unwrap()));
    assert!(all[1]["allowed_mbps"].as_f64() > Some(30_000.0) && all[1]["clients"] == 4, "{}", all[1]);
    let says = text(&place, &clients);
    assert!(says.contains("collapses at 64"), "{says}");
}

#[test]
fn reports_a_probe_that_ends_a_stall() {
    let place = Place::with(LINUX);
    let jumbo = [&["--fan-in", "20"], &set(&["link.frames=jumbo"])[..]].concat();
    let row = &rows(&place, &jumbo)[0];
    let causes = row["stalls_by_cause"].as_object().unwrap();
    let sum = |what: &str| causes.values().map(|of| of[what].as_f64().unwrap()).sum::<f64>();
    assert!(causes["tlp"]["count"].as_f64() > Some(0.0), "{row}");
    assert!(sum("count") <= row["stalls"].as_f64().unwrap() + 1e-3, "{row}");
    assert!(sum("ms") > 0.95 * row["stalled_ms"].as_f64().unwrap(), "{row}");
    let says = text(&place, &[&jumbo[..], &["--details"]].concat());
    assert!(says.contains("% for tail-loss probes") && says.contains("tail-loss probes (tlp)"), "{says}");
}

#[test]
fn names_losses_by_faults_and_crashed_hosts() {
    let place = Place::with(&RACK.replace("512 KiB", "8 MiB"));
    let loss = text(&place, &set(&["faults.loss=1 %"]));
    assert!(
        loss.contains("packets that faults.loss lost") && !loss.contains("no drops and no marks and no timeout"),
        "{loss}"
    );
    let crash = text(&place, &set(&["faults.hosts=[\"20 ms server3 crashes\"]"]));
    assert!(crash.contains("waiting for crashed or slow hosts"), "{crash}");
}

#[test]
fn names_the_bottleneck_of_slow_schemes() {
    // A window of one segment per round trip, without losses.
    let place = Place::with(
        "schemes = [\"newreno+gss\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"25 us\"\n[switch]\nbuffer = \"16 MiB\"\n\
         [tcp]\ndelayed_ack = 1\n[gss]\nhandshake = true\n[workload]\nkind = \"web-search\"\nfragment = \"200 KB\"\nqueries = 20\n[sweep]\nfan_in = [2]\n",
    );
    let row = &rows(&place, &[])[0];
    assert_eq!(["drops", "timeouts", "stalls", "marks"].map(|what| row[what].as_f64()), [Some(0.0); 4], "{row}");
    let says = text(&place, &[]);
    assert!(
        says.contains("newreno+gss is slow with 2 senders")
            && says.contains("latency limits it: a round takes at least"),
        "{says}"
    );
    assert!(says.contains("for round trips") && !says.contains("collapse"), "{says}");
}

#[test]
fn names_the_cold_start_of_one_round_in_a_hundred() {
    let place = Place::with(RACK);
    // The first of 38, 61 and 128 rounds stalls in each of the two runs.
    for duration in ["600 ms", "1 s", "2 s"] {
        let setting = format!("workload.duration={duration}");
        let row = &rows(&place, &["--set", &setting])[0];
        let cold = &row["cold"];
        assert_eq!(cold["rounds"], serde_json::json!([[1, 0], [2, 0]]), "{duration}: {row}");
        assert!(cold["goodput_mbps"].as_f64() > row["goodput_mbps"]["mean"].as_f64(), "{duration}: {row}");
    }
}

#[test]
fn describes_workloads_without_rounds_in_their_own_terms() {
    let place = Place::with(RACK);
    let long = text(&place, &["--set", "workload.kind=long", "--set", "workload.duration=20 ms"]);
    for absent in ["round", "p99", "none"] {
        assert!(!long.contains(absent), "{absent}: {long}");
    }
    assert!(long.contains("fairness") && long.contains("Jain's index"), "{long}");
    let row = &rows(&place, &["--set", "workload.kind=long", "--set", "workload.duration=20 ms"])[0];
    assert!(row["jain"].as_f64().is_some(), "{row}");

    let shuffle = text(&place, &["--set", "workload.kind=shuffle", "--fan-in", "5"]);
    assert!(shuffle.contains("takes") && shuffle.contains("6 hosts reach"), "{shuffle}");
    let row = &rows(&place, &["--set", "workload.kind=shuffle", "--fan-in", "5"])[0];
    assert!(row["jain"].as_f64().is_some() && row["qct_ms"]["mean"].as_f64().is_some(), "{row}");
}

#[test]
fn separates_background_traffic_from_the_workload() {
    let place = Place::with(RACK);
    let beside = ["--set", "workload.background=3", "--set", "workload.duration=20 ms"];
    let row = &rows(&place, &beside)[0];
    assert!(row["background"]["goodput_mbps"].as_f64() > Some(0.0), "{row}");
    assert!(text(&place, &beside).contains("background traffic, not included above"));
    assert!(rows(&place, &["--set", "workload.duration=20 ms"])[0]["background"].is_null());
}

#[test]
fn warm_up_excludes_the_cold_start() {
    // The pipe holds more than an initial window.
    let place = Place::with(&RACK.replace("1 us", "50 us"));
    let cold = &rows(&place, &["--fan-in", "2", "--set", "workload.duration=20 ms"])[0];
    let warm =
        &rows(&place, &["--fan-in", "2", "--set", "workload.duration=20 ms", "--set", "workload.warm_up=3 rounds"])[0];
    assert!(warm["qct_ms"]["max"].as_f64() < cold["qct_ms"]["max"].as_f64(), "{cold} {warm}");
    let refused =
        place.refuses(&["compare", "my.toml", "--set", "workload.kind=long", "--set", "workload.warm_up=3 rounds"]);
    assert!(refused.contains("a long workload has no rounds: use a time"), "{refused}");
    let refused =
        place.refuses(&["compare", "my.toml", "--set", "workload.kind=one-shot", "--set", "workload.warm_up=1 ms"]);
    assert!(refused.contains("a one-shot workload is measured from its start"), "{refused}");
}

#[test]
fn reports_the_precision_reached() {
    let place = Place::with(
        "schemes = [\"newreno\"]\n[host]\nservice_jitter = \"200 us\"\n[switch]\nbuffer = \"16 KiB\"\n\
         [workload]\nkind = \"one-shot\"\nfragment = \"40 KB\"\nstart_jitter = \"300 us\"\n[sweep]\nfan_in = [8]\n",
    );
    let says = text(&place, &["--precision", "0.01%"]);
    assert!(says.contains("precision not reached: "), "{says}");
    let object: Value =
        serde_json::from_str(&place.says(&["compare", "my.toml", "--json", "--precision", "0.01%"])).unwrap();
    assert!(
        object["precision"]["reached"].as_f64() > object["precision"]["wanted"].as_f64(),
        "{}",
        object["precision"]
    );
}

#[test]
fn warns_about_verdicts_that_depend_on_missing_jitter() {
    let place = Place::with(
        "schemes = [\"newreno\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"256 KiB\"\n\
         [workload]\nkind = \"long\"\nduration = \"100 ms\"\n[sweep]\nfan_in = [2]\n[run]\nseeds = 2\n",
    );
    let warnings = |more: &[&str]| {
        let text = place.says(&[&["compare", "my.toml", "--no-cache", "--json"], more].concat());
        serde_json::from_str::<Value>(&text).unwrap()["warnings"].as_array().unwrap().clone()
    };
    let told = warnings(&["--set", "host.packet_jitter=none"]);
    let told = told.first().and_then(Value::as_str).unwrap_or_default();
    assert!(told.starts_with("newreno with 2 senders depends on phase effects that real hosts do not have (`host.packet_jitter = \"none\"`)"), "{told}");
    assert!(told.contains("it has a Jain's index of 0.50, with jitter "), "{told}");
    let told = warnings(&["--set", "host.packet_jitter=none", "--sweep", "switch.buffer=256 KiB,257 KiB"]);
    let told: Vec<&str> = told.iter().filter_map(Value::as_str).collect();
    assert!(
        told.len() == 1
            && told[0].starts_with(
                "2 points depend on phase effects that real hosts do not have (`host.packet_jitter = \"none\"`)"
            ),
        "{told:?}"
    );
    assert!(told[0].contains(": newreno at buffer 256 KiB has a Jain's index"), "{told:?}");
    assert!(told[0].contains("; newreno at buffer 257 KiB has a Jain's index"), "{told:?}");
    // With jitter the question does not arise, and a sweep over jitter answers it itself.
    for more in [&[][..], &["--sweep", "host.packet_jitter=none,1 us"]] {
        assert_eq!(warnings(more), Vec::<Value>::new(), "{more:?}");
    }
}

#[test]
fn fits_narrow_terminals() {
    let place = Place::with(RACK);
    let short = ["--set", "workload.duration=5 ms", "--no-cache"];
    for arguments in [
        &[&["compare", "my.toml"], &short[..]].concat()[..],
        &[&["compare", "my.toml", "--set", "workload.kind=shuffle"], &short[..]].concat(),
        &[&["run", "my.toml", "--scheme", "cubic"], &short[..]].concat(),
        &["list"],
        &["explain", "dctcp+gss"],
        &["explain", "scenario"],
        &["explain", "model"],
    ] {
        for columns in ["50", "72", "100"] {
            let text = place.says_in(columns, arguments);
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            // Words without a blank cannot be wrapped.
            let word = widest.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
            let most = columns.parse::<usize>().unwrap().max(word + 30);
            assert!(widest.chars().count() <= most, "{arguments:?} in {columns}: {widest}");
        }
    }
}

#[test]
fn prints_the_marking_threshold_of_any_origin() {
    let place = Place::with(
        "schemes = [\"newreno\", \"dctcp\"]\n[link]\nrate = \"10 Gbit/s\"\n[switch]\nbuffer = \"1 MB\"\n\
         [workload]\nfragment = \"4 KiB\"\nduration = \"2 ms\"\n[sweep]\nfan_in = [2]\n[run]\nseeds = 1\n",
    );
    let said = |more: &[&str]| {
        let object: Value =
            serde_json::from_str(&place.says(&[&["compare", "my.toml", "--no-cache", "--json"], more].concat()))
                .unwrap();
        (text(&place, more), object["ecn_threshold_k"].to_string())
    };
    for (more, head, listed) in [
        (&[][..], "; K 65 packets (by link rate) ", r#"{"dctcp":["65 packets"]}"#),
        (&["--set", "ecn_threshold.k=20"], "; K 20 packets ", r#"{"dctcp":["20 packets"]}"#),
        (&["--sweep", "link.rate=1 Gbit/s,10 Gbit/s"], "; K swept ", r#"{"dctcp":["20 packets","65 packets"]}"#),
    ] {
        let (text, json) = said(more);
        assert!(text.contains(head) && json == listed, "{more:?}: {json}: {text}");
    }
    let (text, json) = said(&["--schemes", "newreno"]);
    assert!(!text.contains("; K ") && json == "{}", "{json}: {text}");
    let run = ["run", "my.toml", "--scheme", "dctcp", "--no-cache"];
    let told = place.says(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("; K 65 packets (by link rate) "), "{told}");
    assert!(place.says(&[&run[..], &["--json"]].concat()).contains(r#""ecn_threshold_k":{"dctcp":["65 packets"]}"#));
}
