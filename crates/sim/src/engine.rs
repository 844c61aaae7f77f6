//! The loop that serves one event after another, and how a run stands in between.

use fanin_fabric::LinkId;
use fanin_spec::{RunSpec, RunTables, Totals};
use fanin_tcp::Progress;
use fanin_units::Time;

use crate::app::{self, App};
use crate::conserved;
use crate::event::{Event, Key};
use crate::link::Departures;
use crate::packet::Caught;
use crate::probe::Probe;
use crate::tables;
use crate::world::World;

/// A run under way, whoever watches it.
pub(crate) trait Steps {
    /// Serves what happens up to a time, that time too, or a part of it; whether that was all.
    fn serve(&mut self, until: Time) -> bool;
    /// The time that the run has come to.
    fn now(&self) -> Time;
    /// Whether nothing more will happen.
    fn is_done(&self) -> bool;
    /// The totals so far.
    fn totals(&self) -> Totals;
    /// The packets caught since this was last asked.
    fn caught(&mut self) -> Vec<Caught>;
    /// The tables so far; what does not add up in them, if anything.
    fn finish(self: Box<Self>) -> Result<RunTables, String>;
}

/// A world and what is done in it.
struct Running<P> {
    world: World<P>,
    app: Box<dyn App<P>>,
    /// What is being served up to.
    last: Key,
}

/// So many events are served at most before it is time to look up: at a stop flag, say.
const AT_ONCE: u64 = 1 << 14;

/// Begins a run.
pub(crate) fn start<P: Probe + 'static>(spec: &RunSpec, departures: Departures, probe: P) -> Box<dyn Steps> {
    let (mut world, mut app) = (World::new(spec, departures, probe), app::new(spec));
    world.net.await_changes();
    app.start(&mut world);
    Box::new(Running { world, app, last: Key::NEVER })
}

impl<P: Probe> Running<P> {
    #[inline(always)]
    fn arrive(&mut self, link: LinkId) {
        let Some(packet) = self.world.net.arrive(self.world.now.0, link) else { return };
        let progress = self.world.receive(link, &packet);
        if progress != Progress::default() {
            self.report(packet.to, progress);
        }
    }

    #[cold]
    fn report(&mut self, endpoint: u32, progress: Progress) {
        let Running { world, app, .. } = self;
        if progress.established {
            app.established(world, endpoint);
        }
        if progress.awake {
            world.messages_told += 1;
            app.awake(world, endpoint);
        }
        if progress.closed {
            app.closed(world, endpoint);
        }
    }

    /// Nothing is left to serve by then: `next` comes later, or never.
    #[cold]
    fn pause(&mut self, until: Time, next: Key) {
        if next == Key::NEVER {
            self.world.done = true;
        } else {
            self.world.net.events.put_back(next);
            self.world.now = self.world.now.max(until);
        }
    }
}

impl<P: Probe> Steps for Running<P> {
    /// A function of its own, and what it goes by in fields, so that what stands around it takes none of its registers.
    #[inline(never)]
    fn serve(&mut self, until: Time) -> bool {
        self.last = Key::last(until.0);
        while !self.world.done {
            let key = self.world.net.events.pop();
            if key >= self.last {
                self.pause(until, key);
                return true;
            }
            self.world.now = Time(key.time());
            self.world.events += 1;
            match key.event() {
                Event::Arrival(link) => self.arrive(link),
                Event::Departure(link) => self.world.net.depart(key.time(), link),
                Event::Change(number) => self.world.net.change(key.time(), number),
                Event::Endpoint(endpoint) => self.world.look_at_timer(endpoint),
                Event::App(token) => self.app.due(&mut self.world, token),
            }
            if self.world.events.is_multiple_of(AT_ONCE) {
                return false;
            }
        }
        true
    }

    fn now(&self) -> Time {
        self.world.now
    }

    fn is_done(&self) -> bool {
        self.world.done
    }

    fn totals(&self) -> Totals {
        tables::totals(&self.world, &self.app.record(&self.world))
    }

    fn caught(&mut self) -> Vec<Caught> {
        let net = &mut self.world.net;
        net.probe.caught(&net.fabric, &net.host_of)
    }

    fn finish(mut self: Box<Self>) -> Result<RunTables, String> {
        let net = &mut self.world.net;
        net.probe.run_ends(self.world.now);
        let (samples, events) = net.probe.rows(&net.fabric, &net.host_of);
        let tables = tables::tables(&self.world, self.app.record(&self.world));
        conserved::check(&self.world, &tables.totals)?;
        Ok(RunTables { samples, events, ..tables })
    }
}
