//! Long flows.

use crate::facts::{Facts, Leaves, Moves, Payload};

pub(super) const FACTS: Facts = Facts {
    asks: false,
    limits: false,
    endless: true,
    payload: Payload::Own,
    leaves: Leaves::Time,
    moves: |s| Moves { flows: f64::from(s.servers()) * f64::from(s.workload.streams), ..Moves::default() },
    says: |s, _| format!("long flows for {}", s.workload.duration),
    ..Facts::READS
};
