//! All metrics of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use prometheus_client::metrics::MetricType;

use super::family::{Family, family, gauge};
use super::process;
use super::source::{Source, build_info};
use crate::agent::AgentCounters;
use crate::metrics::{Metric, MetricKind};
use crate::net::clock::unix;

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
    fn is_ready(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    fn families(&self) -> Vec<Family> {
        let ready = f64::from(u8::from(self.is_ready()));
        let mut families =
            vec![build_info(self.event_loop), gauge("fanin_agent_ready", "Whether peers are accepted", ready)];
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
