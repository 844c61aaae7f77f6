//! Figures in Prometheus' text format.

use core::fmt::Write;
use std::string::String;

use crate::Figures;

impl Figures {
    /// The figures in Prometheus' text format, for a page of the program's own. OpenTelemetry's meters can observe the same fields.
    pub fn prometheus(&self) -> String {
        let seconds = self.waited_ns as f64 / 1e9;
        let rows: [(&str, &str, &str, f64); 13] = [
            ("in_flight_bytes", "gauge", "Bytes that are expected and have not arrived.", self.in_flight as f64),
            ("outstanding_requests", "gauge", "Requests without their complete response.", self.outstanding.into()),
            ("waiting_requests", "gauge", "Requests that wait for admission.", self.waiting.into()),
            ("limit_bytes", "gauge", "Maximum number of bytes in flight.", self.limit as f64),
            ("window_responses", "gauge", "Window in mean responses.", self.window.into()),
            ("mean_response_bytes", "gauge", "Mean size of a response.", self.mean as f64),
            ("admitted_requests_total", "counter", "Requests that were admitted.", self.admitted as f64),
            ("waited_requests_total", "counter", "Admitted requests that had to wait.", self.waited as f64),
            ("waited_seconds_total", "counter", "Time that admitted requests waited.", seconds),
            ("responses_total", "counter", "Complete responses.", self.responses as f64),
            ("response_bytes_total", "counter", "Bytes of complete responses.", self.bytes as f64),
            ("cancelled_requests_total", "counter", "Requests that failed or were cancelled.", self.cancelled as f64),
            ("late_requests_total", "counter", "Requests whose response was late.", self.late as f64),
        ];
        let mut page = String::new();
        for (name, kind, help, value) in rows {
            let _ = write!(
                page,
                "# HELP fanin_limit_{name} {help}\n# TYPE fanin_limit_{name} {kind}\nfanin_limit_{name} {value}\n"
            );
        }
        page
    }
}
