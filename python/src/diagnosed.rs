//! Diagnosis of captures and counters.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::failure::{claimed, raised};
use crate::lab::{Means, finished};

/// Result of a diagnosis.
#[pyclass(module = "fanin._fanin")]
pub struct Diagnosed(fanin::Diagnosed);

/// Read captures and counters, and settle open settings of the scenario by simulation.
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
    /// The output of `fanin diagnose --json`.
    fn json(&self) -> String {
        self.0.to_json()
    }

    /// One-sentence summary.
    fn says(&self) -> &str {
        &self.0.diagnosis.verdict.says
    }

    /// The text of a matching scenario, if one could be made.
    fn scenario(&self) -> Option<String> {
        self.0.diagnosis.sketch.as_ref().map(|sketch| sketch.text())
    }

    /// The page with its charts.
    fn page(&self) -> String {
        self.0.page()
    }

    /// Write the files of `--out`.
    fn write(&mut self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let out = claimed(py, folder.clone())?;
        self.0.write(out, &folder).map_err(|why| raised(py, &why))
    }
}
