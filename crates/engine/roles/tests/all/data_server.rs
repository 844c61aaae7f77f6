//! Data server, step by step.

use crate::support::{Action, Out, ms};
use fanin_roles::data_server::{DataServer, HOPS, Lookup, Order, Params};
use fanin_roles::wire::{Numbered, Size};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::Time;

const TAG: Tag = Tag { origin: Node(5), request: 7, epoch: 0, nonce: 0 };

/// A server on machine 1 with this limit.
fn server(most: u32, order: Order) -> DataServer<Numbered, Size> {
    DataServer::new(Params { me: Node(1), most, order })
}

fn lookup(asker: u32, index: u32) -> Lookup<Numbered> {
    Lookup { asker: Node(asker), tag: TAG, index, key: Numbered(9), hops: HOPS }
}

fn says(to: u32, index: u32, body: Body<Numbered, Size>) -> Action {
    Output::Send { to: Node(to), message: Message { tag: TAG, index, body }, more: false }
}

#[test]
fn answers_misses_and_refuses_overload() {
    let (mut server, mut out) = (server(2, Order::AtOnce), Out::new());
    (0..3).for_each(|index| server.handle_request(lookup(5, index), &mut out));
    assert_eq!(out, [Output::Look(lookup(5, 0)), Output::Look(lookup(5, 1)), says(5, 2, Body::Lost)]);
    out.clear();
    server.found(ms(1), &lookup(5, 0), Some(Size(3)), &mut out);
    server.found(ms(1), &lookup(5, 1), None, &mut out);
    assert_eq!(out, [says(5, 0, Body::Object(Size(3))), says(5, 1, Body::Miss)]);
    out.clear();
    server.handle_request(lookup(5, 4), &mut out);
    assert_eq!(out, [Output::Look(lookup(5, 4))], "there is room again");
}

#[test]
fn queues_requests_of_own_machine() {
    for order in [Order::AtOnce, Order::Queued { sub_queue: 10, exponent: 3 }] {
        let (mut server, mut out) = (server(1, order), Out::new());
        (0..2).for_each(|index| server.handle_request(lookup(1, index), &mut out));
        assert_eq!(out, [Output::Look(lookup(1, 0))]);
        out.clear();
        server.found(ms(1), &lookup(1, 0), Some(Size(3)), &mut out);
        assert_eq!(out, [Output::Look(lookup(1, 1)), says(1, 0, Body::Object(Size(3)))], "the next one's turn");
        out.clear();
        server.handle_request(lookup(5, 2), &mut out);
        assert_eq!(out, [says(5, 2, Body::Lost)]);
        out.clear();
        server.sent(ms(2), &mut out);
        server.found(ms(2), &lookup(1, 1), None, &mut out);
        server.handle_request(lookup(5, 2), &mut out);
        assert_eq!(out, [says(1, 1, Body::Miss), Output::Look(lookup(5, 2))], "nobody waits any more");
        assert!(!server.is_idle());
    }
}

/// Order in which objects of these sizes are sent, all found while another is being sent.
fn sent(order: Order, sizes: &[u32]) -> Vec<u32> {
    let (mut server, mut out) = (server(100, order), Out::new());
    let indices = 0..sizes.len() as u32;
    indices.clone().for_each(|index| server.handle_request(lookup(5, index), &mut out));
    server.handle_request(lookup(5, 99), &mut out);
    assert_eq!(out.len(), sizes.len() + 1, "it looks for all at once");
    out.clear();
    server.found(ms(1), &lookup(5, 99), Some(Size(1)), &mut out);
    sizes
        .iter()
        .zip(indices)
        .for_each(|(&size, index)| server.found(ms(1), &lookup(5, index), Some(Size(size)), &mut out));
    assert_eq!(out, [says(5, 99, Body::Object(Size(1)))], "it sends one at a time");
    let mut sent = Vec::new();
    for now in 2.. {
        out.clear();
        server.sent(ms(now), &mut out);
        match out[..] {
            [Output::Send { message: Message { index, .. }, .. }] => sent.push(index),
            [] => break,
            _ => panic!("{out:?}"),
        }
    }
    assert!(server.is_idle());
    sent
}

