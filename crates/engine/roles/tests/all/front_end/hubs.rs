//! Requests through hubs: trees, speeds, backups, and redirection.

use fanin_fanout::sicc;
use fanin_roles::front_end::{Params, RequestMethod};
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::{Rate, Time};

use super::{At, DONE, Sent, answer, fail};
use crate::support::{Cluster, FULL, MS, asks_hubs, ms};

fn ask(index: u32, holder: u32) -> Body<Numbered, Size> {
    Body::Ask { key: Numbered(index.into()), holder: Node(holder) }
}

/// Racks of ten: hubs 11 and 21 with a backup each, if the first replicas are requested.
const TWO_RACKS: &[&[u32]] = &[&[11, 22], &[11, 22], &[12, 21], &[21], &[21, 11], &[22, 12]];

#[test]
fn hubs_fetch_their_racks_at_equal_speeds() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    let swarm = Body::Swarm(Swarm { parent: Node(0), rate: Rate(500_000_000), own: 3, all: 3 });
    let expected = [
        (11, 0, swarm),
        (11, 0, ask(0, 11)),
        (11, 1, ask(1, 11)),
        (11, 2, ask(2, 12)),
        (21, 0, swarm),
        (21, 3, ask(3, 21)),
        (21, 4, ask(4, 21)),
        (21, 5, ask(5, 22)),
    ];
    assert_eq!(at.sent(), expected);
    assert_eq!(at.front_end.assigned(0, Node(21)), Some(Rate(500_000_000)));
}

#[test]
fn open_requests_share_planned_rate() {
    let mut at = At::new(asks_hubs(FULL, 4), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    at.asks(ms(1), Time::NEVER);
    let quarter = Rate(250_000_000);
    let speeds = at.sent().into_iter().filter_map(|(to, _, body)| match body {
        Body::Speed(rate) | Body::Swarm(Swarm { rate, .. }) => Some((to, rate)),
        _ => None,
    });
    assert_eq!(speeds.collect::<Vec<_>>(), [11, 21, 11, 21].map(|hub| (hub, quarter)));
}

#[test]
fn backup_takes_over_from_lost_hub() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    at.comes(ms(1), 21, 3);
    at.loses(ms(2), 21);
    // 22 takes over its own object; 21's objects are requested from another replica, through that one's hub.
    let sent = at.sent();
    let speed = Body::Swarm(Swarm { parent: Node(0), rate: Rate(500_000_000), own: 1, all: 1 });
    assert_eq!(sent, [(22, 0, speed), (22, 5, ask(5, 22)), (11, 4, ask(4, 11))]);
    assert_eq!(at.front_end.assigned(0, Node(21)), Some(Rate(500_000_000)), "what it was assigned is known");
    // Objects sent before arrive late, and count.
    at.comes(ms(3), 21, 4);
    [0, 1, 2].iter().for_each(|&index| at.comes(ms(3), 11, index));
    at.comes(ms(4), 22, 5);
    let over = at.sent();
    assert_eq!(over, [11, 22].map(|hub| (hub, 0, Body::Over)));
    assert_eq!(
        at.said(),
        [answer(3, 21), answer(4, 0), answer(0, 11), answer(1, 11), answer(2, 12), answer(5, 0), DONE]
    );
}

#[test]
fn backup_does_not_replace_hubs_own_objects() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &[&[11, 22], &[12]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 11, 1);
    at.sent();
    at.loses(ms(2), 11);
    // The rack of its only other replica has no hub: the server itself is asked.
    assert_eq!(at.sent(), [(22, 0, Body::Get(Numbered(0)))]);
}

