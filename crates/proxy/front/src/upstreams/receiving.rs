//! Validation of servers' responses.
//!
//! Before a client gets a response it is checked: values by their whole key, meta responses by their opaque token, others by their words.
//! An unexpected, excess or truncated response closes the server's connection, and all its requests fail.

use std::io;

use fanin_memcache::{Cursor, Meta, Piece, Shape, closes, response, retold};

use super::upstreams::ask::Ask;
use super::upstreams::streamed_value::StreamedValue;
use super::{Front, READ};
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::{Net, Received};

/// Up to this size a value is parsed whole; larger ones are streamed.
const WHOLE: usize = READ / 2;
/// Terminator of values and lines.
pub const END: &[u8] = b"\r\n";

/// An invalid response; and whether the client, which has part of its response, must be closed.
pub type Broken = (ServerError, bool);
/// Malformed.
const INVALID: Broken = (ServerError::Invalid, false);
/// Truncated: a value has not the announced length.
const TRUNCATED: Broken = (ServerError::Invalid, true);

impl<N: Net> Front<N> {
    /// Delivers the responses in bytes that were read behind `there` unparsed ones; returns whether to read again.
    pub(super) fn handle_read(
        &mut self,
        server: usize,
        result: io::Result<Received>,
        there: usize,
        bytes: &mut [u8],
    ) -> Result<bool, Broken> {
        let received = match result {
            Ok(received) if received.count > 0 => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Ok(_) | Err(_) => return Err((ServerError::Closed, false)),
        };
        let bytes = &mut bytes[..there + received.count];
        self.upstreams.server_mut(server).take_unparsed(bytes);
        let took = self.take_responses(server, bytes)?;
        self.upstreams.server_mut(server).keep_unparsed(&bytes[took..]);
        Ok(received.more)
    }

    /// Delivers responses; returns the number of bytes parsed.
    fn take_responses(&mut self, server: usize, bytes: &[u8]) -> Result<usize, Broken> {
        let mut at = 0;
        while at < bytes.len() {
            let from = self.upstreams.server_mut(server);
            // A response without a request is invalid.
            let Some(&ask) = from.front() else { return Err(INVALID) };
            if from.is_second() {
                match self.take_single_line(server, ask, &bytes[at..])? {
                    0 => break,
                    len => at += len,
                }
                continue;
            }
            if let Some(value) = from.streamed() {
                let some = (bytes.len() - at).min(value.left as usize);
                at += value.take(&bytes[at..at + some]);
                if value.left == 0 {
                    self.large_value_ends(server, ask)?;
                }
                continue;
            }
            match from.parse(&bytes[at..], ask.shape) {
                Piece::More => break,
                Piece::Broken => return Err(INVALID),
                Piece::Line { line, last } => {
                    self.take_line(server, &ask, line, last)?;
                    at += line.len();
                    if last {
                        self.response_ends(server, ask);
                    }
                }
                Piece::Value { line, key, follow, last } => {
                    let (size, there) = (line.len() + follow as usize, bytes.len() - at);
                    if size <= WHOLE && size > there {
                        break;
                    }
                    let value = &bytes[at + line.len()..at + size.min(there)];
                    if size <= there && !value.ends_with(END) {
                        return Err(TRUNCATED);
                    }
                    let ask = self.wants(server, ask, line, key, follow)?;
                    if size > there {
                        self.large_value_begins(server, &ask, line, follow, value, last);
                    } else {
                        self.give_value(&ask, line, &bytes[at..at + size]);
                        if last {
                            self.response_ends(server, ask);
                        }
                    }
                    at += size.min(there);
                }
            }
        }
        Ok(at)
    }

