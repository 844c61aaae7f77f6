//! Tests of links: sizes, pauses, classes, trimming.

use super::*;
use fanin_laws::port::trimming::Trim;
use fanin_laws::scheduler::{CLASSES, Scheduler, Scheduling};
use fanin_transport::{Class, Packet};

#[test]
fn link_fits_two_cache_lines() {
    assert_eq!(size_of::<Link>(), 2 * 64);
}

const US: u64 = 1_000_000;
const LATE: LinkId = LinkId(3);

/// A lazy link of 1 Gbit/s without delay or gap: a packet of 1,250 B takes 10 us.
fn lazy(law: Law) -> Link {
    let link = fanin_fabric::Link {
        from: fanin_fabric::NodeId(1),
        to: fanin_fabric::NodeId(0),
        rate: Rate(1_000_000_000),
        delay: Time::ZERO,
    };
    let mut link = Link::new(&link, 0);
    link.set_up(law, Departures::Lazy, true, Stream::new(1, fanin_driver::Purpose::Port, 0));
    link
}

fn packet(number: u32, class: u8) -> InFlight {
    let packet = Packet { bytes: 1_250, payload: 1_000, class: Class::new(class), ..Packet::default() };
    InFlight { packet: Packet { body: [number, 0, 0, 0, 0], ..packet }, ..InFlight::default() }
}

fn offer(link: &mut Link, at: u64, packet: &InFlight) -> LinkAction {
    let before = link.queue_bytes();
    let mut todo = link.enqueue(at, packet, &mut PacketMetadata::default());
    if todo == LinkAction::Held {
        todo = link.enqueue_held(at, packet, &mut PacketMetadata::default());
    }
    if link.queue_bytes() > before {
        link.place(LATE);
    }
    todo
}

/// The numbers of the packets on the link and in its queue.
fn order(link: &Link) -> Vec<u32> {
    (0..link.len()).map(|at| link.slots.get(at).packet.packet.body[0]).collect()
}

#[test]
fn pause_lets_the_packet_on_the_wire_complete() {
    let mut link = lazy(Law::UNLIMITED);
    assert!(matches!(offer(&mut link, 0, &packet(0, 0)), LinkAction::Arrival(due) if due.at == 10 * US));
    assert_eq!(offer(&mut link, US, &packet(1, 0)), LinkAction::Departure(10 * US));
    assert!(!link.pause(PauseFrame { class: 0, on: true }));
    // The departure was due when the link was paused: nothing leaves.
    assert_eq!(link.depart(10 * US).left, None);
    assert_eq!(link.arrive(10 * US).0.packet.body[0], 0);
    assert_eq!(offer(&mut link, 20 * US, &packet(2, 0)), LinkAction::Nothing);
    // The pause ends: the next packet leaves then, and not when the wire became free.
    assert!(link.pause(PauseFrame { class: 0, on: false }));
    let departed = link.depart(35 * US);
    assert_eq!(departed.left.map(|left| left.queued), Some(Queued { came_by: LATE, class: 0, bytes: 1_250 }));
    assert_eq!((departed.arrival.map(|due| due.at), departed.next), (Some(45 * US), Some(45 * US)));
}

#[test]
fn packet_waits_behind_one_that_is_due_to_leave_now() {
    let mut link = lazy(Law::UNLIMITED);
    offer(&mut link, 0, &packet(0, 0));
    offer(&mut link, US, &packet(1, 0));
    // The wire is free at 10 us, but the departure of the queued packet comes later in that instant.
    assert_eq!(offer(&mut link, 10 * US, &packet(2, 0)), LinkAction::Nothing);
    assert!(link.depart(10 * US).left.is_some());
    assert_eq!((order(&link), link.queue_bytes()), (vec![0, 1, 2], 1_250));
}

#[test]
fn pauses_before_a_departure_schedule_it_once() {
    let mut link = lazy(Law::UNLIMITED);
    offer(&mut link, 0, &packet(0, 0));
    offer(&mut link, US, &packet(1, 0));
    link.pause(PauseFrame { class: 0, on: true });
    // The departure that was due finds the packet paused.
    link.depart(10 * US);
    offer(&mut link, 20 * US, &packet(2, 0));
    let ends = [false, true, false].map(|on| link.pause(PauseFrame { class: 0, on }));
    assert_eq!(ends, [true, false, false]);
}

