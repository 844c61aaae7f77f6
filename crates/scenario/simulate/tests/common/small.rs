//! Small scenarios of every workload, for properties.

use std::sync::Arc;

use fanin_spec::{
    Algorithm, Bursts, Connections, FabricKind, FilePath, Flows, Framing, Kind, Optional, PacketJitter, Popularity,
    Pulls, Ratio, ReplicaRacks, RttVariance, RunSpec, ServerOrder, Servers, Settings, Share, Sizes, Trace,
};
use fanin_units::{Bytes, QueueSize, Rate, Time};
use proptest::prelude::*;

use super::{checked, schemes};

/// Small scenarios of every kind, some under heavy loss, each with a number of servers.
pub fn settings() -> impl Strategy<Value = (Settings, u32)> {
    settings_of(Kind::all().into_iter().map(|(kind, _)| kind).collect())
}

/// Ports of one switch, at most, and one more reserve to share.
const MOST_PORTS: u64 = 28;

/// As above, of these kinds.
pub fn settings_of(kinds: Vec<Kind>) -> impl Strategy<Value = (Settings, u32)> {
    let kind = prop::sample::select(kinds);
    let buffer = prop_oneof![(2_000u64..100_000).prop_map(QueueSize::Bytes), (1u32..100).prop_map(QueueSize::Packets)];
    // Dedicated memory for each of up to 17 ports, and at least as much shared memory.
    let memory = prop::option::of((40_000u64..200_000, 0u64..2_000, 0u64..4_000, 1u32..64));
    let buffer = (buffer, memory);
    let framing = prop_oneof![Just(Framing::ETHERNET), (0u32..40).prop_map(Framing::plain)];
    let jitter = prop_oneof![
        Just(PacketJitter::None),
        Just(PacketJitter::TRANSMISSION),
        (0u64..20_000).prop_map(|ns| PacketJitter::UpTo(Time(1_000 * ns)))
    ];
    let host = (prop::option::of(2_000u64..60_000), jitter);
    let network = (1u64..20, 0u64..100, framing, buffer, host);
    let tcp = (64u64..1461, 1u32..20, any::<[bool; 9]>(), 1u32..4, 1u64..50);
    let connections = prop::sample::select(vec![Connections::Usual, Connections::Standing, Connections::New]);
    let work = (1u64..60_000, 0u64..200, prop::option::of(1u32..4), 0u32..3, prop::bool::ANY, connections);
    let flows = prop::collection::vec((0u32..9, 1u32..9, 1u64..60_000, 0u64..3_000), 1..12);
    (kind, 1u32..9, network, tcp, work, flows).prop_map(|(kind, fan_in, network, tcp, work, flows)| {
        let mut s = Settings::default();
        let (rate, delay_us, framing, buffer, (host, jitter)) = network;
        s.link.rate = Rate(rate * 500_000_000);
        s.link.delay = Time::from_micros(delay_us);
        s.link.framing = framing;
        s.switch.buffer = buffer.0;
        if let Some((bytes, reserved, headroom, sixteenths)) = buffer.1 {
            s.switch.shared_buffer = Optional(Some(Bytes(bytes.max(MOST_PORTS * reserved + headroom))));
            (s.switch.reserved, s.switch.headroom) = (Bytes(reserved), Bytes(headroom));
            s.switch.alpha = Ratio::of(4 + sixteenths, 16);
        }
        s.host.buffer = Optional(host.map(QueueSize::Bytes));
        s.host.packet_jitter = jitter;
        let (mss, initial_window, flags, delayed_ack, rto_ms) = tcp;
        s.tcp.mss = Bytes(mss);
        s.tcp.initial_window = initial_window;
        [s.tcp.sack, s.tcp.limited_transmit, s.tcp.timestamps, s.tcp.idle_restart, s.tcp.karn_backoff, ..] = flags;
        (s.tcp.rack, s.tcp.tail_loss_probe) = (s.tcp.sack && flags[6], s.tcp.sack && flags[7]);
        s.tcp.quick_acks = if flags[8] { 16 } else { 0 };
        (s.tcp.window_validation, s.tcp.cut_window, s.tcp.byte_counting) = (flags[8], flags[4], flags[1]);
        (s.tcp.packet_window, s.tcp.hystart) = (flags[3], flags[6]);
        (s.tcp.undo, s.tcp.ack_compression, s.tcp.frto) = (flags[2], flags[7], flags[0]);
        s.tcp.newreno = if flags[5] { fanin_spec::NewReno::Pipe } else { fanin_spec::NewReno::Inflate };
        s.tcp.delayed_ack = delayed_ack;
        s.tcp.tick = Time::from_millis(if flags[2] { 1 + u64::from(delayed_ack) } else { 0 });
        (s.tcp.acks_wait_for_reader, s.tcp.pingpong) = (flags[3], flags[1]);
        s.tcp.rtt_variance = [RttVariance::Rfc6298, RttVariance::Linux][usize::from(flags[5])];
        s.tcp.rto_min = Time::from_millis(rto_ms);
        s.tcp.rto_initial = Time::from_millis(rto_ms.max(10));
        s.tcp.rto_max = Time::from_millis(500);
        let (fragment, jitter_us, in_flight, background, request, connections) = work;
        (s.workload.kind, s.workload.connections) = (kind, connections);
        s.workload.fragment = Optional(Some(Bytes(fragment)));
        s.workload.request = Bytes(if request || kind == Kind::WebSearch { 64 } else { 0 });
        s.workload.start_jitter = Time::from_micros(jitter_us);
        s.workload.request_gap = Time::from_micros(if flags[3] { jitter_us / 4 } else { 0 });
        limits(&mut s, fragment, in_flight, flags[1]);
        operations(&mut s, fragment, initial_window);
        // Workloads that run to their end have no background traffic: long-lived flows may starve them for simulated minutes.
        let timed = matches!(kind, Kind::Barrier | Kind::Long | Kind::Poisson);
        s.workload.background = if timed { background } else { 0 };
        s.workload.clients = 1 + initial_window % 3;
        s.workload.servers = Servers::all()[initial_window as usize % 4 % 3].0;
        s.workload.pause = Time::from_micros(if initial_window.is_multiple_of(3) { 10 * jitter_us } else { 0 });
        s.workload.duration = Time::from_millis(if timed { 20 } else { 600_000 });
        algorithms(&mut s);
        let servers = among_hosts(&mut s, fan_in, &flows);
        (s, servers)
    })
}

