//! End of a request's life: responses are written to the client, once per loop iteration, and the client goes on.

use crate::Front;
use crate::clients::Gathered;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

/// Size of a write; it fits into the processor's cache.
pub const ENOUGH: usize = 256 << 10;

impl<N: Net> Front<N> {
    /// Writes all output.
    pub(crate) fn flush(&mut self) {
        // Clients' next requests may add output for servers, and servers' failures may add output for clients.
        while self.clients.has_marked() || self.upstreams.has_marked() || self.hubs.has_marked() {
            let mut clients = self.clients.take_marked();
            clients.drain(..).for_each(|id| self.flush_client(id));
            self.clients.recycle(clients);
            let mut servers = self.upstreams.take_marked();
            for server in servers.drain(..) {
                if self.upstreams.write(server, &mut self.context) {
                    self.server_fails(server, ServerError::Closed, false);
                }
            }
            self.upstreams.recycle(servers);
            self.flush_agents();
        }
    }

    fn flush_client(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        client.unmark();
        let failed = self.write_answers(id);
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(buffer) = client.responses.rest_idle() {
            self.multigets.spare().keep(buffer);
        }
        if failed || client.is_over() {
            return self.close_client(id);
        }
        let before = client.progress();
        self.resume_client(id);
        self.clients.get_mut(id).into_iter().for_each(|client| client.report_memory(&self.context.net));
        if self.departs(id) {
            return;
        }
        // Write immediate responses, and close clients that are done.
        if self.clients.get(id).is_some_and(|client| before != client.progress()) {
            self.clients.mark(id);
        }
    }

    /// Writes a client's responses until its socket blocks; returns whether that failed.
    fn write_answers(&mut self, id: Id) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(id) else { return false };
            if client.write(&mut self.context.net).is_err() {
                return true;
            }
            let left = client.responses.unsent();
            self.gather_answers(id);
            if self.clients.get(id).is_none_or(|client| client.responses.unsent() == left) {
                return false;
            }
        }
    }

    /// Copies a client's responses in order to its output, up to the size of a write.
    fn gather_answers(&mut self, id: Id) {
        loop {
            let Some(client) = self.clients.get_mut(id) else { return };
            if client.responses.unsent() >= ENOUGH || !client.responses.waits_for_answers() {
                return;
            }
            if self.limits.is_spent(&self.context.net) {
                // The bytes would be held twice.
                return self.limits.delay_client(id);
            }
            match client.responses.gather(ENOUGH) {
                Gathered::Waits => return,
                Gathered::Some => continue,
                Gathered::Multiget(get, at) if !self.gather_multiget(id, get, at) => return,
                Gathered::Multiget(..) | Gathered::Whole => {}
            }
            let now = self.context.now;
            let Some(client) = self.clients.get_mut(id) else { return };
            let Some((at, class, active)) = client.pop(now) else { return };
            self.context.counters.requests_active.less(u64::from(active));
            let figures = self.upstreams.pool(client.pool()).figures();
            figures.latencies(class).add(now, now.saturating_sub(at));
        }
    }

    /// Copies a multiget's response; returns whether it is complete.
    fn gather_multiget(&mut self, id: Id, get: Id, at: Nanos) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return false };
        let Some((multiget, spare)) = self.multigets.with_spare(get) else { return false };
        // Most of it waits for the last batch anyway; one write is cheaper than many small ones.
        if multiget.is_unfinished() && !client.responses.holds_enough() {
            return false;
        }
        if !multiget.write(client.responses.output().fill(|| spare.buffer(true)), ENOUGH) {
            return false;
        }
        client.responses.multiget_ends(multiget.bytes(), multiget.tables(), multiget.failure(), multiget.is_last());
        let number = client.pool();
        let Some(multiget) = self.multigets.remove(get) else { return true };
        let (pool, (slowest, ..)) = (self.upstreams.pool(number), multiget.slowest());
        let slowest = &self.upstreams.server(pool.server(slowest)).name;
        self.observation.multiget_ends(pool, &multiget, at, slowest, &mut self.context);
        let (since, window) = multiget.window();
        self.upstreams.pool_mut(number).ends(since, window);
        self.multigets.recycle(multiget);
        true
    }
}
