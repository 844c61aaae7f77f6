//! Front end: requests all objects of a request, and reports when the last one has arrived.
//!
//! It requests from servers directly, with a concurrency limit ([`direct`]), or from hubs of swarms, whose speeds it sets ([`swarmed`]).
//! Objects requested from a lost machine are requested elsewhere ([`recovery`]). Each object is answered, missed or failed once; late
//! and duplicate responses are dropped.

mod balanced;
mod direct;
mod directory;
mod recovery;
mod request;
mod swarmed;

use std::collections::{BTreeMap, BTreeSet};

use fanin_fanout::mean::MeanSize;
use fanin_fanout::speed::Planned;
use fanin_fanout::tree::Concurrency;
use fanin_fanout::{Window, sicc};
use fanin_placement::{Cover, Server};
use fanin_units::{Bytes, Rate, Time};

use crate::wire::{Body, Message, Node, Part, Tag};
use crate::{Output, Outputs};
use balanced::balance_racks;
pub use directory::Directory;
use request::{Line, ObjectRequest, Path, Request, State};

/// Random whole numbers below a positive bound.
pub type Draw<'a> = &'a mut dyn FnMut(u32) -> u32;

/// Request method of a front end.
#[derive(Clone, Debug)]
pub enum RequestMethod {
    /// Servers directly, with this concurrency limit.
    Servers(Window),
    /// Hubs.
    Swarms {
        /// Enabled parts of SICC.
        parts: sicc::Parts,
        /// Settings of SICC.
        settings: sicc::Params,
        /// Maximum number of hubs that send to the front end itself; shared by concurrent requests unless it is fixed.
        bound: u32,
        /// Payload of a full packet, and its other bytes, which count for hubs' speeds.
        packet: (u32, u32),
    },
}

impl RequestMethod {
    /// Wire bytes of a message: a share of a full packet with packing, else its own packets.
    fn on_wire(&self, bytes: u64) -> u64 {
        match self {
            RequestMethod::Servers(_) => bytes,
            RequestMethod::Swarms { parts: sicc::Parts { packing: true, .. }, packet: (room, overhead), .. } => {
                bytes + bytes * u64::from(*overhead) / u64::from(*room)
            }
            RequestMethod::Swarms { packet: (room, overhead), .. } => {
                bytes + bytes.div_ceil((*room).into()) * u64::from(*overhead)
            }
        }
    }
}

/// Settings of a front end.
#[derive(Clone, Debug)]
pub struct Params {
    /// This machine.
    pub me: Node,
    /// Its incarnation; without effect with `agents`.
    pub epoch: u16,
    /// Rate of its downlink: B_d.
    pub capacity: Rate,
    /// Request method.
    pub method: RequestMethod,
    /// Whether each request starts with a new concurrency limit, as with new connections; else one limit persists.
    pub anew: bool,
    /// Maximum bytes that servers have been asked for and have not sent, at the mean size of a response; one server may always be asked.
    /// Without effect with hubs.
    pub most_bytes: Option<Bytes>,
    /// For moved objects, prefer a replica on a server that the request contacts anyway.
    pub together: bool,
    /// Choose replicas on few servers: the number of servers, and each one's maximum in 256ths of the mean.
    pub cover: Option<(u32, u64)>,
    /// Time without messages after which a machine is lost; `None`: never.
    pub timeout: Option<Time>,
    /// Number of attempts per object.
    pub tries: u8,
    /// Whether hubs are apart from the data servers on their machines: they send heartbeats ([`FrontEnd::hears`]), a lost hub is no lost
    /// data server, and tags of requests are random.
    pub agents: bool,
}

/// Measurement at the beginning of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Queue of the aggregation router's port towards the front end's rack, and the port's buffer.
    Queue(Bytes, Bytes),
    /// A round-trip time, the rate of that port and its buffer: the excess over the least round-trip time is the queue.
    RoundTrip(Time, Rate, Bytes),
}