/// Sets algorithms' values for such networks.
fn algorithms(s: &mut Settings) {
    s.laws.ports.red.min_th = QueueSize::Packets(5);
    s.laws.ports.red.max_th = QueueSize::Packets(15);
    // No round trip here is below the default target; a thousandth of a packet would take minutes.
    (s.laws.senders.swift.base_target, s.laws.senders.swift.min_window) = (Time::from_millis(1), Share::of(1, 10));
}

/// Sets the number of queries or collective operations, and the algorithm of these.
fn operations(s: &mut Settings, fragment: u64, initial_window: u32) {
    s.workload.queries = 3;
    s.workload.algorithm = Algorithm::all()[initial_window as usize % 3].0;
    s.workload.chunk = Bytes(fragment.div_ceil(8));
}

/// Sets the limits of a client, where there are any.
fn limits(s: &mut Settings, fragment: u64, in_flight: Option<u32>, by_bytes: bool) {
    if [Kind::Barrier, Kind::WebSearch, Kind::AllToAll, Kind::Pulls].contains(&s.workload.kind) {
        s.workload.in_flight = Optional(in_flight);
        s.workload.bytes_in_flight = Optional(by_bytes.then_some(Bytes(2 * fragment)));
    }
}

/// A pull from each of these hosts.
fn pulls(s: &mut Settings, fan_in: u32, flows: &[(u32, u32, u64, u64)]) {
    let hosts = fan_in + 1;
    let line = |(number, &(from, gap, bytes, us)): (usize, &(u32, u32, u64, u64))| {
        let from = from % hosts;
        format!("{number},{us},{from},{},{bytes}\n", (from + 1 + gap % fan_in) % hosts)
    };
    let list: String = flows.iter().enumerate().map(line).collect();
    s.workload.pulls = Optional(Some(FilePath("pulls.csv".into())));
    let table = format!("pull,start_us,src,dst,bytes\n{list}");
    s.inputs.pulls = Some(Arc::new(Pulls::parse("pulls.csv", &table).unwrap()));
}

/// A message of each of these flows; each waits for a computation of its sender, which waits for the message before it there.
fn trace(s: &mut Settings, fan_in: u32, flows: &[(u32, u32, u64, u64)]) {
    let hosts = fan_in + 1;
    let mut ranks = vec![String::new(); hosts as usize];
    let mut last: Vec<Option<usize>> = vec![None; hosts as usize];
    for (number, &(from, gap, bytes, us)) in flows.iter().enumerate() {
        let (from, to) = (from % hosts, (from % hosts + 1 + gap % fan_in) % hosts);
        let lines = &mut ranks[from as usize];
        *lines += &format!(
            "c{number}: calc {}\ns{number}: send {bytes}b to {to} tag {number}\ns{number} requires c{number}\n",
            us * 1_000
        );
        if let Some(before) = last[from as usize].replace(number) {
            *lines += &format!("c{number} requires s{before}\n");
        }
        ranks[to as usize] += &format!("recv {bytes}b from {from} tag {number}\n");
    }
    let text: String = ranks.iter().enumerate().map(|(rank, lines)| format!("rank {rank} {{\n{lines}}}\n")).collect();
    s.workload.file = Optional(Some(FilePath("a.goal".into())));
    s.inputs.trace = Some(Arc::new(Trace::parse("a.goal", &format!("num_ranks {hosts}\n{text}")).unwrap()));
}

