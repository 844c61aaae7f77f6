//! Windows granted by this host: programs at a network device (tc), pinned until they are taken back, or on trial.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ProgramAttachType, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook,
    TcHookBuilder,
};
use nix::net::if_::if_nametoindex;
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::canary::{self, Ended, Report};
use crate::cgroup::Cgroup;
use crate::clock::monotonic;
use crate::control::GRANTS;
use crate::device;
use crate::idle::Server;
use crate::list;
use crate::load::{self, set_constants, set_variables};
use crate::names::printable;
use crate::pins;
use crate::tcx;
use crate::trial::{Totals, Verdict, judge};
use crate::trouble::Trouble;

/// Handle and priority of the programs among a device's filters.
const HANDLE: u32 = 0xfa1;
const PRIORITY: u32 = 0xfa1;
/// Sides of a device: for filters and for links, the program, and the end of its pin's name.
const SIDES: [(TcAttachPoint, ProgramAttachType, &str, &str); 2] = [
    (TC_INGRESS, ProgramAttachType::TcxIngress, "grants_arrives", "in"),
    (TC_EGRESS, ProgramAttachType::TcxEgress, "grants_leaves", "out"),
];
/// Flags of the settings: TCP acknowledges every second segment, and responses are measured (bpf/grants.h).
const PAIRS: u32 = 1;
const MEASURES: u32 = 2;
/// IP and TCP headers with timestamps, and that of Ethernet, which limits count as `tbf` does.
const HEADERS: u32 = 52;
const ETHERNET: u32 = 14;
/// Place of the number of waiting connections in the map of the host; its last words are counters (bpf/grants.h).
const WAITING: usize = 44;
/// Pin of the settings, and the place of the limit there.
const SETTINGS: &str = "settings";
const LIMIT_BITS: usize = 80;
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
    /// Limit of received data, bit/s with the headers of full frames.
    pub limit: Option<u64>,
}

/// Places of the table of connections (bpf/grants.h).
pub const CONNECTIONS: u64 = 65_536;

/// Constants of the object, in its order (bpf/grants.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Rate of the link, bytes a second.
    pub rate: u64,
    /// Bytes that may wait at the switch's port.
    pub queue: u64,
    /// Time after which unused windows count for nothing, ns.
    pub idle_ns: u64,
    /// Bytes of a segment.
    pub segment: u32,
    /// Segments of a turn; from two on, TCP may acknowledge every second segment.
    pub turn: u32,
    /// Share of new connections that are granted, in 1/2^32, and whether both parts are measured.
    pub share_q32: u32,
    /// Whether responses are measured.
    pub measures: bool,
    /// Number and level of the cgroup whose connections are granted; zero: all.
    pub cgroup: (u64, u32),
    /// Limit of granted payload, bytes a second, and bit/s as the user has it; zero: none.
    pub limit: (u64, u64),
}

impl Constants {
    /// Constants for every connection of a device.
    pub fn of_all(rate: u64, queue: u64, idle_ns: u64, segment: u32, turn: u32) -> Constants {
        Constants {
            rate,
            queue,
            idle_ns,
            segment,
            turn,
            share_q32: u32::MAX,
            measures: false,
            cgroup: (0, 0),
            limit: (0, 0),
        }
    }

    /// As the object has them, for a device by its index; without one for the vectors, without the additions for Linux.
    pub fn bytes(&self, device: Option<u32>) -> Vec<u8> {
        let pairs = if device.is_some() && self.turn > 1 { PAIRS } else { 0 };
        let flags = pairs | if self.measures { MEASURES } else { 0 };
        let turn = self.turn.saturating_mul(self.segment);
        let mut bytes: Vec<u8> =
            [self.rate, self.queue, self.idle_ns].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let words = [self.segment, turn, self.share_q32, flags, device.unwrap_or(0), 0];
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(self.cgroup.0.to_ne_bytes());
        bytes.extend([self.cgroup.1, 0].iter().flat_map(|word| word.to_ne_bytes()));
        let (limit, bits) = self.limit;
        let two_turns = u64::from(turn).saturating_mul(2 * 1_000_000_000).checked_div(limit).unwrap_or(0);
        for word in [limit, self.idle_ns.max(two_turns), bits] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }
}

