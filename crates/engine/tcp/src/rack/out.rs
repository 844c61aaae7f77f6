//! Record of an outstanding segment (RFC 8985, section 5.2).

use fanin_units::Time;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    /// When it was last sent (Segment.xmit_ts).
    pub at: Time,
    pub len: u16,
    /// Its share of the congestion window: its bytes, or a full segment if the window counts packets.
    pub share: u16,
    pub fin: bool,
    pub resent: bool,
    pub sacked: bool,
    /// Lost, and not retransmitted since.
    pub lost: bool,
}

impl Sent {
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.fin)
    }

    pub fn end(&self) -> u64 {
        self.start + self.span()
    }
}
