//! Invariants of every algorithm: bounds of windows, shares and queues, and no overflow at the extremes.
//!
//! A failure prints the smallest failing input; proptest keeps its seed in `properties.proptest-regressions`.

#[path = "properties/fixed.rs"]
mod fixed;
#[path = "properties/memory.rs"]
mod memory;
#[path = "properties/pauses.rs"]
mod pauses;
#[path = "properties/ports.rs"]
mod ports;
#[path = "properties/receivers.rs"]
mod receivers;
#[path = "properties/scheduler.rs"]
mod scheduler;
#[path = "properties/senders.rs"]
mod senders;
#[path = "properties/settings.rs"]
mod set;

use fanin_laws::Settings;
use proptest::strategy::Strategy;

/// Random valid settings.
fn settings() -> impl Strategy<Value = Settings> {
    set::settings(Settings::sections, Settings::sections_mut)
}
