//! A run that can be stepped.

use std::sync::atomic::{AtomicBool, Ordering};

use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Transport, Watch};
use fanin_tables::{RunError, RunTables, Totals};
use fanin_units::Time;

use crate::build;
use crate::engine::{self, Steps};
use crate::link::Departures;
use crate::need::touched;
use crate::occupancy::Occupancy;
use crate::packet::CapturedPacket;
use crate::probe::{NoProbe, Probe, Recorder, Watchers};
use crate::setup::Setup;
use crate::tap::{Tap, TapPoint};

/// Bytes that fit in a nearby cache. A run whose packets touch more uses prefetching.
const NEAR: f64 = 2e6;

/// A run in progress. Its tables do not depend on its steps.
pub struct Simulation {
    steps: Box<dyn Steps>,
    /// Command that replays it.
    replay: String,
}

impl Simulation {
    /// Begins a run of a spec.
    pub fn new(spec: &RunSpec) -> Simulation {
        Simulation::with(spec, Departures::Eager)
    }

    /// Begin a run with eager or lazy departures: both give the same tables.
    pub fn with(spec: &RunSpec, departures: Departures) -> Simulation {
        match spec.settings.measure.ports {
            true => Simulation::under(spec, None),
            false if is_large(spec) => Simulation::of(spec, start(spec, departures, NoProbe::<true>)),
            false => Simulation::of(spec, start(spec, departures, NoProbe::<false>)),
        }
    }

    /// Begin a run with another transport or other switches than those that the spec gives.
    pub fn over<T: fanin_transport::Transport>(spec: &RunSpec, setup: Setup<T>, departures: Departures) -> Simulation {
        Simulation::of(spec, engine::start(spec, setup, departures, NoProbe::<false>))
    }

    /// Begin a run that records the series and events selected by `watch`.
    pub fn watched(spec: &RunSpec, watch: Watch) -> Simulation {
        Simulation::under(spec, Some(Recorder::new(watch, build::fabric(spec).downlink(HostId::CLIENT))))
    }

    /// Begin a run that captures every packet crossing the links at a point; `None` if the fabric has no such point.
    pub fn tapped(spec: &RunSpec, point: &TapPoint) -> Option<Simulation> {
        let tap = Tap::new(point, &build::fabric(spec))?;
        Some(Simulation::of(spec, start(spec, Departures::Eager, tap)))
    }

    /// A run with a recorder, if given, and the spec's port measurements.
    fn under(spec: &RunSpec, recorder: Option<Recorder>) -> Simulation {
        let occupancy = spec.settings.measure.ports.then(Occupancy::default);
        // Departures are events, so that a queue is seen to shrink when it does.
        Simulation::of(spec, start(spec, Departures::Lazy, Watchers { occupancy, recorder }))
    }

    fn of(spec: &RunSpec, steps: Box<dyn Steps>) -> Simulation {
        Simulation { steps, replay: replay(spec) }
    }

    /// Continue until all events up to a time are served, or until the run ends.
    pub fn until(&mut self, time: Time) {
        while !self.steps.serve(time) {}
    }

    /// Continue to the end; checks `stop` from time to time.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if it was stopped; it can continue from there.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), RunError> {
        while !self.steps.serve(Time::NEVER) {
            if stop.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }

    /// Current time since the start.
    pub fn now(&self) -> Time {
        self.steps.now()
    }

    /// Whether it has ended: nothing more will happen.
    pub fn is_done(&self) -> bool {
        self.steps.is_done()
    }

    /// The totals so far, as in its tables if it ended here.
    pub fn totals(&self) -> Totals {
        self.steps.totals()
    }

    /// The packets captured since the last call, by time; empty unless tapped.
    pub fn caught(&mut self) -> Vec<CapturedPacket> {
        self.steps.caught()
    }

    /// Its tables; for an unfinished run, the tables so far.
    ///
    /// # Errors
    /// [`RunError::Broken`] if a conservation check fails.
    pub fn finish(self) -> Result<RunTables, RunError> {
        let Simulation { steps, replay } = self;
        steps.finish().map_err(|what| broken(&what, &replay))
    }
}

/// Begins a run over the transport of its scheme.
fn start(spec: &RunSpec, departures: Departures, probe: impl Probe + 'static) -> Box<dyn Steps> {
    match spec.scheme.transport {
        Transport::Tcp => engine::start(spec, Setup::tcp(spec), departures, probe),
        Transport::Rdma(kind) => engine::start(spec, Setup::rdma(spec, kind), departures, probe),
        Transport::Uet(kind) => engine::start(spec, Setup::uet(spec, kind), departures, probe),
    }
}

/// Whether packets of a run touch more memory than is near.
pub(crate) fn is_large(spec: &RunSpec) -> bool {
    touched(&spec.settings) > NEAR
}

/// Command that replays a run.
pub(crate) fn replay(spec: &RunSpec) -> String {
    let at: String = spec.point.0.iter().map(|c| format!(" --sweep {}=\"{}\"", c.key, c.shown())).collect();
    format!("--schemes \"{}\"{at} --seeds 1 --first-seed {}", spec.label, spec.seed)
}

/// A failed conservation check.
pub(crate) fn broken(what: &str, replay: &str) -> RunError {
    RunError::Broken(format!("{what}; replay: {replay}"))
}
