//! Dynamic thresholds: the ports of a switch share one memory; each port's threshold falls as the memory fills.
//! Sources: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (IEEE/ACM ToN 6(2), 1998),
//!          section II.
//! Law:     a queue may hold R + min(T, free shared bytes plus its own), T = alpha (S - used). R is reserved for the port. n ports
//!          share S = B - H - n R of a memory of B bytes, H of them headroom. used is the sum over all ports of the bytes beyond
//!          R. One congested port reaches R + S alpha / (1 + alpha), each of k equal ones R + S alpha / (1 + k alpha).
//! Units:   bytes as stored in the buffer; alpha with sixteen bits of fraction, T rounded down.
//! Owns:    nothing: the driver counts used bytes.
//! Departs: a packet is added to its queue before the comparison with T, so no queue exceeds T; in the paper a queue accepts
//!          packets while it is shorter than T. The paper has neither R nor H; switches do.
//! Checked: vectors/dynamic_threshold.json; tests/properties/memory.rs.

use fanin_units::{Bytes, Ratio};

/// A switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Total size.
    pub bytes: Bytes,
    /// Headroom, which no threshold hands out.
    pub headroom: Bytes,
    /// Bytes reserved for each port.
    pub reserved: Bytes,
    /// Multiple of the free memory that a port may use.
    pub alpha: Ratio,
}

/// Division of a memory among its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicThreshold {
    shared: u64,
    reserved: u64,
    alpha_q16: u64,
}

impl DynamicThreshold {
    /// Divide a memory among `ports`; `None` if headroom and reservations take all of it.
    pub fn new(memory: &Memory, ports: u32) -> Option<DynamicThreshold> {
        let own = memory.reserved.0.checked_mul(ports.into())?.checked_add(memory.headroom.0)?;
        let shared = memory.bytes.0.checked_sub(own).filter(|&shared| shared > 0)?;
        Some(DynamicThreshold { shared, reserved: memory.reserved.0, alpha_q16: memory.alpha.in_q16() })
    }

    /// S, the bytes that ports share.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// Shared bytes that a queue of this size uses.
    #[inline]
    pub fn taken(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.reserved)
    }

    /// Limit of a queue that has `taken` of the `used` bytes, which are at most S.
    #[inline]
    pub fn limit(&self, taken: u64, used: u64) -> u64 {
        let free = self.shared - used;
        let threshold = (u128::from(free) * u128::from(self.alpha_q16)) >> 16;
        self.reserved + threshold.min((taken + free).into()) as u64
    }

    /// Size at which a single congested port settles.
    pub fn alone(&self) -> u64 {
        let all = u128::from(self.shared) * u128::from(self.alpha_q16);
        self.reserved + (all / u128::from(65_536 + self.alpha_q16)) as u64
    }
}
