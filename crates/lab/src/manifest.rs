//! Where results come from.

/// What `manifest.json` says besides: enough to do it again.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The version of the program.
    pub version: String,
    /// The command's arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The scenario's text as it was read.
    pub scenario_text: String,
}
