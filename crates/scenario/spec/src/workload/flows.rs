//! The flows of a file.

use crate::facts::{Facts, Moves};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    listed: true,
    from_file: true,
    moves: |s| {
        let list = s.inputs.flows.as_ref().map_or(&[][..], |flows| flows.list());
        let bytes = s.listed_bytes();
        Moves { flows: list.len() as f64, bytes, ..Moves::default() }
    },
    says: |s, swept| {
        let list = s.inputs.flows.as_ref().map_or((0, ""), |flows| (flows.list().len(), flows.name()));
        format!("{} flows of {} between {} hosts", list.0, last_part(list.1), swept.hosts)
    },
    check: |s| match s.workload.file.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the flows workload needs `workload.file`, such as \"flows.csv\""),
    },
    ..Facts::BETWEEN
};

/// The last part of a path.
pub(super) fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
