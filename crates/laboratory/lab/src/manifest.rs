//! Provenance of results.

/// Additional contents of `manifest.json`, for repeating the experiment.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Version of the program.
    pub version: String,
    /// The command's arguments, without the program's name.
    pub arguments: Vec<String>,
    /// Text of the scenario.
    pub scenario_text: String,
}
