//! `fanin trace`: the packets of one run as pcapng.

use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::Path;

use fanin::{Draft, is_special};

use crate::arguments::TraceArguments;
use crate::failure::Failure;
use crate::figures::{clean, large};
use crate::load::{load, read};
use crate::run::one_run;
use crate::signal;
use crate::stop::listen;
use crate::terminal::{fold, say};
use crate::work::{Means, in_lab, warn};

/// Runs the scheme and writes the packets on the tapped links.
pub fn trace(arguments: &TraceArguments) -> Result<(), Failure> {
    let asked = one_run(&arguments.scheme, arguments.fan_in.as_deref(), arguments.seed.as_deref())?;
    let scenario = load(read(&arguments.scenario)?, &arguments.set, None, &asked)?.scenario;
    scenario.one_run()?;
    if !is_special(&arguments.out) {
        // Opening a FIFO waits for its reader; signals keep their default effect until then.
        listen()?;
    }
    let draft = Draft::open(&arguments.out)
        .map_err(|error| Failure::Input(format!("--out {}: cannot write: {error}", arguments.out.display())))?;
    let means = Means { jobs: Some(NonZeroUsize::MIN), cached: false };
    let capture = in_lab(means, |lab, _| {
        let capture = lab.trace(&scenario, &arguments.at)?;
        capture.write(BufWriter::new(draft.file()))?;
        Ok(capture)
    });
    let capture = capture.map_err(|why| match why {
        Failure::Stopped(_) => Failure::Stopped(format!("stopped by {}; nothing was written", signal::name())),
        Failure::Environment(what) => unwritten(&arguments.out, what),
        other => other,
    })?;
    draft.publish().map_err(|error| unwritten(&arguments.out, error))?;
    warn(scenario.warnings());
    let shown = clean(&arguments.out.display().to_string());
    let last = capture.last().map_or(String::new(), |time| format!(", to {time}"));
    say(&fold(&format!("{shown}: {} packets at {}{last}\n", large(capture.len() as f64), arguments.at)))
}

fn unwritten(out: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Environment(format!("--out {}: {error}", out.display()))
}
