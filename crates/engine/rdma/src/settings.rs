//! Settings of ends.

use fanin_laws::rate::rdma::{HEADERS, Recovery};
use fanin_laws::rate::{Kind, Law, Place, Settings as Laws};
use fanin_units::{Rate, Time};

/// Bytes of an extended header for acknowledgements.
const ACK: u32 = 4;

/// Settings that all ends of a run on links of the same rate share.
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
    /// Rate of the end's link.
    pub line: Rate,
    /// Bytes in flight at that rate, if they are limited; at a lower rate, so much less.
    pub window: Option<u64>,
    /// Most bytes in flight at any rate, the card's own limit.
    pub most_in_flight: u64,
    /// Time without an acknowledgement after which everything unacknowledged is sent again.
    pub timeout: Time,
    /// Timeouts in a row after which the connection breaks; `None`: never.
    pub retries: Option<u32>,
    /// Least time between two requests for the same missing byte; `None`: one for each burst of loss.
    pub nack_interval: Option<Time>,
    /// Packets that are sent again after a loss.
    pub recovery: Recovery,
    /// Least time between two congestion notifications of a connection.
    pub cnp_interval: Time,
    /// Messages into which a stream is divided.
    pub messages: Messages,
}

/// Messages into which a stream is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Bytes of each; zero: each write of the application is one.
    pub bytes: u64,
    /// Messages in flight; zero: any number. Zero unless they have a size.
    pub depth: u64,
    /// Time that the sending card needs between two messages of a queue pair: it begins the next one so long after the last packet of the
    /// one before, or after the acknowledgement for which it waited.
    pub cost: Time,
}

impl Settings {
    /// Those of a kind with its settings, on a link of this rate and in a network with this round-trip time.
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
            most_in_flight: u64::MAX,
            timeout: Time::from_millis(4),
            retries: None,
            nack_interval: Some(Time::from_micros(500)),
            recovery: Recovery::GoBackN,
            cnp_interval: Time::ZERO,
            messages: Messages::default(),
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
