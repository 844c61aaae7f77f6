//! Transports of hosts, with their congestion controls.

use fanin_laws::row::Row;

use crate::{RateBased, TrimBased};

/// A transport, with its congestion control unless it is TCP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// RDMA over lossless ports.
    Rdma(RateBased),
    /// Ultra Ethernet's, or an ancestor of it, over ports that trim.
    Uet(TrimBased),
}

impl Transport {
    /// The transports other than TCP, each with a congestion control.
    pub(crate) fn others() -> impl Iterator<Item = Transport> {
        let rdma = RateBased::ALL.iter().copied().map(Transport::Rdma);
        rdma.chain(TrimBased::ALL.iter().copied().map(Transport::Uet))
    }

    /// Its name in tables.
    pub fn word(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Rdma(_) => "rdma",
            Transport::Uet(_) => "uet",
        }
    }

    /// The row of its congestion control, unless it is TCP's.
    pub(crate) fn row(self) -> Option<&'static Row> {
        match self {
            Transport::Tcp => None,
            Transport::Rdma(kind) => Some(kind.row()),
            Transport::Uet(kind) => Some(kind.row()),
        }
    }
}
