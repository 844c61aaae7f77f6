//! Figures for Prometheus (`fanin watch --metrics`), and for an OpenTelemetry collector (`--otlp`).

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use fanin_proxy_observe::collector::Uri;
use fanin_proxy_observe::exposition::{Exporter, Family, HttpThread, Source, family, listen};
use fanin_proxy_observe::metrics::{Distribution, Native};
use prometheus_client::metrics::MetricType;

use crate::grants::{self, Counted};
use crate::names::printable;
use crate::trouble::Trouble;
use crate::watch::figures::{DOUBLINGS, Figures, Powers};
use crate::watch::row::Cause;

/// Figures since the start, which threads serve and send.
pub struct Metrics {
    figures: Arc<Mutex<Figures>>,
    _server: Option<HttpThread>,
    _exporter: Option<Exporter>,
}

impl Metrics {
    /// Listens at an address, and sends to a collector.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn start(device: &str, address: Option<SocketAddr>, collector: Option<&Uri>) -> Result<Metrics, Trouble> {
        let page = Page { device: printable(device), figures: Arc::default() };
        let serve = |address| listen(address).and_then(|socket| HttpThread::start(socket, page.clone()));
        let server = address.map(serve).transpose().map_err(|error| Trouble::Input(format!("--{error}")))?;
        let exporter = collector.map(|collector| export(collector, page.clone())).transpose()?;
        Ok(Metrics { figures: page.figures, _server: server, _exporter: exporter })
    }

    /// Changes the figures.
    pub fn count(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn export(collector: &Uri, page: Page) -> io::Result<Exporter> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_string();
    let resource = vec![("service.name", "fanin-watch".to_string()), ("host.name", host)];
    Exporter::start(collector, resource, page, |why| {
        let note = "later failures are not reported";
        let _ = writeln!(io::stderr(), "note: --otlp: the collector does not get all figures: {why}; {note}");
    })
}

#[derive(Clone, Debug)]
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
        let labels = [("network.interface.name", self.device.as_str())];
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
        let mut segments = family("system.network.tcp.retransmits", "TCP segments sent again", MetricType::Counter);
        let mut waits = family("fanin.watch.waits", "Waits of connections that send", MetricType::Counter);
        let mut waited = family("fanin.watch.wait.time.seconds", "Time of these waits", MetricType::Counter);
        for cause in Cause::ALL {
            let found = figures.waits.get(&cause).copied().unwrap_or_default();
            if let Some(kind) = retransmit_type(cause) {
                segments.number(&[("network.tcp.retransmit.type", kind)], found.segments as f64);
            }
            let labels = [("cause", cause.word())];
            waits.number(&labels, found.count as f64);
            waited.number(&labels, found.ms / 1e3);
        }
        let mut bursts = family("fanin.watch.service.bursts", "Bursts for a service", MetricType::Counter);
        let mut bytes = family("fanin.watch.service.bytes", "Bytes in bursts for a service", MetricType::Counter);
        let mut waiting =
            family("fanin.watch.service.wait.time.seconds", "Time of waits of a service", MetricType::Counter);
        for (name, served) in &figures.services {
            let labels = [labels[0], ("service", name.as_str())];
            bursts.number(&labels, served.bursts as f64);
            bytes.number(&labels, served.bytes as f64);
            waiting.number(&labels, served.wait_ms / 1e3);
        }
        let mut families = vec![
            counter("fanin.watch.burst.bytes", "Bytes in bursts", figures.bytes as f64),
            counter("fanin.watch.burst.packets", "Packets in bursts", figures.packets as f64),
            counter("fanin.watch.burst.marked_packets", "Packets in bursts with the mark CE", figures.marks as f64),
            counter("fanin.watch.burst.resent_segments", "Segments in bursts that repeat data", figures.resent as f64),
            histogram(
                "fanin.watch.burst.fan_in",
                "Connections of bursts",
                &figures.fan_in,
                0,
                figures.connections as f64,
            ),
            histogram(
                "fanin.watch.burst.duration.seconds",
                "Durations of bursts",
                &figures.duration,
                -DOUBLINGS,
                figures.burst_ms / 1e3,
            ),
            counter("fanin.watch.lost_events", "Bins and waits that the sensor lost", figures.lost as f64),
            counter("fanin.watch.unwritten_files", "Files that could not be written", figures.unwritten as f64),
            segments,
            waits,
            waited,
            bursts,
            bytes,
            waiting,
        ];
        families.extend(of_grants(&grants::counted()));
        families
    }
}

/// Figures of granted windows at the devices of this machine that have them.
fn of_grants(devices: &[Counted]) -> [Family; 5] {
    type Figure = fn(&Counted) -> u64;
    let figures: [(&str, &str, MetricType, Figure); 5] = [
        ("waiting", "Connections that wait for a turn", MetricType::Gauge, |one| one.waiting.into()),
        ("connections", "Connections in the table of granted windows", MetricType::Gauge, |one| one.connections),
        ("refused_connections", "Connections that found the table full", MetricType::Counter, |one| one.full),
        ("window_probes", "Probes of windows closed by grants", MetricType::Counter, |one| one.probes),
        ("idle_waits", "Waits of 20 ms for a turn on an idle link", MetricType::Counter, |one| one.stalls),
    ];
    figures.map(|(name, help, kind, figure)| {
        let mut one = family(&format!("fanin.grants.{name}"), help, kind);
        for device in devices {
            let number = device.device.to_string();
            let name = device.name.as_deref().unwrap_or(&number);
            one.number(&[("network.interface.name", name)], figure(device) as f64);
        }
        one
    })
}

/// Value of OpenTelemetry's attribute `network.tcp.retransmit.type`, if segments are sent again.
fn retransmit_type(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Timeout => Some("timeout"),
        Cause::LossProbe => Some("tail_loss_probe"),
        Cause::FastRetransmit => Some("fast"),
        Cause::ZeroWindow => None,
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
        let names: Vec<String> = page.families().into_iter().map(|family| family.name.replace('.', "_")).collect();
        let words = dashboard.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: Vec<&str> = words
            .filter(|word| {
                ["fanin_watch_", "fanin_grants_", "system_network_"].iter().any(|start| word.starts_with(start))
            })
            .collect();
        assert!(asked.len() > names.len(), "{asked:?}");
        let suffixes = ["_total", "_bucket", "_count", ""];
        let is_there =
            |asked: &str| names.iter().any(|name| suffixes.iter().any(|suffix| *asked == format!("{name}{suffix}")));
        assert!(asked.iter().all(|asked| is_there(asked)), "{asked:?} of {names:?}");
        for name in names {
            assert!(asked.iter().any(|asked| asked.starts_with(&name)), "no panel shows {name}");
        }
    }
}
