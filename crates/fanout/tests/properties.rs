//! What holds for every law of fan-outs, whatever comes.
//!
//! A failure prints the smallest input that shows it; proptest keeps its seed in `properties.proptest-regressions`.

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

/// Any settings that no law refuses.
fn settings() -> impl Strategy<Value = Settings> {
    set::settings(Settings::sections, Settings::sections_mut)
}
