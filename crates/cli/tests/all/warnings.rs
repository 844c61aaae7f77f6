//! Warnings about settings without effect, or with an unintended one: on standard error, in `--json`, in the report.

use std::fs;
use std::path::Path;

use fanin_spec::Scenario;
use serde_json::Value;

use crate::common::{Place, SMALL, err};

/// The warnings of a comparison in `--json`; standard error has the same, and on a slow machine the progress.
fn warnings(text: &str, arguments: &[&str]) -> Vec<String> {
    let place = Place::with(text);
    let small = ["--seeds", "1", "--json"];
    let output = place.fanin(&[&["compare", "my.toml"], small.as_slice(), arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{text}: {}", err(&output));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed: Vec<String> = serde_json::from_value(object["warnings"].clone()).unwrap();
    // Wrapped at blanks, to the width of a terminal.
    assert!(err(&output).lines().all(|line| line.chars().count() <= 100), "{}", err(&output));
    let unfolded = err(&output).replace("\n  ", " ");
    let printed: Vec<&str> = unfolded.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
    assert_eq!(printed, listed);
    listed
}

const LONG: &str = "schemes = [\"newreno\"]\n[workload]\nkind = \"long\"\nduration = \"5 ms\"\n";
const BARRIER: &str = "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"4 KiB\"\nduration = \"2 ms\"\n[sweep]\nfan_in = [2]\n";

#[test]
fn scheme_without_a_plan_is_named() {
    // Two objects get 1,000 requests a second, of which a server can serve as many as this.
    let says = |requests_per_s: u32| {
        let text = format!(
            "schemes = [\"one-all\", \"picc\"]\n[workload]\nkind = \"key_value\"\nqueries = 1000\n[key_value]\n\
             objects = 2\nper_request = 1\nreplicas = 1\nwithin = \"1 s\"\n[picc]\nlearn = \"running\"\nperiod = \"100 ms\"\n\
             requests_per_s = {requests_per_s}\n[sweep]\nfan_in = [4]\n"
        );
        let output = Place::with(&text).fanin(&["compare", "my.toml", "--seeds", "1"]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(says(50).contains("picc moved nothing"), "{}", says(50));
    assert!(!says(5000).contains("moved nothing"), "{}", says(5000));
}

#[test]
fn warns_about_settings_without_effect_with_line_and_reason() {
    let cases: &[(&str, &str, &[&str], &str)] = &[
        (
            LONG,
            "fragment = \"4 KiB\"\n",
            &[],
            "my.toml:5: `workload.fragment` has no effect here: the long workload does not",
        ),
        (
            LONG,
            "[ecn_threshold]\nk = \"9 packets\"\n",
            &[],
            "my.toml:6: `ecn_threshold.k` has no effect here: [ecn_threshold] applies to schemes such as dctcp",
        ),
        (
            LONG,
            "[red]\nmax_p = 0.1\n",
            &[],
            "my.toml:6: `red.max_p` has no effect here: [red] applies to schemes such as newreno+red",
        ),
        (
            LONG,
            "[dctcp]\ng = 0.1\n",
            &[],
            "my.toml:6: `dctcp.g` has no effect here: [dctcp] applies to schemes such as dctcp",
        ),
        (
            LONG,
            "[mapreduce]\nmaps = 9\n",
            &[],
            "my.toml:6: `mapreduce.maps` has no effect here: the long workload does not use it, only mapreduce",
        ),
        (
            LONG,
            "[service]\nfan_out = 2\n",
            &[],
            "my.toml:6: `service.fan_out` has no effect here: there is no service without",
        ),
        (
            LONG,
            "sizes = \"hadoop\"\n",
            &[],
            "my.toml:5: `workload.sizes` has no effect here: there are no Poisson flows without",
        ),
        (
            LONG,
            "[fabric]\nplacement = \"spread\"\n",
            &[],
            "my.toml:6: `fabric.placement` has no effect here: this fabric",
        ),
        (LONG, "", &["--set", "dctcp.g=0.5"], "--set dctcp.g=0.5: `dctcp.g` has no effect here"),
        (LONG, "deadline = \"5 ms\"\n", &[], "my.toml:5: `workload.deadline` has no effect here: only d2tcp"),
        (
            BARRIER,
            "[tcp]\nect = \"data\"\n",
            &["--schemes", "newreno"],
            "my.toml:8: `tcp.ect` has no effect here: none of these schemes uses ECN",
        ),
    ];
    for (base, more, arguments, told) in cases {
        // If a scheme of the file uses the setting, selecting another scheme causes no warning.
        let narrowed = arguments.contains(&"--schemes");
        let warnings = warnings(&format!("{base}{more}"), arguments);
        match narrowed {
            true => assert!(warnings.is_empty(), "{more:?}: dctcp of the file looks at it: {warnings:?}"),
            false => assert!(warnings.len() == 1 && warnings[0].starts_with(told), "{more:?} says {warnings:?}"),
        }
    }
}

#[test]
fn warns_about_a_schemes_own_setting_without_effect() {
    let own = "schemes = [{ label = \"a\", scheme = \"newreno\", red.max_p = 0.1 }, \"newreno+red\"]\n\
               [workload]\nkind = \"long\"\nduration = \"5 ms\"\n";
    let warnings = warnings(own, &[]);
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("my.toml:1: `red.max_p` has no effect here"),
        "{warnings:?}"
    );
}

#[test]
fn settings_used_by_one_scheme_cause_no_warning() {
    for more in ["[dctcp]\ng = 0.1\n", "[ecn_threshold]\nk = \"5 packets\"\n", "[tcp]\nect = \"all\"\n", ""] {
        assert_eq!(warnings(&format!("{BARRIER}{more}"), &[]), [""; 0], "{more}");
    }
    let text = format!("{LONG}[red]\nmax_p = 0.1\n");
    let warnings = warnings(&text, &["--set", "red.max_p=0.2"]);
    assert!(warnings.len() == 1 && warnings[0].starts_with("--set red.max_p=0.2: "), "{warnings:?}");
}

#[test]
fn keys_of_a_section_without_effect_share_a_warning() {
    let warnings = warnings(&format!("{LONG}[mapreduce]\nmaps = 9\nreduces = 3\nheartbeat = \"1 s\"\n"), &[]);
    let told = "my.toml:6: `mapreduce.maps`, `mapreduce.reduces`, `mapreduce.heartbeat` have no effect here: the long";
    assert!(warnings.len() == 1 && warnings[0].starts_with(told), "{warnings:?}");
}

#[test]
fn warns_about_unsuitable_values_with_a_hint() {
    let cases: &[(&str, &str)] = &[
        (
            "[ecn_threshold]\nk = \"300 packets\"\n[switch]\nbuffer = \"250 packets\"\n",
            "my.toml:8: `ecn_threshold.k` of 300 packets never marks",
        ),
        ("[ecn_threshold]\nk = \"64 KiB\"\n", "my.toml:8: `ecn_threshold.k` of 64 KiB never marks"),
        ("[switch]\nbuffer = \"10 packets\"\n", "my.toml:8: `ecn_threshold.k` of 20 packets never marks"),
        ("[tcp]\nrto_min = \"5 ms\"\n", "my.toml:8: `tcp.rto_min` of 5 ms is under `tcp.delayed_ack_timeout` of 40 ms"),
        ("[link]\ndelay = \"600 us\"\n", "my.toml:4: `workload.duration` of 2 ms is under one round trip (2.4"),
    ];
    for (more, told) in cases {
        let more = more.replacen("[", "\n[", 1);
        let warnings = warnings(&format!("{}{more}", BARRIER.trim_end()), &[]);
        assert!(warnings.len() == 1 && warnings[0].starts_with(told), "{more:?} says {warnings:?}");
    }
    // The default threshold is below the smallest buffer.
    let fast = "[link]\nrate = \"100 Gbit/s\"\n[switch]\nbuffer = \"100 KB\"\n";
    assert_eq!(warnings(&format!("{BARRIER}{fast}"), &[]), [""; 0]);
    for more in
        ["[tcp]\nrto_min = \"5 ms\"\ndelayed_ack = 1\n", "[tcp]\nrto_min = \"5 ms\"\ndelayed_ack_timeout = \"1 ms\"\n"]
    {
        assert_eq!(warnings(&format!("{BARRIER}{more}"), &[]), [""; 0], "{more}");
    }
    let idle = |scheme: &str, more: &str| {
        format!("schemes = [\"{scheme}\"]\n[workload]\nkind = \"long\"\nduration = \"5 ms\"\n{more}")
    };
    for (scheme, more, told) in [
        (
            "newreno+red",
            "[red]\nmin_th = \"50 packets\"\nmax_th = \"90 packets\"\n",
            "`red.min_th` of 50 packets never drops early",
        ),
        ("newreno+codel", "[codel]\ntarget = \"5 ms\"\n", "`codel.target` of 5 ms never acts"),
    ] {
        let warnings = warnings(&idle(scheme, more), &[]);
        assert!(warnings.len() == 1 && warnings[0].contains(told), "{more:?} says {warnings:?}");
    }
}

#[test]
fn merges_warnings_of_points_and_names_the_first() {
    let sweep = |values: &str| warnings(BARRIER, &["--sweep", &format!("switch.buffer={values}"), "--fan-in", "2,3"]);
    let told = "never marks, because a `switch.buffer` of 4 KiB is full";
    for (values, ends) in [
        ("4 KiB", "well below the buffer"),
        ("4 KiB,64 KiB", "well below the buffer"),
        ("4 KiB,8 KiB", "well below the buffer (also at switch.buffer 8 KiB)"),
        ("4 KiB,5 KiB,6 KiB", "(also at 2 more points: switch.buffer 5 KiB; switch.buffer 6 KiB)"),
        (
            "4 KiB,5 KiB,6 KiB,7 KiB,8 KiB,9 KiB",
            "(also at 5 more points: switch.buffer 5 KiB; switch.buffer 6 KiB; switch.buffer 7 KiB; and 2 others)",
        ),
    ] {
        let warnings = sweep(values);
        assert!(
            warnings.len() == 1 && warnings[0].contains(told) && warnings[0].ends_with(ends),
            "{values}: {warnings:?}"
        );
    }
}

#[test]
fn warnings_appear_in_the_report_and_the_json_of_a_run() {
    let place = Place::with(&format!("{SMALL}[red]\nmax_p = 0.1\n"));
    place.says(&["compare", "my.toml", "--out", "results"]);
    let page = fs::read_to_string(place.path("results/report.html")).unwrap();
    assert!(
        page.contains("Settings to check") && page.contains("<li>my.toml:10: `red.max_p` has no effect here"),
        "{page}"
    );
    let run = place.says(&["run", "my.toml", "--scheme", "dctcp", "--fan-in", "2", "--json"]);
    let run: Value = serde_json::from_str(&run).unwrap();
    assert!(run["warnings"][0].as_str().unwrap().contains("`red.max_p` has no effect here"), "{run}");
}

#[test]
fn bundled_scenarios_cause_no_warnings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    let folders = ["scenarios", "scenarios/flows", "bench/scenarios", "papers/m21", "papers/gss", "papers/aqm"];
    for file in
        folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap()).map(|entry| entry.unwrap().path())
    {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".toml") || name == "claims.toml" || name == "sensitivity.toml" {
            continue;
        }
        let scenario = Scenario::parse(&name, &fs::read_to_string(&file).unwrap()).unwrap();
        let beside = |path: &str| {
            let path = file.parent().unwrap().join(path);
            fs::read(&path).map(|file| (path.display().to_string(), file)).map_err(|error| error.to_string())
        };
        let variants = scenario.variants_with(&beside).unwrap();
        // The paper shows that 1 ms causes spurious timeouts; its scenario reproduces that (H-r.9, H-r.11).
        // The reference has the same least rates: pauses hold 255 senders back there, too.
        let meant = |what: &str| match name.as_str() {
            "terasort.toml" => what.starts_with("`tcp.rto_min` of 1 ms is under"),
            "roce-incast.toml" => what.starts_with("255 senders at the least rate"),
            _ => false,
        };
        let warnings: Vec<_> = scenario.warnings(&variants).into_iter().filter(|it| !meant(&it.what)).collect();
        assert_eq!(warnings, [], "{}", file.display());
        seen += 1;
    }
    assert!(seen >= 20, "{seen} scenarios");
}

