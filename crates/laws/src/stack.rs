//! What RFCs leave a TCP to choose, and stacks choose in their own ways.

/// Which packets are ECN-capable, once both ends agree on ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ect {
    /// Every packet.
    All,
    /// Every packet, once the sender knows that both ends have agreed: the first SYN is not.
    Agreed,
    /// New data segments (RFC 3168, section 6.1).
    Data,
}

/// How NewReno's fast recovery counts the segments that duplicate ACKs tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewReno {
    /// They inflate the window (RFC 6582, section 3.2).
    Inflate,
    /// They leave the pipe, and the window stays at ssthresh, as ns-3 has it: the first two count from the third on, and
    /// ssthresh is half of what is left without the lost segment.
    Pipe,
}

/// What the least retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout (RFC 6298, 2.4).
    Timeout,
    /// Its term of variance, so that the timeout is at least SRTT more, as Linux has it.
    Variance,
}

/// How the round-trip time's variance is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttVariance {
    /// A smoothed deviation (RFC 6298, 2.3).
    Rfc6298,
    /// Its largest of a round trip, as Linux has it.
    Linux,
}
