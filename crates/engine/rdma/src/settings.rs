//! Settings of all ends.

use fanin_laws::rate::rdma::HEADERS;
use fanin_laws::rate::{Kind, Law, Place, Settings as Laws};
use fanin_units::{Rate, Time};

/// Bytes of an extended header for acknowledgements.
const ACK: u32 = 4;

/// Settings that all ends of a run share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// State of a new connection's congestion control.
    pub law: Law,
    /// Its kind.
    pub kind: Kind,
    /// Whether a change of the rate also moves a packet that waits for its time.
    pub retimes: bool,
    /// Bytes of a full packet's payload.
    pub payload: u32,
    /// Bytes that a packet has on the wire beyond those of IP.
    pub framing: u32,
    /// Rate of the hosts' links.
    pub line: Rate,
    /// Bytes in flight at that rate, if they are limited; at a lower rate, so much less.
    pub window: Option<u64>,
    /// Time without an acknowledgement after which everything unacknowledged is sent again.
    pub timeout: Time,
    /// Least time between two requests for the same missing byte.
    pub nack_interval: Time,
    /// Least time between two congestion notifications of a connection.
    pub cnp_interval: Time,
}

impl Settings {
    /// Those of a kind with its settings, in a network with links of this rate and this round-trip time.
    pub fn new(kind: Kind, laws: &Laws, place: &Place) -> Settings {
        let window = place.line.bytes_in(place.rtt);
        Settings {
            law: kind.start(laws, place),
            kind,
            retimes: kind.retimes(laws),
            payload: 1_000,
            framing: 0,
            line: place.line,
            window: kind.is_windowed().then_some(window),
            timeout: Time::from_millis(4),
            nack_interval: Time::from_micros(500),
            cnp_interval: Time::ZERO,
        }
    }

    /// Bytes of an IP packet with so much payload.
    pub fn data_bytes(&self, payload: u32) -> u32 {
        HEADERS + self.kind.header_bytes() + payload
    }

    /// Bytes of an IP packet that acknowledges.
    pub fn ack_bytes(&self) -> u32 {
        HEADERS + ACK + self.kind.header_bytes()
    }
}
