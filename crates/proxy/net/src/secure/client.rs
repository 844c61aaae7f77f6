//! A client's connection before its first request: header of the PROXY protocol, TLS handshake, login.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;

use rustls::server::UnbufferedServerConnection;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::channel::{Channel, Io, Piece, invalid};
use super::header::{self, Origin, Start};
use super::login::{Login, Progress};
use super::session::Session;
use crate::budget::REQUEST;
use crate::{Entry, Net, Received};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_observe::metrics::{Counter, Counters};

/// Unread responses to refused requests above which a client is closed.
const MOST_REFUSALS: usize = 64 << 10;

/// A client that has something to fulfil, or uses TLS.
pub struct ClientGuard {
    pub channel: Channel,
    entry: Arc<Entry>,
    /// Whether the header has not come.
    header: bool,
    /// Where it comes from, as the header says.
    origin: Option<IpAddr>,
    login: Option<Login>,
    /// The user as whom it has logged in.
    user: Option<String>,
    /// Whether its identity has been returned.
    is_identified: bool,
    /// When the next password may be compared, if that is later.
    pause: Option<Nanos>,
}

impl ClientGuard {
    /// A client that has just connected.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(entry: &Arc<Entry>) -> io::Result<ClientGuard> {
        let mut guard = ClientGuard {
            channel: Channel::default(),
            entry: entry.clone(),
            header: entry.proxy_protocol,
            origin: None,
            login: entry.users.clone().map(Login::new),
            user: None,
            is_identified: false,
            pause: None,
        };
        if let Some(tls) = &entry.tls {
            let connection = UnbufferedServerConnection::new(tls.clone()).map_err(io::Error::other)?;
            guard.channel.session = Some(Session::Client(Box::new(connection)));
        }
        Ok(guard)
    }

    /// Whether its requests are read.
    pub fn is_in(&self) -> bool {
        !self.header && self.login.is_none() && !self.channel.is_handshaking()
    }

    /// Whether it needs no guard any more.
    pub fn is_over(&self) -> bool {
        self.channel.session.is_none() && self.is_in() && self.is_identified && !self.channel.has_output()
    }

    /// Who it is, once it is in: its user, or the name in its certificate, or its address in a proxy's header. Returned once.
    pub fn identity(&mut self) -> Option<Identity> {
        if self.is_identified || !self.is_in() {
            return None;
        }
        self.is_identified = true;
        let certificate = || self.channel.session.as_ref()?.certificate_name().map(Identity::Certificate);
        let origin = || self.origin.map(|ip| Identity::of_address(Some(ip)));
        self.user.take().map(Identity::User).or_else(certificate).or_else(origin)
    }

    /// When it may go on, if it has to pause.
    pub fn takes_pause(&mut self) -> Option<Nanos> {
        self.pause.take()
    }

    /// Reads requests; before that, everything that precedes them.
    ///
    /// # Errors
    /// `WouldBlock`; the connection's error; or the client is refused, which is counted.
    pub fn read<N: Net>(
        &mut self,
        io: &mut Io<'_, N>,
        into: &mut [u8],
        counters: &Counters,
        now: Nanos,
    ) -> io::Result<Received> {
        while self.header {
            self.read_header(io, into, counters)?;
        }
        loop {
            let guesses = self.login.as_ref().is_some_and(Login::has_input);
            if self.login.is_some() {
                // Also a right password waits for wrong ones of its tenant.
                let at = io.work.account.tenant().map_or(0, Tenant::next_guess);
                if at > now {
                    self.pause = Some(at);
                    return Err(ErrorKind::WouldBlock.into());
                }
            }
            let mut piece = Piece { plain: 0, more: true, ended: false };
            if !guesses {
                let handshaking = self.channel.is_handshaking();
                let received = self.channel.receive(io, into);
                if handshaking {
                    self.count_handshake(&received, counters);
                }
                piece = received?;
                if handshaking && self.channel.session.as_ref().is_some_and(Session::has_expired) {
                    counters.tls_failed_certificate.add(1);
                    return Err(ErrorKind::PermissionDenied.into());
                }
            }
            if self.login.is_some() && (guesses || piece.plain > 0) {
                piece.plain = self.log_in(io, into, piece.plain, counters, now)?;
            }
            if piece.plain > 0 || piece.ended {
                return Ok(Received { count: piece.plain, more: piece.more });
            }
        }
    }

    /// Reads from the header.
    fn read_header<N: Net>(&mut self, io: &mut Io<'_, N>, into: &mut [u8], counters: &Counters) -> io::Result<()> {
        let origin = loop {
            match header::parse(self.channel.header()) {
                Start::More(more) => self.channel.receive_header(io, into, more)?,
                Start::Header(origin) => break origin,
                Start::Invalid => {
                    counters.proxy_headers_refused.add(1);
                    return Err(invalid("no header of the PROXY protocol"));
                }
            }
        };
        self.channel.header_ends();
        self.header = false;
        let is_admitted = match origin {
            Origin::Proxy => true,
            Origin::Ip(ip) => {
                self.origin = Some(ip);
                self.entry.admits(ip)
            }
            Origin::Unix => self.entry.allow.is_empty(),
        };
        if is_admitted {
            return Ok(());
        }
        counters.clients_denied.add(1);
        Err(ErrorKind::PermissionDenied.into())
    }

    /// Handles this number of input bytes before the login; returns the number of bytes after it.
    fn log_in<N: Net>(
        &mut self,
        io: &mut Io<'_, N>,
        into: &mut [u8],
        count: usize,
        counters: &Counters,
        now: Nanos,
    ) -> io::Result<usize> {
        let Some(login) = &mut self.login else { return Ok(count) };
        let mut said = Vec::new();
        let progress = login.takes(into, count, |response| {
            said.extend_from_slice(response.text.as_bytes());
            io.work.budget.spend(io.work.account, REQUEST);
            counters.auth_cmds.add(u64::from(response.tried.is_some()));
            counters.auth_errors.add(u64::from(response.tried == Some(false)));
        });
        if progress == Progress::Ends || said.len() + self.channel.holds() > MOST_REFUSALS {
            return Err(invalid("no login"));
        }
        if progress == Progress::Failed {
            // Before the response, so that a client that has it finds itself counted.
            io.work.account.tenant().into_iter().for_each(|tenant| tenant.has_guessed(now));
        }
        for piece in said.chunks(MOST_REFUSALS) {
            self.channel.put(piece)?;
        }
        self.channel.flush(io)?;
        match progress {
            Progress::In(rest) => {
                self.user = self.login.take().and_then(Login::into_user);
                Ok(rest)
            }
            Progress::Failed | Progress::Waits | Progress::Ends => Ok(0),
        }
    }
}

/// Counters of handshakes.
impl ClientGuard {
    /// Counts the end of a handshake, if this was it.
    fn count_handshake(&self, piece: &io::Result<Piece>, counters: &Counters) {
        match piece {
            Ok(_) if !self.channel.is_handshaking() => {
                let is_resumed = self.channel.session.as_ref().is_some_and(Session::is_resumed);
                counters.tls_handshakes.add(1);
                counters.tls_resumed.add(u64::from(is_resumed));
            }
            Ok(piece) if !piece.ended => {}
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {}
            Err(error) => match error.get_ref().and_then(|error| error.downcast_ref()) {
                Some(error) => cause(error, counters).add(1),
                None => counters.tls_failed_closed.add(1),
            },
            Ok(_) => counters.tls_failed_closed.add(1),
        }
    }
}

/// Counter of a failed handshake's cause.
fn cause<'a>(error: &Error, counters: &'a Counters) -> &'a Counter {
    use AlertDescription as Alert;
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => &counters.tls_failed_plain,
        Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => &counters.clients_denied,
        Error::InvalidCertificate(_)
        | Error::NoCertificatesPresented
        | Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA,
        ) => &counters.tls_failed_certificate,
        _ => &counters.tls_failed_protocol,
    }
}
