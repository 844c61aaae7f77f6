//! Packets through the programs of grants, one at a time (BPF_PROG_TEST_RUN): layouts of headers, scales, numbers that wrap, and bad input.
#![cfg(feature = "load")]

#[path = "support/layout.rs"]
mod layout;
mod support;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use fanin_kernel::replay::GrantPackets;
use layout::{ACK, FIN, Layout, PSH, SYN, Segment, sum};
use proptest::prelude::*;

const SEGMENT: u32 = 1_448;
const QUEUE: u64 = 16_384;
const PLAIN: Layout = Layout { ipv6: false, vlan: false, stamps: true, scale: 7 };

/// The window of a packet, whose checksum has to be right.
fn window_of(layout: Layout, packet: &[u8], leaves: bool) -> u16 {
    let tcp = &packet[layout.tcp_at()..];
    let length = tcp.len() as u32;
    let total = sum(&[&layout.addresses(leaves)[..], &length.to_be_bytes(), &[0, 6], tcp].concat());
    assert_eq!(total, 0xffff, "the checksum of {packet:?}");
    u16::from_be_bytes([tcp[14], tcp[15]])
}

/// A connection that the host has opened, through the programs.
struct Connection<'a> {
    programs: &'a GrantPackets,
    layout: Layout,
    /// The host's next number, the peer's next one, and that up to which the host acknowledges.
    own: u32,
    next: u32,
    peer: u16,
}

