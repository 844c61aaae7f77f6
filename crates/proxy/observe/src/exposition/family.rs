//! A metric with its samples.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;

use crate::metrics::Distribution;

/// Labels of a sample.
pub type Labels = Vec<(&'static str, String)>;

/// A metric with its samples.
#[derive(Debug)]
pub struct Family {
    /// Name, without the suffix of its type. Its dots, and those of labels, are underscores for Prometheus.
    pub name: String,
    /// Description, without a full stop.
    pub help: String,
    /// Type.
    pub kind: MetricType,
    /// Samples, each with its labels.
    pub samples: Vec<(Labels, Value)>,
}

/// Value of a sample.
#[derive(Debug)]
pub enum Value {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Distribution(Distribution),
}

/// A family without samples. A counter's name gets the suffix `_total`.
pub fn family(name: &str, help: &str, kind: MetricType) -> Family {
    let help = help.trim_end_matches('.').to_owned();
    Family { name: name.to_owned(), help, kind, samples: Vec::new() }
}

/// A gauge with one sample.
pub fn gauge(name: &str, help: &str, value: f64) -> Family {
    let mut one = family(name, help, MetricType::Gauge);
    one.number(&[], value);
    one
}

/// A name of OpenTelemetry as Prometheus has it.
pub fn underscored(name: &str) -> String {
    name.replace('.', "_")
}

impl Family {
    /// Adds a number.
    pub fn number(&mut self, labels: &[(&'static str, &str)], value: f64) {
        self.add(labels, Value::Number(value));
    }

    /// Adds a distribution.
    pub fn distribution(&mut self, labels: &[(&'static str, &str)], value: Distribution) {
        self.add(labels, Value::Distribution(value));
    }

    fn add(&mut self, labels: &[(&'static str, &str)], value: Value) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.push((labels, value));
    }

    /// Writes it, unless it has no samples.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if self.samples.is_empty() {
            return Ok(());
        }
        let name = underscored(&self.name);
        let mut metric = encoder.encode_descriptor(&name, &self.help, None, self.kind)?;
        for (labels, value) in &self.samples {
            let labels: Vec<_> = labels.iter().map(|(name, value)| (underscored(name), value.as_str())).collect();
            let mut sample = metric.encode_family(&labels)?;
            match value {
                Value::Number(number) if matches!(self.kind, MetricType::Counter) => {
                    sample.encode_counter(number, None::<&Exemplar<NoLabelSet, f64>>)?;
                }
                Value::Number(number) => sample.encode_gauge(number)?,
                Value::Distribution(found) => {
                    sample.encode_histogram::<NoLabelSet>(found.sum, found.count(), &found.buckets, None)?;
                }
            }
        }
        Ok(())
    }
}
