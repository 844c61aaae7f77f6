//! Load generator of `make bench-front`: gets over several connections, with every response checked.
//!
//! ```text
//! load fill HOST:PORT KEYS                                   sets all keys
//! load HOST:PORT KEYS CONNECTIONS KEYS_A_GET SECONDS [RATE]  sends gets, and prints one JSON object
//! load HOST:PORT KEYS CONNECTIONS meta SECONDS [RATE]        the same with `mg` of one key
//! ```
//!
//! With `HOST:PORT,CA.pem` it uses TLS.
//!
//! Without a rate, each connection sends the next get after a response (closed loop). With one, gets per second are due at even distances,
//! independent of earlier ones, and latency counts from the due time, which avoids coordinated omission.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanin_memcache::{Cursor, Meta, Piece, Shape};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Lengths of values, in turn: 20 to 1,000 bytes.
const SIZES: [usize; 7] = [20, 50, 100, 200, 400, 700, 1000];
const WHEN_STUCK: Duration = Duration::from_secs(20);

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn now() -> Instant {
    Instant::now()
}

/// Bytes to and from the front end.
trait Pipe: Read + Write {}

impl<T: Read + Write> Pipe for T {}

/// Address, and TLS if it is used.
#[derive(Clone)]
struct Peer(SocketAddr, Option<Arc<ClientConfig>>);

impl Peer {
    fn parse(text: &str) -> Option<Peer> {
        let Some((address, ca)) = text.split_once(',') else { return Some(Peer(text.parse().ok()?, None)) };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).ok()?).ok()?;
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().ok()?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Some(Peer(address.parse().ok()?, Some(Arc::new(config))))
    }

    fn pipe<S: Pipe + 'static>(&self, stream: S) -> io::Result<Box<dyn Pipe>> {
        let Some(config) = &self.1 else { return Ok(Box::new(stream)) };
        let name = ServerName::from(self.0.ip());
        let tls = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(tls, stream)))
    }
}

struct Connection {
    stream: Box<dyn Pipe>,
    out: Vec<u8>,
    sent: usize,
    rest: Vec<u8>,
    cursor: Cursor,
    /// Due times of the current get and of those behind it.
    asked: Option<Instant>,
    due: VecDeque<Instant>,
    /// Values of the response so far.
    values: usize,
}

/// Pseudorandom numbers (SplitMix64), the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) % bound
    }
}

fn value(key: u64) -> Vec<u8> {
    format!("key:{key}/").into_bytes().into_iter().cycle().take(SIZES[key as usize % SIZES.len()]).collect()
}

fn fill(peer: &Peer, keys: u64) -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(peer.0), socket2::Type::STREAM, None)?;
    socket.connect(&peer.0.into())?;
    let mut socket = peer.pipe(socket)?;
    for first in (0..keys).step_by(100) {
        let (mut out, count) = (Vec::new(), (keys - first).min(100));
        for key in first..first + count {
            let value = value(key);
            out.extend_from_slice(format!("set key:{key} 0 0 {}\r\n", value.len()).as_bytes());
            out.extend_from_slice(&value);
            out.extend_from_slice(b"\r\n");
        }
        socket.write_all(&out)?;
        let mut answers = vec![0; b"STORED\r\n".len() * count as usize];
        socket.read_exact(&mut answers)?;
        if answers.chunks(8).any(|answer| answer != b"STORED\r\n") {
            return Err(io::Error::other(String::from_utf8_lossy(&answers).into_owned()));
        }
    }
    Ok(())
}

