//! Events of servers: connections open and fail, and responses arrive.

use std::collections::VecDeque;

use fanin_memcache::{Shape, response};
use fanin_ring::Event;

use crate::Front;
use crate::clients::Client;
use crate::multigets::Multiget;
use crate::upstreams::ask::{Ask, Destination};
use crate::upstreams::receiving::{Broken, Come, Part, Value};
use crate::upstreams::room::Waiter;
use crate::upstreams::{Follows, Opening};
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::Phase;
use fanin_proxy_net::Net;

/// Connections.
impl<N: Net> Front<N> {
    pub(crate) fn server_event(&mut self, server: usize, event: Event) {
        match self.upstreams.event(server, &event, &mut self.context) {
            Opening::Failed => self.server_fails(server, ServerError::Down, false),
            Opening::Reads => self.read_server(server),
            Opening::Idle => {}
        }
    }

    /// Opens connections that are due.
    pub(crate) fn connect_due(&mut self) {
        for server in self.upstreams.in_use() {
            if self.upstreams.connect_if_due(server, self.lifecycle.is_stopping(), &mut self.context) {
                self.server_fails(server, ServerError::Down, false);
            }
        }
        self.upstreams.rest_if_idle();
    }

    /// Closes a failed server connection: all its requests fail, and a client with a partial response may be closed.
    pub(crate) fn server_fails(&mut self, server: usize, trouble: ServerError, closes: bool) {
        self.upstreams.note_failure(server, trouble, &mut self.context);
        let asked = self.close_server(server);
        for (index, ask) in asked.into_iter().enumerate() {
            self.fails(server, &ask, trouble, closes && index == 0);
        }
    }

    /// Closes the connection of a server; returns its requests.
    fn close_server(&mut self, server: usize) -> VecDeque<Ask> {
        let mut left = self.upstreams.close(server, &mut self.context);
        for waiter in left.waiting {
            match waiter {
                Waiter::Batch(get) => {
                    self.multigets.get_mut(get).into_iter().for_each(Multiget::leaves_list);
                    self.ask_batches(get);
                }
                Waiter::Get(get) => {
                    self.clients.get_mut(get.ask.client).into_iter().for_each(Client::get_is_sent);
                    left.asked.push_back(get.ask);
                }
            }
        }
        left.asked
    }

    /// Follows the members of the pools, if some have changed; at the start of a loop iteration. While a server leaves, what is outstanding
    /// there fails.
    pub(crate) fn follow_members(&mut self) {
        if !self.upstreams.has_other_members(&self.context) {
            return;
        }
        for slot in self.upstreams.begin_to_follow(&self.context) {
            for Follows { server, phase } in self.upstreams.follow_members(slot) {
                self.follow_phase(server, phase);
            }
        }
        self.connect_due();
    }

    /// Follows the phases of the servers of a pool that is new to this thread.
    pub(crate) fn follow_phases(&mut self, slot: usize) {
        for Follows { server, phase } in self.upstreams.phases(slot) {
            self.follow_phase(server, phase);
        }
    }

    fn follow_phase(&mut self, server: usize, phase: Phase) {
        let before = self.upstreams.server(server).phase();
        for server in [server, server + 1] {
            if self.upstreams.follow_phase(server, phase) {
                let asked = self.close_server(server);
                asked.iter().for_each(|ask| self.fails(server, ask, ServerError::Closed, false));
            }
        }
        self.upstreams.report_phase(server, phase, before, &mut self.context);
    }
}

/// Responses.
impl<N: Net> Front<N> {
    /// Reads from a server while there is memory. After the peer has closed, reads everything, since no further event comes.
    pub(crate) fn read_server(&mut self, server: usize) {
        loop {
            if self.limits.is_spent(&self.context.net) {
                if self.upstreams.server_mut(server).pause(self.context.now) {
                    self.limits.delay_server(server);
                }
                return;
            }
            let mut bytes = std::mem::take(&mut self.scratch.bytes);
            let read = self.read_server_once(server, &mut bytes);
            self.scratch.bytes = bytes;
            match read {
                Ok(false) => return,
                Ok(true) => {}
                Err((trouble, closes)) => return self.server_fails(server, trouble, closes),
            }
        }
    }

