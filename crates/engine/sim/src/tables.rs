//! Tables of a run, from its counters.

use fanin_driver::{EndpointId, Record, View};
use fanin_fabric::LinkId;
use fanin_tables::{ClassRow, Engine, PortRow, QueuePairRow, RunTables, StallRow, Totals};
use fanin_transport::Transport;

use crate::link::Link;
use crate::net::Net;
use crate::probe::Probe;
use crate::since::{PairCounts, PortSums, counts_by_class};
use crate::stalls::Stall;
use crate::world::World;

/// The tables of a run so far, with its application's measurements.
pub(crate) fn tables<P: Probe, T: Transport>(world: &World<P, T>, record: Record) -> RunTables {
    let totals = totals(world, &record);
    let engine = Engine { events: world.events, packet_hops: world.net.hops, ..Engine::default() };
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
    let ports = ports(world);
    let latency = world.latencies.as_ref().map_or(Vec::new(), |latencies| latencies.rows());
    let faults = world.net.fault_rows(&world.since.faults);
    let cards = world.net.card_rows(&world.since.cards);
    let classes = classes(world);
    let queue_pairs = queue_pairs(world);
    let pauses = world.net.pauses.rows(world.now, &world.net.fabric);
    let deadlocks = world.net.pauses.deadlocks(world.now, world.measured_from(), &world.net.fabric, &world.net.links);
    let (fabric, occupancy) = (&world.net.fabric, world.net.probe.occupancy());
    let port_series = occupancy.map_or(Vec::new(), |occupancy| occupancy.rows(fabric));
    let memories = occupancy.map_or(Vec::new(), |occupancy| occupancy.memories(fabric));
    let memory_series = occupancy.map_or(Vec::new(), |occupancy| occupancy.memory_series(fabric));
    let holders = occupancy.map_or(Vec::new(), |occupancy| occupancy.holders(fabric));
    let began = world.measured_from();
    let stall = |stall: &Stall| StallRow {
        client_host: stall.client.0,
        start_ps: stall.from.since(began).0,
        took_ps: stall.to.since(stall.from).0,
        cause: stall.cause,
        from_host: stall.by.map(|host| host.0.into()),
    };
    RunTables {
        totals,
        flows,
        queries,
        stalls: world.evidence().all().iter().map(stall).collect(),
        tasks,
        collectives,
        ranks,
        rank_series,
        requests,
        hubs,
        hub_speeds,
        gathering,
        service,
        latency,
        ports,
        faults,
        cards,
        classes,
        queue_pairs,
        pauses,
        deadlocks,
        port_series,
        memories,
        memory_series,
        holders,
        engine,
        ..RunTables::default()
    }
}

/// The totals only.
pub(crate) fn totals<P: Probe, T: Transport>(world: &World<P, T>, record: &Record) -> Totals {
    let since = &world.since;
    let [own, beside] = world.sockets.sums();
    let [own, beside] = [own.since(since.sums[0]), beside.since(since.sums[1])];
    let all = own.and(beside);
    let counts =
        || world.net.links.iter().zip(world.net.fabric.link_ids()).map(|(link, id)| since.port(id, link).counts);
    let dropped_before: u64 = since.ports.iter().map(|port| port.counts.drops()).sum();
    let lost_before: u64 = since.faults.values().map(|met| met.lost + met.crashed).sum();
    let in_cards_before: u64 = since.cards.values().map(|card| card.drops).sum();
    let doubled_before: u64 = since.faults.values().map(|met| met.duplicated).sum();
    let stalls = world.evidence().all();
    Totals {
        payload_bytes: record.payload_bytes - since.payload,
        measured_ps: record.measured.0,
        data_packets: all.data_packets,
        timeouts: all.timeouts,
        fast_retransmits: all.fast_retransmits,
        probes: all.probes,
        retransmits: all.retransmits,
        drops: counts().map(|c| c.drops()).sum(),
        marks: counts().map(|c| c.marks).sum(),
        rounds: record.queries.iter().filter(|query| query.qct_ps.is_some()).count() as u64,
        rounds_open: record.queries.iter().filter(|query| query.qct_ps.is_none()).count() as u64,
        stalls: stalls.len() as u64,
        stalled_ps: stalls.iter().map(|stall| stall.to.since(stall.from).0).sum(),
        incasts: world.net.incasts.count - since.incasts,
        background_bytes: beside.delivered,
        background_timeouts: beside.timeouts,
        background_fast_retransmits: beside.fast_retransmits,
        background_drops: world.net.beside_drops - since.beside_drops,
        queue_max_bytes: longest_queue(world),
        // Packets in flight at the start of the measured time count as sent in it, so that packets are conserved.
        injected_packets: world.net.injected + doubled_before
            - (since.delivered_packets + dropped_before + in_cards_before + lost_before),
        delivered_packets: world.net.delivered - since.delivered_packets,
        in_flight_packets: world.net.in_flight(),
    }
}

