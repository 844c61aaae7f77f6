//! A kernel whose processor takes no time: User-mode Linux in time travel. Its clock stands while anything computes and jumps to the next
//! timer when all is idle, so a run does not depend on this machine's speed or load, and is the same each time.
//!
//! Each run has a machine of its own, whose files are the host's, read-only. The program itself is its first process.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use fanin_lab::Provenance;
use fanin_spec::RunSpec;
use fanin_tables::RunTables;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::sync;

use crate::job;
use crate::trouble::Trouble;

/// How the kernel is built.
const SCRIPT: &str = include_str!("../machines/instant.sh");
/// What it has beyond the defaults.
const CONFIG: &str = include_str!("../machines/instant.config");
/// Name of the kernel in its folder.
const KERNEL: &str = "linux";
/// File with the kernel's release, beside it.
const RELEASE: &str = "linux-source-6.12/include/config/kernel.release";
/// Starts a machine in a process group of its own, waits for the end of its input, which is also that of a killed parent, and leaves neither
/// a process nor a file.
const KEEPER: &str = r#"set -m
folder=$1
shift
"$@" </dev/null &
exec >/dev/null
read -r _
kill -KILL -- "-$!"
rm -rf "$folder""#;
/// Time between looks at a machine.
const LOOK: Duration = Duration::from_millis(20);

/// A kernel and the program that runs in it.
#[derive(Clone, Debug)]
pub struct InstantMachine {
    folder: PathBuf,
    program: PathBuf,
    arguments: &'static [&'static str],
}

/// Builds the kernel in a folder, which takes minutes and 2 GB: installs the compiler's packages if that is possible, fetches Debian's
/// source, and reports each step on standard error. A kernel that is current is left.
///
/// # Errors
/// [`Trouble::Lacks`] if the script failed; it has said why.
pub fn prepare(folder: &Path) -> Result<(), Trouble> {
    fs::create_dir_all(folder)?;
    let script = folder.join("instant.sh");
    for (path, text) in [(&script, SCRIPT), (&folder.join("instant.config"), CONFIG)] {
        if fs::read_to_string(path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::File::create(path)?.write_all(text.as_bytes())?;
    }
    let status = Command::new("sh").arg(&script).env("INSTANT_BUILD", folder).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(Trouble::Lacks("the kernel was not built".into())),
    }
}

impl InstantMachine {
    pub(crate) fn new(
        folder: PathBuf,
        program: PathBuf,
        arguments: &'static [&'static str],
    ) -> Result<InstantMachine, Trouble> {
        match folder.join(KERNEL).exists() {
            true => Ok(InstantMachine { folder, program, arguments }),
            false => Err(Trouble::Lacks(format!(
                "no kernel in {}: build it with `fanin testbed --prepare`, which takes about 10 minutes, 150 MB to fetch and 2 GB of disk",
                folder.display()
            ))),
        }
    }

    /// Measures one run in a machine of its own.
    pub(crate) fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, Trouble> {
        let folder = tempfile::Builder::new().prefix("fanin-testbed-").tempdir()?;
        job::put(folder.path(), spec)?;
        let mut keeper = Keeper(self.boot(folder.path())?);
        let console = keeper.0.stdout.take();
        let console = thread::spawn(move || console.map(io::read_to_string));
        while !console.is_finished() {
            if stop.load(Ordering::Relaxed) {
                return Err(Trouble::Stopped);
            }
            thread::sleep(LOOK);
        }
        if let Some(tables) = job::take(folder.path())? {
            return Ok(tables);
        }
        let text = console.join().ok().flatten().and_then(Result::ok).unwrap_or_default();
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
        Err(Trouble::Lacks(format!("the kernel ended without a result; its last line: {last}")))
    }

    /// Starts the kernel under a keeper.
    fn boot(&self, folder: &Path) -> io::Result<Child> {
        Command::new("sh")
            .args(["-c", KEEPER, "fanin-testbed"])
            .args([folder, &self.folder.join(KERNEL)])
            .args(["mem=4G", "rootfstype=hostfs", "rootflags=/", "ro", "time-travel=inf-cpu"])
            .args(["con=null", "con0=fd:0,fd:1", "quiet", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
            .arg(format!("init={}", self.program.display()))
            .arg(format!("uml_dir={}", folder.display()))
            .arg("--")
            .args(self.arguments)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
    }

    pub(crate) fn provenance(&self) -> Provenance {
        let release = fs::read_to_string(self.folder.join(RELEASE)).unwrap_or_default();
        Provenance {
            kernel: format!("Linux {}", release.trim()),
            machine: "User-mode Linux, time-travel=inf-cpu".into(),
            date: String::new(),
        }
    }
}

/// A keeper of a machine, which ends with its input.
struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The first process of a machine: measures the run of a folder on it, and switches it off.
///
/// # Errors
/// A machine that has no such folder.
pub fn serve(folder: &Path) -> Result<(), Trouble> {
    let no_data: Option<&str> = None;
    for (place, kind) in [("/proc", "proc"), ("/sys", "sysfs"), ("/run", "tmpfs")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), no_data)?;
    }
    // The host's other files are read-only.
    mount(Some("job"), folder, Some("hostfs"), MsFlags::empty(), folder.to_str())?;
    job::serve(folder)?;
    sync();
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}
