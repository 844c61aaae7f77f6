//! Sizes of a transport's packets.

use fanin_units::Bytes;

/// Sizes of the packets that a scheme's hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Bytes of the IP packet around it.
    pub headers: u32,
    /// Bytes of an IP packet that acknowledges.
    pub ack: Bytes,
}
