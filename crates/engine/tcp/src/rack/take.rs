//! Takes an acknowledgement's deliveries: its SACK blocks, its duplicates, and its cumulative part.
//! Sources: RFC 2018, 2883; RFC 8985, section 6.2, steps 1 to 3; Linux 6.12, tcp_sacktag_write_queue(), tcp_sacktag_one(),
//!          tcp_check_dsack(), tcp_is_sackblock_valid(), tcp_clean_rtx_queue(), tcp_ack_update_rtt().

use fanin_laws::sender::Ack;
use fanin_laws::stack::RttVariance;
use fanin_transport::Block;
use fanin_units::Time;

use super::news::{News, extend};
use super::{Phase, Rack};
use crate::call::Call;
use crate::segment::{Segment, Wire, microseconds, widen};
use crate::tcb::Tcb;
use crate::variance::Sample;

/// SACK blocks of one acknowledgement.
const BLOCKS: usize = 4;

impl Rack {
    /// Take the SACK blocks, in the order of their sequence numbers.
    pub(super) fn take_blocks(
        &mut self,
        tcb: &Tcb,
        call: &Call<'_, impl Wire>,
        sack: &[Block],
        ack: u64,
        news: &mut News,
    ) {
        let una = tcb.snd.una;
        let mut blocks = [Block { start: 0, end: 0 }; BLOCKS];
        let wide = |block: &Block| Block { start: widen(block.start as u32, una), end: widen(block.end as u32, una) };
        let sack = &sack[..sack.len().min(BLOCKS)];
        let duplicate = duplicate(sack, ack).filter(|&block| self.take_duplicate(tcb, call, block, news));
        let mut used = 0;
        for (i, block) in sack.iter().map(wide).enumerate() {
            let repeats = i == 0 && duplicate.is_some();
            if self.is_valid(tcb, block, repeats) && block.end > news.una {
                blocks[used] = block;
                used += 1;
            }
        }
        let blocks = &mut blocks[..used];
        blocks.sort_unstable_by_key(|block| block.start);
        for block in &*blocks {
            let first = self.board.sent.partition_point(|segment| segment.start < block.start);
            for i in first..self.board.sent.len() {
                let segment = self.board.sent[i];
                if segment.len == 0 || segment.start + u64::from(segment.len) > block.end {
                    break;
                }
                let within = |whole: Block| whole.start <= segment.start && segment.end() <= whole.end;
                self.tag(tcb, call, i, duplicate.is_some_and(within), news);
            }
        }
        if self.phase != Phase::Loss || self.undo.marker > 0 {
            self.note_reordering(tcb, call.params, news.reordered);
        }
    }

    /// tcp_is_sackblock_valid().
    fn is_valid(&self, tcb: &Tcb, block: Block, repeats: bool) -> bool {
        let Block { start, end } = block;
        if end > tcb.snd.high || start >= end {
            return false;
        }
        start > tcb.snd.una || repeats && self.undo.marker > 0 && end <= tcb.snd.una && end > self.undo.marker
    }

    /// A reported duplicate: a retransmission was unnecessary (tcp_dsack_seen). Returns false if no retransmission explains it.
    fn take_duplicate(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>, block: Block, news: &mut News) -> bool {
        let span = block.end.saturating_sub(block.start);
        let segments = span.div_ceil(call.params.mss.into()) as u32;
        if segments == 0 {
            return false;
        }
        if segments == 1 && self.probe.is_some_and(|probe| probe.end == block.end) {
            news.probe_duplicate = true;
        }
        self.duplicates = self.duplicates.saturating_add(segments);
        if self.duplicates > tcb.stats.retransmits {
            return false;
        }
        self.clock.duplicate |= self.clock.has_reordering() && !news.probe_duplicate;
        news.duplicate = true;
        news.delivered += u64::from(segments) * u64::from(call.params.mss);
        if block.end <= news.una {
            self.undo.note_duplicates(block.end, segments);
        }
        true
    }

