//! The sending half in good times: what an ACK of new data does, and what may be sent.

use std::num::NonZeroU64;

use fanin_laws::sender::{Ack, Cause, Congestion, Window};
use fanin_units::Time;

use crate::call::Call;
use crate::endpoint::{Endpoint, microseconds};
use crate::params::Params;
use crate::prr::Prr;
use crate::recovery::Recovery;
use crate::segment::{Block, Flags, Segment, Wire, header_bytes, widen};

impl Endpoint {
    /// Takes the acknowledgement of a segment, and sends what it allows.
    #[inline]
    pub(crate) fn on_ack(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block]) {
        let ack = self.ack_of(segment);
        if ack > self.snd.high {
            // Nothing like it was sent (RFC 9293, section 3.10.7.4).
            return;
        }
        self.snd.rwnd = segment.window;
        if self.rack.is_some() {
            return self.on_ack_by_time(call, segment, sack, ack);
        }
        if self.snd.una == self.snd.high {
            // Nothing is out: the segment says nothing but the window.
            return self.transmit(call);
        }
        if sack.is_empty() && self.board.is_empty() {
            if ack > self.snd.una {
                self.on_new_ack(call, segment, ack, 0);
            } else if self.is_duplicate(call.params, segment, ack) {
                self.on_duplicate(call, 0);
            } else {
                self.transmit(call);
            }
            return;
        }
        self.on_ack_with_holes(call, segment, sack, ack);
    }

    #[cold]
    fn on_ack_with_holes(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, sack: &[Block], ack: u64) {
        let before = self.board.bytes();
        for block in sack {
            let (start, end) = (widen(block.start as u32, self.snd.una), widen(block.end as u32, self.snd.una));
            if end <= self.snd.high {
                self.board.insert(Block { start: start.max(self.snd.una), end });
            }
        }
        let sacked = self.board.bytes() - before;
        if ack > self.snd.una {
            self.board.advance(ack);
            // What the cumulative ACK passes over was counted when it was SACKed.
            let gone = before + sacked - self.board.bytes();
            self.on_new_ack(call, segment, ack, sacked as i64 - gone as i64);
        } else if sacked > 0 && ack == self.snd.una {
            self.on_duplicate(call, sacked);
        }
    }

    /// RFC 5681, section 2: data is outstanding, no payload, no SYN or FIN, the same acknowledgement number. With SACK,
    /// only an ACK with news for the scoreboard is a duplicate (RFC 6675, section 2).
    #[inline]
    fn is_duplicate(&self, params: &Params, segment: &Segment, ack: u64) -> bool {
        !params.sack && ack == self.snd.una && self.snd.high > ack && segment.span() == 0
    }

    /// An ACK that advances `una`. `sacked` is what the scoreboard gained, less what passed under the cumulative ACK.
    #[inline]
    fn on_new_ack(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, ack: u64, sacked: i64) {
        let acked = ack - self.snd.una;
        self.snd.una = ack;
        self.snd.nxt = self.snd.nxt.max(ack);
        if self.snd.gone > 0 {
            self.settle_pipe(call.params, acked as u32);
        }
        let rtt = self.measure(call, segment, ack);
        if self.snd.rtt.backed_off() && !call.params.karn_backoff {
            self.snd.rtt.forget_backoff();
        }
        let ece = self.ecn && segment.flags.any(Flags::ECE);
        let facts = Ack {
            now: call.now,
            acked: acked as u32,
            una: ack,
            nxt: self.snd.nxt,
            ece,
            rtt,
            srtt: self.snd.rtt.srtt(),
        };
        self.law.observe(&facts);
        if self.snd.recovery == Recovery::Open {
            self.snd.dup_acks = 0;
            self.rearm(call);
            if ack > self.snd.cwr_high {
                self.end_reduction();
                if ece {
                    self.reduce_for_mark(call);
                } else {
                    self.law.grow(&facts, &mut self.snd.window);
                }
            }
            if self.snd.gone > 0 {
                self.resend_hole(call);
            }
            if self.snd.cwr.is_some() {
                return self.transmit_reduced(call, acked);
            }
            if !self.board.is_empty() {
                let delivered = (acked as i64 + sacked).max(0) as u64;
                self.look_for_loss(call, delivered);
            }
            self.transmit(call);
        } else {
            let delivered = (acked as i64 + sacked).max(0) as u64;
            self.on_ack_in_recovery(call, &facts, delivered);
        }
    }

    /// A round-trip sample, where this ACK gives one: from the timestamp (RFC 7323, section 4), or of the one segment
    /// that is timed, unless it was sent again (Karn; RFC 6298, section 3).
    #[inline]
    pub(crate) fn measure(&mut self, call: &Call<'_, impl Wire>, segment: &Segment, ack: u64) -> Option<Time> {
        let sample = if call.params.timestamps {
            let micros = microseconds(call.now).wrapping_sub(segment.ts_ecr);
            Some(Time::from_micros(u64::from(micros).max(1)))
        } else {
            match self.snd.timed {
                Some((end, sent)) if ack >= end.get() => {
                    self.snd.timed = None;
                    Some(call.now.since(sent))
                }
                _ => None,
            }
        };
        if let Some(r) = sample {
            self.snd.rtt.sample(call.params, r);
        }
        sample
    }

    /// Sets ssthresh after congestion with `flight` bytes outstanding and this window.
    pub(crate) fn cut(&mut self, cause: Cause, now: Time, flight: u64, window: Window) {
        let at = Congestion { now, flight: flight as u32, una: self.snd.una, srtt: self.snd.rtt.srtt() };
        self.snd.window.ssthresh = self.law.cut(cause, &at, &window);
    }

    /// Of `flight` bytes that are not acknowledged yet, what congestion is answered by. What the last recovery sent beside
    /// its holes may have arrived, so that no more than the window is on its way.
    pub(crate) fn within_window(&self, flight: u64) -> u64 {
        flight.min(self.law.usable(&self.snd.window).into())
    }

    /// RFC 3168, section 6.1.2; RFC 8257, section 3.5: once a window. With proportional rate reduction the window comes
    /// down over a round trip, as deployed stacks have it, else at once.
    fn reduce_for_mark(&mut self, call: &Call<'_, impl Wire>) {
        self.reduce_for_mark_of(call, self.snd.high - self.snd.una);
    }

    /// The same with `flight` bytes outstanding before this ACK.
    pub(crate) fn reduce_for_mark_of(&mut self, call: &Call<'_, impl Wire>, flight: u64) {
        self.cut(Cause::Ecn, call.now, self.within_window(flight), self.snd.window);
        if call.params.sack {
            self.snd.cwr = Some(Prr::new(flight));
        } else {
            self.snd.window.cwnd = self.snd.window.cwnd.min(self.snd.window.ssthresh);
        }
        self.snd.cwr_high = self.snd.high;
        self.snd.say_cwr = true;
    }

    /// Sends as much as the reduction after a mark allows.
    fn transmit_reduced(&mut self, call: &mut Call<'_, impl Wire>, acked: u64) {
        let Some(mut prr) = self.snd.cwr else { return };
        let pipe = self.in_flight() - self.board.bytes();
        let quota = prr.quota(acked, pipe, self.snd.window.ssthresh, call.params.mss);
        self.snd.window.cwnd = u32::try_from(pipe + quota).unwrap_or(u32::MAX);
        let before = self.snd.nxt;
        self.transmit(call);
        prr.sent(self.snd.nxt - before);
        self.snd.cwr = Some(prr);
    }

    /// The window that was marked is acknowledged.
    #[inline]
    pub(crate) fn end_reduction(&mut self) {
        if self.snd.cwr.take().is_some() {
            self.snd.window.cwnd = self.snd.window.ssthresh;
        }
    }

    /// RFC 6298, 5.2 and 5.3.
    #[inline]
    pub(crate) fn rearm(&mut self, call: &Call<'_, impl Wire>) {
        self.snd.rto_at = if self.snd.una == self.snd.high {
            Time::NEVER
        } else {
            call.now.saturating_add(self.snd.rtt.timeout(call.params))
        };
    }

    /// Sends new data (after a timeout: old data first) as long as the windows allow.
    #[inline]
    pub(crate) fn transmit(&mut self, call: &mut Call<'_, impl Wire>) {
        let last = self.snd.end + u64::from(self.snd.fin);
        if self.snd.nxt >= last || !self.is_open() {
            return;
        }
        if self.rack.is_some() {
            return self.transmit_by_time(call);
        }
        if call.params.idle_restart && self.snd.una == self.snd.high {
            self.restart_after_idle(call);
        }
        self.transmit_within(call, self.law.usable(&self.snd.window));
    }

    /// Sends as long as `cwnd` allows.
    #[inline]
    pub(crate) fn transmit_within(&mut self, call: &mut Call<'_, impl Wire>, cwnd: u32) {
        let window = u64::from(cwnd.min(self.snd.rwnd));
        loop {
            let again = self.snd.nxt < self.snd.high;
            if again && !self.board.is_empty() {
                self.snd.nxt = self.board.skip(self.snd.nxt);
            }
            let len = self.segment_length(call.params, window);
            let fin = self.snd.fin && self.snd.nxt + len == self.snd.end;
            // The congestion window bounds what is in flight, the peer's what lies above its acknowledgement: in recovery
            // the two differ.
            let beyond = self.snd.nxt - self.snd.una + len > u64::from(self.snd.rwnd);
            let full = beyond || self.in_flight() + len > window;
            // A FIN alone needs no room (it is one number long); what does not fit whole waits (RFC 9293, 3.8.6.2.1).
            if (len == 0 && !(fin && self.snd.nxt == self.snd.end)) || (len > 0 && full) {
                return;
            }
            self.send_data(call, self.snd.nxt, len);
            self.snd.nxt += len + u64::from(fin);
            self.snd.high = self.snd.high.max(self.snd.nxt);
            if self.snd.nxt >= self.snd.end + u64::from(self.snd.fin) {
                return;
            }
        }
    }

    /// The length of the segment at `nxt`: up to the MSS, the window where that is under it, and the next run that the
    /// peer has.
    #[inline]
    fn segment_length(&self, params: &Params, window: u64) -> u64 {
        let left = self.snd.end.saturating_sub(self.snd.nxt);
        let len = left.min(u64::from(params.mss)).min(window);
        if self.snd.nxt < self.snd.high && !self.board.is_empty() {
            return self.board.hole(self.snd.nxt).map_or(len, |hole| len.min(hole.end - self.snd.nxt));
        }
        len
    }

    /// Bytes thought to be on their way outside fast recovery.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        match self.snd.recovery {
            Recovery::Loss if !self.board.is_empty() => self.board.missing(self.snd.una, self.snd.nxt),
            _ => self.snd.nxt - self.snd.una - self.snd.gone,
        }
    }

    /// Sends `len` bytes from `seq` on, and the FIN where they reach it.
    #[inline]
    pub(crate) fn send_data(&mut self, call: &mut Call<'_, impl Wire>, seq: u64, len: u64) {
        let fresh = seq >= self.snd.high;
        let end = seq + len;
        let fin = self.snd.fin && end == self.snd.end;
        let mut flags = Flags::ACK | Flags::FIN.when(fin) | self.echo_flag();
        if self.ecn {
            let ect = call.params.ect_everywhere() || (fresh && len > 0);
            flags |= Flags::ECT.when(ect) | Flags::CWR.when(self.snd.say_cwr && fresh);
            self.snd.say_cwr &= !fresh;
        }
        if fresh {
            if self.snd.timed.is_none() {
                self.snd.timed = NonZeroU64::new(end + u64::from(fin)).map(|end| (end, call.now));
            }
        } else {
            self.stats.retransmits += 1;
            // Karn: what is sent again measures nothing, nor does what is acknowledged together with it.
            self.snd.timed = None;
        }
        if self.snd.rto_at == Time::NEVER {
            self.snd.rto_at = call.now.saturating_add(self.snd.rtt.timeout(call.params));
        }
        self.snd.last_sent = call.now;
        self.acked_by_segment();
        let header = header_bytes(call.params.option_bytes(), 0);
        let segment = Segment { seq: seq as u32, len: len as u16, header, ..self.blank(call, flags) };
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        call.wire.send(segment, &[]);
    }

    /// RFC 5681, section 4.1.
    #[cold]
    pub(crate) fn restart_after_idle(&mut self, call: &Call<'_, impl Wire>) {
        if call.now.since(self.snd.last_sent) > self.snd.rtt.timeout(call.params) {
            self.snd.window.cwnd = self.snd.window.cwnd.min(call.params.initial_cwnd);
        }
    }
}
