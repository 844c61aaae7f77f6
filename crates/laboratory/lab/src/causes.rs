//! Stalls by cause: their number and total duration.

use fanin_tables::{Cause, RunTables};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::catalogue::{Figure, Part, Shaped, Value};
use crate::stats::six_digits;

/// Stalls of one cause in a run, mean over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stalled {
    /// Number of stalls.
    pub count: f64,
    /// Total duration.
    pub ms: f64,
}

/// Stalls by cause, in the order of [`Cause::KNOWN`]; the rest of all stalls have an unknown cause.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Causes(
    #[cfg_attr(feature = "typescript", ts(type = "Record<string, { count: number, ms: number }>"))] Vec<Stalled>,
);

impl Causes {
    /// Stalls of a point's runs.
    pub(crate) fn of(runs: &[&RunTables]) -> Causes {
        let seeds = runs.len().max(1) as f64;
        let of = |&(cause, _): &(Cause, &str)| {
            let own = || runs.iter().flat_map(|run| &run.stalls).filter(|stall| stall.cause == cause);
            let ms = own().map(|stall| stall.took_ps).sum::<u64>() as f64 / 1e9;
            Stalled { count: six_digits(own().count() as f64 / seeds), ms: six_digits(ms / seeds) }
        };
        Causes(Cause::KNOWN.iter().map(of).collect())
    }

    /// Stalls of one cause.
    pub fn get(&self, cause: Cause) -> Stalled {
        let place = Cause::KNOWN.iter().position(|(known, _)| *known == cause);
        place.and_then(|place| self.0.get(place)).copied().unwrap_or_default()
    }

    /// Causes with stalls, the longest total first.
    pub fn longest_first(&self) -> Vec<(Cause, Stalled)> {
        let mut all: Vec<(Cause, Stalled)> = Cause::KNOWN.iter().map(|(cause, _)| (*cause, self.get(*cause))).collect();
        all.retain(|(_, stalled)| stalled.count > 0.0);
        all.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
        all
    }
}

/// Number and duration of stalls by cause.
impl Shaped for Causes {
    fn parts(of: &Figure) -> Vec<Part> {
        let of_cause = |(cause, says): &(Cause, &str)| {
            let word = cause.word();
            let count = of.marked(&format!("{word}.count"), format!("Number of stalls with this cause. {says}"));
            let ms = of.marked(&format!("{word}.ms"), "Their total duration in a run.".into());
            let name = word.replace('-', "_");
            let [counts, times] = [format!("stalls_{name}"), format!("stalled_{name}_ms")].map(Some);
            [Part { column: counts, unit: "count", ..count }, Part { column: times, unit: "ms", ..ms }]
        };
        Cause::KNOWN.iter().flat_map(of_cause).collect()
    }
    fn values(&self) -> Vec<Value> {
        let all = Cause::KNOWN.iter().map(|(cause, _)| self.get(*cause));
        all.flat_map(|stalled| [stalled.count, stalled.ms]).map(|value| Value::Real(Some(value))).collect()
    }
    fn absent() -> Vec<Value> {
        Causes::default().values()
    }
}

/// An object with every known cause.
impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Cause::KNOWN.len()))?;
        for (cause, _) in Cause::KNOWN {
            map.serialize_entry(cause.word(), &self.get(*cause))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use fanin_tables::StallRow;

    use super::*;

    #[test]
    fn stalls_are_counted_by_cause_and_the_longest_comes_first() {
        let stall = |cause, ms: u64| StallRow { cause, took_ps: ms * 1_000_000_000, ..StallRow::default() };
        let stalls = [(Cause::Rto, 200), (Cause::Tlp, 30), (Cause::Rto, 100), (Cause::Unknown, 7)];
        let stalls = stalls.map(|(cause, ms)| stall(cause, ms)).to_vec();
        let (run, still) = (RunTables { stalls, ..RunTables::default() }, RunTables::default());
        let causes = Causes::of(&[&run, &still]);
        assert_eq!(causes.get(Cause::Rto), Stalled { count: 1.0, ms: 150.0 });
        assert_eq!(
            causes.longest_first().iter().map(|(cause, _)| *cause).collect::<Vec<_>>(),
            [Cause::Rto, Cause::Tlp]
        );
        let json = serde_json::to_value(&causes).unwrap();
        assert_eq!((&json["tlp"]["ms"], &json["host"]["count"]), (&15.0.into(), &0.0.into()));
    }
}