impl Connection {
    fn ask(&mut self, at: Instant, load: &Load, draws: &mut Draws) {
        self.asked = Some(at);
        let (keys, of_get) = (load.keys, load.of_get);
        if load.meta {
            let _ = write!(self.out, "mg key:{} v\r\n", draws.below(keys));
            return;
        }
        self.out.extend_from_slice(b"get");
        for _ in 0..of_get {
            let _ = write!(self.out, " key:{}", draws.below(keys));
        }
        self.out.extend_from_slice(b"\r\n");
    }

    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        match self.stream.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads available bytes; returns whether a response is complete.
    fn read(&mut self, scratch: &mut [u8], load: &Load) -> io::Result<bool> {
        let of_get = load.of_get;
        let shape = if load.meta { Shape::Meta { command: Meta::Get, value: true } } else { Shape::Values };
        loop {
            match self.stream.read(scratch) {
                Ok(0) => return Err(io::Error::other("the connection was closed")),
                Ok(count) => self.rest.extend_from_slice(&scratch[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
            let mut at = 0;
            loop {
                match self.cursor.next(&self.rest[at..], shape) {
                    Piece::More => break,
                    Piece::Line { line, .. } if line == b"END\r\n" && self.values == of_get => {
                        self.rest.drain(..at + line.len());
                        self.values = 0;
                        return Ok(true);
                    }
                    Piece::Value { line, key, follow, last } => {
                        let (from, to) = (at + line.len(), at + line.len() + follow as usize);
                        let Some(found) = self.rest.get(from..to) else { break };
                        if !found.starts_with(&key[..key.len().min(found.len() - 2)]) {
                            return Err(io::Error::other("a wrong value"));
                        }
                        if last {
                            self.rest.drain(..to);
                            return Ok(true);
                        }
                        (at, self.values) = (to, self.values + 1);
                    }
                    piece => return Err(io::Error::other(format!("{} values, then {piece:?}", self.values))),
                }
            }
            self.rest.drain(..at);
        }
    }
}

struct Load {
    keys: u64,
    of_get: usize,
    meta: bool,
    seconds: f64,
    rate: Option<f64>,
}

fn connect(peer: &Peer, count: usize, poll: &Poll) -> io::Result<Vec<Connection>> {
    let mut connections = Vec::new();
    for token in 0..count {
        let mut stream = TcpStream::connect(peer.0)?;
        poll.registry().register(&mut stream, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        stream.set_nodelay(true)?;
        let (out, rest) = (Vec::new(), Vec::new());
        connections.push(Connection {
            stream: peer.pipe(stream)?,
            out,
            sent: 0,
            rest,
            cursor: Cursor::default(),
            asked: None,
            due: VecDeque::new(),
            values: 0,
        });
    }
    Ok(connections)
}

fn run(peer: &Peer, count: usize, load: &Load) -> io::Result<Vec<Duration>> {
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(1024));
    let (mut scratch, mut draws, mut took) = (vec![0; 1 << 18], Draws(1), Vec::new());
    let mut connections = connect(peer, count, &poll)?;
    let begin = now() + Duration::from_millis(200);
    let end = begin + Duration::from_secs_f64(load.seconds);
    let step = load.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
    let (mut next, mut turn) = (begin, 0);
    poll.poll(&mut events, Some(Duration::from_millis(200)))?;
    if step.is_none() {
        for connection in &mut connections {
            connection.ask(begin, load, &mut draws);
            connection.write()?;
        }
    }
    loop {
        let mut time = now();
        while let Some(step) = step.filter(|_| next <= time && next < end) {
            let connection = &mut connections[turn % count];
            (turn, next) = (turn + 1, next + step);
            connection.due.push_back(next - step);
            if connection.asked.is_none() {
                let at = connection.due.pop_front().unwrap_or(next);
                connection.ask(at, load, &mut draws);
                connection.write()?;
            }
        }
        let waits = connections.iter().any(|connection| connection.asked.is_some());
        if time >= end && !waits || time >= end + WHEN_STUCK {
            return if waits { Err(io::Error::other("answers are missing")) } else { Ok(took) };
        }
        let wait =
            if step.is_some() && next < end { next.saturating_duration_since(time) } else { Duration::from_secs(1) };
        if step.is_some() && wait < Duration::from_millis(1) {
            // The poll timeout has a resolution of milliseconds.
            std::thread::sleep(wait.min(Duration::from_micros(50)));
            poll.poll(&mut events, Some(Duration::ZERO))?;
        } else {
            poll.poll(&mut events, Some(wait))?;
        }
        for event in &events {
            let connection = &mut connections[event.token().0];
            connection.write()?;
            while connection.read(&mut scratch, load)? {
                time = now();
                took.extend(connection.asked.take().map(|at| time.saturating_duration_since(at)));
                let due =
                    if step.is_some() { connection.due.pop_front() } else { Some(time).filter(|time| *time < end) };
                if let Some(at) = due {
                    connection.ask(at, load, &mut draws);
                    connection.write()?;
                }
            }
        }
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let right =
        || io::Error::other("load fill HOST:PORT KEYS | load HOST:PORT KEYS CONNECTIONS KEYS_A_GET SECONDS [RATE]");
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<f64>().ok()).ok_or_else(right);
    let peer = |index: usize| arguments.get(index).and_then(|text| Peer::parse(text)).ok_or_else(right);
    if arguments.first().is_some_and(|word| word == "fill") {
        return fill(&peer(1)?, number(2)? as u64);
    }
    let meta = arguments.get(3).is_some_and(|word| word == "meta");
    let of_get = if meta { 1 } else { number(3)? as usize };
    let load = Load { keys: number(1)? as u64, of_get, meta, seconds: number(4)?, rate: number(5).ok() };
    let mut took = run(&peer(0)?, number(2)? as usize, &load)?;
    took.sort_unstable();
    let at = |share: f64| {
        took.get(((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1)))
            .map_or(0.0, Duration::as_secs_f64)
    };
    let gets = took.len();
    println!(
        "{{\"requests\": {gets}, \"keys\": {}, \"p50_ms\": {:.4}, \"p99_ms\": {:.4}, \"p999_ms\": {:.4}}}",
        gets * load.of_get,
        at(0.5) * 1e3,
        at(0.99) * 1e3,
        at(0.999) * 1e3
    );
    Ok(())
}
