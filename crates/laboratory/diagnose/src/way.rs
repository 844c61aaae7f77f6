//! Path to one client, from its capture: round trip, rate, and buffer at the client's port.

use crate::host::{Host, usual_timeout};
use crate::origin::How;
use crate::record::Record;
use crate::samples::quantile;
use crate::train::Row;

/// Per-packet overhead beyond IP, by framing: Ethernet, a Linux shaper, point-to-point, none; with the tolerance of the rate.
const FRAMINGS: [(f64, &str, f64); 4] =
    [(38.0, "ethernet", 0.012), (14.0, "14 B", 0.004), (2.0, "2 B", 0.004), (0.0, "0 B", 0.004)];
/// Standard link rates in Mbit/s.
const ROUND: [f64; 15] = [
    10.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 2_500.0, 5_000.0, 10_000.0, 25_000.0, 40_000.0, 50_000.0,
    100_000.0, 400_000.0,
];
/// Common timeout settings in ms.
const ROUND_TIMEOUTS: [u64; 16] = [1, 2, 4, 5, 8, 10, 15, 20, 25, 30, 40, 50, 100, 200, 300, 1000];
/// Upper bounds on Linux for short paths, in nanoseconds: RACK's reordering timer, and a clock tick with Debian's HZ.
const LINUX_REORDERING: u64 = 13_000_000;
const LINUX_TICK: u64 = 4_000_000;
/// A loss probe, a reordering timer and a tick.
const LINUX_RECOVERY: u64 = 30_000_000;
/// In a row of this few packets no queue overflows.
const SHORT: u32 = 8;

/// A link's rate in a scenario's terms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub mbps: f64,
    pub framing: &'static str,
    /// Whether it is a standard link rate.
    pub round: bool,
    /// Measured bytes of IP packets per second.
    pub bytes_per_s: f64,
    pub share: f64,
}

/// Properties of the path to a client; times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub round_trip: u64,
    pub round_trip_how: How,
    pub line: Option<Line>,
    /// Round trip through a full queue.
    pub loaded: u64,
    /// The usual delay of packets in queues.
    pub queued: u64,
    /// A longer idle time is a stall.
    pub quiet: u64,
    /// Time to the first byte without contention.
    pub first: u64,
    /// Minimum time to the first byte.
    pub least: u64,
    /// Variation of the time to the first byte.
    pub scatter: u64,
    /// Bounds in bytes as a switch counts them, frames with their overhead.
    pub buffer: Option<(u64, u64, How)>,
    /// Links cause most of the losses.
    pub faulty: bool,
}

/// Queued packets that suffice to include some in a full queue.
const ENOUGH_WAITS: u64 = 200;
/// A server that responds later than this is slow.
pub(crate) const WORK: u64 = 5_000_000;

impl Way {
    pub fn new(host: &Host, rounds: &[&Record], packet: u64, faulty: bool) -> Way {
        let least_first = host.firsts.quantile(0.0);
        let (round_trip, round_trip_how) = match (host.round_trip, least_first) {
            // A first byte comes after a round trip: a shorter one than the handshake's shows a queue in that.
            (Some(measured), least) => (least.map_or(measured, |least| least.min(measured)), How::Measured),
            (None, Some(first)) => (first, How::Inferred),
            (None, None) => (200_000, How::Assumed),
        };
        let idle = usual(host.idle_firsts.kept());
        let first = quantile(&idle, 0.5).or(host.firsts.quantile(0.1)).unwrap_or(round_trip);
        let quiet = 10 * round_trip + host.firsts.quantile(0.5).unwrap_or(0).min(WORK);
        let scatter =
            scatter(rounds).min(host.firsts.quantile(0.99).unwrap_or(0).saturating_sub(least_first.unwrap_or(0)));
        let line = host.train.rate().map(|rate| line(rate.bytes_per_s, rate.share, packet));
        let buffer = line.as_ref().and_then(|line| buffer(host, line, rounds, faulty));
        let waited =
            buffer.zip(line.as_ref()).map_or(0, |((_, most, _), line)| (most as f64 / line.bytes_per_s * 1e9) as u64);
        let framed = |bytes: u64| held(bytes, packet, line.as_ref());
        Way {
            loaded: round_trip + waited,
            round_trip,
            round_trip_how,
            buffer: buffer.map(|(least, most, how)| (framed(least), framed(most), how)),
            line,
            queued: host.levels.quantile(0.5).unwrap_or(0),
            quiet,
            first: first.max(round_trip),
            least: quantile(&idle, 0.02).unwrap_or(first).max(round_trip),
            scatter,
            faulty,
        }
    }

