//! The operations of a trace.

use super::flows::last_part;
use crate::facts::{Facts, Moves};
use crate::problem::wrong;

/// Bytes of memory per operation in a run.
const OPERATION: f64 = 120.0;

pub(super) const FACTS: Facts = Facts {
    from_file: true,
    stands: true,
    moves: |s| {
        let Some(trace) = &s.inputs.trace else { return Moves::default() };
        let (flows, bytes) = trace.sums();
        let operations = trace.ranks().iter().map(Vec::len).sum::<usize>() as f64;
        Moves { flows, bytes, held: [operations * OPERATION; 2], ..Moves::default() }
    },
    says: |s, swept| {
        let of = s.inputs.trace.as_ref().map_or((0, ""), |trace| (trace.ranks().len(), trace.name()));
        format!("{} ranks of {} on {} hosts", of.0, last_part(of.1), swept.hosts)
    },
    check: |s| match s.workload.file.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the trace workload needs `workload.file`, such as \"step.goal\""),
    },
    ..Facts::BETWEEN
};
