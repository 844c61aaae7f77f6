//! Tests of each class on synthetic curves, at the edges of its tolerance.

use super::seen::NOTHING;
use super::*;
use crate::curve::Point;
use Verdict::{Fail, Pass, Undecided};

/// A curve with these values at each x, one per seed.
fn seeds(name: &str, points: &[(f64, &[f64])]) -> Curve {
    let points = points.iter().filter_map(|&(x, values)| Point::new(x, values.to_vec())).collect();
    Curve { name: name.into(), points, exact: false, axes: Axes::default() }
}

/// A curve of three equal seeds.
fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
    let points = points.iter().filter_map(|&(x, y)| Point::new(x, vec![y; 3])).collect();
    Curve { name: name.into(), points, exact: false, axes: Axes::default() }
}

/// The same values at 1, 2, 3 and so on.
fn of(name: &str, values: &[f64]) -> Curve {
    curve(name, &(1..).map(f64::from).zip(values.iter().copied()).collect::<Vec<_>>())
}

const ALL: Range = Range::Within(f64::NEG_INFINITY, f64::INFINITY);

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn a() -> Vec<String> {
    names(&["a"])
}

fn verdict(test: &Test, curves: &[Curve]) -> Verdict {
    test.judge(curves).verdict
}

fn holds(test: &Test, curves: &[Curve]) -> bool {
    verdict(test, curves) == Pass
}

fn above(range: Range, whole: bool) -> Test {
    Test::Order { above: a(), below: names(&["b"]), range, or_equal: false, whole }
}

#[test]
fn order_needs_disjoint_intervals() {
    // For 9, 10 and 11 the half-width is 4.3027 / sqrt(3) = 2.484.
    let high = seeds("a", &[(1.0, &[9.0, 10.0, 11.0])]);
    let low = |mean: f64| seeds("b", &[(1.0, &[mean - 1.0, mean, mean + 1.0])]);
    let judge = |low| above(ALL, false).judge(&[high.clone(), low]);
    assert_eq!(judge(low(10.0 - 2.0 * 2.485)).verdict, Pass);
    let touching = judge(low(10.0 - 2.0 * 2.483));
    assert_eq!(touching.verdict, Undecided, "means are in that order");
    assert_eq!(touching.measured, "at 0 of 1 points; not a 10.00 ± 2.484 against b 5.034 ± 2.484 at 1");
    assert_eq!(judge(low(10.01)).verdict, Fail, "means are the other way round, chance or not");
    assert_eq!(judge(low(10.0)).verdict, Undecided, "equal means, and seeds that scatter");
    let equal = |name| of(name, &[5.0]);
    assert_eq!(verdict(&above(ALL, false), &[equal("a"), equal("b")]), Fail, "no seeds will tell these apart");
}

#[test]
fn order_needs_three_seeds_unless_curves_are_exact() {
    let two = |name, y: f64| seeds(name, &[(1.0, &[y, y])]);
    let judged = above(ALL, false).judge(&[two("a", 9.0), two("b", 1.0)]);
    assert_eq!(judged.verdict, Undecided);
    assert_eq!(judged.measured, "at its one point; fewer than 3 seeds do not determine an order");
    assert_eq!(verdict(&above(ALL, false), &[two("a", 1.0), two("b", 9.0)]), Undecided, "neither the other way round");
    let exact = |name, y| Curve { exact: true, ..seeds(name, &[(1.0, &[y])]) };
    assert_eq!(verdict(&above(ALL, false), &[exact("a", 9.0), exact("b", 1.0)]), Pass);
    assert_eq!(verdict(&above(ALL, false), &[exact("a", 1.0), exact("b", 1.0)]), Fail);
}

#[test]
fn or_equal_fails_only_if_intervals_are_disjoint_and_reversed() {
    let at_least = Test::Order { above: a(), below: names(&["b"]), range: ALL, or_equal: true, whole: false };
    let point = |name, mean: f64| seeds(name, &[(1.0, &[mean - 1.0, mean, mean + 1.0])]);
    for (low, expected) in [(9.0, Pass), (10.0, Pass), (10.1, Undecided), (14.9, Undecided), (15.0, Fail)] {
        assert_eq!(verdict(&at_least, &[point("a", 10.0), point("b", low)]), expected, "{low}");
    }
    assert_eq!(at_least.judge(&[]).expected, "a not below b at every point");
}

