//! Time of the sensor's programs a packet: `watch_cost`. Needs root.
//!
//! Prints a row for each packet of a connection (BPF_PROG_TEST_RUN): data of TCP, and an acknowledgement; with and without headers that are
//! kept. Then prints the share of a core that arrivals at the loopback device of a new network namespace need, without the sensor and with
//! it. No device joins these packets before.

use std::error::Error;
use std::io::{Write, stdout};
use std::process::Command;
use std::thread;
use std::time::Duration;

use fanin_kernel::watch::sensor::{Sensor, Settings, load};
use libbpf_rs::{Object, ObjectBuilder, ProgramInput};
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};

/// Runs of a program.
const REPEAT: u32 = 1_000_000;
/// Seconds for each rate, and batches of packets in a second: each batch takes the kernel some 30 ms to prepare.
const SECONDS: u32 = 3;
const STEPS: u32 = 5;
/// Connections whose packets take turns.
const CONNECTIONS: u16 = 64;
/// Allows frames to arrive (BPF_F_TEST_XDP_LIVE_FRAMES).
const LIVE: u32 = 2;

const ARRIVALS: &[u8] = include_bytes!("../objects/arrivals.bpf.o");

/// Bins of a millisecond, of a link of 10 Gbit/s.
fn settings(keeps_heads: bool) -> Settings {
    Settings { bin_ns: 1_000_000, limit: 625_000, longest_pause: 10, keeps_heads, seed: 7 }
}

/// An Ethernet frame with IPv4 and TCP, and this many bytes of data.
fn frame(port: u16, data: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let length = u16::try_from(52 + data).unwrap_or(0).to_be_bytes();
    frame.extend([0x45, 2, length[0], length[1], 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
    frame.extend(port.to_be_bytes());
    frame.extend([0xc0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 16, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    frame.resize(frame.len() + data, 0);
    frame
}

/// Prints the time of a packet.
fn run(keeps_heads: bool) -> Result<(), Box<dyn Error>> {
    let object = load(settings(keeps_heads)).map_err(|trouble| trouble.to_string())?;
    let name = |program: &libbpf_rs::ProgramMut<'_>| program.name() == "watch_arrives";
    let program = object.progs_mut().find(name).ok_or("no program")?;
    for (what, data) in [("data", 1_448), ("acknowledgement", 0)] {
        let frame = frame(7_000, data);
        let input = ProgramInput { data_in: Some(&frame), repeat: REPEAT, ..ProgramInput::default() };
        let nanos = program.test_run(input)?.duration.as_nanos();
        let kept = if keeps_heads { "headers kept" } else { "bins alone" };
        writeln!(stdout(), "{kept}, {what}: {nanos} ns")?;
    }
    Ok(())
}

/// Share of a core at a rate; packets a second, and the share.
fn arrive(object: &Object, rate: u32) -> Result<[f64; 2], Box<dyn Error>> {
    let program = object.progs_mut().next().ok_or("no program")?;
    let clock = |id| clock_gettime(id).map(Duration::from);
    let (began, used) = (clock(ClockId::CLOCK_MONOTONIC)?, clock(ClockId::CLOCK_THREAD_CPUTIME_ID)?);
    let count = rate / STEPS;
    let frames: Vec<Vec<u8>> = (0..CONNECTIONS).map(|port| frame(7_000 + port, 1_448)).collect();
    for (step, frame) in (1..=SECONDS * STEPS).zip(frames.iter().cycle()) {
        let input = ProgramInput { data_in: Some(frame), repeat: count, flags: LIVE, ..ProgramInput::default() };
        program.test_run(input)?;
        let end = began + Duration::from_secs(1) * step / STEPS;
        thread::sleep(end.saturating_sub(clock(ClockId::CLOCK_MONOTONIC)?));
    }
    let [took, used] = [clock(ClockId::CLOCK_MONOTONIC)? - began, clock(ClockId::CLOCK_THREAD_CPUTIME_ID)? - used];
    let seconds = took.as_secs_f64();
    Ok([f64::from(count * SECONDS * STEPS) / seconds, used.as_secs_f64() / seconds])
}

fn main() -> Result<(), Box<dyn Error>> {
    run(false)?;
    run(true)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    if !up.success() {
        return Err("`ip link set lo up` failed".into());
    }
    let arrivals = ObjectBuilder::default().open_memory(ARRIVALS)?.load()?;
    for (name, sensor) in [("no sensor", None), ("bins alone", Some(false)), ("headers kept", Some(true))] {
        let attached = sensor.map(|keeps_heads| Sensor::attach("lo", settings(keeps_heads))).transpose();
        let _sensor = attached.map_err(|trouble| trouble.to_string())?;
        for rate in [100_000, 1_000_000, 3_000_000] {
            let [reached, share] = arrive(&arrivals, rate)?;
            let each = share / reached * 1e9;
            writeln!(
                stdout(),
                "{name}: {:.2} Mpps, {:.1} % of a core, {each:.0} ns a packet",
                reached / 1e6,
                share * 1e2
            )?;
        }
    }
    Ok(())
}
