//! HTTP endpoint of the metrics: `/metrics`, `/healthz` and `/ready`.
//!
//! Connections, their headers and their time are bounded, and a response is reused for a moment, so that a flood or a client that stalls
//! costs little, and cannot keep others away.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::thread::JoinHandle;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Socket, Type};

use super::endpoint::{Endpoint, HEADER};
use super::source::Source;
use fanin_proxy_core::clock::{Clock, Nanos, duration};

/// Maximum number of connections.
const MOST: usize = 64;
/// Maximum time to send a request's header, and of a connection.
const HEADER_TIME: Nanos = 5_000_000_000;
const CONNECTION_TIME: Nanos = 15_000_000_000;
/// Connections that wait in the kernel.
const BACKLOG: i32 = 128;
/// Pause after a failed accept, for example without free file descriptors.
const PAUSE: Nanos = 100_000_000;
/// Bytes of a client that are read and ignored after its request.
const IGNORED: usize = 1 << 20;

/// Tokens of the listener and of the waker; those of connections follow.
const LISTENER: Token = Token(0);
const WAKER: Token = Token(1);

/// States of the thread.
const SERVES: u8 = 0;
const STOPS_ACCEPTING: u8 = 1;
const ENDS: u8 = 2;

/// Listens at an address.
///
/// # Errors
/// The address is in use or not of this machine; the error names it.
pub fn listen(address: SocketAddr) -> io::Result<Socket> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|error: io::Error| io::Error::new(error.kind(), format!("metrics on {address}: {error}")))
}

/// The thread that serves metrics.
#[derive(Debug)]
pub struct HttpThread {
    state: Arc<AtomicU8>,
    waker: Waker,
    thread: JoinHandle<()>,
}

impl HttpThread {
    /// Starts to serve.
    ///
    /// # Errors
    /// The system has no file descriptor or thread left.
    pub fn start(listener: Socket, source: impl Source) -> io::Result<HttpThread> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let mut listener = TcpListener::from_std(listener.into());
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let state = Arc::new(AtomicU8::new(SERVES));
        let mut server = Server {
            poll,
            listener: Some(listener),
            state: state.clone(),
            endpoint: Endpoint::new(source),
            clock: Clock::start(),
            connections: BTreeMap::new(),
            next: WAKER.0 + 1,
            accepts_at: None,
        };
        let thread = std::thread::Builder::new().name("fanin-metrics".to_owned()).spawn(move || server.run())?;
        Ok(HttpThread { state, waker, thread })
    }

    /// Stops accepting, and ends after the open connections.
    pub fn stop_accepting(&mut self) {
        self.become_state(STOPS_ACCEPTING);
    }

    /// Ends it, with all connections; or waits for them if it has stopped accepting.
    pub fn end(self) {
        if self.state.load(SeqCst) == SERVES {
            self.become_state(ENDS);
        }
        // A panic there has harmed nothing else.
        let _ = self.thread.join();
    }

    fn become_state(&self, state: u8) {
        self.state.store(state, SeqCst);
        // It may have ended.
        let _ = self.waker.wake();
    }
}

/// The thread's state.
struct Server {
    poll: Poll,
    /// None if it has stopped accepting.
    listener: Option<TcpListener>,
    state: Arc<AtomicU8>,
    endpoint: Endpoint,
    clock: Clock,
    /// By token, which is by age.
    connections: BTreeMap<usize, Connection>,
    next: usize,
    /// When it accepts again, after an accept has failed.
    accepts_at: Option<Nanos>,
}

impl Server {
    /// Serves until it has to end.
    fn run(&mut self) {
        let mut events = Events::with_capacity(MOST);
        loop {
            match self.state.load(SeqCst) {
                SERVES => {}
                STOPS_ACCEPTING => self.listener = None,
                _ => return,
            }
            if self.listener.is_none() && self.connections.values().all(Connection::is_answered) {
                return;
            }
            let now = self.clock.now();
            let due = self.connections.values().map(Connection::due).chain(self.accepts_at).min();
            let wait = due.map(|due| duration(due.saturating_sub(now)));
            if self.poll.poll(&mut events, wait).is_err() {
                // A signal has interrupted it.
                events.clear();
            }
            let now = self.clock.now();
            for event in &events {
                match event.token() {
                    LISTENER => self.accepts_at = Some(now),
                    WAKER => {}
                    Token(number) => self.serve(number),
                }
            }
            self.connections.retain(|_, connection| now < connection.due());
            if self.accepts_at.is_some_and(|at| at <= now) {
                self.accepts_at = self.accept(now);
            }
        }
    }

