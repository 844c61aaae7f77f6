//! Direct requests: concurrency limits, replicas, moved objects.

use fanin_fanout::Kind;
use fanin_fanout::sliding_window::{self, Grows};
use fanin_roles::front_end::{FrontEnd, Params, RequestMethod};
use fanin_roles::{Body, Node, Output};
use fanin_units::{Bytes, Rate, Time};

use super::{At, DONE, answer, fail, miss};
use crate::support::{Action, Cluster, FULL, asks_hubs, asks_servers, ms};

fn servers(kind: Kind, holders: &[&[u32]]) -> At {
    At::new(asks_servers(kind), Cluster::of(10, holders))
}

#[test]
fn one_all_sends_one_request_per_server() {
    let mut at = servers(Kind::OneAll, &[&[3], &[2], &[3], &[4]]);
    at.asks(Time::ZERO, Time::NEVER);
    let more = |said: &Action| matches!(said, Output::Send { more: true, .. });
    assert_eq!(at.out.iter().map(more).collect::<Vec<_>>(), [true, false, false, false], "a server, a packet");
    assert_eq!(at.asked(), [(3, 0), (3, 2), (2, 1), (4, 3)]);
}

#[test]
fn empty_request_completes_immediately() {
    let mut at = servers(Kind::OneAll, &[]);
    at.asks(Time::ZERO, ms(1));
    assert_eq!((at.said(), at.front_end.deadline(), at.front_end.requests()), (vec![DONE], Time::NEVER, 0));
    let mut at = At::new(asks_hubs(FULL, 2), Cluster::of(10, &[]));
    at.asks(Time::ZERO, ms(1));
    assert_eq!((at.said(), at.front_end.deadline()), (vec![DONE], Time::NEVER));
}

#[test]
fn object_without_servers_fails_immediately() {
    let mut at = servers(Kind::OneAll, &[&[], &[2]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.said(), [fail(0)]);
    at.comes(ms(1), 2, 1);
    assert_eq!(at.said(), [answer(1, 2), DONE]);
}

/// A limit of one server.
fn one_at_a_time(holders: &[&[u32]]) -> At {
    At::new(Params { method: one_server(), ..asks_servers(Kind::OneAll) }, Cluster::of(10, holders))
}

#[test]
fn window_limits_outstanding_servers() {
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
fn lost_and_refusing_servers_free_window() {
    let mut at = one_at_a_time(&[&[2], &[3], &[4], &[5]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0)]);
    // It is requested elsewhere at once: from the same server, outside the limit.
    at.loses(ms(1), 3);
    assert_eq!(at.asked(), [(3, 1)]);
    at.comes(ms(2), 3, 1);
    at.comes(ms(2), 2, 0);
    assert_eq!(at.asked(), [(4, 2)]);
    // Refused three times, it has failed, and the next one is requested.
    (0..3).for_each(|_| at.hears(ms(3), 4, 0, 2, Body::Lost));
    assert_eq!(at.asked(), [(4, 2), (4, 2), (5, 3)]);
    at.comes(ms(4), 5, 3);
    assert_eq!(at.said(), [answer(1, 0), answer(0, 2), fail(2), answer(3, 5), DONE]);
}

#[test]
fn failed_request_frees_window() {
    let mut at = one_at_a_time(&[&[2]]);
    at.front_end = FrontEnd::new(Params { method: one_server(), timeout: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, ms(10));
    at.asks(Time::ZERO, ms(20));
    assert_eq!(at.asked().len(), 1);
    at.due(ms(10));
    assert_eq!(at.asked(), [(2, 0)]);
    assert_eq!(at.said(), [fail(0), DONE]);
    at.hears(ms(11), 2, 1, 0, Body::Miss);
    assert_eq!(at.said(), [miss(1, 0, 2), Output::Done { request: 1 }]);
}

#[test]
fn limit_of_bytes_counts_mean_responses_of_all_requests() {
    let mut at = servers(Kind::OneAll, &[&[2], &[3], &[4], &[5]]);
    let twice = Some(Bytes(2 * fanin_fanout::mean::ASSUMED));
    at.front_end = FrontEnd::new(Params { most_bytes: twice, timeout: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, Time::NEVER);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (3, 1)], "two responses of the assumed size");
    // Responses are small, as the first one shows: all other servers fit.
    at.comes(ms(1), 2, 0);
    assert_eq!(at.asked(), [(4, 2), (5, 3), (2, 0), (3, 1), (4, 2), (5, 3)]);
    // One server is asked, however large its response is.
    at.front_end = FrontEnd::new(Params { most_bytes: Some(Bytes(1)), timeout: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0)]);
}

