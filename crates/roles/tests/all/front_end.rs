//! A front end, told of one thing after another.

use crate::support::{Cluster, FULL, MS, Out, Said, asks_hubs, asks_servers, ms};
use fanin_fanout::{Kind, sicc};
use fanin_roles::front_end::{Asking, FrontEnd, Measured, Params};
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::{Bytes, Rate, Time};

/// The front end at machine 0, and what it said since it was last asked.
struct At {
    front_end: FrontEnd<Numbered>,
    cluster: Cluster,
    out: Out,
}

/// What it sends, without what is the same in all.
type Sent = (u32, u32, Body<Numbered, Size>);

impl At {
    fn new(params: Params, cluster: Cluster) -> At {
        At { front_end: FrontEnd::new(params), cluster, out: Out::new() }
    }

    /// Asks for all objects of the cluster, the first replica of each.
    fn asks(&mut self, now: Time, deadline: Time) -> u32 {
        let keys = (0..self.cluster.holders.len() as u64).map(Numbered);
        self.front_end.ask(now, keys, deadline, &self.cluster, &mut |_| 0, &mut self.out)
    }

    fn hears(&mut self, now: Time, from: u32, request: u32, index: u32, body: Body<Numbered, Size>) {
        let message = Message { tag: Tag { origin: Node(0), request, epoch: 0 }, index, body };
        self.front_end.handle(now, Node(from), message, &self.cluster, &mut self.out);
        assert!(self.front_end.adds_up());
    }

    fn comes(&mut self, now: Time, from: u32, index: u32) {
        self.hears(now, from, 0, index, Body::Object(Size(100)));
    }

    fn loses(&mut self, now: Time, peer: u32) {
        self.front_end.lost(now, Node(peer), &self.cluster, &mut self.out);
        assert!(self.front_end.adds_up());
    }

    fn due(&mut self, now: Time) {
        self.front_end.due(now, Some(Measured::Queue(Bytes(0), Bytes(1))), &self.cluster, &mut self.out);
        assert!(self.front_end.deadline() > now && self.front_end.adds_up());
    }

    /// What it sent.
    fn sent(&mut self) -> Vec<Sent> {
        let sent = |said: &Said| match said {
            Output::Send { to, message, .. } => Some((to.0, message.index, message.body)),
            _ => None,
        };
        let all = self.out.iter().filter_map(sent).collect();
        self.out.retain(|said| sent(said).is_none());
        all
    }

    /// Whom it asked for what: itself, or through a hub the holder.
    fn asked(&mut self) -> Vec<(u32, u32)> {
        let whom = |(to, index, body): Sent| match body {
            Body::Get(_) | Body::Ask { .. } => Some((to, index)),
            _ => None,
        };
        self.sent().into_iter().filter_map(whom).collect()
    }

    /// What else it said.
    fn said(&mut self) -> Out {
        self.sent();
        std::mem::take(&mut self.out)
    }
}

fn servers(kind: Kind, holders: &[&[u32]]) -> At {
    At::new(asks_servers(kind), Cluster::of(10, holders))
}

fn ask(index: u32, holder: u32) -> Body<Numbered, Size> {
    Body::Ask { key: Numbered(index.into()), holder: Node(holder) }
}

const fn answer(index: u32) -> Said {
    Output::Answer { request: 0, index, value: Size(100) }
}

const fn fail(index: u32) -> Said {
    Output::Fail { request: 0, index }
}

const DONE: Said = Output::Done { request: 0 };

#[test]
fn one_all_asks_all_at_once_each_server_for_all_that_it_has() {
    let mut at = servers(Kind::OneAll, &[&[3], &[2], &[3], &[4]]);
    at.asks(Time::ZERO, Time::NEVER);
    let more = |said: &Said| matches!(said, Output::Send { more: true, .. });
    assert_eq!(at.out.iter().map(more).collect::<Vec<_>>(), [true, false, false, false], "a server, a packet");
    assert_eq!(at.asked(), [(3, 0), (3, 2), (2, 1), (4, 3)]);
}

#[test]
fn a_request_with_no_object_is_done_at_once() {
    let mut at = servers(Kind::OneAll, &[]);
    at.asks(Time::ZERO, ms(1));
    assert_eq!((at.said(), at.front_end.deadline(), at.front_end.requests()), (vec![DONE], Time::NEVER, 0));
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &[]));
    at.asks(Time::ZERO, ms(1));
    assert_eq!((at.said(), at.front_end.deadline()), (vec![DONE], Time::NEVER));
}

