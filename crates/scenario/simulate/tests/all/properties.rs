//! Invariants of any scenario and scheme: packets are conserved, every flow ends, bounds hold, and a run is a function of its spec.

use crate::common::small::{all_schemes, settings};
use crate::common::{run, run_as};
use fanin_sim::Departures;
use fanin_spec::Kind;
use fanin_units::QueueSize;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..fanin_testing::cases(32) })]

    #[test]
    fn every_flow_ends_and_bounds_hold((settings, fan_in) in settings(), seed: u64) {
        for spec in all_schemes(&settings, fan_in, seed) {
            let tables = run(&spec);
            let (t, s) = (&tables.totals, &spec.settings);
            let scheme = &spec.label;
            prop_assert_eq!(t.injected_packets, t.delivered_packets + t.drops + t.in_flight_packets, "{}", scheme);
            let most = s.line_rate() as f64 / 1e6;
            prop_assert!(tables.goodput_mbps() <= most, "{}: {} Mbit/s", scheme, tables.goodput_mbps());
            let limit = match (s.switch.shared_buffer.0, s.switch.buffer) {
                (Some(memory), _) => memory.0,
                (None, QueueSize::Bytes(limit)) => limit,
                (None, QueueSize::Packets(_)) => u64::MAX,
            };
            // Headers have twice the buffer of a port that trims for themselves.
            let limit = if spec.scheme.uet().is_some() { 3 * limit } else { limit };
            prop_assert!(t.queue_max_bytes <= limit, "{}: a queue of {}", scheme, t.queue_max_bytes);
            if !spec.scheme.ecn {
                prop_assert_eq!(t.marks, 0, "{}", scheme);
            }
            if matches!(s.workload.kind, Kind::OneShot | Kind::WebSearch) {
                let one = s.workload.kind == Kind::OneShot;
                let rounds = if one { 1 } else { u64::from(s.workload.queries) * u64::from(s.clients()) };
                prop_assert_eq!(t.rounds, rounds, "{}: not all ended", scheme);
                let each = s.workload.fragment.0.map_or(0, |f| f.0);
                prop_assert_eq!(t.payload_bytes, rounds * each * u64::from(spec.fan_in), "{}", scheme);
            }
            if !matches!(s.workload.kind, Kind::Barrier | Kind::Long | Kind::Poisson | Kind::Bursts) {
                prop_assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "{}", scheme);
            }
            if s.workload.kind == Kind::KeyValue {
                prop_assert_eq!(t.rounds, u64::from(s.workload.queries), "{}: not all requests ended", scheme);
                let objects = tables.flows.len() as u64;
                prop_assert_eq!(objects, t.rounds * u64::from(s.key_value.per_request), "{}", scheme);
                let delivered: u64 = tables.flows.iter().map(|flow| flow.delivered_bytes).sum();
                prop_assert_eq!(t.payload_bytes, delivered, "{}", scheme);
            }
            if s.workload.kind == Kind::MapReduce {
                prop_assert!(tables.tasks.iter().all(|task| task.end_ps.is_some()), "{}", scheme);
            }
            // A flow has ended when all its bytes have arrived, and never more bytes arrive than were sent.
            for flow in tables.flows.iter().filter(|flow| flow.payload_bytes.is_some()) {
                let all = flow.payload_bytes == Some(flow.delivered_bytes);
                prop_assert!(flow.fct_ps.is_some() == all && flow.payload_bytes >= Some(flow.delivered_bytes), "{flow:?}");
            }
            let wire = |f: &fanin_tables::FlowRow| s.link.rate.time_for(f.delivered_bytes).0 + 2 * s.link.delay.0;
            prop_assert!(
                tables.flows.iter().all(|flow| flow.fct_ps.is_none_or(|fct| fct >= wire(flow))),
                "{}: a flow faster than its bits", scheme
            );
        }
    }

    #[test]
    fn eager_and_lazy_departures_agree((settings, fan_in) in settings(), seed: u64) {
        for spec in all_schemes(&settings, fan_in, seed) {
            let (eager, lazy) = (run(&spec), run_as(&spec, Departures::Lazy));
            prop_assert_eq!(&eager.totals, &lazy.totals, "{}", spec.label);
            prop_assert_eq!(&eager.flows, &lazy.flows, "{}", spec.label);
            prop_assert_eq!(&eager.queries, &lazy.queries, "{}", spec.label);
            prop_assert_eq!(&eager.ports, &lazy.ports, "{}", spec.label);
        }
    }

    #[test]
    fn run_depends_only_on_its_spec((settings, fan_in) in settings(), seed: u64) {
        for spec in all_schemes(&settings, fan_in, seed) {
            prop_assert_eq!(run(&spec), run(&spec), "{}", spec.label);
        }
    }
}
