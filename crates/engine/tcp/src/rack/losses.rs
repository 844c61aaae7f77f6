//! Outstanding segments and their losses.
//! Sources: RFC 8985, sections 5 and 6; RFC 6675, section 4, IsLost(), if only the probe is on.
//! Rule:    a segment, also a retransmission, is lost if something sent a round trip and a reordering window later has arrived.
//! Owns:    a record of every outstanding segment, replacing the scoreboard.
//! Departs: the reordering window's multiple stays 1, whatever duplicates the peer reports; min_RTT is the connection's, without a
//!          filter.

use fanin_transport::Block;
use fanin_units::Time;

use super::out::Sent;
use super::{Phase, Rack};
use crate::call::Call;
use crate::params::Params;
use crate::segment::{Wire, microseconds, widen};

/// Segments above a hole that indicate loss, or that end the reordering window.
const DUP_THRESH: u32 = 3;
const MICROSECOND: Time = Time::from_micros(1);

impl Rack {
    /// 6.2, step 1: a round trip, for the minimum. Linux counts whole microseconds, and takes a tick for zero (tcp_update_rtt_min).
    pub fn note_rtt(&mut self, rtt: Time, params: &Params) {
        let is_zero = params.tick > Time::ZERO && rtt < MICROSECOND;
        self.min_rtt = self.min_rtt.min(if is_zero { params.tick } else { rtt });
    }

    /// 6.2, steps 1 to 3: take an ACK's deliveries; returns their share of the window. RACK.rtt ends as that of the last one taken; the RFC
    /// defines no order.
    pub(super) fn deliver(
        &mut self,
        call: &Call<'_, impl Wire>,
        una: u64,
        echo: Option<u32>,
        ack: u64,
        sack: &[Block],
    ) -> u64 {
        let before = self.fack;
        if sack.is_empty() {
            return self.deliver_acknowledged(call, before, echo, ack);
        }
        if call.params.sacks_first {
            let sacked = self.deliver_sacked(call, before, una, ack, sack);
            return sacked + self.deliver_acknowledged(call, before, echo, ack);
        }
        let acknowledged = self.deliver_acknowledged(call, before, echo, ack);
        acknowledged + self.deliver_sacked(call, before, una, ack, sack)
    }

    fn deliver_acknowledged(&mut self, call: &Call<'_, impl Wire>, before: u64, echo: Option<u32>, ack: u64) -> u64 {
        let mut delivered = 0;
        while let Some(&segment) = self.sent.front()
            && segment.end() <= ack
        {
            self.sent.pop_front();
            if segment.sacked {
                self.sacked -= u64::from(segment.share);
                self.sacked_segments -= 1;
            } else {
                delivered += self.note_delivery(call, &segment, before, echo);
            }
        }
        delivered
    }

    fn deliver_sacked(&mut self, call: &Call<'_, impl Wire>, before: u64, una: u64, ack: u64, sack: &[Block]) -> u64 {
        let mut delivered = 0;
        for block in sack {
            let (start, end) = (widen(block.start as u32, una).max(ack), widen(block.end as u32, una));
            let mut i = self.sent.partition_point(|segment| segment.start < start);
            while let Some(&segment) = self.sent.get(i)
                && segment.len > 0
                && segment.start + u64::from(segment.len) <= end
            {
                if !segment.sacked {
                    // The echoed timestamp is that of the left edge, and says nothing about data beyond a hole.
                    delivered += self.note_delivery(call, &segment, before, None);
                    self.sacked += u64::from(segment.share);
                    self.sacked_segments += 1;
                    self.sent[i] = Sent { sacked: true, lost: false, ..segment };
                }
                i += 1;
            }
        }
        delivered
    }

    fn note_delivery(&mut self, call: &Call<'_, impl Wire>, segment: &Sent, fack: u64, echo: Option<u32>) -> u64 {
        if segment.lost {
            self.lost_segments -= 1;
        } else {
            self.pipe -= u64::from(segment.share);
        }
        let end = segment.end();
        let rtt = call.now.since(segment.at);
        if !segment.resent {
            self.note_rtt(rtt, call.params);
            // Step 3: below delivered data, and sent once.
            self.reordered |= end < fack;
        }
        self.fack = self.fack.max(end);
        // Step 2: an ACK that arrives too early belongs to the previous transmission.
        let early = echo.is_some_and(|echo| (echo.wrapping_sub(microseconds(segment.at)) as i32) < 0);
        if !segment.resent || !(early || rtt < self.min_rtt) {
            self.rtt = rtt;
            self.newest = self.newest.max((segment.at, end));
        }
        segment.share.into()
    }

