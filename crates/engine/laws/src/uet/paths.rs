//! Choice of a path for each packet: entropies, by which switches select among equal-cost paths.
//!
//! REPS: Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation" (arXiv 2407.21625),
//! with buffer sizes and times of uet-htsim (`UecMpReps`, commit 40ccb05).
//!
//! Bitmap: `UecMpBitmap` of the same commit, with its penalties. Departure: a turn over all entropies begins anywhere, instead of exchanging them by
//! an exclusive or, so that their number need not be a power of two.
//!
//! Checked: the unit tests below, by hand.

use alloc::vec;
use alloc::vec::Vec;

use fanin_units::Time;

use super::transport::{Params, Spraying};

/// Entropies that a sender keeps.
const KEPT: u8 = 8;
/// Time after a timeout in which only entropies that have worked are used.
const FREEZES: Time = Time::from_millis(10);
/// Random entropies after that.
const EXPLORES: u8 = 16;

/// State of a sender.
#[derive(Clone, Debug)]
pub enum Paths {
    /// Each packet takes any path, or the one that switches choose.
    Any,
    /// See [`Reps`].
    Reps(Reps),
    /// See [`Bitmap`].
    Bitmap(Bitmap),
}

impl Paths {
    /// Before the first packet.
    pub fn start(settings: &Params) -> Paths {
        match settings.spraying {
            Spraying::Random | Spraying::Adaptive => Paths::Any,
            Spraying::Reps => Paths::Reps(Reps::new(settings.paths)),
            Spraying::Bitmap => Paths::Bitmap(Bitmap::new(settings.paths)),
        }
    }

    /// The next packet's entropy; `None` for any path.
    #[inline]
    pub fn choose(&mut self) -> Option<u16> {
        match self {
            Paths::Any => None,
            Paths::Reps(reps) => Some(reps.choose()),
            Paths::Bitmap(bitmap) => Some(bitmap.choose()),
        }
    }

    /// A packet with this entropy arrived, with a mark or without.
    #[inline]
    pub fn arrived(&mut self, now: Time, entropy: Option<u16>, marked: bool) {
        match (self, entropy) {
            (Paths::Reps(reps), Some(entropy)) => reps.arrived(now, entropy, marked),
            (Paths::Bitmap(bitmap), Some(entropy)) if marked => bitmap.punish(entropy, MARKED),
            _ => {}
        }
    }

    /// A packet with this entropy arrived as a header.
    pub fn trimmed(&mut self, entropy: Option<u16>) {
        if let (Paths::Bitmap(bitmap), Some(entropy)) = (self, entropy) {
            bitmap.punish(entropy, TRIMMED);
        }
    }

    /// A packet with this entropy timed out.
    pub fn timed_out(&mut self, now: Time, entropy: Option<u16>) {
        match (self, entropy) {
            (Paths::Reps(reps), _) => reps.timed_out(now),
            (Paths::Bitmap(bitmap), Some(entropy)) => bitmap.punish(entropy, MOST),
            _ => {}
        }
    }
}

/// Penalties of an entropy: how often it is passed over.
const MARKED: u8 = 1;
const TRIMMED: u8 = 4;
const MOST: u8 = 15;

/// Entropies in turn, with a penalty each.
#[derive(Clone, Debug)]
pub struct Bitmap {
    penalties: Vec<u8>,
    /// Entropies used in this turn, and the first one of it.
    used: u32,
    first: u32,
    random: u32,
}

impl Bitmap {
    /// Over this number of entropies.
    pub fn new(paths: u32) -> Bitmap {
        Bitmap { penalties: vec![0; paths as usize], used: 0, first: 0, random: 0 }
    }

    /// The next packet's entropy. One that is passed over loses a part of its penalty; if all have one, the first is used after all.
    #[inline]
    pub fn choose(&mut self) -> u16 {
        let mut entropy = self.current();
        if self.penalties[entropy] > 0 {
            self.penalties[entropy] -= 1;
            for _ in 0..self.penalties.len() {
                self.advance();
                entropy = self.current();
                if self.penalties[entropy] == 0 {
                    break;
                }
            }
        }
        self.advance();
        entropy as u16
    }

    fn current(&self) -> usize {
        (self.first + self.used) as usize % self.penalties.len()
    }

    fn advance(&mut self) {
        self.used += 1;
        if self.used as usize == self.penalties.len() {
            (self.used, self.first) = (0, draw(&mut self.random, self.penalties.len() as u32));
        }
    }

    fn punish(&mut self, entropy: u16, penalty: u8) {
        if let Some(of) = self.penalties.get_mut(usize::from(entropy)) {
            *of = (*of + penalty).min(MOST);
        }
    }
}

/// A number below `count`. Flows' hashes differ, so that the same sequence leads each of them along other paths.
fn draw(random: &mut u32, count: u32) -> u32 {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    ((u64::from(*random) * u64::from(count)) >> 32) as u32
}

/// Recycled entropies: a ring of the last ones that worked, each used once, or again and again after a timeout.
#[derive(Clone, Debug)]
pub struct Reps {
    ring: [u16; KEPT as usize],
    /// Places of the ring that were not used yet, a bit each.
    fresh: u8,
    /// Place of the next entropy that works, and the number of places in use.
    head: u8,
    count: u8,
    /// Place of the next entropy while frozen.
    frozen_head: u8,
    frozen_until: Option<Time>,
    /// Random entropies to come.
    explores: u8,
    paths: u32,
    random: u32,
}

