//! Bytes between a socket and the front end, with or without TLS, and those on their way.

use std::io;

use super::session::{CHUNK, Decoded, Session};
use crate::budget::{RECORD, SILENT_LENGTH, SILENT_RECORD, Work};
use crate::{Net, Outgoing, Received};
use fanin_proxy_core::memory::Buffer;

/// Bytes read from a socket at once, with those of an incomplete record.
pub const READ: usize = 256 << 10;
/// Longest incomplete record, or message of a handshake with the records that divide it.
const LONGEST_RECORD: usize = 128 << 10;
/// Most records decoded at once. A message of a handshake may not be divided into more.
const MOST_RECORDS: usize = 256;
/// Most bytes that a record has beside its plaintext.
const RECORD_GROWTH: usize = 32;
/// Length of a record's header, whose last two bytes are the length of the rest.
const RECORD_HEADER: usize = 5;
/// Encoded bytes above which nothing more is encoded.
const MOST_UNSENT: usize = 256 << 10;

/// Buffers that connections of a thread share.
#[derive(Default)]
pub struct Shared {
    /// For records that are read.
    records: Vec<u8>,
    /// For plaintext while a connection to a server opens.
    pub plain: Vec<u8>,
    /// An empty buffer for output.
    spare: Buffer,
}

/// A socket with its network, the shared buffers, and its work in this loop iteration.
pub struct Io<'a, N: Net> {
    pub net: &'a mut N,
    pub socket: &'a mut N::Socket,
    pub shared: &'a mut Shared,
    pub work: Work<'a>,
}

/// Bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How many.
    pub plain: usize,
    /// Whether more may be there.
    pub more: bool,
    /// Whether the peer has ended its side.
    pub ended: bool,
}

/// A connection's session and bytes.
#[derive(Default)]
pub struct Channel {
    pub session: Option<Session>,
    /// Bytes of a header or of records: those before `start` are done with. TLS has seen the first of the others, and waits for more of the
    /// record or message; further ones are whole records for the next read.
    raw: Buffer,
    start: usize,
    seen: usize,
    /// Records to decode at once at least: those of a message that is divided into more than the budget permits.
    least: usize,
    out: Outgoing,
    ended: bool,
    /// TLS has failed.
    failed: bool,
}

