//! Ports' laws.

use std::num::NonZeroU32;

use fanin_laws::port::{self, codel, many_to_one, red};
use fanin_spec::{Discipline, HostQueue, Offer, Resume, RunSpec};
use fanin_units::Rate;

use crate::m21_buffer;

/// The law of a host's transmit queue, on a link of this rate.
pub fn host_port_law(spec: &RunSpec, rate: Rate) -> port::Law {
    let host = &spec.settings.host;
    match host.queue {
        HostQueue::Plain => port::Law { limit: host.buffer.0, ..port::Law::UNLIMITED },
        // M21's allocation is of switches.
        HostQueue::Switch => {
            let law = switch_port_law(spec, rate);
            port::Law { limit: host.buffer.0.or(law.limit), many_to_one: None, ..law }
        }
    }
}

/// The law of a switch's port, on a link of this rate.
pub fn switch_port_law(spec: &RunSpec, rate: Rate) -> port::Law {
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
