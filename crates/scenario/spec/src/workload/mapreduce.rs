//! A MapReduce job.

use fanin_fabric::HostId;

use crate::facts::{Facts, Moves, Swept};
use crate::problem::{Wrong, wrong};
use crate::settings::Settings;

pub(super) const FACTS: Facts = Facts { moves, says, check, ..Facts::BETWEEN };

/// Bytes of memory for a fetch in its reduce's list, for a disk's task, and for a task's row in the results.
const FETCH: f64 = 4.0;
const DISK_JOB: f64 = 8.0;
const ROW: f64 = 88.0;

fn moves(s: &Settings) -> Moves {
    let (m, nodes) = (&s.mapreduce, f64::from(s.servers()));
    let (maps, reduces) = (f64::from(m.maps), f64::from(m.reduces.0.unwrap_or(s.servers())));
    // Each reduce fetches from every map; maps on other nodes send over the network.
    let fetches = maps * reduces;
    let replicas = f64::from(m.output_replicas.min(s.servers())) - 1.0;
    let splits =
        maps * (size_of::<Vec<HostId>>() as f64 + f64::from(m.replicas.min(s.servers())) * size_of::<HostId>() as f64);
    let tasks = (maps + reduces) * ROW;
    Moves {
        flows: fetches * (nodes - 1.0) / nodes + reduces * replicas,
        bytes: m.input.0 as f64 * (1.0 + replicas),
        open: 0.0,
        draws: fetches,
        held: [fetches * FETCH + splits + tasks, fetches * DISK_JOB],
    }
}

fn says(s: &Settings, _: &Swept) -> String {
    let m = &s.mapreduce;
    format!("MapReduce over {}: {} maps, {} reduces", m.input, m.maps, m.reduces.0.unwrap_or(s.servers()))
}

fn check(s: &Settings) -> Result<(), Wrong> {
    let m = &s.mapreduce;
    if m.input.0 < u64::from(m.maps) {
        return wrong(&["mapreduce.input"], format!("{} is less than one byte for each of {} maps", m.input, m.maps));
    }
    if s.workload.request.0 == 0 {
        return wrong(&["workload.request"], "nodes of a mapreduce job send requests: use a request of at least 1 B");
    }
    Ok(())
}
