//! A request to a server, and the destination of its response.

use fanin_memcache::{Meta, Shape};

use crate::memory::table::Id;
use crate::net::clock::Nanos;

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
    /// Nowhere: the client gets this text when the response is there.
    Instead(&'static str),
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
    pub note: usize,
    /// Its value has come; there is only one.
    pub has_value: bool,
    /// The client gets nothing more of the response.
    pub hushed: bool,
    /// In a pool with failover: it changes or deletes a key.
    pub changes: bool,
    /// Bytes of the response, on the second connection.
    pub come: usize,
    /// The group of the key that it writes.
    pub writes: Option<u16>,
    /// A migration that continues after it.
    pub then: Option<Id>,
}

impl Destination {
    /// The text that the client gets instead of the response.
    pub fn replacement(self) -> Option<&'static str> {
        if let Destination::Instead(text) = self { Some(text) } else { None }
    }
}

impl Ask {
    /// A request; its note and key group are set separately.
    pub fn new((client, number): (Id, u64), to: Destination, shape: Shape, at: Nanos) -> Ask {
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
            writes: None,
            then: None,
        }
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
