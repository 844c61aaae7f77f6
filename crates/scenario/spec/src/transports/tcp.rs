//! TCP in a scenario.

use fanin_units::{QueueSize, Time};

use super::properties::Properties;
use crate::problem::Wrong;
use crate::{PURE_ACK, Packets, Scheme, Settings};

/// Bytes of timestamps.
const TIMESTAMPS: u32 = 12;

/// TCP, whose congestion control and parts a scheme has beside it.
pub(super) struct Tcp;

impl Properties for Tcp {
    fn packets(&self, s: &Settings) -> Packets {
        let options = if s.tcp.timestamps { TIMESTAMPS } else { 0 };
        Packets { payload: s.tcp.mss, headers: PURE_ACK.0 as u32 + options, ack: PURE_ACK }
    }

    fn least_timeout(&self, s: &Settings) -> Time {
        s.tcp.rto_min
    }

    fn port_limit(&self, _s: &Settings, capacity: QueueSize) -> Option<QueueSize> {
        Some(capacity)
    }

    fn one_core(&self) -> Option<&'static str> {
        None
    }

    fn lacks_in_linux(&self) -> Option<&'static str> {
        None
    }

    fn packet_s(&self) -> f64 {
        0.1e-6
    }

    fn ignores(&self, _s: &Settings, _path: &str) -> Option<&'static str> {
        None
    }

    fn check(&self, _scheme: &Scheme, _s: &Settings) -> Result<(), Wrong> {
        Ok(())
    }

    fn doubts(&self, _points: &[&Settings]) -> Option<Wrong> {
        None
    }
}
