//! Disk shared evenly by all work on a node, as in MRPerf.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fanin_units::Time;

/// Reads and writes in progress, by a number of their user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// Disk time that each needs until it is done, on a common scale, soonest first.
    ends: BinaryHeap<Reverse<(Time, u32)>>,
    /// Disk time given so far to each work in progress since the start.
    given: Time,
    /// When that was computed.
    at: Time,
}

impl Disk {
    /// Start work that takes the disk alone `work`.
    pub fn start(&mut self, now: Time, work: Time, job: u32) {
        self.advance(now);
        self.ends.push(Reverse((self.given.saturating_add(work), job)));
    }

    /// When the next one is done, unless another starts first.
    pub fn due(&self) -> Option<Time> {
        let Reverse((end, _)) = self.ends.peek()?;
        Some(self.at.saturating_add(end.since(self.given).saturating_mul(self.ends.len() as u64)))
    }

    /// Take one that is done.
    pub fn done(&mut self, now: Time) -> Option<u32> {
        self.advance(now);
        let Reverse((end, job)) = *self.ends.peek()?;
        (end <= self.given).then(|| {
            self.ends.pop();
            job
        })
    }

    fn advance(&mut self, now: Time) {
        let Some(sharing) = u64::try_from(self.ends.len()).ok().filter(|&n| n > 0) else {
            self.at = now;
            return;
        };
        // The remainder is given the next time.
        let each = now.since(self.at).0 / sharing;
        self.given += Time(each);
        self.at += Time(each * sharing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_work_shares_the_disk() {
        let at = Time::from_micros;
        let mut disk = Disk::default();
        assert_eq!(disk.due(), None);
        disk.start(at(0), at(100), 1);
        assert_eq!(disk.due(), Some(at(100)));
        // At 40 us the first has 60 to go; with a second of 20 it gets half: the second is done at 80, the first has 40 to
        // go then, alone.
        disk.start(at(40), at(20), 2);
        assert_eq!(disk.due(), Some(at(80)));
        assert_eq!(disk.done(at(79)), None);
        assert_eq!((disk.done(at(80)), disk.done(at(80))), (Some(2), None));
        assert_eq!(disk.due(), Some(at(120)));
        assert_eq!(disk.done(at(120)), Some(1));
        assert_eq!(disk.due(), None);
        // After a pause it counts from its beginning.
        disk.start(at(500), at(7), 3);
        assert_eq!(disk.due(), Some(at(507)));
    }

    #[test]
    fn endless_work_takes_only_its_share() {
        let mut disk = Disk::default();
        disk.start(Time(5), Time::NEVER, 1);
        assert_eq!(disk.due(), Some(Time::NEVER));
        disk.start(Time(5), Time(10), 2);
        assert_eq!(disk.due(), Some(Time(25)));
        assert_eq!((disk.done(Time(25)), disk.done(Time(25))), (Some(2), None));
        assert_eq!(disk.due(), Some(Time::NEVER));
    }

    #[test]
    fn time_that_does_not_divide_evenly_is_not_lost() {
        let mut disk = Disk::default();
        for job in 0..3 {
            disk.start(Time(0), Time(1000), job);
        }
        for now in 1..3000 {
            assert_eq!(disk.done(Time(now)), None, "at {now} ps");
        }
        assert_eq!(disk.due(), Some(Time(3000)));
        let done: Vec<u32> = std::iter::from_fn(|| disk.done(Time(3000))).collect();
        assert_eq!(done, [0, 1, 2]);
    }
}
