//! Error bounds of `fixed.rs`, against floating point.
#![expect(clippy::disallowed_methods, reason = "a yardstick whose last digit does not matter")]

use fanin_laws::fixed::{ONE_Q16, cbrt, exp2_q16, log2_q16, pow_q16};
use proptest::prelude::*;

const ONE: f64 = ONE_Q16 as f64;

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn logarithm_rounds_down_to_a_65536th(x in any::<u64>(), shift in 0..47u32) {
        let x = (x >> shift).max(ONE_Q16);
        let (found, exact) = (log2_q16(x) as f64, (x as f64 / ONE).log2() * ONE);
        // Low by at most one step, plus one lost to squaring with 31 bits.
        prop_assert!(found <= exact + 0.01 && found > exact - 2.0, "{found} for {exact}");
    }

    #[test]
    fn exp2_error_is_within_bounds(x in 0..(47u64 << 16)) {
        let (found, exact) = (exp2_q16(x) as f64, (x as f64 / ONE).exp2() * ONE);
        prop_assert!((found - exact).abs() <= exact / 50_000.0 + 1.0, "{found} for {exact}");
    }

    #[test]
    fn window_power_error_is_within_bounds(segments in 1.0..65_000.0f64, exponent in 0..=ONE_Q16) {
        // log2 is up to 2/65536 low, so the power is low by up to that times ln 2 times the exponent, and exp2's error.
        let x = (segments * ONE) as u64;
        let (found, exact) = (pow_q16(x, exponent) as f64, (x as f64 / ONE).powf(exponent as f64 / ONE) * ONE);
        prop_assert!((found - exact).abs() <= exact * 2e-4 + 1.0, "{found} for {exact}");
    }

    #[test]
    fn power_is_between_one_and_base(x in ONE_Q16..1 << 40, exponent in 0..=ONE_Q16) {
        let power = pow_q16(x, exponent);
        prop_assert!(power >= ONE_Q16 && power as f64 <= x as f64 * 1.0001, "{power}");
    }

    #[test]
    fn cube_root_rounds_down(x in any::<u64>(), shift in 0..64u32) {
        let x = x >> shift;
        let root = u128::from(cbrt(x));
        prop_assert!(root.pow(3) <= x.into() && (root + 1).pow(3) > x.into(), "{root}");
    }
}

#[test]
fn exact_values_are_exact() {
    assert_eq!(log2_q16(ONE_Q16), 0);
    assert_eq!(log2_q16(8 * ONE_Q16), 3 * ONE_Q16);
    assert_eq!(exp2_q16(0), ONE_Q16);
    assert_eq!(exp2_q16(10 * ONE_Q16), 1024 * ONE_Q16);
    assert_eq!(exp2_q16(47 * ONE_Q16), u64::MAX);
    assert_eq!(pow_q16(576 * ONE_Q16, 0), ONE_Q16);
    assert_eq!(cbrt(0), 0);
    assert_eq!((cbrt(26), cbrt(27), cbrt(28)), (2, 3, 3));
    assert_eq!(cbrt(u64::MAX), 2_642_245);
}
