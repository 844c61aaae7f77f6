//! Settings of ends.

use fanin_laws::uet::transport::HEADERS;
use fanin_laws::uet::{Kind, Place, Settings as Laws};
use fanin_units::Time;

/// Settings that all ends of a run on links of the same rate share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The congestion control, its settings, and the network.
    pub kind: Kind,
    /// See `kind`.
    pub laws: Laws,
    /// See `kind`.
    pub place: Place,
    /// Bytes of a full packet's payload.
    pub payload: u32,
    /// Time after which an unacknowledged packet is sent again.
    pub timeout: Time,
}

impl Settings {
    /// Those of a kind in a network with this port buffer, bytes.
    pub fn new(kind: Kind, laws: &Laws, place: Place, buffer: u64) -> Settings {
        let timeout = laws.uet.timeout.max(place.rtt).saturating_add(place.line.time_for(6 * buffer));
        Settings { kind, laws: laws.clone(), place, payload: kind.payload(laws), timeout }
    }

    /// Bytes on the wire of a packet with so much payload.
    pub fn wire_bytes(&self, payload: u32) -> u64 {
        u64::from(self.place.header + payload)
    }

    /// Bytes of an IP packet with so much payload.
    pub fn packet_bytes(&self, payload: u32) -> u32 {
        HEADERS + payload
    }
}
