//! What the receiving half does with a segment: takes its payload and its marks, and acknowledges now or later.

use std::num::NonZeroU64;

use fanin_units::Time;

use crate::call::Call;
use crate::params::Echo;
use crate::segment::{Block, Flags, Segment, Wire, microseconds, widen};
use crate::tcb::{Progress, Tcb};

/// So many ACKs out of order in one place leave at once (TCP_FASTRETRANS_THRESH).
const REPEATED_AT_ONCE: u8 = 3;
/// The longest that others wait for more (tcp_comp_sack_delay_ns).
const COMPRESSION_MAX: Time = Time::from_millis(1);

impl Tcb {
    /// Takes the payload and the FIN of a segment, if it has any; acknowledges now or later.
    #[inline(always)]
    pub fn receive(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) -> Progress {
        if !segment.is_pure_ack() {
            return self.take(call, segment);
        }
        // A pure ACK's time is echoed, too, where nothing is missing before it (RFC 7323, section 4.3, rule 2).
        if call.params.timestamps && widen(segment.seq, self.rcv.nxt) <= self.rcv.nxt {
            self.rcv.note_time(segment);
        }
        Progress::NONE
    }

    #[inline(always)]
    fn take(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) -> Progress {
        if self.ecn {
            self.note_mark(call, segment);
        }
        let start = widen(segment.seq, self.rcv.nxt);
        let end = start + u64::from(segment.len);
        let fin = segment.flags.any(Flags::FIN);
        if start <= self.rcv.nxt && end >= self.rcv.nxt && self.rcv.beyond.is_empty() && !fin {
            // In order, nothing missing: all but a few segments.
            if end == self.rcv.nxt {
                self.heard_again(call);
                self.acknowledge_again(call, Block { start, end });
                return Progress::NONE;
            }
            self.stats.data_segments += 1;
            self.rcv.nxt = end;
            if call.params.timestamps {
                self.rcv.note_time(segment);
            }
            match segment.flags.any(Flags::CWR) && call.params.ack_cwr && self.ecn {
                // The sender has cut its window, perhaps to one segment: it may wait for this ACK.
                true => self.send_ack(call),
                false => self.acknowledge(call, u32::from(segment.len) < call.params.mss),
            }
            return Progress::AWAKE.when(self.rcv.wakes());
        }
        self.receive_irregular(call, segment, Block { start, end })
    }

    /// Out of order, repeated, filling a hole, or with the FIN: acknowledged at once (RFC 5681, section 4.2).
    #[cold]
    fn receive_irregular(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, block: Block) -> Progress {
        let before = (self.rcv.nxt, self.rcv.closed);
        if call.params.timestamps && block.start <= self.rcv.nxt {
            self.rcv.note_time(segment);
        }
        if segment.flags.any(Flags::FIN) {
            self.rcv.fin_at = NonZeroU64::new(block.end);
        }
        if call.params.quick_acks > 0 || call.params.pingpong {
            self.acknowledge_quickly(call, false);
            if block.end > block.start && block.end <= self.rcv.nxt {
                self.heard_again(call);
            }
        }
        let old = match self.rcv.has(block.start, block.end) {
            true => block,
            false => Block { end: block.end.min(self.rcv.nxt), ..block },
        };
        if block.end > block.start {
            self.stats.data_segments += u64::from(!self.rcv.has(block.start, block.end));
            if block.start <= self.rcv.nxt {
                self.rcv.nxt = self.rcv.nxt.max(block.end);
            } else {
                self.rcv.keep(block);
            }
            self.rcv.close_gap();
        }
        if self.rcv.fin_at.is_some_and(|end| end.get() == self.rcv.nxt) && !self.rcv.closed {
            self.rcv.closed = true;
            self.rcv.nxt += 1;
        }
        let moved = before != (self.rcv.nxt, self.rcv.closed);
        let closes = self.rcv.closed && !before.1;
        if closes && block.end == block.start && self.answers_close(call) {
            self.rcv.answers = true;
            self.acknowledge_later(call);
        } else if !call.params.ack_compression || moved || old.end > old.start || !self.waits_with_others(call) {
            if moved {
                self.rcv.repeated = 0;
            }
            self.acknowledge_again(call, old);
        }
        Progress::AWAKE.when(moved && self.rcv.wakes()) | Progress::CLOSED.when(closes)
    }

    /// Whether the ACK of the peer's FIN waits for this end's own FIN (Linux 6.12, tcp_fin(): pingpong mode in CLOSE_WAIT).
    fn answers_close(&self, call: &Call<'_, impl Wire>) -> bool {
        call.params.pingpong && call.params.delayed_ack > 1 && !self.snd.fin
    }

