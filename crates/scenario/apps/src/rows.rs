//! Rows of tables that several workloads write.

use fanin_driver::View;
use fanin_tables::QueryRow;
use fanin_units::Time;

/// A row of a round or query that began at `start_ps` and took `took`, or if it is not `whole` has lasted that long.
pub(crate) fn round_row(round: u32, start_ps: u64, took: Time, whole: bool, timeouts: Option<u64>) -> QueryRow {
    let (qct_ps, waited_ps) = (whole.then_some(took.0), (!whole).then_some(took.0));
    QueryRow { round, start_ps, qct_ps, waited_ps, timeouts, ..QueryRow::default() }
}

/// Timeouts since a count, where both are known.
pub(crate) fn timeouts_since(view: &dyn View, before: Option<u64>) -> Option<u64> {
    Some(view.timeouts()? - before?)
}
