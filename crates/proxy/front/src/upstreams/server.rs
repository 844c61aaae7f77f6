//! Connection to a server: its outstanding requests in order, and its output.
//!
//! Each server has two connections. Clients share the first. Requests whose responses contain stored bytes (`stats cachedump`, `me`) use
//! the second, one at a time: each is followed by a request with a random opaque token, so everything before the response to that belongs
//! to the first.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use fanin_memcache::{Cursor, Piece, Shape};

use super::ask::{Ask, Destination, Expected, Progress};
use super::room::{Begun, Room, Waiter};
use super::shares::Shares;
use super::streamed_value::StreamedValue;
use crate::clients::ClientLoad;
use fanin_proxy_config as config;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_core::memory::bytes::Bytes;
use fanin_proxy_core::memory::{Buffer, Charge};
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::Phase;
use fanin_proxy_net::backoff::{Backoff, FIRST_PAUSE};
use fanin_proxy_net::{Address, Net, Outgoing, Received, Target, Tcp, Token};
use fanin_proxy_observe::metrics::ServerFigures;
use fanin_proxy_state::shared::ServerState;

/// Limits of a server's queue: unsent bytes, unanswered requests, and requests for its second connection. A client may use as much as is
/// free, so the largest are refused first and others always find space (the dynamic threshold of Choudhury and Hahne, 1998, with a
/// factor of one). So do tenants, with a larger factor: one alone has almost the whole queue, and others find space.
const MOST_WAITS: usize = 16 << 20;
const MOST_ASKED: usize = 1 << 17;
const MOST_ALONE: usize = 1 << 10;
const TENANT_FACTOR: usize = 7;
/// Slowest rate, in bytes per second, at which responses are not late: one may take longer than the timeout by the time that the bytes
/// received meanwhile take at this rate, but not longer than this number of timeouts. A connection does not fail while bytes come.
const SLOWEST: u64 = 4 << 20;
const MOST_TIMEOUTS: u64 = 8;
/// A client may always use this many bytes.
const LEAST_WAITS: usize = 16 << 10;
/// Maximum growth step of a request list.
const LARGEST_STEP: usize = 4096;
/// Longest response on the second connection.
const LONGEST_ALONE: u32 = 4 << 20;
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
    /// Number of them, from the first, whose deadline has passed.
    given_up: usize,
    /// Tenants' shares of them, and the room for their responses.
    shares: Shares,
    room: Room,
    /// Time by which responses may be later; and when bytes last came, or the front end began to read again.
    progress: Progress,
    progressed: Nanos,
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
    /// Unless it is up, other servers answer for it, or nobody. While it joins, it deletes keys that change.
    phase: Phase,
    /// It has answered this thread.
    has_answered: bool,
    out: Outgoing,
    /// Whether it is in the list to write at the end of this loop iteration, and since when in the list to read when there is memory.
    marked: bool,
    paused: Option<Nanos>,
    backoff: Backoff,
}

