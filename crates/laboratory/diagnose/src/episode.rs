//! Episodes: the requests of one host to several servers at once, up to the last response.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;

use crate::diagnosis::Place;
use crate::dissect::End;
use crate::flow::TurnAt;
use crate::train::Row;

/// Two requests within this time belong to one round. A client that sends them one after another takes some hundred microseconds for each.
const TOGETHER: u64 = 5_000_000;
/// While responses are outstanding, a request this soon after response data belongs to the same round: the client limits its concurrent
/// servers.
const SOON: u64 = 1_000_000;
/// Maximum number of open episodes.
const MOST_OPEN: usize = 1 << 14;
/// Maximum number of open episodes per host.
const MOST_OF_HOST: usize = 64;
/// Maximum number of stalls to keep per episode, the longest.
const MOST_STALLS: usize = 16;
/// A shorter idle time is no stall.
pub(crate) const LEAST_STALL: u64 = 100_000;

/// The packet that ended a stall, as evidence of its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A retransmission of the oldest missing segment.
    Oldest,
    /// A retransmission of the last one.
    Tail,
    /// A retransmission of another one.
    Resent,
    /// A response to a retransmitted request.
    Request,
    /// A response after a retransmitted SYN.
    Handshake,
    /// Data after the client's receive window was closed.
    Shut,
    /// Data after an ACK that came late: from the last data to it, from it to the data, and the bytes that it acknowledged.
    LateAck { held: u64, after: u64, bytes: u64 },
    /// Data that had arrived were sent again, because the ACK came late.
    Needless,
    /// None: the capture ends within the stall.
    Unfinished,
    /// New data: whether it is the `first` of its response, and whether it is part of a `burst`, if known. A timer sends a single segment.
    Fresh { first: bool, burst: Option<bool> },
}

/// A period without any packet of the outstanding responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    pub from: u64,
    pub to: u64,
    /// The server whose packet ended it.
    pub server: End,
    pub evidence: Evidence,
    /// The row of packets on the client's link when the loss was detected.
    pub row: Option<Row>,
    /// How long a timer at the server had been running at the end: since the last ACK of new data, or since the request.
    pub timer: u64,
    /// Bytes of that response that arrived before.
    pub before: u64,
    /// The server's host.
    pub host: u32,
    /// For how long nothing had come from the client on this connection.
    pub unheard: u64,
    /// Packets of the server that did not pass here in the stall, if its identifications show them.
    pub skipped: Option<u32>,
    /// When a packet beside the lost one entered the queue.
    pub entered: Option<u64>,
    /// Where this was captured, if the packets show it.
    pub place: Option<Place>,
    /// How long after the request the server had acknowledged it without a response; zero if it had not.
    pub bare_ack: u64,
    /// The server had sent data again that had arrived: whether the client had acknowledged them, so that its ACKs were lost.
    pub needless: Option<bool>,
    /// Segments of its response that were lost before.
    pub lost: u32,
    /// Bytes of other connections that arrived at the client in it.
    pub beside: u64,
    /// Remaining bytes of the response; unknown until that ends.
    pub left: Option<u64>,
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
    /// Time of the request itself.
    pub requested: u64,
    /// Whether a connection was opened for the request.
    pub anew: bool,
    pub request: u64,
    /// Bytes that had arrived at the client's host at the request, and those of other responses that arrived before the first byte.
    pub arrived: u64,
    pub beside: u64,
    pub first: Option<u64>,
    /// Time of its last new byte.
    pub done: u64,
    /// Begin of its response in the connection's byte stream, and its end so far.
    pub from: u64,
    pub to: u64,
    /// Whether nothing is missing up to the last byte seen.
    pub whole: bool,
    /// Segments that were certainly lost, and segments out of order.
    pub lost: u32,
    pub reordered: u32,
    /// Its own stalls, the longest ones.
    pub waits: Vec<Stall>,
    pub last: u64,
    /// Bytes that had arrived at the client's host by then.
    pub arrived_last: u64,
}

/// An open episode.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub number: u64,
    pub asker: u32,
    pub pushed: bool,
    pub start: u64,
    pub last_asked: u64,
    pub last_heard: u64,
    /// Bytes that had arrived at the client's host by then.
    pub arrived_last: u64,
    pub members: Vec<Member>,
    servers: BTreeSet<End>,
    pub stalls: Vec<Stall>,
    /// Whether a server was requested and did not respond.
    pub unanswered: bool,
    /// Whether the capture ends within its last stall.
    pub cut: bool,
    /// Whether the capture lacks its begin.
    pub partial: bool,
    /// Number of connections whose current turn belongs to this episode.
    current: u32,
}

/// Adds a stall if it is among the longest.
pub(crate) fn keep(stalls: &mut Vec<Stall>, stall: Stall, most: usize) {
    if stalls.len() < most {
        stalls.push(stall);
    } else if let Some(least) = stalls.iter_mut().min_by_key(|stall| stall.took()).filter(|s| s.took() < stall.took()) {
        *least = stall;
    }
}

