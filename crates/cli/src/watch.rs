//! `fanin watch`: runs the sensor, and continues with a diagnosis and advice on the bursts that it saves.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use fanin::Diagnosed;
use fanin_kernel::watch::row::Row;

use crate::arguments::{DiagnoseArguments, WatchArguments};
use crate::diagnose::diagnose;
use crate::failure::Failure;
use crate::kernel::{missing, program, replace_by_watch};
use crate::terminal::say;
use crate::work::{Means, in_lab, notice};

/// Folder of saved bursts, unless `--save` names one.
const FOLDER: &str = "bursts";
/// Bursts that are joined at most, and for how long the sensor waits for another one.
const MOST: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);
/// A verdict with this confidence needs no further burst.
const SURE: f64 = 0.75;

/// Watches, or advises on the bursts that are worse than the threshold.
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
    let inputs = saved(&rest, json)?;
    if inputs.is_empty() {
        return Ok(());
    }
    diagnose(&DiagnoseArguments { inputs, out: None, json, advise: true, jobs: None, no_cache: false })
}

/// Lines of the sensor's output, read by a thread of their own.
fn lines(output: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, lines) = channel();
    // It ends with the output, or with its receiver.
    thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| sender.send(line)));
    lines
}

/// Runs the sensor until the saved bursts suffice for a verdict, and returns their files; none if it ended before the first.
fn saved(arguments: &[OsString], json: bool) -> Result<Vec<String>, Failure> {
    let mut command = Command::new(program());
    let child = command.arg("watch").args(arguments).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| missing("fanin watch", &error))?;
    let output = child.stdout.take().ok_or_else(|| unread(io::ErrorKind::BrokenPipe.into()))?;
    let files = collected(&lines(output), json);
    match &files {
        Ok(Collected { files, ended: true }) if files.is_empty() => ended(&mut child)?,
        _ => child.kill().and_then(|()| child.wait()).map(drop).map_err(unread)?,
    }
    Ok(files?.files)
}

fn unread(error: io::Error) -> Failure {
    Failure::Environment(format!("the sensor: cannot read its bursts: {error}"))
}

/// The end of a sensor that saved nothing.
fn ended(child: &mut Child) -> Result<(), Failure> {
    let status = child.wait().map_err(unread)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::Input("the sensor refused its options".into())),
        _ => Err(Failure::Environment(format!("the sensor ended: {status}"))),
    }
}

/// Files of bursts, and whether the sensor has ended.
struct Collected {
    files: Vec<String>,
    ended: bool,
}

/// Prints the sensor's rows, and collects the files of saved bursts until they suffice.
#[expect(clippy::disallowed_methods, reason = "bursts come in real time")]
fn collected(lines: &Receiver<io::Result<String>>, json: bool) -> Result<Collected, Failure> {
    let (mut files, mut bursts, mut until): (Vec<String>, usize, Option<Instant>) = (Vec::new(), 0, None);
    loop {
        let line = match until {
            None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => lines.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let line = match line {
            Ok(line) => line.map_err(unread)?,
            Err(why) => return Ok(Collected { files, ended: why == RecvTimeoutError::Disconnected }),
        };
        let row: Row = serde_json::from_str(&line).map_err(|error| unread(error.into()))?;
        say(&if json { line + "\n" } else { format!("{row}\n") })?;
        let Row::Saved(saved) = row else { continue };
        files.extend(saved.files);
        bursts += 1;
        if bursts >= MOST || suffice(&files) {
            return Ok(Collected { files, ended: false });
        }
        notice(&format!("{bursts} saved bursts give no certain verdict: waiting for more, at most {MOST}"));
        until = until.or_else(|| Some(Instant::now() + PATIENCE));
    }
}

/// Whether bursts have a certain cause. Calm ones may precede others.
fn suffice(files: &[String]) -> bool {
    let means = Means { jobs: None, cached: true };
    let found: Result<Diagnosed, Failure> = in_lab(means, |lab, _| lab.diagnose(files));
    found.is_ok_and(|found| found.diagnosis.verdict.impaired && found.diagnosis.verdict.confidence >= SURE)
}

#[cfg(test)]
mod tests {
    use fanin_kernel::watch::row::SavedRow;

    use super::*;

    #[test]
    fn joins_bursts_without_a_certain_verdict() {
        let (sender, lines) = channel();
        for burst in 0..MOST + 2 {
            let files = vec![format!("/absent/{burst}.pcap")];
            let row = Row::Saved(SavedRow { start_s: 1.0, files, packets: 3_361, from_s: 0.0, to_s: 0.57 });
            sender.send(Ok(serde_json::to_string(&row).unwrap())).unwrap();
        }
        let first = collected(&lines, true).unwrap();
        assert_eq!((first.files.len(), first.ended), (MOST, false));
        drop(sender);
        let rest = collected(&lines, true).unwrap();
        assert_eq!((rest.files.len(), rest.ended), (2, true));
    }
}
