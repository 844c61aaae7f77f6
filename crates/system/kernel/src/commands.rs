//! Commands of `fanin-kernel`, which `fanin kernel` runs.

mod arguments;
mod loaded;
mod text;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use libbpf_rs::Object;
use serde::Serialize;
use serde_json::json;

use crate::canary;
use crate::cgroup::Cgroup;
use crate::control::{CONTROLS, Control, SELECT};
use crate::grants::{self, Loaded};
use crate::list;
use crate::load::{self, name_bytes, set_constants};
use crate::pins;
use crate::prediction::predict;
use crate::requirements::{Requirement, of_devices, requirements};
use crate::resident;
use crate::rig::{self, Role};
use crate::tools;
use crate::trouble::Trouble;
use crate::watch::command;
use crate::watch::save::SaveOptions;
use crate::watch::summary::{self, Summary};
use arguments::{
    Arguments, Command, Extension, HoldArguments, LoadArguments, OverArguments, Port, ShowArguments, UnloadArguments,
    WatchArguments,
};
use loaded::LoadedControl;

/// Duration of a trial unless set.
const TRIAL: Duration = Duration::from_secs(600);

/// Runs a command line and returns its exit code.
pub fn main() -> u8 {
    load::collect_warnings();
    match run(Arguments::parse().command) {
        Ok(()) => 0,
        Err(trouble) => {
            // There is nowhere to report a failure of this.
            let _ = writeln!(io::stderr(), "error: {trouble}");
            trouble.exit_code()
        }
    }
}

fn run(command: Command) -> Result<(), Trouble> {
    match command {
        Command::List(arguments) => list(&arguments),
        Command::Check(arguments) => check(&arguments),
        Command::Load(arguments) => load(&arguments),
        Command::Status(arguments) => status(&arguments),
        Command::Unload(arguments) => unload(&arguments),
        Command::Hold(arguments) => hold(&arguments),
        Command::Watch(arguments) => watch(&arguments),
    }
}

fn say(text: &str) -> Result<(), Trouble> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn say_json(value: &impl Serialize) -> Result<(), Trouble> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    say(&(text + "\n"))
}

fn watch(arguments: &WatchArguments) -> Result<(), Trouble> {
    let Some(device) = &arguments.interface else { return summarise(arguments) };
    let save = arguments.save.as_ref().map(|folder| SaveOptions {
        folder: folder.clone(),
        threshold: arguments.worse_than,
        keep: arguments.keep.into(),
    });
    command::watch(&command::Options {
        device: device.clone(),
        rate_mbit: arguments.rate_mbit,
        bin: Duration::from_micros(arguments.bin_us),
        lasts: arguments.duration,
        json: arguments.json,
        save,
        anonymous: arguments.anonymous,
        metrics: arguments.metrics,
        otlp: arguments.otlp.clone(),
        write: arguments.write.clone(),
        rack: arguments.rack.clone(),
    })
}

/// Summarises hourly figures of hosts.
fn summarise(arguments: &WatchArguments) -> Result<(), Trouble> {
    let mut rows = Vec::new();
    for file in &arguments.summary {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| Trouble::Input(format!("{name}: cannot read: {error}")))?;
        rows.extend(summary::read(&name, &text).map_err(Trouble::Input)?);
    }
    let summary = Summary::of(&rows);
    if arguments.json { say_json(&summary) } else { say(&summary.text()) }
}

fn list(arguments: &ShowArguments) -> Result<(), Trouble> {
    let pinned = pins::pinned();
    let rows = list::rows(|scheme| match Control::of_scheme(scheme) {
        Some(control) => Some(pinned.contains(&control)),
        None => Some(!grants::loaded().is_empty()),
    });
    if arguments.json {
        return say_json(&rows);
    }
    say(&rows.iter().map(list::Row::to_string).collect::<String>())
}

fn check(arguments: &OverArguments) -> Result<(), Trouble> {
    let control = arguments.over.control();
    let (name, says, found) = match arguments.what {
        Extension::Gss => (control.scheme, control.says, requirements(control)),
        Extension::Grants => (list::GRANTS.scheme, list::GRANTS.says, of_devices()),
    };
    match arguments.json {
        true => say_json(&json!({"control": name, "requirements": found}))?,
        false => say(&text::requirements(name, says, &found))?,
    }
    let lacking: Vec<&Requirement> = found.iter().filter(|one| !one.met).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Trouble::Environment(format!("{} of {} requirements are not met", lacking.len(), found.len()))),
    }
}

