//! From a spec to laws, parameters, a network and its ports.

use std::num::NonZeroU32;

use fanin_fabric::{Fabric, LinkId};
use fanin_laws::port::{self, codel, many_to_one, red};
use fanin_laws::sender::dctcp::{self, Dctcp};
use fanin_laws::sender::{self, Variant, cubic, d2tcp::D2tcp, l2dct::L2dct, max_cwnd::MaxCwnd};
use fanin_spec::{Base, Change, Discipline, Ect, HostQueue, Offer, Resume, RunSpec};
use fanin_tcp::{Echo, Params};
use fanin_units::Rate;

use crate::link::{Departures, Link};
use crate::streams::{Purpose, Stream};

/// What sets ports up, each as the first flow over it begins: until then a host costs little.
pub(crate) struct Ports {
    spec: RunSpec,
    departures: Departures,
    /// What becomes of links.
    pub changes: Vec<Change>,
}

impl Ports {
    /// The ports of a spec's network.
    pub fn new(spec: &RunSpec, departures: Departures, fabric: &Fabric) -> Ports {
        let changes = spec.settings.changes(fabric).expect("spec::check has worked them out");
        Ports { spec: spec.clone(), departures, changes }
    }

    /// Sets the port of a link up, unless it is.
    pub fn set_up(&self, id: LinkId, fabric: &Fabric, link: &mut Link) {
        if link.is_ready() {
            return;
        }
        let fanin_fabric::Link { from, rate, .. } = fabric.links()[id as usize];
        let law = if fabric.is_host(from) { host_port(&self.spec, rate) } else { switch_port(&self.spec, rate) };
        let changes = self.changes.iter().any(|change| change.links.contains(&id));
        // What will have left by then is not known before.
        let departures = if changes { Departures::Lazy } else { self.departures };
        link.set_up(law, departures, changes, Stream::new(self.spec.seed, Purpose::Port, id));
    }
}

/// The network of a spec: the client, its servers, then the background's hosts.
pub(crate) fn fabric(spec: &RunSpec) -> Fabric {
    spec.settings.network(spec.fan_in).expect("spec::check has built it")
}

/// What endpoints go by.
pub(crate) fn params(spec: &RunSpec) -> Params {
    let t = &spec.settings.tcp;
    let mss = t.mss.0 as u32;
    let segments = if spec.scheme.gss { spec.settings.gss.initial_window } else { t.initial_window };
    Params {
        mss,
        initial_cwnd: segments * mss,
        rto_min: t.rto_min,
        rto_floor: match t.rto_floor {
            fanin_spec::RtoFloor::Timeout => fanin_tcp::RtoFloor::Timeout,
            fanin_spec::RtoFloor::Variance => fanin_tcp::RtoFloor::Variance,
        },
        rto_max: t.rto_max,
        rto_initial: t.rto_initial,
        rto_clock: t.rto_clock,
        syn_timeout: t.syn_timeout.0.unwrap_or(t.rto_initial),
        karn_backoff: t.karn_backoff,
        sack: t.sack,
        rack: t.rack,
        tail_loss_probe: t.tail_loss_probe,
        max_ack_delay: t.max_ack_delay.0.unwrap_or(t.delayed_ack_timeout),
        timer_margin: t.timer_margin,
        newreno: match t.newreno {
            fanin_spec::NewReno::Inflate => fanin_tcp::NewReno::Inflate,
            fanin_spec::NewReno::Pipe => fanin_tcp::NewReno::Pipe,
        },
        limited_transmit: t.limited_transmit,
        timestamps: t.timestamps,
        delayed_ack: t.delayed_ack,
        ack_cwr: t.ack_cwr,
        delayed_ack_timeout: t.delayed_ack_timeout,
        quick_acks: t.quick_acks as u8, // at most 255: spec::check
        idle_restart: t.idle_restart,
        receive_window: t.receive_window.0 as u32,
        ect: match (spec.scheme.ecn, t.ect) {
            (false, _) => fanin_tcp::Ect::Off,
            (true, Ect::Data) => fanin_tcp::Ect::Data,
            (true, Ect::Agreed) => fanin_tcp::Ect::Agreed,
            (true, Ect::All) => fanin_tcp::Ect::All,
        },
        echo: if spec.scheme.base.is_dctcp_like() { Echo::Exact } else { Echo::Latched },
        mcw_option: spec.scheme.m21,
    }
}

