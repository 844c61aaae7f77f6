//! Scheduler of a port's traffic classes: strict priority above deficit weighted round robin (DWRR).
//! Sources: strict priority: IEEE 802.1Q-2018, section 8.6.8.1; DWRR: Shreedhar and Varghese, "Efficient fair queueing using deficit
//!          round robin" (IEEE/ACM ToN 4(3), 1996), section 3.
//! Law:     the highest strict class with a packet is served first. If none has one, the other classes take turns. At the start of its
//!          turn a class gets a quantum, and it sends while its deficit covers its first packet. A class without a packet that may leave
//!          loses its deficit. Quanta are in proportion to weights, and the smallest one covers a full packet.
//! Units:   bytes as stored in the buffer.
//! Owns:    each class's deficit, and whose turn it is. The driver keeps queues, pauses and bytes.
//! Departs: the paper has a list of active flows; here classes take turns by falling number, and a paused class counts as empty.
//! Checked: its own tests; tests/properties/scheduler.rs.

/// Number of traffic classes of a port (IEEE 802.1Q).
pub const CLASSES: usize = 8;

/// Bytes of each class's first packet that may leave; `None` for a class that has none, or is paused.
pub type Heads = [Option<u32>; CLASSES];

/// Scheduling of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Before all classes with a weight, and before strict classes of lower numbers.
    Strict,
    /// Deficit weighted round robin with this weight, above zero.
    Dwrr(u32),
}

/// State of a port's scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// Bytes that a class gets in each turn; `None` for a strict class.
    quanta: [Option<u64>; CLASSES],
    deficits: [u64; CLASSES],
    /// The class whose turn it is, and whether it has got its quantum.
    turn: usize,
    has_quantum: bool,
}

impl Scheduler {
    /// A scheduler of these classes, none of whose packets is larger than `packet` bytes; a class that is `None` counts as strict.
    pub fn new(classes: &[Option<Scheduling>; CLASSES], packet: u32) -> Scheduler {
        let weight = |class: &Option<Scheduling>| match class {
            Some(Scheduling::Dwrr(weight)) => Some(u64::from(*weight)),
            _ => None,
        };
        let least = classes.iter().filter_map(weight).filter(|&weight| weight > 0).min().unwrap_or(1);
        let quantum = |class| weight(class).map(|weight| (u64::from(packet) * weight).div_ceil(least));
        Scheduler {
            quanta: core::array::from_fn(|class| quantum(&classes[class])),
            deficits: [0; CLASSES],
            turn: CLASSES - 1,
            has_quantum: false,
        }
    }

    /// The class that sends next; `None` if no class has a packet that may leave.
    pub fn next(&mut self, heads: &Heads) -> Option<usize> {
        let strict = |class: &usize| self.quanta[*class].is_none() && heads[*class].is_some();
        if let Some(class) = (0..CLASSES).rev().find(strict) {
            return Some(class);
        }
        heads.iter().any(Option::is_some).then(|| self.next_weighted(heads))
    }

    /// The same among classes with weights, one of which has a packet.
    fn next_weighted(&mut self, heads: &Heads) -> usize {
        loop {
            let class = self.turn;
            match (self.quanta[class], heads[class]) {
                (Some(quantum), Some(bytes)) => {
                    if !self.has_quantum {
                        self.deficits[class] += quantum;
                        self.has_quantum = true;
                    }
                    if self.deficits[class] >= bytes.into() {
                        return class;
                    }
                }
                _ => self.deficits[class] = 0,
            }
            self.turn = class.checked_sub(1).unwrap_or(CLASSES - 1);
            self.has_quantum = false;
        }
    }

    /// A packet of a class has left.
    pub fn sent(&mut self, class: usize, bytes: u32) {
        self.deficits[class] = self.deficits[class].saturating_sub(bytes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(of: &[(usize, Scheduling)]) -> [Option<Scheduling>; CLASSES] {
        let mut classes = [None; CLASSES];
        of.iter().for_each(|&(class, scheduling)| classes[class] = Some(scheduling));
        classes
    }

    fn heads(of: &[(usize, u32)]) -> Heads {
        let mut heads = [None; CLASSES];
        of.iter().for_each(|&(class, bytes)| heads[class] = Some(bytes));
        heads
    }

    #[test]
    fn serves_the_highest_strict_class_first() {
        let of = classes(&[(1, Scheduling::Dwrr(1)), (3, Scheduling::Strict), (6, Scheduling::Strict)]);
        let mut scheduler = Scheduler::new(&of, 1_500);
        assert_eq!(scheduler.next(&heads(&[(1, 100), (3, 100), (6, 100)])), Some(6));
        assert_eq!(scheduler.next(&heads(&[(1, 100), (3, 100)])), Some(3));
        assert_eq!(scheduler.next(&heads(&[(1, 100)])), Some(1));
        assert_eq!(scheduler.next(&heads(&[])), None);
    }

    #[test]
    fn weights_share_by_bytes_worked_out_by_hand() {
        // Quanta of 3,000 B and 1,000 B: three packets of 1,000 B, then two of 500 B, again and again.
        let mut scheduler = Scheduler::new(&classes(&[(5, Scheduling::Dwrr(3)), (2, Scheduling::Dwrr(1))]), 1_000);
        let bytes = [0, 0, 500, 0, 0, 1_000, 0, 0];
        let mut order = [0; 10];
        for sent in &mut order {
            *sent = scheduler.next(&heads(&[(5, 1_000), (2, 500)])).expect("both have packets");
            scheduler.sent(*sent, bytes[*sent]);
        }
        assert_eq!(order, [5, 5, 5, 2, 2, 5, 5, 5, 2, 2]);
    }

    #[test]
    fn strict_packet_interrupts_a_turn() {
        let of = classes(&[(7, Scheduling::Strict), (5, Scheduling::Dwrr(2)), (2, Scheduling::Dwrr(1))]);
        let mut scheduler = Scheduler::new(&of, 1_000);
        assert_eq!(scheduler.next(&heads(&[(5, 1_000), (2, 1_000)])), Some(5));
        scheduler.sent(5, 1_000);
        assert_eq!(scheduler.next(&heads(&[(7, 64), (5, 1_000), (2, 1_000)])), Some(7));
        scheduler.sent(7, 64);
        assert_eq!(scheduler.next(&heads(&[(5, 1_000), (2, 1_000)])), Some(5), "its turn goes on");
    }

    #[test]
    fn idle_class_saves_no_deficit() {
        let mut scheduler = Scheduler::new(&classes(&[(1, Scheduling::Dwrr(1)), (0, Scheduling::Dwrr(1))]), 1_000);
        for _ in 0..100 {
            assert_eq!(scheduler.next(&heads(&[(0, 1_000)])), Some(0));
            scheduler.sent(0, 1_000);
        }
        let mut sent = [0; 2];
        for _ in 0..10 {
            let class = scheduler.next(&heads(&[(1, 1_000), (0, 1_000)])).expect("both have packets");
            scheduler.sent(class, 1_000);
            sent[class] += 1;
        }
        assert_eq!(sent, [5, 5]);
    }
}
