//! The second driver of applications: TCP connections between the hosts of a [`LocalNetwork`], in one thread.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanin_driver::{Applications, ConnectionId, Driver, EndpointId, Meaning, Message, Owner, View};
use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Settings};
use fanin_tables::{FlowKind, StallRow};
use fanin_units::{Rate, Time};
use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::Clock;
use crate::counters::{Counters, Counts};
use crate::end::{End, Filled};
use crate::network::LocalNetwork;
use crate::queues::Queues;
use crate::stalls::Stalls;
use crate::trouble::Trouble;

/// Port of every host's listener.
const PORT: u16 = 9_000;
/// Token of the alarm, and the first token of listeners. Lower ones are ends of connections.
const ALARM: Token = Token(usize::MAX - 1);
const LISTENERS: usize = 1 << 40;
/// Connections that a listener holds until they are accepted.
const BACKLOG: i32 = 4_096;
/// Wake-ups to look at the stop flag.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longest wait for a handshake, ms.
const HANDSHAKE: u8 = 20;
/// Bytes of a long-lived flow: more than any run sends.
const ENDLESS: u64 = 1 << 60;

/// Sockets of all hosts.
pub struct Sockets {
    /// The network.
    pub network: LocalNetwork,
    clock: Clock,
    poll: Poll,
    listeners: Vec<TcpListener>,
    /// Connections that have not been accepted, by the opener's address, which connections to several hosts may share, and the other host.
    opening: BTreeMap<(SocketAddr, HostId), EndpointId>,
    ends: BTreeMap<EndpointId, End>,
    /// Ends whose applications hear of the handshake.
    connecting: BTreeSet<EndpointId>,
    /// Messages to ends that have not been accepted.
    early: BTreeMap<EndpointId, Vec<(u64, Meaning)>>,
    /// Owner of connections and timers to come.
    owner: Owner,
    /// Number of connections by owner.
    opened: BTreeMap<u8, u32>,
    /// Ends to look at once more: written or read by an application.
    marked: VecDeque<EndpointId>,
    counters: Counters,
    /// Counts when the measured time began.
    before: Counts,
    stalls: Stalls,
    settings: Settings,
    queues: Queues,
    /// Longest round trip to a server over idle links.
    round_trip: Time,
    /// Payload that the workload had delivered by then.
    payload_before: u64,
    begun: Option<Time>,
    excluded_until: Time,
    done: bool,
    /// The first failure in a call that returns nothing.
    trouble: OnceCell<Trouble>,
    nowhere: Box<[MaybeUninit<u8>]>,
}

impl Sockets {
    /// Listeners on every host of a run's network.
    pub fn open(network: LocalNetwork, spec: &RunSpec) -> Result<Sockets, Trouble> {
        let settings = spec.settings.clone();
        let packet = settings.full_packet();
        let round_trip = |host| settings.round_trip(&network.plan.fabric, HostId(host), packet);
        let round_trip = (1..=spec.fan_in).map(round_trip).max().unwrap_or(Time::ZERO);
        let (poll, clock, mut stalls) = (Poll::new()?, Clock::start()?, Stalls::default());
        poll.registry().register(&mut SourceFd(&clock.file()), ALARM, Interest::READABLE)?;
        let mut counters = Counters::open(&network)?;
        stalls.forget(Time::ZERO, counters.events()?);
        let mut sockets = Sockets {
            before: Counts::default(),
            queues: Queues::open(&network)?,
            settings,
            network,
            clock,
            poll,
            listeners: Vec::new(),
            opening: BTreeMap::new(),
            ends: BTreeMap::new(),
            connecting: BTreeSet::new(),
            early: BTreeMap::new(),
            owner: Owner::WORKLOAD,
            opened: BTreeMap::new(),
            marked: VecDeque::new(),
            counters,
            stalls,
            round_trip,
            payload_before: 0,
            begun: None,
            excluded_until: Time::ZERO,
            done: false,
            trouble: OnceCell::new(),
            nowhere: Box::new_uninit_slice(1 << 20),
        };
        for host in (0..sockets.network.plan.fabric.hosts()).map(HostId) {
            let socket = sockets.socket(host)?;
            socket.set_reuse_address(true)?;
            socket.bind(&sockets.address(host).into())?;
            socket.listen(BACKLOG)?;
            let mut listener = TcpListener::from_std(socket.into());
            sockets.poll.registry().register(&mut listener, Token(LISTENERS + host.0 as usize), Interest::READABLE)?;
            sockets.listeners.push(listener);
        }
        Ok(sockets)
    }