#[test]
fn an_object_that_is_nowhere_fails_at_once() {
    let mut at = servers(Kind::OneAll, &[&[], &[2]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.said(), [fail(0)]);
    at.comes(ms(1), 2, 1);
    assert_eq!(at.said(), [answer(1), DONE]);
}

/// A window of one server.
fn one_at_a_time(holders: &[&[u32]]) -> At {
    At::new(Params { asking: one_server(), ..asks_servers(Kind::OneAll) }, Cluster::of(10, holders))
}

#[test]
fn a_window_asks_no_more_servers_than_it_allows() {
    let mut at = one_at_a_time(&[&[2], &[3], &[2], &[4]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 2)]);
    at.comes(ms(1), 2, 2);
    assert_eq!(at.asked(), [], "it owes one more");
    at.hears(ms(1), 2, 0, 0, Body::Miss);
    assert_eq!(at.asked(), [(3, 1)]);
    at.comes(ms(2), 3, 1);
    assert_eq!(at.asked(), [(4, 3)]);
}

#[test]
fn servers_that_are_gone_before_their_turn_or_refuse_take_no_place_of_the_window() {
    let mut at = one_at_a_time(&[&[2], &[3], &[4], &[5]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0)]);
    // It is asked elsewhere at once: there is no other, so itself, beyond the window.
    at.loses(ms(1), 3);
    assert_eq!(at.asked(), [(3, 1)]);
    at.comes(ms(2), 3, 1);
    at.comes(ms(2), 2, 0);
    assert_eq!(at.asked(), [(4, 2)]);
    // Refused three times, it has failed, and the next has its turn.
    (0..3).for_each(|_| at.hears(ms(3), 4, 0, 2, Body::Lost));
    assert_eq!(at.asked(), [(4, 2), (4, 2), (5, 3)]);
    at.comes(ms(4), 5, 3);
    assert_eq!(at.said(), [answer(1), answer(0), fail(2), answer(3), DONE]);
}

