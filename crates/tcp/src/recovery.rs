//! The sending half in bad times: fast retransmit and fast recovery, with and without SACK, and timeouts.

use fanin_laws::sender::{Ack, Cause, Window};
use fanin_units::Time;

use crate::call::Call;
use crate::endpoint::{Endpoint, State};
use crate::params::{NewReno, Params};
use crate::prr::Prr;
use crate::segment::{Block, Wire};

/// Duplicate ACKs that mean loss.
const DUP_THRESH: u32 = 3;

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Nothing is known to be lost.
    Open,
    /// NewReno's fast recovery (RFC 6582).
    Fast {
        /// No partial ACK has come yet: the next one restarts the timer (section 4, "impatient").
        first: bool,
    },
    /// Recovery with the scoreboard (RFC 6675), paced by proportional rate reduction (RFC 6937).
    Sack(Sack),
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
}

/// Recovery with the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sack {
    prr: Prr,
    /// The highest byte sent again (HighRxt), one past it; a rescue leaves it alone.
    high_rxt: u64,
    /// A rescue retransmission was made (RFC 6675, section 4, NextSeg rule 4).
    rescued: bool,
}

/// By which of NextSeg()'s rules a segment is sent (RFC 6675, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A hole that is lost, or where there is nothing else, one that may be (rules 1 and 3).
    Hole,
    /// New data (rule 2).
    New,
    /// Once, the last segment of all, where nothing above the cumulative ACK tells of its loss (rule 4).
    Rescue,
}

impl Endpoint {
    /// A duplicate ACK; `sacked` bytes are news.
    #[cold]
    pub(crate) fn on_duplicate(&mut self, call: &mut Call<'_, impl Wire>, sacked: u64) {
        self.snd.dup_acks += 1;
        if self.snd.dup_acks == 1 {
            self.snd.limited = 0;
        }
        match self.snd.recovery {
            Recovery::Open if self.snd.dup_acks < DUP_THRESH => {
                self.look_for_loss(call, sacked);
                if self.snd.recovery == Recovery::Open && call.params.limited_transmit {
                    self.limited_transmit(call);
                }
            }
            Recovery::Open => self.enter_recovery(call, sacked),
            Recovery::Fast { .. } => {
                // Each duplicate says that a segment has left (RFC 6582, section 3.2, step 3).
                match call.params.newreno {
                    NewReno::Inflate => self.snd.window.cwnd = self.snd.window.cwnd.saturating_add(call.params.mss),
                    NewReno::Pipe => self.take_out_of_pipe(call.params),
                }
                self.transmit_within(call, self.snd.window.cwnd);
            }
            Recovery::Sack(sack) => self.recover_from_holes(call, sack, sacked),
            Recovery::Loss => self.transmit(call),
        }
    }

    /// RFC 3042: one new segment a duplicate ACK, two beyond the window in all.
    fn limited_transmit(&mut self, call: &mut Call<'_, impl Wire>) {
        if self.snd.nxt < self.snd.end {
            let beyond = self.snd.dup_acks.min(2) * call.params.mss;
            let cwnd = self.law.usable(&self.snd.window).saturating_add(beyond);
            let before = self.snd.nxt;
            self.transmit_within(call, cwnd);
            self.snd.limited += (self.snd.nxt - before) as u32;
        }
    }

    /// Recovery starts too when the scoreboard says that the first segment is lost (RFC 6675, section 5, step 2).
    pub(crate) fn look_for_loss(&mut self, call: &mut Call<'_, impl Wire>, delivered: u64) {
        if self.board.lost_below(call.params.mss) > self.snd.una {
            self.enter_recovery(call, delivered);
        }
    }

    /// Fast retransmit (RFC 6582, section 3.2, step 2; RFC 6675, section 5, step 4); this ACK says of `delivered` bytes.
    ///
    /// The guard lets an ACK of exactly `recover` through, as deployed stacks do: the RFC's "more than recover" would
    /// leave the first loss after a timeout to another timeout.
    fn enter_recovery(&mut self, call: &mut Call<'_, impl Wire>, delivered: u64) {
        if self.snd.una < self.snd.recover {
            return;
        }
        self.stats.fast_retransmits += 1;
        let flight = self.snd.high - self.snd.una;
        // A mark in the same window has cut already (RFC 3168, section 6.1.2).
        if self.snd.una > self.snd.cwr_high || !self.ecn {
            let less = match call.params.newreno {
                NewReno::Pipe if !call.params.sack => call.params.mss.saturating_add(self.snd.gone as u32),
                // What limited transmit sent does not count (RFC 5681, section 3.2, step 2; RFC 6675, section 5, step 4.2).
                _ if self.snd.dup_acks > 0 => self.snd.limited,
                _ => 0,
            };
            let within = self.within_window(flight.saturating_sub(less.into()));
            self.cut(Cause::Loss, call.now, within, self.snd.window);
            // The peer is told of every reduction, whatever its reason (RFC 3168, section 6.1.2).
            self.snd.say_cwr = self.ecn;
        }
        self.snd.cwr = None;
        self.snd.recover = self.snd.high;
        self.snd.nxt = self.snd.high;
        if call.params.sack {
            let sent = self.resend_first(call);
            let mut prr = Prr::new(flight);
            prr.sent(sent);
            let sack = Sack { prr, high_rxt: self.snd.una + sent, rescued: false };
            self.recover_from_holes(call, sack, delivered);
        } else {
            self.snd.recovery = Recovery::Fast { first: true };
            self.resend_first(call);
            self.snd.window.cwnd = self.snd.window.ssthresh;
            match call.params.newreno {
                NewReno::Inflate => {
                    self.snd.window.cwnd = self.snd.window.cwnd.saturating_add(DUP_THRESH * call.params.mss)
                }
                NewReno::Pipe => self.take_out_of_pipe(call.params),
            }
            self.transmit_within(call, self.snd.window.cwnd);
        }
    }

