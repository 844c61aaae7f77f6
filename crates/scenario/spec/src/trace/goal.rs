//! Reading of GOAL's text form.

use std::collections::{BTreeMap, VecDeque};

use fanin_units::Time;

use super::operation::{On, Operation, Work};
use crate::flows::{BYTES_MAX, whole};
use crate::problem::excerpt;
use crate::range::FAN_IN_MAX;

/// Most operations of all ranks.
const OPERATIONS_MAX: usize = 20_000_000;
/// Longest computation, the maximum duration of a run, in ns.
const CALC_MAX_NS: u64 = 100_000_000_000_000;
/// Most processors of a rank.
const CPUS_MAX: u64 = 1 << 16;
const FORM: &str = "expected `[label:] calc NS [cpu N]`, `[label:] send BYTESb to RANK [tag N]`, `[label:] recv BYTESb from RANK [tag N]`, or \
                    `label requires label` or `irequires`";

/// A message before it has its counterpart: its operation, the other rank, bytes and tag.
pub(super) struct Message {
    operation: u32,
    other: u32,
    bytes: u64,
    tag: u64,
}

/// Operations and messages as read.
pub(super) struct Ranks {
    pub operations: Vec<Vec<Operation>>,
    /// By rank: sends, and receives.
    pub messages: Vec<[Vec<Message>; 2]>,
}

/// Reader of a file's lines.
#[derive(Default)]
pub(super) struct Reader {
    ranks: Option<Ranks>,
    count: usize,
    /// The rank whose operations follow, with its labels.
    current: Option<(usize, BTreeMap<String, u32>)>,
    /// Ranks that were described.
    seen: Vec<bool>,
}

impl Reader {
    /// Takes a line.
    pub fn read(&mut self, line: usize, row: &str) -> Result<(), String> {
        let words: Vec<&str> = row.split_whitespace().collect();
        match (words.as_slice(), &mut self.current, &mut self.ranks) {
            ([], ..) => Ok(()),
            ([first, ..], ..) if first.starts_with("//") || first.starts_with('#') => Ok(()),
            (["num_ranks", count], None, None) => {
                let count = whole(count).filter(|count| (1..=u64::from(FAN_IN_MAX) + 1).contains(count));
                let count = count.ok_or_else(|| format!("use 1 to {} ranks", u64::from(FAN_IN_MAX) + 1))? as usize;
                let messages = (0..count).map(|_| [Vec::new(), Vec::new()]).collect();
                self.ranks = Some(Ranks { operations: vec![Vec::new(); count], messages });
                self.seen = vec![false; count];
                Ok(())
            }
            (_, _, None) => Err(format!("expected `num_ranks N` first; this is {}", excerpt(row))),
            (["rank", number, "{"], None, Some(_)) => {
                let number = self.rank_number(number)?;
                if std::mem::replace(&mut self.seen[number], true) {
                    return Err(format!("rank {number} is described twice"));
                }
                self.current = Some((number, BTreeMap::new()));
                Ok(())
            }
            (["}"], Some(_), _) => {
                self.current = None;
                Ok(())
            }
            (_, Some(_), Some(_)) => self.operation_or_wait(line, &words).map_err(|what| match what {
                Some(what) => what,
                None => format!("{FORM}; this is {}", excerpt(row)),
            }),
            _ => Err(format!("expected `rank N {{`; this is {}", excerpt(row))),
        }
    }

    fn rank_number(&self, text: &str) -> Result<usize, String> {
        let count = self.seen.len();
        let number = whole(text).filter(|&number| number < count as u64);
        number
            .map(|number| number as usize)
            .ok_or_else(|| format!("use ranks 0 to {}, not {}", count - 1, excerpt(text)))
    }

