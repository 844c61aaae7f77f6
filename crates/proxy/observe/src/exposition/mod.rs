//! Metrics for Prometheus, over HTTP in a thread of its own. Counters have one writer each, so that a scrape never delays a request.

mod endpoint;
mod family;
mod http;
pub mod process;
mod protobuf;
mod source;

pub use family::{Family, Labels, Value, family, gauge};
pub use http::{HttpThread, listen};
pub use source::{Source, build_info};
