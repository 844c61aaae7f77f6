//! Receiving half: takes a segment's payload and marks, and acknowledges now or later.

use std::num::NonZeroU64;

use fanin_transport::{Block, Progress};
use fanin_units::Time;

use crate::call::Call;
use crate::params::Echo;
use crate::segment::{Flags, Segment, Wire, microseconds, widen};
use crate::tcb::Tcb;

/// Out-of-order ACKs in one place that are sent at once (TCP_FASTRETRANS_THRESH).
const REPEATED_AT_ONCE: u8 = 3;
/// Maximum delay of the further ones (tcp_comp_sack_delay_ns).
const COMPRESSION_MAX: Time = Time::from_millis(1);

impl Tcb {
    /// Take a segment's payload and FIN, if any; acknowledge now or later.
    #[inline(always)]
    pub fn receive(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) -> Progress {
        if !segment.is_pure_ack() {
            return self.take(call, segment);
        }
        // Echo a pure ACK's timestamp too, if no data is missing before it (RFC 7323, section 4.3, rule 2).
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
            // In order with nothing missing: the common case.
            if end == self.rcv.nxt {
                self.repeated_data(call);
                self.acknowledge_again(call, Block { start, end });
                return Progress::NONE;
            }
            self.stats.data_segments += 1;
            self.rcv.nxt = end;
            if call.params.timestamps {
                self.rcv.note_time(segment);
            }
            match segment.flags.any(Flags::CWR) && call.params.ack_cwr && self.ecn {
                // The sender has reduced its window, perhaps to one segment: it may wait for this ACK.
                true => self.send_ack(call),
                false => self.acknowledge(call, u32::from(segment.len) < call.params.mss),
            }
            return Progress::AWAKE.when(self.rcv.wakes());
        }
        self.receive_irregular(call, *segment, Block { start, end })
    }

    /// Out of order, repeated, filling a hole, or with the FIN: acknowledged at once (RFC 5681, section 4.2).
    #[cold]
    fn receive_irregular(&mut self, call: &mut Call<'_, impl Wire>, segment: Segment, block: Block) -> Progress {
        let before = (self.rcv.nxt, self.rcv.closed);
        if call.params.timestamps && block.start <= self.rcv.nxt {
            self.rcv.note_time(&segment);
        }
        if segment.flags.any(Flags::FIN) {
            self.rcv.fin_at = NonZeroU64::new(block.end);
        }
        if call.params.quick_acks > 0 || call.params.pingpong {
            self.acknowledge_quickly(call, false);
            if block.end > block.start && block.end <= self.rcv.nxt {
                self.repeated_data(call);
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
        // Before the first data Linux has no delay for it yet (tcp_send_delayed_ack(): ato is zero).
        if closes && block.end == block.start && before.0 > 1 && self.answers_close(call) {
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

    /// Whether an out-of-order ACK waits for the next segments: from the fourth in one place on (Linux 6.1,
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

    /// Send an ACK at once; a duplicate, if any, is reported in front of the out-of-order blocks (RFC 2883, section 4).
    #[cold]
    fn acknowledge_again(&mut self, call: &mut Call<'_, impl Wire>, old: Block) {
        let told = call.params.reports_duplicates() && old.end > old.start;
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
                    // Acknowledge pending data with its own marking (RFC 8257, figure 1).
                    self.send_ack(call);
                }
                self.rcv.ece = marked;
            }
        }
    }

    /// Acknowledge a segment in order, perhaps a short one, now or later with others (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).
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
            // Saturates: the number of segments that an ACK may cover is sufficient.
            self.rcv.pending = call.params.delayed_ack as u8;
        }
        if self.rcv.ack_at == Time::NEVER {
            self.rcv.ack_at = call.now.saturating_add(call.params.delayed_ack_timeout);
        }
    }

    /// Set whether the application reads; if ACKs wait for the application, acknowledge data received in the meantime.
    #[cold]
    pub fn reads(&mut self, call: &mut Call<'_, impl Wire>, reads: bool) {
        self.rcv.unread = !reads && call.params.acks_wait_for_reader && call.params.delayed_ack > 1;
        if reads && u32::from(self.rcv.pending) >= call.params.delayed_ack {
            self.send_ack(call);
        }
    }

    /// Whether to acknowledge this data segment at once: on a new connection, after a pause of a timeout (the sender may start
    /// from a small window), or after repeated data (an ACK may have been lost), unless this end responds. If it does not, a
    /// short segment counts as much as an ACK may cover: it is acknowledged when it is read.
    #[cold]
    fn acknowledge_quickly(&mut self, call: &Call<'_, impl Wire>, short: bool) -> bool {
        if self.since_last_data(call.now).is_none_or(|pause| pause > self.snd.rtt.timeout(call.params)) {
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

    /// Repeated data arrived.
    fn repeated_data(&mut self, call: &Call<'_, impl Wire>) {
        (self.rcv.quick, self.rcv.answers) = (call.params.quick_acks, false);
    }

    /// Data is sent: soon after received data it is a response (Linux 6.1, tcp_event_data_sent()).
    #[cold]
    pub fn answers(&mut self, call: &Call<'_, impl Wire>) {
        self.rcv.answers |= self.since_last_data(call.now).is_some_and(|since| since < call.params.delayed_ack_timeout);
    }

    /// The delay of an ACK ended: no response carried a delayed one, or an out-of-order one waited for others.
    #[cold]
    pub fn acknowledge_late(&mut self, call: &mut Call<'_, impl Wire>) {
        self.rcv.answers &= !self.rcv.beyond.is_empty();
        self.send_ack(call);
    }

    /// Time since the last data; `None` before any.
    fn since_last_data(&self, now: Time) -> Option<Time> {
        let since = || Time::from_micros(microseconds(now).max(1).wrapping_sub(self.rcv.heard).into());
        (self.rcv.heard != 0).then(since)
    }
}