    /// Reads once from a server and delivers the responses; returns whether to read again.
    fn read_server_once(&mut self, server: usize, bytes: &mut Vec<u8>) -> Result<bool, Broken> {
        let Some(Come { count, more }) = self.upstreams.read(server, bytes, &mut self.context)? else {
            return Ok(false);
        };
        let bytes = &bytes[..count];
        let mut at = 0;
        while at < bytes.len() {
            match self.take_part(server, &bytes[at..])? {
                0 => break,
                taken => at += taken,
            }
        }
        self.upstreams.server_mut(server).keep_unparsed(&bytes[at..]);
        Ok(more)
    }

    /// Delivers the next part of a server's response; returns the number of bytes parsed.
    fn take_part(&mut self, server: usize, bytes: &[u8]) -> Result<usize, Broken> {
        let (ask, part) = self.upstreams.next_part(server, bytes)?;
        match part {
            Part::None => Ok(0),
            Part::Taken(taken) => Ok(taken),
            Part::Line { line, last } => {
                self.take_line(server, &ask, line, last)?;
                if last {
                    self.response_ends(server, ask);
                }
                Ok(line.len())
            }
            Part::SingleLine { line, last } => {
                self.take_line(server, &ask, line, last)?;
                self.upstreams.server_mut(server).front_mut().into_iter().for_each(|front| front.hushed |= last);
                Ok(line.len())
            }
            Part::SingleEnd(taken) => {
                self.response_ends(server, Ask { hushed: false, ..ask });
                self.upstreams.send_next_single(server, &mut self.context);
                Ok(taken)
            }
            Part::Value(value) => {
                self.take_value(server, ask, &value)?;
                Ok(value.come.len())
            }
            Part::Streamed { value, taken } => {
                self.deliver(&ask, &value.bytes);
                if value.last {
                    self.response_ends(server, ask);
                }
                Ok(taken)
            }
        }
    }

    /// Handles a response line.
    fn take_line(&mut self, server: usize, ask: &Ask, line: &[u8], last: bool) -> Result<(), Broken> {
        if matches!(ask.shape, Shape::Meta { .. }) && !response::is_error(line) {
            let ask = self.upstreams.check_meta(server, *ask, line, &self.context)?;
            self.deliver_meta(&ask, b"");
            return Ok(());
        }
        if ask.shape == Shape::Values && last && !response::is_error(line) {
            let clients = match ask.to {
                Destination::Relay { .. } => 1,
                Destination::Joined(get) => self.coalescing.clients(get),
                _ => 0,
            };
            self.context.count_gets(clients, if ask.has_value { clients } else { 0 });
        }
        self.deliver_line(ask, line, last);
        Ok(())
    }

    /// Handles a value. One that is too large is dropped with an error.
    fn take_value(&mut self, server: usize, ask: Ask, value: &Value<'_>) -> Result<(), Broken> {
        let too_large = self.upstreams.is_too_large(server, value);
        let expects = self.expects_value(&ask, value, too_large);
        let ask = self.upstreams.check_value(server, ask, value, expects, &self.context)?;
        if !value.is_whole() {
            if too_large {
                self.deliver_too_large(server, &ask);
            }
            self.upstreams.begin_streamed(server, &ask, value, !too_large);
            return Ok(());
        }
        if matches!(ask.shape, Shape::Meta { .. }) {
            self.deliver_meta(&ask, &value.come[value.line.len()..]);
        } else {
            self.deliver(&ask, value.come);
        }
        if value.last {
            self.response_ends(server, ask);
        }
        Ok(())
    }

    /// Delivers the client's version of a meta response, with its value.
    fn deliver_meta(&mut self, ask: &Ask, value: &[u8]) {
        let told = self.upstreams.take_told();
        self.deliver(ask, &told);
        self.upstreams.return_told(told);
        self.deliver(ask, value);
    }

    /// Ends a response of the first outstanding request.
    fn response_ends(&mut self, server: usize, ask: Ask) {
        self.upstreams.response_ends(server, &mut self.context);
        self.has_written(&ask);
        self.upstreams.count_response(server, &ask, &self.context);
        self.deliver_end(server, &ask);
        self.ask_waiting(server);
        self.upstreams.report_if_through(server, &mut self.context);
    }
}
