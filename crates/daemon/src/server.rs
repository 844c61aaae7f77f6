//! Connection to a server: its outstanding requests in order, and its output.
//!
//! Each server has two connections. Clients share the first. Requests whose responses contain stored bytes (`stats cachedump`, `me`) use
//! the second, one at a time: each is followed by a request with a random opaque token, so everything before the response to that belongs
//! to the first.

use std::collections::VecDeque;
use std::net::SocketAddr;

use fanin_memcache::{Cursor, Shape};

use crate::bytes::Bytes;
use crate::clock::Nanos;
use crate::memory::{Buffer, Charge};
use crate::net::Outgoing;
use crate::table::Id;

/// Limits of a server's queue: unsent bytes, unanswered requests, and requests for its second connection. A client may use as much as is
/// free, so the largest are refused first and others always find space (the dynamic threshold of Choudhury and Hahne, 1998, with a
/// factor of one).
const MOST_WAITS: usize = 16 << 20;
const MOST_ASKED: usize = 1 << 17;
const MOST_ALONE: usize = 1 << 10;
/// A client may always use this many bytes.
const LEAST_WAITS: usize = 16 << 10;
/// Maximum growth step of a request list.
const LARGEST_STEP: usize = 8192;
/// Longest response on the second connection.
const LONGEST_ALONE: usize = 4 << 20;
/// Time of the next attempt for a connection that requests wait for.
pub const AT_ONCE: Nanos = 0;
/// First and longest pause before an unreachable server is tried again.
const FIRST_PAUSE: Nanos = 50_000_000;
const LONGEST_PAUSE: Nanos = 2_000_000_000;

/// Destination of a server's response.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The client; with `quiet`, without the responses that it suppresses.
    Relay { quiet: bool },
    /// All clients that joined this get.
    Joined(Id),
    /// A batch of a multiget.
    Batch { get: Id, batch: u32 },
    /// A step of a key's migration.
    KeyMigration(Id),
    /// One of every server's responses.
    Every,
    /// One of every server's lists: this server's.
    Listing(usize),
    /// Nowhere: the client gets this text when the response is there.
    Instead(&'static str),
}

/// A request to a server.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub client: Id,
    pub number: u64,
    pub part: Part,
    pub shape: Shape,
    pub at: Nanos,
    /// Length of the note: the key or opaque token that the response must have.
    pub note: usize,
    /// Its value has come; there is only one.
    pub has_value: bool,
    /// The client gets nothing more of the response.
    pub hushed: bool,
    /// Bytes of the response, on the second connection.
    pub come: usize,
    /// The group of the key that it writes.
    pub writes: Option<u16>,
    /// A migration that continues after it.
    pub then: Option<Id>,
}

/// A large value being received.
#[derive(Debug)]
pub struct StreamedValue {
    /// Its line and the bytes so far.
    pub bytes: Buffer,
    /// Missing bytes, terminator included; and whether the response ends with it.
    pub left: u32,
    pub last: bool,
    /// Whether a client still wants it.
    pub keeps: bool,
}

impl StreamedValue {
    /// Takes more bytes; returns how many.
    pub fn take(&mut self, come: &[u8]) -> usize {
        if self.keeps {
            self.bytes.extend(come);
        }
        self.left -= come.len() as u32;
        come.len()
    }
}

impl Ask {
    /// A request; its note and key group are set separately.
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

/// State of a connection.
#[derive(Debug)]
pub enum State<S> {
    /// Connecting; requests wait if this is the first attempt since it was open.
    Opening {
        socket: S,
        since: Nanos,
        waits: bool,
    },
    Open(S),
    /// Closed; the next attempt is at this time.
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
    /// Number of connections so far: after a reconnect the server may have restarted.
    pub life: u64,
    asked: VecDeque<Ask>,
    charge: Charge,
    /// Notes of the outstanding requests, concatenated.
    notes: Bytes,
    /// Requests that wait for the second connection; none for a shared one.
    pub alone: Option<VecDeque<(Ask, Buffer)>>,
    pub cursor: Cursor,
    /// A large value being received.
    pub passing: Option<StreamedValue>,
    /// Bytes read but not parsed.
    pub rest: Buffer,
    /// The peer has closed.
    pub ending: bool,
    pub out: Outgoing,
    /// Whether it is in the list to write at the end of this loop iteration, and in the list to read in the next.
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

    /// A second connection, for single requests.
    pub fn alone(name: String, address: SocketAddr, pool: usize) -> Server<S> {
        let state = State::Down { until: Nanos::MAX };
        Server { alone: Some(VecDeque::new()), state, ..Server::shared(name, address, pool) }
    }

