//! Settings of Ultra Ethernet's transport, which the crate `uet` carries out.

use fanin_units::{Bytes, Time};

use crate::settings::{params, words};

/// Bytes of an IP packet around its payload: IPv4 20, UDP 8, and 18 of the transport, so that with Ethernet's 18 a header has 64, as in the
/// consortium's simulator.
pub const HEADERS: u32 = 46;

words! {
    /// A sender's choice of a path for each packet.
    Spraying, "\"random\", \"reps\", \"bitmap\" or \"adaptive\"" {
        /// Any path.
        Random = "random",
        /// Paths whose packets arrived without a mark, and random ones if there are none.
        Reps = "reps",
        /// All paths in turn, without those that marked, trimmed or lost packets lately.
        Bitmap = "bitmap",
        /// Each switch's shortest queue.
        Adaptive = "adaptive",
    }
}

params! {
    /// Ultra Ethernet's transport (UET) and its ancestors: selective acknowledgements over ports that trim, a path for each packet.
    uet {
        /// Payload of a full packet; `ndp.payload` for NDP.
        #[range(Bytes(64)..=Bytes(16_384))]
        payload: Bytes = Bytes(4_086),
        /// Bytes after which a receiver acknowledges; marks, gaps that close and a sender's last packet are acknowledged at once.
        #[range(Bytes(0)..=Bytes(1_000_000))]
        ack_after: Bytes = Bytes(16_384),
        /// Time beyond six drains of a full port after which an unacknowledged packet is sent again; at least a round trip.
        #[range(Time::from_micros(1)..)]
        timeout: Time = Time::from_micros(15),
        /// Choice of each packet's path among equal ones: at random; recycled from packets that arrived without a mark (REPS); in turn, without paths that marked, trimmed or lost packets lately (a bitmap); or by each switch, the shortest queue.
        spraying: Spraying = Spraying::Random,
        /// Entropies, by which switches select paths.
        #[needs(|uet| matches!(uet.spraying, Spraying::Reps | Spraying::Bitmap), "only `uet.spraying = \"reps\"` and `\"bitmap\"` have entropies")]
        #[range(1..=65_536)]
        paths: u32 = 64,
    }
}
