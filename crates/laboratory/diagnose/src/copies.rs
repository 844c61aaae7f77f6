//! Packets that a capture contains twice: captured at two interfaces of a router, or at a mirror port that mirrors both directions. The
//! first copy counts; the delay of the second is the packet's time in the router.

use crate::dissect::{Segment, flag};

/// Number of packets to remember, a power of two.
const REMEMBERED: usize = 1 << 15;
/// Maximum delay of a copy at another interface, in nanoseconds.
const LONGEST: u64 = 2_000_000_000;
/// Maximum delay of a copy without an IP identification at the same interface.
const AT_ONCE: u64 = 100_000;

#[derive(Clone, Copy, Default)]
struct Entry {
    print: u64,
    at: u64,
    place: u32,
    copied: bool,
}

/// Recent packets.
pub(crate) struct Copies {
    entries: Vec<Entry>,
    /// Copies found.
    pub count: u64,
}

/// A copy of an earlier packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Copy {
    /// Delay after the first.
    pub after: u64,
    /// The interface of the first, if this is the second and at another interface.
    pub from: Option<u32>,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies { entries: vec![Entry::default(); REMEMBERED], count: 0 }
    }
}

impl Copies {
    /// Returns the copy's details if the segment is a copy of an earlier one.
    pub fn look(&mut self, now: u64, segment: &Segment) -> Option<Copy> {
        // Pure ACKs without an identification look alike.
        if segment.id == 0 && segment.payload == 0 && !segment.is(flag::SYN) {
            return None;
        }
        let print = print(segment);
        let entry = &mut self.entries[print as usize % REMEMBERED];
        let after = now.saturating_sub(entry.at);
        let elsewhere = entry.place != segment.place;
        let same = entry.print == print && entry.at > 0;
        if same && after <= LONGEST && (elsewhere || segment.id != 0 || after <= AT_ONCE) {
            self.count += 1;
            let first = !entry.copied;
            entry.copied = true;
            return Some(Copy { after, from: (elsewhere && first).then_some(entry.place) });
        }
        *entry = Entry { print, at: now.max(1), place: segment.place, copied: false };
        None
    }
}

/// A hash of all fields that a router does not change (FNV-1a, by words).
fn print(segment: &Segment) -> u64 {
    let Segment { from, to, seq, ack, flags, window, payload, id, stamps, sack, .. } = segment;
    let (ts, echo) = stamps.unwrap_or_default();
    let (start, end) = sack.unwrap_or_default();
    let words = [
        from.address as u64,
        (from.address >> 64) as u64,
        to.address as u64,
        (to.address >> 64) as u64,
        (u64::from(from.port) << 48) | (u64::from(to.port) << 32) | (u64::from(*window) << 16) | u64::from(*id),
        (u64::from(*seq) << 32) | u64::from(*ack),
        (u64::from(*payload) << 8) | u64::from(*flags),
        (u64::from(ts) << 32) | u64::from(echo),
        (u64::from(start) << 32) | u64::from(end),
    ];
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    });
    hash | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(id: u16, place: u32) -> Segment {
        Segment { seq: 5, payload: 1000, id, place, ..Segment::default() }
    }

    #[test]
    fn distinguishes_copies_from_retransmissions() {
        let mut copies = Copies::default();
        assert_eq!(copies.look(1_000_000, &data(7, 1)), None);
        assert_eq!(copies.look(3_000_000, &data(7, 2)), Some(Copy { after: 2_000_000, from: Some(1) }));
        assert_eq!(copies.look(4_000_000, &data(8, 1)), None);
        assert_eq!(copies.count, 1);
    }

    #[test]
    fn copies_without_an_ip_id_are_immediate() {
        let mut copies = Copies::default();
        assert_eq!(copies.look(1_000_000, &data(0, 1)), None);
        assert!(copies.look(1_050_000, &data(0, 1)).is_some());
        assert_eq!(copies.look(9_000_000, &data(0, 1)), None);
        let ack = Segment { flags: flag::ACK, ..Segment::default() };
        assert_eq!((copies.look(1, &ack), copies.look(2, &ack)), (None, None));
    }
}
