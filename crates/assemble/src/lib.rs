//! From a run's settings to what its driver acts by: laws, parameters, the network.
//!
//! Every driver of a [`RunSpec`] asks here, so that no setting means one thing in the simulator and another elsewhere. A
//! spec is checked by whoever made it: nothing here can fail.

mod asking;
mod port;
mod receiver;
mod sender;
mod tcp;

pub use asking::{data_server_params, front_end_params, hub_params};
pub use port::{host_port_law, switch_port_law};
pub use receiver::receiver_law;
pub use sender::sender_law;
pub use tcp::tcp_params;

use fanin_fabric::Fabric;
use fanin_spec::{Change, HostFault, RunSpec};

/// The network: the client, its servers, then the background's hosts.
pub fn fabric(spec: &RunSpec) -> Fabric {
    spec.settings.network().expect("a spec's network has been built once")
}

/// What becomes of the network's links.
pub fn changes(spec: &RunSpec, fabric: &Fabric) -> Vec<Change> {
    spec.settings.changes(fabric).expect("a spec's changes have been worked out once")
}

/// What becomes of its hosts, in the order of time.
pub fn host_faults(spec: &RunSpec, fabric: &Fabric) -> Vec<HostFault> {
    spec.settings.host_faults(fabric).expect("a spec's faults have been worked out once")
}

/// M21's B; a buffer in packets is that many full frames.
fn m21_buffer(spec: &RunSpec) -> u64 {
    spec.settings.in_bytes(spec.settings.client_buffer())
}
