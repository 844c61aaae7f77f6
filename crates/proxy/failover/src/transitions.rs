//! Transitions of servers between phases, by all threads together.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::members::{Member, Members, Phase};
use super::server_state::ServerState;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_routing::writes::OpenWrite;

/// A joining server returns when its journal has fewer keys than this. Requests fail while these are deleted.
const FEW_KEYS: usize = 1000;

/// The servers of a pool and their transitions.
#[derive(Debug)]
pub struct Failover {
    replicas: usize,
    /// Whether other servers answer for one that fails. If not, the pool takes back those that were not up when its settings changed.
    replaces: bool,
    servers: Vec<Arc<ServerState>>,
    state: Mutex<State>,
    /// Whether a server is not up, or should not be.
    is_busy: AtomicBool,
}

#[derive(Debug)]
struct State {
    current: Arc<Members>,
    /// Earlier members that may be in use, oldest first.
    previous: Vec<Earlier>,
    changes: Vec<Change>,
    /// Rank of the next server that returns.
    next_rank: u64,
    /// That of the pool that has taken over the servers: its changes count.
    successor: Option<Arc<Failover>>,
}

/// Members that are not in force any more.
#[derive(Debug)]
struct Earlier {
    members: Arc<Members>,
    /// The pool whose last members these were, which refers to them while it exists.
    last_of: Weak<Failover>,
}

impl Earlier {
    /// Whether somebody relies on them. The count comes first: a pool that ends meanwhile makes them look used, not unused.
    fn is_used(&self) -> bool {
        let references = Arc::strong_count(&self.members);
        references > 1 + usize::from(self.last_of.strong_count() > 0)
    }
}

/// Pending change of a server.
#[derive(Debug, Default)]
struct Change {
    /// It has failed and is to leave.
    failed: bool,
    /// The thread that takes it back, and when that got the first answer, by its clock.
    answered: Option<(usize, Nanos)>,
    /// Number of its current round of deletions, and those that the thread waits for.
    round: u32,
    outstanding: usize,
    /// Whether its journal has been worked off, or for `next` almost.
    purged: bool,
    /// Writes after which it may be stale: until it is away, nobody reads their keys there.
    open: Vec<OpenWrite>,
}

impl Failover {
    /// Servers that are up, or as they were in another pool whose place this one takes. None if the settings do not want one, and all servers
    /// are in use.
    pub fn new(
        replicas: usize,
        replaces: bool,
        servers: &[Arc<ServerState>],
        old: Option<&Arc<Failover>>,
    ) -> Option<Arc<Failover>> {
        let mut before = old.map(|old| old.state());
        if !replaces && !before.as_ref().is_some_and(|before| before.is_changing()) {
            return None;
        }
        if let (Some(old), Some(before)) = (old, &before)
            && before.successor.is_none()
            && (old.replicas, old.replaces) == (replicas, replaces)
            && old.servers.len() == servers.len()
            && old.servers.iter().zip(servers).all(|(one, other)| Arc::ptr_eq(one, other))
        {
            return Some(old.clone());
        }
        let mut next_rank = before.as_ref().map_or(1, |before| before.next_rank);
        let mut member = |server: &Arc<ServerState>| {
            let place = old.and_then(|old| old.position(server));
            match (place, &mut before) {
                (Some(place), Some(before)) => (before.current.list[place], std::mem::take(&mut before.changes[place])),
                (_, Some(_)) => {
                    // It has no values yet.
                    next_rank += 1;
                    (Member { phase: Phase::Up, rank: next_rank - 1 }, Change::default())
                }
                (_, None) => (Member { phase: Phase::Up, rank: 0 }, Change::default()),
            }
        };
        let (list, changes): (Vec<Member>, Vec<Change>) = servers.iter().map(&mut member).unzip();
        let mut previous = Vec::new();
        if let (Some(old), Some(before)) = (old, &mut before) {
            previous.append(&mut before.previous);
            previous.push(Earlier { members: before.current.clone(), last_of: Arc::downgrade(old) });
        }
        let current = Arc::new(Members::new(list, replicas, replaces));
        let state = State { current, previous, changes, next_rank, successor: None };
        let is_busy = AtomicBool::new(true);
        let new =
            Arc::new(Failover { replicas, replaces, servers: servers.to_vec(), state: Mutex::new(state), is_busy });
        before.into_iter().for_each(|mut before| before.successor = Some(new.clone()));
        Some(new)
    }

    /// Whether other servers answer for one that fails.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of a server in the pool.
    pub fn position(&self, server: &Arc<ServerState>) -> Option<usize> {
        self.servers.iter().position(|other| Arc::ptr_eq(other, server))
    }

    /// The members in force.
    pub fn members(&self) -> Arc<Members> {
        self.state().current.clone()
    }

