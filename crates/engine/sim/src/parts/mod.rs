//! One run on several cores, with the same tables as on one.
//!
//! The network is split by racks. A packet from one part to another arrives at least a link's delay later, so each part is served
//! independently for that long; then parts exchange packets (conservative synchronisation, as in Unison for ns-3: Bai et al.,
//! "Unison: A Parallel-Efficient and User-Transparent Network Simulation Kernel", EuroSys 2024). The order of simultaneous events
//! depends only on the events, so each part serves its own in the same order as one core would.
//!
//! There is one workload. Its timers that do not depend on events are served ahead, and their actions are passed to the parts;
//! messages are reported afterwards. For a timer that depends on events, the parts are joined.

mod ahead;
pub(crate) mod border;
pub(crate) mod borders;
mod part;
mod reasons;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use fanin_driver::Applications;
use fanin_tables::{RunError, RunTables};
use fanin_transport::Transport;
use fanin_units::Time;

use crate::conserved::Imbalance;
use crate::engine::Running;
use crate::event::{Event, Key};
use crate::heap::Heap;
use crate::link::Departures;
use crate::net::Net;
use crate::network::Switches;
use crate::probe::NoProbe;
use crate::slot::Slot;
use crate::world::World;

use ahead::Ahead;
use border::Border;
use borders::Borders;
use part::{Ledger, Part, ReceivedMessage};
pub use reasons::one_core;

/// Serves the parts of a run.
pub trait Team: Sync {
    /// Call each task once, in parallel if possible; return when all have returned.
    fn each(&self, tasks: &mut [&mut (dyn FnMut() + Send)]);
}

/// Serve a run that no reason restricts to one core in this many parts; its tables, or the conservation error.
pub(crate) fn run<T: Transport, const LARGE: bool>(
    whole: Running<NoProbe<LARGE>, T, Applications>,
    parts: NonZeroUsize,
    team: &dyn Team,
    stop: &AtomicBool,
) -> Result<Result<RunTables, Imbalance>, RunError> {
    let borders = Borders::new(whole.world.config().framing, &whole.world.net.fabric, parts.get());
    let mut run = Run { whole, borders, parts: Vec::new(), timers: Heap::default(), team, served: 0 };
    while !run.whole.world.done {
        run.cut();
        if run.go_on(stop) {
            return Err(RunError::Stopped);
        }
        run.join();
        if !run.whole.world.done {
            run.whole.step();
        }
    }
    Ok(run.whole.end())
}

/// Fewer events are served faster sequentially than in parallel.
const FEW: u64 = 1_000;

struct Run<'a, T: Transport, const LARGE: bool> {
    whole: Running<NoProbe<LARGE>, T, Applications>,
    borders: Borders,
    /// Empty while the network is joined.
    parts: Vec<Part<T, LARGE>>,
    /// The workload's timers while the network is split.
    timers: Heap,
    team: &'a dyn Team,
    /// Events served in the last round of all parts.
    served: u64,
}

