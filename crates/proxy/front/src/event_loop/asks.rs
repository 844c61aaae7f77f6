//! Requests that are sent to servers, when there is room for their responses.

use crate::Front;
use crate::clients::{Client, ClientLoad};
use crate::multigets::Multiget;
use crate::upstreams::ask::{Ask, Destination, Expected, Recipient};
use crate::upstreams::room::{Waiter, WaitingGet};
use crate::upstreams::shares::NOBODY;
use fanin_memcache::Shape;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

use super::writing::ENOUGH;

/// Turn of a get that has waited for room at a server, maybe for too long.
#[derive(Clone, Copy, Debug)]
struct Turn {
    server: usize,
    has_waited_too_long: bool,
}

impl<N: Net> Front<N> {
    /// Sends a request, a get when there is room for its response; it fails if the server does not accept it.
    pub(crate) fn ask(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        let client = self.clients.get_mut(ask.client);
        let tenant = client.as_ref().map_or(NOBODY, |client| client.tenant().number);
        let expects = match &client {
            _ if !ask.reads() => Expected::default(),
            Some(client) => client.expects(1),
            None => Expected { values: 1, bytes: 0 },
        };
        let ask = Ask { expects, tenant, ..ask };
        let to = self.upstreams.server_mut(server);
        if ask.reads() && to.must_wait(tenant, expects, false) {
            client.into_iter().for_each(Client::get_waits);
            let get = WaitingGet::new(ask, note, bytes);
            return to.wait(self.context.now, tenant, expects, Waiter::Get(Box::new(get)));
        }
        self.send(server, ask, note, bytes);
    }

    /// Sends a request, whether there is room for its response or not.
    fn send(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        let client = self.clients.get_mut(ask.client);
        let load = client.as_ref().map_or(ClientLoad::default(), |client| client.responses.load());
        match self.upstreams.queue(server, load, ask, note, bytes) {
            Ok(()) => {
                if let Some(client) = client {
                    client.responses.asks(ask.number, bytes.iter().map(|bytes| bytes.len()).sum());
                }
            }
            Err(trouble) => {
                self.upstreams.count_refusal(server, trouble, &mut self.context);
                self.fails(server, &ask, trouble, false);
            }
        }
    }

    /// Sends a single request on a server's second connection; it fails if the server does not accept it.
    pub(crate) fn ask_alone(&mut self, server: usize, ask: Ask, line: &[u8]) {
        let client = self.clients.get(ask.client);
        let load = client.map_or(ClientLoad::default(), |client| client.responses.load());
        let ask = Ask { tenant: client.map_or(NOBODY, |client| client.tenant().number), ..ask };
        if let Err(trouble) = self.upstreams.queue_single(server, load, ask, line, &mut self.context) {
            self.fails(server, &ask, trouble, false);
        }
    }

    /// Sends as many batches as the concurrency limit allows, while the client reads and servers have room, and schedules a check for late
    /// ones.
    pub(crate) fn ask_batches(&mut self, get: Id) {
        self.ask_next_batches(get, None);
    }

    /// The same; at one server, it is its turn.
    fn ask_next_batches(&mut self, get: Id, turn: Option<Turn>) {
        while let Some(room) = self.room_for_batch(get, turn) {
            let Some(multiget) = self.multigets.get_mut(get) else { return };
            let recipient = multiget.recipient();
            let Some(client) = self.clients.get_mut(recipient.client) else { return };
            let next = multiget.next_batch(self.context.now);
            if multiget.has_asked_all() {
                client.has_asked_all();
            }
            let Some(batch) = next else { break };
            self.context.counters.batches.add(1);
            let from = self.upstreams.pool(client.pool());
            if let Some(figures) = &from.figures().multigets {
                figures.waits.add(self.context.now.saturating_sub(multiget.begun()));
            }
            let server = from.server(multiget.server_of(batch));
            let mut ask = Ask::new(recipient, Destination::Batch { get, batch }, Shape::Values, self.context.now);
            (ask.expects, ask.tenant) = (client.expects(multiget.keys_of(batch)), client.tenant().number);
            let queued = match room {
                true => self.upstreams.queue(server, client.responses.load(), ask, &[], &[multiget.request(batch)]),
                false => Err(ServerError::Busy),
            };
            if let Err(trouble) = queued {
                self.batch_is_refused(get, batch, server, trouble);
            }
        }
        self.watch_multiget(get);
    }

