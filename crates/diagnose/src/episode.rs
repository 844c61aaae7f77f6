//! Episodes: what one host asked of several servers at once, until the last of them had answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;

use crate::dissect::End;
use crate::flow::TurnAt;
use crate::train::Row;

/// Two requests that lie no further apart are of one round. A client that writes one after another takes some hundred microseconds each.
const TOGETHER: u64 = 5_000_000;
/// While answers are awaited, one more request so soon after some of them came is of the same round: a window over servers.
const SOON: u64 = 1_000_000;
/// Episodes that are open at once.
const MOST_OPEN: usize = 1 << 14;
/// And of one host.
const MOST_OF_HOST: usize = 64;
/// Silences of an episode that are kept: the longest.
const MOST_STALLS: usize = 16;
/// A shorter silence is none.
pub(crate) const LEAST_STALL: u64 = 100_000;

/// What ended a silence, as far as a packet shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The oldest segment that is missing was sent again.
    Oldest,
    /// The last one was.
    Tail,
    /// Another one was.
    Resent,
    /// The request had been sent again.
    Request,
    /// A SYN had been sent again.
    Handshake,
    /// The asker had had no room.
    Shut,
    /// An ACK that was kept back for long.
    LateAck,
    /// New data came: `first` of its answer; in a `burst`, where that is known; a segment alone is what a timer sends.
    Fresh { first: bool, burst: Option<bool> },
}

/// A time in which nothing came of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    pub from: u64,
    pub to: u64,
    /// Whose packet ended it.
    pub server: End,
    pub evidence: Evidence,
    /// What had come in a row over the asker's link as a loss was seen.
    pub row: Option<Row>,
    /// How long a timer of the server's would have run by its end: since the last ACK of something new, or since the request.
    pub timer: u64,
    /// Bytes of that answer that came before.
    pub before: u64,
}

impl Stall {
    pub fn took(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// One server's part in an episode.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub server: End,
    pub host: u32,
    pub asked: u64,
    /// When the request itself was sent.
    pub requested: u64,
    /// It was asked over a connection that was opened for it.
    pub anew: bool,
    pub request: u64,
    pub first: Option<u64>,
    /// When its last useful byte came.
    pub done: u64,
    /// Where its answer begins in its connection, and where it ends so far.
    pub from: u64,
    pub to: u64,
    /// Nothing of what was sent is missing.
    pub whole: bool,
    /// Segments that were lost for sure, and that came out of order.
    pub lost: u32,
    pub reordered: u32,
    /// Its own silences, the longest ones.
    pub waits: Vec<Stall>,
    pub last: u64,
}

/// An episode that goes on.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub number: u64,
    pub asker: u32,
    pub pushed: bool,
    pub start: u64,
    pub last_asked: u64,
    pub last_heard: u64,
    pub members: Vec<Member>,
    servers: BTreeSet<End>,
    pub stalls: Vec<Stall>,
    /// Somebody was asked and did not answer.
    pub unanswered: bool,
    /// Connections whose turn this is still.
    current: u32,
}

/// Keeps the longest of silences.
pub(crate) fn keep(stalls: &mut Vec<Stall>, stall: Stall, most: usize) {
    if stalls.len() < most {
        stalls.push(stall);
    } else if let Some(least) = stalls.iter_mut().min_by_key(|stall| stall.took()).filter(|s| s.took() < stall.took()) {
        *least = stall;
    }
}

impl Episode {
    /// Keeps a silence of its own.
    pub fn stalled(&mut self, stall: Stall) {
        keep(&mut self.stalls, stall, MOST_STALLS);
    }

    /// What followed has told whether new data came in a burst.
    pub fn settle(&mut self, member: u32, at: u64, in_burst: bool) {
        let member = &mut self.members[member as usize];
        let (server, own) = (member.server, member.waits.iter_mut());
        for stall in self.stalls.iter_mut().chain(own).filter(|stall| stall.server == server && stall.to == at) {
            if let Evidence::Fresh { burst, .. } = &mut stall.evidence {
                *burst = Some(in_burst);
            }
        }
    }

    /// The parts of it that overlap: a server that was asked when all before had answered is of another one.
    pub fn parts(mut self) -> Vec<Episode> {
        let asked = self.members.len();
        self.members.retain(|member| member.first.is_some());
        self.unanswered = self.members.len() < asked;
        let order: Vec<usize> = {
            let mut order: Vec<usize> = (0..self.members.len()).collect();
            order.sort_by_key(|&place| self.members[place].asked);
            order
        };
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut done = 0;
        for place in order {
            let member = &self.members[place];
            match parts.last_mut().filter(|_| member.asked < done) {
                Some(part) => part.push(place),
                None => parts.push(vec![place]),
            }
            done = done.max(member.done);
        }
        if parts.len() == 1 {
            self.start = self.members.iter().map(|member| member.asked).min().unwrap_or(self.start);
            return vec![self];
        }
        let stalls = mem::take(&mut self.stalls);
        parts.into_iter().map(|part| self.part(&part, &stalls)).collect()
    }

