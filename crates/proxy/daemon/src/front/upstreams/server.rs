//! Connection to a server: its outstanding requests in order, and its output.
//!
//! Each server has two connections. Clients share the first. Requests whose responses contain stored bytes (`stats cachedump`, `me`) use
//! the second, one at a time: each is followed by a request with a random opaque token, so everything before the response to that belongs
//! to the first.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use fanin_memcache::{Cursor, Piece, Shape};

use super::ask::Ask;
use super::streamed_value::StreamedValue;
use crate::clock::{Nanos, nanos};
use crate::failover::Phase;
use crate::memory::bytes::Bytes;
use crate::memory::table::Id;
use crate::memory::{Buffer, Charge};
use crate::metrics::ServerFigures;
use crate::net::backoff::{Backoff, FIRST_PAUSE};
use crate::net::{Address, Net, Outgoing, Received, Target, Tcp, Token};
use crate::server_error::ServerError;
use crate::settings;
use crate::shared::ServerState;

/// Limits of a server's queue: unsent bytes, unanswered requests, and requests for its second connection. A client may use as much as is
/// free, so the largest are refused first and others always find space (the dynamic threshold of Choudhury and Hahne, 1998, with a
/// factor of one).
const MOST_WAITS: usize = 16 << 20;
const MOST_ASKED: usize = 1 << 17;
const MOST_ALONE: usize = 1 << 10;
/// Estimated bytes of unanswered responses above which a batch of a multiget waits, so that others find a short queue.
const ENOUGH_EXPECTED: usize = 8 << 20;
/// Slowest rate, in bytes per second, at which a server may send without being late: a response may take longer than the timeout by the time
/// that the bytes received meanwhile take at this rate, but not longer than this number of timeouts.
const SLOWEST: u64 = 4 << 20;
const MOST_TIMEOUTS: u64 = 8;
/// A client may always use this many bytes.
const LEAST_WAITS: usize = 16 << 10;
/// Maximum growth step of a request list.
const LARGEST_STEP: usize = 8192;
/// Longest response on the second connection.
const LONGEST_ALONE: usize = 4 << 20;
/// Time of the next attempt for a connection that requests wait for.
const AT_ONCE: Nanos = 0;

/// A name that ends in a port, which is 0 for a UNIX socket: a monitor for memcached fails at a name without one (`stats_format`).
fn label(name: &str, address: &Address) -> String {
    let port = address.ip().map_or(0, |address| address.port());
    let has_port = name.rsplit_once(':').is_some_and(|(_, end)| end.parse::<u16>().is_ok());
    if has_port { name.to_owned() } else { format!("{name}:{port}") }
}

/// State of a connection.
#[derive(Debug)]
enum State<S> {
    /// Connecting; requests wait if this is the first attempt since it was open.
    Opening { socket: S, since: Nanos, waits: bool },
    /// Open.
    Open(S),
    /// Closed; the next attempt is at this time.
    Down { until: Nanos },
}

/// One of a server's connections.
#[derive(Debug)]
pub struct Server<S> {
    pub name: String,
    /// The name with a port, by which lists of figures have it.
    pub label: String,
    pub target: Arc<Target>,
    /// The pool to which it belongs, and how many pools still have clients that may request from it.
    pub pool: usize,
    users: u32,
    /// Response timeout, and the longest value to pass on, terminator included.
    pub timeout: Nanos,
    pub longest_answer: u32,
    thread: usize,
    shared: Arc<ServerState>,
    state: State<S>,
    /// Reason of this connection's failure, if its network has one; and of the last one's, until another connection is open.
    failure: Option<String>,
    refusal: Option<String>,
    /// Number of connections so far: after a reconnect the server may have restarted.
    life: u64,
    asked: VecDeque<Ask>,
    charge: Charge,
    /// Estimated bytes of the responses to them, and multigets with a batch that waits until these are fewer: since when, for which bytes.
    expects: usize,
    waiting: VecDeque<(Nanos, usize, Id)>,
    /// Time by which responses may be later, because of the bytes received so far.
    credit: Nanos,
    /// Whether it has refused a request since its queue was last empty.
    is_busy: bool,
    /// Notes of the outstanding requests, concatenated.
    notes: Bytes,
    /// Requests that wait for the second connection; none for a shared one.
    alone: Option<VecDeque<(Ask, Buffer)>>,
    cursor: Cursor,
    /// A large value being received.
    passing: Option<StreamedValue>,
    /// Bytes read but not parsed.
    rest: Buffer,
    /// The peer has closed.
    ending: bool,
    /// It has failed repeatedly, and has not yet responded to a probe.
    is_doubtful: bool,
    /// It is not in use: other servers answer for it, or nobody. While it joins, it deletes keys that change.
    is_out: bool,
    joins: bool,
    /// It has answered this thread.
    has_answered: bool,
    out: Outgoing,
    /// Whether it is in the list to write at the end of this loop iteration, and in the list to read when there is memory.
    marked: bool,
    again: bool,
    backoff: Backoff,
}

