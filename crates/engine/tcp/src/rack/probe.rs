//! An unresolved loss probe.
//! Sources: RFC 8985, section 7.3.

/// An unresolved loss probe (TLP.end_seq, TLP.is_retrans).
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub end: u64,
    pub again: bool,
}
