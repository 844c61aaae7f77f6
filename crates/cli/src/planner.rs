//! Settings of `fanin plan --watch`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fanin::{PlanOptions, Reading, Resolved};

/// Settings of a planner beside front ends.
#[cfg_attr(not(feature = "proxy"), expect(dead_code, reason = "refused without the proxy"))]
pub struct Watch<'a> {
    /// Folder of plans, which the front ends share.
    pub folder: &'a Path,
    /// Logs of the front ends.
    pub logs: &'a [PathBuf],
    pub every: Duration,
    pub reading: Reading,
    pub wish: PlanOptions,
    pub cluster: &'a Resolved,
    pub json: bool,
}
