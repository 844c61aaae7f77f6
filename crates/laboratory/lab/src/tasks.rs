//! Number of a job's running tasks over time, by phase.

use fanin_tables::{RunTables, TaskRow};

/// Number of tasks in a phase at each change: x in ms.
pub type AtWork = fn(&RunTables) -> Vec<(f64, f64)>;

/// Phases of a job.
pub const PHASES: [(&str, AtWork); 3] =
    [("maps running", maps), ("reduces shuffling", shuffling), ("reduces after their shuffle", reducing)];

/// Running map tasks.
pub fn maps(tables: &RunTables) -> Vec<(f64, f64)> {
    at_work(tables, |task| (task.kind == "map").then_some((task.start_ps, task.end_ps)))
}

/// Reduce tasks that fetch, or wait for maps to finish.
pub fn shuffling(tables: &RunTables) -> Vec<(f64, f64)> {
    at_work(tables, |task| {
        (task.kind == "reduce").then_some((task.start_ps, Some(task.input_end_ps).filter(|&end| end > 0)))
    })
}

/// Reduce tasks that merge, reduce or write.
pub fn reducing(tables: &RunTables) -> Vec<(f64, f64)> {
    at_work(tables, |task| (task.kind == "reduce" && task.input_end_ps > 0).then_some((task.input_end_ps, task.end_ps)))
}

/// Number of tasks within their span at each change: x in ms.
fn at_work(tables: &RunTables, span: impl Fn(&TaskRow) -> Option<(u64, Option<u64>)>) -> Vec<(f64, f64)> {
    let mut changes: Vec<(u64, i64)> = vec![(0, 0)];
    for (from, to) in tables.tasks.iter().filter_map(span) {
        changes.push((from, 1));
        changes.extend(to.map(|to| (to, -1)));
    }
    changes.sort_unstable();
    let mut counts: Vec<(u64, i64)> = Vec::new();
    for (at, change) in changes {
        let count = counts.last().map_or(0, |&(_, count)| count) + change;
        match counts.last_mut() {
            Some(last) if last.0 == at => last.1 = count,
            _ => counts.push((at, count)),
        }
    }
    counts.into_iter().map(|(at, count)| (at as f64 / 1e9, count as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduce(start: u64, fetch: u64, fetched: u64, end: u64) -> TaskRow {
        TaskRow {
            kind: "reduce".into(),
            start_ps: start * 1_000_000_000,
            shuffle_start_ps: Some(fetch * 1_000_000_000),
            input_end_ps: fetched * 1_000_000_000,
            end_ps: Some(end * 1_000_000_000),
            ..TaskRow::default()
        }
    }

    #[test]
    fn tasks_are_counted_whenever_their_number_changes() {
        let tasks = vec![reduce(1, 2, 5, 9), reduce(3, 3, 5, 8)];
        let tables = RunTables { tasks, ..RunTables::default() };
        let span = |task: &TaskRow| Some((task.start_ps, Some(task.input_end_ps)));
        assert_eq!(at_work(&tables, span), [(0.0, 0.0), (1.0, 1.0), (3.0, 2.0), (5.0, 0.0)]);
    }
}
