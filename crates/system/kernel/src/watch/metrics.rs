//! Figures for Prometheus (`fanin watch --metrics`).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use fanin_proxy_observe::exposition::{Family, HttpThread, Source, family, listen};
use fanin_proxy_observe::metrics::{Distribution, Native};
use prometheus_client::metrics::MetricType;

use crate::trouble::Trouble;
use crate::watch::figures::{DOUBLINGS, Figures, Powers};
use crate::watch::row::Cause;

/// Figures since the start, which a thread serves.
pub struct Metrics {
    figures: Arc<Mutex<Figures>>,
    _thread: HttpThread,
}

impl Metrics {
    /// Listens at an address.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn serve(address: SocketAddr, device: &str) -> Result<Metrics, Trouble> {
        let figures = Arc::<Mutex<Figures>>::default();
        let page = Page { device: device.into(), figures: Arc::clone(&figures) };
        let thread = listen(address).and_then(|socket| HttpThread::start(socket, page));
        Ok(Metrics { figures, _thread: thread.map_err(|error| Trouble::Input(format!("--{error}")))? })
    }

    /// Changes the figures.
    pub fn count(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[derive(Debug)]
struct Page {
    device: String,
    figures: Arc<Mutex<Figures>>,
}

impl Source for Page {
    fn readiness(&self) -> Result<(), String> {
        Ok(())
    }

    fn families(&self) -> Vec<Family> {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Names of attributes are OpenTelemetry's.
        let labels = [("network_interface_name", self.device.as_str())];
        let counter = |name: &str, help: &str, value: f64| {
            let mut one = family(name, help, MetricType::Counter);
            one.number(&labels, value);
            one
        };
        let histogram = |name: &str, help: &str, powers: &Powers, first: i32, sum: f64| {
            let mut one = family(name, help, MetricType::Histogram);
            one.distribution(&labels, distribution(powers, first, sum));
            one
        };
        let mut segments = family("system_network_tcp_retransmits", "TCP segments sent again", MetricType::Counter);
        let mut waits = family("fanin_watch_waits", "Waits of connections that send", MetricType::Counter);
        let mut waited = family("fanin_watch_wait_seconds", "Time of these waits", MetricType::Counter);
        for cause in Cause::ALL {
            let found = figures.waits.get(&cause).copied().unwrap_or_default();
            let labels = [("network_tcp_retransmit_type", attribute(cause))];
            segments.number(&labels, found.segments as f64);
            waits.number(&labels, found.count as f64);
            waited.number(&labels, found.ms / 1e3);
        }
        vec![
            counter("fanin_watch_burst_bytes", "Bytes in bursts", figures.bytes as f64),
            counter("fanin_watch_burst_packets", "Packets in bursts", figures.packets as f64),
            counter("fanin_watch_burst_marked_packets", "Packets in bursts with the mark CE", figures.marks as f64),
            counter("fanin_watch_burst_resent_segments", "Segments in bursts that repeat data", figures.resent as f64),
            histogram(
                "fanin_watch_burst_fan_in",
                "Connections of bursts",
                &figures.fan_in,
                0,
                figures.connections as f64,
            ),
            histogram(
                "fanin_watch_burst_duration_seconds",
                "Durations of bursts",
                &figures.duration,
                -DOUBLINGS,
                figures.burst_ms / 1e3,
            ),
            segments,
            waits,
            waited,
        ]
    }
}

/// Value of OpenTelemetry's attribute `network.tcp.retransmit.type`.
fn attribute(cause: Cause) -> &'static str {
    match cause {
        Cause::Timeout => "timeout",
        Cause::LossProbe => "tail_loss_probe",
        Cause::FastRetransmit => "fast",
    }
}

/// 2^exponent.
fn power(exponent: i32) -> f64 {
    let power = (1_u64 << exponent.unsigned_abs()) as f64;
    if exponent < 0 { 1.0 / power } else { power }
}

/// A distribution whose first bucket ends at 2^first.
fn distribution(powers: &Powers, first: i32, sum: f64) -> Distribution {
    let counts: Vec<u64> = powers.buckets().map(|(_, count)| count).collect();
    let bounds = (first..).map(power);
    let mut buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
    buckets.push((f64::INFINITY, 0));
    let (zeros, rest) = counts.split_first().map_or((0, &[][..]), |(zeros, rest)| (*zeros, rest));
    let native = Native { schema: 0, zero: (power(first), zeros), first: first + 1, counts: rest.to_vec() };
    Distribution { buckets, sum, native }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_end_at_powers_of_two() {
        let mut figures = Figures::default();
        [1, 2, 32].into_iter().for_each(|fan_in| figures.fan_in.add(fan_in));
        let found = distribution(&figures.fan_in, 0, 35.0);
        let filled: Vec<_> = found.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(1.0, 1), (2.0, 1), (32.0, 1)]);
        assert_eq!((found.count(), found.native.zero, found.native.first), (3, (1.0, 1), 1));
        assert_eq!(found.native.counts, [1, 0, 0, 0, 1]);
    }

    #[test]
    fn dashboard_asks_for_metrics_of_the_page() {
        let dashboard = include_str!("../../../../../packaging/grafana-watch.json");
        let page = Page { device: "eth0".into(), figures: Arc::default() };
        let names: Vec<String> = page.families().into_iter().map(|family| family.name).collect();
        let words = dashboard.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: Vec<&str> =
            words.filter(|word| word.starts_with("fanin_watch") || word.starts_with("system_network")).collect();
        assert!(asked.len() > names.len(), "{asked:?}");
        let suffixes = ["_total", "_bucket", "_count"];
        let is_there =
            |asked: &str| names.iter().any(|name| suffixes.iter().any(|suffix| *asked == format!("{name}{suffix}")));
        assert!(asked.iter().all(|asked| is_there(asked)), "{asked:?} of {names:?}");
        for name in names {
            assert!(asked.iter().any(|asked| asked.starts_with(&name)), "no panel shows {name}");
        }
    }
}
