//! The front end: it asks for all objects of a request, and says when the last one is there.
//!
//! It asks servers themselves, as many at once as a window allows ([`direct`]), or hubs of swarms, whose speeds it sets
//! ([`swarmed`]). What a machine that is gone was asked for is asked for elsewhere ([`recovery`]); each object is answered,
//! missed or failed once, and what comes late or twice is dropped.

mod direct;
mod recovery;
mod request;
mod swarmed;

use std::collections::{BTreeMap, BTreeSet};

use fanin_fanout::speed::Planned;
use fanin_fanout::{Window, sicc};
use fanin_placement::{Cover, Server};
use fanin_units::{Bytes, Rate, Time};

use crate::wire::{Body, Message, Node, Part, Tag};
use crate::{Output, Outputs};
use request::{Line, Request, State, Way, Wish};

/// What a front end knows of where things are.
pub trait Directory<K> {
    /// The servers that have an object.
    fn replicas(&self, key: &K) -> &[Node];
    /// The rack of a server.
    fn rack(&self, node: Node) -> u32;
    /// The aggregation router that a rack is under.
    fn aggregation(&self, rack: u32) -> u32;
    /// How many objects more a server could look for or pass on, with what it does at present.
    fn spare_io(&self, node: Node) -> u32;
    /// The bytes of an object, where they are known from before.
    fn size(&self, key: &K) -> Option<u32>;
    /// Whether an object was moved from where it had been put.
    fn is_moved(&self, _key: &K) -> bool {
        false
    }
    /// Who answers where a server is asked for an object: another one, if that has its new place.
    fn answers(&self, _key: &K, holder: Node) -> Node {
        holder
    }
}

/// Random whole numbers under a bound above zero.
pub type Draw<'a> = &'a mut dyn FnMut(u32) -> u32;

/// How a front end asks.
#[derive(Clone, Debug)]
pub enum Asking {
    /// Servers themselves, so many at once.
    Servers(Window),
    /// Hubs.
    Swarms {
        /// What of SICC.
        parts: sicc::Parts,
        /// Its settings.
        settings: sicc::Params,
        /// The most hubs that send to the front end itself.
        bound: u32,
        /// Payload of a full packet, and its bytes besides, which count for hubs' speeds.
        packet: (u32, u32),
    },
}

impl Asking {
    /// What a message of so many bytes takes on the link: of hubs that pack, a part of a full packet; else packets of its own.
    fn on_wire(&self, bytes: u64) -> u64 {
        match self {
            Asking::Servers(_) => bytes,
            Asking::Swarms { parts: sicc::Parts { packing: true, .. }, packet: (room, overhead), .. } => {
                bytes + bytes * u64::from(*overhead) / u64::from(*room)
            }
            Asking::Swarms { packet: (room, overhead), .. } => {
                bytes + bytes.div_ceil((*room).into()) * u64::from(*overhead)
            }
        }
    }
}

/// A front end's settings.
#[derive(Clone, Debug)]
pub struct Params {
    /// Its own machine.
    pub me: Node,
    /// Which life of it this is.
    pub epoch: u16,
    /// The rate of its own link, downwards: B_d.
    pub capacity: Rate,
    /// How it asks.
    pub asking: Asking,
    /// Whether each request begins with a window of its own, as new as its connections; else one outlives them.
    pub anew: bool,
    /// Of an object that was moved, a replica at a server that answers the request anyway is asked for, if there is one.
    pub together: bool,
    /// Replicas are chosen so that few of so many servers are asked, none for more than so many 256ths of the mean.
    pub cover: Option<(u32, u64)>,
    /// Who has not been heard of for so long is gone; `None`: nobody ever is.
    pub patience: Option<Time>,
    /// How often an object is asked for before it is given up.
    pub tries: u8,
}

/// What is measured at the beginning of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The bytes that wait at the aggregation router's port towards the front end's rack, and the port's buffer.
    Queue(Bytes, Bytes),
    /// A round trip, the rate of that port and its buffer: the queue is what the round trip is above the least one.
    RoundTrip(Time, Rate, Bytes),
}

/// A front end's state.
#[derive(Clone, Debug)]
pub struct FrontEnd<K> {
    params: Params,
    cover: Option<Cover>,
    requests: BTreeMap<u32, Request<K>>,
    next: u32,
    /// B_p, which belongs to the front end and outlives a request.
    planned: Planned,
    /// When the period ends; `NEVER` while nothing is asked for.
    period_ends: Time,
    /// Bytes of this period.
    received: u64,
    /// When the last request ended.
    idle_since: Time,
    least_rtt: Time,
    /// When to look who is late or silent: no later than that is.
    look_at: Time,
    /// Machines that are taken for gone, until then.
    gone: BTreeMap<Node, Time>,
}

