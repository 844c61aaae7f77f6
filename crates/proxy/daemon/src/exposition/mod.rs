//! Metrics of a front end and of an agent. A scrape sums the threads' counters; nothing is computed before.

mod agent;
mod front_end;
mod incast;

pub use agent::AgentMetrics;
pub use front_end::FrontEndMetrics;
