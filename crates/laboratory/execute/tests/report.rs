//! The report of a comparison whose runs are known beforehand.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use fanin_execute::Threads;
use fanin_lab::{Batch, CompareOptions, Manifest, Runner, Runs, execute, plan, summarise};
use fanin_report::{Report, report};
use fanin_spec::{RunSpec, Scenario, Watch};
use fanin_tables::{EventRow, FlowRow, QueryRow, RunError, RunTables, SampleRow, Totals};

/// Newreno collapses at 4 senders: its first round waits for server2. Dctcp does not.
struct Toy;

const MS: u64 = 1_000_000_000;

fn collapses(spec: &RunSpec) -> bool {
    spec.label == "newreno" && spec.fan_in >= 4
}

impl Runner for Toy {
    fn run(&self, spec: &RunSpec, _stop: &AtomicBool) -> Result<RunTables, RunError> {
        let timeouts = u64::from(collapses(spec));
        let qct_ms = if collapses(spec) { 220 } else { 10 } + spec.seed;
        let flow = |server: u32| FlowRow {
            from_host: server + 1,
            round: Some(0),
            payload_bytes: Some(1_000),
            delivered_bytes: 1_000,
            start_ps: 0,
            fct_ps: Some(if server == 1 { qct_ms } else { 9 } * MS),
            ..FlowRow::default()
        };
        Ok(RunTables {
            totals: Totals {
                payload_bytes: if collapses(spec) { 10_000 } else { 110_000 } + spec.seed,
                measured_ps: MS,
                timeouts,
                drops: 2 * timeouts,
                rounds: 1,
                queue_max_bytes: 3_000,
                ..Totals::default()
            },
            flows: (0..spec.fan_in).map(flow).collect(),
            queries: vec![QueryRow { qct_ps: Some(qct_ms * MS), timeouts: Some(timeouts), ..QueryRow::default() }],
            ..RunTables::default()
        })
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        assert!(watch.servers.contains(&1) && watch.from.0 == 0, "{watch:?}");
        let sample = |ms: u64, series: &str, of: &str, value_bytes| SampleRow {
            time_ps: ms * MS,
            series: series.into(),
            of: of.into(),
            value_bytes: Some(value_bytes),
            ..SampleRow::default()
        };
        let event = |ms: u64, what: &str, at: &str, of: &str| EventRow {
            time_ps: ms * MS,
            what: what.into(),
            at: at.into(),
            of: of.into(),
            ..EventRow::default()
        };
        // Each is of a packet from server2 to the client.
        let lost = |seq, row| EventRow {
            to: "client".into(),
            packet: "data".into(),
            seq: Some(seq),
            why: "full".into(),
            queue_bytes: Some(2_700),
            ..row
        };
        let mut samples: Vec<SampleRow> = (0..10).map(|i| sample(i, "queue", "switch>client", i * 300)).collect();
        samples.insert(5, sample(4, "cwnd", "server2", 2_920));
        samples.insert(6, sample(4, "cwnd", "server1", 4_380));
        let mut events = Vec::new();
        if collapses(spec) {
            samples.push(sample(210, "queue", "switch>client", 1_500));
            events.extend([5, 6].map(|ms| lost(1 + 1_460 * (ms - 5), event(ms, "drop", "switch>client", "server2"))));
            let timer = EventRow { to: "client".into(), seq: Some(1), ..event(209, "timeout", "server2", "") };
            events.extend([timer, event(222, "round_end", "client", "0")]);
        }
        Ok(RunTables { samples, events, ..self.run(spec, stop)? })
    }
}

/// Cannot look inside a run.
struct Blind;

impl Runner for Blind {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        Toy.run(spec, stop)
    }
}

const SCENARIO: &str = "title = \"A </script><b> title & more\"\nschemes = [\"newreno\", \"dctcp\"]\n\
                        [workload]\nfragment = \"256 KiB\"\n[sweep]\nfan_in = [2, 4]\n[run]\nseeds = 2\n";

fn made(runner: &dyn Runner, jobs: usize, stop: bool) -> Report {
    let scenario = Scenario::parse("toy.toml", SCENARIO).unwrap();
    let title = scenario.title.clone();
    let variants = scenario.variants().unwrap();
    let specs = plan(&variants);
    let lab = Threads { runner, cache: None, jobs: NonZeroUsize::new(jobs).unwrap(), stop: &AtomicBool::new(false) };
    let outcome = execute(&lab, Batch { specs: &specs, watch: None }, &mut |_| {}).unwrap();
    let summary = summarise("toy.toml", &variants, CompareOptions::default(), Runs::of(&specs, &outcome));
    let manifest = Manifest {
        version: "0.1.0".into(),
        arguments: ["compare", "toy.toml", "--jobs", &jobs.to_string()].map(String::from).to_vec(),
        scenario_text: SCENARIO.into(),
    };
    report(
        Some(&Watcher(runner, stop)),
        title.as_deref(),
        &variants,
        &manifest,
        &summary,
        Runs::of(&specs, &outcome),
        lab.stop,
    )
    .unwrap()
}

/// A runner that may be stopped before it watches.
struct Watcher<'a>(&'a dyn Runner, bool);

impl Runner for Watcher<'_> {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        self.0.run(spec, stop)
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        if self.1 { Err(RunError::Stopped) } else { self.0.watch(spec, watch, stop) }
    }
}

fn data(report: &Report) -> serde_json::Value {
    let html = report.html();
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn report_data_match_the_snapshot() {
    let mut data = data(&made(&Toy, 1, false));
    assert!(data["hash"].take().is_string(), "a new setting changes the hash of every scenario");
    insta::assert_snapshot!(serde_json::to_string_pretty(&data).unwrap());
}

#[test]
fn the_number_of_jobs_changes_no_byte_of_the_page() {
    assert!(made(&Toy, 1, false).html() == made(&Toy, 2, false).html());
}

#[test]
fn page_needs_no_network_and_forbids_it() {
    let html = made(&Toy, 1, false).html();
    for word in ["src=\"", "<link", "@import", "url(http"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn escapes_texts_of_the_scenario() {
    let html = made(&Toy, 1, false).html();
    assert!(!html.contains("</script><b>"));
    assert!(html.contains("<h1>A &lt;/script&gt;&lt;b&gt; title &amp; more</h1>"));
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(data(&made(&Toy, 1, false))["scenario_text"], SCENARIO);
}

#[test]
fn report_without_timelines_has_the_other_parts() {
    for report in [made(&Toy, 1, true), made(&Blind, 1, false)] {
        let data = data(&report);
        assert_eq!(data["stories"].as_array().unwrap().len(), 0);
        assert_eq!((data["rows"].as_array().unwrap().len(), data["findings"].as_array().unwrap().len()), (4, 3));
    }
}
