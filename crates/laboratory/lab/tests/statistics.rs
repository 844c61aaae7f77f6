//! Statistics against hand-calculated values, and invariants for random ones.

use fanin_lab::stats::{bounded_interval, jain, mean_interval, onset, percentiles, percentiles_with_open, six_digits};
use proptest::prelude::*;

#[test]
fn interval_of_three_values_matches_hand_calculation() {
    // Mean 4, variance (4 + 1 + 9) / 2 = 7, standard error sqrt(7 / 3), t = 4.302653 with two degrees of freedom.
    let i = mean_interval(&[2.0, 3.0, 7.0]).unwrap();
    assert_eq!(i.mean, 4.0);
    assert!((i.hi - (4.0 + 4.302_653 * 1.527_525)).abs() < 1e-4, "{i:?}");
    assert!((i.lo - (4.0 - 4.302_653 * 1.527_525)).abs() < 1e-4, "{i:?}");
}

#[test]
fn one_value_is_its_own_interval() {
    let i = mean_interval(&[905.3]).unwrap();
    assert_eq!((i.mean, i.lo, i.hi), (905.3, 905.3, 905.3));
}

#[test]
fn nothing_has_no_statistics() {
    assert_eq!(mean_interval(&[]), None);
    assert_eq!(percentiles(&mut []), None);
    assert_eq!(jain(&[]), None);
    assert_eq!(onset(&[]), None);
}

#[test]
fn goodput_intervals_stay_between_zero_and_line_rate() {
    // A plain t interval of these goes from -22 to 51.8 Mbit/s.
    let i = bounded_interval(&[0.5, 13.2, 31.0], 1000.0).unwrap();
    assert!((i.mean - 14.9).abs() < 1e-9 && i.lo > 0.0 && i.hi > 51.8, "{i:?}");
    // By hand: logit of 0.0149 is -4.1913; half of the t interval, 38.073, over 14.9 (1 - 0.0149) is 2.5939.
    assert!((i.lo - 1000.0 / (1.0 + libm::exp(4.1913 + 2.5939))).abs() < 0.01, "{i:?}");
    let full = bounded_interval(&[930.0, 999.0, 998.0], 1000.0).unwrap();
    assert!(full.hi < 1000.0 && full.lo > 0.0, "{full:?}");
    let narrow = bounded_interval(&[500.0, 501.0, 502.0], 1000.0).unwrap();
    let plain = mean_interval(&[500.0, 501.0, 502.0]).unwrap();
    assert!((narrow.lo - plain.lo).abs() < 1e-3 && (narrow.hi - plain.hi).abs() < 1e-3, "{narrow:?} {plain:?}");
}

#[test]
fn equal_values_have_a_zero_width_interval() {
    for values in [&[905.3][..], &[905.3, 905.3, 905.3]] {
        let i = bounded_interval(values, 1000.0).unwrap();
        assert!((i.hi - i.lo).abs() < 1e-9 && (i.mean - 905.3).abs() < 1e-9, "{i:?}");
    }
    let nothing = bounded_interval(&[0.0, 0.0], 1000.0).unwrap();
    assert_eq!((nothing.lo, nothing.mean, nothing.hi), (0.0, 0.0, 0.0));
    assert_eq!(bounded_interval(&[], 1000.0), None);
}

#[test]
fn unfinished_rounds_are_lower_bounds_in_percentiles() {
    // One round of 380 us, and one that hung for two seconds: half of the rounds took 380 us, the others at least 2 s.
    let (p, from) = percentiles_with_open(&mut [380], &mut [2_000_000]).unwrap();
    assert_eq!((p.p50, p.p95, p.p99, p.max, from), (380, 2_000_000, 2_000_000, 2_000_000, Some("p95")));
    assert_eq!(p.mean, 0.5 * 380.0 + 0.5 * 2_000_000.0);
    let (p, from) = percentiles_with_open(&mut [], &mut [7, 9]).unwrap();
    assert_eq!((p.p50, p.max, from), (9, 9, Some("p50")));
}

#[test]
fn early_censored_rounds_pass_their_share_to_longer_ones() {
    // By hand: 10 ends with 4 at risk; 15 is censored; then 20 and 30 share the remainder, 3/8 each.
    let (p, from) = percentiles_with_open(&mut [10, 20, 30], &mut [15]).unwrap();
    assert_eq!((p.p50, p.p95, p.max, from), (20, 30, 30, None));
    assert!((p.mean - (2.5 + 7.5 + 11.25)).abs() < 1e-9, "{}", p.mean);
    // Censored before all others, it contributes nothing.
    let (p, _) = percentiles_with_open(&mut [10, 20, 30], &mut [5]).unwrap();
    assert_eq!((p.p50, (p.mean - 20.0).abs() < 1e-9), (20, true));
}

