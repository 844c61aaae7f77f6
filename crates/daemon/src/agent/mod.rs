//! Agent: data server and hub of `roles` beside a memcached. It has no sockets and no clock; the caller passes events and time, and
//! [`Net`] has the connections.
//!
//! Front ends connect to it, and agents to one another where hubs form a tree. As a hub it asks the servers of its rack directly.

mod counters;
mod load;
mod memcached;
mod running;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fanin_ring::Event;
use fanin_roles::front_end::Directory;
use fanin_roles::hub::Hub;
use fanin_roles::wire::{Item, ItemKey, Load};
use fanin_roles::{Body, Machine, Message, Node, Output, Outputs, Tag, data_server, hub, machine};
use fanin_units::{Bytes, Time};

use crate::memory::charged;
use crate::memory::table::{Id, Table};
use crate::net::clock::{Nanos, nanos, reaches, span};
use crate::net::{Net, Token};
use crate::peers::{GREETING, ItemBody, ItemMessage, Peer, PeerError, READ};
use crate::settings::AgentSettings;
use crate::settings::racks::FRONT_ENDS;
pub use counters::AgentCounters;
use load::{LOOK, MachineLoad, PERIOD};
use memcached::{Asker, Memcached, Results};
pub use running::{RunningAgent, start};

/// Payload of a full segment of Ethernet, and its other bytes on the wire: headers of TCP with timestamps, IP and Ethernet, preamble and gap.
pub const SEGMENT: (u32, u32) = (1448, 90);
/// Time without messages after which a request's front end is gone.
const FORGET: Time = Time::from_secs(60);
/// Time by which sending may be behind its speed: the resolution of epoll.
const BEHIND: Time = Time::from_millis(2);
/// Unsent bytes from which a hub sends no more to a peer, and up to which it sends again.
const STOPS_AT: usize = 256 << 10;
const GOES_ON_AT: usize = 64 << 10;
/// Most bytes for front ends that have not greeted yet.
const EARLY: usize = 1 << 20;
/// Share of the memory limit that may wait at a hub.
const WAITING: u64 = 4;
/// Size that an object is assumed to have until some are known.
const FIRST_OBJECT: Bytes = Bytes(4 << 10);
/// Least time between two texts about refused peers.
const BETWEEN_TEXTS: Nanos = 1_000_000_000;
/// Pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Nanos = 100_000_000;

/// An agent.
pub struct Agent<N: Net> {
    net: N,
    now: Nanos,
    me: Node,
    settings: Arc<AgentSettings>,
    counters: Arc<AgentCounters>,
    stop: Arc<AtomicBool>,
    machine: Machine<ItemKey, Item>,
    out: Outputs<ItemKey, Item>,
    /// Messages for front ends that have not greeted yet, and when they came.
    early: VecDeque<(Nanos, Node, ItemMessage)>,
    /// Messages from this agent to itself.
    local: Vec<ItemMessage>,
    peers: Table<Peer<N::Socket>>,
    by_node: BTreeMap<Node, Id>,
    /// When each peer has to have greeted.
    greetings: VecDeque<(Nanos, Id)>,
    /// Peers to write to.
    marked: Vec<Id>,
    /// Peers to which the hub does not send for now.
    stopped: Vec<Id>,
    /// By position in the racks; and those to write to.
    memcacheds: Vec<Memcached<N::Socket>>,
    marked_memcacheds: Vec<usize>,
    found: Results,
    load: MachineLoad,
    /// The last report to each front end that has greeted, when that was, and when the next one is due at the latest.
    reports: BTreeMap<Node, Option<Load>>,
    reported: Nanos,
    report_at: Nanos,
    accept_at: Option<Nanos>,
    /// When a refused peer was last reported.
    told_at: Option<Nanos>,
    buffer: Vec<u8>,
    /// Bytes charged to the thread before.
    charged_before: usize,
}

/// An agent requests nothing, so it needs to know nothing.
struct NoDirectory;

impl Directory<ItemKey> for NoDirectory {
    fn replicas(&self, _: &ItemKey) -> &[Node] {
        &[]
    }

    fn rack(&self, _: Node) -> u32 {
        0
    }

    fn aggregation(&self, _: u32) -> u32 {
        0
    }

    fn spare_io(&self, _: Node) -> u32 {
        0
    }

    fn size(&self, _: &ItemKey) -> Option<u32> {
        None
    }
}

