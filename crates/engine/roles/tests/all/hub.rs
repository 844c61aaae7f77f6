//! Hub, step by step.

use crate::support::{Out, hub_params, ms};
use fanin_roles::hub::{self, Hub};
use fanin_roles::wire::{HEADER, Numbered, Size, Swarm};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::{Bytes, Rate, Time};

const FRONT_END: Node = Node(100);
const TAG: Tag = Tag { origin: FRONT_END, request: 7, epoch: 3, nonce: 0 };

/// The hub on machine 1, and its output since the last check.
struct At {
    hub: Hub<Numbered, Size>,
    out: Out,
}

impl At {
    fn new(change: impl FnOnce(&mut hub::Params)) -> At {
        let mut params = hub_params(1);
        change(&mut params);
        At { hub: Hub::new(params), out: Out::new() }
    }

    /// A hub of a request with this many objects and rate.
    fn of(own: u32, rate: Rate) -> At {
        let mut at = At::new(|_| {});
        at.told(Time::ZERO, TAG, swarm(FRONT_END, rate, own));
        at
    }

    fn told(&mut self, now: Time, tag: Tag, body: Body<Numbered, Size>) {
        self.told_of(now, tag, 0, body);
    }

    fn told_of(&mut self, now: Time, tag: Tag, index: u32, body: Body<Numbered, Size>) {
        self.hub.handle(now, Message { tag, index, body }, &mut self.out);
    }

    /// Requests objects from it, with their machines.
    fn asked(&mut self, now: Time, objects: impl IntoIterator<Item = (u32, u32)>) {
        for (index, holder) in objects {
            self.told_of(now, TAG, index, ask(index, holder));
        }
    }

    fn comes(&mut self, now: Time, index: u32, bytes: u32) {
        self.told_of(now, TAG, index, Body::Object(Size(bytes)));
    }

    fn due(&mut self, now: Time) {
        self.hub.due(now, &mut self.out);
        assert!(self.hub.deadline() > now, "nothing is due any more");
    }

    /// Requests: machine and object.
    fn gets(&mut self) -> Vec<(u32, u32)> {
        let got = |said: &Output<Numbered, Size>| match said {
            Output::Send { to, message: Message { index, body: Body::Get(_), .. }, .. } => Some((to.0, *index)),
            _ => None,
        };
        let gets = self.out.iter().filter_map(got).collect();
        self.out.retain(|said| got(said).is_none());
        gets
    }

    /// Packets: destination and objects.
    fn packets(&mut self) -> Vec<(u32, Vec<u32>)> {
        let mut packets = Vec::new();
        let mut packet = Vec::new();
        for said in self.out.drain(..) {
            let Output::Send { to, message, more } = said else { panic!("{said:?}") };
            packet.push(message.index);
            if !more {
                packets.push((to.0, std::mem::take(&mut packet)));
            }
        }
        assert!(packet.is_empty(), "the last message of a packet ends it");
        packets
    }

    fn bodies(&mut self) -> Vec<(u32, u32, Body<Numbered, Size>)> {
        let said = |said| match said {
            Output::Send { to, message, .. } => (to.0, message.index, message.body),
            other => panic!("{other:?}"),
        };
        self.out.drain(..).map(said).collect()
    }
}

fn swarm(parent: Node, rate: Rate, own: u32) -> Body<Numbered, Size> {
    Body::Swarm(Swarm { parent, rate, own, all: own })
}

fn ask(index: u32, holder: u32) -> Body<Numbered, Size> {
    Body::Ask { key: Numbered(index.into()), holder: Node(holder) }
}

fn us(us: u64) -> Time {
    Time::from_micros(us)
}

