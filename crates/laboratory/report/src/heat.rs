//! Heat map of ports in one run of a scheme: the fullest of each tier, and the memories they share.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fanin_spec::{HostId, RunSpec, TIERS};
use fanin_tables::{HolderRow, MemoryPartRow, MemoryRow, PortPartRow, PortRow, RunTables};
use fanin_units::QueueSize;

use super::points::round_to;
use fanin_lab::place_of;

/// A row per port, a column per time slice.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Heat {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    /// The buffer of a switch port, as in the scenario and in bytes; for lossless ports the memory of the client's switch.
    buffer: String,
    buffer_bytes: u64,
    /// Whether ports pause instead of dropping, so that only the switch's memory bounds their queues.
    lossless: bool,
    /// The length of a slice.
    span_ms: f64,
    /// In tier order.
    ports: Vec<HeatRow>,
    /// Number of active ports without a row here.
    left_out: usize,
    /// Sentences on the holders of a memory at the time of its drops.
    refusals: Vec<String>,
}

/// A port or a switch's shared memory, with one value per slice.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct HeatRow {
    port: String,
    tier: String,
    /// Its capacity.
    full_bytes: u64,
    mean_bytes: Vec<u64>,
    max_bytes: Vec<u64>,
    /// Utilisation of its link; empty for a memory.
    busy_percent: Vec<u64>,
}

/// Maximum number of ports.
const SHOWN: usize = 32;
/// Maximum number of memories, below the ports.
const MEMORIES: usize = 8;
/// Maximum number of ports in `refusals`, and of holders for each.
const REFUSING: usize = 6;
const HOLDERS: usize = 3;

impl Heat {
    /// `None` if ports were not measured, or none had a queue.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Heat> {
        let span_ps = tables.port_series.first()?.span_ps;
        let number = |part: &PortPartRow| (part.time_ps / span_ps) as usize;
        let count = tables.port_series.iter().map(number).max()? + 1;
        let buffer = capacity(spec)?;
        let buffer_bytes = spec.settings.in_bytes(buffer);
        let ports = Some(fullest(&tables.ports)).filter(|ports| !ports.is_empty())?;
        let left_out = tables.ports.len() - ports.len();
        let mut parts: BTreeMap<&str, Vec<&PortPartRow>> = BTreeMap::new();
        for part in &tables.port_series {
            parts.entry(&part.port).or_default().push(part);
        }
        let row = |port: &PortRow| {
            let column = |pick: fn(&PortPartRow) -> u64| {
                let mut values = vec![0; count];
                for part in parts.get(port.port.as_str()).into_iter().flatten() {
                    values[number(part)] = pick(part);
                }
                values
            };
            HeatRow {
                port: port.port.clone(),
                tier: port.tier.clone(),
                full_bytes: buffer_bytes,
                mean_bytes: column(|part| part.queue_mean_bytes),
                max_bytes: column(|part| part.queue_max_bytes),
                busy_percent: column(|part| (part.busy_ppm + 5_000) / 10_000),
            }
        };
        Some(Heat {
            scheme: spec.label.clone(),
            at: place_of(spec),
            seed: spec.seed,
            buffer: buffer.to_string(),
            buffer_bytes,
            lossless: spec.scheme.rdma().is_some(),
            span_ms: round_to(span_ps as f64 / 1e9, 1e-6),
            ports: ports.into_iter().map(row).chain(memories(tables, count)).collect(),
            left_out,
            refusals: refusals(&tables.holders),
        })
    }
}

/// The bound of the queue at the client's port: its limit, or a lossless switch's memory.
fn capacity(spec: &RunSpec) -> Option<QueueSize> {
    let memory = || {
        let fabric = spec.settings.network().ok()?;
        let switch = fabric.link(fabric.downlink(HostId::CLIENT)).from;
        Some(QueueSize::Bytes(spec.settings.memory_of(fabric.links_from(switch).into())))
    };
    spec.settings.client_limit(&spec.scheme).or_else(memory)
}

