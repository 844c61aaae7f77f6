//! What it comes to, in a sentence.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::diagnosis::{Diagnosis, EpisodeFound, Signature, Verdict};

/// Rounds that stand still for so much of their time together are hurt; and what is asked of one server alone, of a capture's.
const HURT: f64 = 0.05;

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

pub(crate) fn verdict(found: &Diagnosis, counters: &[Counters]) -> Verdict {
    let mut causes: BTreeMap<Signature, f64> = BTreeMap::new();
    found
        .episodes
        .iter()
        .flat_map(|one| &one.stalls)
        .for_each(|stall| *causes.entry(stall.signature).or_default() += stall.took_s);
    let (took, stalled) = (found.episodes.iter().map(|one| one.took_s).sum::<f64>(), causes.values().sum::<f64>());
    let main = causes.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(cause, _)| *cause);
    if let Some(cause) = main.filter(|_| stalled > HURT * took) {
        return of_rounds(found, cause);
    }
    if !found.episodes.is_empty() {
        let most = found.episodes.iter().map(|one| one.fan_in).max().unwrap_or(0);
        return Verdict {
            incast: false,
            cause: if found.way.faulty { Signature::LinkFault } else { Signature::None },
            says: format!(
                "no incast that hurts: in {} rounds of up to {most} servers hardly anything stood still{}",
                found.episodes.len(),
                lost(found)
            ),
            confidence: median(found.episodes.iter().map(|one| one.confidence).collect()),
        };
    }
    of_others(found, counters)
}

fn lost(found: &Diagnosis) -> String {
    match (found.losses, found.way.faulty) {
        ([_, 0], _) => String::new(),
        ([_, most], true) => {
            format!("; {most} segments were lost however little was on its way: a fault of a link")
        }
        ([least, most], false) if least == most => format!("; {least} segments were lost and sent again in time"),
        ([least, most], false) => format!("; {least} to {most} segments were lost and sent again in time"),
    }
}

fn of_rounds(found: &Diagnosis, cause: Signature) -> Verdict {
    let hurt: Vec<&EpisodeFound> = found.episodes.iter().filter(|one| one.signature != Signature::None).collect();
    let incast = matches!(cause, Signature::Rto | Signature::TailLossProbe);
    let of = |value: fn(&EpisodeFound) -> f64| median(hurt.iter().map(|one| value(one)).collect());
    let most = hurt.iter().map(|one| one.fan_in).max().unwrap_or(0);
    let losses: [u64; 2] = [0, 1].map(|which| hurt.iter().map(|one| one.lost[which]).sum());
    let count = match losses {
        [_, 0] => String::new(),
        [least, most] if least == most => format!(" {least} segments were lost."),
        [least, most] => format!(" {least} to {most} segments were lost."),
    };
    let says = format!(
        "{}: {} of {} rounds of up to {most} servers were hurt: {}. A round took {} (median) in place of {}, and stood still for {}.{count}",
        if incast { "incast" } else { "no incast" },
        hurt.len(),
        found.episodes.len(),
        cause.says(),
        time(of(|one| one.took_s)),
        time(of(|one| one.should_s)),
        time(of(|one| one.stall_s)),
    );
    Verdict { incast, cause, says, confidence: of(|one| one.confidence) }
}

/// Without a round of several servers.
fn of_others(found: &Diagnosis, counters: &[Counters]) -> Verdict {
    let mut causes: BTreeMap<Signature, f64> = BTreeMap::new();
    found.alone_stalls.iter().for_each(|stall| *causes.entry(stall.signature).or_default() += stall.took_s);
    let main = causes.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(cause, _)| *cause);
    let span = found.inputs.iter().map(|input| input.span_s).fold(0.0, f64::max);
    let main = main.filter(|_| causes.values().sum::<f64>() > HURT * span);
    let packets: u64 = found.inputs.iter().map(|input| input.tcp).sum();
    let cause = match main {
        _ if found.way.faulty => Signature::LinkFault,
        Some(cause) => cause,
        None => Signature::None,
    };
    let says = match (cause, packets) {
        (_, 0) => Counters::verdict(counters),
        _ if found.unfinished.0 > 0 => format!(
            "no round ended within the capture, and so nothing is known of how long one takes: up to {} servers were asked at once",
            found.unfinished.1
        ),
        (Signature::None, _) => {
            format!("no incast: nobody asked several servers at once, and nothing stood still{}", lost(found))
        }
        (cause, _) => format!("no incast: nobody asked several servers at once; {}{}", cause.says(), lost(found)),
    };
    Verdict { incast: false, cause, says, confidence: if packets == 0 { 0.3 } else { 0.8 } }
}