#[test]
fn window_limits_outstanding_bytes() {
    // 2,000 B of objects with an assumed size of 500 B.
    let mut at = At::of(10, Rate(0));
    at.asked(Time::ZERO, (0..10).map(|index| (index, 2 + index)));
    assert_eq!(at.gets(), [(2, 0), (3, 1), (4, 2), (5, 3)]);
    at.comes(us(10), 1, 500);
    assert_eq!(at.gets(), [(6, 4)], "one for one");
    at.told_of(us(20), TAG, 0, Body::Miss);
    assert_eq!(at.gets(), [(7, 5)], "a miss is an answer");
    at.told_of(us(20), TAG, 2, Body::Lost);
    assert_eq!(at.gets(), [(8, 6)]);
    // Objects of 4,500 B change the mean: an eighth of each counts.
    at.comes(us(30), 3, 4_500);
    assert_eq!(at.gets(), [], "three of 1,000 B are out, a fourth would be too much");
}

#[test]
fn small_window_allows_one_object() {
    let mut at = At::new(|params| params.window = Bytes(1));
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 2));
    at.asked(Time::ZERO, [(0, 2), (1, 3)]);
    assert_eq!(at.gets(), [(2, 0)]);
    at.comes(us(1), 0, 500);
    assert_eq!(at.gets(), [(3, 1)]);
}

#[test]
fn own_objects_do_not_use_window() {
    let mut at = At::of(10, Rate(0));
    at.asked(Time::ZERO, (0..6).map(|index| (index, 1)));
    at.asked(Time::ZERO, (6..10).map(|index| (index, 2)));
    assert_eq!(at.gets().len(), 10);
}

#[test]
fn packs_objects_in_order() {
    let mut at = At::of(4, Rate(0));
    at.asked(Time::ZERO, (0..4).map(|index| (index, 1)));
    at.gets();
    // With headers 500 B, 500 B and 480 B: two fit into 1,460 B, and the third shows that the packet is full.
    [(2, 480), (0, 480), (1, 460)].iter().for_each(|&(index, bytes)| at.comes(us(1), index, bytes));
    assert_eq!(at.packets(), [(FRONT_END.0, vec![2, 0])]);
    // The last one does not wait for others.
    at.comes(us(2), 3, 100);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![1, 3])]);
    assert_eq!(HEADER, 20);
}

#[test]
fn partial_packet_waits_at_most_linger() {
    let mut at = At::of(3, Rate(0));
    at.asked(Time::ZERO, [(0, 1), (1, 1), (2, 1)]);
    at.gets();
    at.comes(us(10), 0, 100);
    at.comes(us(50), 1, 100);
    assert_eq!(at.packets(), []);
    assert_eq!(at.hub.deadline(), us(110), "its oldest object came at 10 us");
    at.due(us(109));
    assert_eq!(at.packets(), []);
    at.due(us(110));
    assert_eq!(at.packets(), [(FRONT_END.0, vec![0, 1])]);
}

#[test]
fn without_packing_objects_go_alone() {
    let mut at = At::new(|params| params.packs = false);
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 3));
    at.asked(Time::ZERO, [(0, 1), (1, 1), (2, 1)]);
    at.gets();
    at.comes(us(1), 0, 100);
    at.comes(us(1), 1, 100);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![0]), (FRONT_END.0, vec![1])]);
}

#[test]
fn hub_keeps_rate_including_overhead() {
    // 1,460 B and 78 B take 123.04 us at 100 Mbit/s.
    let mut at = At::of(4, Rate(100_000_000));
    at.asked(Time::ZERO, (0..4).map(|index| (index, 1)));
    at.gets();
    [0, 1, 2].iter().for_each(|&index| at.comes(us(5), index, 1_440));
    assert_eq!(at.packets().len(), 1);
    assert_eq!(at.hub.deadline(), Time(128_040_000));
    at.due(Time(128_039_999));
    assert_eq!(at.packets(), []);
    at.due(Time(128_040_000));
    assert_eq!(at.packets(), [(FRONT_END.0, vec![1])]);
    // Twice the speed counts from the current packet.
    at.told(us(130), TAG, Body::Speed(Rate(200_000_000)));
    assert_eq!(at.hub.deadline(), Time(128_040_000 + 61_520_000));
}

