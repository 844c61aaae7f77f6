//! Closed-form models of incast, as predictions and as bounds for simulations.
//!
//! Windows and flows may be fractions: they are averages.
//!
//! ```
//! use fanin_model::{last_answer_at_the_earliest, most_goodput_mbps};
//! use fanin_units::{Bytes, Rate, Time};
//!
//! let rate = Rate(10_000_000_000);
//! let last = last_answer_at_the_earliest(100, Bytes(64_000), rate, Time::from_micros(10));
//! assert_eq!(last, Time::from_micros(5_130));
//! assert!(most_goodput_mbps(rate, Bytes(1_460), Bytes(78)) > 9_400.0);
//! ```

mod allowed;
mod bounds;
mod incast_probability;
mod overflow;
mod sawtooth;

use fanin_units::{Bytes, QueueSize, Rate, Time};

pub use allowed::{Answers, Parts, Room, Starts};
pub use bounds::{dctcp_queue_packets, last_answer_at_the_earliest, most_goodput_mbps};
pub use incast_probability::{Growth, incast_as_printed, incast_at, incast_when_full, loss_rate};
pub use overflow::{barrier_goodput_mbps, overflow_onset};
pub use sawtooth::{Sawtooth, least_threshold, most_gain};

/// The shared bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Its rate.
    pub rate: Rate,
    /// Queue capacity.
    pub buffer: QueueSize,
    /// Round-trip time without a queue.
    pub rtt: Time,
    /// A full packet on the wire.
    pub packet: Bytes,
}

impl Bottleneck {
    /// Queue capacity in full packets.
    pub fn buffer_packets(&self) -> f64 {
        match self.buffer {
            QueueSize::Packets(packets) => packets.into(),
            QueueSize::Bytes(bytes) => bytes as f64 / self.packet.0 as f64,
        }
    }

    /// Capacity of pipe and queue in full packets: (C RTT + B) / MSS (GSS, equation 4).
    pub fn capacity_packets(&self) -> f64 {
        let pipe = self.rate.0 as f64 * self.rtt.as_secs_f64() / 8.0 / self.packet.0 as f64;
        pipe + self.buffer_packets()
    }
}

/// Headers of the files, by the form's name, for `fanin explain model`.
pub fn headers() -> &'static [(&'static str, &'static str)] {
    &[
        ("incast_probability", include_str!("incast_probability.rs")),
        ("overflow", include_str!("overflow.rs")),
        ("bounds", include_str!("bounds.rs")),
        ("sawtooth", include_str!("sawtooth.rs")),
        ("allowed", include_str!("allowed.rs")),
    ]
}
