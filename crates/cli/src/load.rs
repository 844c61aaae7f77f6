//! A scenario from its file and the command's arguments.

use std::io::{ErrorKind, Write};
use std::path::Path;

use fanin_execute::{Out, Unloaded};
use fanin_lab::Manifest;
use fanin_spec::Contender;

use crate::failure::Failure;
use crate::figures::{BOLD, clean, wrap};
use crate::stop::listen;
use crate::terminal::width;

/// A scenario ready to be run.
pub struct Loaded {
    /// The file's own name.
    pub name: String,
    /// What it says of itself.
    pub title: Option<String>,
    /// The schemes, resolved.
    pub contenders: Vec<Contender>,
    /// Where the results go, if anywhere.
    pub out: Option<Out>,
    /// What the results' folder says of the command.
    pub manifest: Manifest,
    /// What was set and has no effect, or not the one that was meant.
    pub warnings: Vec<String>,
}

/// What a command asks of the scenario besides `--set`.
pub struct Wishes<'a> {
    /// Names or labels with the flag's text.
    pub schemes: Option<Vec<&'a str>>,
    /// A flag as the user wrote it, the key that it sets, and the value.
    pub keys: Vec<(String, &'static str, String)>,
    /// Axes, each as `KEY=A,B`.
    pub sweeps: Vec<String>,
}

/// Reads the file, applies `--set` and then the command's own flags, resolves, and claims the output folder.
pub fn load(path: &str, set: &[String], out: Option<&Path>, wishes: &Wishes) -> Result<Loaded, Failure> {
    let mut file = read(path)?;
    let scenario = &mut file.scenario;
    for assignment in set {
        scenario.assign(&format!("--set {assignment}"), assignment)?;
    }
    for (flag, key, value) in &wishes.keys {
        scenario.assign(flag, &format!("{key}={value}"))?;
    }
    for axis in &wishes.sweeps {
        scenario.sweep(&format!("--sweep {axis}"), axis)?;
    }
    if let Some(names) = &wishes.schemes {
        scenario.select(names)?;
    }
    let contenders = file.contenders()?;
    contenders.iter().try_for_each(plan_fits)?;
    listen()?;
    let warnings: Vec<String> = file.scenario.warnings(&contenders).iter().map(ToString::to_string).collect();
    let out = out.map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    let (name, title, manifest) = (file.scenario.name, file.scenario.title, manifest(file.text));
    Ok(Loaded { name, title, contenders, out, manifest, warnings })
}

/// Refuses a plan of placement that is not for the cluster of every point; it is for one placement, whatever the seed.
fn plan_fits(contender: &Contender) -> Result<(), Failure> {
    let runs = (0..contender.points.len()).filter_map(|place| contender.at(place, contender.settings.run.first_seed));
    runs.into_iter().try_for_each(|spec| Ok(fanin_sim::fits(&spec)?))
}

/// Tells warnings: those of a scenario once nothing is refused any more.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        // Where it cannot be told, the results are none the worse.
        let text = wrap(&format!("warning: {}", clean(warning)), width(), "  ");
        let _ =
            writeln!(anstream::stderr(), "{BOLD}warning:{BOLD:#}{}", text.strip_prefix("warning:").unwrap_or(&text));
    }
}

/// What results say of this command.
pub fn manifest(scenario_text: String) -> Manifest {
    Manifest {
        version: env!("CARGO_PKG_VERSION").into(),
        arguments: std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect(),
        scenario_text,
    }
}

/// Turns `--fan-in 2,4,8` into the list that `sweep.fan_in` takes.
///
/// # Errors
/// What is not a number; whether the numbers make sense, the scenario knows.
pub fn fan_ins(text: &str) -> Result<String, Failure> {
    match text.split(',').map(str::trim).find(|n| n.parse::<i64>().is_err()) {
        None => Ok(format!("[{text}]")),
        Some(word) => Err(Failure::Input(format!(
            "--fan-in {text}: `{word}` is not a number of servers; right would be rising numbers, such as 2,4,8"
        ))),
    }
}

fn read(path: &str) -> Result<fanin_execute::Loaded, Failure> {
    if path == "-" {
        let what = "`-` is not a file: a scenario is read from a file, so that its name can stand in the results; \
                    standard input has one, /dev/stdin";
        return Err(Failure::Input(what.into()));
    }
    fanin_execute::load(Path::new(path)).map_err(|why| {
        let error = match why {
            Unloaded::Problem(problem) => return problem.into(),
            Unloaded::Unread(error) => error,
        };
        let hint = match error.kind() {
            ErrorKind::InvalidData => return Failure::Input(format!("{path}: not a text in UTF-8, as TOML is")),
            ErrorKind::NotFound => "; `fanin new star > my.toml` writes one to start from",
            _ => "",
        };
        Failure::Input(format!("{path}: the scenario cannot be read: {error}{hint}"))
    })
}