#[test]
fn sends_in_fifo_or_priority_order() {
    let sizes = [400, 2, 2, 200];
    assert_eq!(sent(Order::Queued { sub_queue: 1, exponent: 3 }, &sizes), [0, 1, 2, 3]);
    assert_eq!(sent(Order::Queued { sub_queue: 10, exponent: 3 }, &sizes), [1, 2, 3, 0]);
    assert_eq!(sent(Order::Queued { sub_queue: 2, exponent: 3 }, &sizes), [1, 0, 2, 3]);
}

#[test]
fn forwards_requests_for_moved_objects() {
    for order in [Order::AtOnce, Order::Queued { sub_queue: 10, exponent: 3 }] {
        let (mut server, mut out) = (server(2, order), Out::new());
        server.link(Numbered(9), Node(4));
        server.handle_request(lookup(5, 0), &mut out);
        assert_eq!(out, [Output::Look(lookup(5, 0))], "a link is looked for, too");
        out.clear();
        server.found(ms(1), &lookup(5, 0), Some(Size(3)), &mut out);
        let pass = Body::Pass { key: Numbered(9), asker: Node(5), hops: HOPS - 1 };
        assert_eq!(out, [says(4, 0, pass)]);
        assert!(server.is_idle(), "it waits for nothing");
    }
}

#[test]
fn responds_to_requester_of_forwarded_request() {
    let (mut server, mut out) = (server(1, Order::AtOnce), Out::new());
    let passed = |index| Lookup { hops: 3, ..lookup(5, index) };
    (0..2).for_each(|index| server.handle_request(passed(index), &mut out));
    server.found(ms(1), &passed(0), Some(Size(3)), &mut out);
    assert_eq!(out, [Output::Look(passed(0)), says(5, 1, Body::Lost), says(5, 0, Body::Object(Size(3)))]);
}

#[test]
fn cycle_of_links_ends() {
    // Two machines, each with a link to the other.
    let mut servers = [2, 1].map(|other| {
        let mut server = server(10, Order::AtOnce);
        server.link(Numbered(9), Node(other));
        server
    });
    let (mut out, mut at, mut passed, mut next) = (Out::new(), 0, 0, lookup(5, 0));
    loop {
        servers[at].handle_request(next, &mut out);
        servers[at].found(Time::ZERO, &next, Some(Size(3)), &mut out);
        match out.pop() {
            Some(Output::Send { message: Message { body: Body::Pass { asker, hops, key }, .. }, .. }) => {
                (at, passed, next) = (1 - at, passed + 1, Lookup { asker, hops, key, ..next });
            }
            said => {
                assert_eq!(said, Some(says(5, 0, Body::Lost)));
                break;
            }
        }
    }
    assert_eq!(passed, HOPS);
}

#[test]
fn links_are_sent_before_objects() {
    let order = Order::Queued { sub_queue: 10, exponent: 3 };
    let (mut server, mut out) = (server(10, order), Out::new());
    server.link(Numbered(8), Node(4));
    let moved = Lookup { key: Numbered(8), ..lookup(5, 1) };
    [lookup(5, 99), lookup(5, 0), moved].into_iter().for_each(|lookup| server.handle_request(lookup, &mut out));
    [lookup(5, 99), lookup(5, 0), moved]
        .iter()
        .for_each(|lookup| server.found(ms(1), lookup, Some(Size(1_000)), &mut out));
    out.clear();
    server.sent(ms(2), &mut out);
    let pass = Body::Pass { key: Numbered(8), asker: Node(5), hops: HOPS - 1 };
    assert_eq!(out, [says(4, 1, pass)]);
}
