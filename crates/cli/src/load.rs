//! A scenario from its file and the command's arguments.

use std::io::ErrorKind;
use std::path::Path;

use fanin::{Error, Out, Resolved, Scenario};

use crate::failure::Failure;
use crate::stop::listen;

/// A scenario ready to be run.
pub struct Loaded {
    /// The scenario.
    pub scenario: Resolved,
    /// Output folder, if any.
    pub out: Option<Out>,
}

/// A command's changes to the scenario in addition to `--set`.
pub struct Asked<'a> {
    /// The flag as written, and its names or labels.
    pub schemes: Option<(String, Vec<&'a str>)>,
    /// A flag as written, its key and its value.
    pub keys: Vec<(String, &'static str, String)>,
    /// Axes, each as `KEY=A,B`.
    pub sweeps: Vec<String>,
}

/// Applies `--set` and then the command's own flags, resolves, and claims the output folder.
pub fn load(mut scenario: Scenario, set: &[String], out: Option<&Path>, asked: &Asked) -> Result<Loaded, Failure> {
    for assignment in set {
        scenario.set_by(&format!("--set {assignment}"), assignment)?;
    }
    for (flag, key, value) in &asked.keys {
        scenario.set_by(flag, &format!("{key}={value}"))?;
    }
    for axis in &asked.sweeps {
        scenario.sweep_by(&format!("--sweep {axis}"), axis)?;
    }
    if let Some((flag, names)) = &asked.schemes {
        scenario.schemes_by(flag, names)?;
    }
    let scenario = scenario.resolve()?;
    listen()?;
    let out = out.map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    Ok(Loaded { scenario, out })
}

/// Turns `--fan-in 2,4,8` into the list that `sweep.fan_in` takes.
///
/// # Errors
/// A part that is not a number. The scenario validates the numbers.
pub fn fan_ins(text: &str) -> Result<String, Failure> {
    match text.split(',').map(str::trim).find(|n| n.parse::<i64>().is_err()) {
        None => Ok(format!("[{text}]")),
        Some(word) => Err(Failure::Input(format!(
            "--fan-in {text}: `{word}` is not a number of servers; use rising numbers, such as 2,4,8"
        ))),
    }
}

/// Reads a scenario from a path.
///
/// # Errors
/// An unreadable or invalid file.
pub fn read(path: &str) -> Result<Scenario, Failure> {
    if path == "-" {
        let what = "`-` is not a file: use a file, whose name appears in the results; \
                    standard input has one, /dev/stdin";
        return Err(Failure::Input(what.into()));
    }
    Scenario::read(path).map_err(|why| match &why {
        Error::Unread { error, .. } if error.kind() == ErrorKind::InvalidData => {
            Failure::Input(format!("{path}: not UTF-8, as TOML requires"))
        }
        Error::Unread { error, .. } if error.kind() == ErrorKind::NotFound => {
            Failure::Input(format!("{why}; create one with `fanin new star > my.toml`"))
        }
        _ => why.into(),
    })
}
