//! What captures and counters of a machine show.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::failure::raised;
use crate::lab::{Means, claimed, finished};

/// What was found.
#[pyclass(module = "fanin._fanin")]
pub struct Diagnosed(fanin::Diagnosed);

/// Reads captures and counters.
#[pyfunction]
pub fn diagnose(py: Python<'_>, means: Means, inputs: Vec<String>) -> PyResult<Diagnosed> {
    finished(py, means.in_lab(py, |lab, _| lab.diagnose(&inputs))?).map(Diagnosed)
}

#[pymethods]
impl Diagnosed {
    /// What `fanin diagnose --json` prints.
    fn json(&self) -> String {
        self.0.to_json()
    }

    /// It in a sentence.
    fn says(&self) -> &str {
        &self.0.diagnosis.verdict.says
    }

    /// The text of a scenario that behaves alike, where one could be made.
    fn scenario(&self) -> Option<&str> {
        self.0.diagnosis.scenario_text.as_deref()
    }

    /// The page with its pictures.
    fn page(&self) -> String {
        self.0.page()
    }

    /// Writes what the program writes into `--out`.
    fn write(&mut self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let out = claimed(py, folder.clone())?;
        self.0.write(out, &folder).map_err(|why| raised(py, &why))
    }
}
