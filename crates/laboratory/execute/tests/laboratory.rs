//! From a scenario to rows and files, with a runner whose results are known beforehand.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fanin_execute::{Cache, ExtraFiles, Out, Threads};
use fanin_lab::{Batch, CompareOptions, Manifest, Outcome, Runner, Runs, Summary, conduct, execute, plan, summarise};
use fanin_spec::{RunSpec, Scenario, Variant};
use fanin_tables::{Engine, FlowRow, PortRow, QueryRow, RunError, RunTables, Totals};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Collapses at 8 senders; figures differ by seed; runs end out of order.
struct Toy;

impl Runner for Toy {
    fn run(&self, spec: &RunSpec, _stop: &AtomicBool) -> Result<RunTables, RunError> {
        thread::sleep(Duration::from_millis(u64::from(spec.fan_in) * 7 % 5));
        let mbit = if spec.fan_in >= 8 { 100 } else { 900 } + spec.seed;
        let flow = |server: u32| FlowRow {
            from_host: server + 1,
            round: Some(0),
            payload_bytes: Some(1_000),
            delivered_bytes: 1_000,
            start_ps: 0,
            fct_ps: (server != 3).then_some(1_000_000_000 * spec.seed),
            ..FlowRow::default()
        };
        Ok(RunTables {
            totals: Totals {
                payload_bytes: mbit * 125_000,
                measured_ps: 1_000_000_000_000,
                timeouts: spec.seed,
                rounds_open: 1,
                queue_max_bytes: 1_000 * spec.seed,
                ..Totals::default()
            },
            flows: (0..spec.fan_in).map(flow).collect(),
            queries: vec![QueryRow { waited_ps: Some(1), ..QueryRow::default() }],
            ports: vec![PortRow { port: "switch>client".into(), ..PortRow::default() }],
            engine: Engine { events: 10, packet_hops: 4, busy_thousandths: 0 },
            ..RunTables::default()
        })
    }
}

/// A runner whose third run continues until it is stopped.
struct Endless;

impl Runner for Endless {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        if spec.seed < 3 {
            return Toy.run(spec, stop);
        }
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        Err(RunError::Stopped)
    }
}

struct Faulty;

impl Runner for Faulty {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        if spec.seed == 2 && spec.fan_in == 4 {
            Err(RunError::Broken("lost a packet".into()))
        } else {
            Toy.run(spec, stop)
        }
    }
}

fn variants(seeds: u32) -> Vec<Variant> {
    let text = format!(
        "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"1 KB\"\n\
         [sweep]\nfan_in = [2, 4, 8]\n[run]\nseeds = {seeds}\n"
    );
    Scenario::parse("toy.toml", &text).and_then(|s| s.variants()).unwrap()
}

fn batch(specs: &[RunSpec]) -> Batch<'_> {
    Batch { specs, watch: None }
}

fn run(runner: &dyn Runner, seeds: u32, jobs: usize) -> (Vec<RunSpec>, Outcome, Summary) {
    let variants = variants(seeds);
    let specs = plan(&variants);
    let jobs = NonZeroUsize::new(jobs).unwrap();
    let outcome =
        execute(&Threads { runner, cache: None, jobs, stop: &AtomicBool::new(false) }, batch(&specs), &mut |_| {})
            .unwrap();
    let summary = summarise("toy.toml", &variants, CompareOptions::default(), Runs::of(&specs, &outcome));
    (specs, outcome, summary)
}

fn without_cost(mut summary: Summary) -> String {
    summary.engine = fanin_lab::Cost::default();
    serde_json::to_string(&summary).unwrap()
}