    /// 6.2, step 4.
    fn reordering_window(&self, srtt: Time) -> Time {
        if !self.reordered && (self.phase != Phase::Open || self.sacked_segments >= DUP_THRESH) {
            return Time::ZERO;
        }
        Time(self.min_rtt.0 / 4).min(srtt)
    }

    /// 6.2, step 5, and the timer of 6.3; returns the share newly lost.
    #[inline]
    pub(super) fn detect(&mut self, call: &Call<'_, impl Wire>, srtt: Time) -> u64 {
        self.reorder_at = Time::NEVER;
        // Without holes and retransmissions all outstanding data was sent after all delivered data.
        match self.phase == Phase::Open && self.sacked_segments == 0 && self.probe.is_none() {
            true => 0,
            false if call.params.rack => self.detect_by_time(call, srtt),
            false => self.detect_by_count(call.params),
        }
    }

    fn detect_by_time(&mut self, call: &Call<'_, impl Wire>, srtt: Time) -> u64 {
        let patience = self.rtt.saturating_add(self.reordering_window(srtt));
        let (newest, before) = (self.newest, self.pipe);
        let mut wait = Time::ZERO;
        for i in 0..self.sent.len() {
            let segment = self.sent[i];
            if segment.sacked || segment.lost || (segment.at, segment.end()) >= newest {
                continue;
            }
            let due = segment.at.saturating_add(patience);
            if due <= call.now {
                self.lose(i);
            } else {
                wait = wait.max(due);
            }
        }
        if wait > Time::ZERO {
            let wait = wait.since(call.now).saturating_add(call.params.timer_margin);
            self.reorder_at = call.now.saturating_add(call.params.in_ticks(wait));
        }
        before - self.pipe
    }

    /// IsLost() (RFC 6675, section 4): three runs above, or more than two segments' bytes. Retransmissions are not lost twice.
    fn detect_by_count(&mut self, params: &Params) -> u64 {
        let before = self.pipe;
        let (mut runs, mut bytes, mut within) = (0, 0, false);
        for i in (0..self.sent.len()).rev() {
            let segment = self.sent[i];
            if segment.sacked {
                bytes += segment.span();
                runs += u32::from(!within);
            } else if (runs >= DUP_THRESH || bytes > 2 * u64::from(params.mss)) && !segment.resent && !segment.lost {
                self.lose(i);
            }
            within = segment.sacked;
        }
        before - self.pipe
    }

    fn lose(&mut self, i: usize) {
        let segment = &mut self.sent[i];
        segment.lost = true;
        self.pipe -= u64::from(segment.share);
        self.lost_segments += 1;
    }

    /// 6.3: data that a timeout marks as lost: the first segment and overdue ones; everything without loss by time.
    pub(super) fn mark_lost_on_timeout(&mut self, call: &Call<'_, impl Wire>, srtt: Time) {
        let patience = self.rtt.saturating_add(self.reordering_window(srtt));
        for i in 0..self.sent.len() {
            let segment = self.sent[i];
            let overdue = !call.params.rack || segment.at.saturating_add(patience) <= call.now;
            if !segment.sacked && !segment.lost && (i == 0 || overdue) {
                self.lose(i);
            }
        }
    }

    /// Split a segment that is longer than the window.
    pub(super) fn split(&mut self, i: usize, len: u16) {
        let whole = self.sent[i];
        let rest = whole.len - len;
        let fin = u16::from(whole.fin);
        self.sent[i] = Sent { len, fin: false, share: len, ..whole };
        let rest = Sent { start: whole.start + u64::from(len), len: rest, share: rest + fin, ..whole };
        self.sent.insert(i + 1, rest);
        self.lost_segments += u32::from(whole.lost);
    }
}
