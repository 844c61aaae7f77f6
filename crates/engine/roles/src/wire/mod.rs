//! Messages between roles, and their encoding: a fixed header, then a key or a value.
//!
//! The simulator sends the lengths that are encoded here: [`Message::len`] is the length that [`Message::put`] writes.
//!
//! ```text
//!  0        1        2                 4
//! +--------+--------+-----------------+-----------------------------------+
//! | version| kind   | epoch           | origin: the front end             |
//! +--------+--------+-----------------+-----------------+-----------------+
//! | request                           | nonce           | length of what  |
//! +--------+--------------------------+-----------------+-----------------+
//! | follows| index: the object in its request  |  big-endian throughout
//! +--------+-----------------------------------+
//! ```

mod hello;
mod parts;

use bytes::{Bytes, BytesMut};
use fanin_units::Rate;

pub use hello::{Hello, NotHello};
pub use parts::{Item, ItemKey, Key, Numbered, Size};

/// Protocol version.
pub const VERSION: u8 = 4;
/// Length of the header.
pub const HEADER: usize = 20;
/// Maximum length of a message, header included.
pub const LONGEST: usize = 1 << 24;
/// Maximum number of objects of a request.
pub const OBJECTS: usize = 1 << 24;

/// A machine, by its number in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// Identity of a request. On real machines, number, incarnation and nonce are 64 random bits for each request: nobody can guess the tag of
/// another one's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// The front end.
    pub origin: Node,
    /// Its number there.
    pub request: u32,
    /// Incarnation of the front end: messages of an earlier one are late.
    pub epoch: u16,
    /// Zero in simulations.
    pub nonce: u16,
}

impl Tag {
    /// Whether it is of an earlier incarnation than another tag of its front end; epochs wrap around.
    pub fn is_before(self, other: Tag) -> bool {
        (self.epoch.wrapping_sub(other.epoch) as i16) < 0
    }
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<K, V> {
    /// Front end to hub: be the hub of a swarm.
    Swarm(Swarm),
    /// Front end to hub: get this object from `holder`.
    Ask {
        /// Its key.
        key: K,
        /// The server that has it.
        holder: Node,
    },
    /// To a data server: send me this object.
    Get(K),
    /// Data server to data server: send this object, which was moved to you, to the requester.
    Pass {
        /// Its key.
        key: K,
        /// The requester.
        asker: Node,
        /// Remaining number of forwards.
        hops: u8,
    },
    /// An object for the front end.
    Object(V),
    /// The object does not exist: a valid response.
    Miss,
    /// A hub could not get it: its server is silent, gone or refuses.
    Lost,
    /// Front end to hub: send at this rate from now on.
    Speed(Rate),
    /// Front end to hub: do not send this object.
    Withdraw,
    /// Hub to front end: the object was not sent, and will not be.
    Withdrawn,
    /// Front end to hub: the request is over.
    Over,
    /// Agent to front end, of no request: how busy it is. The host handles it.
    Load(Load),
    /// Front end to hub, before its [`Body::Swarm`]: this hub will send through you. In simulations, any may.
    Child(Node),
}

/// A report of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of objects that it could take besides those in progress.
    pub spare: u32,
    /// Round-trip time to the front end in microseconds, as the agent's TCP measures it; zero: unknown.
    pub round_trip: u32,
}

/// A hub's instructions for its swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// Destination of the responses.
    pub parent: Node,
    /// Rate; zero: unlimited.
    pub rate: Rate,
    /// Number of objects that will be requested from it.
    pub own: u32,
    /// The same, including its children's.
    pub all: u32,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<K, V> {
    /// Its request.
    pub tag: Tag,
    /// Index of the object in its request; zero if there is none.
    pub index: u32,
    /// Content.
    pub body: Body<K, V>,
}

/// Takes encoded messages.
pub trait Sink {
    /// Takes a copy of these bytes.
    fn copy(&mut self, bytes: &[u8]);

