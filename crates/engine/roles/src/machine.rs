//! The roles at one node: a data server, a hub once a front end makes it one, and for clients a front end.
//!
//! A host of roles gives a machine messages, lost peers, time and results of lookups, carries out its outputs, and wakes it at one
//! deadline. What travels between machines, and over what, is the host's.

use fanin_units::{Rate, Time};

use crate::data_server::{DataServer, HOPS, Lookup};
use crate::front_end::{Directory, Draw, FrontEnd, Measured};
use crate::hub::{self, Hub};
use crate::wire::{Body, Message, Node, Part, Tag};
use crate::{Outputs, data_server, front_end};

/// The role that a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The data server.
    DataServer,
    /// The front end.
    FrontEnd,
    /// The hub.
    Hub,
}

/// Settings of a node's roles.
#[derive(Clone, Debug)]
pub struct Params {
    /// The data server.
    pub server: data_server::Params,
    /// The hub that this node may become.
    pub hub: hub::Params,
    /// The front end; `None` for a node that requests nothing.
    pub front_end: Option<front_end::Params>,
}

/// The roles at one node.
#[derive(Clone, Debug)]
pub struct Machine<K, V> {
    me: Node,
    server: DataServer<K, V>,
    hub: Option<Box<Hub<K, V>>>,
    hub_params: hub::Params,
    front_end: Option<Box<FrontEnd<K>>>,
}

impl<K: Part + Ord + Clone, V: Part> Machine<K, V> {
    /// A node without requests or links.
    pub fn new(params: Params) -> Machine<K, V> {
        Machine {
            me: params.server.me,
            server: DataServer::new(params.server),
            hub: None,
            hub_params: params.hub,
            front_end: params.front_end.map(|params| Box::new(FrontEnd::new(params))),
        }
    }

    /// Its data server.
    pub fn server(&self) -> &DataServer<K, V> {
        &self.server
    }

    /// Its data server, to set links.
    pub fn server_mut(&mut self) -> &mut DataServer<K, V> {
        &mut self.server
    }

    /// Its hub, if it has been one.
    pub fn hub(&self) -> Option<&Hub<K, V>> {
        self.hub.as_deref()
    }

    /// Its front end, if it has one.
    pub fn front_end(&self) -> Option<&FrontEnd<K>> {
        self.front_end.as_deref()
    }

    /// Objects that its data server could take, minus those that it collects as a hub.
    pub fn spare_io(&self) -> u32 {
        let owes = self.hub.as_ref().map_or(0, |hub| hub.missing_objects());
        self.server.spare().saturating_sub(owes)
    }

    /// Its front end requests objects with a deadline; returns the request's number, or `None` without a front end.
    pub fn ask(
        &mut self,
        now: Time,
        keys: impl IntoIterator<Item = K>,
        deadline: Time,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) -> Option<u32> {
        let front_end = self.front_end.as_mut()?;
        Some(front_end.ask(now, keys, deadline, directory, draw, out))
    }

    /// The role that a message is for. A response is for the front end that asked, unless the hub of the same node did.
    pub fn role_of(&self, message: &Message<K, V>) -> Role {
        let Message { tag, index, .. } = *message;
        let hub_waits = || self.hub.as_ref().is_some_and(|hub| hub.waits_for(tag, index));
        match message.body {
            Body::Get(_) | Body::Pass { .. } => Role::DataServer,
            Body::Object(_) | Body::Miss | Body::Lost | Body::Withdrawn if tag.origin == self.me && !hub_waits() => {
                Role::FrontEnd
            }
            _ => Role::Hub,
        }
    }

    /// Whether a real machine takes a message from this sender: instructions and requests only from the front end of the request; objects
    /// from itself, or those that it was not asked for from hubs that the front end has named. It passes no request on: a stranger could
    /// have an object with any tag sent to anybody.
    fn may_send(&self, from: Node, message: &Message<K, V>) -> bool {
        if self.hub_params.limits.is_none() || from == self.me {
            return true;
        }
        match message.body {
            Body::Swarm(_)
            | Body::Child(_)
            | Body::Ask { .. }
            | Body::Get(_)
            | Body::Speed(_)
            | Body::Withdraw
            | Body::Over => from == message.tag.origin,
            Body::Object(_) | Body::Miss | Body::Lost => {
                self.hub.as_ref().is_none_or(|hub| hub.takes(from, message.tag, message.index))
            }
            Body::Pass { .. } => false,
            Body::Withdrawn | Body::Load(_) => true,
        }
    }

