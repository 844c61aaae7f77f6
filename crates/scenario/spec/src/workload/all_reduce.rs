//! All-reduces.

use fanin_units::Bytes;

use crate::facts::{Facts, Moves, Payload};
use crate::problem::wrong;
use crate::settings::Algorithm;

pub(super) const FACTS: Facts = Facts {
    all_hosts: true,
    stands: true,
    payload: Payload::Fragments,
    moves: |s| {
        let all = f64::from(s.workload.queries);
        let Bytes(vector) = s.answer(s.servers(), 0);
        let (transfers, vectors) = volume(s.workload.algorithm, s.workload.chunk.0, s.hosts(), vector);
        let vector = vector as f64;
        // The schedule is held from the start.
        Moves { flows: transfers * all, bytes: vectors * vector * all, held: [40.0 * transfers; 2], ..Moves::default() }
    },
    says: |s, swept| {
        let vector = s.workload.fragment.0.map_or(String::new(), |size| size.to_string());
        let algorithm = match s.workload.algorithm {
            Algorithm::Ring => "ring",
            Algorithm::Tree => "two-tree",
            Algorithm::HalvingDoubling => "halving-doubling",
        };
        format!("up to {} {algorithm} all-reduces of {vector} over {} hosts", s.workload.queries, swept.hosts)
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

/// Transfers of one all-reduce, and how many vectors they carry together.
pub(super) fn volume(algorithm: Algorithm, chunk: u64, members: u32, vector: u64) -> (f64, f64) {
    let (hosts, others) = (f64::from(members), f64::from(members.saturating_sub(1)));
    match algorithm {
        // Each host sends all but one of its vector's parts, twice.
        Algorithm::Ring => (2.0 * hosts * others, 2.0 * others),
        // Each tree's links carry half of the vector up and down.
        Algorithm::Tree => (4.0 * others * vector.div_ceil(2 * chunk).max(1) as f64, 2.0 * others),
        // As a ring among a power of two of hosts; each other one gives and gets a vector.
        Algorithm::HalvingDoubling => {
            let steps = members.ilog2();
            let power = f64::from(1 << steps);
            let beyond = hosts - power;
            (2.0 * (power * f64::from(steps) + beyond), 2.0 * (power - 1.0 + beyond))
        }
    }
}
