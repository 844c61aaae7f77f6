//! Predictions of incast beside the multigets as observed.

use std::sync::Arc;

use prometheus_client::metrics::MetricType;

use fanin_proxy_observe::exposition::{Family, family};
use fanin_proxy_observe::metrics::{Metric, list};
use fanin_proxy_state::incast::{IncastState, Predicted};
use fanin_proxy_state::shared::PoolState;

/// Metrics of pools with `incast`.
pub fn families(pools: &[Arc<PoolState>]) -> Vec<Family> {
    let pools: Vec<(&PoolState, &IncastState)> =
        pools.iter().filter_map(|pool| Some((&**pool, pool.incast.as_deref()?))).collect();
    let predicted = |name: &str, help: &str, values: fn(&Predicted) -> Vec<(&'static str, f64)>| {
        let mut one = family(name, help, MetricType::Gauge);
        for (pool, state) in &pools {
            for (label, value) in state.predicted().iter().flat_map(values) {
                let labels = [("pool", &pool.settings.name[..]), ("limit", label)];
                one.number(&labels[..if label.is_empty() { 1 } else { 2 }], value);
            }
        }
        one
    };
    let mut families = vec![
        predicted(
            "fanin_incast_observed",
            "Whether the prediction is for observed multigets: 0 if for assumed ones",
            |of| vec![("", f64::from(u8::from(of.observed)))],
        ),
        predicted("fanin_incast_collapse_servers", list::INCAST_COLLAPSE.help, |of| {
            vec![("", of.prediction.collapse.unwrap_or(0).into())]
        }),
        predicted("fanin_incast_limit", list::INCAST_LIMIT.help, |of| {
            vec![("", of.prediction.limit.unwrap_or(0).into())]
        }),
        predicted(
            "fanin_incast_predicted_seconds",
            "Predicted mean time of a multiget, with the pool's limit and without one",
            |of| {
                let seconds = [of.prediction.expected, of.prediction.unlimited].map(|time| time.as_secs_f64());
                vec![("pool", seconds[0]), ("none", seconds[1])]
            },
        ),
    ];
    families.extend(observed(&pools));
    families
}

fn observed(pools: &[(&PoolState, &IncastState)]) -> [Family; 3] {
    let counter = |name: &str, metric: Metric, value: fn(&PoolState, &IncastState) -> u64| {
        let mut one = family(name, metric.help, MetricType::Counter);
        for (pool, state) in pools {
            one.number(&[("pool", &pool.settings.name)], value(pool, state) as f64);
        }
        one
    };
    [
        counter("fanin_incast_multigets", list::INCAST_MULTIGETS, |_, state| state.counts().0),
        counter("fanin_incast_slow", list::INCAST_SLOW, |_, state| state.counts().1),
        counter("fanin_incast_retransmits", list::INCAST_RETRANSMITS, |pool, _| pool.retransmits()),
    ]
}