impl<K: Part + Clone> FrontEnd<K> {
    /// A front end that has asked nobody yet.
    pub fn new(params: Params) -> FrontEnd<K> {
        let planned = Planned::new(params.capacity);
        let cover = params.cover.map(|(servers, most_q8)| Cover::new(servers as usize, most_q8));
        FrontEnd {
            params,
            cover,
            requests: BTreeMap::new(),
            next: 0,
            planned,
            period_ends: Time::NEVER,
            received: 0,
            idle_since: Time::ZERO,
            least_rtt: Time::NEVER,
            look_at: Time::NEVER,
            gone: BTreeMap::new(),
        }
    }

    /// Asks for some objects, by `deadline`: the request's number.
    pub fn ask<V>(
        &mut self,
        now: Time,
        keys: impl IntoIterator<Item = K>,
        deadline: Time,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let tag = Tag { origin: self.params.me, request: number, epoch: self.params.epoch };
        self.gone.retain(|_, until| *until > now);
        let wish = |key| Wish { key, holder: Node(0), via: 0, state: State::Unasked, tries: 1, redirected: 0 };
        let wishes: Vec<Wish<K>> = keys.into_iter().map(wish).collect();
        let left = wishes.len() as u32;
        let window = match &self.params.asking {
            Asking::Servers(window) if self.params.anew => Some(*window),
            _ => None,
        };
        let mut request = Request { tag, deadline, wishes, left, ways: Vec::new(), line: Line::default(), window };
        self.choose_replicas(&mut request, directory, draw, out);
        self.look_at = self.look_at.min(deadline);
        self.look_for_silence(now);
        self.requests.insert(number, request);
        match self.params.asking {
            Asking::Servers(_) => self.ask_servers(now, number, directory, out),
            Asking::Swarms { .. } => self.ask_swarms(now, number, directory, draw, out),
        }
        self.end_if_done(now, number, out);
        number
    }

    /// Takes a message.
    pub fn handle<V: Part>(
        &mut self,
        now: Time,
        from: Node,
        message: Message<K, V>,
        directory: &impl Directory<K>,
        out: &mut Outputs<K, V>,
    ) {
        let (tag, index, bytes) = (message.tag, message.index, message.len() as u64);
        let on_wire = self.params.asking.on_wire(bytes);
        let Some(request) = self.requests.get_mut(&tag.request).filter(|request| request.tag == tag) else { return };
        let Some(&Wish { state, via, .. }) = request.wishes.get(index as usize) else { return };
        if state == State::Unasked {
            return;
        }
        request.heard_of(now, from, via, on_wire);
        if state == State::Done {
            return;
        }
        match message.body {
            Body::Object(value) => {
                out.push(Output::Answer { request: tag.request, index, value });
                self.arrived(now, from, tag.request, index, bytes, out);
            }
            Body::Miss => {
                out.push(Output::Miss { request: tag.request, index });
                self.arrived(now, from, tag.request, index, bytes, out);
            }
            // Of one who is not asked any more it says nothing.
            Body::Lost if ![via, request.root(via)].iter().any(|&way| request.answers_for(way, from)) => {}
            Body::Lost => self.ask_elsewhere(now, tag.request, index, directory, out),
            Body::Withdrawn => self.moved(now, tag.request, index, directory, out),
            Body::Swarm(_) | Body::Ask { .. } | Body::Get(_) | Body::Pass { .. } => {}
            Body::Speed(_) | Body::Withdraw | Body::Over => {}
        }
    }

    /// A machine is gone: its connection broke.
    pub fn lost<V>(&mut self, now: Time, peer: Node, directory: &impl Directory<K>, out: &mut Outputs<K, V>) {
        for number in self.numbers() {
            let ways = &self.requests[&number].ways;
            let of_peer = (0..ways.len()).filter(|&way| ways[way].node == peer && !ways[way].gone);
            let of_peer: Vec<u32> = of_peer.map(|way| way as u32).collect();
            of_peer.into_iter().for_each(|way| self.way_is_gone(now, number, way, directory, out));
        }
    }

    /// The speed that a hub of a request is assigned.
    pub fn assigned(&self, request: u32, hub: Node) -> Option<Rate> {
        let ways = &self.requests.get(&request)?.ways;
        ways.iter().find(|way| way.node == hub && way.assigned.0 > 0).map(|way| way.assigned)
    }

    /// Requests under way.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether what is counted of its requests is what there is: for tests, after anything.
    pub fn adds_up(&self) -> bool {
        self.requests.values().all(Request::adds_up)
    }