impl Channel {
    /// Whether a handshake is not complete.
    pub fn is_handshaking(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_handshaking)
    }

    /// Whether bytes wait to be sent.
    pub fn has_output(&self) -> bool {
        self.out.left() > 0
    }

    /// Whether whole records wait to be decoded.
    fn has_records(&self) -> bool {
        self.start + self.seen < self.raw.len() && self.session.is_some()
    }

    /// Memory of its bytes.
    pub fn holds(&self) -> usize {
        self.raw.capacity() + self.out.holds()
    }

    /// Starts a handshake, which a server waits for.
    ///
    /// # Errors
    /// The connection's error.
    pub fn begin<N: Net>(&mut self, io: &mut Io<'_, N>) -> io::Result<()> {
        self.decode(io, &mut [], &mut [])?;
        self.flush(io)
    }

    /// The bytes of a header so far.
    pub fn header(&self) -> &[u8] {
        &self.raw
    }

    /// Reads up to `count` bytes of a header, without TLS.
    ///
    /// # Errors
    /// `WouldBlock`; or the connection has ended.
    pub fn receive_header<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8], count: usize) -> io::Result<()> {
        let count = count.min(into.len());
        match io.work.read(io.net, io.socket, &mut into[..count])?.count {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.raw.extend(&into[..count]);
                Ok(())
            }
        }
    }

    /// Ends the header.
    pub fn header_ends(&mut self) {
        self.raw = Buffer::default();
    }

    /// Reads once. Nothing may come of it, although the connection goes on.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there; the connection's error; or, of TLS, an error with the reason.
    pub fn receive<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8]) -> io::Result<Piece> {
        if self.ended {
            return Ok(Piece { plain: 0, more: false, ended: true });
        }
        if self.failed {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if self.session.is_none() {
            let Received { count, more } = io.work.read(io.net, io.socket, into)?;
            return Ok(Piece { plain: count, more, ended: count == 0 });
        }
        io.work.admit()?;
        let received = if self.has_records() { self.decode_kept(io, into) } else { self.decode_new(io, into) };
        let flushed = self.flush(io);
        let (plain, more) = received?;
        flushed?;
        Ok(Piece { plain, more: more || self.ended || self.has_records(), ended: self.ended })
    }

    /// Decodes records that were read before; returns the number of bytes of plaintext, and whether more may be there.
    fn decode_kept<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8]) -> io::Result<(usize, bool)> {
        let mut raw = std::mem::take(&mut self.raw);
        let start = self.start;
        let decoded = raw.with(|raw| self.decode(io, &mut raw[start..], into));
        self.start += decoded.as_ref().map_or(0, |decoded| decoded.used);
        if self.start < raw.len() {
            self.raw = raw;
        } else {
            // An idle connection has no buffer.
            self.start = 0;
        }
        Ok((decoded?.plain, true))
    }

    /// Reads records and decodes them; returns the same.
    fn decode_new<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8]) -> io::Result<(usize, bool)> {
        let mut records = std::mem::take(&mut io.shared.records);
        let done = self.decode_into(io, &mut records, into);
        io.shared.records = records;
        done
    }

    fn decode_into<N: Net>(
        &mut self,
        io: &mut Io<'_, N>,
        records: &mut Vec<u8>,
        into: &mut [u8],
    ) -> io::Result<(usize, bool)> {
        let there = self.raw.len() - self.start;
        records.resize(READ, 0);
        // Plaintext is never longer than its records.
        let room = records.len().min(into.len()).saturating_sub(there);
        if room == 0 || there > LONGEST_RECORD {
            return Err(invalid("TLS: a record is too long"));
        }
        let received = io.work.read(io.net, io.socket, &mut records[there..there + room])?;
        self.ended = received.count == 0;
        records[..there].copy_from_slice(&self.raw[self.start..]);
        let records = &mut records[..there + received.count];
        let decoded = self.decode(io, records, into)?;
        let rest = &records[decoded.used..];
        self.start = 0;
        if rest.is_empty() {
            self.raw = Buffer::default();
        } else {
            self.raw.clear();
            self.raw.extend(rest);
        }
        Ok((decoded.plain, received.more))
    }

    /// Most records to decode now: as many as the budget of this iteration permits, whatever they contain. Messages of a handshake are few,
    /// and counted on their own.
    fn most_records<N: Net>(&self, io: &Io<'_, N>) -> usize {
        if self.is_handshaking() {
            return MOST_RECORDS;
        }
        let permitted = usize::try_from(io.work.left() / SILENT_RECORD).unwrap_or(MOST_RECORDS);
        permitted.clamp(self.least.max(1), MOST_RECORDS)
    }

    /// Reads until something comes of it, or nothing more is there.
    ///
    /// # Errors
    /// As for [`Channel::receive`].
    pub fn read<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8]) -> io::Result<Received> {
        loop {
            let Piece { plain, more, ended } = self.receive(io, into)?;
            if plain > 0 || ended {
                return Ok(Received { count: plain, more });
            }
        }
    }

    /// Decodes the first of these bytes.
    fn decode<N: Net>(&mut self, io: &mut Io<'_, N>, bytes: &mut [u8], into: &mut [u8]) -> io::Result<Decoded> {
        let (length, count) = first_records(bytes, into.len(), self.most_records(io));
        let Some(session) = &mut self.session else { return Ok(Decoded::default()) };
        let is_handshaking = session.is_handshaking();
        self.out.fill(|| std::mem::take(&mut io.shared.spare));
        let decoded = session.decode(&mut bytes[..length], into, &mut self.out);
        self.failed |= decoded.is_err();
        let decoded = decoded.map_err(failed)?;
        self.ended |= decoded.ended;
        io.work.spend(if is_handshaking { RECORD * count as u64 } else { work_of(&decoded, count) });
        self.seen = length - decoded.used;
        self.least = 1;
        if decoded.used == 0 && length < bytes.len() {
            // A message of the handshake is divided into more records.
            self.least = count + 1;
            if count == MOST_RECORDS || count == 0 {
                self.failed = true;
                return Err(invalid("TLS: a message of the handshake has too many records"));
            }
        }
        Ok(decoded)
    }

    /// Appends a text to the output.
    ///
    /// # Errors
    /// Of TLS.
    pub fn put(&mut self, text: &[u8]) -> io::Result<()> {
        match &mut self.session {
            Some(_) if self.failed => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(session) => {
                let done = self
                    .raw
                    .with(|raw| session.encrypt(text, &mut raw[self.start..self.start + self.seen], &mut self.out));
                self.failed |= done.is_err();
                done.map_err(failed)
            }
            None => {
                self.out.extend(text);
                Ok(())
            }
        }
    }

    /// Sends the output as far as possible.
    ///
    /// # Errors
    /// The connection's error.
    pub fn flush<N: Net>(&mut self, io: &mut Io<'_, N>) -> io::Result<()> {
        io.net.write(io.socket, &mut self.out)?;
        if let Some(buffer) = self.out.take_empty().filter(|buffer| buffer.capacity() > io.shared.spare.capacity()) {
            io.shared.spare = buffer;
        }
        Ok(())
    }

    /// Encodes and sends bytes as far as possible. Encoded ones still belong to `out` until they are sent.
    ///
    /// # Errors
    /// The connection's error, or one of TLS.
    pub fn send<N: Net>(&mut self, io: &mut Io<'_, N>, out: &mut Outgoing) -> io::Result<()> {
        loop {
            self.out.fill(|| std::mem::take(&mut io.shared.spare));
            while !out.unsent().is_empty() && self.out.left() < MOST_UNSENT && !self.is_handshaking() {
                let count = out.next_record().unwrap_or(out.unsent().len().min(CHUNK));
                self.put(&out.unsent()[..count])?;
                out.wrote(count);
            }
            self.flush(io)?;
            if out.unsent().is_empty() || self.has_output() || self.is_handshaking() {
                break;
            }
        }
        out.has_encoded(self.out.left());
        Ok(())
    }

    /// Tells the peer that this side ends, as far as that is possible at once.
    pub fn end<N: Net>(&mut self, io: &mut Io<'_, N>) {
        if let Some(session) = self.session.as_mut().filter(|_| !self.failed) {
            let ended = self.raw.with(|raw| session.end(&mut raw[self.start..self.start + self.seen], &mut self.out));
            if ended.is_ok() {
                // The connection is closed anyway.
                let _ = self.flush(io);
            }
        }
    }
}

/// Work of these records after a handshake.
fn work_of(decoded: &Decoded, count: usize) -> u64 {
    let silent = count.saturating_sub(decoded.filled) as u64;
    let length = decoded.used.saturating_sub(decoded.plain + RECORD_GROWTH * decoded.filled) as u64;
    let silent_work = if silent == 0 { 0 } else { SILENT_RECORD * silent.max(length / SILENT_LENGTH) };
    RECORD * decoded.filled as u64 + silent_work
}

/// Length and number of the first records of these bytes, at most this many, of which at most this much plaintext comes. If these are all whole
/// records, an incomplete one at the end belongs to them.
fn first_records(bytes: &[u8], most: usize, records: usize) -> (usize, usize) {
    let (mut at, mut count) = (0, 0);
    while let Some(&[_, _, _, high, low]) = bytes.get(at..at + RECORD_HEADER) {
        let end = at + RECORD_HEADER + usize::from(u16::from_be_bytes([high, low]));
        if end > bytes.len() {
            break;
        }
        if count == records || end > most {
            return (at, count);
        }
        (at, count) = (end, count + 1);
    }
    (bytes.len(), count)
}

/// An error of TLS; its kind distinguishes it from a socket's.
fn failed(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Input that breaks a protocol.
pub fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
