//! Figures, and figures in words.

/// A time in nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    // Times are whole nanoseconds; more digits are meaningless.
    (ns as f64 / 1e9 * 1e9).round() / 1e9
}

/// A time with its unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3).replace(".000 ", " "),
        s => format!("{s:.3} s"),
    }
}
