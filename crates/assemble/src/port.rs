//! Ports' laws.

use fanin_laws::port::many_to_one::ManyToOne;
use fanin_laws::port::{self, Place};
use fanin_spec::{HostQueue, RunSpec};
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
    let place = Place { rate, buffer: s.switch.buffer, full_packet: s.full_frame().0, ecn: spec.scheme.ecn };
    let m21 = || ManyToOne::new(s.laws.parts.m21.offer, m21_buffer(spec));
    port::Law {
        limit: Some(s.switch.buffer),
        discipline: spec.scheme.discipline.start(&s.laws.ports, &place),
        many_to_one: spec.scheme.m21.then(m21),
    }
}
