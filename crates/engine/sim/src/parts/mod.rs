//! One run on several cores, with the same tables as on one.
//!
//! The network is split by racks. A packet from one part to another arrives at least a link's delay later, so each part is served
//! independently for that long; then parts exchange packets (conservative synchronisation, as in Unison for ns-3: Bai et al.,
//! "Unison: A Parallel-Efficient and User-Transparent Network Simulation Kernel", EuroSys 2024). The order of simultaneous events
//! depends only on the events, so each part serves its own in the same order as one core would.
//!
//! A workload may divide its work at hosts, so that each part has a share; when all messages that shares wait for have arrived, the parts
//! are joined. Otherwise there is one workload. Its timers that do not depend on events are served ahead, and their actions are passed
//! to the parts; messages are reported afterwards. For a timer that depends on events, the parts are joined.

mod ahead;
pub(crate) mod border;
pub(crate) mod borders;
mod meeting;
mod part;
mod reasons;
mod windows;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, MutexGuard, PoisonError};

use fanin_driver::Applications;
use fanin_fabric::HostId;
use fanin_tables::{RunError, RunTables};
use fanin_transport::Transport;
use fanin_units::Time;

use crate::conserved::Imbalance;
use crate::engine::{Reached, Running, Steps, discard_if_done};
use crate::event::{Event, Key};
use crate::heap::Heap;
use crate::net::Net;
use crate::places::Every;
use crate::probe::Probe;
use crate::since::Sums;
use crate::slot::Slot;

use ahead::Ahead;
use border::Border;
use borders::Borders;
use part::{Ledger, Part, ReceivedMessage};
pub use reasons::one_core;
use windows::{PATIENCE, Recent, Windows, lock};

/// The threads of a run in parts.
pub trait Team {
    /// Call `lead` on this thread while each of the others runs on a thread of its own; return when all have returned.
    fn together<'a>(&self, others: Vec<Box<dyn FnOnce() + Send + 'a>>, lead: &mut dyn FnMut());
}

/// Whether a run goes on; receives a function that tells how far it is.
pub(crate) type GoOn<'a> = dyn FnMut(&dyn Fn() -> Reached) -> bool + 'a;

/// Serve a run that no reason restricts to one core in this many parts, as long as `go_on` returns true, which receives from time to time
/// a function that tells how far it is; its tables, or the conservation error.
pub(crate) fn run<P: Probe<Places = Every>, T: Transport>(
    whole: Running<P, T, Applications>,
    parts: NonZeroUsize,
    team: &dyn Team,
    go_on: &mut GoOn<'_>,
) -> Result<Result<RunTables, Imbalance>, RunError> {
    let borders = Arc::new(Borders::new(whole.world.config().framing, &whole.world.net.fabric, parts.get()));
    let mut run = Run { whole, borders, parts: Vec::new(), timers: Heap::default(), acts: VecDeque::new() };
    // Events that the joined network serves when parts do not pay, in calls of the loop: more each time.
    let mut calls = 4;
    while !run.whole.world.done {
        run.cut();
        let pause = run.go_on(team, go_on);
        run.join();
        match pause {
            Pause::Stopped => return Err(RunError::Stopped),
            Pause::Before if !run.whole.world.done => run.whole.step(),
            Pause::Alone => {
                run.acts.drain(..).for_each(|at| run.whole.world.stalls.application_acts(at));
                let ends = (0..calls).any(|_| !go_on(&|| run.whole.reached()) || run.whole.serve(Time::NEVER));
                calls = if ends { calls } else { 2 * calls };
            }
            Pause::Before | Pause::Arrived => {}
        }
    }
    Ok(run.whole.end())
}

/// Why the network is joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// The next event depends on all parts, or there is none.
    Before,
    /// Every message that the workload's shares waited for has arrived.
    Arrived,
    /// One thread alone is faster for a while.
    Alone,
    /// The caller has stopped the run.
    Stopped,
}

struct Run<P: Probe<Places = Every>, T: Transport> {
    whole: Running<P, T, Applications>,
    borders: Arc<Borders>,
    /// Empty while the network is joined.
    parts: Vec<Part<T>>,
    /// The workload's timers while the network is split.
    timers: Heap,
    /// When the workload's timers were served ahead.
    acts: VecDeque<Time>,
}