    /// Whether an ACK out of order waits for those of the next segments: the fourth in one place does, and what comes after it (Linux 6.1,
    /// __tcp_ack_snd_check(), tcp_comp_sack_delay_ns).
    fn waits_with_others(&mut self, call: &Call<'_, impl Wire>) -> bool {
        let quick = self.rcv.quick > 0 && !self.rcv.answers;
        if quick || self.rcv.beyond.is_empty() || self.rcv.repeated < REPEATED_AT_ONCE {
            self.rcv.repeated = self.rcv.repeated.saturating_add(u8::from(!quick));
            return false;
        }
        let wait = Time(self.snd.rtt.srtt().0 / 20).min(COMPRESSION_MAX);
        self.rcv.ack_at = self.rcv.ack_at.min(call.now.saturating_add(wait));
        true
    }

    /// An ACK at once, which tells of what had come before, if anything has, in front of what came out of order (RFC 2883, section 4).
    #[cold]
    fn acknowledge_again(&mut self, call: &mut Call<'_, impl Wire>, old: Block) {
        let told = call.params.tells_of_duplicates() && old.end > old.start;
        if told {
            self.rcv.beyond.insert(0, old);
        }
        self.send_ack(call);
        if told {
            self.rcv.beyond.remove(0);
        }
    }

    /// The echo of congestion marks: RFC 3168, section 6.1.3, or RFC 8257, section 3.2.
    #[inline]
    fn note_mark(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) {
        let marked = segment.flags.any(Flags::CE);
        match call.params.echo {
            Echo::Latched => {
                if segment.flags.any(Flags::CWR) {
                    self.rcv.ece = false;
                }
                self.rcv.ece |= marked;
            }
            Echo::Exact => {
                if marked != self.rcv.ece && self.rcv.pending > 0 {
                    // What waits is acknowledged as it was marked (RFC 8257, figure 1).
                    self.send_ack(call);
                }
                self.rcv.ece = marked;
            }
        }
    }

    /// An ACK for a segment in order, perhaps a short one: now, or later with others (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).
    #[inline(always)]
    fn acknowledge(&mut self, call: &mut Call<'_, impl Wire>, short: bool) {
        if (call.params.quick_acks > 0 || call.params.pingpong) && self.acknowledge_quickly(call, short) {
            return self.send_ack(call);
        }
        self.acknowledge_later(call);
    }

    #[inline(always)]
    fn acknowledge_later(&mut self, call: &mut Call<'_, impl Wire>) {
        self.rcv.pending += 1;
        if u32::from(self.rcv.pending) >= call.params.delayed_ack {
            if !self.rcv.unread {
                return self.put_ack(call);
            }
            // As many as an ACK may cover is enough to know.
            self.rcv.pending = call.params.delayed_ack as u8;
        }
        if self.rcv.ack_at == Time::NEVER {
            self.rcv.ack_at = call.now.saturating_add(call.params.delayed_ack_timeout);
        }
    }

    /// The application reads from now on, or not: in a stack whose ACKs wait for it, what came in order meanwhile is acknowledged now.
    #[cold]
    pub fn reads(&mut self, call: &mut Call<'_, impl Wire>, reads: bool) {
        self.rcv.unread = !reads && call.params.acks_wait_for_reader && call.params.delayed_ack > 1;
        if reads && u32::from(self.rcv.pending) >= call.params.delayed_ack {
            self.send_ack(call);
        }
    }

    /// Whether this data segment is among those acknowledged at once: of a new connection, after a pause of a timeout
    /// (the sender may start from a small window), after data that came again (an ACK may have been lost); unless this end answers.
    /// Where it does not, a short one is as good as all that an ACK may cover: it is acknowledged as it is read.
    #[cold]
    fn acknowledge_quickly(&mut self, call: &Call<'_, impl Wire>, short: bool) -> bool {
        if self.unheard(call.now).is_none_or(|pause| pause > self.snd.rtt.timeout(call.params)) {
            self.rcv.quick = call.params.quick_acks;
        }
        self.rcv.heard = microseconds(call.now).max(1);
        let quick = self.rcv.quick > 0;
        self.rcv.quick -= u8::from(quick);
        if short && call.params.pingpong && !self.rcv.answers {
            self.rcv.pending = self.rcv.pending.max(call.params.delayed_ack as u8 - 1);
        }
        quick && !self.rcv.answers
    }

    /// Data came again.
    fn heard_again(&mut self, call: &Call<'_, impl Wire>) {
        (self.rcv.quick, self.rcv.answers) = (call.params.quick_acks, false);
    }

    /// Data leaves: soon after some came it is an answer (Linux 6.1, tcp_event_data_sent()).
    #[cold]
    pub fn answers(&mut self, call: &Call<'_, impl Wire>) {
        self.rcv.answers |= self.unheard(call.now).is_some_and(|since| since < call.params.delayed_ack_timeout);
    }

    /// A delayed ACK has waited for its whole time: no answer came to carry it. Or one out of order for others.
    #[cold]
    pub fn acknowledge_late(&mut self, call: &mut Call<'_, impl Wire>) {
        self.rcv.answers &= !self.rcv.beyond.is_empty();
        self.send_ack(call);
    }

    /// For how long no data has come; `None` before any has.
    fn unheard(&self, now: Time) -> Option<Time> {
        let since = || Time::from_micros(microseconds(now).max(1).wrapping_sub(self.rcv.heard).into());
        (self.rcv.heard != 0).then(since)
    }
}
