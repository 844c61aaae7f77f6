//! Responses that are not relayed as they come: errors, and outcomes of requests that concern several servers.

use std::rc::Rc;

use fanin_memcache::{Shape, text};

use super::Clients;
use crate::context::Context;
use crate::migrations::Outcome;
use crate::multigets::ClientRequest;
use crate::upstreams::ask::{Ask, Destination};
use fanin_proxy_core::memory::Buffer;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

impl<S> Clients<S> {
    /// Reports a failure to the client of a request, unless it asked for silence; `label` names the server in lists. A flush goes on.
    pub fn report_failure(&mut self, ask: &Ask, trouble: ServerError, text: &'static str, label: &str) {
        let Some(client) = self.get_mut(ask.client) else { return };
        match ask.to {
            Destination::Relay { quiet: true } if !matches!(ask.shape, Shape::Meta { .. }) => {}
            Destination::TooLarge { silent: true } => {}
            Destination::Every | Destination::Flush { .. } => {
                client.responses.fail_of_every(ask.number, text.as_bytes());
            }
            Destination::Listing(_) => {
                let line = format!("STAT {label}:error {}\r\n", trouble.name());
                client.responses.put(ask.number, line.as_bytes());
            }
            _ => client.responses.put(ask.number, text.as_bytes()),
        }
        if !matches!(ask.to, Destination::Flush { .. }) {
            client.responses.part_ends(ask.number);
        }
    }

    /// After a reported failure, closes the client if its response was truncated.
    pub fn has_failed(&mut self, id: Id, closes: bool) {
        if closes && let Some(client) = self.get_mut(id) {
            client.input.close_after_output();
        }
        self.mark(id);
    }

    /// Delivers a response to the clients that have joined a get.
    pub fn deliver_joined(&mut self, who: Vec<ClientRequest>, held: Buffer) {
        let held = Rc::new(held);
        for (id, number) in who {
            if let Some(client) = self.get_mut(id) {
                client.responses.put_joined(number, &held);
                client.responses.part_ends(number);
            }
            self.mark(id);
        }
    }

    /// Reports a failure to the clients that have joined a get.
    pub fn fail_joined(&mut self, who: Vec<ClientRequest>, text: &str, closes: bool) {
        for (id, number) in who {
            if let Some(client) = self.get_mut(id) {
                client.responses.put(number, text.as_bytes());
                client.responses.part_ends(number);
            }
            self.has_failed(id, closes);
        }
    }

    /// Delivers a server's line of a list, whose names get the server's label as a prefix.
    pub fn deliver_listing(&mut self, ask: &Ask, line: &[u8], last: bool, label: &str) {
        let name = label.as_bytes();
        let parts: [&[u8]; 4] = match line.strip_prefix(b"STAT ") {
            Some(rest) => [b"STAT ", name, b":", rest],
            // Not a list.
            None if last && line != b"END\r\n" => [b"STAT ", name, b":error refused", b"\r\n"],
            None if last => [b""; 4],
            None => [b"", b"", b"", line],
        };
        if let Some(client) = self.get_mut(ask.client) {
            parts.iter().for_each(|part| client.responses.put(ask.number, part));
        }
    }

    /// Delivers the outcome of a migration as the last part of a response; a `silent` request gets no error.
    pub fn deliver_outcome<N: Net<Socket = S>>(
        &mut self,
        id: Id,
        number: u64,
        outcome: Outcome<'_>,
        silent: bool,
        context: &Context<N>,
    ) {
        let Some(client) = self.get_mut(id) else { return };
        client.responses.last_part(number);
        context.counters.get_hits.add(u64::from(matches!(outcome, Outcome::Value(_))));
        context.counters.get_misses.add(u64::from(matches!(outcome, Outcome::Missed)));
        match outcome {
            Outcome::Value(answer) => {
                [&answer, text::END.as_bytes()].iter().for_each(|part| client.responses.put(number, part))
            }
            Outcome::Missed => client.responses.put(number, text::END.as_bytes()),
            Outcome::Done => {}
            Outcome::Failed(_) if silent => client.responses.retract(number),
            Outcome::Failed(line) => {
                client.responses.retract(number);
                client.responses.put(number, line);
            }
        }
        client.responses.part_ends(number);
        self.mark(id);
    }
}
