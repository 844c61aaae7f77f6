//! Connections to agents, and time.

use fanin_ring::Event;
use fanin_roles::{Body, Message};

use super::{AgentAt, Hubs, PoolHubs};
use crate::context::Context;
use crate::upstreams::Upstreams;
use fanin_proxy_net::Net;
use fanin_proxy_peers::PeerError;

impl<S> Hubs<S> {
    /// Follows the settings: adds hubs of new pools.
    pub fn install_all<N: Net<Socket = S>>(&mut self, upstreams: &Upstreams<S>, context: &mut Context<N>) {
        for slot in upstreams.current_slots() {
            let random = context.random();
            self.install(&mut context.net, slot, &upstreams.pool(slot).shared, random);
        }
        self.connect(&mut context.net, context.now);
    }

    /// Work of connections that is due.
    pub fn connections_due<N: Net<Socket = S>>(&mut self, upstreams: &Upstreams<S>, context: &mut Context<N>) {
        self.mark_late(context.now);
        self.connect(&mut context.net, context.now);
        let current: Vec<usize> = upstreams.current_slots().collect();
        self.remove_unused(&mut context.net, |slot| current.contains(&slot));
    }

    /// Handles an event of an agent's connection; returns the slot of its pool.
    pub fn event<N: Net<Socket = S>>(
        &mut self,
        token: usize,
        event: &Event,
        buffer: &mut [u8],
        upstreams: &Upstreams<S>,
        context: &mut Context<N>,
    ) -> Option<usize> {
        let at = self.of_token(token)?;
        let link = self.link(at)?;
        let (node, had_failed, mut messages) = (link.node(), link.has_failed(), Vec::new());
        let writes = event.writable || !link.has_greeted();
        let result = link.event(&mut context.net, event, buffer, &mut messages);
        if writes {
            self.mark(at);
        }
        if event.readable {
            self.hears(at.slot, context.now, node);
        }
        for message in messages {
            match (message.body, self.link(at)) {
                (Body::Load(load), Some(link)) => link.reports(load, context.now),
                (body, _) => {
                    let message = Message { body, ..message };
                    self.handle(at.slot, upstreams.pool(at.slot), context.now, node, message);
                }
            }
        }
        match result {
            Ok(true) if had_failed => self.report(at, "connected again", upstreams, context),
            Ok(_) => {}
            Err(error) => self.agent_fails(at, &error, upstreams, context),
        }
        Some(at.slot)
    }

    fn agent_fails<N: Net<Socket = S>>(
        &mut self,
        at: AgentAt,
        error: &PeerError,
        upstreams: &Upstreams<S>,
        context: &mut Context<N>,
    ) {
        let Some(me) = self.get(at.slot).map(PoolHubs::node) else { return };
        let Some(link) = self.link(at) else { return };
        let (node, had_failed) = (link.node(), link.has_failed());
        link.fail(&mut context.net, me, context.now);
        self.note_next_connect();
        context.counters.hub_failures.add(1);
        if !had_failed {
            self.report(at, &format!("not connected: {error}"), upstreams, context);
        }
        self.lose(at.slot, upstreams.pool(at.slot), context.now, node);
    }

    /// Reports the state of an agent; the first thread does it.
    fn report<N: Net<Socket = S>>(
        &mut self,
        at: AgentAt,
        state: &str,
        upstreams: &Upstreams<S>,
        context: &mut Context<N>,
    ) {
        if context.thread > 0 {
            return;
        }
        let Some(link) = self.link(at) else { return };
        let (address, pool) = (link.address(), &upstreams.pool(at.slot).shared.settings.name);
        context.net.tell(&format!("{pool}: agent {address} is {state}"));
    }

    /// Writes to an agent that has output; returns whether that failed.
    pub fn write<N: Net<Socket = S>>(
        &mut self,
        at: AgentAt,
        upstreams: &Upstreams<S>,
        context: &mut Context<N>,
    ) -> bool {
        let written = self.link(at).map(|link| link.write(&mut context.net));
        let Some(Err(error)) = written else { return false };
        self.agent_fails(at, &error, upstreams, context);
        true
    }
}
