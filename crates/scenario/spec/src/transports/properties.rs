//! The properties of a transport in a scenario.

use fanin_units::{QueueSize, Time};

use crate::problem::Wrong;
use crate::{Packets, Scheme, Settings};

/// What a transport brings to a scenario.
pub(crate) trait Properties {
    fn packets(&self, s: &Settings) -> Packets;

    /// How long a sender waits at least before it takes a packet for lost.
    fn least_timeout(&self, s: &Settings) -> Time;

    fn port_buffer(&self, s: &Settings) -> QueueSize {
        s.port_buffer()
    }

    fn port_limit(&self, s: &Settings, capacity: QueueSize) -> Option<QueueSize>;

    fn sprays(&self) -> bool {
        false
    }

    fn lacks_in_linux(&self) -> Option<&'static str>;

    fn packet_s(&self) -> f64;

    fn connection_bytes(&self) -> f64;

    /// Why it does not use a key; `None` if it does.
    fn ignores(&self, s: &Settings, path: &str) -> Option<&'static str>;

    /// Values with which it cannot run.
    fn check(&self, scheme: &Scheme, s: &Settings) -> Result<(), Wrong>;

    /// Values that work but probably not as intended.
    fn doubts(&self, points: &[&Settings]) -> Option<Wrong>;
}

/// Why a transport other than TCP does not use a key that TCP uses; `None` if it does.
pub(super) fn ignores_keys_of_tcp(path: &str) -> Option<&'static str> {
    match path {
        // Counts packets of buffers and thresholds.
        "tcp.mss" => None,
        "host.buffer" | "host.queue" => Some("a network card takes one packet of each sender at a time"),
        path if path.starts_with("tcp.") => Some("none of these schemes uses TCP"),
        _ => None,
    }
}
