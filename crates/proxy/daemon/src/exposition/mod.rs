//! Metrics for Prometheus, over HTTP in a thread of its own.
//!
//! A scrape sums the threads' counters; nothing is computed before. Counters have one writer each, so that a scrape never delays a request.

mod agent;
mod family;
mod front_end;
mod http;
mod incast;
mod process;
mod protobuf;
mod source;

pub use agent::AgentMetrics;
pub use front_end::FrontEndMetrics;
pub use http::{HttpThread, listen};