    /// Accepts connections that wait; returns when to accept again if there may be more, or if that fails.
    fn accept(&mut self, now: Nanos) -> Option<Nanos> {
        for _ in 0..MOST {
            match self.listener.as_ref()?.accept() {
                Ok((mut stream, from)) => {
                    self.make_room();
                    let (number, interest) = (self.next, Interest::READABLE | Interest::WRITABLE);
                    self.next += 1;
                    if self.poll.registry().register(&mut stream, Token(number), interest).is_ok() {
                        self.connections.insert(number, Connection::new(stream, from.ip(), now));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => return Some(now + PAUSE),
            }
        }
        Some(now)
    }

    /// If there are too many connections, closes the oldest of the address with most of them.
    fn make_room(&mut self) {
        if self.connections.len() < MOST {
            return;
        }
        let of = |ip: IpAddr| self.connections.values().filter(|other| other.from == ip).count();
        // The last of several maxima is the oldest.
        let place = self.connections.iter().rev().max_by_key(|(_, connection)| of(connection.from));
        if let Some(number) = place.map(|(number, _)| *number) {
            self.connections.remove(&number);
        }
    }

    /// Continues a connection.
    fn serve(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(&number)
            && !connection.goes_on(&mut self.endpoint)
        {
            self.connections.remove(&number);
        }
    }
}

/// A connection: a request, its response, and then the client's close, without which the kernel could drop the response.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    from: IpAddr,
    since: Nanos,
    request: Vec<u8>,
    /// Head and body of the response, and the number of bytes written.
    response: Option<[Arc<[u8]>; 2]>,
    written: usize,
    ignored: usize,
}

impl Connection {
    fn new(stream: TcpStream, from: IpAddr, since: Nanos) -> Connection {
        Connection { stream, from, since, request: Vec::new(), response: None, written: 0, ignored: 0 }
    }

    /// When it is closed.
    fn due(&self) -> Nanos {
        self.since + if self.response.is_none() { HEADER_TIME } else { CONNECTION_TIME }
    }

    /// Whether its response is written.
    fn is_answered(&self) -> bool {
        self.response.as_ref().is_some_and(|parts| parts.iter().map(|part| part.len()).sum::<usize>() == self.written)
    }

    /// Reads and writes as far as possible; returns whether the connection stays.
    fn goes_on(&mut self, endpoint: &mut Endpoint) -> bool {
        let result = match &self.response {
            None => self.read(endpoint).and_then(|()| self.write()),
            Some(_) => self.write(),
        };
        match result.and_then(|()| self.ignore()) {
            Ok(stays) => stays,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Reads the request, and takes its response.
    fn read(&mut self, endpoint: &mut Endpoint) -> io::Result<()> {
        let mut bytes = [0; HEADER];
        while self.response.is_none() {
            match again(|| self.stream.read(&mut bytes[self.request.len()..]))? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => self.request.extend_from_slice(&bytes[self.request.len()..][..count]),
            }
            let response = endpoint.respond(&self.request);
            self.response = response.map(|response| [response.head.into_bytes().into(), response.body]);
        }
        self.request = Vec::new();
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let mut before = 0;
        for part in self.response.iter().flatten() {
            while let Some(rest) = part.get(self.written - before..).filter(|rest| !rest.is_empty()) {
                self.written += again(|| self.stream.write(rest))?;
            }
            before += part.len();
        }
        self.stream.shutdown(Shutdown::Write)
    }

    /// Ignores further bytes of the client; returns whether it has neither closed nor sent too much.
    fn ignore(&mut self) -> io::Result<bool> {
        let mut bytes = [0; HEADER];
        while self.ignored < IGNORED {
            match again(|| self.stream.read(&mut bytes))? {
                0 => return Ok(false),
                count => self.ignored += count,
            }
        }
        Ok(false)
    }
}

/// Repeats an interrupted call.
fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
