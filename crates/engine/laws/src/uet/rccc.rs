//! RCCC: Ultra Ethernet's credit from the receiver.
//! Sources: Ultra Ethernet Specification 1.0 (receiver-credit-based congestion control); constants of uet-htsim, commit 40ccb05.
//! Law:     EQDS's, with a window of 1.5 bandwidth-delay products and turns of four packets.
//! Units:   bytes on the wire.
//! Owns:    nothing: see eqds.rs.
//! Departs: as eqds.rs; and a host that sends to several receivers asks each for as much as if it were the only one.
//! Checked: vectors/rccc.json; tests/trajectories/rccc.txt.

use fanin_units::Bytes;

use super::eqds::Granting;
use super::place::Place;
use crate::settings::params;

params! {
    /// RCCC, Ultra Ethernet's receiver-based congestion control.
    rccc {
        /// First credit of a message and the most that is granted, in percent of the bandwidth-delay product.
        #[range(10..=10_000)]
        window_percent: u32 = 150,
        /// Credit of a turn.
        #[range(Bytes(64)..=Bytes(1_000_000))]
        grant: Bytes = Bytes(16_384),
    }
}

impl Params {
    /// The form that the law takes.
    pub fn granting(&self, place: &Place) -> Granting {
        let window = (place.bdp() * u64::from(self.window_percent) / 100).max(place.packet.into());
        Granting { window, grant: self.grant.0, place: *place }
    }
}
