//! Agent: hub and data server of `roles` beside a memcached. It has no sockets and no clock; the caller passes events and time, and
//! [`Net`] has the connections.
//!
//! Front ends connect to it, and agents to one another where hubs form a tree. As a hub it asks the servers of its rack directly; as a
//! data server it answers front ends from its own memcached ([`data_server`]).

mod connections;
mod counters;
mod data_server;
mod load;
mod memcached;
mod reports;
mod serving;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fanin_ring::Event;
use fanin_roles::data_server::{Order, Params as DataServerParams};
use fanin_roles::front_end::Directory;
use fanin_roles::hub::Hub;
use fanin_roles::wire::{Item, ItemKey, Load};
use fanin_roles::{Body, Machine, Message, Node, Output, Outputs, hub, machine};
use fanin_units::{Bytes, Time};

pub use counters::AgentCounters;
use fanin_proxy_config::AgentSettings;
use fanin_proxy_config::racks::FRONT_ENDS;
use fanin_proxy_core::clock::{LONG_TURN, Nanos, nanos, reaches, span};
use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_core::memory::{Charge, charged};
use fanin_proxy_core::pulse::Work;
use fanin_proxy_net::{Net, Token};
use fanin_proxy_peers::{GREETING, ItemBody, ItemMessage, Peer, PeerError, READ, SEGMENT};
use load::MachineLoad;
use memcached::{Asker, Memcached, Results};
use serving::Serving;

/// Time without messages after which a request's front end is gone.
const FORGET: Time = Time::from_secs(60);
/// Time by which sending may be behind its speed: the resolution of epoll.
const BEHIND: Time = Time::from_millis(2);
/// Unsent bytes from which a hub sends no more to a peer.
const STOPS_AT: usize = 256 << 10;
/// Most bytes for front ends that have not greeted yet.
const EARLY: usize = 1 << 20;
/// Share of the memory limit that may wait at a hub.
const WAITING: u64 = 4;
/// Share of the memory limit for open requests at a hub, and the number of these.
const STATE: u64 = 8;
const REQUESTS: u32 = 8_192;
/// Exponent of the waiting time in PICC's equation 2.
const EXPONENT: u32 = 3;
/// Size that an object is assumed to have until some are known.
const FIRST_OBJECT: Bytes = Bytes(4 << 10);

