//! Upper bound of a workload on its network: the closed forms of `model`, applied to a scenario's settings.

use std::collections::{BTreeMap, BTreeSet};

use fanin_model::{Answers, Parts, Room, Starts};
use fanin_spec::{Fabric, HostId, Kind, Packets, Replica, Scheme, Settings, State};
use fanin_tables::RunTables;
use fanin_units::Bytes;

/// Maximum number of client-server pairs for which paths are computed; beyond, paths are ignored.
const PAIRS_MAX: u64 = 50_000;
/// Bytes of a key_value message's header and a request's key (`roles/wire.rs`).
const MESSAGE: f64 = 20.0;
const KEY: f64 = 16.0;

/// The upper bound of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UpperBound {
    /// Goodput in Mbit/s.
    pub mbps: f64,
    /// Lower bound of a round of the first client, by part; zero for workloads without rounds.
    pub round: Parts,
}

/// The upper bound for a scheme; `None` for any-to-any workloads, for bursts, which have fixed start times, with background
/// traffic, whose share is unknown, if a link's rate increases, and if a run ends before the first byte can arrive.
pub(crate) fn allowed(scheme: &Scheme, s: &Settings) -> Option<UpperBound> {
    if !s.workload.kind.many_to_one() || s.workload.kind == Kind::Bursts || is_beside(s) {
        return None;
    }
    let fabric = s.network().ok().filter(|fabric| !becomes_faster(s, fabric))?;
    let of = Of::new(scheme, s, &fabric);
    let bound = match s.workload.kind {
        kind if kind.facts().endless => Some(of.endless()),
        Kind::KeyValue => Some(of.objects()),
        _ => of.answers(),
    };
    bound.filter(|bound| bound.mbps > 0.0)
}

/// The upper bound of goodput.
pub fn allowed_mbps(scheme: &Scheme, s: &Settings) -> Option<f64> {
    allowed(scheme, s).map(|allowed| allowed.mbps)
}

/// Goodput in Mbit/s at which the busiest link would carry the flows of these runs without a break, each link its even share; `None`
/// without flows.
pub(crate) fn ideal_mbps(scheme: &Scheme, s: &Settings, runs: &[&RunTables]) -> Option<f64> {
    let fabric = s.network().ok()?;
    let of = Of::new(scheme, s, &fabric);
    let (mut payload_bits, mut demands) = (0.0, BTreeMap::new());
    for flow in runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.from_host != flow.to_host) {
        let bytes = flow.payload_bytes.unwrap_or(0);
        payload_bits += bytes as f64 * 8.0;
        *demands.entry((HostId(flow.from_host), HostId(flow.to_host))).or_insert(0.0) += of.wire(bytes) as f64 * 8.0;
    }
    let least_s = fabric.least_time_s(demands.into_iter());
    (least_s > 0.0).then(|| payload_bits / least_s / 1e6)
}

/// Lower bound of a burst's mean duration: the nearest server's path, and its bytes at the client's link. `None` for other workloads.
pub(crate) fn mean_burst(scheme: &Scheme, s: &Settings, runs: &[&RunTables]) -> Option<Parts> {
    let fabric = s.network().ok().filter(|_| s.workload.kind == Kind::Bursts)?;
    let of = Of::new(scheme, s, &fabric);
    let client = HostId::CLIENT;
    let all: Vec<HostId> = (1..=s.servers()).map(HostId).collect();
    let near = of.nearest(client, &all, 1);
    let rounds = runs.iter().map(|run| run.queries.len()).sum::<usize>();
    let answers = runs.iter().flat_map(|run| &run.flows).filter(|flow| flow.round.is_some());
    let bits = answers.filter_map(|flow| flow.payload_bytes).map(|bytes| of.wire(bytes)).sum::<u64>() as f64 * 8.0;
    let handshake = if s.connections_stand() || !scheme.is_tcp() { 0.0 } else { near.round_trip_s };
    let wire_s = bits / of.link(client) / rounds.max(1) as f64;
    (rounds > 0).then(|| Parts { wire_s, round_trips_s: handshake + near.way_s, ..Parts::default() })
}

