//! Congestion control of senders.

use fanin_fabric::HostId;
use fanin_laws::port::many_to_one::Form;
use fanin_laws::sender::{self, Control, gentle_slow_start::GentleSlowStart, max_cwnd::MaxCwnd};
use fanin_spec::RunSpec;
use fanin_tcp::Params;

use crate::network::fabric;
use crate::tcp::tcp_params;

/// Congestion control of a new connection.
pub fn sender_law(spec: &RunSpec) -> sender::Law {
    let params = &tcp_params(spec);
    let mut base = spec.scheme.base.start(&spec.settings.laws.senders);
    if spec.scheme.base.row().times_packets {
        base.passes(longest_path(spec));
    }
    sender::Law {
        mss: params.mss,
        base,
        slow_start: spec.scheme.gss.then(|| GentleSlowStart::start(&spec.settings.laws.parts.gss)),
        cap: spec.scheme.m21.then(|| max_cwnd(spec, params)),
    }
}

/// Switches on the longest path between the client and a server.
fn longest_path(spec: &RunSpec) -> u32 {
    let fabric = fabric(spec);
    let switches = |host| fabric.path(HostId(host), HostId::CLIENT).count() as u32 - 1;
    (1..fabric.hosts()).map(switches).max().unwrap_or_default()
}

fn max_cwnd(spec: &RunSpec, params: &Params) -> MaxCwnd {
    let option_bytes = params.option_bytes() as u8; // at most 40: RFC 9293
    match spec.settings.laws.parts.m21.offer {
        Form::Window => MaxCwnd::new(option_bytes),
        Form::Count => MaxCwnd::counting(buffer(spec).min(u32::MAX.into()) as u32, option_bytes),
    }
}

/// M21's B; a buffer in packets counts as full frames.
fn buffer(spec: &RunSpec) -> u64 {
    spec.settings.in_bytes(spec.settings.client_buffer())
}

#[cfg(test)]
mod tests {
    use fanin_laws::sender::{Ack, Window};
    use fanin_spec::Scenario;
    use fanin_units::Time;

    use super::*;

    /// Whether a sender with a window of 200 packets grows after a round trip of 26 us.
    fn grows(fabric: &str) -> bool {
        let text = format!(
            "schemes = [\"swift\"]\n[fabric]\n{fabric}\n[workload]\nfragment = \"64 KiB\"\n[sweep]\nfan_in = [5]\n"
        );
        let spec = Scenario::parse("x.toml", &text).unwrap().variants().unwrap()[0].at(0, 1).unwrap();
        let (mut law, rtt) = (sender_law(&spec), Time::from_micros(26));
        let mut window = Window { cwnd: 200 * law.mss, ssthresh: u32::MAX };
        let ack = Ack { now: rtt, acked: law.mss, una: 1, nxt: 1, ece: false, rtt: Some(rtt), srtt: rtt };
        law.observe(&ack);
        law.grow(&ack, &mut window);
        window.cwnd > 200 * law.mss
    }

    #[test]
    fn targets_of_swift_count_the_switches_of_the_longest_path() {
        // 20 us, and 3.053 us for each of one or three switches.
        assert!(!grows("kind = \"star\""));
        assert!(grows("kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 3\nspines = 1"));
    }
}