#[test]
fn last_object_may_fail_with_its_hub() {
    let params = Params { tries: 1, ..asks_hubs(FULL, 2) };
    let mut at = At::new(params, Cluster::of(10, &[&[11], &[12]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 11, 1);
    at.loses(ms(2), 11);
    assert_eq!(at.said(), [answer(1, 12), fail(0), DONE]);
}

/// Three racks under two routers, and one root: a tree.
fn tree() -> (At, u32, [u32; 2]) {
    let holders: &[&[u32]] = &[&[11], &[12], &[13], &[21], &[22], &[31]];
    let mut at = At::new(asks_hubs(FULL, 1), Cluster::of(10, holders));
    at.asks(Time::ZERO, Time::NEVER);
    let parents = at.sent().into_iter().filter_map(|(to, _, body)| match body {
        Body::Swarm(Swarm { parent, .. }) => Some((to, parent.0)),
        _ => None,
    });
    let parents: Vec<(u32, u32)> = parents.collect();
    let root = parents.iter().find(|(_, parent)| *parent == 0).expect("there is one").0;
    let below: Vec<u32> = parents.iter().filter(|(_, parent)| *parent == root).map(|(hub, _)| *hub).collect();
    (at, root, [below[0], below[1]])
}

#[test]
fn children_of_lost_hub_become_roots() {
    let (mut at, root, below) = tree();
    assert_eq!((root, below), (21, [11, 31]));
    at.comes(ms(1), root, 0);
    at.loses(ms(2), root);
    let third = Rate(1_000_000_000 / 3);
    let swarm = |own| Body::Swarm(Swarm { parent: Node(0), rate: third, own, all: own });
    let expected = [
        (11, 0, swarm(2)),
        (11, 1, ask(1, 12)),
        (11, 2, ask(2, 13)),
        (31, 0, swarm(1)),
        (31, 5, ask(5, 31)),
        (22, 0, swarm(1)),
        (22, 4, ask(4, 22)),
        // The hub's own object has no other replica.
        (22, 3, ask(3, 21)),
    ];
    assert_eq!(at.sent(), expected);
}

#[test]
fn silent_tree_blames_hub_with_missing_objects() {
    let (mut at, root, _) = tree();
    [0, 1, 2, 3, 4].iter().for_each(|&index| at.comes(ms(50), root, index));
    assert_eq!(at.sent(), []);
    at.due(ms(99));
    assert_eq!(at.sent().iter().filter(|(_, _, body)| !matches!(body, Body::Speed(_))).count(), 0);
    // Only the hub of the third rack has a missing object, behind the root: it has no backup, and there is no other replica.
    at.due(ms(150));
    let sent: Vec<Sent> = at.sent().into_iter().filter(|(_, _, body)| !matches!(body, Body::Speed(_))).collect();
    assert_eq!(sent, [(31, 0, Body::Over), (31, 5, Body::Get(Numbered(5)))]);
}

#[test]
fn dismisses_slow_hub_and_ignores_its_losses() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &[&[11, 21], &[12, 21], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(60), 21, 2);
    at.sent();
    at.due(ms(100));
    let unpaced = |body: &Body<_, _>| !matches!(body, Body::Speed(_) | Body::Withdraw);
    let sent: Vec<Sent> = at.sent().into_iter().filter(|(_, _, body)| unpaced(body)).collect();
    assert_eq!(sent[0], (11, 0, Body::Over));
    assert_eq!(sent[2..], [(12, 1, ask(1, 12)), (21, 0, ask(0, 21))]);
    // It is not asked any more.
    at.hears(ms(101), 11, 0, 0, Body::Lost);
    at.hears(ms(101), 11, 0, 1, Body::Lost);
    assert_eq!(at.sent(), []);
    at.hears(ms(102), 12, 0, 1, Body::Lost);
    assert_eq!(at.asked(), [(21, 1)]);
}

#[test]
fn idle_hub_is_not_silent() {
    let mut at = At::new(asks_hubs(sicc::Params::default().full(), 2), Cluster::of(10, &[&[11, 21], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 21, 1);
    at.sent();
    at.hears(ms(300), 11, 0, 0, Body::Lost);
    assert_eq!(at.asked(), [(21, 0)]);
    at.front_end.due(ms(301), None, &at.cluster, &mut at.out);
    assert_eq!(at.asked(), [], "it was asked a millisecond ago");
}

/// Front ends with hubs, and no other part of SICC.
trait Full {
    fn full(&self) -> sicc::Parts;
}

impl Full for sicc::Params {
    fn full(&self) -> sicc::Parts {
        sicc::Parts { redirect: false, speed: false, ..FULL }
    }
}

/// Ten objects on 11 that 21 has too, and one on 21; in a period, 21 delivers nearly all of its own and 11 one.
fn redirected() -> (At, Vec<u32>) {
    let mut holders: Vec<&[u32]> = vec![&[11, 21]; 40];
    holders.extend([&[21u32] as &[u32]; 8]);
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    (40..47).for_each(|index| at.comes(ms(5), 21, index));
    at.comes(ms(5), 11, 0);
    at.due(ms(10));
    let moving = |(to, index, body): Sent| (to == 11 && body == Body::Withdraw).then_some(index);
    let moving: Vec<u32> = at.sent().into_iter().filter_map(moving).collect();
    assert!(moving.len() > 3, "{moving:?}");
    (at, moving)
}

#[test]
fn requests_returned_objects_through_other_hub() {
    let (mut at, moving) = redirected();
    at.hears(ms(11), 11, 0, moving[0], Body::Withdrawn);
    assert_eq!(at.asked(), [(21, moving[0])]);
    // It had been sent: no message, and it arrives.
    at.comes(ms(11), 11, moving[1]);
    assert_eq!(at.asked(), []);
    // A second return, such as a duplicate message, causes no further request.
    at.hears(ms(12), 11, 0, moving[0], Body::Withdrawn);
    at.hears(ms(12), 11, 0, moving[1], Body::Withdrawn);
    assert_eq!(at.asked(), []);
}

#[test]
fn finished_hub_takes_objects_first() {
    let mut holders: Vec<&[u32]> = vec![&[11, 21]; 20];
    holders.extend([&[21u32] as &[u32]; 8]);
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // 21 finishes in the first period, 11 delivers two objects of twenty.
    (20..28).for_each(|index| at.comes(ms(4), 21, index));
    (0..2).for_each(|index| at.comes(ms(9), 11, index));
    at.due(ms(10));
    let withdrawn = |sent: Vec<Sent>| sent.into_iter().filter(|(_, _, body)| *body == Body::Withdraw).count();
    // Eighteen are left: at 2 objects per 10 ms, and at the other's 8 per 4 ms, nearly all end sooner there.
    let moving = withdrawn(at.sent());
    assert!((9..18).contains(&moving), "{moving}");
    // A period later 21 has received nothing, and is as early as before.
    let (mut at, moving) = redirected();
    moving.iter().for_each(|&index| at.hears(ms(11), 11, 0, index, Body::Withdrawn));
    at.sent();
    (0..48).filter(|index| moving.contains(index) || *index == 47).for_each(|index| at.comes(ms(12), 21, index));
    at.due(ms(20));
    assert!(withdrawn(at.sent()) > 0, "what 11 has left goes to 21, which is ready again");
    // No ping-pong: each of two replicas is requested once.
    let (mut at, moving) = redirected();
    moving.iter().for_each(|&index| at.hears(ms(11), 11, 0, index, Body::Withdrawn));
    (0..40).filter(|index| !moving.contains(index)).for_each(|index| at.comes(ms(12), 11, index));
    at.sent();
    at.due(ms(20));
    assert_eq!(withdrawn(at.sent()), 0);
}

#[test]
fn packet_noise_changes_no_speed() {
    // Without packing an object is a packet of 120 + 78 bytes: at half of 1 Gbit/s 3,156 per period, of which 61 % is objects.
    let holders: Vec<&[u32]> = [[&[11u32] as &[u32], &[21]]; 3_200].concat();
    let mut at = At::new(asks_hubs(sicc::Parts { packing: false, ..FULL }, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // One hub is two packets ahead.
    (0..2 * 3_155).for_each(|index| at.comes(ms(5), [11, 21][index as usize % 2], index));
    (0..2).for_each(|nth| at.comes(ms(5), 11, 2 * (3_155 + nth)));
    at.due(ms(10));
    assert_eq!(at.sent(), []);
    assert_eq!(at.front_end.assigned(0, Node(21)), Some(Rate(500_000_000)));
}

#[test]
fn spare_speed_goes_to_hub_with_backlog() {
    let mut holders: Vec<&[u32]> = vec![&[11]; 6_000];
    holders.extend([&[21u32] as &[u32]; 3_000]);
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // Both are at full speed; 21 owes two objects, a packet of them, and 11 thousands.
    (6_000..8_998).for_each(|index| at.comes(ms(9), 21, index));
    (0..4_900).for_each(|index| at.comes(ms(9), 11, index));
    at.due(ms(10));
    let of = |hub| at.front_end.assigned(0, Node(hub)).map_or(0, |rate| rate.0);
    assert!(of(21) < 350_000_000 && of(11) > 650_000_000, "{} {}", of(21), of(11));
}

/// Two hubs with other settings; returns the first one's share at the start of the request.
fn begins(parts: sicc::Parts, change: impl Fn(&mut sicc::Params), since: Time) -> Option<Rate> {
    let mut params = asks_hubs(parts, 2);
    if let RequestMethod::Swarms { settings, .. } = &mut params.method {
        change(settings);
    }
    let mut at = At::new(params, Cluster::of(10, &[&[11], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    (0..2).for_each(|index| at.comes(ms(2), [11, 21][index as usize], index));
    at.sent();
    at.asks(since, Time::NEVER);
    at.sent().into_iter().find_map(|(_, _, body)| if let Body::Swarm(swarm) = body { Some(swarm.rate) } else { None })
}

#[test]
fn starts_at_line_rate_or_spare_rate() {
    let half = Some(Rate(500_000_000));
    let spare = |settings: &mut sicc::Params| settings.start = sicc::Start::Spare;
    assert_eq!(begins(FULL, |_| {}, ms(3)), half);
    // Two objects of 120 bytes and their shares of a packet's 78, 252 bytes in 10 ms.
    assert_eq!(begins(FULL, spare, ms(3)), Some(Rate((1_000_000_000 - 252 * 800) / 2)));
    assert_eq!(begins(FULL, spare, ms(12)), half, "a period later nothing came");
}

#[test]
fn uncontrolled_hubs_are_unpaced_or_equal() {
    let alone = sicc::Parts { speed: false, ..FULL };
    let assigned = |settings: &mut sicc::Params| settings.uncontrolled = sicc::Uncontrolled::Assigned;
    assert_eq!(begins(alone, |_| {}, ms(3)), Some(Rate(0)));
    assert_eq!(begins(alone, assigned, ms(3)), Some(Rate(500_000_000)));
}

#[test]
fn redirected_objects_survive_lost_hubs() {
    let (mut at, moving) = redirected();
    at.loses(ms(11), 21);
    at.sent();
    at.hears(ms(12), 11, 0, moving[0], Body::Withdrawn);
    assert_eq!(at.asked(), [(11, moving[0])], "there is no other");
    let (mut at, moving) = redirected();
    at.loses(ms(11), 11);
    let asked = at.asked();
    assert!(moving.iter().all(|&index| asked.contains(&(21, index))), "{asked:?}");
    // Nothing waits for 11's confirmation.
    (0..48).for_each(|index| at.comes(ms(12), 21, index));
    assert_eq!((at.front_end.requests(), at.said().last()), (0, Some(&DONE)));
}

#[test]
fn period_end_is_due_with_open_requests() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    (1..=5).for_each(|period| {
        assert_eq!(at.front_end.deadline(), Time(period * 10 * MS));
        assert!(at.front_end.measures(Time(period * 10 * MS)));
        at.due(Time(period * 10 * MS));
    });
}

/// A front end whose hubs are agents.
fn asks_agents(bound: u32) -> Params {
    Params { agents: true, ..asks_hubs(FULL, bound) }
}

#[test]
fn lost_agent_leaves_its_server() {
    let mut at = At::new(asks_agents(2), Cluster::of(10, &[&[11], &[12]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    at.loses(ms(1), 11);
    // The backup collects its own object, and that of the server whose agent is lost.
    assert_eq!(at.sent()[1..], [(12, 1, ask(1, 12)), (12, 0, ask(0, 11))]);
}

#[test]
fn agents_are_silent_wherever_they_are() {
    // 21 is below 11; both have sent all of their own objects but 21's last one, which waits at 11.
    let mut at = At::new(asks_agents(1), Cluster::of(10, &[&[11], &[11], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    [0, 1].iter().for_each(|&index| at.comes(ms(1), 11, index));
    at.front_end.hears(ms(90), Node(21));
    at.due(ms(101));
    let sent = at.sent();
    assert!(sent.contains(&(11, 0, Body::Over)), "{sent:?}");
    assert!(sent.contains(&(21, 2, ask(2, 21))), "21 sends to the front end now: {sent:?}");
    // A heartbeat is enough.
    at.front_end.hears(ms(150), Node(21));
    at.due(ms(201));
    assert_eq!(at.sent(), []);
}

#[test]
fn last_attempt_does_without_agents() {
    let mut at = At::new(Params { tries: 1, ..asks_agents(2) }, Cluster::of(10, &[&[11]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    at.hears(ms(1), 11, 0, 0, Body::Lost);
    assert_eq!(at.sent(), [(11, 0, Body::Get(Numbered(0)))]);
    // Its agent does not matter any more, nor does its silence.
    at.loses(ms(2), 11);
    at.due(ms(500));
    assert_eq!(at.said(), []);
    at.hears(ms(501), 11, 0, 0, Body::Lost);
    assert_eq!(at.said(), [fail(0), DONE]);
}

#[test]
fn agents_answer_for_objects_that_they_were_asked_for_alone() {
    let mut at = At::new(asks_agents(2), Cluster::of(10, &[&[11], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // The hub of the other rack, and an agent that was asked for nothing.
    for from in [21, 31] {
        for body in [Body::Object(Size(1)), Body::Miss, Body::Lost, Body::Withdrawn] {
            at.hears(ms(1), from, 0, 0, body);
            assert_eq!(at.out, [], "{body:?} from {from}");
        }
    }
    at.comes(ms(2), 11, 0);
    assert_eq!(at.said().len(), 1);
}

#[test]
fn tags_of_real_requests_are_random() {
    let mut at = At::new(asks_agents(2), Cluster::of(10, &[&[11]]));
    let mut drawn = 0x9e37_79b9_u32;
    let mut draw = |below: u32| {
        drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (drawn >> 8) % below
    };
    let mut tags: Vec<Tag> = Vec::new();
    for _ in 0..100 {
        at.front_end.ask(Time::ZERO, [Numbered(0)], Time::NEVER, &at.cluster, &mut draw, &mut at.out);
        let Some(Output::Send { message: Message { tag, .. }, .. }) = at.out.last() else { panic!("{:?}", at.out) };
        tags.push(*tag);
    }
    // Each of the 64 bits has both values.
    let bits = |tag: &Tag| u64::from(tag.request) << 32 | u64::from(tag.epoch) << 16 | u64::from(tag.nonce);
    assert_eq!(tags.iter().map(bits).fold(0, |sum, bits| sum | bits), u64::MAX);
    assert_eq!(tags.iter().map(bits).fold(u64::MAX, |sum, bits| sum & bits), 0);
    // A response with a tag of which a part is wrong is ignored.
    at.said();
    let tag = tags[7];
    for wrong in [
        Tag { request: tag.request ^ 1, ..tag },
        Tag { epoch: tag.epoch ^ 1, ..tag },
        Tag { nonce: tag.nonce ^ 1, ..tag },
        tag,
    ] {
        let message = Message { tag: wrong, index: 0, body: Body::Object(Size(1)) };
        at.front_end.handle(Time::ZERO, Node(11), message, &at.cluster, &mut at.out);
        assert_eq!(at.out.is_empty(), wrong != tag, "{wrong:?}");
    }
}

#[test]
fn agents_learn_the_hubs_below_them() {
    let mut at = At::new(asks_agents(1), Cluster::of(10, &[&[11], &[11], &[21], &[31]]));
    at.asks(Time::ZERO, Time::NEVER);
    let sent = at.sent();
    let of_root: Vec<_> = sent.iter().filter(|(to, ..)| *to == 31).map(|(.., body)| *body).collect();
    assert!(matches!(of_root[..3], [Body::Child(Node(11)), Body::Child(Node(21)), Body::Swarm(_)]), "{of_root:?}");
    assert_eq!(sent.iter().filter(|(.., body)| matches!(body, Body::Child(_))).count(), 2);
}
