//! End of a loop iteration: one write to each server and each client; then clients that can continue do so.

use fanin_memcache::text;

use crate::client::{ENOUGH_HELD, Kind};
use crate::clock::Nanos;
use crate::front::Front;
use crate::log::Logged;
use crate::net::Net;
use crate::server::{ServerError, State};
use crate::table::Id;

/// Size of a write; it fits into the processor's cache.
pub const ENOUGH: usize = 256 << 10;

impl<N: Net> Front<N> {
    /// Writes all output.
    pub(crate) fn flush(&mut self) {
        // Clients' next requests may add output for servers, and servers' failures may add output for clients.
        while !(self.dirty_clients.is_empty() && self.dirty_servers.is_empty()) {
            let mut clients = std::mem::take(&mut self.dirty_clients);
            for id in clients.drain(..) {
                self.flush_client(id);
            }
            if self.dirty_clients.is_empty() {
                self.dirty_clients = clients;
            }
            let mut servers = std::mem::take(&mut self.dirty_servers);
            for server in servers.drain(..) {
                self.flush_server(server);
            }
            if self.dirty_servers.is_empty() {
                self.dirty_servers = servers;
            }
        }
    }

    fn flush_server(&mut self, number: usize) {
        let server = &mut self.servers[number];
        server.dirty = false;
        let State::Open(socket) = &mut server.state else { return };
        match self.net.write(socket, &mut server.out) {
            Ok(()) => {}
            Err(_) => self.server_fails(number, ServerError::Closed, false),
        }
    }

    fn flush_client(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        client.dirty = false;
        let failed = self.write_answers(id);
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(buffer) = client.rest_idle() {
            self.spare.keep(buffer);
        }
        if failed || client.broken || client.closing && client.is_through() {
            return self.close_client(id);
        }
        let Some(client) = self.clients.get(id) else { return };
        let before = (client.next_number(), client.closing, client.out.left());
        self.resume_client(id);
        // Write immediate responses, and close clients that are done.
        if self
            .clients
            .get(id)
            .is_some_and(|client| before != (client.next_number(), client.closing, client.out.left()))
        {
            self.mark_client(id);
        }
    }

    /// Writes a client's responses until its socket blocks; returns whether that failed.
    fn write_answers(&mut self, id: Id) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(id) else { return false };
            if self.net.write(&mut client.socket, &mut client.out).is_err() {
                return true;
            }
            let left = client.out.left();
            self.gather_answers(id);
            if self.clients.get(id).is_none_or(|client| client.out.left() == left) {
                return false;
            }
        }
    }

    /// Copies a client's responses in order to its output, up to the size of a write.
    fn gather_answers(&mut self, id: Id) {
        loop {
            let spent = self.is_spent();
            let Some(client) = self.clients.get_mut(id) else { return };
            if client.out.left() >= ENOUGH {
                return;
            }
            let Some(answer) = client.front() else { return };
            let (kind, left, at, is_get) = (answer.kind, answer.left, answer.at, answer.is_get);
            if spent {
                // The bytes would be held twice.
                return self.short.push(id);
            }
            let held = std::mem::take(&mut answer.held);
            match kind {
                Kind::Multiget(get) => {
                    if !self.gather_multiget(id, get, at) {
                        return;
                    }
                }
                Kind::Relay => {
                    client.held -= held.len();
                    client.out.append(held);
                    if !client.writes_joined(ENOUGH) {
                        continue;
                    }
                    if left > 0 {
                        return;
                    }
                }
                Kind::Held | Kind::Every { .. } | Kind::Listing if left > 0 => {
                    answer.held = held;
                    return;
                }
                Kind::Held => {
                    client.held -= held.len();
                    client.out.append(held);
                }
                Kind::Every { well, silent } => {
                    let answer = if held.is_empty() { well.as_bytes() } else { &held };
                    client.out.extend(if silent { b"" } else { answer });
                }
                Kind::Listing => {
                    client.held -= held.len();
                    client.out.append(held);
                    client.out.extend(text::END.as_bytes());
                }
            }
            let Some(client) = self.clients.get_mut(id) else { return };
            client.pop();
            client.active = self.now;
            self.counters.took[client.pool][usize::from(!is_get)].add(self.now, self.now.saturating_sub(at));
        }
    }

    /// Copies a multiget's response; returns whether it is complete.
    fn gather_multiget(&mut self, id: Id, get: Id, at: Nanos) -> bool {
        let (Some(client), Some(multiget)) = (self.clients.get_mut(id), self.gets.get_mut(get)) else { return false };
        // Most of it waits for the last batch anyway; one write is cheaper than many small ones.
        if multiget.left > 0 && client.held < ENOUGH_HELD {
            return false;
        }
        if !multiget.write(client.out.fill(|| self.spare.buffer(true)), ENOUGH) {
            return false;
        }
        let bytes: u64 = (0..multiget.batches.len()).map(|batch| multiget.bytes_of(batch as u32)).sum();
        client.held -= (bytes as usize).min(client.held);
        client.tables -= multiget.tables().min(client.tables);
        client.expects_as_much(bytes as usize);
        client.lacks = client.lacks.or(multiget.failed);
        if multiget.last {
            client.out.extend(client.lacks.take().unwrap_or(text::END).as_bytes());
        }
        if let Some(multiget) = self.gets.remove(get) {
            self.pools[client.pool].ends(multiget.since, multiget.schedule.window());
            if let (Some(tap), Some(query)) = (&mut self.tap, multiget.logged) {
                let router = &self.pools[client.pool].router;
                multiget.each(|key, size| {
                    tap.asked(self.now, query, at, Logged { key, size, server: router.server(key) });
                });
                self.counters.log_keys.add(multiget.keys() as u64);
            }
            multiget.over(&mut self.spare);
        }
        true
    }

    pub(crate) fn close_client(&mut self, id: Id) {
        let Some(client) = self.clients.remove(id) else { return };
        self.shared.release_client();
        for get in client.multigets() {
            if let Some(multiget) = self.gets.remove(get) {
                multiget.over(&mut self.spare);
            }
        }
        self.net.close(client.socket);
        self.counters.curr_connections.less(1);
    }
}