impl<N: Net> Agent<N> {
    /// An agent that stops when `stop` is set.
    ///
    /// # Errors
    /// It cannot listen.
    pub fn new(
        mut net: N,
        settings: Arc<AgentSettings>,
        counters: Arc<AgentCounters>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Agent<N>> {
        net.listen(0, &settings.listen)?;
        let me = settings.node();
        let longest = usize::try_from(settings.item.0).unwrap_or(usize::MAX);
        let memcacheds = settings.memcacheds.iter().enumerate().map(|(server, target)| {
            let target = if server == settings.server { &settings.memcached } else { target };
            Memcached::new(target.clone(), nanos(settings.timeout), longest)
        });
        Ok(Agent {
            now: 0,
            me,
            machine: Machine::new(params(&settings)),
            out: Vec::new(),
            early: VecDeque::new(),
            local: Vec::new(),
            peers: Table::default(),
            by_node: BTreeMap::new(),
            greetings: VecDeque::new(),
            marked: Vec::new(),
            stopped: Vec::new(),
            memcacheds: memcacheds.collect(),
            marked_memcacheds: Vec::new(),
            found: Vec::new(),
            load: MachineLoad::new(settings.objects),
            reports: BTreeMap::new(),
            reported: 0,
            report_at: 0,
            accept_at: None,
            told_at: None,
            buffer: vec![0; READ],
            charged_before: charged(),
            net,
            settings,
            counters,
            stop,
        })
    }

    /// Runs one iteration: handles events and what follows from them.
    pub fn turn(&mut self, now: Nanos, events: impl Iterator<Item = Event>) {
        self.now = now;
        self.net.begin_turn(now);
        for event in events {
            self.event(event);
        }
        self.timers();
        while !self.marked_memcacheds.is_empty() || !self.marked.is_empty() {
            self.flush();
            self.go_on_sending();
        }
        self.limit_memory();
        self.counters.peers.set(self.peers.len() as u64);
        self.counters.hub_requests.set(self.machine.hub().map_or(0, Hub::open_requests) as u64);
    }

    /// How long it may wait for events.
    pub fn waits(&self) -> Option<Nanos> {
        let machine = reaches(self.machine.deadline());
        let memcacheds = self.memcacheds.iter().filter_map(Memcached::next_due);
        let greeting = self.greetings.front().map(|(at, _)| *at);
        let own = [machine, self.net.next_due(), self.accept_at, greeting, self.report_due()];
        let next = own.into_iter().flatten().chain(memcacheds).min();
        next.map(|at| at.saturating_sub(self.now))
    }

    /// Whether it has been stopped.
    pub fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Its network, to wait for events.
    pub fn net(&mut self) -> &mut N {
        &mut self.net
    }

    fn time(&self) -> Time {
        span(0, self.now)
    }

    fn event(&mut self, event: Event) {
        match Token::decode(event.token) {
            Token::Listener(_) => self.accept(),
            Token::Server(server) => {
                let memcached = &mut self.memcacheds[server];
                let result = memcached.event(&mut self.net, &event, &mut self.buffer, &mut self.found);
                if result.is_err() {
                    self.memcached_fails(server);
                }
                self.take_found();
            }
            Token::Client(slot) => {
                if let Some(id) = self.peers.at(slot) {
                    self.peer_event(id, &event);
                }
            }
            Token::Agent(_) | Token::Waker => {}
        }
    }

    fn timers(&mut self) {
        if self.machine.deadline() <= self.time() {
            self.machine.due(self.time(), None, &NoDirectory, &mut self.out);
            self.act();
        }
        if self.report_due().is_some_and(|at| at <= self.now) {
            self.report();
        }
        for server in 0..self.memcacheds.len() {
            if self.memcacheds[server].next_due().is_some_and(|at| at <= self.now) {
                self.memcached_fails(server);
                self.take_found();
            }
        }
        while let Some(Token::Client(slot)) = self.net.next_overdue() {
            self.peers.at(slot).into_iter().for_each(|id| self.close(id));
        }
        let has_greeted = |peer: &Peer<N::Socket>| peer.node().is_some();
        while let Some((_, id)) = self.greetings.pop_front_if(|(at, _)| *at <= self.now) {
            if self.peers.get(id).is_some_and(|peer| !has_greeted(peer)) {
                self.counters.peers_refused.add(1);
                self.close(id);
            }
        }
        if self.accept_at.take_if(|at| *at <= self.now).is_some() {
            self.accept();
        }
    }
}

/// Settings of the roles.
fn params(settings: &AgentSettings) -> machine::Params {
    let me = settings.node();
    let (room, overhead) = SEGMENT;
    machine::Params {
        server: data_server::Params { me, most: settings.objects, order: data_server::Order::AtOnce },
        hub: hub::Params {
            me,
            room,
            overhead,
            packs: settings.pack,
            linger: settings.linger,
            window: settings.window,
            mean_object: FIRST_OBJECT,
            timeout: settings.timeout,
            forget: FORGET,
            limits: Some(hub::Limits { waiting: Bytes(settings.memory.0 / WAITING), link: settings.link }),
            behind: BEHIND,
        },
        front_end: None,
    }
}

/// Peers.
impl<N: Net> Agent<N> {
    fn accept(&mut self) {
        loop {
            let stream = match self.net.accept(0, &self.settings.entry) {
                Ok(stream) => stream,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.accept_at = Some(self.now + ACCEPT_PAUSE);
                    }
                    return;
                }
            };
            if self.peers.len() >= self.settings.peers {
                self.counters.peers_refused.add(1);
                self.net.refuse(stream, b"");
                continue;
            }
            let token = Token::Client(self.peers.next());
            if let Ok(socket) = self.net.add(stream, token, false) {
                self.add(Peer::accepted(socket, self.me));
            }
        }
    }

    fn add(&mut self, peer: Peer<N::Socket>) -> Id {
        let id = self.peers.insert(peer);
        self.greetings.push_back((self.now + GREETING, id));
        self.mark(id);
        id
    }

    fn mark(&mut self, id: Id) {
        if self.peers.get_mut(id).is_some_and(Peer::mark) {
            self.marked.push(id);
        }
    }

    fn peer_event(&mut self, id: Id, event: &Event) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let reads = match peer.event(&mut self.net, event) {
            Ok(reads) => reads,
            Err(error) => return self.peer_fails(id, &error),
        };
        self.mark(id);
        if reads && let Err(error) = self.read(id) {
            self.peer_fails(id, &error);
        }
    }

    /// Reads and handles a peer's messages.
    fn read(&mut self, id: Id) -> Result<(), PeerError> {
        let mut messages = Vec::new();
        loop {
            let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
            let before = peer.node();
            let more = peer.read(&mut self.net, &mut self.buffer)?;
            let result = peer.take(&mut messages);
            let Some(from) = peer.node() else {
                if !more {
                    return Ok(());
                }
                continue;
            };
            if before.is_none() {
                // The last connection of a node counts: an earlier one may not have ended yet.
                self.by_node.insert(from, id);
                self.counters.peers_greeted.add(1);
                if from.0 >= FRONT_ENDS {
                    self.reports.insert(from, None);
                    self.report_at = self.now;
                    self.send_early(from);
                }
            }
            let hub = self.machine.hub();
            let ends_early = |message: &ItemMessage| {
                matches!(message.body, Body::Over) && hub.is_some_and(|hub| hub.owes(message.tag))
            };
            if messages.iter().any(ends_early) {
                self.report_soon(from);
            }
            self.machine.handle_all(self.time(), from, messages.drain(..), &NoDirectory, &mut self.out);
            self.act();
            result?;
            // After a greeting, more may be there.
            if !more && before.is_some() {
                return Ok(());
            }
        }
    }

    /// A connection has failed: closes it, and says why unless the peer has just gone.
    fn peer_fails(&mut self, id: Id, error: &PeerError) {
        let is_refused = !matches!(error, PeerError::Io(_) | PeerError::Closed);
        if is_refused {
            self.counters.peers_refused.add(1);
            // Strangers must not fill the log.
            if self.told_at.is_none_or(|at| at + BETWEEN_TEXTS <= self.now) {
                self.told_at = Some(self.now);
                self.net.tell(&format!("a peer was refused: {error}"));
            }
        }
        self.close(id);
    }

    fn close(&mut self, id: Id) {
        let Some(peer) = self.peers.remove(id) else { return };
        let node = peer.node_or_expected();
        peer.close(&mut self.net);
        let Some(node) = node else { return };
        if self.stopped.contains(&id) {
            self.stopped.retain(|other| *other != id);
            self.machine.set_stopped(self.time(), node, false, &mut self.out);
        }
        if node.0 < FRONT_ENDS {
            // Another agent's memcached may be well.
            self.machine.parent_lost(self.time(), node, &mut self.out);
        }
        if self.by_node.get(&node) == Some(&id) {
            self.by_node.remove(&node);
            self.reports.remove(&node);
            if node.0 >= FRONT_ENDS {
                self.machine.lost(self.time(), node, &NoDirectory, &mut self.out);
            }
        }
        self.act();
    }

    /// Writes to all marked connections.
    fn flush(&mut self) {
        for server in std::mem::take(&mut self.marked_memcacheds) {
            if self.memcacheds[server].flush(&mut self.net, Token::Server(server), self.now).is_err() {
                self.memcached_fails(server);
            }
        }
        self.take_found();
        for id in std::mem::take(&mut self.marked) {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let hub = self.machine.hub().filter(|_| peer.unsent() > 0);
            if let Some(speed) = hub.zip(peer.node()).and_then(|(hub, node)| hub.speed_to(node)) {
                peer.pace(&mut self.net, speed);
            }
            if let Err(error) = peer.write(&mut self.net) {
                self.peer_fails(id, &error);
            }
        }
    }

    /// The hub sends again to peers that have taken most of their output.
    fn go_on_sending(&mut self) {
        let stopped = std::mem::take(&mut self.stopped);
        for id in stopped {
            let Some(peer) = self.peers.get(id) else { continue };
            match peer.node_or_expected() {
                Some(node) if peer.unsent() <= GOES_ON_AT => {
                    self.machine.set_stopped(self.time(), node, false, &mut self.out);
                    self.act();
                }
                _ => self.stopped.push(id),
            }
        }
    }

    /// At the limit, closes the peer with most output.
    fn limit_memory(&mut self) {
        let held = charged().wrapping_sub(self.charged_before) as u64 + self.net.held() as u64;
        self.counters.memory_bytes.set(held);
        if held < self.settings.memory.0 {
            return;
        }
        let most = self.peers.ids().into_iter().max_by_key(|id| self.peers.get(*id).map_or(0, Peer::unsent));
        if let Some(id) = most {
            self.counters.peers_cut_off.add(1);
            self.close(id);
        }
    }
}