    /// How long a retransmission timer of a host runs at least before it counts. Linux also waits some milliseconds for reordered segments
    /// before it declares them lost, if later ones have arrived.
    pub fn least_timer(&self, linux: bool, selective: bool) -> u64 {
        2 * self.loaded + if linux && selective { LINUX_REORDERING } else { 0 }
    }

    /// The minimum retransmission timeout, without Linux's additions, followed by other candidates.
    pub fn rto_min(&self, timeouts: &[u64], linux: bool) -> Option<Vec<u64>> {
        // Linux's timers expire with a tick.
        let added = if linux { self.loaded + LINUX_TICK * 3 / 2 } else { self.round_trip };
        // Loss probes and reordering timers of Linux take two clock ticks each, one after the other, whatever the minimum: only if there are
        // over four times as many short ones as long ones are they timeouts.
        let (short, long): (Vec<u64>, Vec<u64>) =
            timeouts.iter().partition(|took| linux && **took <= LINUX_RECOVERY + 2 * self.loaded);
        let seen = usual_timeout(if 4 * long.len() >= short.len() { &long } else { &short })?;
        let least = seen.saturating_sub(added).max(seen / 2);
        let mut likely = vec![near_round(least).unwrap_or(least)];
        // Linux's addition to each is not known precisely.
        let may_be = |round: &u64| linux && *round * 20 >= seen * 9 && *round <= seen && *round != likely[0];
        let others: Vec<u64> = ROUND_TIMEOUTS.iter().map(|ms| ms * 1_000_000).filter(may_be).collect();
        likely.extend(others);
        Some(likely)
    }
}

/// Converts bytes of IP packets of size `packet` to a switch's bytes: frames.
pub(crate) fn held(bytes: u64, packet: u64, line: Option<&Line>) -> u64 {
    let framing = if line.is_some_and(|line| line.framing == "ethernet") { 18.0 } else { 14.0 };
    (bytes as f64 * (packet as f64 + framing) / packet as f64) as u64
}

/// The common timeout setting near this one.
fn near_round(timeout: u64) -> Option<u64> {
    let round = ROUND_TIMEOUTS.iter().map(|ms| ms * 1_000_000).min_by_key(|round| timeout.abs_diff(*round));
    round.filter(|round| timeout.abs_diff(*round) * 100 <= round * 12)
}

/// The spread of servers' response times. The fastest of n is early by about one n-th of the spread; over rounds, its interquartile range
/// is 1.1 such parts.
fn scatter(rounds: &[&Record]) -> u64 {
    let of_several: Vec<&&Record> = rounds.iter().filter(|round| round.servers > 1).collect();
    let firsts = usual(&of_several.iter().map(|round| round.first).collect::<Vec<_>>());
    let servers = quantile(&of_several.iter().map(|round| u64::from(round.servers)).collect::<Vec<_>>(), 0.5);
    let (Some(early), Some(late), Some(servers)) = (quantile(&firsts, 0.25), quantile(&firsts, 0.75), servers) else {
        return 0;
    };
    if firsts.len() < 5 { 0 } else { (late - early).saturating_mul(servers + 1) / 11 * 10 }
}

/// The values without contention: not much longer than the minimum.
fn usual(firsts: &[u64]) -> Vec<u64> {
    let least = firsts.iter().copied().min().unwrap_or(0);
    firsts.iter().copied().filter(|took| *took <= 3 * least + WORK / 5).collect()
}