impl<'a> Connection<'a> {
    fn open(programs: &'a GrantPackets, layout: Layout, first: u32, peer: u16) -> Connection<'a> {
        let mut new = Connection { programs, layout, own: 77, next: first.wrapping_add(1), peer };
        let [request, response] =
            [(true, 76, 0, SYN), (false, first, 77, SYN | ACK)].map(|(leaves, seq, ack, flags)| {
                let window = if leaves { 64_240 } else { 65_535 };
                Segment { leaves, seq, ack, flags, window, payload: 0, sacked: None, peer }
            });
        new.pass(request);
        new.pass(response);
        new.acknowledges(60_000);
        new
    }

    fn pass(&mut self, segment: Segment) -> u16 {
        let packet = self.layout.packet(&segment);
        let after = self.programs.pass(segment.leaves, &packet).expect("the kernel runs it");
        window_of(self.layout, &after, segment.leaves)
    }

    fn segment(&self, leaves: bool, flags: u8, payload: u32) -> Segment {
        let (seq, ack) = if leaves { (self.own, self.next) } else { (self.next, self.own) };
        Segment { leaves, seq, ack, flags, window: 60_000, payload, sacked: None, peer: self.peer }
    }

    /// The host acknowledges with a window of its own; returns the one that leaves.
    fn acknowledges(&mut self, window: u16) -> u16 {
        self.pass(Segment { window, ..self.segment(true, ACK, 0) })
    }

    /// The host sends a request; returns its window.
    fn requests(&mut self) -> u16 {
        let window = self.pass(self.segment(true, ACK | PSH, 100));
        self.own = self.own.wrapping_add(100);
        window
    }

    fn receives(&mut self, bytes: u32) {
        let segment = self.segment(false, ACK, bytes);
        self.pass(segment);
        self.next = self.next.wrapping_add(bytes);
    }

    fn bytes(&self, window: u16) -> u32 {
        u32::from(window) << self.layout.scale
    }
}

/// A link so slow that the round trips of a slow machine carry nothing.
fn programs(turn: u32) -> GrantPackets {
    GrantPackets::load(1_000, QUEUE, SEGMENT, turn).expect("the kernel loads them")
}

fn layouts() -> impl Iterator<Item = Layout> {
    (0..8).flat_map(|bits: u8| {
        [0, 2, 7, 14].map(|scale| Layout { ipv6: bits & 1 > 0, vlan: bits & 2 > 0, stamps: bits & 4 > 0, scale })
    })
}

#[test]
fn every_layout_and_scale_is_granted_whole_segments() {
    if support::skips() {
        return;
    }
    let programs = programs(1);
    for (peer, layout) in (9_000..).zip(layouts()) {
        let mut connection = Connection::open(&programs, layout, 1_000, peer);
        let (window, unit) = (connection.requests(), 1 << layout.scale);
        let granted = connection.bytes(window);
        // The segment that it has at rest and ten for a request, each rounded up to a unit.
        assert!((SEGMENT..11 * SEGMENT + 2 * unit).contains(&granted), "{layout:?}: {granted}");
        for _ in 0..5 {
            connection.receives(SEGMENT);
            let window = connection.acknowledges(60_000);
            assert!(connection.bytes(window) >= SEGMENT, "{layout:?}: alone, it is never without a segment: {window}");
        }
        // It closes, and no longer counts.
        connection.pass(connection.segment(false, ACK | FIN, 0));
    }
}

#[test]
fn windows_are_the_same_where_numbers_wrap() {
    if support::skips() {
        return;
    }
    let windows = |first: u32| {
        let programs = programs(1);
        let mut connection = Connection::open(&programs, PLAIN, first, 9_000);
        let mut windows = vec![connection.requests()];
        for bytes in [SEGMENT, SEGMENT, SEGMENT, 100, SEGMENT, SEGMENT] {
            connection.receives(bytes);
            windows.push(connection.acknowledges(60_000));
        }
        windows
    };
    let wanted = windows(1_000);
    for first in [u32::MAX, u32::MAX - 1, u32::MAX - 2 * SEGMENT, 1 << 31, (1 << 31) - SEGMENT] {
        assert_eq!(windows(first), wanted, "{first}");
    }
}

#[test]
fn a_window_that_tcp_closes_stays_closed() {
    if support::skips() {
        return;
    }
    let programs = programs(1);
    let mut connection = Connection::open(&programs, PLAIN, 1_000, 9_000);
    connection.requests();
    connection.receives(SEGMENT);
    assert_eq!([connection.acknowledges(0), connection.acknowledges(3)], [0, 3]);
}

#[test]
fn more_connections_than_segments_wait_and_a_probe_opens_one() {
    if support::skips() {
        return;
    }
    let programs = programs(1);
    let mut connections: Vec<Connection<'_>> =
        (0..40).map(|peer| Connection::open(&programs, PLAIN, 1_000, 9_000 + peer)).collect();
    let windows: Vec<u32> = connections
        .iter_mut()
        .map(|one| {
            let window = one.requests();
            one.bytes(window)
        })
        .collect();
    let granted: u32 = windows.iter().sum();
    // The budget, of which resting connections may have had a queue's bytes before, and a round trip of the test's own speed at most.
    assert!(windows.iter().filter(|window| **window < SEGMENT).count() > 5, "{windows:?}");
    assert!(granted < 40 * SEGMENT, "{granted}");
    let waiting = windows.iter().position(|window| *window < SEGMENT).expect("one waits");
    let probe =
        Segment { seq: connections[waiting].next.wrapping_sub(1), ..connections[waiting].segment(false, ACK, 0) };
    connections[waiting].pass(probe);
    let window = connections[waiting].acknowledges(60_000);
    assert!(connections[waiting].bytes(window) >= SEGMENT, "{window}");
}

#[test]
fn connections_that_began_before_keep_every_byte() {
    if support::skips() {
        return;
    }
    let programs = programs(1);
    Connection::open(&programs, PLAIN, 1_000, 9_000).requests();
    for layout in layouts() {
        for leaves in [true, false] {
            let segment = Segment {
                leaves,
                seq: 5,
                ack: 9,
                flags: ACK,
                window: 512,
                payload: 300,
                sacked: Some((20, 30)),
                peer: 9_999,
            };
            let packet = layout.packet(&segment);
            assert_eq!(programs.pass(leaves, &packet).expect("it runs"), packet, "{layout:?}");
        }
    }
}

/// An event of a connection.
#[derive(Clone, Debug)]
enum Event {
    Request,
    /// Data at a distance from what was received in order, in bytes: out of order, or again.
    Data(i32, u32),
    /// An ACK with a window, of an earlier number by some bytes, with or without SACK.
    Ack(u16, u32, bool),
    Close,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let data = (prop_oneof![Just(0), -4_000..4_000_i32], prop_oneof![Just(SEGMENT), 1..SEGMENT]);
    let event = prop_oneof![
        2 => Just(Event::Request),
        8 => data.prop_map(|(at, bytes)| Event::Data(at, bytes)),
        8 => (any::<u16>(), prop_oneof![Just(0), 0..3_000_u32], any::<bool>())
            .prop_map(|(window, behind, sacks)| Event::Ack(window, behind, sacks)),
        1 => Just(Event::Close),
    ];
    prop::collection::vec(event, 1..60)
}

fn is_orderly(programs: &GrantPackets, layout: Layout, (first, peer): (u32, u16), events: &[Event]) {
    let mut connection = Connection::open(programs, layout, first, peer);
    let (mut edge, mut closed): (Option<u32>, bool) = (None, false);
    for event in events {
        let segment = match *event {
            Event::Request => connection.segment(true, ACK | PSH, 100),
            Event::Data(at, bytes) => {
                let seq = connection.next.wrapping_add(at as u32);
                let end = seq.wrapping_add(bytes);
                let segment = Segment { seq, ..connection.segment(false, ACK, bytes) };
                // In order: TCP has it.
                if at <= 0 && end.wrapping_sub(connection.next) as i32 > 0 {
                    connection.pass(segment);
                    connection.next = end;
                    continue;
                }
                segment
            }
            Event::Ack(window, behind, sacks) => {
                let ack = connection.next.wrapping_sub(behind);
                let sacked = sacks.then_some((ack.wrapping_add(3_000), ack.wrapping_add(6_000)));
                Segment { window, ack, sacked, ..connection.segment(true, ACK, 0) }
            }
            Event::Close => {
                closed = true;
                connection.segment(false, ACK | FIN, 0)
            }
        };
        let window = connection.pass(segment);
        if !segment.leaves {
            continue;
        }
        assert!(window <= segment.window, "{event:?}: TCP's own window of {} became {window}", segment.window);
        let new = segment.ack.wrapping_add(connection.bytes(window));
        let is_free = window < segment.window && !closed;
        if let (Some(old), true) = (edge, is_free) {
            let back = old.wrapping_sub(new) as i32;
            assert!(back < 1 << layout.scale, "{event:?}: an edge moved back by {back} B");
        }
        // An edge that TCP itself takes back is the one from then on.
        edge = Some(new);
    }
}

thread_local! {
    /// Programs with turns of one segment and of two, which a test's cases share: to load them takes longer than a case.
    static SHARED: [OnceCell<Rc<GrantPackets>>; 2] = const { [OnceCell::new(), OnceCell::new()] };
    static PEER: Cell<u16> = const { Cell::new(1) };
}

fn shared(turn: u32) -> Rc<GrantPackets> {
    SHARED.with(|cells| Rc::clone(cells[turn as usize - 1].get_or_init(|| Rc::new(programs(turn)))))
}

proptest! {
    #![proptest_config(fanin_testing::cases(200))]

    #[test]
    fn no_window_exceeds_tcps_own_or_moves_back(
        (events, turn) in (events(), 1..=2_u32),
        (scale, bits) in (0..=14_u8, 0..8_u8),
        first in prop_oneof![any::<u32>(), Just(u32::MAX - 5_000)],
    ) {
        if !support::skips() {
            let layout = Layout { ipv6: bits & 1 > 0, vlan: bits & 2 > 0, stamps: bits & 4 > 0, scale };
            let peer = PEER.replace(PEER.get() + 1);
            is_orderly(&shared(turn), layout, (first, peer), &events);
        }
    }

    #[test]
    fn damaged_packets_pass_unchanged(bytes in prop::collection::vec(any::<u8>(), 64..160), kind in 0..4_usize) {
        if !support::skips() {
            let (programs, mut packet) = (shared(1), bytes);
            let kinds = [&[8, 0][..], &[0x86, 0xdd], &[0x81, 0, 0, 5, 8, 0], &[0x81, 0, 0, 5, 0x86, 0xdd]];
            for (place, byte) in packet[12..].iter_mut().zip(kinds[kind]) {
                *place = *byte;
            }
            // A SYN would open a connection, and have its window lowered: no other protocol's packet does.
            let protocol = if kind < 2 { 14 } else { 18 } + if kind % 2 == 0 { 9 } else { 6 };
            packet[protocol] = 17;
            for leaves in [true, false] {
                prop_assert_eq!(&programs.pass(leaves, &packet).expect("it runs"), &packet);
            }
        }
    }
}
