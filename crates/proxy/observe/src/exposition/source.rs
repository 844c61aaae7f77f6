//! Where metrics come from, and their formats.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::family::{Family, family};
use super::protobuf;

/// State from which metrics are collected.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Whether it accepts connections and its threads work; or why not.
    ///
    /// # Errors
    /// The reason, as a line for operators.
    fn readiness(&self) -> Result<(), String>;

    /// All metrics.
    fn families(&self) -> Vec<Family>;
}

/// Format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' protobuf, which has native histograms.
    Protobuf,
}

impl Format {
    /// All of them: what a client that wants it accepts, and the type of the response.
    const ALL: [(Format, &[&str], &str); 3] = [
        (
            Format::Protobuf,
            &["application/vnd.google.protobuf", "io.prometheus.client.MetricFamily", "delimited"],
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
        ),
        (
            Format::OpenMetrics,
            &["application/openmetrics-text"],
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (Format::Text, &[], "text/plain; version=0.0.4; charset=utf-8"),
    ];

    /// The best one that a client accepts, and its type.
    pub fn accepted(accepts: &str) -> (Format, &'static str) {
        let wanted = |words: &[&str]| words.iter().all(|word| accepts.contains(word));
        let found = Format::ALL.into_iter().find(|(_, words, _)| wanted(words));
        found.map_or((Format::Text, ""), |(format, _, name)| (format, name))
    }
}

/// Collected metrics.
#[derive(Debug)]
struct Collected(Vec<Family>);

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

/// All metrics in a format.
///
/// # Errors
/// Never, since writing to memory cannot fail.
pub fn encode(source: &dyn Source, format: Format) -> Result<Vec<u8>, fmt::Error> {
    let families = source.families();
    if format == Format::Protobuf {
        return Ok(protobuf::encode(&families));
    }
    let (mut registry, mut out) = (Registry::default(), String::new());
    registry.register_collector(Box::new(Collected(families)));
    match format {
        Format::OpenMetrics => text::encode(&mut out, &registry)?,
        _ => prometheus_text::encode(&mut out, &registry)?,
    }
    Ok(out.into_bytes())
}

/// Version and event loop.
pub fn build_info(event_loop: &str) -> Family {
    let mut build = family("fanin_build_info", "Version and event loop; always 1", MetricType::Gauge);
    build.number(&[("version", env!("CARGO_PKG_VERSION")), ("event_loop", event_loop)], 1.0);
    build
}
