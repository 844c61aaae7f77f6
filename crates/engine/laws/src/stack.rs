//! Choices that RFCs leave open, on which TCP stacks differ.

/// Which packets are ECN-capable, once both ends agree on ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ect {
    /// Every packet.
    All,
    /// Every packet once the sender knows that both ends have agreed; the first SYN is not.
    Agreed,
    /// New data segments (RFC 3168, section 6.1).
    Data,
}

/// How NewReno's fast recovery counts the segments that duplicate ACKs report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewReno {
    /// They inflate the window (RFC 6582, section 3.2).
    Inflate,
    /// They leave the pipe, and the window stays at ssthresh, as in ns-3: the first two count from the third on, and
    /// ssthresh is half of the flight without the lost segment.
    Pipe,
}

/// Quantity that the minimum retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout (RFC 6298, 2.4).
    Timeout,
    /// Its variance term, so that the timeout exceeds SRTT by at least this, as in Linux.
    Variance,
}

/// How the round-trip time's variance is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttVariance {
    /// A smoothed deviation (RFC 6298, 2.3).
    Rfc6298,
    /// Its largest deviation in a round trip, as in Linux.
    Linux,
}
