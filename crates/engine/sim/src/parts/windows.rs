//! Windows of time that the parts of a run serve one after another, all at once, without their leader.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fanin_fabric::HostId;
use fanin_transport::Transport;
use fanin_units::Time;

use super::border::Batch;
use super::meeting::Meeting;
use super::part::Part;

/// Windows with fewer events than this, and than these for each packet that crosses, are served faster by one thread.
const FEW: u64 = 10;
const FOR_CROSSING: u64 = 2;
/// Windows over which both are averaged: going over from one thread to several takes longer than a window.
const AVERAGED: u64 = 16;
/// Events that the parts serve before the leader asks its caller whether the run goes on.
const AT_ONCE: u64 = 1 << 16;
/// Windows in a row that one thread serves before the parts are joined.
pub(super) const PATIENCE: u64 = 256;

/// Exclusive use of a part, or of its mail.
pub(super) fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a part, or of several, at the end of a window.
#[derive(Clone, Copy)]
struct State {
    /// When the next event is, in the part or because of what it has handed over.
    first: Time,
    /// Events in the window, and packets that cross.
    events: u64,
    crossings: u64,
    /// The leader is needed for windows that do not end earlier.
    bound: Time,
    /// The leader is needed.
    stops: bool,
}

impl State {
    const NONE: State = State { first: Time::NEVER, events: 0, crossings: 0, bound: Time::NEVER, stops: false };

    fn and(self, other: State) -> State {
        State {
            first: self.first.min(other.first),
            events: self.events + other.events,
            crossings: self.crossings + other.crossings,
            bound: self.bound.min(other.bound),
            stops: self.stops || other.stops,
        }
    }
}

/// Sums over about [`AVERAGED`] windows.
#[derive(Clone, Copy, Default)]
pub(super) struct Recent {
    events: u64,
    crossings: u64,
}

impl Recent {
    fn and(self, State { events, crossings, .. }: State) -> Recent {
        let next = |sum: u64, one| sum - sum / AVERAGED + one;
        Recent { events: next(self.events, events), crossings: next(self.crossings, crossings) }
    }

    /// Whether such windows are served faster by several threads; clearly, if some margin is wanted.
    fn pays(self, margin: u64) -> bool {
        self.events >= AVERAGED * (FEW + margin) + FOR_CROSSING * self.crossings
    }
}

/// Where a part's thread writes its state for the others: a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Report {
    first: AtomicU64,
    events: AtomicU64,
    crossings: AtomicU64,
    bound: AtomicU64,
    stops: AtomicBool,
}

impl Report {
    fn write(&self, state: State) {
        self.first.store(state.first.0, Ordering::Relaxed);
        self.events.store(state.events, Ordering::Relaxed);
        self.crossings.store(state.crossings, Ordering::Relaxed);
        self.bound.store(state.bound.0, Ordering::Relaxed);
        self.stops.store(state.stops, Ordering::Relaxed);
    }

    fn read(&self) -> State {
        State {
            first: Time(self.first.load(Ordering::Relaxed)),
            events: self.events.load(Ordering::Relaxed),
            crossings: self.crossings.load(Ordering::Relaxed),
            bound: Time(self.bound.load(Ordering::Relaxed)),
            stops: self.stops.load(Ordering::Relaxed),
        }
    }
}

/// The last one of some windows.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub until: Time,
    /// It and those before it.
    pub recent: Recent,
    /// Whether several threads serve such windows faster.
    pub pays: bool,
    /// Windows that one thread served.
    pub alone: u64,
}

/// The parts, and their messages to one another: those of this window and of the last one.
pub(super) struct Windows<T: Transport> {
    pub parts: Vec<Mutex<Part<T>>>,
    pub meeting: Meeting,
    /// Minimum time from one part to another.
    ahead: Time,
    /// The one client that waits for responses, and its part.
    pub client: Option<(HostId, usize)>,
    /// When the first window ends, and the latest end of any, in ps.
    until: AtomicU64,
    limit: AtomicU64,
    /// Windows before the first.
    recent: Mutex<Recent>,
    reports: [Vec<Report>; 2],
    /// By receiver, then by sender.
    mail: [Vec<Vec<Mutex<Batch>>>; 2],
}

