//! Ring all-reduces.

use crate::facts::{Facts, Moves, Payload};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    all_hosts: true,
    stands: true,
    payload: Payload::Fragments,
    // Each host sends all but one of its vector's parts, twice.
    moves: |s| {
        let (hosts, others, all) = (f64::from(s.hosts()), f64::from(s.servers()), f64::from(s.workload.queries));
        let vector = s.answer(s.servers(), 0).0 as f64;
        Moves { flows: 2.0 * hosts * others * all, bytes: 2.0 * others * vector * all, ..Moves::default() }
    },
    says: |s, swept| {
        let vector = s.workload.fragment.0.map_or(String::new(), |size| size.to_string());
        format!("up to {} ring all-reduces of {vector} over {} hosts", s.workload.queries, swept.hosts)
    },
    check: |s| match (s.workload.fragment.0, s.hosts()) {
        (Some(vector), hosts) if vector.0 < hosts.into() => {
            wrong(&["workload.fragment"], format!("{vector} is less than one byte for each of {hosts} hosts"))
        }
        _ if s.workload.queries == 0 => wrong(&["workload.queries"], "an all-reduce needs at least 1 query"),
        _ => Ok(()),
    },
    ..Facts::BETWEEN
};
