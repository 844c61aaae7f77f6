//! How far verdicts hang on what a paper leaves open: one parameter at a time goes to either end of its plausible range.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was found, by claim.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// Each claim, and the settings under which its verdict is another.
    pub hangs_on: BTreeMap<String, Vec<String>>,
}

impl Sensitivity {
    /// Whether a claim keeps its verdict; `None` where nobody looked.
    pub fn robust(&self, claim: &str) -> Option<bool> {
        self.hangs_on.get(claim).map(Vec::is_empty)
    }
}
