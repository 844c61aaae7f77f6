//! The verdict, in words.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::diagnosis::{Diagnosis, EpisodeFound, RoundsFound, Signature, SlowServer, Verdict};

/// Minimum share of idle time for a verdict of impairment: of rounds' total time, or of a capture's for single servers.
const IMPAIRED: f64 = 0.05;

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3).replace(".000 ", " "),
        s => format!("{s:.3} s"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// All rounds together.
pub(crate) fn rounds(episodes: &[EpisodeFound]) -> RoundsFound {
    let stalled: Vec<&EpisodeFound> = episodes.iter().filter(|one| one.signature != Signature::None).collect();
    let of = |value: fn(&EpisodeFound) -> f64| median(stalled.iter().map(|one| value(one)).collect());
    let took: f64 = episodes.iter().map(|one| one.took_s).sum();
    let bytes: f64 = episodes.iter().map(|one| one.bytes as f64).sum();
    let digits = |value: f64, scale: f64| (value * scale).round() / scale;
    RoundsFound {
        count: episodes.len() as u64,
        fan_in: episodes.iter().map(|one| one.fan_in).max().unwrap_or(0),
        mean_took_s: digits(took / episodes.len().max(1) as f64, 1e9),
        goodput_mbps: digits(bytes * 8.0 / took.max(1e-9) / 1e6, 1e3),
        stalled: stalled.len() as u64,
        stalled_took_s: of(|one| one.took_s),
        stalled_should_s: of(|one| one.should_s),
        stalled_stall_s: of(|one| one.stall_s),
    }
}

pub(crate) fn verdict(found: &Diagnosis, counters: &[Counters]) -> Verdict {
    let mut causes: BTreeMap<Signature, f64> = BTreeMap::new();
    found
        .episodes
        .iter()
        .flat_map(|one| &one.stalls)
        .for_each(|stall| *causes.entry(stall.signature).or_default() += stall.took_s);
    let sum = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, one| sum + one);
    let (took, stalled) = (sum(&mut found.episodes.iter().map(|one| one.took_s)), sum(&mut causes.values().copied()));
    let main = causes.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(cause, _)| *cause);
    if let Some(cause) = main.filter(|_| stalled > IMPAIRED * took) {
        return of_rounds(found, cause);
    }
    if found.episodes.is_empty() {
        return of_others(found, counters);
    }
    let RoundsFound { count, fan_in, mean_took_s, goodput_mbps, .. } = found.rounds;
    Verdict {
        incast: Some(false),
        cause: if found.way.faulty { Signature::LinkFault } else { Signature::None },
        says: format!(
            "no harmful incast: {count} rounds of up to {fan_in} servers were idle for {:.1} % of their time; one took {} on average, \
             {goodput_mbps:.1} Mbit/s{}",
            100.0 * stalled / took,
            time(mean_took_s),
            lost(found)
        ),
        confidence: median(found.episodes.iter().map(|one| one.confidence).collect()),
        servers: Vec::new(),
    }
}

fn lost(found: &Diagnosis) -> String {
    match (found.losses, found.way.faulty) {
        ([_, 0], _) => String::new(),
        ([_, most], true) => {
            format!("; {most} segments were lost independently of load: a faulty link")
        }
        ([least, most], false) if least == most => format!("; {least} lost segments were retransmitted quickly"),
        ([least, most], false) => format!("; {least} to {most} lost segments were retransmitted quickly"),
    }
}

