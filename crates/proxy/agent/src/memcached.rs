//! Connection of an agent to a memcached: gets in order, and their results.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use fanin_memcache::{Cursor, Piece, Shape, response};
use fanin_roles::data_server::Lookup;
use fanin_roles::wire::ItemKey;
use fanin_roles::{Body, Tag};

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Charge;
use fanin_proxy_net::backoff::Backoff;
use fanin_proxy_net::{Net, Outgoing, Target, Token};
use fanin_proxy_peers::{ItemBody, READ, item};

/// Most keys of a command.
const KEYS: usize = 64;

/// The role of this agent for which a key is requested.
#[derive(Debug)]
pub enum Asker {
    /// Its hub, for this object of a request.
    Hub(Tag, u32),
    /// Its data server.
    Server(Box<Lookup<ItemKey>>),
}

/// Results of gets: an object, a miss, or lost if the memcached does not answer or its value is too large.
pub type Results = Vec<(Asker, ItemBody)>;

/// A key that was requested.
#[derive(Debug)]
struct Get {
    key: ItemKey,
    asker: Asker,
}

/// A command that is not answered.
#[derive(Debug)]
struct Command {
    /// Its keys that have no result yet.
    gets: VecDeque<Get>,
    at: Nanos,
}

enum State<S> {
    Down { until: Nanos },
    Opening { socket: S, since: Nanos },
    Open(S),
}

/// The connection. It is opened when a key is first requested.
pub struct Memcached<S> {
    target: Arc<Target>,
    timeout: Nanos,
    longest: usize,
    state: State<S>,
    backoff: Backoff,
    /// Gets that are not sent, and commands that are.
    queue: Vec<Get>,
    sent: VecDeque<Command>,
    out: Outgoing,
    cursor: Cursor,
    /// Bytes that are not parsed, the number from which the next value is complete, and the rest of a value that is too large.
    rest: BytesMut,
    needs: usize,
    skips: usize,
    /// Memory of those bytes, and of the gets that have no result.
    charge: Charge,
    of_gets: Charge,
    gets: usize,
    marked: bool,
}

/// The connection has failed.
#[derive(Debug)]
pub struct Failed;

impl<S> Memcached<S> {
    /// A connection to be opened, with a time for responses and the size of the largest value.
    pub fn new(target: Arc<Target>, timeout: Nanos, longest: usize) -> Memcached<S> {
        Memcached {
            target,
            timeout,
            longest,
            state: State::Down { until: 0 },
            backoff: Backoff::default(),
            queue: Vec::new(),
            sent: VecDeque::new(),
            out: Outgoing::default(),
            cursor: Cursor::default(),
            rest: BytesMut::new(),
            needs: 0,
            skips: 0,
            charge: Charge::default(),
            of_gets: Charge::default(),
            gets: 0,
            marked: false,
        }
    }

    /// Whether the connection has failed, and is not tried again yet.
    pub fn is_down(&self, now: Nanos) -> bool {
        matches!(self.state, State::Down { until } if until > now)
    }

    /// Requests a key; returns whether the connection has to be marked for writing.
    pub fn get(&mut self, key: ItemKey, asker: Asker) -> bool {
        self.queue.push(Get { key, asker });
        self.has_gets(self.gets + 1);
        !std::mem::replace(&mut self.marked, true)
    }

    /// Counts the gets that have no result, in lists that may be half empty.
    fn has_gets(&mut self, gets: usize) {
        self.gets = gets;
        self.of_gets.set(2 * gets * size_of::<Get>());
    }