/// Grants at a device: a trial, or until they are taken back.
fn load_grants(arguments: &LoadArguments, device: &str) -> Result<(), Trouble> {
    load::check_devices("grants", true)?;
    let options = grants::Options {
        device: device.into(),
        rate_mbit: arguments.rate_mbit,
        queue: arguments.queue,
        turn: arguments.turn,
        limit: arguments.limit,
    };
    let Some(cgroup) = &arguments.canary else {
        if !arguments.resident {
            return say(&resident::start()?);
        }
        let cgroup = arguments.cgroup.as_deref().map(Cgroup::open).transpose()?;
        let loaded = Loaded::load(&options, cgroup.as_ref(), arguments.duration)?;
        return resident::stay(&loaded, &text::grants_loaded(&options, cgroup.as_ref(), arguments.duration));
    };
    let cgroup = Cgroup::open(cgroup)?;
    let trial = options_of(arguments);
    if !arguments.json {
        say(&text::begins(list::GRANTS.scheme, &cgroup, &trial))?;
    }
    finish(arguments, &grants::try_out(&options, &cgroup, &trial)?)
}

/// Options of a trial.
fn options_of(arguments: &LoadArguments) -> canary::Options {
    let duration = arguments.duration.unwrap_or(TRIAL);
    canary::Options { duration, share: arguments.share, keep: arguments.keep_when_worse }
}

fn load(arguments: &LoadArguments) -> Result<(), Trouble> {
    if arguments.what == Extension::Grants {
        let device = arguments.device.as_deref();
        let device = device.ok_or_else(|| Trouble::Input("grants need a network device: --device eth0".into()))?;
        return load_grants(arguments, device);
    }
    if arguments.device.is_some() {
        return Err(Trouble::Input(
            "--device is for grants: gentle slow start belongs to senders, not to devices".into(),
        ));
    }
    if arguments.duration.is_some() && arguments.canary.is_none() {
        return Err(Trouble::Input("--for is for a trial (--canary cgroup=PATH), or for grants".into()));
    }
    let control = arguments.over.control();
    if let Some(cgroup) = &arguments.canary {
        return trial(control, cgroup, arguments);
    }
    let cgroup = arguments.cgroup.as_deref().map(Cgroup::open).transpose()?;
    load::check(control, true)?;
    pins::create_folder()?;
    let pin = pins::registration(control);
    match (pin.exists(), &cgroup) {
        (true, None) => {
            return Err(Trouble::Input(format!("{control} is loaded already: `fanin kernel status` shows it")));
        }
        (true, Some(_)) => {}
        (false, _) => {
            is_free(control)?;
            let mut registered = load::register(control)?;
            registered.link.pin(&pin).map_err(|error| load::refused(&format!("pin {}", pin.display()), &error))?;
        }
    }
    if let Some(cgroup) = &cgroup {
        select(control, cgroup)?;
    }
    say(&text::loaded(control, cgroup.as_ref()))
}

/// Refuses a name that a program holds without a pin.
fn is_free(control: &Control) -> Result<(), Trouble> {
    match pins::is_registered(control) {
        true => Err(Trouble::Input(format!(
            "{control} is held by a running program, such as a trial or a testbed: wait until it ends"
        ))),
        false => Ok(()),
    }
}

/// Selects a congestion control for a cgroup's new connections, until its pin is removed.
fn select(control: &Control, cgroup: &Cgroup) -> Result<(), Trouble> {
    let pin = pins::selection(control, cgroup.id);
    if pin.exists() {
        return Err(Trouble::Input(format!("{control} is selected for {} already", cgroup.path.display())));
    }
    let mut object = load::open("select", SELECT)?;
    set_constants(&mut object, &name_bytes(control))?;
    let object = object.load().map_err(|error| load::refused("load the selection", &error))?;
    let mut link = load::attach(&object, cgroup)?;
    link.pin(&pin).map_err(|error| load::refused(&format!("pin {}", pin.display()), &error))
}

fn trial(control: &'static Control, cgroup: &Path, arguments: &LoadArguments) -> Result<(), Trouble> {
    let cgroup = Cgroup::open(cgroup)?;
    load::check(control, false)?;
    if pins::registration(control).exists() {
        let why = "a trial loads it for itself: `fanin kernel unload` first";
        return Err(Trouble::Input(format!("{control} is loaded already; {why}")));
    }
    is_free(control)?;
    let prediction = arguments.scenario.as_deref().map(|file| predict(control, file)).transpose()?;
    let options = options_of(arguments);
    if !arguments.json {
        say(&text::begins(control.scheme, &cgroup, &options))?;
    }
    finish(arguments, &canary::Report { prediction, ..canary::run(control, &cgroup, &options)? })
}

/// Reports a trial.
fn finish(arguments: &LoadArguments, report: &canary::Report) -> Result<(), Trouble> {
    if let Some(path) = &arguments.report {
        let json = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
        write_report(path, &(json + "\n"))
            .map_err(|error| Trouble::kernel(&format!("write {}", path.display()), error))?;
    }
    match arguments.json {
        true => say_json(report)?,
        false => say(&text::report(report))?,
    }
    match report.verdict {
        crate::trial::Verdict::Worse { .. } => Err(Trouble::Worse(format!("{} is worse than before", report.control))),
        _ => Ok(()),
    }
}

