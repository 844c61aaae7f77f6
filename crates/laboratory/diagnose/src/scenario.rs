//! Scenario from a capture, with each value's origin as a comment: measured, inferred or assumed.

use std::collections::{BTreeMap, BTreeSet};

use fanin_units::{Bytes, Time};

use crate::diagnosis::PointFound;
use crate::host::Host;
use crate::origin::How;
use crate::record::Record;
use crate::samples::{Samples, quantile};
use crate::sketch::Sketch;
use crate::way::{Way, held};

/// Data for the scenario.
pub(crate) struct Facts<'a> {
    pub hosts: &'a [Host],
    pub asker: &'a Host,
    pub way: &'a Way,
    pub rounds: &'a [&'a Record],
    pub timeouts: &'a Samples,
    pub segment: u32,
    pub points: &'a [PointFound],
    pub name: &'a str,
    pub background: f64,
}

/// The largest payload of a packet in a scenario.
const JUMBO: u32 = 9_000;
/// One round in this many, and fewer, show a rare number of servers.
const RARE: u64 = 50;
/// Numbers of servers in the sweep.
const MOST_POINTS: usize = 8;

/// A time, rounded up and in a short unit.
fn time(ns: u64) -> String {
    let rounded = match ns {
        0..1_000 => ns,
        1_000..1_000_000 => ns.div_ceil(100) * 100,
        _ => ns.div_ceil(10_000) * 10_000,
    };
    format!("\"{}\"", Time(rounded.saturating_mul(1_000)))
}

fn bytes(value: u64) -> String {
    format!("\"{}\"", Bytes(value))
}

/// The scenario.
pub(crate) fn scenario(facts: &Facts<'_>) -> Sketch {
    let fan_ins: BTreeSet<u32> = facts.rounds.iter().map(|round| round.servers).collect();
    let most = fan_ins.last().copied().unwrap_or(2);
    let answer = answer(facts);
    let name = facts.name.chars().filter(|c| !c.is_control()).collect::<String>();
    let mut out = Sketch::new(format!(
        "# Scenario of {name} by `fanin diagnose`. Comments give each value's origin: measured in packets, inferred from\n\
         # them, or assumed.\n\
         title = \"{most} servers with responses of {}\"\n",
        Bytes(answer)
    ));
    scheme(&mut out, facts);
    link(&mut out, facts);
    queue(&mut out, facts);
    hosts(&mut out, facts);
    tcp(&mut out, facts);
    workload(&mut out, facts, answer);
    sweep(&mut out, facts, &fan_ins);
    out
}

/// Whether the endpoints may be Linux: no SYN shows another system.
pub(crate) fn may_be_linux(hosts: &[Host]) -> bool {
    hosts.iter().all(|host| host.syns == 0) || linux(hosts)
}

/// Whether both endpoints look like Linux.
pub(crate) fn linux(hosts: &[Host]) -> bool {
    let said: Vec<&Host> = hosts.iter().filter(|host| host.syns > 0).collect();
    !said.is_empty() && said.iter().all(|host| host.stamps && host.may_sack && host.scale.is_some())
}

fn scheme(out: &mut Sketch, facts: &Facts<'_>) {
    let ecn = facts.hosts.iter().filter(|host| host.syns > 0).all(|host| host.ecn);
    let capable = facts.hosts.iter().any(|host| host.capable > 0);
    let scheme = match () {
        () if ecn && capable && facts.asker.capable > 0 => {
            ("dctcp+red+ecn", How::Inferred, "all packets are ECN-capable, including ACKs")
        }
        () if ecn && capable => ("newreno+red+ecn", How::Inferred, "ECN was negotiated; window growth is not visible"),
        () if linux(facts.hosts) => ("cubic", How::Assumed, "Linux's default; window growth is not visible"),
        () => ("newreno", How::Assumed, "window growth is not visible"),
    };
    out.set("schemes", &format!("[\"{}\"]", scheme.0), scheme.1, scheme.2);
    match scheme.0 {
        "cubic" => out.leave_open("schemes", vec!["cubic".into(), "newreno".into()]),
        "newreno" => out.leave_open("schemes", vec!["newreno".into(), "cubic".into()]),
        _ => {}
    }
}

