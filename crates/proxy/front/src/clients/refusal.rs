//! Requests that no server gets: errors for clients.

use fanin_memcache::{Command, Flags, Keyed, Meta, text};

use super::Front;
use super::request::BINARY_HEADER;
use super::upstreams::ask::Destination;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_net::Net;

/// Body of the error response to a client that uses the binary protocol.
const NOT_BINARY: &[u8] = b"only the text protocol is supported; disable the binary protocol in the client";

impl<N: Net> Front<N> {
    /// Ends a client after input that cannot be continued.
    pub(super) fn ends_with(&mut self, id: Id, told: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if !told.is_empty() {
            client.responses.say(told, self.now);
        }
        client.input.close_after_output();
    }

    /// Refuses a request with an invalid key.
    pub(super) fn refuse(&mut self, id: Id) {
        self.counters.errors_refused.add(1);
        self.say(id, text::BAD_FORMAT);
    }

    /// Refuses a value without its terminator.
    pub(super) fn refuse_chunk(&mut self, id: Id, keyed: &Keyed<'_>) {
        self.counters.errors_refused.add(1);
        self.say(id, if is_silent(keyed) { "" } else { text::BAD_CHUNK });
    }

    /// Refuses a value that is too large; like memcached, this deletes the old value.
    pub(super) fn refuse_value(&mut self, id: Id, keyed: &Keyed<'_>) {
        self.counters.requests.add(1);
        self.counters.errors_refused.add(1);
        let to = Destination::TooLarge { silent: is_silent(keyed) };
        if !keyed.forgets() {
            return self.say(id, to.replacement().unwrap_or_default());
        }
        let base64: &[u8] = if keyed.base64() { b"b" } else { b"" };
        let command = match Flags::read(Meta::Delete, keyed.key, base64) {
            Ok(flags) if matches!(keyed.command, Command::Meta(..)) => Command::Meta(Meta::Delete, flags),
            _ => Command::Delete,
        };
        self.ask_keyed(id, &Keyed { command, key: keyed.key, quiet: false }, to, None);
    }

    /// Sends an error in the binary protocol.
    pub(super) fn refuse_binary(&mut self, id: Id, header: &[u8]) -> Option<()> {
        let client = self.clients.get_mut(id)?;
        let mut answer = [0; BINARY_HEADER];
        // Magic, the client's opcode, "not supported", body length, the client's opaque.
        (answer[0], answer[1], answer[7], answer[11]) = (0x81, *header.get(1)?, 0x83, NOT_BINARY.len() as u8);
        answer[12..16].copy_from_slice(header.get(12..16)?);
        client.responses.say(&[&answer, NOT_BINARY].concat(), self.now);
        client.input.close_after_output();
        self.counters.errors_refused.add(1);
        Some(())
    }

    fn say(&mut self, id: Id, text: &str) {
        self.clients.get_mut(id).into_iter().for_each(|client| client.responses.say(text.as_bytes(), self.now));
    }
}

/// Whether the client wants no error: a quiet request that is no meta command.
fn is_silent(keyed: &Keyed<'_>) -> bool {
    keyed.quiet && !matches!(keyed.command, Command::Meta(..))
}
