//! Figures and addresses in words.

use std::net::Ipv6Addr;

/// A time in nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    // Times are whole nanoseconds; more digits are meaningless.
    (ns as f64 / 1e9 * 1e9).round() / 1e9
}

/// An address; an IPv4 one in its usual form.
pub(crate) fn name_of(address: u128) -> String {
    let address = Ipv6Addr::from(address);
    address.to_ipv4_mapped().map_or_else(|| address.to_string(), |four| four.to_string())
}

/// A time with its unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3).replace(".000 ", " "),
        s => format!("{s:.3} s"),
    }
}
