//! The rounds at the beginning that a scenario leaves out of all figures.

use fanin_spec::{RunSpec, WarmUp as Settings};
use fanin_units::Time;

use super::application::{END, WARM};
use crate::probe::Probe;
use crate::world::World;

pub(crate) struct WarmUp {
    settings: Option<Settings>,
    began: Time,
    over: bool,
}

impl WarmUp {
    pub fn new(spec: &RunSpec) -> WarmUp {
        WarmUp { settings: spec.settings.workload.warm_up.0, began: Time::ZERO, over: false }
    }

    /// The first round is about to begin. A round that hangs must not put the measured time off for ever.
    pub fn begin<P: Probe>(&mut self, world: &mut World<P>) {
        self.began = world.now;
        let given = match self.settings {
            None => return,
            Some(Settings::Rounds(_)) => Time::ZERO,
            Some(Settings::For(time)) => time,
        };
        world.after(given.saturating_add(world.spec.settings.workload.duration), WARM);
    }

    /// Whether the measured time begins with the round of this number, which begins now.
    pub fn ends_with(&self, now: Time, round: u32) -> bool {
        !self.over
            && match self.settings {
                None => true,
                Some(Settings::Rounds(rounds)) => round >= rounds,
                Some(Settings::For(time)) => now.since(self.began) >= time,
            }
    }

    /// Whether nothing is measured yet.
    pub fn is_on(&self) -> bool {
        !self.over
    }

    /// The measured time begins: the workload has delivered `payload` so far.
    pub fn end<P: Probe>(&mut self, world: &mut World<P>, payload: u64) {
        self.over = true;
        match self.settings {
            None => world.clock_starts(),
            Some(_) => world.measure_from_here(payload),
        }
        world.after(world.spec.settings.workload.duration, END);
    }
}