/// The law of senders' windows.
pub(crate) fn sender_law(spec: &RunSpec, params: &Params) -> sender::Law {
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

fn host_port(spec: &RunSpec, rate: Rate) -> port::Law {
    let host = &spec.settings.host;
    match host.queue {
        HostQueue::Plain => port::Law { limit: host.buffer.0, ..port::Law::UNLIMITED },
        // M21's allocation is of switches.
        HostQueue::Switch => {
            let law = switch_port(spec, rate);
            port::Law { limit: host.buffer.0.or(law.limit), many_to_one: None, ..law }
        }
    }
}

fn switch_port(spec: &RunSpec, rate: Rate) -> port::Law {
    let s = &spec.settings;
    let discipline = match spec.scheme.discipline {
        Discipline::DropTail => port::Discipline::DropTail,
        Discipline::EcnThreshold => port::Discipline::EcnThreshold(s.ecn_threshold.k),
        Discipline::Red => red(spec, rate),
        Discipline::CoDel => port::Discipline::CoDel(codel::CoDel::new(codel::Params {
            target: s.codel.target,
            interval: s.codel.interval,
            max_packet: s.full_frame().0,
            resume: match s.codel.resume {
                Resume::Rfc8289 => codel::Resume::Rfc8289,
                Resume::Ns2 => codel::Resume::Ns2,
            },
            ecn: spec.scheme.ecn,
        })),
    };
    port::Law { limit: Some(s.switch.buffer), discipline, many_to_one: spec.scheme.m21.then(|| many_to_one(spec)) }
}

/// RED, of which thresholds that follow from a delay differ by the link's rate: where the buffer ends before the upper
/// one, nothing of it is left.
fn red(spec: &RunSpec, rate: Rate) -> port::Discipline {
    let s = &spec.settings.red;
    let count = |thresholds: red::Thresholds| match s.byte_mode {
        true => thresholds.in_bytes(s.mean_packet.0),
        false => thresholds,
    };
    let thresholds = match s.target_delay.0 {
        None => count(red::Thresholds::new(s.min_th, s.max_th)),
        Some(target) => {
            let thresholds = count(red::Thresholds::of_delay(target, rate, s.mean_packet.0));
            if !thresholds.lie_within(spec.settings.switch.buffer, s.mean_packet.0) {
                return port::Discipline::DropTail;
            }
            thresholds
        }
    };
    port::Discipline::Red(red::Red::new(red::Params {
        thresholds,
        max_p_q16: s.max_p.in_q(16),
        weight_q32: s.weight.in_q(32),
        instantaneous: s.instantaneous,
        gentle: s.gentle,
        wait: s.wait,
        byte_mode: if s.byte_mode { NonZeroU32::new(s.mean_packet.0 as u32) } else { None },
        ecn: spec.scheme.ecn,
        rate,
    }))
}

fn many_to_one(spec: &RunSpec) -> many_to_one::ManyToOne {
    let form = match spec.settings.m21.offer {
        Offer::Window => many_to_one::Form::Window,
        Offer::Count => many_to_one::Form::Count,
    };
    many_to_one::ManyToOne::new(form, m21_buffer(spec))
}

/// M21's B; a buffer in packets is that many full frames.
fn m21_buffer(spec: &RunSpec) -> u64 {
    spec.settings.in_bytes(spec.settings.switch.buffer)
}
