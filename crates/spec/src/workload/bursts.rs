//! Bursts into the client.

use super::flows::last_part;
use crate::facts::{Facts, Leaves, Moves, Payload};
use crate::problem::wrong;

pub(super) const FACTS: Facts = Facts {
    asks: false,
    payload: Payload::Own,
    leaves: Leaves::Nothing,
    setup_rtts: None,
    moves: |s| {
        let (_, flows, bytes) = s.inputs.bursts.as_ref().map_or((0.0, 0.0, 0.0), |bursts| bursts.within(s.given_s()));
        Moves { flows, bytes, ..Moves::default() }
    },
    says: |s, _| {
        let name = s.inputs.bursts.as_ref().map_or("", |bursts| bursts.name());
        format!("bursts of {} for {}", last_part(name), s.workload.duration)
    },
    check: |s| match s.workload.bursts.0 {
        Some(_) => Ok(()),
        None => wrong(&["workload.kind"], "the bursts workload needs `workload.bursts`, such as \"bursts.csv\""),
    },
    ..Facts::READS
};
