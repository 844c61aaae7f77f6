//! Each class on curves made by hand, at the edges of its tolerance.

use super::*;

/// A curve with these values at each x, one a seed.
fn seeds(name: &str, points: &[(f64, &[f64])]) -> Curve {
    let points = points.iter().filter_map(|&(x, values)| Point::new(x, values.to_vec())).collect();
    Curve { name: name.into(), points }
}

/// A curve of one seed.
fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
    Curve { name: name.into(), points: points.iter().filter_map(|&(x, y)| Point::new(x, vec![y])).collect() }
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

fn holds(test: &Test, curves: &[Curve]) -> bool {
    test.judge(curves).pass
}

fn above(range: Range, whole: bool) -> Test {
    Test::Order { above: a(), below: names(&["b"]), range, whole }
}

#[test]
fn an_order_needs_intervals_that_do_not_touch() {
    // Of two values the half interval is 12.706 times half of their difference.
    let high = seeds("a", &[(1.0, &[9.0, 11.0])]);
    let half = high.points[0].y.hi - 10.0;
    let low = |mean: f64| seeds("b", &[(1.0, &[mean - 1.0, mean + 1.0])]);
    let apart = 10.0 - 2.0 * half;
    assert!(holds(&above(ALL, false), &[high.clone(), low(apart - 0.01)]));
    let touching = Curve {
        name: "b".into(),
        points: vec![Point {
            x: 1.0,
            y: Interval { mean: 0.0, lo: -1.0, hi: high.points[0].y.lo },
            values: vec![-1.0, 1.0],
        }],
    };
    let judged = above(ALL, false).judge(&[high.clone(), touching]);
    assert!(!judged.pass);
    assert!(judged.measured.starts_with("at 0 of 1 points; not a 10.00 ±"), "{}", judged.measured);
    assert!(!holds(&above(ALL, false), &[low(apart), high]), "the other way round");
}

#[test]
fn an_order_of_a_whole_curve_needs_nine_of_ten_points() {
    let low = of("b", &[1.0; 10]);
    let high = |wrong: usize| of("a", &(0..10).map(|i| if i < wrong { 0.5 } else { 2.0 }).collect::<Vec<_>>());
    assert!(holds(&above(ALL, true), &[high(1), low.clone()]));
    assert!(!holds(&above(ALL, true), &[high(2), low.clone()]));
    assert!(!holds(&above(ALL, false), &[high(1), low.clone()]), "at every point, where it is not of the whole curve");
    let nine = Range::Within(1.0, 9.0);
    assert!(!holds(&above(nine, true), &[high(1), low]), "8 of 9 are fewer than 9 of 10");
}

#[test]
fn an_order_holds_at_the_points_that_are_named_and_for_every_pair_of_curves() {
    let curves = [of("a", &[1.0, 5.0]), of("b", &[2.0, 3.0]), of("c", &[0.0, 6.0])];
    assert!(holds(&above(Range::At(vec![2.0]), false), &curves));
    assert!(!holds(&above(Range::At(vec![1.0]), false), &curves));
    let both = Test::Order { above: a(), below: names(&["b", "c"]), range: Range::At(vec![2.0]), whole: false };
    let judged = both.judge(&curves);
    assert_eq!(judged.measured, "at 1 of 2 points; not a 5.000 ± 0 against c 6.000 ± 0 at 2");
}

#[test]
fn an_onset_may_be_one_step_of_the_papers_grid_away() {
    let grid = vec![1.0, 2.0, 4.0, 8.0, 16.0];
    let onset = |at| Test::Onset { curves: a(), at, past: None, grid: grid.clone(), range: ALL };
    let falls_at = |n: f64| {
        let points: Vec<(f64, f64)> = grid.iter().map(|&x| (x, if x >= n { 40.0 } else { 100.0 })).collect();
        curve("a", &points)
    };
    for (n, pass) in [(2.0, false), (4.0, true), (8.0, true), (16.0, true)] {
        assert_eq!(holds(&onset(Some(8.0)), &[falls_at(n)]), pass, "{n}");
    }
    assert!(!holds(&onset(Some(8.0)), &[falls_at(99.0)]), "no onset at all");
    assert!(holds(&onset(None), &[falls_at(99.0)]));
    assert!(!holds(&onset(None), &[falls_at(16.0)]));
    // The grid ends: what would be a step further is not there.
    assert!(holds(&onset(Some(16.0)), &[falls_at(8.0)]) && holds(&onset(Some(1.0)), &[falls_at(2.0)]));
    assert_eq!(onset(Some(16.0)).judge(&[falls_at(8.0)]).expected, "onset in 8..16");
    assert_eq!(onset(None).judge(&[falls_at(99.0)]).measured, "no onset up to 16 (of one seed)");
}