#[test]
fn pause_that_ends_before_the_departure_changes_nothing() {
    let mut link = lazy(Law::UNLIMITED);
    offer(&mut link, 0, &packet(0, 0));
    offer(&mut link, 0, &packet(1, 0));
    link.pause(PauseFrame { class: 0, on: true });
    assert!(!link.pause(PauseFrame { class: 0, on: false }), "its departure is an event already");
    assert!(link.depart(10 * US).left.is_some());
}

#[test]
fn other_classes_pass_a_paused_one() {
    let mut link = lazy(Law { by_class: true, ..Law::UNLIMITED });
    link.pause(PauseFrame { class: 0, on: true });
    assert_eq!(offer(&mut link, 0, &packet(0, 0)), LinkAction::Nothing);
    assert_eq!(offer(&mut link, 5 * US, &packet(1, 1)), LinkAction::Departure(5 * US));
    assert_eq!(link.depart(5 * US).arrival.map(|due| due.at), Some(15 * US));
    assert_eq!(order(&link), [1, 0]);
}

#[test]
fn higher_classes_overtake_queued_packets() {
    let mut link = lazy(Law { by_class: true, ..Law::UNLIMITED });
    for (number, class) in [(0, 0), (1, 0), (2, 5), (3, 0), (4, 7), (5, 5)] {
        offer(&mut link, 0, &packet(number, class));
    }
    // The first is on the wire.
    assert_eq!(order(&link), [0, 4, 2, 5, 1, 3]);
}

#[test]
fn full_port_trims_into_room_for_headers() {
    let trim = Some(Trim { bytes: 64, room: 128 });
    let mut link = lazy(Law { limit: Some(QueueSize::Bytes(1_250)), trim, by_class: true, ..Law::UNLIMITED });
    let lost: Vec<bool> = (0..5).map(|number| link.enqueue_trimming(0, packet(number, 0)).1.is_some()).collect();
    assert_eq!(lost, [false, false, false, false, true]);
    assert_eq!(link.queue_bytes(), 1_250 + 2 * 64);
    // Headers leave first, and leave room for others.
    let payloads: Vec<u16> = (0..link.len()).map(|at| link.slots.get(at).packet.packet.payload).collect();
    assert_eq!(payloads, [1_000, 0, 0, 1_000]);
    link.depart(10 * US);
    assert!(link.enqueue_trimming(10 * US, packet(5, 0)).1.is_none());
}

#[test]
fn rate_and_pace_agree() {
    for rate in [1, 7, 1_000, 3_000_000_000, 10_000_000_000, 40_000_000_000, 400_000_000_000].map(Rate) {
        for bytes in [1, 40, 1_500, 65_000] {
            assert_eq!(Pace::of(rate).time_for(bytes), rate.time_for(bytes.into()).0, "{rate:?}");
        }
    }
}

/// A link whose port has these classes, from the highest on; packets of 1,250 B are full ones.
fn classed(queues: &[(usize, Scheduling)], limit: Option<QueueSize>) -> Link {
    let mut link = lazy(Law { by_class: true, ..Law::UNLIMITED });
    let mut classes = [None; CLASSES];
    queues.iter().for_each(|&(class, scheduling)| classes[class] = Some(scheduling));
    let law = Law { limit, ..Law::UNLIMITED };
    link.divide(ClassQueues::new(Scheduler::new(&classes, 1_250), std::array::from_fn(|_| law.clone())));
    link
}

/// Serve departures until none is due; returns the numbers of the packets that left.
fn drain(link: &mut Link) -> Vec<u32> {
    let (mut left, mut at) = (Vec::new(), link.busy_until);
    loop {
        let departed = link.depart(at);
        if departed.left.is_none() {
            return left;
        }
        left.push(link.slots.get(link.slots.len() - 1).packet.packet.body[0]);
        let Some(next) = departed.next else { return left };
        at = next;
    }
}

