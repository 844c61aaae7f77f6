//! An aggregator and its workers.

use super::barrier::{answers, answers_of};
use crate::facts::Facts;
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    many_clients: true,
    lasts: false,
    stands: false,
    moves: |s| answers_of(s, s.workload.queries),
    says: |s, _| format!("web search, up to {} queries: {}", s.workload.queries, answers(s)),
    check: |s| match s.workload.queries == 0 || s.workload.request.0 == 0 {
        true => wrong(
            &["workload.queries", "workload.request"],
            "a web search needs at least one query, and a request of at least 1 B",
        ),
        false => Ok(()),
    },
    ..Facts::READS
};