impl<T: Transport, const LARGE: bool> Run<'_, T, LARGE> {
    fn nets(parts: &mut [Part<T, LARGE>]) -> Vec<&mut Net<Border<LARGE>>> {
        parts.iter_mut().map(|part| &mut part.running.world.net).collect()
    }

    fn cut(&mut self) {
        let (borders, whole) = (&self.borders, &mut self.whole.world);
        let part = |number| {
            let border = Border::new(borders, whole.net.fabric.link_ids(), number);
            let (fabric, transport, config) =
                (whole.net.fabric.clone(), whole.transport.clone(), whole.config().clone());
            let mut world = World::new(fabric, transport, config, Switches::default(), Departures::Eager, border);
            world.now = whole.now;
            Part { running: Running { world, observer: Ledger::default() }, batches: Vec::new() }
        };
        self.parts = (0..borders.parts).map(part).collect();
        let timers = whole.net.cut(borders, &mut Self::nets(&mut self.parts));
        timers.into_iter().for_each(|timer| self.timers.push(timer));
        for (socket, slot) in std::mem::take(&mut whole.sockets.ends).all().zip(0..) {
            let slot = Slot(slot);
            let Running { world, observer } = &mut self.parts[borders.of_host(whole.net.host_of(slot))].running;
            observer.missing += socket.awaited() as u64;
            world.sockets.ends.put(slot, socket);
        }
    }

    fn join(&mut self) {
        let (borders, whole) = (&self.borders, &mut self.whole.world);
        self.parts.iter_mut().for_each(|part| part.accept());
        whole.net.join(borders, &mut Self::nets(&mut self.parts));
        while let Some(timer) = self.timers.peek().there() {
            self.timers.pop();
            whole.net.events.push_far(timer);
        }
        let ends = self.parts.iter_mut().map(|part| std::mem::take(&mut part.running.world.sockets.ends).give_away());
        let mut ends: Vec<_> = ends.collect();
        for slot in (0..2 * whole.sockets.book.pairs_made()).map(Slot) {
            let part = borders.of_host(whole.net.host_of(slot));
            if let Some(socket) = ends[part](slot) {
                whole.sockets.ends.put(slot, socket);
            }
        }
        for Part { running: Running { world, observer }, .. } in self.parts.drain(..) {
            whole.now = whole.now.max(world.now);
            whole.events += world.events - observer.timers;
            whole.timeouts += world.timeouts;
            whole.messages_told += world.messages_told;
        }
        if whole.done {
            whole.net.events.clear();
        }
    }

    /// Serve events before the next timer that depends on them; whether the run was stopped before.
    fn go_on(&mut self, stop: &AtomicBool) -> bool {
        let mut from = self.whole.world.now;
        loop {
            let first = self.parts.iter().map(|part| part.first()).min().unwrap_or(Time::NEVER);
            let next = first.min(Time(self.timers.peek().time())).max(from);
            if next == Time::NEVER {
                return false;
            }
            // Packets sent from then on arrive later.
            let (until, is_last) = self.foresee(Time(next.0.saturating_add(self.borders.ahead.0) - 1));
            self.serve(until);
            self.exchange();
            if self.whole.world.done || is_last {
                return false;
            }
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            from = Time(until.0 + 1);
        }
    }

    /// Serve the workload's timers up to a time, or up to one that depends on events, whose time is returned.
    fn foresee(&mut self, until: Time) -> (Time, bool) {
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
            let Run { whole: Running { world, observer }, borders, parts, timers, .. } = self;
            world.events += 1;
            world.now = Time(now.time());
            observer.workload().due(&mut Ahead { world, borders, parts, timers, now, written: Vec::new() }, timer.what);
        }
    }

    /// Serve the events of all parts up to a time, or to the end of the run.
    fn serve(&mut self, until: Time) {
        let events = |parts: &[Part<T, LARGE>]| parts.iter().map(|part| part.running.world.events).sum::<u64>();
        let before = events(&self.parts);
        // The run ends with the last missing message anywhere. A part without missing messages waits for the others.
        let missing = |parts: &[Part<T, LARGE>]| parts.iter().any(|part| part.running.observer.missing > 0);
        let waits = self.whole.observer.workload().ends_when_all_is_there() && missing(&self.parts);
        self.each(|part| part.waits = waits);
        self.go(until);
        if waits {
            let last = self.parts.iter().filter_map(|part| part.running.observer.last()).max();
            let end = last.filter(|_| !missing(&self.parts));
            self.each(|part| (part.waits, part.end) = (false, end));
            self.go(until);
        }
        self.served = events(&self.parts) - before;
    }

    fn each(&mut self, act: impl Fn(&mut Ledger)) {
        self.parts.iter_mut().for_each(|part| act(&mut part.running.observer));
    }

    fn go(&mut self, until: Time) {
        if self.served < FEW {
            return self.parts.iter_mut().for_each(|part| part.go(until));
        }
        let mut tasks: Vec<_> = self.parts.iter_mut().map(|part| || part.go(until)).collect();
        let mut tasks: Vec<&mut (dyn FnMut() + Send)> = tasks.iter_mut().map(|task| task as _).collect();
        self.team.each(&mut tasks);
    }

    /// Exchange packets between parts, and report received messages to the workload.
    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            let batches = self.parts[from].running.world.net.probe.take();
            for (part, batch) in self.parts.iter_mut().zip(batches) {
                part.batches.push(batch);
            }
        }
        let Run { whole: Running { world, observer }, borders, parts, timers, .. } = self;
        let mut heard: Vec<ReceivedMessage> =
            parts.iter_mut().flat_map(|part| part.running.observer.heard.drain(..)).collect();
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
