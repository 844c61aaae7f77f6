//! Distributions of times: mean, percentiles and maximum.

use fanin_tables::{FlowKind, RunTables};

use crate::catalogue::{Figure, Kind, Part, Shaped, Value, Written};
use crate::stats::{self, six_digits};

/// Times in ms with six digits; all `None` if nothing started.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Spread {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// The first of `p50`, `p95`, `p99`, `p999`, `max` that is only a lower bound because of unfinished rounds; later ones and the mean
    /// are too.
    pub at_least: Option<&'static str>,
}

impl Spread {
    /// Whether one of the five is only a lower bound.
    pub fn is_bound(&self, name: &str) -> bool {
        const RISING: [&str; 5] = ["p50", "p95", "p99", "p999", "max"];
        let place = |name: &str| RISING.iter().position(|known| *known == name);
        self.at_least.is_some_and(|first| place(name) >= place(first))
    }
}

impl Shaped for Spread {
    fn parts(of: &Figure) -> Vec<Part> {
        let marks = [
            ("mean", format!("{} Their mean.", of.doc)),
            ("p50", "Median of these.".into()),
            ("p95", "95th percentile of these.".into()),
            ("p99", "99th percentile of these.".into()),
            ("p999", "99.9th percentile of these.".into()),
            ("max", "Largest of these.".into()),
        ];
        let bound = "The first of p50, p95, p99, p999 and max of these that is only a lower bound, as are later ones and the mean; absent if none is.";
        let bound = of.marked("at_least", bound.into());
        let column = bound.column.filter(|_| of.written == Written::Bounds);
        let bound = Part { column, unit: "text", kind: Kind::Text, ..bound };
        let real = |(mark, doc)| Part { optional: true, ..of.marked(mark, doc) };
        marks.into_iter().map(real).chain([Part { optional: true, ..bound }]).collect()
    }
    fn values(&self) -> Vec<Value> {
        let times = [self.mean, self.p50, self.p95, self.p99, self.p999, self.max].map(Value::Real);
        times.into_iter().chain([Value::Text(self.at_least.unwrap_or_default().into())]).collect()
    }
    fn absent() -> Vec<Value> {
        Spread::default().values()
    }
}

/// Completion times of the workload's own flows.
pub fn workload_fcts(run: &RunTables) -> impl Iterator<Item = u64> {
    run.flows.iter().filter(|flow| flow.class != FlowKind::Background).filter_map(|flow| flow.fct_ps)
}

/// Distribution of times, some of unfinished rounds.
pub(crate) fn spread_with_open(mut ended_ps: Vec<u64>, mut open_ps: Vec<u64>) -> Spread {
    let ms = |ps: f64| Some(six_digits(ps / 1e9));
    stats::percentiles_with_open(&mut ended_ps, &mut open_ps).map_or(Spread::default(), |(p, at_least)| Spread {
        mean: ms(p.mean),
        p50: ms(p.p50 as f64),
        p95: ms(p.p95 as f64),
        p99: ms(p.p99 as f64),
        p999: ms(p.p999 as f64),
        max: ms(p.max as f64),
        at_least,
    })
}
