//! One direction of a connection: the bytes seen, and how far the other endpoint has acknowledged them.

use crate::ids::Ids;
use crate::level::Clock;

/// Maximum number of separate ranges above the first hole.
const MOST_ISLANDS: usize = 32;
/// A sequence number further away than this belongs to another connection.
const FAR: i64 = 1 << 30;

/// Relation of a segment's payload to earlier payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// It follows the last byte seen.
    Next,
    /// Bytes before it are missing.
    Beyond,
    /// It fills a hole: it was, or should have been, sent before.
    Fills,
    /// All of it was seen before.
    Again,
}

/// A direction; offsets count from the first byte seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    begun: bool,
    base: u32,
    /// Offset after the last byte seen.
    pub next: u64,
    /// Nothing is missing up to this offset.
    pub edge: u64,
    islands: Vec<(u64, u64)>,
    /// When the first hole appeared.
    pub hole_since: u64,
    /// Offset up to which the other endpoint has acknowledged, and the time of that ACK.
    pub acked: u64,
    pub acked_at: u64,
    /// Bytes that it acknowledged.
    pub acked_bytes: u64,
    /// Time of the last payload.
    pub last: Option<u64>,
    /// The largest payload of a segment.
    pub largest: u32,
    /// Bytes that arrived, as ACKs show, and that the capture lacks.
    pub lacking: u64,
    /// Time of the other endpoint's last segment.
    pub heard_at: u64,
    /// Numbers of the packets, and the sender's clock.
    pub ids: Ids,
    pub clock: Clock,
    /// The other endpoint's clock, as echoes of its timestamps show it.
    pub echoed: Clock,
    /// Bytes of the latest payload.
    pub latest: u32,
}

impl Half {
    /// The offset of a sequence number; negative before the first byte seen.
    fn place(&self, seq: u32) -> i64 {
        let next = self.base.wrapping_add(self.next as u32);
        self.next as i64 + i64::from(seq.wrapping_sub(next) as i32)
    }

    /// Sets the first sequence number, unless it is set.
    pub fn begin(&mut self, seq: u32) {
        if !self.begun {
            *self = Half { begun: true, base: seq, largest: self.largest, ..Half::default() };
        }
    }

    /// Whether a number can belong to this direction.
    pub fn knows(&self, seq: u32) -> bool {
        !self.begun || (self.place(seq) - self.next as i64).abs() < FAR
    }

    /// Whether bytes are missing.
    pub fn has_hole(&self) -> bool {
        self.edge < self.next
    }

    /// Adds payload. Returns its relation to earlier payload, and its begin and end.
    pub fn saw(&mut self, now: u64, seq: u32, payload: u32) -> (Piece, u64, u64) {
        self.begin(seq);
        let from = self.place(seq);
        let to = from + i64::from(payload);
        self.largest = self.largest.max(payload);
        if to <= 0 {
            return (Piece::Again, 0, 0);
        }
        let (from, to) = (from.max(0) as u64, to as u64);
        let piece = match () {
            () if from > self.next => Piece::Beyond,
            () if to > self.next => Piece::Next,
            () if self.is_missing(from, to) => Piece::Fills,
            () => Piece::Again,
        };
        let whole = !self.has_hole();
        self.next = self.next.max(to);
        self.take(from, to);
        if whole && self.has_hole() {
            self.hole_since = now;
        }
        (piece, from, to)
    }

    fn is_missing(&self, from: u64, to: u64) -> bool {
        to > self.edge && !self.islands.iter().any(|&(start, end)| start <= from && to <= end)
    }

    fn take(&mut self, mut from: u64, mut to: u64) {
        if from > self.edge {
            self.islands.retain(|&(start, end)| {
                let apart = end < from || start > to;
                if !apart {
                    (from, to) = (from.min(start), to.max(end));
                }
                apart
            });
            let place = self.islands.partition_point(|&(start, _)| start < from);
            self.islands.insert(place, (from, to));
            if self.islands.len() > MOST_ISLANDS {
                // Forget the oldest hole.
                self.edge = self.islands.remove(0).1;
            }
        } else {
            self.edge = self.edge.max(to);
        }
        while self.islands.first().is_some_and(|&(start, _)| start <= self.edge) {
            self.edge = self.edge.max(self.islands.remove(0).1);
        }
    }