#[test]
fn a_fall_that_recovers_at_the_next_point_is_no_onset() {
    let grid = vec![1.0, 2.0, 3.0, 4.0];
    let onset = |at| Test::Onset { curves: a(), at, past: None, grid: grid.clone(), range: ALL };
    let dips = of("a", &[100.0, 40.0, 90.0, 95.0]);
    assert!(holds(&onset(None), std::slice::from_ref(&dips)) && !holds(&onset(Some(2.0)), &[dips]));
    assert!(holds(&onset(Some(2.0)), &[of("a", &[100.0, 40.0, 45.0, 95.0])]), "what comes back later has collapsed");
    assert!(holds(&onset(Some(4.0)), &[of("a", &[100.0, 95.0, 90.0, 40.0])]), "the last point has none after it");
}

#[test]
fn an_onset_past_a_value_is_where_it_stays_over_it() {
    let grid = vec![1.0, 2.0, 3.0, 4.0];
    let onset = |at| Test::Onset { curves: a(), at, past: Some(10.0), grid: grid.clone(), range: ALL };
    assert!(holds(&onset(Some(1.0)), &[of("a", &[5.0, 10.1, 11.0, 12.0])]));
    assert!(!holds(&onset(Some(1.0)), &[of("a", &[5.0, 10.1, 9.0, 12.0])]), "it comes back at 3 and passes at 4");
    assert!(holds(&onset(None), &[of("a", &[5.0, 10.0, 10.0, 10.0])]), "the value itself is not past it");
}

#[test]
fn a_level_may_be_15_per_cent_off_at_every_point() {
    let level = |bound| Test::Level { curves: a(), bound, range: ALL };
    for (value, pass) in [(85.0, true), (115.0, true), (84.9, false), (115.1, false)] {
        assert_eq!(holds(&level(Bound::Near(100.0)), &[of("a", &[100.0, value])]), pass, "{value}");
    }
    assert_eq!(level(Bound::Near(100.0)).judge(&[of("a", &[100.0, 84.9])]).measured, "100.0 at 1, 84.90 at 2");
    let many = level(Bound::Near(100.0)).judge(&[of("a", &[100.0, 101.0, 80.0, 99.0, 100.0])]);
    assert_eq!(many.measured, "1 of 5 points outside: 80.00 at 3");
}

#[test]
fn a_bound_is_held_exactly() {
    let level = |bound| Test::Level { curves: a(), bound, range: ALL };
    let at = |value: f64| [of("a", &[value])];
    assert!(holds(&level(Bound::AtLeast(10.0)), &at(10.0)) && !holds(&level(Bound::AtLeast(10.0)), &at(9.99)));
    assert!(holds(&level(Bound::AtMost(10.0)), &at(10.0)) && !holds(&level(Bound::AtMost(10.0)), &at(10.01)));
}

#[test]
fn a_claim_of_several_curves_needs_each_of_them() {
    let level = Test::Level { curves: names(&["a", "b"]), bound: Bound::AtLeast(10.0), range: ALL };
    let judged = level.judge(&[of("a", &[12.0]), of("b", &[9.0])]);
    assert!(!judged.pass);
    assert_eq!(judged.measured, "a 12.00 at 1; b 9.000 at 1");
}

#[test]
fn a_factor_may_be_off_by_one_and_a_half_and_at_least_has_no_upper_end() {
    let factor = |at_least| Test::Factor { curves: a(), over: "b".into(), times: 3.0, at_least, range: ALL };
    for (value, near, at_least) in
        [(1.99, false, false), (2.0, true, true), (4.5, true, true), (4.51, false, true), (900.0, false, true)]
    {
        let curves = [of("a", &[value]), of("b", &[1.0])];
        assert_eq!((holds(&factor(false), &curves), holds(&factor(true), &curves)), (near, at_least), "{value}");
    }
}

