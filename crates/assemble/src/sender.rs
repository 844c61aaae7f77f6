//! A sender's law.

use fanin_laws::sender::dctcp::{self, Dctcp};
use fanin_laws::sender::{self, Variant, cubic, d2tcp::D2tcp, l2dct::L2dct, max_cwnd::MaxCwnd};
use fanin_spec::{Base, Offer, RunSpec};
use fanin_tcp::Params;

use crate::{m21_buffer, tcp_params};

/// The law of a new connection.
pub fn sender_law(spec: &RunSpec) -> sender::Law {
    let params = &tcp_params(spec);
    let s = &spec.settings;
    let dctcp =
        Dctcp::new(&dctcp::Params { g_q16: s.dctcp.g.in_q(16), initial_alpha_q16: s.dctcp.initial_alpha.in_q(16) });
    let base = match spec.scheme.base {
        Base::NewReno => sender::Base::NewReno,
        Base::Cubic => sender::Base::Cubic(cubic::Cubic::new(cubic::Params {
            beta_q10: s.cubic.beta.in_q(10),
            c_q10: s.cubic.c.in_q(10),
            fast_convergence: s.cubic.fast_convergence,
        })),
        Base::Dctcp => sender::Base::Dctcp(dctcp, Variant::Plain),
        Base::D2tcp => sender::Base::Dctcp(dctcp, Variant::D2tcp(D2tcp::NEW)),
        Base::L2dct => sender::Base::Dctcp(dctcp, Variant::L2dct(L2dct::NEW)),
    };
    sender::Law {
        mss: params.mss,
        base,
        slow_start: spec.scheme.gss.then(Default::default),
        cap: spec.scheme.m21.then(|| max_cwnd(spec, params)),
    }
}

fn max_cwnd(spec: &RunSpec, params: &Params) -> MaxCwnd {
    let option_bytes = params.option_bytes() as u8; // at most 40: RFC 9293
    match spec.settings.m21.offer {
        Offer::Window => MaxCwnd::new(option_bytes),
        Offer::Count => MaxCwnd::counting(m21_buffer(spec).min(u32::MAX.into()) as u32, option_bytes),
    }
}
