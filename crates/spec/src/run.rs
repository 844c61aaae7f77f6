//! One run, as a plain value: what a driver is given.

use fanin_units::Time;

use crate::{Scheme, Settings};

/// One run: a scheme at one point of the sweep under one seed. The same spec gives the same tables everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    /// What the user calls the scheme.
    pub label: String,
    /// The scheme.
    pub scheme: Scheme,
    /// Every setting, resolved and checked.
    pub settings: Settings,
    /// The number of servers.
    pub fan_in: u32,
    /// The seed of every random stream.
    pub seed: u64,
}

impl RunSpec {
    /// All that the run's tables follow from, as a text: equal texts, equal tables. The label is not among it, nor is
    /// the rest of the sweep.
    pub fn canonical(&self) -> String {
        let head = format!("scheme = {}\nfan_in = {}\nseed = {}\n", self.scheme, self.fan_in, self.seed);
        head + &self.settings.canonical(|path| !path.starts_with("sweep.") && !path.starts_with("run."))
    }
}

/// What to watch, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// A series has at most one sample a step: the largest queue, the last window.
    pub step: Time,
    /// From when on, since the first request.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// The servers whose windows are kept, counted from zero.
    pub servers: Vec<u32>,
}
