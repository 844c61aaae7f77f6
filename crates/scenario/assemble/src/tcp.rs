//! Settings of endpoints.

use fanin_spec::RunSpec;
use fanin_tcp::{Echo, Params};

/// Settings of a run's stack, without its congestion control.
pub(crate) fn tcp_params(spec: &RunSpec) -> Params {
    let t = &spec.settings.tcp;
    let mss = t.mss.0 as u32;
    let segments = if spec.scheme.gss { spec.settings.laws.parts.gss.initial_window } else { t.initial_window };
    Params {
        mss,
        initial_cwnd: segments * mss,
        rto_min: t.least_rto(),
        rto_floor: t.rto_floor,
        rto_max: t.rto_max,
        rto_initial: t.rto_initial,
        rto_clock: t.rto_clock,
        syn_timeout: t.syn_timeout.0.unwrap_or(t.rto_initial),
        max_retransmissions: t.max_retransmissions.0.map(|most| most as u8), // at most 255: spec::check
        karn_backoff: t.karn_backoff,
        sack: t.sack,
        rack: t.rack,
        tail_loss_probe: t.tail_loss_probe,
        max_ack_delay: t.max_ack_delay.time(t),
        timer_margin: t.timer_margin,
        tick: t.tick,
        newreno: t.newreno,
        limited_transmit: t.limited_transmit,
        timestamps: t.timestamps,
        delayed_ack: t.delayed_ack,
        ack_cwr: t.ack_cwr,
        delayed_ack_timeout: t.delayed_ack_timeout,
        acks_wait_for_reader: t.acks_wait_for_reader,
        pingpong: t.pingpong,
        ack_compression: t.sack && t.ack_compression,
        rtt_variance: t.rtt_variance,
        quick_acks: t.quick_acks as u8, // at most 255: spec::check
        idle_restart: t.idle_restart,
        byte_counting: t.byte_counting,
        cut_window: t.cut_window,
        window_validation: t.window_validation,
        packet_window: t.packet_window && t.sack && (t.rack || t.tail_loss_probe),
        undo: t.undo,
        frto: t.frto,
        hystart: t.hystart,
        receive_window: t.receive_window.0 as u32,
        ect: spec.scheme.ecn.then_some(t.ect),
        echo: if spec.scheme.exact_echo() { Echo::Exact } else { Echo::Latched },
        mcw_option: spec.scheme.m21,
    }
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    #[test]
    fn scenario_without_settings_has_the_defaults_of_tcp() {
        let scenario =
            Scenario::parse("x.toml", "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KiB\"\n").unwrap();
        let spec = scenario.variants().unwrap()[0].at(0, 1).unwrap();
        assert_eq!(format!("{:?}", tcp_params(&spec)), format!("{:?}", Params::default()));
    }
}