    /// Handles a line on a server's second connection: it belongs to the request until the closing line comes. Returns its length.
    #[cold]
    fn take_single_line(&mut self, server: usize, ask: Ask, bytes: &[u8]) -> Result<usize, Broken> {
        let from = self.upstreams.server_mut(server);
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > response::LONGEST_LINE { Err(INVALID) } else { Ok(0) };
        };
        let line = &bytes[..end + 1];
        if closes(line, from.note()) {
            // The response is incomplete.
            if !ask.hushed {
                return Err(INVALID);
            }
            self.response_ends(server, Ask { hushed: false, ..ask });
            self.upstreams.send_next_single(server, self.now);
            return Ok(line.len());
        }
        if from.is_too_long(line.len()) {
            return Err(INVALID);
        }
        if !ask.hushed
            && let Piece::Line { line, last } = Cursor::default().next(bytes, ask.shape)
        {
            self.take_line(server, &ask, line, last)?;
            if let Some(front) = self.upstreams.server_mut(server).front_mut() {
                front.hushed |= last;
            }
        }
        Ok(line.len())
    }

    /// Handles a response line.
    fn take_line(&mut self, server: usize, ask: &Ask, line: &[u8], last: bool) -> Result<(), Broken> {
        if matches!(ask.shape, Shape::Meta { .. }) && !response::is_error(line) {
            let ask = self.prepare_meta(server, *ask, line)?;
            self.give_value(&ask, b"", b"");
        } else {
            if ask.shape == Shape::Values && last && !response::is_error(line) {
                self.count_get(ask, ask.has_value);
            }
            self.deliver_line(ask, line, last);
        }
        Ok(())
    }

    /// Whether a value with this line and key matches the request; prepares the client's version of it.
    fn wants(&mut self, server: usize, ask: Ask, line: &[u8], key: &[u8], follow: u32) -> Result<Ask, Broken> {
        let too_large = follow > self.upstreams.server(server).longest_answer;
        let size = if too_large { 0 } else { line.len() + follow as usize };
        self.upstreams.server_mut(server).value_comes(follow as usize);
        let expected = self.expects_value(&ask, key, size, follow as usize);
        let right = match (ask.shape, expected) {
            (Shape::Meta { .. }, _) => return self.prepare_meta(server, ask, line),
            (_, Some(expected)) => expected,
            (_, None) => {
                let from = self.upstreams.server_mut(server);
                let is_it = from.note() == key;
                is_it && from.front_mut().is_some_and(|ask| !std::mem::replace(&mut ask.has_value, true))
            }
        };
        if right { Ok(ask) } else { Err(INVALID) }
    }

    /// Checks the first line of a meta response and writes the client's version of it to the scratch line.
    fn prepare_meta(&mut self, server: usize, ask: Ask, line: &[u8]) -> Result<Ask, Broken> {
        let told = &mut self.scratch.line;
        told.clear();
        let words = line.strip_suffix(END).unwrap_or(line);
        let is_it =
            retold(words, self.upstreams.server(server).note(), |bytes| told.extend_from_slice(bytes)).is_some();
        told.extend_from_slice(END);
        if let Some(text) = ask.to.replacement() {
            told.clear();
            told.extend_from_slice(text.as_bytes());
        }
        let now = self.upstreams.server_mut(server).front_mut().filter(|_| is_it).ok_or(INVALID)?;
        now.hushed = ask.suppresses(words);
        let now = *now;
        if let Shape::Meta { command: Meta::Get, .. } = ask.shape {
            self.count_get(&ask, !words.starts_with(b"EN"));
        }
        Ok(now)
    }

    /// Delivers a whole value.
    fn give_value(&mut self, ask: &Ask, line: &[u8], all: &[u8]) {
        if let Shape::Meta { .. } = ask.shape {
            let told = std::mem::take(&mut self.scratch.line);
            self.deliver(ask, &told);
            self.scratch.line = told;
            self.deliver(ask, &all[line.len()..]);
        } else {
            self.deliver(ask, all);
        }
    }

    /// Begins a value that is held until its terminator has been seen; one that is too large is dropped with an error.
    fn large_value_begins(&mut self, server: usize, ask: &Ask, line: &[u8], follow: u32, come: &[u8], last: bool) {
        let keeps = follow <= self.upstreams.server(server).longest_answer;
        if !keeps {
            self.deliver_too_large(server, ask);
        }
        let head = if matches!(ask.shape, Shape::Meta { .. }) { &self.scratch.line } else { line };
        let mut value = StreamedValue::new(follow, last, keeps);
        if keeps {
            value.bytes.extend(head);
        }
        value.take(come);
        self.upstreams.server_mut(server).begin_streamed(value);
    }

    /// Ends such a value.
    fn large_value_ends(&mut self, server: usize, ask: Ask) -> Result<(), Broken> {
        let Some(value) = self.upstreams.server_mut(server).take_streamed() else { return Ok(()) };
        if value.keeps && !value.bytes.ends_with(END) {
            return Err(TRUNCATED);
        }
        self.deliver(&ask, &value.bytes);
        if value.last {
            self.response_ends(server, ask);
        }
        Ok(())
    }
}
