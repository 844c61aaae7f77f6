//! A MapReduce job.

use crate::facts::{Facts, Moves, Swept};
use crate::problem::{Wrong, wrong};
use crate::settings::Settings;

pub(super) const FACTS: Facts = Facts { moves, says, check, ..Facts::BETWEEN };

fn moves(s: &Settings) -> Moves {
    let (m, nodes) = (&s.mapreduce, f64::from(s.servers()));
    let fetches = f64::from(m.maps) * f64::from(m.reduces.0.unwrap_or(s.servers()));
    Moves { flows: fetches * (nodes - 1.0) / nodes, bytes: m.input.0 as f64, draws: 0.0 }
}

fn says(s: &Settings, _: &Swept) -> String {
    let m = &s.mapreduce;
    format!("MapReduce over {}: {} maps, {} reduces", m.input, m.maps, m.reduces.0.unwrap_or(s.servers()))
}

fn check(s: &Settings) -> Result<(), Wrong> {
    let m = &s.mapreduce;
    if m.input.0 < u64::from(m.maps) {
        return wrong(&["mapreduce.input"], format!("{} leave less than a byte for each of {} maps", m.input, m.maps));
    }
    if s.workload.request.0 == 0 {
        return wrong(&["workload.request"], "a mapreduce job's nodes ask each other: a request has at least 1 B");
    }
    Ok(())
}