#[test]
fn as_a_request_fails_the_next_one_has_its_place_in_the_window() {
    let mut at = one_at_a_time(&[&[2]]);
    at.front_end = FrontEnd::new(Params { asking: one_server(), patience: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, ms(10));
    at.asks(Time::ZERO, ms(20));
    assert_eq!(at.asked().len(), 1);
    at.due(ms(10));
    assert_eq!(at.asked(), [(2, 0)]);
    assert_eq!(at.said(), [fail(0), DONE]);
    at.hears(ms(11), 2, 1, 0, Body::Miss);
    assert_eq!(at.said(), [Output::Miss { request: 1, index: 0 }, Output::Done { request: 1 }]);
}

#[test]
fn a_window_that_begins_anew_is_each_requests_own_and_as_it_was_at_first() {
    let asks = |anew| {
        let mut at = one_at_a_time(&[&[2], &[3], &[4]]);
        let asking =
            Asking::Servers(Kind::SlidingWindow.window(&growing(), Rate(1_000_000_000)).expect("it asks servers"));
        at.front_end = FrontEnd::new(Params { asking, anew, patience: None, ..asks_servers(Kind::OneAll) });
        at.asks(Time::ZERO, Time::NEVER);
        [(1, 2), (2, 3), (3, 4)].into_iter().for_each(|(at_ms, from)| at.comes(ms(at_ms), from, from - 2));
        assert!(at.said().contains(&DONE));
        [4, 5].map(|when| {
            at.asks(ms(when), Time::NEVER);
            at.asked().len()
        })
    };
    // One of three servers by now, which the next request fills; or one of one server for each.
    assert_eq!([false, true].map(asks), [[3, 0], [1, 1]]);
}

/// One server at first, and one more a window of answers.
fn growing() -> fanin_fanout::Settings {
    let mut settings = fanin_fanout::Settings::default();
    (settings.sliding_window.initial, settings.sliding_window.step) = (1, 1);
    settings
}

fn one_server() -> Asking {
    let mut settings = fanin_fanout::Settings::default();
    (settings.sliding_window.initial, settings.sliding_window.step) = (1, 0);
    Asking::Servers(Kind::SlidingWindow.window(&settings, Rate(1_000_000_000)).expect("it asks servers"))
}

#[test]
fn a_miss_is_an_answer_and_what_comes_late_twice_or_unasked_is_dropped() {
    let mut at = servers(Kind::OneAll, &[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.hears(ms(1), 2, 0, 0, Body::Miss);
    at.comes(ms(2), 2, 0);
    at.hears(ms(2), 2, 0, 0, Body::Lost);
    at.comes(ms(3), 9, 7);
    at.hears(ms(3), 9, 5, 0, Body::Miss);
    assert_eq!(at.said(), [Output::Miss { request: 0, index: 0 }]);
    at.comes(ms(4), 3, 1);
    at.comes(ms(4), 3, 1);
    assert_eq!(at.said(), [answer(1), DONE]);
    assert_eq!((at.front_end.requests(), at.front_end.deadline()), (0, Time::NEVER), "it holds nothing");
}

#[test]
fn answers_to_an_earlier_life_are_dropped() {
    let mut at = servers(Kind::OneAll, &[&[2]]);
    at.front_end = FrontEnd::new(Params { epoch: 4, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 2, 0);
    assert_eq!(at.said(), []);
}

#[test]
fn what_was_not_asked_for_yet_cannot_come() {
    let mut at = one_at_a_time(&[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 3, 1);
    at.hears(ms(1), 3, 0, 1, Body::Lost);
    assert_eq!(at.said(), []);
    at.comes(ms(2), 2, 0);
    assert_eq!(at.asked(), [(3, 1)]);
}

#[test]
fn a_data_server_that_is_gone_or_silent_is_replaced_by_a_replica_and_not_chosen_while_it_is_gone() {
    let mut at = servers(Kind::OneAll, &[&[2, 3, 4], &[2, 5], &[3, 2, 4]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1), (3, 2)]);
    at.loses(ms(1), 2);
    assert_eq!(at.asked(), [(3, 0), (5, 1)]);
    // Of those asked for by now, 3 has been silent for as long at 100 ms and 101 ms; 2 is known to be gone.
    assert_eq!(at.front_end.deadline(), ms(100));
    at.due(ms(100));
    assert_eq!(at.asked(), [(4, 2)]);
    at.due(ms(101));
    assert_eq!(at.asked(), [(4, 0), (2, 1)], "who has the second object is gone, all of them: each in turn");
    // Another request knows who is gone, for a while.
    at.asks(ms(102), Time::NEVER);
    assert_eq!(at.asked().iter().map(|(to, _)| *to).collect::<Vec<_>>(), [4, 4, 2]);
    // What came of the one that was slow is as good; what others had been asked for comes late.
    [(3, 0), (5, 1), (3, 2), (4, 0), (4, 2)].iter().for_each(|&(from, index)| at.comes(ms(103), from, index));
    assert_eq!(at.said(), [answer(0), answer(1), answer(2), DONE]);
}

#[test]
fn where_all_replicas_are_gone_an_object_fails_clearly() {
    let mut at = servers(Kind::OneAll, &[&[2, 3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.loses(ms(1), 2);
    at.loses(ms(2), 3);
    at.loses(ms(3), 2);
    assert_eq!(at.said(), [fail(0), DONE]);
}

#[test]
fn a_deadline_fails_what_is_left_once() {
    let mut at = servers(Kind::OneAll, &[&[2], &[3], &[4]]);
    at.front_end = FrontEnd::new(Params { patience: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, ms(50));
    at.comes(ms(1), 3, 1);
    assert_eq!(at.front_end.deadline(), ms(50));
    at.due(ms(50));
    at.comes(ms(51), 2, 0);
    at.due(ms(60));
    assert_eq!(at.said(), [answer(1), fail(0), fail(2), DONE]);
    assert_eq!(at.front_end.requests(), 0);
}

/// Racks of ten: hubs 11 and 21 with a backup each, where all is asked for of the first replica.
const TWO_RACKS: &[&[u32]] = &[&[11, 22], &[11, 22], &[12, 21], &[21], &[21, 11], &[22, 12]];

#[test]
fn hubs_are_asked_for_what_their_racks_have_at_equal_speeds() {
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
fn requests_in_flight_share_what_the_front_end_plans_to_receive() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
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
fn a_hub_that_is_gone_has_its_backup_take_over_what_is_not_delivered() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    at.comes(ms(1), 21, 3);
    at.loses(ms(2), 21);
    // 22 takes over its own object; what 21 itself had is asked for at another replica, through that one's hub.
    let sent = at.sent();
    let speed = Body::Swarm(Swarm { parent: Node(0), rate: Rate(500_000_000), own: 1, all: 1 });
    assert_eq!(sent, [(22, 0, speed), (22, 5, ask(5, 22)), (11, 4, ask(4, 11))]);
    assert_eq!(at.front_end.assigned(0, Node(21)), Some(Rate(500_000_000)), "what it was assigned is known");
    // What it had sent on before comes late, and is as good.
    at.comes(ms(3), 21, 4);
    [0, 1, 2].iter().for_each(|&index| at.comes(ms(3), 11, index));
    at.comes(ms(4), 22, 5);
    let over = at.sent();
    assert_eq!(over, [11, 22].map(|hub| (hub, 0, Body::Over)));
    assert_eq!(at.said(), [3, 4, 0, 1, 2, 5].map(answer).into_iter().chain([DONE]).collect::<Vec<_>>());
}

#[test]
fn a_backup_is_not_made_a_hub_for_what_the_one_that_is_gone_had_itself() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &[&[11, 22], &[12]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 11, 1);
    at.sent();
    at.loses(ms(2), 11);
    // Its only other replica's rack has no hub: the server itself is asked.
    assert_eq!(at.sent(), [(22, 0, Body::Get(Numbered(0)))]);
}

#[test]
fn the_last_object_may_fail_as_its_hub_goes() {
    let params = Params { tries: 1, ..asks_hubs(FULL, 2) };
    let mut at = At::new(params, Cluster::of(10, &[&[11], &[12]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 11, 1);
    at.loses(ms(2), 11);
    assert_eq!(at.said(), [answer(1), fail(0), DONE]);
}

/// Three racks under two routers, and one hub that may send to the front end: a tree.
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
fn children_of_a_hub_that_is_gone_send_to_the_front_end_which_asks_them_anew_for_what_it_has_not() {
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
        // Of what the hub had itself there is no other replica.
        (22, 3, ask(3, 21)),
    ];
    assert_eq!(at.sent(), expected);
}

#[test]
fn of_a_silent_tree_the_hub_is_to_blame_that_owes_objects_of_its_own() {
    let (mut at, root, _) = tree();
    [0, 1, 2, 3, 4].iter().for_each(|&index| at.comes(ms(50), root, index));
    assert_eq!(at.sent(), []);
    at.due(ms(99));
    assert_eq!(at.sent().iter().filter(|(_, _, body)| !matches!(body, Body::Speed(_))).count(), 0);
    // Only the hub of the third rack owes one, by way of the root: it has no backup, and there is no other replica.
    at.due(ms(150));
    let sent: Vec<Sent> = at.sent().into_iter().filter(|(_, _, body)| !matches!(body, Body::Speed(_))).collect();
    assert_eq!(sent, [(31, 0, Body::Over), (31, 5, Body::Get(Numbered(5)))]);
}

#[test]
fn a_hub_that_is_only_slow_is_told_that_it_is_over_and_what_it_lost_is_no_news() {
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
fn who_owed_nothing_was_not_silent() {
    let mut at = At::new(asks_hubs(sicc::Params::default().full(), 2), Cluster::of(10, &[&[11, 21], &[21]]));
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 21, 1);
    at.sent();
    at.hears(ms(300), 11, 0, 0, Body::Lost);
    assert_eq!(at.asked(), [(21, 0)]);
    at.front_end.due(ms(301), None, &at.cluster, &mut at.out);
    assert_eq!(at.asked(), [], "it was asked a millisecond ago");
}

/// Front ends that ask hubs, and nothing else of SICC's.
trait Full {
    fn full(&self) -> sicc::Parts;
}

impl Full for sicc::Params {
    fn full(&self) -> sicc::Parts {
        sicc::Parts { redirect: false, speed: false, ..FULL }
    }
}

/// Ten objects at 11 that 21 has too, and one at 21; in a period, 21 delivers nearly all of its own and 11 one.
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
fn what_a_slow_hub_gives_back_is_asked_for_through_another_and_what_it_has_sent_is_not() {
    let (mut at, moving) = redirected();
    at.hears(ms(11), 11, 0, moving[0], Body::Withdrawn);
    assert_eq!(at.asked(), [(21, moving[0])]);
    // It had been sent: nothing is said, and it comes.
    at.comes(ms(11), 11, moving[1]);
    assert_eq!(at.asked(), []);
    // Given back a second time, as where a message is doubled, it is not asked for again.
    at.hears(ms(12), 11, 0, moving[0], Body::Withdrawn);
    at.hears(ms(12), 11, 0, moving[1], Body::Withdrawn);
    assert_eq!(at.asked(), []);
}

#[test]
fn a_hub_that_has_delivered_all_is_the_first_to_be_given_another_ones_objects() {
    let mut holders: Vec<&[u32]> = vec![&[11, 21]; 20];
    holders.extend([&[21u32] as &[u32]; 8]);
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // 21 is ready in the first period, 11 delivers two objects of twenty.
    (20..28).for_each(|index| at.comes(ms(4), 21, index));
    (0..2).for_each(|index| at.comes(ms(9), 11, index));
    at.due(ms(10));
    let withdrawn = |sent: Vec<Sent>| sent.into_iter().filter(|(_, _, body)| *body == Body::Withdraw).count();
    // Eighteen are left: at 2 objects in 10 ms, and at the 8 in 4 ms of the other, nearly all are there sooner.
    let moving = withdrawn(at.sent());
    assert!((9..18).contains(&moving), "{moving}");
    // A period later 21 was given nothing yet, and is as early as it was.
    let (mut at, moving) = redirected();
    moving.iter().for_each(|&index| at.hears(ms(11), 11, 0, index, Body::Withdrawn));
    at.sent();
    (0..48).filter(|index| moving.contains(index) || *index == 47).for_each(|index| at.comes(ms(12), 21, index));
    at.due(ms(20));
    assert!(withdrawn(at.sent()) > 0, "what 11 has left goes to 21, which is ready again");
    // Nothing goes to and fro: of two replicas, each was asked once.
    let (mut at, moving) = redirected();
    moving.iter().for_each(|&index| at.hears(ms(11), 11, 0, index, Body::Withdrawn));
    (0..40).filter(|index| !moving.contains(index)).for_each(|index| at.comes(ms(12), 11, index));
    at.sent();
    at.due(ms(20));
    assert_eq!(withdrawn(at.sent()), 0);
}

#[test]
fn a_packet_more_or_less_in_a_period_takes_nothing_from_a_hub_nor_do_its_packets_own_bytes() {
    // Without packing an object is a packet of 120 + 78 bytes: at half of 1 Gbit/s 3,156 in a period, of whose bytes objects are 61 %.
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
fn what_a_hub_that_has_little_left_does_not_need_goes_to_one_with_a_backlog() {
    let mut holders: Vec<&[u32]> = vec![&[11]; 6_000];
    holders.extend([&[21u32] as &[u32]; 3_000]);
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &holders));
    at.asks(Time::ZERO, Time::NEVER);
    at.sent();
    // Both are as fast as they may; 21 owes two objects, a packet of them, and 11 thousands.
    (6_000..8_998).for_each(|index| at.comes(ms(9), 21, index));
    (0..4_900).for_each(|index| at.comes(ms(9), 11, index));
    at.due(ms(10));
    let of = |hub| at.front_end.assigned(0, Node(hub)).map_or(0, |rate| rate.0);
    assert!(of(21) < 350_000_000 && of(11) > 650_000_000, "{} {}", of(21), of(11));
}

/// Two hubs with other settings; the first one's share as the request begins.
fn begins(parts: sicc::Parts, change: impl Fn(&mut sicc::Params), since: Time) -> Option<Rate> {
    let mut params = asks_hubs(parts, 2);
    if let Asking::Swarms { settings, .. } = &mut params.asking {
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
fn a_front_end_begins_with_its_line_or_with_what_the_last_period_left_of_it() {
    let half = Some(Rate(500_000_000));
    let spare = |settings: &mut sicc::Params| settings.start = sicc::Start::Spare;
    assert_eq!(begins(FULL, |_| {}, ms(3)), half);
    // Two objects of 120 bytes and their parts of a packet's 78, 252 bytes in 10 ms.
    assert_eq!(begins(FULL, spare, ms(3)), Some(Rate((1_000_000_000 - 252 * 800) / 2)));
    assert_eq!(begins(FULL, spare, ms(12)), half, "a period later nothing came");
}

#[test]
fn hubs_whose_speeds_nobody_controls_send_as_they_like_or_at_equal_parts() {
    let alone = sicc::Parts { speed: false, ..FULL };
    let assigned = |settings: &mut sicc::Params| settings.uncontrolled = sicc::Uncontrolled::Assigned;
    assert_eq!(begins(alone, |_| {}, ms(3)), Some(Rate(0)));
    assert_eq!(begins(alone, assigned, ms(3)), Some(Rate(500_000_000)));
}

#[test]
fn what_is_on_its_way_from_hub_to_hub_is_asked_for_elsewhere_whichever_of_them_goes() {
    let (mut at, moving) = redirected();
    at.loses(ms(11), 21);
    at.sent();
    at.hears(ms(12), 11, 0, moving[0], Body::Withdrawn);
    assert_eq!(at.asked(), [(11, moving[0])], "there is no other");
    let (mut at, moving) = redirected();
    at.loses(ms(11), 11);
    let asked = at.asked();
    assert!(moving.iter().all(|&index| asked.contains(&(21, index))), "{asked:?}");
    // Nothing waits for 11's word.
    (0..48).for_each(|index| at.comes(ms(12), 21, index));
    assert_eq!((at.front_end.requests(), at.said().last()), (0, Some(&DONE)));
}

#[test]
fn the_end_of_a_period_is_due_while_anything_is_asked_for() {
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, TWO_RACKS));
    at.asks(Time::ZERO, Time::NEVER);
    (1..=5).for_each(|period| {
        assert_eq!(at.front_end.deadline(), Time(period * 10 * MS));
        assert!(at.front_end.measures(Time(period * 10 * MS)));
        at.due(Time(period * 10 * MS));
    });
}

#[test]
fn an_answer_of_the_new_place_of_an_object_is_that_of_who_was_asked() {
    let mut at = servers(Kind::OneAll, &[&[2, 3], &[2, 3]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1)]);
    // Machine 7 was never asked: 2 has passed the question on, and is no more silent than 7 is.
    at.comes(ms(60), 7, 0);
    assert_eq!(at.said(), [answer(0)]);
    at.due(ms(100));
    assert_eq!((at.asked(), at.front_end.deadline()), (vec![], ms(160)));
    at.hears(ms(150), 7, 0, 1, Body::Miss);
    assert_eq!(at.said(), [Output::Miss { request: 0, index: 1 }, DONE]);
}

#[test]
fn an_object_whose_new_place_refuses_or_is_silent_is_asked_for_at_a_replica() {
    let mut at = servers(Kind::OneAll, &[&[2, 3], &[2, 4]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1)]);
    at.hears(ms(10), 7, 0, 0, Body::Lost);
    assert_eq!(at.asked(), [(3, 0)]);
    // It says so once more, of a question that is not asked any more.
    at.comes(ms(20), 3, 0);
    at.hears(ms(20), 7, 0, 0, Body::Lost);
    assert_eq!(at.asked(), []);
    at.due(ms(110));
    assert_eq!(at.asked(), [(4, 1)]);
    at.comes(ms(111), 4, 1);
    assert_eq!(at.said(), [answer(0), answer(1), DONE]);
}

#[test]
fn a_window_has_its_next_server_as_the_last_object_comes_from_where_it_was_moved() {
    let mut at = one_at_a_time(&[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0)]);
    at.comes(ms(1), 7, 0);
    assert_eq!(at.asked(), [(3, 1)]);
}

/// Objects of two replicas each; the second of three of them were moved to machine 9.
fn moved(together: bool) -> At {
    let cluster = Cluster::of(10, &[&[2, 3], &[4, 5], &[6, 7], &[8, 9], &[2, 9]]);
    let homes =
        [&[][..], &[4, 9], &[6, 9], &[8, 9], &[]].map(|homes: &[u32]| homes.iter().copied().map(Node).collect());
    At::new(Params { together, ..asks_servers(Kind::OneAll) }, Cluster { homes: homes.to_vec(), ..cluster })
}

#[test]
fn of_what_was_moved_a_replica_that_answers_together_with_others_is_asked_for() {
    // The first replica each where it is drawn: machine 0's draws are all zero.
    let mut at = moved(false);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 4), (4, 1), (6, 2), (8, 3)]);
    // Nobody asks machine 9 for anything, so that the first of those that were moved is drawn: they lie together, but not there.
    let mut at = moved(true);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 4), (4, 1), (6, 2), (8, 3)]);
    // As the last object is at machine 9, the three come from there: their old places are asked, but who is there himself.
    let mut at = moved(true);
    at.cluster.holders[4] = vec![Node(9)];
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (5, 1), (7, 2), (9, 3), (9, 4)]);
}
