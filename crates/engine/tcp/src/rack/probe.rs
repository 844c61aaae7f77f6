//! An unresolved loss probe, and the reaction to a loss that it repaired.
//! Sources: RFC 8985, sections 7.3 and 7.4.

use fanin_laws::sender::Cause;

use crate::call::Call;
use crate::segment::Wire;
use crate::tcb::Tcb;

/// An unresolved loss probe (TLP.end_seq, TLP.is_retrans).
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub end: u64,
    pub again: bool,
}

/// The probe repaired a loss: reduce the window as for any other (7.4.1, TLP_process_ack(), case 3).
pub(super) fn react_to_repaired_loss(tcb: &mut Tcb, call: &Call<'_, impl Wire>, flight: u64) {
    if tcb.snd.cwr.is_none() {
        tcb.cut(Cause::Loss, call, tcb.within_window(flight), tcb.snd.window);
        tcb.snd.window.cwnd = tcb.snd.window.cwnd.min(tcb.snd.window.ssthresh);
        tcb.snd.send_cwr = tcb.ecn;
    }
}
