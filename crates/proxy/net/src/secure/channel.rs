//! Bytes between a socket and the front end, with or without TLS, and those on their way.

use std::io;

use super::session::{CHUNK, Session};
use crate::budget::{RECORD, Work};
use crate::{Net, Outgoing, Received};
use fanin_proxy_core::memory::Buffer;

/// Bytes read from a socket at once, with those of an incomplete record.
pub const READ: usize = 256 << 10;
/// Longest incomplete record, or message of a handshake with the records that divide it.
const LONGEST_RECORD: usize = 128 << 10;
/// Most records decoded at once. A message of a handshake may not be divided into more.
const MOST_RECORDS: usize = 256;
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
    /// Bytes of a header or of records. TLS has seen the first of them, and waits for more of the record; others are whole records for the
    /// next read.
    raw: Buffer,
    seen: usize,
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
        self.seen < self.raw.len() && self.session.is_some()
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
        self.decode(io.shared, 0, 0, &mut [])?;
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
        let there = self.raw.len();
        let records = &mut io.shared.records;
        records.resize(READ, 0);
        // Plaintext is never longer than its records.
        let (most, mut end, mut more) = (into.len(), there, true);
        if !self.has_records() {
            let room = records.len().min(most).saturating_sub(there);
            if room == 0 || there > LONGEST_RECORD {
                return Err(invalid("TLS: a record is too long"));
            }
            let received = io.work.read(io.net, io.socket, &mut records[there..there + room])?;
            self.ended = received.count == 0;
            (end, more) = (there + received.count, received.more);
        }
        records[..there].copy_from_slice(&self.raw);
        let (length, count) = first_records(&records[..end], most);
        io.work.budget.spend(io.work.account, RECORD * count as u64);
        let decoded = self.decode(io.shared, length, end, into);
        let flushed = self.flush(io);
        let plain = decoded?;
        flushed?;
        Ok(Piece { plain, more: more || self.ended || self.has_records(), ended: self.ended })
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

    /// Decodes the first `length` of the bytes that were read, with the earlier rest before them, and keeps the others up to `end`; returns
    /// the number of bytes of plaintext.
    fn decode(&mut self, shared: &mut Shared, length: usize, end: usize, into: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &mut self.session else { return Ok(0) };
        let records = &mut shared.records[..end];
        self.out.fill(|| std::mem::take(&mut shared.spare));
        let decoded = session.decode(&mut records[..length], into, &mut self.out);
        self.failed |= decoded.is_err();
        let decoded = decoded.map_err(failed)?;
        self.ended |= decoded.ended;
        if length < end && decoded.used == 0 {
            self.failed = true;
            return Err(invalid("TLS: a message of the handshake has too many records"));
        }
        let rest = &records[decoded.used..];
        self.seen = length - decoded.used;
        if rest.is_empty() {
            // An idle connection has no buffer.
            self.raw = Buffer::default();
        } else {
            self.raw.clear();
            self.raw.extend(rest);
        }
        Ok(decoded.plain)
    }

    /// Appends a text to the output.
    ///
    /// # Errors
    /// Of TLS.
    pub fn put(&mut self, text: &[u8]) -> io::Result<()> {
        match &mut self.session {
            Some(_) if self.failed => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(session) => {
                let done = self.raw.with(|raw| session.encrypt(text, &mut raw[..self.seen], &mut self.out));
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
            let ended = self.raw.with(|raw| session.end(&mut raw[..self.seen], &mut self.out));
            if ended.is_ok() {
                // The connection is closed anyway.
                let _ = self.flush(io);
            }
        }
    }
}

/// Length and number of the first records of these bytes: those to decode at once. If these are all whole records, an incomplete one at the
/// end belongs to them.
fn first_records(bytes: &[u8], most: usize) -> (usize, usize) {
    let (mut at, mut count) = (0, 0);
    while let Some(&[_, _, _, high, low]) = bytes.get(at..at + RECORD_HEADER) {
        let end = at + RECORD_HEADER + usize::from(u16::from_be_bytes([high, low]));
        if end > bytes.len() {
            break;
        }
        if count == MOST_RECORDS || end > most {
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
