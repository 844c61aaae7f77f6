//! From a spec to the ports of its network, which are set up as they are needed.

use fanin_apps::{Purpose, Stream};
pub(crate) use fanin_assemble::fabric;
use fanin_assemble::{changes, host_faults, host_port_law, switch_port_law};
use fanin_fabric::{Fabric, LinkId};
use fanin_spec::{Change, HostFault, RunSpec};
use fanin_units::{QueueSize, Time};

use crate::link::{Departures, Link};
use crate::pools::Pools;

/// What sets ports up, each as the first flow over it begins: until then a host costs little.
pub(crate) struct Ports {
    pub spec: RunSpec,
    departures: Departures,
    /// What a switch's port holds at the most.
    pub buffer: QueueSize,
    /// How late a host's packet comes at most.
    pub jitter: Time,
    /// What becomes of links.
    pub changes: Vec<Change>,
    /// What becomes of hosts.
    pub host_faults: Vec<HostFault>,
}

impl Ports {
    /// The ports of a spec's network.
    pub fn new(spec: &RunSpec, departures: Departures, fabric: &Fabric) -> Ports {
        let jitter = spec.settings.packet_jitter(fabric);
        let (changes, host_faults) = (changes(spec, fabric), host_faults(spec, fabric));
        let buffer = spec.settings.port_buffer();
        Ports { spec: spec.clone(), departures, buffer, jitter, changes, host_faults }
    }

    /// What the ports of each switch share, where they do.
    pub fn pools(&self, fabric: &Fabric) -> Option<Box<Pools>> {
        Pools::new(&self.spec.settings, fabric)
    }

    /// Sets the port of a link up, unless it is.
    pub fn set_up(&self, id: LinkId, fabric: &Fabric, link: &mut Link) {
        if link.is_ready() {
            return;
        }
        let fanin_fabric::Link { from, rate, .. } = *fabric.link(id);
        let law = match fabric.is_host(from) {
            true => host_port_law(&self.spec, rate, self.buffer),
            false => switch_port_law(&self.spec, rate, self.buffer),
        };
        let changes = self.changes.iter().any(|change| change.links.contains(&id));
        let of_fault = self.host_faults.iter().any(|fault| fabric.uplink(fault.host) == id);
        // What will have left by then is not known before.
        let departures = if changes || of_fault { Departures::Lazy } else { self.departures };
        link.set_up(law, departures, changes, Stream::new(self.spec.seed, Purpose::Port, id.0));
    }
}
