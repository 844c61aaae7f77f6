//! A MapReduce job: transfers, order and limits.

use std::collections::BTreeMap;

use crate::common::{but, run, spec};
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, RunTables, TaskRow};

const JOB: &str = r#"
    schemes = ["newreno"]
    [fabric]
    kind = "edges"
    edges = ["client tor1", "server1..6 tor1", "server7..12 tor2", "tor1 tor2 10 Gbit/s"]
    [workload]
    kind = "mapreduce"
    duration = "100 s"
    [mapreduce]
    input = "80 MB"
    maps = 20
    reduces = 9
    heartbeat = "100 ms"
    task_start = "50 ms"
    output_replicas = 2
"#;

fn job(seed: u64) -> (RunSpec, RunTables) {
    let spec = spec(JOB, 12, seed);
    let tables = run(&spec);
    (spec, tables)
}

fn tasks<'a>(tables: &'a RunTables, kind: &str) -> Vec<&'a TaskRow> {
    tables.tasks.iter().filter(|task| task.kind == kind).collect()
}

/// The largest number of these spans that overlap.
fn most_at_once(spans: impl Iterator<Item = (u64, u64)>) -> usize {
    let mut turns: Vec<(u64, i64)> = spans.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    // A span that ends at an instant makes room for one that starts then.
    turns.sort_unstable();
    let mut open = 0;
    turns.into_iter().map(|(_, step)| (open += step, open).1).max().unwrap_or(0) as usize
}

#[test]
fn every_task_ends_in_phase_order() {
    let (_, tables) = job(1);
    assert_eq!((tasks(&tables, "map").len(), tasks(&tables, "reduce").len()), (20, 9));
    for task in &tables.tasks {
        let end = task.end_ps.expect("every task ends");
        let phases =
            [task.start_ps, task.shuffle_start_ps.unwrap_or(task.start_ps), task.input_end_ps, task.work_end_ps, end];
        assert!(phases.is_sorted(), "{task:?}");
        assert!((1..=12).contains(&task.node), "{task:?}");
    }
    let last = tables.tasks.iter().filter_map(|task| task.end_ps).max();
    assert_eq!(tables.queries[0].qct_ps, last);
    assert_eq!(tables.totals.measured_ps, last.unwrap_or(0));
}

#[test]
fn reduces_fetch_remote_parts_over_network() {
    let (spec, tables) = job(2);
    let (maps, reduces) = (tasks(&tables, "map"), tasks(&tables, "reduce"));
    let part = spec.settings.mapreduce.input.0 / 20 / 9;
    let mut wanted: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (map, reduce) in maps.iter().flat_map(|m| reduces.iter().map(move |r| (m, r))).filter(|(m, r)| m.node != r.node)
    {
        *wanted.entry((map.node, reduce.node)).or_default() += 1;
    }
    let mut seen: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for flow in tables.flows.iter().filter(|f| f.class == FlowKind::Fetch) {
        assert_eq!(flow.payload_bytes, Some(part));
        *seen.entry((flow.from_host, flow.to_host)).or_default() += 1;
    }
    assert_eq!(seen, wanted);
}

#[test]
fn output_has_the_configured_replicas() {
    let (_, tables) = job(3);
    let replicas: Vec<_> = tables.flows.iter().filter(|f| f.class == FlowKind::Replica).collect();
    assert_eq!(replicas.len(), 9);
    assert!(replicas.iter().all(|f| f.from_host != f.to_host && f.to_host > 0));
}

#[test]
fn slots_and_fetches_keep_to_their_limits() {
    let (spec, tables) = job(4);
    for node in 1..=12 {
        for kind in ["map", "reduce"] {
            let own = tasks(&tables, kind).into_iter().filter(|t| t.node == node);
            let most = most_at_once(own.map(|t| (t.start_ps, t.end_ps.unwrap_or(u64::MAX))));
            assert!(most <= 2, "{most} {kind}s at once on node {node}");
        }
    }
    let fetches = || tables.flows.iter().filter(|f| f.class == FlowKind::Fetch);
    for node in 1..=12 {
        let reduces = tasks(&tables, "reduce").iter().filter(|t| t.node == node).count();
        let own = fetches().filter(|f| f.to_host == node);
        let most = most_at_once(own.map(|f| (f.start_ps, f.start_ps + f.fct_ps.unwrap_or(0))));
        assert!(most <= reduces * spec.settings.mapreduce.parallel_fetches as usize, "{most} fetches by node {node}");
    }
}

#[test]
fn maps_prefer_local_splits() {
    let remote: usize =
        (0..5).map(|seed| job(seed).1.flows.iter().filter(|f| f.class == FlowKind::Split).count()).sum();
    // Three replicas on twelve nodes with two slots each: of a hundred maps, almost none has to read over the network.
    assert!(remote <= 15, "{remote} of 100 maps read over the network");
}

#[test]
fn job_depends_on_the_seed_only() {
    assert_eq!(job(5).1, job(5).1);
    assert_ne!(job(5).1.flows, job(6).1.flows);
}

