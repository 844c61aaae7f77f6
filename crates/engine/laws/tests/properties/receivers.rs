//! Invariants of receivers: bounds of windows, and no more assigned than is free.

use fanin_laws::receiver::grants;
use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_units::{Rate, SendRate, Share, Time};
use proptest::prelude::*;

use crate::settings;

/// A packet: time since the last, connection, payload, and the host's estimate of the RTT.
fn packets() -> impl Strategy<Value = Vec<(u64, usize, u32, u64)>> {
    let gap = prop_oneof![0..1_000_000u64, 0..1_000_000_000u64, Just(1 << 62)];
    let rtt = prop_oneof![Just(0), Just(1), 10_000_000..1_000_000_000u64, Just(u64::MAX)];
    prop::collection::vec((gap, 0..4usize, 0..9_000u32, rtt), 1..300)
}

/// An event at a host that grants.
#[derive(Clone, Debug)]
enum Event {
    Request,
    /// The peer sends as much as it may, at most so much.
    Data(u32),
    /// It sends without regard to its window, from somewhere near the expected byte.
    Stray(i32, u32),
    Probe,
    Announce,
    Reopen(bool),
}

fn events() -> impl Strategy<Value = Vec<(u64, u32, u64, Event)>> {
    let gap = prop_oneof![0..1_000_000u64, 0..100_000_000_000u64, Just(1 << 62)];
    let rtt = prop_oneof![Just(0), Just(1), 10_000_000..1_000_000_000u64, Just(u64::MAX)];
    let event = prop_oneof![
        3 => Just(Event::Request),
        6 => (1..9_000u32).prop_map(Event::Data),
        1 => (any::<i32>(), 0..9_000u32).prop_map(|(at, bytes)| Event::Stray(at >> 14, bytes)),
        1 => Just(Event::Probe),
        3 => Just(Event::Announce),
        1 => any::<bool>().prop_map(Event::Reopen),
    ];
    prop::collection::vec((gap, 0..6u32, rtt, event), 1..300)
}

/// The peer's view of a connection.
#[derive(Clone, Copy, Default)]
struct Peer {
    next: u32,
    announced: u32,
}

fn ahead(of: u32, behind: u32) -> u32 {
    (of.wrapping_sub(behind) as i32).max(0) as u32
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn edges_never_move_back_and_nobody_is_forgotten(
        set in settings(),
        events in events(),
        mss in 64..9_000u32,
        first in any::<u32>(),
        rate in 1_000..400_000_000_000u64,
    ) {
        let mut host = grants::Host::new(&set.parts.grants, Rate(rate), mss);
        let mut peers = [Peer { next: first, announced: first }; 6];
        (0..6).for_each(|place| host.open(place, first, place < 4));
        let mut now = Time::ZERO;
        for (gap, place, rtt, event) in events {
            now = now.saturating_add(Time(gap));
            let peer = &mut peers[place as usize];
            let before = host.edge(place);
            let arrives = |host: &mut grants::Host, seq, payload| {
                host.receive(now, place, &grants::Arrival { seq, payload, rtt: Time(rtt) });
            };
            let mut is_new = false;
            match event {
                Event::Request => host.send(now, place),
                Event::Data(most) => {
                    let bytes = ahead(peer.announced, peer.next).min(most);
                    peer.next = peer.next.wrapping_add(bytes);
                    arrives(&mut host, peer.next.wrapping_sub(bytes), bytes);
                }
                Event::Stray(at, bytes) => {
                    let seq = peer.next.wrapping_add_signed(at);
                    arrives(&mut host, seq, bytes);
                    peer.next = peer.next.wrapping_add(ahead(seq.wrapping_add(bytes), peer.next));
                }
                Event::Probe => {
                    arrives(&mut host, peer.next.wrapping_sub(1), 0);
                    let waits = host.deadline() != Time::NEVER;
                    prop_assert!(host.credit(place) >= mss || waits, "a probe is granted a segment, at once or by the timer");
                }
                Event::Announce => {
                    host.announce(place);
                    peer.announced = host.edge(place);
                }
                Event::Reopen(opens) => {
                    host.close(place);
                    host.open(place, first, opens);
                    *peer = Peer { next: first, announced: first };
                    is_new = true;
                }
            }
            let after = host.edge(place);
            prop_assert!(is_new || before == after || ahead(after, before) > 0, "the edge moves back");
            while let Some(woken) = host.next_woken() {
                prop_assert!(host.credit(woken) >= mss, "woken without a segment");
                host.announce(woken);
                peers[woken as usize].announced = host.edge(woken);
            }
            let (credit, connections) = host.outstanding();
            prop_assert!(connections <= 6 && credit <= 6 << 30, "{credit} of {connections}");
        }
        (0..6).for_each(|place| host.close(place));
        prop_assert_eq!(host.outstanding(), (0, 0));
        prop_assert_eq!(host.waiting(), 0);
    }

    #[test]
    fn grants_stay_within_their_limit(
        events in events(),
        (mss, turn, rate) in (64..9_000u32, 1..4u32, 1_000_000..400_000_000_000u64),
        share in 1..99u32,
    ) {
        let limit = SendRate::Share(Share::of(share, 100));
        let params = grants::Params { limit, turn, ..grants::Params::default() };
        let mut host = grants::Host::new(&params, Rate(rate), mss);
        (0..6).for_each(|place| host.open(place, 1, place < 4));
        let depth = params.idle.max(limit.on(Rate(rate)).time_for(u64::from(2 * turn * mss)));
        let (mut now, mut granted, mut next) = (depth, 0_u64, [1_u32; 6]);
        let edges = |host: &grants::Host| [0, 1, 2, 3, 4, 5].map(|place| host.edge(place));
        for (gap, place, _, event) in events {
            now = now.saturating_add(Time(gap % 1_000_000_000_000));
            let before = edges(&host);
            match event {
                Event::Request => host.send(now, place),
                // Within the edge: beyond it, nothing limits a peer.
                Event::Data(most) | Event::Stray(_, most) => {
                    let payload = host.credit(place).min(most);
                    let seq = next[place as usize];
                    next[place as usize] = seq.wrapping_add(payload);
                    host.receive(now, place, &grants::Arrival { seq, payload, rtt: Time::from_micros(50) });
                }
                Event::Probe => {
                    let seq = next[place as usize].wrapping_sub(1);
                    host.receive(now, place, &grants::Arrival { seq, payload: 0, rtt: Time::ZERO });
                }
                Event::Announce => host.expire(now),
                Event::Reopen(opens) => {
                    granted -= u64::from(host.credit(place));
                    host.close(place);
                    host.open(place, next[place as usize], opens);
                }
            }
            while host.next_woken().is_some_and(|woken| { host.announce(woken); true }) {}
            granted += before.iter().zip(edges(&host)).map(|(old, new)| u64::from(ahead(new, *old))).sum::<u64>();
            let most = u128::from(limit.on(Rate(rate)).0 / 8) * u128::from(now.0) / 1_000_000_000_000;
            // One byte for each time that is rounded down.
            prop_assert!(u128::from(granted) <= most + 300, "{granted} of {most} B");
        }
    }

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
