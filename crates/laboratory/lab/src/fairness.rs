//! Fairness of a run.

use std::collections::BTreeMap;

use fanin_tables::{FlowKind, FlowRow, RunTables};

use crate::stats::{self, Interval};

/// Jain's index of a run's flows; `None` if they are parts of one job, or nothing was delivered.
pub fn jain(run: &RunTables, servers: u32, clients: u32) -> Option<f64> {
    let of_kind = |kind: FlowKind| run.flows.iter().filter(move |flow| flow.class == kind);
    let speed = |flow: &FlowRow| Some(flow.fct_ps.map_or(0.0, |fct| flow.ideal_ps.unwrap_or(0) as f64 / fct as f64));
    match run.flows.iter().map(|flow| flow.class).next()? {
        FlowKind::Long => {
            let mut moved = moved(of_kind(FlowKind::Long));
            // Flows of the workload; one that never opened its connection counts as zero.
            if run.flows.iter().all(|flow| flow.round.is_none()) {
                moved.resize(servers as usize, 0.0);
            }
            stats::jain(&moved)
        }
        FlowKind::Answer => stats::jain(&server_goodputs(run, servers as usize * clients as usize)),
        _ => stats::jain(&run.flows.iter().filter(|flow| flow.class.is_own()).filter_map(speed).collect::<Vec<_>>()),
    }
}

/// Bytes delivered by long flows for each sender and receiver.
fn moved<'a>(flows: impl Iterator<Item = &'a FlowRow>) -> Vec<f64> {
    let mut moved: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    flows.for_each(|flow| *moved.entry((flow.to_host, flow.from_host)).or_default() += flow.delivered_bytes);
    moved.values().map(|&bytes| bytes as f64).collect()
}

/// Goodput of each server to each client while it responds, counting complete responses: bytes per picosecond, for `answerers`
/// servers of all clients.
fn server_goodputs(run: &RunTables, answerers: usize) -> Vec<f64> {
    let mut sums: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for flow in run.flows.iter().filter(|flow| flow.class == FlowKind::Answer) {
        if let Some(fct) = flow.fct_ps {
            let sum = sums.entry((flow.to_host, flow.from_host)).or_default();
            *sum = (sum.0 + flow.delivered_bytes, sum.1 + fct);
        }
    }
    let mut goodputs: Vec<f64> = sums.values().map(|&(bytes, ps)| bytes as f64 / ps.max(1) as f64).collect();
    goodputs.resize(goodputs.len().max(answerers), 0.0);
    goodputs
}

/// Jain's index of the servers' goodputs within each finished round. Servers that wait in different rounds are equal over a run but not
/// within rounds. Without rounds: the index of long flows of a list within each interval between starts or stops.
///
/// Index: Jain, Chiu, Hawe, DEC TR-301, 1984. Short-term fairness applies it to a window, here a round.
pub fn jain_by_round(run: &RunTables) -> Vec<f64> {
    if run.queries.is_empty() {
        return jain_by_phase(run);
    }
    let mut rounds: BTreeMap<u64, BTreeMap<u32, (u64, u64)>> = BTreeMap::new();
    for flow in run.flows.iter().filter(|flow| flow.class == FlowKind::Answer) {
        if let (Some(round), Some(fct)) = (flow.round, flow.fct_ps) {
            let sum = rounds.entry(round).or_default().entry(flow.from_host).or_default();
            *sum = (sum.0 + flow.delivered_bytes, sum.1 + fct);
        }
    }
    let ended = run.queries.iter().filter(|query| query.qct_ps.is_some());
    let goodputs = ended.filter_map(|query| rounds.get(&query.round.into()));
    let of = |servers: &BTreeMap<u32, (u64, u64)>| {
        stats::jain(&servers.values().map(|&(bytes, ps)| bytes as f64 / ps.max(1) as f64).collect::<Vec<_>>())
    };
    goodputs.filter_map(of).collect()
}