/// Bursts of these sizes.
fn bursts(s: &mut Settings, fan_in: u32, flows: &[(u32, u32, u64, u64)]) {
    let line = |&(gap, wide, bytes, _): &(u32, u32, u64, u64)| {
        let wide = 1 + wide % fan_in;
        format!("{},{wide},{}\n", 100 * gap + 1, bytes + u64::from(wide))
    };
    let list: String = flows.iter().map(line).collect();
    s.workload.bursts = Optional(Some(FilePath("bursts.csv".into())));
    let table = format!("gap_us,fan_in,bytes\n{list}");
    s.inputs.bursts = Some(Arc::new(Bursts::parse("bursts.csv", &table).unwrap()));
    s.workload.duration = Time::from_millis(5);
}

/// Sets the inputs that some kinds require: a list, a load, a job, racks of objects. Returns the number of servers.
fn among_hosts(s: &mut Settings, fan_in: u32, flows: &[(u32, u32, u64, u64)]) -> u32 {
    match s.workload.kind {
        Kind::Flows => {
            let hosts = fan_in + 1;
            let line = |&(from, gap, bytes, us): &(u32, u32, u64, u64)| {
                let from = from % hosts;
                format!("{from},{},{bytes},{us}\n", (from + 1 + gap % fan_in) % hosts)
            };
            let list: String = flows.iter().map(line).collect();
            s.workload.file = Optional(Some(FilePath("a.csv".into())));
            s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", &format!("src,dst,bytes,start_us\n{list}")).unwrap()));
        }
        // One byte for each host at least.
        Kind::AllReduce => s.workload.fragment.0 = s.workload.fragment.0.map(|bytes| Bytes(bytes.0.max(16))),
        Kind::Shuffle => s.workload.fragment.0 = s.workload.fragment.0.map(|bytes| Bytes(bytes.0.div_ceil(8))),
        Kind::AllToAll => s.workload.fragment.0 = s.workload.fragment.0.map(|bytes| Bytes(bytes.0.div_ceil(8))),
        Kind::Pulls => pulls(s, fan_in, flows),
        Kind::Trace => trace(s, fan_in, flows),
        Kind::Bursts => bursts(s, fan_in, flows),
        Kind::Poisson => {
            s.workload.load = Optional(Some(Share::of(flows.len() as u32, 20)));
            s.inputs.sizes = Sizes::named("hadoop").map(Arc::new);
            s.workload.duration = Time::from_millis(5);
        }
        Kind::MapReduce => {
            let m = &mut s.mapreduce;
            (m.input, m.maps, m.reduces) = (Bytes(200_000), flows.len() as u32, Optional(Some(2)));
            (m.heartbeat, m.task_start) = (Time::from_millis(20), Time::from_millis(5));
            s.workload.request = Bytes(64);
        }
        Kind::KeyValue => {
            let (racks, each) = (3, 1 + fan_in.div_ceil(3));
            s.fabric.kind = FabricKind::LeafSpine;
            (s.fabric.racks, s.fabric.hosts_per_rack) = (Optional(Some(racks)), Optional(Some(each)));
            s.fabric.spines = Optional(Some(2));
            let k = &mut s.key_value;
            (k.objects, k.replicas, k.per_request) = (200, 2, 4 * flows.len() as u32);
            (k.least, k.most) = (Bytes(1), s.workload.fragment.0.take().unwrap_or(Bytes(1_000)));
            k.missing = Share::of(1, 10);
            k.replica_racks = ReplicaRacks::Distinct;
            k.server = [ServerOrder::Parallel, ServerOrder::Fifo, ServerOrder::Reordered][flows.len() % 3];
            k.popularity = Popularity::all()[flows.len() % 4].0;
            (k.pages, k.replaced) = (20, flows.len() as u32);
            k.within = Optional(fan_in.is_multiple_of(2).then_some(Time::from_millis(10)));
            if k.within.0.is_some() {
                s.workload.pause = Time::ZERO;
            }
            // All racks are full.
            return racks * each - 1;
        }
        // Other kinds require nothing.
        _ => {}
    }
    fan_in
}

/// A failure prints the spec, which replays it.
pub fn all_schemes(settings: &Settings, fan_in: u32, seed: u64) -> Vec<RunSpec> {
    schemes(settings.workload.kind).map(|scheme| checked(scheme, settings.clone(), fan_in, seed)).collect()
}
