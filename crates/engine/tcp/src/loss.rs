//! Choice of an endpoint's loss detection; both kinds have the same interface.

use fanin_transport::{Block, Timer};
use fanin_units::Time;

use crate::call::Call;
use crate::counts::Counts;
use crate::params::Params;
use crate::rack::{Marks, Rack};
use crate::segment::{Segment, Wire};
use crate::tcb::Tcb;

/// Detects losses and selects the segments to send: lost ones first, then new ones.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    /// By counts.
    Counts(Counts),
    /// By time, or with a tail loss probe. Boxed, since few endpoints use it and the others stay small.
    Rack(Box<Rack>),
}

impl Loss {
    /// The kind that the settings select.
    pub fn new(params: &Params) -> Loss {
        if params.sack && (params.rack || params.tail_loss_probe) {
            Loss::Rack(Box::new(Rack::new()))
        } else {
            Loss::Counts(Counts::default())
        }
    }

    /// Take the round trip of the handshake; ACKs bring the others.
    pub fn note_rtt(&mut self, rtt: Time, params: &Params) {
        if let Loss::Rack(rack) = self {
            rack.note_rtt(rtt, params);
        }
    }

    /// Process a segment's acknowledgement, and send as it allows. Returns false if it acknowledges data that was never sent: the
    /// segment is dropped (RFC 9293, section 3.10.7.4; as in Linux without an answer, tcp_ack()).
    #[inline(always)]
    pub fn on_ack(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block]) -> bool {
        let ack = tcb.ack_of(segment);
        if ack > tcb.snd.high {
            return false;
        }
        // An old acknowledgement has an old window.
        let (current, before) = (ack >= tcb.snd.una, tcb.snd.rwnd);
        if current {
            tcb.snd.rwnd = segment.window;
        }
        match self {
            Loss::Counts(counts) => counts.on_ack(tcb, call, segment, sack, ack),
            Loss::Rack(rack) => rack.on_ack(tcb, call, segment, sack, current && segment.window > before),
        }
        true
    }

    /// The sender's timer fired.
    pub fn on_timer(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        match self {
            Loss::Counts(counts) => counts.on_timer(tcb, call),
            Loss::Rack(rack) => rack.on_timer(tcb, call),
        }
    }

    /// The state of recovery; `None` by counts.
    pub fn marks(&self) -> Option<Marks> {
        match self {
            Loss::Counts(_) => None,
            Loss::Rack(rack) => Some(rack.marks()),
        }
    }

    /// The next timer of an open connection.
    pub fn pending_timer(&self) -> Timer {
        match self {
            Loss::Counts(_) => Timer::Timeout,
            Loss::Rack(rack) => rack.pending_timer(),
        }
    }

    /// Send as the windows allow.
    pub fn transmit(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        match self {
            Loss::Counts(counts) => counts.transmit(tcb, call),
            Loss::Rack(rack) => rack.transmit(tcb, call),
        }
    }
}
