//! Initial rounds that a scenario excludes from all figures.

use fanin_driver::{Driver, Meaning};
use fanin_spec::{RunSpec, WarmUp as Settings};
use fanin_units::Time;

pub(crate) struct WarmUp {
    settings: Option<Settings>,
    /// Duration of the measured time.
    duration: Time,
    began: Time,
    over: bool,
}

impl WarmUp {
    pub fn new(spec: &RunSpec) -> WarmUp {
        let workload = &spec.settings.workload;
        WarmUp { settings: workload.warm_up.0, duration: workload.duration, began: Time::ZERO, over: false }
    }

    /// The first round is about to begin. If a round hangs, `timer` ends the warm-up, so that the measured time is not delayed
    /// forever.
    pub fn begin(&mut self, driver: &mut dyn Driver, timer: impl Into<Meaning>) {
        self.began = driver.now();
        let given = match self.settings {
            None => return,
            Some(Settings::Rounds(_)) => Time::ZERO,
            Some(Settings::For(time)) => time,
        };
        driver.after(given.saturating_add(self.duration), timer.into());
    }

    /// Whether the measured time begins with this round, which begins now.
    pub fn ends_with(&self, now: Time, round: u32) -> bool {
        !self.over
            && match self.settings {
                None => true,
                Some(Settings::Rounds(rounds)) => round >= rounds,
                Some(Settings::For(time)) => now.since(self.began) >= time,
            }
    }

    /// Whether the warm-up is in progress.
    pub fn is_on(&self) -> bool {
        !self.over
    }

    /// The measured time begins, and `timer` marks its end: the workload has delivered `payload` so far.
    pub fn end(&mut self, driver: &mut dyn Driver, payload: u64, timer: impl Into<Meaning>) {
        self.over = true;
        match self.settings {
            None => driver.clock_starts(),
            Some(_) => driver.measure_from_here(payload),
        }
        driver.after(self.duration, timer.into());
    }
}
