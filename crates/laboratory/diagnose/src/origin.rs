//! Values with their origins: measured, inferred or assumed.

use serde::Serialize;

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub struct Known<T> {
    pub value: T,
    /// `measured`, `inferred` or `assumed`.
    pub how: How,
    pub confidence: f64,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "plain data with self-explanatory names")]
pub enum How {
    Measured,
    Inferred,
    Assumed,
}

impl How {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            How::Measured => "measured",
            How::Inferred => "inferred",
            How::Assumed => "assumed",
        }
    }
}
