//! The network, and what happens to it.

use fanin_fabric::{Change, Fabric, HostFault};
use fanin_spec::RunSpec;

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
