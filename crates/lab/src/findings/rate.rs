//! Goodputs in words, in the unit that suits the links.

use fanin_spec::Variant;

use crate::figures::three;

/// The rate of the client's link, or of all hosts' links where flows go between any two, in Mbit/s; the fastest where
/// it differs by scheme or point.
pub fn line_mbps(variants: &[Variant]) -> f64 {
    let rates = variants.iter().flat_map(|c| &c.points).map(|at| at.settings.line_rate());
    rates.max().unwrap_or(0) as f64 / 1e6
}

/// A goodput with its unit; the unit follows from line rate, so that figures can be compared.
pub(super) fn rate(mbps: f64, line_mbps: f64) -> String {
    let unit = if line_mbps >= LARGE_MBPS { "Gbit/s" } else { "Mbit/s" };
    format!("{} {unit}", rate_alone(mbps, line_mbps))
}

/// The same without its unit.
pub(super) fn rate_alone(mbps: f64, line_mbps: f64) -> String {
    three(if line_mbps >= LARGE_MBPS { mbps / 1e3 } else { mbps })
}

/// From this line rate on, goodputs are told in Gbit/s.
const LARGE_MBPS: f64 = 100_000.0;
