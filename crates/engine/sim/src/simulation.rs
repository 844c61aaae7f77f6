//! A run that can be stepped.

use std::sync::atomic::{AtomicBool, Ordering};

use fanin_driver::Meaning;
use fanin_tables::{CollectiveRow, RunError, RunTables, Totals};
use fanin_units::Time;

use crate::conserved::Imbalance;
use crate::engine::{Reached, Steps};
use crate::packet::CapturedPacket;

/// A run in progress. Its tables do not depend on its steps.
pub struct Simulation {
    steps: Box<dyn Steps>,
    /// Command that replays it.
    replay: String,
}

impl Simulation {
    pub(crate) fn new(steps: Box<dyn Steps>, replay: String) -> Simulation {
        Simulation { steps, replay }
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
        self.run_while(&mut |_| !stop.load(Ordering::Relaxed))
    }

    /// Continue to the end as long as `go_on` returns true, which sees the run from time to time.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn run_while(&mut self, go_on: &mut dyn FnMut(&Simulation) -> bool) -> Result<(), RunError> {
        while !self.steps.serve(Time::NEVER) {
            if !go_on(self) {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }

    /// Runs it to its end; returns the time that it took, and its totals.
    ///
    /// # Errors
    /// As [`Simulation::finish`].
    pub fn run_to_end(mut self) -> Result<(Time, Totals), RunError> {
        self.until(Time::NEVER);
        let now = self.now();
        Ok((now, self.finish()?.totals))
    }

    /// Has the workload's timer of this meaning due at the current time, when it runs on: so the caller reaches its application.
    pub fn wake(&mut self, timer: Meaning) {
        self.steps.wake(timer);
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

    /// How far it has come.
    pub fn reached(&self) -> Reached {
        self.steps.reached()
    }

    /// A trace's collective operations that have ended so far, in the order of their ends.
    pub fn ended_collectives(&self) -> &[CollectiveRow] {
        self.steps.ended_collectives()
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
        steps.finish().map_err(|imbalance| broken(&imbalance, &replay))
    }
}

/// A failed conservation check.
pub(crate) fn broken(imbalance: &Imbalance, replay: &str) -> RunError {
    RunError::Broken(format!("{imbalance}; replay: {replay}"))
}
