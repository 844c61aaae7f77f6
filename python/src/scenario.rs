//! Immutable scenarios: every change gives a new one, so that a notebook cell can be run again.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::failure::{problem, raised};

/// A scenario's text with the settings made.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Scenario(pub fanin::Scenario);

impl Scenario {
    fn changed(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut fanin::Scenario) -> Result<(), fanin::Error>,
    ) -> PyResult<Scenario> {
        let mut scenario = self.0.clone();
        change(&mut scenario).map_err(|why| raised(py, &why))?;
        Ok(Scenario(scenario))
    }

    /// The runnable scenario.
    pub fn resolved(&self, py: Python<'_>) -> PyResult<fanin::Resolved> {
        self.0.resolve().map_err(|why| raised(py, &why))
    }
}

#[pymethods]
impl Scenario {
    /// Read a file; files that it names are relative to it.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Scenario> {
        fanin::Scenario::read(path).map(Scenario).map_err(|why| raised(py, &why))
    }

    /// Take a text under a name.
    #[staticmethod]
    fn parse(py: Python<'_>, name: &str, text: String) -> PyResult<Scenario> {
        fanin::Scenario::parse(name, text).map(Scenario).map_err(|why| raised(py, &why))
    }

    /// Set a key; `argument` is the caller's expression, for errors.
    fn set(&self, py: Python<'_>, argument: &str, assignment: &str) -> PyResult<Scenario> {
        self.changed(py, |scenario| scenario.set_by(argument, assignment).map(drop))
    }

    /// Sweep a key; `argument` is the caller's expression, for errors.
    fn sweep(&self, py: Python<'_>, argument: &str, axis: &str) -> PyResult<Scenario> {
        self.changed(py, |scenario| scenario.sweep_by(argument, axis).map(drop))
    }

    /// Keep only these schemes.
    fn schemes(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Scenario> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.changed(py, |scenario| scenario.schemes(&names).map(drop))
    }

    /// The text that it was read from.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The caller's own congestion controls in its schemes.
    fn laws(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let resolved = self.resolved(py)?;
        let mut names: Vec<_> = resolved.variants().iter().filter_map(|c| c.scheme.foreign()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Resolve the scenario: a hash of all settings.
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.resolved(py)?.hash())
    }

    /// Resolve and check the scenario: labels of its schemes, and warnings.
    fn check(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        let resolved = self.0.resolve().map_err(|why| match &why {
            fanin::Error::Scenario(what) => problem(py, what),
            other => raised(py, other),
        })?;
        let labels = resolved.variants().iter().map(|variant| variant.label.clone()).collect();
        Ok((labels, resolved.warnings().to_vec()))
    }
}