    /// `None` is a line of another form.
    fn operation_or_wait(&mut self, line: usize, words: &[&str]) -> Result<(), Option<String>> {
        let (label, rest) = match words {
            [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
            _ => (None, words),
        };
        if let ([one, how @ ("requires" | "irequires"), other], None) = (rest, label) {
            let on = if *how == "requires" { On::End } else { On::Start };
            return self.wait(one, other, on).map_err(Some);
        }
        let (kind, first, options) = match rest {
            [kind, first, options @ ..] => (*kind, *first, options),
            _ => return Err(None),
        };
        let size = || first.strip_suffix('b').and_then(whole).filter(|&bytes| bytes <= BYTES_MAX).ok_or(None);
        let (rank, operation) = self.next().map_err(Some)?;
        let work = match (kind, options) {
            ("calc", options) => {
                let ns = whole(first).filter(|&ns| ns <= CALC_MAX_NS).ok_or(None)?;
                let cpu = option(options, "cpu").ok_or(None)?.min(CPUS_MAX) as u32;
                Work::Calc { time: Time(ns * 1_000), cpu }
            }
            ("send", ["to", other, options @ ..]) => {
                // Something tells of the message.
                let bytes = size()?.max(1);
                let other = self.other(rank, other)?;
                self.message(rank, 0, Message { operation, other, bytes, tag: option(options, "tag").ok_or(None)? });
                Work::Send { to: other, bytes, at: 0 }
            }
            ("recv", ["from", other, options @ ..]) => {
                let bytes = size()?.max(1);
                let other = self.other(rank, other)?;
                self.message(rank, 1, Message { operation, other, bytes, tag: option(options, "tag").ok_or(None)? });
                Work::Receive
            }
            _ => return Err(None),
        };
        self.add(line, label, work).map_err(Some)
    }

    /// The current rank, and the number of its next operation.
    fn next(&self) -> Result<(usize, u32), String> {
        if self.count == OPERATIONS_MAX {
            return Err(format!("use at most {OPERATIONS_MAX} operations"));
        }
        let rank = self.current.as_ref().map_or(0, |(rank, _)| *rank);
        Ok((rank, self.ranks.as_ref().map_or(0, |ranks| ranks.operations[rank].len()) as u32))
    }

    fn other(&self, rank: usize, text: &str) -> Result<u32, Option<String>> {
        match self.rank_number(text).map_err(Some)? {
            other if other == rank => Err(Some(format!("rank {rank} would send to itself"))),
            other => Ok(other as u32),
        }
    }

    fn message(&mut self, rank: usize, way: usize, message: Message) {
        if let Some(ranks) = &mut self.ranks {
            ranks.messages[rank][way].push(message);
        }
    }

    fn add(&mut self, line: usize, label: Option<&str>, work: Work) -> Result<(), String> {
        let (Some((rank, labels)), Some(ranks)) = (&mut self.current, &mut self.ranks) else { return Ok(()) };
        let operations = &mut ranks.operations[*rank];
        if let Some(label) = label
            && labels.insert(label.into(), operations.len() as u32).is_some()
        {
            return Err(format!("rank {rank} has two operations {}", excerpt(label)));
        }
        operations.push(Operation { work, waits: Vec::new(), line });
        self.count += 1;
        Ok(())
    }

    fn wait(&mut self, one: &str, other: &str, on: On) -> Result<(), String> {
        let (Some((rank, labels)), Some(ranks)) = (&self.current, &mut self.ranks) else { return Ok(()) };
        let named = |label: &str| {
            labels
                .get(label)
                .copied()
                .ok_or_else(|| format!("rank {rank} has no operation {} above this", excerpt(label)))
        };
        let (one, other) = (named(one)?, named(other)?);
        ranks.operations[*rank][one as usize].waits.push((other, on));
        Ok(())
    }

    /// All operations, after this number of lines.
    pub fn finish(self, lines: usize) -> Result<Ranks, (usize, String)> {
        match (self.ranks, self.current) {
            (_, Some((rank, _))) => Err((lines, format!("the file ends within rank {rank}: `}}` is missing"))),
            (None, None) => Err((lines, "expected `num_ranks N`".into())),
            (Some(_), None) if self.count == 0 => Err((lines, "the trace has no operations".into())),
            (Some(ranks), None) => Ok(ranks),
        }
    }
}

/// A number after a word; zero without it. Other words of LogGOPSim's have no meaning here.
fn option(words: &[&str], name: &str) -> Option<u64> {
    let pairs = words.chunks_exact(2);
    if !pairs.remainder().is_empty() || !pairs.clone().all(|pair| matches!(pair[0], "tag" | "cpu" | "nic")) {
        return None;
    }
    pairs.clone().find(|pair| pair[0] == name).map_or(Some(0), |pair| whole(pair[1]))
}

/// Gives each send the number of its receive.
pub(super) fn join_messages(
    operations: &mut [Vec<Operation>],
    messages: &[[Vec<Message>; 2]],
) -> Result<(), (usize, String)> {
    // By sender, receiver and tag: the receives that have no send yet.
    let mut open: BTreeMap<(u32, u32, u64), VecDeque<&Message>> = BTreeMap::new();
    for (rank, [_, receives]) in (0u32..).zip(messages) {
        for message in receives {
            open.entry((message.other, rank, message.tag)).or_default().push_back(message);
        }
    }
    for (rank, [sends, _]) in (0u32..).zip(messages) {
        for message in sends {
            let Message { operation, other, bytes, tag } = *message;
            let own = &mut operations[rank as usize][operation as usize];
            let receive = open.get_mut(&(rank, other, tag)).and_then(VecDeque::pop_front);
            match receive {
                None => {
                    return Err((
                        own.line,
                        format!("rank {other} has no receive from rank {rank} with tag {tag} for this"),
                    ));
                }
                Some(receive) if receive.bytes != bytes => {
                    let line = operations[other as usize][receive.operation as usize].line;
                    let sends = operations[rank as usize][operation as usize].line;
                    return Err((line, format!("receives {} B of {bytes} B that line {sends} sends", receive.bytes)));
                }
                Some(receive) => own.work = Work::Send { to: other, bytes, at: receive.operation },
            }
        }
    }
    match open.iter().find_map(|(of, left)| left.front().map(|left| (of, left))) {
        Some(((from, to, tag), left)) => {
            let line = operations[*to as usize][left.operation as usize].line;
            Err((line, format!("rank {from} sends nothing to rank {to} with tag {tag} for this")))
        }
        None => Ok(()),
    }
}
