//! What roles say to one another, and how it goes over a socket: a fixed header, then a key or a value.
//!
//! The length that the simulator sends is the length that is encoded here: [`Message::len`] is what [`Message::put`] writes.
//!
//! ```text
//!  0        1        2                 4
//! +--------+--------+-----------------+-----------------------------------+
//! | version| kind   | epoch           | length of what follows the header |
//! +--------+--------+-----------------+-----------------------------------+
//! | origin: the front end             | request                           |
//! +-----------------------------------+-----------------------------------+
//! | index: the object in its request  |  big-endian throughout
//! +-----------------------------------+
//! ```

use fanin_units::Rate;

/// The version that this speaks.
pub const VERSION: u8 = 2;
/// Bytes of the header.
pub const HEADER: usize = 20;
/// No message is longer, header included.
pub const LONGEST: usize = 1 << 24;

/// A machine, by its number in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// Whose request a message is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// The front end.
    pub origin: Node,
    /// Its number there.
    pub request: u32,
    /// Which life of the front end: what is of an earlier one is late.
    pub epoch: u16,
}

impl Tag {
    /// Whether it is of an earlier life than another of its front end; lives are counted round and round.
    pub fn is_before(self, other: Tag) -> bool {
        (self.epoch.wrapping_sub(other.epoch) as i16) < 0
    }
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<K, V> {
    /// Front end to hub: be the hub of a swarm.
    Swarm(Swarm),
    /// Front end to hub: get this object, which `holder` has.
    Ask {
        /// Its key.
        key: K,
        /// Who has it.
        holder: Node,
    },
    /// To a data server: send me this object.
    Get(K),
    /// Data server to data server: send this object, which was moved to you, to who asked me.
    Pass {
        /// Its key.
        key: K,
        /// Who asked.
        asker: Node,
        /// How often it may be passed on from there.
        hops: u8,
    },
    /// An object, on its way to the front end.
    Object(V),
    /// There is no such object: that is an answer.
    Miss,
    /// A hub could not get it: its holder is silent, gone or refuses.
    Lost,
    /// Front end to hub: send at this rate from now on.
    Speed(Rate),
    /// Front end to hub: do not send this object any more.
    Withdraw,
    /// Hub to front end: it was not sent, and will not be.
    Withdrawn,
    /// Front end to hub: the request is over.
    Over,
}

/// What a hub is told of its swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// Where it sends what it gathers.
    pub parent: Node,
    /// How fast; zero: as fast as it goes.
    pub rate: Rate,
    /// Objects that it will be asked for.
    pub own: u32,
    /// Those, and what comes through its children.
    pub all: u32,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<K, V> {
    /// Whose.
    pub tag: Tag,
    /// The object's place in its request; zero where there is none.
    pub index: u32,
    /// What.
    pub body: Body<K, V>,
}

/// A key or a value, as it stands behind a header.
#[allow(clippy::len_without_is_empty, reason = "nobody asks whether it is empty")]
pub trait Part: Sized {
    /// Bytes that it takes.
    fn len(&self) -> usize;
    /// Writes them.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it from all of these bytes; `None` where they are none.
    fn take(bytes: &[u8]) -> Option<Self>;
}

/// A value of which only its length matters: the simulator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u32);

impl Part for Size {
    fn len(&self) -> usize {
        self.0 as usize
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.len(), 0);
    }

    fn take(bytes: &[u8]) -> Option<Size> {
        Some(Size(bytes.len() as u32))
    }
}

/// An object by its number; written as a key of sixteen hexadecimal digits, which a cache takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered(pub u64);

impl Part for Numbered {
    fn len(&self) -> usize {
        16
    }

    fn put(&self, out: &mut Vec<u8>) {
        let digit = |place: u32| b"0123456789abcdef"[(self.0 >> (4 * place)) as usize & 15];
        out.extend((0..16).rev().map(digit));
    }

    fn take(bytes: &[u8]) -> Option<Numbered> {
        let digits = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let text =
            core::str::from_utf8(bytes).ok().filter(|text| text.len() == 16 && text.bytes().all(|b| digits(&b)))?;
        u64::from_str_radix(text, 16).ok().map(Numbered)
    }
}