    /// An ACK of new data while something is being recovered.
    #[cold]
    pub(crate) fn on_ack_in_recovery(&mut self, call: &mut Call<'_, impl Wire>, facts: &Ack, delivered: u64) {
        let full = self.snd.una >= self.snd.recover;
        match self.snd.recovery {
            Recovery::Loss => {
                self.rearm(call);
                self.law.grow(facts, &mut self.snd.window);
                if full {
                    self.leave_recovery();
                }
                self.transmit(call);
            }
            Recovery::Fast { .. } if full => {
                // RFC 6582, section 3.2, step 3, full acknowledgement: the first choice, which bursts least, or the second.
                let flight = (self.snd.high - self.snd.una) as u32;
                let most = match call.params.newreno {
                    NewReno::Inflate => flight.max(call.params.mss).saturating_add(call.params.mss),
                    NewReno::Pipe => u32::MAX,
                };
                self.snd.window.cwnd = self.snd.window.ssthresh.min(most);
                self.leave_recovery();
                self.rearm(call);
                if call.params.newreno == NewReno::Pipe {
                    self.law.grow(facts, &mut self.snd.window);
                    self.resend_hole(call);
                }
                self.transmit(call);
            }
            Recovery::Fast { first } => {
                // Partial acknowledgement: resend, deflate, and leave the timer alone after the first.
                if first {
                    self.rearm(call);
                }
                self.snd.recovery = Recovery::Fast { first: false };
                self.resend_first(call);
                if call.params.newreno == NewReno::Inflate {
                    let back = if facts.acked >= call.params.mss { call.params.mss } else { 0 };
                    self.snd.window.cwnd = self.snd.window.cwnd.saturating_sub(facts.acked).max(call.params.mss) + back;
                }
                self.transmit_within(call, self.snd.window.cwnd);
            }
            Recovery::Sack(_) if full => {
                self.snd.window.cwnd = self.snd.window.ssthresh;
                self.leave_recovery();
                self.rearm(call);
                self.transmit(call);
            }
            Recovery::Sack(sack) => {
                self.rearm(call);
                self.recover_from_holes(call, sack, delivered);
            }
            Recovery::Open => {}
        }
    }

    /// A duplicate takes a segment out of the pipe: at most everything but the first segment can have left.
    fn take_out_of_pipe(&mut self, params: &Params) {
        let most = (self.snd.high - self.snd.una).saturating_sub(params.mss.into());
        self.snd.gone = (self.snd.gone + u64::from(params.mss)).min(most);
    }

    /// What an ACK covers beyond its first segment had been taken out of the pipe by duplicates, if anything had.
    #[cold]
    pub(crate) fn settle_pipe(&mut self, params: &Params, acked: u32) {
        let most = (self.snd.high - self.snd.una).saturating_sub(params.mss.into());
        self.snd.gone = self.snd.gone.saturating_sub(acked.saturating_sub(params.mss).into()).min(most);
    }

    /// An ACK that leaves something out of the pipe shows a hole at its front, which is sent again where the window
    /// allows (ns-3's accounting).
    #[cold]
    pub(crate) fn resend_hole(&mut self, call: &mut Call<'_, impl Wire>) {
        let room = u64::from(self.law.usable(&self.snd.window).min(self.snd.rwnd));
        if self.snd.gone > 0 && self.in_flight() <= room {
            self.resend_first(call);
        }
    }

    fn leave_recovery(&mut self) {
        self.snd.recovery = Recovery::Open;
        self.snd.dup_acks = 0;
    }

    /// Sends the first unacknowledged segment again, whatever the window; returns its length in sequence numbers.
    fn resend_first(&mut self, call: &mut Call<'_, impl Wire>) -> u64 {
        let una = self.snd.una;
        let hole = self.board.hole(una).map_or(self.snd.high, |hole| hole.end);
        let len = hole.min(self.snd.end).saturating_sub(una).min(u64::from(call.params.mss));
        self.send_data(call, una, len);
        len + u64::from(self.snd.fin && una + len == self.snd.end)
    }