/// The longest queue at the port where the workload's traffic converges.
fn longest_queue<P: Probe, T: Transport>(world: &World<P, T>) -> u64 {
    let (fabric, links) = (&world.net.fabric, &world.net.links);
    let longest = |link: LinkId| links[link.index()].queue_max_bytes;
    match world.config().clients.converge_at.as_slice() {
        [] => {
            let at_switches = fabric.link_ids().filter(|&link| !fabric.is_host(fabric.link(link).from));
            at_switches.map(longest).max().unwrap_or(0)
        }
        hosts => hosts.iter().flat_map(|&host| fabric.downlinks(host)).map(longest).max().unwrap_or(0),
    }
}

fn queue_pairs<P: Probe, T: Transport>(world: &World<P, T>) -> Vec<QueuePairRow> {
    let row = |(id, now): (EndpointId, PairCounts)| {
        let before = world.since.pairs.get(&id).copied().unwrap_or_default();
        let sums = now.sums.since(before.sums);
        let [from_host, to_host] = world.hosts_of(id).map(|host| host.0.into());
        QueuePairRow {
            from_host,
            to_host,
            delivered_bytes: now.delivered - before.delivered,
            resent_packets: sums.retransmits,
            nacks: sums.fast_retransmits,
            timeouts: sums.timeouts,
            notifications: now.notified - before.notified,
        }
    };
    world.pairs().map(row).collect()
}

fn classes<P: Probe, T: Transport>(world: &World<P, T>) -> Vec<ClassRow> {
    let Net { fabric, links, pauses, .. } = &world.net;
    let mut rows = Vec::new();
    for (id, now) in counts_by_class(links, fabric.link_ids()) {
        let before = world.since.classes.get(&id).copied().unwrap_or_default();
        let counts = now.iter().zip(&before).map(|(now, before)| now.since(before)).collect::<Vec<_>>();
        let all: u64 = counts.iter().map(|counts| counts.wire_bytes).sum();
        for (class, counts) in counts.iter().enumerate().filter(|(_, counts)| counts.packets + counts.drops > 0) {
            let (pauses, paused) = pauses.of_class(world.now, id, class as u8);
            rows.push(ClassRow {
                port: fabric.link_name(id),
                class: class as u64,
                packets: counts.packets,
                wire_bytes: counts.wire_bytes,
                share_ppm: (u128::from(counts.wire_bytes) * 1_000_000 / u128::from(all.max(1))) as u64,
                drops: counts.drops,
                marks: counts.marks,
                queue_max_bytes: links[id.index()].classes().map_or(0, |classes| classes.longest(class)),
                pauses,
                paused_ps: paused.0,
            });
        }
    }
    rows
}

fn ports<P: Probe, T: Transport>(world: &World<P, T>) -> Vec<PortRow> {
    let Net { fabric, links, probe, .. } = &world.net;
    let sums = links.iter().zip(fabric.link_ids()).map(|(link, id)| (link, id, world.since.port(id, link)));
    let used = sums.filter(|(_, _, sums)| sums.packets + sums.counts.drops() > 0);
    let whole = |id: LinkId| probe.occupancy().map(|occupancy| occupancy.whole(id));
    let row = |(link, id, sums): (&Link, LinkId, PortSums)| PortRow {
        port: fabric.link_name(id),
        tier: fabric.tier(id).into(),
        packets: sums.packets,
        data_packets: sums.data_packets,
        wire_bytes: sums.wire_bytes,
        drops_full: sums.counts.drops_full,
        drops_early: sums.counts.drops_early,
        drops_not_ect: sums.counts.drops_not_ect,
        drops_down: sums.counts.drops_down,
        marks: sums.counts.marks,
        queue_max_bytes: link.queue_max_bytes,
        queue_mean_bytes: whole(id).map(|whole| whole.queue_mean_bytes),
        queue_p99_bytes: whole(id).map(|whole| whole.queue_p99_bytes),
        busy_ppm: whole(id).map(|whole| whole.busy_ppm),
    };
    used.map(row).collect()
}
