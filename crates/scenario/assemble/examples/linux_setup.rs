//! Prints one point of a scenario as commands for Linux, in a JSON object; `bench/linux` and `bench/windows.py` use it.
//!
//! ```text
//! linux_setup SCENARIO SCHEME FAN_IN (own | shared | port DEVICE) [KEY=VALUE]...
//! ```
//!
//! `own` and `shared` give each server a network namespace or all of them one, and print `files` (`NAMESPACE.ip` and `NAMESPACE.tc` for `ip -batch`
//! and `tc -batch`, `NAMESPACE.sysctl` for `sysctl -w`; `machine.sysctl` is for the first namespace), the client's `receive_buffer` (SO_RCVBUF) and
//! the `round_trip_us` of the delays. `port` prints the lines of `tc -batch`
//! for the port to the client on a device. KEY=VALUE sets a key of the
//! scenario.

use std::error::Error;
use std::process::ExitCode;

use fanin_assemble::{LinuxSetup, Namespaces, Sysctl, linux};
use fanin_spec::Scenario;
use fanin_units::Time;
use serde_json::{Map, Value, json};

const USAGE: &str = "usage: linux_setup SCENARIO SCHEME FAN_IN (own | shared | port DEVICE) [KEY=VALUE]...";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match print(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("linux_setup: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(words: &[String]) -> Result<(), Box<dyn Error>> {
    let [file, scheme, fan_in, form, more @ ..] = words else { return Err(USAGE.into()) };
    let (device, sets) = match (form.as_str(), more) {
        ("port", [device, sets @ ..]) => (Some(device), sets),
        ("own" | "shared", sets) => (None, sets),
        _ => return Err(USAGE.into()),
    };
    let mut scenario = Scenario::parse(file, &std::fs::read_to_string(file)?)?;
    scenario.select(scheme, &[scheme])?;
    scenario.assign(fan_in, &format!("sweep.fan_in=[{fan_in}]"))?;
    for set in sets {
        scenario.assign(set, set)?;
    }
    let spec = scenario.variants()?[0].at(0, 1).ok_or("a variant has a point")?;
    let setup = linux(&spec)?;
    let printed = match (device, form.as_str()) {
        (Some(device), _) => json!({"tc": setup.client_port.tc(device)}),
        (None, "own") => files(&setup, Namespaces::Own),
        (None, _) => files(&setup, Namespaces::Shared),
    };
    println!("{printed}");
    Ok(())
}

/// Contents of the files for each namespace.
fn files(setup: &LinuxSetup, namespaces: Namespaces) -> Value {
    let lines = |lines: &[String]| Value::from(lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    let mut files = Map::new();
    files.insert("machine.sysctl".into(), format!("{}\n", Sysctl::backlog()).into());
    for batch in setup.batches(namespaces) {
        for (ending, of_it) in [("ip", &batch.ip), ("tc", &batch.tc), ("sysctl", &batch.sysctls)] {
            files.insert(format!("{}.{ending}", batch.namespace), lines(of_it));
        }
    }
    let round_trip = setup.round_trip.0 / Time::from_micros(1).0;
    json!({"files": files, "receive_buffer": setup.client.receive_buffer, "round_trip_us": round_trip})
}
