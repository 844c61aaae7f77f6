//! Records of closed episodes: a few bytes each, and a bounded number.

use std::collections::{BTreeMap, BTreeSet};

use crate::dissect::End;
use crate::episode::{Episode, Evidence, Member, Stall};
use crate::host::Hosts;
use crate::samples::quantile;

/// Maximum number of episodes with several servers.
const MOST: usize = 100_000;
/// Maximum number of episodes with one server and idle time.
const MOST_ALONE: usize = 10_000;

/// A stall, with facts known at the episode's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Silence {
    pub stall: Stall,
    /// Servers that had not responded by then.
    pub waiting: u32,
    /// Remaining bytes of the response.
    pub left: u64,
}

/// A closed episode.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub asker: u32,
    pub pushed: bool,
    pub start: u64,
    /// When its first request was sent, after the handshake if a connection was opened for it.
    pub requested: u64,
    pub done: u64,
    pub servers: u32,
    pub bytes: u64,
    /// The smallest and the largest response of a server.
    pub answers: (u64, u64),
    /// Bytes of the first request.
    pub request: u64,
    /// Whether connections were opened for most of its requests.
    pub anew: bool,
    /// Median time between requests.
    pub gap: u64,
    /// Time to the fastest server's first byte, and bytes of other responses that arrived at the client in it.
    pub first: u64,
    pub beside: u64,
    pub silences: Vec<Silence>,
    pub lost: u64,
    pub reordered: u64,
    /// Whether no byte is missing.
    pub whole: bool,
    /// Whether the capture ends within its last stall.
    pub cut: bool,
}

impl Record {
    fn new(episode: &Episode) -> Option<Record> {
        let members = &episode.members;
        let bytes = |member: &Member| member.to.saturating_sub(member.from);
        let first = members.iter().min_by_key(|member| member.asked)?;
        let took = |member: &&Member| member.first.map_or(u64::MAX, |first| first.saturating_sub(member.requested));
        let fastest = members.iter().min_by_key(took)?;
        let mut asked: Vec<u64> = members.iter().map(|member| member.asked).collect();
        asked.sort_unstable();
        let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut silences: Vec<Silence> = Vec::new();
        for stall in &episode.stalls {
            let Some(member) = members.iter().find(|member| member.server == stall.server) else { continue };
            let waiting = members.iter().filter(|other| other.done >= stall.to).count() as u32;
            let left = bytes(member).saturating_sub(stall.before);
            silences.push(Silence { stall: Stall { left: Some(left), ..*stall }, waiting, left });
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
            first: fastest.first?.saturating_sub(fastest.requested),
            beside: fastest.beside,
            silences,
            lost: members.iter().map(|member| u64::from(member.lost)).sum(),
            reordered: members.iter().map(|member| u64::from(member.reordered)).sum(),
            cut: episode.cut,
            whole: !episode.unanswered && !episode.partial && members.iter().all(|member| member.whole),
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

/// Records of all episodes.
#[derive(Default)]
pub(crate) struct Records {
    pub rounds: Vec<Record>,
    /// Requests to a single server with idle time.
    pub alone: Vec<Record>,
    /// Number of episodes with one server, and with several.
    pub counts: [u64; 2],
    /// Clients and servers of rounds.
    pub servers: BTreeSet<(u32, End)>,
    /// The longest rounds with their members: measured with and without the handshakes. The end of the capture decides which one applies.
    longest: [Option<(Record, Vec<Member>)>; 2],
}

impl Records {
    /// Adds closed episodes.
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
                if self.servers.len() < MOST {
                    self.servers.extend(part.members.iter().map(|member| (record.asker, member.server)));
                }
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
    /// Excludes handshakes from a round: the host opened connections once, before the first of many rounds.
    fn settle_one(record: &mut Record) {
        record.start = record.requested.max(record.start);
        let start = record.start;
        record.silences.retain(|silence| silence.stall.to > start);
        record.silences.iter_mut().for_each(|silence| silence.stall.from = silence.stall.from.max(start));
        record.anew = false;
    }

    /// Finishes the records: rounds of hosts that reuse connections start with their requests.
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
    /// The longest of the rounds that `told` selects, with its members.
    pub fn slowest(&self, told: impl Fn(&Record) -> bool) -> Option<&(Record, Vec<Member>)> {
        self.longest.iter().flatten().filter(|(record, _)| told(record)).max_by_key(|(record, _)| record.took())
    }
}

/// A complete response of a single server, without contention, shows its unloaded time.
fn answered_alone(hosts: &mut Hosts, episode: &Episode) {
    if let [member] = episode.members.as_slice()
        && let Some(first) = member.first
        && !episode.pushed
    {
        hosts.get(episode.asker).idle_firsts.add(first.saturating_sub(member.asked));
    }
}

/// Whether a stall waited for a TCP timer, judged by its last packet; `None` if that is unclear.
pub(crate) fn is_timer(evidence: Evidence) -> Option<bool> {
    match evidence {
        Evidence::Oldest | Evidence::Tail | Evidence::Resent | Evidence::Request | Evidence::Handshake => Some(true),
        Evidence::Shut | Evidence::LateAck { .. } | Evidence::Needless | Evidence::Fresh { burst: Some(true), .. } => {
            Some(false)
        }
        Evidence::Fresh { .. } | Evidence::Unfinished => None,
    }
}