#[test]
fn per_request_window_starts_fresh() {
    let asks = |anew| {
        let mut at = one_at_a_time(&[&[2], &[3], &[4]]);
        let method = RequestMethod::Servers(
            Kind::SlidingWindow.window(&growing(), Rate(1_000_000_000)).expect("it asks servers"),
        );
        at.front_end = FrontEnd::new(Params { method, anew, timeout: None, ..asks_servers(Kind::OneAll) });
        at.asks(Time::ZERO, Time::NEVER);
        [(1, 2), (2, 3), (3, 4)].into_iter().for_each(|(at_ms, from)| at.comes(ms(at_ms), from, from - 2));
        assert!(at.said().contains(&DONE));
        [4, 5].map(|when| {
            at.asks(ms(when), Time::NEVER);
            at.asked().len()
        })
    };
    // A shared limit has grown to three servers, which the next request fills; or one server for each.
    assert_eq!([false, true].map(asks), [[3, 0], [1, 1]]);
}

/// One server at first, and one more per window of responses.
fn growing() -> fanin_fanout::Settings {
    let mut settings = fanin_fanout::Settings::default();
    settings.sliding_window = sliding_window::Params { initial: 1, grows: Grows::Window, ..settings.sliding_window };
    settings
}

fn one_server() -> RequestMethod {
    let mut settings = fanin_fanout::Settings::default();
    (settings.sliding_window.initial, settings.sliding_window.step) = (1, 0);
    RequestMethod::Servers(Kind::SlidingWindow.window(&settings, Rate(1_000_000_000)).expect("it asks servers"))
}

