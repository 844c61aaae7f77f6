//! Windows granted by this host: programs at a network device (tc), pinned until they are taken back, or on trial.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, Object, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder};
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::canary::{self, Ended, Report};
use crate::cgroup::Cgroup;
use crate::control::GRANTS;
use crate::list;
use crate::load::{self, set_constants, set_variables};
use crate::pins;
use crate::trial::{Totals, Verdict, judge};
use crate::trouble::Trouble;

/// Handle and priority of the programs among a device's filters.
const HANDLE: u32 = 0xfa1;
const PRIORITY: u32 = 0xfa1;
const POINTS: [(TcAttachPoint, &str); 2] = [(TC_INGRESS, "grants_arrives"), (TC_EGRESS, "grants_leaves")];
/// IP and TCP headers with timestamps.
const HEADERS: u32 = 52;
/// Time after which unused credit counts for nothing.
const IDLE: Duration = Duration::from_millis(10);
/// Pause between two renewals of a trial, and how long its programs act without one.
const BEAT: Duration = Duration::from_millis(250);
const LASTS: Duration = Duration::from_secs(3);
/// Renewals between two judgements.
const JUDGE_EVERY: u64 = 4;

/// Where and how windows are granted.
#[derive(Clone, Debug)]
pub struct Options {
    /// The network device.
    pub device: String,
    /// Rate of its link in Mbit/s; read from the device if absent.
    pub rate_mbit: Option<u64>,
    /// Bytes that may wait at the switch's port to this host.
    pub queue: u64,
    /// Segments of a turn.
    pub turn: u32,
}

/// Programs at a device, and their object. Without a pin they are taken back when this is dropped.
struct Attached {
    object: Object,
    index: i32,
    pinned: bool,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if !self.pinned {
            detach(self.index);
        }
    }
}

fn hook(program: std::os::fd::BorrowedFd<'_>, index: i32, point: TcAttachPoint) -> TcHook {
    let mut builder = TcHookBuilder::new(program);
    builder.ifindex(index).handle(HANDLE).priority(PRIORITY).hook(point)
}

/// Takes the programs of a device back; returns whether there were any.
fn detach(index: i32) -> bool {
    let Ok(any) = fs::File::open("/dev/null") else { return false };
    let mut found = false;
    for (point, _) in POINTS {
        let mut hook = hook(any.as_fd(), index, point);
        found |= hook.query().is_ok() && hook.detach().is_ok();
    }
    found
}

fn index_of(device: &str) -> Result<i32, Trouble> {
    let index = if_nametoindex(device).map_err(|error| {
        Trouble::Input(format!("--device {device}: {error}; `ip link` lists this machine's network devices"))
    })?;
    Ok(i32::try_from(index).map_err(io::Error::other)?)
}

/// A number in a file of a device.
fn number(device: &str, file: &str) -> Option<i64> {
    fs::read_to_string(Path::new("/sys/class/net").join(device).join(file)).ok()?.trim().parse().ok()
}

/// The constants of the object: rate, queue, idle; segment, turn, share; cgroup, its level.
fn constants(options: &Options, cgroup: Option<&Cgroup>, share: f64) -> Result<Vec<u8>, Trouble> {
    let device = &options.device;
    let speed = || number(device, "speed").and_then(|mbit| u64::try_from(mbit).ok()).filter(|mbit| *mbit > 0);
    let rate = options.rate_mbit.or_else(speed).ok_or_else(|| {
        Trouble::Input(format!("device {device} does not report its rate: give it, such as --rate-mbit 10000"))
    })?;
    let mtu = number(device, "mtu").and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(1500).min(65_535);
    let mss = mtu.saturating_sub(HEADERS).max(536);
    let (id, level) = cgroup.map_or((0, 0), |cgroup| (cgroup.id, cgroup.level()));
    let words = [rate.saturating_mul(125_000), options.queue, u64::try_from(IDLE.as_nanos()).unwrap_or(u64::MAX)];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let share_q32 = (share * f64::from(u32::MAX)) as u32;
    bytes.extend([mss, options.turn.saturating_mul(mss), share_q32, 0].iter().flat_map(|word| word.to_ne_bytes()));
    bytes.extend(id.to_ne_bytes());
    bytes.extend(level.to_ne_bytes());
    Ok(bytes)
}

fn attach(options: &Options, cgroup: Option<&Cgroup>, share: f64, until: u64) -> Result<Attached, Trouble> {
    let index = index_of(&options.device)?;
    if pin(index).exists() {
        let why = "`fanin kernel unload grants` takes it back";
        return Err(Trouble::Input(format!("grants is loaded at {} already: {why}", options.device)));
    }
    let mut object = load::open(list::GRANTS, GRANTS)?;
    set_constants(&mut object, &constants(options, cgroup, share)?)?;
    object.progs_mut().filter(|program| program.name() == "grants_replay").for_each(|mut program| {
        program.set_autoload(false);
    });
    let object = object.load().map_err(|error| load::refused("load grants", &error))?;
    set_variables(&object, ".data.until", &until.to_ne_bytes())?;
    // A trial that was killed may have left its programs, which do nothing any more.
    detach(index);
    let attached = Attached { object, index, pinned: false };
    for (point, name) in POINTS {
        let program = attached.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Trouble::Environment(format!("the object has no program {name}")))?;
        let mut hook = hook(program.as_fd(), index, point);
        let done = hook.create().and_then(|mut hook| hook.attach());
        done.map_err(|error| load::refused(&format!("attach {name} to {}", options.device), &error))?;
    }
    Ok(attached)
}

