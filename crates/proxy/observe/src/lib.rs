//! Reports of the proxy: counters and histograms (`metrics`), messages for operators, the request log, and metrics over HTTP
//! (`exposition`), and collectors of OpenTelemetry.

pub mod collector;
pub mod exposition;
pub mod log;
pub mod messages;
pub mod metrics;
