//! Requests that no server gets: errors for clients.

use fanin_memcache::{Command, Flags, Keyed, Meta, text};

use super::client::Client;
use super::requests::BINARY_HEADER;
use crate::context::Context;
use crate::upstreams::ask::Destination;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_net::Net;

/// Body of the error response to a client that uses the binary protocol.
const NOT_BINARY: &[u8] = b"only the text protocol is supported; disable the binary protocol in the client";

impl<S> Client<S> {
    /// Ends after input that cannot be continued.
    pub fn ends_with(&mut self, told: &str, now: Nanos) {
        if !told.is_empty() {
            self.responses.say(told.as_bytes(), now);
        }
        self.input.close_after_output();
    }

    /// Refuses a request with this text.
    pub fn refuse<N: Net<Socket = S>>(&mut self, text: &str, context: &Context<N>) {
        context.counters.errors_refused.add(1);
        self.responses.say(text.as_bytes(), context.now);
    }

    /// Refuses a value without its terminator.
    pub fn refuse_chunk<N: Net<Socket = S>>(&mut self, keyed: &Keyed<'_>, context: &Context<N>) {
        self.refuse(if is_silent(keyed) { "" } else { text::BAD_CHUNK }, context);
    }

    /// Refuses a value that is too large. Like memcached, this deletes the old value: returns the request for that, if one is needed, and
    /// its destination.
    pub fn refuse_value<'k, N: Net<Socket = S>>(
        &mut self,
        keyed: &Keyed<'k>,
        context: &Context<N>,
    ) -> Option<(Keyed<'k>, Destination)> {
        context.counters.requests.add(1);
        let to = Destination::TooLarge { silent: is_silent(keyed) };
        if !keyed.forgets() {
            self.refuse(to.replacement().unwrap_or_default(), context);
            return None;
        }
        context.counters.errors_refused.add(1);
        let base64: &[u8] = if keyed.base64() { b"b" } else { b"" };
        let command = match Flags::read(Meta::Delete, keyed.key, base64) {
            Ok(flags) if matches!(keyed.command, Command::Meta(..)) => Command::Meta(Meta::Delete, flags),
            _ => Command::Delete,
        };
        Some((Keyed { command, key: keyed.key, quiet: false }, to))
    }

    /// Sends an error in the binary protocol.
    pub fn refuse_binary<N: Net<Socket = S>>(&mut self, header: &[u8], context: &Context<N>) -> Option<()> {
        let mut answer = [0; BINARY_HEADER];
        // Magic, the client's opcode, "not supported", body length, the client's opaque.
        (answer[0], answer[1], answer[7], answer[11]) = (0x81, *header.get(1)?, 0x83, NOT_BINARY.len() as u8);
        answer[12..16].copy_from_slice(header.get(12..16)?);
        self.responses.say(&[&answer, NOT_BINARY].concat(), context.now);
        self.input.close_after_output();
        context.counters.errors_refused.add(1);
        Some(())
    }
}

/// Whether the client wants no error: a quiet request that is no meta command.
fn is_silent(keyed: &Keyed<'_>) -> bool {
    keyed.quiet && !matches!(keyed.command, Command::Meta(..))
}
