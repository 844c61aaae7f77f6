//! A server's connection: what it was asked, in order, and what waits to be written to it.
//!
//! Each server has two. Clients share the first. What a server answers with bytes of what it stores (`stats cachedump`, `me`) comes by
//! the other, one question at a time: behind each a question with a mark that nobody can guess is asked, so that whatever comes before
//! the answer to that is the first question's, and nobody else's.

use std::collections::VecDeque;
use std::net::SocketAddr;

use fanin_memcache::{Cursor, Shape};

use crate::bytes::Bytes;
use crate::clock::Nanos;
use crate::memory::{Buffer, Charge};
use crate::net::Outgoing;
use crate::table::Id;

/// What may wait for a server: bytes that it has not taken, requests that it has not answered, questions for its second connection. A
/// client may have as much under way as there is room left: whoever has much is refused first, and others always find room (the dynamic
/// threshold of Choudhury and Hahne, 1998, with a factor of one).
const MOST_WAITS: usize = 16 << 20;
const MOST_ASKED: usize = 1 << 17;
const MOST_ALONE: usize = 1 << 10;
/// A client may always have so many bytes under way.
const LEAST_WAITS: usize = 16 << 10;
/// A list of requests grows by no more at once.
const LARGEST_STEP: usize = 8192;
/// An answer by the second connection is no longer.
const LONGEST_ALONE: usize = 4 << 20;
/// When a connection is to be opened that something waits for.
pub const AT_ONCE: Nanos = 0;
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
    KeyMigration(Id),
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
    /// Bytes of its answer, where it comes by the second connection.
    pub come: usize,
    /// It writes a key of this group.
    pub writes: Option<u16>,
    /// An errand that goes on behind it.
    pub then: Option<Id>,
}

/// A large value on its way.
#[derive(Debug)]
pub struct StreamedValue {
    /// Its line and what has come.
    pub bytes: Buffer,
    /// How much has not, its end included; and whether the answer ends with it.
    pub left: u32,
    pub last: bool,
    /// Whether it is for anybody.
    pub keeps: bool,
}

impl StreamedValue {
    /// Takes more of it: how much.
    pub fn take(&mut self, come: &[u8]) -> usize {
        if self.keeps {
            self.bytes.extend(come);
        }
        self.left -= come.len() as u32;
        come.len()
    }
}

