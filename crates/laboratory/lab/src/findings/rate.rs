//! Goodputs in words, with a unit that suits the links.

use fanin_spec::Variant;

use crate::figures::three;

/// Rate of the client's link, or of all hosts' links for an any-to-any workload, in Mbit/s; the maximum over schemes and points.
pub fn line_mbps(variants: &[Variant]) -> f64 {
    let rates = variants.iter().flat_map(|c| &c.points).map(|at| at.settings.line_rate());
    rates.max().unwrap_or(0) as f64 / 1e6
}

/// A goodput with its unit, which depends on line rate, for comparability.
pub(super) fn rate(mbps: f64, line_mbps: f64) -> String {
    let unit = if line_mbps >= LARGE_MBPS { "Gbit/s" } else { "Mbit/s" };
    format!("{} {unit}", rate_alone(mbps, line_mbps))
}

/// A goodput without its unit.
pub(super) fn rate_alone(mbps: f64, line_mbps: f64) -> String {
    three(if line_mbps >= LARGE_MBPS { mbps / 1e3 } else { mbps })
}

/// Line rate from which goodputs use Gbit/s.
const LARGE_MBPS: f64 = 100_000.0;