#[test]
fn strict_packet_waits_for_one_packet_only() {
    let mut link = classed(&[(6, Scheduling::Strict), (0, Scheduling::Dwrr(1))], None);
    for number in 0..10 {
        offer(&mut link, 0, &packet(number, 0));
    }
    assert_eq!(offer(&mut link, US, &packet(99, 6)), LinkAction::Nothing, "a departure is an event already");
    let left = link.depart(10 * US).left.map(|left| left.queued.class);
    assert_eq!(left, Some(6), "it leaves next, at 10 us");
    assert_eq!(drain(&mut link), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn classes_take_turns_by_weight() {
    let mut link = classed(&[(3, Scheduling::Dwrr(2)), (0, Scheduling::Dwrr(1))], None);
    for number in 0..6 {
        offer(&mut link, 0, &packet(number, 3));
        offer(&mut link, 0, &packet(10 + number, 0));
    }
    // The first was sent at once, while the port was idle.
    assert_eq!(drain(&mut link), [1, 2, 10, 3, 4, 11, 5, 12, 13, 14, 15]);
    let counts = link.classes().expect("it has some").counts();
    assert_eq!([3, 0].map(|class| (counts[class].packets, counts[class].wire_bytes)), [(6, 7_500); 2]);
    assert_eq!((link.queue_bytes(), link.queue_max_bytes), (0, 11 * 1_250));
}

#[test]
fn full_class_drops_and_leaves_the_others_their_room() {
    let limit = Some(QueueSize::Packets(2));
    let mut link = classed(&[(3, Scheduling::Dwrr(1)), (0, Scheduling::Dwrr(1))], limit);
    let dropped = |link: &mut Link, class: u8| {
        let offered = (0..4).map(|number| offer(link, 0, &packet(number, class)));
        offered.filter(|todo| matches!(todo, LinkAction::Dropped(_))).count()
    };
    assert_eq!((dropped(&mut link, 0), dropped(&mut link, 3)), (1, 2));
    let counts = link.classes().expect("it has some").counts();
    assert_eq!((counts[0].drops, counts[3].drops, link.counts().drops_full), (1, 2, 3));
}

#[test]
fn paused_class_lets_the_others_pass() {
    let mut link = classed(&[(3, Scheduling::Strict), (0, Scheduling::Dwrr(1))], None);
    link.pause(PauseFrame { class: 3, on: true });
    assert_eq!(offer(&mut link, 0, &packet(0, 3)), LinkAction::Nothing);
    assert_eq!(offer(&mut link, 5 * US, &packet(1, 0)), LinkAction::Departure(5 * US));
    assert_eq!(link.depart(5 * US).arrival.map(|due| due.at), Some(15 * US));
    assert!(!link.pause(PauseFrame { class: 0, on: true }), "nothing else waits");
    assert!(link.pause(PauseFrame { class: 3, on: false }), "work conserving");
    assert_eq!(
        link.depart(15 * US).left.map(|left| left.queued),
        Some(Queued { came_by: LATE, class: 3, bytes: 1_250 })
    );
}

#[test]
fn failed_link_with_classes_loses_what_waits() {
    let mut link = classed(&[(3, Scheduling::Strict), (0, Scheduling::Dwrr(1))], None);
    for (number, class) in [(0, 0), (1, 3), (2, 0)] {
        offer(&mut link, 0, &packet(number, class));
    }
    assert_eq!((link.len(), link.waiting_packets().count()), (3, 2));
    let lost = link.fail();
    assert_eq!((lost.len(), link.len(), link.queue_bytes()), (2, 1, 0));
    assert!(lost.iter().all(|lost| lost.came_by == LATE));
    assert_eq!(offer(&mut link, US, &packet(3, 3)), LinkAction::Dropped(Why::Down));
    link.heal();
    // The departure that was due finds nothing.
    assert_eq!(link.depart(10 * US).left, None);
    assert!(matches!(offer(&mut link, 20 * US, &packet(4, 3)), LinkAction::Nothing | LinkAction::Arrival(_)));
}
