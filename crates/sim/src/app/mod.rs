//! The applications: who asks whom for what, and what is measured of it.

mod barrier;
mod beside;
mod disk;
mod listed;
mod long;
mod mapreduce;
mod one_shot;
mod poisson;
mod service;
mod shuffle;
mod transfers;
mod warm_up;
mod web_search;

use fanin_spec::{Engine, FlowKind, FlowRow, Kind, PortRow, QueryRow, RunSpec, RunTables, ServiceRow, TaskRow, Totals};
use fanin_units::Time;

use crate::link::Link;
use crate::net::Net;
use crate::probe::Probe;
use crate::since::{PortSums, Sums};
use crate::world::World;

/// What the simulator tells the application. Endpoints are known by their number.
pub(crate) trait App<P> {
    /// The run begins.
    fn start(&mut self, world: &mut World<P>);
    /// A handshake is done at this end.
    fn established(&mut self, world: &mut World<P>, endpoint: u32);
    /// As many bytes are delivered as was asked for.
    fn awake(&mut self, world: &mut World<P>, endpoint: u32);
    /// The peer closed its side.
    fn closed(&mut self, world: &mut World<P>, endpoint: u32);
    /// A timer of [`World::after`] is due.
    fn due(&mut self, world: &mut World<P>, token: u32);
    /// What was measured, at the end of the run.
    fn record(&self, world: &World<P>) -> Record;
}

/// What an application measures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub flows: Vec<FlowRow>,
    pub queries: Vec<QueryRow>,
    pub payload_bytes: u64,
    pub measured: Time,
    pub tasks: Vec<TaskRow>,
    pub service: Vec<ServiceRow>,
}

/// The application of a spec.
pub(crate) fn new<P: Probe + 'static>(spec: &RunSpec) -> Box<dyn App<P>> {
    let workload: Box<dyn App<P>> = match spec.settings.workload.kind {
        Kind::Barrier => Box::new(barrier::Barrier::new(spec)),
        Kind::OneShot => Box::new(one_shot::OneShot::new(spec)),
        Kind::WebSearch => Box::new(web_search::WebSearch::new(spec)),
        Kind::Long => Box::new(long::Long::new(spec)),
        Kind::MapReduce => Box::new(mapreduce::MapReduce::new(spec)),
        Kind::Flows => Box::new(listed::Listed::new(spec)),
        Kind::Shuffle => Box::new(shuffle::Shuffle::new(spec)),
        Kind::Poisson => return Box::new(poisson::Alone::new(spec)),
    };
    let mut guests: Vec<Box<dyn beside::Guest<P>>> = Vec::new();
    if spec.settings.workload.load.0.is_some() {
        guests.push(Box::new(poisson::Poisson::new(spec, FlowKind::Beside)));
    }
    if spec.settings.service.queries_per_s.0.is_some() {
        guests.push(Box::new(service::Service::new(spec)));
    }
    if guests.is_empty() { workload } else { Box::new(beside::Beside::new(workload, guests)) }
}

/// The token of the timer at the end of the measured time; servers' numbers lie below it.
pub(crate) const END: u32 = u32::MAX;

/// The token of the timer at the end of the warm-up.
pub(crate) const WARM: u32 = u32::MAX - 2;

/// The client's host.
pub(crate) const CLIENT: u32 = 0;

/// The host of a server.
pub(crate) fn host_of(server: u32) -> u32 {
    server + 1
}

/// A length that no run reaches: a long flow's.
const ENDLESS: u64 = 1 << 50;

/// Starts the scenario's background flows: long ones into the client, each from a host behind the servers. The workload
/// begins.
pub(crate) fn start_background<P: Probe>(world: &mut World<P>) {
    world.begun = Some(world.now);
    for i in 0..world.spec.settings.workload.background {
        let connection = world.connect(host_of(world.spec.fan_in + i), CLIENT);
        world.put_beside(connection);
        world.write(connection.opener, ENDLESS);
    }
}

/// The tables of a run that has ended.
pub(crate) fn tables<P: Probe>(world: &World<P>, app: &dyn App<P>) -> RunTables {
    let record = app.record(world);
    let since = &world.since;
    let all = Sums::of(world.sockets.iter()).since(since.all);
    let beside = Sums::of(world.beside()).since(since.beside);
    let counts = || world.net.links.iter().zip(0..).map(|(link, id)| since.port(id, link).counts);
    let dropped_before: u64 = since.ports.iter().map(|port| port.counts.drops()).sum();
    let totals = Totals {
        payload_bytes: record.payload_bytes - since.payload,
        measured_ps: record.measured.0,
        data_packets: all.data_packets,
        timeouts: all.timeouts,
        fast_retransmits: all.fast_retransmits,
        drops: counts().map(|c| c.drops()).sum(),
        marks: counts().map(|c| c.marks).sum(),
        rounds: record.queries.iter().filter(|query| query.qct_ps.is_some()).count() as u64,
        rounds_open: record.queries.iter().filter(|query| query.qct_ps.is_none()).count() as u64,
        stalls: world.stalls.count,
        stalled_ps: world.stalls.lost.0,
        background_bytes: beside.delivered,
        background_timeouts: beside.timeouts,
        background_fast_retransmits: beside.fast_retransmits,
        background_drops: world.net.beside_drops - since.beside_drops,
        queue_max_bytes: longest_queue(world),
        // What was under way as the measured time began was sent in it, so that packets are conserved.
        injected_packets: world.net.injected - since.delivered_packets - dropped_before,
        delivered_packets: world.net.delivered - since.delivered_packets,
        in_flight_packets: world.net.in_flight(),
    };
    let engine = Engine { events: world.events(), packet_hops: world.net.hops };
    let Record { flows, queries, tasks, service, .. } = record;
    let ports = ports(world);
    let latency = world.latencies.as_ref().map_or(Vec::new(), |latencies| latencies.rows());
    let port_series = world.net.probe.occupancy().map_or(Vec::new(), |occupancy| occupancy.rows(&world.net.fabric));
    RunTables { totals, flows, queries, tasks, service, latency, ports, port_series, engine, ..RunTables::default() }
}

/// The longest queue at the port where the workload's bytes come together.
fn longest_queue<P: Probe>(world: &World<P>) -> u64 {
    let (fabric, links) = (&world.net.fabric, &world.net.links);
    let longest = |link: u32| links[link as usize].queue_max_bytes;
    match world.spec.settings.workload.kind.many_to_one() {
        false => {
            let at_switches = fabric.links().iter().zip(0..).filter(|(link, _)| !fabric.is_host(link.from));
            at_switches.map(|(_, id)| longest(id)).max().unwrap_or(0)
        }
        true => longest(fabric.downlink(CLIENT)),
    }
}

fn ports<P: Probe>(world: &World<P>) -> Vec<PortRow> {
    let Net { fabric, links, probe, .. } = &world.net;
    let sums = links.iter().zip(0..).map(|(link, id)| (link, id, world.since.port(id, link)));
    let used = sums.filter(|(_, _, sums)| sums.packets + sums.counts.drops() > 0);
    let whole = |id: u32| probe.occupancy().map(|occupancy| occupancy.whole(id));
    let row = |(link, id, sums): (&Link, u32, PortSums)| PortRow {
        port: fabric.link_name(id),
        tier: fabric.tier(id).into(),
        packets: sums.packets,
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
