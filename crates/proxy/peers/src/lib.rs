//! Connections between front ends and agents: a greeting on each side, then messages of roles.
//!
//! A connection is used in both directions. A peer that begins with anything but a greeting is refused at once, so that strangers cost
//! little. With a secret, a number follows the greeting, and then the proof for the other one's number.

pub mod secret;

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use fanin_roles::wire::{self, Hello, Item, ItemKey, Malformed, NotHello, Sink, VERSION};
use fanin_roles::{Body, Message, Node};
use fanin_units::Rate;
use secret::{Drawn, PeerSecret, Side};

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Charge;
use fanin_proxy_net::budget::MESSAGE;
use fanin_proxy_net::{Net, Outgoing, Target, Token};

/// A message of roles about memcached's items.
pub type ItemMessage = Message<ItemKey, Item>;

/// The same without its request.
pub type ItemBody = Body<ItemKey, Item>;

/// Time for a peer's greeting.
pub const GREETING: Nanos = 10_000_000_000;
/// Time in which an unfinished message has to end, or to grow by this number of bytes.
pub const PROGRESS: Nanos = 10_000_000_000;
const GROWS_BY: usize = 64 << 10;
/// Payload of a full segment of Ethernet, and its other bytes on the wire: headers of TCP with timestamps, IP and Ethernet, preamble and gap.
pub const SEGMENT: (u32, u32) = (1448, 90);
/// Bytes per read.
pub const READ: usize = 128 << 10;

/// Reason why a connection ends.
#[derive(Debug)]
pub enum PeerError {
    /// The system's, or the network's.
    Io(io::Error),
    /// The peer has closed it.
    Closed,
    /// The peer's first bytes are no greeting.
    NotHello,
    /// It speaks another version.
    Version(u8),
    /// It is another node than its address should have.
    Node(Node),
    /// Its certificate is not that of the node that it claims to be.
    Certificate(Node),
    /// It does not prove that it has the secret, or only one of both has one.
    Secret,
    /// It sent an invalid message.
    Malformed(Malformed),
    /// It does not send the rest of a message.
    Unfinished,
}

impl std::fmt::Display for PeerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PeerError::Io(error) => error.fmt(f),
            PeerError::Closed => f.write_str("it closed the connection"),
            PeerError::NotHello => f.write_str("it is neither a front end nor an agent of fanin"),
            PeerError::Version(version) => write!(
                f,
                "it speaks version {version} of the agents' protocol, this one version {VERSION}; update the older one"
            ),
            PeerError::Node(node) => write!(
                f,
                "it serves another memcached (number {}) than the racks say; use the same racks.toml on all hosts",
                node.0
            ),
            PeerError::Certificate(node) => write!(
                f,
                "its certificate is not valid for the node that it claims to be (number {}); issue each agent a certificate for its \
                 address in racks.toml",
                node.0
            ),
            PeerError::Secret => {
                f.write_str("it does not know the secret of this one; use the same agent_secret on all hosts")
            }
            PeerError::Malformed(error) => error.fmt(f),
            PeerError::Unfinished => f.write_str("it does not finish a message"),
        }
    }
}

/// A connection to a peer.
pub struct Peer<S> {
    socket: S,
    /// Whether it is still connecting.
    opening: bool,
    /// The node that it must be, if known.
    expects: Option<Node>,
    /// Its node, once it has greeted.
    node: Option<Node>,
    /// With a secret: the proofs, until the other one's has come.
    proving: Option<Proving>,
    out: Outgoing,
    /// Bytes that are not parsed, and the number from which the first message is complete.
    rest: BytesMut,
    needs: usize,
    charge: Charge,
    /// Bytes of the unfinished message that have to be there for its progress, while that is watched.
    expected: Option<usize>,
    /// Whether the peer has closed its side.
    ending: bool,
    /// Whether it is in a list of those to write to.
    marked: bool,
    /// Rate of TCP's pacing, once that is limited.
    paced: Option<Rate>,
}

/// Proofs of a connection's peers.
struct Proving {
    secret: Arc<PeerSecret>,
    side: Side,
    own: Drawn,
    /// The other one's greeting; its proof is missing.
    other: Option<Drawn>,
}

/// TCP's pacing rate for a speed, in percent: the hub's clock decides, and TCP only spreads what that sends late.
const PACING: u64 = 125;
/// The slowest that TCP paces: below, what the hub's clock sends late is a few segments, and TCP would hold back later and faster ones.
const SLOWEST: Rate = Rate(32_000_000);
/// Parts of a rate by which it has to change for a system call.
const PARTS: u64 = 8;

/// Output as a sink of messages.
struct Out<'a>(&'a mut Outgoing);

impl Sink for Out<'_> {
    fn copy(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }
}