    /// As much as proportional rate reduction allows, of what RFC 6675 chooses.
    fn recover_from_holes(&mut self, call: &mut Call<'_, impl Wire>, mut sack: Sack, delivered: u64) {
        let mss = u64::from(call.params.mss);
        let pipe = self.pipe(call.params, &sack);
        let quota = sack.prr.quota(delivered, pipe, self.snd.window.ssthresh, call.params.mss);
        self.snd.window.cwnd = u32::try_from(pipe + quota).unwrap_or(u32::MAX);
        let mut left = quota;
        while left > 0
            && let Some((next, rule)) = self.next_segment(call.params, &sack)
        {
            let len = next.end - next.start;
            // Whole segments only: a part would count as one at the peer.
            if len > left && len >= mss {
                break;
            }
            self.send_data(call, next.start, len);
            match rule {
                Rule::Hole => sack.high_rxt = sack.high_rxt.max(next.end),
                Rule::New => {
                    let fin = self.snd.fin && next.end == self.snd.end;
                    self.snd.nxt = next.end + u64::from(fin);
                    self.snd.high = self.snd.nxt;
                }
                Rule::Rescue => sack.rescued = true,
            }
            sack.prr.sent(len);
            left = left.saturating_sub(len);
        }
        self.snd.recovery = Recovery::Sack(sack);
    }

    /// SetPipe() (RFC 6675, section 4): bytes thought to be on their way.
    fn pipe(&self, params: &Params, sack: &Sack) -> u64 {
        let una = self.snd.una;
        let lost = self.board.missing(una, self.board.lost_below(params.mss));
        let resent = self.board.missing(una, sack.high_rxt.max(una));
        self.snd.high - una - self.board.bytes() - lost + resent
    }

    /// NextSeg() (RFC 6675, section 4): what to send next, and by which rule.
    fn next_segment(&self, params: &Params, sack: &Sack) -> Option<(Block, Rule)> {
        let mss = u64::from(params.mss);
        let cut = |hole: Block| Block { end: hole.end.min(hole.start + mss), ..hole };
        let from = sack.high_rxt.max(self.snd.una);
        let hole = self.board.hole(from);
        if let Some(hole) = hole
            && hole.start < self.board.lost_below(params.mss)
        {
            return Some((cut(hole), Rule::Hole));
        }
        let room = (self.snd.una + u64::from(self.snd.rwnd)).saturating_sub(self.snd.high);
        let left = self.snd.end.saturating_sub(self.snd.high).min(room);
        if left > 0 {
            let start = self.snd.high;
            return Some((Block { start, end: start + left.min(mss) }, Rule::New));
        }
        if let Some(hole) = hole {
            return Some((cut(hole), Rule::Hole));
        }
        if !sack.rescued && self.board.end() < self.snd.recover && sack.high_rxt < self.snd.recover {
            let end = self.snd.recover.min(self.snd.end);
            let start = end.saturating_sub(mss).max(self.board.end()).max(self.snd.una);
            return (start < end).then_some((Block { start, end }, Rule::Rescue));
        }
        None
    }

    /// The retransmission timer fired (RFC 6298, section 5; RFC 5681, section 3.1; RFC 6582, section 3.2, step 4).
    #[cold]
    pub(crate) fn time_out(&mut self, call: &mut Call<'_, impl Wire>) {
        let again = self.snd.timed_out == self.snd.una;
        self.snd.timed_out = self.snd.una;
        if !again {
            // The same segment's next timeouts leave ssthresh as it is (RFC 5681, equation 4 and what follows it).
            let flight = self.in_flight();
            match self.snd.recovery {
                Recovery::Fast { .. } | Recovery::Sack(_) => {
                    // Inflated by duplicates: ssthresh is what the flow had. A recovery whose retransmission was lost goes
                    // on sending, up to the peer's window: what half of that is must not raise it ("no more than").
                    let had = self.snd.window.ssthresh;
                    self.cut(Cause::Timeout, call.now, flight, Window { cwnd: had, ..self.snd.window });
                    self.snd.window.ssthresh = self.snd.window.ssthresh.min(had);
                }
                _ => self.cut(Cause::Timeout, call.now, flight, self.snd.window),
            }
        }
        self.snd.rtt.back_off();
        self.snd.window.cwnd = call.params.mss;
        self.snd.say_cwr = self.ecn;
        self.snd.cwr = None;
        self.snd.recovery = Recovery::Loss;
        self.snd.dup_acks = 0;
        self.snd.recover = self.snd.high;
        self.snd.nxt = self.snd.una;
        self.snd.gone = 0;
        self.snd.timed = None;
        self.snd.rto_at = Time::NEVER;
        self.transmit(call);
        if self.snd.rto_at == Time::NEVER {
            // The windows let nothing out (a receive window of zero): ask again later.
            self.rearm(call);
        }
    }

    /// Whether data may flow.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Established
    }
}
