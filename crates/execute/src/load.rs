//! A scenario from its file, with the files that it names: one way, for every command and for papers.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fanin_spec::{Problem, Scenario, Variant};

use crate::input::{self, NAMED_MAX, SCENARIO_MAX};

/// A scenario as its file has it.
#[derive(Clone)]
pub struct Loaded {
    /// The file's text.
    pub text: String,
    /// What it says.
    pub scenario: Scenario,
    folder: PathBuf,
}

/// Why there is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error(transparent)]
    Unread(#[from] io::Error),
    /// What it says is not understood.
    #[error(transparent)]
    Problem(#[from] Problem),
}

/// Reads a scenario.
///
/// # Errors
/// [`LoadError`].
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    Ok(Loaded::parse(path, input::text(path, SCENARIO_MAX)?)?)
}

impl Loaded {
    /// Takes the text of a scenario as if it had been read from there.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(path: &Path, text: String) -> Result<Loaded, Problem> {
        let scenario = Scenario::parse(&path.display().to_string(), &text)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(Loaded { text, scenario, folder })
    }

    /// The schemes, resolved: files that it names lie beside it.
    ///
    /// # Errors
    /// What cannot work, with its place.
    pub fn variants(&self) -> Result<Vec<Variant>, Problem> {
        let variants = self.scenario.variants_with(&|file| self.named(file))?;
        variants.iter().try_for_each(plan_fits)?;
        Ok(variants)
    }

    /// Reads a file that it names: the path for messages, and the text.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn named(&self, file: &str) -> Result<(String, String), String> {
        let path = self.folder.join(file);
        let name = path.display().to_string();
        match input::text(&path, NAMED_MAX) {
            Ok(text) => Ok((name, text)),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(format!("{name} is not a text in UTF-8")),
            Err(error) => Err(format!("{name} cannot be read: {error}")),
        }
    }
}

/// Refuses a plan of placement that is not for the cluster of every point; it is for one placement, whatever the seed.
fn plan_fits(variant: &Variant) -> Result<(), Problem> {
    let runs = (0..variant.points.len()).filter_map(|place| variant.at(place, variant.settings.run.first_seed));
    runs.into_iter().try_for_each(|spec| fanin_apps::fits(&spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_a_scenario_names_lie_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        std::fs::write(&path, "schemes = [\"dctcp\"]\n[workload]\nkind = \"flows\"\nfile = \"a.csv\"\n").unwrap();
        let missing = load(&path).unwrap().variants().unwrap_err().to_string();
        assert!(missing.contains("a.csv cannot be read"), "{missing}");
        std::fs::write(folder.path().join("a.csv"), "src,dst,bytes,start_us\n0,1,5000,0\n").unwrap();
        assert_eq!(load(&path).unwrap().variants().unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_read_and_what_is_not_understood_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        assert!(matches!(load(&path), Err(LoadError::Unread(_))));
        std::fs::write(&path, "scemes = []\n").unwrap();
        assert!(matches!(load(&path), Err(LoadError::Problem(_))));
    }
}