#[test]
fn busy_machine_limits_speed() {
    let mut at = At::of(3, Rate(100_000_000));
    at.hub.limit_speed(TAG, Rate(50_000_000));
    at.asked(Time::ZERO, (0..3).map(|index| (index, 1)));
    at.gets();
    [0, 1].iter().for_each(|&index| at.comes(Time::ZERO, index, 1_440));
    assert_eq!(at.hub.deadline(), Time(246_080_000));
}

#[test]
fn forwards_objects_of_children() {
    let mut at = At::of(1, Rate(0));
    at.asked(Time::ZERO, [(5, 1)]);
    at.gets();
    // Of all, one is its own and two come through it.
    at.told(Time::ZERO, TAG, Body::Swarm(Swarm { parent: Node(9), rate: Rate(0), own: 1, all: 3 }));
    at.told_of(us(1), TAG, 11, Body::Miss);
    at.comes(us(2), 5, 100);
    assert_eq!(at.packets(), []);
    at.told_of(us(3), TAG, 12, Body::Lost);
    assert_eq!(at.packets(), [(9, vec![11, 5, 12])], "the last one does not wait");
}

#[test]
fn withdraws_unsent_objects_only() {
    let mut at = At::of(8, Rate(0));
    at.asked(Time::ZERO, (0..8).map(|index| (index, 2)));
    assert_eq!(at.gets().len(), 4);
    let withdrawn = |index| (FRONT_END.0, index, Body::Withdrawn);
    // It is queued.
    at.told_of(us(1), TAG, 6, Body::Withdraw);
    assert_eq!(at.bodies(), [withdrawn(6)]);
    // It is outstanding: the window is freed when the response arrives, which is not forwarded.
    at.told_of(us(1), TAG, 0, Body::Withdraw);
    assert_eq!(at.bodies(), [withdrawn(0)]);
    assert!(at.hub.waits_for(TAG, 0));
    at.comes(us(2), 0, 500);
    assert_eq!(at.gets(), [(2, 4)]);
    assert_eq!(at.packets(), []);
    // It waits to be forwarded.
    at.comes(us(3), 1, 500);
    at.told_of(us(3), TAG, 1, Body::Withdraw);
    assert_eq!(at.gets(), [(2, 5)]);
    assert_eq!(at.bodies(), [withdrawn(1)]);
    // It is sent, or unknown.
    at.comes(us(4), 2, 1_440);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![2])]);
    [2, 1, 99].iter().for_each(|&index| at.told_of(us(5), TAG, index, Body::Withdraw));
    assert_eq!(at.bodies(), []);
}

#[test]
fn rerequest_after_withdrawal_sends_no_duplicate() {
    let mut at = At::of(1, Rate(0));
    at.asked(Time::ZERO, [(0, 2)]);
    at.gets();
    at.told_of(us(1), TAG, 0, Body::Withdraw);
    at.bodies();
    at.asked(us(2), [(0, 2)]);
    assert_eq!(at.gets(), []);
    at.comes(us(3), 0, 1_440);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![0])]);
}

#[test]
fn repeated_request_fetches_only_sent_objects() {
    let mut at = At::of(3, Rate(0));
    at.asked(Time::ZERO, (0..3).map(|index| (index, 2)));
    at.comes(us(1), 0, 1_440);
    at.comes(us(2), 1, 100);
    assert_eq!(at.gets().len(), 3);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![0])]);
    at.told(us(3), TAG, swarm(Node(55), Rate(0), 3));
    at.asked(us(3), (0..3).map(|index| (index, 2)));
    assert_eq!(at.gets(), [(2, 0)]);
    at.comes(us(4), 0, 100);
    at.comes(us(5), 2, 100);
    assert_eq!(at.packets(), [(55, vec![1, 0, 2])], "sent to the assigned receiver, without waiting for more");
}

