//! Metrics in Prometheus' protobuf format, the only one that has native histograms.
//!
//! The messages are those of `io/prometheus/client/metrics.proto`, as far as they are used, with its field numbers.

use prometheus_client::metrics::MetricType;
use prost::Message;

use super::family::{Family, Value};
use crate::metrics::{Distribution, Native};

/// Numbers of the types of metrics.
const COUNTER: i32 = 0;
const GAUGE: i32 = 1;
const HISTOGRAM: i32 = 4;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// A `Gauge` or `Counter`.
#[derive(Clone, Copy, PartialEq, Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

/// Consecutive buckets: the gap before them, or the number of the first, and how many there are.
#[derive(Clone, Copy, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Families with samples, each after its length.
pub fn encode(families: &[Family]) -> Vec<u8> {
    families
        .iter()
        .filter(|family| !family.samples.is_empty())
        .flat_map(|family| message(family).encode_length_delimited_to_vec())
        .collect()
}

fn message(family: &Family) -> MetricFamily {
    let (kind, suffix) = match family.kind {
        MetricType::Counter => (COUNTER, "_total"),
        MetricType::Histogram => (HISTOGRAM, ""),
        _ => (GAUGE, ""),
    };
    let metric = family.samples.iter().map(|(labels, value)| {
        let label =
            |(name, value): &(&str, String)| LabelPair { name: Some((*name).to_owned()), value: Some(value.clone()) };
        let mut metric = Metric { label: labels.iter().map(label).collect(), ..Metric::default() };
        match value {
            Value::Number(number) if kind == COUNTER => metric.counter = Some(Number { value: Some(*number) }),
            Value::Number(number) => metric.gauge = Some(Number { value: Some(*number) }),
            Value::Distribution(found) => metric.histogram = Some(histogram(found)),
        }
        metric
    });
    MetricFamily {
        name: Some(format!("{}{suffix}", family.name)),
        help: Some(family.help.clone()),
        kind: Some(kind),
        metric: metric.collect(),
    }
}

fn histogram(found: &Distribution) -> Histogram {
    let mut cumulative_count = 0;
    let bucket = found.buckets.iter().map(|(bound, count)| {
        cumulative_count += count;
        Bucket { cumulative_count: Some(cumulative_count), upper_bound: Some(*bound) }
    });
    let Native { schema, zero: (zero_threshold, zero_count), .. } = found.native;
    let (positive_span, positive_delta) = spans(&found.native);
    Histogram {
        bucket: bucket.collect(),
        sample_count: Some(found.count()),
        sample_sum: Some(found.sum),
        schema: Some(schema),
        zero_threshold: Some(zero_threshold),
        zero_count: Some(zero_count),
        positive_span,
        positive_delta,
    }
}

/// Spans of the buckets with values, and each count less the one before.
fn spans(native: &Native) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<BucketSpan>, Vec<i64>) = Default::default();
    let (mut next, mut last) = (0, 0);
    for (index, count) in (native.first..).zip(&native.counts).filter(|(_, count)| **count > 0) {
        match spans.last_mut().filter(|_| next == index) {
            Some(span) => span.length = span.length.map(|length| length + 1),
            None => spans.push(BucketSpan { offset: Some(index - next), length: Some(1) }),
        }
        deltas.push(*count as i64 - last);
        (next, last) = (index + 1, *count as i64);
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::super::family::family;
    use super::*;

    #[test]
    fn spans_skip_empty_buckets() {
        let native = Native { schema: 3, zero: (1.0, 4), first: -5, counts: vec![0, 3, 5, 0, 0, 2, 0] };
        let (spans, deltas) = spans(&native);
        let spans: Vec<(i32, u32)> = spans.iter().map(|span| (span.offset.unwrap(), span.length.unwrap())).collect();
        assert_eq!((spans, deltas), (vec![(-4, 2), (2, 1)], vec![3, 2, -3]));
    }

    #[test]
    fn families_decode_one_by_one() {
        let mut requests = family("a", "Requests.", MetricType::Counter);
        requests.number(&[("pool", "p\"q")], 3.0);
        let mut clients = family("b", "Clients", MetricType::Gauge);
        clients.number(&[], -1.5);
        let empty = family("c", "Nothing", MetricType::Gauge);
        let bytes = encode(&[requests, empty, clients]);
        let mut rest = &bytes[..];
        let first = MetricFamily::decode_length_delimited(&mut rest).unwrap();
        let second = MetricFamily::decode_length_delimited(&mut rest).unwrap();
        assert!(rest.is_empty());
        assert_eq!((first.name.as_deref(), first.kind), (Some("a_total"), Some(COUNTER)));
        assert_eq!(first.metric[0].label[0].value.as_deref(), Some("p\"q"));
        assert_eq!(first.metric[0].counter.unwrap().value, Some(3.0));
        assert_eq!((second.kind, second.metric[0].gauge.unwrap().value), (Some(GAUGE), Some(-1.5)));
    }
}