#[test]
fn rows_contain_means_pooled_times_and_the_collapse_point() {
    let (_, _, summary) = run(&Toy, 3, 1);
    let row = &summary.rows[0];
    assert_eq!((row.scheme.as_str(), row.servers, row.seeds), ("newreno", 2, 3));
    assert_eq!(row.goodput_mbps.mean, 902.0);
    // Standard deviation 1 over three seeds: 4.30265 / sqrt(3) on either side, as a logit of 1000 Mbit/s.
    assert_eq!(row.goodput_mbps.hi, 904.456);
    // One round a run, which did not end: it had waited for a picosecond.
    assert_eq!((row.rounds_open, row.qct_ms.at_least, row.seeds_differ), (1.0, Some("p50"), Some(true)));
    assert_eq!((row.timeouts, row.queue_max_bytes), (2.0, 3_000));
    assert_eq!((row.qct_ms.mean, row.qct_ms.max), (Some(1e-9), Some(1e-9)));
    assert_eq!((row.fct_ms.mean, row.fct_ms.p50, row.fct_ms.max), (Some(2.0), Some(2.0), Some(3.0)));
    assert_eq!((summary.rows[0].jain, summary.rows[1].jain), (Some(1.0), Some(0.75)));
    let onsets = serde_json::to_string(&summary.onset).unwrap();
    assert_eq!(onsets, r#"{"newreno":8,"dctcp":8}"#);
    assert_eq!((summary.engine.events, summary.engine.packet_hops), (180, 72));
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let one = without_cost(run(&Toy, 3, 1).2);
    for jobs in [2, 5, 64] {
        assert_eq!(without_cost(run(&Toy, 3, jobs).2), one, "with {jobs} jobs");
    }
}

#[test]
fn stop_keeps_finished_runs() {
    let variants = variants(3);
    let specs = plan(&variants);
    let stop = AtomicBool::new(false);
    let two = NonZeroUsize::new(2).unwrap();
    let outcome =
        execute(&Threads { runner: &Endless, cache: None, jobs: two, stop: &stop }, batch(&specs), &mut |p| {
            assert_eq!(p.total, 18);
            assert_eq!(p.left.is_none(), p.done == 0);
            if p.done == 12 {
                stop.store(true, Ordering::Relaxed);
            }
        });
    let summary = summarise("toy.toml", &variants, CompareOptions::default(), Runs::of(&specs, &outcome.unwrap()));
    assert_eq!(summary.rows.len(), 6);
    assert!(summary.rows.iter().all(|row| row.seeds == 2));
}

#[test]
fn a_point_without_a_finished_run_has_no_row() {
    let variants = variants(1);
    let specs = plan(&variants);
    let stop = AtomicBool::new(true);
    let outcome = execute(
        &Threads { runner: &Toy, cache: None, jobs: NonZeroUsize::MIN, stop: &stop },
        batch(&specs),
        &mut |_| {},
    )
    .unwrap();
    let summary = summarise("toy.toml", &variants, CompareOptions::default(), Runs::of(&specs, &outcome));
    assert!(summary.rows.is_empty());
    assert_eq!(summary.onset.0[0].1[0].at, None);
}

#[test]
fn broken_run_names_the_command_that_replays_it() {
    let specs = plan(&variants(3));
    let two = NonZeroUsize::new(2).unwrap();
    let broken = execute(
        &Threads { runner: &Faulty, cache: None, jobs: two, stop: &AtomicBool::new(false) },
        batch(&specs),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(broken.to_string().contains("at fan_in 4 under seed 2: lost a packet"), "{broken}");
}

fn manifest() -> Manifest {
    Manifest {
        version: "0.1.0".into(),
        arguments: vec!["compare".into(), "toy.toml".into()],
        scenario_text: "x".into(),
    }
}

#[test]
fn folder_contains_every_table_twice_and_the_manifest() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("deep/er");
    let out = Out::claim(&folder).unwrap();
    let (specs, outcome, summary) = run(&Toy, 2, 1);
    let script = ("remedy-1/servers/apply.sh".to_string(), "#!/bin/sh\n".to_string());
    out.fill(&manifest(), &summary, Runs::of(&specs, &outcome), ExtraFiles::Nothing, &[script]).unwrap();
    let written = fs::metadata(folder.join("remedy-1/servers/apply.sh")).unwrap();
    assert_eq!(written.permissions().mode() & 0o111, 0o111, "a script can be run");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut expected: Vec<String> = ["flows", "ports", "queries", "slowdown", "summary"]
        .iter()
        .flat_map(|name| [format!("{name}.csv"), format!("{name}.parquet")])
        .chain(["manifest.json".to_string(), "remedy-1".to_string()])
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    let flows = fs::read_to_string(folder.join("flows.csv")).unwrap();
    assert!(flows.starts_with(
        "scheme,fan_in,seed,class,from_host,to_host,round,payload_bytes,delivered_bytes,start_ps,fct_ps,ideal_ps\n\
             newreno,2,1,answer,1,0,0,1000,1000,0,"
    ));
    let said: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&said["runs_finished"], &said["runs_planned"]), (&12.into(), &12.into()));
}