#[test]
fn lost_server_loses_outstanding_objects() {
    let mut at = At::of(6, Rate(0));
    at.asked(Time::ZERO, [(0, 2), (1, 2), (2, 3), (3, 2), (4, 3), (5, 3)]);
    at.gets();
    at.hub.gone(us(1), Node(2), &mut at.out);
    // The freed window is used.
    assert_eq!(at.gets(), [(3, 4), (3, 5)]);
    at.due(us(101));
    assert_eq!(at.packets(), [(FRONT_END.0, vec![0, 1, 3])]);
    assert_eq!(at.hub.deadline(), ms(50));
    at.due(ms(50));
    at.due(ms(50).saturating_add(us(1)));
    assert_eq!(at.bodies(), [2, 4, 5].map(|index| (FRONT_END.0, index, Body::Lost)));
    at.comes(ms(51), 4, 100);
    assert_eq!(at.packets(), [(FRONT_END.0, vec![4])]);
}

#[test]
fn drops_finished_and_abandoned_requests() {
    let forgotten = |end: fn(&mut At)| {
        let mut at = At::of(20, Rate(0));
        at.asked(Time::ZERO, (0..20).map(|index| (index, 2)));
        at.gets();
        end(&mut at);
        at.out.clear();
        assert_eq!((at.hub.open_requests(), at.hub.deadline()), (0, Time::NEVER));
        // Its window is free again.
        let next = Tag { request: 8, ..TAG };
        at.told(ms(61_000), next, swarm(FRONT_END, Rate(0), 9));
        (0..9).for_each(|index| at.told_of(ms(61_000), next, index, ask(index, 3)));
        assert_eq!(at.gets(), [(3, 0), (3, 1), (3, 2), (3, 3)]);
        // A late message, or one of a child that was faster than the front end, is forwarded for the front end to handle.
        at.comes(ms(61_000), 0, 1_440);
        assert_eq!(at.bodies(), [(FRONT_END.0, 0, Body::Object(Size(1_440)))]);
    };
    forgotten(|at| at.told(us(1), TAG, Body::Over));
    forgotten(|at| at.hub.gone(us(1), FRONT_END, &mut at.out));
    forgotten(|at| {
        at.due(ms(50));
        // No messages since the beginning.
        at.due(ms(60_000));
    });
}

#[test]
fn ignores_messages_of_earlier_incarnation() {
    let mut at = At::of(3, Rate(0));
    let earlier = Tag { epoch: 2, ..TAG };
    at.asked(Time::ZERO, [(0, 2), (1, 2)]);
    at.gets();
    at.told(us(1), earlier, Body::Over);
    at.told(us(1), earlier, swarm(Node(77), Rate(0), 1));
    at.told_of(us(1), earlier, 0, Body::Withdraw);
    assert_eq!(at.bodies(), []);
    // Nor does it answer a later incarnation's request.
    at.told_of(us(1), earlier, 0, Body::Object(Size(1_440)));
    assert_eq!(at.bodies(), [(FRONT_END.0, 0, Body::Object(Size(1_440)))]);
    assert!(at.hub.waits_for(TAG, 0) && !at.hub.waits_for(earlier, 0));
    // Objects requested for such a request are lost: it does not exist.
    at.told_of(us(1), earlier, 1, ask(1, 2));
    assert_eq!(at.bodies(), [(FRONT_END.0, 1, Body::Lost)]);
    // A later incarnation ends all earlier requests; epochs wrap around.
    let later = Tag { epoch: TAG.epoch.wrapping_add(30_000), request: 0, ..TAG };
    at.told(us(2), later, swarm(FRONT_END, Rate(0), 1));
    assert_eq!(at.hub.open_requests(), 1);
    assert!(!at.hub.waits_for(TAG, 0));
}

#[test]
fn real_hub_takes_random_tags() {
    let mut at = limited(1 << 20, Rate(1_000_000_000));
    for (epoch, nonce) in [(9, 4), (3, 4), (60_000, 4), (9, 5)] {
        let tag = Tag { request: u32::from(epoch), epoch, nonce, ..TAG };
        at.told(Time::ZERO, tag, swarm(FRONT_END, Rate(0), 1));
        at.told_of(Time::ZERO, tag, 0, ask(0, 2));
        assert!(at.hub.waits_for(tag, 0), "{tag:?}");
    }
    assert_eq!(at.hub.open_requests(), 3, "a new request takes the place of one with its number");
}

