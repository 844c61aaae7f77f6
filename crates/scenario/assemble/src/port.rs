//! Queue disciplines of ports.

use fanin_laws::port::many_to_one::ManyToOne;
use fanin_laws::port::trimming::Trim;
use fanin_laws::port::{self, Place};
use fanin_spec::{HostQueue, RunSpec, TrafficClass};
use fanin_units::{QueueSize, Rate};

/// Queue discipline of a host's transmit queue on a link of this rate, with switch buffers of `buffer`.
pub fn host_port_law(spec: &RunSpec, rate: Rate, buffer: QueueSize) -> port::Law {
    let host = &spec.settings.host;
    match host.queue {
        // A network card takes one packet of each sender at a time.
        _ if !spec.scheme.is_tcp() => port::Law::UNLIMITED,
        HostQueue::Plain => port::Law { limit: host.buffer.0, ..port::Law::UNLIMITED },
        // M21's allocation applies to switches only.
        HostQueue::Switch => {
            let law = switch_port_law(spec, rate, buffer);
            port::Law { limit: host.buffer.0.or(law.limit), many_to_one: None, ..law }
        }
    }
}

/// Queue discipline of a switch port on a link of this rate, with `buffer` unless ports of its rate have another size; with shared memory
/// the maximum of one port.
pub fn switch_port_law(spec: &RunSpec, rate: Rate, buffer: QueueSize) -> port::Law {
    let s = &spec.settings;
    let (class, mut laws) = (s.port_class(rate), s.laws.ports.clone());
    if let Some(k) = class.and_then(|class| class.k) {
        laws.ecn_threshold.k = Some(k);
    }
    let place = place(spec, rate, buffer);
    let m21 = || ManyToOne::new(s.laws.parts.m21.offer, s.in_bytes(place.buffer));
    port::Law {
        limit: spec.scheme.transport.port_limit(&spec.settings, place.buffer),
        discipline: spec.scheme.discipline.start(&laws, &place),
        many_to_one: spec.scheme.m21.then(m21),
        ..port::Law::UNLIMITED
    }
}

/// Queue discipline of a traffic class at a switch port, as [`switch_port_law`]: that of the scheme whose packets it carries. `background`
/// is the run as background traffic has it, if its scheme is another one.
pub fn class_port_law(
    spec: &RunSpec,
    background: Option<&RunSpec>,
    class: &TrafficClass,
    rate: Rate,
    buffer: QueueSize,
) -> port::Law {
    let s = &spec.settings;
    let is = |other: Option<TrafficClass>| other.is_some_and(|other| other.number == class.number);
    let own = class.buffer.unwrap_or(buffer);
    let law = match () {
        () if is(s.workload_class()) => switch_port_law(spec, rate, own),
        () if is(s.background_class()) => switch_port_law(background.unwrap_or(spec), rate, own),
        () => port::Law::UNLIMITED,
    };
    let buffer = class.buffer.unwrap_or_else(|| place(spec, rate, buffer).buffer);
    port::Law { limit: (!class.lossless).then_some(buffer), ..law }
}

/// Trimming at a switch port, as [`switch_port_law`].
pub fn port_trim(spec: &RunSpec, rate: Rate, buffer: QueueSize) -> Trim {
    spec.settings.laws.ports.trimming.trim(&place(spec, rate, buffer))
}

/// Buffer of a switch port without an override.
pub fn port_buffer(spec: &RunSpec) -> QueueSize {
    spec.scheme.transport.port_buffer(&spec.settings)
}

fn place(spec: &RunSpec, rate: Rate, buffer: QueueSize) -> Place {
    let s = &spec.settings;
    let buffer = s.port_class(rate).and_then(|class| class.buffer).unwrap_or(buffer);
    Place { rate, buffer, full_packet: s.full_frame().0, ecn: spec.scheme.ecn }
}
