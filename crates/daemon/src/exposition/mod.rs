//! Metrics for Prometheus, over HTTP in a thread of its own.
//!
//! A scrape sums the threads' counters; nothing is computed before. Counters have one writer each, so that a scrape never delays a request.

mod families;
mod family;
mod http;
mod incast;
mod process;
mod protobuf;

pub use families::{Format, Source};
pub use http::{HttpThread, listen};
