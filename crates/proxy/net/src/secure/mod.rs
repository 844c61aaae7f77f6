//! A network round another one that checks clients and encrypts connections.
//!
//! Access lists by address act when a client is accepted. A guard beside a connection handles the header of the PROXY protocol, TLS and
//! logins. A connection that requires none of them has no guard, and costs nothing more; a guard is dropped as soon as it is not needed.
//!
//! All bytes of all connections pass here, so the budget of a loop iteration is counted here. Handshakes are also bounded by the number of
//! clients, by the memory that guards charge, and in time.

mod certificate;
mod channel;
mod client;
mod header;
mod login;
mod server;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use fanin_ring::Event;

use super::budget::{Account, Budget, Work};
use super::sockets::Sockets;
use super::{Address, Entry, Net, Outgoing, Received, Target, Tcp, Token};
use channel::{Channel, Io, Shared};
use client::ClientGuard;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Charge;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_observe::messages::Report;
use fanin_proxy_observe::metrics::Counters;
use server::ServerGuard;

/// Time for a client's header, handshake and login.
const LONGEST_OPENING: Nanos = 10_000_000_000;
/// Memory of a guard besides its buffers, and of its TLS while and after it shakes hands, measured.
const GUARD: usize = 512;
const HANDSHAKING: usize = 8 << 10;
const SHAKEN: usize = 4 << 10;

/// The network.
pub struct Secure<N> {
    net: N,
    counters: Arc<Counters>,
    shared: Shared,
    now: Nanos,
    budget: Budget,
    /// Clients that are not in, by number, which grows with time: when to close them, and their tokens.
    openings: BTreeMap<u64, (Nanos, Token)>,
    /// Clients whose next password may be compared at this time, by their tokens.
    guessers: BTreeSet<(Nanos, usize)>,
    next: u64,
}

/// A connection before registration.
pub struct Stream<S> {
    inner: S,
    requires: Requires,
}

/// Requirements of a connection.
enum Requires {
    Nothing,
    Client(Arc<Entry>),
    Server(Arc<Target>),
}

/// A connection.
pub struct Socket<S> {
    inner: S,
    account: Account,
    guard: Option<Box<Guard>>,
}

struct Guard {
    side: Side,
    /// Number among the openings, if it is one.
    opening: Option<u64>,
    charge: Charge,
}

enum Side {
    Client(ClientGuard),
    Server(ServerGuard),
}

impl Guard {
    fn channel(&self) -> &Channel {
        match &self.side {
            Side::Client(guard) => &guard.channel,
            Side::Server(guard) => &guard.channel,
        }
    }

    fn channel_mut(&mut self) -> &mut Channel {
        match &mut self.side {
            Side::Client(guard) => &mut guard.channel,
            Side::Server(guard) => &mut guard.channel,
        }
    }

    fn is_over(&self) -> bool {
        match &self.side {
            Side::Client(guard) => guard.is_over(),
            Side::Server(guard) => guard.is_over(),
        }
    }

    /// Memory besides buffers, which charge themselves.
    fn state(&self) -> usize {
        let channel = self.channel();
        GUARD
            + match channel.session {
                None => 0,
                Some(_) if channel.is_handshaking() => HANDSHAKING,
                Some(_) => SHAKEN,
            }
    }
}

impl<N: Net> Secure<N> {
    /// A network round this one.
    pub fn new(net: N, counters: Arc<Counters>) -> Secure<N> {
        Secure {
            net,
            counters,
            shared: Shared::default(),
            now: 0,
            budget: Budget::default(),
            openings: BTreeMap::new(),
            guessers: BTreeSet::new(),
            next: 0,
        }
    }

    /// After work on a guarded connection: charges its state, and notes that a client is in.
    fn settle(&mut self, socket: &mut Socket<N::Socket>) {
        let Some(guard) = &mut socket.guard else { return };
        if let Side::Client(client) = &guard.side
            && client.is_in()
            && let Some(number) = guard.opening.take()
        {
            self.openings.remove(&number);
        }
        let state = guard.state();
        guard.charge.set(state);
    }
}

impl Secure<Sockets> {
    /// Waits for events, up to a maximum time.
    pub fn wait(&mut self, longest: Option<Duration>, happened: &mut Vec<Event>) -> io::Result<()> {
        self.net.wait(longest, happened)
    }

    /// Submits pending writes without waiting.
    pub fn submit(&mut self) -> io::Result<()> {
        self.net.submit()
    }
}

impl<N: Net> Net for Secure<N> {
    type Stream = Stream<N::Stream>;
    type Socket = Socket<N::Socket>;

