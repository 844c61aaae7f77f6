//! `fanin diagnose`: diagnosis of captures and counters.

use std::fmt::Write as _;

use fanin::diagnosis::{Diagnosis, EpisodeFound, HostFound};
use fanin::{AdvisedOn, Out};

use crate::advice::{self, Shown};
use crate::arguments::DiagnoseArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREEN, GREY, RED, clean, columns, large, three};
use crate::stop::listen;
use crate::terminal::{Text, say, width};
use crate::work::{Means, in_lab};

/// Number of rounds listed.
const SHOWN: usize = 8;
/// Budget for advice on a diagnosis, in data packets.
const BUDGET: u64 = 100_000_000;

/// Reads the input, prints the diagnosis, and continues with advice if requested.
pub fn diagnose(arguments: &DiagnoseArguments) -> Result<(), Failure> {
    listen()?;
    let out = arguments.out.as_deref().map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    let means = Means { jobs: arguments.jobs, cached: !arguments.no_cache };
    let mut found = in_lab(means, |lab, _| lab.diagnose(&arguments.inputs))?;
    if arguments.out.is_some() || arguments.advise {
        in_lab(means, |lab, hear| lab.calibrate(&mut found, hear))?;
    }
    if let (Some(out), Some(folder)) = (out, &arguments.out) {
        found.write(out, folder)?;
    }
    if arguments.json {
        let text = match arguments.advise {
            false => found.to_json(),
            true => {
                let on = in_lab(means, |lab, hear| lab.advise_on(&mut found, BUDGET, hear))?;
                found.to_json_with(on.advised.as_ref())
            }
        };
        return say(&(text + "\n"));
    }
    say(&told(&found.diagnosis, arguments.advise))?;
    if !arguments.advise {
        return Ok(());
    }
    // The diagnosis is printed first: it is true whatever becomes of the advice.
    say(&steps(&found.diagnosis))?;
    let on = in_lab(means, |lab, hear| lab.advise_on(&mut found, BUDGET, hear))?;
    say(&simulated_advice(&found.diagnosis, &on))
}

/// The next steps that need no model.
fn steps(found: &Diagnosis) -> String {
    let mut text = Text::default();
    text.prose(&format!("\n{BOLD}Advice{BOLD:#}"));
    found.next_steps().iter().for_each(|step| text.prose(&format!("  {}", clean(step))));
    text.done()
}

/// Remedies from simulation, or why there are none.
fn simulated_advice(found: &Diagnosis, on: &AdvisedOn) -> String {
    let mut text = Text::default();
    let Some(advised) = &on.advised else {
        if found.verdict.incast == Some(true) {
            text.prose(&format!("No remedies from simulation: {}.", on.why.as_deref().unwrap_or("none helps")));
        }
        return text.done();
    };
    text.prose(&format!("\n{BOLD}Remedies from simulation{BOLD:#}"));
    if let Some(far) = found.far() {
        text.prose(&format!(
            "The simulation is {:+.0} % off the {} recorded rounds of {} servers: trust the order of remedies that help at both ends of the \
             buffer's interval, not their figures.",
            100.0 * far.off(),
            far.episodes,
            far.fan_in
        ));
    }
    on.why.iter().for_each(|why| text.prose(why));
    text.done() + &advice::told(&advised.advice, None, Shown::First, None)
}

fn told(found: &Diagnosis, advise: bool) -> String {
    let mut text = Text::default();
    text.prose(what(found).trim_end_matches('\n'));
    for of in &found.simulated {
        let far =
            if found.far() == Some(of) { format!(" {RED}Do not rely on this scenario.{RED:#}") } else { String::new() };
        text.prose(&format!(
            "  simulated   {} servers: {} Mbit/s; measured: {} ({:+.0} %).{far}",
            of.fan_in,
            three(of.simulated_mbps),
            three(of.measured_mbps),
            100.0 * of.off()
        ));
    }
    match (&found.scenario, &found.sketch) {
        (Some(path), _) => {
            text.prose("\nNext steps with the scenario:");
            text.verbatim(2, &format!("fanin compare {}", clean(path)));
            text.verbatim(2, &format!("fanin advise {}", clean(path)));
        }
        (None, Some(_)) if !advise => {
            text.prose(
                "\nUse --out DIR to write a matching scenario and a picture, or --advise to continue with advice",
            );
        }
        (None, _) => {}
    }
    text.done()
}