    /// Whether [`Failover::advance`] has something to do.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(SeqCst)
    }

    /// Changes the state of a server, here or in the pool that has taken it over; none if that has no such server.
    fn with<T>(&self, server: usize, does: impl FnOnce(&Failover, &mut State, usize) -> T) -> Option<T> {
        let mut state = self.state();
        let Some(successor) = state.successor.clone() else { return Some(does(self, &mut state, server)) };
        drop(state);
        let number = successor.position(&self.servers[server])?;
        successor.with(number, does)
    }

    /// A server has failed; returns whether it leaves, if it has not left. `open` is a write that it may have missed, or may still execute.
    pub fn fail(&self, server: usize, open: Option<OpenWrite>) -> bool {
        let leaves = self.with(server, |failover, state, server| {
            let phase = state.current.phase(server);
            if phase == Phase::Up && !failover.replaces {
                return false;
            }
            let change = &mut state.changes[server];
            change.answered = None;
            change.failed = phase != Phase::Away;
            if matches!(phase, Phase::Up | Phase::Leaving) {
                change.open.extend(open);
            }
            failover.is_busy.store(true, SeqCst);
            true
        });
        leaves == Some(true)
    }

    /// Servers that are not up, or are about to leave: only this process knows which keys change meanwhile.
    pub fn unsettled(&self) -> Vec<usize> {
        let state = self.state();
        let is_up = |server: usize| state.current.phase(server) == Phase::Up && !state.changes[server].failed;
        (0..self.servers.len()).filter(|server| !is_up(*server)).collect()
    }

    /// Servers that are away and have not answered since.
    pub fn silent(&self) -> Vec<usize> {
        let state = self.state();
        let is_silent =
            |server: &usize| state.current.phase(*server) == Phase::Away && state.changes[*server].answered.is_none();
        (0..self.servers.len()).filter(is_silent).collect()
    }

    /// A server has answered a thread, which takes it back if it was away.
    pub fn answers(&self, server: usize, thread: usize, now: Nanos) {
        self.with(server, |_, state, server| {
            let is_away = state.current.phase(server) == Phase::Away;
            let change = &mut state.changes[server];
            if is_away && change.answered.is_none() {
                change.answered = Some((thread, now));
            }
        });
    }

    /// Takes the next step, if nobody uses the last but one; returns whether there was one. A server that answered this thread joins when
    /// `settle` has passed since, and it has closed all connections on which changes had failed.
    pub fn advance(&self, thread: usize, now: Nanos, settle: Nanos) -> bool {
        let mut state = self.state();
        let State { current, previous, changes, next_rank, successor } = &mut *state;
        previous.retain(Earlier::is_used);
        if successor.is_some() || !previous.is_empty() {
            return false;
        }
        let mut list = current.list.clone();
        for ((member, change), server) in list.iter_mut().zip(changes.iter_mut()).zip(&self.servers) {
            let settled = change.answered.is_some_and(|(whose, since)| whose == thread && since + settle <= now)
                && !server.has_unfinished();
            let next = change.next_phase(member.phase, settled, current.has_replicas());
            if next == Phase::Up && member.phase != next && !server.journal().is_clear() {
                // Keys that another returning server has written there have been noted since.
                change.purged = false;
                continue;
            }
            member.phase = next;
            if change.purged && member.phase == Phase::Up {
                member.rank = *next_rank;
                *next_rank += 1;
            }
            match member.phase {
                Phase::Up => (change.purged, change.answered) = (false, None),
                Phase::Returning => change.purged = false,
                Phase::Leaving | Phase::Away | Phase::Joining => {}
            }
        }
        self.is_busy.store(list.iter().any(|member| member.phase != Phase::Up), SeqCst);
        if list == current.list {
            return false;
        }
        let next = Arc::new(Members::new(list, self.replicas, self.replaces));
        previous.push(Earlier { members: std::mem::replace(current, next), last_of: Weak::new() });
        true
    }

    /// Servers whose journals this thread is to work off now.
    pub fn duties(&self, thread: usize) -> Vec<usize> {
        let state = self.state();
        let is_over = state.successor.is_some() || state.previous.iter().any(Earlier::is_used);
        let is_due = |server: &usize| {
            let change = &state.changes[*server];
            let joins = matches!(state.current.phase(*server), Phase::Joining | Phase::Returning);
            let is_own = change.answered.is_some_and(|(whose, _)| whose == thread);
            joins && is_own && !change.failed && !change.purged && change.outstanding == 0
        };
        (0..self.servers.len()).filter(|server| !is_over && is_due(server)).collect()
    }

    /// Begins a round of deletions for a server; returns its number. Without any, its journal has been worked off.
    pub fn begin_round(&self, server: usize, deletions: usize) -> u32 {
        let round = self.with(server, |_, state, server| {
            let change = &mut state.changes[server];
            (change.outstanding, change.purged) = (deletions, deletions == 0);
            change.round += 1;
            change.round
        });
        round.unwrap_or_default()
    }

    /// Whether enough of a server's journal has been worked off: a joining server without replicas returns with a few keys left.
    pub fn is_enough(&self, server: usize, left: usize) -> bool {
        let joins = self.replicas == 1 && self.state().current.phase(server) == Phase::Joining;
        left == 0 || joins && left < FEW_KEYS
    }

    /// A deletion of a round is over; returns whether it was the last, and none has failed.
    pub fn deleted(&self, server: usize, round: u32) -> bool {
        let is_last = self.with(server, |_, state, server| {
            let change = &mut state.changes[server];
            if change.failed || change.round != round || change.outstanding == 0 {
                return false;
            }
            change.outstanding -= 1;
            change.outstanding == 0
        });
        is_last == Some(true)
    }

    /// A thread has ended and lost its connections: what it was taking back fails.
    pub fn thread_ended(&self, thread: usize) {
        let mut state = self.state();
        if let Some(successor) = state.successor.clone() {
            drop(state);
            return successor.thread_ended(thread);
        }
        for change in &mut state.changes {
            if change.answered.take_if(|(whose, _)| *whose == thread).is_some() {
                change.failed = true;
            }
        }
    }
}

