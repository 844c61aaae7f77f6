//! Figures as metrics: in Prometheus' text format, and for OpenTelemetry.

use core::fmt::Write;
use std::string::String;

use crate::Figures;

/// A figure as a metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name after `fanin_limit_`, as Prometheus names metrics.
    pub name: &'static str,
    /// Whether it only grows.
    pub is_counter: bool,
    /// A sentence on it.
    pub help: &'static str,
    /// Its value.
    pub value: fn(&Figures) -> f64,
}

const fn gauge(name: &'static str, help: &'static str, value: fn(&Figures) -> f64) -> Metric {
    Metric { name, is_counter: false, help, value }
}

const fn counter(name: &'static str, help: &'static str, value: fn(&Figures) -> f64) -> Metric {
    Metric { name, is_counter: true, help, value }
}

impl Figures {
    /// All metrics.
    pub const METRICS: [Metric; 14] = [
        gauge("in_flight_bytes", "Bytes that are expected and have not arrived.", |f| f.in_flight as f64),
        gauge("outstanding_requests", "Requests without their complete response.", |f| f.outstanding.into()),
        gauge("waiting_requests", "Requests that wait for admission.", |f| f.waiting.into()),
        gauge("limit_bytes", "Maximum number of bytes in flight.", |f| f.limit as f64),
        gauge("window_responses", "Window in mean responses.", |f| f.window.into()),
        gauge("mean_response_bytes", "Mean size of a response.", |f| f.mean as f64),
        counter("admitted_requests_total", "Requests that were admitted.", |f| f.admitted as f64),
        counter("waited_requests_total", "Admitted requests that had to wait.", |f| f.waited as f64),
        counter("waited_seconds_total", "Time that admitted requests waited.", |f| f.waited_ns as f64 / 1e9),
        counter(
            "waited_bytes_total",
            "Bytes of admitted requests that had to wait: the most that may have been lost without the limit.",
            |f| f.waited_bytes as f64,
        ),
        counter("responses_total", "Complete responses.", |f| f.responses as f64),
        counter("response_bytes_total", "Bytes of complete responses.", |f| f.bytes as f64),
        counter("cancelled_requests_total", "Requests that failed or were cancelled.", |f| f.cancelled as f64),
        counter("late_requests_total", "Requests whose response was late.", |f| f.late as f64),
    ];

    /// The figures in Prometheus' text format, for a page of the program's own.
    pub fn prometheus(&self) -> String {
        let mut page = String::new();
        for Metric { name, is_counter, help, value } in Figures::METRICS {
            let kind = if is_counter { "counter" } else { "gauge" };
            let value = value(self);
            let _ = write!(
                page,
                "# HELP fanin_limit_{name} {help}\n# TYPE fanin_limit_{name} {kind}\nfanin_limit_{name} {value}\n"
            );
        }
        page
    }
}

#[cfg(feature = "opentelemetry")]
impl crate::Limit {
    /// Adds the metrics to an OpenTelemetry meter, which observes them as long as it exists. Their names are those for Prometheus without
    /// `_total`, which its exporters add.
    pub fn observe(&self, meter: &opentelemetry::metrics::Meter) {
        for Metric { name, is_counter, help, value } in Figures::METRICS {
            let limit = self.clone();
            let name = std::format!("fanin_limit_{}", name.trim_end_matches("_total"));
            let observed = move || value(&limit.figures());
            if is_counter {
                let counter = meter.f64_observable_counter(name).with_description(help);
                counter.with_callback(move |observer| observer.observe(observed(), &[])).build();
            } else {
                let gauge = meter.f64_observable_gauge(name).with_description(help);
                gauge.with_callback(move |observer| observer.observe(observed(), &[])).build();
            }
        }
    }
}
