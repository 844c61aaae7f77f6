//! The endpoint: its driver's interface, the handshake, and the distribution of a segment's parts.

use std::num::NonZeroU64;

use fanin_laws::sender::{Law, Window};
use fanin_laws::stack::Ect;
use fanin_transport::{Block, HeaderOptions, Metadata, Progress, Stats, Timer, Written};
use fanin_units::Time;

use crate::call::Call;
use crate::loss::Loss;
use crate::params::Params;
use crate::rack::Marks;
use crate::segment::{Flags, Segment, Wire, header_bytes, microseconds};
use crate::tcb::{State, Tcb};

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    tcb: Tcb,
    /// Loss detection and recovery.
    loss: Loss,
}

impl Endpoint {
    /// An endpoint that waits for a SYN, or for [`Endpoint::connect`].
    pub fn new(params: &Params, law: Law) -> Endpoint {
        Endpoint { tcb: Tcb::new(params, law), loss: Loss::new(params) }
    }

    /// Opens the connection: sends the SYN.
    pub fn connect(&mut self, call: &mut Call<'_, impl Wire>) {
        debug_assert_eq!(self.tcb.state, State::Listen);
        self.tcb.state = State::SynSent;
        self.tcb.snd.rto_at = call.now.saturating_add(call.params.syn_timeout);
        self.send_syn(call);
    }

    /// Start as a long-established connection whose peer has the same settings, as after a handshake with round trip `rtt`, which
    /// sets the first timeout.
    pub fn stand(&mut self, params: &Params, now: Time, rtt: Time) {
        debug_assert_eq!(self.tcb.state, State::Listen);
        self.tcb.state = State::Established;
        self.tcb.ecn = params.ect.is_some();
        (self.tcb.snd.una, self.tcb.snd.nxt, self.tcb.snd.high) = (1, 1, 1);
        self.tcb.snd.rwnd = params.receive_window;
        self.tcb.rcv.nxt = 1;
        if params.timestamps {
            self.tcb.rcv.ts_recent = microseconds(now);
        }
        self.tcb.snd.rtt.sample(params, rtt);
        self.tcb.law.sample(rtt);
        self.loss.note_rtt(rtt, params);
    }

    /// Send `bytes` more, due by `deadline`; `NEVER` for none.
    pub fn write(&mut self, call: &mut Call<'_, impl Wire>, bytes: u64, deadline: Time) {
        debug_assert!(!self.tcb.snd.fin, "written after close");
        let start = self.tcb.snd.end;
        self.tcb.snd.end += bytes;
        self.tcb.law.begin(start, self.tcb.snd.end, deadline);
        self.send_more(call);
    }

    /// Discard written data that has not been sent.
    pub fn discard_unsent(&mut self) {
        self.tcb.snd.end = self.tcb.snd.high.clamp(1, self.tcb.snd.end);
    }

    /// Close the sending side: a FIN follows the last byte.
    pub fn close(&mut self, call: &mut Call<'_, impl Wire>) {
        self.tcb.snd.fin = true;
        self.send_more(call);
    }

    fn send_more(&mut self, call: &mut Call<'_, impl Wire>) {
        if !self.is_reset() {
            self.loss.transmit(&mut self.tcb, call);
        }
    }

    /// Drop the connection silently; a reset answers later segments for it.
    pub fn abort(&mut self) {
        self.tcb.abort();
    }

    /// Whether either end aborted the connection.
    pub fn is_reset(&self) -> bool {
        self.tcb.state == State::Reset
    }

    /// Whether nothing has been received or sent yet.
    pub fn is_listening(&self) -> bool {
        self.tcb.state == State::Listen
    }

    /// Request [`Progress::awake`] once `bytes` have been delivered in all.
    pub fn wake_at(&mut self, bytes: u64) {
        self.tcb.rcv.wake_at = bytes.saturating_add(1);
    }

