//! Validation of servers' responses.
//!
//! Before a client gets a response it is checked: values by their whole key, meta responses by their opaque token, others by their words.
//! An unexpected, excess or truncated response closes the server's connection, and all its requests fail.

use std::io;

use fanin_memcache::{Cursor, Meta, Piece, Shape, closes, response, retold};

use super::Upstreams;
use super::ask::{Ask, Destination};
use super::streamed_value::StreamedValue;
use crate::context::{Context, READ};
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_net::budget::RESPONSE;

/// Up to this size a value is parsed whole; larger ones are streamed.
const WHOLE: usize = READ / 2;
/// Terminator of values and lines.
pub const END: &[u8] = b"\r\n";

/// Error for a value larger than the pool's `item`.
pub const TOO_LARGE: &str = "SERVER_ERROR value exceeds this front end's limit\r\n";

/// An invalid response; and whether the client, which has part of its response, must be closed.
pub type Broken = (ServerError, bool);
/// Malformed.
const INVALID: Broken = (ServerError::Invalid, false);
/// Truncated: a value has not the announced length.
const TRUNCATED: Broken = (ServerError::Invalid, true);

/// Bytes of a server in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Come {
    /// Number of them.
    pub count: usize,
    /// Whether to read again.
    pub more: bool,
}

/// Next part of the response to a server's first request.
#[derive(Debug)]
pub enum Part<'a> {
    /// Nothing complete.
    None,
    /// Bytes for nobody, or of a value that is not complete.
    Taken(usize),
    /// A line.
    Line { line: &'a [u8], last: bool },
    /// A line on a second connection, where the response does not end with its last line.
    SingleLine { line: &'a [u8], last: bool },
    /// The end of the response on a second connection.
    SingleEnd(usize),
    /// A value, or as much of it as has come.
    Value(Value<'a>),
    /// A large value is complete, after these bytes.
    Streamed { value: StreamedValue, taken: usize },
}

/// A value in a response.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    pub line: &'a [u8],
    /// The key, if the line has one.
    pub key: &'a [u8],
    /// Length of the value and its end.
    pub follow: u32,
    /// Whether the response ends with it.
    pub last: bool,
    /// The line, and as much of the value as has come.
    pub come: &'a [u8],
}

impl Value<'_> {
    /// Its length with its line.
    pub fn size(&self) -> usize {
        self.line.len() + self.follow as usize
    }

    /// Whether all of it has come.
    pub fn is_whole(&self) -> bool {
        self.come.len() == self.size()
    }
}

