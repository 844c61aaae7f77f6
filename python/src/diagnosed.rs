//! What captures and counters of a machine show.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::failure::raised;
use crate::lab::{Means, claimed, finished};

/// What was found.
#[pyclass(module = "fanin._fanin")]
pub struct Diagnosed(fanin::Diagnosed);

/// Reads captures and counters, and settles by simulation what they leave open of a scenario.
#[pyfunction]
pub fn diagnose(py: Python<'_>, means: Means, inputs: Vec<String>) -> PyResult<Diagnosed> {
    let found = means.in_lab(py, |lab, hear| {
        let mut found = lab.diagnose(&inputs)?;
        lab.calibrate(&mut found, hear)?;
        Ok(found)
    });
    finished(py, found?).map(Diagnosed)
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
    fn scenario(&self) -> Option<String> {
        self.0.diagnosis.sketch.as_ref().map(|sketch| sketch.text())
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