/// Exclusive use of all parts.
type Parts<'p, T> = Vec<MutexGuard<'p, Part<T>>>;

impl<P: Probe<Places = Every>, T: Transport> Run<P, T> {
    fn nets(parts: &mut [Part<T>]) -> Vec<&mut Net<Border>> {
        parts.iter_mut().map(|part| &mut part.running.world.net).collect()
    }

    fn cut(&mut self) {
        let (borders, Running { world: whole, observer }) = (&self.borders, &mut self.whole);
        let part = |number| {
            let border = Border::new(borders.clone(), whole.net.fabric.link_ids(), number);
            Part { running: Running { world: whole.part(border), observer: Ledger::default() } }
        };
        self.parts = (0..borders.parts).map(part).collect();
        let timers = whole.net.cut(borders, &mut Self::nets(&mut self.parts));
        for timer in timers {
            let Event::App(app) = timer.event() else { unreachable!("only applications' timers are left over") };
            match observer.workload().host_of(app.what) {
                Some(host) => self.parts[borders.of_host(host)].running.world.net.events.push_far(timer),
                None => self.timers.push(timer),
            }
        }
        for (socket, slot) in std::mem::take(&mut whole.sockets.ends).all().zip(0..) {
            let slot = Slot(slot);
            let Running { world, observer } = &mut self.parts[borders.of_host(whole.net.host_of(slot))].running;
            observer.missing += socket.awaited() as u64;
            world.sockets.ends.put(slot, socket);
        }
        for host in (0..whole.net.fabric.hosts()).map(HostId) {
            self.parts[borders.of_host(host)].running.world.take_over_host(host, whole);
        }
        let shares = observer.workload().divide(borders.parts, &|host| borders.of_host(host));
        for (part, share) in self.parts.iter_mut().zip(shares.into_iter().flatten()) {
            part.running.observer.take(share);
            part.running.world.sockets.book = whole.sockets.book.copy();
        }
        for part in &mut self.parts {
            part.running.world.stalls.waits.clone_from(&whole.stalls.waits);
        }
    }

    /// The one client that waits for responses, and its part.
    fn client(&self) -> Option<(HostId, usize)> {
        let host = self.whole.world.stalls.waits.only_client()?;
        Some((host, self.borders.of_host(host)))
    }

    fn join(&mut self) {
        let client = self.client();
        let (borders, Running { world: whole, observer }) = (&self.borders, &mut self.whole);
        self.parts.iter_mut().for_each(|part| part.resume());
        whole.net.join(borders, &mut Self::nets(&mut self.parts));
        while let Some(timer) = self.timers.peek().there() {
            self.timers.pop();
            whole.net.events.push_far(timer);
        }
        for host in (0..whole.net.fabric.hosts()).map(HostId) {
            whole.take_over_host(host, &mut self.parts[borders.of_host(host)].running.world);
        }
        let ends = self.parts.iter_mut().map(|part| std::mem::take(&mut part.running.world.sockets.ends).give_away());
        let mut ends: Vec<_> = ends.collect();
        for slot in (0..2 * whole.sockets.book.pairs_made()).map(Slot) {
            let part = borders.of_host(whole.net.host_of(slot));
            if let Some(socket) = ends[part](slot) {
                whole.sockets.ends.put(slot, socket);
            }
        }
        if let Some((host, part)) = client {
            whole.stalls.waits.take_over(&self.parts[part].running.world.stalls.waits, host);
        }
        whole.stalls.take_over(self.parts.iter_mut().map(|part| &mut part.running.world.stalls));
        let mut shares = Vec::new();
        for Part { running: Running { world, observer } } in self.parts.drain(..) {
            whole.now = whole.now.max(world.now);
            whole.events += world.events - observer.timers;
            whole.timeouts += world.timeouts;
            whole.messages_sent += world.messages_sent;
            whole.messages_told += world.messages_told;
            shares.extend(observer.share);
        }
        while let Some(at) = self.acts.pop_front_if(|at| *at <= whole.now) {
            whole.stalls.application_acts(at);
        }
        if !shares.is_empty() {
            observer.workload().unite(whole, shares);
            whole.report_starts();
        }
        discard_if_done(whole);
    }