/// The standard link rate, and the framing with which the measured rate matches it, if there are such.
fn line(bytes_per_s: f64, share: f64, packet: u64) -> Line {
    let rate = |extra: f64| bytes_per_s * (packet as f64 + extra) / packet as f64 * 8.0 / 1e6;
    for (extra, framing, near) in FRAMINGS {
        let mbps = rate(extra);
        if let Some(round) = ROUND.iter().find(|round| (mbps / **round - 1.0).abs() < near) {
            return Line { mbps: *round, framing, round: true, bytes_per_s, share };
        }
    }
    Line { mbps: rate(38.0), framing: "ethernet", round: false, bytes_per_s, share }
}

/// Bounds of the buffer: from delays in a router that was captured on both sides; else from the rows in which packets were lost and from
/// queueing delays.
fn buffer(host: &Host, line: &Line, rounds: &[&Record], faulty: bool) -> Option<(u64, u64, How)> {
    let held = |ns: u64| (line.bytes_per_s * ns as f64 / 1e9) as u64;
    let lost = rounds.iter().any(|round| round.lost > 0) || host.lost > 0;
    if host.inside.count() > 100 {
        // Longer delays include the router's processor.
        let [least, most] = [0.9, 0.95].map(|share| held(host.inside.quantile(share).unwrap_or(0)));
        return lost.then_some((least, most, How::Measured));
    }
    let losses = host.losses.iter().filter_map(|loss| Some((loss.row?, loss.asked)));
    let rows: Vec<(Row, u64)> = losses.filter(|(row, _)| row.packets > SHORT).collect();
    if faulty || rows.len() < 3 {
        return None;
    }
    // If servers' links are as fast as the client's, they fill its queue no faster than all of them together; by then an n-th of the row,
    // with n servers, has left it.
    let servers = quantile(&rounds.iter().map(|round| u64::from(round.servers)).collect::<Vec<_>>(), 0.5)?;
    // The packet after the loss cannot have waited for longer than since the fastest server could send it.
    let quickest = host.firsts.quantile(0.0).unwrap_or(0);
    let bound = |(row, asked): &(Row, u64)| {
        let left = if servers > 1 { row.bytes / servers } else { 0 };
        (row.bytes - left).min(held(asked.saturating_sub(quickest)).max(u64::from(SHORT) * 1_500))
    };
    let mut bounds: Vec<u64> = rows.iter().map(bound).collect();
    bounds.sort_unstable();
    let most = bounds[bounds.len() / 10];
    // The share of a row that had left before the loss is not known precisely.
    let by_rows = (most / 2, most + most / 20);
    // Timestamps show queueing delays. If there are losses, some packets waited in an almost full queue; hosts delayed others. A delay
    // beyond the rows' bound means that timestamps do not follow RFC 7323.
    let [least, longest] = [0.9, 0.99].map(|share| held(host.waited.quantile(share).unwrap_or(0)));
    let by_stamps = (least, (longest + longest / 10).min(bounds[bounds.len() / 2]));
    let stamped = host.waited.count() >= ENOUGH_WAITS && by_stamps.0 < by_stamps.1;
    let both = (by_rows.0.max(by_stamps.0), by_rows.1.min(by_stamps.1));
    let (least, most) = match () {
        () if stamped && both.0 < both.1 => both,
        // Each method sees a part of the queue: trust the one that sees more.
        () if stamped && by_stamps.0 > by_rows.0 => by_stamps,
        () => by_rows,
    };
    Some((least, most, How::Inferred))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_standard_link_rates_by_framing() {
        let ip = |mbps: f64, packet: f64, extra: f64| mbps * 1e6 / 8.0 * packet / (packet + extra);
        let cases = [
            (ip(10_000.0, 1500.0, 38.0), 1500, 10_000.0, "ethernet"),
            (ip(200.0, 1500.0, 14.0), 1500, 200.0, "14 B"),
            (ip(1_000.0, 616.0, 2.0), 616, 1_000.0, "2 B"),
        ];
        for (measured, packet, mbps, framing) in cases {
            let line = line(measured, 1.0, packet);
            assert_eq!((line.mbps, line.framing, line.round), (mbps, framing, true));
        }
        assert!(!line(ip(137.0, 1500.0, 38.0), 1.0, 1500).round);
    }
}
