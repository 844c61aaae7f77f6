//! Reports of servers' states on stderr, and their figures in this thread.

use super::Upstreams;
use super::ask::Ask;
use crate::context::Context;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::Phase;
use fanin_proxy_net::Net;
use fanin_proxy_observe::messages::Report;

impl<S> Upstreams<S> {
    /// Reports that a server is down, or up again, once for all threads.
    pub fn report_state<N: Net<Socket = S>>(
        &self,
        server: usize,
        trouble: Option<ServerError>,
        context: &mut Context<N>,
    ) {
        let from = &self.servers[server];
        if from.is_second() || from.is_retired() || from.stays(trouble.is_none()) {
            return;
        }
        // Its phases are reported.
        if trouble.is_none() && self.fails_over(server) {
            return;
        }
        let state = match (trouble, from.failure()) {
            (None, _) => "up again".to_owned(),
            (Some(_), Some(why)) => format!("down: {why}"),
            (Some(trouble), None) => trouble.state().to_owned(),
        };
        self.report(server, &state, trouble.is_none(), context);
    }

    /// Reports that a server refuses requests because of its queue, or no longer does, once for all threads.
    pub fn report_busy<N: Net<Socket = S>>(&self, server: usize, busy: bool, context: &mut Context<N>) {
        let from = &self.servers[server];
        if from.is_second() || from.is_retired() || !from.state_of_all().has_changed_business(busy) {
            return;
        }
        let state =
            if busy { "busy: requests are refused or late, since too many wait for it" } else { "not busy any more" };
        self.report(server, state, !busy, context);
    }

    /// Reports that a server is in use again, or is not any more; the first thread does it.
    pub fn report_phase<N: Net<Socket = S>>(
        &self,
        server: usize,
        phase: Phase,
        before: Phase,
        context: &mut Context<N>,
    ) {
        let is_reported = matches!(phase, Phase::Up | Phase::Away | Phase::Joining);
        if !is_reported || phase == before || context.thread > 0 {
            return;
        }
        context.counters.servers_ejected.add(u64::from(phase == Phase::Away));
        let state = match phase {
            Phase::Up => "in use again",
            Phase::Away => "not in use: other servers answer for it",
            _ => "answering again: keys that changed meanwhile are deleted there",
        };
        self.report(server, state, phase == Phase::Up, context);
    }

    fn report<N: Net<Socket = S>>(&self, server: usize, state: &str, up: bool, context: &mut Context<N>) {
        let from = &self.servers[server];
        let pool = &self.pool_of(server).shared.settings.name;
        let address = from.target.address_now().to_string();
        context.net.report(&Report::Server { pool, server: &from.name, address: &address, state, up });
    }

    /// Observes the shared connection of a server.
    pub fn observe<N: Net<Socket = S>>(&self, server: usize, context: &Context<N>) {
        let from = &self.servers[server];
        if let Some(figures) = from.figures() {
            figures.observe(from.tcp(&context.net), from.unanswered() as u64);
        }
    }

    /// Counts a request that a server does not accept, and reports a busy server.
    pub fn count_refusal<N: Net<Socket = S>>(&mut self, server: usize, trouble: ServerError, context: &mut Context<N>) {
        if trouble != ServerError::Busy {
            return;
        }
        self.servers[server].figures().into_iter().for_each(|figures| figures.refused.add(1));
        if self.servers[server].is_now_busy() {
            self.report_busy(server, true, context);
        }
    }

    /// Counts a complete response of a server.
    pub fn count_response<N: Net<Socket = S>>(&self, server: usize, ask: &Ask, context: &Context<N>) {
        if let Some(figures) = self.servers[server].figures()
            && let Some(responses) = &figures.responses
        {
            responses.add(context.now.saturating_sub(ask.at));
        }
    }
}
