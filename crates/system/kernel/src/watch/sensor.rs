//! The sensor at a network device, and the command `watch`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramAttachType, RingBufferBuilder};
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::control::WATCH;
use crate::load;
use crate::tcx;
use crate::trouble::Trouble;
use crate::watch::burst::{Bin, Burst, Finder};

/// Rate of a device that has none, such as a veth, Mbit/s.
const ASSUMED_MBIT: u64 = 1_000;
/// Longest pause within a burst.
const PAUSE: Duration = Duration::from_millis(10);
/// Places of the number of lost bins and of the open bin in the map of the state (bpf/watch.bpf.c).
const LOST_BINS: usize = 40;
const OPEN_BIN: usize = 48;
/// Longest wait for bins.
const POLL: Duration = Duration::from_millis(100);

/// What is watched, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The network device.
    pub device: String,
    /// Rate of its link in Mbit/s; read from the device if absent.
    pub rate_mbit: Option<u64>,
    /// Time of a bin.
    pub bin: Duration,
    /// End; never if absent.
    pub lasts: Option<Duration>,
    /// One JSON object a line.
    pub json: bool,
}

/// A burst as JSON.
#[derive(Serialize)]
struct Row {
    r#type: &'static str,
    /// Unix time.
    start_s: f64,
    duration_ms: f64,
    peak_mbit: f64,
    link_mbit: u64,
    rate_is_assumed: bool,
    #[serde(flatten)]
    burst: Burst,
}

/// Clocks and the link's rate, by which bins are times and bytes are rates.
struct Scale {
    bin: Duration,
    /// Unix time at zero of CLOCK_MONOTONIC, s.
    zero_s: f64,
    link_mbit: u64,
    is_assumed: bool,
}

impl Scale {
    fn row(&self, burst: Burst) -> Row {
        let bin_s = self.bin.as_secs_f64();
        Row {
            r#type: "burst",
            start_s: self.zero_s + burst.first as f64 * bin_s,
            duration_ms: (burst.last + 1 - burst.first) as f64 * bin_s * 1e3,
            peak_mbit: burst.peak as f64 * 8e-6 / bin_s,
            link_mbit: self.link_mbit,
            rate_is_assumed: self.is_assumed,
            burst,
        }
    }
}

fn line(row: &Row, json: bool) -> Result<String, Trouble> {
    if json {
        return Ok(serde_json::to_string(row).map_err(io::Error::from)? + "\n");
    }
    let Burst { fan_in, bytes, marks, resent, .. } = row.burst;
    Ok(format!(
        "{:.3} burst: fan-in {fan_in}, {:.1} ms, {:.1} KiB, peak {:.0} Mbit/s, {marks} marks, {resent} resent\n",
        row.start_s,
        row.duration_ms,
        bytes as f64 / 1024.0,
        row.peak_mbit
    ))
}

/// Rate of a device's link, and whether it is assumed. A virtual device reports a rate that nothing enforces.
fn link_rate(options: &Options) -> (u64, bool) {
    let folder = Path::new("/sys/class/net").join(&options.device);
    let reported = || fs::read_to_string(folder.join("speed")).ok()?.trim().parse().ok().filter(|mbit| *mbit > 0);
    let own = if folder.join("device").exists() { reported() } else { None };
    match options.rate_mbit.or(own) {
        Some(mbit) => (mbit, false),
        None => (ASSUMED_MBIT, true),
    }
}

/// Attaches the sensor. The kernel takes it back when this process ends in any way.
fn attach(device: &str, constants: &[u64; 3]) -> Result<(Object, Link), Trouble> {
    let index = if_nametoindex(device).map_err(|error| {
        Trouble::Input(format!("--interface {device}: {error}; `ip link` lists this machine's network devices"))
    })?;
    let mut object = load::open("watch", WATCH)?;
    let bytes: Vec<u8> = constants.iter().flat_map(|word| word.to_ne_bytes()).collect();
    load::set_constants(&mut object, &bytes)?;
    object.progs_mut().for_each(|mut program| program.set_attach_type(ProgramAttachType::TcxIngress));
    let object = object.load().map_err(|error| load::refused("load the sensor", &error))?;
    let program = object.progs_mut().next();
    let program = program.ok_or_else(|| Trouble::Environment("the object has no program".into()))?;
    let index = i32::try_from(index).map_err(io::Error::other)?;
    let link = tcx::attach(&program, index)
        .map_err(|error| Trouble::kernel(&format!("attach to {device} (links at devices need Linux 6.6)"), error))?;
    Ok((object, link))
}