/// Whether there is background traffic.
fn is_beside(s: &Settings) -> bool {
    let w = &s.workload;
    w.background > 0 || w.load.0.is_some() || w.file.0.is_some() || s.service.queries_per_s.0.is_some()
}

fn becomes_faster(s: &Settings, fabric: &Fabric) -> bool {
    let changes = s.changes(fabric).unwrap_or_default();
    let faster = |to: State, link| matches!(to, State::Rate(rate) if rate > fabric.link(link).rate);
    changes.iter().any(|change| change.links.iter().any(|&link| faster(change.to, link)))
}

/// A workload on its network.
struct Of<'a> {
    scheme: &'a Scheme,
    s: &'a Settings,
    packets: Packets,
    fabric: &'a Fabric,
}

impl<'a> Of<'a> {
    pub fn new(scheme: &'a Scheme, s: &'a Settings, fabric: &'a Fabric) -> Of<'a> {
        Of { scheme, s, packets: s.packets(scheme), fabric }
    }

    /// Bytes on the wire of the packets of a message.
    pub fn wire(&self, bytes: u64) -> u64 {
        let payload = self.packets.payload.0;
        let full = bytes / payload * self.packet(payload);
        let rest = bytes % payload;
        full + if rest > 0 { self.packet(rest) } else { 0 }
    }

    fn segment(&self) -> f64 {
        self.packets.payload.0 as f64
    }

    /// Bytes of a packet with this payload on the wire.
    fn packet(&self, payload: u64) -> u64 {
        self.s.link.framing.on_wire(payload as u32 + self.packets.headers).into()
    }

    fn header(&self) -> f64 {
        self.packet(self.packets.payload.0) as f64 - self.segment()
    }

    /// Whether each connection begins with TCP's handshake. RDMA and Ultra Ethernet may send earlier, so that the bound assumes none.
    fn shakes_hands(&self) -> bool {
        self.scheme.is_tcp() && self.s.setup_rtts().is_some()
    }

    /// Receive window of a connection in bytes; only TCP has one.
    fn receive_window(&self) -> f64 {
        if self.scheme.is_tcp() { self.s.tcp.receive_window.0 as f64 } else { f64::INFINITY }
    }

    /// Share of payload in the bits of full packets.
    fn payload_share(&self) -> f64 {
        self.segment() / (self.segment() + self.header())
    }

    /// Time of a packet of this size from host to host with empty queues.
    fn way_s(&self, from: HostId, to: HostId, bytes: u64) -> f64 {
        self.fabric.path(from, to).map(|link| link.delay.as_secs_f64() + link.rate.time_for(bytes).as_secs_f64()).sum()
    }

    /// Round-trip time of packets of this size.
    fn round_trip_s(&self, client: HostId, server: HostId, bytes: Bytes) -> f64 {
        let ack = self.s.link.framing.on_wire(self.packets.ack.0 as u32).into();
        let packet = self.s.link.framing.on_wire(bytes.0 as u32).into();
        self.way_s(client, server, ack) + self.way_s(server, client, packet)
    }

    /// Total rate of a host's links.
    fn link(&self, host: HostId) -> f64 {
        self.fabric.host_rate(host).0 as f64
    }

    /// Maximum rate of a flow alone, which uses one link of each host unless its packets take paths of their own.
    fn alone(&self, from: HostId, to: HostId) -> f64 {
        match self.fabric.has_one_link_each() || !self.scheme.transport.sprays() {
            true => self.fabric.path(from, to).map(|link| link.rate.0 as f64).fold(f64::INFINITY, f64::min),
            false => self.fabric.gather_rate(std::iter::once(from), to),
        }
    }

    /// Maximum total rate of senders with a connection each.
    fn gather_rate(&self, senders: impl Iterator<Item = HostId> + Clone, to: HostId) -> f64 {
        let all = self.fabric.gather_rate(senders.clone(), to);
        match self.fabric.has_one_link_each() {
            true => all,
            false => all.min(senders.map(|sender| self.alone(sender, to)).sum()),
        }
    }

    /// Long flows: line rate after the first handshake.
    fn endless(&self) -> UpperBound {
        let s = self.s;
        let (client, servers) = (HostId::CLIENT, (1..=s.servers()).map(HostId));
        let rate = self.gather_rate(servers.clone(), client).min(self.link(client));
        let nearest =
            servers.map(|server| self.round_trip_s(client, server, self.packets.ack)).fold(f64::INFINITY, f64::min);
        let windows = f64::from(s.servers()) * self.receive_window() * 8.0 / nearest;
        let duration = s.workload.duration.as_secs_f64();
        // A SYN, its response, and the path of the first byte.
        let lead = match s.workload.warm_up.0 {
            Some(_) => 0.0,
            None if self.scheme.is_tcp() => 1.5 * nearest,
            None => 0.5 * nearest,
        };
        let open = (1.0 - lead / duration).max(0.0);
        UpperBound { mbps: (rate * self.payload_share()).min(windows) * open / 1e6, round: Parts::default() }
    }

    /// Rounds of responses: the sum of the clients' bounds, limited by all servers and the network. `None` if a timed warm-up ends
    /// within a query, which then counts as a whole.
    fn answers(&self) -> Option<UpperBound> {
        let s = self.s;
        let alike = s.workload.servers.word() == "same";
        let of = |client: u32| {
            let servers: Vec<HostId> = (0..s.servers()).map(|id| HostId(s.server_host(client, id))).collect();
            let answers = self.of_a_client(HostId(s.client_host(client)), &servers);
            (answers.most_goodput_mbps(&self.room()), answers.round())
        };
        let clients = s.clients();
        let (first, round) = of(0);
        // In a star, all clients have equal paths.
        let star = self.fabric.racks().is_none() && s.fabric.edges.is_empty();
        let others: f64 = match star && alike {
            _ if clients == 1 => 0.0,
            true => f64::from(clients - 1) * of(1).0,
            false => (1..clients).map(|client| of(client).0).sum(),
        };
        let most = (first + others).min(self.uplinks_mbps()).min(self.racks_mbps());
        let cut = s.workload.kind == Kind::WebSearch && s.workload.warm_up.0.is_some();
        let cut = cut && round.all_s() > s.workload.duration.as_secs_f64();
        (!cut).then_some(UpperBound { mbps: most, round })
    }

    fn of_a_client(&self, client: HostId, servers: &[HostId]) -> Answers {
        let (s, n) = (self.s, self.s.requested_servers());
        let bytes: u64 = (0..n).map(|id| s.answer(n, id).0).sum();
        let asked = s.workload.request.0 > 0 && s.workload.kind != Kind::OneShot;
        let new = self.shakes_hands();
        let least = s.answer(n, n - 1).0.clamp(1, self.packets.payload.0);
        let near = self.nearest(client, servers, least);
        let handshake = if new { near.round_trip_s } else { 0.0 };
        let ask_s = match () {
            () if asked => handshake + near.ask_s,
            // A server responds after the handshake's ACK; a sender without a request starts after the SYN-ACK.
            () if new && s.workload.kind != Kind::OneShot => handshake + near.ack_s,
            () => handshake,
        };
        let start = s.workload.start_jitter.as_secs_f64();
        // Jitter may delay the packets of a handshake, a request, and a response's last packet.
        let late = s.packet_jitter(self.fabric).as_secs_f64();
        let (hello, own) = (if new { late } else { 0.0 }, if asked { late } else { 0.0 });
        let starts = match () {
            () if asked => [start, s.host.service_jitter.as_secs_f64(), hello, hello, own, late],
            // The start delay begins with the handshake.
            () if new && s.workload.kind != Kind::OneShot => [0.0, 0.0, hello, hello, hello, late],
            () => [start, 0.0, hello, hello, 0.0, late],
        };
        let request = if asked { near.request_s.max(s.workload.request_gap.as_secs_f64()) } else { 0.0 };
        let window = if self.scheme.gss { s.laws.parts.gss.initial_window } else { s.tcp.initial_window };
        Answers {
            servers: n,
            at_once: s.workload.in_flight.0.unwrap_or(n).min(n),
            bytes: bytes as f64 / f64::from(n),
            segment: self.segment(),
            header: self.header(),
            least: self.packet(1) as f64,
            rate: self.gather_rate(servers.iter().copied(), client),
            alone: near.alone,
            link: self.link(client),
            ask_s,
            way_s: near.way_s,
            first_s: near.first_s,
            round_trip_s: near.window_s,
            request_s: request,
            work_s: if asked { s.host.service_time.as_secs_f64() } else { 0.0 },
            starts: Starts(starts),
            from_first: s.workload.kind == Kind::OneShot,
            new_window: new.then_some(window.into()),
            receive_window: self.receive_window(),
        }
    }

    /// The shortest paths between a client and its servers, for responses whose first packet has this payload.
    fn nearest(&self, client: HostId, servers: &[HostId], payload: u64) -> Nearest {
        let s = self.s;
        if u64::from(s.clients()) * servers.len() as u64 > PAIRS_MAX {
            return Nearest::default();
        }
        let request = s.workload.request.0;
        let (ack, full) = (s.link.framing.on_wire(self.packets.ack.0 as u32).into(), self.packets.payload.0);
        let last = self.packet(if request == 0 { 0 } else { (request - 1) % full + 1 });
        let before = (request.max(1) - 1) / full * self.packet(full);
        let uplinks = self.fabric.host_rate(client);
        let before_s = uplinks.time_for(before).as_secs_f64();
        let first = self.packet(payload);
        let of = |server: HostId| {
            let back: Vec<_> = self.fabric.path(server, client).collect();
            let all_but_last = &back[..back.len().saturating_sub(1)];
            Nearest {
                round_trip_s: self.round_trip_s(client, server, self.packets.ack),
                window_s: self.round_trip_s(client, server, Bytes(full + u64::from(self.packets.headers))),
                ask_s: before_s + self.way_s(client, server, last),
                ack_s: self.way_s(client, server, ack),
                way_s: back.iter().map(|link| link.delay.as_secs_f64()).sum(),
                first_s: all_but_last.iter().map(|link| link.rate.time_for(first).as_secs_f64()).sum(),
                request_s: uplinks.time_for(before + last).as_secs_f64(),
                alone: self.alone(server, client),
            }
        };
        servers.iter().map(|&server| of(server)).reduce(Nearest::and).unwrap_or_default()
    }

    fn room(&self) -> Room {
        let w = &self.s.workload;
        let rounds = match w.kind {
            Kind::WebSearch | Kind::KeyValue => Some(w.queries),
            Kind::OneShot => Some(1),
            _ => None,
        };
        // A warm-up in rounds ends during one of them.
        let any_phase = self.s.clients() > 1 || w.warm_up.0.is_some();
        Room { rounds, duration_s: w.duration.as_secs_f64(), pause_s: w.pause.as_secs_f64(), any_phase }
    }

    /// Total rate of the servers' links.
    fn uplinks_mbps(&self) -> f64 {
        let s = self.s;
        let of = |client| (0..s.servers()).map(move |id| s.server_host(client, id));
        let servers: BTreeSet<u32> = (0..s.clients()).flat_map(of).collect();
        servers.iter().map(|&server| self.link(HostId(server))).sum::<f64>() * self.payload_share() / 1e6
    }

    /// Total rate into the clients' racks, if all of their servers are in other racks.
    fn racks_mbps(&self) -> f64 {
        let (s, fabric) = (self.s, self.fabric);
        let clients = || (0..s.clients()).map(|client| HostId(s.client_host(client)));
        let racks: BTreeSet<u32> = clients().map(|client| fabric.rack(client)).collect();
        let inside =
            |client| (0..s.servers()).any(|id| racks.contains(&fabric.rack(HostId(s.server_host(client, id)))));
        if fabric.racks().is_none() || (0..s.clients()).any(inside) {
            return f64::INFINITY;
        }
        let mut seen = BTreeSet::new();
        let links = clients().filter(|&client| seen.insert(fabric.rack(client))).flat_map(|one| fabric.into_rack(one));
        links.map(|link| fabric.link(link).rate.0 as f64).sum::<f64>() * self.payload_share() / 1e6
    }

    /// Objects of front ends, with or without hubs: each request crosses the front end's link once, and so do the responses, in as
    /// few packets as possible.
    fn objects(&self) -> UpperBound {
        let (s, k) = (self.s, &self.s.key_value);
        let n = f64::from(k.per_request);
        let object = (k.least.0 + k.most.0) as f64 / 2.0 * (1.0 - k.missing.as_f64());
        let payload = n * object * 8.0 / 1e6;
        let answers = self.of_objects(object);
        let round = answers.round();
        let each = match s.request_interval() {
            None => payload * self.room().rounds_a_second(round.all_s()),
            // Independent starts: the mean offered rate; the last interval may be short.
            Some(interval) => {
                let queries = f64::from(s.workload.queries);
                let asked = payload / interval.as_secs_f64() * queries / (queries - 1.0).max(f64::MIN_POSITIVE);
                asked.min(self.link(HostId::CLIENT) * self.payload_share() / self.others_have() / 1e6)
            }
        };
        UpperBound { mbps: f64::from(k.front_ends) * each, round }
    }

    /// A request as responses of the requested servers, or as one response if hubs may collect them.
    fn of_objects(&self, object: f64) -> Answers {
        let (s, k) = (self.s, &self.s.key_value);
        let client = HostId::CLIENT;
        let all: Vec<HostId> = (1..=s.servers()).map(HostId).collect();
        // The smallest object arrives first.
        let first = k.least.0 + (k.most.0 - k.least.0) / u64::from(k.per_request + 1);
        let near = self.nearest(client, &all, first.min(self.packets.payload.0));
        let n = f64::from(k.per_request) * self.others_have();
        let servers = self.servers_asked(n);
        let new = self.scheme.is_tcp() && !s.connections_stand();
        let late = s.packet_jitter(self.fabric).as_secs_f64();
        let requests = n * (MESSAGE + KEY) + f64::from(servers) * self.header();
        Answers {
            servers,
            at_once: servers,
            bytes: n * (MESSAGE + object) / f64::from(servers),
            segment: self.segment(),
            header: self.header(),
            least: self.packet(1) as f64,
            rate: self.gather_rate(all.iter().copied(), client),
            alone: near.alone,
            link: self.link(client),
            ask_s: near.ack_s + if new { near.round_trip_s } else { 0.0 },
            way_s: near.way_s,
            first_s: near.first_s,
            round_trip_s: near.window_s,
            request_s: requests * 8.0 / self.link(client) / f64::from(servers),
            work_s: s.host.service_time.as_secs_f64(),
            starts: Starts([s.host.service_jitter.as_secs_f64(), late, late, 0.0, 0.0, 0.0]),
            from_first: false,
            new_window: None,
            receive_window: f64::INFINITY,
        }
    }

    /// Share of objects on other hosts; a front end that is also a server may store some.
    fn others_have(&self) -> f64 {
        let k = &self.s.key_value;
        let own = f64::from(k.replicas) / f64::from(self.s.servers());
        if k.front_ends == 1 { 1.0 } else { (1.0 - own).max(0.0) }
    }

    /// Lower bound of the mean number of servers per request; one if hubs collect objects or a plan has co-located them.
    fn servers_asked(&self, objects: f64) -> u32 {
        let (s, scheme) = (self.s, self.scheme);
        let gathers = scheme.fan_out.is_some_and(|of| of.parts(&s.fan_outs.sicc).is_some());
        if gathers || scheme.gathering.is_some() || s.inputs.plan.is_some() || s.key_value.replica == Replica::Together
        {
            return 1;
        }
        let servers = f64::from(s.servers());
        let spared = libm::pow(1.0 - 1.0 / servers, objects);
        ((servers * (1.0 - spared)) as u32).max(1)
    }
}

/// Shortest path times between a client and its servers, in seconds; zero by default.
#[derive(Clone, Copy, Debug)]
struct Nearest {
    /// Round trip of packets without payload.
    round_trip_s: f64,
    /// Round trip of a full packet and its ACK.
    window_s: f64,
    /// One way of a request.
    ask_s: f64,
    /// One way of an ACK.
    ack_s: f64,
    /// Propagation of the way back.
    way_s: f64,
    /// A response's first packet on all links but the last.
    first_s: f64,
    /// A request on the client's link.
    request_s: f64,
    /// Bits per second of one server.
    alone: f64,
}

impl Default for Nearest {
    fn default() -> Nearest {
        Nearest {
            round_trip_s: 0.0,
            window_s: 0.0,
            ask_s: 0.0,
            ack_s: 0.0,
            way_s: 0.0,
            first_s: 0.0,
            request_s: 0.0,
            alone: f64::INFINITY,
        }
    }
}

impl Nearest {
    fn and(self, other: Nearest) -> Nearest {
        Nearest {
            round_trip_s: self.round_trip_s.min(other.round_trip_s),
            window_s: self.window_s.min(other.window_s),
            ask_s: self.ask_s.min(other.ask_s),
            ack_s: self.ack_s.min(other.ack_s),
            way_s: self.way_s.min(other.way_s),
            first_s: self.first_s.min(other.first_s),
            request_s: self.request_s.min(other.request_s),
            alone: self.alone.max(other.alone),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    fn allowed(workload: &str, fan_in: u32) -> Option<f64> {
        let text = format!(
            "schemes = [\"newreno\"]\n[link]\nframing = \"2 B\"\n[host]\npacket_jitter = \"none\"\n[tcp]\nmss = \"1460 B\"\n{workload}\n"
        );
        let mut scenario = Scenario::parse("x.toml", &text).unwrap();
        scenario.assign("--fan-in", &format!("sweep.fan_in=[{fan_in}]")).unwrap();
        let variant = scenario.variants().unwrap().remove(0);
        allowed_mbps(&variant.scheme, &variant.settings)
    }

    #[test]
    fn long_flows_reach_line_rate_after_their_handshake() {
        let line = 1_000.0 * 1_460.0 / 1_502.0;
        let warm = allowed("[workload]\nkind = \"long\"\nwarm_up = \"1 ms\"", 4).unwrap();
        assert!((warm - line).abs() < 1e-9, "{warm}");
        // Three trips over two links, 25 us and 42 B each: 152.016 us of 2 ms.
        let cold = allowed("[workload]\nkind = \"long\"\nduration = \"2 ms\"", 4).unwrap();
        assert!((cold / line - (1.0 - 152.016 / 2_000.0)).abs() < 1e-9, "{cold}");
    }

    #[test]
    fn a_run_shorter_than_a_handshake_has_no_bound() {
        assert_eq!(allowed("[workload]\nkind = \"long\"\nduration = \"10 us\"", 4), None);
    }

    #[test]
    fn background_traffic_and_faster_links_have_no_bound() {
        for more in ["background = 4", "load = 0.2"] {
            assert_eq!(allowed(&format!("[workload]\nfragment = \"1 KB\"\n{more}"), 4), None, "{more}");
        }
        let change = |rate: &str| {
            allowed(&format!("[fabric]\nchanges = [\"1 ms switch client {rate}\"]\n[workload]\nfragment = \"1 KB\""), 4)
        };
        assert!(change("100 Mbit/s").is_some() && change("2 Gbit/s").is_none());
    }

    #[test]
    fn reads_include_their_request_and_a_slow_core() {
        // 8 * 146,000 B are 100 packets of 1,502 B each: 9,612.8 us; four ways of 25 us, a request of 106 B on two links, and the first
        // packet on its server's.
        let reads = allowed("[workload]\nfragment = \"146 KB\"\nduration = \"100 s\"", 8).unwrap();
        let by_hand = 8.0 * 146_000.0 * 8.0 / (9_612.8 + 100.0 + 2.0 * 0.848 + 12.016);
        assert!((reads / by_hand - 1.0).abs() < 1e-4, "{reads}, by hand {by_hand}");
        let core = "[fabric]\nkind = \"edges\"\nedges = [\"client a\", \"a b 100 Mbit/s\", \"server1..8 b\"]\n\
                    [workload]\nfragment = \"146 KB\"";
        let thin = allowed(core, 8).unwrap();
        assert!(thin < 100.0 && thin > 95.0, "{thin}");
    }

    #[test]
    fn links_of_a_host_add_up_and_a_flow_has_one() {
        let line = 1_000.0 * 1_460.0 / 1_502.0;
        let on = |edges: &str, workload: &str, fan_in| {
            allowed(&format!("[fabric]\nkind = \"edges\"\nedges = [{edges}]\n[workload]\n{workload}"), fan_in).unwrap()
        };
        let (both, long) =
            ("\"client a\", \"client b\", \"server1..8 a\", \"server1..8 b\"", "kind = \"long\"\nwarm_up = \"1 ms\"");
        let [one, eight] = [1, 8].map(|fan_in| on(both, long, fan_in));
        assert!((one / line - 1.0).abs() < 1e-9 && (eight / line - 2.0).abs() < 1e-9, "{one} and {eight}");
        // The servers' only links lead to one switch, and so to one link of the client.
        let apart = on("\"client a\", \"client b\", \"server1..8 a\"", long, 8);
        assert!((apart / line - 1.0).abs() < 1e-9, "{apart}");
        let read = "fragment = \"146 KB\"\nduration = \"100 s\"";
        let alone = on("\"client a\", \"server1..8 a\"", read, 1);
        assert!((on(both, read, 1) / alone - 1.0).abs() < 0.01, "{alone}");
        assert!((on(both, read, 8) / on("\"client a\", \"server1..8 a\"", read, 8) - 2.0).abs() < 0.05);
        // The fast one of two unequal links.
        let unequal = on("\"client a\", \"client b 10 Gbit/s\", \"server1..8 a\", \"server1..8 b 10 Gbit/s\"", long, 1);
        assert!((unequal / line - 10.0).abs() < 1e-6, "{unequal}");
    }

    #[test]
    fn clients_are_limited_by_the_servers_links() {
        let clients = |more: &str| allowed(&format!("[workload]\nfragment = \"146 KB\"\n{more}"), 8).unwrap();
        let one = clients("");
        let own = clients("clients = 4\nservers = \"own\"");
        assert!((own / one - 4.0).abs() < 0.01, "{own} and {one}");
        // Sixteen ask eight servers.
        assert!((clients("clients = 16") - 8.0 * 1_000.0 * 1_460.0 / 1_502.0).abs() < 1e-6);
    }

    #[test]
    fn objects_are_limited_by_their_path_and_the_offered_rate() {
        let key_value =
            |more: &str| allowed(&format!("[workload]\nkind = \"key_value\"\n[key_value]\n{more}"), 4).unwrap();
        // 100 requests for 1,000 objects of 510 B, every 100 ms.
        assert!((key_value("within = \"10 s\"") - 40.8 * 100.0 / 99.0).abs() < 1e-9);
        assert!((key_value("within = \"10 s\"\nfront_ends = 3") / key_value("within = \"10 s\"") - 3.0).abs() < 1e-9);
        // One after another: 530 kB are 363 packets of 1,502 B, 4,361 us, and a round trip of 101.
        let apart = key_value("");
        assert!((apart / (1_000.0 * 510.0 * 8.0 / 4_462.0) - 1.0).abs() < 0.01, "{apart}");
        // Ten objects are no more than a round trip and 55 us.
        assert!(key_value("per_request = 10") < 10.0 * 510.0 * 8.0 / 142.0);
    }

    #[test]
    fn any_to_any_workloads_have_no_bound() {
        assert_eq!(allowed("[workload]\nkind = \"shuffle\"\nfragment = \"10 KB\"", 4), None);
    }
}