#[test]
fn a_factor_over_zero_fails_and_says_where() {
    let curves = [of("a", &[4.0, 4.0]), of("b", &[0.0, 1.0])];
    for times in [Range::At(vec![1.0, 2.0]), ALL] {
        let factor = Test::Factor { curves: a(), over: "b".into(), times: 4.0, at_least: true, range: times };
        let judged = factor.judge(&curves);
        assert_eq!((judged.pass, judged.measured.as_str()), (false, "b is 0 at 1"));
    }
}

#[test]
fn a_share_may_be_five_points_off() {
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
fn a_curve_rises_where_its_slope_is_above_zero_for_certain() {
    let rising = seeds("a", &[(1.0, &[1.0, 1.1]), (2.0, &[2.0, 2.1]), (3.0, &[3.0, 2.9])]);
    assert!(holds(&shape(Shape::Rises), std::slice::from_ref(&rising)) && !holds(&shape(Shape::Falls), &[rising]));
    let falling = seeds("a", &[(1.0, &[3.0, 3.1]), (2.0, &[2.0, 2.1]), (3.0, &[1.0, 0.9])]);
    assert!(holds(&shape(Shape::Falls), std::slice::from_ref(&falling)) && !holds(&shape(Shape::Rises), &[falling]));
    let unclear = seeds("a", &[(1.0, &[1.0, 9.0]), (2.0, &[2.0, 8.0]), (3.0, &[3.0, 9.0])]);
    assert!(!holds(&shape(Shape::Rises), std::slice::from_ref(&unclear)) && !holds(&shape(Shape::Falls), &[unclear]));
}

#[test]
fn a_curve_is_flat_where_its_last_point_is_within_a_tenth_of_its_first() {
    for (last, pass) in [(110.0, true), (90.0, true), (110.1, false), (89.9, false)] {
        assert_eq!(holds(&shape(Shape::Flat), &[of("a", &[100.0, 400.0, last])]), pass, "{last}");
    }
    assert!(
        holds(&shape(Shape::Flat), &[of("a", &[0.0, 0.0])]) && !holds(&shape(Shape::Flat), &[of("a", &[0.0, 1.0])])
    );
    assert!(!holds(&shape(Shape::Flat), &[of("a", &[100.0])]), "one point is no shape");
}

#[test]
fn a_curve_is_linear_where_a_line_explains_95_per_cent() {
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
    assert_eq!((clean.pass, clean.measured.as_str()), (true, "0 in all 4 runs"));
    let one = none.judge(&[seeds("a", &[(1.0, &[0.0, 0.0]), (2.0, &[0.0, 1.0])])]);
    assert_eq!((one.pass, one.measured.as_str()), (false, "0.500 on average at 1 of 2 points, the first 2"));
}

#[test]
fn what_was_not_measured_fails_in_every_class() {
    let (curves, over) = (a(), "b".to_string());
    for range in [Range::At(vec![1.0, 2.0]), Range::Within(3.0, 9.0)] {
        let range = || range.clone();
        let tests = [
            Test::Order { above: a(), below: names(&["b"]), range: range(), whole: true },
            Test::Onset { curves: a(), at: None, past: None, grid: vec![1.0], range: range() },
            Test::Level { curves: a(), bound: Bound::AtMost(9.0), range: range() },
            Test::Factor { curves: a(), over: over.clone(), times: 1.0, at_least: true, range: range() },
            Test::Share { curves: a(), over: None, percent: 1.0, range: range() },
            Test::Share { curves: a(), over: Some(over.clone()), percent: 0.0, range: range() },
            Test::Shape { curves: a(), shape: Shape::Flat, range: range() },
            Test::Shape { curves: a(), shape: Shape::Rises, range: range() },
            Test::None { curves: curves.clone(), range: range() },
        ];
        for test in tests {
            for measured in [Vec::new(), vec![of("a", &[0.5]), of("b", &[0.25])]] {
                let judged = test.judge(&measured);
                assert_eq!((judged.pass, judged.measured.as_str()), (false, NOTHING), "{test:?}");
            }
        }
    }
}