fn clock(id: ClockId) -> Result<Duration, Trouble> {
    clock_gettime(id).map(Duration::from).map_err(|error| Trouble::kernel("read the clock", error))
}

fn map<'a>(object: &'a Object, name: &'a str) -> Result<libbpf_rs::Map<'a>, Trouble> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| Trouble::Environment(format!("the object has no map {name}")))
}

/// The bin that no later packet has closed, and the number of bins for which the ring buffer had no space.
fn open_bin(object: &Object) -> Result<(Option<Bin>, u64), Trouble> {
    let state = map(object, "states")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    let state = state.map_err(|error| load::refused("read the sensor", &error))?.unwrap_or_default();
    let lost = state.get(LOST_BINS..).and_then(|state| state.first_chunk()).map_or(0, |word| u64::from_ne_bytes(*word));
    Ok((state.get(OPEN_BIN..).and_then(Bin::read), lost))
}

/// Watches a device, and prints each burst once the next packet has come.
///
/// # Errors
/// There is no such device, or the kernel refuses the sensor.
pub fn watch(options: &Options) -> Result<(), Trouble> {
    load::check_devices("the sensor", false)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let (link_mbit, is_assumed) = link_rate(options);
    let bin_ns = u64::try_from(options.bin.as_nanos()).map_err(io::Error::other)?;
    // Half of the bytes that the link carries in a bin: 125 B/ms for each Mbit/s.
    let limit = link_mbit * bin_ns / 16_000;
    let longest_pause = (PAUSE.as_nanos() / options.bin.as_nanos()) as u64;
    let (object, link) = attach(&options.device, &[bin_ns, limit, longest_pause])?;
    let began = clock(ClockId::CLOCK_MONOTONIC)?;
    let zero_s = clock(ClockId::CLOCK_REALTIME)?.as_secs_f64() - began.as_secs_f64();
    let scale = Scale { bin: options.bin, zero_s, link_mbit, is_assumed };
    if is_assumed {
        let device = &options.device;
        let note =
            format!("note: {device} has no link of its own: assuming {ASSUMED_MBIT} Mbit/s; --rate-mbit sets it");
        writeln!(io::stderr(), "{note}")?;
    }
    let print = |bursts: Vec<Burst>| {
        bursts.into_iter().try_for_each(|burst| {
            io::stdout().write_all(line(&scale.row(burst), options.json)?.as_bytes())?;
            io::stdout().flush().map_err(Trouble::from)
        })
    };
    let (sender, bins) = mpsc::channel();
    let closed = map(&object, "closed")?;
    let mut builder = RingBufferBuilder::new();
    let take = move |bytes: &[u8]| i32::from(Bin::read(bytes).is_none_or(|bin| sender.send(bin).is_err()));
    builder.add(&closed, take).map_err(|error| load::refused("read the sensor", &error))?;
    let ring = builder.build().map_err(|error| load::refused("read the sensor", &error))?;
    let mut finder = Finder::new(limit, longest_pause);
    loop {
        let ended =
            options.lasts.is_some_and(|lasts| clock(ClockId::CLOCK_MONOTONIC).is_ok_and(|now| now >= began + lasts));
        if ended || stop.load(Ordering::Relaxed) {
            break;
        }
        // A signal interrupts the wait.
        let polled = ring.poll(POLL);
        if polled.as_ref().is_err_and(|error| error.kind() != libbpf_rs::ErrorKind::Interrupted) {
            return polled.map_err(|error| load::refused("read the sensor", &error));
        }
        bins.try_iter().try_for_each(|bin| print(finder.push(&bin)))?;
    }
    drop(link);
    ring.consume().map_err(|error| load::refused("read the sensor", &error))?;
    let (last, lost) = open_bin(&object)?;
    bins.try_iter().chain(last.filter(|bin| bin.packets > 0)).try_for_each(|bin| print(finder.push(&bin)))?;
    print(finder.finish())?;
    if lost > 0 {
        writeln!(io::stderr(), "note: {lost} bins were lost, since this program did not read them in time")?;
    }
    Ok(())
}