/// The findings.
fn what(found: &Diagnosis) -> String {
    let style = match found.verdict.incast {
        Some(true) => RED,
        Some(false) => GREEN,
        None => BOLD,
    };
    let mut text = format!("{style}{}{style:#}\n", clean(&found.verdict.says));
    if found.verdict.incast.is_some() {
        let _ = writeln!(text, "{GREY}confidence {:.0} %{GREY:#}", 100.0 * found.verdict.confidence);
    }
    text += &causes(found);
    for caution in &found.cautions {
        let _ = writeln!(text, "{GREY}note: {}{GREY:#}", clean(caution));
    }
    if !found.episodes.is_empty() {
        text += &rounds(found);
    }
    if found.inputs.iter().any(|input| input.tcp > 0) {
        text += &way(found);
        text += &stacks(found);
    }
    for line in &found.counters {
        let _ = writeln!(text, "  {}", clean(line));
    }
    text
}

/// The shares of the lost time by cause, with their evidence.
fn causes(found: &Diagnosis) -> String {
    let causes = &found.verdict.causes;
    if causes.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = causes
        .iter()
        .map(|one| {
            let server = one.servers.first().map(|of| format!("{} ({:.0} %)", clean(&of.server), 100.0 * of.share));
            vec![
                one.cause.word().into(),
                format!("{:.0} %", 100.0 * one.share),
                three(one.stall_s * 1e3),
                one.stalls.to_string(),
                format!("{:.0} %", 100.0 * one.confidence),
                server.unwrap_or_default(),
            ]
        })
        .collect();
    let head = ["cause", "share", "lost ms", "stalls", "confidence", "most at"];
    let mut text = format!("\n{BOLD}Lost time by cause{BOLD:#}\n{}", columns(&head, &rows, 1, width()));
    for one in causes {
        let _ = writeln!(text, "  {}: {}", one.cause.word(), one.evidence);
    }
    text
}

/// The rounds with the longest idle times.
fn rounds(found: &Diagnosis) -> String {
    let mut worst: Vec<&EpisodeFound> = found.episodes.iter().collect();
    worst.sort_by(|a, b| b.stall_s.total_cmp(&a.stall_s).then(a.start_s.total_cmp(&b.start_s)));
    let ms = |seconds: f64| three(seconds * 1e3);
    let rows: Vec<Vec<String>> = worst
        .iter()
        .take(SHOWN)
        .map(|one| {
            let lost = if one.lost[0] == one.lost[1] {
                one.lost[0].to_string()
            } else {
                format!("{}-{}", one.lost[0], one.lost[1])
            };
            let waiting = one.stalls.iter().map(|stall| stall.waiting).max().unwrap_or(0);
            vec![
                format!("{:.6}", one.start_s),
                one.fan_in.to_string(),
                large(one.bytes as f64),
                ms(one.took_s),
                ms(one.should_s),
                ms(one.stall_s),
                if one.stalls.is_empty() { String::new() } else { waiting.to_string() },
                lost,
                one.signature.word().into(),
                format!("{:.0} %", 100.0 * one.confidence),
            ]
        })
        .collect();
    let head = ["at s", "servers", "bytes", "took ms", "ideal ms", "idle ms", "waiting", "lost", "cause", "confidence"];
    let more = if found.rounds.count as usize > rows.len() { ", longest idle times first" } else { "" };
    let clean = found.rounds.count - found.rounds.stalled;
    format!(
        "\n{BOLD}{} rounds, {clean} without idle time{more}{BOLD:#}\n{}",
        found.rounds.count,
        columns(&head, &rows, 1, width())
    )
}