fn jain_by_phase(run: &RunTables) -> Vec<f64> {
    let mut phases: BTreeMap<u64, Vec<&FlowRow>> = BTreeMap::new();
    for flow in run.flows.iter().filter(|flow| flow.class == FlowKind::Long) {
        flow.round.into_iter().for_each(|phase| phases.entry(phase).or_default().push(flow));
    }
    // A single flow has no fairness.
    let shared = phases.values().filter(|flows| flows.len() > 1);
    shared.filter_map(|flows| stats::jain(&moved(flows.iter().copied()))).collect()
}

/// Mean over each seed's rounds, then over seeds.
pub(crate) fn mean_of_rounds(by_seed: &[Vec<f64>]) -> Option<Interval> {
    let means: Vec<f64> = by_seed.iter().filter_map(|rounds| stats::mean(rounds)).collect();
    stats::bounded_interval(&means, 1.0).map(Interval::six_digits)
}

#[cfg(test)]
mod tests {
    use fanin_tables::QueryRow;

    use super::*;

    fn answer(round: u64, from_host: u32, ms: Option<u64>) -> FlowRow {
        let fct_ps = ms.map(|ms| ms * 1_000_000_000);
        FlowRow { round: Some(round), from_host, delivered_bytes: 3_000, fct_ps, ..FlowRow::default() }
    }

    fn round(round: u32, qct_ps: Option<u64>) -> QueryRow {
        QueryRow { round, qct_ps, ..QueryRow::default() }
    }

    #[test]
    fn servers_that_alternate_are_fair_over_the_run_only() {
        // 3 kB in 1 ms and in 3 ms: speeds of 3 and 1, (3 + 1)^2 / (2 (9 + 1)) = 0.8.
        let flows = vec![answer(0, 1, Some(1)), answer(0, 2, Some(3)), answer(1, 1, Some(3)), answer(1, 2, Some(1))];
        let run = RunTables { flows, queries: vec![round(0, Some(3)), round(1, Some(3))], ..RunTables::default() };
        assert_eq!(jain(&run, 2, 1), Some(1.0));
        assert_eq!(jain_by_round(&run).into_iter().map(stats::six_digits).collect::<Vec<_>>(), [0.8, 0.8]);
    }

    #[test]
    fn unfinished_rounds_do_not_count() {
        let flows = vec![answer(0, 1, Some(2)), answer(0, 2, Some(2)), answer(1, 1, Some(1)), answer(1, 2, None)];
        let run = RunTables { flows, queries: vec![round(0, Some(2)), round(1, None)], ..RunTables::default() };
        assert_eq!(jain_by_round(&run), [1.0]);
        assert!(jain_by_round(&RunTables { queries: Vec::new(), ..run }).is_empty());
    }

    #[test]
    fn judges_long_flows_by_interval() {
        let moved = |phase, from_host, delivered_bytes| FlowRow {
            class: FlowKind::Long,
            round: Some(phase),
            from_host,
            delivered_bytes,
            ..FlowRow::default()
        };
        // Alone, then 3 to 1, (3 + 1)^2 / (2 (9 + 1)), then even; over the run 9 to 3.
        let flows = vec![moved(0, 1, 4), moved(1, 1, 3), moved(1, 2, 1), moved(2, 1, 2), moved(2, 2, 2)];
        let run = RunTables { flows, ..RunTables::default() };
        assert_eq!(jain_by_round(&run).into_iter().map(stats::six_digits).collect::<Vec<_>>(), [0.8, 1.0]);
        assert_eq!(jain(&run, 9, 1).map(stats::six_digits), Some(0.8));
    }

    #[test]
    fn combines_several_responses_of_a_server_in_a_round() {
        // 6 kB in 4 ms beside 3 kB in 2 ms: the same speed.
        let flows = vec![answer(0, 1, Some(1)), answer(0, 1, Some(3)), answer(0, 2, Some(2))];
        let run = RunTables { flows, queries: vec![round(0, Some(4))], ..RunTables::default() };
        assert_eq!(jain_by_round(&run), [1.0]);
    }
}
