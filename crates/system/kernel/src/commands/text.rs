//! Texts of the commands for people.

use std::fmt::Write;
use std::time::Duration;

use super::loaded::LoadedControl;
use crate::canary::{Ended, Options, Report};
use crate::cgroup::Cgroup;
use crate::control::Control;
use crate::grants::{self, CONNECTIONS, Counted};
use crate::list;
use crate::prediction::{Predicted, Prediction};
use crate::requirements::Requirement;
use crate::resident::MOST_TROUBLES;
use crate::trial::{Difference, Figures, Verdict};

/// Loaded grants, and how to verify and undo them.
pub fn grants_loaded(options: &grants::Options, cgroup: Option<&Cgroup>, acts: Option<Duration>) -> String {
    let device = &options.device;
    let limit = options.limit.map(|bits| format!(" They receive {} at most.", rate(bits))).unwrap_or_default();
    let whose = cgroup.map_or("every program".into(), |cgroup| cgroup.path.display().to_string());
    let until = acts.map(|acts| format!(" It grants nothing after {} s.", acts.as_secs())).unwrap_or_default();
    format!(
        "grants is loaded at {device} for new connections of {whose}, until `fanin kernel unload` or the next boot.{limit}{until}\n\
         A process stays, without which nothing is granted. It unloads grants after more than {MOST_TROUBLES} window probes, or waits of \
         20 ms on an idle link, in 10 s.\n\
         Verify: fanin kernel status\nUndo:   fanin kernel unload grants\n"
    )
}

/// A rate in bit/s.
fn rate(bits: u64) -> String {
    format!("{} Mbit/s", bits as f64 / 1e6)
}

pub fn grants_status(devices: &[Counted]) -> String {
    let mut text = String::new();
    for one in devices {
        let name = one.name.as_deref().unwrap_or("of another network namespace");
        let limit = one.limit.map(|bits| format!(", limited to {}", rate(bits))).unwrap_or_default();
        let _ = writeln!(text, "grants: network device {} ({name}){limit}", one.device);
        let _ = writeln!(
            text,
            "  windows lowered: {}, ACKs made: {}, refused: {}; connections that wait: {}",
            one.lowered, one.woken, one.failed, one.waiting
        );
        let ms = |ns: u64| ns as f64 / 1e6;
        let _ = writeln!(
            text,
            "  window probes: {}; longest wait {:.1} ms, while nothing arrived {:.1} ms, of 20 ms or more {} times",
            one.probes,
            ms(one.longest_wait_ns),
            ms(one.longest_idle_wait_ns),
            one.stalls
        );
        let _ = writeln!(
            text,
            "  connections: {} of {CONNECTIONS}; left alone because the table was full: {}; segments that TCP does not accept: {}",
            one.connections, one.full, one.ignored
        );
    }
    text
}

/// Devices from which the watchdog has unloaded grants.
pub fn unloaded_by_watchdog(reasons: &[(i32, String)]) -> String {
    let line = |(device, reason): &(i32, String)| format!("grants: unloaded from network device {device}: {reason}\n");
    reasons.iter().map(line).collect()
}

pub fn grants_unloaded(devices: usize) -> String {
    match devices {
        0 => "nothing was loaded\n".into(),
        _ => format!("unloaded grants from {devices} network device(s); closed windows open within a timeout\n"),
    }
}

pub fn requirements(name: &str, says: &str, found: &[Requirement]) -> String {
    let mut text = format!("{name}: {says}\n");
    for one in found {
        let state = if one.met { "ok" } else { "lacking" };
        let _ = writeln!(text, "  {:<18} {state:<8} {}", one.what, one.note);
    }
    text
}

/// A loaded congestion control, and how to select, verify and undo it.
pub fn loaded(control: &Control, cgroup: Option<&Cgroup>) -> String {
    let name = control.kernel_name;
    let selected = match cgroup {
        Some(cgroup) => format!("New connections of {} use it.\n", cgroup.path.display()),
        None => format!(
            "No connection uses it yet. Select it\n  \
             by route:   ip route change PREFIX via GATEWAY congctl {name}\n  \
             by socket:  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{name}\", {})\n  \
             by cgroup:  fanin kernel load gss --over {} --cgroup PATH\n",
            name.len(),
            name.trim_start_matches("fanin_gss_"),
        ),
    };
    format!(
        "{control} is loaded as {name}, until `fanin kernel unload` or the next boot.\n{selected}\
         Verify: ss -tin | grep -c {name}\nUndo:   fanin kernel unload\n"
    )
}