#[test]
fn parquet_and_csv_contain_the_same_cells() {
    let top = tempfile::tempdir().unwrap();
    let (specs, outcome, summary) = run(&Toy, 2, 1);
    let folder = top.path().join("out");
    Out::claim(&folder)
        .unwrap()
        .fill(&manifest(), &summary, Runs::of(&specs, &outcome), ExtraFiles::Nothing, &[])
        .unwrap();
    for name in ["summary", "flows", "queries", "ports"] {
        let mut text = csv::Reader::from_path(folder.join(format!("{name}.csv"))).unwrap();
        let header: Vec<String> = text.headers().unwrap().iter().map(String::from).collect();
        let lines: Vec<Vec<String>> = text.records().map(|r| r.unwrap().iter().map(String::from).collect()).collect();
        let file = fs::File::open(folder.join(format!("{name}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<parquet::record::Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert!(!lines.is_empty() && rows.len() == lines.len());
        for (row, line) in rows.iter().zip(&lines) {
            for (((column, field), name), cell) in row.get_column_iter().zip(&header).zip(line) {
                assert_eq!(column, name);
                let shown = match field {
                    parquet::record::Field::Null => String::new(),
                    parquet::record::Field::Str(text) => text.clone(),
                    parquet::record::Field::Double(x) => x.to_string(),
                    other => other.to_string(),
                };
                assert_eq!(&shown, cell, "{name}");
            }
        }
    }
}

#[test]
fn refuses_folders_that_are_not_empty() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("notes.txt"), "mine").unwrap();
    let refusal = Out::claim(top.path()).unwrap_err().to_string();
    assert!(refusal.contains("contains `notes.txt`; use a new or empty folder"), "{refusal}");
    let refusal = Out::claim(&top.path().join("notes.txt")).unwrap_err().to_string();
    assert!(refusal.contains("is not a folder"), "{refusal}");
}

#[test]
fn removes_claimed_folders_without_results() {
    let top = tempfile::tempdir().unwrap();
    drop(Out::claim(&top.path().join("a/b")).unwrap());
    assert!(!top.path().join("a").exists() && top.path().exists());
}

#[test]
fn failed_last_file_leaves_no_folder() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("out");
    // A file where a folder is wanted.
    let files = ["remedy-1/a.sh", "b", "b/c.sh"].map(|path| (path.to_string(), "x".to_string()));
    Out::claim(&folder).unwrap().fill_files(&files).unwrap_err();
    assert!(!folder.exists());
}

#[test]
fn refuses_unwritable_places() {
    let refusal = Out::claim("/proc/nowhere".as_ref()).unwrap_err().to_string();
    assert!(refusal.starts_with("/proc/nowhere: is not writable"), "{refusal}");
}

/// Counts its runs, and stops the sweep after `stop_after`.
struct Counting<'a> {
    runs: AtomicUsize,
    stop_after: usize,
    stop: &'a AtomicBool,
}

impl Runner for Counting<'_> {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        if self.runs.fetch_add(1, Ordering::Relaxed) + 1 >= self.stop_after {
            self.stop.store(true, Ordering::Relaxed);
        }
        Toy.run(spec, stop)
    }
}

#[test]
fn reports_progress_at_a_limited_rate() {
    let stop = AtomicBool::new(false);
    let lab = Threads { runner: &Toy, cache: None, jobs: NonZeroUsize::MIN, stop: &stop };
    let mut told = 0;
    // Each report looks at every run: with a report per run, the time would grow with the square of their number.
    let (specs, _) = conduct(&lab, &variants(100), CompareOptions::default(), &mut |_| told += 1).unwrap();
    assert!(specs.len() >= 200 && told < specs.len() / 10, "{told} times for {} runs", specs.len());
}

#[test]
fn a_stopped_sweep_continues_without_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "engine");
    let variants = variants(3);
    let go = |stop_after: usize| {
        let stop = AtomicBool::new(false);
        let counting = Counting { runs: AtomicUsize::new(0), stop_after, stop: &stop };
        let lab = Threads { runner: &counting, cache: Some(&cache), jobs: NonZeroUsize::MIN, stop: &stop };
        let (specs, outcome) = conduct(&lab, &variants, CompareOptions::default(), &mut |_| {}).unwrap();
        let summary = summarise("toy.toml", &variants, CompareOptions::default(), Runs::of(&specs, &outcome));
        (counting.runs.into_inner(), outcome.cached, without_cost(summary))
    };
    assert_eq!(go(9).0, 9);
    let (runs, cached, summary) = go(usize::MAX);
    assert_eq!((runs, cached), (9, 9));
    assert_eq!(summary, without_cost(run(&Toy, 3, 1).2));
}
