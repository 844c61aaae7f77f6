//! TCP in a scenario.

use fanin_units::{QueueSize, Time};

use super::properties::Properties;
use crate::problem::Wrong;
use crate::{Ect, PURE_ACK, Packets, Scheme, Settings};

/// Bytes of timestamps.
const TIMESTAMPS: u32 = 12;

/// TCP, whose congestion control and parts a scheme has beside it.
pub(super) struct Tcp;

impl Settings {
    /// Sets what a scheme's congestion control needs of TCP.
    pub(crate) fn suit(&mut self, scheme: &Scheme) {
        if scheme.exact_echo() {
            self.tcp.ect = Ect::All;
        }
        if scheme.base.row().times_packets {
            (self.tcp.timestamps, self.tcp.delayed_ack) = (true, 1);
        }
    }
}

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

    fn lacks_in_linux(&self) -> Option<&'static str> {
        None
    }

    fn packet_s(&self) -> f64 {
        0.1e-6
    }

    fn connection_bytes(&self) -> f64 {
        1_225.0
    }

    fn ignores(&self, s: &Settings, path: &str) -> Option<&'static str> {
        match path {
            "switch.alpha" | "switch.reserved" | "switch.headroom" if s.has_classes() => {
                Some("traffic classes have buffers of their own, or divide memory by `[pfc]`")
            }
            _ => None,
        }
    }

    fn check(&self, _scheme: &Scheme, _s: &Settings) -> Result<(), Wrong> {
        Ok(())
    }

    fn doubts(&self, _points: &[&Settings]) -> Option<Wrong> {
        None
    }
}