impl Ask {
    /// What is noted of it, and what it writes, stands beside it.
    pub fn new((client, number): (Id, u64), part: Part, shape: Shape, at: Nanos) -> Ask {
        Ask {
            client,
            number,
            part,
            shape,
            at,
            note: 0,
            has_value: false,
            hushed: false,
            come: 0,
            writes: None,
            then: None,
        }
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
    /// How many connections there were: none of them is the same server's for certain.
    pub life: u64,
    asked: VecDeque<Ask>,
    charge: Charge,
    /// What is noted of what it was asked, one behind the other.
    notes: Bytes,
    /// What waits for its turn by the second connection, each with its line; none where the connection is shared.
    pub alone: Option<VecDeque<(Ask, Buffer)>>,
    pub cursor: Cursor,
    /// A large value of which not all has come.
    pub passing: Option<StreamedValue>,
    /// Bytes that were read and not understood yet.
    pub rest: Buffer,
    /// Nothing comes behind what can be read.
    pub ending: bool,
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
            state: State::Down { until: AT_ONCE },
            life: 0,
            asked: VecDeque::new(),
            charge: Charge::default(),
            notes: Bytes::default(),
            alone: None,
            cursor: Cursor::default(),
            passing: None,
            rest: Buffer::default(),
            ending: false,
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

    /// Whether it may be asked for a client that has so many bytes, and so many requests, under way; or why not.
    #[inline]
    pub fn accepts(&self, under_way: usize, unanswered: usize) -> Result<(), ServerError> {
        let is_full = match (&self.alone, &self.state) {
            (Some(_), State::Down { until }) if ![AT_ONCE, Nanos::MAX].contains(until) => {
                return Err(ServerError::Down);
            }
            (Some(alone), _) => alone.len() + unanswered > MOST_ALONE,
            (None, State::Open(_) | State::Opening { waits: true, .. }) => {
                let room = MOST_WAITS.saturating_sub(self.out.left());
                under_way > room.max(LEAST_WAITS) || self.out.left() > 2 * MOST_WAITS || self.asked.len() >= MOST_ASKED
            }
            _ => return Err(ServerError::Down),
        };
        if is_full { Err(ServerError::Busy) } else { Ok(()) }
    }

    /// It was asked this, of which so much is noted.
    #[inline]
    pub fn was_asked(&mut self, ask: Ask, note: &[u8]) {
        self.notes.put(note);
        if self.asked.len() == self.asked.capacity() {
            self.asked.reserve_exact(self.asked.len().clamp(4, LARGEST_STEP));
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
        self.asked.push_back(Ask { note: note.len(), ..ask });
    }

    /// What it was asked first, and has not answered.
    pub fn front(&self) -> Option<&Ask> {
        self.asked.front()
    }

    /// The same.
    pub fn front_mut(&mut self) -> Option<&mut Ask> {
        self.asked.front_mut()
    }

    /// The connection stands.
    pub fn opened(&mut self) {
        let down = State::Down { until: AT_ONCE };
        self.state = match std::mem::replace(&mut self.state, down) {
            State::Opening { socket, .. } => State::Open(socket),
            other => other,
        };
    }

    /// It has answered: the next failure is the first. Whether this was the first answer since one.
    pub fn is_well(&mut self) -> bool {
        std::mem::take(&mut self.pause) > 0
    }

    /// What it was asked first is over.
    pub fn pop(&mut self) {
        if let Some(ask) = self.asked.pop_front() {
            self.notes.take(ask.note);
        }
        if self.asked.is_empty() && self.asked.capacity() > LARGEST_STEP {
            self.asked.shrink_to(LARGEST_STEP);
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
    }

    /// Bytes of an answer by the second connection have come: whether it is too long.
    pub fn is_too_long(&mut self, more: usize) -> bool {
        self.asked.front_mut().is_some_and(|ask| {
            ask.come += more;
            ask.come > LONGEST_ALONE
        })
    }

    /// Whether this key, or an answer with this mark, is what it was asked for first.
    pub fn note(&self) -> &[u8] {
        let noted = self.asked.front().map_or(0, |ask| ask.note);
        &self.notes[..noted]
    }

    /// The connection is gone, and so is all that it was asked: both are handed back. One that stood is tried again at once, what never
    /// stood later. The second connection is opened again where something waits for it; if it never stood, that has failed, too.
    pub fn close(&mut self, now: Nanos) -> (Option<S>, VecDeque<Ask>) {
        let mut asked = std::mem::take(&mut self.asked);
        let stood = matches!(self.state, State::Open(_));
        let until = match &mut self.alone {
            None => now + self.pause,
            Some(alone) if stood => {
                if alone.is_empty() {
                    Nanos::MAX
                } else {
                    AT_ONCE
                }
            }
            Some(alone) => {
                asked.extend(alone.drain(..).map(|(ask, _)| ask));
                now + self.pause.max(FIRST_PAUSE)
            }
        };
        let socket = match std::mem::replace(&mut self.state, State::Down { until }) {
            State::Open(socket) | State::Opening { socket, .. } => Some(socket),
            State::Down { .. } => None,
        };
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.life += 1;
        (self.cursor, self.passing, self.notes) = (Cursor::default(), None, Bytes::default());
        (self.rest, self.out, self.ending) = (Buffer::default(), Outgoing::default(), false);
        self.charge = Charge::default();
        (socket, asked)
    }

    /// Whether the next try is the first since it answered, so that requests may wait for it.
    pub fn is_first_try(&self) -> bool {
        self.pause <= FIRST_PAUSE
    }
}

/// Why an answer cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerError {
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

impl ServerError {
    /// Whether the server is away, so that it has nothing.
    pub fn is_away(self) -> bool {
        matches!(self, ServerError::Down | ServerError::Timeout | ServerError::Closed)
    }

    /// How the server is, for who looks after it.
    pub fn state(self) -> &'static str {
        match self {
            ServerError::Down => "down: it cannot be reached",
            ServerError::Timeout => "down: it did not answer in time",
            ServerError::Closed => "down: it closed the connection",
            ServerError::Nonsense => "not to be trusted: its answer makes no sense",
            ServerError::Busy => "busy",
        }
    }

    /// What a client is told.
    pub fn text(self) -> &'static str {
        match self {
            ServerError::Down => "SERVER_ERROR server is down\r\n",
            ServerError::Timeout => "SERVER_ERROR server did not answer in time\r\n",
            ServerError::Closed => "SERVER_ERROR server closed the connection\r\n",
            ServerError::Nonsense => "SERVER_ERROR server's answer makes no sense\r\n",
            ServerError::Busy => "SERVER_ERROR too much waits for the server\r\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_much_under_way_is_refused_first_and_others_find_room() {
        let mut server: Server<()> = Server::shared("a".into(), "127.0.0.1:1".parse().unwrap(), 0);
        server.state = State::Open(());
        assert_eq!(server.accepts(MOST_WAITS, 1), Ok(()));
        // One client that sends without end takes half of the room, and another one half of the rest.
        server.out.extend(&vec![0; MOST_WAITS / 2 + 1]);
        assert_eq!(server.accepts(MOST_WAITS / 2 + 1, 1), Err(ServerError::Busy));
        assert_eq!(server.accepts(MOST_WAITS / 4, 1), Ok(()));
        server.out.extend(&vec![0; MOST_WAITS / 2]);
        assert_eq!([LEAST_WAITS, LEAST_WAITS + 1].map(|under_way| server.accepts(under_way, 1).is_ok()), [true, false]);
        server.out.extend(&vec![0; MOST_WAITS]);
        assert_eq!(server.accepts(0, 1), Err(ServerError::Busy));
    }

    #[test]
    fn nobody_fills_the_queue_of_the_second_connection_alone() {
        let mut server: Server<()> = Server::alone("a".into(), "127.0.0.1:1".parse().unwrap(), 0);
        let ask = || {
            (Ask::new((crate::table::Table::default().insert(()), 0), Part::Every, Shape::Alone, 0), Buffer::default())
        };
        for unanswered in 1.. {
            if server.accepts(0, unanswered).is_err() {
                break;
            }
            server.alone.as_mut().unwrap().push_back(ask());
        }
        assert_eq!(server.alone.as_ref().unwrap().len(), MOST_ALONE / 2);
        assert_eq!(server.accepts(0, 1), Ok(()));
    }
}
