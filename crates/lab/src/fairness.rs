//! How evenly a run serves those that want the same.

use fanin_spec::{FlowKind, FlowRow, RunTables};

use crate::stats;

/// Jain's index over what a run gave its flows; `None` where they are parts of one job, or got nothing.
pub(crate) fn jain(run: &RunTables, servers: u32) -> Option<f64> {
    let of_kind = |kind: FlowKind| run.flows.iter().filter(move |flow| flow.class == kind);
    let speed = |flow: &FlowRow| Some(flow.fct_ps.map_or(0.0, |fct| flow.ideal_ps.unwrap_or(0) as f64 / fct as f64));
    let own = |flow: &FlowRow| matches!(flow.class, FlowKind::Listed | FlowKind::Shuffle | FlowKind::Poisson);
    match run.flows.iter().map(|flow| flow.class).next()? {
        FlowKind::Long => {
            let mut moved = vec![0.0; servers as usize];
            of_kind(FlowKind::Long).for_each(|flow| moved[flow.from_host as usize - 1] = flow.delivered_bytes as f64);
            stats::jain(&moved)
        }
        FlowKind::Answer => stats::jain(&server_goodputs(run, servers)),
        _ => stats::jain(&run.flows.iter().filter(|flow| own(flow)).filter_map(speed).collect::<Vec<_>>()),
    }
}

/// Each server's payload over the time that it spent answering, completed answers alone: bytes a picosecond.
fn server_goodputs(run: &RunTables, servers: u32) -> Vec<f64> {
    let mut sums = vec![(0u64, 0u64); servers as usize];
    for flow in run.flows.iter().filter(|flow| flow.class == FlowKind::Answer) {
        if let (Some(sum), Some(fct)) = (sums.get_mut(flow.from_host as usize - 1), flow.fct_ps) {
            *sum = (sum.0 + flow.delivered_bytes, sum.1 + fct);
        }
    }
    sums.iter().map(|&(bytes, ps)| if ps == 0 { 0.0 } else { bytes as f64 / ps as f64 }).collect()
}
