//! The operations of a trace.

use super::all_reduce::volume;
use super::flows::last_part;
use crate::facts::{Facts, Moves};
use crate::problem::wrong;
use crate::settings::Workload;
use crate::trace::{Collective, CollectiveKind};

/// Bytes of memory per operation in a run.
const OPERATION: f64 = 120.0;

pub(super) const FACTS: Facts = Facts {
    from_file: true,
    stands: true,
    moves: |s| {
        let Some(trace) = &s.inputs.trace else { return Moves::default() };
        let (mut flows, mut bytes) = trace.sums();
        for collective in trace.collectives() {
            let (count, size) = moved(&s.workload, collective, trace.members(collective).len() as u32);
            (flows, bytes) = (flows + count, bytes + size);
        }
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

/// Number of messages of a collective operation, and their bytes together.
fn moved(workload: &Workload, collective: &Collective, members: u32) -> (f64, f64) {
    let bytes = collective.bytes as f64;
    let others = f64::from(members.saturating_sub(1));
    let pairs = f64::from(members) * others;
    match collective.kind {
        CollectiveKind::AllReduce => {
            let (count, vectors) = volume(workload.algorithm, workload.chunk.0, members, collective.bytes);
            (count, vectors * bytes)
        }
        CollectiveKind::AllGather => (pairs, pairs * bytes),
        CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => (pairs, pairs * bytes / f64::from(members)),
        CollectiveKind::Broadcast | CollectiveKind::Reduce => {
            (others * (bytes / workload.chunk.0 as f64).ceil().max(1.0), others * bytes)
        }
        CollectiveKind::Gather => (others, others * bytes),
        CollectiveKind::Scatter => (others, others * bytes / f64::from(members)),
    }
}
