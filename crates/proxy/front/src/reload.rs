//! Change of settings in a running thread.
//!
//! Servers that stay keep their connections. A client continues with its pool's successor once its outstanding requests are complete; its
//! next request waits for that, and no other client does.

use super::Front;
use super::upstreams::pool::Successor;
use fanin_proxy_core::clock::nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_net::Net;

impl<N: Net> Front<N> {
    /// Installs the settings in force, if they have changed; at the start of a loop iteration.
    pub(super) fn install_settings(&mut self) {
        if self.shared.edition_number() == self.edition {
            return;
        }
        let edition = self.shared.edition();
        self.upstreams.install(&edition);
        let listens = edition.settings.pools.iter().map(|pool| pool.listen.clone());
        let pools: Vec<_> = listens.zip(self.upstreams.current_slots()).collect();
        if !self.lifecycle.is_stopping() {
            self.listening.install(&pools, &mut self.net);
        }
        self.lifecycle.install(&edition.settings);
        self.pace.set_delay(nanos(edition.settings.batching_delay));
        self.observation.observe(edition.settings.observes_servers());
        // Requests for new servers wait for this first attempt.
        self.connect_due();
        self.install_hubs();
        for id in self.clients.ids() {
            self.follow_settings(id);
        }
        self.edition = edition.number;
        self.shared.has_installed(self.thread, edition.number);
    }

    /// Moves a client to the successor of its pool, or closes it if there is none, when its outstanding requests are complete.
    pub(super) fn follow_settings(&mut self, id: Id) {
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

    /// Closes the connections of servers that no pool uses any more, once their requests are complete.
    pub(super) fn close_retired_servers(&mut self) {
        while self.upstreams.has_retired()
            && let Some(sockets) = self.upstreams.take_retired(self.now)
        {
            sockets.into_iter().flatten().for_each(|socket| self.net.close(socket));
        }
    }
}
