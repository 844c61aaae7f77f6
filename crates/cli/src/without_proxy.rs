//! Commands of the proxy in a program that was built without it: each is refused.

use std::path::Path;

use fanin::Rule;
use fanin_proxy::AgentArguments;

use crate::arguments::FrontArguments;
use crate::failure::Failure;

pub fn front(_: &FrontArguments) -> Result<(), Failure> {
    Err(Failure::not_built("proxy"))
}

pub fn agent(_: &AgentArguments) -> Result<(), Failure> {
    Err(Failure::not_built("proxy"))
}

/// The hash rule of a front end.
pub fn rule(_: &Path) -> Result<Rule, Failure> {
    Err(Failure::not_built("proxy"))
}

pub mod planner {
    use std::path::Path;
    use std::time::Duration;

    use fanin::Resolved;

    use crate::failure::Failure;
    use crate::planner::Watch;

    /// No planner has a folder here.
    pub enum Folder {}

    impl Folder {
        pub fn take_over(_: &Path, _: Duration, _: &Resolved) -> Result<Folder, Failure> {
            Err(Failure::not_built("proxy"))
        }

        pub fn watch(self, _: Watch<'_>) -> Result<(), Failure> {
            match self {}
        }
    }
}
