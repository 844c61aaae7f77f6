//! The course of a trace: which operations may start.

use std::collections::BTreeMap;

use super::operation::{On, Operation, Work};
use super::ranks::{Fault, Ranks};

/// Progress of a trace: operations, and those that they wait for.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// By rank and operation: events that it still waits for.
    missing: Vec<Vec<u32>>,
    /// By rank and operation: operations that wait for its end, or its start.
    followers: Vec<Vec<Vec<(u32, On)>>>,
}

impl Progress {
    /// Before anything starts.
    pub fn new(ranks: &[Vec<Operation>]) -> Progress {
        let missing = |rank: &Vec<Operation>| rank.iter().map(|operation| operation.waits.len() as u32).collect();
        let mut followers: Vec<Vec<Vec<(u32, On)>>> = ranks.iter().map(|rank| vec![Vec::new(); rank.len()]).collect();
        for (followers, rank) in followers.iter_mut().zip(ranks) {
            for (number, operation) in (0..).zip(rank) {
                operation.waits.iter().for_each(|&(other, on)| followers[other as usize].push((number, on)));
            }
        }
        Progress { missing: ranks.iter().map(missing).collect(), followers }
    }

    /// Operations that wait for nothing, by rank and number.
    pub fn ready(&self) -> impl Iterator<Item = (u32, u32)> {
        let of = |(rank, missing): (u32, &'_ Vec<u32>)| {
            let idle = (0..).zip(missing).filter(|&(_, &missing): &(u32, &u32)| missing == 0);
            idle.map(move |(number, _)| (rank, number)).collect::<Vec<_>>()
        };
        (0..).zip(&self.missing).flat_map(of)
    }

    /// An operation has started; `starts` gets those of its rank that wait for nothing any more.
    pub fn begins(&mut self, rank: u32, number: u32, starts: impl FnMut(u32)) {
        self.release(rank, number, On::Start, starts);
    }

    /// An operation has ended; likewise.
    pub fn ends(&mut self, rank: u32, number: u32, starts: impl FnMut(u32)) {
        self.release(rank, number, On::End, starts);
    }

    fn release(&mut self, rank: u32, number: u32, on: On, mut starts: impl FnMut(u32)) {
        let missing = &mut self.missing[rank as usize];
        for &(other, waits_on) in &self.followers[rank as usize][number as usize] {
            if waits_on == on {
                missing[other as usize] -= 1;
                if missing[other as usize] == 0 {
                    starts(other);
                }
            }
        }
    }
}

/// Carries the trace out without times: an operation that never ends waits for itself.
pub(super) fn find_deadlock(of: &Ranks) -> Result<(), Fault> {
    let ranks = &of.operations;
    let mut progress = Progress::new(ranks);
    let mut started: Vec<Vec<bool>> = ranks.iter().map(|rank| vec![false; rank.len()]).collect();
    // Messages whose receives have not started, or receives whose messages have not come.
    let mut half = started.clone();
    // Parts of collectives that other ranks have not joined.
    let mut joined: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    let mut ready: Vec<(u32, u32)> = progress.ready().collect();
    while let Some((rank, number)) = ready.pop() {
        started[rank as usize][number as usize] = true;
        progress.begins(rank, number, |other| ready.push((rank, other)));
        let mut is_whole = |rank: u32, number: u32| std::mem::replace(&mut half[rank as usize][number as usize], true);
        let ended = match ranks[rank as usize][number as usize].work {
            Work::Calc { .. } => vec![(rank, number)],
            Work::Send { to, at, .. } if is_whole(to, at) => vec![(rank, number), (to, at)],
            Work::Send { .. } => vec![(rank, number)],
            Work::Receive if is_whole(rank, number) => vec![(rank, number)],
            Work::Receive => Vec::new(),
            Work::Collective(collective) => {
                let parts = joined.entry(collective).or_default();
                parts.push((rank, number));
                let group = of.collectives[collective as usize].group;
                let is_last = parts.len() == of.groups[group as usize].len();
                if is_last { joined.remove(&collective).unwrap_or_default() } else { Vec::new() }
            }
        };
        for (rank, number) in ended {
            progress.ends(rank, number, |other| ready.push((rank, other)));
        }
    }
    let never = |(rank, started): (u32, &Vec<bool>)| {
        let number = started.iter().position(|started| !started)?;
        Some((rank, Some(ranks[rank as usize][number].place)))
    };
    match (0..).zip(&started).find_map(never) {
        Some((rank, place)) => {
            let what = "this never starts: it waits for operations that wait for it, or for one another";
            Err(Fault { rank, place, what: what.into() })
        }
        None => Ok(()),
    }
}
