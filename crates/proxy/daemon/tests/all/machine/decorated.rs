//! A decorator round the network, as TLS would be: it has a handshake and frames, answers pings while it reads, and holds bytes back. A
//! front end gives the same responses through it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Address, Entry, Front, Net, Outgoing, Received, Shared, Target, Token};
use fanin_memcache::{Limits, Lines, Next, Request};

use super::world::{Scripted, World};
use crate::store::Store;

/// Kinds of frames: kind, length, masked bytes.
const DATA: u8 = 0;
const PING: u8 = 1;
const PONG: u8 = 2;
const HELLO: u8 = 3;
const MASK: u8 = 0x5a;
/// Most bytes that a read returns, and most masked bytes that wait to be sent.
const PIECE: usize = 7;
const MOST_UNSENT: usize = 1000;

/// Encodes bytes as frames, with a ping before each.
fn frames(bytes: &[u8], pings: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in bytes.chunks(100) {
        out.extend([PING, 0].iter().filter(|_| pings));
        out.extend([DATA, chunk.len() as u8]);
        out.extend(chunk.iter().map(|byte| byte ^ MASK));
    }
    out
}

/// Takes the first frame from bytes.
fn frame(raw: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let [kind, len, ..] = raw[..] else { return None };
    let end = 2 + usize::from(len);
    let bytes = raw.get(2..end)?.iter().map(|byte| byte ^ MASK).collect();
    raw.drain(..end);
    Some((kind, bytes))
}

struct Masked<N: Net>(N);

struct MaskedSocket<S> {
    inner: S,
    /// Whether the hello has been sent, and received.
    greeting: bool,
    greeted: bool,
    raw: Vec<u8>,
    /// Decoded bytes that are held back.
    plain: VecDeque<u8>,
    ended: bool,
    out: Outgoing,
}

