//! Scenarios: read or composed, then resolved.

use std::path::Path;

use fanin_execute::{LoadError, Loaded, load};
use fanin_spec::{Coordinate, RunSpec, Variant, set_value};

use crate::Error;

/// Name of a scenario without a file.
const DESCRIBED: &str = "command line";

/// An experiment: a scenario's text with the caller's settings on top.
#[derive(Clone)]
pub struct Scenario(pub(crate) Loaded);

impl Scenario {
    /// Reads a scenario (TOML); relative paths in it start at its folder.
    ///
    /// # Errors
    /// [`Error::Unread`], [`Error::Scenario`].
    pub fn read(path: impl AsRef<Path>) -> Result<Scenario, Error> {
        let path = path.as_ref();
        load(path).map(Scenario).map_err(|why| match why {
            LoadError::Problem(problem) => problem.into(),
            LoadError::Unread(error) => Error::Unread { path: path.into(), error },
        })
    }

    /// Parses a scenario's text; relative paths in it start at the folder of `name`, which messages show.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn parse(name: &str, text: impl Into<String>) -> Result<Scenario, Error> {
        Ok(Scenario(Loaded::parse(Path::new(name), text.into())?))
    }

    /// Parses a scenario's text that is in no file. It was made from `arguments`, each with the path of the key that it sets; messages
    /// about such a key name the argument.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn made_of(arguments: &[(&str, String)], text: impl Into<String>) -> Result<Scenario, Error> {
        let mut loaded = Loaded::parse(Path::new(DESCRIBED), text.into())?;
        loaded.scenario.comes_from(arguments);
        Ok(Scenario(loaded))
    }

    /// Sets a key: `link.rate=10 Gbit/s`.
    ///
    /// # Errors
    /// [`Error::Scenario`], which names the assignment.
    pub fn set(&mut self, assignment: &str) -> Result<&mut Scenario, Error> {
        self.set_by(assignment, assignment)
    }

    /// Sets a key; messages about it name `argument`, the words of the user.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn set_by(&mut self, argument: &str, assignment: &str) -> Result<&mut Scenario, Error> {
        self.0.scenario.assign(argument, assignment)?;
        Ok(self)
    }

    /// Sweeps a key over these values, instead of its own: `KEY=A,B,C`.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn sweep(&mut self, axis: &str) -> Result<&mut Scenario, Error> {
        self.sweep_by(axis, axis)
    }

    /// Sweeps a key; messages about it name `argument`.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn sweep_by(&mut self, argument: &str, axis: &str) -> Result<&mut Scenario, Error> {
        self.0.scenario.sweep(argument, axis)?;
        Ok(self)
    }

    /// Keeps only these schemes, in this order: labels from the scenario, or names such as `dctcp+gss`.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn schemes(&mut self, names: &[&str]) -> Result<&mut Scenario, Error> {
        self.schemes_by(&format!("--schemes {}", names.join(",")), names)
    }

    /// Keeps only these schemes; messages about them name `argument`.
    ///
    /// # Errors
    /// [`Error::Scenario`].
    pub fn schemes_by(&mut self, argument: &str, names: &[&str]) -> Result<&mut Scenario, Error> {
        self.0.scenario.select(argument, names)?;
        Ok(self)
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The text with these settings (`link.rate=10 Gbit/s`) in it.
    ///
    /// # Errors
    /// [`Error::Asked`] for an assignment without a value.
    pub fn text_with(&self, assignments: &[String]) -> Result<String, Error> {
        assignments.iter().try_fold(self.0.text.clone(), |text, assignment| {
            let (path, value) = assignment
                .split_once('=')
                .ok_or_else(|| Error::Asked(format!("{assignment}: use KEY=VALUE, such as link.rate=10Gbit/s")))?;
            set_value(&text, path.trim(), value.trim()).map_err(|why| Error::Asked(format!("{assignment}: {why}")))
        })
    }

    /// Resolves and checks every setting of every scheme at every point.
    ///
    /// # Errors
    /// [`Error::Scenario`], with the place of the invalid setting.
    pub fn resolve(&self) -> Result<Resolved, Error> {
        let variants = self.0.variants()?;
        let scenario = &self.0.scenario;
        let warnings = scenario.warnings(&variants).iter().map(ToString::to_string).collect();
        let (name, title, text) = (scenario.name.clone(), scenario.title.clone(), self.0.text.clone());
        Ok(Resolved { name, title, text, variants, warnings })
    }
}

/// A checked scenario, ready to run and no longer changeable.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) variants: Vec<Variant>,
    pub(crate) warnings: Vec<String>,
}

impl Resolved {
    /// The name of the scenario's file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The title in the scenario.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The schemes, at least one, each with a unique label, with every setting at every point.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// Hash of all settings: equal for equal ones, however they were set.
    pub fn hash(&self) -> String {
        fanin_spec::Scenario::hash(&self.variants)
    }

    /// Warnings about settings without an effect, or with an unexpected one.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The only run: one scheme at one point with the first seed.
    ///
    /// # Errors
    /// [`Error::Asked`] if a key is swept.
    pub fn one_run(&self) -> Result<RunSpec, Error> {
        let variant = &self.variants[0];
        if variant.points.len() == 1 {
            let first = variant.at(0, variant.settings.run.first_seed);
            return first.ok_or_else(|| Error::Asked(format!("{} has no point", self.name)));
        }
        let coordinates = |axis: usize| variant.points.iter().map(move |at| &at.point.0[axis]);
        let (mut swept, mut such_as) = (Vec::new(), Vec::new());
        for axis in variant.moving() {
            let mut values: Vec<String> = Vec::new();
            for shown in coordinates(axis).map(Coordinate::shown) {
                if !values.contains(&shown) {
                    values.push(shown);
                }
            }
            let first = &variant.points[0].point.0[axis];
            swept.push(format!("{} has {}", first.key, values.join(", ")));
            such_as.push(match first.is_fan_in() {
                true => format!("--fan-in {}", first.shown()),
                false => format!("--set {}=\"{}\"", first.key, first.shown()),
            });
        }
        Err(Error::Asked(format!(
            "a run has one point, but in {} {}: choose one with {}",
            self.name,
            swept.join(" and "),
            such_as.join(" ")
        )))
    }
}