/// A row per memory, in descending order of mean use.
fn memories(tables: &RunTables, count: usize) -> Vec<HeatRow> {
    let mut fullest: Vec<&MemoryRow> = tables.memories.iter().filter(|memory| memory.used_max_bytes > 0).collect();
    fullest.sort_by_key(|memory| Reverse(memory.used_mean_bytes));
    let row = |memory: &MemoryRow| {
        let mut row = HeatRow {
            port: memory.switch.clone(),
            tier: "shared memory".into(),
            full_bytes: memory.shared_bytes,
            mean_bytes: vec![0; count],
            max_bytes: vec![0; count],
            busy_percent: Vec::new(),
        };
        let own = |part: &&MemoryPartRow| part.switch == memory.switch;
        for part in tables.memory_series.iter().filter(own) {
            let number = (part.time_ps / part.span_ps) as usize;
            (row.mean_bytes[number], row.max_bytes[number]) = (part.used_mean_bytes, part.used_max_bytes);
        }
        row
    };
    fullest.into_iter().take(MEMORIES).map(row).collect()
}

/// A sentence per port that dropped packets for lack of memory, in descending order of drops.
fn refusals(holders: &[HolderRow]) -> Vec<String> {
    let mut ports: Vec<&[HolderRow]> = holders.chunk_by(|a, b| a.port == b.port).collect();
    ports.sort_by_key(|rows| Reverse(rows[0].refused_packets));
    let sentence = |rows: &&[HolderRow]| {
        let all: u64 = rows.iter().map(|row| row.held_mean_bytes).sum();
        let share = |row: &HolderRow| {
            let percent = row.held_mean_bytes as f64 / all.max(1) as f64 * 100.0;
            let who = if row.holder == row.port { "that port itself" } else { &*row.holder };
            format!("{who} {percent:.0} %")
        };
        let (named, rest) = rows.split_at(rows.len().min(HOLDERS));
        let mut shares: Vec<String> = named.iter().map(share).collect();
        if !rest.is_empty() {
            let percent = rest.iter().map(|row| row.held_mean_bytes).sum::<u64>() as f64 / all.max(1) as f64 * 100.0;
            shares.push(format!("{} more ports {percent:.0} %", rest.len()));
        }
        let (port, packets) = (&rows[0].port, rows[0].refused_packets);
        format!(
            "Packets dropped at {port} for lack of memory: {packets}. The memory was held by: {}.",
            shares.join(", ")
        )
    };
    ports.iter().take(REFUSING).map(sentence).collect()
}

