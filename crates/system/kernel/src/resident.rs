//! The process that stays with granted windows. It serves their timer, renews the time until which they act, and unloads them if they harm.

use std::collections::VecDeque;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::unistd::{chdir, dup2_stderr, dup2_stdout, setsid};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::device;
use crate::grants::{Counted, Loaded};
use crate::trouble::Trouble;

/// Option of the process that stays, which `load` starts.
pub const OPTION: &str = "--resident";
/// Folder of the reasons for which grants were unloaded.
const NOTES: &str = "/run/fanin";
/// Pause between two renewals, and readings of the counters that the watchdog compares.
const BEAT: Duration = Duration::from_millis(250);
const READINGS: usize = 40;
/// Renewals between two searches for other users of the network namespace.
const LOOK_EVERY: u32 = 40;
/// Window probes, and waits of 20 ms while nothing arrived, in that time: more of them unload grants.
pub const MOST_TROUBLES: u64 = 20;

/// Starts this program again, to stay, and returns its words once it has loaded the programs.
///
/// # Errors
/// Those of the other process.
pub fn start() -> Result<String, Trouble> {
    let mut stays = Command::new(env::current_exe()?);
    stays.args(env::args_os().skip(1)).arg(OPTION);
    let mut child = stays.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both at once: a kernel that refuses may say more than a pipe holds.
    let mut errors = child.stderr.take();
    let errors = thread::spawn(move || {
        let mut error = String::new();
        errors.as_mut().map_or(Ok(0), |output| output.read_to_string(&mut error)).map(|_| error)
    });
    let mut words = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut words)?;
    }
    if !words.is_empty() {
        return Ok(words);
    }
    let error = errors.join().unwrap_or_else(|_| Ok(String::new()))?;
    let error = error.trim().trim_start_matches("error: ").to_string();
    match child.wait()?.code() {
        Some(2) => Err(Trouble::Input(error)),
        _ => Err(Trouble::Environment(error)),
    }
}

/// Stays with loaded programs until they are unloaded, after these words.
///
/// # Errors
/// The process cannot leave its terminal, or the kernel refuses to unload the programs.
pub fn stay(loaded: &Loaded, words: &str) -> Result<(), Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    forget_reason(loaded.device);
    io::stdout().write_all(words.as_bytes())?;
    io::stdout().flush()?;
    leave_terminal()?;
    let mut watchdog = Watchdog::default();
    for beat in 1_u32.. {
        if !loaded.is_pinned() {
            break;
        }
        loaded.renew()?;
        let is_left = beat.is_multiple_of(LOOK_EVERY) && is_last_user();
        if stop.load(Ordering::Relaxed) || !loaded.has_device() || is_left {
            return loaded.remove();
        }
        if let Some(reason) = loaded.counted().and_then(|counted| watchdog.judge(&counted)) {
            loaded.remove()?;
            return note_reason(loaded.device, &reason);
        }
        thread::sleep(BEAT);
    }
    Ok(())
}

/// Whether nothing but this process keeps its network namespace: no other process or thread, no mount and no open file. Sockets of processes
/// elsewhere are not found. A process that hides its namespace may be in it, but the first one is where the kernel's threads are.
fn is_last_user() -> bool {
    let Ok(own) = device::namespace() else { return false };
    let name = format!("net:[{own}]");
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    let others = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let id = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        id.is_some_and(|id| id != process::id() && id != 1)
    });
    let others: Vec<PathBuf> = others.collect();
    let may_be_own = |path: PathBuf| match fs::read_link(path) {
        Ok(link) => link.as_os_str() == name.as_str(),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    // The usual case first: a process.
    if others.is_empty() || others.iter().any(|path| may_be_own(path.join("ns/net"))) {
        return false;
    }
    let mounts = ["/proc/1/mountinfo", "/proc/self/mountinfo"].map(fs::read_to_string);
    if mounts.iter().any(|text| text.as_ref().map_or(true, |text| text.contains(&name))) {
        return false;
    }
    let any_below = |folder: PathBuf, may_be_own: &dyn Fn(PathBuf) -> bool| {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| may_be_own(entry.path()))
    };
    !others.iter().any(|path| {
        any_below(path.join("task"), &|task| may_be_own(task.join("ns/net"))) || any_below(path.join("fd"), &may_be_own)
    })
}

fn leave_terminal() -> Result<(), Trouble> {
    let refused = |error| Trouble::kernel("leave the terminal", error);
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    // A process group's first process cannot; a shell may have made it that, but then it has no terminal to leave.
    let _ = setsid();
    chdir("/").map_err(refused)?;
    dup2_stdout(&nowhere).map_err(refused)?;
    dup2_stderr(&nowhere).map_err(refused)
}

/// Compares counters with those of ten seconds before.
#[derive(Debug, Default)]
struct Watchdog {
    readings: VecDeque<(u64, u64)>,
}

impl Watchdog {
    /// The reason to unload, if there is one.
    fn judge(&mut self, counted: &Counted) -> Option<String> {
        let (probes, stalls) = (counted.probes, counted.stalls);
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((probes, stalls));
        let (probes_before, stalls_before) = *self.readings.front()?;
        let (probes, stalls) = (probes.saturating_sub(probes_before), stalls.saturating_sub(stalls_before));
        let reason = || {
            format!(
                "{probes} window probes and {stalls} waits of 20 ms or more on an idle link in {READINGS} quarters of a second"
            )
        };
        (probes + stalls > MOST_TROUBLES).then(reason)
    }
}

/// The file of a device of this network namespace.
fn note_of(device: i32) -> Option<PathBuf> {
    let namespace = device::namespace().ok()?;
    Some(PathBuf::from(NOTES).join(format!("grants-{namespace}-{device}")))
}

fn note_reason(device: i32, reason: &str) -> Result<(), Trouble> {
    let Some(path) = note_of(device) else { return Ok(()) };
    fs::create_dir_all(NOTES)?;
    Ok(fs::write(path, reason)?)
}

fn forget_reason(device: i32) {
    if let Some(path) = note_of(device) {
        let _ = fs::remove_file(path);
    }
}

/// Devices of this network namespace from which the watchdog has unloaded grants, and its reasons.
pub fn reasons() -> Vec<(i32, String)> {
    let own = |name: &str| {
        let device: i32 = name.rsplit('-').next()?.parse().ok()?;
        let path = note_of(device)?;
        (path.file_name()? == name).then_some(())?;
        Some((device, fs::read_to_string(path).ok()?))
    };
    let entries = fs::read_dir(NOTES).into_iter().flatten().flatten();
    entries.filter_map(|entry| own(&entry.file_name().to_string_lossy())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(probes: u64, stalls: u64) -> Counted {
        Counted { probes, stalls, ..Counted::default() }
    }

    #[test]
    fn watchdog_compares_with_ten_seconds_before() {
        let mut watchdog = Watchdog::default();
        // Two probes a second are as many as it allows.
        for second in 0..100 {
            for _ in 0..4 {
                assert_eq!(watchdog.judge(&counted(2 * second, 0)), None, "{second}");
            }
        }
        let reason = watchdog.judge(&counted(210, 9)).expect("a reason");
        assert!(reason.starts_with("30 window probes and 9 waits"), "{reason}");
    }
}
