//! Settings of the hosts' transport.

use fanin_fabric::HostId;
use fanin_laws::rate::Place;
use fanin_laws::uet;
use fanin_laws::uet::transport::HEADERS;
use fanin_rdma::{Messages, Settings as RdmaSettings};
use fanin_spec::{RateBased, RunSpec, TrimBased};
use fanin_tcp::Settings;
use fanin_uet::Settings as UetSettings;
use fanin_units::{QueueSize, Rate};

use crate::network::fabric;
use crate::port::port_buffer;
use crate::sender::sender_law;
use crate::tcp::tcp_params;

/// Settings of TCP for all endpoints of a run.
pub fn tcp_settings(spec: &RunSpec) -> Settings {
    Settings::new(tcp_params(spec), sender_law(spec))
}

/// Settings of RDMA for the endpoints of a run on links of this rate. Its round-trip time is the longest one between the client and a
/// server, for a packet's payload alone, as HPCC's simulator has it.
pub fn rdma_settings(spec: &RunSpec, kind: RateBased, line: Rate) -> RdmaSettings {
    let (s, fabric) = (&spec.settings, fabric(spec));
    let (rdma, framing) = (&s.laws.rates.rdma, s.link.framing);
    let to = |host| s.round_trip(&fabric, HostId(host), rdma.payload);
    let rtt = (1..fabric.hosts()).map(to).max().unwrap_or_default();
    let in_bytes = |size: QueueSize| match size {
        QueueSize::Bytes(bytes) => bytes,
        QueueSize::Packets(packets) => u64::from(packets) * rdma.payload.0,
    };
    let settings = RdmaSettings::new(kind, &s.laws.rates, &Place { line, rtt });
    let headers = settings.data_bytes(0);
    RdmaSettings {
        payload: rdma.payload.0 as u32,
        framing: framing.on_wire(headers) - headers,
        timeout: s.rdma_timeout(),
        retries: (rdma.retries > 0).then_some(rdma.retries),
        nack_interval: rdma.nack_interval,
        recovery: rdma.recovery,
        most_in_flight: rdma.window.map_or(u64::MAX, in_bytes),
        messages: Messages { bytes: rdma.message.0, depth: rdma.depth.into(), cost: s.nic.message_cost },
        cnp_interval: kind.cnp_interval(&s.laws.rates),
        ..settings
    }
}

/// Settings of Ultra Ethernet's transport for the endpoints of a run on links of this rate. Its round-trip time is the longest one between
/// the client and a server, for a full packet and a header back.
pub fn uet_settings(spec: &RunSpec, kind: TrimBased, line: Rate) -> UetSettings {
    let (s, fabric) = (&spec.settings, fabric(spec));
    let (laws, framing) = (&s.laws.uet, s.link.framing);
    let payload = kind.payload(laws);
    let rtt = s.uet_round_trip(&fabric, kind);
    let (packet, header) = (framing.on_wire(HEADERS + payload), framing.on_wire(HEADERS));
    let place = uet::Place { line, rtt, packet, header };
    UetSettings::new(kind, laws, place, s.in_bytes(port_buffer(spec)))
}
