//! Ports by tier: how full they are, how busy, and what they drop and mark.

use fanin_spec::{PortRow, RunTables, TIERS};

use crate::catalogue::figures;
use crate::stats::{mean, six_digits};

figures! {
    /// The ports of one tier that carried packets, at one point.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Tier {} {
        /// The tier, such as `leaf down`: ports from leaf switches to hosts.
        tier: &'static str, "text";
        /// Its ports that carried packets, mean over seeds.
        ports: f64, "count";
        /// The queue over time, mean over ports and seeds.
        queue_mean_bytes: f64, "B";
        /// Its 99th percentile over time at the port where that is largest, over all seeds.
        queue_p99_bytes: u64, "B";
        /// The longest queue of any of them, over all seeds.
        queue_max_bytes: u64, "B";
        /// The share of the run for which a link was sending, mean over ports and seeds.
        busy_share: f64, "share";
        /// That of the busiest link, over all seeds.
        busiest_share: f64, "share";
        /// Bytes that all of them took, mean over seeds, as are the counts below.
        wire_bytes: f64, "B";
        /// Packets that found no room.
        drops_full: f64, "count";
        /// Packets that the law dropped early.
        drops_early: f64, "count";
        /// Packets that would have been marked and were not ECN-capable.
        drops_not_ect: f64, "count";
        /// Packets that waited as the link failed, or came while it was down.
        drops_down: f64, "count";
        /// Packets marked.
        marks: f64, "count";
    }
}

/// The tiers of a point, in the order in which a packet comes to them; none where ports were not measured.
pub(crate) fn tiers(runs: &[&RunTables]) -> Vec<Tier> {
    TIERS.iter().filter_map(|tier| of_tier(tier, runs)).collect()
}

fn of_tier(tier: &'static str, runs: &[&RunTables]) -> Option<Tier> {
    let all: Vec<&PortRow> = runs
        .iter()
        .flat_map(|run| &run.ports)
        .filter(|port| port.tier == tier && port.queue_mean_bytes.is_some())
        .collect();
    let over_ports = |pick: fn(&PortRow) -> Option<u64>| {
        let values: Vec<f64> = all.iter().map(|port| pick(port).unwrap_or(0) as f64).collect();
        mean(&values)
    };
    let a_run = |sum: u64| six_digits(sum as f64 / runs.len() as f64);
    let sum = |pick: fn(&PortRow) -> u64| a_run(all.iter().map(|port| pick(port)).sum());
    let most = |pick: fn(&PortRow) -> Option<u64>| all.iter().filter_map(|port| pick(port)).max().unwrap_or(0);
    Some(Tier {
        tier,
        ports: a_run(all.len() as u64),
        queue_mean_bytes: six_digits(over_ports(|port| port.queue_mean_bytes)?),
        queue_p99_bytes: most(|port| port.queue_p99_bytes),
        queue_max_bytes: most(|port| Some(port.queue_max_bytes)),
        busy_share: six_digits(over_ports(|port| port.busy_ppm)? / 1e6),
        busiest_share: six_digits(most(|port| port.busy_ppm) as f64 / 1e6),
        wire_bytes: sum(|port| port.wire_bytes),
        drops_full: sum(|port| port.drops_full),
        drops_early: sum(|port| port.drops_early),
        drops_not_ect: sum(|port| port.drops_not_ect),
        drops_down: sum(|port| port.drops_down),
        marks: sum(|port| port.marks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(tier: &str, queue: u64, busy_ppm: u64) -> PortRow {
        PortRow {
            tier: tier.into(),
            drops_full: 3,
            marks: queue,
            queue_max_bytes: 9 * queue,
            queue_mean_bytes: Some(queue),
            queue_p99_bytes: Some(4 * queue),
            busy_ppm: Some(busy_ppm),
            ..PortRow::default()
        }
    }

    #[test]
    fn tiers_stand_in_the_order_of_a_packets_way_with_means_over_ports_and_seeds() {
        let run = |ports| RunTables { ports, ..RunTables::default() };
        let one = run(vec![port("leaf down", 10, 200_000), port("host up", 0, 0), port("leaf down", 20, 400_000)]);
        let other = run(vec![port("leaf down", 60, 900_000), port("host up", 2, 0)]);
        let found = tiers(&[&one, &other]);
        assert_eq!(found.iter().map(|tier| tier.tier).collect::<Vec<_>>(), ["host up", "leaf down"]);
        let leaf = &found[1];
        assert_eq!(
            (leaf.ports, leaf.queue_mean_bytes, leaf.queue_p99_bytes, leaf.queue_max_bytes),
            (1.5, 30.0, 240, 540)
        );
        assert_eq!((leaf.busy_share, leaf.busiest_share, leaf.drops_full, leaf.marks), (0.5, 0.9, 4.5, 45.0));
    }

    #[test]
    fn ports_that_were_not_measured_give_no_tiers() {
        let bare = PortRow { queue_mean_bytes: None, ..port("host up", 1, 1) };
        assert!(tiers(&[&RunTables { ports: vec![bare], ..RunTables::default() }]).is_empty());
    }
}
