//! The way to one client, as its capture shows it: round trip, rate, and how much the queue at its port holds.

use crate::diagnosis::How;
use crate::host::{Host, quantile, usual_timeout};
use crate::record::Record;
use crate::train::Row;

/// What each packet has besides its IP packet on the wire, by how it is counted: Ethernet; a shaper of Linux; point to point; nothing.
const FRAMINGS: [(f64, &str, f64); 4] =
    [(38.0, "ethernet", 0.012), (14.0, "14 B", 0.004), (2.0, "2 B", 0.004), (0.0, "0 B", 0.004)];
/// Rates that links have, Mbit/s.
const ROUND: [f64; 15] = [
    10.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 2_500.0, 5_000.0, 10_000.0, 25_000.0, 40_000.0, 50_000.0,
    100_000.0, 400_000.0,
];
/// Timeouts that somebody would set, ms.
const ROUND_TIMEOUTS: [u64; 16] = [1, 2, 4, 5, 8, 10, 15, 20, 25, 30, 40, 50, 100, 200, 300, 1000];
/// RACK's timer for what may be out of order takes no longer on a short way, in nanoseconds; and Linux's clock, with Debian's HZ.
const LINUX_REORDERING: u64 = 13_000_000;
const LINUX_TICK: u64 = 4_000_000;
/// In a row of so few packets no queue overflows.
pub(crate) const SHORT: u32 = 8;

/// A link's rate in words of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub mbps: f64,
    pub framing: &'static str,
    /// Whether it came to a rate that links have.
    pub round: bool,
    /// Bytes of IP packets a second, as measured.
    pub bytes_per_s: f64,
    pub share: f64,
}

/// What is known of the way to a client, times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub round_trip: u64,
    pub round_trip_how: How,
    pub line: Option<Line>,
    /// Through a full queue.
    pub loaded: u64,
    /// Longer is a stall.
    pub quiet: u64,
    /// Until the first byte where nothing is in the way.
    pub first: u64,
    /// Until it at the least.
    pub least: u64,
    /// How much later it is at times.
    pub scatter: u64,
    /// As a switch counts it, frames with their framing.
    pub buffer: Option<(u64, u64, How)>,
    /// Losses in rows of up to so many packets are a fault of the link; zero where none is.
    pub faulty: u32,
}

/// Packets that waited, of which some did so in a full queue.
const ENOUGH_WAITS: u64 = 200;
/// What an answer may take before it is slow.
const WORK: u64 = 5_000_000;

impl Way {
    pub fn new(host: &Host, rounds: &[&Record], packet: u64, between: bool) -> Way {
        let least_first = host.firsts.quantile(0.0);
        let (round_trip, round_trip_how) = match (host.round_trip, least_first) {
            (Some(measured), _) => (measured, How::Measured),
            (None, Some(first)) => (first, How::Inferred),
            (None, None) => (200_000, How::Assumed),
        };
        let idle = usual(host.idle_firsts.kept());
        let first = quantile(&idle, 0.5).or(host.firsts.quantile(0.1)).unwrap_or(round_trip);
        let quiet = 10 * round_trip + host.firsts.quantile(0.5).unwrap_or(0).min(WORK);
        let scatter =
            scatter(rounds).min(host.firsts.quantile(0.99).unwrap_or(0).saturating_sub(least_first.unwrap_or(0)));
        let line = host.train.rate().map(|rate| line(rate.bytes_per_s, rate.share, packet));
        let faulty = if between { 0 } else { faulty(host) };
        let buffer = line.as_ref().and_then(|line| buffer(host, line, rounds, faulty > 0));
        let waited =
            buffer.zip(line.as_ref()).map_or(0, |((_, most, _), line)| (most as f64 / line.bytes_per_s * 1e9) as u64);
        let framed = |bytes: u64| held(bytes, packet, line.as_ref());
        Way {
            loaded: round_trip + waited,
            round_trip,
            round_trip_how,
            buffer: buffer.map(|(least, most, how)| (framed(least), framed(most), how)),
            line,
            quiet,
            first: first.max(round_trip),
            least: quantile(&idle, 0.02).unwrap_or(first).max(round_trip),
            scatter,
            faulty,
        }
    }

    /// The least retransmission timeout that these show, what Linux adds to it taken off; behind it others that it may be.
    pub fn rto_min(&self, timeouts: &[u64], linux: bool) -> Option<Vec<u64>> {
        // Linux waits for some milliseconds, too, until it takes for lost what may be out of order; and its timeouts end with a tick.
        let late: Vec<u64> =
            timeouts.iter().copied().filter(|took| *took > LINUX_REORDERING + 2 * self.loaded).collect();
        let clear = linux && late.len() >= 2;
        let added = if linux { self.loaded + LINUX_TICK * 3 / 2 } else { self.round_trip };
        let seen = usual_timeout(if clear { &late } else { timeouts })?;
        let least = seen.saturating_sub(added).max(seen / 2);
        let mut likely = vec![near_round(least).unwrap_or(least)];
        // How much Linux added to each is not known so well.
        let may_be = |round: &u64| linux && *round * 20 >= seen * 9 && *round <= seen && *round != likely[0];
        let others: Vec<u64> = ROUND_TIMEOUTS.iter().map(|ms| ms * 1_000_000).filter(may_be).collect();
        likely.extend(others);
        Some(likely)
    }
}