    /// Whether it accepts a request of a client with this many bytes and requests outstanding; or why not.
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

    /// Queues a request.
    #[inline]
    pub fn was_asked(&mut self, ask: Ask, note: &[u8]) {
        self.notes.put(note);
        if self.asked.len() == self.asked.capacity() {
            self.asked.reserve_exact(self.asked.len().clamp(4, LARGEST_STEP));
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
        self.asked.push_back(Ask { note: note.len(), ..ask });
    }

    /// The first outstanding request.
    pub fn front(&self) -> Option<&Ask> {
        self.asked.front()
    }

    /// The same, mutable.
    pub fn front_mut(&mut self) -> Option<&mut Ask> {
        self.asked.front_mut()
    }

    /// Handles an established connection.
    pub fn opened(&mut self) {
        let down = State::Down { until: AT_ONCE };
        self.state = match std::mem::replace(&mut self.state, down) {
            State::Opening { socket, .. } => State::Open(socket),
            other => other,
        };
    }

    /// Handles a response: the next failure is a first one. Returns whether this was the first response since a failure.
    pub fn is_well(&mut self) -> bool {
        std::mem::take(&mut self.pause) > 0
    }

    /// Removes the first request.
    pub fn pop(&mut self) {
        if let Some(ask) = self.asked.pop_front() {
            self.notes.take(ask.note);
        }
        if self.asked.is_empty() && self.asked.capacity() > LARGEST_STEP {
            self.asked.shrink_to(LARGEST_STEP);
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
    }

    /// Counts response bytes on the second connection; returns whether it is too long.
    pub fn is_too_long(&mut self, more: usize) -> bool {
        self.asked.front_mut().is_some_and(|ask| {
            ask.come += more;
            ask.come > LONGEST_ALONE
        })
    }

    /// The key or opaque token that the first response must have.
    pub fn note(&self) -> &[u8] {
        let noted = self.asked.front().map_or(0, |ask| ask.note);
        &self.notes[..noted]
    }

    /// Closes the connection and returns it with its requests. One that was open is tried again at once, others after a pause. The second
    /// connection is opened again if requests wait for it; if it was never open, they fail, too.
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

    /// Whether the next attempt is the first since it last answered, so requests may wait for it.
    pub fn is_first_try(&self) -> bool {
        self.pause <= FIRST_PAUSE
    }
}

/// Reason why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerError {
    /// The server cannot be reached.
    Down,
    /// Timed out.
    Timeout,
    /// The server closed the connection.
    Closed,
    /// The response is invalid.
    Invalid,
    /// The queue is full.
    Busy,
}

impl ServerError {
    /// Whether the server is unavailable, so gets can be answered as misses.
    pub fn is_away(self) -> bool {
        matches!(self, ServerError::Down | ServerError::Timeout | ServerError::Closed)
    }

    /// State of the server, for operators.
    pub fn state(self) -> &'static str {
        match self {
            ServerError::Down => "down: unreachable",
            ServerError::Timeout => "down: no response in time",
            ServerError::Closed => "down: it closed the connection",
            ServerError::Invalid => "faulty: invalid response",
            ServerError::Busy => "busy",
        }
    }

    /// Error text for clients.
    pub fn text(self) -> &'static str {
        match self {
            ServerError::Down => "SERVER_ERROR server is down\r\n",
            ServerError::Timeout => "SERVER_ERROR server did not answer in time\r\n",
            ServerError::Closed => "SERVER_ERROR server closed the connection\r\n",
            ServerError::Invalid => "SERVER_ERROR invalid response from server\r\n",
            ServerError::Busy => "SERVER_ERROR too many requests wait for the server\r\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_largest_client_first() {
        let mut server: Server<()> = Server::shared("a".into(), "127.0.0.1:1".parse().unwrap(), 0);
        server.state = State::Open(());
        assert_eq!(server.accepts(MOST_WAITS, 1), Ok(()));
        // A client that sends without limit takes half of the space, and another one half of the rest.
        server.out.extend(&vec![0; MOST_WAITS / 2 + 1]);
        assert_eq!(server.accepts(MOST_WAITS / 2 + 1, 1), Err(ServerError::Busy));
        assert_eq!(server.accepts(MOST_WAITS / 4, 1), Ok(()));
        server.out.extend(&vec![0; MOST_WAITS / 2]);
        assert_eq!([LEAST_WAITS, LEAST_WAITS + 1].map(|under_way| server.accepts(under_way, 1).is_ok()), [true, false]);
        server.out.extend(&vec![0; MOST_WAITS]);
        assert_eq!(server.accepts(0, 1), Err(ServerError::Busy));
    }

    #[test]
    fn limits_second_connection_per_client() {
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
