//! Reasons of the network to simulate a run on one core.

use fanin_fabric::{Fabric, Framing};
use fanin_units::Time;

use crate::parts::borders::Borders;

/// Whether more frequent synchronisation pays off was not measured.
const LEAST_AHEAD: Time = Time::from_micros(1);

/// Why runs on a network are simulated on one core in any case; `None` if they can gain from more.
pub fn one_core(fabric: &Fabric, framing: Framing) -> Option<String> {
    let borders = Borders::new(framing, fabric, 2);
    match () {
        () if !fabric.has_one_link_each() => Some("a host has several links".into()),
        () if borders.parts < 2 => Some("it has no two hosts".into()),
        () if borders.ahead < LEAST_AHEAD => Some(format!(
            "packets take at least {} ns from rack to rack, less than the {} ns that parts need between synchronizations",
            borders.ahead.0 / 1_000,
            LEAST_AHEAD.0 / 1_000
        )),
        () => None,
    }
}