impl Episode {
    /// Adds a stall of the whole episode.
    pub fn stalled(&mut self, stall: Stall) {
        keep(&mut self.stalls, stall, MOST_STALLS);
    }

    /// Sets whether new data was part of a burst, once later packets have shown it.
    pub fn settle(&mut self, member: u32, at: u64, in_burst: bool) {
        let member = &mut self.members[member as usize];
        let (server, own) = (member.server, member.waits.iter_mut());
        for stall in self.stalls.iter_mut().chain(own).filter(|stall| stall.server == server && stall.to == at) {
            if let Evidence::Fresh { burst, .. } = &mut stall.evidence {
                *burst = Some(in_burst);
            }
        }
    }

    /// Corrects a stall that ended with a needless retransmission: it waited for the client's ACK, or for its reader.
    pub fn had_arrived(&mut self, member: u32, at: u64, unread: bool) {
        let member = &mut self.members[member as usize];
        member.lost = member.lost.saturating_sub(1);
        let (server, own) = (member.server, member.waits.iter_mut());
        for stall in self.stalls.iter_mut().chain(own).filter(|stall| stall.server == server && stall.to == at) {
            stall.evidence = if unread { Evidence::Shut } else { Evidence::Needless };
            stall.lost = 0;
        }
    }

    /// Adds a stall within which the capture ends: the response ends then, as far as is known.
    pub fn cut_off(&mut self, member: u32, stall: Stall) {
        let member = &mut self.members[member as usize];
        member.first = member.first.or(Some(stall.to));
        member.done = stall.to;
        keep(&mut member.waits, stall, usize::MAX);
        self.stalled(stall);
        self.cut = true;
    }

    /// Splits the episode into parts that overlap in time: a request after all earlier responses starts another part.
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

/// A request to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub asker: u32,
    pub server: End,
    pub host: u32,
    pub asked: u64,
    pub requested: u64,
    pub request: u64,
    /// Bytes that had arrived at the client's host.
    pub arrived: u64,
    /// Begin of the response in the connection's byte stream.
    pub from: u64,
    pub pushed: bool,
    pub anew: bool,
    /// The capture lacks the begin of its response.
    pub partial: bool,
}

/// Open episodes by number, in order of time.
#[derive(Default)]
pub(crate) struct Open {
    episodes: BTreeMap<u64, Episode>,
    /// The open episodes of each host and kind, in order.
    of_host: BTreeMap<(u32, bool), VecDeque<u64>>,
    count: u64,
    /// Closed episodes, to be collected.
    pub over: Vec<Episode>,
}

impl Open {
    pub fn get(&mut self, number: u64) -> Option<&mut Episode> {
        self.episodes.get_mut(&number)
    }

    /// Adds a host's request to an open episode or to a new one. Returns the episode and the member.
    pub fn ask(&mut self, ask: &Ask, now: u64) -> TurnAt {
        let own = self.of_host.entry((ask.asker, ask.pushed)).or_default();
        // If the host requests again from a server of an episode other than the newest, that is another round, however soon it starts.
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
            arrived_last: ask.arrived,
            members: Vec::new(),
            servers: BTreeSet::new(),
            stalls: Vec::new(),
            unanswered: false,
            cut: false,
            partial: ask.partial,
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

    /// When a host's latest episode of requests began.
    pub fn begun(&self, asker: u32) -> Option<u64> {
        let number = self.of_host.get(&(asker, false))?.back()?;
        self.episodes.get(number).map(|episode| episode.start)
    }

    /// A connection leaves an episode: it has another turn, or is gone.
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

    /// Closes all episodes at the end of the capture.
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
        if self.has(ask) || self.partial != ask.partial {
            return false;
        }
        let together = ask.asked + TOGETHER >= self.start && ask.asked <= self.last_asked + TOGETHER;
        together || (!again && now <= self.last_heard + SOON)
    }

    fn add(&mut self, ask: &Ask) {
        // A client that opens connections one after another waits for each.
        self.last_asked = self.last_asked.max(ask.requested);
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
            arrived: ask.arrived,
            beside: 0,
            first: None,
            done: ask.asked,
            from: ask.from,
            to: ask.from,
            whole: false,
            lost: 0,
            reordered: 0,
            waits: Vec::new(),
            last: ask.asked,
            arrived_last: ask.arrived,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_syn_delays_a_round_and_does_not_split_it() {
        let mut open = Open::default();
        let mut ask = |server: u16, asked: u64, requested: u64| {
            let server = End { port: server, ..End::default() };
            let ask = Ask {
                asker: 0,
                server,
                host: 1,
                asked,
                requested,
                request: 64,
                arrived: 0,
                from: 0,
                pushed: false,
                anew: true,
                partial: false,
            };
            open.ask(&ask, requested).episode
        };
        let second = 1_000_000_000;
        let rounds = [ask(1, 0, 100_000), ask(2, 200_000, second), ask(3, second + 100_000, second + 200_000)];
        assert_eq!(rounds, [1, 1, 1]);
        assert_eq!(ask(1, second + 300_000, second + 400_000), 2, "another request to the same server");
    }
}