    /// Serve events until all parts are needed.
    fn go_on(&mut self, team: &dyn Team, go_on: &mut GoOn<'_>) -> Pause {
        let windows = Windows::new(std::mem::take(&mut self.parts), self.borders.ahead, self.client());
        let follow = |number| windows.follow(number);
        let others =
            (1..windows.parts.len()).map(|number| Box::new(move || follow(number)) as Box<dyn FnOnce() + Send>);
        let mut pause = Pause::Before;
        team.together(others.collect(), &mut || {
            let Run { whole, borders, timers, acts, .. } = &mut *self;
            let windows = &windows;
            let mut lead = Lead {
                whole,
                borders,
                timers,
                acts,
                windows,
                pays: true,
                recent: Recent::default(),
                alone: 0,
                ends_after: Time::ZERO,
            };
            pause = windows.meeting.lead(|| lead.go_on(go_on));
        });
        let parts = windows.parts.into_iter();
        self.parts = parts.map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        pause
    }
}

/// The leading thread of a run in parts.
struct Lead<'p, P: Probe, T: Transport> {
    whole: &'p mut Running<P, T, Applications>,
    borders: &'p Borders,
    timers: &'p mut Heap,
    acts: &'p mut VecDeque<Time>,
    windows: &'p Windows<T>,
    /// Whether several threads serve windows such as the last one faster.
    pays: bool,
    recent: Recent,
    /// Windows in a row that this thread has served alone.
    alone: u64,
    /// The missing messages take longer than until then.
    ends_after: Time,
}

