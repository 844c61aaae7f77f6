//! A connection to a server until it takes requests: TLS handshake, login.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::{Error, InvalidMessage};

use super::channel::{Channel, Io, READ, invalid};
use super::session::Session;
use crate::{Net, Received, Target};
use fanin_proxy_observe::metrics::Counters;

/// Longest response to a login.
const LONGEST_RESPONSE: usize = 200;

/// Progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Handshake,
    Login,
    Open,
}

/// A connection to a server that requires something, or uses TLS.
pub struct ServerGuard {
    pub channel: Channel,
    target: Arc<Target>,
    stage: Stage,
    /// Response to the login so far.
    response: Vec<u8>,
}

impl ServerGuard {
    /// A connection that is opening.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(target: &Arc<Target>) -> io::Result<ServerGuard> {
        let mut channel = Channel::default();
        if let Some((tls, name)) = &target.tls {
            let connection = UnbufferedClientConnection::new(tls.clone(), name.clone()).map_err(io::Error::other)?;
            channel.session = Some(Session::Server(Box::new(connection)));
        }
        Ok(ServerGuard { channel, target: target.clone(), stage: Stage::New, response: Vec::new() })
    }

    /// Whether it needs no guard any more.
    pub fn is_over(&self) -> bool {
        self.channel.session.is_none() && self.stage == Stage::Open && !self.channel.has_output()
    }

    /// Continues to open the connection, whose socket is open; returns whether requests may be sent.
    ///
    /// # Errors
    /// The reason why it cannot be opened.
    pub fn opens<N: Net>(&mut self, io: &mut Io<'_, N>, counters: &Counters) -> io::Result<bool> {
        let mut plain = std::mem::take(&mut io.shared.plain);
        plain.resize(READ, 0);
        let result = self.goes_on(io, &mut plain, counters);
        io.shared.plain = plain;
        if result.is_err() && self.stage == Stage::Handshake && self.channel.session.is_some() {
            counters.server_tls_failed.add(1);
        }
        result.map_err(explained)
    }

    fn goes_on<N: Net>(&mut self, io: &mut Io<'_, N>, plain: &mut [u8], counters: &Counters) -> io::Result<bool> {
        if self.stage == Stage::New {
            self.stage = Stage::Handshake;
            self.channel.begin(io)?;
        }
        // An event may signal that there is room for output.
        self.channel.flush(io)?;
        loop {
            if self.stage == Stage::Handshake && !self.channel.is_handshaking() {
                self.handshake_ends(io, counters)?;
            }
            if self.stage == Stage::Open {
                return Ok(true);
            }
            let piece = match self.channel.receive(io, plain) {
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {
                    return Ok(false);
                }
                piece => piece?,
            };
            // A handshake that ends in a piece has no login yet.
            if piece.plain > 0 && self.stage != Stage::Login {
                return Err(invalid("it sends a response without a request"));
            }
            self.response.extend_from_slice(&plain[..piece.plain]);
            if self.stage == Stage::Login && self.login_ends(counters)? {
                self.stage = Stage::Open;
            } else if piece.ended {
                let during = if self.stage == Stage::Login { "login" } else { "TLS handshake" };
                return Err(invalid(&format!("it closed the connection during the {during}")));
            }
        }
    }

    /// Handles a complete handshake, or that there is none.
    fn handshake_ends<N: Net>(&mut self, io: &mut Io<'_, N>, counters: &Counters) -> io::Result<()> {
        if let Some(session) = &self.channel.session {
            counters.server_tls_handshakes.add(1);
            counters.server_tls_resumed.add(u64::from(session.is_resumed()));
        }
        self.stage = Stage::Open;
        if let Some(user) = &self.target.user {
            self.channel.put(&user.request())?;
            self.channel.flush(io)?;
            self.stage = Stage::Login;
        }
        Ok(())
    }

    /// Whether the login has succeeded.
    ///
    /// # Errors
    /// It has failed.
    fn login_ends(&mut self, counters: &Counters) -> io::Result<bool> {
        let is_line = self.response.ends_with(b"\n") || self.response.len() > LONGEST_RESPONSE;
        if !is_line {
            return Ok(false);
        }
        if self.response == b"STORED\r\n" {
            self.response = Vec::new();
            return Ok(true);
        }
        counters.server_auth_failed.add(1);
        let text = self.response[..self.response.len().min(LONGEST_RESPONSE)].trim_ascii_end().escape_ascii();
        Err(io::Error::new(ErrorKind::PermissionDenied, format!("login failed: {text}")))
    }

    /// Reads responses.
    ///
    /// # Errors
    /// `WouldBlock`; or the connection's error, with the reason if TLS has one.
    pub fn read<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8]) -> io::Result<Received> {
        self.channel.read(io, into).map_err(explained)
    }
}

/// An error of TLS in words for operators.
fn explained(error: io::Error) -> io::Error {
    let Some(tls) = error.get_ref().and_then(|error| error.downcast_ref::<Error>()) else { return error };
    let text = match tls {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => "it does not use TLS".to_owned(),
        Error::InvalidCertificate(_) if tls.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is a CA's; issue one for the server (basicConstraints = CA:FALSE)".to_owned()
        }
        tls => format!("TLS: {tls}"),
    };
    io::Error::new(error.kind(), text)
}
