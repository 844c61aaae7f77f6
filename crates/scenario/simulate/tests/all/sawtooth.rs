//! DCTCP's long flows against the closed forms of their sawtooth (`fanin-model`), over random settings.

use crate::common::{checked, run};
use fanin_model::{Sawtooth, least_threshold};
use fanin_spec::{HostId, Kind, Optional, PacketJitter, Scheme, Settings, Share, WarmUp};
use fanin_units::{QueueSize, Rate, Time};
use proptest::prelude::*;

/// N, K beyond the pipe's minimum, and the delay of a link in microseconds.
type Case = (u32, u32, u64);

fn cases() -> impl Strategy<Value = Case> {
    (1u32..=8, 2u32..=60, 2u64..=60)
}

/// The queue in full packets: the closed form, the measured maximum and the measured mean.
fn seen((flows, more, delay_us): Case) -> (Sawtooth, f64, f64) {
    let mut s = Settings::default();
    s.workload.kind = Kind::Long;
    s.workload.warm_up = Optional(Some(WarmUp::For(Time::from_millis(150))));
    s.workload.duration = Time::from_millis(100);
    // Senders are faster than the port, so that queues build up there and not at their hosts.
    (s.link.rate, s.link.client_rate) = (Rate(40_000_000_000), Optional(Some(Rate(10_000_000_000))));
    s.link.delay = Time::from_micros(delay_us);
    s.switch.buffer = QueueSize::Packets(2_000);
    (s.tcp.delayed_ack, s.host.packet_jitter, s.measure.ports) = (1, PacketJitter::None, true);
    let fabric = {
        s.workload.fan_in = flows;
        s.network().unwrap()
    };
    let full = f64::from(s.link.framing.on_wire(s.full_packet().0 as u32));
    let pipe = 10e9 * s.round_trip(&fabric, HostId(1), s.full_packet()).as_secs_f64() / 8.0 / full;
    let threshold = least_threshold(pipe).ceil() as u32 + more;
    s.laws.ports.ecn_threshold.k = Some(QueueSize::Packets(threshold));
    s.laws.senders.dctcp.g = Share::of(1, 16);
    let frame = s.full_frame().0 as f64;
    let tables = run(&checked(Scheme::parse("dctcp").unwrap(), s, flows, 1));
    let port = tables.ports.iter().find(|port| port.port == "switch>client").unwrap();
    let packets = |bytes: u64| bytes as f64 / frame;
    let of = Sawtooth { pipe, threshold: threshold.into(), flows: flows.into() };
    (of, packets(port.queue_max_bytes), packets(port.queue_mean_bytes.unwrap()))
}

/// The longest queue within three packets of K + N, and the mean one near the middle of the sawtooth. Unsynchronised flows swing less,
/// around about the same middle.
fn holds(case: Case) -> Result<(), TestCaseError> {
    let (of, most, mean) = seen(case);
    let middle = of.queue_max() - of.amplitude() / 2.0;
    prop_assert!((most - of.queue_max()).abs() <= 3.0, "{case:?}: the longest queue {most} for {}", of.queue_max());
    let far = 1.0 + of.amplitude() / 4.0;
    prop_assert!((mean - middle).abs() <= far, "{case:?}: the mean queue {mean} for {middle} in {of:?}");
    Ok(())
}

proptest! {
    #![proptest_config(fanin_testing::cases(8))]

    #[test]
    fn queue_of_long_flows_follows_the_closed_form(case in cases()) {
        holds(case)?;
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(300))]

    #[test]
    #[ignore = "takes minutes: make torture"]
    fn queue_follows_the_closed_form_in_many_cases(case in cases()) {
        holds(case)?;
    }
}