/// The ports with the largest mean queues in tier order, none without a queue. Each tier has a share of the rows.
fn fullest(all: &[PortRow]) -> Vec<&PortRow> {
    let mut ports: Vec<&PortRow> = all.iter().filter(|port| port.queue_max_bytes > 0).collect();
    ports.sort_by_key(|port| Reverse((port.queue_mean_bytes, port.busy_ppm)));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, &PortRow)> = Vec::new();
    for port in ports {
        let rank = seen.entry(&port.tier).or_default();
        ranked.push((*rank, port));
        *rank += 1;
    }
    let share = SHOWN / seen.len().max(1);
    // Tiers get rows beyond their share only if others leave some.
    ranked.sort_by_key(|(rank, _)| *rank >= share);
    ranked.truncate(SHOWN);
    ranked.sort_by_key(|(rank, port)| (TIERS.iter().position(|tier| *tier == port.tier), *rank));
    ranked.into_iter().map(|(_, port)| port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::run;

    const MS: u64 = 1_000_000_000;

    fn heat(ports: Vec<PortRow>, port_series: Vec<PortPartRow>) -> Option<Heat> {
        Heat::new(&run("newreno", 40, 1), &RunTables { ports, port_series, ..RunTables::default() })
    }

    fn port(number: u64, tier: &str) -> PortRow {
        let (queue_mean_bytes, queue_max_bytes) = (Some(number), 9 * number);
        PortRow {
            port: format!("p{number}"),
            tier: tier.into(),
            queue_mean_bytes,
            queue_max_bytes,
            ..PortRow::default()
        }
    }

    fn part(port: &str, time_ms: u64, bytes: u64) -> PortPartRow {
        PortPartRow {
            time_ps: time_ms * MS,
            span_ps: 4 * MS,
            port: port.into(),
            queue_mean_bytes: bytes,
            queue_max_bytes: 2 * bytes,
            busy_ppm: 995_000,
        }
    }

    #[test]
    fn draws_the_fullest_ports_of_each_tier() {
        let tier = |n| if n < 3 { "leaf up" } else { ["leaf down", "host up"][(n / 30) as usize] };
        let heat = heat((0..60).map(|n| port(n, tier(n))).collect(), vec![part("p39", 0, 7)]).expect("measured");
        assert_eq!((heat.ports.len(), heat.left_out), (32, 28));
        let names = |tier: &str| {
            let own: Vec<&str> = heat.ports.iter().filter(|row| row.tier == tier).map(|row| &*row.port).collect();
            (own.len(), own[0].to_string(), own[own.len() - 1].to_string())
        };
        // Ten rows per tier; the leaves' uplinks, one of which never had a queue, leave eight to the fullest of the others.
        assert_eq!(names("host up"), (20, "p59".into(), "p40".into()));
        assert_eq!(names("leaf up"), (2, "p2".into(), "p1".into()));
        assert_eq!(names("leaf down"), (10, "p29".into(), "p20".into()));
        assert_eq!(heat.ports[0].port, "p59");
    }

    #[test]
    fn slices_without_a_row_are_empty() {
        let series = vec![part("p1", 0, 7), part("p1", 8, 9)];
        let heat = heat(vec![port(1, "host up")], series).expect("measured");
        let row = &heat.ports[0];
        assert_eq!((&row.mean_bytes[..], &row.max_bytes[..]), (&[7, 0, 9][..], &[14, 0, 18][..]));
        assert_eq!((&row.busy_percent[..], heat.span_ms), (&[100, 0, 100][..], 4.0));
    }

    #[test]
    fn memories_follow_their_ports_with_capacity() {
        let memory =
            MemoryRow { switch: "leaf1".into(), shared_bytes: 900, used_max_bytes: 80, ..MemoryRow::default() };
        let in_part = |time_ms, used_mean_bytes| MemoryPartRow {
            time_ps: time_ms * MS,
            span_ps: 4 * MS,
            switch: "leaf1".into(),
            used_mean_bytes,
            used_max_bytes: 2 * used_mean_bytes,
        };
        let tables = RunTables {
            ports: vec![port(1, "leaf down")],
            port_series: vec![part("p1", 0, 7), part("p1", 8, 9)],
            memories: vec![memory],
            memory_series: vec![in_part(0, 7), in_part(8, 40)],
            ..RunTables::default()
        };
        let heat = Heat::new(&run("newreno", 40, 1), &tables).expect("measured");
        let row = &heat.ports[1];
        assert_eq!((&*row.port, &*row.tier, row.full_bytes), ("leaf1", "shared memory", 900));
        assert_eq!((&row.mean_bytes[..], &row.max_bytes[..]), (&[7, 0, 40][..], &[14, 0, 80][..]));
        assert!(row.busy_percent.is_empty());
    }

    #[test]
    fn names_memory_holders_for_ports_with_the_most_drops() {
        let held = |port: &str, refused_packets, holder: &str, held_mean_bytes| HolderRow {
            port: port.into(),
            refused_packets,
            holder: holder.into(),
            held_mean_bytes,
        };
        let mut rows = vec![held("a", 2, "a", 100)];
        rows.extend([("c", 50), ("b", 30), ("d", 15), ("e", 4), ("f", 1)].map(|(who, bytes)| held("b", 7, who, bytes)));
        assert_eq!(
            refusals(&rows),
            [
                "Packets dropped at b for lack of memory: 7. The memory was held by: c 50 %, that port itself 30 %, d 15 %, \
                 2 more ports 5 %.",
                "Packets dropped at a for lack of memory: 2. The memory was held by: that port itself 100 %.",
            ]
        );
    }

    #[test]
    fn omits_ports_without_measurements() {
        assert!(heat(vec![port(1, "host up")], Vec::new()).is_none());
    }
}
