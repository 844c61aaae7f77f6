//! Jobs: how long all operations of a run take together, and which bandwidth a collective operation has.

use fanin_spec::{Kind, Settings};
use fanin_tables::{FlowKind, FlowRow, QueryRow, RunTables};

/// Time from the start of a run's first operation to the end of its last one in ms; `None` if one did not end, or the workload has no job.
pub(crate) fn job_ms(settings: &Settings, run: &RunTables) -> Option<f64> {
    let is_job = matches!(
        settings.workload.kind,
        Kind::AllReduce | Kind::AllToAll | Kind::Pulls | Kind::Trace | Kind::Shuffle | Kind::MapReduce
    );
    let end = |query: &QueryRow| Some(query.start_ps + query.qct_ps?);
    let ends: Option<Vec<u64>> = run.queries.iter().filter(|_| is_job).map(end).collect();
    let start = run.queries.iter().map(|query| query.start_ps).min()?;
    Some((ends?.into_iter().max()? - start) as f64 / 1e9)
}

/// Bus bandwidth of a run's finished collective operations in GB/s, as NCCL's tests report it: the bytes that each host's link carries per time in
/// an algorithm that moves no byte in vain. For an all-reduce of S bytes over n hosts in t seconds that is 2 (n - 1)/n S/t with any
/// algorithm, for an all-to-all the bytes between hosts by n and t. `None` if none finished, or the workload has none.
pub(crate) fn bus_gbytes_per_s(settings: &Settings, run: &RunTables) -> Option<f64> {
    let hosts = f64::from(settings.hosts());
    let times: Vec<u64> = run.queries.iter().filter_map(|query| query.qct_ps).collect();
    let bytes = match settings.workload.kind {
        Kind::AllReduce => {
            let vector = settings.workload.fragment.0?.0 as f64;
            2.0 * (hosts - 1.0) * vector * times.len() as f64
        }
        Kind::AllToAll => {
            let end = run.queries.iter().filter_map(|query| Some(query.start_ps + query.qct_ps?)).max()?;
            let finished = |of: &&FlowRow| of.fct_ps.is_some_and(|fct| of.start_ps + fct <= end);
            let parts = run.flows.iter().filter(|flow| flow.class == FlowKind::Part);
            parts.filter(finished).filter_map(|flow| flow.payload_bytes).sum::<u64>() as f64
        }
        Kind::Trace => return of_a_trace(run),
        _ => return None,
    };
    let seconds = times.iter().sum::<u64>() as f64 / 1e12;
    (seconds > 0.0).then(|| bytes / hosts / seconds / 1e9)
}

/// The same of a trace's collective operations: their bytes on the bus by their durations.
fn of_a_trace(run: &RunTables) -> Option<f64> {
    let ended = || run.collectives.iter().filter_map(|row| Some((row.bus_bps? as f64, row.took_ps? as f64 / 1e12)));
    let (bits, seconds) = ended().fold((0.0, 0.0), |(bits, all), (bps, took)| (bits + bps * took, all + took));
    (seconds > 0.0).then(|| bits / 8.0 / seconds / 1e9)
}

#[cfg(test)]
mod tests {
    use fanin_spec::Optional;
    use fanin_tables::CollectiveRow;
    use fanin_units::Bytes;

    use super::*;

    fn query(start_ps: u64, qct_ps: Option<u64>) -> QueryRow {
        QueryRow { start_ps, qct_ps, ..QueryRow::default() }
    }

    fn settings(kind: Kind) -> Settings {
        let mut settings = Settings::default();
        (settings.workload.kind, settings.workload.fan_in) = (kind, 3);
        settings.workload.fragment = Optional(Some(Bytes(1_000_000)));
        settings
    }

    #[test]
    fn bandwidth_is_that_of_nccl() {
        let ms = 1_000_000_000;
        let queries = vec![query(0, Some(ms)), query(ms, Some(3 * ms)), query(4 * ms, None)];
        let run = RunTables { queries, ..RunTables::default() };
        // 2 x 3/4 of 1 MB, twice in 4 ms.
        assert_eq!(bus_gbytes_per_s(&settings(Kind::AllReduce), &run), Some(0.75));
        let part = |start_ps, fct_ps| FlowRow {
            class: FlowKind::Part,
            payload_bytes: Some(2_000_000),
            start_ps,
            fct_ps,
            ..FlowRow::default()
        };
        // One of the third operation has arrived, which has not ended.
        let flows = vec![part(0, Some(ms)), part(ms, Some(3 * ms)), part(4 * ms, Some(ms)), part(4 * ms, None)];
        // 4 MB from 4 hosts in 4 ms.
        assert_eq!(bus_gbytes_per_s(&settings(Kind::AllToAll), &RunTables { flows, ..run }), Some(0.25));
        assert_eq!(bus_gbytes_per_s(&settings(Kind::Barrier), &RunTables::default()), None);
    }

    #[test]
    fn bandwidth_of_a_trace_is_weighted_by_durations() {
        let row = |gbps: u64, ms: u64| CollectiveRow {
            bus_bps: Some(gbps * 1_000_000_000),
            took_ps: Some(ms * 1_000_000_000),
            ..CollectiveRow::default()
        };
        let collectives = vec![row(8, 3), row(16, 1), CollectiveRow::default()];
        let run = RunTables { collectives, ..RunTables::default() };
        assert_eq!(bus_gbytes_per_s(&settings(Kind::Trace), &run), Some(1.25));
        assert_eq!(bus_gbytes_per_s(&settings(Kind::Trace), &RunTables::default()), None);
    }

    #[test]
    fn job_lasts_from_first_to_last() {
        let ms = 1_000_000_000;
        let all = vec![query(2 * ms, Some(5 * ms)), query(3 * ms, Some(ms))];
        let run = RunTables { queries: all.clone(), ..RunTables::default() };
        assert_eq!(job_ms(&settings(Kind::Pulls), &run), Some(5.0));
        assert_eq!(job_ms(&settings(Kind::Barrier), &run), None);
        let open = RunTables { queries: [all, vec![query(4 * ms, None)]].concat(), ..RunTables::default() };
        assert_eq!(job_ms(&settings(Kind::Pulls), &open), None);
    }
}
