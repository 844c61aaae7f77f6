//! Dynamic thresholds: the ports of a switch take from one memory, each up to a threshold that falls as the memory fills.
//! Sources: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (IEEE/ACM ToN 6(2), 1998),
//!          section II.
//! Law:     a queue may hold R + min(T, what is free beside its own), T = alpha (S - used). R is reserved for it; S = B - H - n R is
//!          what n ports share of a memory of B bytes, H of them headroom; used is the sum over the ports of what each holds
//!          beyond its R, this one's too. A lone congested port comes to hold R + S alpha / (1 + alpha), each of k alike
//!          R + S alpha / (1 + k alpha).
//! Units:   bytes as they lie in a buffer; alpha with sixteen bits of fraction, T rounded down.
//! Owns:    nothing: what is used is the driver's to count.
//! Departs: a packet counts as its queue's before it is held against T, so that no queue passes it; there a queue takes packets
//!          while it is shorter than T. The paper has neither R nor H, which switches have.
//! Checked: vectors/dynamic_threshold.json; tests/properties/memory.rs.

use fanin_units::{Bytes, Ratio};

/// A switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub bytes: Bytes,
    /// What no threshold hands out.
    pub headroom: Bytes,
    /// What each port has to itself.
    pub reserved: Bytes,
    /// How much of what is free a port may have.
    pub alpha: Ratio,
}

/// How a memory is shared by its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicThreshold {
    shared: u64,
    reserved: u64,
    alpha_q16: u64,
}

impl DynamicThreshold {
    /// A memory with so many ports, unless headroom and what is reserved for them is all of it, or more.
    pub fn new(memory: &Memory, ports: u32) -> Option<DynamicThreshold> {
        let own = memory.reserved.0.checked_mul(ports.into())?.checked_add(memory.headroom.0)?;
        let shared = memory.bytes.0.checked_sub(own).filter(|&shared| shared > 0)?;
        Some(DynamicThreshold { shared, reserved: memory.reserved.0, alpha_q16: memory.alpha.in_q16() })
    }

    /// S, what ports share.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// What a queue of so many bytes has of what is shared.
    #[inline]
    pub fn taken(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.reserved)
    }

    /// What a queue may hold that has `taken` of the `used` bytes, which are at most S.
    #[inline]
    pub fn limit(&self, taken: u64, used: u64) -> u64 {
        let free = self.shared - used;
        let threshold = (u128::from(free) * u128::from(self.alpha_q16)) >> 16;
        self.reserved + threshold.min((taken + free).into()) as u64
    }

    /// What a port comes to hold that alone is congested.
    pub fn alone(&self) -> u64 {
        let all = u128::from(self.shared) * u128::from(self.alpha_q16);
        self.reserved + (all / u128::from(65_536 + self.alpha_q16)) as u64
    }
}