    fn name(&self) -> &'static str {
        self.net.name()
    }

    fn begin_turn(&mut self, now: Nanos) {
        self.now = now;
        self.budget.begin_turn();
        self.net.begin_turn(now);
    }

    fn take_waiting(&mut self) -> Vec<Event> {
        let event = |token| Event { token, readable: true, ..Event::default() };
        let mut waiting = self.budget.take_waiting();
        while self.guessers.first().is_some_and(|(at, _)| *at <= self.now) {
            waiting.extend(self.guessers.pop_first().map(|(_, token)| token));
        }
        waiting.into_iter().map(event).collect()
    }

    fn has_waiting(&self) -> bool {
        self.budget.has_waiting()
    }

    #[inline]
    fn may_work(&mut self, socket: &mut Self::Socket) -> bool {
        self.budget.admits(&mut socket.account)
    }

    fn belongs_to(&mut self, socket: &mut Self::Socket, tenant: Arc<Tenant>) {
        socket.account.belongs_to(tenant);
    }

    fn identity(&mut self, socket: &mut Self::Socket) -> Option<Identity> {
        match &mut socket.guard.as_mut()?.side {
            Side::Client(guard) => guard.identity(),
            Side::Server(_) => None,
        }
    }

    #[inline]
    fn works(&mut self, socket: &mut Self::Socket, work: u64) {
        self.budget.spend(&mut socket.account, work);
    }

    fn next_overdue(&mut self) -> Option<Token> {
        let first = self.openings.first_entry().filter(|first| first.get().0 <= self.now)?;
        self.counters.clients_slow.add(1);
        Some(first.remove().1)
    }

    fn next_due(&self) -> Option<Nanos> {
        let opening = self.openings.first_key_value().map(|(_, (at, _))| *at);
        opening.into_iter().chain(self.guessers.first().map(|(at, _)| *at)).min()
    }

    fn listen(&mut self, listener: usize, at: &Address) -> io::Result<()> {
        self.net.listen(listener, at)
    }

    fn accept(&mut self, listener: usize, entry: &Arc<Entry>) -> io::Result<Self::Stream> {
        loop {
            if !self.budget.admits_accept(Token::Listener(listener).encode()) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let inner = self.net.accept(listener, entry)?;
            if !entry.allow.is_empty() {
                // A client of a UNIX socket has no address; its proxy's header has one.
                let is_admitted = self.net.peer(&inner).is_ok_and(|ip| ip.is_none_or(|ip| entry.admits(ip)));
                if !is_admitted {
                    self.counters.clients_denied.add(1);
                    continue;
                }
            }
            let requires = if entry.is_plain() { Requires::Nothing } else { Requires::Client(entry.clone()) };
            return Ok(Stream { inner, requires });
        }
    }

    fn unlisten(&mut self, listener: usize) {
        self.net.unlisten(listener);
    }

    fn connect(&mut self, to: &Arc<Target>) -> io::Result<Self::Stream> {
        let requires = if to.is_plain() { Requires::Nothing } else { Requires::Server(to.clone()) };
        Ok(Stream { inner: self.net.connect(to)?, requires })
    }

    fn peer(&self, stream: &Self::Stream) -> io::Result<Option<IpAddr>> {
        self.net.peer(&stream.inner)
    }

    fn refuse(&mut self, stream: Self::Stream, text: &[u8]) {
        // A client that expects TLS would not understand the text.
        match &stream.requires {
            Requires::Client(entry) if entry.tls.is_some() => {}
            _ => self.net.refuse(stream.inner, text),
        }
    }

    fn add(&mut self, stream: Self::Stream, token: Token, opening: bool) -> io::Result<Self::Socket> {
        let side = match &stream.requires {
            Requires::Nothing => None,
            Requires::Client(entry) => Some(Side::Client(ClientGuard::new(entry)?)),
            Requires::Server(target) => Some(Side::Server(ServerGuard::new(target)?)),
        };
        let inner = self.net.add(stream.inner, token, opening)?;
        let account = Account::new(token.encode());
        let Some(side) = side else { return Ok(Socket { inner, account, guard: None }) };
        let opening = matches!(side, Side::Client(_)).then_some(self.next);
        if let Some(number) = opening {
            self.openings.insert(number, (self.now + LONGEST_OPENING, token));
            self.next += 1;
        }
        let mut guard = Box::new(Guard { side, opening, charge: Charge::default() });
        let state = guard.state();
        guard.charge.set(state);
        Ok(Socket { inner, account, guard: Some(guard) })
    }

    fn is_open(&mut self, socket: &mut Self::Socket) -> io::Result<bool> {
        if !self.net.is_open(&mut socket.inner)? {
            return Ok(false);
        }
        let Some(guard) = &mut socket.guard else { return Ok(true) };
        let mut io = Io {
            net: &mut self.net,
            socket: &mut socket.inner,
            shared: &mut self.shared,
            work: Work { budget: &mut self.budget, account: &mut socket.account },
        };
        let opens = match &mut guard.side {
            Side::Server(guard) => guard.opens(&mut io, &self.counters),
            Side::Client(_) => Ok(true),
        };
        self.settle(socket);
        opens
    }

    fn read(&mut self, socket: &mut Self::Socket, into: &mut [u8]) -> io::Result<Received> {
        let token = socket.account.token();
        let mut work = Work { budget: &mut self.budget, account: &mut socket.account };
        let Some(guard) = &mut socket.guard else { return work.read(&mut self.net, &mut socket.inner, into) };
        let mut io = Io { net: &mut self.net, socket: &mut socket.inner, shared: &mut self.shared, work };
        let received = match &mut guard.side {
            Side::Server(guard) => guard.read(&mut io, into),
            Side::Client(guard) => {
                if guard.channel.is_handshaking() && !io.work.budget.admits_handshake(io.work.account) {
                    return Err(ErrorKind::WouldBlock.into());
                }
                let received = guard.read(&mut io, into, &self.counters, self.now);
                if let Some(at) = guard.takes_pause() {
                    self.guessers.insert((at, token));
                }
                received
            }
        };
        self.settle(socket);
        received
    }

    fn write(&mut self, socket: &mut Self::Socket, out: &mut Outgoing) -> io::Result<()> {
        let Some(guard) = &mut socket.guard else { return self.net.write(&mut socket.inner, out) };
        let mut io = Io {
            net: &mut self.net,
            socket: &mut socket.inner,
            shared: &mut self.shared,
            work: Work { budget: &mut self.budget, account: &mut socket.account },
        };
        let written = guard.channel_mut().send(&mut io, out);
        self.settle(socket);
        // Only here, since `out` has just learned that nothing waits.
        socket.guard.take_if(|guard| guard.is_over());
        written
    }

    /// Whether it has no guard, or one that has done its work. A login is a requirement that has been met.
    fn is_portable(&self, socket: &Self::Socket) -> bool {
        socket.guard.as_ref().is_none_or(|guard| guard.is_over()) && self.net.is_portable(&socket.inner)
    }

    fn stop_receiving(&mut self, socket: &mut Self::Socket) -> bool {
        self.net.stop_receiving(&mut socket.inner)
    }

    fn release(&mut self, socket: Self::Socket) -> io::Result<(OwnedFd, Vec<u8>)> {
        self.net.release(socket.inner)
    }

    fn adopt(&mut self, file: OwnedFd) -> io::Result<Self::Stream> {
        Ok(Stream { inner: self.net.adopt(file)?, requires: Requires::Nothing })
    }

    fn close(&mut self, mut socket: Self::Socket) {
        if let Some(mut guard) = socket.guard {
            let mut io = Io {
                net: &mut self.net,
                socket: &mut socket.inner,
                shared: &mut self.shared,
                work: Work { budget: &mut self.budget, account: &mut socket.account },
            };
            guard.channel_mut().end(&mut io);
            if let Some(number) = guard.opening {
                self.openings.remove(&number);
            }
        }
        self.net.close(socket.inner);
    }

    fn finish(&mut self, socket: Self::Socket, held: Arc<()>) {
        if let Some(number) = socket.guard.and_then(|guard| guard.opening) {
            self.openings.remove(&number);
        }
        self.net.finish(socket.inner, held);
    }

    fn tcp(&self, socket: &Self::Socket) -> Option<Tcp> {
        self.net.tcp(&socket.inner)
    }

    fn certificate<'a>(&self, socket: &'a Self::Socket) -> Option<&'a [u8]> {
        socket.guard.as_ref()?.channel().session.as_ref()?.certificate()
    }

    fn limit_pacing(&mut self, socket: &Self::Socket, rate: u64) {
        self.net.limit_pacing(&socket.inner, rate);
    }

    fn tell(&mut self, text: &str) {
        self.net.tell(text);
    }

    fn report(&mut self, report: &Report<'_>) {
        self.net.report(report);
    }

    fn held(&self) -> usize {
        self.net.held()
    }

    fn holds(&self, socket: &Self::Socket) -> usize {
        socket.guard.as_ref().map_or(0, |guard| guard.state() + guard.channel().holds())
    }
}
