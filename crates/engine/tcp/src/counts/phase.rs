//! Phase of a sender that detects loss by counts.

use crate::prr::Prr;

/// Phase of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Recovery {
    /// No known loss.
    #[default]
    Open,
    /// NewReno's fast recovery (RFC 6582).
    Fast {
        /// No partial ACK yet: the next one restarts the timer (section 4, "impatient").
        first: bool,
    },
    /// Recovery with the scoreboard (RFC 6675), paced by proportional rate reduction (RFC 6937).
    Sack(Sack),
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
}

/// Recovery with the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sack {
    pub prr: Prr,
    /// One past the highest retransmitted byte (HighRxt); a rescue does not move it.
    pub high_rxt: u64,
    /// A rescue retransmission was made (RFC 6675, section 4, NextSeg rule 4).
    pub rescued: bool,
}
