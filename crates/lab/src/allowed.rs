//! What a closed form allows a workload on its network: `model` with a scenario's settings.

use fanin_model::Answers;
use fanin_spec::{HostId, Kind, PURE_ACK, Scheme, Settings};

/// However much others send, TCP leaves a workload at least so much of a link.
const LEAST_SHARE: f64 = 0.05;

/// The goodput in Mbit/s that is allowed to a scheme; `None` where flows go between any hosts or to several clients, and of bursts, which come when they come.
pub fn allowed_mbps(scheme: &Scheme, s: &Settings) -> Option<f64> {
    let one_gathers = s.workload.kind.many_to_one() && s.clients() == 1 && s.workload.kind != Kind::Bursts;
    let fabric = one_gathers.then(|| s.network().ok()).flatten()?;
    let fan_in = s.servers();
    let segment = s.tcp.mss.0 as f64;
    let options = if s.tcp.timestamps { 12 } else { 0 };
    let header = f64::from(s.link.framing.on_wire(s.full_packet().0 as u32 + options)) - segment;
    let rate =
        fabric.gather_rate((1..=fan_in).map(HostId), HostId::CLIENT) * share_of_link(s, (segment + header) / segment);
    if s.workload.kind.facts().endless {
        return Some(rate / 1e6 * segment / (segment + header));
    }
    if s.workload.kind == Kind::KeyValue {
        // Each front end has a link of its own, which headers share with what is packed best.
        let ends = f64::from(s.key_value.front_ends);
        let line = s.line_rate() as f64 * segment / (segment + header);
        return Some(ends * line.min(asked_for(s).unwrap_or(line)) / 1e6);
    }
    let asked = s.workload.request.0 > 0;
    let new = s.setup_rtts();
    let setup_rtts = new.unwrap_or(if asked { 1.0 } else { 0.5 });
    let window = if scheme.gss { s.laws.parts.gss.initial_window } else { s.tcp.initial_window };
    let bytes: u64 = (0..fan_in).map(|server| s.answer(fan_in, server).0).sum();
    let answers = Answers {
        servers: fan_in,
        at_once: s.workload.in_flight.0.unwrap_or(fan_in),
        bytes: bytes as f64 / f64::from(fan_in),
        segment,
        header,
        rate,
        // What no run can beat: that of the nearest server, and of the smallest packet.
        rtt_s: (1..=fan_in).map(|host| s.round_trip(&fabric, HostId(host), PURE_ACK)).min()?.as_secs_f64(),
        setup_rtts,
        work_s: if asked { s.host.service_time.as_secs_f64() } else { 0.0 },
        spread_s: s.workload.start_jitter.as_secs_f64() + if asked { s.host.service_jitter.as_secs_f64() } else { 0.0 },
        new_window: new.map(|_| window.into()),
        receive_window: s.tcp.receive_window.0 as f64,
    };
    Some(answers.most_goodput_mbps())
}

/// The bits a second of what a front end asks for on average, where its requests begin at their own times: a run may have more.
fn asked_for(s: &Settings) -> Option<f64> {
    let k = &s.key_value;
    let object = (k.least.0 + k.most.0) as f64 / 2.0;
    Some(f64::from(k.per_request) * object * 8.0 / s.request_interval()?.as_secs_f64())
}

/// What others leave of the client's link: long flows share it evenly, Poisson flows and a service take what they offer.
fn share_of_link(s: &Settings, wire: f64) -> f64 {
    let poisson = s.workload.load.0.map_or(0.0, |load| load.as_f64() * wire);
    let service = s.service.queries_per_s.0.map_or(0.0, |rate| {
        let bits = f64::from(rate) * f64::from(s.service.fan_out) * s.service.answer.0 as f64 * 8.0 * wire;
        bits / f64::from(s.hosts()) / s.line_rate() as f64
    });
    let servers = f64::from(s.servers());
    let even = servers / (servers + f64::from(s.workload.background));
    even * (1.0 - poisson - service).max(LEAST_SHARE)
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    fn allowed(workload: &str, fan_in: u32) -> Option<f64> {
        let text = format!("schemes = [\"newreno\"]\n[link]\nframing = \"2 B\"\n[tcp]\nmss = \"1460 B\"\n{workload}\n");
        let mut scenario = Scenario::parse("x.toml", &text).unwrap();
        scenario.assign("--fan-in", &format!("sweep.fan_in=[{fan_in}]")).unwrap();
        let contender = scenario.contenders().unwrap().remove(0);
        allowed_mbps(&contender.scheme, &contender.settings)
    }

    #[test]
    fn long_flows_may_fill_the_line_less_headers_or_their_share_of_it() {
        let line = 1_000.0 * 1_460.0 / 1_502.0;
        assert_eq!(allowed("[workload]\nkind = \"long\"", 4), Some(line));
        let half = allowed("[workload]\nkind = \"long\"\nbackground = 4", 4).unwrap();
        assert!((half - line / 2.0).abs() < 1e-9, "{half}");
        let beside = allowed("[workload]\nkind = \"long\"\nload = 0.2", 4).unwrap();
        assert!((beside - (line - 200.0)).abs() < 1e-9, "{beside}");
    }

    #[test]
    fn reads_pay_for_their_request_and_a_thin_core_binds_them() {
        // 8 * 146,000 B are 100 packets of 1,502 B each: 9,612.8 us, and 4 * (25 + 0.336) us of round trip.
        let reads = allowed("[workload]\nfragment = \"146 KB\"", 8).unwrap();
        assert!((reads - 8.0 * 146_000.0 * 8.0 / (9_612.8 + 101.344)).abs() < 1e-3, "{reads}");
        let core = "[fabric]\nkind = \"edges\"\nedges = [\"client a\", \"a b 100 Mbit/s\", \"server1..8 b\"]\n\
                    [workload]\nfragment = \"146 KB\"";
        let thin = allowed(core, 8).unwrap();
        assert!(thin < 100.0 && thin > 95.0, "{thin}");
    }

    #[test]
    fn of_requests_that_begin_at_their_own_times_no_more_is_allowed_than_is_asked_for() {
        let key_value =
            |more: &str| allowed(&format!("[workload]\nkind = \"key_value\"\n[key_value]\n{more}"), 4).unwrap();
        // 100 requests for 1,000 objects of 510 B, every 100 ms; and every millisecond, which is more than the line carries.
        assert!((key_value("within = \"10 s\"") - 40.8).abs() < 1e-9);
        assert_eq!(key_value("within = \"100 ms\""), key_value(""));
        assert!((key_value("within = \"10 s\"\nfront_ends = 3") - 3.0 * 40.8).abs() < 1e-9);
    }

    #[test]
    fn flows_between_any_hosts_have_no_client_that_bounds_them() {
        assert_eq!(allowed("[workload]\nkind = \"shuffle\"\nfragment = \"10 KB\"", 4), None);
    }
}