/// State of a front end.
#[derive(Clone, Debug)]
pub struct FrontEnd<K> {
    params: Params,
    cover: Option<Cover>,
    requests: BTreeMap<u32, Request<K>>,
    next: u32,
    /// Of servers' responses.
    mean_response: MeanSize,
    /// B_p, which is kept across requests.
    planned: Planned,
    /// m, for requests through hubs.
    concurrency: Concurrency,
    /// End of the period; `NEVER` without requests.
    period_ends: Time,
    /// Bytes of this period.
    received: u64,
    /// End of the last request.
    idle_since: Time,
    least_rtt: Time,
    /// Lower bound of the next check for late or silent machines.
    look_at: Time,
    /// Machines considered lost, and until when.
    gone: BTreeMap<Node, Time>,
    /// Silent hubs that the host has not taken.
    silent: Vec<Node>,
}

impl<K: Part + Clone> FrontEnd<K> {
    /// Memory of an object of a request, apart from its key's own.
    pub const OBJECT: usize = size_of::<ObjectRequest<K>>();

    /// A front end without requests.
    pub fn new(params: Params) -> FrontEnd<K> {
        let planned = Planned::new(params.capacity);
        let cover = params.cover.map(|(servers, most_q8)| Cover::new(servers as usize, most_q8));
        FrontEnd {
            params,
            cover,
            requests: BTreeMap::new(),
            next: 0,
            mean_response: MeanSize::default(),
            planned,
            concurrency: Concurrency::default(),
            period_ends: Time::NEVER,
            received: 0,
            idle_since: Time::ZERO,
            least_rtt: Time::NEVER,
            look_at: Time::NEVER,
            gone: BTreeMap::new(),
            silent: Vec::new(),
        }
    }

    /// Requests objects with a deadline; returns the request's number.
    pub fn ask<V>(
        &mut self,
        now: Time,
        keys: impl IntoIterator<Item = K>,
        deadline: Time,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) -> u32 {
        let tag = self.next_tag(draw);
        let number = tag.request;
        self.gone.retain(|_, until| *until > now);
        let object_request =
            |key| ObjectRequest { key, holder: Node(0), via: 0, state: State::NotRequested, tries: 1, redirected: 0 };
        let object_requests: Vec<ObjectRequest<K>> = keys.into_iter().map(object_request).collect();
        let left = object_requests.len() as u32;
        let window = match &self.params.method {
            RequestMethod::Servers(window) if self.params.anew => Some(*window),
            _ => None,
        };
        let mut request =
            Request { tag, deadline, object_requests, left, paths: Vec::new(), line: Line::default(), window };
        self.choose_replicas(&mut request, directory, draw, out);
        self.look_at = self.look_at.min(deadline);
        self.look_for_silence(now);
        self.requests.insert(number, request);
        match self.params.method {
            RequestMethod::Servers(_) => self.ask_servers(now, number, directory, out),
            RequestMethod::Swarms { .. } => self.ask_swarms(now, number, directory, draw, out),
        }
        self.end_if_done(now, number, out);
        number
    }

    /// The tag of a new request: the next number, or a random one.
    fn next_tag(&mut self, draw: Draw<'_>) -> Tag {
        let Params { me, epoch, agents, .. } = self.params;
        if !agents {
            self.next = self.next.wrapping_add(1);
            return Tag { origin: me, request: self.next.wrapping_sub(1), epoch, nonce: 0 };
        }
        let mut bits = || draw(1 << 16);
        let mut request = bits() << 16 | bits();
        while self.requests.contains_key(&request) {
            request = request.wrapping_add(1);
        }
        Tag { origin: me, request, epoch: bits() as u16, nonce: bits() as u16 }
    }

