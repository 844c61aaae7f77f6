//! Ranks of a trace while it is read, and the counterparts of their messages.

use std::collections::{BTreeMap, VecDeque};

use fanin_units::Time;

use super::operation::{Collective, On, Operation, Work};
use crate::flows::BYTES_MAX;
use crate::range::FAN_IN_MAX;

/// Most operations of all ranks.
pub(super) const OPERATIONS_MAX: usize = 20_000_000;
/// Longest computation, the maximum duration of a run.
const CALC_MAX: Time = Time::from_secs(100_000);
/// Most processors of a rank.
const CPUS_MAX: u64 = 1 << 16;

/// An error in a file: the rank, and the operation's place there unless the error is elsewhere.
pub(super) struct Fault {
    pub rank: u32,
    pub place: Option<u64>,
    pub what: String,
}

/// An operation as a file has it.
pub(super) enum Described {
    Calc { time: Option<Time>, cpu: u64 },
    Send { to: u64, bytes: u64, tag: u64 },
    Receive { from: u64, bytes: u64, tag: u64 },
    Collective(u32),
}

/// A message before it has its counterpart: its operation, the other rank, bytes and tag.
struct Message {
    operation: u32,
    other: u32,
    bytes: u64,
    tag: u64,
}

/// Operations and messages as read.
#[derive(Default)]
pub(super) struct Ranks {
    pub operations: Vec<Vec<Operation>>,
    /// By rank: sends, and receives.
    messages: Vec<[Vec<Message>; 2]>,
    pub collectives: Vec<Collective>,
    /// Ranks of each group of collectives, in ascending order.
    pub groups: Vec<Vec<u32>>,
    count: usize,
}

impl Ranks {
    /// Ranks without operations.
    pub fn new(count: u64) -> Result<Ranks, String> {
        let most = u64::from(FAN_IN_MAX) + 1;
        if !(1..=most).contains(&count) {
            return Err(format!("use 1 to {most} ranks"));
        }
        let messages = (0..count).map(|_| [Vec::new(), Vec::new()]).collect();
        Ok(Ranks { operations: vec![Vec::new(); count as usize], messages, ..Ranks::default() })
    }

    /// Adds an operation of a rank; returns its number.
    pub fn add(&mut self, rank: u32, place: u64, described: Described) -> Result<u32, String> {
        if self.count == OPERATIONS_MAX {
            return Err(format!("use at most {OPERATIONS_MAX} operations"));
        }
        let operation = self.operations[rank as usize].len() as u32;
        let message = |other: u64, bytes: u64, tag| match other {
            _ if other == u64::from(rank) => Err(format!("rank {rank} would send to itself")),
            _ if other >= self.operations.len() as u64 => {
                Err(format!("use ranks 0 to {}, not {other}", self.operations.len() - 1))
            }
            _ if bytes > BYTES_MAX => Err(format!("use at most {BYTES_MAX} B, not {bytes}")),
            // The last byte tells of the message.
            _ => Ok(Message { operation, other: other as u32, bytes: bytes.max(1), tag }),
        };
        let work = match described {
            Described::Calc { time, cpu } => {
                let time = time.filter(|&time| time <= CALC_MAX);
                let time = time.ok_or_else(|| format!("use computations of at most {CALC_MAX}"))?;
                Work::Calc { time, cpu: cpu.min(CPUS_MAX) as u32 }
            }
            Described::Send { to, bytes, tag } => {
                let message = message(to, bytes, tag)?;
                let work = Work::Send { to: message.other, bytes: message.bytes, at: 0 };
                self.messages[rank as usize][0].push(message);
                work
            }
            Described::Receive { from, bytes, tag } => {
                let message = message(from, bytes, tag)?;
                self.messages[rank as usize][1].push(message);
                Work::Receive
            }
            Described::Collective(number) => Work::Collective(number),
        };
        self.operations[rank as usize].push(Operation { work, waits: Vec::new(), place });
        self.count += 1;
        Ok(operation)
    }

    /// Lets an operation of a rank wait for another one.
    pub fn wait(&mut self, rank: u32, one: u32, other: u32, on: On) {
        self.operations[rank as usize][one as usize].waits.push((other, on));
    }

    /// Whether no rank does anything.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Gives each send the number of its receive: the n-th send from one rank to another with a tag is for the n-th receive of that tag there.
    pub fn join_messages(&mut self) -> Result<(), Fault> {
        // By sender, receiver and tag: the receives that have no send yet.
        let mut open: BTreeMap<(u32, u32, u64), VecDeque<&Message>> = BTreeMap::new();
        for (rank, [_, receives]) in (0u32..).zip(&self.messages) {
            for message in receives {
                open.entry((message.other, rank, message.tag)).or_default().push_back(message);
            }
        }
        let fault = |operations: &[Vec<Operation>], rank: u32, operation: u32, what: String| Fault {
            rank,
            place: Some(operations[rank as usize][operation as usize].place),
            what,
        };
        for (rank, [sends, _]) in (0u32..).zip(&self.messages) {
            for &Message { operation, other, bytes, tag } in sends {
                let receive = open.get_mut(&(rank, other, tag)).and_then(VecDeque::pop_front);
                match receive {
                    None => {
                        let what = format!("rank {other} has no receive from rank {rank} with tag {tag} for this");
                        return Err(fault(&self.operations, rank, operation, what));
                    }
                    Some(receive) if receive.bytes != bytes => {
                        let what =
                            format!("receives {} B of {bytes} B that rank {rank} sends with tag {tag}", receive.bytes);
                        return Err(fault(&self.operations, other, receive.operation, what));
                    }
                    Some(receive) => {
                        let work = Work::Send { to: other, bytes, at: receive.operation };
                        self.operations[rank as usize][operation as usize].work = work;
                    }
                }
            }
        }
        match open.iter().find_map(|(of, left)| left.front().map(|left| (of, left))) {
            Some(((from, to, tag), left)) => {
                let what = format!("rank {from} sends nothing to rank {to} with tag {tag} for this");
                Err(fault(&self.operations, *to, left.operation, what))
            }
            None => Ok(()),
        }
    }
}
