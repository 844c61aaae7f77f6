//! Reports of an agent's load and round trips to front ends.

use fanin_roles::hub::Hub;
use fanin_roles::wire::Load;
use fanin_roles::{Body, Message, Node, Tag};

use super::Agent;
use super::load::{LOOK, PERIOD};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_net::Net;

impl<N: Net> Agent<N> {
    /// When front ends are reported to next, if there are any.
    pub(super) fn report_due(&self) -> Option<Nanos> {
        let is_hub = self.machine.hub().is_some_and(|hub| hub.open_requests() > 0);
        let soon = if is_hub || !self.serving.is_idle() { self.reported + PERIOD } else { Nanos::MAX };
        (!self.reports.is_empty()).then(|| self.report_at.min(soon))
    }

    /// Reports soon to a front end that has ended a request early: it may have taken this agent for silent.
    pub(super) fn report_soon(&mut self, front_end: Node) {
        if let Some(last) = self.reports.get_mut(&front_end) {
            (*last, self.report_at) = (None, self.now);
        }
    }

    /// Reports to the front ends for which it is a hub or has requested keys, and to all others if its load has changed much.
    pub(super) fn report(&mut self) {
        (self.reported, self.report_at) = (self.now, self.now + LOOK);
        self.load.look(self.now);
        let spare = self.load.spare(self.machine.spare_io());
        let mut reports = std::mem::take(&mut self.reports);
        for (&node, last) in &mut reports {
            let Some((id, peer)) = self.by_node.get(&node).and_then(|id| Some((*id, self.peers.get_mut(*id)?))) else {
                continue;
            };
            let load = Load { spare, round_trip: peer.round_trip(&self.net) };
            let is_hub = self.machine.hub().is_some_and(|hub: &Hub<_, _>| hub.serves(node));
            if is_hub || self.serving.serves(node) || self.load.has_changed(*last, load) {
                let tag = Tag { origin: node, request: 0, epoch: 0, nonce: 0 };
                peer.put(&Message { tag, index: 0, body: Body::Load(load) });
                *last = Some(load);
                self.mark(id);
            }
        }
        self.reports = reports;
    }
}