impl<T: Transport> Windows<T> {
    pub fn new(parts: Vec<Part<T>>, ahead: Time, client: Option<(HostId, usize)>) -> Windows<T> {
        let count = parts.len();
        let reports = || (0..count).map(|_| Report::default()).collect();
        let boxes = || (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect();
        Windows {
            parts: parts.into_iter().map(Mutex::new).collect(),
            meeting: Meeting::new(count),
            ahead,
            client,
            until: AtomicU64::default(),
            limit: AtomicU64::default(),
            recent: Mutex::default(),
            reports: [reports(), reports()],
            mail: [boxes(), boxes()],
        }
    }

    /// The leading thread: have all parts serve a window, and those that follow, up to a limit.
    pub fn lead(&self, until: Time, limit: Time, recent: Recent) -> Last {
        self.until.store(until.0, Ordering::Relaxed);
        self.limit.store(limit.0, Ordering::Relaxed);
        *lock(&self.recent) = recent;
        let mut last = Last { until, recent, pays: true, alone: 0 };
        self.meeting.act(|| last = self.serve(0));
        last
    }

    /// Any other thread: serve its part's windows.
    pub fn follow(&self, number: usize) {
        self.meeting.follow(|| {
            self.serve(number);
        });
    }

    /// Serve a part's windows until the leader is needed, or few events happen. All parts find the same ends of windows.
    fn serve(&self, number: usize) -> Last {
        let mut part = lock(&self.parts[number]);
        let mut until = Time(self.until.load(Ordering::Relaxed));
        let limit = Time(self.limit.load(Ordering::Relaxed));
        let (mut recent, mut served) = (*lock(&self.recent), 0);
        let mut turns = self.reports.iter().zip(&self.mail).cycle();
        loop {
            let Some((reports, mail)) = turns.next() else { unreachable!("they follow each other in turn") };
            reports[number].write(self.serve_one(&mut part, number, until, mail));
            self.meeting.wait();
            mail[number].iter().for_each(|from| part.accept(&mut lock(from)));
            let all = reports.iter().map(Report::read).fold(State::NONE, State::and);
            recent = recent.and(all);
            served += all.events;
            match self.next(all, until, limit) {
                Some(next) if recent.pays(0) && served < AT_ONCE => until = next,
                _ => return Last { until, recent, pays: recent.pays(0), alone: 0 },
            }
        }
    }

    fn serve_one(&self, part: &mut Part<T>, number: usize, until: Time, mail: &[Vec<Mutex<Batch>>]) -> State {
        let before = part.running.world.events;
        part.go(until);
        let mut state = State { events: part.running.world.events - before, ..self.state(part, number) };
        part.running.world.net.probe.give(|to, batch| {
            state.first = state.first.min(batch.first);
            state.crossings += batch.packets.len() as u64;
            std::mem::swap(batch, &mut lock(&mail[to][number]));
        });
        state
    }

    /// The leading thread alone: have all parts serve a window, and those that follow, up to a limit, as long as few events happen.
    pub fn serve_alone(
        &self,
        parts: &mut [MutexGuard<'_, Part<T>>],
        [mut until, limit]: [Time; 2],
        mut recent: Recent,
    ) -> Last {
        for alone in 1.. {
            let served =
                |parts: &[MutexGuard<'_, Part<T>>]| -> u64 { parts.iter().map(|part| part.running.world.events).sum() };
            let before = served(parts);
            parts.iter_mut().for_each(|part| part.go(until));
            let crossings = exchange(parts);
            let states = parts.iter().zip(0..).map(|(part, number)| self.state(part, number));
            let all = State { events: served(parts) - before, crossings, ..states.fold(State::NONE, State::and) };
            recent = recent.and(all);
            match self.next(all, until, limit) {
                Some(next) if !recent.pays(FEW) && alone < PATIENCE => until = next,
                _ => return Last { until, recent, pays: recent.pays(FEW), alone },
            }
        }
        unreachable!("patience ends")
    }

    /// The state of a part, but for its events and crossings.
    fn state(&self, part: &Part<T>, number: usize) -> State {
        let Part { running } = part;
        let client = self.client.filter(|&(_, part)| part == number);
        State {
            first: part.first(),
            events: 0,
            crossings: 0,
            bound: client.map_or(Time::NEVER, |(host, _)| running.world.stalls.waits.stalls_from(host)),
            stops: running.observer.next.is_some(),
        }
    }

    /// The end of the window after this one, unless the leader is needed.
    fn next(&self, State { first, bound, stops, .. }: State, until: Time, limit: Time) -> Option<Time> {
        let next = self.end(first.max(Time(until.0 + 1)));
        (!stops && first != Time::NEVER && next <= limit && next < bound).then_some(next)
    }

    /// The end of the window that begins with an event: packets sent from then on arrive later.
    pub fn end(&self, first: Time) -> Time {
        Time(first.0.saturating_add(self.ahead.0) - 1)
    }
}

/// Deliver the batches that the parts have handed over; returns their packets.
pub(super) fn exchange<T: Transport>(parts: &mut [MutexGuard<'_, Part<T>>]) -> u64 {
    let mut packets = 0;
    for from in 0..parts.len() {
        let mut batches = std::mem::take(&mut parts[from].running.world.net.probe.batches);
        for (batch, part) in batches.iter_mut().zip(parts.iter_mut()) {
            packets += batch.packets.len() as u64;
            part.accept(batch);
        }
        parts[from].running.world.net.probe.batches = batches;
    }
    packets
}
