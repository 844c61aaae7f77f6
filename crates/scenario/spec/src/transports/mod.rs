//! What a transport brings to a scenario: its packets, its ports, checks and warnings, each transport's in a file of its own.

mod properties;
mod rdma;
mod tcp;
mod uet;

use fanin_units::{QueueSize, Time};

use crate::{Packets, Scheme, Settings, Transport};
pub(crate) use properties::Properties;

impl Transport {
    pub(crate) fn properties(&self) -> &dyn Properties {
        match self {
            Transport::Tcp => &tcp::Tcp,
            Transport::Rdma(kind) => kind,
            Transport::Uet(kind) => kind,
        }
    }

    /// Whether every packet takes a path of its own.
    pub fn sprays(self) -> bool {
        self.properties().sprays()
    }

    /// What a Linux kernel lacks for it; `None` if it has it.
    pub fn lacks_in_linux(self) -> Option<&'static str> {
        self.properties().lacks_in_linux()
    }

    /// Seconds to simulate a data packet on one link of its path.
    pub fn packet_s(self) -> f64 {
        self.properties().packet_s()
    }

    /// Bytes of memory of an open connection with its two ends.
    pub fn connection_bytes(self) -> f64 {
        self.properties().connection_bytes()
    }

    /// Capacity of the queue of a switch's port without an override.
    pub fn port_buffer(self, s: &Settings) -> QueueSize {
        self.properties().port_buffer(s)
    }

    /// Limit of the queue of a switch's port with this capacity; `None` if pauses bound it.
    pub fn port_limit(self, s: &Settings, capacity: QueueSize) -> Option<QueueSize> {
        self.properties().port_limit(s, capacity)
    }
}

impl Settings {
    /// The packets of a scheme's hosts.
    pub fn packets(&self, scheme: &Scheme) -> Packets {
        scheme.transport.properties().packets(self)
    }

    /// Bytes on the wire of a full data packet of a scheme.
    pub fn wire_packet(&self, scheme: &Scheme) -> u64 {
        let Packets { payload, headers, .. } = self.packets(scheme);
        self.link.framing.on_wire(payload.0 as u32 + headers).into()
    }

    /// How long a sender of a scheme waits at least before it takes a packet for lost.
    pub fn least_timeout(&self, scheme: &Scheme) -> Time {
        scheme.transport.properties().least_timeout(self)
    }

    /// Limit of the client's port queue under a scheme; `None` if pauses bound it.
    pub fn client_limit(&self, scheme: &Scheme) -> Option<QueueSize> {
        let class = self.port_class(self.client_rate()).and_then(|class| class.buffer);
        let capacity = class.unwrap_or_else(|| scheme.transport.port_buffer(self));
        scheme.transport.port_limit(self, capacity).map(|_| capacity)
    }
}
