//! Clients that come and go, also from a predecessor process and to a successor; and their pools after a change of settings.
//!
//! Servers that stay keep their connections. A client continues with its pool's successor once its outstanding requests are complete; its
//! next request waits for that, and no other client does.
//!
//! A client goes to a successor process when it is between two requests, with the bytes of its next ones. It is not read any more, so that it
//! becomes idle after its outstanding responses. One with TLS, one that has not met all requirements, and one whose pool the successor does
//! not have, stay until they leave or the time for it is over.

use std::sync::Arc;

use crate::Front;
use crate::clients::Client;
use crate::upstreams::pool::Successor;
use fanin_proxy_core::clock::nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::Tenant;
use fanin_proxy_net::Net;
use fanin_proxy_state::handover::PoolName;

/// memcached's error for a client above the limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

impl<N: Net> Front<N> {
    /// Accepts all connections of a listener.
    pub(crate) fn accept(&mut self, listener: usize) {
        loop {
            let entry = |pool: usize| &self.upstreams.pool(pool).shared.settings.entry;
            let accepted = self.lifecycle.accept(listener, entry, &mut self.context);
            let Some((stream, pool)) = accepted else { return };
            let tenant = self.context.tenant_of(&stream);
            if self.admits(&tenant) {
                self.add_client(stream, pool, tenant);
                continue;
            }
            self.context.counters.rejected_connections.add(1);
            tenant.is_cut_off();
            self.context.net.refuse(stream, TOO_MANY);
        }
    }

    /// Whether a client of a tenant is admitted. One of a tenant with too many may be closed for it.
    fn admits(&mut self, tenant: &Tenant) -> bool {
        if self.context.shared.admit_client(tenant) {
            return true;
        }
        let Some(id) = self.clients.in_favour_of(tenant, &self.context) else { return false };
        self.cut_off(id);
        self.context.shared.admit_client(tenant)
    }

    /// Adds an admitted client of a pool.
    fn add_client(&mut self, stream: N::Stream, pool: usize, tenant: Arc<Tenant>) -> Option<Id> {
        let id = self.clients.add(stream, pool, tenant, &mut self.context)?;
        self.upstreams.enter(pool);
        Some(id)
    }

    /// Closes a client.
    pub(crate) fn close_client(&mut self, id: Id) {
        let Some(client) = self.remove_client(id) else { return };
        self.context.net.close(client.into_socket());
        self.lifecycle.departures().into_iter().for_each(|departures| departures.client_left());
    }

    /// Removes a client, with all that is pending for it.
    fn remove_client(&mut self, id: Id) -> Option<Client<N::Socket>> {
        let client = self.clients.remove(id, &self.context)?;
        client.responses.multigets().for_each(|get| self.multigets.drop(get));
        self.upstreams.leave(client.pool());
        Some(client)
    }

    /// Closes a client that takes too much, or too long.
    pub(crate) fn cut_off(&mut self, id: Id) {
        self.clients.get(id).into_iter().for_each(|client| client.tenant().is_cut_off());
        self.close_client(id);
    }

    /// Begins to stop: accepts no clients and no requests, but completes outstanding ones.
    pub(crate) fn begin_to_stop(&mut self) {
        if self.lifecycle.begins_to_stop(&mut self.context) {
            self.clients.close_after_output();
            self.flush();
        }
    }

    /// Goes on with the clients of a predecessor that have arrived for this thread. Those whose pool is gone are closed.
    pub(crate) fn take_arrivals(&mut self) {
        for arrival in self.context.shared.arrivals.take(self.context.thread) {
            let pool = self.upstreams.successor_of(&arrival.pool);
            let stream = self.context.net.adopt(arrival.file);
            let (Some(pool), Ok(stream)) = (pool, stream) else { continue };
            let tenant = self.context.tenant_of(&stream);
            self.context.shared.tenants.admit_always(&tenant);
            let Some(id) = self.add_client(stream, pool, tenant) else { continue };
            if !arrival.unread.is_empty() {
                self.clients.get_mut(id).into_iter().for_each(|client| client.input.keep_unparsed(&arrival.unread));
                self.resume_client(id);
            }
            self.clients.mark(id);
        }
    }

    /// Begins to hand over if there is a successor; at the start of a loop iteration.
    pub(crate) fn begin_to_depart(&mut self) {
        if self.lifecycle.begins_to_depart(&mut self.context) {
            self.clients.mark_all();
            self.flush();
        }
    }

    /// Whether a client goes to the successor once its outstanding responses are complete.
    pub(crate) fn is_departing(&self, id: Id) -> bool {
        let Some(departures) = self.lifecycle.departures() else { return false };
        self.clients.get(id).is_some_and(|client| {
            let pool = &self.upstreams.pool(client.pool()).shared.settings;
            client.departs(departures, pool, &self.context.net)
        })
    }

    /// Sends a client to the successor if it is idle and can go; returns whether it has gone.
    pub(crate) fn departs(&mut self, id: Id) -> bool {
        if !self.is_departing(id) {
            return false;
        }
        let Some(client) = self.clients.get_mut(id) else { return false };
        // An event follows if the network has not stopped yet.
        if !client.is_through() || !client.stop_receiving(&mut self.context.net) {
            return false;
        }
        let departures = self.lifecycle.departures().filter(|departures| departures.reserve());
        let Some(departures) = departures.cloned() else { return false };
        let Some(mut client) = self.remove_client(id) else { return false };
        let pool = PoolName::of(&self.upstreams.pool(client.pool()).shared.settings);
        let mut unread = client.input.take_unparsed().to_vec();
        if let Ok((file, more)) = self.context.net.release(client.into_socket()) {
            unread.extend(more);
            departures.send(pool, file, unread);
        }
        true
    }

    /// Installs the settings in force, if they have changed; at the start of a loop iteration.
    pub(crate) fn install_settings(&mut self) {
        if self.context.shared.edition_number() == self.upstreams.edition() {
            return;
        }
        let edition = self.context.shared.edition();
        for slot in self.upstreams.install(&edition) {
            self.follow_phases(slot);
        }
        let listens = edition.settings.pools.iter().map(|pool| pool.listen.clone());
        let pools: Vec<_> = listens.zip(self.upstreams.current_slots()).collect();
        self.lifecycle.listen(&pools, &mut self.context);
        self.lifecycle.install(&edition.settings);
        self.pace.set_delay(nanos(edition.settings.batching_delay));
        self.observation.observe(edition.settings.observes_servers());
        // Requests for new servers wait for this first attempt.
        self.connect_due();
        self.hubs.install_all(&self.upstreams, &mut self.context);
        for id in self.clients.ids() {
            self.follow_settings(id);
        }
        self.context.shared.has_installed(self.context.thread, edition.number);
    }

    /// Moves a client to the successor of its pool, or closes it if there is none, when its outstanding requests are complete.
    pub(crate) fn follow_settings(&mut self, id: Id) {
        while let Some(client) = self.clients.get_mut(id) {
            let pool = client.pool();
            match self.upstreams.pool(pool).successor {
                Successor::None => return,
                Successor::Closing if client.input.is_closing() => return,
                Successor::Closing => {
                    client.input.close_after_output();
                    return self.clients.mark(id);
                }
                Successor::Pool(_) if client.waits_for_all() => return,
                Successor::Pool(next) => {
                    client.enter(next);
                    self.upstreams.enter(next);
                    self.upstreams.leave(pool);
                }
            }
        }
    }
}
