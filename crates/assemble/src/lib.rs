//! Conversion of a run's settings to algorithms, parameters, the network, initial placements, and settings of Linux.
//!
//! Every driver of a [`RunSpec`] uses this crate, so settings have the same meaning everywhere. A spec was validated when it was made, so
//! only two conversions can fail: [`fits`] refuses a placement plan for another cluster, and [`linux()`] what no kernel has.

mod key_value;
mod linux;
mod placement;
mod port;
mod receiver;
mod sender;
mod streams;
mod tcp;

pub use key_value::{data_server_params, front_end_params, hub_params};
pub use linux::{
    Batch, CoDel, Egress, Htb, LinuxHost, LinuxSetup, MOST_SERVERS, MTU, Namespaces, Qdisc, Red, RouteAttribute,
    Sysctl, Unsupported, linux, route_window_holds, socket_buffer,
};
pub use placement::{drawn, fits, racks};
pub use port::{host_port_law, switch_port_law};
pub use receiver::receiver_law;
pub use streams::{Purpose, SmallStream, Stream, StreamOf};
pub use tcp::tcp_settings;

use fanin_fabric::Fabric;
use fanin_spec::{Change, HostFault, RunSpec};

/// The network: the client, its servers, then the background's hosts.
pub fn fabric(spec: &RunSpec) -> Fabric {
    spec.settings.network().expect("a spec's network has been built once")
}

/// Changes of the network's links.
pub fn changes(spec: &RunSpec, fabric: &Fabric) -> Vec<Change> {
    spec.settings.changes(fabric).expect("a spec's changes have been worked out once")
}

/// Host faults, in order of time.
pub fn host_faults(spec: &RunSpec, fabric: &Fabric) -> Vec<HostFault> {
    spec.settings.host_faults(fabric).expect("a spec's faults have been worked out once")
}

/// M21's B; a buffer in packets counts as full frames.
fn m21_buffer(spec: &RunSpec) -> u64 {
    spec.settings.in_bytes(spec.settings.client_buffer())
}
