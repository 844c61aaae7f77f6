//! TLS of one connection, without I/O: records in, plaintext out, and back (RFC 8446, RFC 5246).
//!
//! It uses rustls's interface without buffers, so that an idle connection has none, and all buffers are charged.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus, WriteTraffic};
use rustls::{CommonState, Error, HandshakeKind};

use crate::net::Outgoing;

/// Plaintext per call of [`Session::encrypt`].
pub const CHUNK: usize = 64 << 10;
/// Buffer for the records of a chunk: each of at most 16 KiB of plaintext grows by some 30 bytes; before them there may be a key update.
const RECORDS: usize = CHUNK + 1024;

/// Buffer for encoded records, which connections of a thread share.
pub struct Encoded(Vec<u8>);

impl Default for Encoded {
    fn default() -> Encoded {
        Encoded(vec![0; RECORDS])
    }
}

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
    /// Bytes of plaintext.
    pub plain: usize,
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

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.state().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Decodes complete records, which it overwrites, to plaintext, which is never longer. Responses of the protocol itself go to `out`.
    ///
    /// # Errors
    /// The peer breaks the protocol, or is not accepted; `out` then has the alert for it. The session must not be used again.
    pub fn decode(
        &mut self,
        records: &mut [u8],
        into: &mut [u8],
        out: &mut Outgoing,
        encoded: &mut Encoded,
    ) -> Result<Decoded, Error> {
        match self {
            Session::Client(connection) => decode(&mut **connection, records, into, out, encoded),
            Session::Server(connection) => decode(&mut **connection, records, into, out, encoded),
        }
    }

    /// Encrypts up to [`CHUNK`] bytes to `out`. The incomplete record at hand must be passed, too.
    ///
    /// # Errors
    /// The handshake is not complete, or the keys are used up.
    pub fn encrypt(
        &mut self,
        plain: &[u8],
        record: &mut [u8],
        out: &mut Outgoing,
        encoded: &mut Encoded,
    ) -> Result<(), Error> {
        match self {
            Session::Client(connection) => write(&mut **connection, Some(plain), record, out, encoded),
            Session::Server(connection) => write(&mut **connection, Some(plain), record, out, encoded),
        }
    }

    /// Appends the notice that this side ends to `out`.
    ///
    /// # Errors
    /// The handshake is not complete.
    pub fn end(&mut self, record: &mut [u8], out: &mut Outgoing, encoded: &mut Encoded) -> Result<(), Error> {
        match self {
            Session::Client(connection) => write(&mut **connection, None, record, out, encoded),
            Session::Server(connection) => write(&mut **connection, None, record, out, encoded),
        }
    }
}

fn decode<R: Records>(
    connection: &mut R,
    records: &mut [u8],
    into: &mut [u8],
    out: &mut Outgoing,
    Encoded(encoded): &mut Encoded,
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
                    discard += record.discard;
                }
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                let count = data.encode(encoded).map_err(|error| Error::General(error.to_string()))?;
                out.extend(&encoded[..count]);
            }
            Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
            Ok(ConnectionState::PeerClosed) => done.ended = true,
            Ok(_) => goes_on = false,
            Err(error) => {
                // Without input the next calls return the alert, and nothing is parsed again.
                while connection.has_output()
                    && let Ok(ConnectionState::EncodeTlsData(mut data)) = connection.process(&mut []).state
                {
                    let count = data.encode(encoded).unwrap_or(0);
                    out.extend(&encoded[..count]);
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
    Encoded(encoded): &mut Encoded,
) -> Result<(), Error> {
    loop {
        match connection.process(record).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                let count = match plain {
                    Some(plain) => traffic.encrypt(plain, encoded),
                    None => WriteTraffic::queue_close_notify(&mut traffic, encoded),
                };
                out.extend(&encoded[..count.map_err(|error| Error::General(error.to_string()))?]);
                return Ok(());
            }
            ConnectionState::EncodeTlsData(mut data) => {
                let count = data.encode(encoded).map_err(|error| Error::General(error.to_string()))?;
                out.extend(&encoded[..count]);
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::PeerClosed => {}
            _ => return Err(Error::HandshakeNotComplete),
        }
    }
}
