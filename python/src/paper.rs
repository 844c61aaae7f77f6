//! Papers: reproduction of their figures, and verdicts on their claims.

use std::path::{Path, PathBuf};

use fanin::paper::{self, Conditions, Figure, Mode, Paper, Scorecard, Setting};
use pyo3::prelude::*;

use crate::failure::{asked, claimed, raised};
use crate::lab::{Means, finished};

/// Results of papers.
#[pyclass(frozen, module = "fanin._fanin")]
pub struct Reproduced {
    of: paper::Reproduced,
    card: Scorecard,
}

/// The folder of papers: the given one, else that of this version.
fn folder(given: Option<PathBuf>) -> PathBuf {
    given.unwrap_or_else(|| Path::new(paper::EMBEDDED).to_path_buf())
}

/// The names of papers.
#[pyfunction]
pub fn papers(papers_in: Option<PathBuf>) -> Vec<String> {
    paper::names(&folder(papers_in))
}

/// Reproduce papers, or one of their figures.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
pub fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    means: Means,
    figure: Option<String>,
    quick: bool,
    seeds: Option<u32>,
    set: Vec<String>,
    papers_in: Option<PathBuf>,
) -> PyResult<Reproduced> {
    let folder = folder(papers_in);
    let known = paper::names(&folder);
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(asked(py, &format!("unknown paper `{name}`; the papers are {}", known.join(", "))));
    }
    let read = names.iter().map(|name| paper::read(&folder, name)).collect::<Result<Vec<Paper>, _>>();
    let mut papers = read.map_err(|why| raised(py, &why.into()))?;
    if let Some(id) = &figure {
        papers.retain(|paper| paper.figures.iter().any(|figure| figure.id == *id));
        if papers.is_empty() {
            return Err(asked(py, &format!("figure: unknown figure {id} of {}", names.join(", "))));
        }
    }
    let conditions = Conditions {
        mode: if quick { Mode::Quick } else { Mode::Full },
        seeds,
        first_seed: None,
        set: set.iter().map(|assignment| Setting::everywhere(assignment)).collect(),
    };
    let wanted = |one: &Figure| figure.as_ref().is_none_or(|id| *id == one.id);
    let of = finished(py, means.in_lab(py, |lab, hear| lab.reproduce(&papers, &wanted, &conditions, hear))?)?;
    let card = Scorecard::new(&of, env!("CARGO_PKG_VERSION"));
    Ok(Reproduced { of, card })
}

#[pymethods]
impl Reproduced {
    /// The scorecard, as in `fanin reproduce --json`.
    fn json(&self) -> String {
        serde_json::to_string(&self.card).unwrap_or_default()
    }

    /// Write the files of `--out`.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let out = claimed(py, folder)?;
        py.detach(|| out.fill_scorecard(&self.of, &self.card)).map_err(|why| raised(py, &why.into()))
    }

    /// The page of the scorecard.
    fn page(&self) -> String {
        self.of.html(&self.card)
    }
}
