//! A server's connection: what it was asked, in order, and what waits to be written to it.
//!
//! Each server has two. Clients share the first. What a server answers with bytes of what it stores (`stats cachedump`, `me`) comes by
//! the other, which is opened for one request and closed behind its answer: whatever else comes by it is nobody's.

use std::collections::VecDeque;
use std::net::SocketAddr;

use fanin_memcache::{Cursor, Shape};

use crate::bytes::Bytes;
use crate::clock::Nanos;
use crate::net::Outgoing;
use crate::table::Id;

/// Above so many bytes that a server has not taken, or so many requests that it has not answered, it is asked nothing more.
const ENOUGH_WAITS: usize = 16 << 20;
const ENOUGH_ASKED: usize = 1 << 17;
/// So many may wait for a connection of their own.
const ENOUGH_ALONE: usize = 1 << 10;
/// The first pause before a server that could not be reached is tried again, and the longest.
const FIRST_PAUSE: Nanos = 50_000_000;
const LONGEST_PAUSE: Nanos = 2_000_000_000;

/// What a server's answer is for.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The client's answer; or, where it is quiet, no more of it than it wants to hear.
    Relay { quiet: bool },
    /// The answer of all who joined this get.
    Joined(Id),
    /// A batch of a multiget.
    Batch { get: Id, batch: u32 },
    /// A step of an errand for a key between two servers.
    Errand(Id),
    /// One of every server's.
    Every,
    /// One of every server's lists: this server's.
    Listing(usize),
    /// Nothing of it: the client is told this when it is there.
    Instead(&'static str),
}

/// What a server was asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub client: Id,
    pub number: u64,
    pub part: Part,
    pub shape: Shape,
    pub at: Nanos,
    /// How much is noted of it: the key that the answer must have, or what its mark is.
    pub note: usize,
    /// A value has come that is its own, of which there is one.
    pub has_value: bool,
    /// Its client is to hear no more of it.
    pub hushed: bool,
    /// It writes a key of this group.
    pub writes: Option<u16>,
    /// An errand that goes on behind it.
    pub then: Option<Id>,
}

/// A large value on its way.
#[derive(Debug)]
pub struct Passing {
    /// Its line and what has come.
    pub bytes: Vec<u8>,
    /// How much has not, its end included; and whether the answer ends with it.
    pub left: u32,
    pub last: bool,
    /// Whether it is for anybody.
    pub keeps: bool,
}

impl Passing {
    /// Takes more of it: how much.
    pub fn take(&mut self, come: &[u8]) -> usize {
        if self.keeps {
            self.bytes.extend_from_slice(come);
        }
        self.left -= come.len() as u32;
        come.len()
    }
}

impl Ask {
    /// What is noted of it, and what it writes, stands beside it.
    pub fn new((client, number): (Id, u64), part: Part, shape: Shape, at: Nanos) -> Ask {
        Ask { client, number, part, shape, at, note: 0, has_value: false, hushed: false, writes: None, then: None }
    }
}

/// How a connection stands.
#[derive(Debug)]
pub enum State<S> {
    /// It is being opened; requests wait for it where that is the first try since it stood.
    Opening {
        socket: S,
        since: Nanos,
        waits: bool,
    },
    Open(S),
    /// Nobody is there: tried again at this time.
    Down {
        until: Nanos,
    },
}

/// One of a server's connections.
#[derive(Debug)]
pub struct Server<S> {
    pub name: String,
    pub address: SocketAddr,
    pub pool: usize,
    pub state: State<S>,
    pub asked: VecDeque<Ask>,
    /// What is noted of what it was asked, one behind the other.
    pub notes: Bytes,
    /// What waits for a connection of its own, each with its line; none where the connection is shared.
    pub alone: Option<VecDeque<(Ask, Vec<u8>)>>,
    pub cursor: Cursor,
    /// A large value of which not all has come.
    pub passing: Option<Passing>,
    /// Bytes that were read and not understood yet.
    pub rest: Vec<u8>,
    pub out: Outgoing,
    /// Whether it is among those to be written to when the turn ends, and among those to be read in the next.
    pub dirty: bool,
    pub again: bool,
    pause: Nanos,
}