/// Two racks, one scheme of hubs.
const HUBS: &str = "schemes = [\"sicc\"]\n[workload]\nkind = \"key_value\"\n[link]\ndelay = \"1 ms\"\n[fabric]\n\
                    kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\n[sweep]\nfan_in = [3]\n[sicc]\n";

#[test]
fn warns_about_periods_below_a_round_trip() {
    let told = warnings(&format!("{HUBS}period = \"500 us\"\n"), &[]);
    assert!(told.iter().any(|line| line.contains("`sicc.period` of 500 us is under one round trip")), "{told:?}");
    assert!(warnings(&format!("{HUBS}period = \"50 ms\"\n"), &[]).is_empty());
}

#[test]
fn warns_about_queue_estimates_from_delayed_acks() {
    let text = format!("{HUBS}period = \"50 ms\"\nqueue = \"estimated\"\n");
    let told = warnings(&text, &[]);
    assert!(told.iter().any(|line| line.contains("`sicc.queue = \"estimated\"` mistakes ACKs")), "{told:?}");
    assert!(warnings(&text, &["--set", "tcp.delayed_ack=1"]).is_empty());
}

#[test]
fn warns_about_requests_beyond_the_run() {
    let text = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 20\n[key_value]\nobjects = 100\n\
                per_request = 10\nwithin = \"14.4 s\"\n[sweep]\nfan_in = [3]\n";
    let told = warnings(text, &[]);
    assert!(
        told.iter().any(|line| line.contains("requests start within 14.4 s, but `workload.duration` of 5 s")),
        "{told:?}"
    );
    assert!(warnings(text, &["--set", "workload.duration=15 s"]).is_empty());
}

