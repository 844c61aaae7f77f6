//! Statistics of ordered values. Sums run from the first value to the last, so the same values give the same bits on every
//! machine.

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Interval {
    /// The arithmetic mean.
    pub mean: f64,
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

impl Interval {
    /// The interval with six significant digits, as reported.
    pub fn six_digits(self) -> Interval {
        Interval { mean: six_digits(self.mean), lo: six_digits(self.lo), hi: six_digits(self.hi) }
    }
}

/// The range that holds four of five single values: how far one run may be from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Range {
    /// The 10th percentile.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
}

/// Mean and exact percentiles of pooled values, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
}

/// The arithmetic mean, or `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The range of single values, for five or more: percentiles at (n + 1) p, between the least and the largest value, so that of
/// further values four of five are expected inside.
pub fn range(values: &[f64]) -> Option<Range> {
    if values.len() < 5 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = ((sorted.len() + 1) as f64 * share - 1.0).clamp(0.0, (sorted.len() - 1) as f64);
        let (below, part) = (place as usize, place - libm::floor(place));
        let above = (below + 1).min(sorted.len() - 1);
        six_digits(sorted[below] + part * (sorted[above] - sorted[below]))
    };
    Some(Range { p10: at(0.1), p50: at(0.5), p90: at(0.9) })
}

/// The mean with its 95 % t interval over independent values; a single value three times. `None` without values.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let mean = mean(values)?;
    let n = values.len();
    if n == 1 {
        return Some(Interval { mean, lo: mean, hi: mean });
    }
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let standard_error = libm::sqrt(squares / (n - 1) as f64 / n as f64);
    let half = t_quantile_975(n - 1) * standard_error;
    Some(Interval { mean, lo: mean - half, hi: mean + half })
}

/// The mean with a 95 % interval between 0 and `most`: the t interval of the mean's logit, transformed back. A single value gives
/// that value three times; no values give `None`.
///
/// A plain t interval of few scattered seeds would reach below zero. The logit's slope at the mean converts the standard error, so
/// the interval always contains the mean.
pub fn bounded_interval(values: &[f64], most: f64) -> Option<Interval> {
    let plain = mean_interval(values)?;
    let share = plain.mean / most;
    if plain.hi == plain.lo || share <= 0.0 || share >= 1.0 {
        let inside = |end: f64| end.clamp(0.0, most.max(plain.mean));
        return Some(Interval { mean: plain.mean, lo: inside(plain.lo), hi: inside(plain.hi) });
    }
    let logit = libm::log(share / (1.0 - share));
    let half = (plain.hi - plain.mean) / most / (share * (1.0 - share));
    let back = |logit: f64| most / (1.0 + libm::exp(-logit));
    Some(Interval { mean: plain.mean, lo: back(logit - half), hi: back(logit + half) })
}

/// A linear regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The least-squares slope with its 95 % interval.
    pub slope: Interval,
    /// The share of the variance that the line explains.
    pub r_squared: f64,
}

/// Fits a line by least squares; `None` for fewer than three samples, or equal x.
pub fn slope(samples: &[(f64, f64)]) -> Option<Fit> {
    let n = samples.len();
    let mean_of = |pick: fn(&(f64, f64)) -> f64| samples.iter().map(pick).sum::<f64>() / n as f64;
    let (mx, my) = (mean_of(|s| s.0), mean_of(|s| s.1));
    let sum = |term: &dyn Fn(&(f64, f64)) -> f64| samples.iter().map(term).sum::<f64>();
    let (xx, xy) = (sum(&|s| (s.0 - mx) * (s.0 - mx)), sum(&|s| (s.0 - mx) * (s.1 - my)));
    if n < 3 || xx == 0.0 {
        return None;
    }
    let slope = xy / xx;
    let left = sum(&|s| libm::pow(s.1 - my - slope * (s.0 - mx), 2.0));
    let all = sum(&|s| (s.1 - my) * (s.1 - my));
    let half = t_quantile_975(n - 2) * libm::sqrt(left / (n - 2) as f64 / xx);
    let r_squared = if all == 0.0 { 1.0 } else { 1.0 - left / all };
    Some(Fit { slope: Interval { mean: slope, lo: slope - half, hi: slope + half }, r_squared })
}