impl<S> Server<S> {
    pub fn shared(name: String, address: SocketAddr, pool: usize) -> Server<S> {
        Server {
            name,
            address,
            pool,
            state: State::Down { until: 0 },
            asked: VecDeque::new(),
            notes: Bytes::default(),
            alone: None,
            cursor: Cursor::default(),
            passing: None,
            rest: Vec::new(),
            out: Outgoing::default(),
            dirty: false,
            again: false,
            pause: 0,
        }
    }

    /// For requests that have a connection of their own.
    pub fn alone(name: String, address: SocketAddr, pool: usize) -> Server<S> {
        let state = State::Down { until: Nanos::MAX };
        Server { alone: Some(VecDeque::new()), state, ..Server::shared(name, address, pool) }
    }

    /// Whether it may be asked; or why not.
    pub fn accepts(&self) -> Result<(), Trouble> {
        if let Some(alone) = &self.alone {
            return if alone.len() < ENOUGH_ALONE { Ok(()) } else { Err(Trouble::Busy) };
        }
        match self.state {
            State::Open(_) | State::Opening { waits: true, .. } => {}
            _ => return Err(Trouble::Down),
        }
        let full = self.out.left() > ENOUGH_WAITS || self.asked.len() >= ENOUGH_ASKED;
        if full { Err(Trouble::Busy) } else { Ok(()) }
    }

    /// The connection stands.
    pub fn opened(&mut self) {
        let down = State::Down { until: 0 };
        self.state = match std::mem::replace(&mut self.state, down) {
            State::Opening { socket, .. } => State::Open(socket),
            other => other,
        };
    }

    /// It has answered: the next failure is the first.
    pub fn is_well(&mut self) {
        self.pause = 0;
    }

    /// What it was asked first is over.
    pub fn pop(&mut self) {
        if let Some(ask) = self.asked.pop_front() {
            self.notes.take(ask.note);
        }
    }

    /// Whether this key, or an answer with this mark, is what it was asked for first.
    pub fn note(&self) -> &[u8] {
        let noted = self.asked.front().map_or(0, |ask| ask.note);
        &self.notes[..noted]
    }

    /// The connection is gone, and so is all that it was asked: both are handed back. One that stood is tried again at once, what
    /// never stood later, and one of its own where something waits for it.
    pub fn close(&mut self, now: Nanos) -> (Option<S>, VecDeque<Ask>) {
        let until = match &self.alone {
            None => now + self.pause,
            Some(alone) if alone.is_empty() => Nanos::MAX,
            Some(_) => now,
        };
        let socket = match std::mem::replace(&mut self.state, State::Down { until }) {
            State::Open(socket) | State::Opening { socket, .. } => Some(socket),
            State::Down { .. } => None,
        };
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        (self.cursor, self.passing, self.notes) = (Cursor::default(), None, Bytes::default());
        self.rest = Vec::new();
        self.out = Outgoing::default();
        (socket, std::mem::take(&mut self.asked))
    }

    /// Whether the next try is the first since it answered, so that requests may wait for it.
    pub fn is_first_try(&self) -> bool {
        self.pause <= FIRST_PAUSE
    }

    /// What it holds.
    pub fn holds(&self) -> usize {
        let passing = self.passing.as_ref().map_or(0, |passing| passing.bytes.capacity());
        self.out.bytes.capacity() + self.out.handed + self.rest.capacity() + self.notes.room() + passing
    }
}

/// Why an answer cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody is there.
    Down,
    /// It did not answer in time.
    Timeout,
    /// It closed the connection.
    Closed,
    /// Its answer is none.
    Nonsense,
    /// Too much waits for it.
    Busy,
}

impl Trouble {
    /// What a client is told.
    pub fn text(self) -> &'static str {
        match self {
            Trouble::Down => "SERVER_ERROR server is down\r\n",
            Trouble::Timeout => "SERVER_ERROR server did not answer in time\r\n",
            Trouble::Closed => "SERVER_ERROR server closed the connection\r\n",
            Trouble::Nonsense => "SERVER_ERROR server's answer makes no sense\r\n",
            Trouble::Busy => "SERVER_ERROR too much waits for the server\r\n",
        }
    }
}
