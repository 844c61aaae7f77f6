//! RACK-TLP: loss detection by time, and a tail loss probe, over a list of outstanding segments.
//! Sources: RFC 8985, sections 5 to 7; RFC 6937, and RFC 9937 for its bound; RFC 5682; Linux 6.12, tcp_ack() and
//!          tcp_fastretrans_alert(), whose order of steps this keeps.
//! Owns:    recovery, and one timer. State: the outstanding segments (board.rs), RACK's clock (clock.rs), a reduction that may be undone
//!          (cut.rs), a probe (probe.rs). An acknowledgement is taken (take.rs) into its news (news.rs), losses are looked for
//!          (losses.rs), the window is reduced (reduction.rs) or restored (undo.rs), and segments are sent (send.rs);
//!          timers.rs and tail.rs have the timer.
//! Departs: SACKs are never reneged on; no TSO, so that no segment is held back for others.

mod board;
mod clock;
mod cut;
mod losses;
mod news;
mod probe;
mod reduction;
mod send;
mod tail;
mod take;
mod timers;
mod undo;

use fanin_laws::sender::Ack;
use fanin_laws::stack::RttVariance;
use fanin_transport::{Block, Timer};
use fanin_units::Time;

use crate::call::Call;
use crate::params::Params;
use crate::segment::{Flags, Segment, Wire};
use crate::tcb::Tcb;
use crate::validation::Validation;
use crate::variance::Variance;
use board::Board;
use clock::Clock;
use cut::Cut;
use news::News;
use probe::Probe;

/// Phase of a sender that detects losses by time (icsk_ca_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing unusual.
    Open,
    /// Data has arrived out of order, or was sent again.
    Disorder,
    /// The window shrinks after a mark.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// State of loss recovery, in segments (tcp_info).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The phase.
    pub phase: Phase,
    /// Unacknowledged.
    pub unacked: u32,
    /// Of these SACKed.
    pub sacked: u32,
    /// Considered lost, also once they are sent again.
    pub lost: u32,
    /// Sent again, and in flight.
    pub resent: u32,
}

/// Data to send again after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    /// New data first; lost segments if there is none (F-RTO).
    AfterNew,
    /// Lost segments.
    Lost,
}

/// State of a sender with loss detection by time or a tail loss probe.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    board: Board,
    phase: Phase,
    /// End of the data sent when the phase began (high_seq).
    high: u64,
    clock: Clock,
    undo: Cut,
    probe: Option<Probe>,
    /// After a timeout, new data tells whether it was spurious (F-RTO).
    new_data_tells: bool,
    /// Segments that the peer reported as duplicates.
    duplicates: u32,
    /// The timer's purpose, and when it fires.
    timer: Option<(Timer, Time)>,
    validation: Validation,
    variance: Variance,
}

impl Rack {
    /// No outstanding segments.
    pub fn new() -> Rack {
        Rack {
            board: Board::default(),
            phase: Phase::Open,
            high: 0,
            clock: Clock::new(),
            undo: Cut::new(),
            probe: None,
            new_data_tells: false,
            duplicates: 0,
            timer: None,
            validation: Validation::new(),
            variance: Variance::new(),
        }
    }

    /// The state of recovery.
    pub fn marks(&self) -> Marks {
        let (sacked, lost, resent) = (self.board.sacked.segments, self.board.lost.segments, self.board.resent.segments);
        Marks { phase: self.phase, unacked: self.board.sent.len() as u32, sacked, lost, resent }
    }

    /// Take the round trip of the handshake.
    pub fn note_rtt(&mut self, rtt: Time, params: &Params) {
        self.clock.note_rtt(rtt, params);
    }