#[test]
fn much_needs_a_quarter_more_or_the_given_factor() {
    let much = |times| Test::Much { above: a(), below: names(&["b"]), times, range: ALL };
    let low = of("b", &[4.0, 8.0]);
    assert!(holds(&much(MUCH), &[of("a", &[5.0, 10.0]), low.clone()]));
    let judged = much(MUCH).judge(&[of("a", &[5.0, 9.9]), low.clone()]);
    assert_eq!((judged.verdict, judged.measured.as_str()), (Fail, "a over b 1.250x at 1, 1.238x at 2"));
    assert_eq!(judged.expected, "a at least 1.250x b at every point");
    assert!(!holds(&much(2.0), &[of("a", &[8.0, 15.9]), low.clone()]));
    let scatters = seeds("a", &[(1.0, &[9.0, 10.0, 11.0]), (2.0, &[9.0, 10.0, 11.0])]);
    assert_eq!(verdict(&much(MUCH), &[scatters, low]), Undecided, "the second ratio is 1.25, give or take");
}

#[test]
fn steeper_needs_disjoint_slope_intervals() {
    let steeper = Test::Steeper { above: a(), below: names(&["b"]), range: ALL };
    let scatter = |name, up: f64, by: f64| {
        let point = |x: f64| [up * x - by, up * x, up * x + by];
        let points: Vec<(f64, [f64; 3])> = [1.0, 2.0, 3.0].map(|x| (x, point(x))).to_vec();
        seeds(name, &points.iter().map(|(x, values)| (*x, values.as_slice())).collect::<Vec<_>>())
    };
    assert_eq!(verdict(&steeper, &[scatter("a", 3.0, 0.1), scatter("b", 2.0, 0.1)]), Pass);
    assert_eq!(verdict(&steeper, &[scatter("a", 3.0, 1.0), scatter("b", 2.0, 1.0)]), Undecided);
    assert_eq!(verdict(&steeper, &[scatter("a", 2.0, 1.0), scatter("b", 2.1, 1.0)]), Fail);
    // Heights are irrelevant, and neither of two equal falls is the steeper one.
    assert!(holds(&steeper, &[of("a", &[1.0, 3.0, 5.0]), of("b", &[91.0, 92.0, 93.0])]));
    assert!(holds(&steeper, &[of("a", &[9.0, 8.0, 7.0]), of("b", &[9.0, 7.0, 5.0])]));
    assert_eq!(verdict(&steeper, &[of("a", &[1.0]), of("b", &[1.0])]), Fail, "a point has no slope");
}

#[test]
fn any_positive_value_is_much_more_than_zero() {
    let much = Test::Much { above: a(), below: names(&["b"]), times: MUCH, range: ALL };
    assert!(holds(&much, &[of("a", &[5.0, 0.5]), of("b", &[4.0, 0.0])]));
    assert!(holds(&much, &[of("a", &[0.5]), of("b", &[0.0])]));
    let judged = much.judge(&[of("a", &[5.0, 0.0]), of("b", &[4.0, 0.0])]);
    assert_eq!((judged.verdict, judged.measured.as_str()), (Fail, "a over b 1.250x at 1, 0 to none at 2"));
    let seldom = seeds("a", &[(1.0, &[0.0, 0.0, 3.0])]);
    assert_eq!(verdict(&much, &[seldom, seeds("b", &[(1.0, &[0.0, 0.0, 0.0])])]), Undecided);
}

#[test]
fn order_is_undecided_if_too_many_intervals_overlap() {
    let low = seeds("b", &[(1.0, &[1.0, 2.0, 3.0]); 10].map(|(x, y)| (x, &y[..])));
    let low = Curve { points: (1..).map(f64::from).zip(low.points).map(|(x, p)| Point { x, ..p }).collect(), ..low };
    let high = |overlapping: usize, reversed: usize| {
        let mean = |i: usize| {
            if i < reversed {
                1.5
            } else if i < reversed + overlapping {
                2.5
            } else {
                20.0
            }
        };
        let point = |i: usize| Point::new(i as f64 + 1.0, vec![mean(i) - 1.0, mean(i), mean(i) + 1.0]);
        Curve { name: "a".into(), points: (0..10).filter_map(point).collect(), exact: false, axes: Axes::default() }
    };
    let whole = above(ALL, true);
    for (overlapping, reversed, expected) in [(1, 0, Pass), (0, 1, Pass), (2, 0, Undecided), (1, 1, Fail), (0, 2, Fail)]
    {
        let curves = [high(overlapping, reversed), low.clone()];
        assert_eq!(verdict(&whole, &curves), expected, "{overlapping} overlap, {reversed} reversed");
    }
}