    /// Processes a cumulative ACK. Returns whether it acknowledges new data. All before it has arrived, captured or not.
    pub fn acknowledged(&mut self, now: u64, ack: u32) -> bool {
        self.begin(ack);
        let to = self.place(ack);
        if to <= self.acked as i64 || to - self.next as i64 > FAR {
            return false;
        }
        let to = to as u64;
        self.acked_bytes = to - self.acked;
        self.acked = to;
        self.acked_at = now;
        // One number more than all bytes: the end of the stream (FIN).
        if to == self.next + 1 && !self.has_hole() {
            return true;
        }
        if to > self.edge {
            let captured: u64 = self.islands.iter().map(|&(start, end)| end.min(to).saturating_sub(start)).sum();
            self.lacking += if self.last.is_some() { (to - self.edge).saturating_sub(captured) } else { 0 };
            self.next = self.next.max(to);
            self.take(self.edge, to);
        }
        true
    }

    /// The offset of the end of a SACK block above the cumulative ACK.
    pub fn selected(&self, end: u32) -> Option<u64> {
        u64::try_from(self.place(end)).ok().filter(|end| *end > self.acked && *end <= self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_new_filling_and_repeated_data() {
        let mut half = Half::default();
        assert_eq!(half.saw(1, 1000, 100), (Piece::Next, 0, 100));
        assert_eq!(half.saw(2, 1200, 100), (Piece::Beyond, 200, 300));
        assert_eq!(half.saw(3, 1400, 100).0, Piece::Beyond);
        assert!(half.has_hole());
        assert_eq!((half.edge, half.next, half.hole_since), (100, 500, 2));
        assert_eq!(half.saw(4, 1200, 100).0, Piece::Again);
        assert_eq!(half.saw(5, 1100, 100).0, Piece::Fills);
        assert_eq!(half.edge, 300);
        assert_eq!(half.saw(6, 1300, 100).0, Piece::Fills);
        assert_eq!((half.edge, half.has_hole()), (500, false));
        assert_eq!(half.saw(7, 900, 50).0, Piece::Again);
    }

    #[test]
    fn sequence_numbers_wrap_and_distant_ones_are_foreign() {
        let mut half = Half::default();
        half.begin(u32::MAX - 49);
        assert_eq!(half.saw(1, u32::MAX - 49, 100), (Piece::Next, 0, 100));
        assert_eq!(half.saw(2, 50, 10), (Piece::Next, 100, 110));
        assert!(half.acknowledged(3, 60) && !half.acknowledged(4, 50));
        assert_eq!((half.acked, half.acked_at), (110, 3));
        assert!(half.knows(70) && !half.knows(70 + (1 << 30) + 100));
    }

    #[test]
    fn data_that_an_ack_passes_has_arrived() {
        let mut half = Half::default();
        half.saw(1, 1000, 100);
        half.saw(2, 1200, 100);
        half.last = Some(2);
        assert!(half.acknowledged(3, 1300) && !half.has_hole());
        assert_eq!((half.lacking, half.edge), (100, 300));
        assert!(half.acknowledged(4, 1500));
        assert_eq!((half.lacking, half.next), (300, 500));
        assert_eq!(half.saw(5, 1500, 100), (Piece::Next, 500, 600));
    }

    #[test]
    fn holes_take_bounded_memory() {
        let mut half = Half::default();
        half.begin(0);
        for place in 0..1000 {
            half.saw(place, 10 + 20 * place as u32, 10);
        }
        assert!(half.islands.len() <= MOST_ISLANDS);
        assert!(half.edge > 0 && half.edge < half.next);
    }
}
