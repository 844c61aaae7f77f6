//! A row of `fanin kernel status`.

use serde::Serialize;

use crate::control::Control;

/// A loaded congestion control.
#[derive(Serialize)]
pub struct LoadedControl {
    pub control: &'static Control,
    pub pins: Vec<String>,
    /// Connections of this network namespace that use it; `None` without `ss`.
    pub connections: Option<usize>,
}
