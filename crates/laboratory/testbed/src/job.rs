//! A run that is measured by another process: in a folder, the run as `run` and its result as `tables`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use fanin_spec::{Inputs, Packed, RunSpec};
use fanin_tables::RunTables;
use serde::{Deserialize, Serialize};

use crate::here;
use crate::trouble::Trouble;

const RUN: &str = "run";
const TABLES: &str = "tables";

#[derive(Serialize, Deserialize)]
struct Job {
    settings: Packed,
    inputs: Inputs,
    seed: u64,
    /// The program whose front end carries out key-value requests, with memcached.
    fanin: Option<PathBuf>,
}

/// Writes a run into a folder.
pub fn put(folder: &Path, spec: &RunSpec, fanin: Option<&Path>) -> Result<(), Trouble> {
    let settings = Packed::of(&spec.scheme, &spec.settings);
    let job = Job { settings, inputs: spec.settings.inputs.clone(), seed: spec.seed, fanin: fanin.map(Path::to_owned) };
    let bytes = postcard::to_stdvec(&job).map_err(io::Error::other)?;
    Ok(fs::write(folder.join(RUN), bytes)?)
}

/// Measures the run of a folder on this machine and writes its result there, for the process that wrote the run.
///
/// # Errors
/// An unreadable folder. A run that fails is a result.
pub fn serve(folder: &Path) -> Result<(), Trouble> {
    let measured = measure(&fs::read(folder.join(RUN))?);
    let bytes = postcard::to_stdvec(&measured.map_err(|trouble| trouble.to_string())).map_err(io::Error::other)?;
    Ok(fs::write(folder.join(TABLES), bytes)?)
}

fn measure(bytes: &[u8]) -> Result<RunTables, Trouble> {
    let Job { settings, inputs, seed, fanin } = postcard::from_bytes(bytes).map_err(io::Error::other)?;
    let variant = settings.unpack(inputs).map_err(io::Error::other)?;
    let spec = variant.at(0, seed).ok_or_else(|| io::Error::other("settings have no point"))?;
    here::run(&spec, fanin.as_deref(), &AtomicBool::new(false))
}

/// The result in a folder; `None` if there is none.
pub fn take(folder: &Path) -> Result<Option<RunTables>, Trouble> {
    let Ok(bytes) = fs::read(folder.join(TABLES)) else { return Ok(None) };
    let result: Result<RunTables, String> = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
    result.map(Some).map_err(Trouble::Lacks)
}