    /// Mark a segment as SACKed, perhaps again.
    fn tag(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>, i: usize, repeats: bool, news: &mut News) {
        let segment = self.board.sent[i];
        if repeats && segment.repeated {
            self.undo.note_duplicates(segment.end(), 1);
            if segment.sacked {
                news.reordered = news.reordered.min(segment.start);
            }
        }
        if segment.end() <= tcb.snd.una {
            return;
        }
        if !segment.sacked {
            self.clock.note_delivery(call.now, &segment);
            if !segment.repeated {
                if segment.start < self.board.highest_sacked(tcb.snd.una) {
                    news.reordered = news.reordered.min(segment.start);
                }
                news.original |= segment.end() <= self.high;
                extend(&mut news.sacked_at, segment.at);
            }
            self.board.note_sacked(i);
            news.sacked = true;
            news.delivered += u64::from(segment.share);
            news.newest_at = news.newest_at.max(segment.at);
        }
        if repeats {
            self.board.note_duplicated(i);
        }
    }

    /// Remove acknowledged segments. `highest`: one past the highest SACKed byte before this acknowledgement.
    pub(super) fn take_acknowledged(
        &mut self,
        tcb: &Tcb,
        call: &Call<'_, impl Wire>,
        highest: u64,
        echo: Option<u32>,
        news: &mut News,
    ) {
        let mut reordered = tcb.snd.high;
        while self.board.sent.front().is_some_and(|first| first.end() <= tcb.snd.una) {
            let Some(segment) = self.board.pop() else { break };
            if segment.repeated {
                news.resent_acked = true;
            } else if !segment.sacked {
                extend(&mut news.acked_at, segment.at);
                reordered = reordered.min(segment.start);
                news.original |= segment.end() <= self.high;
            }
            if !segment.sacked {
                news.delivered += u64::from(segment.share);
                if !Rack::is_of_original(&segment, echo) {
                    self.clock.note_delivery(call.now, &segment);
                }
            }
            news.newest_at = news.newest_at.max(segment.at);
            (news.acked, news.restarts_timer) = (true, true);
        }
        if reordered < highest {
            self.note_reordering(tcb, call.params, reordered);
        }
    }

    /// Take the round trips that the deliveries measure, and tell the congestion control of them.
    pub(super) fn measure(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        segment: &Segment,
        acked: u64,
        news: &mut News,
    ) -> Ack {
        let since = |at: Time| Time::from_micros(u64::from(microseconds(call.now).wrapping_sub(microseconds(at))));
        let sacked = news.sacked_at.map(|(first, last)| (since(first), since(last)));
        let own = news.acked_at.filter(|_| !news.resent_acked).map(|(first, last)| (since(first), since(last)));
        // Karn's algorithm: after a retransmission only the timestamp's echo tells.
        let echo = || {
            let micros = microseconds(call.now).wrapping_sub(segment.ts_ecr).max(1);
            (call.params.timestamps && news.acked).then(|| Time::from_micros(micros.into()))
        };
        let first = own.or(sacked).map(|(first, _)| first).or_else(echo);
        let last = sacked.or(own).map(|(_, last)| last).or(first);
        let srtt = tcb.snd.rtt.srtt();
        if let (Some(rtt), Some(last)) = (first, last) {
            self.clock.note_rtt(last, call.params);
            tcb.snd.rtt.sample(call.params, rtt);
            if call.params.rtt_variance == RttVariance::Linux {
                let (una, nxt, floor) = (tcb.snd.una, tcb.snd.nxt, call.params.least_spread());
                tcb.snd.rtt.set_variance(call.params, self.variance.note(&Sample { rtt, srtt, una, nxt, floor }));
            }
            // Not if the head was sent after the SACKed data, or the timeout would recede for ever.
            let age = self.board.sent.front().map(|head| since(head.at));
            news.restarts_timer |= sacked.zip(age).is_some_and(|((sacked, _), age)| sacked > age);
        }
        let acked = if call.params.byte_counting { news.delivered } else { acked } as u32;
        let (una, nxt, srtt) = (tcb.snd.una, tcb.snd.nxt, tcb.snd.rtt.srtt());
        Ack { now: call.now, acked, una, nxt, ece: news.ece, rtt: last, srtt }
    }
}

/// The duplicate that the peer reports: its first block is below its acknowledgement, or within its second one (RFC 2883, section 4).
fn duplicate(sack: &[Block], ack: u64) -> Option<Block> {
    let wide = |block: &Block| Block { start: widen(block.start as u32, ack), end: widen(block.end as u32, ack) };
    let first = wide(sack.first()?);
    let within = |whole: Block| whole.start <= first.start && first.end <= whole.end;
    (first.start < ack || sack.get(1).map(wide).is_some_and(within)).then_some(first)
}