fn limits(waiting: u64, link: Rate) -> hub::Limits {
    hub::Limits { waiting: Bytes(waiting), link, requests: 100, state: Bytes(1 << 20) }
}

/// Limits of a real machine.
fn limited(waiting: u64, link: Rate) -> At {
    At::new(|params| params.limits = Some(limits(waiting, link)))
}

const OTHER: Tag = Tag { origin: Node(200), request: 1, epoch: 0, nonce: 0 };

#[test]
fn limited_hub_asks_for_requests_by_turns() {
    let mut at = limited(1 << 20, Rate(1_000_000_000));
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 100));
    at.told(Time::ZERO, OTHER, swarm(Node(200), Rate(0), 2));
    at.asked(Time::ZERO, (0..100).map(|index| (index, 2)));
    assert_eq!(at.gets().len(), 4, "the window is full");
    (0..2).for_each(|index| at.told_of(Time::ZERO, OTHER, index, ask(index, 3)));
    // One object of each request by turns; its own come first, and count for the window.
    (0..4).for_each(|index| at.comes(us(1), index, 500));
    let gets = at.gets();
    assert_eq!(gets.iter().filter(|(holder, _)| *holder == 3).count(), 2, "{gets:?}");
}

#[test]
fn limited_hub_waits_until_responses_are_sent() {
    // The front end takes nothing for now.
    let mut at = limited(1_000, Rate(1_000_000_000));
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 10));
    at.hub.stop_sending(FRONT_END);
    at.asked(Time::ZERO, (0..10).map(|index| (index, if index < 5 { 1 } else { 2 })));
    assert_eq!(at.gets(), [(1, 0), (1, 1), (1, 2), (1, 3)], "its own objects, too, as the window allows");
    (0..4).for_each(|index| at.comes(us(1), index, 500));
    assert_eq!((at.gets(), at.hub.waiting_bytes()), (vec![], 4 * (500 + HEADER as u64)), "enough waits");
    // Another front end's objects are requested, as long as anything is free.
    at.told(us(1), OTHER, swarm(Node(200), Rate(0), 1));
    at.told_of(us(1), OTHER, 0, ask(0, 3));
    assert_eq!(at.gets(), [(3, 0)]);
    at.told_of(us(2), OTHER, 0, Body::Miss);
    at.due(us(102));
    assert_eq!(at.packets(), [(200, vec![0])]);
    at.hub.send_again(us(200), FRONT_END, &mut at.out);
    assert_eq!((at.gets(), at.packets()), (vec![], vec![(FRONT_END.0, vec![0, 1])]), "two objects wait for the link");
    at.due(us(310));
    assert_eq!((at.gets().len(), at.packets()), (4, vec![(FRONT_END.0, vec![2, 3])]));
}

#[test]
fn front_end_leaves_requests_and_memory_for_others() {
    let one = 1 << 20;
    for (requests, state) in [(8, one), (1_000, 8_000)] {
        let link = Rate(1_000_000_000);
        let change = |params: &mut hub::Params| {
            params.limits = Some(hub::Limits { requests, state: Bytes(state), ..limits(one, link) });
        };
        let mut at = At::new(change);
        let open = |at: &mut At, origin: u32| {
            let before = at.hub.open_requests();
            for request in 0..1_000 {
                at.told(
                    Time::ZERO,
                    Tag { origin: Node(origin), request, epoch: 0, nonce: 0 },
                    swarm(Node(origin), Rate(0), 1),
                );
            }
            at.hub.open_requests() - before
        };
        let (first, second) = (open(&mut at, 100), open(&mut at, 200));
        assert!(first >= 4 && second >= first / 4 && second > 0, "{first} and {second}");
        assert!(at.hub.memory() < state && at.hub.open_requests() < requests as usize);
        // Objects of a request for which there was no room are lost; the front end gets them elsewhere.
        let refused = Tag { origin: Node(100), request: 999, epoch: 0, nonce: 0 };
        at.told_of(Time::ZERO, refused, 0, ask(0, 2));
        assert_eq!(at.bodies(), [(100, 0, Body::Lost)]);
        // Memory returns with the front end's end.
        at.hub.gone(Time::ZERO, Node(100), &mut at.out);
        at.hub.gone(Time::ZERO, Node(200), &mut at.out);
        assert_eq!((at.hub.memory(), at.hub.open_requests()), (0, 0));
    }
}

