//! Loading a scenario with the files that it names, for all commands and papers.

use std::io;
use std::path::{Path, PathBuf};

use fanin_spec::{Problem, Scenario, Variant};

use crate::input::{self, NAMED_MAX, SCENARIO_MAX};

/// A scenario and its text.
#[derive(Clone)]
pub struct Loaded {
    /// Text of the file.
    pub text: String,
    /// Parsed scenario.
    pub scenario: Scenario,
    folder: PathBuf,
}

/// Why loading failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Unreadable file.
    #[error(transparent)]
    Unread(#[from] io::Error),
    /// Invalid scenario.
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
    /// Parses the text of a scenario as if it had been read from this path.
    ///
    /// # Errors
    /// The first error in the text.
    pub fn parse(path: &Path, text: String) -> Result<Loaded, Problem> {
        let scenario = Scenario::parse(&path.display().to_string(), &text)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(Loaded { text, scenario, folder })
    }

    /// The schemes, resolved; named files are relative to the scenario.
    ///
    /// # Errors
    /// Settings that cannot work, with their place.
    pub fn variants(&self) -> Result<Vec<Variant>, Problem> {
        let variants = self.scenario.variants_with(&|file| self.named(file))?;
        variants.iter().try_for_each(plan_fits)?;
        Ok(variants)
    }

    /// Reads a named file: returns its path for messages, and its contents.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn named(&self, file: &str) -> Result<(String, Vec<u8>), String> {
        let path = self.folder.join(file);
        let name = path.display().to_string();
        match input::bytes(&path, NAMED_MAX) {
            Ok(bytes) => Ok((name, bytes)),
            Err(error) => Err(format!("cannot read {name}: {error}")),
        }
    }
}

/// Refuses a placement plan that does not fit the cluster of every point.
fn plan_fits(variant: &Variant) -> Result<(), Problem> {
    let runs = (0..variant.points.len()).filter_map(|place| variant.at(place, variant.settings.run.first_seed));
    runs.into_iter().try_for_each(|spec| fanin_assemble::fits(&spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_are_relative_to_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        std::fs::write(&path, "schemes = [\"dctcp\"]\n[workload]\nkind = \"flows\"\nfile = \"a.csv\"\n").unwrap();
        let missing = load(&path).unwrap().variants().unwrap_err().to_string();
        assert!(missing.contains("cannot read") && missing.contains("a.csv"), "{missing}");
        std::fs::write(folder.path().join("a.csv"), "src,dst,bytes,start_us\n0,1,5000,0\n").unwrap();
        assert_eq!(load(&path).unwrap().variants().unwrap().len(), 1);
    }

    #[test]
    fn distinguishes_unreadable_and_invalid_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        assert!(matches!(load(&path), Err(LoadError::Unread(_))));
        std::fs::write(&path, "scemes = []\n").unwrap();
        assert!(matches!(load(&path), Err(LoadError::Problem(_))));
    }
}
