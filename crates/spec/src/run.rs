//! Who takes part, and one run: plain values that only their check makes, so that nothing behind it has to ask again.

use std::ops::Deref;

use fanin_units::Time;

use crate::check;
use crate::problem::Wrong;
use crate::{PacketJitter, Point, Scheme, Settings};

/// A scheme that takes part, with every setting resolved and checked at every point of the sweep: it reads as its
/// [`VariantParts`], and cannot be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant(VariantParts);

/// What a [`Variant`] is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantParts {
    /// What the user calls it: the label, else the canonical name.
    pub label: String,
    /// The scheme.
    pub scheme: Scheme,
    /// Its settings at the first point: what is not swept is so at all of them.
    pub settings: Settings,
    /// The points of the sweep, the last key changing first; at least one.
    pub points: Vec<At>,
}

/// A point with what is set there.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// Where in the sweep.
    pub point: Point,
    /// Every setting.
    pub settings: Settings,
}

impl Deref for Variant {
    type Target = VariantParts;

    fn deref(&self) -> &VariantParts {
        &self.0
    }
}

impl Variant {
    /// Checks a scheme's settings at one point, its own fan-in; a scenario has another way to say what is wrong
    /// ([`crate::Scenario::variants`]).
    ///
    /// # Errors
    /// What cannot work, and what would.
    pub fn new(label: impl Into<String>, scheme: Scheme, settings: Settings) -> Result<Variant, String> {
        let at = At { point: Point::of_fan_in(settings.servers()), settings };
        at.checked(&scheme).map_err(|wrong| wrong.what)?;
        at.list_fits().map_err(|problem| problem.to_string())?;
        Ok(Variant::of(label.into(), scheme, vec![at]))
    }

    /// Of points that were checked, one at least.
    pub(crate) fn of(label: String, scheme: Scheme, points: Vec<At>) -> Variant {
        let settings = points[0].settings.clone();
        Variant(VariantParts { label, scheme, settings, points })
    }

    /// The same under another label.
    #[must_use]
    pub fn called(mut self, label: impl Into<String>) -> Variant {
        self.0.label = label.into();
        self
    }

    /// The run at a place among the points under a seed; `None` where there is no such place.
    pub fn at(&self, place: usize, seed: u64) -> Option<RunSpec> {
        let At { point, settings } = self.points.get(place)?.clone();
        let (label, scheme, fan_in) = (self.label.clone(), self.scheme, settings.servers());
        Some(RunSpec(RunParts { label, scheme, settings, fan_in, point, place, seed }))
    }

    /// The run with so many servers under a seed; `None` where the sweep does not have that fan-in, for which nothing was
    /// checked.
    pub fn run(&self, fan_in: u32, seed: u64) -> Option<RunSpec> {
        self.at(self.points.iter().position(|at| at.settings.servers() == fan_in)?, seed)
    }

    /// The same under one seed, with jitter where hosts have none; `None` where they have some, or where that is what is swept.
    pub fn with_jitter(&self) -> Option<Variant> {
        let key = "host.packet_jitter";
        let swept = self.points[0].point.0.iter().any(|coordinate| coordinate.key == key);
        let none = |at: &At| at.settings.host.packet_jitter == PacketJitter::None;
        let mut points = self.points.clone();
        for at in &mut points {
            (at.settings.host.packet_jitter, at.settings.run.seeds) = (PacketJitter::Transmission, 1);
        }
        (!swept && self.points.iter().all(none)).then(|| Variant::of(self.label.clone(), self.scheme, points))
    }

    /// The numbers of servers that are swept over, in their order.
    pub fn fan_ins(&self) -> Vec<u32> {
        self.points.iter().map(|at| at.settings.servers()).collect()
    }

    /// The first key that moves besides the number of servers.
    pub fn beside_fan_in(&self) -> Option<&str> {
        let moving = self.moving().into_iter().map(|axis| &self.points[0].point.0[axis]);
        moving.filter(|coordinate| !coordinate.is_fan_in()).map(|coordinate| coordinate.key.as_str()).next()
    }

    /// The axes that have more than one value, by their places in a point.
    pub fn moving(&self) -> Vec<usize> {
        let first = &self.points[0].point;
        let moves = |axis: &usize| self.points.iter().any(|at| at.point.0[*axis] != first.0[*axis]);
        (0..first.0.len()).filter(moves).collect()
    }

    /// The axis along which curves are drawn: the first of more than one value, else the first.
    pub fn along(&self) -> usize {
        self.moving().first().copied().unwrap_or(0)
    }

    /// The places of the points of each curve: those that differ along that axis alone, for each combination of the others.
    pub fn curves(&self) -> Vec<Vec<usize>> {
        let along = self.along();
        let mut curves: Vec<(Point, Vec<usize>)> = Vec::new();
        for (place, At { point, .. }) in self.points.iter().enumerate() {
            let others = point.without(along);
            match curves.iter_mut().find(|(known, _)| *known == others) {
                Some((_, places)) => places.push(place),
                None => curves.push((others, vec![place])),
            }
        }
        curves.into_iter().map(|(_, places)| places).collect()
    }
}

impl At {
    pub(crate) fn checked(&self, scheme: &Scheme) -> Result<(), Wrong> {
        check::settings(scheme, &self.settings)
    }

    /// Refuses a list of flows that does not fit the network or the run's time, and bursts of more servers than there are.
    pub(crate) fn list_fits(&self) -> Result<(), crate::Problem> {
        if let Some(bursts) = &self.settings.inputs.bursts {
            bursts.fit(self.settings.servers())?;
        }
        match &self.settings.inputs.flows {
            Some(flows) => flows.fit(self.settings.hosts(), self.settings.workload.duration),
            None => Ok(()),
        }
    }
}

/// One run: a scheme at one point of the sweep under one seed. The same spec gives the same tables everywhere. It reads
/// as its [`RunParts`], and [`Variant::at`] alone makes one:
///
/// ```compile_fail
/// let settings = fanin_spec::Settings::default();
/// let scheme = fanin_spec::Scheme::parse("newreno").unwrap();
/// let point = fanin_spec::Point::of_fan_in(8);
/// let parts =
///     fanin_spec::RunParts { label: "any".into(), scheme, settings, fan_in: 8, point, place: 0, seed: 1 };
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
    /// Where in the sweep.
    pub point: Point,
    /// The point's place among those of its contender.
    pub place: usize,
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
        let head = format!("scheme = {}\nseed = {}\n", self.scheme, self.seed);
        head + &self.settings.canonical(|path| !path.starts_with("run."))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Requests, Scenario};

    #[test]
    fn two_runs_of_different_request_logs_have_different_names() {
        let text =
            "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nduration = \"1 s\"\n[sweep]\nfan_in = [4]\n";
        let variants = Scenario::parse("log.toml", text).and_then(|scenario| scenario.variants()).unwrap();
        let name = |size| {
            let mut settings = variants[0].settings.clone();
            let mut log = Requests::new(vec![size], vec![1]);
            log.push(Time::ZERO, [0]);
            settings.inputs.requests = Some(Arc::new(log));
            let with_log = Variant::new("log", variants[0].scheme, settings).unwrap();
            with_log.at(0, 1).unwrap().canonical()
        };
        assert_eq!(name(100), name(100));
        assert_ne!(name(100), name(101));
    }
}