/// Reports.
impl<N: Net> Agent<N> {
    /// When front ends are reported to next, if there are any.
    fn report_due(&self) -> Option<Nanos> {
        let is_hub = self.machine.hub().is_some_and(|hub| hub.open_requests() > 0);
        let soon = if is_hub { self.reported + PERIOD } else { Nanos::MAX };
        (!self.reports.is_empty()).then(|| self.report_at.min(soon))
    }

    /// Reports soon to a front end that has ended a request early: it may have taken this agent for silent.
    fn report_soon(&mut self, front_end: Node) {
        if let Some(last) = self.reports.get_mut(&front_end) {
            (*last, self.report_at) = (None, self.now);
        }
    }

    /// Reports to the front ends for which it is a hub, and to all others if its load has changed much.
    fn report(&mut self) {
        (self.reported, self.report_at) = (self.now, self.now + LOOK);
        self.load.look(self.now);
        let spare = self.load.spare(self.machine.spare_io());
        let mut reports = std::mem::take(&mut self.reports);
        for (&node, last) in &mut reports {
            let Some((id, peer)) = self.by_node.get(&node).and_then(|id| Some((*id, self.peers.get_mut(*id)?))) else {
                continue;
            };
            let load = Load { spare, round_trip: peer.round_trip(&self.net) };
            let is_hub = self.machine.hub().is_some_and(|hub: &Hub<_, _>| hub.serves(node));
            if is_hub || self.load.has_changed(*last, load) {
                let tag = Tag { origin: node, request: 0, epoch: 0 };
                peer.put(&Message { tag, index: 0, body: Body::Load(load) });
                *last = Some(load);
                self.mark(id);
            }
        }
        self.reports = reports;
    }
}