fn link(out: &mut Sketch, facts: &Facts<'_>) {
    let way = facts.way;
    out.section("link");
    match &way.line {
        Some(line) => {
            let rate = format!("\"{} kbit/s\"", (line.mbps * 1e3).round());
            out.set("rate", &rate, How::Assumed, "servers' links seem no slower than the client's");
            out.leave_open(
                "link.rate",
                [1.0, 4.0].map(|times| format!("{} kbit/s", (times * line.mbps * 1e3).round())).into(),
            );
            let why = if line.round { "packets arrive back to back at this rate" } else { "packets arrive no faster" };
            out.set("client_rate", &rate, How::Inferred, why);
            out.set("framing", &format!("\"{}\"", line.framing), How::Inferred, "gives a standard link rate");
        }
        None => out.set("rate", "\"10 Gbit/s\"", How::Assumed, "the link was never saturated for long"),
    }
    // A round trip crosses four links; the serialisation delay of its packets is negligible.
    out.set("delay", &time(way.round_trip / 4), way.round_trip_how, "a quarter of the minimum round trip");
}

fn queue(out: &mut Sketch, facts: &Facts<'_>) {
    out.section("switch");
    let way = facts.way;
    let held = |bytes: u64| held(bytes, u64::from(facts.segment) + 40, way.line.as_ref());
    // The queue held at most the longest row, and at most a round's bytes.
    let rounds = facts.rounds.iter().map(|round| round.bytes).max().unwrap_or(0);
    let most = held(facts.asker.train.longest.min(rounds + rounds / 8)).max(16 << 10);
    match way.buffer {
        Some((least, most, how)) => {
            let why = format!("between {} and {}", Bytes(least), Bytes(most));
            out.set("buffer", &bytes(most), how, &why);
            if how != How::Measured {
                out.leave_open("switch.buffer", between(least, most));
            }
        }
        None if facts.asker.lost > 0 && !way.faulty => {
            out.set("buffer", &bytes(most), How::Assumed, "largest burst; no loss shows the limit");
            out.leave_open("switch.buffer", between(16 << 10, most));
        }
        None => {
            let why = "a burst this large arrived without loss";
            out.set("buffer", &bytes(most.max(256 << 10)), How::Assumed, why);
        }
    }
    if way.faulty {
        let (lost, arrived) = (facts.asker.lost as f64, facts.asker.chance.packets() as f64);
        let share = lost / (lost + arrived).max(1.0);
        out.section("faults");
        let why = "packets were lost independently of load";
        out.set("loss", &format!("\"{:.3} %\"", 100.0 * share), How::Inferred, why);
    }
}

/// Candidate buffer sizes in geometric steps, the largest first.
fn between(least: u64, most: u64) -> Vec<String> {
    let step = (most.max(1) as f64 / least.max(1) as f64).max(1.0);
    let size = |place: u32| Bytes((most as f64 / libm::pow(step, f64::from(place) / 5.0)) as u64).to_string();
    let mut sizes: Vec<String> = (0..6).map(size).collect();
    sizes.dedup();
    sizes
}

fn hosts(out: &mut Sketch, facts: &Facts<'_>) {
    let way = facts.way;
    out.section("host");
    let (work, how) = match way.round_trip_how {
        How::Measured => (way.least.saturating_sub(way.round_trip), How::Inferred),
        _ => (20_000, How::Assumed),
    };
    out.set("service_time", &time(work.max(1_000)), how, "the fastest first byte of a response, minus a round trip");
    let (scatter, how) = if way.scatter > 0 { (way.scatter, How::Inferred) } else { (50_000, How::Assumed) };
    out.set("service_jitter", &time(scatter.min(2 * work.max(25_000))), how, "spread of first bytes on an idle link");
}

/// The most frequent value.
fn common<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, u32> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

fn tcp(out: &mut Sketch, facts: &Facts<'_>) {
    let said = || facts.hosts.iter().filter(|host| host.syns > 0);
    let linux = linux(facts.hosts);
    out.section("tcp");
    if linux {
        out.set(
            "profile",
            "\"linux\"",
            How::Inferred,
            "SYNs with SACK, timestamps and a window scale, as Linux sends them",
        );
    }
    match facts.segment {
        segment @ ..=JUMBO => {
            out.set("mss", &format!("\"{segment} B\""), How::Measured, "the largest payload of a packet");
        }
        _ => out.set(
            "mss",
            &format!("\"{JUMBO} B\""),
            How::Assumed,
            "upper limit; captured packets are larger because of offloads",
        ),
    }
    if let Some(sack) = common(said().map(|host| host.may_sack)).filter(|_| !linux) {
        out.set("sack", &sack.to_string(), How::Measured, "from SYNs");
        let stamps = said().all(|host| host.stamps);
        out.set("timestamps", &stamps.to_string(), How::Measured, "from SYNs");
    }
    timeout(out, facts);
    let flights = facts.hosts.iter().filter_map(|host| host.first_window);
    match common(flights.map(|bytes| bytes.div_ceil(u64::from(facts.segment.max(1))))) {
        Some(segments) => out.set("initial_window", &segments.to_string(), How::Measured, "segments of a first flight"),
        None => {
            out.set("initial_window", "10", How::Assumed, "no separate first flight");
            if !linux {
                out.leave_open("tcp.initial_window", ["10", "4", "2", "1"].map(String::from).into());
            }
        }
    }
    let per_ack = facts.asker.acknowledged as f64 / facts.asker.acks.max(1) as f64 / f64::from(facts.segment.max(1));
    if facts.asker.acks > 100 && !linux {
        let (count, why) =
            if per_ack >= 1.4 { ("2", "full segments per ACK") } else { ("1", "every packet is acknowledged") };
        out.set("delayed_ack", count, How::Measured, why);
    }
    // A pause between rounds is idle time; the window's change in it is not visible.
    if !linux {
        out.set("idle_restart", "false", How::Assumed, "window changes in pauses are not visible");
        out.leave_open("tcp.idle_restart", ["false", "true"].map(String::from).into());
    }
}

