//! Traffic classes of packets.

/// Largest DSCP (RFC 2474).
const DSCP_MAX: u32 = 63;

/// A traffic class, by its number or by a DSCP that its queue lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOf {
    /// Its number.
    Number(u32),
    /// A DSCP.
    Dscp(u32),
}

/// A DSCP.
pub(crate) fn dscp(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|&number| number <= DSCP_MAX);
    number.ok_or_else(|| format!("`{}` is not a DSCP from 0 to {DSCP_MAX}", text.trim()))
}