    /// Runs the applications until they have finished.
    pub fn carry_out(&mut self, applications: &mut Applications, most: Time, stop: &AtomicBool) -> Result<(), Trouble> {
        applications.start(self);
        let mut events = Events::with_capacity(1_024);
        while !self.done {
            if let Some(trouble) = self.trouble.take() {
                return Err(trouble);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Trouble::Stopped);
            }
            if self.clock.now() > most {
                return Err(Trouble::Endless(most));
            }
            self.act(applications)?;
            self.clock.set_alarm()?;
            match self.poll.poll(&mut events, Some(PATIENCE)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                match event.token() {
                    ALARM => self.clock.rings(),
                    Token(at) if at >= LISTENERS => self.accept(applications, HostId((at - LISTENERS) as u32))?,
                    Token(at) => {
                        let at = EndpointId::new(at as u32);
                        if event.is_writable() {
                            self.connected(applications, at);
                        }
                        self.serve(applications, at);
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles timers that are due now and ends that were marked. A timer that is set meanwhile comes after events of the network.
    fn act(&mut self, applications: &mut Applications) -> Result<(), Trouble> {
        let now = self.clock.now();
        loop {
            if let Some(at) = self.marked.pop_front() {
                self.serve(applications, at);
            } else if let Some((owner, timer)) = self.clock.due(now) {
                applications.due(self, owner, timer);
            } else {
                return Ok(());
            }
            if self.done {
                return Ok(());
            }
        }
    }

    /// Reads and writes at an end, and reports what has happened there.
    fn serve(&mut self, applications: &mut Applications, at: EndpointId) {
        let Some(end) = self.ends.get_mut(&at) else { return };
        let (host, before) = (end.host, end.delivered);
        let filled = if end.flush() { end.fill(&mut self.nowhere) } else { Filled::Broken };
        if end.delivered > before {
            self.heard(host, at);
        }
        while let Some(message) = self.ends.get_mut(&at).and_then(|end| end.queue.take(end.delivered)) {
            applications.received(self, at, message);
        }
        match filled {
            Filled::Open => {}
            Filled::Closed => applications.closed(self, at),
            Filled::Broken => {
                self.ends.remove(&at);
                applications.broken(self, at);
            }
        }
        if self.ends.get_mut(&at).is_some_and(|end| end.flush() && end.has_ended()) {
            self.ends.remove(&at);
        }
    }

    /// Data has arrived at an end, on this host.
    fn heard(&mut self, host: HostId, at: EndpointId) {
        let now = self.clock.now();
        let Some(from) = self.stalls.waits.heard(now, host, at.is_opener()) else { return };
        let by = self.ends.get(&at.peer()).map_or(host, |peer| peer.host);
        match self.counters.of(by) {
            Ok(counts) => self.stalls.ends(host, [from, now], by, counts),
            Err(trouble) => self.note(trouble),
        }
    }

    /// Stalls of the measured time.
    pub fn stalls(&mut self) -> Result<Vec<StallRow>, Trouble> {
        let began = self.measured_from();
        Ok(self.stalls.rows(began, self.clock.now(), &self.counters.events()?))
    }

    /// An opener's handshake is done or has failed.
    fn connected(&mut self, applications: &mut Applications, at: EndpointId) {
        if !self.connecting.remove(&at) {
            return;
        }
        let error = self.ends.get(&at).and_then(|end| end.stream.take_error().transpose());
        match error {
            None => applications.established(self, at),
            Some(_) => {
                self.ends.remove(&at);
                applications.broken(self, at);
            }
        }
    }

    /// Accepts what has connected to a host.
    fn accept(&mut self, applications: &mut Applications, host: HostId) -> Result<(), Trouble> {
        while let Some(at) = self.accept_one(host)? {
            if self.connecting.remove(&at) {
                applications.established(self, at);
            }
        }
        Ok(())
    }

    fn accept_one(&mut self, host: HostId) -> Result<Option<EndpointId>, Trouble> {
        match self.listeners[host.0 as usize].accept() {
            Ok((stream, opener)) => {
                let at = self.opening.remove(&(opener, host)).map(EndpointId::peer);
                let Some(at) = at else { return Ok(None) };
                self.add(at, host, stream)?;
                Ok(Some(at))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn add(&mut self, at: EndpointId, host: HostId, mut stream: TcpStream) -> Result<(), Trouble> {
        stream.set_nodelay(true)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(at.number() as usize), interest)?;
        let mut end = End::new(host, stream);
        for (until, meaning) in self.early.remove(&at).unwrap_or_default() {
            end.queue.expect(until, meaning);
        }
        self.ends.insert(at, end);
        self.mark(at);
        Ok(())
    }

    /// A socket of a host, with the run's TCP settings.
    fn socket(&self, host: HostId) -> Result<Socket, Trouble> {
        self.network.host(host).enter()?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        let plan = &self.network.plan;
        let law = plan.congestion_control;
        socket.set_tcp_congestion(law.as_bytes()).map_err(|error| {
            Trouble::Lacks(format!("this kernel has no congestion control `{law}` (tcp_{law}): {error}"))
        })?;
        if let Some(bytes) = plan.host.receive_buffer {
            socket.set_recv_buffer_size(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        Ok(socket)
    }

    fn address(&self, host: HostId) -> SocketAddr {
        SocketAddrV4::new(self.network.plan.address(host.node()), PORT).into()
    }

    fn try_connect(&mut self, owner: Owner, from: HostId, to: HostId) -> Result<ConnectionId, Trouble> {
        let place = self.opened.entry(owner.number()).or_default();
        let connection = ConnectionId::new(owner, *place);
        *place += 1;
        let socket = self.socket(from)?;
        match socket.connect(&self.address(to).into()) {
            Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(error.into()),
            _ => {}
        }
        let stream = TcpStream::from_std(socket.into());
        self.opening.insert((stream.local_addr()?, to), connection.opener());
        self.add(connection.opener(), from, stream)?;
        Ok(connection)
    }

    /// Lets the handshake of a connection end before anything else is sent, so that its round trip is that of an idle network: Linux
    /// ignores the ACK of a retransmission that comes sooner than any before (`tcp_rack_advance`). After [`HANDSHAKE`] the connection's first
    /// message waits for it instead.
    fn await_handshake(&self, connection: ConnectionId) -> Result<(), Trouble> {
        let Some(end) = self.ends.get(&connection.opener()) else { return Ok(()) };
        match poll(&mut [PollFd::new(end.stream.as_fd(), PollFlags::POLLOUT)], HANDSHAKE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes a failure of a call that has to return something.
    fn opened_or_fails(&mut self, owner: Owner, connection: Result<ConnectionId, Trouble>) -> ConnectionId {
        connection.unwrap_or_else(|trouble| {
            self.note(trouble);
            ConnectionId::new(owner, 0)
        })
    }

    /// Keeps the first failure of a call that cannot return it.
    fn note(&self, trouble: Trouble) {
        let _ = self.trouble.set(trouble);
    }

    fn mark(&mut self, at: EndpointId) {
        self.marked.push_back(at);
    }

    /// Counts since the measured time began, and the payload that the workload had delivered by then.
    pub fn counts(&mut self) -> Result<(Counts, u64), Trouble> {
        let now = self.counters.last(&self.network)?;
        Ok((now.since(&self.before), self.payload_before))
    }

    fn count_from_here(&mut self) {
        let now = self.clock.now();
        match self.counters.events().and_then(|events| Ok((events, self.counters.first(&self.network)?))) {
            Ok((events, counts)) => {
                self.before = counts;
                self.stalls.forget(now, events);
            }
            Err(trouble) => self.note(trouble),
        }
        self.clock.go_on_from(now);
    }
}

impl View for Sockets {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn measured_from(&self) -> Time {
        self.begun.unwrap_or(Time::ZERO).max(self.excluded_until)
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.ends.get(&at).map_or(0, |end| end.delivered)
    }

    fn rate(&self, host: HostId) -> Rate {
        self.network.plan.fabric.host_rate(host)
    }

    fn at_work(&self, _host: HostId, span: Time) -> Time {
        span
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        self.rack(one) == self.rack(other)
    }

    fn hosts(&self) -> u32 {
        self.network.plan.fabric.hosts()
    }

    fn rack(&self, host: HostId) -> u32 {
        self.network.plan.fabric.rack(host)
    }

    fn pod(&self, host: HostId) -> u32 {
        self.network.plan.fabric.pod(host)
    }

    fn queue_into_rack(&self, host: HostId) -> Option<(u64, u64)> {
        let (fabric, s) = (&self.network.plan.fabric, &self.settings);
        let port = |link| Ok((self.queues.backlog(link)?, s.in_bytes(s.buffer_at(fabric.link(link).rate))));
        let ports: io::Result<Vec<(u64, u64)>> = fabric.into_rack(host).map(port).collect();
        let ports = ports.map_err(|error| self.note(error.into())).ok()?;
        Some(ports.iter().fold((0, 0), |(queued, room), port| (queued + port.0, room + port.1)))
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        let fabric = &self.network.plan.fabric;
        Rate(fabric.into_rack(host).map(|link| fabric.link(link).rate.0).sum())
    }

    fn srtt(&self, at: EndpointId) -> Option<Time> {
        let info = fanin_ring::tcp_info(self.ends.get(&at)?.stream.as_fd()).ok()?;
        Some(Time::from_micros(info.rtt_micros.into()))
    }

    fn carries(&self, at: EndpointId) -> bool {
        self.ends.contains_key(&at)
    }
}

impl Driver for Sockets {
    fn act_for(&mut self, owner: Owner) {
        self.owner = owner;
    }

    fn connect(&mut self, from: HostId, to: HostId, _kind: FlowKind) -> ConnectionId {
        let connection = self.try_connect(self.owner, from, to);
        let connection = self.opened_or_fails(self.owner, connection);
        self.connecting.extend([connection.opener(), connection.answerer()]);
        connection
    }

    fn stand(&mut self, from: HostId, to: HostId, _kind: FlowKind) -> ConnectionId {
        let connection = self.try_connect(self.owner, from, to).and_then(|connection| {
            self.await_handshake(connection)?;
            Ok(connection)
        });
        self.opened_or_fails(self.owner, connection)
    }

    fn send(&mut self, from: EndpointId, message: Message) -> u64 {
        let Some(end) = self.ends.get_mut(&from) else { return 0 };
        let before = end.queue.written();
        end.queue.write(message.bytes);
        let until = before + message.bytes;
        match self.ends.get_mut(&from.peer()) {
            Some(peer) => drop(peer.queue.expect(until, message.meaning)),
            // It has not been accepted yet.
            None => self.early.entry(from.peer()).or_default().push((until, message.meaning)),
        }
        self.mark(from);
        before
    }

    fn reads(&mut self, at: EndpointId, reads: bool) {
        self.ends.get_mut(&at).into_iter().for_each(|end| end.reads = reads);
        self.mark(at);
    }

    fn send_endlessly(&mut self, from: EndpointId) {
        self.ends.get_mut(&from).into_iter().for_each(|end| end.queue.write(ENDLESS));
        self.mark(from);
    }

    fn stop(&mut self, at: EndpointId) {
        self.ends.get_mut(&at).into_iter().for_each(End::stop);
        self.mark(at);
    }

    fn close(&mut self, at: EndpointId) {
        self.ends.get_mut(&at).into_iter().for_each(End::close);
        self.mark(at);
    }

    fn after(&mut self, span: Time, timer: Meaning) {
        self.clock.after(span, self.owner, timer);
    }

    fn begin(&mut self) {
        self.count_from_here();
        self.begun = Some(self.clock.now());
    }

    fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    fn measure_from_here(&mut self, payload: u64) {
        self.count_from_here();
        self.payload_before = payload;
        self.excluded_until = self.clock.now();
    }

    fn excluded_until(&self) -> Time {
        self.excluded_until
    }

    fn finish(&mut self) {
        self.done = true;
    }

    fn await_responses(&mut self, clients: &[HostId], work: Time) {
        self.stalls.waits.wait(self.clock.now(), clients, [self.round_trip, work], self.settings.clients_serve());
    }

    fn rest(&mut self, client: HostId, span: Time) {
        self.stalls.waits.rest(self.clock.now(), client, span);
    }

    fn clock_starts(&mut self) {}
    fn round_ended(&mut self, _round: u32) {}
}
