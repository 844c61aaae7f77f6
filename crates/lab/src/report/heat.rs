//! Ports over one run of a scheme: the fullest of them, tier by tier.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fanin_spec::{PortPartRow, PortRow, RunSpec, RunTables, TIERS};

use super::points::round_to;
use crate::axis::place_of;

/// A row a port, a column a part of the run.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Heat {
    scheme: String,
    /// Where in the sweep, in words.
    at: String,
    seed: u64,
    /// What a switch port holds, as the scenario says it and in bytes.
    buffer: String,
    buffer_bytes: u64,
    /// How long a part is.
    span_ms: f64,
    /// In the order of the tiers.
    ports: Vec<HeatRow>,
    /// Ports that carried packets and have no row here.
    left_out: usize,
}

/// A port, with a value a part.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct HeatRow {
    port: String,
    tier: String,
    mean_bytes: Vec<u64>,
    max_bytes: Vec<u64>,
    busy_percent: Vec<u64>,
}

/// So many ports are drawn.
const SHOWN: usize = 32;

impl Heat {
    /// `None` where ports were not measured, or none had a queue.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Heat> {
        let span_ps = tables.port_series.first()?.span_ps;
        let number = |part: &PortPartRow| (part.time_ps / span_ps) as usize;
        let count = tables.port_series.iter().map(number).max()? + 1;
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
                mean_bytes: column(|part| part.queue_mean_bytes),
                max_bytes: column(|part| part.queue_max_bytes),
                busy_percent: column(|part| (part.busy_ppm + 5_000) / 10_000),
            }
        };
        Some(Heat {
            scheme: spec.label.clone(),
            at: place_of(spec),
            seed: spec.seed,
            buffer: spec.settings.client_buffer().to_string(),
            buffer_bytes: spec.settings.in_bytes(spec.settings.client_buffer()),
            span_ms: round_to(span_ps as f64 / 1e9, 1e-6),
            ports: ports.into_iter().map(row).collect(),
            left_out,
        })
    }
}

/// The ports with the largest mean queues, tier by tier; none that never had a queue. No tier crowds out another.
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
    // Beyond its share, a tier has what others leave.
    ranked.sort_by_key(|(rank, _)| *rank >= share);
    ranked.truncate(SHOWN);
    ranked.sort_by_key(|(rank, port)| (TIERS.iter().position(|tier| *tier == port.tier), *rank));
    ranked.into_iter().map(|(_, port)| port).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::run;
    use super::*;

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
    fn the_fullest_ports_of_each_tier_are_drawn_and_the_others_are_counted() {
        let tier = |n| if n < 3 { "leaf up" } else { ["leaf down", "host up"][(n / 30) as usize] };
        let heat = heat((0..60).map(|n| port(n, tier(n))).collect(), vec![part("p39", 0, 7)]).expect("measured");
        assert_eq!((heat.ports.len(), heat.left_out), (32, 28));
        let names = |tier: &str| {
            let own: Vec<&str> = heat.ports.iter().filter(|row| row.tier == tier).map(|row| &*row.port).collect();
            (own.len(), own[0].to_string(), own[own.len() - 1].to_string())
        };
        // Ten rows a tier; the leaves' ways up, of which one never had a queue, leave eight to the fullest of the others.
        assert_eq!(names("host up"), (20, "p59".into(), "p40".into()));
        assert_eq!(names("leaf up"), (2, "p2".into(), "p1".into()));
        assert_eq!(names("leaf down"), (10, "p29".into(), "p20".into()));
        assert_eq!(heat.ports[0].port, "p59");
    }

    #[test]
    fn parts_without_a_row_are_empty() {
        let series = vec![part("p1", 0, 7), part("p1", 8, 9)];
        let heat = heat(vec![port(1, "host up")], series).expect("measured");
        let row = &heat.ports[0];
        assert_eq!((&row.mean_bytes[..], &row.max_bytes[..]), (&[7, 0, 9][..], &[14, 0, 18][..]));
        assert_eq!((&row.busy_percent[..], heat.span_ms), (&[100, 0, 100][..], 4.0));
    }

    #[test]
    fn ports_that_were_not_measured_are_not_drawn() {
        assert!(heat(vec![port(1, "host up")], Vec::new()).is_none());
    }
}
