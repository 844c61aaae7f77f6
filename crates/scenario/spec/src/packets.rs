//! Packets of a scheme's transport: their sizes, and how long a sender waits for one that is lost.

use fanin_units::{Bytes, Time};

use crate::{Scheme, Settings};

/// Sizes of the packets that a scheme's hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Bytes of the IP packet around it.
    pub headers: u32,
    /// Bytes of an IP packet that acknowledges.
    pub ack: Bytes,
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
}
