//! Metrics in OpenTelemetry's protobuf format (OTLP).
//!
//! The messages are those of `opentelemetry/proto/metrics/v1/metrics.proto`, as far as they are used, with its field numbers.

use prometheus_client::metrics::MetricType;

use super::family::{Family, Labels, Value};
use super::wire::Message;
use crate::metrics::Distribution;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
/// Last part of names with a unit of their own. OpenTelemetry's names have none.
const SECONDS: &str = ".seconds";

/// Period of the metrics, Unix time in ns.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    pub start: u64,
    pub end: u64,
}

/// An `ExportMetricsServiceRequest`.
pub fn encode(resource: &Labels, families: &[Family], period: Period) -> Vec<u8> {
    let attributes = with_attributes(Message::default(), 1, resource);
    let scope = Message::default().bytes(1, b"fanin").bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut of_scope = Message::default().bytes(1, scope.encoded());
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        of_scope = of_scope.bytes(2, metric(family, period).encoded());
    }
    let of_resource = Message::default().bytes(1, attributes.encoded()).bytes(2, of_scope.encoded());
    Message::default().bytes(1, of_resource.encoded()).into_bytes()
}

fn metric(family: &Family, period: Period) -> Message {
    let (name, unit) = match family.name.strip_suffix(SECONDS) {
        Some(name) => (name, "s"),
        None if family.name.ends_with("bytes") => (family.name.as_str(), "By"),
        None => (family.name.as_str(), ""),
    };
    let mut points = Message::default();
    for (labels, value) in &family.samples {
        let point = Message::default().fixed(2, period.start).fixed(3, period.end);
        let point = match value {
            Value::Number(number) => with_attributes(point.double(4, *number), 7, labels),
            Value::Distribution(found) => with_attributes(histogram(point, found), 9, labels),
        };
        points = points.bytes(1, point.encoded());
    }
    let (field, data) = match family.kind {
        MetricType::Counter => (7, points.uint(2, CUMULATIVE).uint(3, 1)),
        MetricType::Histogram => (9, points.uint(2, CUMULATIVE)),
        _ => (5, points),
    };
    let named = Message::default().bytes(1, name.as_bytes()).bytes(2, family.help.as_bytes());
    named.bytes(3, unit.as_bytes()).bytes(field, data.encoded())
}

/// The last bucket has no bound.
fn histogram(point: Message, found: &Distribution) -> Message {
    let counts: Vec<u8> = found.buckets.iter().flat_map(|(_, count)| count.to_le_bytes()).collect();
    let finite = found.buckets.iter().filter(|(bound, _)| bound.is_finite());
    let bounds: Vec<u8> = finite.flat_map(|(bound, _)| bound.to_le_bytes()).collect();
    point.fixed(4, found.count()).double(5, found.sum).bytes(6, &counts).bytes(7, &bounds)
}

fn with_attributes(message: Message, field: u64, labels: &Labels) -> Message {
    labels.iter().fold(message, |message, (name, value)| {
        let value = Message::default().bytes(1, value.as_bytes());
        let pair = Message::default().bytes(1, name.as_bytes()).bytes(2, value.encoded());
        message.bytes(field, pair.encoded())
    })
}
