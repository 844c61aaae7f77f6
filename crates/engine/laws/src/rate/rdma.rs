//! Settings of RDMA's reliable connection, which the crate `rdma` carries out.

use fanin_units::{Bytes, Time};

use crate::settings::params;

/// Bytes of an IP packet around its payload: IPv4, UDP, base transport header, invariant CRC (RoCEv2).
pub const HEADERS: u32 = 20 + 8 + 12 + 4;

params! {
    /// RDMA's reliable connection (RoCEv2): go-back-N over lossless ports.
    rdma {
        /// Payload of a full packet.
        #[range(Bytes(64)..=Bytes(16_384))]
        payload: Bytes = Bytes(1_024),
        /// Time without an acknowledgement after which everything unacknowledged is sent again.
        #[range(Time::from_micros(10)..)]
        timeout: Time = Time::from_millis(4),
        /// Least time between two requests for the same missing packet.
        nack_interval: Time = Time::from_micros(500),
    }
}