impl<S> Server<S> {
    /// A server's first connection in the `thread`th thread, which clients share.
    pub fn shared(server: &settings::Server, shared: Arc<ServerState>, thread: usize) -> Server<S> {
        Server {
            label: label(&server.weighted.name, &server.target.address),
            name: server.weighted.name.clone(),
            target: server.target.clone(),
            pool: 0,
            users: 0,
            timeout: 0,
            longest_answer: 0,
            thread,
            shared,
            state: State::Down { until: AT_ONCE },
            failure: None,
            refusal: None,
            life: 0,
            asked: VecDeque::new(),
            charge: Charge::default(),
            expects: 0,
            waiting: VecDeque::new(),
            credit: 0,
            is_busy: false,
            notes: Bytes::default(),
            alone: None,
            cursor: Cursor::default(),
            passing: None,
            rest: Buffer::default(),
            ending: false,
            is_doubtful: false,
            is_out: false,
            joins: false,
            has_answered: false,
            out: Outgoing::default(),
            marked: false,
            again: false,
            backoff: Backoff::default(),
        }
    }

    /// A second connection, for single requests.
    pub fn alone(server: &settings::Server, shared: Arc<ServerState>, thread: usize) -> Server<S> {
        let state = State::Down { until: Nanos::MAX };
        Server { alone: Some(VecDeque::new()), state, ..Server::shared(server, shared, thread) }
    }

    /// Belongs to this pool of the settings from now on.
    pub fn join_pool(&mut self, number: usize, pool: &settings::Pool, server: &settings::Server) {
        self.target = server.target.clone();
        (self.pool, self.timeout) = (number, nanos(pool.timeout));
        self.users += 1;
        self.longest_answer = pool.longest_value().max(1 << 20).saturating_add(2);
    }

    /// One of its pools has no clients any more.
    pub fn leave_pool(&mut self) {
        self.users -= 1;
    }

    /// Whether no pool uses it any more.
    pub fn is_retired(&self) -> bool {
        self.users == 0
    }

    /// Whether it can be forgotten: no request is outstanding or waits.
    pub fn is_through(&self) -> bool {
        let has_queue = !self.waiting.is_empty() || self.alone.as_ref().is_some_and(|alone| !alone.is_empty());
        self.front().is_none() && !has_queue && self.out.left() == 0
    }

    /// Records for all threads whether it is up; returns whether that is unchanged.
    pub fn stays(&self, up: bool) -> bool {
        self.shared.stays(up)
    }

    /// Its figures in this thread, if they are exposed.
    pub fn figures(&self) -> Option<&ServerFigures> {
        self.shared.figures(self.thread).filter(|_| !self.is_second())
    }

    /// Whether it is a second connection, for single requests.
    pub fn is_second(&self) -> bool {
        self.alone.is_some()
    }

    /// Number of connections so far.
    pub fn life(&self) -> u64 {
        self.life
    }