fn way(found: &Diagnosis) -> String {
    let mut text = format!("\n{BOLD}Path to the client{BOLD:#}\n");
    let way = &found.way;
    let sure = |how: &str, confidence: f64| format!("{GREY}({how}, {:.0} %){GREY:#}", 100.0 * confidence);
    if let Some(rate) = &way.rate_mbps {
        let _ = writeln!(text, "  rate   {} Mbit/s {}", three(rate.value), sure(rate.how.word(), rate.confidence));
    }
    if let Some(time) = &way.round_trip_s {
        let _ =
            writeln!(text, "  round trip   {} us {}", three(time.value * 1e6), sure(time.how.word(), time.confidence));
    }
    match &way.buffer_bytes {
        Some(known) => {
            let [least, most] = known.value;
            let _ = writeln!(text, "  buffer   {least} to {most} B {}", sure(known.how.word(), known.confidence));
        }
        None => text += "  buffer   unknown: no losses at a full queue\n",
    }
    if let Some(standing) = &way.standing {
        let flows: Vec<String> = standing
            .flows
            .iter()
            .map(|flow| format!("{}: {}", clean(&flow.server), large(flow.bytes as f64)))
            .collect();
        let [waited, all] = standing.rounds;
        let _ = writeln!(
            text,
            "  standing queue   {} ms, the median of {waited} of {all} rounds; bytes of the longest flows: {}",
            three(standing.queue_s * 1e3),
            flows.join(", ")
        );
    }
    let [least, most] = found.losses;
    let _ =
        writeln!(text, "  lost   {least} to {most} segments; {} out of order, {} marked", found.reordered, way.marked);
    if way.background > 0.01 {
        let _ = writeln!(
            text,
            "  background   {:.0} % of the bytes to the client belong to no round",
            100.0 * way.background
        );
    }
    if found.points.len() > 1 {
        let point = |one: &fanin::diagnosis::PointFound| format!("{}: {} Mbit/s", one.fan_in, three(one.goodput_mbps));
        let _ = writeln!(text, "  by servers   {}", found.points.iter().map(point).collect::<Vec<_>>().join(", "));
        if let Some(onset) = found.onset {
            let _ = writeln!(text, "  collapse   at {onset} servers");
        }
    }
    text
}

/// Properties of the hosts' TCP, grouped by equal ones.
fn stacks(found: &Diagnosis) -> String {
    let mut kinds: Vec<(String, u32, &str)> = Vec::new();
    for (name, host) in &found.hosts {
        let line = stack(host);
        match kinds.iter_mut().find(|kind| kind.0 == line) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((line, 1, name)),
        }
    }
    let mut text = format!("\n{BOLD}Hosts{BOLD:#}\n");
    for (line, count, name) in kinds.iter().take(SHOWN) {
        let who = if *count == 1 { clean(name) } else { format!("{} and {} others", clean(name), count - 1) };
        let _ = writeln!(text, "  {who}   {line}");
    }
    if kinds.len() > SHOWN {
        let _ = writeln!(text, "  {GREY}and {} other groups (see --json){GREY:#}", kinds.len() - SHOWN);
    }
    text
}

fn stack(host: &HostFound) -> String {
    let mut parts: Vec<String> = vec![host.role.into()];
    let said = [("SACK", host.sack), ("timestamps", host.timestamps), ("ECN", host.ecn)];
    parts
        .extend(said.iter().filter_map(|(word, has)| has.map(|has| format!("{}{word}", if has { "" } else { "no " }))));
    parts.extend(host.initial_window.map(|segments| format!("initial window {segments}")));
    parts.extend(host.rto_min_s.map(|least| format!("minimum RTO {} ms", three(least * 1e3))));
    if host.role == "client" {
        parts.extend(host.segments_per_ack.map(|per| format!("{per} segments per ACK")));
    }
    if host.zero_windows > 0 {
        parts.push(format!("{} zero windows", host.zero_windows));
    }
    if host.offloads {
        parts.push("segments larger than packets (offloads)".into());
    }
    parts.join(", ")
}
