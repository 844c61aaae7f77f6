//! A request to a server, and the destination of its response.

use fanin_memcache::{Meta, Shape, text};

use super::shares::NOBODY;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;

/// Destination of a server's response.
#[derive(Clone, Copy, Debug)]
pub enum Destination {
    /// The client; with `quiet`, without the responses that it suppresses.
    Relay { quiet: bool },
    /// All clients that joined this get.
    Joined(Id),
    /// A batch of a multiget.
    Batch { get: Id, batch: u32 },
    /// The front end of `roles`: no hub has answered for a key.
    Direct(Id),
    /// A step of a key's migration.
    KeyMigration(Id),
    /// A key of a batch that is read again.
    KeyOfBatch(Id),
    /// One of every server's responses.
    Every,
    /// One of every server's responses to `flush_all`; with `again`, they all flush again afterwards.
    Flush { again: bool },
    /// One of every server's lists: this server's.
    Listing(usize),
    /// Nowhere: it shows that a server responds again.
    Probe,
    /// Nowhere: it deletes a key of the journal of this server, in a round of deletions.
    Purge { of: u32, round: u32 },
    /// Nowhere: the client's value is too large, of which it gets an error when the response is there, unless it wants silence.
    TooLarge { silent: bool },
    /// Nowhere: the client has got a timeout.
    GivenUp,
}

/// Estimate of responses: the number of their values, and their bytes by the mean of the client's earlier values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    pub values: u32,
    pub bytes: u32,
}

/// Progress of a connection to a server: time by which its bytes delay deadlines, and time in which the front end did not read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub credit: Nanos,
    pub paused: Nanos,
}

/// The pending response that a request is for: a client, and the response's number.
#[derive(Clone, Copy, Debug)]
pub struct Recipient {
    pub client: Id,
    pub number: u64,
}

impl Recipient {
    /// Nobody.
    pub const NOBODY: Recipient = Recipient { client: Id::NOBODY, number: 0 };

    /// A client, but none of its responses.
    pub fn apart(client: Id) -> Recipient {
        Recipient { client, number: u64::MAX }
    }
}

/// A request to a server.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub client: Id,
    pub number: u64,
    pub to: Destination,
    pub shape: Shape,
    pub at: Nanos,
    /// Length of the note: the key or opaque token that the response must have.
    pub note: u32,
    /// Its value has come; there is only one.
    pub has_value: bool,
    /// The client gets nothing more of the response.
    pub hushed: bool,
    /// In a pool with failover: it changes or deletes a key.
    pub changes: bool,
    /// Bytes of the response, on the second connection.
    pub come: u32,
    /// The response, estimated, and the progress of the connection before it.
    pub expects: Expected,
    pub progress: Progress,
    /// The tenant's number, or that of nobody, and the length of the request.
    pub tenant: u32,
    pub bytes: u32,
    /// The group of the key that it writes.
    pub writes: Option<u16>,
    /// A migration that continues after it.
    pub then: Option<Id>,
    /// If its server fails, it is sent once more as this read says.
    pub again: Option<Id>,
}

impl Destination {
    /// The text that the client gets instead of the response.
    pub fn replacement(self) -> Option<&'static str> {
        match self {
            Destination::TooLarge { silent: true } => Some(""),
            Destination::TooLarge { silent: false } => Some(text::TOO_LARGE),
            _ => None,
        }
    }
}

impl Ask {
    /// A request; its note and key group are set separately.
    pub fn new(recipient: Recipient, to: Destination, shape: Shape, at: Nanos) -> Ask {
        let Recipient { client, number } = recipient;
        Ask {
            client,
            number,
            to,
            shape,
            at,
            note: 0,
            has_value: false,
            hushed: false,
            changes: false,
            come: 0,
            expects: Expected::default(),
            progress: Progress::default(),
            tenant: NOBODY,
            bytes: 0,
            writes: None,
            then: None,
            again: None,
        }
    }

    /// The pending response that it is for.
    pub fn recipient(&self) -> Recipient {
        Recipient { client: self.client, number: self.number }
    }

    /// Whether it only reads values.
    pub fn reads(&self) -> bool {
        let gets = matches!(self.shape, Shape::Values | Shape::Meta { command: Meta::Get, .. });
        gets && !self.changes && self.then.is_none()
    }

    /// Whether it only deletes a key, or makes or returns a copy, for the front end: a joining server executes that, but no client's change,
    /// which could be based on an outdated value there.
    pub fn is_for_copies(&self) -> bool {
        self.changes && self.then.is_none() && matches!(self.to, Destination::KeyMigration(_))
    }

    /// Whether the client may get a timeout while its server goes on to respond to earlier requests.
    pub fn may_be_given_up(&self) -> bool {
        let to = matches!(
            self.to,
            Destination::Relay { quiet: false }
                | Destination::Joined(_)
                | Destination::Batch { .. }
                | Destination::Direct(_)
                | Destination::KeyOfBatch(_)
        );
        to && !self.changes && self.then.is_none()
    }

    /// Whether the client suppresses this response to its meta command: a miss, or success.
    pub fn suppresses(&self, words: &[u8]) -> bool {
        let (Shape::Meta { command, .. }, Destination::Relay { quiet: true }) = (self.shape, self.to) else {
            return false;
        };
        let codes: &[&[u8]] = if command == Meta::Get { &[b"EN"] } else { &[b"HD", b"VA"] };
        codes.iter().any(|code| words.starts_with(code))
    }
}

// Every request is copied several times on its way to the queue of its server and back.
const _: () = assert!(size_of::<Ask>() <= 112 && size_of::<Option<Id>>() == size_of::<Id>());
