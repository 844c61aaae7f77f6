//! Ports as a spec describes them.

use fanin_assemble::{class_port_law, host_port_law, port_buffer, port_trim, switch_port_law};
use fanin_laws::dynamic_threshold::Memory;
use fanin_laws::port::Law;
use fanin_laws::port::trimming::Trim;
use fanin_sim::Ports;
use fanin_spec::RunSpec;
use fanin_transport::Class;
use fanin_units::{QueueSize, Rate};

/// The ports of a spec's network.
pub(crate) struct SpecPorts {
    spec: RunSpec,
    /// The run as background traffic has it, if its scheme is another one.
    background: Option<RunSpec>,
    /// Buffer of a switch's port without an override.
    buffer: QueueSize,
}

impl SpecPorts {
    /// The ports of a spec's network.
    pub fn new(spec: &RunSpec) -> SpecPorts {
        SpecPorts { spec: spec.clone(), background: spec.background(), buffer: port_buffer(spec) }
    }
}

impl Ports for SpecPorts {
    fn switch(&self, rate: Rate) -> Law {
        switch_port_law(&self.spec, rate, self.buffer)
    }

    fn class(&self, rate: Rate, class: Class) -> Law {
        let queue = self.spec.settings.traffic_classes().find(|queue| queue.number == class.number());
        queue.map_or(Law::UNLIMITED, |queue| {
            class_port_law(&self.spec, self.background.as_ref(), &queue, rate, self.buffer)
        })
    }

    fn host(&self, rate: Rate) -> Law {
        host_port_law(&self.spec, rate, self.buffer)
    }

    fn trim(&self, rate: Rate) -> Trim {
        port_trim(&self.spec, rate, self.buffer)
    }

    fn memory(&self) -> Option<Memory> {
        // Lossless switches divide their memory by where packets come from; traffic classes and ports that trim have queues of their own.
        let settings = &self.spec.settings;
        let shares = self.spec.scheme.is_tcp() || settings.is_lossy_rdma(&self.spec.scheme);
        (shares && !settings.has_classes()).then(|| self.spec.settings.memory()).flatten()
    }

    fn buffer(&self, rate: Rate) -> Option<u64> {
        let settings = &self.spec.settings;
        let class = settings.port_class(rate).and_then(|class| class.buffer);
        Some(settings.in_bytes(class.unwrap_or(self.buffer)))
    }
}