/// Programs at a device, and their object. They are taken back when this is dropped, unless they are pinned.
#[derive(Debug)]
pub struct Attached {
    /// The object.
    pub object: Object,
    index: i32,
    /// Links, which end with this process; none on a kernel that has filters only.
    links: Vec<Link>,
    pinned: bool,
    /// Serves the timer, as long as this lasts.
    _server: Server,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if !self.pinned && self.links.is_empty() {
            detach(self.index);
        }
    }
}

fn hook(program: std::os::fd::BorrowedFd<'_>, index: i32, point: TcAttachPoint) -> TcHook {
    let mut builder = TcHookBuilder::new(program);
    builder.ifindex(index).handle(HANDLE).priority(PRIORITY).hook(point)
}

/// Removes filters of a device; returns whether there were any.
fn detach(index: i32) -> bool {
    let Ok(any) = fs::File::open("/dev/null") else { return false };
    let mut found = false;
    for (point, ..) in SIDES {
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

/// The constants for a device.
fn constants(
    options: &Options,
    cgroup: Option<&Cgroup>,
    trial: Option<&canary::Options>,
) -> Result<Constants, Trouble> {
    let device = &options.device;
    let rate = options.rate_mbit.or_else(|| device::rate_mbit(device)).ok_or_else(|| {
        Trouble::Input(format!("device {device} does not report its rate: give it, such as --rate-mbit 10000"))
    })?;
    let mtu = device::mtu(device).unwrap_or(1_500).min(65_535);
    let segment = mtu.saturating_sub(HEADERS).max(536);
    if let Some(limit) = options.limit.filter(|limit| *limit > rate.saturating_mul(1_000_000)) {
        let limit = limit / 1_000_000;
        return Err(Trouble::Input(format!(
            "--limit of {limit} Mbit/s is above the rate of {device}, {rate} Mbit/s: use a lower one, or correct the rate by --rate-mbit"
        )));
    }
    // Bytes of payload in full segments.
    let payload = |bits: u64| bits / 8 * u64::from(segment) / u64::from(segment + HEADERS + ETHERNET);
    let limit = options.limit.map_or((0, 0), |bits| (payload(bits), bits));
    let rate = if limit.0 > 0 { limit.0 } else { rate.saturating_mul(125_000) };
    let share = trial.map_or(1.0, |trial| trial.share);
    Ok(Constants {
        share_q32: (share * f64::from(u32::MAX)) as u32,
        measures: trial.is_some(),
        cgroup: cgroup.map_or((0, 0), |cgroup| (cgroup.id, cgroup.level())),
        limit,
        ..Constants::of_all(rate, options.queue, nanos(IDLE), segment, options.turn)
    })
}

/// Attaches the programs to a device that has none yet. `until`: time of CLOCK_MONOTONIC until which they act, ns; zero: for ever.
fn attach_new(options: &Options, constants: &Constants, until: u64) -> Result<Attached, Trouble> {
    let index = index_of(&options.device)?;
    if pin(index)?.exists() {
        let why = "`fanin kernel unload grants` takes it back";
        return Err(Trouble::Input(format!("grants is loaded at {} already: {why}", options.device)));
    }
    // A trial that was killed on a kernel without links has left its filters, which do nothing any more.
    detach(index);
    attach(&options.device, constants, until)
}

/// Attaches the programs to a device of this network namespace.
///
/// # Errors
/// There is no such device, or the kernel refuses them.
pub fn attach(device: &str, constants: &Constants, until: u64) -> Result<Attached, Trouble> {
    let index = index_of(device)?;
    let mut object = load::open(list::GRANTS.scheme, GRANTS)?;
    set_constants(&mut object, &constants.bytes(u32::try_from(index).ok()))?;
    for mut program in object.progs_mut() {
        let side = SIDES.into_iter().find(|(_, _, name, _)| program.name() == *name);
        match side {
            Some((_, kind, ..)) => program.set_attach_type(kind),
            None => program.set_autoload(program.name() != "grants_replay"),
        }
    }
    let object = object.load().map_err(|error| load::refused("load grants", &error))?;
    set_variables(&object, ".data.until", &until.to_ne_bytes())?;
    let server = Server::start(&object)?;
    let mut attached = Attached { object, index, links: Vec::new(), pinned: false, _server: server };
    for (point, _, name, _) in SIDES {
        let program = attached.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Trouble::Environment(format!("the object has no program {name}")))?;
        if let Ok(link) = tcx::attach(&program, index) {
            attached.links.push(link);
            continue;
        }
        let mut hook = hook(program.as_fd(), index, point);
        let done = hook.create().and_then(|mut hook| hook.attach());
        done.map_err(|error| load::refused(&format!("attach {name} to {device}"), &error))?;
    }
    Ok(attached)
}

/// Begin of the names of pins of this network namespace: several share a bpffs, such as a host's and those of its pods.
fn prefix() -> io::Result<String> {
    Ok(format!("fanin_grants-{}-", device::namespace()?))
}

/// Pin of the map of the host.
fn pin(index: i32) -> io::Result<PathBuf> {
    Ok(pins::folder().join(format!("{}{index}", prefix()?)))
}

/// Pin of the link of a side, or of the settings.
fn part_pin(index: i32, part: &str) -> io::Result<PathBuf> {
    Ok(pins::folder().join(format!("{}{index}-{part}", prefix()?)))
}

/// Devices of this network namespace at which it is loaded, by their index.
pub fn loaded() -> Vec<i32> {
    let (Ok(entries), Ok(prefix)) = (fs::read_dir(pins::folder()), prefix()) else { return Vec::new() };
    let index = |name: String| name.strip_prefix(&prefix)?.parse().ok();
    entries.flatten().filter_map(|entry| index(entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Programs at a device, pinned until they are taken back.
#[derive(Debug)]
pub struct Loaded {
    /// Index of the device.
    pub device: i32,
    attached: Attached,
    /// Time of CLOCK_MONOTONIC at which they end, ns.
    ends: Option<u64>,
}

impl Loaded {
    /// Loads it at a device, for all new connections or those of a cgroup; it acts for this time, or for ever.
    ///
    /// # Errors
    /// It is loaded there already, or the kernel refuses it.
    pub fn load(options: &Options, cgroup: Option<&Cgroup>, acts: Option<Duration>) -> Result<Loaded, Trouble> {
        pins::create_folder()?;
        let ends = acts.map(|acts| Ok::<_, Trouble>(nanos(monotonic()? + acts))).transpose()?;
        let mut attached = attach_new(options, &constants(options, cgroup, None)?, nanos(monotonic()? + LASTS))?;
        let device = attached.index;
        if let Err(trouble) = pin_all(&mut attached) {
            remove_pins(device)?;
            return Err(trouble);
        }
        attached.pinned = true;
        // The pins alone keep them: `unload` removes those.
        attached.links.clear();
        Ok(Loaded { device, attached, ends })
    }

    /// Whether nobody has taken it back.
    pub fn is_pinned(&self) -> bool {
        pin(self.device).is_ok_and(|pin| pin.exists())
    }

    /// Whether the device is still there.
    pub fn has_device(&self) -> bool {
        device::name_of(self.device).is_some()
    }

    /// Lets the programs act for three more seconds, but not beyond their end.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn renew(&self) -> Result<(), Trouble> {
        let until = nanos(monotonic()? + LASTS);
        let until = self.ends.map_or(until, |ends| until.min(ends));
        set_variables(&self.attached.object, ".data.until", &until.to_ne_bytes())
    }

    /// Its counters.
    pub fn counted(&self) -> Option<Counted> {
        counted_at(self.device)
    }

    /// Takes it back.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn remove(&self) -> Result<(), Trouble> {
        detach(self.device);
        remove_pins(self.device).map(drop)
    }
}

fn pin_all(attached: &mut Attached) -> Result<(), Trouble> {
    let refused = |path: &Path, error| load::refused(&format!("pin {}", path.display()), &error);
    for (link, (.., side)) in attached.links.iter_mut().zip(SIDES) {
        let path = part_pin(attached.index, side)?;
        link.pin(&path).map_err(|error| refused(&path, error))?;
    }
    for (name, path) in [(".rodata", part_pin(attached.index, SETTINGS)?), ("hosts", pin(attached.index)?)] {
        let map = attached.object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(name));
        let mut map = map.ok_or_else(|| Trouble::Environment(format!("the object has no map {name}")))?;
        map.pin(&path).map_err(|error| refused(&path, error))?;
    }
    Ok(())
}

/// Removes the pins of a device, with which its links end; returns whether there were any.
fn remove_pins(index: i32) -> Result<bool, Trouble> {
    let mut found = false;
    let parts = SIDES.iter().map(|(.., side)| *side).chain([SETTINGS]).map(|part| part_pin(index, part));
    let pins: Vec<PathBuf> = parts.chain([pin(index)]).collect::<io::Result<_>>()?;
    for path in pins.into_iter().filter(|path| path.exists()) {
        fs::remove_file(&path).map_err(|error| Trouble::kernel(&format!("remove {}", path.display()), error))?;
        found = true;
    }
    Ok(found)
}

/// Counters of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Index of the device.
    pub device: i32,
    /// Its name in this network namespace.
    pub name: Option<String>,
    /// Limit of received data, bit/s.
    pub limit: Option<u64>,
    /// Connections that wait for a turn.
    pub waiting: u32,
    /// Packets whose window was lowered.
    pub lowered: u64,
    /// ACKs that were made to announce a turn.
    pub woken: u64,
    /// Changes that the kernel refused.
    pub failed: u64,
    /// Segments that TCP does not accept, and that changed nothing.
    pub ignored: u64,
    /// Connections in the table, which has [`CONNECTIONS`] places.
    pub connections: u64,
    /// Connections that were left alone because the table was full.
    pub full: u64,
    /// Longest wait for a turn, ns.
    pub longest_wait_ns: u64,
    /// Longest wait while nothing arrived, ns.
    pub longest_idle_wait_ns: u64,
    /// Waits of 20 ms or more while nothing arrived.
    pub stalls: u64,
    /// Window probes of peers whose window was closed here.
    pub probes: u64,
    /// Times that the timer gave turns on an idle link.
    pub idle_turns: u64,
}