    /// When [`FrontEnd::due`] is to be called; `NEVER` where nothing waits.
    pub fn deadline(&self) -> Time {
        self.period_ends.min(self.look_at)
    }

    /// Whether [`FrontEnd::due`] wants to know by now how the aggregation port stands.
    pub fn measures(&self, now: Time) -> bool {
        self.period_ends <= now
    }

    /// Serves what is due.
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

    /// Draws a replica of each object, those on machines that are gone apart; or chooses them so that racks are even, or servers few.
    fn choose_replicas<V>(
        &mut self,
        request: &mut Request<K>,
        directory: &impl Directory<K>,
        draw: Draw<'_>,
        out: &mut Outputs<K, V>,
    ) {
        let few = self.few_servers(request, directory);
        let mut order: Vec<u32> = (0..request.wishes.len() as u32).collect();
        if self.params.together {
            // Those of which there is a choice come last.
            order.sort_by_key(|&index| directory.is_moved(&request.wishes[index as usize].key));
        }
        let mut answering = BTreeSet::new();
        for index in order {
            let wish = &mut request.wishes[index as usize];
            let replicas = directory.replicas(&wish.key);
            let mut alive = replicas.iter().copied().filter(|node| !self.gone.contains_key(node));
            let together = self.params.together && directory.is_moved(&wish.key);
            let there = |node: &Node| together && answering.contains(&directory.answers(&wish.key, *node));
            let few = few.get(index as usize).copied();
            let covers = |node: &Node| few == Some(Server(directory.answers(&wish.key, *node).0));
            let chosen = alive.clone().find(covers).or_else(|| alive.clone().find(there)).or_else(|| {
                match alive.clone().count() as u32 {
                    0 => replicas.first().copied(),
                    count => alive.nth(draw(count) as usize),
                }
            });
            match chosen {
                Some(holder) => wish.holder = holder,
                None => {
                    wish.state = State::Done;
                    request.left -= 1;
                    out.push(Output::Fail { request: request.tag.request, index });
                }
            }
            if let (true, Some(holder)) = (self.params.together, chosen) {
                answering.insert(directory.answers(&wish.key, holder));
            }
        }
        if let Asking::Swarms { parts: sicc::Parts { balanced: true, .. }, settings, .. } = &self.params.asking {
            swarmed::balance(request, settings.mean_object, directory);
        }
    }

    /// The server of each object where servers are to be few; of none where that does not count.
    fn few_servers(&mut self, request: &Request<K>, directory: &impl Directory<K>) -> Vec<Server> {
        let Some(cover) = &mut self.cover else { return Vec::new() };
        let gone = &self.gone;
        let homes = request.wishes.iter().map(|wish| {
            let alive = directory.replicas(&wish.key).iter().filter(|node| !gone.contains_key(node));
            alive.map(|node| Server(directory.answers(&wish.key, *node).0)).collect()
        });
        let homes: Vec<Vec<Server>> = homes.collect();
        let mut servers = Vec::new();
        cover.choose(homes.len(), |index| &homes[index], &mut servers);
        servers
    }

    /// An object is there, or known to be missing.
    fn arrived<V>(&mut self, now: Time, from: Node, number: u32, index: u32, bytes: u64, out: &mut Outputs<K, V>) {
        self.received += self.params.asking.on_wire(bytes);
        let Some(request) = self.requests.get_mut(&number) else { return };
        let wish = &mut request.wishes[index as usize];
        wish.state = State::Done;
        request.left -= 1;
        let via = wish.via;
        let is_its = request.answers_for(via, from);
        let way = &mut request.ways[via as usize];
        way.bytes += if is_its { bytes } else { 0 };
        let (bytes, took) = (way.bytes, now.since(way.asked));
        if request.comes_off(via) {
            // What came of another says nothing of how long this one takes.
            if let (Asking::Servers(kept), true) = (&mut self.params.asking, is_its) {
                request.window.as_mut().unwrap_or(kept).answered(now, bytes, took);
            }
            self.ask_more_servers(now, out);
        }
        self.end_if_done(now, number, out);
    }

    /// Ends a request of which everything is known.
    fn end_if_done<V>(&mut self, now: Time, number: u32, out: &mut Outputs<K, V>) {
        let Some(request) = self.requests.get(&number).filter(|request| request.left == 0) else { return };
        for way in request.ways.iter().filter(|way| way.hub && !way.gone) {
            let message = Message { tag: request.tag, index: 0, body: Body::Over };
            out.push(Output::Send { to: way.node, message, more: false });
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
