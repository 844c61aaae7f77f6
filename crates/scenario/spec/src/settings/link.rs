//! Settings of links: rates, delays and frames.

use crate::range::RATE_MAX;
use crate::range::RATE_MIN;
use fanin_units::{Bytes, Rate, Time};

use crate::Framing;
use crate::declare::{section, words};
use crate::setting::Optional;

section! {
    /// Every link, in both directions.
    Link in "link" {
        /// Rate of every link.
        #[range(RATE_MIN..=RATE_MAX)]
        rate: Rate = Rate(1_000_000_000),
        /// Rate of the client's link, if different.
        #[range(RATE_MIN..=RATE_MAX)]
        client_rate: Optional<Rate> = Optional::NONE,
        /// One-way propagation delay of each link.
        #[range(..=Time::from_secs(10))]
        delay: Time = Time::from_micros(25),
        /// Overhead of the link layer per packet. "ethernet": 38 B on the wire (preamble 8, header and checksum 18, gap 12); 18 B of these also occupy buffers, in frames of at least 64 B. A size: this many bytes, on the wire and in buffers, without a minimum frame.
        framing: Framing = Framing::ETHERNET,
        /// Packet size: "by-mss", as set by `tcp.mss`; "standard", up to 1,500 B of IP; "jumbo", up to 9,000 B of IP (9,018 B in a buffer, 9,038 B on the wire). "standard" and "jumbo" set `tcp.mss` to fill the packet (1,460 and 8,960 B, 12 B less with `tcp.timestamps`). An explicit `tcp.mss` must fit, and must need jumbo frames with "jumbo". Larger packets also scale everything counted in segments or packets: windows (RFC 6928 starts with 2 segments of 8,960 B, Linux with its usual 10), buffers and thresholds in packets. Buffers in bytes hold fewer packets.
        frames: Frames = Frames::ByMss,
    }
}

words! {
    /// Packet size.
    Frames, "\"by-mss\", \"standard\" or \"jumbo\"" {
        /// As set by `tcp.mss`.
        ByMss = "by-mss",
        /// Up to 1,500 B of IP.
        Standard = "standard",
        /// Up to 9,000 B of IP.
        Jumbo = "jumbo",
    }
}

impl Frames {
    /// Largest IP packet, if defined.
    pub(crate) fn packet(self) -> Option<Bytes> {
        match self {
            Frames::ByMss => None,
            Frames::Standard => Some(Bytes(1_500)),
            Frames::Jumbo => Some(Bytes(9_000)),
        }
    }
}
