//! Result of a comparison or a run.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::prelude::*;

use crate::failure::{claimed, held, raised};
use crate::frame::Table;
use crate::show;

/// Result of a comparison or a run.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Comparison {
    of: fanin::Comparison,
    /// The page, once requested.
    page: Mutex<Option<String>>,
}

impl From<fanin::Comparison> for Comparison {
    fn from(of: fanin::Comparison) -> Comparison {
        Comparison { of, page: Mutex::default() }
    }
}

#[pymethods]
impl Comparison {
    /// The output of `fanin compare --json`, or for one run of `fanin run --json`.
    fn json(&self) -> String {
        self.of.to_json()
    }

    /// The summary as in `fanin compare --json`, also for one run.
    fn summary(&self) -> String {
        serde_json::to_string(self.of.summary()).unwrap_or_default()
    }

    /// The names of its tables.
    fn tables(&self) -> Vec<&'static str> {
        self.of.tables()
    }

    /// One of its tables, with a note if some runs have not finished.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let table = py.detach(|| self.of.table(name)).map_err(|why| raised(py, &why))?;
        let [done, planned] = self.of.finished();
        let mut says = vec![("fanin.engine".to_string(), fanin::engine().to_string())];
        if done < planned {
            says.push(("fanin.cut_short".into(), format!("{done} of {planned} runs finished")));
        }
        Table::of(table, &says)
    }

    /// Numbers of finished and planned runs.
    #[getter]
    fn finished(&self) -> [usize; 2] {
        self.of.finished()
    }

    /// Runs that came from the cache.
    #[getter]
    fn cached(&self) -> usize {
        self.of.outcome().cached
    }

    /// Warnings about the results.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.of.warnings().to_vec()
    }

    /// Notes on the execution.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.of.outcome().notices.clone()
    }

    /// Runs ended by an error in the caller's congestion control, with its message.
    #[getter]
    fn raised(&self) -> Vec<String> {
        self.of.outcome().raised.iter().map(ToString::to_string).collect()
    }

    /// Write the files of `--out`.
    fn write(&self, py: Python<'_>, folder: PathBuf, arguments: Vec<String>) -> PyResult<()> {
        let out = claimed(py, folder)?;
        py.detach(|| self.of.write(out, &arguments)).map_err(|why| raised(py, &why))
    }

    /// The report's page.
    fn page(&self, py: Python<'_>, arguments: Vec<String>) -> PyResult<String> {
        if let Some(page) = &*held(&self.page) {
            return Ok(page.clone());
        }
        let page = py.detach(|| self.of.report(&arguments)).map_err(|why| raised(py, &why))?.html();
        held(&self.page).replace(page.clone());
        Ok(page)
    }

    /// The table for a terminal of this width.
    fn shown(&self) -> String {
        show::comparison(&self.of)
    }
}
