//! A run that can be stepped.

use std::sync::atomic::{AtomicBool, Ordering};

use fanin_fabric::HostId;
use fanin_spec::{RunError, RunSpec, RunTables, Totals, Watch};
use fanin_units::Time;

use crate::build;
use crate::engine::{self, Steps};
use crate::link::Departures;
use crate::need::touched;
use crate::occupancy::Occupancy;
use crate::packet::CapturedPacket;
use crate::probe::{NoProbe, Recorder, Watchers};
use crate::tap::{Tap, TapPoint};

/// Bytes that lie in a cache near the processor. A run whose packets come by more asks for what they will touch.
const NEAR: f64 = 2e6;

/// A run under way. In whatever steps it is brought to its end, its tables are the same.
pub struct Simulation {
    steps: Box<dyn Steps>,
    /// What replays it.
    replay: String,
}

impl Simulation {
    /// Begins a run of a spec.
    pub fn new(spec: &RunSpec) -> Simulation {
        Simulation::with(spec, Departures::Eager)
    }

    /// Begins a run with departures worked out one way or the other: both give the same tables.
    pub fn with(spec: &RunSpec, departures: Departures) -> Simulation {
        match spec.settings.measure.ports {
            true => Simulation::under(spec, None),
            false if is_large(spec) => Simulation::of(spec, engine::start(spec, departures, NoProbe::<true>)),
            false => Simulation::of(spec, engine::start(spec, departures, NoProbe::<false>)),
        }
    }

    /// Begins a run that keeps the series and events that `watch` asks for.
    pub fn watched(spec: &RunSpec, watch: Watch) -> Simulation {
        Simulation::under(spec, Some(Recorder::new(watch, build::fabric(spec).downlink(HostId::CLIENT))))
    }

    /// Begins a run that catches every packet that crosses the links at a point; `None` where the fabric has no such point.
    pub fn tapped(spec: &RunSpec, point: &TapPoint) -> Option<Simulation> {
        let tap = Tap::new(point, &build::fabric(spec))?;
        Some(Simulation::of(spec, engine::start(spec, Departures::Eager, tap)))
    }

    /// A run under a recorder, where there is one, and what the spec measures of ports.
    fn under(spec: &RunSpec, recorder: Option<Recorder>) -> Simulation {
        let occupancy = spec.settings.measure.ports.then(Occupancy::default);
        // Departures are events of their own, so that a queue is seen to shrink as it does.
        Simulation::of(spec, engine::start(spec, Departures::Lazy, Watchers { occupancy, recorder }))
    }

    fn of(spec: &RunSpec, steps: Box<dyn Steps>) -> Simulation {
        Simulation { steps, replay: replay(spec) }
    }

    /// Goes on until all that happens by a time has happened, or until the run ends, if that comes first.
    pub fn until(&mut self, time: Time) {
        while !self.steps.serve(time) {}
    }

    /// Goes on to the end; `stop` is looked at from time to time.
    ///
    /// # Errors
    /// [`RunError::Stopped`] where it was asked to stop; it can go on from there.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), RunError> {
        while !self.steps.serve(Time::NEVER) {
            if stop.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }

    /// The time that it has come to, since its beginning.
    pub fn now(&self) -> Time {
        self.steps.now()
    }

    /// Whether it has ended: nothing more will happen.
    pub fn is_done(&self) -> bool {
        self.steps.is_done()
    }

    /// The totals so far, as its tables would have them if it ended here.
    pub fn totals(&self) -> Totals {
        self.steps.totals()
    }

    /// The packets caught since this was last asked, in the order of time; none unless it is tapped.
    pub fn caught(&mut self) -> Vec<CapturedPacket> {
        self.steps.caught()
    }

    /// Its tables, as it stands: of a run that has not ended, what was so far.
    ///
    /// # Errors
    /// [`RunError::Broken`] where something was lost or came from nowhere.
    pub fn finish(self) -> Result<RunTables, RunError> {
        let Simulation { steps, replay } = self;
        steps.finish().map_err(|what| broken(&what, &replay))
    }
}

/// Whether packets of a run come by more than lies near.
pub(crate) fn is_large(spec: &RunSpec) -> bool {
    touched(&spec.settings) > NEAR
}

/// What replays a run.
pub(crate) fn replay(spec: &RunSpec) -> String {
    let at: String = spec.point.0.iter().map(|c| format!(" --sweep {}=\"{}\"", c.key, c.shown())).collect();
    format!("--schemes \"{}\"{at} --seeds 1 --first-seed {}", spec.label, spec.seed)
}

/// Something was lost or came from nowhere.
pub(crate) fn broken(what: &str, replay: &str) -> RunError {
    RunError::Broken(format!("{what}; replay: {replay}"))
}
