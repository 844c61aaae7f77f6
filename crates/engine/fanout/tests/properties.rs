//! Invariants of all fan-out algorithms.
//!
//! A failure prints the smallest failing input; proptest stores its seed in `properties.proptest-regressions`.

#[path = "properties/hubs.rs"]
mod hubs;
#[path = "properties/moves.rs"]
mod moves;
#[path = "../../laws/tests/properties/settings.rs"]
mod set;
#[path = "properties/windows.rs"]
mod windows;

use fanin_fanout::Settings;
use proptest::strategy::Strategy;

/// Any valid settings.
fn settings() -> impl Strategy<Value = Settings> {
    set::settings(Settings::sections, Settings::sections_mut)
}