    /// Handles a message.
    pub fn handle<V: Part>(
        &mut self,
        now: Time,
        from: Node,
        message: Message<K, V>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let (tag, index, bytes) = (message.tag, message.index, message.len() as u64);
        let on_wire = self.params.method.on_wire(bytes);
        let Some(request) = self.requests.get_mut(&tag.request).filter(|request| request.tag == tag) else { return };
        let Some(object_request) = request.object_requests.get(index as usize) else { return };
        let (state, via, holder) = (object_request.state, object_request.via, object_request.only_holder());
        if state == State::NotRequested || self.params.agents && !request.asks_through(via, from) {
            return;
        }
        request.record_message(now, from, via, on_wire);
        if state == State::Done {
            return;
        }
        match message.body {
            Body::Object(value) => {
                out.push(Output::Answer { request: tag.request, index, holder, value });
                self.arrived(now, from, tag.request, index, bytes, out);
            }
            Body::Miss => {
                out.push(Output::Miss { request: tag.request, index, holder });
                self.arrived(now, from, tag.request, index, bytes, out);
            }
            // A machine that is not asked any more is ignored.
            Body::Lost if ![via, request.root(via)].iter().any(|&path| request.answers_for(path, from)) => {}
            Body::Lost => self.ask_elsewhere(now, tag.request, index, directory, out),
            Body::Withdrawn => self.moved(now, tag.request, index, directory, out),
            Body::Swarm(_) | Body::Ask { .. } | Body::Get(_) | Body::Pass { .. } => {}
            Body::Speed(_) | Body::Withdraw | Body::Over | Body::Load(_) | Body::Child(_) => {}
        }
    }

    /// Something has come from a hub, if only a part of a message or a heartbeat: it is not silent.
    pub fn hears(&mut self, now: Time, from: Node) {
        let paths = self.requests.values_mut().flat_map(|request| &mut request.paths);
        paths.filter(|path| path.hub && path.node == from).for_each(|path| path.heard = now);
    }

    /// Agents that have been silent, which the host had better not offer as hubs until something comes from them.
    pub fn take_silent(&mut self) -> Vec<Node> {
        std::mem::take(&mut self.silent)
    }

    /// Handles the loss of a machine: its connection broke.
    pub fn lost<V>(&mut self, now: Time, peer: Node, directory: &impl Directory<K>, out: &mut Outputs<K, V>) {
        for number in self.numbers() {
            let paths = &self.requests[&number].paths;
            let is_its = |path: &Path| path.node == peer && !path.gone && (path.hub || !self.params.agents);
            let of_peer = (0..paths.len()).filter(|&path| is_its(&paths[path]));
            let of_peer: Vec<u32> = of_peer.map(|path| path as u32).collect();
            of_peer.into_iter().for_each(|path| self.path_lost(now, number, path, directory, out));
        }
    }

    /// Assigned speed of a request's hub.
    pub fn assigned(&self, request: u32, hub: Node) -> Option<Rate> {
        let paths = &self.requests.get(&request)?.paths;
        paths.iter().find(|path| path.node == hub && path.assigned.0 > 0).map(|path| path.assigned)
    }

    /// Number of open requests.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether the requests' counters are consistent; for tests.
    pub fn adds_up(&self) -> bool {
        self.requests.values().all(Request::adds_up)
    }

    /// Time of the next call of [`FrontEnd::due`]; `NEVER` if nothing waits.
    pub fn deadline(&self) -> Time {
        self.period_ends.min(self.look_at)
    }

    /// Whether [`FrontEnd::due`] needs a measurement of the aggregation port by now.
    pub fn measures(&self, now: Time) -> bool {
        self.period_ends <= now
    }

    /// Does work that is due.
    pub fn due<V>(
        &mut self,
        now: Time,
        measured: Option<Measured>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        if self.period_ends <= now {
            self.new_period(now, measured, directory, out);
        }
        if self.look_at <= now {
            self.look(now, directory, out);
        }
    }

