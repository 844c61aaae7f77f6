//! The course of a trace: which operations may start.

use super::operation::{On, Operation, Work};

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
pub(super) fn find_deadlock(ranks: &[Vec<Operation>]) -> Result<(), (usize, String)> {
    let mut progress = Progress::new(ranks);
    let mut started: Vec<Vec<bool>> = ranks.iter().map(|rank| vec![false; rank.len()]).collect();
    // Messages whose receives have not started, or receives whose messages have not come.
    let mut half = started.clone();
    let mut ready: Vec<(u32, u32)> = progress.ready().collect();
    while let Some((rank, number)) = ready.pop() {
        started[rank as usize][number as usize] = true;
        progress.begins(rank, number, |other| ready.push((rank, other)));
        let ended = match ranks[rank as usize][number as usize].work {
            Work::Calc { .. } => vec![(rank, number)],
            Work::Send { to, at, .. } => {
                let both = std::mem::replace(&mut half[to as usize][at as usize], true);
                if both { vec![(rank, number), (to, at)] } else { vec![(rank, number)] }
            }
            Work::Receive => {
                let both = std::mem::replace(&mut half[rank as usize][number as usize], true);
                if both { vec![(rank, number)] } else { Vec::new() }
            }
        };
        for (rank, number) in ended {
            progress.ends(rank, number, |other| ready.push((rank, other)));
        }
    }
    let never = |(rank, started): (usize, &Vec<bool>)| {
        started.iter().position(|started| !started).map(|number| ranks[rank][number].line)
    };
    match started.iter().enumerate().find_map(never) {
        Some(line) => {
            Err((line, "this never starts: it waits for operations that wait for it, or for one another".into()))
        }
        None => Ok(()),
    }
}