    /// Handles a message. `from` is its sender, as the host has authenticated it.
    pub fn handle(
        &mut self,
        now: Time,
        from: Node,
        message: Message<K, V>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        if !self.may_send(from, &message) {
            return;
        }
        match self.role_of(&message) {
            Role::DataServer => {
                let Message { tag, index, body } = message;
                let lookup = match body {
                    Body::Get(key) => Lookup { asker: from, tag, index, key, hops: HOPS },
                    Body::Pass { key, asker, hops } => Lookup { asker, tag, index, key, hops },
                    _ => return,
                };
                self.server.handle_request(lookup, out);
            }
            Role::FrontEnd => {
                if let Some(front_end) = &mut self.front_end {
                    front_end.handle(now, from, message, directory, out);
                }
            }
            Role::Hub => self.hub_mut().handle(now, message, out),
        }
    }

    /// Handles messages that have come together from one node: its hub sends what follows from all of them.
    pub fn handle_all(
        &mut self,
        now: Time,
        from: Node,
        messages: impl Iterator<Item = Message<K, V>>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let mut any_for_hub = false;
        for message in messages {
            if self.role_of(&message) == Role::Hub && self.may_send(from, &message) {
                any_for_hub = true;
                self.hub_mut().take_in(now, message, out);
            } else {
                self.handle(now, from, message, directory, out);
            }
        }
        if any_for_hub {
            self.hub_mut().go_on(now, out);
        }
    }

    fn hub_mut(&mut self) -> &mut Hub<K, V> {
        let params = self.hub_params;
        self.hub.get_or_insert_with(|| Box::new(Hub::new(params)))
    }

    /// Takes the result of a lookup ([`Output::Look`](crate::Output::Look)): the object, or a miss.
    pub fn found(&mut self, now: Time, lookup: &Lookup<K>, value: Option<V>, out: &mut Outputs<K, V>) {
        self.server.found(now, lookup, value, out);
    }

    /// A lookup has failed: whether the object exists is not known.
    pub fn lookup_failed(&mut self, now: Time, lookup: &Lookup<K>, out: &mut Outputs<K, V>) {
        self.server.failed(now, lookup, out);
    }

    /// The data server's last response has left the machine.
    pub fn sent(&mut self, now: Time, out: &mut Outputs<K, V>) {
        self.server.sent(now, out);
    }

    /// Handles the loss of a peer: its connection broke.
    pub fn lost(&mut self, now: Time, peer: Node, directory: &impl Directory<K>, out: &mut Outputs<K, V>) {
        if let Some(hub) = &mut self.hub {
            hub.gone(now, peer, out);
        }
        if let Some(front_end) = &mut self.front_end {
            front_end.lost(now, peer, directory, out);
        }
    }

    /// Stops to send as a hub to a machine that does not take more for now, or sends again.
    pub fn set_stopped(&mut self, now: Time, to: Node, is_stopped: bool, out: &mut Outputs<K, V>) {
        if let Some(hub) = &mut self.hub {
            if is_stopped { hub.stop_sending(to) } else { hub.send_again(now, to, out) }
        }
    }

    /// The connection to another hub is gone, which may be the parent of this one.
    pub fn parent_lost(&mut self, now: Time, parent: Node, out: &mut Outputs<K, V>) {
        self.hub.iter_mut().for_each(|hub| hub.parent_lost(now, parent, out));
    }

    /// Latest time for the next call of [`Machine::due`]; `NEVER` if nothing waits.
    pub fn deadline(&self) -> Time {
        let hub = self.hub.as_ref().map_or(Time::NEVER, |hub| hub.deadline());
        let front_end = self.front_end.as_ref().map_or(Time::NEVER, |front_end| front_end.deadline());
        hub.min(front_end)
    }

    /// Whether [`Machine::due`] needs a measurement of the congestion towards it by now.
    pub fn measures(&self, now: Time) -> bool {
        self.front_end.as_ref().is_some_and(|front_end| front_end.measures(now))
    }

    /// Does work that is due.
    pub fn due(
        &mut self,
        now: Time,
        measured: Option<Measured>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        if let Some(hub) = &mut self.hub {
            hub.due(now, out);
        }
        if let Some(front_end) = &mut self.front_end {
            front_end.due(now, measured, directory, out);
        }
    }

    /// Limits the speed of a request's hub here while the machine is busy.
    pub fn limit_speed(&mut self, tag: Tag, rate: Rate) {
        if let Some(hub) = &mut self.hub {
            hub.limit_speed(tag, rate);
        }
    }
}
