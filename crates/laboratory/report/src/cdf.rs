//! Distributions of completion times, thinned to a chart's resolution.

use fanin_spec::RunSpec;
use fanin_tables::RunTables;

use fanin_lab::stats::{six_digits, survival};
use fanin_lab::workload_fcts;

/// Times of one scheme at one point, pooled over seeds.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Cdf {
    scheme: String,
    /// The point's index in the sweep.
    place: usize,
    /// Query completion times.
    qct: Curve,
    /// Flow completion times.
    fct: Curve,
}

/// Rising times, and the share of all times up to each: it ends below one if some flows or queries did not finish.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct Curve {
    ms: Vec<f64>,
    share: Vec<f64>,
}

/// Steps of equal height; the percentiles of the table are added.
const STEPS: usize = 180;
const NAMED_PER_MILLE: [usize; 5] = [500, 950, 990, 999, 1000];

impl Cdf {
    pub(super) fn new(scheme: &str, place: usize, runs: &[(&RunSpec, &RunTables)]) -> Cdf {
        let tables = || {
            let of_point = runs.iter().filter(|(spec, _)| spec.label == scheme && spec.place == place);
            of_point.map(|(_, tables)| tables)
        };
        Cdf {
            scheme: scheme.into(),
            place,
            qct: Curve::of(
                tables().flat_map(|t| t.queries.iter().filter_map(|q| q.qct_ps)).collect(),
                tables().flat_map(|t| t.queries.iter().filter_map(|q| q.waited_ps)).collect(),
            ),
            fct: Curve::of(tables().flat_map(|t| workload_fcts(t)).collect(), Vec::new()),
        }
    }
}

impl Curve {
    fn of(mut ended_ps: Vec<u64>, mut open_ps: Vec<u64>) -> Curve {
        let times = survival(&mut ended_ps, &mut open_ps);
        let n = times.len();
        let mut ranks: Vec<usize> = (0..=STEPS)
            .map(|step| (n * step).div_ceil(STEPS))
            .chain(NAMED_PER_MILLE.map(|per_mille| (n * per_mille).div_ceil(1000)))
            .map(|rank| rank.max(1))
            .filter(|&rank| rank <= n)
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut curve = Curve::default();
        for rank in ranks {
            let (took, left) = times[rank - 1];
            let ms = six_digits(took as f64 / 1e9);
            let share = six_digits(1.0 - left);
            // The last of equal times has their count.
            if curve.ms.last() == Some(&ms) {
                curve.share.pop();
                curve.ms.pop();
            }
            curve.ms.push(ms);
            curve.share.push(share);
        }
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn keeps_all_of_few_times() {
        let curve = Curve::of(vec![3 * MS, MS, 2 * MS, 2 * MS], Vec::new());
        assert_eq!(curve, Curve { ms: vec![1.0, 2.0, 3.0], share: vec![0.25, 0.75, 1.0] });
    }

    #[test]
    fn unfinished_queries_lower_the_end_of_the_curve() {
        let curve = Curve::of(vec![MS, 2 * MS], vec![9 * MS, 9 * MS]);
        assert_eq!(curve, Curve { ms: vec![1.0, 2.0], share: vec![0.25, 0.5] });
    }

    #[test]
    fn nothing_gives_an_empty_curve() {
        assert_eq!(Curve::of(Vec::new(), Vec::new()), Curve::default());
    }

    #[test]
    fn thinning_keeps_the_named_percentiles_exact() {
        let curve = Curve::of((1..=54_321).rev().map(|i| i * MS).collect(), Vec::new());
        assert!(curve.ms.len() <= 200, "{}", curve.ms.len());
        for per_mille in [500, 950, 990, 999, 1000] {
            let exact = (54_321 * per_mille as usize).div_ceil(1000) as f64;
            assert!(curve.ms.contains(&exact), "{per_mille}");
        }
        assert_eq!((curve.ms[0], curve.share.last()), (1.0, Some(&1.0)));
        assert!(curve.ms.is_sorted() && curve.share.is_sorted());
    }
}