    /// Set whether the application reads incoming data; it does by default.
    #[cold]
    pub fn reads(&mut self, call: &mut Call<'_, impl Wire>, reads: bool) {
        if self.tcb.state == State::Established {
            self.tcb.reads(call, reads);
        }
    }

    /// Send the receive window in an ACK of its own.
    pub fn announce(&mut self, call: &mut Call<'_, impl Wire>) {
        if self.tcb.state == State::Established {
            self.tcb.send_ack(call);
        }
    }

    /// Whether it is time to probe a closed receive window.
    pub fn asks_for_window(&self, now: Time) -> bool {
        self.tcb.waits_for_window() && self.tcb.snd.rto_at <= now
    }

    /// Process a segment.
    #[inline(always)]
    pub fn handle(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, beside: Metadata<'_>) -> Progress {
        self.tcb.stats.segments_received = self.tcb.stats.segments_received.wrapping_add(1);
        if self.tcb.state != State::Established || segment.flags.any(Flags::SYN | Flags::RST) {
            return self.handle_unusual(call, *segment, beside.sack, beside.notes);
        }
        self.handle_established(call, segment, beside)
    }

    /// The earliest timer; `NEVER` if none runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        let timer = self.tcb.snd.rto_at.min(self.tcb.rcv.ack_at);
        if self.tcb.snd.paced && !self.all_acked() { timer.min(self.tcb.turn()) } else { timer }
    }

    /// Whether the handshake is under way.
    pub fn is_opening(&self) -> bool {
        matches!(self.tcb.state, State::SynSent | State::SynReceived)
    }

    /// Whether a delayed ACK is due.
    pub fn acknowledges_late(&self, now: Time) -> bool {
        self.tcb.rcv.ack_at <= now
    }

    /// Whether a segment has waited for its turn at the sender's rate until now.
    pub fn is_paced_until(&self, now: Time) -> bool {
        self.tcb.snd.paced && self.tcb.turn() <= now
    }

    /// Whether some sent data is unacknowledged and nothing was sent since then.
    pub fn waits_since(&self, since: Time) -> bool {
        (self.is_opening() || self.tcb.snd.una < self.tcb.snd.high) && self.tcb.snd.last_sent <= since
    }

    /// The sender's next timer.
    pub fn pending_timer(&self) -> Timer {
        if self.is_opening() { Timer::Handshake } else { self.loss.pending_timer() }
    }

    /// Serve due timers; returns whether the connection is given up.
    pub fn expire(&mut self, call: &mut Call<'_, impl Wire>) -> Progress {
        let stood = !self.is_reset();
        if self.tcb.rcv.ack_at <= call.now {
            self.tcb.acknowledge_late(call);
        }
        if self.tcb.snd.rto_at <= call.now {
            match self.tcb.state {
                State::SynSent | State::SynReceived => {
                    if !self.tcb.times_out(call) {
                        self.retry_syn(call);
                    }
                }
                _ if self.tcb.waits_for_window() => self.tcb.probe_window(call),
                _ => self.loss.on_timer(&mut self.tcb, call),
            }
        }
        if self.is_paced_until(call.now) {
            self.tcb.snd.paced = false;
            self.send_more(call);
            // Its turn has come and nothing left: the window is full, and an ACK opens it.
            if self.is_paced_until(call.now) {
                self.tcb.snd.paced = false;
            }
        }
        Progress::BROKEN.when(stood && self.is_reset())
    }

    /// Bytes delivered in order to the application.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.tcb.rcv.delivered()
    }

    /// Progress of written data. (The SYN is number 0, data starts at 1, a FIN follows it.)
    pub fn written(&self) -> Written {
        let bytes = |until: u64| until.min(self.tcb.snd.end).saturating_sub(1);
        Written { total: bytes(self.tcb.snd.end), sent: bytes(self.tcb.snd.high), acked: bytes(self.tcb.snd.una) }
    }

    /// Whether the wakeup requested by [`Endpoint::wake_at`] is still pending.
    pub fn is_awaited(&self) -> bool {
        self.tcb.rcv.wake_at != u64::MAX
    }

    /// Whether everything written (and the FIN) is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.tcb.snd.una == self.tcb.snd.end + u64::from(self.tcb.snd.fin)
    }

    /// Whether both sides have closed and acknowledged it.
    pub fn finished(&self) -> bool {
        self.tcb.snd.fin && self.all_acked() && self.tcb.rcv.closed
    }

    /// The congestion window and the slow-start threshold.
    pub fn window(&self) -> Window {
        self.tcb.snd.window
    }

    /// The state of loss recovery; `None` without `rack` and `tail_loss_probe`.
    pub fn marks(&self) -> Option<Marks> {
        self.loss.marks()
    }

    /// The congestion control with its state.
    pub fn law(&self) -> &Law {
        &self.tcb.law
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Time {
        self.tcb.snd.rtt.srtt()
    }

    /// The current retransmission timeout, with its backoff.
    pub fn rto(&self, params: &Params) -> Time {
        self.tcb.snd.rtt.timeout(params)
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.tcb.stats
    }

    #[inline(always)]
    fn handle_established(
        &mut self,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        beside: Metadata<'_>,
    ) -> Progress {
        if let Some(HeaderOptions { echoed, .. }) = &beside.notes {
            self.tcb.law.allot(echoed);
        }
        if !self.loss.on_ack(&mut self.tcb, call, segment, beside.sack) {
            return Progress::NONE;
        }
        self.tcb.rcv.keep_note(beside.notes);
        self.tcb.receive(call, segment)
    }

    /// The handshake, a repeated SYN, a reset (RFC 9293, section 3.10.7). Segment options are separate arguments, so that the
    /// common path does not build a struct.
    #[cold]
    fn handle_unusual(
        &mut self,
        call: &mut Call<'_, impl Wire>,
        segment: Segment,
        sack: &[Block],
        notes: Option<HeaderOptions>,
    ) -> Progress {
        let (syn, ack) = (segment.flags.any(Flags::SYN), segment.flags.any(Flags::ACK));
        if segment.flags.any(Flags::RST) {
            // A reset has no effect without a connection.
            let broken = !self.is_reset() && !self.is_listening();
            if broken {
                self.abort();
            }
            return Progress::BROKEN.when(broken);
        }
        match self.tcb.state {
            State::Reset => {
                self.send_reset(call, &segment);
                Progress::NONE
            }
            State::Listen if ack => {
                self.send_reset(call, &segment);
                Progress::NONE
            }
            State::Listen if syn => {
                self.learn_from_syn(call.params, &segment, notes);
                self.tcb.state = State::SynReceived;
                self.tcb.snd.rto_at = call.now.saturating_add(call.params.syn_timeout);
                self.send_syn(call);
                Progress::NONE
            }
            State::SynSent if syn && ack => {
                self.learn_from_syn(call.params, &segment, notes);
                self.become_established(call, &segment, notes);
                self.tcb.send_ack(call);
                self.loss.transmit(&mut self.tcb, call);
                Progress::ESTABLISHED
            }
            State::SynReceived if syn => {
                self.send_syn(call);
                Progress::NONE
            }
            State::SynReceived if ack && segment.ack == 1 => {
                self.become_established(call, &segment, notes);
                let progress = self.handle_established(call, &segment, Metadata { sack, notes, ..Metadata::default() });
                self.loss.transmit(&mut self.tcb, call);
                Progress::ESTABLISHED | progress
            }
            // A SYN-ACK was retransmitted: our ACK of it was lost (RFC 9293, section 3.10.7.4).
            State::Established if syn => {
                self.tcb.send_ack(call);
                Progress::NONE
            }
            _ => Progress::NONE,
        }
    }

    fn learn_from_syn(&mut self, params: &Params, segment: &Segment, notes: Option<HeaderOptions>) {
        // RFC 3168, section 6.1.1: ECE and CWR on the SYN offer ECN, ECE alone on the SYN-ACK accepts it.
        self.tcb.ecn = params.ect.is_some() && segment.flags.any(Flags::ECE);
        self.tcb.rcv.nxt = 1;
        if params.timestamps {
            self.tcb.rcv.ts_recent = segment.ts_val;
        }
        self.tcb.rcv.keep_note(notes);
    }

    fn become_established(&mut self, call: &Call<'_, impl Wire>, segment: &Segment, notes: Option<HeaderOptions>) {
        self.tcb.state = State::Established;
        self.tcb.retries = 0;
        self.tcb.snd.una = 1;
        self.tcb.snd.nxt = 1;
        self.tcb.snd.high = 1;
        self.tcb.snd.rwnd = segment.window;
        self.tcb.snd.rto_at = Time::NEVER;
        if let Some(HeaderOptions { echoed, .. }) = &notes {
            self.tcb.law.allot(echoed);
        }
        match self.tcb.snd.timed.take() {
            Some((_, sent)) => {
                self.tcb.snd.rtt.sample(call.params, call.now.since(sent));
                self.tcb.law.sample(call.now.since(sent));
                self.loss.note_rtt(call.now.since(sent), call.params);
            }
            // RFC 5681, section 3.1: after a lost SYN the window starts at one segment.
            None => self.tcb.snd.window.cwnd = self.tcb.snd.window.cwnd.min(call.params.mss),
        }
        self.tcb.snd.rtt.forget_backoff();
    }

    fn send_syn(&mut self, call: &mut Call<'_, impl Wire>) {
        let answer = self.tcb.state == State::SynReceived;
        let ecn = call.params.ect.is_some() && (!answer || self.tcb.ecn);
        let flags = Flags::SYN
            | Flags::ACK.when(answer)
            | Flags::ECE.when(ecn)
            | Flags::CWR.when(ecn && !answer)
            | Flags::ECT
                .when(ecn && (call.params.ect == Some(Ect::All) || answer && call.params.ect == Some(Ect::Agreed)));
        let first = self.tcb.snd.nxt == 0;
        self.tcb.snd.timed = first.then_some((NonZeroU64::MIN, call.now));
        (self.tcb.snd.nxt, self.tcb.snd.high) = (1, 1);
        let header = header_bytes(call.params.option_bytes() + call.params.syn_option_bytes(), 0);
        let segment = Segment { seq: 0, header, len: 0, ..self.tcb.blank(call, flags) };
        self.tcb.snd.last_sent = call.now;
        self.tcb.stats.segments_sent = self.tcb.stats.segments_sent.wrapping_add(1);
        call.wire.send(segment, Metadata { sack: &[], notes: self.tcb.notes(call.params), ..Metadata::default() });
    }

    /// Send a reset for a segment without a connection (RFC 9293, section 3.10.7.1).
    fn send_reset(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) {
        let header = call.params.header;
        let reset = match segment.flags.any(Flags::ACK) {
            true => Segment { seq: segment.ack, ack: 0, header, ..self.tcb.blank(call, Flags::RST) },
            false => {
                let ack = segment.seq.wrapping_add(segment.span() as u32);
                Segment { ack, header, ..self.tcb.blank(call, Flags::RST | Flags::ACK) }
            }
        };
        self.tcb.stats.segments_sent = self.tcb.stats.segments_sent.wrapping_add(1);
        call.wire.send(reset, Metadata { sack: &[], notes: self.tcb.notes(call.params), ..Metadata::default() });
    }

    fn retry_syn(&mut self, call: &mut Call<'_, impl Wire>) {
        self.tcb.snd.rtt.back_off();
        self.tcb.snd.rto_at =
            call.now.saturating_add(self.tcb.snd.rtt.backed_off_from(call.params.syn_timeout, call.params));
        self.send_syn(call);
    }
}
