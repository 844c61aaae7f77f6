//! Serialised batches of runs for workers, and their results. Both start with the name of the engine; data of another engine is not
//! read further.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fanin_lab::{Done, Runner};
use fanin_spec::{Inputs, Packed, RunSpec, Watch};
use fanin_tables::{RunError, RunTables};
use fanin_units::Time;
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, Found};
use crate::threads::thread_user_time;

/// The first bytes of either; the last is the form's version.
const MARK: &[u8; 8] = b"fanin-e\x01";

/// Runs for a worker.
#[derive(Serialize, Deserialize)]
struct RunBatch {
    /// Contents of files, each once.
    inputs: Vec<Inputs>,
    /// Settings with the index of their files' contents.
    settings: Vec<(Packed, usize)>,
    /// The place of its settings, and the seed.
    runs: Vec<(usize, u64)>,
    watch: Option<Watched>,
    /// A folder for the worker's cache.
    cache: Option<PathBuf>,
}

/// [`Watch`], by its plain values.
#[derive(Serialize, Deserialize)]
struct Watched {
    step_ps: u64,
    from_ps: u64,
    to_ps: u64,
    servers: Vec<u32>,
}

/// Result of a run.
#[derive(Serialize, Deserialize)]
enum Gave {
    Tables { cpu_us: u64, cached: bool, tables: Box<RunTables> },
    Broken(String),
    Stopped,
    Raised(String),
}

/// Message of a worker.
#[derive(Serialize, Deserialize)]
enum Said {
    /// Results of all runs in order, and messages for the user.
    Runs(Vec<Gave>, Vec<String>),
    /// It is another engine.
    Another,
    /// It does not understand its own engine's batch.
    Unread(String),
}

/// Outcome of a run.
pub(super) enum RunResult {
    /// Its result, and whether it came from the cache.
    Done(Box<Done>, bool),
    /// It broke an invariant.
    Broken(String),
    /// Its worker was stopped.
    Stopped,
    /// The caller's own algorithm failed.
    Raised(String),
}

/// Outcome of a batch.
pub(super) enum Answer {
    /// Results of all runs in order, and messages for the user.
    Runs(Vec<RunResult>, Vec<String>),
    /// Why the worker takes none.
    Refused(String),
    /// Unreadable data.
    Damaged,
}

/// Packs runs.
pub(super) fn pack(engine: &str, runs: &[&RunSpec], watch: Option<&Watch>, cache: Option<&PathBuf>) -> Vec<u8> {
    let mut batch = RunBatch {
        inputs: Vec::new(),
        settings: Vec::new(),
        runs: Vec::new(),
        watch: watch.map(|watch| Watched {
            step_ps: watch.step.0,
            from_ps: watch.from.0,
            to_ps: watch.to.0,
            servers: watch.servers.clone(),
        }),
        cache: cache.cloned(),
    };
    // Those that are packed already, by the first run that has them.
    let mut known: Vec<&RunSpec> = Vec::new();
    for run in runs {
        let same = |other: &&RunSpec| other.scheme == run.scheme && other.settings == run.settings;
        let place = known.iter().rposition(same).unwrap_or_else(|| {
            let inputs = batch.inputs.iter().position(|inputs| inputs.is(&run.settings.inputs));
            let inputs = inputs.unwrap_or_else(|| {
                batch.inputs.push(run.settings.inputs.clone());
                batch.inputs.len() - 1
            });
            batch.settings.push((Packed::of(&run.scheme, &run.settings), inputs));
            known.push(run);
            known.len() - 1
        });
        batch.runs.push((place, run.seed));
    }
    wrapped(engine, &batch)
}

/// Worker: executes a batch's runs in sequence on the calling thread.
pub fn work(runner: &dyn Runner, engine: &str, batch: &[u8], stop: &AtomicBool) -> Vec<u8> {
    let said = match unwrapped(batch) {
        Some((theirs, _)) if theirs != engine => Said::Another,
        Some((_, bytes)) => match postcard::from_bytes(bytes) {
            Ok(batch) => carried_out(runner, engine, batch, stop).unwrap_or_else(Said::Unread),
            Err(error) => Said::Unread(error.to_string()),
        },
        None => Said::Unread("not a batch".into()),
    };
    wrapped(engine, &said)
}