/// An agent.
pub struct Agent<N: Net> {
    net: N,
    /// Time of the loop iteration, and of the previous one.
    now: Nanos,
    polled: Nanos,
    me: Node,
    settings: Arc<AgentSettings>,
    counters: Arc<AgentCounters>,
    stop: Arc<AtomicBool>,
    machine: Machine<ItemKey, Item>,
    out: Outputs<ItemKey, Item>,
    /// Messages for front ends that have not greeted yet, and when they came.
    early: VecDeque<(Nanos, Node, ItemMessage)>,
    early_bytes: usize,
    /// Messages from this agent to itself.
    local: Vec<ItemMessage>,
    peers: Table<Peer<N::Socket>>,
    by_node: BTreeMap<Node, Id>,
    /// When each peer has to have greeted.
    greetings: VecDeque<(Nanos, Id)>,
    /// When the progress of unfinished messages is due.
    unfinished: VecDeque<(Nanos, Id)>,
    /// Peers to write to.
    marked: Vec<Id>,
    /// Peers to which the hub does not send for now.
    stopped: Vec<Id>,
    /// By position in the racks; and those to write to.
    memcacheds: Vec<Memcached<N::Socket>>,
    marked_memcacheds: Vec<usize>,
    found: Results,
    serving: Serving,
    load: MachineLoad,
    /// Memory of the hub's open requests, of responses that wait, and of early messages.
    hub_memory: Charge,
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
            polled: 0,
            me,
            machine: Machine::new(params(&settings)),
            out: Vec::new(),
            early: VecDeque::new(),
            early_bytes: 0,
            local: Vec::new(),
            peers: Table::default(),
            by_node: BTreeMap::new(),
            greetings: VecDeque::new(),
            unfinished: VecDeque::new(),
            marked: Vec::new(),
            stopped: Vec::new(),
            memcacheds: memcacheds.collect(),
            marked_memcacheds: Vec::new(),
            found: Vec::new(),
            serving: Serving::default(),
            load: MachineLoad::new(settings.objects),
            hub_memory: Charge::default(),
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
        self.polled = std::mem::replace(&mut self.now, now);
        self.net.begin_turn(now);
        for event in self.net.take_waiting().into_iter().chain(events) {
            self.counters.pulse.works(Work::Event(Token::decode(event.token)));
            self.event(event);
        }
        self.counters.pulse.works(Work::Timers);
        self.timers();
        self.counters.pulse.works(Work::Writes);
        while !self.marked_memcacheds.is_empty() || !self.marked.is_empty() {
            self.flush();
            self.go_on_sending();
        }
        self.limit_memory();
        self.counters.peers.set(self.peers.len() as u64);
        self.counters.hub_requests.set(self.machine.hub().map_or(0, Hub::open_requests) as u64);
    }

    /// The iteration has ended by now. If that took long, the thread has waited for the processor: its requests have left no earlier, so that their
    /// memcached has the timeout from now on.
    pub fn has_turned(&mut self, ended: Nanos) {
        let begun = self.now;
        if ended.saturating_sub(begun) >= LONG_TURN {
            self.memcacheds.iter_mut().for_each(|memcached| memcached.has_sent_late(begun, ended));
        }
    }

    /// How long it may wait for events.
    pub fn waits(&self) -> Option<Nanos> {
        if self.net.has_waiting() {
            return Some(0);
        }
        let machine = reaches(self.machine.deadline());
        let memcacheds = self.memcacheds.iter().filter_map(Memcached::next_due);
        let greeting = self.greetings.front().map(|(at, _)| *at);
        let unfinished = self.unfinished.front().map(|(at, _)| *at);
        let own = [machine, self.net.next_due(), self.accept_at, greeting, unfinished, self.report_due()];
        let own = own.into_iter().chain([self.serving.next_due()]);
        let next = own.flatten().chain(memcacheds).min();
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
        self.go_on_serving();
        self.act();
        if self.report_due().is_some_and(|at| at <= self.now) {
            self.report();
        }
        for server in 0..self.memcacheds.len() {
            // What had come by then has been read.
            if self.memcacheds[server].next_due().is_some_and(|at| at <= self.polled) {
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
        while let Some((_, id)) = self.unfinished.pop_front_if(|(at, _)| *at <= self.now) {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            if peer.has_progressed() {
                self.watch(id);
            } else {
                self.peer_fails(id, &PeerError::Unfinished);
            }
        }
        if self.accept_at.take_if(|at| *at <= self.now).is_some() {
            self.accept();
        }
    }
}

/// Memory of a message for a front end that has not greeted yet, in a list that may be half empty.
fn early_bytes(message: &ItemMessage) -> usize {
    2 * size_of::<(Nanos, Node, ItemMessage)>() + message.len()
}

/// Settings of the roles.
fn params(settings: &AgentSettings) -> machine::Params {
    let me = settings.node();
    let (room, overhead) = SEGMENT;
    machine::Params {
        server: DataServerParams {
            me,
            most: settings.objects,
            order: Order::Queued { sub_queue: settings.sub_queue, exponent: EXPONENT },
        },
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
            limits: Some(hub::Limits {
                waiting: Bytes(settings.memory.0 / WAITING),
                link: settings.link,
                requests: REQUESTS,
                state: Bytes(settings.memory.0 / STATE),
            }),
            behind: BEHIND,
        },
        front_end: None,
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
                    Output::Look(lookup) => self.look_up(lookup),
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
        let Some(server) = server.filter(|server| !self.memcacheds[*server].is_down(self.now)) else {
            return self.answer(asker, Body::Lost);
        };
        if self.memcacheds[server].get(key, asker) {
            self.marked_memcacheds.push(server);
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
    fn answer(&mut self, asker: Asker, body: ItemBody) {
        match asker {
            Asker::Hub(tag, index) => self.local.push(Message { tag, index, body }),
            Asker::Server(lookup) => self.looked_up(&lookup, body),
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
        while let Some((.., old)) = self.early.pop_front_if(|(at, ..)| *at + GREETING <= now) {
            self.early_bytes -= early_bytes(&old);
        }
        if self.early_bytes + early_bytes(message) <= EARLY {
            self.early_bytes += early_bytes(message);
            self.early.push_back((now, to, message.clone()));
        }
    }

    /// Sends such messages, when the front end has greeted.
    fn send_early(&mut self, to: Node) {
        let early = std::mem::take(&mut self.early).into_iter();
        let (its, others): (VecDeque<_>, VecDeque<_>) = early.partition(|(_, node, _)| *node == to);
        self.early = others;
        self.early_bytes -= its.iter().map(|(.., message)| early_bytes(message)).sum::<usize>();
        its.iter().for_each(|(.., message)| self.send(to, message));
    }

    /// Connects to another agent.
    fn connect(&mut self, to: Node) -> Option<Id> {
        let server = self.settings.racks.of_node(to)?;
        let target = self.settings.racks.servers[server].agent.clone()?;
        let token = Token::Client(self.peers.next());
        let secret = self.settings.racks.secret.as_ref();
        let peer = Peer::connect(&mut self.net, &target, token, self.me, to, secret).ok()?;
        let id = self.add(peer);
        self.by_node.insert(to, id);
        Some(id)
    }
}
