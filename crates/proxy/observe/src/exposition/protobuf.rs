//! Metrics in Prometheus' protobuf format, the only one that has native histograms.
//!
//! The messages are those of `io/prometheus/client/metrics.proto`, as far as they are used, with its field numbers.

use prometheus_client::metrics::MetricType;

use super::family::{Family, Value, underscored};
use super::wire::Message;
use crate::metrics::{Distribution, Native};

/// Numbers of the types of metrics.
const COUNTER: u64 = 0;
const GAUGE: u64 = 1;
const HISTOGRAM: u64 = 4;

/// Families with samples, each after its length.
pub fn encode(families: &[Family]) -> Vec<u8> {
    let mut all = Message::default();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        all.delimited(message(family).encoded());
    }
    all.into_bytes()
}

/// A `MetricFamily`.
fn message(family: &Family) -> Message {
    let (kind, suffix) = match family.kind {
        MetricType::Counter => (COUNTER, "_total"),
        MetricType::Histogram => (HISTOGRAM, ""),
        _ => (GAUGE, ""),
    };
    let name = underscored(&family.name) + suffix;
    let mut whole = Message::default().bytes(1, name.as_bytes()).bytes(2, family.help.as_bytes()).uint(3, kind);
    for (labels, value) in &family.samples {
        let mut metric = Message::default();
        for (name, value) in labels {
            let label = Message::default().bytes(1, underscored(name).as_bytes()).bytes(2, value.as_bytes());
            metric = metric.bytes(1, label.encoded());
        }
        let metric = match value {
            Value::Number(number) if kind == COUNTER => {
                metric.bytes(3, Message::default().double(1, *number).encoded())
            }
            Value::Number(number) => metric.bytes(2, Message::default().double(1, *number).encoded()),
            Value::Distribution(found) => metric.bytes(7, histogram(found).encoded()),
        };
        whole = whole.bytes(4, metric.encoded());
    }
    whole
}

/// A `Histogram`, classic and native.
fn histogram(found: &Distribution) -> Message {
    let mut whole = Message::default().uint(1, found.count()).double(2, found.sum);
    let mut cumulative = 0;
    for (bound, count) in &found.buckets {
        cumulative += count;
        whole = whole.bytes(3, Message::default().uint(1, cumulative).double(2, *bound).encoded());
    }
    let Native { schema, zero: (threshold, zeros), .. } = found.native;
    whole = whole.sint(5, schema.into()).double(6, threshold).uint(7, zeros);
    let (spans, deltas) = spans(&found.native);
    for span in spans {
        whole = whole.bytes(12, Message::default().sint(1, span.offset.into()).uint(2, span.length).encoded());
    }
    deltas.into_iter().fold(whole, |whole, delta| whole.sint(13, delta))
}

/// Consecutive buckets of a native histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// The gap before them, or the number of the first.
    offset: i32,
    /// How many there are.
    length: u64,
}

/// Spans of the buckets with values, and each count less the one before.
fn spans(native: &Native) -> (Vec<Span>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<Span>, Vec<i64>) = Default::default();
    let (mut next, mut last) = (0, 0);
    for (index, count) in (native.first..).zip(&native.counts).filter(|(_, count)| **count > 0) {
        match spans.last_mut().filter(|_| next == index) {
            Some(span) => span.length += 1,
            None => spans.push(Span { offset: index - next, length: 1 }),
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
        let expected = vec![Span { offset: -4, length: 2 }, Span { offset: 2, length: 1 }];
        assert_eq!((spans, deltas), (expected, vec![3, 2, -3]));
    }

    /// The same in the protobuf library of Python.
    const EXPECTED: &str = "2f0a07615f746f74616c12085265717565737473180022180a0b0a04706f6f6c12037022711a090900000000000008401b0a01621207436c69656e\
        74731801220b120909000000000000f8bf580a0164120554696d65731804224a3a4808fd031100000000000004401a0b080711000000000000f03f\
        1a0c08fd0311000000000000f07f280131000000000000e03f3804620408071002620408041001680668e20768e307";

    #[test]
    fn encodes_families_as_metrics_proto() {
        let mut requests = family("a", "Requests.", MetricType::Counter);
        requests.number(&[("pool", "p\"q")], 3.0);
        let mut clients = family("b", "Clients", MetricType::Gauge);
        clients.number(&[], -1.5);
        let empty = family("c", "Nothing", MetricType::Gauge);
        let mut times = family("d", "Times", MetricType::Histogram);
        let native = Native { schema: -1, zero: (0.5, 4), first: -5, counts: vec![0, 3, 500, 0, 0, 2] };
        times.distribution(&[], Distribution { buckets: vec![(1.0, 7), (f64::INFINITY, 502)], sum: 2.5, native });
        let bytes = encode(&[requests, empty, clients, times]);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, EXPECTED);
    }
}
