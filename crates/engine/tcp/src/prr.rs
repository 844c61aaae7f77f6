//! Proportional rate reduction: a window reduction spread over a round trip (RFC 6937, section 3.1).

/// Counters of one reduction, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prr {
    delivered: u64,
    out: u64,
    recover_fs: u64,
}

impl Prr {
    /// Begin a reduction with `flight` bytes outstanding (RecoverFS).
    pub fn new(flight: u64) -> Prr {
        Prr { delivered: 0, out: 0, recover_fs: flight.max(1) }
    }

    /// Bytes to send on an ACK that delivers `delivered` bytes, with the slow-start reduction bound.
    #[inline]
    pub fn quota(&mut self, delivered: u64, pipe: u64, ssthresh: u32, mss: u32) -> u64 {
        self.quota_within(delivered, pipe, ssthresh, mss)
    }

    /// The same with `more` bytes more than delivered if the pipe is small: an MSS (slow-start reduction bound) or
    /// zero (conservative reduction bound).
    pub fn quota_within(&mut self, delivered: u64, pipe: u64, ssthresh: u32, more: u32) -> u64 {
        let ssthresh = u64::from(ssthresh);
        self.delivered += delivered;
        if pipe > ssthresh {
            (self.delivered * ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + u64::from(more);
            (ssthresh - pipe).min(limit)
        }
    }

    /// Whether nothing has been sent yet.
    pub fn untouched(&self) -> bool {
        self.out == 0
    }

    /// Count sent bytes.
    pub fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}
