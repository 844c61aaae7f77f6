//! Every transport under every command: no word of TCP where there is no TCP, and the limit of its senders by its own name.

use fanin_browser::{Session, Step};
use fanin_spec::{REGISTRY, Scheme};
use serde_json::Value;

use crate::common::{Place, err};

/// Barrier rounds over one switch of 100 Gbit/s.
const TEXT: &str = "\
schemes = [\"dcqcn\"]
[link]
rate = \"100 Gbit/s\"
delay = \"1 us\"
[switch]
shared_buffer = \"16 MiB\"
[host]
packet_jitter = \"none\"
[workload]
fragment = \"100 KB\"
duration = \"1 ms\"
[sweep]
fan_in = [4, 12]
[run]
seeds = 2
";

/// Words that only TCP has.
const OF_TCP: [&str; 15] = [
    "TCP",
    "tcp.",
    "MSS",
    "RTOmin",
    "initial window",
    "slow start",
    "segment",
    "SACK",
    "SYN",
    "ssthresh",
    "duplicate ACK",
    "delayed ACK",
    "fast retransmit",
    "fast recover",
    "Tail loss",
];

/// Schemes without TCP, each alone.
fn schemes() -> impl Iterator<Item = (&'static str, Scheme)> {
    let all = REGISTRY.iter().filter_map(|offer| Some((offer.name, Scheme::parse(offer.name).ok()?)));
    all.filter(|(name, scheme)| !scheme.is_tcp() && !name.contains('+'))
}

/// Fails if a text has a word of TCP.
fn has_no_tcp(what: &str, text: &str) {
    for word in OF_TCP {
        let line = text.lines().find(|line| line.contains(word));
        assert!(line.is_none(), "{what} says `{word}`: {}", line.unwrap_or_default());
    }
}

/// All strings of a JSON value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(all) => all.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The data of a report.
fn data(html: &str) -> Value {
    let begin =
        html.find("id=\"data\"").and_then(|at| Some(at + html[at..].find('>')? + 1)).expect("the report has data");
    let end = begin + html[begin..].find("</script>").expect("the data ends");
    serde_json::from_str(&html[begin..end]).expect("JSON")
}

/// The limit of a scheme's senders in a timeline.
fn limit(scheme: &str) -> &'static str {
    match scheme {
        "nscc" => "cwnd",
        "rccc" | "eqds" | "ndp" => "credit",
        _ => "rate",
    }
}

#[test]
fn comparisons_and_reports_speak_of_the_transport_in_force() {
    let mut seen = 0;
    for (name, scheme) in schemes() {
        let place = Place::with(TEXT);
        has_no_tcp(name, &place.says(&["compare", "my.toml", "--schemes", name, "--out", "out", "--details"]));
        let report = data(&std::fs::read_to_string(place.path("out/report.html")).unwrap());
        for key in ["setting", "notes", "warnings", "findings", "stories", "heats"] {
            has_no_tcp(&format!("{name}, {key}"), &strings(&report[key]).join("\n"));
        }
        assert_eq!(report["schemes"][0]["transport"], scheme.transport.word(), "{name}");
        let story = &report["stories"][0];
        assert_eq!(story["limit"], limit(name), "{name}");
        let values = story["servers"][0]["limit"]["values"].as_array().unwrap();
        assert!(values.iter().any(|value| value.as_u64() > Some(0)), "{name}: {values:?}");
        let bounded = scheme.rdma().is_none();
        assert_eq!(story["buffer_bytes"].as_u64() > Some(0), bounded, "{name}: pauses bound a lossless port");
        for row in report["rows"].as_array().unwrap() {
            let share = row["goodput_mbps"]["mean"].as_f64().unwrap() / row["allowed_mbps"].as_f64().unwrap();
            assert!(share > 0.2 && share <= 1.0 + 1e-9, "{name}: {share} of the upper bound");
            let [paused, verdict] = [&row["pauses"]["share"], &report["findings"][0]["verdict"]];
            assert!(
                paused.as_f64().unwrap_or(0.0) < 0.1 || verdict == "paused" || verdict == "collapsed",
                "{name}: {row}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 9, "all transports without TCP");
}

#[test]
fn other_commands_speak_of_the_transport_in_force() {
    for (name, _) in schemes() {
        let place = Place::with(&TEXT.replace("dcqcn", name));
        let run =
            place.says(&["run", "my.toml", "--scheme", name, "--fan-in", "12", "--out", "run", "--samples", "10us"]);
        has_no_tcp(&format!("run of {name}"), &run);
        let samples = std::fs::read_to_string(place.path("run/samples.csv")).unwrap();
        let series = |word: &str| samples.lines().any(|line| line.split(',').any(|cell| cell == word));
        assert!(series(limit(name)) && !series("ssthresh"), "{name}");
        let explained = place.says(&["explain", name]);
        assert!(!explained.contains("tcp.profile") && !explained.contains("[tcp]"), "{name}: {explained}");
        let swept = place.says(&["compare", "my.toml", "--fan-in", "8", "--sweep", "link.delay=1 us,2 us"]);
        has_no_tcp(&format!("sweep of {name}"), &swept);
        let advice = place.says(&["advise", "my.toml", "--budget", "400k", "--brief"]);
        has_no_tcp(&format!("advice for {name}"), &advice);
        let output = place.fanin(&["advise", "my.toml", "--budget", "400k", "--prove=here"]);
        let refused = err(&output);
        assert!(refused.contains(&format!("Linux has no `schemes` of {name}")), "{name}: {refused}");
        assert_eq!(output.status.code(), Some(2), "{name}: {refused}");
        let trace = ["trace", "my.toml", "--scheme", name, "--fan-in", "4", "--at", "client", "--out", "t.pcapng"];
        has_no_tcp(&format!("trace of {name}"), &place.says(&trace));
        assert!(std::fs::metadata(place.path("t.pcapng")).unwrap().len() > 100_000, "{name}");
    }
}

#[test]
fn browsers_speak_of_the_transport_in_force() {
    for (name, _) in schemes() {
        let mut session = Session::default();
        let text = TEXT.replace("dcqcn", name).replace("[4, 12]", "[4]");
        let done = loop {
            match session.step(&text, 1, true).unwrap() {
                Step::Runs(jobs) => {
                    for job in jobs {
                        let tables = fanin_browser::run(&job).unwrap();
                        session.take(job, &tables).unwrap();
                    }
                }
                Step::Done(done) => break done,
            }
        };
        let summary: Value = serde_json::from_str(&done.summary).unwrap();
        has_no_tcp(&format!("findings of {name}"), &strings(&summary["findings"]).join("\n"));
        let report: Value = serde_json::from_str(&done.report).unwrap();
        assert_eq!(report["stories"][0]["limit"], limit(name), "{name}");
    }
}
