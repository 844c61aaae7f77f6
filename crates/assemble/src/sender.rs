//! Congestion control of senders.

use fanin_laws::port::many_to_one::Form;
use fanin_laws::sender::{self, gentle_slow_start::GentleSlowStart, max_cwnd::MaxCwnd};
use fanin_spec::RunSpec;
use fanin_tcp::Params;

use crate::tcp::tcp_params;

/// Congestion control of a new connection.
pub fn sender_law(spec: &RunSpec) -> sender::Law {
    let params = &tcp_params(spec);
    sender::Law {
        mss: params.mss,
        base: spec.scheme.base.start(&spec.settings.laws.senders),
        slow_start: spec.scheme.gss.then(|| GentleSlowStart::start(&spec.settings.laws.parts.gss)),
        cap: spec.scheme.m21.then(|| max_cwnd(spec, params)),
    }
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