impl<N: Net> Masked<N> {
    /// Decodes all that is there; pings are answered at once.
    fn pull(&mut self, socket: &mut MaskedSocket<N::Socket>) -> io::Result<()> {
        let mut bytes = [0; 64];
        loop {
            match self.0.read(&mut socket.inner, &mut bytes) {
                Ok(Received { count: 0, .. }) => socket.ended = true,
                Ok(Received { count, more }) => {
                    socket.raw.extend(&bytes[..count]);
                    if more {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            break;
        }
        while let Some((kind, bytes)) = frame(&mut socket.raw) {
            match kind {
                DATA => socket.plain.extend(bytes),
                PING => socket.out.extend(&[PONG, 0]),
                _ => socket.greeted |= kind == HELLO,
            }
        }
        self.0.write(&mut socket.inner, &mut socket.out)
    }
}

impl<N: Net> Net for Masked<N> {
    type Stream = N::Stream;
    type Socket = MaskedSocket<N::Socket>;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn listen(&mut self, listener: usize, at: &Address) -> io::Result<()> {
        self.0.listen(listener, at)
    }

    fn accept(&mut self, listener: usize, entry: &Arc<Entry>) -> io::Result<N::Stream> {
        self.0.accept(listener, entry)
    }

    fn unlisten(&mut self, pool: usize) {
        self.0.unlisten(pool);
    }

    fn connect(&mut self, to: &Arc<Target>) -> io::Result<N::Stream> {
        self.0.connect(to)
    }

    fn refuse(&mut self, stream: N::Stream, text: &[u8]) {
        self.0.refuse(stream, text);
    }

    fn add(&mut self, stream: N::Stream, token: Token, opening: bool) -> io::Result<Self::Socket> {
        let inner = self.0.add(stream, token, opening)?;
        let (raw, plain, out) = (Vec::new(), VecDeque::new(), Outgoing::default());
        Ok(MaskedSocket { inner, greeting: false, greeted: !opening, raw, plain, ended: false, out })
    }

    fn is_open(&mut self, socket: &mut Self::Socket) -> io::Result<bool> {
        if !self.0.is_open(&mut socket.inner)? {
            return Ok(false);
        }
        if !std::mem::replace(&mut socket.greeting, true) {
            socket.out.extend(&[HELLO, 0]);
        }
        self.pull(socket)?;
        Ok(socket.greeted)
    }

    fn read(&mut self, socket: &mut Self::Socket, into: &mut [u8]) -> io::Result<Received> {
        self.pull(socket)?;
        let count = socket.plain.len().min(PIECE);
        if count == 0 && !socket.ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        socket.plain.read_exact(&mut into[..count])?;
        Ok(Received { count, more: !socket.plain.is_empty() || socket.ended })
    }

    fn write(&mut self, socket: &mut Self::Socket, out: &mut Outgoing) -> io::Result<()> {
        out.hand_over(|bytes| {
            loop {
                let some = bytes.len().min(MOST_UNSENT.saturating_sub(socket.out.left()));
                socket.out.extend(&frames(&bytes[..some], false));
                bytes.drain(..some);
                self.0.write(&mut socket.inner, &mut socket.out)?;
                // Go on while the inner network takes everything: it signals only that it takes more again.
                if bytes.is_empty() || socket.out.left() > 0 {
                    return Ok(socket.out.left());
                }
            }
        })
    }

    fn finish(&mut self, socket: Self::Socket, held: Arc<()>) {
        self.0.finish(socket.inner, held);
    }

    fn close(&mut self, socket: Self::Socket) {
        self.0.close(socket.inner);
    }

    fn tell(&mut self, text: &str) {
        self.0.tell(text);
    }

    fn held(&self) -> usize {
        self.0.held()
    }
}

/// The other end of a connection.
#[derive(Default)]
struct Peer {
    masked: bool,
    raw: Vec<u8>,
    plain: Vec<u8>,
    pongs: usize,
    lines: Lines,
}

impl Peer {
    /// Decodes bytes; returns the handshake's response.
    fn reads(&mut self, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
        if !self.masked {
            self.plain.extend(bytes);
            return Vec::new();
        }
        self.raw.extend(bytes);
        let mut says = Vec::new();
        while let Some((kind, bytes)) = frame(&mut self.raw) {
            match kind {
                DATA => self.plain.extend(bytes),
                HELLO => says.extend([HELLO, 0]),
                _ => self.pongs += 1,
            }
        }
        says
    }

    fn says(&self, bytes: &[u8]) -> Vec<u8> {
        if self.masked { frames(bytes, true) } else { bytes.to_vec() }
    }
}

/// Runs servers that respond at once.
fn serve(world: &mut World, stores: &mut [Store], peers: &mut [Peer]) {
    for (connection, peer) in world.connections.iter_mut().zip(peers) {
        let Some(server) = connection.server else { continue };
        if !connection.open {
            connection.opens(true);
        }
        let mut says = peer.reads(connection.outbox.drain(..));
        let (mut at, limits) = (0, Limits { value: 1 << 20, keys: 1 << 24 });
        while let Next::Request(request, line) = peer.lines.next(&peer.plain[at..], &limits) {
            let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
            let Some(bytes) = peer.plain.get(at + line..at + line + follow) else { break };
            let answer = stores[server].answer(&request, bytes.strip_suffix(b"\r\n").unwrap_or_default());
            says.extend(if peer.masked { frames(&answer, true) } else { answer });
            at += line + follow;
        }
        peer.plain.drain(..at);
        if !says.is_empty() {
            connection.send(&says);
        }
    }
}

/// Has a conversation over a decorated or plain network; returns the client's responses, and the pings answered.
fn converse<N: Net>(decorate: impl FnOnce(Scripted) -> N, masked: bool) -> (Vec<u8>, usize) {
    let servers: Vec<String> = (1..=3).map(|server| format!("\"10.0.0.{server}:11211\"")).collect();
    let text = format!("threads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [{}]\n", servers.join(","));
    let settings = Settings::of_file("case.toml", &text).unwrap();
    let addresses: Vec<_> =
        settings.pools[0].servers.iter().map(|server| server.target.address.ip().unwrap()).collect();
    let world = Rc::new(RefCell::new(World::new(&addresses)));
    let shared = Arc::new(Shared::new(&settings, 10));
    let stop = Arc::new(AtomicBool::new(false));
    let mut front = Front::new(decorate(Scripted(world.clone())), shared, 0, stop, [1; 32], None);
    let mut stores: Vec<Store> = (0..3).map(|_| Store::default()).collect();
    let client = world.borrow_mut().client(1 << 30);
    let mut peers = Vec::new();
    let keys: Vec<String> = (0..60).map(|number| format!("{number}-key")).collect();
    let set = |key: &String| format!("set {key} 7 0 {}\r\n{}\r\n", 10 * key.len(), key.repeat(10));
    let mut requests: Vec<String> = keys.iter().map(set).collect();
    requests.extend([format!("set large 0 0 20000\r\n{}\r\n", "x".repeat(20_000)), "get large\r\n".to_owned()]);
    requests.extend([format!("get {} absent\r\n", keys.join(" ")), "gets 1-key\r\nmg 2-key v t\r\nmn\r\n".to_owned()]);
    let mut requests = requests.into_iter();
    for turn in 0..20_000 {
        {
            let world = &mut *world.borrow_mut();
            peers.resize_with(world.connections.len(), || Peer { masked, ..Peer::default() });
            if turn % 10 == 0
                && let Some(request) = requests.next()
            {
                let bytes = peers[client].says(request.as_bytes());
                world.connections[client].send(&bytes);
            }
            serve(world, &mut stores, &mut peers);
        }
        let events = world.borrow_mut().events(|| true);
        front.turn(turn * 10_000, events.into_iter());
    }
    let said = peers[client].reads(world.borrow_mut().connections[client].outbox.drain(..));
    assert!(said.is_empty() && !world.borrow().gave_up());
    (peers.swap_remove(client).plain, peers.iter().map(|peer| peer.pongs).sum())
}

#[test]
fn decorated_network_gives_same_responses() {
    let (plain, _) = converse(|net| net, false);
    let (decorated, pongs) = converse(Masked, true);
    assert!(plain.len() > 23_000 && plain.ends_with(b"\r\nMN\r\n"), "{}", plain.len());
    assert_eq!(plain.escape_ascii().to_string(), decorated.escape_ascii().to_string());
    assert!(pongs > 60, "{pongs}");
}