fn timeout(out: &mut Sketch, facts: &Facts<'_>) {
    match facts.way.rto_min(facts.timeouts.kept(), may_be_linux(facts.hosts)) {
        Some(likely) => {
            out.set("rto_min", &time(likely[0]), How::Inferred, "shortest silences before retransmissions");
            if likely.len() > 1 {
                let values = likely.iter().map(|one| time(*one).trim_matches('"').to_owned());
                out.leave_open("tcp.rto_min", values.collect());
            }
        }
        None => out.set("rto_min", "\"200 ms\"", How::Assumed, "no timeouts; Linux's default"),
    }
}

/// Bytes of a response: the median.
fn answer(facts: &Facts<'_>) -> u64 {
    let each: Vec<u64> = facts.rounds.iter().map(|round| round.bytes / u64::from(round.servers.max(1))).collect();
    quantile(&each, 0.5).unwrap_or(0).max(1)
}

fn workload(out: &mut Sketch, facts: &Facts<'_>, answer: u64) {
    let rounds = facts.rounds;
    out.section("workload");
    let of = |value: fn(&Record) -> u64| {
        quantile(&rounds.iter().map(|round| value(round)).collect::<Vec<_>>(), 0.5).unwrap_or(0)
    };
    let pushed = rounds.iter().filter(|round| round.pushed).count() * 2 > rounds.len();
    if pushed {
        out.set("kind", "\"one-shot\"", How::Inferred, "servers send without requests");
        out.set("fragment", &bytes(answer), How::Measured, "bytes that a server sends");
        return;
    }
    out.set("kind", "\"barrier\"", How::Inferred, "one client requests from several servers at once");
    out.set("fragment", &bytes(answer), How::Measured, "median response");
    out.set("request", &bytes(of(|round| round.request).max(1)), How::Measured, "the median");
    if rounds.iter().filter(|round| round.anew).count() * 2 > rounds.len() {
        out.set("connections", "\"new\"", How::Measured, "one per request");
    }
    let gap = of(|round| round.gap);
    if gap > 1_000 {
        out.set("request_gap", &time(gap), How::Measured, "between requests of a round");
    }
    let pauses: Vec<u64> = rounds.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].done)).collect();
    let pause = quantile(&pauses, 0.5).unwrap_or(0);
    if pause > 10_000 {
        out.set("pause", &time(pause), How::Measured, "between rounds");
    }
    let longest = rounds.iter().map(|round| round.took()).max().unwrap_or(0);
    let span = (20 * longest).clamp(1_000_000_000, 10_000_000_000).div_ceil(1_000_000_000);
    out.set("duration", &format!("\"{span} s\""), How::Assumed, "several of the longest rounds");
    if facts.background > 0.05 {
        out.set(
            "background",
            "1",
            How::Inferred,
            &format!("{:.0} % of the client's traffic belongs to no round", 100.0 * facts.background),
        );
    }
}

fn sweep(out: &mut Sketch, facts: &Facts<'_>, fan_ins: &BTreeSet<u32>) {
    // Rare numbers of servers are starts and ends of rounds, not the workload.
    let rare = facts.points.iter().map(|point| point.episodes).sum::<u64>() / RARE;
    let usual = facts.points.iter().filter(|point| point.episodes > rare);
    let mut shown: Vec<(u64, u32)> = usual.map(|point| (point.episodes, point.fan_in)).collect();
    shown.sort_unstable_by(|a, b| b.cmp(a));
    let mut values: BTreeSet<u32> = shown.into_iter().take(MOST_POINTS).map(|(_, fan_in)| fan_in).collect();
    if values.is_empty() {
        values.extend(fan_ins.last());
    }
    let list = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    out.section("sweep");
    out.set("fan_in", &format!("[{list}]"), How::Measured, "numbers of concurrent servers");
    out.section("run");
    out.set("seeds", "3", How::Assumed, "default of `fanin new`");
}
