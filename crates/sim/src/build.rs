//! Ports of a spec's network, set up when first needed.

pub(crate) use fanin_assemble::fabric;
use fanin_assemble::{Purpose, Stream};
use fanin_assemble::{changes, host_faults, host_port_law, port_buffer, port_trim, switch_port_law};
use fanin_fabric::{Fabric, LinkId};
use fanin_laws::port::Law;
use fanin_spec::{Change, HostFault, RunSpec};
use fanin_units::{QueueSize, Time};

use crate::link::{Departures, Link};
use crate::pools::Pools;
use crate::setup::Switches;

/// Sets up ports, each when its first flow begins, so that an unused host costs little.
pub(crate) struct Ports {
    pub spec: RunSpec,
    departures: Departures,
    /// Whether switches' ports trim, and whether they serve higher classes first.
    pub trims: bool,
    by_class: bool,
    /// Buffer of a switch's port.
    pub buffer: QueueSize,
    /// Maximum jitter of a host's packets.
    pub jitter: Time,
    /// Scheduled link changes.
    pub changes: Vec<Change>,
    /// Scheduled host faults.
    pub host_faults: Vec<HostFault>,
}

impl Ports {
    /// The ports of a spec's network.
    pub fn new(spec: &RunSpec, departures: Departures, switches: &Switches, fabric: &Fabric) -> Ports {
        let jitter = spec.settings.packet_jitter(fabric);
        let (changes, host_faults) = (changes(spec, fabric), host_faults(spec, fabric));
        let buffer = port_buffer(spec);
        let Switches { trims, by_class, .. } = *switches;
        Ports { spec: spec.clone(), departures, trims, by_class, buffer, jitter, changes, host_faults }
    }

    /// Whether switches' ports trim, or serve higher classes first.
    pub fn extended(&self) -> bool {
        self.trims || self.by_class
    }

    /// Shared memories of the switches, if they have any.
    pub fn pools(&self, fabric: &Fabric) -> Option<Box<Pools>> {
        // Lossless switches divide their memory by where packets come from, and ports that trim have short queues of their own.
        self.spec.scheme.is_tcp().then(|| Pools::new(&self.spec.settings, fabric)).flatten()
    }

    /// Set up the port of a link, unless done.
    pub fn set_up(&self, id: LinkId, fabric: &Fabric, link: &mut Link) {
        if link.is_ready() {
            return;
        }
        let fanin_fabric::Link { from, rate, .. } = *fabric.link(id);
        let law = match fabric.is_host(from) {
            true => host_port_law(&self.spec, rate, self.buffer),
            false => {
                let law = switch_port_law(&self.spec, rate, self.buffer);
                let trim = self.trims.then(|| port_trim(&self.spec, rate, self.buffer));
                Law { trim, by_class: self.by_class, ..law }
            }
        };
        let changes = self.changes.iter().any(|change| change.links.contains(&id));
        let of_fault = self.host_faults.iter().any(|fault| fabric.uplink(fault.host) == id);
        // Departures cannot be computed in advance.
        let departures = if changes || of_fault { Departures::Lazy } else { self.departures };
        link.set_up(law, departures, changes, Stream::new(self.spec.seed, Purpose::Port, id.0));
    }
}
