//! Start and end of connections to servers.

use std::collections::VecDeque;

use super::Upstreams;
use super::ask::Ask;
use super::room::Waiter;
use crate::context::Context;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::{Net, Token};
use fanin_ring::Event;

/// Consequence of an event of a server's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// There is something to read.
    Reads,
    /// There is nothing to read.
    Idle,
    /// Connecting has failed.
    Failed,
}

/// Remains of a closed connection.
pub struct Left {
    /// Its requests.
    pub asked: VecDeque<Ask>,
    /// Gets that waited for room.
    pub waiting: Vec<Waiter>,
}

impl<S> Upstreams<S> {
    /// Opens a connection if that is due; returns whether that failed. A stopping front end opens no shared ones.
    pub fn connect_if_due<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        is_stopping: bool,
        context: &mut Context<N>,
    ) -> bool {
        let to = &mut self.servers[server];
        if !to.is_due(context.now) {
            return false;
        }
        let rests = if to.is_second() { to.rests() } else { is_stopping };
        !rests && !to.connect(&mut context.net, Token::Server(server), context.now)
    }

    /// Handles an event of a server's connection.
    pub fn event<N: Net<Socket = S>>(&mut self, server: usize, event: &Event, context: &mut Context<N>) -> Opening {
        let mut opened = false;
        if self.servers[server].is_opening() {
            match self.servers[server].opens(&mut context.net) {
                Ok(opens) if !event.failed => opened = opens,
                _ => return Opening::Failed,
            }
            context.counters.server_connects.add(u64::from(opened && self.is_shared(server)));
        }
        if opened && self.wants_answer(server) {
            self.probe(server, context.now);
        }
        if event.writable || opened {
            self.send_next_single(server, context);
            self.mark(server);
        }
        if event.readable && event.ended {
            self.servers[server].ends();
        }
        if event.readable || opened { Opening::Reads } else { Opening::Idle }
    }

    /// Writes a server's output; returns whether that failed.
    pub fn write<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) -> bool {
        let to = &mut self.servers[server];
        to.unmark();
        to.write(&mut context.net).is_err()
    }

    /// Reports, counts and observes a failed connection, and ejects its server if others answer for it.
    pub fn note_failure<N: Net<Socket = S>>(&mut self, server: usize, trouble: ServerError, context: &mut Context<N>) {
        self.report_state(server, Some(trouble), context);
        context.counters.server_failures.add(1);
        self.servers[server].figures().into_iter().for_each(|figures| figures.failures(trouble).add(1));
        self.observe(server, context);
        self.eject_failed(server, context);
    }

    /// Closes the connection of a server. One with a change is watched until the server has executed it, or never will.
    pub fn close<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) -> Left {
        let from = &self.servers[server];
        let is_watched = self.has_phases(server) && from.is_open() && from.has_changes();
        let held = is_watched.then(|| from.state_of_all().unfinished());
        let random = context.random();
        let (socket, asked) = self.servers[server].close(context.now, random);
        match (socket, held) {
            (Some(socket), Some(held)) => context.net.finish(socket, held),
            (Some(socket), None) => context.net.close(socket),
            (None, _) => {}
        }
        Left { asked, waiting: self.servers[server].take_waiting() }
    }

    /// A late request of a server that goes on to respond, if its client may get a timeout now: the server is busy, not down.
    pub fn give_up<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) -> Option<Ask> {
        let ask = self.servers[server].give_up(context.polled)?;
        self.count_refusal(server, ServerError::Busy, context);
        Some(ask)
    }
}
