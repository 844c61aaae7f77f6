//! Fixed-point arithmetic as in a kernel: logarithm, power and cube root without floating point.

/// `1.0` with sixteen bits of fraction.
pub const ONE_Q16: u64 = 1 << 16;

/// 2^(2^-k) for k = 1..=16, with 32 bits of fraction, rounded to the nearest.
const ROOTS_OF_TWO_Q32: [u64; 16] = roots_of_two();

const fn roots_of_two() -> [u64; 16] {
    let mut roots = [0; 16];
    // Each root is the square root of the previous one, computed with 62 bits of fraction.
    let mut last: u128 = 2 << 62;
    let mut k = 0;
    while k < 16 {
        last = (last << 62).isqrt();
        roots[k] = ((last + (1 << 29)) >> 30) as u64;
        k += 1;
    }
    roots
}

/// The binary logarithm of `x_q16`, rounded down to 1/65536; zero if `x_q16` is at most one.
pub const fn log2_q16(x_q16: u64) -> u64 {
    if x_q16 <= ONE_Q16 {
        return 0;
    }
    let whole = 63 - x_q16.leading_zeros() as u64;
    // The mantissa is in 1..2 with 31 bits of fraction: squaring it shifts out the next bit of the logarithm.
    let mut mantissa = if whole >= 31 { x_q16 >> (whole - 31) } else { x_q16 << (31 - whole) };
    let mut log = (whole - 16) << 16;
    let mut bit = 1 << 15;
    while bit > 0 {
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >> 32 != 0 {
            mantissa >>= 1;
            log |= bit;
        }
        bit >>= 1;
    }
    log
}

/// Two to the power of `x_q16`, with sixteen bits of fraction; saturates at `u64::MAX`.
pub const fn exp2_q16(x_q16: u64) -> u64 {
    let whole = x_q16 >> 16;
    if whole >= 47 {
        return u64::MAX;
    }
    let mut product: u64 = 1 << 32;
    let mut k = 0;
    while k < 16 {
        if x_q16 & (1 << (15 - k)) != 0 {
            product = ((product as u128 * ROOTS_OF_TWO_Q32[k] as u128) >> 32) as u64;
        }
        k += 1;
    }
    ((product as u128) << whole >> 16) as u64
}

/// `x` to the power of `exponent`, both with sixteen bits of fraction; `x` is at least one.
pub const fn pow_q16(x_q16: u64, exponent_q16: u64) -> u64 {
    exp2_q16(((log2_q16(x_q16) as u128 * exponent_q16 as u128) >> 16) as u64)
}

/// A share from 0 to 1 to the power of `exponent`, both with sixteen bits of fraction; the exponent is at most 64.
pub const fn share_pow_q16(share_q16: u64, exponent_q16: u64) -> u64 {
    if share_q16 == 0 {
        return 0;
    }
    // -log2(share) times the exponent: how far the result is below one, as a power of two.
    let less_q16 = ((16 * ONE_Q16 - log2_q16(share_q16 << 16)) as u128 * exponent_q16 as u128) >> 16;
    ((1u128 << 32) / exp2_q16(less_q16 as u64) as u128) as u64
}

/// The cube root, rounded down.
pub const fn cbrt(x: u64) -> u64 {
    // Three bits of the radicand give one of the root.
    let mut root: u64 = 0;
    let mut shift = 63;
    loop {
        root <<= 1;
        let next = root | 1;
        if next * next * next <= x >> shift {
            root = next;
        }
        if shift == 0 {
            return root;
        }
        shift -= 3;
    }
}