pub fn status(loaded: &[LoadedControl]) -> String {
    if loaded.is_empty() {
        return "nothing is loaded\n".into();
    }
    let mut text = String::new();
    for one in loaded {
        let connections = one.connections.map_or("unknown (no `ss`)".into(), |count| count.to_string());
        let _ = writeln!(
            text,
            "{} ({}): connections in this namespace: {connections}",
            one.control, one.control.kernel_name
        );
        if one.pins.is_empty() {
            text += "  held by a running program, such as a trial\n";
        }
        one.pins.iter().for_each(|pin| {
            let _ = writeln!(text, "  {pin}");
        });
    }
    text
}

pub fn unloaded(removed: &[&Control]) -> String {
    match removed.is_empty() {
        true => "nothing was loaded\n".into(),
        false => {
            let names: Vec<&str> = removed.iter().map(|control| control.scheme).collect();
            format!("unloaded {}; connections that use it keep it until they close\n", names.join(", "))
        }
    }
}

pub fn begins(control: &str, cgroup: &Cgroup, options: &Options) -> String {
    format!(
        "trying {control} on {:.0} % of the new connections of {} for {} s; Ctrl-C ends it\n",
        options.share * 100.0,
        cgroup.path.display(),
        options.duration.as_secs()
    )
}

/// Report of a trial.
pub fn report(report: &Report) -> String {
    let why = match report.ended {
        Ended::Deadline => "its time was over",
        Ended::Worse => "it was worse, so it was taken back",
        Ended::Stopped => "a signal stopped it",
    };
    let mut text = format!("The trial of {} ended after {:.0} s: {why}.\n\n", report.control, report.seconds);
    let (treated, untouched) = (cells(&report.treated), cells(&report.untouched));
    let _ = writeln!(text, "{:<28} {:>14} {:>14}", "", report.control, "untouched");
    for ((name, treated), (_, untouched)) in treated.iter().zip(&untouched) {
        let _ = writeln!(text, "{name:<28} {treated:>14} {untouched:>14}");
    }
    if let Some(prediction) = &report.prediction {
        text += &predicted(prediction);
    }
    let _ = writeln!(text, "\n{}", verdict(&report.verdict));
    if report.control == list::GRANTS.scheme {
        let _ = writeln!(text, "Timeouts are pauses of more than 150 ms in a response. The programs were removed.");
    } else {
        let _ = writeln!(text, "{} open connections returned to their own congestion control.", report.returned);
    }
    if report.refused > 0 {
        let _ = writeln!(text, "{} connections could not get it.", report.refused);
    }
    text
}

fn predicted(prediction: &Prediction) -> String {
    let mut text = format!("predicted for {}, {} servers\n", prediction.scenario, prediction.fan_in);
    let both = |pick: fn(&Predicted) -> Option<f64>| [&prediction.treated, &prediction.untouched].map(pick);
    for (name, values) in [
        ("  p50, ms", both(|part| part.transfer_p50_ms)),
        ("  p99, ms", both(|part| part.transfer_p99_ms)),
        ("  timeouts for each transfer", both(|part| part.timeouts_per_transfer)),
    ] {
        let [treated, untouched] = values.map(|value| value.map_or("-".into(), |value| format!("{value:.3}")));
        let _ = writeln!(text, "{name:<28} {treated:>14} {untouched:>14}");
    }
    text
}

fn cells(figures: &Figures) -> [(&'static str, String); 11] {
    let share = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.3} %", share * 100.0));
    let ms = |us: Option<f64>| us.map_or("-".into(), |us| format!("{:.3}", us / 1_000.0));
    [
        ("connections", figures.connections.to_string()),
        ("segments", figures.segments.to_string()),
        ("segments sent again", share(figures.retransmit_share)),
        ("timeouts", figures.timeouts.to_string()),
        ("transfers", figures.transfers.to_string()),
        ("  with retransmits", share(figures.transfers_repeated)),
        ("  with timeouts", share(figures.transfers_timed_out)),
        ("  p50, ms", ms(figures.transfer_p50_us)),
        ("  p99, ms", ms(figures.transfer_p99_us)),
        ("round-trip time p50, ms", ms(figures.rtt_p50_us)),
        ("round-trip time p99, ms", ms(figures.rtt_p99_us)),
    ]
}

fn verdict(verdict: &Verdict) -> String {
    let named = |figures: &[Difference]| {
        let one = |one: &Difference| match one.ratio {
            Some(ratio) => format!("{} ({ratio:.2}×)", one.figure),
            None => format!("{} (none before)", one.figure),
        };
        figures.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    match verdict {
        Verdict::TooFew => "Too few transfers to judge: try it for longer, or on a larger share.".into(),
        Verdict::NoDifference => "No difference that matters.".into(),
        Verdict::Better { figures } => format!("Better: {}.", named(figures)),
        Verdict::Worse { figures } => format!("Worse: {}.", named(figures)),
    }
}