    /// Takes bytes that may be shared; a sink in one piece copies them.
    fn share(&mut self, bytes: &Bytes) {
        self.copy(bytes);
    }
}

impl Sink for Vec<u8> {
    fn copy(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Encoded messages as buffers for one vectored write: keys and values that are shared stay where they are.
#[derive(Debug, Default)]
pub struct Buffers {
    done: Vec<Bytes>,
    /// The last buffer, with bytes that were copied.
    last: BytesMut,
}

impl Buffers {
    /// The buffers so far.
    pub fn finish(mut self) -> Vec<Bytes> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if !self.last.is_empty() {
            self.done.push(self.last.split().freeze());
        }
    }
}

impl Sink for Buffers {
    fn copy(&mut self, bytes: &[u8]) {
        self.last.extend_from_slice(bytes);
    }

    fn share(&mut self, bytes: &Bytes) {
        self.close();
        self.done.push(bytes.clone());
    }
}

/// A key or a value after a header.
#[allow(clippy::len_without_is_empty, reason = "no caller needs is_empty")]
pub trait Part: Sized {
    /// Encoded length.
    fn len(&self) -> usize;
    /// Encodes it.
    fn put(&self, out: &mut impl Sink);
    /// Decodes it from all of these bytes, which it may share; `None` if they are invalid.
    fn take(bytes: Bytes) -> Option<Self>;
}

/// Decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Unsupported version.
    Version(u8),
    /// Unknown kind.
    Kind(u8),
    /// Too long.
    TooLong(u32),
    /// The body is invalid for its kind.
    Body,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Malformed::Version(version) => write!(f, "unsupported protocol version {version}; use {VERSION}"),
            Malformed::Kind(kind) => write!(f, "unknown message kind {kind}"),
            Malformed::TooLong(length) => write!(f, "message of {length} B exceeds the limit of {LONGEST} B"),
            Malformed::Body => write!(f, "the body of the message is invalid for its kind"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Length of the first message, if its header is there.
pub fn encoded_len(bytes: &[u8]) -> Option<usize> {
    let head = bytes.first_chunk::<HEADER>()?;
    Some(HEADER + u32::from_be_bytes([0, head[14], head[15], head[16]]) as usize)
}

/// Result of decoding: a message and its length; `None`: more bytes are needed.
pub type Taken<K, V> = Result<Option<(Message<K, V>, usize)>, Malformed>;

impl<K: Part, V: Part> Message<K, V> {
    /// Encoded length.
    #[allow(clippy::len_without_is_empty, reason = "a message has a header, and is never empty")]
    pub fn len(&self) -> usize {
        HEADER
            + match &self.body {
                Body::Swarm(_) => 20,
                Body::Ask { key, .. } => 4 + key.len(),
                Body::Get(key) => key.len(),
                Body::Pass { key, .. } => 5 + key.len(),
                Body::Object(value) => value.len(),
                Body::Speed(_) | Body::Load(_) => 8,
                Body::Child(_) => 4,
                Body::Miss | Body::Lost | Body::Withdraw | Body::Withdrawn | Body::Over => 0,
            }
    }

    fn kind(&self) -> u8 {
        match self.body {
            Body::Swarm(_) => 1,
            Body::Ask { .. } => 2,
            Body::Get(_) => 3,
            Body::Object(_) => 4,
            Body::Miss => 5,
            Body::Lost => 6,
            Body::Speed(_) => 7,
            Body::Withdraw => 8,
            Body::Withdrawn => 9,
            Body::Over => 10,
            Body::Pass { .. } => 11,
            Body::Load(_) => 12,
            Body::Child(_) => 13,
        }
    }

    /// Encodes it.
    pub fn put(&self, out: &mut impl Sink) {
        out.copy(&[VERSION, self.kind()]);
        out.copy(&self.tag.epoch.to_be_bytes());
        out.copy(&self.tag.origin.0.to_be_bytes());
        out.copy(&self.tag.request.to_be_bytes());
        out.copy(&self.tag.nonce.to_be_bytes());
        [(self.len() - HEADER) as u32, self.index].iter().for_each(|number| out.copy(&number.to_be_bytes()[1..]));
        match &self.body {
            Body::Swarm(Swarm { parent, rate, own, all }) => {
                out.copy(&parent.0.to_be_bytes());
                out.copy(&rate.0.to_be_bytes());
                out.copy(&own.to_be_bytes());
                out.copy(&all.to_be_bytes());
            }
            Body::Ask { key, holder } => {
                out.copy(&holder.0.to_be_bytes());
                key.put(out);
            }
            Body::Get(key) => key.put(out),
            Body::Pass { key, asker, hops } => {
                out.copy(&asker.0.to_be_bytes());
                out.copy(&[*hops]);
                key.put(out);
            }
            Body::Object(value) => value.put(out),
            Body::Speed(rate) => out.copy(&rate.0.to_be_bytes()),
            Body::Child(child) => out.copy(&child.0.to_be_bytes()),
            Body::Load(Load { spare, round_trip }) => {
                out.copy(&spare.to_be_bytes());
                out.copy(&round_trip.to_be_bytes());
            }
            Body::Miss | Body::Lost | Body::Withdraw | Body::Withdrawn | Body::Over => {}
        }
    }

    /// Decodes the first message.
    ///
    /// # Errors
    /// The bytes are invalid; the connection cannot be used any more.
    pub fn take(bytes: &Bytes) -> Taken<K, V> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return match bytes.first() {
                Some(&version) if version != VERSION => Err(Malformed::Version(version)),
                _ => Ok(None),
            };
        };
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if head[0] != VERSION {
            return Err(Malformed::Version(head[0]));
        }
        let three = |at: usize| u32::from_be_bytes([0, head[at], head[at + 1], head[at + 2]]);
        let length = three(14) as usize;
        if length > LONGEST - HEADER {
            return Err(Malformed::TooLong(three(14)));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let tag = Tag { origin: Node(word(4)), request: word(8), epoch: half(2), nonce: half(12) };
        let body = body(head[1], bytes.slice(HEADER..HEADER + length))?;
        Ok(Some((Message { tag, index: three(17), body }, HEADER + length)))
    }
}

fn body<K: Part, V: Part>(kind: u8, rest: Bytes) -> Result<Body<K, V>, Malformed> {
    let read = || {
        let mut fields = Fields(&rest);
        let behind = |fields: &Fields<'_>| rest.slice_ref(fields.0);
        let body = match kind {
            1 => {
                let (parent, rate) = (Node(fields.word()?), Rate(fields.double()?));
                Body::Swarm(Swarm { parent, rate, own: fields.word()?, all: fields.word()? })
            }
            2 => {
                let holder = Node(fields.word()?);
                return Some(Body::Ask { key: K::take(behind(&fields))?, holder });
            }
            3 => return K::take(behind(&fields)).map(Body::Get),
            4 => return V::take(behind(&fields)).map(Body::Object),
            5 => Body::Miss,
            6 => Body::Lost,
            7 => Body::Speed(Rate(fields.double()?)),
            8 => Body::Withdraw,
            9 => Body::Withdrawn,
            10 => Body::Over,
            13 => Body::Child(Node(fields.word()?)),
            12 => Body::Load(Load { spare: fields.word()?, round_trip: fields.word()? }),
            _ => {
                let (asker, hops) = (Node(fields.word()?), fields.byte()?);
                return Some(Body::Pass { key: K::take(behind(&fields))?, asker, hops });
            }
        };
        fields.0.is_empty().then_some(body)
    };
    match kind {
        1..=13 => read().ok_or(Malformed::Body),
        other => Err(Malformed::Kind(other)),
    }
}

/// Bytes not yet read.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }

    fn double(&mut self) -> Option<u64> {
        let (double, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*double))
    }
}