fn of_rounds(found: &Diagnosis, cause: Signature) -> Verdict {
    let stalled: Vec<&EpisodeFound> = found.episodes.iter().filter(|one| one.signature != Signature::None).collect();
    let incast = matches!(cause, Signature::Rto | Signature::Syn | Signature::Tlp | Signature::Recovery);
    let losses: [u64; 2] = [0, 1].map(|which| stalled.iter().map(|one| one.lost[which]).sum());
    let count = match losses {
        [_, 0] => String::new(),
        [least, most] if least == most => format!(" They lost {least} segments."),
        [least, most] => format!(" They lost {least} to {most} segments."),
    };
    let of = &found.rounds;
    let servers = slow_servers(found, cause);
    let says = format!(
        "{}: {} of {} rounds of up to {} servers stalled, because {}. The median stalled round took {} instead of {} and was idle for {}.{count} All \
         rounds took {} on average, {:.1} Mbit/s.{}",
        if incast { "incast" } else { "no incast" },
        of.stalled,
        of.count,
        of.fan_in,
        cause.says(),
        time(of.stalled_took_s),
        time(of.stalled_should_s),
        time(of.stalled_stall_s),
        time(of.mean_took_s),
        of.goodput_mbps,
        servers.iter().map(waited_for).collect::<String>(),
    );
    let confidence = median(stalled.iter().map(|one| one.confidence).collect());
    Verdict { incast: Some(incast), cause, says, confidence, servers }
}

fn waited_for(SlowServer { server, stalls: [own, all], stall_s }: &SlowServer) -> String {
    format!(" {server} caused {own} of {all} such stalls, {} in all.", time(*stall_s))
}

/// The servers that rounds waited for, the slowest first, if servers are the cause.
fn slow_servers(found: &Diagnosis, cause: Signature) -> Vec<SlowServer> {
    const SHOWN: usize = 3;
    if !matches!(cause, Signature::SlowServer | Signature::ApplicationPause) {
        return Vec::new();
    }
    let stalls = || found.episodes.iter().flat_map(|one| &one.stalls).filter(|stall| stall.signature == cause);
    let mut by_server: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for stall in stalls() {
        let (count, sum) = by_server.entry(&stall.server).or_default();
        (*count, *sum) = (*count + 1, *sum + stall.took_s);
    }
    let all = stalls().count() as u64;
    let server = |(server, (count, sum)): (&str, (u64, f64))| SlowServer {
        server: server.into(),
        stalls: [count, all],
        stall_s: (sum * 1e9).round() / 1e9,
    };
    let mut servers: Vec<SlowServer> = by_server.into_iter().map(server).collect();
    servers.sort_by(|a, b| b.stall_s.total_cmp(&a.stall_s));
    servers.truncate(SHOWN);
    servers
}

/// Minimum responses or packets for a verdict on a host.
const ENOUGH_ANSWERS: u64 = 10;
const ENOUGH_PACKETS: u64 = 1_000;

/// Without a round of several servers.
fn of_others(found: &Diagnosis, counters: &[Counters]) -> Verdict {
    let mut causes: BTreeMap<Signature, f64> = BTreeMap::new();
    found.alone_stalls.iter().for_each(|stall| *causes.entry(stall.signature).or_default() += stall.took_s);
    let main = causes.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(cause, _)| *cause);
    let span = found.inputs.iter().map(|input| input.span_s).fold(0.0, f64::max);
    let main = main.filter(|_| causes.values().sum::<f64>() > IMPAIRED * span);
    let packets: u64 = found.inputs.iter().map(|input| input.tcp).sum();
    let cause = match main {
        _ if found.way.faulty => Signature::LinkFault,
        Some(cause) => cause,
        None => Signature::None,
    };
    let unknown = |says| Verdict { incast: None, cause: Signature::None, says, confidence: 0.0, servers: Vec::new() };
    match (cause, packets) {
        (_, 0) => unknown(Counters::verdict(counters)),
        _ if found.unfinished.0 > 0 => unknown(format!(
            "no verdict: no round ended within the capture of {packets} packets and {}, with requests to up to {} servers at once. Record for longer",
            time(span),
            found.unfinished.1
        )),
        (_, ..ENOUGH_PACKETS) if found.alone < ENOUGH_ANSWERS => unknown(format!(
            "no verdict: only {} responses in {packets} TCP packets and {}. Record for longer",
            found.alone,
            time(span)
        )),
        (cause, _) => {
            let says = match cause {
                Signature::None => {
                    format!(
                        "no incast: no host requested from several servers at once, and connections were almost never idle{}",
                        lost(found)
                    )
                }
                cause => format!(
                    "no incast: no host requested from several servers at once; {}{}",
                    cause.says(),
                    lost(found)
                ),
            };
            Verdict { incast: Some(false), cause, says, confidence: 0.8, servers: Vec::new() }
        }
    }
}
