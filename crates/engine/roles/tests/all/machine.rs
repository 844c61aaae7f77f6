//! Messages from machines that are not entitled to send them, at a hub of a real machine.

use crate::support::{Cluster, Out, hub_params};
use fanin_roles::data_server::{self, HOPS, Lookup, Order};
use fanin_roles::hub::Limits;
use fanin_roles::machine::Params;
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Machine, Message, Node, Output, Tag};
use fanin_units::{Bytes, Rate, Time};

const ME: Node = Node(1);
const CHILD: Node = Node(9);
const FRONT_END: Node = Node(100);
const STRANGER: Node = Node(101);
const TAG: Tag = Tag { origin: FRONT_END, request: 7, epoch: 3, nonce: 0 };

/// A hub that has requested object 0 from its own rack, and waits for object 1 through a child.
fn hub() -> (Machine<Numbered, Size>, Cluster) {
    let limits = Limits { waiting: Bytes(1 << 20), link: Rate(1_000_000_000), requests: 100, state: Bytes(1 << 20) };
    let hub = fanin_roles::hub::Params { packs: false, limits: Some(limits), ..hub_params(ME.0) };
    let server = data_server::Params { me: ME, most: 20, order: Order::AtOnce };
    let (mut machine, cluster) = (Machine::new(Params { server, hub, front_end: None }), Cluster::of(10, &[]));
    let swarm = Swarm { parent: FRONT_END, rate: Rate(0), own: 1, all: 2 };
    for body in [Body::Child(CHILD), Body::Swarm(swarm), Body::Ask { key: Numbered(0), holder: Node(2) }] {
        machine.handle(Time::ZERO, FRONT_END, Message { tag: TAG, index: 0, body }, &cluster, &mut Out::new());
    }
    (machine, cluster)
}

/// Output of the hub after a message.
fn sent(machine: &mut Machine<Numbered, Size>, cluster: &Cluster, from: Node, message: Message<Numbered, Size>) -> Out {
    let mut out = Out::new();
    machine.handle_all(Time::ZERO, from, std::iter::once(message), cluster, &mut out);
    out
}

fn object(tag: Tag, index: u32) -> Message<Numbered, Size> {
    Message { tag, index, body: Body::Object(Size(100)) }
}

fn to_front_end(message: Message<Numbered, Size>) -> Output<Numbered, Size> {
    Output::Send { to: FRONT_END, message, more: false }
}

#[test]
fn objects_of_its_rack_come_from_itself() {
    let (mut machine, cluster) = hub();
    for from in [CHILD, STRANGER, FRONT_END] {
        assert_eq!(sent(&mut machine, &cluster, from, object(TAG, 0)), [], "{from:?}");
    }
    assert_eq!(sent(&mut machine, &cluster, ME, object(TAG, 0)), [to_front_end(object(TAG, 0))]);
}

#[test]
fn objects_of_other_racks_come_through_other_hubs() {
    let (mut machine, cluster) = hub();
    for from in [STRANGER, FRONT_END] {
        for body in [Body::Object(Size(100)), Body::Miss, Body::Lost] {
            assert_eq!(
                sent(&mut machine, &cluster, from, Message { body, ..object(TAG, 1) }),
                [],
                "{body:?} of {from:?}"
            );
        }
    }
    assert_eq!(sent(&mut machine, &cluster, CHILD, object(TAG, 1)), [to_front_end(object(TAG, 1))]);
}

#[test]
fn objects_that_come_before_the_hub_is_made_are_lost() {
    let (mut machine, cluster) = hub();
    let tag = Tag { request: 9, ..TAG };
    let child = Message { tag, index: 0, body: Body::Child(CHILD) };
    assert_eq!(sent(&mut machine, &cluster, STRANGER, child), []);
    assert_eq!(sent(&mut machine, &cluster, FRONT_END, child), []);
    // Its other children are not known yet.
    let lost = Message { tag, index: 3, body: Body::Lost };
    assert_eq!(sent(&mut machine, &cluster, CHILD, object(tag, 3)), [to_front_end(lost)]);
    let swarm = Swarm { parent: FRONT_END, rate: Rate(0), own: 0, all: 1 };
    assert_eq!(sent(&mut machine, &cluster, FRONT_END, Message { tag, index: 0, body: Body::Swarm(swarm) }), []);
    assert_eq!(sent(&mut machine, &cluster, CHILD, object(tag, 3)), [to_front_end(object(tag, 3))]);
}

#[test]
fn strangers_do_not_change_the_estimated_size() {
    let (mut machine, cluster) = hub();
    let huge = Message { body: Body::Object(Size(1 << 20)), ..object(TAG, 1) };
    (0..50).for_each(|_| drop(sent(&mut machine, &cluster, CHILD, huge)));
    let ask = |index| Message { tag: TAG, index, body: Body::Ask { key: Numbered(0), holder: Node(2) } };
    let gets: Vec<_> = (2..6).flat_map(|index| sent(&mut machine, &cluster, FRONT_END, ask(index))).collect();
    assert_eq!(gets.len(), 3, "the window holds four objects of 500 B");
}

#[test]
fn objects_of_unknown_requests_are_not_passed_on() {
    let (mut machine, cluster) = hub();
    let tag = Tag { request: 8, ..TAG };
    let lost = Message { tag, index: 0, body: Body::Lost };
    assert_eq!(sent(&mut machine, &cluster, CHILD, object(tag, 0)), [to_front_end(lost)]);
}

#[test]
fn instructions_come_from_the_front_end_of_the_request() {
    let (mut machine, cluster) = hub();
    let elsewhere = Swarm { parent: STRANGER, rate: Rate(0), own: 1, all: 2 };
    let ask = Body::Ask { key: Numbered(5), holder: Node(2) };
    for body in [Body::Swarm(elsewhere), ask, Body::Speed(Rate(1)), Body::Withdraw, Body::Over] {
        let out = sent(&mut machine, &cluster, STRANGER, Message { tag: TAG, index: 0, body });
        assert_eq!(out, [], "{body:?}");
    }
    assert_eq!(sent(&mut machine, &cluster, ME, object(TAG, 0)), [to_front_end(object(TAG, 0))]);
}

#[test]
fn agents_look_up_for_the_front_end_of_the_request_only() {
    let (mut machine, cluster) = hub();
    let key = Numbered(3);
    for body in [Body::Get(key), Body::Pass { key, asker: FRONT_END, hops: 1 }] {
        for from in [STRANGER, CHILD] {
            assert_eq!(sent(&mut machine, &cluster, from, Message { tag: TAG, index: 1, body }), [], "{body:?}");
        }
    }
    let passed = Body::Pass { key, asker: STRANGER, hops: 1 };
    assert_eq!(sent(&mut machine, &cluster, FRONT_END, Message { tag: TAG, index: 1, body: passed }), []);
    let get = Message { tag: TAG, index: 1, body: Body::Get(key) };
    let lookup = Lookup { asker: FRONT_END, tag: TAG, index: 1, key, hops: HOPS };
    assert_eq!(sent(&mut machine, &cluster, FRONT_END, get), [Output::Look(lookup)]);
}
