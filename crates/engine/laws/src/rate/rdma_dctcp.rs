//! DCTCP for RDMA: a rate that falls in proportion to the share of marked packets.
//! Sources: Alizadeh et al., "Data Center TCP" (SIGCOMM 2010), section 3.3, for windows; as rates, Li et al., HPCC (SIGCOMM 2019),
//!          section 5.1, where it is a comparator.
//! Law:     once a round trip, alpha <- (1 - g) alpha + g F, F the share of marked packets; on a mark, once a round trip,
//!          rate <- rate (1 - alpha / 2); in a round trip without a cut, rate + increase.
//! Units:   rates in bit/s, rounded down; alpha in 1/65536, g likewise.
//! Owns:    rate, alpha, counts of the round trip. The endpoint keeps the window, which follows the rate.
//! Departs: there is no slow start: a connection begins at its link's rate.
//! Checked: vectors/rdma_dctcp.json; tests/trajectories/rdma_dctcp.txt.

use fanin_units::{Rate, Share};

use super::control::{Ack, Control, Place, share_of};
use crate::row::Shown;
use crate::settings::params;

params! {
    /// DCTCP for RDMA.
    rdma_dctcp {
        /// Weight of a new sample in alpha.
        #[range(Share::of(1, 1 << 16).., "it would never move alpha; the usual value is \"1/16\"")]
        g: Share = Share::of(1, 16),
        /// Increase in a round trip without a cut, as a share of the link's rate: 615 Mbit/s at 100 Gbit/s, a packet of 1,000 B in 13 us.
        increase: Share = Share::of(123, 20_000),
        /// Least rate, as a share of the link's.
        #[range(Share::of(1, 1_000_000).., "a rate of zero never ends")]
        min_rate: Share = Share::of(1, 100),
    }
}

/// One sender's state.
#[derive(Clone, Copy, Debug)]
pub struct RdmaDctcp {
    settings: Params,
    line: u64,
    rate: u64,
    alpha_q16: u64,
    /// Marked ACKs of the round trip, and the packets that it has.
    marked: u64,
    packets: u64,
    /// The first byte of the next round trip; zero before the first ACK.
    round_ends: u64,
    /// The first byte after a cut's round trip, while it lasts.
    cut_ends: Option<u64>,
}

impl RdmaDctcp {
    /// The state of a new connection, which begins at its link's rate.
    pub fn start(params: &Params, place: &Place) -> RdmaDctcp {
        let rate = place.line.0;
        RdmaDctcp {
            settings: *params,
            line: rate,
            rate,
            alpha_q16: 1 << 16,
            marked: 0,
            packets: 0,
            round_ends: 0,
            cut_ends: None,
        }
    }
}

impl Control for RdmaDctcp {
    fn acknowledge(&mut self, ack: &Ack<'_>) {
        self.marked += u64::from(ack.marked);
        let round = ack.acked > self.round_ends;
        if round {
            let packet = u64::from(ack.packet.max(1));
            if self.round_ends > 0 {
                let g_q16 = u64::from(self.settings.g.in_q(16));
                let share_q16 = ((self.marked << 16) / self.packets.max(1)).min(1 << 16);
                self.alpha_q16 = (((1 << 16) - g_q16) * self.alpha_q16 + g_q16 * share_q16) >> 16;
                self.marked = 0;
            }
            self.packets = (if self.round_ends > 0 { ack.next - ack.acked } else { ack.next }) / packet + 1;
            self.round_ends = ack.next;
        }
        self.cut_ends = self.cut_ends.filter(|&end| ack.acked <= end);
        if ack.marked && self.cut_ends.is_none() {
            let off = ((u128::from(self.rate) * u128::from(self.alpha_q16)) >> 17) as u64;
            self.rate = (self.rate - off).max(share_of(self.settings.min_rate, Rate(self.line)));
            self.cut_ends = Some(ack.next);
        }
        if round && self.cut_ends.is_none() {
            self.rate = (self.rate + share_of(self.settings.increase, Rate(self.line))).min(self.line);
        }
    }

    fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "alpha", value: self.alpha_q16, bits: 16 })
    }
}