    /// Process an acknowledgement; `widens`: with a larger window than the last one.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        sack: &[Block],
        widens: bool,
    ) {
        // A receiving end: nothing is outstanding, unsent or awaited.
        let rests = self.board.sent.is_empty() && self.probe.is_none() && sack.is_empty() && !tcb.has_more();
        if !rests {
            self.take(tcb, call, *segment, sack, widens);
        }
    }

    /// The general case, out of line, so that receiving ends pay little.
    #[inline(never)]
    fn take(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, segment: Segment, sack: &[Block], widens: bool) {
        let (una, ack, outstanding) = (tcb.snd.una, tcb.ack_of(&segment), !self.board.sent.is_empty());
        let mut news = News::new(una, tcb.snd.high, self.board.out());
        news.advanced = ack > una;
        news.ece = tcb.ecn && segment.flags.any(Flags::ECE);
        news.not_duplicate = news.advanced || widens || !segment.is_pure_ack();
        let highest = self.board.highest_sacked(una);
        if news.advanced {
            (tcb.snd.una, tcb.retries) = (ack, 0);
            tcb.snd.nxt = tcb.snd.nxt.max(ack);
        }
        if !sack.is_empty() {
            self.take_blocks(tcb, call, sack, ack, &mut news);
        }
        let mut resend = Resend::Nothing;
        if ack < una {
            if !sack.is_empty() {
                resend = self.judge(tcb, call, &segment, &mut news);
            }
        } else if outstanding {
            let echo = call.params.timestamps.then_some(segment.ts_ecr);
            self.take_acknowledged(tcb, call, highest, echo, &mut news);
            resend = self.respond(tcb, call, &segment, ack, &mut news);
        } else {
            if news.duplicate {
                resend = self.judge(tcb, call, &segment, &mut news);
            }
            self.settle_probe(tcb, call, ack, &news);
        }
        self.resend(tcb, call, resend);
        self.finish_sending(tcb, call);
    }

    /// Take the round trips of the deliveries, change the phase, and set the window.
    fn respond(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        ack: u64,
        news: &mut News,
    ) -> Resend {
        let facts = self.measure(tcb, call, segment, ack.saturating_sub(news.una), news);
        let backs_off_no_more = !call.params.karn_backoff && call.params.rtt_variance != RttVariance::Linux;
        if news.advanced && backs_off_no_more {
            tcb.snd.rtt.forget_backoff();
        }
        if news.newest_at > Time::ZERO {
            self.clock.adapt_window(call.now, news.newest_at);
        }
        if news.advanced || call.params.byte_counting && news.delivered > 0 {
            tcb.law.observe(&facts);
        }
        if call.params.hystart && facts.rtt.is_some() {
            tcb.law.search(&facts, &mut tcb.snd.window);
        }
        self.settle_probe(tcb, call, ack, news);
        let (recovered, mut resend) = (self.phase == Phase::Recovery, Resend::Nothing);
        if news.is_dubious() || self.phase != Phase::Open {
            resend = self.judge(tcb, call, segment, news);
        }
        if news.restarts_timer {
            self.restart_timer(tcb, call);
        }
        match self.phase {
            Phase::Reduced | Phase::Recovery => self.reduce(tcb, call, news.delivered, news),
            // The acknowledgement that ends a recovery grows the window only in Linux.
            _ if recovered && self.undo.marker > 0 && !call.params.byte_counting => {}
            _ => self.grow(tcb, call, &facts, news),
        }
        resend
    }

    /// Grow the window for data that arrived in order (tcp_may_raise_cwnd, tcp_cong_avoid).
    fn grow(&self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, facts: &Ack, news: &News) {
        let arrived = news.acked || news.sacked && self.clock.is_reordered_far();
        if arrived && (!call.params.window_validation || self.validation.is_filled(&tcb.snd.window)) {
            tcb.grow(call.params, facts);
        }
    }

    /// Change the phase after an acknowledgement (tcp_fastretrans_alert); returns the data to send again.
    fn judge(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, segment: &Segment, news: &mut News) -> Resend {
        if news.ece {
            self.undo.ssthresh = None;
        }
        if self.phase == Phase::Open {
            self.undo.resent_at = Time::NEVER;
        } else if tcb.snd.una >= self.high {
            match self.phase {
                // Something above must be acknowledged, so that CWR has reached the receiver.
                Phase::Reduced if tcb.snd.una > self.high => {
                    self.end_reduction(tcb);
                    self.phase = Phase::Open;
                }
                Phase::Recovery => {
                    self.end_recovery(tcb, call, segment);
                    self.end_reduction(tcb);
                }
                _ => {}
            }
        }
        match self.phase {
            Phase::Recovery => self.continue_recovery(tcb, call, segment, news),
            Phase::Loss => {
                let resend = self.recover_from_timeout(tcb, call, segment, news);
                self.find_losses(tcb, call, news);
                // The timeout is undone, or a retransmission is lost.
                if self.phase == Phase::Open || news.lost_again {
                    self.judge_losses(tcb, call, news).unwrap_or(resend)
                } else {
                    resend
                }
            }
            Phase::Open | Phase::Disorder | Phase::Reduced => {
                self.judge_losses(tcb, call, news).unwrap_or(Resend::Nothing)
            }
        }
    }

    fn continue_recovery(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        segment: &Segment,
        news: &mut News,
    ) -> Resend {
        if news.advanced && self.undo_partly(tcb, call, segment, news.una) {
            return Resend::Nothing;
        }
        if self.undo_duplicated(tcb, call.params) {
            self.try_to_open(tcb, call, news);
        }
        self.find_losses(tcb, call, news);
        if self.phase != Phase::Recovery {
            if self.board.lost.segments == 0 {
                return Resend::Nothing;
            }
            // The recovery is undone, but something else is lost.
            self.enter_recovery(tcb, call, news.flight, news.ece);
        }
        Resend::Lost
    }

    /// Outside recovery: begin it if something is lost.
    fn judge_losses(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, news: &mut News) -> Option<Resend> {
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.undo_duplicated(tcb, call.params);
        }
        self.find_losses(tcb, call, news);
        if self.board.lost.segments == 0 {
            self.try_to_open(tcb, call, news);
            return None;
        }
        self.enter_recovery(tcb, call, news.flight, news.ece);
        Some(Resend::Lost)
    }

    fn find_losses(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>, news: &mut News) {
        let losses = self.look_for_losses(tcb, call);
        news.lost += losses.segments;
        news.lost_again |= losses.again;
        news.restarts_timer &= !losses.waits;
    }

    /// Nothing is lost (tcp_try_to_open).
    fn try_to_open(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, news: &News) {
        if !self.board.has_resent() {
            self.undo.resent_at = Time::NEVER;
        }
        if news.ece {
            self.reduce_for_mark(tcb, call, news.flight);
        }
        if self.phase != Phase::Reduced {
            self.stay_open(tcb);
        }
    }

    /// Open, unless something is SACKed, lost or sent again (tcp_try_keep_open).
    fn stay_open(&mut self, tcb: &mut Tcb) {
        let left = self.board.sacked.segments + self.board.lost.segments > 0 || self.board.has_resent();
        let phase = if left { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            (self.phase, self.high, tcb.snd.cwr) = (phase, tcb.snd.high, None);
        }
    }

    /// Send as the windows allow: the application wrote, or a segment's turn has come.
    pub fn transmit(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if !tcb.has_more() {
            return;
        }
        if call.params.idle_restart && self.board.sent.is_empty() {
            self.restart_after_idle(tcb, call);
        }
        self.finish_sending(tcb, call);
    }

    /// Send new data, and show the endpoint the timer.
    fn finish_sending(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        self.push(tcb, call);
        self.show_timer(tcb);
        if self.board.sent.is_empty() {
            tcb.await_window(call);
        }
    }

    #[cold]
    fn restart_after_idle(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>) {
        if call.params.window_validation {
            let (last_sent, timeout) = (tcb.snd.last_sent, tcb.snd.rtt.timeout(call.params));
            self.validation.restart(call.now, last_sent, timeout, call.params, &mut tcb.snd.window);
        } else {
            tcb.snd.restart_after_idle(call);
        }
    }
}