#[test]
fn responses_that_wait_are_memory_of_their_front_end() {
    let limit = 1 << 20;
    let mut at = limited(limit, Rate(1_000_000_000));
    let unasked = |at: &mut At, tag: Tag, body: Body<Numbered, Size>| {
        at.told(Time::ZERO, tag, swarm(tag.origin, Rate(0), 1));
        at.hub.stop_sending(tag.origin);
        (0..100_000).for_each(|index| at.told_of(Time::ZERO, tag, index, body));
        at.hub.memory_of(tag.origin)
    };
    // Objects of other hubs for which there is no room are lost; the front end gets them elsewhere.
    let first = unasked(&mut at, TAG, Body::Object(Size(1_000)));
    let lost = at.bodies().iter().filter(|(to, _, body)| (*to, *body) == (FRONT_END.0, Body::Lost)).count();
    assert!((limit / 4..limit * 3 / 5).contains(&first) && lost > 99_000, "{first} B, {lost} lost");
    // A miss takes more memory than it has bytes.
    let second = unasked(&mut at, OTHER, Body::Miss);
    assert!((limit / 8..limit * 2 / 5).contains(&second), "{second} B");
    assert!(at.hub.waiting_bytes() * 10 < second * 9 + first * 10);
    assert_eq!(at.hub.memory(), first + second);
    at.hub.gone(Time::ZERO, FRONT_END, &mut at.out);
    assert_eq!(at.hub.memory(), second);
    at.told(Time::ZERO, OTHER, Body::Over);
    assert_eq!(at.hub.memory(), 0);
}

#[test]
fn ended_requests_leave_nothing_behind() {
    let mut at = limited(1 << 20, Rate(1_000_000_000));
    at.told(Time::ZERO, OTHER, swarm(OTHER.origin, Rate(0), 100));
    // The window is full.
    (0..100).for_each(|index| at.told_of(Time::ZERO, OTHER, index, ask(index, 2)));
    let mut sizes = Vec::new();
    for request in 0..2_000 {
        let tag = Tag { request, ..TAG };
        at.told(Time::ZERO, tag, swarm(FRONT_END, Rate(0), 1));
        at.told_of(Time::ZERO, tag, 0, ask(0, 2));
        at.told(Time::ZERO, tag, Body::Over);
        sizes.push(format!("{:?}", at.hub).len());
    }
    assert!(sizes[1_999] < sizes[0] + 100, "{} B, then {}", sizes[0], sizes[1_999]);
}

#[test]
fn front_end_without_room_waits_for_it_alone() {
    let mut at = limited(4_000, Rate(1_000_000_000));
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 20));
    at.told(Time::ZERO, OTHER, swarm(OTHER.origin, Rate(0), 20));
    at.hub.stop_sending(FRONT_END);
    at.asked(Time::ZERO, (0..20).map(|index| (index, 2)));
    assert_eq!(at.gets().len(), 4);
    (0..4).for_each(|index| at.comes(us(1), index, 500));
    let more = at.gets();
    assert!(more.len() < 4, "{more:?}: nothing of it is sent");
    more.iter().for_each(|(_, index)| at.comes(us(1), *index, 500));
    assert_eq!(at.gets(), []);
    // The other one's objects come one after another.
    for index in 0..20 {
        at.told_of(us(1), OTHER, index, ask(index, 3));
        assert_eq!(at.gets(), [(3, index)]);
        at.told_of(us(1), OTHER, index, Body::Miss);
        at.due(us(200 * u64::from(index + 1)));
        assert_eq!(at.packets(), [(200, vec![index])]);
    }
    at.hub.send_again(ms(10), FRONT_END, &mut at.out);
    at.due(ms(11));
    assert_eq!(at.gets().len(), 4, "it has room again");
}

