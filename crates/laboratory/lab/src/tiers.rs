//! Ports by tier: queue lengths, utilisation, drops and marks.

use fanin_spec::TIERS;
use fanin_tables::{PortRow, RunTables};

use crate::catalogue::figures;
use crate::stats::{mean, six_digits};

figures! {
    /// The ports of one tier that carried packets, at one point.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Tier {} {
        /// Tier, such as `leaf down`: ports from leaf switches to hosts.
        tier: &'static str, "text";
        /// Number of its ports that carried packets, mean over seeds.
        ports: f64, "count";
        /// Time-averaged queue, mean over ports and seeds.
        queue_mean_bytes: f64, "B";
        /// 99th percentile of the queue over time at the port where it is largest, over all seeds.
        queue_p99_bytes: u64, "B";
        /// Longest queue of any port, over all seeds.
        queue_max_bytes: u64, "B";
        /// Share of the run in which a link was sending, mean over ports and seeds.
        busy_share: f64, "share";
        /// Share of the busiest link, over all seeds.
        busiest_share: f64, "share";
        /// Bytes that all ports admitted, mean over seeds, as for the counts below.
        wire_bytes: f64, "B";
        /// Packets dropped because the queue was full.
        drops_full: f64, "count";
        /// Packets dropped early by the queue discipline.
        drops_early: f64, "count";
        /// Packets dropped instead of marked because they were not ECN-capable.
        drops_not_ect: f64, "count";
        /// Packets queued when the link failed, or arriving while it was down.
        drops_down: f64, "count";
        /// Packets marked.
        marks: f64, "count";
    }
}

/// The tiers of a point, in the order of a packet's path; empty if ports were not measured.
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
    fn tiers_follow_the_path_with_means_over_ports_and_seeds() {
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
    fn unmeasured_ports_have_no_tiers() {
        let bare = PortRow { queue_mean_bytes: None, ..port("host up", 1, 1) };
        assert!(tiers(&[&RunTables { ports: vec![bare], ..RunTables::default() }]).is_empty());
    }
}