/// Roles.
impl<N: Net> Agent<N> {
    /// Carries out the roles' outputs, until there are none.
    fn act(&mut self) {
        loop {
            let mut out = std::mem::take(&mut self.out);
            for output in out.drain(..) {
                match output {
                    Output::Send { to, message: Message { tag, index, body: Body::Get(key) }, .. } => {
                        self.counters.hub_gets.add(1);
                        self.fetch(self.settings.racks.of_node(to), key, Asker::Hub(tag, index));
                    }
                    Output::Send { to, message, .. } if to == self.me => self.local.push(message),
                    Output::Send { to, message, .. } => self.send(to, &message),
                    Output::Look(lookup) => {
                        self.counters.gets.add(1);
                        self.fetch(Some(self.settings.server), lookup.key.clone(), Asker::DataServer(lookup));
                    }
                    // An agent has no front end.
                    Output::Answer { .. } | Output::Miss { .. } | Output::Fail { .. } | Output::Done { .. } => {}
                }
            }
            if self.out.is_empty() {
                // The emptied list is reused.
                self.out = out;
            }
            if self.local.is_empty() && self.out.is_empty() {
                return;
            }
            let mut local = std::mem::take(&mut self.local);
            self.machine.handle_all(self.time(), self.me, local.drain(..), &NoDirectory, &mut self.out);
            self.local = local;
        }
    }

