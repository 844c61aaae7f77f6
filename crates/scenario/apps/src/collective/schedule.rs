//! Transfers of a collective operation, and which of them wait for which.

/// A transfer of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Source host.
    pub from: u32,
    /// Destination host.
    pub to: u32,
    pub bytes: u64,
}

/// A collective operation: each transfer starts when its source has begun and all that it waits for have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    pub transfers: Vec<Transfer>,
    /// How many others each waits for.
    waits_for: Vec<u32>,
    /// Earlier and later transfer.
    edges: Vec<(u32, u32)>,
}

impl Schedule {
    /// Adds a transfer that waits for these earlier ones; returns its number.
    pub fn add(&mut self, transfer: Transfer, after: impl IntoIterator<Item = u32>) -> u32 {
        let number = self.transfers.len() as u32;
        let before = self.edges.len();
        self.edges.extend(after.into_iter().map(|earlier| (earlier, number)));
        self.waits_for.push((self.edges.len() - before) as u32);
        self.transfers.push(transfer);
        number
    }

    /// Ready to run.
    pub fn finish(mut self) -> Schedule {
        self.edges.sort_unstable();
        self
    }

    /// Whether each transfer waits only for those to its own source.
    pub fn is_local(&self) -> bool {
        let same_host =
            |&(earlier, later): &(u32, u32)| self.transfers[earlier as usize].to == self.transfers[later as usize].from;
        self.edges.iter().all(same_host)
    }

    /// How many others each transfer waits for at the start.
    pub fn waits(&self) -> Vec<u32> {
        self.waits_for.clone()
    }

    /// The transfers that wait for one, in the order in which they were added.
    pub fn followers(&self, number: u32) -> impl Iterator<Item = u32> {
        let first = self.edges.partition_point(|&(earlier, _)| earlier < number);
        self.edges[first..].iter().take_while(move |&&(earlier, _)| earlier == number).map(|&(_, later)| later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_know_who_waits_for_them() {
        let mut schedule = Schedule::default();
        let first = schedule.add(Transfer { from: 0, to: 1, bytes: 10 }, []);
        let second = schedule.add(Transfer { from: 2, to: 1, bytes: 10 }, []);
        let third = schedule.add(Transfer { from: 1, to: 0, bytes: 20 }, [second, first]);
        schedule.add(Transfer { from: 1, to: 2, bytes: 20 }, [first]);
        let schedule = schedule.finish();
        assert_eq!(schedule.waits(), [0, 0, 2, 1]);
        assert_eq!(schedule.followers(first).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(schedule.followers(second).collect::<Vec<_>>(), [2]);
        assert_eq!(schedule.followers(third).count(), 0);
    }
}