impl<S> Server<S> {
    /// A server's first connection in the `thread`th thread, which clients share.
    pub fn shared(server: &config::Server, shared: Arc<ServerState>, thread: usize) -> Server<S> {
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
            given_up: 0,
            shares: Shares::default(),
            room: Room::default(),
            progress: Progress::default(),
            progressed: 0,
            is_busy: false,
            notes: Bytes::default(),
            alone: None,
            cursor: Cursor::default(),
            passing: None,
            rest: Buffer::default(),
            ending: false,
            is_doubtful: false,
            phase: Phase::Up,
            has_answered: false,
            out: Outgoing::default(),
            marked: false,
            paused: None,
            backoff: Backoff::default(),
        }
    }

    /// A second connection, for single requests.
    pub fn alone(server: &config::Server, shared: Arc<ServerState>, thread: usize) -> Server<S> {
        let state = State::Down { until: Nanos::MAX };
        Server { alone: Some(VecDeque::new()), state, ..Server::shared(server, shared, thread) }
    }

    /// Belongs to this pool of the settings from now on.
    pub fn join_pool(&mut self, number: usize, pool: &config::Pool, server: &config::Server) {
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
        let has_queue = !self.room.has_nobody_waiting() || self.alone.as_ref().is_some_and(|alone| !alone.is_empty());
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
            _ if self.is_out() => "away",
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
    pub fn read<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        into: &mut [u8],
        now: Nanos,
    ) -> Option<io::Result<Received>> {
        let State::Open(socket) = &mut self.state else { return None };
        let received = net.read(socket, into);
        match &received {
            Ok(received) => {
                self.progress.credit += received.count as u64 * 1_000_000_000 / SLOWEST;
                self.progressed = now;
            }
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
        (self.progress, self.given_up, self.is_busy) = (Progress::default(), 0, false);
        self.shares.clear();
        self.room.close();
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

    /// When something is late that began at a time, after this progress: the timeout later, and by the progress since.
    fn late_at(&self, since: Nanos, before: Progress) -> Nanos {
        let credit = self.progress.credit.saturating_sub(before.credit).min((MOST_TIMEOUTS - 1) * self.timeout);
        since + self.timeout + credit + self.progress.paused.saturating_sub(before.paused)
    }

    /// When the connection has failed: an attempt to connect has taken too long, or nothing has come for the timeout although a request is
    /// outstanding and the front end reads.
    fn fails_at(&self) -> Option<Nanos> {
        match &self.state {
            State::Opening { since, .. } => Some(since + self.timeout),
            State::Open(_) if self.paused.is_none() => {
                self.front().map(|ask| ask.at.max(self.progressed) + self.timeout)
            }
            State::Open(_) | State::Down { .. } => None,
        }
    }

    /// Requests of the loop iteration that began at a time were sent only now, and attempts to connect were made.
    pub fn has_sent_late(&mut self, begun: Nanos, ended: Nanos) {
        if let State::Opening { since, .. } = &mut self.state
            && *since == begun
        {
            *since = ended;
        }
        self.asked.iter_mut().rev().take_while(|ask| ask.at == begun).for_each(|ask| ask.at = ended);
    }

    /// Whether the connection has failed by that.
    pub fn has_timed_out(&self, now: Nanos) -> bool {
        self.fails_at().is_some_and(|at| at <= now)
    }

    /// When the first request is late that has not been given up.
    fn gives_up_at(&self) -> Option<Nanos> {
        let next = self.asked.get(self.given_up).filter(|_| self.paused.is_none() && self.alone.is_none());
        next.map(|ask| self.late_at(ask.at, ask.progress))
    }

    /// A late request, if its client may get a timeout now; the response is dropped when it comes.
    pub fn give_up(&mut self, now: Nanos) -> Option<Ask> {
        while self.gives_up_at().is_some_and(|at| at <= now) {
            let ask = &mut self.asked[self.given_up];
            self.given_up += 1;
            if ask.may_be_given_up() {
                let given_up = Ask { to: Destination::GivenUp, again: None, ..*ask };
                return Some(std::mem::replace(ask, given_up));
            }
        }
        None
    }

    /// The next time at which there is work without an event; a stopping front end opens no shared connections.
    pub fn next_due(&self, stopping: bool) -> Option<Nanos> {
        let timeout = self.timeout;
        let waiting = self.alone.as_ref().and_then(|alone| alone.front()).map(|(ask, _)| ask.at + timeout);
        let state = match self.state {
            State::Down { until } => (until < Nanos::MAX && (!stopping || self.alone.is_some())).then_some(until),
            State::Opening { .. } | State::Open(_) => self.fails_at(),
        };
        state.into_iter().chain(waiting).chain(self.gives_up_at()).chain(self.waits_until()).min()
    }

    // Requests.

    /// Whether clients' requests may be queued here.
    fn takes_requests(&self) -> bool {
        let is_open = matches!(self.state, State::Open(_) | State::Opening { waits: true, .. });
        is_open && !self.is_doubtful && !self.is_out()
    }

    /// Whether it accepts a request of a client with this load, and of its tenant; or why not.
    #[inline]
    pub fn accepts(&self, load: ClientLoad, tenant: u32) -> Result<(), ServerError> {
        let is_full = match (&self.alone, &self.state) {
            (Some(_), State::Down { until }) if ![AT_ONCE, Nanos::MAX].contains(until) => {
                return Err(ServerError::Down);
            }
            _ if self.is_out() => return Err(ServerError::Down),
            (Some(alone), _) => {
                let of_tenant = alone.iter().filter(|(ask, _)| ask.tenant == tenant).count();
                let free = MOST_ALONE.saturating_sub(alone.len());
                load.requests > free || of_tenant >= TENANT_FACTOR * free
            }
            (None, _) if self.takes_requests() => {
                let room = MOST_WAITS.saturating_sub(self.out.left()).max(LEAST_WAITS);
                let (free, share) = (MOST_ASKED.saturating_sub(self.asked.len()), self.shares.of(tenant));
                load.bytes > room
                    || self.out.left() > 2 * MOST_WAITS
                    || free == 0
                    || share.bytes > TENANT_FACTOR * room
                    || share.requests >= TENANT_FACTOR * free
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
        self.room.expect(ask.tenant, ask.expects);
        let bytes = bytes.iter().map(|bytes| bytes.len() as u32).sum();
        self.shares.add(ask.tenant, bytes);
        self.asked.push_back(Ask { note: note.len() as u32, progress: self.progress, bytes, ..ask });
    }

    /// Whether a get of a tenant has to wait for room for its response; with `turn`, it is the first of those of the tenant that wait.
    #[inline]
    pub fn must_wait(&self, tenant: u32, expected: Expected, turn: bool) -> bool {
        self.room.must_wait(tenant, expected, turn) && self.takes_requests()
    }

    /// Mean size of a tenant's latest values here, if there have been some.
    pub fn mean_value(&self, tenant: u32) -> Option<usize> {
        self.room.mean_value(tenant)
    }

    /// A get waits for room for its response.
    pub fn wait(&mut self, now: Nanos, tenant: u32, expected: Expected, waiter: Waiter) {
        self.room.wait(tenant, Begun { since: now, progress: self.progress }, expected, waiter);
    }

    /// Until when the first of those that wait does so.
    fn waits_until(&self) -> Option<Nanos> {
        let first = self.room.first().filter(|_| self.paused.is_none())?;
        Some(self.late_at(first.since, first.progress))
    }

    /// The next that waits and finds room, or has waited for too long, which is also returned.
    pub fn next_waiting(&mut self, now: Nanos) -> Option<(Waiter, bool)> {
        let too_long = self.waits_until().is_some_and(|at| at <= now);
        let next = if too_long { self.room.take_first() } else { self.room.take_next() };
        next.map(|waiter| (waiter, too_long))
    }

    /// Those that wait, after the connection has failed.
    pub fn take_waiting(&mut self) -> Vec<Waiter> {
        self.room.take_all()
    }

    /// A value of this size begins in the first response.
    #[inline]
    pub fn value_comes(&mut self, size: usize) {
        if let Some(ask) = self.asked.front_mut() {
            self.room.value_comes(ask.tenant, &mut ask.expects, size);
        }
    }

    /// It has refused a request; returns whether that is new.
    pub fn is_now_busy(&mut self) -> bool {
        !std::mem::replace(&mut self.is_busy, true)
    }

    /// Whether it was busy, and has answered everything.
    pub fn is_no_longer_busy(&mut self) -> bool {
        self.asked.is_empty() && self.room.has_nobody_waiting() && std::mem::take(&mut self.is_busy)
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
        let noted = self.asked.front().map_or(0, |ask| ask.note as usize);
        &self.notes[..noted]
    }

    /// Removes the first request.
    pub fn pop(&mut self) {
        if let Some(ask) = self.asked.pop_front() {
            self.notes.take(ask.note as usize);
            self.room.response_ends(ask.tenant, ask.expects);
            self.shares.remove(ask.tenant, ask.bytes);
            self.given_up = self.given_up.saturating_sub(1);
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
        self.phase != Phase::Up
    }

    /// The phase that it follows.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it has never answered this thread.
    pub fn is_new(&self) -> bool {
        !self.has_answered
    }

    /// Whether it is not in use, but deletes keys that change.
    pub fn takes_deletions(&self) -> bool {
        self.phase == Phase::Joining && self.is_open()
    }

    /// Follows a phase. If it is in use again, which it has shown to another thread, requests wait for the connection.
    pub fn follow(&mut self, phase: Phase) {
        let was_out = std::mem::replace(&mut self.phase, phase) != Phase::Up;
        if !was_out || self.is_out() {
            return;
        }
        let until = if self.is_second() { Nanos::MAX } else { AT_ONCE };
        match &mut self.state {
            State::Down { .. } => (self.backoff, self.state) = (Backoff::default(), State::Down { until }),
            State::Opening { waits, .. } => *waits = true,
            State::Open(_) => self.is_doubtful = false,
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
            ask.come = ask.come.saturating_add(more as u32);
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

    /// Marks it to be read again later; returns whether it was not marked.
    pub fn pause(&mut self, now: Nanos) -> bool {
        let is_new = self.paused.is_none();
        self.paused.get_or_insert(now);
        is_new
    }

    /// Removes that mark: deadlines are as much later as it was not read.
    pub fn resume(&mut self, now: Nanos) {
        if let Some(since) = self.paused.take() {
            self.progress.paused += now.saturating_sub(since);
            self.progressed = now;
        }
    }
}

/// Reason of an error that is not the system's, as one line: a peer may have chosen parts of it.
fn reason<T>(result: &io::Result<T>) -> Option<String> {
    let error = result.as_ref().err().filter(|error| error.get_ref().is_some())?;
    Some(error.to_string().replace(char::is_control, "?"))
}

#[cfg(test)]
mod tests;
