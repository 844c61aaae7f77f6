//! Tests with a transport that loses chosen batches, and a runner with known results.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use fanin_lab::plan;
use fanin_spec::{Need, Packed, Scheme, Settings};
use fanin_tables::{RunError, RunTables};

use super::*;
use crate::load::load;

/// Runner whose result depends on everything in the spec.
struct Toy;

impl Runner for Toy {
    fn run(&self, spec: &RunSpec, _stop: &AtomicBool) -> Result<RunTables, RunError> {
        if spec.fan_in == 13 {
            return Err(RunError::Broken("lost a packet".into()));
        }
        let mut tables = RunTables::default();
        tables.totals.payload_bytes = spec.canonical().bytes().map(u64::from).sum::<u64>() * spec.seed;
        Ok(tables)
    }

    fn need(&self, _scheme: &Scheme, settings: &Settings) -> Need {
        Need { cpu_s: f64::from(settings.servers()) * 0.01, ..Need::default() }
    }
}

/// Returns results in reverse order, and loses batches selected by `loses`.
struct Fake<'a> {
    engine: &'a str,
    loses: &'a dyn Fn(u64) -> bool,
    takes: usize,
    came: RefCell<VecDeque<(u64, BatchResult)>>,
    handed: RefCell<Vec<u64>>,
    why: RefCell<Option<String>>,
}

fn fake<'a>(loses: &'a dyn Fn(u64) -> bool) -> Fake<'a> {
    let (came, handed, why) = (RefCell::default(), RefCell::default(), RefCell::default());
    Fake { engine: "a", loses, takes: usize::MAX, came, handed, why }
}

impl Transport for Fake<'_> {
    fn at_once(&self) -> usize {
        2
    }

    fn hand_in(&self, number: u64, batch: Vec<u8>) -> Result<(), String> {
        if self.handed.borrow().len() >= self.takes {
            return Err("the pool is shut down".into());
        }
        self.handed.borrow_mut().push(number);
        let came = match (self.loses)(number) {
            true => BatchResult::Lost("a worker was killed".into()),
            false => BatchResult::Answer(work(&Toy, self.engine, &batch, &AtomicBool::new(false))),
        };
        self.came.borrow_mut().push_back((number, came));
        Ok(())
    }

    fn next(&self, _: Duration) -> Option<(u64, BatchResult)> {
        self.came.borrow_mut().pop_back()
    }

    fn give_up(&self) {
        self.came.borrow_mut().clear();
    }

    fn ended(&self, why: StopReason<'_>) {
        let (StopReason::Refused(text) | StopReason::Gone(text) | StopReason::Lost(text)) = why;
        self.why.borrow_mut().replace(text.into());
    }
}

fn specs(fan_ins: &str) -> Vec<RunSpec> {
    let text = format!(
        "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"1 KB\"\n[sweep]\nfan_in = {fan_ins}\n[run]\nseeds = 30\n"
    );
    let variants = fanin_spec::Scenario::parse("toy.toml", &text).and_then(|s| s.variants()).unwrap();
    plan(&variants)
}

/// Results of all runs, and messages.
fn carried(
    carrier: &dyn Transport,
    cache: Option<&Cache>,
    specs: &[RunSpec],
) -> Result<(BTreeMap<usize, RunTables>, String), Broken> {
    let (mut came, mut told) = (BTreeMap::new(), String::new());
    let stop = AtomicBool::new(false);
    let elsewhere = Elsewhere::new(carrier, &Toy, "a", cache, None, &stop);
    elsewhere.carry_out(Batch { specs, watch: None }, &mut |news| match news {
        News::Ended { place, done, .. } => {
            assert!(came.insert(place, done.tables).is_none(), "a run ends once");
        }
        News::Notice(notice) => told += &notice,
        News::Raised { .. } | News::Underway { .. } => {}
    })?;
    Ok((came, told))
}

fn here(specs: &[RunSpec]) -> BTreeMap<usize, RunTables> {
    let run = |spec: &RunSpec| Toy.run(spec, &AtomicBool::new(false)).unwrap();
    specs.iter().map(run).enumerate().collect()
}

#[test]
fn lost_batches_do_not_change_results() {
    let specs = specs("[2, 4, 64]");
    // Which runs share a batch depends on the clock.
    let faults: [&dyn Fn(u64) -> bool; 3] = [&|_| false, &|number| number < 2, &|number| [1, 4].contains(&number)];
    for loses in faults {
        assert_eq!(carried(&fake(loses), None, &specs).unwrap(), (here(&specs), String::new()));
    }
}

#[test]
fn long_runs_go_first_and_short_ones_together() {
    let (specs, carrier) = (specs("[2, 64]"), fake(&|_| false));
    let mut waiting = Waiting::new(specs.len());
    waiting.fill((0..specs.len()).collect(), |place| Toy.need(&specs[place].scheme, &specs[place].settings).cpu_s);
    let first = waiting.batch(2);
    assert_eq!(first.iter().map(|&place| specs[place].fan_in).collect::<Vec<_>>(), [64]);
    carried(&carrier, None, &specs).unwrap();
    let batches = carrier.handed.borrow().len();
    assert!(batches > 4 && batches < specs.len(), "{batches} batches of {} runs", specs.len());
}

