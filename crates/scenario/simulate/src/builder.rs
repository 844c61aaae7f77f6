//! The calls of the engine's builder for a spec.

use fanin_assemble::{changes, fabric, host_faults, rdma_settings, tcp_settings, uet_settings};
use fanin_fabric::{Fabric, HostId};
use fanin_laws::uet::transport::Spraying;
use fanin_rdma::QueuePair;
use fanin_sim::{
    Builder, CLASSES, Card, Classes, Clients, HostTicks, PacketFaults, Pauses, ReceiveWindows, Receiving, Switches,
};
use fanin_spec::{Packets, RateBased, RunSpec, TrafficClass, TrimBased};
use fanin_tcp::Endpoint as TcpEndpoint;
use fanin_transport::{Class, Transport};
use fanin_uet::Endpoint as UetEndpoint;
use fanin_units::{Rate, Time};

use crate::beside::{Endpoint, Settings};
use crate::ports::SpecPorts;

/// The builder of a spec over any transport, whatever the spec's is, and any switches.
pub fn builder<T: Transport>(spec: &RunSpec, transport: T::Settings, switches: Switches) -> Builder<T> {
    let (settings, fabric) = (&spec.settings, fabric(spec));
    let (tcp, faults) = (&settings.tcp, &settings.faults);
    let clients = clients(spec, &fabric);
    let jitter = settings.packet_jitter(&fabric);
    let (changes, host_faults) = (changes(spec, &fabric), host_faults(spec, &fabric));
    let mut builder = Builder::new(fabric, transport, SpecPorts::new(spec))
        .seed(spec.seed)
        .framing(settings.link.framing)
        .switches(switches)
        .jitter(jitter)
        .faults(PacketFaults {
            loss: faults.loss,
            duplication: faults.duplication,
            reordering: faults.reordering,
            reordering_delay: faults.reordering_delay,
        })
        .changes(changes)
        .host_faults(host_faults)
        .clients(clients)
        .connections(settings.volume(&spec.scheme).open as usize)
        .replayed_by(replay(spec));
    // A network card has timers of its own.
    if spec.scheme.is_tcp() && tcp.tick > Time::ZERO {
        builder = builder.ticks(HostTicks { period: tcp.tick, together: tcp.ticks_together });
    }
    let parts = &settings.laws.parts;
    let receiving = match spec.scheme.grants {
        true => Some(Receiving::Grants(parts.grants)),
        false => spec.scheme.ictcp.then_some(Receiving::Ictcp(parts.ictcp)),
    };
    if let Some(law) = receiving {
        builder =
            builder.receive_windows(ReceiveWindows { law, mss: tcp.mss.0 as u32, window: tcp.receive_window.0 as u32 });
    }
    if let Some(drain) = settings.nic.drain.0 {
        let (buffer, notify_at) = (settings.nic.buffer.0, settings.nic.notify_at.0.map(|at| at.0));
        builder = builder.card(Card { buffer, drain, notify_at });
    }
    if settings.measure.latency {
        builder = builder.measure_latencies();
    }
    if settings.measure.ports {
        builder = builder.measure_ports();
    }
    builder
}

/// Hosts that wait for responses: the workload's clients if all its traffic goes to them.
fn clients(spec: &RunSpec, fabric: &Fabric) -> Clients {
    let settings = &spec.settings;
    let to = |host| settings.round_trip(fabric, host, settings.full_packet());
    let hosts = (0..settings.clients()).map(|client| HostId(settings.client_host(client)));
    Clients {
        converge_at: if settings.workload.kind.many_to_one() { hosts.collect() } else { Vec::new() },
        round_trip: (1..=spec.fan_in).map(HostId).map(to).max().unwrap_or(Time::ZERO),
        serve: settings.clients_serve(),
    }
}

/// TCP as a spec describes it.
pub(crate) fn tcp(spec: &RunSpec) -> Builder<TcpEndpoint> {
    builder(spec, tcp_settings(spec), with_classes(spec, Switches::default()))
}

/// RDMA over lossless ports, or over ports that drop, as a spec describes it.
pub(crate) fn rdma(spec: &RunSpec, kind: RateBased) -> Builder<QueuePair> {
    of_rdma(spec, |line| rdma_settings(spec, kind, line))
}

