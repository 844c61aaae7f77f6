//! `fanin record`: prints or runs commands that record a diagnosis's input.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command};

use fanin::diagnosis::{Command as Recorder, commands};

use crate::arguments::RecordArguments;
use crate::failure::Failure;
use crate::figures::GREY;
use crate::terminal::say;

/// Folder for recordings.
const FOLDER: &str = "recording";
/// Folders of system tools. Root's `PATH` is not used, for security.
const TOOLS_IN: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Exit code of `timeout` when it ends its command.
const TIMED_OUT: i32 = 124;

/// Prints or runs the recording commands.
pub fn record(arguments: &RecordArguments) -> Result<(), Failure> {
    let device = arguments.device.as_deref();
    match arguments.run {
        None => print(&commands(10, device, &str::to_string)),
        Some(seconds) => run(&commands(seconds, device, &absolute)),
    }
}

fn print(commands: &[Recorder]) -> Result<(), Failure> {
    let one = |one: &Recorder| format!("{GREY}# {}{GREY:#}\n{} > {}\n\n", one.why, one.line, one.file);
    let text: String = commands.iter().map(one).collect();
    let files: Vec<&str> = commands.iter().map(|one| one.file).collect();
    let then = format!("fanin diagnose {} --out diagnosis\n", files.join(" "));
    say(&format!("{text}{GREY}# then, with the files that exist{GREY:#}\n{then}"))
}

/// Runs all commands at once, writing to a new folder that only its owner can read, because captures contain private data.
fn run(commands: &[Recorder]) -> Result<(), Failure> {
    let folder = Path::new(FOLDER);
    DirBuilder::new().mode(0o700).create(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Input(format!("`{FOLDER}` already exists: rename it, or record in another folder"))
        }
        _ => Failure::Environment(format!("{FOLDER}: cannot create: {error}")),
    })?;
    let began: Vec<_> = commands.iter().map(|one| (one, start(one, folder))).collect();
    let (mut made, mut lacking) = (Vec::new(), String::new());
    for (one, child) in began {
        let path = folder.join(one.file);
        match child.and_then(|mut child| child.wait()) {
            Ok(status) if status.success() || status.code() == Some(TIMED_OUT) => made.push(path.display().to_string()),
            failed => {
                let why = failed.map_or_else(|error| error.to_string(), |status| status.to_string());
                lacking += &format!("{}: {why}\n", one.line);
                // Remove incomplete output.
                let _ = fs::remove_file(path);
            }
        }
    }
    if made.is_empty() {
        // The folder is empty.
        let _ = fs::remove_dir(folder);
        return Err(Failure::Environment(format!("all commands failed:\n{lacking}")));
    }
    say(&format!("{lacking}recorded: {}\nfanin diagnose {} --out diagnosis\n", made.join(", "), made.join(" ")))
}

/// Starts a command with its output in a file.
fn start(one: &Recorder, folder: &Path) -> io::Result<Child> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(one.file))?;
    Command::new("/bin/sh").args(["-c", &one.line]).stdout(file).spawn()
}

/// Path of a system tool; the shell reports a missing one.
fn absolute(tool: &str) -> String {
    let found = TOOLS_IN.iter().map(|folder| format!("{folder}/{tool}")).find(|path| Path::new(path).is_file());
    found.unwrap_or_else(|| format!("{}/{tool}", TOOLS_IN[0]))
}
