//! Planning of a comparison's runs.
//!
//! The planner is called again after each batch. It sees whole batches with seeds in order, never the order in which runs finished,
//! so the plan is a function of scenario, options and results.

use std::collections::BTreeMap;

use fanin_spec::{RunSpec, Variant};

use crate::Done;
use crate::stats::{bounded_interval, onset};
use crate::upper_bound::allowed_mbps;

/// Maximum number of seeds of a point, however wide its interval.
pub const MOST_SEEDS: u32 = 200;

/// Options of a comparison beyond the plain sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Search for the collapse point with few points instead of the whole sweep.
    pub onset: bool,
    /// Add seeds at every point until half of the 95 % CI is at most this share of the mean.
    pub precision: Option<f64>,
}

/// Plans a comparison in batches.
#[derive(Clone, Debug)]
pub struct Planner<'a> {
    variants: &'a [Variant],
    options: CompareOptions,
}

impl<'a> Planner<'a> {
    /// A planner for these schemes.
    pub fn new(variants: &'a [Variant], options: CompareOptions) -> Planner<'a> {
        Planner { variants, options }
    }

    /// The next batch, by scheme, point and seed; empty when finished. `done` has all runs planned so far, in any order, with their
    /// results.
    pub fn next(&self, done: &[(RunSpec, Done)]) -> Vec<RunSpec> {
        self.variants.iter().flat_map(|variant| self.next_of(variant, done)).collect()
    }

    fn next_of(&self, variant: &Variant, done: &[(RunSpec, Done)]) -> Vec<RunSpec> {
        let points = goodputs(variant, done);
        let mut batch: Vec<RunSpec> = Vec::new();
        for (&point, goodputs) in &points {
            let more = self.more_seeds(variant, point, goodputs);
            batch.extend(runs(variant, point, goodputs.len() as u32, more));
        }
        if !batch.is_empty() {
            // The search needs precise means to continue.
            return batch;
        }
        let first = variant.settings.run.seeds;
        let mut wanted: Vec<usize> = match self.options.onset {
            true => variant.curves().iter().flat_map(|curve| search(&points, variant, curve)).collect(),
            false => (0..variant.points.len()).filter(|point| !points.contains_key(point)).collect(),
        };
        wanted.sort_unstable();
        wanted.into_iter().flat_map(|point| runs(variant, point, 0, first)).collect()
    }

    /// Number of seeds that a point needs in addition to those that it has.
    fn more_seeds(&self, variant: &Variant, point: usize, goodputs: &[f64]) -> u32 {
        let most = variant.points[point].settings.line_rate() as f64 / 1e6;
        let (Some(precision), Some(interval)) = (self.options.precision, bounded_interval(goodputs, most)) else {
            return 0;
        };
        let n = goodputs.len() as u32;
        // At least two seeds are needed for an interval.
        let wide = n < 2 || (interval.hi - interval.lo) / 2.0 > precision * interval.mean;
        let step = (n / 2).max(variant.settings.run.seeds).max(2);
        if wide { step.min(MOST_SEEDS.saturating_sub(n)) } else { 0 }
    }
}

/// Every scheme at every point with every seed, in this order. All schemes have the same seeds.
pub fn plan(variants: &[Variant]) -> Vec<RunSpec> {
    Planner::new(variants, CompareOptions::default()).next(&[])
}

fn runs(variant: &Variant, point: usize, from: u32, seeds: u32) -> impl Iterator<Item = RunSpec> {
    let first = variant.settings.run.first_seed;
    let of = move |i| variant.at(point, first + u64::from(i)).expect("points are of the contender's own sweep");
    (from..from + seeds).map(of)
}

/// A scheme's goodputs by point of the sweep, with seeds in order.
fn goodputs(variant: &Variant, done: &[(RunSpec, Done)]) -> Goodputs {
    let mut seeds: BTreeMap<usize, BTreeMap<u64, f64>> = BTreeMap::new();
    for (spec, done) in done.iter().filter(|(spec, _)| spec.label == variant.label) {
        seeds.entry(spec.place).or_default().insert(spec.seed, done.tables.goodput_mbps());
    }
    seeds.into_iter().map(|(point, by_seed)| (point, by_seed.into_values().collect())).collect()
}

/// By point, for points with results.
type Goodputs = BTreeMap<usize, Vec<f64>>;

/// Shares of the upper bound below this say nothing about earlier points.
const SURE: f64 = 0.8;

/// The next points of a curve to look at for the onset. A search by halves is right of a curve that holds and then
/// collapses; one that is low before its onset may have collapsed and recovered there, so that all of it is looked at.
fn search(points: &Goodputs, variant: &Variant, curve: &[usize]) -> Vec<usize> {
    let mean = |point: &usize| points.get(point).map(|g| g.iter().sum::<f64>() / g.len().max(1) as f64);
    let known: BTreeMap<usize, f64> = curve.iter().map(mean).enumerate().filter_map(|(i, m)| Some((i, m?))).collect();
    if let Some(next) = bisect(&known, curve.len()) {
        return vec![curve[next]];
    }
    let means: Vec<f64> = known.values().copied().collect();
    let end = onset(&means).and_then(|i| known.keys().nth(i).copied()).unwrap_or(curve.len());
    let low = |(i, mean): (&usize, &f64)| {
        allowed_mbps(&variant.scheme, &variant.points[curve[*i]].settings).is_some_and(|allowed| *mean < SURE * allowed)
    };
    match known.range(..end).any(low) {
        true => (0..end).filter(|i| !known.contains_key(i)).map(|i| curve[i]).collect(),
        false => Vec::new(),
    }
}

/// The next point to try for the onset among `count`: the first, then the middle of the range between the
/// largest that holds and the least that has collapsed, at last the one behind the onset, which must have collapsed too.
fn bisect(means: &BTreeMap<usize, f64>, count: usize) -> Option<usize> {
    let mean = |point: usize| means.get(&point).copied();
    let collapsed = |point: usize, mean_there: f64| {
        let best = (0..point).filter_map(mean).fold(0.0, f64::max);
        mean_there < best / 2.0
    };
    if mean(0).is_none() {
        return (count > 0).then_some(0);
    }
    let (mut holds, mut fallen) = (0, count);
    while fallen - holds > 1 {
        let middle = holds + (fallen - holds) / 2;
        match mean(middle) {
            None => return Some(middle),
            Some(there) if collapsed(middle, there) => fallen = middle,
            Some(_) => holds = middle,
        }
    }
    let behind = fallen + 1;
    (behind < count && mean(behind).is_none()).then_some(behind)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fanin_spec::Scenario;
    use fanin_tables::RunTables;

    use super::*;

    fn variants(fan_in: &str, seeds: u32) -> Vec<Variant> {
        let text = format!(
            "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"1 KB\"\n\
             [sweep]\nfan_in = {fan_in}\n[run]\nseeds = {seeds}\nfirst_seed = 7\n"
        );
        Scenario::parse("x.toml", &text).and_then(|s| s.variants()).unwrap()
    }

    /// Carries a plan out on a made-up goodput of fan-in and seed; gives every run in the order of the batches.
    fn carry_out(
        variants: &[Variant],
        options: CompareOptions,
        goodput: impl Fn(u32, u64) -> f64,
    ) -> Vec<(String, u32, u64)> {
        let planner = Planner::new(variants, options);
        let mut done: Vec<(RunSpec, Done)> = Vec::new();
        loop {
            let batch = planner.next(&done);
            if batch.is_empty() {
                return done.iter().map(|(spec, _)| (spec.label.clone(), spec.fan_in, spec.seed)).collect();
            }
            // Runs may end in any order.
            done.extend(batch.into_iter().rev().map(|spec| {
                let mut tables = RunTables::default();
                tables.totals.measured_ps = 8_000_000;
                tables.totals.payload_bytes = goodput(spec.fan_in, spec.seed) as u64;
                (spec, Done { tables, cpu: Duration::ZERO })
            }));
            assert!(done.len() < 10_000, "the plan does not end");
        }
    }

    fn points(runs: &[(String, u32, u64)]) -> Vec<u32> {
        let mut points: Vec<u32> = runs.iter().filter(|run| run.0 == "newreno").map(|run| run.1).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    #[test]
    fn the_plan_goes_by_scheme_then_fan_in_then_seed() {
        let variants = variants("[2, 4]", 2);
        let order: Vec<_> = plan(&variants).iter().map(|s| (s.label.clone(), s.fan_in, s.seed)).collect();
        let expected = ["newreno", "dctcp"]
            .iter()
            .flat_map(|label| [(2, 7), (2, 8), (4, 7), (4, 8)].map(|(fan_in, seed)| (label.to_string(), fan_in, seed)));
        assert_eq!(order, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_plain_sweep_is_one_batch() {
        let variants = variants("[2, 4, 8]", 3);
        assert_eq!(carry_out(&variants, CompareOptions::default(), |_, _| 900.0).len(), 2 * 3 * 3);
    }

    #[test]
    fn finds_any_collapse_point_with_few_points() {
        let variants = variants("[2, 4, 8, 16, 32, 48, 64, 96, 128]", 1);
        let fan_ins: Vec<u32> = variants[0].points.iter().map(|at| at.settings.servers()).collect();
        let onset = CompareOptions { onset: true, precision: None };
        // One past the end means none.
        for fallen in 1..=fan_ins.len() {
            let goodput = |fan_in: u32, _| if fan_ins[fallen..].contains(&fan_in) { 100.0 } else { 900.0 };
            let seen = points(&carry_out(&variants, onset, goodput));
            // ceil(log2(9 + 1)) + 2 = 6.
            assert!(seen.len() <= 6, "{seen:?} for an onset at {fallen}");
            assert!(seen.contains(&fan_ins[fallen - 1]), "{seen:?}");
            assert!(fallen == fan_ins.len() || seen.contains(&fan_ins[fallen]), "{seen:?}");
        }
    }

    #[test]
    fn tries_the_point_after_the_collapse_point() {
        let variants = variants("[2, 4, 8, 16]", 1);
        let dip = |fan_in: u32, _| if fan_in == 8 { 100.0 } else { 900.0 };
        assert_eq!(points(&carry_out(&variants, CompareOptions { onset: true, precision: None }, dip)), [2, 4, 8, 16]);
    }

    #[test]
    fn tries_all_points_of_a_curve_that_starts_low() {
        // Halving alone takes 24 for a point that holds, since it never sees the best at 8, and ends at 48.
        let text = "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KiB\"\n\
                    [sweep]\nfan_in = [4, 8, 16, 24, 32, 48, 64]\n[run]\nseeds = 1\n";
        let variants = Scenario::parse("x.toml", text).and_then(|s| s.variants()).unwrap();
        let goodput = |fan_in: u32, _| match fan_in {
            4 => 128.0,
            8 => 400.0,
            16 => 178.0,
            24 => 65.0,
            32 => 81.0,
            _ => 62.0,
        };
        let seen = points(&carry_out(&variants, CompareOptions { onset: true, precision: None }, goodput));
        assert!(seen.contains(&8) && seen.contains(&16) && seen.contains(&24), "{seen:?}");
    }

    #[test]
    fn adds_seeds_until_the_interval_is_narrow() {
        let variants = variants("[2, 4]", 3);
        let options = CompareOptions { onset: false, precision: Some(0.02) };
        // At 2 senders all seeds agree; at 4 they scatter by a tenth.
        let goodput = |fan_in: u32, seed: u64| if fan_in == 2 { 900.0 } else { 850.0 + 100.0 * (seed % 2) as f64 };
        let runs = carry_out(&variants, options, goodput);
        let of = |fan_in: u32| runs.iter().filter(|run| run.0 == "newreno" && run.1 == fan_in).count();
        assert_eq!(of(2), 3);
        assert!((27..60).contains(&of(4)), "{} seeds", of(4));
        let mut seeds: Vec<u64> = runs.iter().filter(|run| run.0 == "dctcp" && run.1 == 4).map(|run| run.2).collect();
        seeds.sort_unstable();
        assert!(seeds.iter().zip(7..).all(|(a, b)| *a == b), "seeds follow one another: {seeds:?}");
    }

    #[test]
    fn limits_seeds_of_a_point_with_high_variance() {
        let variants = variants("[2]", 3);
        let options = CompareOptions { onset: false, precision: Some(1e-9) };
        let runs = carry_out(&variants, options, |_, seed| 800.0 + (seed % 3) as f64);
        assert_eq!(runs.len(), 2 * MOST_SEEDS as usize);
    }
}
