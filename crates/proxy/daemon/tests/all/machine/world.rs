//! Simulated network: sent bytes stay in buffers until the test delivers them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use fanin_daemon::machine::{Address, Entry, Event, Net, Outgoing, Received, Target, Token};

/// A peer that always has more to send: it appends to the bytes to read whenever they are read.
#[derive(Default)]
pub struct Source(pub Option<Fill>);

/// Adds bytes to a socket's input.
pub type Fill = Box<dyn FnMut(&mut VecDeque<u8>)>;

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "endless" } else { "none" })
    }
}

/// A connection, seen from the front end.
#[derive(Debug, Default)]
pub struct Connection {
    token: usize,
    /// The server; none for a client's connection. A client's address; none at a UNIX socket.
    pub server: Option<usize>,
    pub from: Option<IpAddr>,
    pub open: bool,
    /// Bytes to read; whether the peer has closed; and whether the connection is broken.
    pub inbox: VecDeque<u8>,
    pub source: Source,
    pub ended: bool,
    pub broken: bool,
    /// Bytes written, and the free space for more.
    pub outbox: VecDeque<u8>,
    pub room: usize,
    wants_room: bool,
    /// Closed by the front end; and what that holds until the server has executed everything.
    pub closed: bool,
    pub held: Option<Arc<()>>,
    event: Event,
}

impl Connection {
    /// The peer sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.inbox.extend(bytes);
        self.event.readable = true;
    }

    /// The peer closes its side.
    pub fn end(&mut self) {
        self.ended = true;
        (self.event.readable, self.event.ended) = (true, true);
    }

    /// Breaks the connection; unread bytes are lost.
    pub fn break_off(&mut self) {
        self.broken = true;
        self.inbox.clear();
        self.event = Event { readable: true, ended: true, writable: true, ..self.event };
    }

    /// The peer reads, which frees space.
    pub fn make_room(&mut self, more: usize) {
        self.room += more;
        self.event.writable |= std::mem::take(&mut self.wants_room);
    }

    /// Ends an opening connection's handshake.
    pub fn opens(&mut self, well: bool) {
        (self.open, self.broken) = (well, !well);
        self.event = Event { writable: well, failed: !well, ..self.event };
    }

    fn has_event(&self) -> bool {
        !self.closed && (self.event.readable || self.event.writable || self.event.failed)
    }
}

/// The network.
#[derive(Debug, Default)]
pub struct World {
    pub connections: Vec<Connection>,
    /// Clients that wait for accept, by listener; and whether there are always more.
    waiting: BTreeMap<usize, VecDeque<usize>>,
    pub endless_clients: bool,
    /// Bytes that were read, and their limit until the test sets it anew: without one, an endless read would never end.
    pub read: usize,
    pub most_read: Option<usize>,
    servers: BTreeMap<SocketAddr, usize>,
    listens: bool,
}

pub type Shared = Rc<RefCell<World>>;

impl World {
    pub fn new(servers: &[SocketAddr]) -> World {
        let servers = servers.iter().enumerate().map(|(number, address)| (*address, number)).collect();
        World { servers, listens: true, ..World::default() }
    }

    /// Adds a client; returns its connection's number.
    pub fn client(&mut self, room: usize) -> usize {
        self.client_of(0, room)
    }

    /// Adds a client of a listener.
    pub fn client_of(&mut self, listener: usize, room: usize) -> usize {
        self.connections.push(Connection { open: true, room, ..Connection::default() });
        self.waiting.entry(listener).or_default().push_back(self.connections.len() - 1);
        self.connections.len() - 1
    }

    /// Pending events of some connections.
    pub fn events(&mut self, mut picks: impl FnMut() -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        for (listener, _) in self.waiting.iter().filter(|(_, waiting)| !waiting.is_empty()) {
            events.push(Event { token: Token::Listener(*listener).encode(), readable: true, ..Event::default() });
        }
        for connection in
            self.connections.iter_mut().filter(|connection| connection.has_event() && connection.token > 0)
        {
            if picks() {
                events.push(Event { token: connection.token, ..std::mem::take(&mut connection.event) });
            }
        }
        events
    }