    /// Asks a memcached of the racks.
    fn fetch(&mut self, server: Option<usize>, key: ItemKey, asker: Asker) {
        let asked =
            server.and_then(|server| Some((server, self.memcacheds[server].get(key, asker.clone(), self.now)?)));
        match asked {
            Some((server, true)) => self.marked_memcacheds.push(server),
            Some((_, false)) => {}
            None => self.answer(asker, Body::Lost),
        }
    }

    fn memcached_fails(&mut self, server: usize) {
        self.counters.memcached_failures.add(1);
        let socket = self.memcacheds[server].fail(self.now, self.me.0.into(), &mut self.found);
        socket.into_iter().for_each(|socket| self.net.close(socket));
    }

    fn take_found(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        for (asker, found) in found.drain(..) {
            self.answer(asker, found);
        }
        self.found = found;
        self.act();
    }

    /// Gives a result to the role that asked.
    fn answer(&mut self, asker: Asker, found: ItemBody) {
        match (asker, found) {
            (Asker::Hub(tag, index), body) => self.local.push(Message { tag, index, body }),
            (Asker::DataServer(lookup), Body::Object(item)) => {
                self.machine.found(self.time(), &lookup, Some(item), &mut self.out);
            }
            (Asker::DataServer(lookup), Body::Miss) => {
                self.machine.found(self.time(), &lookup, None, &mut self.out);
            }
            (Asker::DataServer(lookup), _) => self.machine.lookup_failed(self.time(), &lookup, &mut self.out),
        }
    }

    /// Sends a message to another node: over its connection, or as to an agent over a new one.
    fn send(&mut self, to: Node, message: &ItemMessage) {
        let open = self.by_node.get(&to).copied().or_else(|| self.connect(to));
        let Some(id) = open else {
            if to.0 >= FRONT_ENDS {
                return self.keep_early(to, message);
            }
            return self.machine.parent_lost(self.time(), to, &mut self.out);
        };
        let Some(peer) = self.peers.get_mut(id) else { return };
        if matches!(message.body, Body::Object(_)) {
            self.counters.hub_objects.add(1);
        }
        peer.put(message);
        if peer.unsent() >= STOPS_AT && !self.stopped.contains(&id) {
            self.stopped.push(id);
            self.machine.set_stopped(self.time(), to, true, &mut self.out);
        }
        self.mark(id);
    }

    /// Keeps a message for a front end whose greeting has not been read yet: another hub was faster.
    fn keep_early(&mut self, to: Node, message: &ItemMessage) {
        let now = self.now;
        while self.early.pop_front_if(|(at, ..)| *at + GREETING <= now).is_some() {}
        if self.early.iter().map(|(.., message)| message.len()).sum::<usize>() + message.len() <= EARLY {
            self.early.push_back((now, to, message.clone()));
        }
    }

    /// Sends such messages, when the front end has greeted.
    fn send_early(&mut self, to: Node) {
        let early = std::mem::take(&mut self.early).into_iter();
        let (its, others): (VecDeque<_>, VecDeque<_>) = early.partition(|(_, node, _)| *node == to);
        self.early = others;
        its.iter().for_each(|(.., message)| self.send(to, message));
    }

    /// Connects to another agent.
    fn connect(&mut self, to: Node) -> Option<Id> {
        let server = self.settings.racks.of_node(to)?;
        let target = self.settings.racks.servers[server].agent.clone()?;
        let token = Token::Client(self.peers.next());
        let peer = Peer::connect(&mut self.net, (&target, token), (self.me, to)).ok()?;
        let id = self.add(peer);
        self.by_node.insert(to, id);
        Some(id)
    }
}