#[test]
fn unfinished_job_is_reported() {
    let spec = spec(&JOB.replace("\"100 s\"", "\"500 ms\""), 12, 1);
    let tables = run(&spec);
    assert_eq!((tables.queries[0].qct_ps, tables.totals.rounds), (None, 0));
    assert!(tables.tasks.iter().any(|task| task.end_ps.is_none()));
}

#[test]
fn latencies_respect_the_path() {
    let (plain, tables) = job(7);
    let with = run(&but(&plain, |settings| settings.measure.latency = true));
    assert_eq!((&with.totals, &with.flows, &with.tasks), (&tables.totals, &tables.flows, &tables.tasks));
    let fetch = with.latency.iter().find(|row| row.class == "fetch" && row.what == "data").expect("fetches");
    // Two links of 1 Gbit/s and 25 us each: a full packet takes at least 74 us; the last of a flow may be short.
    assert!(fetch.p50_ps >= 74_000_000, "{fetch:?}");
    let packets: u64 = with.latency.iter().map(|row| row.packets).sum();
    assert_eq!(packets, with.totals.delivered_packets);
    for row in &with.latency {
        assert!(row.p50_ps <= row.p95_ps && row.p95_ps <= row.p99_ps && row.p99_ps <= row.max_ps, "{row:?}");
    }
}

/// Two maps of 4 MB and a reduce on one node: no packet is sent, and every time is calculated by hand.
const ONE_NODE: &str = r#"
    schemes = ["newreno"]
    [workload]
    kind = "mapreduce"
    duration = "100 s"
    [mapreduce]
    input = "8 MB"
    maps = 2
    reduces = 1
    replicas = 1
    heartbeat = "100 ms"
    heartbeat_spread = "0 s"
    tasks_per_heartbeat = 2
    tell = "at-once"
    slow_start = 0
    task_start = "50 ms"
    disk_read = "640 Mbit/s"   # 4 MB: 50 ms
    disk_write = "320 Mbit/s"  # 4 MB: 100 ms
    map_rate = "500 Mbit/s"    # 4 MB: 64 ms
    reduce_rate = "500 Mbit/s" # 8 MB: 128 ms
"#;

fn ends_ms(text: &str) -> (Vec<u64>, u64) {
    let tables = run(&spec(text, 1, 1));
    assert!(tables.flows.is_empty());
    let ms = |ps: u64| ps / 1_000_000_000;
    let maps = tasks(&tables, "map").iter().map(|task| ms(task.end_ps.unwrap_or(0))).collect();
    (maps, ms(tables.queries[0].qct_ps.expect("the job ends")))
}

#[test]
fn tasks_share_the_nodes_disk() {
    // Both maps: 50 ms of start, 100 to read on half a disk, 64 of work, 200 to write. The reduce then reads its parts one after another
    // (50 + 50), writes and reads them as one (200 + 100), works (128) and writes (200).
    assert_eq!(ends_ms(ONE_NODE), (vec![414, 414], 414 + 100 + 300 + 128 + 200));
    // With one map per heartbeat, the second starts 100 ms later. It reads alone from 150 to 164, when the first begins to write: its other
    // 36 ms of reading take 72, to 236. The first then has 64 ms of writing left, alone, to 300; until then the second works. Until 400 it
    // shares the disk with the reduce, which reads the first one's part.
    let one = ONE_NODE.replace("tasks_per_heartbeat = 2", "tasks_per_heartbeat = 1");
    assert_eq!(ends_ms(&one).0, [300, 450]);
}

#[test]
fn large_map_output_is_merged() {
    let parts = ONE_NODE.replace("task_start", "sort_buffer = \"3999 KB\"\n    task_start");
    assert_eq!(ends_ms(&parts).0, vec![214 + 2 * (100 + 50 + 100); 2]);
}

#[test]
fn reduces_learn_of_maps_by_heartbeat() {
    let (_, at_once) = ends_ms(ONE_NODE);
    let (_, heartbeat) = ends_ms(&ONE_NODE.replace("at-once", "heartbeat"));
    assert_eq!(heartbeat - at_once, 500 - 414);
}

#[test]
fn steps_of_tasks_are_spread_around_their_means() {
    let text = JOB.replace("task_start", "task_spread = 0.1\n    task_start");
    let starts = |text: &str| {
        let tables = run(&spec(text, 12, 1));
        let works = tables.tasks.iter().filter(|task| task.kind == "map");
        works.map(|task| task.work_end_ps - task.input_end_ps).collect::<Vec<u64>>()
    };
    let (plain, spread) = (starts(JOB), starts(&text));
    assert!(plain.iter().all(|&time| time == plain[0]));
    let mean = spread.iter().sum::<u64>() / spread.len() as u64;
    assert!(mean.abs_diff(plain[0]) < plain[0] / 10, "{mean} against {}", plain[0]);
    assert!(spread.iter().any(|&time| time > plain[0]) && spread.iter().any(|&time| time < plain[0]));
}
