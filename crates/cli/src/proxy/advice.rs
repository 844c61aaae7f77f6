//! `fanin front --advise`: predicted incast before the pools of a proxy, and remedies.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fanin::{Draft, Scenario, Wanted};
use fanin_daemon::Settings;
use fanin_daemon::control::{self, Command};
use fanin_daemon::incast::{Predicted, Predictor, Workload, assumed_workload};
use fanin_daemon::messages::IncastReport;
use fanin_daemon::settings::Pool;

use crate::advice::{Shown, told};
use crate::failure::Failure;
use crate::proxy::incast::{Simulated, scenario};
use crate::stop::{STOP, listen};
use crate::terminal::say;
use crate::work::{Means, in_lab};

/// Data packets to simulate for a pool's advice, as `fanin advise` does.
const BUDGET: u64 = 250_000_000;

/// Predicts and advises for every pool with `incast`, and saves the pools' scenarios in a folder, if there is one.
pub fn advise(settings: &Settings, folder: Option<&Path>) -> Result<(), Failure> {
    let pools: Vec<&Pool> = settings.pools.iter().filter(|pool| pool.incast.is_some()).collect();
    if pools.is_empty() {
        let form = "add incast = { buffer = \"64 KiB\", rto_min = \"200 ms\" } to a pool";
        return Err(Failure::Input(format!("--advise: no pool has `incast`: {form} (docs/front.md)")));
    }
    let observed = observed(settings)?;
    listen()?;
    for pool in pools {
        advise_pool(pool, observed.get(&pool.name), folder)?;
    }
    Ok(())
}

/// Multigets that the running proxy observes, by pool; none if no proxy runs.
fn observed(settings: &Settings) -> Result<BTreeMap<String, Workload>, Failure> {
    let failed = |why: String| Failure::Environment(format!("cannot ask the running proxy for its multigets: {why}"));
    match control::send(&settings.listens(), Command::Observed).map_err(|error| failed(error.to_string()))? {
        None => Ok(BTreeMap::new()),
        Some(result) => serde_json::from_str(&result.map_err(failed)?).map_err(|error| failed(error.to_string())),
    }
}

fn advise_pool(pool: &Pool, observed: Option<&Workload>, folder: Option<&Path>) -> Result<(), Failure> {
    let Some(workload) = observed.copied().or_else(|| assumed_workload(pool)) else { return Ok(()) };
    let prediction = Simulated
        .predict(pool, &workload, &STOP)
        .map_err(|why| Failure::Environment(format!("{}: incast cannot be predicted: {why}", pool.name)))?;
    let predicted = Predicted { workload, observed: observed.is_some(), prediction };
    let has_limit = pool.window(None).window() < u32::MAX;
    let report = IncastReport { pool: &pool.name, servers: pool.servers.len(), has_limit, predicted };
    say(&format!("{report}\n"))?;
    let scenario = scenario(pool, &workload, prediction.limit)?;
    let source = save(pool, &scenario, folder)?;
    let wanted = Wanted::new(vec![source.display().to_string()], BUDGET);
    let means = Means { jobs: None, cached: true };
    let advised = in_lab(means, |lab, hear| lab.advise(&scenario, &wanted, hear))?;
    say(&told(&advised.advice, None, Shown::First, None))
}

/// Writes a pool's scenario, if there is a folder; returns the file that printed commands name.
fn save(pool: &Pool, scenario: &Scenario, folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let name = PathBuf::from(format!("{}.toml", pool.name.replace('/', "_")));
    let Some(folder) = folder else { return Ok(name) };
    let path = folder.join(name);
    let unwritten = |error| Failure::Input(format!("--advise {}: cannot write: {error}", path.display()));
    fs::create_dir_all(folder).map_err(unwritten)?;
    let draft = Draft::open(&path).map_err(unwritten)?;
    draft.file().write_all(scenario.text().as_bytes()).and_then(|()| draft.publish()).map_err(unwritten)?;
    Ok(path)
}
