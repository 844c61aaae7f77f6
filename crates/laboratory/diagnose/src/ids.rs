//! IP identifications of one end of a connection. Linux numbers the packets of a connection one after another, so that a gap counts
//! packets that were sent and did not pass here.

/// A larger gap is no gap, but another way to number packets.
const FAR: u16 = 1 << 12;
/// Consecutive packets that show how a host numbers its packets.
const ENOUGH: u64 = 10;

/// The identification expected next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    next: Option<u16>,
}

impl Ids {
    /// Whether a number was seen.
    pub fn has_begun(self) -> bool {
        self.next.is_some()
    }

    /// Records a captured segment that consists of `packets` packets. Returns the number of packets before it that did not pass here, if
    /// it is known.
    pub fn came(&mut self, id: u16, packets: u16) -> Option<u16> {
        if id == 0 {
            return None;
        }
        let gap = self.next.map(|next| id.wrapping_sub(next));
        // An older one was overtaken.
        if gap.is_none_or(|gap| gap < u16::MAX / 2) {
            self.next = Some(id.wrapping_add(packets));
        }
        gap.filter(|gap| *gap < FAR)
    }
}

/// How a host numbers its packets, from all of its connections.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbering {
    /// Consecutive bytes with consecutive numbers.
    consecutive: u64,
    /// Missing bytes between consecutive numbers, or consecutive bytes with numbers far apart.
    contradictions: u64,
}

impl Numbering {
    /// Records a payload that follows the last one, or before which bytes are missing, and the gap of its identification.
    pub fn saw(&mut self, missing: bool, gap: Option<u16>) {
        match gap {
            Some(0) if !missing => self.consecutive += 1,
            Some(0) | None => self.contradictions += 1,
            Some(_) => {}
        }
    }

    /// Whether gaps count packets.
    pub fn is_by_connection(self) -> bool {
        self.consecutive >= ENOUGH && self.contradictions * 10 <= self.consecutive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_count_packets_that_did_not_pass() {
        let mut ids = Ids::default();
        assert_eq!(ids.came(u16::MAX, 1), None);
        assert_eq!((ids.came(0, 1), ids.came(1, 3)), (None, Some(1)));
        assert_eq!((ids.came(4, 1), ids.came(2, 1), ids.came(6, 1)), (Some(0), None, Some(1)));
    }

    #[test]
    fn numbers_of_a_host_are_trusted_only_without_contradictions() {
        let mut numbering = Numbering::default();
        (0..20).for_each(|_| numbering.saw(false, Some(0)));
        assert!(numbering.is_by_connection());
        (0..5).for_each(|_| numbering.saw(true, Some(0)));
        assert!(!numbering.is_by_connection());
    }
}