#[test]
fn order_of_a_whole_curve_needs_9_of_10_points() {
    let low = of("b", &[1.0; 10]);
    let high = |wrong: usize| of("a", &(0..10).map(|i| if i < wrong { 0.5 } else { 2.0 }).collect::<Vec<_>>());
    assert!(holds(&above(ALL, true), &[high(1), low.clone()]));
    assert!(!holds(&above(ALL, true), &[high(2), low.clone()]));
    assert!(!holds(&above(ALL, false), &[high(1), low.clone()]), "at every point, where it is not of the whole curve");
    let nine = Range::Within(1.0, 9.0);
    assert!(!holds(&above(nine, true), &[high(1), low]), "8 of 9 are fewer than 9 of 10");
}

#[test]
fn order_holds_at_listed_points_for_every_pair_of_curves() {
    let curves = [of("a", &[1.0, 5.0]), of("b", &[2.0, 3.0]), of("c", &[0.0, 6.0])];
    assert!(holds(&above(Range::At(vec![2.0]), false), &curves));
    assert!(!holds(&above(Range::At(vec![1.0]), false), &curves));
    let both = Test::Order {
        above: a(),
        below: names(&["b", "c"]),
        range: Range::At(vec![2.0]),
        or_equal: false,
        whole: false,
    };
    let judged = both.judge(&curves);
    assert_eq!(judged.measured, "at 1 of 2 points; not a 5.000 ± 0 against c 6.000 ± 0 at 2");
}

fn onset(at: f64, past: Option<f64>, grid: &[f64]) -> Test {
    Test::Onset { curves: a(), at, past, grid: grid.to_vec(), range: ALL }
}

#[test]
fn onset_may_be_one_grid_step_away() {
    let grid = [1.0, 2.0, 4.0, 8.0, 16.0];
    let falls_at = |n: f64| curve("a", &grid.map(|x| (x, if x >= n { 40.0 } else { 100.0 })));
    let at = |at| onset(at, None, &grid);
    for (n, expected) in [(2.0, Fail), (4.0, Pass), (8.0, Pass), (16.0, Pass)] {
        assert_eq!(verdict(&at(8.0), &[falls_at(n)]), expected, "{n}");
    }
    assert_eq!(verdict(&at(8.0), &[falls_at(99.0)]), Fail, "no onset at all");
    // At the end of the grid there is no further step.
    assert!(holds(&at(16.0), &[falls_at(8.0)]) && holds(&at(1.0), &[falls_at(2.0)]));
    assert_eq!(at(16.0).judge(&[falls_at(8.0)]).expected, "onset in 8..16");
    assert_eq!(at(16.0).judge(&[falls_at(99.0)]).measured, "no collapse up to 16 (means over 3 seeds)");
}

#[test]
fn a_drop_that_recovers_at_the_next_point_is_no_onset() {
    let at = |at| onset(at, None, &[1.0, 2.0, 3.0, 4.0]);
    assert!(!holds(&at(2.0), &[of("a", &[100.0, 40.0, 90.0, 95.0])]));
    assert!(holds(&at(2.0), &[of("a", &[100.0, 40.0, 45.0, 95.0])]), "what comes back later has collapsed");
    assert!(holds(&at(4.0), &[of("a", &[100.0, 95.0, 90.0, 40.0])]), "the last point has none after it");
}

#[test]
fn onset_past_a_value_is_where_the_curve_stays_above() {
    let at = |at| onset(at, Some(10.0), &[1.0, 2.0, 3.0, 4.0]);
    assert!(holds(&at(1.0), &[of("a", &[5.0, 10.1, 11.0, 12.0])]));
    assert!(!holds(&at(1.0), &[of("a", &[5.0, 10.1, 9.0, 12.0])]), "it comes back at 3 and passes at 4");
    assert!(!holds(&at(4.0), &[of("a", &[5.0, 10.0, 10.0, 10.0])]), "the value itself is not past it");
}

