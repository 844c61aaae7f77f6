//! Figures of queue pairs over ports that drop.

use std::collections::BTreeMap;

use fanin_spec::Settings;
use fanin_tables::{PortRow, QueuePairRow, RunTables};

/// Share of the time for which the client's link carried frames, without preambles and gaps, as counters of cards count them.
pub(crate) fn wire_share(s: &Settings, run: &RunTables) -> Option<f64> {
    let into_client = |row: &&PortRow| row.port.ends_with(">client");
    let (bytes, packets) = run
        .ports
        .iter()
        .filter(into_client)
        .fold((0, 0), |(bytes, packets), row| (bytes + row.wire_bytes, packets + row.packets));
    let frames = bytes - packets * u64::from(s.link.framing.gap);
    let rate = s.link.client_rate.0.unwrap_or(s.link.rate);
    let seconds = run.totals.measured_ps as f64 / 1e12;
    (!run.queue_pairs.is_empty() && seconds > 0.0).then(|| frames as f64 * 8.0 / (rate.0 as f64 * seconds))
}

/// Packets that ports and cards dropped.
fn lost(run: &RunTables) -> u64 {
    run.totals.drops + run.cards.iter().map(|card| card.drops).sum::<u64>()
}

fn resent(run: &RunTables) -> u64 {
    run.queue_pairs.iter().map(|row| row.resent_packets).sum()
}

/// Lost packets per packet that hosts sent.
pub(crate) fn lost_share(_: &Settings, run: &RunTables) -> Option<f64> {
    let sent: u64 = run.ports.iter().filter(|row| row.tier == "host up").map(|row| row.data_packets).sum();
    (!run.queue_pairs.is_empty() && sent > 0).then(|| lost(run) as f64 / sent as f64)
}

/// Packets sent again for each lost one.
pub(crate) fn resent_per_lost(_: &Settings, run: &RunTables) -> Option<f64> {
    let lost = lost(run);
    (!run.queue_pairs.is_empty() && lost > 0).then(|| resent(run) as f64 / lost as f64)
}

/// The smallest share of a sending host in all delivered bytes.
pub(crate) fn sender_share_min(_: &Settings, run: &RunTables) -> Option<f64> {
    let mut of: BTreeMap<u64, u64> = BTreeMap::new();
    for QueuePairRow { from_host, delivered_bytes, .. } in &run.queue_pairs {
        *of.entry(*from_host).or_default() += delivered_bytes;
    }
    let all: u64 = of.values().sum();
    let least = of.into_values().min()?;
    (all > 0).then(|| least as f64 / all as f64)
}

/// Congestion notifications per second of each queue pair that received any.
pub(crate) fn cnps_per_qp_s(_: &Settings, run: &RunTables) -> Option<f64> {
    let notified = || run.queue_pairs.iter().map(|row| row.notifications).filter(|&count| count > 0);
    let seconds = run.totals.measured_ps as f64 / 1e12;
    let pairs = notified().count().max(1) as f64;
    (!run.queue_pairs.is_empty() && seconds > 0.0).then(|| notified().sum::<u64>() as f64 / pairs / seconds)
}

#[cfg(test)]
mod tests {
    use fanin_tables::CardRow;

    use super::*;

    /// Two hosts that sent 500 packets each in a millisecond: 10 were lost at a port and 6 in the card, and 240 were sent again.
    fn run() -> RunTables {
        let up =
            |port: &str| PortRow { port: port.into(), tier: "host up".into(), data_packets: 500, ..PortRow::default() };
        let into = PortRow { port: "switch>client".into(), packets: 1_000, wire_bytes: 120_000, ..PortRow::default() };
        let pair = |from_host, delivered_bytes, notifications| QueuePairRow {
            from_host,
            delivered_bytes,
            notifications,
            resent_packets: 80,
            ..QueuePairRow::default()
        };
        let mut run = RunTables {
            ports: vec![up("server1>switch"), up("server2>switch"), into],
            cards: vec![CardRow { drops: 6, ..CardRow::default() }],
            queue_pairs: vec![pair(1, 30, 2), pair(1, 10, 4), pair(2, 60, 0)],
            ..RunTables::default()
        };
        (run.totals.measured_ps, run.totals.drops) = (1_000_000_000, 10);
        run
    }

    #[test]
    fn figures_follow_from_the_tables() {
        let (run, mut s) = (run(), Settings::default());
        s.link.rate = fanin_units::Rate(1_000_000_000);
        // 20 B of each packet are its gap.
        assert_eq!(wire_share(&s, &run), Some(0.8));
        assert_eq!(lost_share(&s, &run), Some(0.016));
        assert_eq!(resent_per_lost(&s, &run), Some(15.0));
        assert_eq!(sender_share_min(&s, &run), Some(0.4));
        assert_eq!(cnps_per_qp_s(&s, &run), Some(3_000.0), "six in a millisecond, of two queue pairs");
    }

    #[test]
    fn other_runs_have_none() {
        let (run, s) = (RunTables { queue_pairs: Vec::new(), ..run() }, Settings::default());
        let all = [wire_share, lost_share, resent_per_lost, sender_share_min, cnps_per_qp_s];
        assert!(all.iter().all(|figure| figure(&s, &run).is_none()));
    }
}
