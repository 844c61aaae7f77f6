//! Episodes that are over, as they are kept: few bytes each, and a bounded number of them.

use std::collections::BTreeMap;

use crate::episode::{Episode, Evidence, Member, Stall};
use crate::host::{Hosts, quantile};

/// Episodes of several servers that are kept.
const MOST: usize = 100_000;
/// And of one server, where something stood still.
const MOST_ALONE: usize = 10_000;

/// A silence with what the episode's end told of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Silence {
    pub stall: Stall,
    /// Servers that had not answered by then.
    pub waiting: u32,
    /// Bytes of the answer that were still to come.
    pub left: u64,
}

/// An episode that is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub asker: u32,
    pub pushed: bool,
    pub start: u64,
    /// When its first request was sent, which may be after a connection was opened for it.
    pub requested: u64,
    pub done: u64,
    pub servers: u32,
    pub bytes: u64,
    /// The least and the most that a server answered.
    pub answers: (u64, u64),
    /// Of the first server's.
    pub request: u64,
    /// Most were asked over connections that were opened for it.
    pub anew: bool,
    /// From one request to the next: the median.
    pub gap: u64,
    /// How long the first byte of the quickest server took.
    pub first: u64,
    pub silences: Vec<Silence>,
    pub lost: u64,
    pub reordered: u64,
    /// Nothing of what was sent is missing.
    pub whole: bool,
}

impl Record {
    fn new(episode: &Episode) -> Option<Record> {
        let members = &episode.members;
        let bytes = |member: &Member| member.to.saturating_sub(member.from);
        let first = members.iter().min_by_key(|member| member.asked)?;
        let mut asked: Vec<u64> = members.iter().map(|member| member.asked).collect();
        asked.sort_unstable();
        let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut silences: Vec<Silence> = Vec::new();
        for stall in &episode.stalls {
            let Some(member) = members.iter().find(|member| member.server == stall.server) else { continue };
            let waiting = members.iter().filter(|other| other.done >= stall.to).count() as u32;
            let left = bytes(member).saturating_sub(stall.before);
            silences.push(Silence { stall: *stall, waiting, left });
        }
        silences.sort_by_key(|silence| silence.stall.from);
        Some(Record {
            asker: episode.asker,
            pushed: episode.pushed,
            start: first.asked,
            requested: members.iter().map(|member| member.requested).min()?,
            done: members.iter().map(|member| member.done).max()?,
            servers: members.len() as u32,
            bytes: members.iter().map(bytes).sum(),
            answers: (members.iter().map(bytes).min()?, members.iter().map(bytes).max()?),
            request: first.request,
            anew: members.iter().filter(|member| member.anew).count() * 2 > members.len(),
            gap: quantile(&gaps, 0.5).unwrap_or(0),
            first: members.iter().filter_map(|member| Some(member.first?.saturating_sub(member.requested))).min()?,
            silences,
            lost: members.iter().map(|member| u64::from(member.lost)).sum(),
            reordered: members.iter().map(|member| u64::from(member.reordered)).sum(),
            whole: !episode.unanswered && members.iter().all(|member| member.whole),
        })
    }

    pub fn took(&self) -> u64 {
        self.done.saturating_sub(self.start)
    }

    fn began(&self) -> u64 {
        self.start
    }

    fn asked(&self) -> u64 {
        self.start.max(self.requested)
    }
}

/// What is kept of all.
#[derive(Default)]
pub(crate) struct Records {
    pub rounds: Vec<Record>,
    /// Requests to one server alone: those in which something stood still.
    pub alone: Vec<Record>,
    /// How many there were of each.
    pub counts: [u64; 2],
    /// The longest ones, flow by flow: with the time in which connections were opened for them, and without it. Which of these counts is
    /// known at the end alone.
    longest: [Option<(Record, Vec<Member>)>; 2],
}

impl Records {
    /// Takes what is over.
    pub fn take(&mut self, over: &mut Vec<Episode>, hosts: &mut Hosts) {
        for episode in over.drain(..) {
            for part in episode.parts() {
                let Some(record) = Record::new(&part) else { continue };
                if record.servers < 2 {
                    self.counts[0] += 1;
                    answered_alone(hosts, &part);
                    if !record.silences.is_empty() && self.alone.len() < MOST_ALONE {
                        self.alone.push(record);
                    }
                    continue;
                }
                self.counts[1] += 1;
                for (longest, from) in self.longest.iter_mut().zip([Record::began as fn(&Record) -> u64, Record::asked])
                {
                    let took = |record: &Record| record.done.saturating_sub(from(record));
                    if record.whole && longest.as_ref().is_none_or(|(other, _)| took(other) < took(&record)) {
                        *longest = Some((record.clone(), part.members.clone()));
                    }
                }
                if self.rounds.len() < MOST {
                    self.rounds.push(record);
                }
            }
        }
    }
}

impl Records {
    /// Connections that were opened once, before the first of many rounds, are no part of that round.
    fn settle_one(record: &mut Record) {
        record.start = record.requested.max(record.start);
        let start = record.start;
        record.silences.retain(|silence| silence.stall.to > start);
        record.silences.iter_mut().for_each(|silence| silence.stall.from = silence.stall.from.max(start));
        record.anew = false;
    }

    /// All rounds are known: those of hosts that use connections again begin with their requests.
    pub fn settle(&mut self) {
        let mut counts: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for record in &self.rounds {
            let (anew, all) = counts.entry(record.asker).or_default();
            *anew += u64::from(record.anew);
            *all += 1;
        }
        let standing = |record: &Record| counts.get(&record.asker).is_some_and(|(anew, all)| anew * 2 <= *all);
        let longest = self.longest.iter_mut().flatten().map(|(record, _)| record);
        self.rounds
            .iter_mut()
            .chain(longest)
            .filter(|record| record.start < record.requested && standing(record))
            .for_each(Records::settle_one);
    }
}

impl Records {
    /// The round that took longest of those that are told, flow by flow.
    pub fn slowest(&self, told: impl Fn(&Record) -> bool) -> Option<&(Record, Vec<Member>)> {
        self.longest.iter().flatten().filter(|(record, _)| told(record)).max_by_key(|(record, _)| record.took())
    }
}

/// A whole answer of one server, before which nothing was in the way, tells what it takes alone.
fn answered_alone(hosts: &mut Hosts, episode: &Episode) {
    if let [member] = episode.members.as_slice()
        && let Some(first) = member.first
        && !episode.pushed
    {
        hosts.get(episode.asker).idle_firsts.add(first.saturating_sub(member.asked));
    }
}

/// Whether a timer of TCP is what a silence waited for, by what was seen of it alone; `None` where that leaves it open.
pub(crate) fn is_timer(evidence: Evidence) -> Option<bool> {
    match evidence {
        Evidence::Oldest | Evidence::Tail | Evidence::Resent | Evidence::Request | Evidence::Handshake => Some(true),
        Evidence::Shut | Evidence::LateAck | Evidence::Fresh { burst: Some(true), .. } => Some(false),
        Evidence::Fresh { .. } => None,
    }
}
