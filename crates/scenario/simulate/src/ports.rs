//! Ports as a spec describes them.

use fanin_assemble::{host_port_law, port_buffer, port_trim, switch_port_law};
use fanin_laws::dynamic_threshold::Memory;
use fanin_laws::port::Law;
use fanin_laws::port::trimming::Trim;
use fanin_sim::Ports;
use fanin_spec::RunSpec;
use fanin_units::{QueueSize, Rate};

/// The ports of a spec's network.
pub(crate) struct SpecPorts {
    spec: RunSpec,
    /// Buffer of a switch's port without an override.
    buffer: QueueSize,
}

impl SpecPorts {
    /// The ports of a spec's network.
    pub fn new(spec: &RunSpec) -> SpecPorts {
        SpecPorts { spec: spec.clone(), buffer: port_buffer(spec) }
    }
}

impl Ports for SpecPorts {
    fn switch(&self, rate: Rate) -> Law {
        switch_port_law(&self.spec, rate, self.buffer)
    }

    fn host(&self, rate: Rate) -> Law {
        host_port_law(&self.spec, rate, self.buffer)
    }

    fn trim(&self, rate: Rate) -> Trim {
        port_trim(&self.spec, rate, self.buffer)
    }

    fn memory(&self) -> Option<Memory> {
        // Lossless switches divide their memory by where packets come from, and ports that trim have short queues of their own.
        let shares = self.spec.scheme.is_tcp() || self.spec.settings.is_lossy_rdma(&self.spec.scheme);
        shares.then(|| self.spec.settings.memory()).flatten()
    }

    fn buffer(&self, rate: Rate) -> Option<u64> {
        let settings = &self.spec.settings;
        let class = settings.port_class(rate).and_then(|class| class.buffer);
        Some(settings.in_bytes(class.unwrap_or(self.buffer)))
    }
}
