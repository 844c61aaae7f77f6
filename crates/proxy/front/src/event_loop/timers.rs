//! Work without an event: timeouts, later attempts, and memory.

use crate::Front;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::{Net, Token};

impl<N: Net> Front<N> {
    pub(crate) fn timers(&mut self) {
        let now = self.context.now;
        for server in self.upstreams.in_use() {
            self.server_timers(server);
        }
        self.report_late_batches();
        self.hub_timers();
        self.hedge_slow_gets();
        self.ask_due_again();
        if let Some(longest) = self.lifecycle.idle_check(now) {
            for id in self.clients.idle(now, longest) {
                self.context.counters.clients_idle.add(1);
                self.close_client(id);
            }
        }
        for id in self.clients.late(now) {
            self.context.counters.clients_unfinished.add(1);
            self.cut_off(id);
        }
        while let Some(Token::Client(slot)) = self.context.net.next_overdue() {
            self.clients.in_slot(slot).into_iter().for_each(|id| self.close_client(id));
        }
        let due = self.observation.due(now, self.upstreams.slots());
        due.for_each(|slot| self.upstreams.observe(2 * slot, &self.context));
        self.connect_due();
        for listener in self.lifecycle.accepts_again(now) {
            self.accept(listener);
        }
        self.begin_to_stop();
    }

    /// Late responses of a server, and requests that wait for it. A response is late if it had not come when this iteration polled, and the
    /// deadline was over before that: this thread may have waited for the processor since.
    fn server_timers(&mut self, server: usize) {
        if self.upstreams.server(server).has_timed_out(self.context.polled) {
            self.server_fails(server, ServerError::Timeout, false);
        }
        while let Some(ask) = self.upstreams.give_up(server, &mut self.context) {
            self.fails(server, &ask, ServerError::Timeout, false);
        }
        while let Some(ask) = self.upstreams.server_mut(server).expired_single(self.context.now) {
            self.fails(server, &ask, ServerError::Timeout, false);
        }
        self.ask_waiting(server);
    }

    /// Reports late batches to the concurrency limits.
    fn report_late_batches(&mut self) {
        let now = self.context.now;
        for pool in 0..self.upstreams.pools_mut().len() {
            while let Some(get) = self.upstreams.pool_mut(pool).next_late(now) {
                if let Some(multiget) = self.multigets.get_mut(get) {
                    multiget.report_late(now);
                    self.context.counters.late_batches.add(1);
                    self.watch_multiget(get);
                }
            }
        }
    }

    /// Sends gets that have been outstanding for long to a second replica, within the budget.
    fn hedge_slow_gets(&mut self) {
        for slot in 0..self.upstreams.pools_mut().len() {
            while let Some(hedges) = &mut self.upstreams.pool_mut(slot).hedges
                && let Some(get) = hedges.take_due(self.context.now)
            {
                let hedge = self.migrations.hedge(get, self.upstreams.pool_mut(slot), &self.context);
                let Some(hedge) = hedge else { continue };
                self.context.counters.replicas_hedged.add(1);
                let second = self.migrations.of_pool(slot, &self.upstreams).hedge(hedge);
                self.begin_migration(second);
            }
        }
    }

    /// Sends reads again that have failed at their primary and are due.
    fn ask_due_again(&mut self) {
        while let Some(again) = self.primary_reads.next_again(&self.upstreams, self.context.now) {
            self.context.counters.replicas_retried.add(1);
            let (note, request) = again.text.split_at(again.ask.note as usize);
            self.ask(again.server, again.ask, note, &[request]);
        }
    }

    /// Computes the memory limit per client at the start of a loop iteration, and resumes clients and servers that waited.
    pub(crate) fn update_limits(&mut self) {
        let (net, now) = (&self.context.net, self.context.now);
        if self.limits.update(net, now, || self.clients.holds(net)) {
            self.multigets.spare().clear();
        }
        let (clients, servers) = self.limits.take_delayed();
        clients.into_iter().for_each(|id| self.clients.mark(id));
        for server in servers {
            self.upstreams.server_mut(server).resume(now);
            self.read_server(server);
        }
    }

    /// Reports this thread's memory at the end of a loop iteration, and closes the largest clients if it is too much.
    pub(crate) fn enforce_memory_limit(&mut self) {
        let now = self.context.now;
        self.limits.report(&self.context.net);
        let Some(excess) = self.limits.excess(&self.context.net, now) else { return self.limits.trim_if_freed(now) };
        self.multigets.spare().clear();
        for id in self.clients.to_close(excess, &self.limits, &self.context) {
            if self.limits.is_relieved(&self.context.net, excess) {
                break;
            }
            self.context.counters.clients_cut_off.add(1);
            self.cut_off(id);
            self.limits.has_closed_one(now);
        }
        self.limits.report(&self.context.net);
        self.limits.trim(now);
    }
}