#[test]
fn names_runs_that_are_lost_three_times() {
    let specs = specs("[2, 4]");
    let carrier = fake(&|_| true);
    let (came, told) = carried(&carrier, None, &specs).unwrap();
    assert!(came.is_empty());
    assert!(told.contains("was sent 3 times and lost each time: a worker was killed"), "{told}");
    assert!(told.contains("newreno at fan_in ") && told.contains("more runs"), "{told}");
    assert!(carrier.why.borrow().is_some());
    let few = &specs[..1];
    assert!(carried(&fake(&|number| number < 2), None, few).unwrap().1.is_empty(), "the third time it comes");
}

#[test]
fn ends_with_finished_runs_if_the_transport_closes() {
    let specs = specs("[2, 4, 64]");
    let carrier = Fake { takes: 4, ..fake(&|_| false) };
    let (came, _) = carried(&carrier, None, &specs).unwrap();
    assert!(!came.is_empty() && came.len() < specs.len());
    assert_eq!(carrier.why.borrow().as_deref(), Some("the pool is shut down"));
}

#[test]
fn refuses_another_engine_and_names_both() {
    let carrier = Fake { engine: "b", ..fake(&|_| false) };
    let (came, _) = carried(&carrier, None, &specs("[2]")).unwrap();
    let why = carrier.why.borrow().clone().unwrap();
    assert!(came.is_empty() && why.contains("a worker's engine is b, not a as here"), "{why}");
}

#[test]
fn a_broken_run_ends_the_others() {
    let specs = specs("[2, 13]");
    let broken = carried(&fake(&|_| false), None, &specs).unwrap_err();
    assert!(broken.to_string().starts_with("newreno at fan_in 13 under seed"), "{broken}");
}

#[test]
fn checks_the_local_cache_first() {
    let folder = tempfile::tempdir().unwrap();
    let (specs, cache) = (specs("[2]"), Cache::new(folder.path().join("here"), "a"));
    let carrier = fake(&|_| false);
    let (came, _) = carried(&carrier, Some(&cache), &specs).unwrap();
    assert!(!carrier.handed.borrow().is_empty());
    let carrier = fake(&|_| false);
    assert_eq!(carried(&carrier, Some(&cache), &specs).unwrap().0, came);
    assert!(carrier.handed.borrow().is_empty(), "all of it is there");
    let (there, stop) = (folder.path().join("there"), AtomicBool::new(false));
    let batch = batch::pack("a", &specs.iter().collect::<Vec<_>>(), None, Some(&there));
    for kept in [false, true] {
        let Answer::Runs(gave, _) = read("a", &work(&Toy, "a", &batch, &stop), specs.len()) else { panic!("refused") };
        assert!(gave.iter().all(|gave| matches!(gave, RunResult::Done(_, cached) if *cached == kept)));
    }
}

#[test]
fn refuses_or_discards_random_bytes() {
    let specs = specs("[2]");
    let whole = batch::pack("a", &[&specs[0]], None, None);
    let stop = AtomicBool::new(false);
    for at in 0..whole.len() {
        let flipped =
            whole.iter().enumerate().map(|(i, byte)| if i == at { !byte } else { *byte }).collect::<Vec<u8>>();
        for bytes in [&whole[..at], &flipped] {
            let answer = work(&Toy, "a", bytes, &stop);
            drop(read("a", &answer, 1));
            drop(read("a", bytes, 1));
        }
    }
}

#[test]
fn unpacks_every_scenario_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folders = std::fs::read_dir(root.join("papers")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.chain([root.join("scenarios")]).flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let scenarios = files.map(|entry| entry.unwrap().path()).filter(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        path.extension().is_some_and(|ending| ending == "toml") && text.contains("[workload]")
    });
    let mut points = 0;
    for path in scenarios {
        let Ok(variants) = load(&path).unwrap().variants() else { continue };
        for (scheme, settings) in variants.iter().flat_map(|c| c.points.iter().map(|at| (c.scheme, &at.settings))) {
            let packed = Packed::of(&scheme, settings);
            let there =
                packed.unpack(settings.inputs.clone()).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            assert_eq!((there.scheme, &there.settings), (scheme, settings), "{}", path.display());
            points += 1;
        }
    }
    assert!(points > 300, "{points}");
}

#[test]
fn file_contents_travel_with_batches() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.csv", "src,dst,bytes,start_us,stop_us\n0,1,5000,0.000001,\n2,1,,3,\n");
    write("b.csv", "gap_us,fan_in,bytes\n250.5,4,80000\n");
    write("s.txt", "100 10\n1000 100\n");
    let texts = [
        "schemes = [\"dctcp\"]\n[workload]\nkind = \"flows\"\nfile = \"a.csv\"\n",
        "schemes = [\"dctcp\"]\n[workload]\nkind = \"bursts\"\nbursts = \"b.csv\"\nduration = \"1 s\"\n[sweep]\nfan_in = [8]\n",
        "schemes = [\"dctcp\"]\n[workload]\nkind = \"poisson\"\nload = 0.2\nsizes = \"s.txt\"\nduration = \"10 ms\"\n[sweep]\nfan_in = [8]\n",
    ];
    for text in texts {
        write("x.toml", text);
        let variants = load(&folder.path().join("x.toml")).unwrap().variants().unwrap();
        let specs = plan(&variants);
        let (came, told) = carried(&fake(&|_| false), None, &specs).unwrap();
        assert_eq!((came, told), (here(&specs), String::new()), "{text}");
    }
}