    /// Sends the queued gets, and connects first if needed.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn flush<N: Net<Socket = S>>(&mut self, net: &mut N, token: Token, now: Nanos) -> Result<(), Failed> {
        self.marked = false;
        if matches!(self.state, State::Down { .. }) {
            let stream = net.connect(&self.target).map_err(|_| Failed)?;
            let socket = net.add(stream, token, true).map_err(|_| Failed)?;
            self.state = State::Opening { socket, since: now };
        }
        self.write_commands(now);
        match &mut self.state {
            State::Open(socket) => net.write(socket, &mut self.out).map_err(|_| Failed),
            _ => Ok(()),
        }
    }

    /// Turns queued gets into commands, those with and without a CAS unique apart.
    fn write_commands(&mut self, now: Nanos) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.sort_by_key(|get| get.key.with_cas);
        let mut gets = queue.into_iter().peekable();
        while let Some(first) = gets.next() {
            let with_cas = first.key.with_cas;
            let before = self.out.left();
            self.out.extend(if with_cas { b"gets" } else { b"get" });
            let mut command = VecDeque::from([first]);
            while command.len() < KEYS
                && let Some(next) = gets.next_if(|next| next.key.with_cas == with_cas)
            {
                command.push_back(next);
            }
            for get in &command {
                self.out.extend(b" ");
                self.out.extend(get.key.key.bytes());
            }
            self.out.extend(b"\r\n");
            if self.target.tls.is_some() {
                self.out.request_ends(self.out.left() - before);
            }
            self.sent.push_back(Command { gets: command, at: now });
        }
    }

    /// Handles an event: opens the connection, and reads results.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn event<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        event: &fanin_ring::Event,
        buffer: &mut [u8],
        found: &mut Results,
    ) -> Result<(), Failed> {
        let mut opened = false;
        if let State::Opening { socket, .. } = &mut self.state {
            opened = net.is_open(socket).map_err(|_| Failed)?;
            if !opened {
                return if event.failed { Err(Failed) } else { Ok(()) };
            }
            if let State::Opening { socket, .. } = std::mem::replace(&mut self.state, State::Down { until: 0 }) {
                self.state = State::Open(socket);
            }
        }
        let State::Open(socket) = &mut self.state else { return Ok(()) };
        net.write(socket, &mut self.out).map_err(|_| Failed)?;
        if !event.readable && !opened {
            return Ok(());
        }
        loop {
            let State::Open(socket) = &mut self.state else { return Ok(()) };
            match net.read(socket, &mut buffer[..READ]) {
                Ok(received) if received.count > 0 => {
                    self.rest.extend_from_slice(&buffer[..received.count]);
                    self.parse(found)?;
                    self.charge.set(self.rest.capacity());
                    if !received.more && !event.ended {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return Err(Failed),
            }
        }
    }

    /// Takes the results in the bytes that were read. A value has memory of its own: it may wait for longer than the others.
    fn parse(&mut self, found: &mut Results) -> Result<(), Failed> {
        let skipped = self.skips.min(self.rest.len());
        self.skips -= skipped;
        let _ = self.rest.split_to(skipped);
        if self.rest.len() < self.needs.max(1) {
            return Ok(());
        }
        let bytes = self.rest.split().freeze();
        let mut at = 0;
        self.needs = 0;
        while at < bytes.len() {
            match self.cursor.next(&bytes[at..], Shape::Values) {
                Piece::More => break,
                Piece::Value { line, key, follow, .. } => {
                    let (value, end) = (at + line.len(), at + line.len() + follow as usize);
                    let is_too_large = follow as usize > self.longest + 2;
                    if !is_too_large && end > bytes.len() {
                        self.needs = end - at;
                        break;
                    }
                    let get = self.answered(key, found)?;
                    if is_too_large {
                        found.push((get.asker, Body::Lost));
                        self.skips = end.saturating_sub(bytes.len());
                        at = end.min(bytes.len());
                        continue;
                    }
                    if !bytes[..end].ends_with(b"\r\n") {
                        return Err(Failed);
                    }
                    let item = item(line, Bytes::copy_from_slice(&bytes[value..end - 2])).ok_or(Failed)?;
                    found.push((get.asker, Body::Object(item)));
                    at = end;
                }
                Piece::Line { line, .. } => {
                    let command = self.sent.pop_front().ok_or(Failed)?;
                    self.has_gets(self.gets - command.gets.len());
                    let rest = if response::is_error(line) { Body::Lost } else { Body::Miss };
                    found.extend(command.gets.into_iter().map(|get| (get.asker, rest.clone())));
                    self.backoff.succeed();
                    at += line.len();
                }
                Piece::Broken => return Err(Failed),
            }
        }
        // The large buffer is not kept for the rest.
        self.rest = BytesMut::from(&bytes[at..]);
        Ok(())
    }

    /// The get that a value answers; keys before it are misses.
    fn answered(&mut self, key: &[u8], found: &mut Results) -> Result<Get, Failed> {
        let gets = &mut self.sent.front_mut().ok_or(Failed)?.gets;
        let before = gets.iter().position(|get| get.key.key.bytes()[..] == *key).ok_or(Failed)?;
        found.extend(gets.drain(..before).map(|get| (get.asker, Body::Miss)));
        let get = gets.pop_front().ok_or(Failed);
        self.has_gets(self.gets - before - 1);
        get
    }

    /// The next time at which there is work without an event.
    pub fn next_due(&self) -> Option<Nanos> {
        match &self.state {
            State::Down { .. } => None,
            State::Opening { since, .. } => Some(since + self.timeout),
            State::Open(_) => self.sent.front().map(|command| command.at + self.timeout),
        }
    }

    /// Requests of the loop iteration that began at a time were sent only now, and attempts to connect were made.
    pub fn has_sent_late(&mut self, begun: Nanos, ended: Nanos) {
        if let State::Opening { since, .. } = &mut self.state
            && *since == begun
        {
            *since = ended;
        }
        self.sent.iter_mut().rev().take_while(|command| command.at == begun).for_each(|command| command.at = ended);
    }

    /// Closes the connection, which is tried again after a pause; its gets are lost. Returns its socket.
    pub fn fail(&mut self, now: Nanos, random: u64, found: &mut Results) -> Option<S> {
        let gets = self.sent.drain(..).flat_map(|command| command.gets).chain(self.queue.drain(..));
        found.extend(gets.map(|get| (get.asker, Body::Lost)));
        (self.out, self.cursor, self.rest) = (Outgoing::default(), Cursor::default(), BytesMut::new());
        (self.needs, self.skips, self.charge) = (0, 0, Charge::default());
        self.has_gets(0);
        match std::mem::replace(&mut self.state, State::Down { until: now + self.backoff.fail(random) }) {
            State::Down { .. } => None,
            State::Opening { socket, .. } | State::Open(socket) => Some(socket),
        }
    }
}
