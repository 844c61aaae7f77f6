//! Time of the sensor's programs a packet, by BPF_PROG_TEST_RUN: `watch_cost`. Needs root.
//!
//! Prints a row for each packet: data of TCP, and an acknowledgement; with and without headers that are kept.

use std::error::Error;
use std::io::{Write, stdout};

use fanin_kernel::control::WATCH;
use libbpf_rs::{Object, ObjectBuilder, ProgramAttachType, ProgramInput};

/// Runs of a program.
const REPEAT: u32 = 1_000_000;
/// Packets whose headers are kept.
const HEADS: u64 = 1 << 17;

fn load(heads: u64) -> Result<Object, Box<dyn Error>> {
    let mut object = ObjectBuilder::default().open_memory(WATCH)?;
    // Bins of a millisecond, of a link of 10 Gbit/s.
    let constants: Vec<u8> = [1_000_000, 625_000, 10, heads].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata") {
            map.initial_value_mut().ok_or("no constants")?[..constants.len()].copy_from_slice(&constants);
        } else if name == "heads" {
            map.set_max_entries(u32::try_from(heads.max(1))?)?;
        }
    }
    object.progs_mut().for_each(|mut program| program.set_attach_type(ProgramAttachType::TcxIngress));
    Ok(object.load()?)
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

fn main() -> Result<(), Box<dyn Error>> {
    for heads in [0, HEADS] {
        let object = load(heads)?;
        let name = |program: &libbpf_rs::ProgramMut<'_>| program.name() == "watch_arrives";
        let program = object.progs_mut().find(name).ok_or("no program")?;
        for (what, data) in [("data", 1_448), ("acknowledgement", 0)] {
            let frame = frame(7_000, data);
            let input = ProgramInput { data_in: Some(&frame), repeat: REPEAT, ..ProgramInput::default() };
            let nanos = program.test_run(input)?.duration.as_nanos();
            let share = |rate: f64| nanos as f64 * rate / 1e9 * 100.0;
            let kept = if heads > 0 { "headers kept" } else { "bins alone" };
            writeln!(
                stdout(),
                "{kept}, {what}: {nanos} ns; of a core at 0.1, 1, 3 Mpps: {:.1} %, {:.1} %, {:.1} %",
                share(1e5),
                share(1e6),
                share(3e6)
            )?;
        }
    }
    Ok(())
}
