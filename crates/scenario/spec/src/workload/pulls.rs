//! Pulls of a file.

use super::flows::last_part;
use crate::facts::{Facts, Moves};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    from_file: true,
    stands: true,
    limits: true,
    moves: |s| {
        let (flows, bytes) = s.inputs.pulls.as_ref().map_or((0.0, 0.0), |pulls| pulls.sums());
        Moves { flows, bytes, ..Moves::default() }
    },
    says: |s, swept| {
        let (pulls, name) = s.inputs.pulls.as_ref().map_or((0, ""), |pulls| (pulls.list().len(), pulls.name()));
        format!("{pulls} pulls of {} between {} hosts", last_part(name), swept.hosts)
    },
    check: |s| match s.workload.pulls.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the pulls workload needs `workload.pulls`, such as \"pulls.csv\""),
    },
    ..Facts::BETWEEN
};
