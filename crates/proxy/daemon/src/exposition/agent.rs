//! All metrics of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use prometheus_client::metrics::MetricType;

use fanin_proxy_agent::AgentCounters;
use fanin_proxy_core::clock::unix;
use fanin_proxy_observe::exposition::process;
use fanin_proxy_observe::exposition::{Family, family, gauge};
use fanin_proxy_observe::exposition::{Source, build_info};
use fanin_proxy_observe::metrics::{Metric, MetricKind};

/// An agent's metrics.
#[derive(Debug)]
pub struct AgentMetrics {
    counters: Arc<AgentCounters>,
    event_loop: &'static str,
    stop: Arc<AtomicBool>,
    /// Unix time of the start, in seconds.
    started: u64,
}

impl AgentMetrics {
    /// Metrics of an agent that starts now, with this event loop, until `stop` is set.
    pub fn new(counters: Arc<AgentCounters>, event_loop: &'static str, stop: Arc<AtomicBool>) -> AgentMetrics {
        AgentMetrics { counters, event_loop, stop, started: unix() / 1_000_000_000 }
    }
}

impl Source for AgentMetrics {
    fn readiness(&self) -> Result<(), String> {
        if self.stop.load(Relaxed) {
            return Err("draining".to_owned());
        }
        self.counters.pulse.stall().map_or(Ok(()), |stall| Err(stall.to_string()))
    }

    fn families(&self) -> Vec<Family> {
        let ready = f64::from(u8::from(self.readiness().is_ok()));
        let stalled = self.counters.pulse.stall().map_or(0, |stall| stall.lasts);
        let mut families = vec![
            build_info(self.event_loop),
            gauge("fanin_agent_ready", "Whether peers are accepted and served", ready),
            gauge(
                "fanin_agent_loop_stalled_seconds",
                "Time for which a loop iteration of over a second has lasted so far; 0 if there is none",
                stalled as f64 / 1e9,
            ),
        ];
        for (Metric { name, kind, help }, value) in self.counters.all() {
            let kind = if kind == MetricKind::Gauge { MetricType::Gauge } else { MetricType::Counter };
            let mut one = family(&format!("fanin_agent_{name}"), help, kind);
            one.number(&[], value as f64);
            families.push(one);
        }
        families.extend(process::families(self.started));
        families
    }
}