/// Writes a report. Root does, maybe in a folder of others, so no link is followed.
fn write_report(path: &Path, json: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).custom_flags(nix::libc::O_NOFOLLOW).open(path);
    file?.write_all(json.as_bytes())
}

fn status(arguments: &ShowArguments) -> Result<(), Trouble> {
    if !nix::unistd::Uid::effective().is_root() {
        return Err(Trouble::Environment("only root can see pins in /sys/fs/bpf: use sudo".into()));
    }
    // Connections of this network namespace with their congestion control.
    let sockets = tools::output("ss", &["-tinH"]);
    let connections = |name: &str| {
        let lines = sockets.as_ref().map(|text| text.split_whitespace().filter(|word| *word == name));
        lines.map(Iterator::count)
    };
    let loaded: Vec<LoadedControl> = CONTROLS
        .iter()
        .map(|control| (control, pins::of(control)))
        .filter(|(control, pins)| !pins.is_empty() || pins::is_registered(control))
        .map(|(control, pins)| LoadedControl {
            control,
            pins: pins.iter().map(|pin| pin.display().to_string()).collect(),
            connections: connections(control.kernel_name),
        })
        .collect();
    match arguments.json {
        true => {
            let rows =
                loaded.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>().map_err(io::Error::from)?;
            let granting =
                grants::counted().into_iter().map(|counted| json!({"control": list::GRANTS, "counted": counted}));
            say_json(&rows.into_iter().chain(granting).collect::<Vec<_>>())
        }
        false => {
            let devices = text::grants_status(&grants::counted()) + &text::unloaded_by_watchdog(&resident::reasons());
            let controls = if loaded.is_empty() && !devices.is_empty() { String::new() } else { text::status(&loaded) };
            say(&(controls + &devices))
        }
    }
}

fn unload(arguments: &UnloadArguments) -> Result<(), Trouble> {
    if arguments.what == Some(Extension::Grants) {
        return say(&text::grants_unloaded(grants::unload()?));
    }
    let devices = if arguments.what.is_none() && arguments.over.is_none() { grants::unload()? } else { 0 };
    let wanted = |control: &&Control| arguments.over.is_none_or(|over| over.control() == *control);
    let mut removed = Vec::new();
    for control in CONTROLS.iter().filter(wanted) {
        let pins = pins::remove(control).map_err(|error| Trouble::kernel(&format!("unload {control}"), error))?;
        if !pins.is_empty() {
            pins::wait_until_gone(control);
            removed.push(control);
        }
    }
    match devices {
        0 => say(&text::unloaded(&removed)),
        _ if removed.is_empty() => say(&text::grants_unloaded(devices)),
        _ => say(&(text::unloaded(&removed) + &text::grants_unloaded(devices))),
    }
}

/// Registers congestion controls, and attaches programs to a testbed's network, until standard input ends. Each line that it reads is
/// answered by a line of counters.
fn hold(arguments: &HoldArguments) -> Result<(), Trouble> {
    let mut held = Vec::new();
    for name in &arguments.controls {
        let control = Control::of_scheme(name).or_else(|| Control::of_kernel_name(name));
        let known = || CONTROLS.map(|control| control.scheme).join(", ");
        let control =
            control.ok_or_else(|| Trouble::Input(format!("no congestion control `{name}`: use {}", known())))?;
        load::check(control, false)?;
        if !pins::is_registered(control) {
            held.push(load::register(control)?);
        }
    }
    let attach = |ports: &[Port], role: fn(u32) -> Role| {
        let one = |port: &Port| rig::attach(&port.namespace, &port.device, role(port.bytes));
        ports.iter().map(one).collect::<Result<Vec<_>, Trouble>>()
    };
    let (marking, allotting) = (attach(&arguments.mark, Role::Marks)?, attach(&arguments.m21_port, Role::Allots)?);
    let granting = arguments.grants.iter().map(|one| rig::grant(&one.namespace, &one.device, &one.constants));
    let granting = granting.collect::<Result<Vec<_>, Trouble>>()?;
    let hosts = match arguments.m21_host.as_slice() {
        [] => None,
        namespaces => Some(rig::attach_hosts(namespaces)?),
    };
    say("ready\n")?;
    for line in io::stdin().lines() {
        line?;
        let all = |objects: &[Object]| objects.iter().map(rig::counters).collect::<Vec<_>>();
        let hosts = hosts.as_ref().map(|(object, _)| rig::counters(object));
        say(&format!("{}\n", json!({"mark": all(&marking), "m21_port": all(&allotting), "m21_host": hosts})))?;
    }
    drop((held, granting));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let [report, target] = ["report.json", "target"].map(|name| folder.path().join(name));
        write_report(&report, "{\"first\": 1}\n").unwrap();
        write_report(&report, "{}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&report).unwrap(), "{}\n");
        std::fs::write(&target, "precious").unwrap();
        std::fs::remove_file(&report).unwrap();
        std::os::unix::fs::symlink(&target, &report).unwrap();
        assert!(write_report(&report, "{}\n").is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    }
}