#[test]
fn warns_of_a_lossless_class_that_may_starve() {
    let text = |queues: &str| {
        format!(
            "schemes = [\"dcqcn\"]\n[classes]\nqueues = [{queues}]\nworkload = 3\nbackground_scheme = \"newreno\"\n[switch]\n\
             shared_buffer = \"4 MB\"\n[workload]\nfragment = \"4 KiB\"\nbackground = 1\nduration = \"2 ms\"\n[sweep]\nfan_in = [2]\n"
        )
    };
    for (queues, behind) in [
        ("\"3: dwrr 9, lossless\", \"0: strict, buffer 60 KB\"", "strict class 0"),
        ("\"3: dwrr 5, lossless\", \"0: dwrr 95, buffer 60 KB\"", "class 0, with 95 % of the weights"),
    ] {
        let told = warnings(&text(queues), &[]);
        let what = format!("my.toml:3: `classes.queues`: lossless class 3 may starve behind {behind}");
        assert!(told.len() == 1 && told[0].starts_with(&what), "{told:?}");
    }
    let place = Place::with(&text("\"3: dwrr 5, lossless\", \"0: dwrr 95, buffer 60 KB\""));
    let advised = err(&place.fanin(&["advise", "my.toml", "--budget", "100k"]));
    assert!(advised.replace("\n  ", " ").contains("class 3 may starve behind class 0"), "{advised}");
    assert!(warnings(&text("\"3: dwrr 50, lossless\", \"0: dwrr 50, buffer 60 KB\""), &[]).is_empty());
    assert!(warnings(&text("\"3: strict, lossless\", \"0: strict, buffer 60 KB\""), &[]).is_empty());
}
