//! `fanin run --cores`: one large run on several cores.

use std::fs;

use crate::common::Place;

const RACKS: &str = "\
[fabric]
kind = \"leaf-spine\"
racks = 4
hosts_per_rack = 6
spines = 2
[link]
rate = \"10 Gbit/s\"
delay = \"20 us\"
[workload]
kind = \"shuffle\"
fragment = \"100 KB\"
start_jitter = \"1 ms\"
";
const RUN: [&str; 7] = ["run", "my.toml", "--scheme", "dctcp", "--fan-in", "23", "--no-cache"];

#[test]
fn several_cores_write_the_tables_of_one() {
    let place = Place::with(RACKS);
    let tables = |cores: &str| {
        place.says(&[&RUN[..], &["--cores", cores, "--out", cores]].concat());
        ["flows", "queries", "ports", "summary"]
            .map(|table| fs::read(place.path(cores).join(format!("{table}.parquet"))).unwrap())
    };
    let one = tables("1");
    assert!(tables("2") == one && tables("3") == one);
}

#[test]
fn warns_about_cores_that_a_run_cannot_use() {
    let place = Place::with("[workload]\nfragment = \"64 KiB\"\nduration = \"20 ms\"\n");
    let told = place.command(&[&RUN[..], &["--cores", "4096"]].concat()).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap().replace('\n', " ");
    assert!(told.contains("note: running on one core: its rounds are counted over all clients"), "{told}");
    assert!(told.contains("warning: --cores 4096: this machine has "), "{told}");
}

#[test]
fn refuses_zero_cores_and_cores_for_watched_runs() {
    let place = Place::with(RACKS);
    let message = place.refuses(&[&RUN[..], &["--cores", "0"]].concat());
    assert!(message.contains("'0' for '--cores <N>': use a whole number of at least 1"), "{message}");
    let message = place.refuses(&[&RUN[..], &["--cores", "2", "--samples", "--out", "out"]].concat());
    assert!(message.contains("'--cores <N>' cannot be used with '--samples"), "{message}");
}