impl Reps {
    /// Over this number of entropies.
    pub fn new(paths: u32) -> Reps {
        Reps {
            ring: [0; KEPT as usize],
            fresh: 0,
            head: 0,
            count: 0,
            frozen_head: 0,
            frozen_until: None,
            explores: 0,
            paths,
            random: 0,
        }
    }

    /// The next packet's entropy.
    #[inline]
    pub fn choose(&mut self) -> u16 {
        if self.explores > 0 {
            self.explores -= 1;
            return self.any();
        }
        let place = match self.frozen_until {
            Some(_) if self.count > 0 => {
                let place = self.frozen_head;
                self.frozen_head = (place + 1) % self.count;
                place
            }
            // The earliest of those that were not used.
            None if self.fresh > 0 => (self.head + KEPT - self.fresh.count_ones() as u8) % KEPT,
            _ => return self.any(),
        };
        self.fresh &= !(1 << place);
        self.ring[place as usize]
    }

    /// Any entropy.
    fn any(&mut self) -> u16 {
        draw(&mut self.random, self.paths) as u16
    }

    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, now: Time, entropy: u16, marked: bool) {
        self.thaw(now);
        if marked {
            return;
        }
        self.ring[self.head as usize] = entropy;
        self.fresh |= 1 << self.head;
        self.head = (self.head + 1) % KEPT;
        self.count = (self.count + 1).min(KEPT);
    }

    /// A packet timed out: its path may have failed.
    pub fn timed_out(&mut self, now: Time) {
        if self.frozen_until.is_none() && self.explores == 0 {
            self.frozen_until = Some(now.saturating_add(FREEZES));
        }
        self.thaw(now);
    }

    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| now > until) {
            let (paths, random) = (self.paths, self.random);
            *self = Reps { random, explores: EXPLORES, ..Reps::new(paths) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1);

    #[test]
    fn entropies_without_marks_are_used_once_in_their_order() {
        let mut reps = Reps::new(64);
        for (entropy, marked) in [(9, false), (8, true), (7, false)] {
            reps.arrived(NOW, entropy, marked);
        }
        assert_eq!([reps.choose(), reps.choose()], [9, 7]);
        // The ring has none left: 1,013,904,223 * 64 / 2^32 is 15, then 1,196,435,762 * 64 / 2^32 is 17.
        assert_eq!([reps.choose(), reps.choose()], [15, 17]);
    }

    #[test]
    fn ring_keeps_the_last_eight() {
        let mut reps = Reps::new(64);
        (20..30).for_each(|entropy| reps.arrived(NOW, entropy, false));
        assert_eq!([0; 8].map(|_| reps.choose()), [22, 23, 24, 25, 26, 27, 28, 29]);
        assert_eq!(reps.choose(), 15);
    }

    #[test]
    fn timeout_freezes_the_ring_for_ten_milliseconds() {
        let mut reps = Reps::new(64);
        (5..7).for_each(|entropy| reps.arrived(NOW, entropy, false));
        reps.timed_out(NOW);
        assert_eq!([0; 5].map(|_| reps.choose()), [5, 6, 5, 6, 5]);
        reps.arrived(NOW + FREEZES, 4, false);
        assert_eq!([0; 3].map(|_| reps.choose()), [6, 4, 5]);
        // Then it explores, and forgets the old ones.
        reps.arrived(NOW + FREEZES + Time(1), 3, false);
        assert_eq!((reps.choose(), reps.explores), (15, 15));
        let _ = [0; 15].map(|_| reps.choose());
        assert_eq!(reps.choose(), 3);
    }

    #[test]
    fn random_entropies_cover_all_paths() {
        let mut reps = Reps::new(5);
        let mut counts = [0; 5];
        (0..5_000).for_each(|_| counts[reps.choose() as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn bitmap_uses_all_entropies_in_turn() {
        let mut bitmap = Bitmap::new(4);
        assert_eq!([0; 4].map(|_| bitmap.choose()), [0, 1, 2, 3]);
        // The next turn begins at 1,013,904,223 * 4 / 2^32, which is 0, then at 1,196,435,762 * 4 / 2^32, which is 1.
        assert_eq!([0; 8].map(|_| bitmap.choose()), [0, 1, 2, 3, 1, 2, 3, 0]);
    }

    #[test]
    fn bitmap_passes_over_entropies_with_penalties() {
        let mut paths = Paths::Bitmap(Bitmap::new(4));
        paths.arrived(NOW, Some(1), true);
        paths.arrived(NOW, Some(2), false);
        paths.trimmed(Some(3));
        let mut next = |count: usize| (0..count).filter_map(|_| paths.choose()).collect::<Vec<_>>();
        // 1 and 3 are passed over; then 1 has no penalty, and 3 has three more.
        assert_eq!(next(2), [0, 2]);
        assert_eq!(next(6), [0, 1, 2, 1, 2, 0]);
        paths.timed_out(NOW, Some(0));
        let Paths::Bitmap(bitmap) = paths else { panic!() };
        assert_eq!(bitmap.penalties, [MOST, 0, 0, 1]);
    }

    #[test]
    fn bitmap_ends_if_all_entropies_have_penalties() {
        let mut bitmap = Bitmap::new(3);
        (0..3).for_each(|entropy| bitmap.punish(entropy, MOST));
        let mut counts = [0; 3];
        (0..300).for_each(|_| counts[usize::from(bitmap.choose())] += 1);
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }
}
