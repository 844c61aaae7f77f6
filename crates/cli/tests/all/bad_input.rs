//! Every kind of bad input: exit code 2, and one message with the place and the remedy.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::common::{Place, SMALL};

/// Each text, added to a minimal scenario, causes this one-line error.
fn are_told(cases: &[(&str, &str)]) {
    for (text, told) in cases {
        let place = Place::with(text);
        let arguments = ["compare", "my.toml", "--schemes", "newreno", "--set", "workload.fragment=4 KiB"];
        let message = place.refuses(&arguments);
        assert!(message.contains(told), "{text:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn refuses_cards_and_lossy_ports_that_cannot_work() {
    are_told(&[
        (
            "[host.nic]\ndrain = \"2 Gbit/s\"\n",
            "my.toml:2: `host.nic.drain` of 2 Gbit/s is not below the link's 1 Gbit/s",
        ),
        (
            "[host.nic]\ndrain = \"900 Mbit/s\"\nbuffer = \"1 KB\"\n",
            "my.toml:3: `host.nic.buffer` of 1 KB holds no full packet: use at least 1518 B",
        ),
        (
            "[host.nic]\ndrain = \"900 Mbit/s\"\nnotify_at = \"1 MB\"\n",
            "my.toml:3: `host.nic.notify_at` is not below `host.nic.buffer`",
        ),
        ("[host.nic]\nrate = \"1 Gbit/s\"\n", "my.toml:2: unknown key `nic.rate`"),
        ("[host]\nnic = 1\n", "my.toml:2: unknown key `host.nic`"),
    ]);
    for (text, told) in [
        ("[rdma]\nretries = 7\n", "my.toml:2: `rdma.retries` breaks connections, and a barrier workload would wait"),
        ("[rdma]\nlocal_ack_timeout = 32\n", "my.toml:2: `rdma.local_ack_timeout` of 32: use 0 to 31"),
        ("[rdma]\nwindow = \"500 B\"\n", "my.toml:2: an `rdma.window` of 500 B holds no packet of 1 KiB"),
        (
            "[pfc]\nenabled = false\n[switch]\nbuffer = \"2 KB\"\n[rdma]\npayload = \"4 KiB\"\n",
            "my.toml:6: `switch.buffer`: 2 KB hold no full packet of RDMA, 4158 B",
        ),
    ] {
        let place = Place::with(text);
        let message = place.refuses(&["compare", "my.toml", "--schemes", "dcqcn", "--set", "workload.fragment=4 KiB"]);
        assert!(message.contains(told), "{text:?} says {message}");
    }
}

#[test]
fn refuses_traffic_classes_that_cannot_work() {
    let queues = |lines: &str| format!("[classes]\nqueues = [{lines}]\n");
    let cases = [
        (
            queues("\"0: dwrr 0\""),
            "my.toml:2: `classes.queues`: \"0: dwrr 0\": a weight of 0 adds up to no share of a link; use",
        ),
        (
            queues("\"9: strict\""),
            "my.toml:2: `classes.queues`: \"9: strict\": the class is not a number from 0 to 7; use",
        ),
        (queues("\"0: strict\", \"0: dwrr 3\""), "my.toml:2: `classes.queues` has class 0 twice: keep one"),
        (
            queues("\"0: strict, dscp 8\", \"1: dwrr 3, dscp 8\""),
            "my.toml:2: `classes.queues` has DSCP 8 in two classes: keep one",
        ),
        (
            queues("\"0: strict\"") + "workload = 5\n",
            "my.toml:3: `classes.workload` is class 5, which has no queue: add a line \"5: ...\" to `classes.queues`",
        ),
        (
            queues("\"0: strict\"") + "workload = \"dscp 46\"\n",
            "my.toml:3: `classes.workload` is DSCP 46, which no queue lists: add \"dscp 46\" to a line of",
        ),
        (
            queues("\"0: strict\"") + "workload = 8\n",
            "my.toml:3: `classes.workload`: there is no class 8; use a traffic class from 0 to 7",
        ),
        (
            queues("\"0: strict\"") + "background = 2\n[workload]\nbackground = 1\n",
            "my.toml:3: `classes.background` is class 2, which has no queue",
        ),
        (
            queues("\"0: strict, lossless, headroom 0 B\"") + "[switch]\nshared_buffer = \"4 MB\"\n",
            "my.toml:2: `classes.queues`: class 0 is lossless, but a headroom of 0 B loses packets after a pause: a link of 1 Gbit/s and",
        ),
        (
            queues("\"0: strict, lossless\"") + "[switch]\nshared_buffer = \"4 KB\"\n",
            "my.toml:4: reserves and headrooms of the",
        ),
        (
            queues("\"0: strict, headroom 4 KB\""),
            "my.toml:2: `classes.queues`: \"0: strict, headroom 4 KB\": only a lossless class has headroom; use a line",
        ),
        (
            queues("\"0: strict\"") + "[switch]\nshared_buffer = \"4 MB\"\n",
            "my.toml:4: `classes.queues`: class 0 drops and has no buffer, and only lossless classes share",
        ),
        (
            queues("\"0: strict, buffer 1 KB\""),
            "my.toml:2: `classes.queues`: a buffer of 1 KB for class 0 is less than one packet: use at least",
        ),
        (
            queues("\"0: strict\"") + "background_scheme = \"hpcc\"\n",
            "my.toml:3: `classes.background_scheme` is `hpcc`: use a congestion control of TCP",
        ),
        (
            queues("\"0: strict, lossless\"") + "[switch]\nshared_buffer = \"4 MB\"\n[pfc]\nenabled = false\n",
            "my.toml:6: `classes.queues` has a lossless class, but `pfc.enabled` is off: remove one of the two",
        ),
    ];
    are_told(&cases.iter().map(|(text, told)| (text.as_str(), *told)).collect::<Vec<_>>());
    let place = Place::with(&queues("\"0: strict\""));
    let message = place.refuses(&["compare", "my.toml", "--schemes", "ndp", "--set", "workload.fragment=4 KiB"]);
    assert!(message.contains("my.toml:2: the ports of `ndp` trim packets and have no traffic classes"), "{message}");
}

#[test]
fn reports_errors_in_files_with_line_and_valid_form() {
    are_told(&[
        ("[link]\nrte = \"1 Gbit/s\"\n", "my.toml:2: unknown key `link.rte` (did you mean `link.rate`?)"),
        ("[lnk]\n", "my.toml:1: unknown section or key `lnk` (did you mean `link`?)"),
        ("[measure]\nport = true\n", "my.toml:2: unknown key `measure.port` (did you mean `measure.ports`?)"),
        ("[measure]\nports = \"all\"\n", "my.toml:2: `measure.ports`: \"all\" has the wrong form; use true"),
        ("[link]\nrate = 10\n", "my.toml:2: `link.rate`: 10 has no unit; use"),
        ("[link]\nrate = \"0 Gbit/s\"\n", "my.toml:2: `link.rate`: a rate of zero sends nothing"),
        ("[link]\nrate = \"-1 Gbit/s\"\n", "my.toml:2: `link.rate`: \"-1 Gbit/s\" is not valid"),
        (
            "[link]\nframing = \"1001 B\"\n",
            "my.toml:2: `link.framing`: 1001 B of framing per packet is too large; use \"ethernet\", or at most",
        ),
        ("[link]\nframing = 38\n", "my.toml:2: `link.framing`: 38 has no unit; use"),
        (
            "[host]\nqueue = \"fifo\"\n",
            "my.toml:2: `host.queue`: \"fifo\" is not one of these; use \"plain\" or \"switch\"",
        ),
        ("[host]\npacket_jitter = \"-1 us\"\n", "my.toml:2: `host.packet_jitter`: \"-1 us\" is not valid"),
        (
            "[host]\npacket_jitter = \"off\"\n",
            "use \"none\", \"transmission\", a share such as \"0.3 of a transmission\"",
        ),
        (
            "[host]\npacket_jitter = \"1.3 of a transmission\"\n",
            "my.toml:2: `host.packet_jitter`: \"1.3 of a transmission\" is not valid: it is too large; use",
        ),
        (
            "[host]\npacket_jitter = \"none of a transmission\"\n",
            "my.toml:2: `host.packet_jitter`: \"none of a transmission\" is not valid: it has no number; use",
        ),
        ("[host]\npacket_jitter = 0.3\n", "my.toml:2: `host.packet_jitter`: 0.3 has the wrong form; use"),
        (
            "[host]\npacket_jitter = \"11 ms\"\n",
            "my.toml:2: `host.packet_jitter`: 11 ms of jitter per packet is too large; use",
        ),
        ("[host]\nqueue = true\n", "my.toml:2: `host.queue`: it is not a word; use \"plain\""),
        ("[sweep]\nfan_in = [0]\n", "my.toml:2: `workload.fan_in` of 0: use 1 to 1000000"),
        ("schemes = [\"newrno\"]\n", "my.toml:1: unknown scheme `newrno` (did you mean `newreno`?)"),
        ("[run]\nseeds = 0\n", "my.toml:2: `run.seeds` of 0: use 1 to 1000000"),
        ("[tcp]\nmss = \"63 B\"\n", "my.toml:2: `tcp.mss` of 63 B: use 64 B to 9 KB"),
        ("[tcp]\nrto_min = \"0 s\"\n", "my.toml:2: `tcp.rto_min` of 0 s: use above 0 (a timeout of zero"),
        ("[host]\nservice_time = \"1001 s\"\n", "my.toml:2: `host.service_time` of 1001 s: use at most 1000 s"),
        ("[sweep]\nfan_in = [4, 1000001]\n", "my.toml:2: `workload.fan_in` of 1000001: use 1 to 1000000"),
        ("[workload]\nload = 0\n", "my.toml:2: `workload.load` of 0: use above 0 and at most 1"),
        ("[link\n", "my.toml:1: not TOML"),
        ("[workload]\nkind = \"mapreduce\"\n[mapreduce]\nmaps = 0\n", "my.toml:4: `mapreduce.maps` of 0: use"),
        (
            "[workload]\nkind = \"mapreduce\"\n[mapreduce]\nheartbeat = \"0 s\"\n",
            "my.toml:4: `mapreduce.heartbeat` of 0 s: use at least 1 ms",
        ),
        (
            "[workload]\nkind = \"mapreduce\"\n[mapreduce]\ntell = \"never\"\n",
            "my.toml:4: `mapreduce.tell`: \"never\" is not one of these; use \"heartbeat\" (Hadoop) or \"at-once\" (MRPerf)",
        ),
        ("[service]\nqueries_per_s = 0\n", "my.toml:2: `service.queries_per_s` of 0: use at least 1"),
        ("[service]\nqueries_per_s = 9\nfan_out = 2\nanswer = \"0 B\"\n", "my.toml:4: `service.answer` of 0 B"),
        ("[[schemes]]\nscheme = \"newreno\"\nsweep.fan_in = [2]\n", "my.toml:3: `sweep` cannot differ between schemes"),
    ]);
}

#[test]
fn reports_contradicting_settings_with_a_line() {
    are_told(&[
        ("[switch]\n\nbuffer = \"10 B\"\n", "my.toml:3: `switch.buffer` is smaller than one packet: use"),
        (
            "[tcp]\nsack = false\nrack = true\n",
            "`tcp.rack` needs selective acknowledgements (RFC 8985): set `tcp.sack = true`, or `tcp.rack = false`",
        ),
        (
            "[tcp]\nsack = false\ntail_loss_probe = true\n",
            "`tcp.tail_loss_probe` needs selective acknowledgements (RFC 8985): set `tcp.sack = true`",
        ),
        (
            "[tcp]\nmax_retransmissions = 5\n",
            "my.toml:2: `tcp.max_retransmissions` aborts connections, and a barrier workload would wait forever",
        ),
        (
            "[tcp]\nmax_retransmissions = 5\n[workload]\nkind = \"key_value\"\n[key_value]\ntimeout = \"none\"\n",
            "my.toml:6: `tcp.max_retransmissions` aborts a server's connection with a reset, which may be lost",
        ),
        ("[tcp]\nmax_retransmissions = 0\n", "my.toml:2: `tcp.max_retransmissions` of 0: use 1 to 255"),
        ("[sweep]\nfan_in = [4, 2]\n", "my.toml:2: the fan-ins must rise"),
        ("schemes = [\"newreno+ecn\"]\n", "my.toml:1: scheme `newreno+ecn` cannot work"),
        (
            "[fabric]\nkind = \"edges\"\nedges = [\"client s\", \"server1..200 t\"]\n",
            "my.toml:3: `fabric.edges`: no way from `client` to `server1`: the edges are not one network",
        ),
        (
            "[fabric]\nkind = \"edges\"\nedges = [\"client s\", \"server1..200 s 0 Gbit/s\"]\n",
            "my.toml:3: `fabric.edges`: the edge from server1 to s has a rate of zero",
        ),
        ("[fabric]\nedges = [\"client s\"]\n", "a star has no `fabric.edges`: set `fabric.kind = \"edges\"`"),
        ("[workload]\nkind = \"mapreduce\"\nrequest = \"0 B\"\n", "my.toml:3: nodes of a mapreduce job send requests"),
        (
            "[service]\nqueries_per_s = 9\nfan_out = 200\n[sweep]\nfan_in = [16]\n",
            "my.toml:3: a query cannot use 200 of 16 other hosts: use 1 to 16",
        ),
    ]);
}

#[test]
fn names_the_invalid_number_of_a_fabric() {
    let leaves = "kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 3\nspines = 2";
    let pods = "kind = \"fat-tree\"\nhosts_per_rack = 3\nspines = 2";
    let cases: &[(&str, &str, &str)] = &[
        ("kind = \"leaf-spine\"", "", "my.toml:2: the leaf-spine fabric needs `fabric.racks`"),
        (leaves, "hosts_per_rack=0", "`fabric.hosts_per_rack` of 0: use at least 1"),
        (leaves, "uplink_rate=0 Gbit/s", "`fabric.uplink_rate`: a rate of zero sends nothing"),
        (leaves, "racks=1", "the leaf-spine has 3 hosts including the client, but the scenario needs 5 servers"),
        (
            leaves,
            "oversubscription=7",
            "`fabric.oversubscription` of 7: 3 hosts at 1 Gbit/s over 2 uplinks give a fractional rate",
        ),
        (leaves, "pods=2", "a leaf-spine has no `fabric.pods`: set `fabric.kind = \"fat-tree\""),
        (pods, "arity=4", "`fabric.arity` determines `fabric.hosts_per_rack`: remove one of them"),
        (
            "kind = \"fat-tree\"\narity = 5",
            "",
            "`fabric.arity` of 5 must be even, because half of a switch's ports are uplinks: use 4 or 6",
        ),
        (
            &format!("{pods}\npods = 4\nracks = 10"),
            "",
            "`fabric.racks` of 10 cannot be divided evenly among 4 pods: use 8 or 12",
        ),
        (&format!("{pods}\npods = 1\nracks = 10"), "", "`fabric.pods` of 1: a fat tree needs at least 2"),
        (leaves, "changes=[\"10 ms leaf1 spine1\"]", "\"10 ms leaf1 spine1\": use a time, two nodes, then"),
        (leaves, "changes=[\"10 leaf1 spine1 down\"]", "\"10 leaf1 spine1 down\": "),
        (leaves, "changes=[\"1 ms leaf3 spine1 down\"]", "nothing is called `leaf3` here"),
        (leaves, "changes=[\"1 ms leaf1 leaf2 up\"]", "no link joins `leaf1` and `leaf2`"),
        (leaves, "changes=[\"1 ms leaf1 spine1 0 Gbit/s\"]", "a rate of zero sends nothing: use \"down\""),
        ("racks = 4", "", "a star has no `fabric.racks`: set `fabric.kind = \"leaf-spine\" or \"fat-tree\""),
    ];
    for (text, set, told) in cases {
        let place = Place::with(&format!("[fabric]\n{text}\n"));
        let set = if set.is_empty() { "workload.request=64 B".into() } else { format!("fabric.{set}") };
        let arguments =
            ["compare", "my.toml", "--schemes", "newreno", "--fan-in", "5", "--set", "workload.fragment=4 KiB"];
        let message = place.refuses(&[&arguments[..], &["--set", &set]].concat());
        assert!(message.contains(told), "{text:?} {set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn quotes_invalid_arguments() {
    let place = Place::with(SMALL);
    let cases: &[(&[&str], &str)] = &[
        (&["--schemes", "nonsense"], "--schemes nonsense: unknown scheme `nonsense`"),
        (&["--schemes", "dctcp,dctcp"], "`dctcp` is listed twice"),
        (&["--fan-in", "0"], "--fan-in 0: `workload.fan_in` of 0: use 1 to 1000000"),
        (&["--fan-in", "-1"], "--fan-in -1: `sweep.fan_in`: -1 is out of range"),
        (&["--fan-in", "2,x"], "--fan-in 2,x: `x` is not a number of servers; use rising numbers"),
        (&["--fan-in", ""], "is not a number of servers"),
        (&["--seeds", "0"], "--seeds 0: `run.seeds` of 0: use 1 to"),
        (&["--seeds", "many"], "--seeds many: `run.seeds`"),
        (&["--first-seed", "-3"], "--first-seed -3: `run.first_seed`: -3 is out of range"),
        (&["--set", "link.rate=0 Gbit/s"], "--set link.rate=0 Gbit/s: `link.rate`: a rate of zero sends nothing"),
        (&["--set", "link.rate=10"], "--set link.rate=10: `link.rate`: 10 has no unit"),
        (&["--set", "lnk.rate=1 Gbit/s"], "unknown key `lnk.rate` (did you mean `link.rate`?)"),
        (&["--set", "switch.buffer=10 B"], "--set switch.buffer=10 B: `switch.buffer` is smaller than one packet"),
        (&["--set", "link.rate"], "--set link.rate: write it as path.to.key=VALUE"),
        (&["--out", "/proc/nowhere"], "--out /proc/nowhere: is not writable"),
    ];
    for (extra, told) in cases {
        let message = place.refuses(&[&["compare", "my.toml"], *extra].concat());
        assert!(message.contains(told), "{extra:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
    let message = place.refuses(&["compare", "my.toml", "--jobs", "0"]);
    assert!(message.contains("'0' for '--jobs <N>': use a whole number of at least 1"), "{message}");
}

#[test]
fn names_the_option_of_an_invalid_cluster() {
    let place = Place::with(SMALL);
    let cluster = ["compare", "--servers", "8", "--rate", "25G", "--answer", "64KiB"];
    let other = |option: &str, value: &'static str| {
        let mut words = cluster.to_vec();
        let at = words.iter().position(|word| *word == option).unwrap();
        words[at + 1] = value;
        words
    };
    for (words, told) in [
        (other("--rate", "0Gbit/s"), "error: --rate 0Gbit/s: `link.rate`: a rate of zero sends nothing"),
        (other("--rate", "1bit/s"), "error: --rate 1bit/s: `link.rate` of 1 bit/s: use 1 kbit/s to"),
        (other("--rate", "25GB/s"), "error: --rate 25GB/s: it is in bytes per second: write `200 Gbit/s`"),
        (other("--answer", "0B"), "error: --answer 0B: a response of 0 B"),
        (other("--answer", "1M"), "error: --answer 1M: its unit may mean `MB` or `MiB`"),
        (
            other("--servers", "1000000"),
            "error: --switch arista-7050cx3 (assumed): 1792 B reserved for each of 1000001 ports",
        ),
        (
            [&cluster[..], &["--switch", "7050c"]].concat(),
            "error: --switch 7050c: `switch.profile`: \"7050c\" is not one of",
        ),
        ([&cluster[..], &["--schemes", "groups"]].concat(), "error: --schemes groups: `groups` places objects"),
        (
            [&cluster[..], &["--set", "fabric.kind=leaf-spine"]].concat(),
            "error: --set fabric.kind=leaf-spine: the leaf-spine fabric needs `fabric.racks`, `fabric.hosts_per_rack`, `fabric.spines`",
        ),
    ] {
        let message = place.refuses(&words);
        assert!(message.starts_with(told), "{words:?} says {message}");
    }
    let message = place.refuses(&["run", "my.toml", "--scheme", "nonsense", "--fan-in", "2"]);
    assert!(message.contains("--scheme nonsense: unknown scheme"), "{message}");
}

#[test]
fn reports_unreadable_scenarios() {
    let place = Place::with(SMALL);
    fs::write(place.path("latin.toml"), b"title = \"caf\xe9\"\n").unwrap();
    for (file, told) in [
        ("gone.toml", "gone.toml: cannot read the scenario"),
        ("-", "`-` is not a file"),
        (".", ".: cannot read the scenario"),
        ("latin.toml", "latin.toml: not UTF-8"),
    ] {
        let message = place.refuses(&["compare", file]);
        assert!(message.contains(told), "{file} says {message}");
    }
    assert!(place.refuses(&["compare", "gone.toml"]).contains("fanin new star"));
}

#[test]
fn refuses_and_keeps_folders_that_are_not_empty() {
    let place = Place::with(SMALL);
    let message = place.refuses(&["compare", "my.toml", "--out", "."]);
    assert!(message.contains("--out .: contains `my.toml`"), "{message}");
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
}

#[test]
fn bad_input_leaves_no_folder_behind() {
    let place = Place::with(SMALL);
    place.refuses(&["compare", "my.toml", "--out", "results", "--fan-in", "0"]);
    assert!(!place.path("results").exists());
}

#[test]
fn one_run_takes_one_scheme_and_one_fan_in() {
    let place = Place::with(SMALL);
    let message = place.refuses(&["run", "my.toml", "--scheme", "dctcp", "--fan-in", "2,4"]);
    assert!(message.contains("--fan-in 2,4: use one number of servers"), "{message}");
    let message = place.refuses(&["run", "my.toml", "--scheme", "a,b", "--fan-in", "2"]);
    assert!(message.contains("unknown scheme `a,b`"), "{message}");
}

#[test]
fn explain_and_new_list_valid_names() {
    let place = Place::with("");
    assert!(place.refuses(&["explain", "dctpc"]).contains("similar: `dctcp`"));
    assert!(place.refuses(&["new", "ring"]).contains("unknown fabric `ring`; use star"));
}

#[test]
fn gives_up_endless_files_and_pipes_without_writer() {
    let place = Place::with(SMALL);
    let message = place.refuses(&["compare", "/dev/zero"]);
    assert!(message.contains("/dev/zero: cannot read the scenario: longer than 16.0 MB"), "{message}");
    assert!(Command::new("mkfifo").arg(place.path("pipe.toml")).status().unwrap().success());
    let message = place.refuses(&["compare", "pipe.toml"]);
    assert!(message.contains("pipe.toml: cannot read the scenario: no data for 10 s"), "{message}");
    let set = ["--set", "workload.kind=poisson", "--set", "workload.load=0.5", "--set", "workload.sizes=zero.txt"];
    symlink("/dev/zero", place.path("zero.txt")).unwrap();
    let message = place.refuses(&[&["compare", "my.toml"], &set[..]].concat());
    assert!(message.contains("zero.txt: longer than 500 MB"), "{message}");
}

#[test]
fn reads_scenarios_from_pipes_and_standard_input() {
    let place = Place::with(SMALL);
    let plain = place.says(&["compare", "my.toml", "--json"]);
    let rows = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["rows"].take();
    let child = place
        .command(&["compare", "/dev/stdin", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_ref().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(rows(&String::from_utf8(output.stdout).unwrap()), rows(&plain));
    let substituted = Command::new("bash")
        .args(["-c", &format!("{} compare <(cat my.toml) --json", env!("CARGO_BIN_EXE_fanin"))])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    assert_eq!(rows(&String::from_utf8(substituted.stdout).unwrap()), rows(&plain));
}

#[test]
fn names_are_safe_in_terminals_and_spreadsheets() {
    let text = "\
title = \"a\\u001b[31mb\\u202ec\"
[workload]
fragment = \"4 KiB\"
duration = \"2 ms\"
[sweep]
fan_in = [2]
[[schemes]]
label = \"=1+1\\u001b]0;x\\u2066\"
scheme = \"newreno\"
";
    let place = Place::with(text);
    let disturbs = |text: &str| text.contains(['\u{1b}', '\u{202e}', '\u{2066}']);
    let said = place.says(&["compare", "my.toml", "--out", "results", "--no-cache"]);
    assert!(!disturbs(&said) && said.contains("=1+1?]0;x?"), "{said:?}");
    let csv = fs::read_to_string(place.path("results/summary.csv")).unwrap();
    assert!(!disturbs(&csv) && csv.contains("\n'=1+1?]0;x?,2,"), "{csv:?}");
    let message = place.refuses(&["compare", "my.toml", "--set", "link.rate=\u{1b}[31m\u{202e}"]);
    assert!(!disturbs(&message), "{message:?}");
    let message = place.refuses(&["compare", "\u{1b}[31m\u{202e}.toml"]);
    assert!(!disturbs(&message), "{message:?}");
}

#[test]
fn refuses_impossible_faults_with_a_remedy() {
    let form = "use a time, a host, then crashes, returns or slows to a share, such as \"10 ms server3 crashes\"";
    let cases: &[(&str, &str)] = &[
        ("loss=1.5", "use a share from 0 to 1"),
        ("loss=-0.1", "use a share from 0 to 1"),
        ("duplication=many", "use a share from 0 to 1"),
        ("reordering_delay=0 s", "`faults.reordering_delay` of 0 s: use above 0 and at most 10 s"),
        ("hosts=[\"10 ms server3\"]", form),
        ("hosts=[\"10 server3 crashes\"]", "\"10 server3 crashes\": "),
        ("hosts=[\"10 ms server3 dies\"]", form),
        ("hosts=[\"10 ms server6 crashes\"]", "unknown host `server6`: use client, or server1 to server5"),
        ("hosts=[\"10 ms server0 crashes\"]", "unknown host `server0`"),
        ("hosts=[\"10 ms server03 crashes\"]", "unknown host `server03`"),
        ("hosts=[\"10 ms switch crashes\"]", "unknown host `switch`"),
        ("hosts=[\"10 ms client returns\"]", "\"10 ms client returns\": it is not down: add a crash before it"),
        (
            "hosts=[\"10 ms client returns\", \"20 ms client crashes\"]",
            "\"10 ms client returns\": it is not down: add a crash before it",
        ),
        (
            "hosts=[\"30 ms client crashes\", \"20 ms client crashes\"]",
            "\"30 ms client crashes\": it is already down: add a return before it",
        ),
        ("hosts=[\"10 ms server1 slows to 0\"]", "a host slowed to zero never sends: use \"crashes\""),
        ("hosts=[\"10 ms server1 slows to 2\"]", "use a share above 0 and at most 1"),
        ("hosts=[\"10 ms server1 slows to\"]", "use a share above 0 and at most 1"),
        ("hosts=[\"10 ms server1 slows to 1/4000000\"]", "its link would be at 250 bit/s: use at least 1 kbit/s"),
    ];
    let place = Place::with("");
    for (set, told) in cases {
        let arguments =
            ["compare", "my.toml", "--schemes", "newreno", "--fan-in", "5", "--set", "workload.fragment=4 KiB"];
        let message = place.refuses(&[&arguments[..], &["--set", &format!("faults.{set}")]].concat());
        assert!(message.contains(told), "{set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn refuses_impossible_requests_with_a_remedy() {
    let cases: &[(&str, &str, &str)] = &[
        ("one-all", "key_value.per_request=0", "a request needs at least one object"),
        ("one-all", "key_value.per_request=1000000", "a request for 1000000 of 100000 objects"),
        ("one-all", "key_value.replicas=0", "`key_value.replicas` of 0: use 1 to 64"),
        ("one-all", "key_value.replicas=12", "12 replicas of an object on 11 servers: use at most 11"),
        (
            "one-all",
            "key_value.replica_racks=distinct",
            "3 replicas of an object in distinct racks, but there are 2 racks: use at most 2",
        ),
        ("one-all", "key_value.zipfian=1", "`key_value.zipfian` of 1: use above 0 and at most 999/1000"),
        ("one-all", "key_value.popularity=popular", "use \"uniform\", \"zipfian\", \"two-class\" or \"pages\""),
        ("sicc", "sicc.threshold=0", "`sicc.threshold`"),
        ("sicc", "sicc.threshold=1.5", "use a share from 0 to 1"),
        ("sicc", "sicc.alpha=0", "`sicc.alpha`"),
        ("sicc", "sicc.alpha=1.01", "use a share from 0 to 1"),
        ("sicc", "fabric.racks=4", "2 of 4 racks have no server: use more servers"),
        ("one-all", "fabric.racks=4", "2 of 4 racks have no server: use more servers"),
        ("sicc", "fabric.hosts_per_rack=20", "`sicc` uses one hub per rack, but all hosts are in one rack"),
        (
            "one-all",
            "workload.kind=long",
            "`one-all` schedules requests for objects, and a long workload has no objects",
        ),
    ];
    let place = Place::with(
        "[workload]\nkind = \"key_value\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 6\nspines = 2\n",
    );
    for (scheme, set, told) in cases {
        let message = place.refuses(&["compare", "my.toml", "--schemes", scheme, "--fan-in", "11", "--set", set]);
        assert!(message.contains(told), "{set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn refuses_impossible_clients_and_pauses() {
    let cases = [
        ("workload.clients=0", "`workload.clients` of 0: use 1 to 4096"),
        ("workload.clients=4097", "`workload.clients` of 4097: use 1 to 4096"),
        ("workload.servers=mine", "use \"same\", \"own\" or \"others\""),
        ("fabric.hosts=14", "`fabric.hosts` is 14, too few for 4 servers and 3 clients: use at least 15"),
        ("workload.pause=1", "1 has no unit; use a time with its unit"),
        ("workload.pause=1001 s", "`workload.pause` of 1001 s: use at most 1000 s"),
        ("dctcp.min_window=3", "`dctcp.min_window` of 3: use 1 to 2"),
    ];
    let scenario = SMALL.replace("fragment", "clients = 3\nservers = \"own\"\nfragment");
    let place = Place::with(&scenario);
    for (set, told) in cases {
        let message = place.refuses(&["compare", "my.toml", "--schemes", "dctcp", "--fan-in", "4", "--set", set]);
        assert!(message.contains(told), "{set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
    let place = Place::with("[workload]\nkind = \"key_value\"\npause = \"1 ms\"\n[key_value]\nwithin = \"1 s\"\n");
    let message = place.refuses(&["compare", "my.toml", "--schemes", "one-all", "--fan-in", "4"]);
    assert!(message.contains("my.toml:5: requests start independently within 1 s"), "{message}");
}

#[test]
fn refuses_invalid_bursts_with_their_line() {
    let place = Place::with("[workload]\nkind = \"bursts\"\nbursts = \"b.csv\"\nduration = \"5 ms\"\n");
    let arguments = ["compare", "my.toml", "--schemes", "newreno", "--fan-in", "4"];
    for (table, told) in [
        (
            "gap_us,fan_in,bytes\n500,4,9000\n500,5,9000\n",
            "b.csv:3: a burst of 5 servers, but there are 4: use a fan-in of at least 5",
        ),
        ("of,value,cdf\nbytes,5,0.5\nbytes,4,1\n", "b.csv:3: the distribution of bytes decreases"),
    ] {
        fs::write(place.path("b.csv"), table).unwrap();
        let message = place.refuses(&arguments);
        assert!(message.contains(told), "{table:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
    let message = place.refuses(&[&arguments[..], &["--set", "workload.bursts=none"]].concat());
    assert!(message.contains("the bursts workload needs `workload.bursts`"), "{message}");
    let message = Place::with(SMALL).refuses(&["compare", "my.toml", "--set", "workload.bursts=b.csv"]);
    assert!(message.contains("b.csv"), "{message}");
}

#[test]
fn refuses_frames_that_contradict_the_segments() {
    let place = Place::with(SMALL);
    for (set, told) in [
        (&["link.frames=jumbo", "tcp.mss=1460 B"][..], "`tcp.mss` of 1460 B contradicts `link.frames = \"jumbo\"`"),
        (&["link.frames=jumbo", "tcp.timestamps=true", "tcp.mss=8960 B"], "whose packets carry 8948 B"),
        (&["link.frames=standard", "tcp.mss=1461 B"], "whose packets carry 1460 B: use that value, or remove the key"),
        (&["link.frames=large"], "use \"by-mss\", \"standard\" or \"jumbo\""),
    ] {
        let sets: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let message = place.refuses(&[&["compare", "my.toml"][..], &sets].concat());
        assert!(message.contains(told), "{set:?} says {message}");
    }
    let rows = |sets: &[&str]| {
        let arguments = [&["compare", "my.toml", "--json", "--set", "switch.buffer=30 packets"][..], sets].concat();
        let summary: serde_json::Value = serde_json::from_str(&place.says(&arguments)).unwrap();
        summary["rows"].clone()
    };
    let large = rows(&["--set", "tcp.mss=8960 B"]);
    assert_eq!(rows(&["--set", "link.frames=jumbo"]), large);
    assert_eq!(rows(&["--set", "link.frames=jumbo", "--set", "tcp.mss=8960 B"]), large);
    assert_ne!(rows(&[]), large);
}

#[test]
fn refuses_impossible_pages_with_a_remedy() {
    let cases = [
        ("key_value.replaced=51", "51 of 50 objects replaced: use at most as many"),
        ("key_value.page=100000", "5000 pages of 100000 objects: use at most 100000000 objects"),
        ("key_value.pages=0", "`key_value.pages` of 0: use 1 to 1000000"),
    ];
    let place = Place::with("[workload]\nkind = \"key_value\"\n[key_value]\npopularity = \"pages\"\n");
    for (set, told) in cases {
        let message = place.refuses(&["compare", "my.toml", "--schemes", "one-all", "--fan-in", "11", "--set", set]);
        assert!(message.contains(told), "{set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn refuses_a_plan_for_another_cluster() {
    let scenario = "[workload]\nkind = \"key_value\"\n[key_value]\nplacement = \"plan.csv\"\nobjects = 50\nper_request = 10\nreplicas = 1\n";
    let place = Place::with(scenario);
    let arguments = ["compare", "my.toml", "--schemes", "one-all", "--fan-in", "3"];
    let missing = place.refuses(&arguments);
    assert!(
        missing.contains("my.toml:4: `key_value.placement`: ") && missing.contains("cannot read plan.csv"),
        "{missing}"
    );
    let fifty_one = format!("key,server{}", (0..51).map(|key| format!("\n{key},1")).collect::<String>());
    for (lines, told) in [
        ("0,1,2,liked", "plan.csv:2: expected `object,from,to,reason`"),
        ("50,1,2,popular", "plan.csv:2: object 50 does not exist: there are 50, the first is 0"),
        ("0,1,4,popular", "plan.csv:2: host 4 is not a server: servers are hosts 1 to 3"),
        // It is at one of the three servers, and moved away before the last line.
        ("0,1,2,popular\n0,2,3,popular\n0,3,1,popular\n0,3,2,popular", "object 0 is not at host"),
        // A table of all placements.
        ("key,server\na,1\nb,4", "plan.csv:3: host 4 is not a server: servers are hosts 1 to 3"),
        ("key,server\na,1\nb,2\na,3", "plan.csv:2: object 0 is at 2 servers: `key_value.replicas` is 1"),
        (&fifty_one, "plan.csv:52: it has more keys than `key_value.objects`, which is 50"),
    ] {
        let head = if lines.starts_with("key") { "" } else { "object,from,to,reason\n" };
        fs::write(place.path("plan.csv"), format!("{head}{lines}\n")).unwrap();
        for command in [&arguments[..], &["run", "my.toml", "--scheme", "one-all", "--fan-in", "3"]] {
            let message = place.refuses(command);
            assert!(message.contains(told), "{lines:?} says {message}");
            assert_eq!(message.trim_end().lines().count(), 1, "{message}");
        }
    }
}

#[test]
fn refuses_impossible_placements() {
    let cases = [
        ("key_value.replica_racks=any", "use `key_value.replica_racks = \"distinct\"`"),
        (
            "picc.memory=500 B",
            "an object of 1 KB does not fit into a server's `picc.memory` of 500 B: increase `picc.memory`",
        ),
        ("picc.requests_per_s=1", "34 requests per period, but a server handles 1 in 1 s: use"),
        ("link.rate=10 kbit/s", "but a link of 10 kbit/s sends 1250 B in 1 s: use a longer period"),
        ("picc.theta=0", "nothing would be popular"),
        ("picc.alpha=0.95", "their sum is above 1"),
    ];
    let place = Place::with(
        "[workload]\nkind = \"key_value\"\n[key_value]\nreplica_racks = \"distinct\"\n[picc]\nperiod = \"1 s\"\n[fabric]\nkind = \
         \"leaf-spine\"\nracks = 4\nhosts_per_rack = 3\nspines = 1\n",
    );
    let message = Place::with(SMALL).refuses(&["compare", "my.toml", "--schemes", "picc"]);
    assert!(message.contains("`picc` places objects, and a barrier workload has no objects"), "{message}");
    for (set, told) in cases {
        let message = place.refuses(&["compare", "my.toml", "--schemes", "picc", "--fan-in", "11", "--set", set]);
        assert!(message.contains(told), "{set} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn reports_the_spelling_of_units_in_other_cases() {
    let place = Place::with(SMALL);
    for (key, value, near) in
        [("link.rate", "10GBIT/S", "Gbit/s"), ("workload.fragment", "64kb", "KB"), ("link.delay", "5US", "us")]
    {
        let told = place.refuses(&["compare", &bundled(), "--set", &format!("{key}={value}")]);
        assert!(told.contains(&format!("its unit is unknown (did you mean `{near}`?)")), "{told}");
    }
}

#[test]
fn refuses_unmodelled_features_with_an_alternative() {
    let place = Place::with(SMALL);
    let kind = place.refuses(&["compare", &bundled(), "--set", "workload.kind=moe"]);
    assert!(kind.contains("`workload.kind = \"all-to-all\"`"), "{kind}");
    let key = place.refuses(&["compare", &bundled(), "--set", "switch.ecmp=true"]);
    assert!(key.contains("unknown key `switch.ecmp`") && key.contains("(docs/limits.md)"), "{key}");
    let key = place.refuses(&["compare", &bundled(), "--set", "switch.pfc=true"]);
    assert!(key.contains("unknown key `switch.pfc`") && key.contains("`[pfc]`"), "{key}");
    for name in ["all-gather", "nccl", "ecmp", "copa"] {
        assert!(place.says(&["explain", name]).contains("is not modelled"), "{name}");
    }
    // Features available under another name.
    for (name, here) in [
        ("moe", "all-to-all"),
        ("pcap", "fanin diagnose"),
        ("nstat", "fanin record"),
        ("ss", "fanin record"),
        ("dscp", "`[classes]`"),
    ] {
        let told = place.says(&["explain", name]);
        assert!(told.contains(here) && !told.contains("is not modelled"), "{told}");
    }
}

#[test]
fn a_removed_block_permits_a_fragment() {
    let place = Place::with(SMALL);
    for keys in [["workload.block=none", "workload.fragment=10KB"], ["workload.fragment=10KB", "workload.block=none"]] {
        let set = ["--set", keys[0], "--set", keys[1], "--set", "workload.duration=5 ms"];
        let told = place.says(
            &[&["compare", &bundled(), "--fan-in", "2", "--seeds", "1", "--schemes", "newreno"], &set[..]].concat(),
        );
        assert!(told.contains("10 KB from each server"), "{told}");
    }
}

/// A bundled scenario with a block.
fn bundled() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fixed-block.toml").into()
}