#[test]
fn without_open_rounds_percentiles_are_the_plain_ones() {
    let mut times: Vec<u64> = (1..=1000).rev().collect();
    assert_eq!(percentiles_with_open(&mut times, &mut []), percentiles(&mut times.clone()).map(|p| (p, None)));
    // A wait shorter than all of them changes nothing.
    let (p, from) = percentiles_with_open(&mut times, &mut [0]).unwrap();
    assert_eq!((p.p50, p.p95, p.p99, p.p999, p.max, from), (500, 950, 990, 999, 1000, None));
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let p = percentiles(&mut (1..=1000).rev().collect::<Vec<u64>>()).unwrap();
    assert_eq!((p.p50, p.p95, p.p99, p.p999, p.max), (500, 950, 990, 999, 1000));
    assert_eq!(p.mean, 500.5);
    let p = percentiles(&mut [15, 20, 35, 40, 50]).unwrap();
    assert_eq!((p.p50, p.p95, p.p999), (35, 50, 50));
    let p = percentiles(&mut [7]).unwrap();
    assert_eq!((p.p50, p.p99, p.max), (7, 7, 7));
}

#[test]
fn jain_is_one_if_equal_and_one_nth_if_one_has_all() {
    assert_eq!(jain(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
    assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    // (1 + 3)² / (2 (1 + 9)) = 16 / 20.
    assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
    assert_eq!(jain(&[0.0, 0.0]), None);
}

#[test]
fn finds_the_first_lasting_fall_below_half() {
    assert_eq!(onset(&[900.0, 905.0, 212.0, 180.0]), Some(2));
    assert_eq!(onset(&[900.0, 905.0, 452.5, 460.0]), None, "half is not under half");
    assert_eq!(onset(&[900.0, 300.0, 800.0, 300.0, 200.0]), Some(3), "a dip that is over at the next point is none");
    assert_eq!(onset(&[900.0, 905.0, 212.0]), Some(2), "the last point has no next");
    assert_eq!(onset(&[212.0]), None);
    assert_eq!(onset(&[100.0, 900.0]), None, "a rise is none");
}

#[test]
fn figures_keep_six_digits() {
    assert_eq!(six_digits(905.123_456_789), 905.123);
    assert_eq!(six_digits(1_234_567.0), 1_234_570.0);
    assert_eq!(six_digits(0.000_012_345_678), 0.000_012_345_7);
    assert_eq!(six_digits(0.0), 0.0);
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn interval_contains_the_mean_of_values(
        values in proptest::collection::vec(0.0..1e6f64, 1..50),
    ) {
        let i = mean_interval(&values).unwrap().six_digits();
        prop_assert!(i.lo <= i.mean && i.mean <= i.hi, "{:?}", i);
        let (min, max) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        prop_assert!(six_digits(min) <= i.mean && i.mean <= six_digits(max) * 1.000_01);
    }

    #[test]
    fn more_similar_seeds_narrow_the_interval(a in 0.0..1e3f64, b in 0.0..1e3f64, n in 1usize..40) {
        let width = |n: usize| {
            let i = mean_interval(&[a, b].repeat(n)).unwrap();
            i.hi - i.lo
        };
        prop_assert!(width(n + 1) <= width(n));
    }

    #[test]
    fn percentiles_are_ordered_values_with_their_share_below(
        mut values in proptest::collection::vec(0..10_000u64, 1..2_000),
    ) {
        let p = percentiles(&mut values).unwrap();
        let rising = [p.p50, p.p95, p.p99, p.p999, p.max];
        prop_assert!(rising.is_sorted());
        for (value, per_mille) in rising.into_iter().zip([500, 950, 990, 999, 1000]) {
            prop_assert!(values.contains(&value));
            let up_to = values.iter().filter(|&&v| v <= value).count();
            let below = values.iter().filter(|&&v| v < value).count();
            prop_assert!(up_to * 1000 >= values.len() * per_mille && below * 1000 < values.len() * per_mille);
        }
    }

    #[test]
    fn jain_lies_between_one_nth_and_one_and_has_no_unit(
        shares in proptest::collection::vec(0.001..1e3f64, 1..40), scale in 0.001..1e3f64,
    ) {
        let index = jain(&shares).unwrap();
        prop_assert!(index <= 1.0 + 1e-9 && index * shares.len() as f64 >= 1.0 - 1e-9);
        let scaled: Vec<f64> = shares.iter().map(|x| x * scale).collect();
        prop_assert!((jain(&scaled).unwrap() - index).abs() < 1e-9);
    }

    #[test]
    fn collapse_point_is_as_defined(curve in proptest::collection::vec(1.0..1e3f64, 0..12)) {
        let under = |i: usize| curve[..i].iter().any(|&before| curve[i] < before / 2.0);
        let expected = (0..curve.len()).find(|&i| under(i) && (i + 1 == curve.len() || under(i + 1)));
        prop_assert_eq!(onset(&curve), expected);
    }
}