/// The 0.975 quantile of Student's t with 1 to 30 degrees of freedom.
const T_975: [f64; 30] = [
    12.706_204_736_2,
    4.302_652_729_7,
    3.182_446_305_3,
    2.776_445_105_2,
    2.570_581_835_6,
    2.446_911_851_1,
    2.364_624_251_6,
    2.306_004_135_2,
    2.262_157_162_8,
    2.228_138_852,
    2.200_985_160_1,
    2.178_812_829_7,
    2.160_368_656_5,
    2.144_786_687_9,
    2.131_449_545_6,
    2.119_905_299_2,
    2.109_815_577_8,
    2.100_922_040_2,
    2.093_024_054_4,
    2.085_963_447_3,
    2.079_613_844_7,
    2.073_873_067_9,
    2.068_657_610_4,
    2.063_898_561_6,
    2.059_538_552_8,
    2.055_529_438_6,
    2.051_830_516_5,
    2.048_407_141_8,
    2.045_229_642_1,
    2.042_272_456_3,
];

/// The 0.975 quantile of Student's t distribution with `df` degrees of freedom, at least 1.
fn t_quantile_975(df: usize) -> f64 {
    let row = df.checked_sub(1).and_then(|row| T_975.get(row));
    row.copied().unwrap_or_else(|| t_expansion_975(df as f64))
}

/// The quantile by expansion about the normal quantile (Abramowitz and Stegun, 26.7.5): accurate to 1e-6 from 30 degrees.
fn t_expansion_975(df: f64) -> f64 {
    const Z: f64 = 1.959_963_984_540_054;
    let square = Z * Z;
    let terms = [
        Z * (square + 1.0) / 4.0,
        Z * ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        Z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        Z * ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92_160.0,
    ];
    Z + (terms[0] + (terms[1] + (terms[2] + terms[3] / df) / df) / df) / df
}

/// Mean and percentiles by nearest rank: the p-th percentile is the smallest value that at least p % of the values do not exceed.
/// Sorts the values; `None` without values.
pub fn percentiles(values: &mut [u64]) -> Option<Percentiles> {
    values.sort_unstable();
    let max = *values.last()?;
    let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
    let rank = |per_mille: usize| values[(values.len() * per_mille).div_ceil(1000) - 1];
    Some(Percentiles {
        mean: sum as f64 / values.len() as f64,
        p50: rank(500),
        p95: rank(950),
        p99: rank(990),
        p999: rank(999),
        max,
    })
}

/// The finished times, rising, each with the share of all times that are longer.
///
/// A censored time is known to exceed its waiting time: its share moves to longer times (Kaplan and Meier, 1958). Sorts both.
pub fn survival(ended: &mut [u64], open: &mut [u64]) -> Vec<(u64, f64)> {
    ended.sort_unstable();
    open.sort_unstable();
    let all = ended.len() + open.len();
    if open.is_empty() {
        return ended.iter().zip(1..).map(|(&took, n)| (took, (all - n) as f64 / all as f64)).collect();
    }
    let (mut at_risk, mut left, mut cut_off) = (all, 1.0, open.iter().peekable());
    let step = |&took: &u64| {
        while cut_off.next_if(|&&waited| waited < took).is_some() {
            at_risk -= 1;
        }
        left -= left / at_risk as f64;
        at_risk -= 1;
        (took, left)
    };
    ended.iter().map(step).collect()
}

/// Percentiles of times, some of them censored, and the first percentile that is only a lower bound: `p50`, `p95`, `p99`, `p999` or
/// `max`; later ones and the mean are lower bounds too. Where too few finished for a percentile, the longest time stands in for it.
/// Without censored times, these are [`percentiles`]. Sorts both; `None` without values.
pub fn percentiles_with_open(ended: &mut [u64], open: &mut [u64]) -> Option<(Percentiles, Option<&'static str>)> {
    let Some(longest_open) = open.iter().copied().max() else { return percentiles(ended).map(|p| (p, None)) };
    let survival = survival(ended, open);
    let longest = ended.last().copied().unwrap_or(0).max(longest_open);
    let rest = survival.last().map_or(1.0, |(_, left)| *left);
    // A small margin against rounding.
    let rank = |per_mille: u32| {
        let most = 1.0 - f64::from(per_mille) / 1000.0 + 1e-9;
        survival.iter().find(|(_, left)| *left <= most).map(|(took, _)| *took)
    };
    let names = ["p50", "p95", "p99", "p999", "max"];
    let bound_from =
        names.into_iter().zip([500, 950, 990, 999, 1000]).find(|(_, per_mille)| rank(*per_mille).is_none());
    let known = |per_mille: u32| rank(per_mille).unwrap_or(longest);
    let before = [1.0].into_iter().chain(survival.iter().map(|(_, left)| *left));
    let mean = survival.iter().zip(before).map(|((took, left), before)| (before - left) * *took as f64).sum::<f64>();
    let found = Percentiles {
        mean: mean + rest * longest as f64,
        p50: known(500),
        p95: known(950),
        p99: known(990),
        p999: known(999),
        max: longest,
    };
    Some((found, bound_from.map(|(name, _)| name)))
}

