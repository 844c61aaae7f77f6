//! TLS of one connection, without I/O: records in, plaintext out, and back (RFC 8446, RFC 5246).
//!
//! It uses rustls's interface without buffers, so that an idle connection has none, and all buffers are charged.

use std::fmt::Display;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{CommonState, Error, HandshakeKind};

use super::certificate;
use crate::Outgoing;
use fanin_proxy_core::clock::unix;

/// Most plaintext per call of [`Session::encrypt`], so that its records stay in the processor's cache.
pub const CHUNK: usize = 64 << 10;
/// Largest encoded record of a handshake.
const RECORD: usize = 17 << 10;
/// Largest plaintext of a record, the most by which it grows, and room for a key update before it.
const FRAGMENT: usize = 16 << 10;
const GROWTH: usize = 32;
const KEY_UPDATE: usize = 512;

/// A connection's TLS.
pub enum Session {
    /// Of a client.
    Client(Box<UnbufferedServerConnection>),
    /// To a server.
    Server(Box<UnbufferedClientConnection>),
}

/// Result of decoding records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoded {
    /// Bytes of records that are done with.
    pub used: usize,
    /// Bytes of plaintext, and the number of records that had some.
    pub plain: usize,
    pub filled: usize,
    /// Whether the peer has ended its side.
    pub ended: bool,
}

/// Either side of rustls's connections.
trait Records {
    type Data;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Whether records wait to be encoded.
    fn has_output(&self) -> bool;
}

impl Records for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }

    fn has_output(&self) -> bool {
        self.wants_write()
    }
}

impl Records for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }

    fn has_output(&self) -> bool {
        self.wants_write()
    }
}

impl Session {
    fn state(&self) -> &CommonState {
        match self {
            Session::Client(connection) => connection,
            Session::Server(connection) => connection,
        }
    }

    /// Whether the handshake is not complete.
    pub fn is_handshaking(&self) -> bool {
        self.state().is_handshaking()
    }

    /// The peer's certificate, if it has presented one.
    pub fn certificate(&self) -> Option<&[u8]> {
        Some(self.state().peer_certificates()?.first()?)
    }

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.state().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The name in the peer's certificate, if it has one.
    pub fn certificate_name(&self) -> Option<String> {
        certificate::name(self.state().peer_certificates()?.first()?)
    }

    /// Whether the handshake resumed a session of a client whose certificate has expired since: the ticket does not know.
    pub fn has_expired(&self) -> bool {
        let certificate = self.state().peer_certificates().and_then(<[_]>::first).filter(|_| self.is_resumed());
        certificate.is_some_and(|one| {
            certificate::valid_until(one).is_none_or(|until| until < (unix() / 1_000_000_000) as i64)
        })
    }

    /// Decodes complete records, which it overwrites, to plaintext, which is never longer. Responses of the protocol itself go to `out`.
    ///
    /// # Errors
    /// The peer breaks the protocol, or is not accepted; `out` then has the alert for it. The session must not be used again.
    pub fn decode(&mut self, records: &mut [u8], into: &mut [u8], out: &mut Outgoing) -> Result<Decoded, Error> {
        match self {
            Session::Client(connection) => decode(&mut **connection, records, into, out),
            Session::Server(connection) => decode(&mut **connection, records, into, out),
        }
    }

    /// Encrypts up to [`CHUNK`] bytes to `out`. The incomplete record at hand must be passed, too.
    ///
    /// # Errors
    /// The handshake is not complete, or the keys are used up.
    pub fn encrypt(&mut self, plain: &[u8], record: &mut [u8], out: &mut Outgoing) -> Result<(), Error> {
        match self {
            Session::Client(connection) => write(&mut **connection, Some(plain), record, out),
            Session::Server(connection) => write(&mut **connection, Some(plain), record, out),
        }
    }

    /// Appends the notice that this side ends to `out`.
    ///
    /// # Errors
    /// The handshake is not complete.
    pub fn end(&mut self, record: &mut [u8], out: &mut Outgoing) -> Result<(), Error> {
        match self {
            Session::Client(connection) => write(&mut **connection, None, record, out),
            Session::Server(connection) => write(&mut **connection, None, record, out),
        }
    }
}

fn decode<R: Records>(
    connection: &mut R,
    records: &mut [u8],
    into: &mut [u8],
    out: &mut Outgoing,
) -> Result<Decoded, Error> {
    let mut done = Decoded::default();
    loop {
        let UnbufferedStatus { mut discard, state } = connection.process(&mut records[done.used..]);
        let mut goes_on = true;
        match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    let place = into.get_mut(done.plain..done.plain + record.payload.len());
                    place.ok_or(Error::PeerSentOversizedRecord)?.copy_from_slice(record.payload);
                    done.plain += record.payload.len();
                    done.filled += usize::from(!record.payload.is_empty());
                    discard += record.discard;
                }
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                out.extend_by(RECORD, |place| data.encode(place)).map_err(general)?;
            }
            Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
            Ok(ConnectionState::PeerClosed) => done.ended = true,
            Ok(_) => goes_on = false,
            Err(error) => {
                // Without input the next calls return the alert, and nothing is parsed again.
                while connection.has_output()
                    && let Ok(ConnectionState::EncodeTlsData(mut data)) = connection.process(&mut []).state
                {
                    out.extend_by(RECORD, |place| data.encode(place)).map_err(general)?;
                }
                return Err(error);
            }
        }
        done.used += discard;
        if !goes_on {
            return Ok(done);
        }
    }
}

fn write<R: Records>(
    connection: &mut R,
    plain: Option<&[u8]>,
    record: &mut [u8],
    out: &mut Outgoing,
) -> Result<(), Error> {
    loop {
        match connection.process(record).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                let most = plain.map_or(0, |plain| plain.len() + plain.len() / FRAGMENT * GROWTH) + GROWTH + KEY_UPDATE;
                let encode = |place: &mut [u8]| match plain {
                    Some(plain) => traffic.encrypt(plain, place),
                    None => traffic.queue_close_notify(place),
                };
                return out.extend_by(most, encode).map_err(general);
            }
            ConnectionState::EncodeTlsData(mut data) => {
                out.extend_by(RECORD, |place| data.encode(place)).map_err(general)?;
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::PeerClosed => {}
            _ => return Err(Error::HandshakeNotComplete),
        }
    }
}

fn general(error: impl Display) -> Error {
    Error::General(error.to_string())
}