#[test]
fn onset_is_undecided_if_bootstrap_samples_disagree() {
    // Collapsed from 3 on if the mean of its seeds is under 50.
    let at = onset(4.0, None, &[1.0, 2.0, 3.0, 4.0]);
    let with = |third: &[f64]| {
        let high = vec![100.0; third.len()];
        let low = vec![10.0; third.len()];
        seeds("a", &[(1.0, &high), (2.0, &high), (3.0, third), (4.0, &low)])
    };
    // At 3 or at 4: both are within a step of 4.
    assert_eq!(verdict(&at, &[with(&[100.0, 0.0, 100.0, 0.0])]), Pass);
    let first = onset(2.0, None, &[1.0, 2.0, 3.0, 4.0]);
    let judged = first.judge(&[with(&[100.0, 0.0, 90.0, 0.0])]);
    assert_eq!(judged.verdict, Undecided, "{}", judged.measured);
    assert!(judged.measured.starts_with("collapse point at 3 (means over 4 seeds; "), "{}", judged.measured);
    // One of ten seeds is high: under half unless the sample has it six times or more.
    let one = [100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(verdict(&first, &[with(&one)]), Pass);
    assert!(first.judge(&[with(&[0.0])]).measured.ends_with("(of one seed)"));
}

#[test]
fn holds_needs_half_of_the_best_so_far_at_every_point() {
    let hold = |range| Test::Holds { curves: a(), line: None, percent: 50.0, range };
    assert_eq!(verdict(&hold(ALL), &[of("a", &[100.0, 50.0, 80.0])]), Pass);
    assert_eq!(verdict(&hold(ALL), &[of("a", &[10.0, 50.0, 80.0])]), Pass, "what rises has not collapsed");
    assert_eq!(verdict(&hold(ALL), &[of("a", &[0.0, 0.0])]), Fail, "nothing ever moved");
    let dips = of("a", &[100.0, 90.0, 49.9, 80.0, 95.0]);
    let judged = hold(ALL).judge(std::slice::from_ref(&dips));
    assert_eq!(judged.verdict, Fail, "a single collapsed point fails");
    assert_eq!(judged.measured, "1 of 5 points outside: 49.90 % at 3");
    assert_eq!(judged.expected, "every point at least 50 % of the best up to it");
    assert_eq!(verdict(&hold(Range::Within(4.0, 9.0)), std::slice::from_ref(&dips)), Pass);
    // The best is the whole curve's: a curve that is low at all listed points fails.
    assert_eq!(verdict(&hold(Range::At(vec![3.0])), &[dips]), Fail);
    let scatters = seeds("a", &[(1.0, &[100.0, 100.0, 100.0]), (2.0, &[100.0, 60.0, 20.0])]);
    assert_eq!(verdict(&hold(ALL), &[scatters]), Undecided, "60 ± 99");
}

#[test]
fn holds_against_a_line_needs_the_share_at_every_point() {
    let hold = Test::Holds { curves: a(), line: Some(1_000.0), percent: 85.0, range: ALL };
    for (value, expected) in [(850.0, Pass), (849.0, Fail)] {
        assert_eq!(verdict(&hold, &[of("a", &[900.0, value])]), expected, "{value}");
    }
    assert_eq!(hold.judge(&[]).expected, "every point at least 85 % of 1000");
}

#[test]
fn values_are_undecided_if_intervals_cross_a_bound() {
    // ± 4.3027 / sqrt(3) = 2.484.
    let point = |name, mean: f64| seeds(name, &[(1.0, &[mean - 1.0, mean, mean + 1.0])]);
    let level = |bound| Test::Level { curves: a(), bound, range: ALL };
    let cases = [
        (Bound::Near(100.0), [(100.0, Pass), (87.5, Pass), (87.4, Undecided), (82.6, Undecided), (82.5, Fail)]),
        (Bound::AtLeast(10.0), [(12.5, Pass), (12.4, Undecided), (10.0, Undecided), (7.6, Undecided), (7.5, Fail)]),
        (Bound::AtMost(10.0), [(7.5, Pass), (7.6, Undecided), (10.0, Undecided), (12.4, Undecided), (12.5, Fail)]),
    ];
    for (bound, means) in cases {
        for (mean, expected) in means {
            assert_eq!(verdict(&level(bound), &[point("a", mean)]), expected, "{mean}, {bound:?}");
        }
    }
    assert_eq!(level(Bound::AtLeast(10.0)).judge(&[point("a", 10.0)]).measured, "10.00 ± 2.484 at 1");
    // The worst of several points or curves counts.
    let two = Test::Level { curves: names(&["a", "b"]), bound: Bound::AtLeast(10.0), range: ALL };
    assert_eq!(verdict(&two, &[point("a", 10.0), point("b", 20.0)]), Undecided);
    assert_eq!(verdict(&two, &[point("a", 10.0), point("b", 2.0)]), Fail);
    // A gain of 25 % within 5 points: 60 ± 2.484 over 48 is 25 ± 5.17 points.
    let share = Test::Share { curves: a(), over: Some("b".into()), percent: 25.0, range: ALL };
    let base = seeds("b", &[(1.0, &[48.0, 48.0, 48.0])]);
    assert_eq!(verdict(&share, &[point("a", 60.0), base.clone()]), Undecided);
    let factor =
        Test::Factor { curves: a(), over: names(&["b"]), takes: Takes::Each, times: 1.8, at_least: false, range: ALL };
    for (mean, expected) in [(62.0, Pass), (58.0, Undecided), (55.0, Fail)] {
        assert_eq!(verdict(&factor, &[point("a", mean), base.clone()]), expected, "{mean} over 48: 1.2 at least");
    }
}

#[test]
fn ratios_are_taken_seed_by_seed() {
    // Both scatter by a half, together: the ratio is 2 in every seed.
    let curves = [seeds("a", &[(1.0, &[10.0, 20.0, 30.0])]), seeds("b", &[(1.0, &[5.0, 10.0, 15.0])])];
    let factor =
        |takes, times, range| Test::Factor { curves: a(), over: names(&["b"]), takes, times, at_least: false, range };
    assert_eq!(factor(Takes::Each, 2.9, ALL).judge(&curves).measured, "2.000x at 1");
    assert_eq!(verdict(&factor(Takes::Each, 2.9, ALL), &curves), Pass);
    // Apart, the same values are a ratio of 2 ± 2.5 · ….
    let apart = [curves[0].clone(), seeds("b", &[(1.0, &[15.0, 10.0, 5.0])])];
    assert_eq!(verdict(&factor(Takes::Each, 2.0, ALL), &apart), Undecided);
}

#[test]
fn factor_takes_the_mean_or_the_largest_ratio() {
    let curves = [of("a", &[1.0, 4.0, 10.0]), of("b", &[1.0, 1.0, 1.0])];
    let factor = |takes, times| {
        let over = names(&["b"]);
        Test::Factor { curves: a(), over, takes, times, at_least: false, range: ALL }.judge(&curves)
    };
    let mean = factor(Takes::Mean, 5.0);
    assert_eq!((mean.verdict, mean.measured.as_str()), (Pass, "5.000x ± 0x on average over 3 points"));
    let largest = factor(Takes::Largest, 10.0);
    assert_eq!((largest.verdict, largest.measured.as_str()), (Pass, "10.00x at 3"));
    assert_eq!((factor(Takes::Mean, 8.0).verdict, factor(Takes::Largest, 5.0).verdict), (Fail, Fail));
}

#[test]
fn each_curve_of_a_factor_has_its_own_denominator() {
    let curves = [of("a", &[10.0]), of("b", &[20.0]), of("c", &[1.0]), of("d", &[2.0])];
    let factor = |over: &[&str]| Test::Factor {
        curves: names(&["a", "b"]),
        over: names(over),
        takes: Takes::Each,
        times: 10.0,
        at_least: false,
        range: ALL,
    };
    assert_eq!(factor(&["c", "d"]).judge(&curves).measured, "a 10.00x at 1; b 10.00x at 1");
    assert_eq!(factor(&["c"]).judge(&curves).measured, "a 10.00x at 1; b 20.00x at 1");
}

#[test]
fn level_tolerates_15_percent_at_every_point() {
    let level = |bound| Test::Level { curves: a(), bound, range: ALL };
    for (value, pass) in [(85.0, true), (115.0, true), (84.9, false), (115.1, false)] {
        assert_eq!(holds(&level(Bound::Near(100.0)), &[of("a", &[100.0, value])]), pass, "{value}");
    }
    assert_eq!(level(Bound::Near(100.0)).judge(&[of("a", &[100.0, 84.9])]).measured, "100.0 at 1, 84.90 at 2");
    let many = level(Bound::Near(100.0)).judge(&[of("a", &[100.0, 101.0, 80.0, 99.0, 100.0])]);
    assert_eq!(many.measured, "1 of 5 points outside: 80.00 at 3");
}

#[test]
fn bounds_have_no_tolerance() {
    let level = |bound| Test::Level { curves: a(), bound, range: ALL };
    let at = |value: f64| [of("a", &[value])];
    assert!(holds(&level(Bound::AtLeast(10.0)), &at(10.0)) && !holds(&level(Bound::AtLeast(10.0)), &at(9.99)));
    assert!(holds(&level(Bound::AtMost(10.0)), &at(10.0)) && !holds(&level(Bound::AtMost(10.0)), &at(10.01)));
}

#[test]
fn claims_on_several_curves_need_all_of_them() {
    let level = Test::Level { curves: names(&["a", "b"]), bound: Bound::AtLeast(10.0), range: ALL };
    let judged = level.judge(&[of("a", &[12.0]), of("b", &[9.0])]);
    assert_eq!(judged.verdict, Fail);
    assert_eq!(judged.measured, "a 12.00 at 1; b 9.000 at 1");
}

#[test]
fn intervals_of_times_end_at_zero() {
    // For 1, 1 and 297 the half-width is 4.3027 * 170.9 / sqrt(3) = 424.6.
    let wide = seeds("a", &[(1.0, &[1.0, 1.0, 297.0])]);
    let level = Test::Level { curves: a(), bound: Bound::AtLeast(200.0), range: ALL };
    assert_eq!(level.judge(&[wide]).measured, "99.67 (0 to 524.2) at 1");
}

#[test]
fn factor_tolerates_one_and_a_half_and_at_least_is_open() {
    let factor = |at_least| Test::Factor {
        curves: a(),
        over: names(&["b"]),
        takes: Takes::Each,
        times: 3.0,
        at_least,
        range: ALL,
    };
    for (value, near, at_least) in
        [(1.99, false, false), (2.0, true, true), (4.5, true, true), (4.51, false, true), (900.0, false, true)]
    {
        let curves = [of("a", &[value]), of("b", &[1.0])];
        assert_eq!((holds(&factor(false), &curves), holds(&factor(true), &curves)), (near, at_least), "{value}");
    }
}

#[test]
fn a_zero_denominator_fails_and_is_reported() {
    let curves = [of("a", &[4.0, 4.0]), of("b", &[0.0, 1.0])];
    for range in [Range::At(vec![1.0, 2.0]), ALL] {
        let over = names(&["b"]);
        let factor = Test::Factor { curves: a(), over, takes: Takes::Each, times: 4.0, at_least: true, range };
        let judged = factor.judge(&curves);
        assert_eq!((judged.verdict, judged.measured.as_str()), (Fail, "b is 0 at 1"));
    }
}

#[test]
fn share_tolerates_five_points() {
    let share =
        |over: Option<&str>, percent| Test::Share { curves: a(), over: over.map(String::from), percent, range: ALL };
    for (value, pass) in [(35.0, true), (45.0, true), (34.9, false), (45.1, false)] {
        assert_eq!(holds(&share(None, 40.0), &[of("a", &[value])]), pass, "{value}");
    }
    let pair = |value| [of("a", &[value]), of("b", &[200.0])];
    for (value, pass) in [(150.0, true), (160.0, true), (139.0, false), (161.0, false)] {
        assert_eq!(holds(&share(Some("b"), -25.0), &pair(value)), pass, "{value}: a quarter is lost");
    }
    assert_eq!(share(Some("b"), -25.0).judge(&pair(150.0)).measured, "-25.00 % at 1");
}

fn shape(shape: Shape) -> Test {
    Test::Shape { curves: a(), shape, range: ALL }
}

#[test]
fn rises_needs_a_slope_interval_above_zero() {
    let rising = seeds("a", &[(1.0, &[1.0, 1.1]), (2.0, &[2.0, 2.1]), (3.0, &[3.0, 2.9])]);
    assert!(holds(&shape(Shape::Rises), std::slice::from_ref(&rising)) && !holds(&shape(Shape::Falls), &[rising]));
    let falling = seeds("a", &[(1.0, &[3.0, 3.1]), (2.0, &[2.0, 2.1]), (3.0, &[1.0, 0.9])]);
    assert!(holds(&shape(Shape::Falls), std::slice::from_ref(&falling)) && !holds(&shape(Shape::Rises), &[falling]));
    let unclear = seeds("a", &[(1.0, &[1.0, 9.0]), (2.0, &[2.0, 8.0]), (3.0, &[3.0, 9.0])]);
    for way in [Shape::Rises, Shape::Falls] {
        assert_eq!(verdict(&shape(way), std::slice::from_ref(&unclear)), Undecided);
        assert_eq!(verdict(&shape(way), &[Curve { exact: true, ..unclear.clone() }]), Fail, "no seeds will tell");
        assert_eq!(verdict(&shape(way), &[of("a", &[5.0, 5.0, 5.0])]), Fail, "flat for certain");
    }
}

#[test]
fn flat_needs_the_last_point_within_10_percent_of_the_first() {
    for (last, pass) in [(110.0, true), (90.0, true), (110.1, false), (89.9, false)] {
        assert_eq!(holds(&shape(Shape::Flat), &[of("a", &[100.0, 400.0, last])]), pass, "{last}");
    }
    assert!(
        holds(&shape(Shape::Flat), &[of("a", &[0.0, 0.0])]) && !holds(&shape(Shape::Flat), &[of("a", &[0.0, 1.0])])
    );
    assert!(!holds(&shape(Shape::Flat), &[of("a", &[100.0])]), "one point is no shape");
}

#[test]
fn linear_needs_a_line_that_explains_95_percent() {
    assert!(holds(&shape(Shape::Linear), &[of("a", &[1.0, 2.0, 3.0, 4.1])]));
    // R² of 1, 4, 9, 16 over 1 to 4 is 0.969; of powers of four, 0.80.
    assert!(holds(&shape(Shape::Linear), &[of("a", &[1.0, 4.0, 9.0, 16.0])]));
    assert!(!holds(&shape(Shape::Linear), &[of("a", &[1.0, 4.0, 16.0, 64.0])]));
    assert!(!holds(&shape(Shape::Linear), &[of("a", &[1.0, 2.0])]), "a line fits any two points");
}

#[test]
fn none_means_zero_in_every_seed() {
    let none = Test::None { curves: a(), range: ALL };
    let clean = none.judge(&[seeds("a", &[(1.0, &[0.0, 0.0]), (2.0, &[0.0, 0.0])])]);
    assert_eq!((clean.verdict, clean.measured.as_str()), (Pass, "0 in all 4 runs"));
    let one = none.judge(&[seeds("a", &[(1.0, &[0.0, 0.0]), (2.0, &[0.0, 1.0])])]);
    assert_eq!((one.verdict, one.measured.as_str()), (Fail, "0.500 on average at 1 of 2 points, the first 2"));
}

#[test]
fn missing_measurements_fail_in_every_class() {
    let (curves, over) = (a(), "b".to_string());
    for range in [Range::At(vec![1.0, 2.0]), Range::Within(3.0, 9.0)] {
        let range = || range.clone();
        let tests = [
            Test::Order { above: a(), below: names(&["b"]), range: range(), or_equal: true, whole: true },
            Test::Onset { curves: a(), at: 1.0, past: None, grid: vec![1.0], range: range() },
            Test::Holds { curves: a(), line: None, percent: 50.0, range: range() },
            Test::Holds { curves: a(), line: Some(0.1), percent: 50.0, range: range() },
            Test::Level { curves: a(), bound: Bound::AtMost(9.0), range: range() },
            Test::Factor {
                curves: a(),
                over: vec![over.clone()],
                takes: Takes::Mean,
                times: 1.0,
                at_least: true,
                range: range(),
            },
            Test::Share { curves: a(), over: None, percent: 1.0, range: range() },
            Test::Share { curves: a(), over: Some(over.clone()), percent: 0.0, range: range() },
            Test::Shape { curves: a(), shape: Shape::Flat, range: range() },
            Test::Shape { curves: a(), shape: Shape::Rises, range: range() },
            Test::None { curves: curves.clone(), range: range() },
        ];
        for test in tests {
            for measured in [Vec::new(), vec![of("a", &[0.5]), of("b", &[0.25])]] {
                let judged = test.judge(&measured);
                assert_eq!((judged.verdict, judged.measured.as_str()), (Fail, NOTHING), "{test:?}");
            }
        }
    }
}

#[test]
fn marks_are_in_the_units_of_the_figure() {
    let curves = [of("a", &[10.0, 30.0, 20.0]), of("b", &[1.0, 2.0, 4.0])];
    let range = || Range::Within(2.0, 9.0);
    let band = |test: Test| {
        let mark = test.mark(&curves);
        assert_eq!(mark.span, [2.0, 3.0], "{test:?}");
        let [band] = mark.bands.as_slice() else { panic!("{mark:?}") };
        assert_eq!((band.curve.as_str(), band.x.as_slice()), ("a", &[2.0, 3.0][..]));
        [&band.least, &band.reported, &band.most].map(|values| [values[0], values[1]])
    };
    let level = Test::Level { curves: a(), bound: Bound::Near(100.0), range: range() };
    assert_eq!(band(level), [[Some(85.0); 2], [Some(100.0); 2], [Some(115.0); 2]]);
    let level = Test::Level { curves: a(), bound: Bound::AtMost(9.0), range: range() };
    assert_eq!(band(level), [[None; 2], [None; 2], [Some(9.0); 2]]);
    let holds = |line| Test::Holds { curves: a(), line, percent: 50.0, range: range() };
    assert_eq!(band(holds(None)), [[Some(15.0); 2], [None; 2], [None; 2]], "the best up to there is 30");
    assert_eq!(band(holds(Some(200.0))), [[Some(100.0); 2], [None; 2], [None; 2]]);
    let over = || names(&["b"]);
    let factor =
        Test::Factor { curves: a(), over: over(), takes: Takes::Each, times: 3.0, at_least: true, range: range() };
    assert_eq!(band(factor), [[Some(4.0), Some(8.0)], [Some(6.0), Some(12.0)], [None; 2]]);
    let share = |over| Test::Share { curves: a(), over, percent: 20.0, range: range() };
    assert_eq!(band(share(None)), [[Some(15.0); 2], [Some(20.0); 2], [Some(25.0); 2]]);
    let gains = band(share(Some("b".into())));
    assert_eq!(gains, [[Some(2.3), Some(4.6)], [Some(2.4), Some(4.8)], [Some(2.5), Some(5.0)]]);
    let none = Test::None { curves: a(), range: range() };
    assert_eq!(band(none), [[Some(0.0); 2], [None; 2], [Some(0.0); 2]]);
    let halved = Test::Level { curves: a(), bound: Bound::Near(100.0), range: range() }.mark(&curves);
    let [band] = &halved.over(&|_, x| (x < 3.0).then_some(200.0)).bands[..] else { panic!("{halved:?}") };
    assert_eq!([&band.least, &band.reported, &band.most].map(|values| values[0]), [0.425, 0.5, 0.575].map(Some));
    assert_eq!(
        [band.least[1], band.reported[1], band.most[1]],
        [None; 3],
        "what they were to stand over is missing there"
    );
    // Several ratios combined, an order and a shape have no bounds at any point.
    let mean =
        Test::Factor { curves: a(), over: over(), takes: Takes::Mean, times: 3.0, at_least: false, range: range() };
    for test in [mean, above(range(), true)] {
        let mark = test.mark(&curves);
        assert_eq!((mark.curves, mark.bands), (names(&["a", "b"]), Vec::new()));
    }
    let mark = onset(2.0, None, &[1.0, 2.0, 3.0]).mark(&curves);
    assert_eq!((mark.onset, mark.reported_onset, mark.span), (vec![1.0, 3.0], Some(2.0), vec![1.0, 3.0]));
    assert_eq!(above(Range::At(vec![7.0]), true).mark(&curves).span, [] as [f64; 0], "nothing was measured there");
}

#[test]
fn all_numbers_of_a_judgement_have_units() {
    let axes = Axes::of("goodput, Mbit/s", "senders");
    let curve = Curve { axes, ..curve("a", &[(1.0, 352.0), (16.0, 77.5)]) };
    let range = Range::At(vec![1.0, 16.0]);
    let level = Test::Level { curves: names(&["a"]), bound: Bound::AtMost(400.0), range };
    let judged = level.judge(std::slice::from_ref(&curve));
    assert_eq!(judged.measured, "352.0 Mbit/s at 1 sender, 77.50 Mbit/s at 16 senders");
    assert_eq!(judged.expected, "at most 400.0 Mbit/s");
    let places = ["senders", "time, ms", "round"].map(|over| Axes::of("Jain's index", over).place(3.0));
    assert_eq!(places, ["3 senders", "3 ms", "round 3"]);
    assert_eq!(Axes::of("timeouts a run", "senders").unit, " timeouts a run");
    assert_eq!(Axes::of("Jain's index", "senders").unit, "");
}
