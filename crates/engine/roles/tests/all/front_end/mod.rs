//! Front end, step by step: with direct requests, and with hubs.

mod hubs;
mod servers;

use fanin_roles::front_end::{FrontEnd, Measured, Params};
use fanin_roles::wire::{Numbered, Size};
use fanin_roles::{Body, Message, Node, Output, Tag};
use fanin_units::{Bytes, Time};

use crate::support::{Action, Cluster, Out};

/// The front end on machine 0, and its output since the last check.
pub(super) struct At {
    pub(super) front_end: FrontEnd<Numbered>,
    pub(super) cluster: Cluster,
    pub(super) out: Out,
}

/// Sent messages, without their common part.
pub(super) type Sent = (u32, u32, Body<Numbered, Size>);

impl At {
    pub(super) fn new(params: Params, cluster: Cluster) -> At {
        At { front_end: FrontEnd::new(params), cluster, out: Out::new() }
    }

    /// Requests all objects of the cluster, the first replica of each.
    pub(super) fn asks(&mut self, now: Time, deadline: Time) -> u32 {
        let keys = (0..self.cluster.holders.len() as u64).map(Numbered);
        self.front_end.ask(now, keys, deadline, &self.cluster, &mut |_| 0, &mut self.out)
    }

    pub(super) fn hears(&mut self, now: Time, from: u32, request: u32, index: u32, body: Body<Numbered, Size>) {
        let message = Message { tag: Tag { origin: Node(0), request, epoch: 0, nonce: 0 }, index, body };
        self.front_end.handle(now, Node(from), message, &self.cluster, &mut self.out);
        assert!(self.front_end.adds_up());
    }

    pub(super) fn comes(&mut self, now: Time, from: u32, index: u32) {
        self.hears(now, from, 0, index, Body::Object(Size(100)));
    }

    pub(super) fn loses(&mut self, now: Time, peer: u32) {
        self.front_end.lost(now, Node(peer), &self.cluster, &mut self.out);
        assert!(self.front_end.adds_up());
    }

    pub(super) fn due(&mut self, now: Time) {
        self.front_end.due(now, Some(Measured::Queue(Bytes(0), Bytes(1))), &self.cluster, &mut self.out);
        assert!(self.front_end.deadline() > now && self.front_end.adds_up());
    }

    /// Sent messages.
    pub(super) fn sent(&mut self) -> Vec<Sent> {
        let sent = |said: &Action| match said {
            Output::Send { to, message, .. } => Some((to.0, message.index, message.body)),
            _ => None,
        };
        let all = self.out.iter().filter_map(sent).collect();
        self.out.retain(|said| sent(said).is_none());
        all
    }

    /// Requests: the server, or the holder if through a hub, and the object.
    pub(super) fn asked(&mut self) -> Vec<(u32, u32)> {
        let whom = |(to, index, body): Sent| match body {
            Body::Get(_) | Body::Ask { .. } => Some((to, index)),
            _ => None,
        };
        self.sent().into_iter().filter_map(whom).collect()
    }

    /// Other output.
    pub(super) fn said(&mut self) -> Out {
        self.sent();
        std::mem::take(&mut self.out)
    }
}

/// An object of a server, the only one that was asked for it; zero: several were.
pub(super) fn answer(index: u32, holder: u32) -> Action {
    Output::Answer { request: 0, index, holder: only(holder), value: Size(100) }
}

/// An object that such a server does not have.
pub(super) fn miss(request: u32, index: u32, holder: u32) -> Action {
    Output::Miss { request, index, holder: only(holder) }
}

fn only(holder: u32) -> Option<Node> {
    Some(Node(holder)).filter(|node| node.0 > 0)
}

pub(super) const fn fail(index: u32) -> Action {
    Output::Fail { request: 0, index }
}

pub(super) const DONE: Action = Output::Done { request: 0 };
