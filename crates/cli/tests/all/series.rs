//! `fanin run --samples`: the events inside a run, as tables.

use std::collections::BTreeSet;
use std::fs;

use crate::common::Place;

const LOSSY: &str = "\
[switch]
buffer = \"16 KiB\"
[tcp]
sack = false
[workload]
fragment = \"64 KiB\"
duration = \"300 ms\"
";
const RUN: [&str; 6] = ["run", "my.toml", "--scheme", "newreno", "--fan-in", "6"];

/// Runs the scenario into a folder, and returns a reader of its CSV tables.
fn tables<'a>(place: &'a Place, out: &'a str, extra: &[&str]) -> impl Fn(&str) -> String + use<'a> {
    place.says(&[&RUN[..], &["--out", out], extra].concat());
    move |table| fs::read_to_string(place.path(out).join(table)).unwrap()
}

/// The values of a column, row by row.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut rows = csv.lines().map(|row| row.split(','));
    let at = rows.next().unwrap().position(|head| head == name).unwrap();
    rows.map(|mut row| row.nth(at).unwrap().to_string()).collect()
}

#[test]
fn watching_adds_series_without_changing_tables() {
    let place = Place::with(LOSSY);
    let (plain, watched) = (tables(&place, "plain", &[]), tables(&place, "watched", &["--samples"]));
    for table in ["flows", "queries", "ports", "summary"] {
        assert!(plain(&format!("{table}.csv")) == watched(&format!("{table}.csv")), "{table} differs");
    }
    assert!(!place.path("plain/samples.csv").exists());
    for file in ["samples.parquet", "events.parquet"] {
        assert!(place.path("watched").join(file).exists(), "{file}");
    }

    let samples = watched("samples.csv");
    assert!(samples.starts_with("scheme,fan_in,seed,time_ps,series,of,value_bytes,rate_bps\nnewreno,6,1,"));
    let of: BTreeSet<String> = column(&samples, "of").into_iter().collect();
    assert_eq!(
        of.into_iter().collect::<Vec<_>>().join(" "),
        "server1 server2 server3 server4 server5 server6 switch>client"
    );
    let of_summary = |name: &str| column(&watched("summary.csv"), name)[0].clone();
    let events = column(&watched("events.csv"), "what");
    for (what, sum) in [("drop", "drops"), ("timeout", "timeouts"), ("fast_retransmit", "fast_retransmits")] {
        let count = events.iter().filter(|event| *event == what).count();
        assert!(count > 0 && count.to_string() == of_summary(sum), "{count} of {what}");
    }
}

#[test]
fn step_and_servers_can_be_set() {
    let place = Place::with(LOSSY);
    let of = |out: &str, extra: &[&str]| {
        let samples = tables(&place, out, extra)("samples.csv");
        let step = |row: &String| row.parse::<u64>().unwrap() % 50_000_000 == 0;
        assert!(column(&samples, "time_ps").iter().all(step));
        column(&samples, "of").into_iter().filter(|of| of.starts_with("server")).collect::<BTreeSet<_>>()
    };
    let few = of("few", &["--samples", "50 us", "--server", "server2,server5"]);
    assert_eq!(few.into_iter().collect::<Vec<_>>(), ["server2", "server5"]);
    let again = of("again", &["--samples=50us", "--server", "server2", "--server", "server5"]);
    assert_eq!(again.len(), 2);
}

#[test]
fn refuses_runs_that_cannot_be_watched() {
    let place = Place::with(LOSSY);
    let cases: &[(&[&str], &str)] = &[
        (&["--samples"], "--out <DIR>"),
        (&["--out", "x", "--server", "server1"], "--samples"),
        (&["--out", "x", "--samples", "0us"], "use a time above zero with its unit, such as 100us"),
        (&["--out", "x", "--samples", "100"], "use a time above zero"),
        (&["--out", "x", "--samples", "--server", "server7"], "server1 to server6"),
        (&["--out", "x", "--samples", "--server", "client"], "--server client: unknown server; use server1 to server"),
    ];
    for (extra, told) in cases {
        let message = place.refuses(&[&RUN[..], extra].concat());
        assert!(message.contains(told), "{extra:?} says {message}");
        assert!(!place.path("x").exists());
    }
}