    /// State for operators.
    pub fn state(&self) -> &'static str {
        match self.state {
            _ if self.is_out => "away",
            State::Open(_) if self.is_doubtful => "probing",
            State::Open(_) if self.is_busy => "busy",
            State::Open(_) => "up",
            State::Opening { .. } => "opening",
            State::Down { .. } => "down",
        }
    }

    // Connection.

    /// TCP's figures, if it is open.
    pub fn tcp<N: Net<Socket = S>>(&self, net: &N) -> Option<Tcp> {
        if let State::Open(socket) = &self.state { net.tcp(socket) } else { None }
    }

    /// Number of outstanding requests.
    pub fn unanswered(&self) -> usize {
        self.asked.len()
    }

    /// Starts to connect; returns whether that worked.
    pub fn connect<N: Net<Socket = S>>(&mut self, net: &mut N, token: Token, now: Nanos) -> bool {
        let opening = net.connect(&self.target).and_then(|stream| net.add(stream, token, true));
        let waits = self.is_first_try();
        opening.map(|socket| self.state = State::Opening { socket, since: now, waits }).is_ok()
    }

    /// Continues to open the connection after an event; returns whether it has been opened by that.
    ///
    /// # Errors
    /// Connecting failed.
    pub fn opens<N: Net<Socket = S>>(&mut self, net: &mut N) -> io::Result<bool> {
        let State::Opening { socket, .. } = &mut self.state else { return Ok(false) };
        let opens = net.is_open(socket);
        self.failure = reason(&opens);
        if !opens? {
            return Ok(false);
        }
        self.refusal = None;
        let down = State::Down { until: AT_ONCE };
        if let State::Opening { socket, waits, .. } = std::mem::replace(&mut self.state, down) {
            self.state = State::Open(socket);
            self.is_doubtful = !waits && self.alone.is_none();
        }
        Ok(true)
    }

    /// Reason of this connection's failure, if its network has one, such as an invalid certificate.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The same of the last connection that failed, while none is open.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Whether it is connecting.
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening { .. })
    }

    /// The peer has closed its side: reads until the end, since no further event comes.
    pub fn ends(&mut self) {
        self.ending = true;
    }

    /// Reads once, unless it is not open; returns also whether to read again.
    pub fn read<N: Net<Socket = S>>(&mut self, net: &mut N, into: &mut [u8]) -> Option<io::Result<Received>> {
        let State::Open(socket) = &mut self.state else { return None };
        let received = net.read(socket, into);
        match &received {
            Ok(received) => self.credit += received.count as u64 * 1_000_000_000 / SLOWEST,
            Err(_) => self.failure = reason(&received),
        }
        Some(received.map(|received| Received { more: received.more || self.ending, ..received }))
    }

    /// Counts work for it.
    pub fn works<N: Net<Socket = S>>(&mut self, net: &mut N, work: u64) {
        if let State::Open(socket) = &mut self.state {
            net.works(socket, work);
        }
    }

    /// Writes as much as possible, if it is open.
    ///
    /// # Errors
    /// The connection's error.
    pub fn write<N: Net<Socket = S>>(&mut self, net: &mut N) -> io::Result<()> {
        match &mut self.state {
            State::Open(socket) => net.write(socket, &mut self.out),
            _ => Ok(()),
        }
    }

    /// Closes the connection and returns it with its requests. One that was open is tried again at once, others after a pause. The second
    /// connection is opened again if requests wait for it; if it was never open, they fail, too.
    pub fn close(&mut self, now: Nanos, random: u64) -> (Option<S>, VecDeque<Ask>) {
        let mut asked = std::mem::take(&mut self.asked);
        self.refusal = self.failure.take();
        let stood = matches!(self.state, State::Open(_));
        let is_retired = self.is_retired();
        let pause = self.backoff.fail(random);
        let until = match &mut self.alone {
            _ if is_retired => Nanos::MAX,
            None => now + pause,
            Some(alone) if stood => {
                if alone.is_empty() {
                    Nanos::MAX
                } else {
                    AT_ONCE
                }
            }
            Some(alone) => {
                asked.extend(alone.drain(..).map(|(ask, _)| ask));
                now + pause.max(FIRST_PAUSE)
            }
        };
        let socket = match std::mem::replace(&mut self.state, State::Down { until }) {
            State::Open(socket) | State::Opening { socket, .. } => Some(socket),
            State::Down { .. } => None,
        };
        self.life += 1;
        self.is_doubtful = false;
        (self.cursor, self.passing, self.notes) = (Cursor::default(), None, Bytes::default());
        (self.rest, self.out, self.ending) = (Buffer::default(), Outgoing::default(), false);
        self.charge = Charge::default();
        (self.expects, self.credit, self.is_busy) = (0, 0, false);
        (socket, asked)
    }

    /// Whether the next attempt is the first since it last answered, so requests may wait for it.
    fn is_first_try(&self) -> bool {
        !self.backoff.has_failed_twice()
    }

    /// Whether an attempt to connect is due.
    pub fn is_due(&self, now: Nanos) -> bool {
        matches!(self.state, State::Down { until } if until <= now)
    }

    /// When a response is late: the timeout after its request, and later if the connection has received many bytes meanwhile.
    fn late_at(&self, ask: &Ask) -> Nanos {
        let credit = self.credit.saturating_sub(ask.credit).min((MOST_TIMEOUTS - 1) * self.timeout);
        ask.at + self.timeout + credit
    }

    /// Whether an attempt to connect or the first outstanding request has taken too long.
    pub fn has_timed_out(&self, now: Nanos) -> bool {
        let late_at = match &self.state {
            State::Opening { since, .. } => Some(since + self.timeout),
            State::Open(_) => self.front().map(|ask| self.late_at(ask)),
            State::Down { .. } => None,
        };
        late_at.is_some_and(|at| at <= now)
    }

    /// The next time at which there is work without an event; a stopping front end opens no shared connections.
    pub fn next_due(&self, stopping: bool) -> Option<Nanos> {
        let timeout = self.timeout;
        let waiting = self.alone.as_ref().and_then(|alone| alone.front()).map(|(ask, _)| ask.at + timeout);
        let state = match self.state {
            State::Down { until } => (until < Nanos::MAX && (!stopping || self.alone.is_some())).then_some(until),
            State::Opening { since, .. } => Some(since + timeout),
            State::Open(_) => self.front().map(|ask| self.late_at(ask)),
        };
        let batch = self.waiting.front().map(|(since, ..)| since + timeout);
        state.into_iter().chain(waiting).chain(batch).min()
    }

    // Requests.

    /// Whether it accepts a request of a client with this many bytes and requests outstanding; or why not.
    #[inline]
    pub fn accepts(&self, under_way: usize, unanswered: usize) -> Result<(), ServerError> {
        let is_full = match (&self.alone, &self.state) {
            (Some(_), State::Down { until }) if ![AT_ONCE, Nanos::MAX].contains(until) => {
                return Err(ServerError::Down);
            }
            _ if self.is_out => return Err(ServerError::Down),
            (Some(alone), _) => alone.len() + unanswered > MOST_ALONE,
            (None, State::Open(_) | State::Opening { waits: true, .. }) if !self.is_doubtful => {
                let room = MOST_WAITS.saturating_sub(self.out.left());
                under_way > room.max(LEAST_WAITS) || self.out.left() > 2 * MOST_WAITS || self.asked.len() >= MOST_ASKED
            }
            _ => return Err(ServerError::Down),
        };
        if is_full { Err(ServerError::Busy) } else { Ok(()) }
    }

    /// Queues a request, with its bytes.
    #[inline]
    pub fn queue(&mut self, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        bytes.iter().for_each(|bytes| self.out.extend(bytes));
        if self.target.tls.is_some() {
            self.out.request_ends(bytes.iter().map(|bytes| bytes.len()).sum());
        }
        self.notes.put(note);
        if self.asked.len() == self.asked.capacity() {
            self.asked.reserve_exact(self.asked.len().clamp(4, LARGEST_STEP));
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
        self.expects += ask.expects;
        self.asked.push_back(Ask { note: note.len(), credit: self.credit, ..ask });
    }

    /// Whether a response of this estimated size finds a short queue.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.expects == 0 || self.expects + bytes <= ENOUGH_EXPECTED
    }

    /// Whether no batch waits for room.
    pub fn has_nobody_waiting(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A batch of a multiget waits for room for its response.
    pub fn wait(&mut self, now: Nanos, bytes: usize, get: Id) {
        self.waiting.push_back((now, bytes, get));
    }

    /// The next multiget whose batch may be sent now.
    pub fn next_waiting(&mut self) -> Option<Id> {
        let (_, bytes, _) = *self.waiting.front()?;
        self.has_room(bytes).then(|| self.waiting.pop_front()).flatten().map(|(.., get)| get)
    }

    /// A multiget whose batch has waited longer than the timeout.
    pub fn expired_waiting(&mut self, now: Nanos) -> Option<Id> {
        let timeout = self.timeout;
        self.waiting.pop_front_if(|(since, ..)| *since + timeout <= now).map(|(.., get)| get)
    }

    /// The multigets that wait, after the connection has failed.
    pub fn take_waiting(&mut self) -> VecDeque<(Nanos, usize, Id)> {
        std::mem::take(&mut self.waiting)
    }

    /// It has refused a request; returns whether that is new.
    pub fn is_now_busy(&mut self) -> bool {
        !std::mem::replace(&mut self.is_busy, true)
    }

    /// Whether it was busy, and has answered everything.
    pub fn is_no_longer_busy(&mut self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty() && std::mem::take(&mut self.is_busy)
    }

    /// The first outstanding request.
    pub fn front(&self) -> Option<&Ask> {
        self.asked.front()
    }

    /// The same, mutable.
    pub fn front_mut(&mut self) -> Option<&mut Ask> {
        self.asked.front_mut()
    }

    /// The key or opaque token that the first response must have.
    pub fn note(&self) -> &[u8] {
        let noted = self.asked.front().map_or(0, |ask| ask.note);
        &self.notes[..noted]
    }

    /// Removes the first request.
    pub fn pop(&mut self) {
        if let Some(ask) = self.asked.pop_front() {
            self.notes.take(ask.note);
            self.expects -= ask.expects;
        }
        if self.asked.is_empty() && self.asked.capacity() > LARGEST_STEP {
            self.asked.shrink_to(LARGEST_STEP);
            self.charge.set(self.asked.capacity() * size_of::<Ask>());
        }
    }

    /// Whether it must respond to a probe before clients' requests go to it.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Whether it is not in use.
    pub fn is_out(&self) -> bool {
        self.is_out
    }

    /// Whether it has never answered this thread.
    pub fn is_new(&self) -> bool {
        !self.has_answered
    }

    /// Whether it is not in use, but deletes keys that change.
    pub fn takes_deletions(&self) -> bool {
        self.joins && self.is_open()
    }

    /// Follows a phase. If it is in use again, requests wait for the connection.
    pub fn follow(&mut self, phase: Phase) {
        let is_out = phase != Phase::Up;
        self.joins = phase == Phase::Joining;
        if std::mem::replace(&mut self.is_out, is_out) && !is_out && matches!(self.state, State::Down { .. }) {
            self.backoff = Backoff::default();
            self.state = State::Down { until: if self.is_second() { Nanos::MAX } else { AT_ONCE } };
        }
    }

    /// Whether it has failed and not answered since.
    pub fn has_failed(&self) -> bool {
        self.backoff.has_failed()
    }

    /// Whether a change of a key, or a deletion, is outstanding.
    pub fn has_changes(&self) -> bool {
        self.asked.iter().any(|ask| ask.changes)
    }

    /// Whether it is connected.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether a connection is open or opening.
    pub fn has_connection(&self) -> bool {
        !matches!(self.state, State::Down { .. })
    }

    /// State that threads share.
    pub fn state_of_all(&self) -> &Arc<ServerState> {
        &self.shared
    }

    /// Handles a response: the next failure is a first one. Returns whether this was the first response since a failure.
    pub fn is_well(&mut self) -> bool {
        self.is_doubtful = false;
        if !std::mem::replace(&mut self.has_answered, true) {
            self.shared.becomes_known();
        }
        self.backoff.succeed()
    }

    // Single requests, on a second connection.

    /// Queues a request until the connection is free, and opens it.
    pub fn queue_single(&mut self, ask: Ask, line: &[u8]) {
        let Some(alone) = &mut self.alone else { return };
        alone.push_back((ask, line.to_vec().into()));
        if let State::Down { until } = &mut self.state {
            *until = AT_ONCE;
        }
    }

    /// Whether no request waits for the connection. It then stays closed until one does.
    pub fn rests(&mut self) -> bool {
        let is_unused = self.alone.as_ref().is_none_or(VecDeque::is_empty);
        if is_unused {
            self.state = State::Down { until: Nanos::MAX };
        }
        is_unused
    }

    /// The next request, if the connection is open and idle.
    pub fn next_single(&mut self) -> Option<(Ask, Buffer)> {
        let is_free = matches!(self.state, State::Open(_)) && self.front().is_none();
        self.alone.as_mut().filter(|_| is_free).and_then(VecDeque::pop_front)
    }

    /// A request that has waited longer than the timeout.
    pub fn expired_single(&mut self, now: Nanos) -> Option<Ask> {
        let timeout = self.timeout;
        self.alone.as_mut()?.pop_front_if(|(ask, _)| ask.at + timeout <= now).map(|(ask, _)| ask)
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.front().is_none() && matches!(self.state, State::Down { until: Nanos::MAX } | State::Open(_))
    }

    /// Counts response bytes on the second connection; returns whether it is too long.
    pub fn is_too_long(&mut self, more: usize) -> bool {
        self.asked.front_mut().is_some_and(|ask| {
            ask.come += more;
            ask.come > LONGEST_ALONE
        })
    }

    // Responses.

    /// Number of bytes read but not parsed.
    pub fn unparsed(&self) -> usize {
        self.rest.len()
    }

    /// Moves the unparsed bytes to the start of `into`.
    pub fn take_unparsed(&mut self, into: &mut [u8]) {
        into[..self.rest.len()].copy_from_slice(&self.rest);
        self.rest.clear();
    }

    /// Keeps bytes that were not parsed.
    pub fn keep_unparsed(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
    }

    /// Parses the next piece of a response of this shape.
    pub fn parse<'a>(&mut self, bytes: &'a [u8], shape: Shape) -> Piece<'a> {
        self.cursor.next(bytes, shape)
    }

    /// Begins a value that comes in pieces.
    pub fn begin_streamed(&mut self, value: StreamedValue) {
        self.passing = Some(value);
    }

    /// The value being received in pieces, if any.
    pub fn streamed(&mut self) -> Option<&mut StreamedValue> {
        self.passing.as_mut()
    }

    /// Ends that value.
    pub fn take_streamed(&mut self) -> Option<StreamedValue> {
        self.passing.take()
    }

    // Lists of the loop iteration.

    /// Marks it to be written to; returns whether it was not marked.
    pub(super) fn mark(&mut self) -> bool {
        !std::mem::replace(&mut self.marked, true)
    }

    /// Removes the mark.
    pub fn unmark(&mut self) {
        self.marked = false;
    }

    /// Marks it to be read again; returns whether it was not marked.
    pub fn read_again(&mut self) -> bool {
        !std::mem::replace(&mut self.again, true)
    }

    /// Removes that mark.
    pub fn reads_again(&mut self) {
        self.again = false;
    }
}

/// Reason of an error that is not the system's, as one line: a peer may have chosen parts of it.
fn reason<T>(result: &io::Result<T>) -> Option<String> {
    let error = result.as_ref().err().filter(|error| error.get_ref().is_some())?;
    Some(error.to_string().replace(char::is_control, "?"))
}

#[cfg(test)]
mod tests;
