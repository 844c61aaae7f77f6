//! Invariants of receivers: bounds of windows, and no more assigned than is free.

use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

use crate::settings;

/// A packet: time since the last, connection, payload, and the host's estimate of the RTT.
fn packets() -> impl Strategy<Value = Vec<(u64, usize, u32, u64)>> {
    let gap = prop_oneof![0..1_000_000u64, 0..1_000_000_000u64, Just(1 << 62)];
    let rtt = prop_oneof![Just(0), Just(1), 10_000_000..1_000_000_000u64, Just(u64::MAX)];
    prop::collection::vec((gap, 0..4usize, 0..9_000u32, rtt), 1..300)
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn windows_stay_within_bounds_and_quota(
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
            // A raise is paid from this half's quota or a new one.
            prop_assert!(after <= before || after <= 2 * mss || host.quota() < slot.max(host.available()) || rtt > 1 << 60);
        }
        for connection in connections {
            connection.close(&mut host);
        }
    }
}