/// RDMA beside TCP in the background, as a spec and its background describe them.
pub(crate) fn rdma_beside_tcp(spec: &RunSpec, kind: RateBased, background: &RunSpec) -> Builder<Endpoint> {
    of_rdma(spec, |line| Settings { rdma: rdma_settings(spec, kind, line), tcp: tcp_settings(background) })
}

fn of_rdma<T: Transport>(spec: &RunSpec, transport: impl Fn(Rate) -> T::Settings) -> Builder<T> {
    let is_lossy = spec.settings.is_lossy_rdma(&spec.scheme);
    let switches = match spec.settings.has_classes() {
        true => with_classes(spec, Switches::default()),
        false => {
            let flow_control = (!is_lossy).then(|| Box::new(pauses(spec)) as _);
            Switches { by_class: true, flow_control, ..Switches::default() }
        }
    };
    let builder = at_all_rates(spec, transport, switches);
    if is_lossy { builder.measure_pairs() } else { builder }
}

/// Switches with a spec's traffic classes, if it has any.
fn with_classes(spec: &RunSpec, switches: Switches) -> Switches {
    let settings = &spec.settings;
    let Some(workload) = settings.workload_class() else { return switches };
    let mut queues = [None; CLASSES];
    settings.traffic_classes().for_each(|class| queues[usize::from(class.number)] = Some(class.scheduling));
    let class = |of: TrafficClass| Class::new(of.number);
    let frame = |of: &RunSpec| {
        let Packets { payload, headers, .. } = settings.packets(&of.scheme);
        settings.link.framing.frame(payload.0 as u32 + headers)
    };
    let classes = Classes {
        queues,
        packet: frame(spec).max(spec.background().as_ref().map_or(0, frame)),
        workload: Class::new(workload.number),
        background: settings.background_class().map_or(Class::new(workload.number), class),
        control: settings.control_class().map(class),
    };
    let is_lossless = settings.lossless_classes().next().is_some();
    let flow_control = is_lossless.then(|| Box::new(pauses(spec)) as _);
    Switches { classes: Some(classes), flow_control, ..switches }
}

/// Ultra Ethernet's transport over ports that trim, as a spec describes it.
pub(crate) fn uet(spec: &RunSpec, kind: TrimBased) -> Builder<UetEndpoint> {
    let adaptive = spec.settings.laws.uet.uet.spraying == Spraying::Adaptive;
    let switches = Switches { trims: true, by_class: true, adaptive, ..Switches::default() };
    at_all_rates(spec, |line| uet_settings(spec, kind, line), switches)
}

/// The builder of a spec over a transport whose ends follow the rates of their links.
fn at_all_rates<T: Transport>(spec: &RunSpec, of: impl Fn(Rate) -> T::Settings, switches: Switches) -> Builder<T> {
    let usual = spec.settings.link.rate;
    builder(spec, of(usual), switches).at_other_rates(usual, of)
}

/// Priority flow control of a spec's switches.
fn pauses(spec: &RunSpec) -> Pauses {
    let (settings, fabric) = (&spec.settings, &fabric(spec));
    let memories = fabric.links_into_switches().map(|(switch, links)| {
        let (memory, held) = settings.lossless_memory(fabric, &links).expect("a spec's memory has room for its links");
        (switch, memory, held)
    });
    let most = fabric.links_into_switches().map(|(_, links)| settings.memory_of(links.len() as u64)).max();
    let drains_within = most.map_or(Time::ZERO, |bytes| fabric.slowest_rate().time_for(bytes));
    let mut places = [None; CLASSES];
    settings.lossless_classes().zip(0..).for_each(|(class, place)| places[usize::from(class.number)] = Some(place));
    let places = if settings.has_classes() { places } else { Pauses::ALL_BUT_HIGHEST };
    Pauses::new(fabric, places, memories, drains_within)
}

/// The command that replays a run.
fn replay(spec: &RunSpec) -> String {
    let at: String = spec.point.0.iter().map(|c| format!(" --sweep {}=\"{}\"", c.key, c.shown())).collect();
    format!("--schemes \"{}\"{at} --seeds 1 --first-seed {}", spec.label, spec.seed)
}
