//! Metrics for Prometheus and for OpenTelemetry collectors, over HTTP in threads of their own. Counters have one writer each, so that a scrape never delays a request.

mod endpoint;
#[cfg(feature = "collector")]
mod exporter;
mod family;
mod http;
#[cfg(feature = "collector")]
mod otlp;
pub mod process;
mod protobuf;
mod source;
mod wire;

#[cfg(feature = "collector")]
pub use exporter::Exporter;
pub use family::{Family, Labels, Value, family, gauge};
pub use http::{HttpThread, listen};
pub use source::{Source, build_info};