    fn part(&self, places: &[usize], stalls: &[Stall]) -> Episode {
        let members: Vec<Member> = places.iter().map(|&place| self.members[place].clone()).collect();
        let start = members.iter().map(|member| member.asked).min().unwrap_or(self.start);
        let done = members.iter().map(|member| member.done).max().unwrap_or(start);
        let own = stalls.iter().filter(|stall| stall.from >= start && stall.to <= done).copied();
        Episode { start, members, stalls: own.collect(), servers: BTreeSet::new(), ..*self }
    }
}

/// Who is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub asker: u32,
    pub server: End,
    pub host: u32,
    pub asked: u64,
    pub requested: u64,
    pub request: u64,
    /// Where the answer begins in its connection.
    pub from: u64,
    pub pushed: bool,
    pub anew: bool,
}

/// Episodes that go on, by their numbers, which rise with time.
#[derive(Default)]
pub(crate) struct Open {
    episodes: BTreeMap<u64, Episode>,
    /// Those of each host and kind, in their order.
    of_host: BTreeMap<(u32, bool), VecDeque<u64>>,
    count: u64,
    /// Episodes that are over, for whoever takes them.
    pub over: Vec<Episode>,
}

impl Open {
    pub fn get(&mut self, number: u64) -> Option<&mut Episode> {
        self.episodes.get_mut(&number)
    }

    /// A host asks a server: in an episode that goes on, or in a new one. Gives the episode and the member.
    pub fn ask(&mut self, ask: &Ask, now: u64) -> TurnAt {
        let own = self.of_host.entry((ask.asker, ask.pushed)).or_default();
        // A server of an episode beside the newest one is asked again: that is another round, however soon it comes.
        let begun = own.back().and_then(|number| self.episodes.get(number)).map_or(0, |newest| newest.start);
        let beside = |number: &u64| self.episodes.get(number).is_some_and(|one| one.last_heard > begun && one.has(ask));
        let again = own.iter().rev().skip(1).any(beside);
        let newest = own.back().and_then(|number| self.episodes.get_mut(number));
        if let Some(episode) = newest.filter(|episode| episode.takes(ask, now, again)) {
            episode.add(ask);
            return TurnAt { episode: episode.number, member: episode.members.len() as u32 - 1 };
        }
        self.count += 1;
        own.push_back(self.count);
        let crowded = if own.len() > MOST_OF_HOST { own.front().copied() } else { None };
        let mut episode = Episode {
            number: self.count,
            asker: ask.asker,
            pushed: ask.pushed,
            start: ask.asked,
            last_asked: ask.asked,
            last_heard: ask.asked,
            members: Vec::new(),
            servers: BTreeSet::new(),
            stalls: Vec::new(),
            unanswered: false,
            current: 0,
        };
        episode.add(ask);
        self.episodes.insert(self.count, episode);
        let oldest = self.episodes.first_key_value().map(|(number, _)| *number);
        for number in [crowded, oldest.filter(|_| self.episodes.len() > MOST_OPEN)].into_iter().flatten() {
            self.close(number);
        }
        TurnAt { episode: self.count, member: 0 }
    }

    /// A connection has another turn now, or is gone.
    pub fn leave(&mut self, number: u64) {
        let Some(episode) = self.episodes.get_mut(&number) else { return };
        episode.current = episode.current.saturating_sub(1);
        if episode.current == 0 {
            self.close(number);
        }
    }

    fn close(&mut self, number: u64) {
        let Some(episode) = self.episodes.remove(&number) else { return };
        let key = (episode.asker, episode.pushed);
        if let Some(own) = self.of_host.get_mut(&key) {
            own.retain(|one| *one != number);
            if own.is_empty() {
                self.of_host.remove(&key);
            }
        }
        self.over.push(episode);
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        self.over.extend(mem::take(&mut self.episodes).into_values());
        self.of_host.clear();
    }
}

impl Episode {
    fn has(&self, ask: &Ask) -> bool {
        self.servers.contains(&ask.server)
    }

    fn takes(&self, ask: &Ask, now: u64, again: bool) -> bool {
        if self.has(ask) {
            return false;
        }
        let together = ask.asked + TOGETHER >= self.start && ask.asked <= self.last_asked + TOGETHER;
        together || (!again && now <= self.last_heard + SOON)
    }

    fn add(&mut self, ask: &Ask) {
        self.last_asked = self.last_asked.max(ask.asked);
        self.start = self.start.min(ask.asked);
        self.servers.insert(ask.server);
        self.current += 1;
        self.members.push(Member {
            server: ask.server,
            host: ask.host,
            asked: ask.asked,
            requested: ask.requested,
            anew: ask.anew,
            request: ask.request,
            first: None,
            done: ask.asked,
            from: ask.from,
            to: ask.from,
            whole: false,
            lost: 0,
            reordered: 0,
            waits: Vec::new(),
            last: ask.asked,
        });
    }
}