impl Part for Box<[u8]> {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(bytes: &[u8]) -> Option<Box<[u8]>> {
        Some(bytes.into())
    }
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Another version.
    Version(u8),
    /// No such kind.
    Kind(u8),
    /// Longer than any message.
    TooLong(u32),
    /// What follows the header is not of this kind.
    Body,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Malformed::Version(version) => write!(f, "version {version} is spoken there, and {VERSION} here"),
            Malformed::Kind(kind) => write!(f, "no message is of kind {kind}"),
            Malformed::TooLong(length) => write!(f, "a message of {length} B, where {LONGEST} B are the most"),
            Malformed::Body => write!(f, "what follows the header is not of the kind that it says"),
        }
    }
}

impl core::error::Error for Malformed {}

/// What a read of bytes comes to: a message and how many bytes it took; `None`: more are needed.
pub type Taken<K, V> = Result<Option<(Message<K, V>, usize)>, Malformed>;

impl<K: Part, V: Part> Message<K, V> {
    /// Bytes that it takes on a connection.
    #[allow(clippy::len_without_is_empty, reason = "it has a header, and is never empty")]
    pub fn len(&self) -> usize {
        HEADER
            + match &self.body {
                Body::Swarm(_) => 20,
                Body::Ask { key, .. } => 4 + key.len(),
                Body::Get(key) => key.len(),
                Body::Pass { key, .. } => 5 + key.len(),
                Body::Object(value) => value.len(),
                Body::Speed(_) => 8,
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
        }
    }

    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[VERSION, self.kind()]);
        out.extend_from_slice(&self.tag.epoch.to_be_bytes());
        let words = [(self.len() - HEADER) as u32, self.tag.origin.0, self.tag.request, self.index];
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        match &self.body {
            Body::Swarm(Swarm { parent, rate, own, all }) => {
                out.extend_from_slice(&parent.0.to_be_bytes());
                out.extend_from_slice(&rate.0.to_be_bytes());
                out.extend_from_slice(&own.to_be_bytes());
                out.extend_from_slice(&all.to_be_bytes());
            }
            Body::Ask { key, holder } => {
                out.extend_from_slice(&holder.0.to_be_bytes());
                key.put(out);
            }
            Body::Get(key) => key.put(out),
            Body::Pass { key, asker, hops } => {
                out.extend_from_slice(&asker.0.to_be_bytes());
                out.push(*hops);
                key.put(out);
            }
            Body::Object(value) => value.put(out),
            Body::Speed(rate) => out.extend_from_slice(&rate.0.to_be_bytes()),
            Body::Miss | Body::Lost | Body::Withdraw | Body::Withdrawn | Body::Over => {}
        }
    }

    /// Reads the first message of some bytes.
    ///
    /// # Errors
    /// Why there is none, whatever more bytes come: the connection is of no use any more.
    pub fn take(bytes: &[u8]) -> Taken<K, V> {
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
        let length = word(4) as usize;
        if length > LONGEST - HEADER {
            return Err(Malformed::TooLong(word(4)));
        }
        let Some(rest) = rest.get(..length) else { return Ok(None) };
        let epoch = u16::from_be_bytes([head[2], head[3]]);
        let tag = Tag { origin: Node(word(8)), request: word(12), epoch };
        let body = body(head[1], rest)?;
        Ok(Some((Message { tag, index: word(16), body }, HEADER + length)))
    }
}

fn body<K: Part, V: Part>(kind: u8, rest: &[u8]) -> Result<Body<K, V>, Malformed> {
    let read = || {
        let mut fields = Fields(rest);
        let body = match kind {
            1 => {
                let (parent, rate) = (Node(fields.word()?), Rate(fields.double()?));
                Body::Swarm(Swarm { parent, rate, own: fields.word()?, all: fields.word()? })
            }
            2 => {
                let holder = Node(fields.word()?);
                return Some(Body::Ask { key: K::take(fields.0)?, holder });
            }
            3 => return K::take(rest).map(Body::Get),
            4 => return V::take(rest).map(Body::Object),
            5 => Body::Miss,
            6 => Body::Lost,
            7 => Body::Speed(Rate(fields.double()?)),
            8 => Body::Withdraw,
            9 => Body::Withdrawn,
            10 => Body::Over,
            _ => {
                let (asker, hops) = (Node(fields.word()?), fields.byte()?);
                return Some(Body::Pass { key: K::take(fields.0)?, asker, hops });
            }
        };
        fields.0.is_empty().then_some(body)
    };
    match kind {
        1..=11 => read().ok_or(Malformed::Body),
        other => Err(Malformed::Kind(other)),
    }
}

/// What is left to read.
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