impl<S> Peer<S> {
    /// An accepted or, with `expects`, an opening connection.
    fn new(socket: S, me: Node, expects: Option<Node>, secret: Option<&Arc<PeerSecret>>) -> io::Result<Peer<S>> {
        let mut out = Outgoing::default();
        Hello { version: VERSION, node: me, proves: secret.is_some() }.put(&mut Out(&mut out));
        let side = if expects.is_some() { Side::Opened } else { Side::Accepted };
        let proving = secret.map(|secret| {
            let own = PeerSecret::draw(me)?;
            out.extend(&own.number);
            Ok::<_, io::Error>(Proving { secret: secret.clone(), side, own, other: None })
        });
        Ok(Peer {
            socket,
            opening: expects.is_some(),
            expects,
            node: None,
            proving: proving.transpose()?,
            out,
            rest: BytesMut::new(),
            needs: 0,
            charge: Charge::default(),
            expected: None,
            ending: false,
            marked: false,
            paced: None,
        })
    }

    /// Connects to the agent of a node.
    ///
    /// # Errors
    /// The connection cannot be opened.
    pub fn connect<N: Net<Socket = S>>(
        net: &mut N,
        to: &Arc<Target>,
        token: Token,
        me: Node,
        node: Node,
        secret: Option<&Arc<PeerSecret>>,
    ) -> io::Result<Peer<S>> {
        let stream = net.connect(to)?;
        Peer::new(net.add(stream, token, true)?, me, Some(node), secret)
    }

    /// An accepted connection.
    ///
    /// # Errors
    /// With a secret: the system has no randomness.
    pub fn accepted(socket: S, me: Node, secret: Option<&Arc<PeerSecret>>) -> io::Result<Peer<S>> {
        Peer::new(socket, me, None, secret)
    }

    /// The peer, once it has greeted.
    pub fn node(&self) -> Option<Node> {
        self.node
    }

    /// The peer, or the node that it must be.
    pub fn node_or_expected(&self) -> Option<Node> {
        self.node.or(self.expects)
    }

    /// The certificate (DER) that it has presented; none without TLS.
    pub fn certificate<N: Net<Socket = S>>(&self, net: &N) -> Option<&[u8]> {
        net.certificate(&self.socket)
    }

    /// Bytes to send.
    pub fn unsent(&self) -> usize {
        self.out.left()
    }

    /// Memory of its output.
    pub fn output(&self) -> usize {
        self.out.holds()
    }

    /// Memory of its unfinished message.
    pub fn unfinished(&self) -> usize {
        self.rest.capacity()
    }

    /// Watches the progress of an unfinished message; returns whether it was not watched.
    pub fn watch(&mut self) -> bool {
        let begins = self.expected.is_none() && !self.rest.is_empty();
        if begins {
            self.expected = Some(self.rest.len() + GROWS_BY);
        }
        begins
    }

    /// Ends that; returns whether the message has ended or grown enough.
    pub fn has_progressed(&mut self) -> bool {
        let expected = self.expected.take().unwrap_or(0);
        self.rest.is_empty() || self.rest.len() >= expected
    }

    /// Round-trip time of its connection in microseconds, as TCP measures it; zero: unknown.
    pub fn round_trip<N: Net<Socket = S>>(&self, net: &N) -> u32 {
        net.tcp(&self.socket).map_or(0, |tcp| u32::try_from(tcp.rtt / 1000).unwrap_or(u32::MAX))
    }

    /// Lets TCP pace its output at this speed.
    pub fn pace<N: Net<Socket = S>>(&mut self, net: &mut N, speed: Rate) {
        let speed = speed.max(SLOWEST);
        let is_alike = |paced: Rate| paced.0.abs_diff(speed.0) <= paced.0 / PARTS;
        if !self.paced.is_some_and(is_alike) {
            self.paced = Some(speed);
            net.limit_pacing(&self.socket, speed.0 / 8 * PACING / 100);
        }
    }

    /// Queues a message.
    pub fn put(&mut self, message: &ItemMessage) {
        message.put(&mut Out(&mut self.out));
    }

    /// Marks it to be written to; returns whether it was not marked.
    pub fn mark(&mut self) -> bool {
        !std::mem::replace(&mut self.marked, true)
    }

    /// Handles an event; returns whether to read.
    ///
    /// # Errors
    /// Connecting failed.
    pub fn event<N: Net<Socket = S>>(&mut self, net: &mut N, event: &fanin_ring::Event) -> Result<bool, PeerError> {
        let mut opened = false;
        if self.opening {
            opened = net.is_open(&mut self.socket).map_err(PeerError::Io)?;
            self.opening = !opened;
            if event.failed && !opened {
                return Err(PeerError::Closed);
            }
        }
        self.ending |= event.readable && event.ended;
        Ok(!self.opening && (event.readable || opened))
    }

