//! All-to-alls in sequence.

use super::flows::last_part;
use crate::facts::{Facts, Moves, Payload};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    all_hosts: true,
    stands: true,
    limits: true,
    payload: Payload::Own,
    moves: |s| {
        let all = f64::from(s.workload.queries);
        let (flows, bytes) = match &s.inputs.matrix {
            Some(matrix) => matrix.mean(),
            None => {
                let flows = f64::from(s.hosts()) * f64::from(s.servers());
                (flows, flows * s.answer(s.servers(), 0).0 as f64)
            }
        };
        Moves { flows: flows * all, bytes: bytes * all, open: flows, ..Moves::default() }
    },
    says: |s, swept| {
        let of = match (&s.inputs.matrix, s.workload.fragment.0) {
            (Some(matrix), _) => format!("by {}", last_part(matrix.name())),
            (None, size) => format!("of {} from each to each", size.map_or(String::new(), |size| size.to_string())),
        };
        format!("up to {} all-to-alls {of} between {} hosts", s.workload.queries, swept.hosts)
    },
    check: |s| match (s.workload.fragment.0, &s.workload.matrix.0) {
        (None, None) => wrong(
            &["workload.kind"],
            "an all-to-all needs `workload.fragment`, such as \"256 KiB\", or `workload.matrix`, such as \"matrix.csv\"",
        ),
        (Some(fragment), None) if fragment.0 == 0 => wrong(&["workload.fragment"], "a part of 0 B: use at least 1 B"),
        _ if s.workload.block.0.is_some() => wrong(
            &["workload.block"],
            "an all-to-all uses `workload.fragment` for each host; `workload.block` does not apply",
        ),
        _ if s.workload.queries == 0 => wrong(&["workload.queries"], "an all-to-all needs at least 1 query"),
        _ => Ok(()),
    },
    ..Facts::BETWEEN
};