/// So many bytes of IP packets, `packet` bytes each at the most, as a switch holds them: in frames.
pub(crate) fn held(bytes: u64, packet: u64, line: Option<&Line>) -> u64 {
    let framing = if line.is_some_and(|line| line.framing == "ethernet") { 18.0 } else { 14.0 };
    (bytes as f64 * (packet as f64 + framing) / packet as f64) as u64
}

/// The timeout that somebody would set near one.
fn near_round(timeout: u64) -> Option<u64> {
    let round = ROUND_TIMEOUTS.iter().map(|ms| ms * 1_000_000).min_by_key(|round| timeout.abs_diff(*round));
    round.filter(|round| timeout.abs_diff(*round) * 100 <= round * 12)
}

/// Up to which row losses are a link's own: all of them, where they strike one by one and anywhere; those in short rows and in what
/// may follow them, where too many of all are there.
fn faulty(host: &Host) -> u32 {
    let short = host.losses.iter().filter(|(row, _)| row.packets <= SHORT).count();
    match () {
        () if host.chance.alone(host.lost) => u32::MAX,
        () if host.losses.len() >= 5 && short * 5 >= host.losses.len() => 4 * SHORT,
        () => 0,
    }
}

/// How far apart servers answer. Of so many the quickest comes sooner by about one part in as many of that, as chance has it; over
/// rounds, half of them lie 1.1 such parts apart.
fn scatter(rounds: &[&Record]) -> u64 {
    let of_several: Vec<&&Record> = rounds.iter().filter(|round| round.servers > 1).collect();
    let firsts = usual(&of_several.iter().map(|round| round.first).collect::<Vec<_>>());
    let servers = quantile(&of_several.iter().map(|round| u64::from(round.servers)).collect::<Vec<_>>(), 0.5);
    let (Some(early), Some(late), Some(servers)) = (quantile(&firsts, 0.25), quantile(&firsts, 0.75), servers) else {
        return 0;
    };
    if firsts.len() < 5 { 0 } else { (late - early).saturating_mul(servers + 1) / 11 * 10 }
}

/// Those that nothing held up: not much longer than the least.
fn usual(firsts: &[u64]) -> Vec<u64> {
    let least = firsts.iter().copied().min().unwrap_or(0);
    firsts.iter().copied().filter(|took| *took <= 3 * least + WORK / 5).collect()
}

/// The rate that links have and the framing under which what was measured is one, where there are such.
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

/// What the queue holds: what stayed in a router that was captured on both sides; else by what had come in a row when a packet was lost,
/// and by how long packets must have waited.
fn buffer(host: &Host, line: &Line, rounds: &[&Record], faulty: bool) -> Option<(u64, u64, How)> {
    let held = |ns: u64| (line.bytes_per_s * ns as f64 / 1e9) as u64;
    let lost = rounds.iter().any(|round| round.lost > 0) || host.lost > 0;
    if host.inside.count() > 100 {
        // What stayed longer waited for the router's processor, too.
        let [least, most] = [0.9, 0.95].map(|share| held(host.inside.quantile(share).unwrap_or(0)));
        return lost.then_some((least, most, How::Measured));
    }
    let rows: Vec<&(Row, u64)> = host.losses.iter().filter(|(row, _)| row.packets > SHORT).collect();
    if faulty || rows.len() < 3 {
        return None;
    }
    // Servers' links, where they are as fast as the client's, fill its queue no faster than all of them together: by then one part in
    // as many as they are had left it again.
    let servers = quantile(&rounds.iter().map(|round| u64::from(round.servers)).collect::<Vec<_>>(), 0.5)?;
    // Nor can what came behind the loss have waited for longer than since the quickest server might have sent it.
    let quickest = host.firsts.quantile(0.0).unwrap_or(0);
    let bound = |(row, asked): &&(Row, u64)| {
        let left = if servers > 1 { row.bytes / servers } else { 0 };
        (row.bytes - left).min(held(asked.saturating_sub(quickest)).max(u64::from(SHORT) * 1_500))
    };
    let mut bounds: Vec<u64> = rows.iter().map(bound).collect();
    bounds.sort_unstable();
    let most = bounds[bounds.len() / 10];
    // How much of a row had left before a packet was lost is not known well.
    let by_rows = (most / 2, most + most / 20);
    // Stamps tell how long packets waited: where losses are, some did so in a queue that was all but full, and hosts were late with
    // others. No longer than rows allow, or the stamps are not as RFC 7323 has them.
    let [least, longest] = [0.9, 0.99].map(|share| held(host.waited.quantile(share).unwrap_or(0)));
    let by_stamps = (least, (longest + longest / 10).min(bounds[bounds.len() / 2]));
    let stamped = host.waited.count() >= ENOUGH_WAITS && by_stamps.0 < by_stamps.1;
    let both = (by_rows.0.max(by_stamps.0), by_rows.1.min(by_stamps.1));
    let (least, most) = match () {
        () if stamped && both.0 < both.1 => both,
        // Each sees a part of the queue: who sees more of it is right.
        () if stamped && by_stamps.0 > by_rows.0 => by_stamps,
        () => by_rows,
    };
    Some((least, most, How::Inferred))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_a_rate_that_links_have_under_one_framing() {
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