#[test]
fn drops_late_and_duplicate_responses() {
    let mut at = servers(Kind::OneAll, &[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.hears(ms(1), 2, 0, 0, Body::Miss);
    at.comes(ms(2), 2, 0);
    at.hears(ms(2), 2, 0, 0, Body::Lost);
    at.comes(ms(3), 9, 7);
    at.hears(ms(3), 9, 5, 0, Body::Miss);
    assert_eq!(at.said(), [miss(0, 0, 2)]);
    at.comes(ms(4), 3, 1);
    at.comes(ms(4), 3, 1);
    assert_eq!(at.said(), [answer(1, 3), DONE]);
    assert_eq!((at.front_end.requests(), at.front_end.deadline()), (0, Time::NEVER), "it holds nothing");
}

#[test]
fn drops_responses_to_earlier_incarnation() {
    let mut at = servers(Kind::OneAll, &[&[2]]);
    at.front_end = FrontEnd::new(Params { epoch: 4, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 2, 0);
    assert_eq!(at.said(), []);
}

#[test]
fn ignores_objects_not_yet_requested() {
    let mut at = one_at_a_time(&[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.comes(ms(1), 3, 1);
    at.hears(ms(1), 3, 0, 1, Body::Lost);
    assert_eq!(at.said(), []);
    at.comes(ms(2), 2, 0);
    assert_eq!(at.asked(), [(3, 1)]);
}

#[test]
fn lost_server_is_replaced_by_replica() {
    let mut at = servers(Kind::OneAll, &[&[2, 3, 4], &[2, 5], &[3, 2, 4]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1), (3, 2)]);
    at.loses(ms(1), 2);
    assert_eq!(at.asked(), [(3, 0), (5, 1)]);
    // Of the outstanding ones, 3 has been silent long enough at 100 ms and 101 ms; 2 is known to be lost.
    assert_eq!(at.front_end.deadline(), ms(100));
    at.due(ms(100));
    assert_eq!(at.asked(), [(4, 2)]);
    at.due(ms(101));
    assert_eq!(at.asked(), [(4, 0), (2, 1)], "who has the second object is gone, all of them: each in turn");
    // Another request knows the lost machines, for a while.
    at.asks(ms(102), Time::NEVER);
    assert_eq!(at.asked().iter().map(|(to, _)| *to).collect::<Vec<_>>(), [4, 4, 2]);
    // The slow machine's response is valid; others' are late.
    [(3, 0), (5, 1), (3, 2), (4, 0), (4, 2)].iter().for_each(|&(from, index)| at.comes(ms(103), from, index));
    assert_eq!(at.said(), [answer(0, 0), answer(1, 0), answer(2, 0), DONE]);
}

#[test]
fn object_without_replicas_fails() {
    let mut at = servers(Kind::OneAll, &[&[2, 3]]);
    at.asks(Time::ZERO, Time::NEVER);
    at.loses(ms(1), 2);
    at.loses(ms(2), 3);
    at.loses(ms(3), 2);
    assert_eq!(at.said(), [fail(0), DONE]);
}

#[test]
fn deadline_fails_remaining_objects_once() {
    let mut at = servers(Kind::OneAll, &[&[2], &[3], &[4]]);
    at.front_end = FrontEnd::new(Params { timeout: None, ..asks_servers(Kind::OneAll) });
    at.asks(Time::ZERO, ms(50));
    at.comes(ms(1), 3, 1);
    assert_eq!(at.front_end.deadline(), ms(50));
    at.due(ms(50));
    at.comes(ms(51), 2, 0);
    at.due(ms(60));
    assert_eq!(at.said(), [answer(1, 3), fail(0), fail(2), DONE]);
    assert_eq!(at.front_end.requests(), 0);
}

#[test]
fn accepts_forwarded_responses() {
    let mut at = servers(Kind::OneAll, &[&[2, 3], &[2, 3]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1)]);
    // Machine 7 was not asked: 2 has forwarded the request, and neither is silent.
    at.comes(ms(60), 7, 0);
    assert_eq!(at.said(), [answer(0, 2)]);
    at.due(ms(100));
    assert_eq!((at.asked(), at.front_end.deadline()), (vec![], ms(160)));
    at.hears(ms(150), 7, 0, 1, Body::Miss);
    assert_eq!(at.said(), [miss(0, 1, 2), DONE]);
}

#[test]
fn refused_forward_falls_back_to_replica() {
    let mut at = servers(Kind::OneAll, &[&[2, 3], &[2, 4]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 1)]);
    at.hears(ms(10), 7, 0, 0, Body::Lost);
    assert_eq!(at.asked(), [(3, 0)]);
    // It repeats that for an outdated request.
    at.comes(ms(20), 3, 0);
    at.hears(ms(20), 7, 0, 0, Body::Lost);
    assert_eq!(at.asked(), []);
    at.due(ms(110));
    assert_eq!(at.asked(), [(4, 1)]);
    at.comes(ms(111), 4, 1);
    assert_eq!(at.said(), [answer(0, 0), answer(1, 0), DONE]);
}

#[test]
fn forwarded_last_object_frees_window() {
    let mut at = one_at_a_time(&[&[2], &[3]]);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0)]);
    at.comes(ms(1), 7, 0);
    assert_eq!(at.asked(), [(3, 1)]);
}

/// Objects with two replicas each; the second replicas of three were moved to machine 9.
fn moved(together: bool) -> At {
    let cluster = Cluster::of(10, &[&[2, 3], &[4, 5], &[6, 7], &[8, 9], &[2, 9]]);
    let homes =
        [&[][..], &[4, 9], &[6, 9], &[8, 9], &[]].map(|homes: &[u32]| homes.iter().copied().map(Node).collect());
    At::new(Params { together, ..asks_servers(Kind::OneAll) }, Cluster { homes: homes.to_vec(), ..cluster })
}

#[test]
fn moved_objects_prefer_contacted_servers() {
    // The first replica of each is drawn: machine 0's draws are all zero.
    let mut at = moved(false);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 4), (4, 1), (6, 2), (8, 3)]);
    // The request does not contact machine 9, so the first replica of each moved object is drawn.
    let mut at = moved(true);
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (2, 4), (4, 1), (6, 2), (8, 3)]);
    // The last object is on machine 9, so the three come from there; requests go to their old servers, except to itself.
    let mut at = moved(true);
    at.cluster.holders[4] = vec![Node(9)];
    at.asks(Time::ZERO, Time::NEVER);
    assert_eq!(at.asked(), [(2, 0), (5, 1), (7, 2), (9, 3), (9, 4)]);
}