/// Jain's fairness index, (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all. `None` without values, or if all are zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The index of the collapse point in a curve of mean goodputs by rising fan-in: the first point under half of the largest before it,
/// if the next point, if any, is too.
pub fn onset(goodputs: &[f64]) -> Option<usize> {
    let mut largest = f64::NEG_INFINITY;
    let collapsed: Vec<bool> = goodputs
        .iter()
        .map(|&goodput| {
            let collapsed = goodput < largest / 2.0;
            largest = largest.max(goodput);
            collapsed
        })
        .collect();
    (0..collapsed.len()).find(|&i| collapsed[i] && collapsed.get(i + 1).copied().unwrap_or(true))
}

/// Draws `n` of `n` seeds with replacement, this many times: indices from zero, the same on every machine.
pub fn resampled(n: usize, times: usize) -> impl Iterator<Item = Vec<usize>> {
    // Knuth's linear congruential generator; its upper half is good enough here.
    let mut state: u64 = 1;
    let mut below = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 32) * n as u64) >> 32) as usize
    };
    (0..times).map(move |_| (0..n).map(|_| below()).collect())
}

/// The value with six significant digits, as reported, to hide differences in the last bits.
pub fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_holds_four_of_five() {
        let counted = |n: u32| range(&(1..=n).rev().map(f64::from).collect::<Vec<_>>());
        assert_eq!(counted(4), None);
        // At (n + 1) p: the 2nd, the 10th and the 18th of 19; of nine the ends, and of five no further.
        assert_eq!(counted(19), Some(Range { p10: 2.0, p50: 10.0, p90: 18.0 }));
        assert_eq!(counted(9), Some(Range { p10: 1.0, p50: 5.0, p90: 9.0 }));
        assert_eq!(counted(5), Some(Range { p10: 1.0, p50: 3.0, p90: 5.0 }));
    }

    #[test]
    fn the_t_quantile_agrees_with_printed_tables() {
        let printed = [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (9, 2.2622),
            (29, 2.0452),
            (30, 2.0423),
            (31, 2.0395),
            (40, 2.0211),
            (60, 2.0003),
            (120, 1.9799),
            (1000, 1.9623),
        ];
        for (df, t) in printed {
            assert!((t_quantile_975(df) - t).abs() < 6e-5, "df {df}: {} for {t}", t_quantile_975(df));
        }
    }

    #[test]
    fn a_line_is_found_with_its_interval() {
        // By hand: x 1..4, y 2, 4, 5, 8: slope 9.5 / 5 = 1.9, residuals 0.1, 0.2, -0.7, 0.4, s^2 = 0.7 / 2,
        // t(2) = 4.3027: 4.3027 * sqrt(0.35 / 5) = 1.138; R^2 = 1 - 0.7 / 18.75.
        let fit = slope(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 8.0)]).expect("four samples");
        assert!((fit.slope.mean - 1.9).abs() < 1e-12);
        assert!((fit.slope.hi - fit.slope.mean - 1.1384).abs() < 1e-4, "{fit:?}");
        assert!((fit.r_squared - (1.0 - 0.7 / 18.75)).abs() < 1e-12);
    }

    #[test]
    fn draws_seeds_evenly_with_replacement() {
        let all: Vec<Vec<usize>> = resampled(5, 1_000).collect();
        assert_eq!(all, resampled(5, 1_000).collect::<Vec<_>>());
        assert!(all.iter().all(|drawn| drawn.len() == 5));
        for seed in 0..5 {
            let drawn = all.iter().flatten().filter(|&&s| s == seed).count();
            assert!((900..1_100).contains(&drawn), "seed {seed} {drawn} times of 5,000");
        }
        // Without replacement every draw would have each seed once; with it, 5! / 5^5 = 4 % do.
        let once = all.iter().filter(|drawn| (0..5).all(|seed| drawn.contains(&seed))).count();
        assert!((20..60).contains(&once), "{once} of 1,000");
    }

    #[test]
    fn the_expansion_meets_the_table() {
        assert!((t_expansion_975(30.0) - T_975[29]).abs() < 1e-6, "{}", t_expansion_975(30.0));
    }
}