impl State {
    /// Whether a server is not up, or should not be.
    fn is_changing(&self) -> bool {
        self.current.list.iter().any(|member| member.phase != Phase::Up)
            || self.changes.iter().any(|change| change.failed)
    }
}

impl Change {
    /// The phase that follows.
    fn next_phase(&mut self, phase: Phase, settled: bool, replicas: bool) -> Phase {
        match phase {
            Phase::Up if self.failed => Phase::Leaving,
            Phase::Leaving => self.leave(),
            Phase::Joining | Phase::Returning if self.failed => self.leave(),
            Phase::Away if settled => Phase::Joining,
            Phase::Joining if self.purged && !replicas => Phase::Returning,
            Phase::Joining | Phase::Returning if self.purged => Phase::Up,
            same => same,
        }
    }

    fn leave(&mut self) -> Phase {
        *self = Change { round: self.round, ..Change::default() };
        Phase::Away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_each_step_when_last_but_one_is_unused() {
        let servers: Vec<Arc<ServerState>> = (0..2).map(|_| Arc::default()).collect();
        for replicas in [1, 2] {
            let failover = Failover::new(replicas, true, &servers, None).unwrap();
            let phase = || failover.members().phase(0);
            let mut held = failover.members();
            assert!(!failover.advance(0, 0, 10) && !failover.is_busy());
            failover.fail(0, None);
            assert!(failover.advance(0, 0, 10));
            assert!(!failover.advance(0, 0, 10), "the first members are in use");
            held = std::mem::replace(&mut held, failover.members());
            drop(held);
            assert!(failover.advance(0, 0, 10));
            assert_eq!(phase(), Phase::Away);
            failover.answers(0, 1, 100);
            assert!(!failover.advance(0, 1000, 10), "another thread takes it back");
            assert!(!failover.advance(1, 109, 10), "it may still read old requests");
            assert!(failover.advance(1, 110, 10));
            assert_eq!((phase(), failover.duties(0), failover.duties(1)), (Phase::Joining, vec![], vec![0]));
            let round = failover.begin_round(0, 2);
            assert_eq!([round + 1, round, round].map(|round| failover.deleted(0, round)), [false, false, true]);
            failover.begin_round(0, 0);
            assert!(failover.advance(1, 120, 10));
            if replicas == 1 {
                assert_eq!((phase(), failover.duties(1)), (Phase::Returning, vec![0]));
                failover.begin_round(0, 0);
                assert!(failover.advance(1, 120, 10));
            }
            let back = failover.members();
            assert_eq!(
                back.list.iter().map(|member| (member.phase, member.rank)).collect::<Vec<_>>(),
                [(Phase::Up, 1), (Phase::Up, 0)]
            );
        }
    }

    #[test]
    fn server_that_fails_while_it_joins_stays_away() {
        let servers: Vec<Arc<ServerState>> = (0..2).map(|_| Arc::default()).collect();
        let failover = Failover::new(2, true, &servers, None).unwrap();
        failover.fail(1, None);
        assert!((0..2).all(|_| failover.advance(0, 0, 0)));
        failover.answers(1, 0, 5);
        failover.fail(1, None);
        assert!(!failover.advance(0, 9, 0), "it must answer again");
        failover.answers(1, 0, 9);
        assert!(failover.advance(0, 9, 0));
        // A deletion that was refused is not over when the response ends.
        let round = failover.begin_round(1, 1);
        failover.fail(1, None);
        assert!(!failover.deleted(1, round));
        assert!(failover.advance(0, 9, 0));
        assert_eq!(failover.members().phase(1), Phase::Away);
    }
}