impl<S> Upstreams<S> {
    /// Reads once from a server into a buffer, behind the bytes that are not parsed; returns how much is there, or nothing if there is
    /// nothing to read.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn read<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        bytes: &mut Vec<u8>,
        context: &mut Context<N>,
    ) -> Result<Option<Come>, Broken> {
        let from = &mut self.servers[server];
        let there = from.unparsed();
        if bytes.len() < there + READ / 4 {
            bytes.resize(there + READ, 0);
        }
        let Some(result) = from.read(&mut context.net, &mut bytes[there..], context.now) else { return Ok(None) };
        let received = match result {
            Ok(received) if received.count > 0 => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Some(Come { count: 0, more: true })),
            Ok(_) | Err(_) => return Err((ServerError::Closed, false)),
        };
        let count = there + received.count;
        from.take_unparsed(&mut bytes[..count]);
        Ok(Some(Come { count, more: received.more }))
    }

    /// Parses the next part of the response to a server's first request, which is also returned.
    ///
    /// # Errors
    /// It is invalid.
    #[inline]
    pub fn next_part<'a>(&mut self, server: usize, bytes: &'a [u8]) -> Result<(Ask, Part<'a>), Broken> {
        let from = &mut self.servers[server];
        // A response without a request is invalid.
        let Some(&ask) = from.front() else { return Err(INVALID) };
        if from.is_second() {
            return Ok((ask, self.next_single_part(server, &ask, bytes)?));
        }
        if let Some(value) = from.streamed() {
            let some = bytes.len().min(value.left as usize);
            let taken = value.take(&bytes[..some]);
            if value.left > 0 {
                return Ok((ask, Part::Taken(taken)));
            }
            return match from.take_streamed() {
                Some(value) if value.keeps && !value.bytes.ends_with(END) => Err(TRUNCATED),
                Some(value) => Ok((ask, Part::Streamed { value, taken })),
                None => Ok((ask, Part::Taken(taken))),
            };
        }
        let part = match from.parse(bytes, ask.shape) {
            Piece::More => Part::None,
            Piece::Broken => return Err(INVALID),
            Piece::Line { line, last } => Part::Line { line, last },
            Piece::Value { line, key, follow, last } => {
                let (size, there) = (line.len() + follow as usize, bytes.len());
                if size <= WHOLE && size > there {
                    return Ok((ask, Part::None));
                }
                if size <= there && !bytes[line.len()..size].ends_with(END) {
                    return Err(TRUNCATED);
                }
                Part::Value(Value { line, key, follow, last, come: &bytes[..size.min(there)] })
            }
        };
        Ok((ask, part))
    }

    /// The same on a second connection: lines belong to the request until the closing line comes.
    #[cold]
    fn next_single_part<'a>(&mut self, server: usize, ask: &Ask, bytes: &'a [u8]) -> Result<Part<'a>, Broken> {
        let from = &mut self.servers[server];
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > response::LONGEST_LINE { Err(INVALID) } else { Ok(Part::None) };
        };
        let line = &bytes[..end + 1];
        if closes(line, from.note()) {
            // Otherwise the response is incomplete.
            return if ask.hushed { Ok(Part::SingleEnd(line.len())) } else { Err(INVALID) };
        }
        if from.is_too_long(line.len()) {
            return Err(INVALID);
        }
        match Cursor::default().next(bytes, ask.shape) {
            Piece::Line { line, last } if !ask.hushed => Ok(Part::SingleLine { line, last }),
            _ => Ok(Part::Taken(line.len())),
        }
    }

    /// Whether a value exceeds the limit.
    pub fn is_too_large(&self, server: usize, value: &Value<'_>) -> bool {
        value.follow > self.servers[server].longest_answer
    }

    /// Checks a value against the first request; its destination `expects` it or not, if it knows. Returns the request as it goes on.
    ///
    /// # Errors
    /// The value is not the requested one.
    #[inline]
    pub fn check_value<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        ask: Ask,
        value: &Value<'_>,
        expects: Option<bool>,
        context: &Context<N>,
    ) -> Result<Ask, Broken> {
        let from = &mut self.servers[server];
        from.value_comes(value.follow as usize);
        let right = match (ask.shape, expects) {
            (Shape::Meta { .. }, _) => return self.check_meta(server, ask, value.line, context),
            (_, Some(expects)) => expects,
            (_, None) => {
                let is_it = from.note() == value.key;
                is_it && from.front_mut().is_some_and(|ask| !std::mem::replace(&mut ask.has_value, true))
            }
        };
        if right { Ok(ask) } else { Err(INVALID) }
    }

    /// Checks the first line of a meta response against the first request, and writes the client's version of it, which
    /// [`Upstreams::take_told`] returns. Returns the request as it goes on.
    ///
    /// # Errors
    /// The line is not of the request.
    pub fn check_meta<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        ask: Ask,
        line: &[u8],
        context: &Context<N>,
    ) -> Result<Ask, Broken> {
        let (from, told) = (&mut self.servers[server], &mut self.told);
        told.clear();
        let words = line.strip_suffix(END).unwrap_or(line);
        let is_it = retold(words, from.note(), |bytes| told.extend_from_slice(bytes)).is_some();
        told.extend_from_slice(END);
        if let Some(text) = ask.to.replacement() {
            told.clear();
            told.extend_from_slice(text.as_bytes());
        }
        let now = from.front_mut().filter(|_| is_it).ok_or(INVALID)?;
        now.hushed = ask.suppresses(words);
        if let (Shape::Meta { command: Meta::Get, .. }, Destination::Relay { .. }) = (ask.shape, ask.to) {
            context.count_gets(1, usize::from(!words.starts_with(b"EN")));
        }
        Ok(*now)
    }

    /// Takes the client's version of the first line of a meta response; return its memory with [`Upstreams::return_told`].
    pub fn take_told(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.told)
    }

    pub fn return_told(&mut self, told: Vec<u8>) {
        self.told = told;
    }

    /// Begins a value that is held until its terminator has been seen; with `keeps` unset it is dropped.
    pub fn begin_streamed(&mut self, server: usize, ask: &Ask, value: &Value<'_>, keeps: bool) {
        let head = if matches!(ask.shape, Shape::Meta { .. }) { &self.told } else { value.line };
        let mut streamed = StreamedValue::new(value.follow, value.last, keeps);
        if keeps {
            streamed.bytes.extend(head);
        }
        streamed.take(&value.come[value.line.len()..]);
        self.servers[server].begin_streamed(streamed);
    }

    /// Removes the first request, whose response has ended.
    pub fn response_ends<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) {
        let from = &mut self.servers[server];
        from.pop();
        from.works(&mut context.net, RESPONSE);
        let is_out = from.is_out();
        if from.is_well() {
            self.report_state(server, None, context);
        }
        if is_out {
            self.answers_again(server, context);
        }
    }

    /// Reports a server that was busy and has answered everything.
    pub fn report_if_through<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) {
        if self.servers[server].is_no_longer_busy() {
            self.report_busy(server, false, context);
        }
    }
}