    /// Whether the next batch of a multiget finds room at its server; none if it has to wait, for that or for its client. It does not wait
    /// for longer than the timeout.
    fn room_for_batch(&mut self, get: Id, turn: Option<Turn>) -> Option<bool> {
        let multiget = self.multigets.get_mut(get)?;
        let client = self.clients.get(multiget.client).filter(|client| client.responses.unsent() < ENOUGH)?;
        let Some((server, keys)) = multiget.next_server() else { return Some(true) };
        let server = self.upstreams.pool(client.pool()).server(server);
        let (to, expects) = (self.upstreams.server_mut(server), client.expects(keys));
        let (turn, tenant) = (turn.filter(|turn| turn.server == server), client.tenant().number);
        if !to.must_wait(tenant, expects, turn.is_some()) {
            return Some(true);
        }
        if turn.is_some_and(|turn| turn.has_waited_too_long) {
            return Some(false);
        }
        if multiget.enters_list() {
            to.wait(self.context.now, tenant, expects, Waiter::Batch(get));
        }
        None
    }

    /// A server does not accept a batch.
    fn batch_is_refused(&mut self, get: Id, batch: u32, server: usize, trouble: ServerError) {
        self.context.counters.failed(trouble);
        self.upstreams.count_refusal(server, trouble, &mut self.context);
        if self.read_batch_elsewhere(get, batch) {
            return;
        }
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        let Recipient { client: id, number } = multiget.recipient();
        let Some(client) = self.clients.get_mut(id) else { return };
        let misses = self.upstreams.pool(client.pool()).misses(trouble);
        self.context.counters.get_misses.add(if misses { multiget.keys_of(batch) as u64 } else { 0 });
        multiget.lost(batch, self.context.now, (!misses).then_some(trouble.text()));
        client.responses.keys_end(number, multiget.keys_of(batch));
        self.clients.mark(id);
    }

    /// Sends gets that have waited for room at a server, and fails those that have waited for too long.
    pub(crate) fn ask_waiting(&mut self, server: usize) {
        while let Some((waiter, has_waited_too_long)) = self.upstreams.server_mut(server).next_waiting(self.context.now)
        {
            match waiter {
                Waiter::Batch(get) => {
                    self.multigets.get_mut(get).into_iter().for_each(Multiget::leaves_list);
                    self.ask_next_batches(get, Some(Turn { server, has_waited_too_long }));
                }
                // Nobody wants its response any more.
                Waiter::Get(get)
                    if matches!(get.ask.to, Destination::Relay { .. })
                        && self.clients.get(get.ask.client).is_none() => {}
                Waiter::Get(get) => {
                    let (ask, (note, request)) = (get.ask, get.text());
                    self.clients.get_mut(ask.client).into_iter().for_each(Client::get_is_sent);
                    self.clients.mark(ask.client);
                    if has_waited_too_long {
                        self.upstreams.count_refusal(server, ServerError::Busy, &mut self.context);
                        self.fails(server, &ask, ServerError::Busy, false);
                    } else {
                        self.send(server, Ask { at: self.context.now, ..ask }, note, &[request]);
                    }
                }
            }
        }
    }

    /// Schedules a check for late batches, if the multiget's concurrency limit uses them and none is scheduled.
    pub(crate) fn watch_multiget(&mut self, get: Id) {
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        let Some(pool) = self.clients.pool_of(multiget.client) else { return };
        if let Some(at) = multiget.watch() {
            self.upstreams.pool_mut(pool).check_for_late(at, get);
        }
    }
}
