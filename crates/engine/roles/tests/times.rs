//! Time of a message at a hub of a real machine: the same beside few requests and objects, and beside many.

mod support;

use std::time::{Duration, Instant};

use fanin_roles::hub::{Hub, Limits};
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Message, Node, Tag};
use fanin_units::{Bytes, Rate, Time};
use support::hub_params;

const FRONT_END: Node = Node(100);
const OTHER: Node = Node(200);

/// A hub of a real machine.
struct Real(Hub<Numbered, Size>);

impl Real {
    fn new() -> Real {
        let (link, state) = (Rate(1_000_000_000), Bytes(1 << 30));
        let limits = Limits { waiting: state, link, requests: 1 << 20, state };
        Real(Hub::new(fanin_roles::hub::Params { limits: Some(limits), ..hub_params(1) }))
    }

    fn hears(&mut self, origin: Node, request: u32, index: u32, body: Body<Numbered, Size>) {
        let tag = Tag { origin, request, epoch: 0, nonce: 0 };
        self.0.handle(Time::ZERO, Message { tag, index, body }, &mut Vec::new());
    }

    fn gathers(&mut self, origin: Node, request: u32) {
        self.hears(origin, request, 0, Body::Swarm(Swarm { parent: origin, rate: Rate(0), own: 1, all: 1 << 20 }));
    }

    fn wants(&mut self, origin: Node, request: u32, index: u32) {
        self.hears(origin, request, index, Body::Ask { key: Numbered(0), holder: Node(2) });
    }
}

/// Shortest of five times.
#[expect(clippy::disallowed_methods, reason = "it measures costs")]
fn took(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..5).map(time).min().unwrap_or_default()
}

/// Compares the times of this work beside few others and beside 200 times as many.
fn costs_the_same(what: &str, mut work: impl FnMut(u32) -> Duration) {
    let (few, many) = (work(20), work(4_000));
    // In linear time it would be 200 times.
    assert!(many < 60 * few, "{what}: {few:?}, and {many:?} beside many others");
}

#[test]
fn requests_cost_the_same_beside_many() {
    costs_the_same("requests", |others| {
        let mut real = Real::new();
        for request in 0..others {
            // They wait for a server, and their front end does not read.
            real.gathers(OTHER, request);
            real.wants(OTHER, request, 0);
            real.hears(OTHER, request, 9, Body::Miss);
        }
        real.0.stop_sending(OTHER);
        took(|| {
            for request in 0..2_000 {
                real.gathers(FRONT_END, request);
                real.wants(FRONT_END, request, 0);
                real.hears(FRONT_END, request, 9, Body::Miss);
                real.hears(FRONT_END, request, 0, Body::Over);
            }
        })
    });
}

#[test]
fn objects_cost_the_same_beside_many() {
    // In descending order, as no front end requests them.
    costs_the_same("objects", |others| {
        let mut real = Real::new();
        let mut next = 1 << 20;
        let mut ask = |real: &mut Real, count: u32| {
            (0..count).for_each(|object| real.wants(FRONT_END, 1, next - object));
            next -= count;
        };
        real.gathers(FRONT_END, 1);
        ask(&mut real, others * 10);
        took(|| ask(&mut real, 200))
    });
    costs_the_same("withdrawals", |others| {
        let mut real = Real::new();
        real.0.stop_sending(FRONT_END);
        real.gathers(FRONT_END, 1);
        (0..others * 10).for_each(|index| real.hears(FRONT_END, 1, index, Body::Miss));
        let mut next = others * 5;
        took(|| {
            for index in next..next + 50 {
                real.wants(FRONT_END, 1, index);
                real.hears(FRONT_END, 1, index, Body::Withdraw);
            }
            next += 50;
        })
    });
}
