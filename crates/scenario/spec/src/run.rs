//! Variants and runs: validated values that only validation creates.

use std::ops::Deref;

use crate::check;
use crate::problem::Wrong;
use crate::{Invalid, PacketJitter, Point, Scheme, Settings};

/// A scheme with all settings resolved and validated at every point of the sweep. Read-only: it dereferences to [`VariantParts`].
#[derive(Clone, Debug, PartialEq)]
pub struct Variant(VariantParts);

/// Fields of a [`Variant`].
#[derive(Clone, Debug, PartialEq)]
pub struct VariantParts {
    /// The user's label, or the canonical name.
    pub label: String,
    /// The scheme.
    pub scheme: Scheme,
    /// Settings at the first point; keys that are not swept are the same at all points.
    pub settings: Settings,
    /// Points of the sweep, at least one; the last key changes first.
    pub points: Vec<At>,
}

/// A point with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct At {
    /// The point.
    pub point: Point,
    /// All settings.
    pub settings: Settings,
}

impl Deref for Variant {
    type Target = VariantParts;

    fn deref(&self) -> &VariantParts {
        &self.0
    }
}

impl Variant {
    /// Validates a scheme's settings at one point with their own fan-in. A scenario reports errors differently
    /// ([`crate::Scenario::variants`]).
    ///
    /// # Errors
    /// Settings that cannot work, with a fix.
    pub fn new(label: impl Into<String>, scheme: Scheme, settings: Settings) -> Result<Variant, Invalid> {
        let at = At { point: Point::of_fan_in(settings.servers()), settings };
        at.checked(&scheme).map_err(|wrong| wrong.what)?;
        at.list_fits().map_err(|problem| problem.to_string())?;
        Ok(Variant::of(label.into(), scheme, vec![at]))
    }

    /// A variant of points that are validated, at least one.
    pub(crate) fn of(label: String, scheme: Scheme, points: Vec<At>) -> Variant {
        let settings = points[0].settings.clone();
        Variant(VariantParts { label, scheme, settings, points })
    }

    /// The same variant under another label.
    #[must_use]
    pub fn called(mut self, label: impl Into<String>) -> Variant {
        self.0.label = label.into();
        self
    }

    /// The run at an index among the points, with a seed; `None` if the index is out of range.
    pub fn at(&self, place: usize, seed: u64) -> Option<RunSpec> {
        let At { point, settings } = self.points.get(place)?.clone();
        let (label, scheme, fan_in) = (self.label.clone(), self.scheme, settings.servers());
        Some(RunSpec(RunParts { label, scheme, settings, fan_in, point, place, seed }))
    }

    /// The run with this number of servers and seed; `None` if the sweep does not include that fan-in.
    pub fn run(&self, fan_in: u32, seed: u64) -> Option<RunSpec> {
        self.at(self.points.iter().position(|at| at.settings.servers() == fan_in)?, seed)
    }

    /// The same variant with another label.
    pub fn labelled(&self, label: String) -> Variant {
        Variant(VariantParts { label, ..self.0.clone() })
    }

    /// The same variant with one seed and with packet jitter; `None` if it already has jitter or sweeps it.
    pub fn with_jitter(&self) -> Option<Variant> {
        let key = "host.packet_jitter";
        let swept = self.points[0].point.0.iter().any(|coordinate| coordinate.key == key);
        let none = |at: &At| at.settings.host.packet_jitter == PacketJitter::None;
        let mut points = self.points.clone();
        for at in &mut points {
            (at.settings.host.packet_jitter, at.settings.run.seeds) = (PacketJitter::TRANSMISSION, 1);
        }
        (!swept && self.points.iter().all(none)).then(|| Variant::of(self.label.clone(), self.scheme, points))
    }

    /// The swept numbers of servers, in order.
    pub fn fan_ins(&self) -> Vec<u32> {
        self.points.iter().map(|at| at.settings.servers()).collect()
    }

    /// The first swept key other than the number of servers.
    pub fn beside_fan_in(&self) -> Option<&str> {
        let moving = self.moving().into_iter().map(|axis| &self.points[0].point.0[axis]);
        moving.filter(|coordinate| !coordinate.is_fan_in()).map(|coordinate| coordinate.key.as_str()).next()
    }

    /// Indices of the axes that have several values.
    pub fn moving(&self) -> Vec<usize> {
        let first = &self.points[0].point;
        let moves = |axis: &usize| self.points.iter().any(|at| at.point.0[*axis] != first.0[*axis]);
        (0..first.0.len()).filter(moves).collect()
    }

    /// Index of the axis along which curves are drawn: the first with several values, else the first.
    pub fn along(&self) -> usize {
        self.moving().first().copied().unwrap_or(0)
    }

    /// Indices of the points of each curve: points that differ only along that axis.
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

    /// Refuses a flow list that exceeds the network or the run's time, and bursts of more servers than exist.
    pub(crate) fn list_fits(&self) -> Result<(), crate::Problem> {
        if let Some(bursts) = &self.settings.inputs.bursts {
            bursts.fit(self.settings.servers())?;
        }
        let (hosts, inputs) = (self.settings.hosts(), &self.settings.inputs);
        if let Some(flows) = &inputs.flows {
            flows.fit(hosts, self.settings.workload.duration)?;
        }
        if let Some(matrix) = &inputs.matrix {
            matrix.fit(hosts)?;
        }
        if let Some(pulls) = &inputs.pulls {
            pulls.fit(hosts, self.settings.workload.duration)?;
        }
        if let Some(trace) = &inputs.trace {
            trace.fit(hosts)?;
        }
        Ok(())
    }
}

/// One run: a scheme at one point of the sweep with one seed. The same spec gives the same tables everywhere. It dereferences to
/// [`RunParts`], and only [`Variant::at`] creates one:
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

/// Fields of a [`RunSpec`].
#[derive(Clone, Debug, PartialEq)]
pub struct RunParts {
    /// The user's label for the scheme.
    pub label: String,
    /// The scheme.
    pub scheme: Scheme,
    /// All settings, resolved and validated.
    pub settings: Settings,
    /// The number of servers.
    pub fan_in: u32,
    /// The point of the sweep.
    pub point: Point,
    /// The point's index among those of its variant.
    pub place: usize,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Deref for RunSpec {
    type Target = RunParts;

    fn deref(&self) -> &RunParts {
        &self.0
    }
}

impl RunSpec {
    /// The run as background traffic has it, if its scheme is another one: the same settings under that scheme, with ECN as it needs it.
    pub fn background(&self) -> Option<RunSpec> {
        let scheme = self.settings.background_scheme(&self.scheme)?;
        let mut parts = RunParts { scheme, ..self.0.clone() };
        parts.settings.suit(&scheme);
        Some(RunSpec(parts))
    }

    /// A text of everything that determines the run's tables: equal texts give equal tables. It excludes the label and the rest of
    /// the sweep.
    pub fn canonical(&self) -> String {
        let head = format!("scheme = {}\nseed = {}\n", self.scheme, self.seed);
        head + &self.settings.canonical(|path| !path.starts_with("run."))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fanin_units::Time;

    use super::*;
    use crate::{Requests, Scenario};

    #[test]
    fn different_request_logs_have_different_names() {
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
