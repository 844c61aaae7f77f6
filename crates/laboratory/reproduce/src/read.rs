//! Files of a paper's folder: claims, scenarios, recorded verdicts and sensitivities.

use std::fs;
use std::io;
use std::path::Path;

use fanin_papers::{CLAIMS, Expected, Paper, PaperProblem, Scorecard, Sensitivity};
use fanin_spec::Variant;
use serde::Deserialize;

use fanin_execute::embedded::{self, EMBEDDED};
use fanin_execute::input::{self, SCENARIO_MAX};
use fanin_execute::{LoadError, load, replace};

/// Recorded verdicts.
const EXPECTED: &str = "expected.json";
/// Sensitivity of the verdicts.
pub(super) const SENSITIVITY: &str = "sensitivity.json";

/// The papers of a folder, by name; embedded ones are under [`EMBEDDED`].
pub fn names(papers: &Path) -> Vec<String> {
    if papers == Path::new(EMBEDDED) {
        return embedded::folders_with(CLAIMS).collect();
    }
    let Ok(entries) = fs::read_dir(papers) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join(CLAIMS).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Reads and checks a paper and its scenarios.
///
/// # Errors
/// The first error, with file and line.
pub fn read(papers: &Path, name: &str) -> Result<Paper, PaperProblem> {
    let folder = papers.join(name);
    let path = folder.join(CLAIMS);
    let text = input::text(&path, SCENARIO_MAX).map_err(|error| unread(&path, &error))?;
    Paper::parse(&folder, &text, &|scenario, quick| variants(&folder, scenario, quick, &[]))
}

/// The variants of a scenario in a paper's folder, with the settings of a quick reproduction and `set`; `None` if the file does not
/// exist.
pub(super) fn variants(
    folder: &Path,
    scenario: &str,
    quick: &[String],
    set: &[String],
) -> Result<Option<Vec<Variant>>, PaperProblem> {
    let path = folder.join(scenario);
    if !path.is_file() && embedded::text(&path).is_none() {
        return Ok(None);
    }
    let problem = |problem: fanin_spec::Problem| PaperProblem(problem.to_string());
    let mut loaded = load(&path).map_err(|why| match why {
        LoadError::Unread(error) => unread(&path, &error),
        LoadError::Problem(what) => problem(what),
    })?;
    for assignment in quick {
        loaded.scenario.assign(assignment, assignment).map_err(problem)?;
    }
    for assignment in set {
        loaded.scenario.assign(&format!("--set {assignment}"), assignment).map_err(problem)?;
    }
    loaded.variants().map(Some).map_err(problem)
}

/// The recorded verdicts of a paper; empty without a file.
///
/// # Errors
/// An invalid file.
pub fn recorded(folder: &Path) -> Result<Expected, PaperProblem> {
    json(&folder.join(EXPECTED), "`--record` writes a new one")
}

/// Records the verdicts of a paper, as [`Expected::note`] stores them.
///
/// # Errors
/// Errors of the file system.
pub fn record(mut expected: Expected, paper: &Paper, card: &Scorecard) -> io::Result<()> {
    expected.note(paper, card);
    replace(&paper.folder.join(EXPECTED), format!("{}\n", serde_json::to_string_pretty(&expected)?))
}

/// The recorded sensitivity of a paper's verdicts; empty without a file.
pub(super) fn sensitivity(folder: &Path) -> Result<Sensitivity, PaperProblem> {
    json(&folder.join(SENSITIVITY), "`make sensitivity` writes it")
}

/// Contents of a file; the default if it does not exist.
fn json<T: Default + for<'de> Deserialize<'de>>(path: &Path, remedy: &str) -> Result<T, PaperProblem> {
    match input::text(path, SCENARIO_MAX) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| PaperProblem(format!("{}: {error}; {remedy}", path.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(unread(path, &error)),
    }
}

fn unread(path: &Path, error: &io::Error) -> PaperProblem {
    PaperProblem(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_plan_for_another_cluster() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\n[key_value]\nplacement = \"plan.csv\"\n\
                        objects = 50\nper_request = 10\nreplicas = 1\n[sweep]\nfan_in = [3]\n";
        fs::write(folder.path().join("a.toml"), scenario).unwrap();
        fs::write(folder.path().join("plan.csv"), "object,from,to,reason\n0,1,4,popular\n").unwrap();
        let PaperProblem(problem) = variants(folder.path(), "a.toml", &[], &[]).unwrap_err();
        assert!(problem.contains("plan.csv:2: host 4 is not a server: servers are hosts 1 to 3"), "{problem}");
    }
}