fn pin(index: i32) -> PathBuf {
    pins::folder().join(format!("fanin_grants-{index}"))
}

/// Devices at which it is loaded, by their index.
pub fn loaded() -> Vec<i32> {
    let Ok(entries) = fs::read_dir(pins::folder()) else { return Vec::new() };
    let index = |name: String| name.strip_prefix("fanin_grants-")?.parse().ok();
    entries.flatten().filter_map(|entry| index(entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Loads it at a device, for all new connections or those of a cgroup, until it is taken back.
///
/// # Errors
/// It is loaded there already, or the kernel refuses it.
pub fn keep(options: &Options, cgroup: Option<&Cgroup>) -> Result<(), Trouble> {
    pins::create_folder()?;
    let mut attached = attach(options, cgroup, 1.0, 0)?;
    let path = pin(attached.index);
    let map = attached.object.maps_mut().find(|map| map.name() == "hosts");
    let mut map = map.ok_or_else(|| Trouble::Environment("the object has no map of the host".into()))?;
    map.pin(&path).map_err(|error| load::refused(&format!("pin {}", path.display()), &error))?;
    attached.pinned = true;
    Ok(())
}

/// Takes it back everywhere in this network namespace; returns the number of devices.
pub fn unload() -> Result<usize, Trouble> {
    let mut indexes = loaded();
    let devices = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    indexes.extend(names.filter_map(|name| index_of(&name).ok()));
    indexes.sort_unstable();
    indexes.dedup();
    let mut count = 0;
    for index in indexes {
        let was_attached = detach(index);
        let path = pin(index);
        let was_pinned = path.exists();
        if was_pinned {
            fs::remove_file(&path).map_err(|error| Trouble::kernel(&format!("remove {}", path.display()), error))?;
        }
        count += usize::from(was_attached || was_pinned);
    }
    pins::remove_folder();
    Ok(count)
}

fn monotonic() -> Result<Duration, Trouble> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|error| Trouble::kernel("read the clock", error))?;
    Ok(Duration::from(now))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The untouched and the treated part.
fn parts(object: &Object) -> Result<[Totals; 2], Trouble> {
    let part = |place: u32| {
        let map = object.maps().find(|map| map.name() == "parts")?;
        Totals::read(&map.lookup(&place.to_ne_bytes(), MapFlags::ANY).ok()??)
    };
    let both = part(0).zip(part(1)).map(|(untouched, treated)| [untouched, treated]);
    both.ok_or_else(|| Trouble::Environment("cannot read the trial's figures from the kernel".into()))
}

/// Tries it on a share of a cgroup's new connections, and takes it back. If this process is killed, the programs do nothing after
/// three seconds, until `unload` removes them.
///
/// # Errors
/// It is loaded already, or the kernel refuses it.
pub fn try_out(options: &Options, cgroup: &Cgroup, trial: &canary::Options) -> Result<Report, Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let began = monotonic()?;
    let attached = attach(options, Some(cgroup), trial.share, nanos(began + LASTS))?;
    let ended = watch(&attached.object, trial, began, &stop)?;
    let [untouched, treated] = parts(&attached.object)?;
    let seconds = monotonic()?.saturating_sub(began).as_secs_f64();
    drop(attached);
    Ok(Report {
        control: list::GRANTS,
        cgroup: cgroup.path.display().to_string(),
        share: trial.share,
        seconds,
        ended,
        verdict: judge(&untouched, &treated),
        untouched: untouched.figures(),
        treated: treated.figures(),
        returned: treated.connections,
        refused: 0,
        prediction: None,
    })
}

fn watch(object: &Object, trial: &canary::Options, began: Duration, stop: &AtomicBool) -> Result<Ended, Trouble> {
    for beat in 1_u64.. {
        thread::sleep(BEAT);
        let now = monotonic()?;
        set_variables(object, ".data.until", &nanos(now + LASTS).to_ne_bytes())?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended::Stopped);
        }
        if now.saturating_sub(began) >= trial.duration {
            break;
        }
        let [untouched, treated] = parts(object)?;
        let judges = beat % JUDGE_EVERY == 0 && !trial.keep;
        if judges && matches!(judge(&untouched, &treated), Verdict::Worse { .. }) {
            return Ok(Ended::Worse);
        }
    }
    Ok(Ended::Deadline)
}