    /// Draws a replica of each object on machines that are not lost, or chooses them for balanced racks or few servers.
    fn choose_replicas<V>(
        &mut self,
        request: &mut Request<K>,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) {
        let few = self.few_servers(request, directory);
        let mut order: Vec<u32> = (0..request.object_requests.len() as u32).collect();
        if self.params.together {
            // Objects with a choice come last.
            order.sort_by_key(|&index| directory.is_moved(&request.object_requests[index as usize].key));
        }
        let mut answering = BTreeSet::new();
        for index in order {
            let object_request = &mut request.object_requests[index as usize];
            let replicas = directory.replicas(&object_request.key);
            let mut alive = replicas.iter().copied().filter(|node| !self.gone.contains_key(node));
            let together = self.params.together && directory.is_moved(&object_request.key);
            let there = |node: &Node| together && answering.contains(&directory.answers(&object_request.key, *node));
            let few = few.get(index as usize).copied();
            let covers = |node: &Node| few == Some(Server(directory.answers(&object_request.key, *node).0));
            let chosen = alive.clone().find(covers).or_else(|| alive.clone().find(there)).or_else(|| {
                match alive.clone().count() as u32 {
                    0 => replicas.first().copied(),
                    count => alive.nth(draw(count) as usize),
                }
            });
            match chosen {
                Some(holder) => object_request.holder = holder,
                None => {
                    object_request.state = State::Done;
                    request.left -= 1;
                    out.push(Output::Fail { request: request.tag.request, index });
                }
            }
            if let (true, Some(holder)) = (self.params.together, chosen) {
                answering.insert(directory.answers(&object_request.key, holder));
            }
        }
        if let RequestMethod::Swarms { parts: sicc::Parts { balanced: true, .. }, settings, .. } = &self.params.method {
            balance_racks(request, settings.mean_object, directory);
        }
    }

    /// The server of each object if few servers are wanted, else none.
    fn few_servers(&mut self, request: &Request<K>, directory: &impl Directory<K>) -> Vec<Server> {
        let Some(cover) = &mut self.cover else { return Vec::new() };
        let gone = &self.gone;
        let homes = request.object_requests.iter().map(|object_request| {
            let alive = directory.replicas(&object_request.key).iter().filter(|node| !gone.contains_key(node));
            alive.map(|node| Server(directory.answers(&object_request.key, *node).0)).collect()
        });
        let homes: Vec<Vec<Server>> = homes.collect();
        let mut servers = Vec::new();
        cover.choose(homes.len(), |index| &homes[index], &mut servers);
        servers
    }

    /// Handles an object or a miss.
    fn arrived<V>(&mut self, now: Time, from: Node, number: u32, index: u32, bytes: u64, out: &mut Outputs<K, V>) {
        self.received += self.params.method.on_wire(bytes);
        let Some(request) = self.requests.get_mut(&number) else { return };
        let object_request = &mut request.object_requests[index as usize];
        object_request.state = State::Done;
        request.left -= 1;
        let via = object_request.via;
        let is_its = request.answers_for(via, from);
        let path = &mut request.paths[via as usize];
        path.bytes += if is_its { bytes } else { 0 };
        let (bytes, took) = (path.bytes, now.since(path.asked));
        if request.remove_object(via) {
            // A forwarded response has no valid response time.
            if let (RequestMethod::Servers(kept), true) = (&mut self.params.method, is_its) {
                request.window.as_mut().unwrap_or(kept).answered(now, bytes, took);
                self.mean_response.learn(bytes);
            }
            self.ask_more_servers(now, out);
        }
        self.end_if_done(now, number, out);
    }

    /// Ends a complete request.
    fn end_if_done<V>(&mut self, now: Time, number: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get(&number).filter(|request| request.left == 0) else { return };
        for path in request.paths.iter().filter(|path| path.hub && !path.gone) {
            let message = Message { tag: request.tag, index: 0, body: Body::Over };
            out.push(Output::Send { to: path.node, message, more: false });
        }
        out.push(Output::Done { request: number });
        self.requests.remove(&number);
        if self.requests.is_empty() {
            (self.period_ends, self.look_at, self.idle_since) = (Time::NEVER, Time::NEVER, now);
        }
        self.ask_more_servers(now, out);
    }

    fn numbers(&self) -> Vec<u32> {
        self.requests.keys().copied().collect()
    }
}
