//! Settings of the hosts' transport.

use fanin_fabric::HostId;
use fanin_laws::rate::Place;
use fanin_rdma::Settings as RdmaSettings;
use fanin_spec::{RateBased, RunSpec};
use fanin_tcp::Settings;

use crate::network::fabric;
use crate::sender::sender_law;
use crate::tcp::tcp_params;

/// Settings of TCP for all endpoints of a run.
pub fn tcp_settings(spec: &RunSpec) -> Settings {
    Settings::new(tcp_params(spec), sender_law(spec))
}

/// Settings of RDMA for all endpoints of a run. Its round-trip time is the longest one between the client and a server,
/// for a packet's payload alone, as HPCC's simulator has it.
pub fn rdma_settings(spec: &RunSpec, kind: RateBased) -> RdmaSettings {
    let (s, fabric) = (&spec.settings, fabric(spec));
    let (rdma, framing) = (&s.laws.rates.rdma, s.link.framing);
    let to = |host| s.round_trip(&fabric, HostId(host), rdma.payload);
    let rtt = (1..fabric.hosts()).map(to).max().unwrap_or_default();
    let settings = RdmaSettings::new(kind, &s.laws.rates, &Place { line: s.link.rate, rtt });
    let headers = settings.data_bytes(0);
    RdmaSettings {
        payload: rdma.payload.0 as u32,
        framing: framing.on_wire(headers) - headers,
        timeout: rdma.timeout,
        nack_interval: rdma.nack_interval,
        cnp_interval: rdma.cnp_interval,
        ..settings
    }
}