    /// Reads once into a buffer; returns whether to read again.
    ///
    /// # Errors
    /// The connection has ended, or its peer has sent something invalid.
    pub fn read<N: Net<Socket = S>>(&mut self, net: &mut N, buffer: &mut [u8]) -> Result<bool, PeerError> {
        match net.read(&mut self.socket, buffer) {
            Ok(received) if received.count > 0 => {
                self.rest.extend_from_slice(&buffer[..received.count]);
                if self.node.is_none() {
                    self.greet()?;
                }
                self.charge.set(self.rest.capacity());
                Ok(received.more || self.ending)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Ok(_) => Err(PeerError::Closed),
            Err(error) => Err(PeerError::Io(error)),
        }
    }

    /// Takes the peer's greeting, if it is there, and its proof.
    fn greet(&mut self) -> Result<(), PeerError> {
        let other = match self.proving.as_ref().and_then(|proving| proving.other) {
            Some(other) => other.node,
            None => match self.take_hello()? {
                Some(node) => node,
                None => return Ok(()),
            },
        };
        if self.is_proven()? {
            self.node = Some(other);
        }
        Ok(())
    }

    /// Takes the greeting, with the number for which this peer sends its proof.
    fn take_hello(&mut self) -> Result<Option<Node>, PeerError> {
        let Some(Hello { version, node, proves }) = Hello::take(&self.rest).map_err(|NotHello| PeerError::NotHello)?
        else {
            return Ok(None);
        };
        if version != VERSION {
            return Err(PeerError::Version(version));
        }
        if self.expects.is_some_and(|expected| expected != node) {
            return Err(PeerError::Node(node));
        }
        if proves != self.proving.is_some() {
            return Err(PeerError::Secret);
        }
        if let Some(proving) = &mut self.proving {
            let Some(number) = self.rest[Hello::LEN..].first_chunk::<{ secret::LEN }>() else { return Ok(None) };
            let other = Drawn { node, number: *number };
            self.out.extend(&proving.secret.proof(proving.side, &proving.own, &other));
            proving.other = Some(other);
            self.rest.advance(secret::LEN);
        }
        self.rest.advance(Hello::LEN);
        Ok(Some(node))
    }

    /// Whether the peer has proved that it knows the secret, if there is one.
    fn is_proven(&mut self) -> Result<bool, PeerError> {
        let Some(Proving { secret, side, own, other: Some(other) }) = &self.proving else { return Ok(true) };
        let Some(proof) = self.rest.first_chunk::<{ secret::LEN }>() else { return Ok(false) };
        if !secret.is_proof(proof, side.other(), other, own) {
            return Err(PeerError::Secret);
        }
        self.rest.advance(secret::LEN);
        self.proving = None;
        Ok(true)
    }

    /// Takes the complete messages that were read, and counts their work.
    ///
    /// # Errors
    /// The next one is invalid.
    pub fn take<N: Net<Socket = S>>(&mut self, net: &mut N, messages: &mut Vec<ItemMessage>) -> Result<(), PeerError> {
        if self.node.is_none() || self.rest.len() < self.needs.max(1) {
            return Ok(());
        }
        let bytes = self.rest.split().freeze();
        let mut at = 0;
        while let Some((message, len)) = Message::take(&bytes.slice(at..)).map_err(PeerError::Malformed)? {
            messages.push(message);
            // The next one has begun.
            self.expected = self.expected.map(|_| 0);
            net.works(&mut self.socket, MESSAGE);
            at += len;
        }
        self.needs = wire::encoded_len(&bytes[at..]).unwrap_or(0);
        // The large buffer is not kept for the rest.
        self.rest = BytesMut::from(&bytes[at..]);
        self.charge.set(self.rest.capacity());
        Ok(())
    }

    /// Writes as much as possible.
    ///
    /// # Errors
    /// The connection's error.
    pub fn write<N: Net<Socket = S>>(&mut self, net: &mut N) -> Result<(), PeerError> {
        self.marked = false;
        if self.opening {
            return Ok(());
        }
        net.write(&mut self.socket, &mut self.out).map_err(PeerError::Io)
    }

    /// Closes it. A peer of another version learns this one's.
    pub fn close<N: Net<Socket = S>>(mut self, net: &mut N) {
        if self.node.is_none() && !self.opening {
            // Best effort.
            let _ = net.write(&mut self.socket, &mut self.out);
        }
        net.close(self.socket);
    }
}

/// The line of a value for a client, with the value and its end.
pub fn value_line(key: &[u8], item: &Item) -> Vec<u8> {
    let Item { flags, cas, value } = item;
    let mut line = Vec::with_capacity(key.len() + value.len() + 64);
    line.extend_from_slice(b"VALUE ");
    line.extend_from_slice(key);
    // Writing to a vector does not fail.
    let _ = write!(line, " {flags} {}", value.len());
    let _ = cas.map(|cas| write!(line, " {cas}"));
    line.extend_from_slice(b"\r\n");
    line.extend_from_slice(value);
    line.extend_from_slice(b"\r\n");
    line
}

/// Reads the words of such a line, and takes the value that follows it.
pub fn item(line: &[u8], value: Bytes) -> Option<Item> {
    let mut words = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?.split(' ').skip(2);
    let flags = words.next()?.parse().ok()?;
    let cas = words.nth(1).map(|cas| cas.parse().ok());
    match cas {
        Some(None) => None,
        cas => Some(Item { flags, cas: cas.flatten(), value }),
    }
}
