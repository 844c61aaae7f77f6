//! `fanin watch`: runs the sensor, and continues with advice on the first burst that it saves.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use fanin_kernel::watch::row::Row;

use crate::arguments::{DiagnoseArguments, WatchArguments};
use crate::diagnose::diagnose;
use crate::failure::Failure;
use crate::kernel::{missing, program, replace_by_watch};
use crate::terminal::say;

/// Folder of saved bursts, unless `--save` names one.
const FOLDER: &str = "bursts";

/// Watches, or advises on the first burst that is worse than the threshold.
///
/// # Errors
/// The sensor cannot run, or a diagnosis fails.
pub fn watch(arguments: &WatchArguments) -> Result<(), Failure> {
    let (advise, rest): (Vec<_>, Vec<_>) = arguments.rest.iter().cloned().partition(|one| one == "--advise");
    match advise.is_empty() {
        true => Err(replace_by_watch(&rest)),
        false => self::advise(rest),
    }
}

fn advise(mut rest: Vec<OsString>) -> Result<(), Failure> {
    let has = |flag: &str| rest.iter().any(|one| one.to_string_lossy().split('=').next() == Some(flag));
    let (json, saves) = (has("--json"), has("--save"));
    if !saves {
        rest.extend(["--save".into(), FOLDER.into()]);
    }
    if !json {
        rest.push("--json".into());
    }
    let Some(files) = saved(&rest, json)? else { return Ok(()) };
    let inputs = files.iter().map(|file| file.display().to_string()).collect();
    diagnose(&DiagnoseArguments { inputs, out: None, json, advise: true, jobs: None, no_cache: false })
}

/// Runs the sensor until it saves a burst, and returns the burst's files; `None` if it ended before.
fn saved(arguments: &[OsString], json: bool) -> Result<Option<Vec<PathBuf>>, Failure> {
    let mut command = Command::new(program());
    let mut child = command.arg("watch").args(arguments).stdout(Stdio::piped()).spawn();
    let child = child.as_mut().map_err(|error| missing("fanin watch", error))?;
    let unread = |error: io::Error| Failure::Environment(format!("the sensor: cannot read its bursts: {error}"));
    let output = child.stdout.take().ok_or_else(|| unread(io::ErrorKind::BrokenPipe.into()))?;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(unread)?;
        let row: Row = serde_json::from_str(&line).map_err(|error| unread(error.into()))?;
        let said = say(&if json { line + "\n" } else { format!("{row}\n") });
        let Row::Saved(saved) = row else {
            said?;
            continue;
        };
        child.kill().and_then(|()| child.wait()).map_err(unread)?;
        return said.map(|()| Some(saved.files.into_iter().map(PathBuf::from).collect()));
    }
    let status = child.wait().map_err(unread)?;
    match status.code() {
        Some(0) => Ok(None),
        Some(2) => Err(Failure::Input("the sensor refused its options".into())),
        _ => Err(Failure::Environment(format!("the sensor ended: {status}"))),
    }
}
