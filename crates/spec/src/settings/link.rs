//! Links: rates, delays, frames.

use crate::range::RATE_MAX;
use crate::range::RATE_MIN;
use fanin_units::{Bytes, Rate, Time};

use crate::Framing;
use crate::declare::{section, words};
use crate::setting::Optional;

section! {
    /// Every link: both directions alike.
    Link in "link" {
        /// Rate of every link.
        #[range(RATE_MIN..=RATE_MAX)]
        rate: Rate = Rate(1_000_000_000),
        /// Rate of the client's link, where it differs.
        #[range(RATE_MIN..=RATE_MAX)]
        client_rate: Optional<Rate> = Optional::NONE,
        /// Propagation delay of each link, one way.
        #[range(..=Time::from_secs(10))]
        delay: Time = Time::from_micros(25),
        /// What the link layer adds to each packet. "ethernet": 38 B on the wire (preamble 8, header and checksum 18, gap 12), of which 18 B lie in a buffer too, in a frame of at least 64 B there. A size: so many bytes, on the wire and in buffers alike, and no least frame.
        framing: Framing = Framing::ETHERNET,
        /// How large packets are: "by-mss", as `tcp.mss` makes them; "standard", up to 1,500 B of IP; "jumbo", up to 9,000 B, 9,018 of a buffer and 9,038 of the wire. With the last two, `tcp.mss` is what fills such a packet (1,460 and 8,960 B; with `tcp.timestamps` 12 B less) unless it is given, and one that does not fit, or leaves jumbo frames no larger than others, is refused. What counts segments or packets grows along: windows (RFC 6928 would begin with 2 segments of 8,960 B, Linux does with its 10), buffers and thresholds in packets; buffers in bytes hold fewer.
        frames: Frames = Frames::ByMss,
    }
}

words! {
    /// How large a packet may be.
    Frames, "\"by-mss\", \"standard\" or \"jumbo\"" {
        /// As large as `tcp.mss` makes them.
        ByMss = "by-mss",
        /// Up to 1,500 B of IP.
        Standard = "standard",
        /// Up to 9,000 B of IP.
        Jumbo = "jumbo",
    }
}

impl Frames {
    /// The largest packet as IP has it, where it says.
    pub(crate) fn packet(self) -> Option<Bytes> {
        match self {
            Frames::ByMss => None,
            Frames::Standard => Some(Bytes(1_500)),
            Frames::Jumbo => Some(Bytes(9_000)),
        }
    }
}
