//! Hand-over of clients to a successor process: each goes when it is between two requests, with the bytes of its next ones.
//!
//! A client that can go is not read any more, so that it becomes idle after its outstanding responses. One with TLS, one that has not met
//! all requirements, and one whose pool the successor does not have, stay until they leave or the time for it is over.

use super::Front;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_net::Net;
use fanin_proxy_state::handover::PoolName;

impl<N: Net> Front<N> {
    /// Begins to hand over if there is a successor; at the start of a loop iteration.
    pub(super) fn begin_to_depart(&mut self) {
        if self.departures.is_some() {
            return;
        }
        let Some(departures) = self.shared.departures() else { return };
        self.lifecycle.departs(self.now);
        self.listening.close(&mut self.net);
        departures.has_stopped(self.thread);
        self.departures = Some(departures);
        self.clients.ids().into_iter().for_each(|id| self.clients.mark(id));
        self.flush();
    }

    /// Whether a client goes to the successor once its outstanding responses are complete.
    pub(super) fn is_departing(&self, id: Id) -> bool {
        let Some(departures) = &self.departures else { return false };
        self.clients.get(id).is_some_and(|client| {
            client.is_between_requests()
                && client.is_portable(&self.net)
                && departures.takes(&self.pool_name(client.pool()))
        })
    }

    fn pool_name(&self, pool: usize) -> PoolName {
        PoolName::of(&self.upstreams.pool(pool).shared.settings)
    }

    /// Sends a client to the successor if it is idle and can go; returns whether it has gone.
    pub(super) fn departs(&mut self, id: Id) -> bool {
        if !self.is_departing(id) {
            return false;
        }
        let Some(client) = self.clients.get_mut(id) else { return false };
        // An event follows if the network has not stopped yet.
        if !client.is_through() || !client.stop_receiving(&mut self.net) {
            return false;
        }
        let Some(departures) = self.departures.clone().filter(|departures| departures.reserve()) else { return false };
        let Some(mut client) = self.remove_client(id) else { return false };
        let (pool, mut unread) = (self.pool_name(client.pool()), client.input.take_unparsed().to_vec());
        if let Ok((file, more)) = self.net.release(client.into_socket()) {
            unread.extend(more);
            departures.send(pool, file, unread);
        }
        true
    }
}