impl<'p, P: Probe, T: Transport> Lead<'p, P, T> {
    fn locked(&self) -> Parts<'p, T> {
        self.windows.parts.iter().map(lock).collect()
    }

    fn go_on(&mut self, go_on: &mut GoOn<'_>) -> Pause {
        let mut from = self.whole.world.now;
        let mut parts = self.locked();
        loop {
            let first = parts.iter().map(|part| part.first()).min().unwrap_or(Time::NEVER);
            let next = first.min(Time(self.timers.peek().time())).max(from);
            if next == Time::NEVER {
                return Pause::Before;
            }
            let (until, is_last) = self.foresee(&mut parts, self.windows.end(next));
            let (last, pause);
            (parts, last, pause) = self.serve(parts, [next, until], is_last);
            self.exchange(&mut parts);
            match pause {
                Some(pause) => return pause,
                None if self.whole.world.done || is_last => return Pause::Before,
                None if !go_on(&|| self.reached(&parts)) => return Pause::Stopped,
                None if self.alone >= PATIENCE => return Pause::Alone,
                None => from = Time(last.0 + 1),
            }
        }
    }

    /// How far the run is, whose endpoints are at the parts.
    fn reached(&self, parts: &Parts<'p, T>) -> Reached {
        let world = &self.whole.world;
        let part = |slot| &parts[self.borders.of_host(world.net.host_of(slot))].running.world;
        let sums = world.sockets.book.sums(|slot| part(slot).sockets.ends.seen_at(slot));
        let now = parts.iter().map(|part| part.running.world.now).max().unwrap_or(world.now);
        Reached { now, data_packets: Sums::data_packets(sums) }
    }

    /// Serve the workload's timers up to a time, or up to one that depends on events, whose time is returned.
    fn foresee(&mut self, locked: &mut Parts<'p, T>, until: Time) -> (Time, bool) {
        loop {
            let now = self.timers.peek();
            if now.time() > until.0 {
                return (until, false);
            }
            let Event::App(timer) = now.event() else { unreachable!("only applications' timers are left over") };
            if !self.whole.observer.workload().foresees(timer.what) {
                return (Time(now.time()), true);
            }
            self.timers.pop();
            let Lead { whole: Running { world, observer }, borders, timers, acts, .. } = self;
            world.events += 1;
            world.now = Time(now.time());
            acts.push_back(world.now);
            let driver = &mut Ahead { world, borders, parts: locked, timers, now, written: Vec::new() };
            observer.workload().due(driver, timer.what);
        }
    }

    /// Serve the events of all parts in a window, and in those that follow, unless it is the last one, up to a reason to join them. Returns the
    /// end of the last window.
    fn serve(
        &mut self,
        mut parts: Parts<'p, T>,
        [now, mut until]: [Time; 2],
        is_last: bool,
    ) -> (Parts<'p, T>, Time, Option<Pause>) {
        let missing = |parts: &Parts<'p, T>| parts.iter().any(|part| part.running.observer.missing > 0);
        let has_shares = parts.iter().any(|part| part.running.observer.share.is_some());
        // The run, or an operation of all shares, ends with the last missing message anywhere. A part without missing messages waits.
        let waits = missing(&parts) && (has_shares || self.may_end(&parts, now, until));
        parts.iter_mut().for_each(|part| part.running.observer.waits = waits);
        let stalls_from = |(host, part): (HostId, usize)| parts[part].running.world.stalls.waits.stalls_from(host);
        let client = self.windows.client.filter(|&client| stalls_from(client) <= until);
        let mut end = None;
        match client {
            // The cause of a stall is to be found in the state of all parts, so that none may be ahead of its end.
            Some((_, part)) => {
                parts[part].running.observer.looks_out = true;
                parts[part].go(until);
                end = parts[part].running.observer.stall;
            }
            None => {
                let limit = if is_last { until } else { self.limit(has_shares || waits) };
                (parts, until) = self.go(parts, until, limit);
            }
        }
        let mut pause = end.map(|_| Pause::Before);
        if waits && end.is_none() && !missing(&parts) {
            end = parts.iter().filter_map(|part| part.running.observer.last()).max();
            pause = has_shares.then_some(Pause::Arrived);
        }
        if client.is_some() || parts.iter().any(|part| part.running.observer.next.is_some()) {
            for part in &mut parts {
                let observer = &mut part.running.observer;
                (observer.waits, observer.looks_out, observer.end) = (false, false, end);
            }
            (parts, until) = self.go(parts, until, until);
        }
        (parts, until, pause)
    }

    /// The latest end of windows that the workload need not be asked for.
    fn limit(&mut self, waits: bool) -> Time {
        let timer = Time(self.timers.peek().time().saturating_sub(1));
        match !waits && self.whole.observer.workload().ends_when_all_is_there() {
            true => timer.min(self.ends_after),
            false => timer,
        }
    }

    /// Whether all messages may have arrived at a time.
    fn may_end(&mut self, parts: &Parts<'p, T>, now: Time, until: Time) -> bool {
        if !self.whole.observer.workload().ends_when_all_is_there() {
            return false;
        }
        if until > self.ends_after {
            let least = parts.iter().map(|part| part.running.world.least_time_to_end()).max();
            self.ends_after = now.saturating_add(least.unwrap_or(Time::ZERO));
        }
        until > self.ends_after
    }

    /// Serve a window, and those that follow up to a limit.
    fn go(&mut self, mut parts: Parts<'p, T>, until: Time, limit: Time) -> (Parts<'p, T>, Time) {
        let last = match self.pays {
            false => self.windows.serve_alone(&mut parts, [until, limit], self.recent),
            true => {
                drop(parts);
                let last = self.windows.lead(until, limit, self.recent);
                parts = self.locked();
                last
            }
        };
        (self.pays, self.recent) = (last.pays, last.recent);
        self.alone = if last.alone > 0 { self.alone + last.alone } else { 0 };
        (parts, last.until)
    }

    /// Exchange packets between parts, and report received messages to the workload.
    fn exchange(&mut self, parts: &mut Parts<'p, T>) {
        windows::exchange(parts);
        let Lead { whole: Running { world, observer }, borders, timers, .. } = self;
        let mut heard: Vec<ReceivedMessage> =
            parts.iter_mut().flat_map(|part| std::mem::take(&mut part.running.observer.heard)).collect();
        heard.sort_by_key(|heard| heard.at);
        for part in parts.iter_mut() {
            world.sockets.book.close_with(&mut part.running.world.sockets.book);
        }
        for ReceivedMessage { at, by, what } in heard {
            let now = Key::new(at.0, 0);
            let driver = &mut Ahead { world, borders, parts, timers, now, written: Vec::new() };
            observer.workload().received(driver, by, what);
        }
    }
}
