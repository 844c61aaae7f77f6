//! Machines that are booted for each run, with a kernel and a clock of their own. Neither depends on this machine's speed or load.
//! Their files are the host's, read-only, and the program itself is their first process.

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
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::sync;

use crate::job;
use crate::trouble::Trouble;

/// Name of the kernel in its folder.
const KERNEL: &str = "linux";
/// Starts a machine in a process group of its own, waits for the end of its input, which is also that of a killed parent, and leaves neither
/// a process nor a file.
const KEEPER: &str = r#"folder=$1
shift
setsid "$@" </dev/null 2>&1 &
exec >/dev/null
read -r _
kill -KILL "-$!" || kill -KILL "$!"
rm -rf "$folder""#;
/// Time between looks at a machine.
const LOOK: Duration = Duration::from_millis(20);

/// Kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// User-mode Linux in time travel, whose processor takes no time: its clock stands while anything computes, and jumps to the next timer
    /// when all is idle.
    Instant,
    /// Debian's kernel in QEMU, whose clock counts the processor's instructions, one a nanosecond, and jumps to the next timer when all is
    /// idle.
    Counted,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Instant => "instant",
            Kind::Counted => "counted",
        }
    }

    /// Time, download and disk space that its kernel needs.
    pub fn costs(self) -> &'static str {
        match self {
            Kind::Instant => "10 minutes, 150 MB to fetch and 2 GB of disk",
            Kind::Counted => "a minute, 70 MB to fetch and 10 MB of disk",
        }
    }

    /// Files with which it is made; the first is a script.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Instant => &[
                ("instant.sh", include_str!("../machines/instant.sh")),
                ("instant.config", include_str!("../machines/instant.config")),
            ],
            Kind::Counted => &[("counted.sh", include_str!("../machines/counted.sh"))],
        }
    }

    /// File with the kernel's release.
    fn release(self) -> &'static str {
        match self {
            Kind::Instant => "linux-source-6.12/include/config/kernel.release",
            Kind::Counted => "release",
        }
    }

    fn describes(self) -> &'static str {
        match self {
            Kind::Instant => "User-mode Linux, time-travel=inf-cpu",
            Kind::Counted => "QEMU, one instruction a nanosecond",
        }
    }
}

/// A kernel and the program that runs in it.
#[derive(Clone, Debug)]
pub struct BootedMachine {
    /// Its kind.
    pub kind: Kind,
    folder: PathBuf,
    program: PathBuf,
    arguments: &'static [&'static str],
}

/// Gets a kernel into a folder: installs the packages that it needs if that is possible, fetches the kernel or its source from Debian, and
/// reports each step on standard error. A kernel that is current is left.
///
/// # Errors
/// [`Trouble::Lacks`] if the script failed; it has said why.
pub fn prepare(kind: Kind, folder: &Path) -> Result<(), Trouble> {
    fs::create_dir_all(folder)?;
    for (name, text) in kind.files() {
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        fs::File::create(path)?.write_all(text.as_bytes())?;
    }
    let script = folder.join(kind.files()[0].0);
    let status = Command::new("sh").arg(script).env("BUILD", folder).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(Trouble::Lacks("the kernel was not made".into())),
    }
}

impl BootedMachine {
    pub(crate) fn new(
        kind: Kind,
        folder: PathBuf,
        program: PathBuf,
        arguments: &'static [&'static str],
    ) -> Result<BootedMachine, Trouble> {
        match folder.join(KERNEL).exists() {
            true => Ok(BootedMachine { kind, folder, program, arguments }),
            false => Err(Trouble::Lacks(format!(
                "no kernel in {}: get it with `fanin testbed --prepare --machine {}`, which takes {}",
                folder.display(),
                kind.name(),
                kind.costs()
            ))),
        }
    }

    /// Measures one run in a machine of its own; with `fanin`, by its front end and memcached.
    pub(crate) fn run(&self, spec: &RunSpec, fanin: Option<&Path>, stop: &AtomicBool) -> Result<RunTables, Trouble> {
        let folder = tempfile::Builder::new().prefix("fanin-testbed-").tempdir()?;
        job::put(folder.path(), spec, fanin)?;
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
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "fanin-testbed"]).arg(folder);
        match self.kind {
            Kind::Instant => self.user_mode_linux(&mut keeper, folder),
            Kind::Counted => self.qemu(&mut keeper, folder),
        };
        keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0).spawn()
    }

    fn user_mode_linux(&self, keeper: &mut Command, folder: &Path) {
        keeper
            .arg(self.folder.join(KERNEL))
            .args(["mem=4G", "rootfstype=hostfs", "rootflags=/", "ro", "time-travel=inf-cpu"])
            .args(["con=null", "con0=fd:0,fd:1", "quiet", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
            .arg(format!("init={}", self.program.display()))
            .arg(format!("uml_dir={}", folder.display()))
            .arg("--")
            .args(self.arguments)
            .arg(folder);
    }

    fn qemu(&self, keeper: &mut Command, folder: &Path) {
        let (program, job, arguments) = (self.program.display(), folder.display(), self.arguments.join(","));
        keeper
            .args(["qemu-system-x86_64", "-accel", "tcg", "-icount", "shift=0,sleep=off", "-smp", "1", "-cpu", "max", "-m", "4G"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"])
            .arg("-kernel")
            .arg(self.folder.join(KERNEL))
            .arg("-initrd")
            .arg(self.folder.join("initrd"))
            .args(["-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"])
            .args(["-virtfs", &format!("local,path={job},mount_tag=job,security_model=none")])
            .arg("-append")
            .arg(format!(
                "console=ttyS0 quiet panic=-1 tsc=reliable fanin.program={program} fanin.arguments={arguments} fanin.folder={job}"
            ));
    }

    pub(crate) fn provenance(&self) -> Provenance {
        let release = fs::read_to_string(self.folder.join(self.kind.release())).unwrap_or_default();
        Provenance {
            kernel: format!("Linux {}", release.trim()),
            machine: self.kind.describes().into(),
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
    if fs::read_to_string("/proc/filesystems")?.contains("hostfs") {
        mount(Some("job"), folder, Some("hostfs"), MsFlags::empty(), folder.to_str())?;
    }
    // The host's files come late: on `counted`, the clock goes on meanwhile.
    mlockall(MlockAllFlags::MCL_CURRENT)?;
    job::serve(folder)?;
    sync();
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}
