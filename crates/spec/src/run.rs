//! Who takes part, and one run: plain values that only their check makes, so that nothing behind it has to ask again.

use std::ops::Deref;

use fanin_units::Time;

use crate::check;
use crate::problem::Wrong;
use crate::{Scheme, Settings, Sweep};

/// A scheme that takes part, with every setting resolved and checked: it reads as its [`ContenderParts`], and cannot be
/// changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender(ContenderParts);

/// What a [`Contender`] is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ContenderParts {
    /// What the user calls it: the label, else the canonical name.
    pub label: String,
    /// The scheme.
    pub scheme: Scheme,
    /// Its settings.
    pub settings: Settings,
}

impl Deref for Contender {
    type Target = ContenderParts;

    fn deref(&self) -> &ContenderParts {
        &self.0
    }
}

impl Contender {
    /// Checks the parts, of which a scenario has another way to say what is wrong ([`crate::Scenario::contenders`]).
    ///
    /// # Errors
    /// What cannot work, and what would.
    pub fn new(label: impl Into<String>, scheme: Scheme, settings: Settings) -> Result<Contender, String> {
        let parts = ContenderParts { label: label.into(), scheme, settings };
        let contender = Contender::checked(parts).map_err(|wrong| wrong.what)?;
        contender.list_fits().map_err(|problem| problem.to_string())?;
        Ok(contender)
    }

    pub(crate) fn checked(parts: ContenderParts) -> Result<Contender, Wrong> {
        check::settings(&parts)?;
        Ok(Contender(parts))
    }

    /// Refuses a list of flows that does not fit the network or the run's time.
    pub(crate) fn list_fits(&self) -> Result<(), crate::Problem> {
        let Settings { inputs, sweep, workload, .. } = &self.settings;
        match &inputs.flows {
            Some(flows) => flows.fit(sweep.fan_in.first().map_or(0, |servers| servers + 1), workload.duration),
            None => Ok(()),
        }
    }

    /// The run at a fan-in under a seed; `None` where the sweep does not have that fan-in, for which nothing was checked.
    pub fn run(&self, fan_in: u32, seed: u64) -> Option<RunSpec> {
        self.settings.sweep.fan_in.binary_search(&fan_in).ok()?;
        let ContenderParts { label, scheme, settings } = self.0.clone();
        // A run has one point, and no use for a list of them.
        let settings = Settings { sweep: Sweep { fan_in: vec![fan_in] }, ..settings };
        Some(RunSpec(RunParts { label, scheme, settings, fan_in, seed }))
    }
}

/// One run: a scheme at one point of the sweep under one seed. The same spec gives the same tables everywhere. It reads
/// as its [`RunParts`], and [`Contender::run`] alone makes one:
///
/// ```compile_fail
/// let settings = fanin_spec::Settings::default();
/// let scheme = fanin_spec::Scheme::parse("newreno").unwrap();
/// let parts = fanin_spec::RunParts { label: "any".into(), scheme, settings, fan_in: 8, seed: 1 };
/// let unchecked = fanin_spec::RunSpec(parts);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec(RunParts);

/// What a [`RunSpec`] is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RunParts {
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

impl Deref for RunSpec {
    type Target = RunParts;

    fn deref(&self) -> &RunParts {
        &self.0
    }
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
