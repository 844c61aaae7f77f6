//! A collective operation of some ranks of a trace, each of which joins at its own time.

use fanin_spec::{CollectiveKind, Workload};

use super::schedule::{Schedule, Transfer};
use super::{all_reduce, all_to_all, rooted};

/// A rank's part.
struct Member {
    rank: u32,
    /// The rank's operation, once it has joined.
    operation: Option<u32>,
    /// Transfers that wait for nothing but that.
    ready: Vec<u32>,
    /// Its transfers, in both directions, that have not arrived.
    missing: u32,
}

/// An operation in progress.
pub(crate) struct OfRanks {
    schedule: Schedule,
    members: Vec<Member>,
    /// How many others each transfer still waits for.
    waits: Vec<u32>,
    /// Transfers that have not arrived.
    missing: usize,
}

/// The next step of an operation.
pub(crate) enum Step {
    /// A transfer, by number, starts between two ranks.
    Send { number: u32, from: u32, to: u32, bytes: u64 },
    /// A rank's operation has ended.
    End { rank: u32, operation: u32 },
}

impl OfRanks {
    /// An operation of these ranks, each of which gives this number of bytes.
    pub fn new(kind: CollectiveKind, ranks: &[u32], bytes: u64, workload: &Workload) -> OfRanks {
        let count = ranks.len() as u32;
        let schedule = match kind {
            CollectiveKind::AllReduce => all_reduce::schedule(workload, count, bytes),
            CollectiveKind::AllGather => all_reduce::all_gather(count, bytes),
            CollectiveKind::ReduceScatter => all_reduce::reduce_scatter(count, bytes),
            CollectiveKind::AllToAll => all_to_all::of_one_size(count, bytes / u64::from(count)),
            CollectiveKind::Broadcast => rooted::broadcast(count, bytes, workload.chunk.0),
            CollectiveKind::Reduce => rooted::reduce(count, bytes, workload.chunk.0),
            CollectiveKind::Gather => rooted::gather(count, bytes),
            CollectiveKind::Scatter => rooted::scatter(count, bytes),
        };
        let member = |&rank: &u32| Member { rank, operation: None, ready: Vec::new(), missing: 0 };
        let mut members: Vec<Member> = ranks.iter().map(member).collect();
        let waits = schedule.waits();
        for (number, (transfer, &waits)) in (0..).zip(schedule.transfers.iter().zip(&waits)) {
            let [from, to] = [transfer.from, transfer.to].map(|place| place as usize);
            members[from].missing += 1;
            members[to].missing += 1;
            if waits == 0 {
                members[from].ready.push(number);
            }
        }
        let missing = schedule.transfers.len();
        OfRanks { schedule, members, waits, missing }
    }

    /// A rank joins; returns whether that ends the operation, as it does for one of a single rank.
    pub fn join(&mut self, rank: u32, operation: u32, step: &mut dyn FnMut(Step)) -> bool {
        let place = self.members.partition_point(|member| member.rank < rank);
        let member = &mut self.members[place];
        member.operation = Some(operation);
        for number in std::mem::take(&mut member.ready) {
            self.send(number, step);
        }
        self.end(place, step);
        self.missing == 0
    }

    /// A transfer has arrived; returns whether it was the last one.
    pub fn arrived(&mut self, number: u32, step: &mut dyn FnMut(Step)) -> bool {
        let Transfer { from, to, .. } = self.schedule.transfers[number as usize];
        let followers: Vec<u32> = self.schedule.followers(number).collect();
        for later in followers {
            self.waits[later as usize] -= 1;
            if self.waits[later as usize] > 0 {
                continue;
            }
            let sender = self.schedule.transfers[later as usize].from as usize;
            match self.members[sender].operation {
                Some(_) => self.send(later, step),
                None => self.members[sender].ready.push(later),
            }
        }
        for place in [from, to].map(|place| place as usize) {
            self.members[place].missing -= 1;
            self.end(place, step);
        }
        self.missing -= 1;
        self.missing == 0
    }

    fn send(&self, number: u32, step: &mut dyn FnMut(Step)) {
        let Transfer { from, to, bytes } = self.schedule.transfers[number as usize];
        let [from, to] = [from, to].map(|place| self.members[place as usize].rank);
        // The last byte tells of the part.
        step(Step::Send { number, from, to, bytes: bytes.max(1) });
    }

    /// Ends a member's operation if it has joined and nothing is missing.
    fn end(&self, place: usize, step: &mut dyn FnMut(Step)) {
        let member = &self.members[place];
        if let (Some(operation), 0) = (member.operation, member.missing) {
            step(Step::End { rank: member.rank, operation });
        }
    }
}
