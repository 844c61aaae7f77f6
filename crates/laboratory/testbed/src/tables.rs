//! Tables of a measured run.

use fanin_driver::Record;
use fanin_fabric::{Fabric, LinkId};
use fanin_tables::{Counter, Engine, PortRow, RunTables, StallRow, Totals};

use crate::counters::Counts;
use crate::network::PortCounts;

/// The tables of applications' measurements and of what the kernel has counted; without stalls if they were not measured.
pub fn tables(
    fabric: &Fabric,
    record: Record,
    counts: &Counts,
    stalls: Option<Vec<StallRow>>,
    payload_before: u64,
) -> RunTables {
    let unmeasured = stalls.is_none().then_some(Counter::Stalls).into_iter().chain([Counter::Queues]).collect();
    let stalls = stalls.unwrap_or_default();
    let events = &counts.events;
    let ports = counts.ports.iter().map(|(_, port)| port);
    let rounds = record.queries.iter().filter(|query| query.qct_ps.is_some()).count() as u64;
    let totals = Totals {
        payload_bytes: record.payload_bytes.saturating_sub(payload_before),
        measured_ps: record.measured.0,
        data_packets: events.segments,
        timeouts: events.timeouts,
        fast_retransmits: events.recoveries,
        probes: events.probes,
        retransmits: events.retransmits,
        drops: ports.clone().map(|port| port.drops).sum(),
        marks: ports.map(|port| port.marks).sum(),
        rounds,
        rounds_open: record.queries.len() as u64 - rounds,
        stalls: stalls.len() as u64,
        stalled_ps: stalls.iter().map(|stall| stall.took_ps).sum(),
        ..Totals::default()
    };
    let Record {
        flows,
        queries,
        tasks,
        collectives,
        ranks,
        rank_series,
        requests,
        hubs,
        hub_speeds,
        gathering,
        service,
        ..
    } = record;
    let engine = Engine { busy_thousandths: (counts.busy() * 1e3).round() as u64, ..Engine::default() };
    RunTables {
        totals,
        engine,
        flows,
        queries,
        stalls,
        tasks,
        collectives,
        ranks,
        rank_series,
        requests,
        hubs,
        hub_speeds,
        gathering,
        service,
        ports: counts
            .ports
            .iter()
            .filter(|(_, port)| port.packets > 0)
            .map(|(link, port)| row(fabric, *link, port))
            .collect(),
        unmeasured,
        ..RunTables::default()
    }
}

fn row(fabric: &Fabric, link: LinkId, counts: &PortCounts) -> PortRow {
    PortRow {
        port: fabric.link_name(link),
        tier: fabric.tier(link).into(),
        packets: counts.packets,
        wire_bytes: counts.bytes,
        drops_full: counts.drops,
        marks: counts.marks,
        ..PortRow::default()
    }
}
