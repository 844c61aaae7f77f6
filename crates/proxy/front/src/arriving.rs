//! Clients that a predecessor process hands over.

use super::Front;
use fanin_proxy_net::Net;
use fanin_proxy_state::handover::{Arrival, PoolName};

impl<N: Net> Front<N> {
    /// Takes the clients that have arrived for this thread.
    pub(super) fn take_arrivals(&mut self) {
        let arrivals = self.shared.arrivals.take(self.thread);
        arrivals.into_iter().for_each(|arrival| self.take_arrival(arrival));
    }

    /// Goes on with a client. If its pool is gone, it is closed.
    fn take_arrival(&mut self, arrival: Arrival) {
        let pools: Vec<PoolName> = self.upstreams.current().map(|pool| PoolName::of(&pool.shared.settings)).collect();
        let pool = arrival.pool.successor(&pools).and_then(|place| self.upstreams.current_slots().nth(place));
        let stream = self.net.adopt(arrival.file);
        let (Some(pool), Ok(stream)) = (pool, stream) else { return };
        let tenant = self.tenant_of(&stream);
        self.shared.tenants.admit_always(&tenant);
        let Some(id) = self.add_client(stream, pool, tenant) else { return };
        if !arrival.unread.is_empty() {
            self.clients.get_mut(id).into_iter().for_each(|client| client.input.keep_unparsed(&arrival.unread));
            self.resume_client(id);
        }
        self.clients.mark(id);
    }
}
