//! Shares of the lost time by cause, each with its evidence, its servers and a confidence.

use std::collections::BTreeMap;

use crate::diagnosis::{Cause, CauseFound, ServerFound, StallFound};
use crate::observation::together;

/// Maximum number of servers that a cause names.
const MOST_SERVERS: usize = 3;
/// Causes with shares closer than this may change places.
const CLOSE: f64 = 0.2;
/// A cause with less than this of the lost time is not listed.
const LEAST_SHARE: f64 = 0.01;

/// The causes of stalls, the largest share first. `whole`: a factor on each confidence, for gaps in the data.
pub(crate) fn shares<'a>(stalls: impl Iterator<Item = &'a StallFound>, whole: f64) -> Vec<CauseFound> {
    let mut by_cause: BTreeMap<Cause, Vec<&StallFound>> = BTreeMap::new();
    stalls.for_each(|stall| by_cause.entry(stall.cause).or_default().push(stall));
    let all: f64 = by_cause.values().flatten().map(|stall| stall.took_s).sum();
    let found = |(cause, stalls): (Cause, Vec<&StallFound>)| of_cause(cause, &stalls, all, whole);
    let mut causes: Vec<CauseFound> = by_cause.into_iter().map(found).filter(|one| one.share >= LEAST_SHARE).collect();
    causes.sort_by(|a, b| b.stall_s.total_cmp(&a.stall_s));
    if let [first, second, ..] = &mut causes[..]
        && first.share - second.share < CLOSE
    {
        first.confidence = (first.confidence * 0.75 * 1e2).round() / 1e2;
    }
    causes
}

fn of_cause(cause: Cause, stalls: &[&StallFound], all: f64, whole: f64) -> CauseFound {
    let stall_s: f64 = stalls.iter().map(|stall| stall.took_s).sum();
    let sure = stalls.iter().map(|stall| stall.took_s * stall.confidence).sum::<f64>() / stall_s.max(1e-12);
    let digits = |value: f64, scale: f64| (value * scale).round() / scale;
    CauseFound {
        cause,
        share: digits(stall_s / all.max(1e-12), 1e3),
        stall_s: digits(stall_s, 1e9),
        stalls: stalls.len() as u64,
        confidence: digits(supported(sure, stalls) * whole, 1e2),
        evidence: together(&stalls.iter().map(|stall| stall.evidence).collect::<Vec<_>>()),
        servers: servers(stalls, stall_s),
    }
}

/// A confidence with regard to the number of stalls that support it: one alone may be an accident.
fn supported(sure: f64, stalls: &[&StallFound]) -> f64 {
    // Stalls count by their time: one long stall beside many short ones is one.
    let sum: f64 = stalls.iter().map(|stall| stall.took_s).sum();
    let squares: f64 = stalls.iter().map(|stall| stall.took_s * stall.took_s).sum();
    of_many(sure, sum * sum / squares.max(1e-18))
}

/// A confidence that this many observations support.
pub(crate) fn of_many(sure: f64, count: f64) -> f64 {
    sure * (1.0 - 0.6 * libm::exp2(-count))
}

/// The servers whose packets ended the stalls, those with most of the time first.
fn servers(stalls: &[&StallFound], all: f64) -> Vec<ServerFound> {
    let mut by_server: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for stall in stalls {
        let (count, sum) = by_server.entry(&stall.server).or_default();
        (*count, *sum) = (*count + 1, *sum + stall.took_s);
    }
    let server = |(server, (stalls, stall_s)): (&str, (u64, f64))| ServerFound {
        server: server.into(),
        stalls,
        stall_s: (stall_s * 1e9).round() / 1e9,
        share: (stall_s / all.max(1e-12) * 1e3).round() / 1e3,
    };
    let mut servers: Vec<ServerFound> = by_server.into_iter().map(server).collect();
    servers.sort_by(|a, b| b.stall_s.total_cmp(&a.stall_s));
    servers.truncate(MOST_SERVERS);
    servers
}