fn carried_out(runner: &dyn Runner, engine: &str, batch: RunBatch, stop: &AtomicBool) -> Result<Said, String> {
    let RunBatch { inputs, settings, runs, watch, cache } = batch;
    let watch = watch.map(|Watched { step_ps, from_ps, to_ps, servers }| Watch {
        step: Time(step_ps),
        from: Time(from_ps),
        to: Time(to_ps),
        servers,
    });
    let unpack = |(packed, place): &(Packed, usize)| {
        packed.unpack(inputs.get(*place).cloned().ok_or("the contents of a file are missing")?).map_err(String::from)
    };
    let variants = settings.iter().map(unpack).collect::<Result<Vec<_>, String>>()?;
    let cache = cache.filter(|_| watch.is_none()).map(|folder| Cache::new(folder, engine));
    let mut notices = Vec::new();
    let mut gave = Vec::new();
    for (place, seed) in runs {
        let variant = variants.get(place).ok_or("a run has no settings")?;
        let spec = variant.at(0, seed).ok_or("settings have no point")?;
        if let Some(Found::Run(done)) = cache.as_ref().map(|cache| cache.get(&spec)) {
            gave.push(Gave::of(*done, true));
            continue;
        }
        let before = thread_user_time();
        let result = match &watch {
            None => runner.run(&spec, stop),
            Some(watch) => runner.watch(&spec, watch.clone(), stop),
        };
        let cpu = thread_user_time().saturating_sub(before);
        gave.push(match result.map(|tables| Done { tables, cpu }) {
            Ok(done) => {
                if let Some(Err(error)) = cache.as_ref().map(|cache| cache.put(&spec, &done)) {
                    notices.push(format!("a worker cannot cache runs: {error}"));
                }
                Gave::of(done, false)
            }
            Err(RunError::Broken(what)) => Gave::Broken(what),
            Err(RunError::Stopped) => Gave::Stopped,
            Err(RunError::Raised(what)) => Gave::Raised(what),
        });
    }
    notices.dedup();
    Ok(Said::Runs(gave, notices))
}

impl Gave {
    fn of(Done { tables, cpu }: Done, cached: bool) -> Gave {
        Gave::Tables { cpu_us: cpu.as_micros() as u64, cached, tables: Box::new(tables) }
    }
}

/// Reads a worker's message about this many runs.
pub(super) fn read(engine: &str, bytes: &[u8], runs: usize) -> Answer {
    let Some((theirs, said)) = unwrapped(bytes) else { return Answer::Damaged };
    if theirs != engine {
        return Answer::Refused(format!(
            "a worker's engine is {theirs}, not {engine} as here, so results could differ: install the same version of \
             fanin on every worker"
        ));
    }
    match postcard::from_bytes(said) {
        Ok(Said::Runs(gave, notices)) if gave.len() == runs => Answer::Runs(
            gave.into_iter()
                .map(|gave| match gave {
                    Gave::Tables { cpu_us, cached, tables } => {
                        RunResult::Done(Box::new(Done { tables: *tables, cpu: Duration::from_micros(cpu_us) }), cached)
                    }
                    Gave::Broken(what) => RunResult::Broken(what),
                    Gave::Stopped => RunResult::Stopped,
                    Gave::Raised(what) => RunResult::Raised(what),
                })
                .collect(),
            notices,
        ),
        Ok(Said::Unread(why)) => Answer::Refused(format!("a worker cannot read its batch: {why}")),
        Ok(Said::Runs(..) | Said::Another) | Err(_) => Answer::Damaged,
    }
}

fn wrapped(engine: &str, what: &impl Serialize) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    bytes.push(engine.len().min(255) as u8);
    bytes.extend(&engine.as_bytes()[..engine.len().min(255)]);
    // Plain values can always be serialised.
    postcard::to_extend(what, bytes).expect("plain values can be serialised")
}

/// The engine's name, and the rest.
fn unwrapped(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (&length, rest) = bytes.strip_prefix(MARK)?.split_first()?;
    let (engine, rest) = rest.split_at_checked(length.into())?;
    Some((std::str::from_utf8(engine).ok()?, rest))
}
