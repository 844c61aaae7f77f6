//! Flows of random sizes at random times.

use crate::facts::{Facts, Leaves, Moves};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    all_hosts: true,
    poisson: true,
    lasts: true,
    leaves: Leaves::Time,
    moves: |s| {
        let (flows, bytes) = s.poisson(f64::from(s.hosts()), s.given_s());
        Moves { flows, bytes, ..Moves::default() }
    },
    says: |s, swept| {
        format!("Poisson flows for {} between {} hosts: {}", s.workload.duration, swept.hosts, swept.poisson)
    },
    check: |s| match s.workload.load.0 {
        Some(_) => Ok(()),
        None => wrong(
            &["workload.kind"],
            "the poisson workload needs `workload.load`, a share of the hosts' links such as 0.5",
        ),
    },
    ..Facts::BETWEEN
};
