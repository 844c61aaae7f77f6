//! A key that a reproduction sets in some or all scenarios.

/// A key to set in some or all scenarios.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `path.to.key=VALUE`.
    pub assignment: String,
    /// The scenarios' files; empty for all.
    pub scenarios: Vec<String>,
}

impl Setting {
    /// A key to set in all scenarios.
    pub fn everywhere(assignment: &str) -> Setting {
        Setting { assignment: assignment.into(), scenarios: Vec::new() }
    }

    /// Whether it applies to this scenario.
    pub fn is_of(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|name| name == scenario)
    }
}
