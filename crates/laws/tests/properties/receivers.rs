//! What holds for receivers: bounds of windows, and no more given out than there is.

use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

use crate::settings;

/// A packet: after how long, of which connection, its payload, and the RTT that its host knows.
fn packets() -> impl Strategy<Value = Vec<(u64, usize, u32, u64)>> {
    let gap = prop_oneof![0..1_000_000u64, 0..1_000_000_000u64, Just(1 << 62)];
    let rtt = prop_oneof![Just(0), Just(1), 10_000_000..1_000_000_000u64, Just(u64::MAX)];
    prop::collection::vec((gap, 0..4usize, 0..9_000u32, rtt), 1..300)
}

proptest! {
    #[test]
    fn windows_have_two_segments_at_least_and_no_more_than_the_endpoint_offers_and_raises_cost_no_more_than_is_left(
        set in settings(),
        packets in packets(),
        mss in 64..9_000u32,
        most in 9_000..(1u32 << 30),
        rate in 1_000..400_000_000_000u64,
    ) {
        let mut host = Host::new(&set.parts.ictcp, Rate(rate), mss);
        let mut connections: Vec<Connection> = (0..4).map(|_| Connection::new(&mut host, most)).collect();
        let mut now = Time::ZERO;
        for (gap, which, payload, rtt) in packets {
            now = now.saturating_add(Time(gap));
            let (before, slot) = (connections[which].window(), host.quota());
            connections[which].receive(&mut host, now, payload + 58, payload, Time(rtt));
            let after = connections[which].window();
            prop_assert!((2 * mss).min(most) <= after && after <= most, "{after}");
            prop_assert!(after <= before.max(2 * mss).saturating_mul(2) && host.available() <= rate / 8);
            // A raise is paid for, out of this half's quota or a new one.
            prop_assert!(after <= before || after <= 2 * mss || host.quota() < slot.max(host.available()) || rtt > 1 << 60);
        }
        for connection in connections {
            connection.close(&mut host);
        }
    }
}
