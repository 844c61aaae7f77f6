//! A server's connection: what it was asked, in order, and what waits to be written to it.

use std::collections::VecDeque;
use std::net::SocketAddr;

use fanin_memcache::{Cursor, Quiet, Shape};

use crate::clock::Nanos;
use crate::sockets::{Outgoing, Socket};
use crate::table::Id;

/// Above so many bytes that a server has not taken, or so many requests that it has not answered, it is asked nothing more.
const ENOUGH_WAITS: usize = 16 << 20;
const ENOUGH_ASKED: usize = 1 << 17;
/// The first pause before a server that could not be reached is tried again, and the longest.
const FIRST_PAUSE: Nanos = 50_000_000;
const LONGEST_PAUSE: Nanos = 2_000_000_000;

/// What a server's answer is for.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The client's answer, but for what it does not want to hear.
    Relay(Quiet),
    /// The answer of all who joined this get.
    Joined(Id),
    /// A batch of a multiget.
    Batch { get: Id, batch: u32 },
    /// One of every server's.
    Every,
    /// One of every server's lists: this server's.
    Listing(usize),
    /// Nothing: the client is told this when it is there.
    Instead(&'static str),
}

/// What is heeded of a key until its answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    Nothing,
    /// What the key of a value must look like.
    Print(u32),
    /// It is written: its group.
    Write(u16),
}

/// What a server was asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub client: Id,
    pub number: u64,
    pub part: Part,
    pub shape: Shape,
    pub at: Nanos,
    pub heed: Heed,
}

/// How a connection stands.
#[derive(Debug)]
pub enum State {
    /// It is being opened; requests wait for it where that is the first try since it stood.
    Opening {
        socket: Socket,
        since: Nanos,
        waits: bool,
    },
    Open(Socket),
    /// Nobody is there: tried again at this time.
    Down {
        until: Nanos,
    },
}

/// One server.
#[derive(Debug)]
pub struct Server {
    pub name: String,
    pub address: SocketAddr,
    pub pool: usize,
    pub state: State,
    pub asked: VecDeque<Ask>,
    pub cursor: Cursor,
    /// The bytes left of a value that is passed on as it comes, and whether the answer ends with it.
    pub passing: Option<(u32, bool)>,
    /// Bytes that were read and not understood yet.
    pub rest: Vec<u8>,
    pub out: Outgoing,
    /// Whether it is among those to be written to when the turn ends.
    pub dirty: bool,
    pause: Nanos,
}

impl Server {
    pub fn new(name: String, address: SocketAddr, pool: usize) -> Server {
        Server {
            name,
            address,
            pool,
            state: State::Down { until: 0 },
            asked: VecDeque::new(),
            cursor: Cursor::default(),
            passing: None,
            rest: Vec::new(),
            out: Outgoing::default(),
            dirty: false,
            pause: 0,
        }
    }

    /// Whether it may be asked; or why not.
    pub fn accepts(&self) -> Result<(), Trouble> {
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

    /// The connection is gone, and so is all that it was asked: both are handed back. One that stood is tried again at once, what
    /// never stood later.
    pub fn close(&mut self, now: Nanos) -> (Option<Socket>, VecDeque<Ask>) {
        let down = State::Down { until: now + self.pause };
        let socket = match std::mem::replace(&mut self.state, down) {
            State::Open(socket) | State::Opening { socket, .. } => Some(socket),
            State::Down { .. } => None,
        };
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        (self.cursor, self.passing) = (Cursor::default(), None);
        self.rest.clear();
        self.out = Outgoing::default();
        (socket, std::mem::take(&mut self.asked))
    }

    /// Whether the next try is the first since it answered, so that requests may wait for it.
    pub fn is_first_try(&self) -> bool {
        self.pause <= FIRST_PAUSE
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

/// What is kept of a key so that a value of another is noticed: its length, its first bytes and its last.
pub fn print_of(key: &[u8]) -> u32 {
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    let ends = word(&key[..key.len().min(8)]) ^ word(&key[key.len().saturating_sub(8)..]).rotate_left(29);
    let mixed = (ends ^ (key.len() as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}