#[test]
fn front_ends_share_the_link() {
    // 10 Mbit/s: a packet of 1,000 B and its header takes about 0.9 ms alone, and twice as long beside another front end's.
    let times = |others: u32| {
        let mut at = limited(1 << 20, Rate(10_000_000));
        for origin in 0..=others {
            let tag = Tag { origin: Node(100 + origin), ..TAG };
            at.told(Time::ZERO, tag, swarm(Node(100 + origin), Rate(0), 8));
            for index in 0..8 {
                at.told_of(Time::ZERO, tag, index, ask(index, 1));
                at.told_of(Time::ZERO, tag, index, Body::Object(Size(1_000)));
            }
        }
        let mut now = Time::ZERO;
        while at.hub.waiting_bytes() > 0 {
            now = at.hub.deadline();
            at.due(now);
        }
        now.0 / MICROSECOND
    };
    // The last packet begins when seven have been sent: 1,000 B, 20 B of header and 78 B of packet at 10 Mbit/s.
    assert_eq!(times(0), 7 * (1_000 + 20 + 78) * 8 / 10);
    let shared = times(1);
    assert!((12_290..12_300).contains(&shared), "{shared} us for twice as many");
}

#[test]
fn speeds_of_a_destination_add_up() {
    let mut at = limited(1 << 20, Rate(10_000_000));
    assert_eq!(at.hub.speed_to(FRONT_END), None);
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(1_000_000), 1));
    at.told(Time::ZERO, Tag { request: 2, ..TAG }, swarm(FRONT_END, Rate(2_000_000), 1));
    at.told(Time::ZERO, OTHER, swarm(Node(200), Rate(0), 1));
    assert_eq!(at.hub.speed_to(FRONT_END), Some(Rate(3_000_000)));
    assert_eq!(at.hub.speed_to(Node(200)), Some(Rate(10_000_000)), "the link");
    let mut at = At::new(|_| {});
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(0), 1));
    assert_eq!(at.hub.speed_to(FRONT_END), None, "unlimited");
}

const MICROSECOND: u64 = 1_000_000;

#[test]
fn coarse_clock_catches_up() {
    let mut at = At::new(|params| params.behind = ms(2));
    at.told(Time::ZERO, TAG, swarm(FRONT_END, Rate(10_000_000), 8));
    at.asked(Time::ZERO, (0..8).map(|index| (index, 1)));
    at.gets();
    (0..8).for_each(|index| at.comes(Time::ZERO, index, 1_000));
    assert_eq!(at.packets().len(), 1);
    // A packet takes 0.88 ms: after 2 ms, two more are due.
    at.hub.due(ms(2), &mut at.out);
    assert_eq!(at.packets().len(), 2);
    // After a longer pause, it is behind by no more than 2 ms.
    at.hub.due(ms(20), &mut at.out);
    assert_eq!(at.packets().len(), 3);
}

#[test]
fn responses_lost_with_a_parent_are_told() {
    let mut at = At::new(|_| {});
    at.told(Time::ZERO, TAG, swarm(Node(50), Rate(0), 3));
    at.asked(Time::ZERO, [(0, 1), (1, 1), (2, 1)]);
    at.gets();
    at.comes(Time::ZERO, 0, 1_400);
    at.comes(Time::ZERO, 1, 1_400);
    assert_eq!(at.packets(), [(50, vec![0])], "the second one waits for the third");
    at.hub.parent_lost(us(10), Node(50), &mut at.out);
    let said = at.bodies();
    assert_eq!(said[0], (FRONT_END.0, 0, Body::Lost));
    at.comes(us(20), 2, 100);
    let rest: Vec<_> = said[1..].iter().copied().chain(at.bodies()).map(|(to, index, _)| (to, index)).collect();
    assert_eq!(rest, [(FRONT_END.0, 1), (FRONT_END.0, 2)]);
}
