//! Shared memories of switches: their use, and the ports that held them when packets were refused.

use std::collections::BTreeMap;

use fanin_tables::{MemoryRow, RunTables};

use crate::catalogue::figures;
use crate::stats::{mean, six_digits};

figures! {
    /// The shared memories of all switches, at one point.
    #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Memories {} {
        /// Number of memories, mean over seeds.
        switches: f64, "count";
        /// Time-averaged share of the shared memory in use, mean over switches and seeds.
        used_mean_share: f64, "share";
        /// 99th percentile over time at the switch where it is largest, over all seeds.
        used_p99_share: f64, "share";
        /// Maximum at any switch, over all seeds.
        used_max_share: f64, "share";
        /// Packets refused because their port had reached its threshold, mean over seeds.
        refused_packets: f64, "count";
        /// The port with most packets refused because of other ports; absent without refusals.
        squeezed: Option<Squeezed>, "object";
    }
}

figures! {
    /// A port that refused packets.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Squeezed {} {
        /// Port with most packets refused because of other ports.
        port: String, "text";
        /// Packets that it refused, mean over seeds.
        refused_packets: f64, "count";
        /// Share of the used memory that other ports held when they arrived, mean over these packets.
        elsewhere_share: f64, "share";
        /// Port that held most.
        holder: String, "text";
        /// Its share of the shared memory, mean over these packets.
        holder_share: f64, "share";
    }
}

/// The memories of a point; `None` if ports share none, or were not measured.
pub(crate) fn memories(runs: &[&RunTables]) -> Option<Memories> {
    let all: Vec<&MemoryRow> = runs.iter().flat_map(|run| &run.memories).collect();
    let a_run = |sum: u64| six_digits(sum as f64 / runs.len() as f64);
    let share = |row: &MemoryRow, bytes: u64| bytes as f64 / row.shared_bytes.max(1) as f64;
    let most = |pick: fn(&MemoryRow) -> u64| all.iter().map(|row| share(row, pick(row))).fold(0.0, f64::max);
    let means: Vec<f64> = all.iter().map(|row| share(row, row.used_mean_bytes)).collect();
    Some(Memories {
        switches: a_run(all.len() as u64),
        used_mean_share: six_digits(mean(&means)?),
        used_p99_share: six_digits(most(|row| row.used_p99_bytes)),
        used_max_share: six_digits(most(|row| row.used_max_bytes)),
        refused_packets: a_run(all.iter().map(|row| row.refused_packets).sum()),
        squeezed: squeezed(runs),
    })
}

/// The port with most refused packets, each weighted by the share that other ports held.
fn squeezed(runs: &[&RunTables]) -> Option<Squeezed> {
    #[derive(Default)]
    struct Sums<'a> {
        packets: u64,
        all: f64,
        elsewhere: f64,
        holders: BTreeMap<&'a str, f64>,
    }
    let mut ports: BTreeMap<&str, Sums<'_>> = BTreeMap::new();
    for run in runs {
        for rows in run.holders.chunk_by(|a, b| a.port == b.port) {
            let sums = ports.entry(&rows[0].port).or_default();
            sums.packets += rows[0].refused_packets;
            for row in rows {
                let held = row.held_mean_bytes as f64 * row.refused_packets as f64;
                sums.all += held;
                *sums.holders.entry(&row.holder).or_default() += held;
                sums.elsewhere += if row.holder == row.port { 0.0 } else { held };
            }
        }
    }
    let share = |sums: &Sums<'_>| if sums.all > 0.0 { sums.elsewhere / sums.all } else { 0.0 };
    let lost = |sums: &Sums<'_>| (share(sums) * sums.packets as f64, sums.packets as f64);
    let (port, sums) = ports.iter().reduce(|a, b| if lost(b.1) > lost(a.1) { b } else { a })?;
    let (holder, held) = sums.holders.iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let of = |row: &&MemoryRow| port.strip_prefix(row.switch.as_str()).is_some_and(|rest| rest.starts_with('>'));
    let shared = runs.iter().flat_map(|run| &run.memories).find(of)?.shared_bytes;
    Some(Squeezed {
        port: port.to_string(),
        refused_packets: six_digits(sums.packets as f64 / runs.len() as f64),
        elsewhere_share: six_digits(share(sums)),
        holder: holder.to_string(),
        holder_share: six_digits(held / sums.packets.max(1) as f64 / shared.max(1) as f64),
    })
}

#[cfg(test)]
mod tests {
    use fanin_tables::HolderRow;

    use super::*;

    fn memory(shared_bytes: u64, used: [u64; 3], refused_packets: u64) -> MemoryRow {
        let [used_mean_bytes, used_p99_bytes, used_max_bytes] = used;
        MemoryRow {
            shared_bytes,
            used_mean_bytes,
            used_p99_bytes,
            used_max_bytes,
            refused_packets,
            ..MemoryRow::default()
        }
    }

    fn held(port: &str, holder: &str, refused_packets: u64, held_mean_bytes: u64) -> HolderRow {
        HolderRow { port: port.into(), holder: holder.into(), refused_packets, held_mean_bytes }
    }

    #[test]
    fn shares_refer_to_the_shared_memory() {
        let memories = [memory(1_000, [100, 400, 800], 30), memory(2_000, [600, 1_000, 1_200], 0)];
        let one = RunTables { memories: memories[..1].into(), ..RunTables::default() };
        let other = RunTables { memories: memories[1..].into(), ..RunTables::default() };
        let found = super::memories(&[&one, &other]).expect("measured");
        assert_eq!((found.switches, found.refused_packets, found.squeezed), (1.0, 15.0, None));
        assert_eq!((found.used_mean_share, found.used_p99_share, found.used_max_share), (0.2, 0.5, 0.8));
    }

    #[test]
    fn finds_the_port_that_loses_most_to_others() {
        // At a, 10 packets found 300 B at b and 100 at a; at b, 50 found all of 400 B at b itself.
        let holders = vec![held("s>a", "s>b", 10, 300), held("s>a", "s>a", 10, 100), held("s>b", "s>b", 50, 400)];
        let memories = vec![MemoryRow { switch: "s".into(), ..memory(500, [0; 3], 60) }];
        let run = RunTables { holders, memories, ..RunTables::default() };
        let same = squeezed(&[&run, &RunTables::default()]).expect("two ports");
        let (port, holder) = ("s>a".into(), "s>b".into());
        let right = Squeezed { port, refused_packets: 5.0, elsewhere_share: 0.75, holder, holder_share: 0.6 };
        assert_eq!(same, right);
    }

    #[test]
    fn ports_that_share_nothing_have_no_memories() {
        assert_eq!(memories(&[&RunTables::default()]), None);
    }
}