    /// Whether a connection to a server was closed or reopened.
    pub fn gave_up(&self) -> bool {
        let shared: Vec<_> = self.connections.iter().filter_map(|connection| connection.server).collect();
        let twice = (1..shared.len()).any(|index| shared[..index].contains(&shared[index]));
        twice || self.connections.iter().any(|connection| connection.server.is_some() && connection.closed)
    }

    pub fn has_events(&self) -> bool {
        self.waiting.values().any(|waiting| !waiting.is_empty()) || self.connections.iter().any(Connection::has_event)
    }
}

/// The front end's interface to it.
pub struct Scripted(pub Shared);

impl Net for Scripted {
    type Stream = usize;
    type Socket = usize;

    fn name(&self) -> &'static str {
        "memory"
    }

    fn listen(&mut self, _: usize, _: &Address) -> io::Result<()> {
        Ok(())
    }

    fn accept(&mut self, listener: usize, _: &Arc<Entry>) -> io::Result<usize> {
        let world = &mut *self.0.borrow_mut();
        if world.endless_clients {
            world.client_of(listener, 0);
        }
        let waiting = world.waiting.get_mut(&listener).and_then(VecDeque::pop_front);
        waiting.ok_or(io::ErrorKind::WouldBlock.into())
    }

    fn unlisten(&mut self, _: usize) {
        self.0.borrow_mut().listens = false;
    }

    fn connect(&mut self, to: &Arc<Target>) -> io::Result<usize> {
        let world = &mut *self.0.borrow_mut();
        let server = Some(world.servers[&to.address.ip().unwrap()]);
        world.connections.push(Connection { server, room: usize::MAX / 2, ..Connection::default() });
        Ok(world.connections.len() - 1)
    }

    fn peer(&self, stream: &usize) -> io::Result<Option<IpAddr>> {
        Ok(self.0.borrow().connections[*stream].from)
    }

    fn refuse(&mut self, stream: usize, text: &[u8]) {
        let connection = &mut self.0.borrow_mut().connections[stream];
        connection.outbox.extend(text);
        connection.closed = true;
    }

    fn add(&mut self, stream: usize, token: Token, _: bool) -> io::Result<usize> {
        self.0.borrow_mut().connections[stream].token = token.encode();
        Ok(stream)
    }

    fn is_open(&mut self, socket: &mut usize) -> io::Result<bool> {
        let connection = &self.0.borrow().connections[*socket];
        if connection.broken { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(connection.open) }
    }

    fn read(&mut self, socket: &mut usize, into: &mut [u8]) -> io::Result<Received> {
        let world = &mut *self.0.borrow_mut();
        let connection = &mut world.connections[*socket];
        if connection.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        while connection.inbox.len() < into.len()
            && let Some(more) = &mut connection.source.0
        {
            more(&mut connection.inbox);
        }
        if connection.inbox.is_empty() && !connection.ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let size = into.len();
        let count = connection.inbox.len().min(size);
        world.read += count;
        assert!(world.most_read.is_none_or(|most| world.read <= most), "a read that never ends");
        connection.inbox.read_exact(&mut into[..count])?;
        Ok(Received { count, more: count == size })
    }

    fn write(&mut self, socket: &mut usize, out: &mut Outgoing) -> io::Result<()> {
        let connection = &mut self.0.borrow_mut().connections[*socket];
        if connection.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = out.left().min(connection.room);
        connection.outbox.extend(&out.unsent()[..count]);
        out.wrote(count);
        connection.room -= count;
        connection.wants_room |= out.left() > 0;
        Ok(())
    }

    fn finish(&mut self, socket: usize, held: Arc<()>) {
        self.0.borrow_mut().connections[socket].held = Some(held);
        self.close(socket);
    }

    fn close(&mut self, socket: usize) {
        self.0.borrow_mut().connections[socket].closed = true;
    }
    fn tell(&mut self, _: &str) {}

    fn held(&self) -> usize {
        0
    }
}
