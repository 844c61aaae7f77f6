//! Scoreboard: the outstanding segments with their marks, and the sums of those marks.
//! Sources: RFC 8985, section 5.2; Linux 6.12, tcp_input.c: the comment above tcp_is_sackblock_valid(), tcp_mark_skb_lost(),
//!          tcp_packets_in_flight(), tcp_highest_sack_seq().

use std::collections::VecDeque;

use fanin_units::Time;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    /// When it was last sent (Segment.xmit_ts).
    pub at: Time,
    pub len: u16,
    /// Its share of the congestion window: its bytes, or a full segment if the window counts packets.
    pub share: u16,
    pub fin: bool,
    pub sacked: bool,
    /// Considered lost; stays set while its retransmission is in flight.
    pub lost: bool,
    /// A retransmission is in flight.
    pub resent: bool,
    /// Retransmitted at least once.
    pub repeated: bool,
}

impl Sent {
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.fin)
    }

    pub fn end(&self) -> u64 {
        self.start + self.span()
    }
}

/// Segments with one mark: their shares of the window, bytes, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub share: u64,
    pub segments: u32,
}

impl Sum {
    fn add(&mut self, segment: &Sent) {
        self.share += u64::from(segment.share);
        self.segments += 1;
    }

    fn remove(&mut self, segment: &Sent) {
        self.share -= u64::from(segment.share);
        self.segments -= 1;
    }
}

/// Outstanding segments by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    pub sent: VecDeque<Sent>,
    out: u64,
    pub sacked: Sum,
    pub lost: Sum,
    pub resent: Sum,
    /// One past the highest SACKed byte.
    highest: u64,
}

impl Board {
    /// Share of the window that is in flight: neither delivered nor lost, and retransmissions.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.out + self.resent.share - self.sacked.share - self.lost.share
    }

    /// Share of the window that is unacknowledged.
    #[inline]
    pub fn out(&self) -> u64 {
        self.out
    }

    /// One past the highest SACKed byte; `una` if nothing is SACKed.
    pub fn highest_sacked(&self, una: u64) -> u64 {
        if self.sacked.segments == 0 { una } else { self.highest.max(una) }
    }

    /// Whether a retransmission is in flight, or the first segment was retransmitted.
    pub fn has_resent(&self) -> bool {
        self.resent.segments > 0 || self.sent.front().is_some_and(|first| first.repeated)
    }

    /// Whether all lost segments are retransmitted.
    pub fn all_resent(&self) -> bool {
        self.resent.segments >= self.lost.segments
    }

    #[inline]
    pub fn push(&mut self, segment: Sent) {
        self.out += u64::from(segment.share);
        self.sent.push_back(segment);
    }

    /// Remove the first segment.
    #[inline]
    pub fn pop(&mut self) -> Option<Sent> {
        let segment = self.sent.pop_front()?;
        self.out -= u64::from(segment.share);
        if segment.sacked {
            self.sacked.remove(&segment);
        }
        if segment.lost {
            self.lost.remove(&segment);
        }
        if segment.resent {
            self.resent.remove(&segment);
        }
        Some(segment)
    }

    /// Mark a segment as SACKed. A retransmission of a segment that was not lost is still in flight.
    pub fn note_sacked(&mut self, i: usize) {
        let segment = &mut self.sent[i];
        if segment.lost {
            self.lost.remove(segment);
            if segment.resent {
                self.resent.remove(segment);
            }
            (segment.lost, segment.resent) = (false, false);
        }
        segment.sacked = true;
        self.sacked.add(segment);
        self.highest = if self.sacked.segments == 1 { segment.end() } else { self.highest.max(segment.end()) };
    }

    /// The retransmission in flight has arrived as a duplicate.
    pub fn note_duplicated(&mut self, i: usize) {
        let segment = &mut self.sent[i];
        if segment.resent {
            self.resent.remove(segment);
            segment.resent = false;
        }
    }

    /// Mark a segment as lost, or its retransmission; returns whether either is news.
    pub fn note_lost(&mut self, i: usize) -> bool {
        let segment = &mut self.sent[i];
        if segment.sacked || segment.lost && !segment.resent {
            return false;
        }
        if segment.lost {
            self.resent.remove(segment);
            segment.resent = false;
        } else {
            self.lost.add(segment);
            segment.lost = true;
        }
        true
    }

    /// Clear all loss marks.
    pub fn forget_losses(&mut self) {
        self.sent.iter_mut().for_each(|segment| segment.lost = false);
        self.lost = Sum::default();
    }

    /// A segment is sent again; `counts` as a retransmission in flight, unless it probes.
    pub fn note_resent(&mut self, i: usize, now: Time, counts: bool) -> Sent {
        let segment = &mut self.sent[i];
        (segment.at, segment.repeated) = (now, true);
        if counts && !segment.resent {
            segment.resent = true;
            self.resent.add(segment);
        }
        *segment
    }

    /// Join the next segments to one that is sent again, as far as they fit into one of `most` bytes and are not SACKed
    /// (tcp_retrans_try_collapse).
    pub fn join(&mut self, i: usize, most: u32) {
        while let Some(&next) = self.sent.get(i + 1)
            && !next.sacked
            && !self.sent[i].fin
            && u32::from(self.sent[i].len) + u32::from(next.len) <= most
        {
            self.out -= u64::from(next.share);
            for (mark, sum) in [(next.lost, &mut self.lost), (next.resent, &mut self.resent)] {
                if mark {
                    sum.remove(&next);
                }
            }
            let whole = &mut self.sent[i];
            (whole.len, whole.fin, whole.repeated) = (whole.len + next.len, next.fin, whole.repeated | next.repeated);
            self.sent.remove(i + 1);
        }
    }

    /// Split a segment that is longer than the window. Its share stays that of its bytes.
    pub fn split(&mut self, i: usize, len: u16) {
        let whole = self.sent[i];
        let rest = whole.len - len;
        let fin = u16::from(whole.fin);
        self.sent[i] = Sent { len, fin: false, share: len, ..whole };
        let rest = Sent { start: whole.start + u64::from(len), len: rest, share: rest + fin, ..whole };
        self.sent.insert(i + 1, rest);
        for (mark, sum) in
            [(whole.sacked, &mut self.sacked), (whole.lost, &mut self.lost), (whole.resent, &mut self.resent)]
        {
            sum.segments += u32::from(mark);
        }
    }
}