/// Counters of each device at which it is loaded.
pub fn counted() -> Vec<Counted> {
    loaded().into_iter().filter_map(counted_at).collect()
}

fn counted_at(index: i32) -> Option<Counted> {
    let read =
        |path: PathBuf| MapHandle::from_pinned_path(path).ok()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?;
    let (bytes, settings) = (read(pin(index).ok()?)?, read(part_pin(index, SETTINGS).ok()?)?);
    let limit = settings.get(LIMIT_BITS..LIMIT_BITS + 8)?.try_into().map(u64::from_ne_bytes).ok()?;
    let word = |from_end: usize| {
        let at = bytes.len().checked_sub(8 * from_end)?;
        Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let waiting = bytes.get(WAITING..WAITING + 4).and_then(|word| word.try_into().ok()).map(u32::from_ne_bytes);
    Some(Counted {
        device: index,
        name: device::name_of(index).map(|name| printable(&name)),
        limit: (limit > 0).then_some(limit),
        waiting: waiting?,
        lowered: word(11)?,
        woken: word(10)?,
        failed: word(9)?,
        ignored: word(8)?,
        connections: word(7)?,
        full: word(6)?,
        longest_wait_ns: word(5)?,
        longest_idle_wait_ns: word(4)?,
        stalls: word(3)?,
        probes: word(2)?,
        idle_turns: word(1)?,
    })
}

/// Takes it back everywhere in this network namespace; returns the number of devices.
pub fn unload() -> Result<usize, Trouble> {
    let mut indexes = loaded();
    indexes.extend(device::names().iter().filter_map(|name| index_of(name).ok()));
    indexes.sort_unstable();
    indexes.dedup();
    let mut count = 0;
    for index in indexes {
        let was_attached = detach(index);
        let was_pinned = remove_pins(index)?;
        count += usize::from(was_attached || was_pinned);
    }
    pins::remove_folder();
    Ok(count)
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

/// Tries it on a share of a cgroup's new connections, and takes it back. If this process is killed, the kernel removes the programs; one
/// without links leaves filters that do nothing after three seconds, until `unload` removes them.
///
/// # Errors
/// It is loaded already, or the kernel refuses it.
pub fn try_out(options: &Options, cgroup: &Cgroup, trial: &canary::Options) -> Result<Report, Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let constants = constants(options, Some(cgroup), Some(trial))?;
    // They act from the begin of the trial: the kernel takes its time to verify them.
    let attached = attach_new(options, &constants, 1)?;
    let began = monotonic()?;
    set_variables(&attached.object, ".data.until", &nanos(began + LASTS).to_ne_bytes())?;
    let ended = watch(&attached.object, trial, began, &stop)?;
    let [untouched, treated] = parts(&attached.object)?;
    let seconds = monotonic()?.saturating_sub(began).as_secs_f64();
    drop(attached);
    Ok(Report {
        control: list::GRANTS.scheme,
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
