//! What must add up at the end of a run, in release too: nothing is lost, and nothing comes from nowhere.

use fanin_spec::Totals;

use crate::world::World;

/// What does not, if anything.
pub(crate) fn check<P>(_world: &World<P>, totals: &Totals) -> Result<(), String> {
    packets(totals)
}

/// Every packet that was sent was delivered, dropped, or is under way.
fn packets(totals: &Totals) -> Result<(), String> {
    let Totals { injected_packets: sent, delivered_packets: delivered, drops, in_flight_packets: under_way, .. } =
        totals;
    match *sent == delivered + drops + under_way {
        true => Ok(()),
        false => Err(format!(
            "packets are not conserved: {sent} sent, {delivered} delivered, {drops} dropped, {under_way} under way"
        )),
    }
}
