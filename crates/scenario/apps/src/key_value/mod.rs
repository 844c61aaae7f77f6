//! Front ends that request many small objects from many servers: the roles, over simulated TCP.
//!
//! Every host has a data server, and is a hub when a front end makes it one. The client and the hosts after it have a front end
//! each, which makes one request after another, or each at its own time. Roles' messages are sent as over sockets ([`post`]).

mod carried;
mod ends;
mod gathered;
mod hubs;
mod places;
mod plans;
mod popularity;
mod post;
mod reads;
mod request;
mod slab;
mod store;
mod timers;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use std::collections::{BTreeMap, VecDeque};

use fanin_assemble::{data_server_params, front_end_params, hub_params};
use fanin_fabric::HostId;
use fanin_placement::Object;
use fanin_placement::picc::Learn;
use fanin_roles::data_server::Lookup;
use fanin_roles::machine::{self, Machine, Role};
use fanin_roles::wire::{Numbered, Size, Swarm};
use fanin_roles::{Body, Node, Output, Outputs, Tag};
use fanin_spec::{RunSpec, ServerOrder};
use fanin_tables::{FlowKind, FlowRow, QueryRow, RequestRow};
use fanin_units::{Rate, Time};

use super::warm_up::WarmUp;
use carried::{Carried, Message};
use gathered::Gathered;
use hubs::Hubs;
use post::{Frame, Opened, Post};
pub use reads::Reads;
use request::{End, Fate, Request};
use slab::Slab;
use store::Store;

meanings! {
    pub(crate) enum Timer {
        /// A data server has found an object.
        Found(lookup),
        /// The last response of a host's data server has left.
        Sent(host),
        /// Work of a host's roles is due.
        Roles(host),
        /// A front end's next request begins.
        Begins(host),
        /// Its pause after a request is over.
        Paused(host),
        /// End of a period of requests: make the next plan.
        Plan,
        WarmUp,
        End,
    }
}

/// The roles of a host in one of its lives: the client and the hosts after it have a front end.
fn roles_params(spec: &RunSpec, host: u32, life: u16) -> machine::Params {
    let front_end = (host < spec.settings.key_value.front_ends).then(|| front_end_params(spec, host, life));
    machine::Params { server: data_server_params(spec, host), hub: hub_params(spec, host), front_end }
}

/// Retry interval of a plan that waits for the last one's moves.
const SOON: Time = Time::from_millis(1);

/// Maximum objects with rows of flows; the rest count only in the sums.
const ROWS_MAX: usize = 200_000;

struct Front {
    draws: Stream,
    /// Stream for its objects, if `draws` is not used for them.
    asked: Stream,
    /// Stream for the times of open-loop requests.
    intervals: Stream,
    /// Requests in progress, by the role's number.
    requests: BTreeMap<u32, Request>,
    down: bool,
    /// It pauses before its next request.
    pauses: bool,
    /// Its next request has a timer.
    awaits: bool,
    /// Started and finished requests of the measured time.
    begun: u32,
    done: u32,
}

struct Host {
    roles: Machine<Numbered, Size>,
    /// When its roles' timer is due; an outdated timer has no effect.
    armed: Time,
    service: Stream,
    /// When the last response of a sequential server has left.
    free_at: Time,
    /// Number of crashes.
    lives: u16,
}

pub(crate) struct KeyValue {
    spec: RunSpec,
    store: Store,
    fronts: Vec<Front>,
    hosts: Vec<Host>,
    post: Post,
    /// Messages to the same host, which bypass the network.
    local: VecDeque<(Node, Message)>,
    out: Outputs<Numbered, Size>,
    /// Lookups of data servers: host, its number of crashes, lookup.
    lookups: Slab<(Node, u16, Lookup<Numbered>)>,
    overloads: Stream,
    warm_up: WarmUp,
    began: Time,
    /// Started requests.
    asked: u32,
    payload: u64,
    flows: Vec<FlowRow>,
    queries: Vec<QueryRow>,
    requests: Vec<RequestRow>,
    /// Records of hubs, if the run is watched.
    hubs: Option<Box<Hubs>>,
    /// Co-location, if the scheme does it.
    gathered: Option<Box<Gathered>>,
    /// Front ends with requests left.
    running: u32,
}

impl KeyValue {
    pub fn new(spec: &RunSpec) -> KeyValue {
        let front = |host: u32| Front {
            draws: Stream::new(spec.seed, Purpose::Request, host),
            asked: Stream::new(spec.seed, Purpose::Asked, host),
            intervals: Stream::new(spec.seed, Purpose::Interval, host),
            requests: BTreeMap::new(),
            down: false,
            pauses: false,
            awaits: false,
            begun: 0,
            done: 0,
        };
        let host = |host| Host {
            roles: Machine::new(roles_params(spec, host, 0)),
            armed: Time::NEVER,
            free_at: Time::ZERO,
            service: Stream::new(spec.seed, Purpose::Service, host),
            lives: 0,
        };
        let front_ends = spec.settings.key_value.front_ends;
        KeyValue {
            store: Store::new(spec),
            fronts: (0..front_ends).map(front).collect(),
            hosts: (0..=spec.fan_in).map(host).collect(),
            post: Post::new(spec.fan_in + 1, spec.settings.connections_stand()),
            local: VecDeque::new(),
            out: Vec::new(),
            lookups: Slab::default(),
            overloads: Stream::new(spec.seed, Purpose::Overload, 0),
            warm_up: WarmUp::new(spec),
            began: Time::ZERO,
            asked: 0,
            payload: 0,
            flows: Vec::new(),
            queries: Vec::new(),
            requests: Vec::new(),
            hubs: None,
            gathered: None,
            running: front_ends,
            spec: spec.clone(),
        }
    }

    /// Whether the scheme has hubs.
    fn has_hubs(&self) -> bool {
        self.spec.scheme.fan_out.is_some_and(|of| of.parts(&self.spec.settings.fan_outs.sicc).is_some())
    }

    /// Start a front end's request.
    fn ask(&mut self, driver: &mut dyn Driver, front: u32) {
        if self.has_hubs() {
            self.store.spare(self.hosts.iter().map(|host| host.roles.spare_io()));
        }
        let at = &mut self.fronts[front as usize];
        let (now, number) = (driver.now(), self.asked);
        let draws = if self.store.purpose() == Purpose::Asked { &mut at.asked } else { &mut at.draws };
        let objects = self.store.draw(at.begun, draws);
        if let Some(gathered) = &mut self.gathered {
            let all = self.spec.settings.key_value.objects;
            gathered.asked(now, objects.iter().map(|object| Object(object % all)));
        }
        let deadline = self.spec.settings.key_value.deadline.0.unwrap_or(Time::NEVER);
        let keys = objects.iter().map(|&object| Numbered(object.into()));
        let mut draw = |n| at.draws.below(n);
        let deadline = now.saturating_add(deadline);
        let roles = &mut self.hosts[front as usize].roles;
        let request = roles.ask(now, keys, deadline, &self.store, &mut draw, &mut self.out);
        let request = request.unwrap_or_else(|| unreachable!("host {front} has a front end"));
        let (timeouts, fates) = (driver.timeouts(), vec![None; objects.len()]);
        let early = self.warm_up.is_on() && self.spec.settings.key_value.within.0.is_some();
        at.requests.insert(
            request,
            Request { number, began: now, timeouts, objects, fates, payload: 0, answered_by: Vec::new(), early },
        );
        at.begun += u32::from(!early);
        self.asked += 1;
        let tag = self.tag(Node(front), request);
        if let Some(hubs) = &mut self.hubs {
            hubs.begins(now, tag, number);
        }
        self.post.begin(tag);
        self.act(driver, Node(front));
        self.arm(driver, front);
    }

    /// Schedule a front end's next open-loop request at a random time after the last one; one that is down waits for its return.
    fn begins(&mut self, driver: &mut dyn Driver, front: u32) {
        let at = &mut self.fronts[front as usize];
        at.awaits = false;
        if at.down {
            return;
        }
        if self.warm_up.ends_with(driver.now(), self.asked) {
            self.measure(driver);
        }
        self.ask(driver, front);
        self.await_next(driver, front);
    }

    fn await_next(&mut self, driver: &mut dyn Driver, front: u32) {
        let Some(mean) = self.spec.settings.request_interval() else { return };
        let at = &mut self.fronts[front as usize];
        if at.awaits || at.begun == self.spec.settings.workload.queries {
            return;
        }
        at.awaits = true;
        let gap = match self.store.begins(at.begun) {
            Some(begins) => self.began.saturating_add(begins).since(driver.now()),
            None => at.intervals.exponential(mean.0 as f64),
        };
        driver.after(gap, Timer::Begins(front).into());
    }

    /// A request of a front end since its last crash.
    fn tag(&self, origin: Node, request: u32) -> Tag {
        Tag { origin, request, epoch: self.hosts[origin.0 as usize].lives, nonce: 0 }
    }

    /// Execute the actions of a role at a host.
    fn act(&mut self, driver: &mut dyn Driver, at: Node) {
        let mut out = std::mem::take(&mut self.out);
        let mut frame = self.post.empty();
        let mut over = Vec::new();
        for output in out.drain(..) {
            if let (Some(hubs), Output::Send { to, message, .. }) = (&mut self.hubs, &output) {
                hubs.says(driver.now(), at, *to, message);
            }
            match output {
                Output::Send { to, message, .. } if to == at => self.local.push_back((at, message)),
                Output::Send { to, message, more } => {
                    frame.push(message);
                    if !more {
                        frame = self.post.send(driver, at, to, frame);
                    }
                }
                Output::Look(lookup) => self.look(driver, at, lookup),
                Output::Answer { request, index, value: Size(bytes), .. } => {
                    self.known(driver, at, request, index, Some(bytes));
                }
                Output::Miss { request, index, .. } => self.known(driver, at, request, index, None),
                Output::Fail { request, index } => self.request(at, request).ends(index, Fate::Failed),
                Output::Done { request } => over.push(request),
            }
        }
        debug_assert!(frame.is_empty(), "the last message of a packet ends it");
        self.post.keep(frame);
        self.out = out;
        for request in over {
            let tag = self.tag(at, request);
            let opened = self.post.opened(tag);
            self.post.over(driver, tag);
            self.request_ended(driver, at.0, request, opened);
        }
    }

    /// A front end's request in progress.
    fn request(&mut self, at: Node, request: u32) -> &mut Request {
        let requests = &mut self.fronts[at.0 as usize].requests;
        requests.get_mut(&request).unwrap_or_else(|| unreachable!("a front end says nothing of a request that is over"))
    }

    /// Deliver host-local messages until none remain.
    fn settle(&mut self, driver: &mut dyn Driver) {
        while let Some((at, message)) = self.local.pop_front() {
            self.deliver(driver, at, at, message);
        }
    }

    /// Deliver a message to a host's roles.
    fn deliver(&mut self, driver: &mut dyn Driver, from: Node, at: Node, message: Message) {
        let role = self.hosts[at.0 as usize].roles.role_of(&message);
        if let Some(hubs) = self.hubs.as_mut().filter(|_| role != Role::DataServer) {
            hubs.comes(driver.now(), from, at, role == Role::Hub, &message);
        }
        if role == Role::FrontEnd && matches!(message.body, Body::Object(_) | Body::Miss) {
            let request = self.fronts[at.0 as usize].requests.get_mut(&message.tag.request);
            request.into_iter().for_each(|request| request.answered_by.push(from));
        }
        let Message { tag, body, .. } = message;
        self.hosts[at.0 as usize].roles.handle(driver.now(), from, message, &self.store, &mut self.out);
        if let Body::Swarm(swarm) = body {
            self.strain(at, tag, swarm);
        }
        self.act(driver, at);
        if role != Role::DataServer {
            self.arm(driver, at.0);
        }
    }

    /// The roles of a host in one of its lives, with its data server's links, which are stored like objects.
    fn roles(&self, host: Node, life: u16) -> Machine<Numbered, Size> {
        let mut roles = Machine::new(roles_params(&self.spec, host.0, life));
        self.store.links(host).for_each(|(key, to)| roles.server_mut().link(key, to));
        roles
    }

    /// An object has reached its new location: link the old one to it.
    fn moved(&mut self, driver: &mut dyn Driver, number: u32) {
        let Some(gathered) = &mut self.gathered else { return };
        if let Some(of) = gathered.came(number) {
            let key = Numbered(of.object.0.into());
            self.hosts[of.from.0 as usize].roles.server_mut().link(key, Node(of.to.0));
            self.hosts[of.to.0 as usize].roles.server_mut().take_back(&key);
            self.store.moved(&of, self.spec.settings.key_value.route);
        }
        gathered.go_on(driver, &self.store);
    }

    /// End of a period: make the next plan once the last one's moves have arrived.
    fn plan(&mut self, driver: &mut dyn Driver) {
        let Some(gathered) = &mut self.gathered else { return };
        let planned = gathered.plan_again(&self.spec, &self.store);
        gathered.go_on(driver, &self.store);
        driver.after(if planned { self.spec.settings.placements.picc.period } else { SOON }, Timer::Plan.into());
    }

    /// Overload a new hub's machine at random.
    fn strain(&mut self, at: Node, tag: Tag, swarm: Swarm) {
        let settings = &self.spec.settings.key_value;
        let overloaded = settings.overloaded.in_q(32);
        if overloaded == 0 || self.overloads.word() >> 32 >= u64::from(overloaded) {
            return;
        }
        let assigned = self.hosts[tag.origin.0 as usize].roles.front_end();
        let assigned = assigned.and_then(|front_end| front_end.assigned(tag.request, at)).unwrap_or(swarm.rate);
        let speed = (u128::from(assigned.0) * u128::from(settings.overloaded_speed.in_q(32))) >> 32;
        self.hosts[at.0 as usize].roles.limit_speed(tag, Rate((speed as u64).max(1)));
    }

    /// A data server looks up an object.
    fn look(&mut self, driver: &mut dyn Driver, at: Node, lookup: Lookup<Numbered>) {
        let (settings, host) = (&self.spec.settings.host, &mut self.hosts[at.0 as usize]);
        let work = settings.service_time + host.service.up_to(settings.service_jitter);
        let number = self.lookups.put((at, host.lives, lookup));
        driver.after(driver.at_work(HostId(at.0), work), Timer::Found(number).into());
    }

    /// A data server responds; a sequential server continues when this response has left at its link's rate.
    fn answers(&mut self, driver: &mut dyn Driver, at: Node) {
        let one_by_one = self.spec.settings.key_value.server != ServerOrder::Parallel;
        if one_by_one && self.out.iter().any(|said| matches!(said, Output::Send { .. })) {
            let bytes = self.out.iter().map(|said| said.bytes_to_others(at)).sum();
            let span = driver.at_work(HostId(at.0), driver.rate(HostId(at.0)).time_for(bytes));
            self.hosts[at.0 as usize].free_at = driver.now().saturating_add(span);
            driver.after(span, Timer::Sent(at.0).into());
        }
        self.act(driver, at);
    }

    /// An object has arrived, or is known to be missing.
    fn known(&mut self, driver: &dyn Driver, at: Node, request: u32, index: u32, bytes: Option<u32>) {
        self.payload += u64::from(bytes.unwrap_or(0));
        let request = self.request(at, request);
        request.payload += u64::from(bytes.unwrap_or(0));
        request.ends(index, if bytes.is_some() { Fate::Answered } else { Fate::Missed });
        let &mut Request { number, began, early, .. } = request;
        let object = request.objects[index as usize];
        if self.flows.len() < ROWS_MAX && !early {
            self.flows.push(FlowRow {
                class: FlowKind::Object,
                to_host: at.0,
                round: Some(number.into()),
                payload_bytes: bytes.map(u64::from),
                delivered_bytes: bytes.unwrap_or(0).into(),
                start_ps: began.since(self.began).0,
                fct_ps: Some(driver.now().since(began).0),
                from_host: self.store.first_replica(object),
                ..FlowRow::default()
            });
        }
    }

    /// Exclude everything so far from the figures.
    fn measure(&mut self, driver: &mut dyn Driver) {
        (self.began, self.asked) = (driver.now(), 0);
        self.flows.clear();
        self.queries.clear();
        self.requests.clear();
        if let Some(hubs) = &mut self.hubs {
            hubs.measure(driver.now());
        }
        let payload = self.payload;
        self.warm_up.end(driver, payload, Timer::End);
    }
}

impl Application for KeyValue {
    fn start(&mut self, driver: &mut dyn Driver) {
        self.store.locate(&self.spec, driver);
        for host in 0..self.hosts.len() as u32 {
            self.hosts[host as usize].roles = self.roles(Node(host), 0);
        }
        self.began = driver.now();
        let has_hubs = self.has_hubs();
        self.hubs = driver.watch().filter(|_| has_hubs).map(|watch| Box::new(Hubs::new(self.began, watch.clone())));
        self.gathered = Gathered::new(&self.spec, &mut self.store).map(Box::new);
        driver.begin();
        if let Some(gathered) = &mut self.gathered {
            gathered.go_on(driver, &self.store);
        }
        let picc = &self.spec.settings.placements.picc;
        if self.gathered.is_some() && picc.learn == Learn::Running {
            driver.after(picc.period, Timer::Plan.into());
        }
        let (host, waits) = (&self.spec.settings.host, self.spec.settings.key_value.within.0.is_none());
        if waits {
            let fronts: Vec<HostId> = (0..self.fronts.len() as u32).map(HostId).collect();
            driver.await_responses(&fronts, host.service_time + host.service_jitter);
        }
        self.warm_up.begin(driver, Timer::WarmUp);
        if self.warm_up.ends_with(driver.now(), 0) {
            self.measure(driver);
        }
        for front in 0..self.fronts.len() as u32 {
            match waits {
                true => self.ask(driver, front),
                false => self.await_next(driver, front),
            }
        }
        self.settle(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, what: Meaning) {
        let number = match Carried::from(what) {
            Carried::Frame(number) => number,
            Carried::Copy(number) => return self.moved(driver, number),
        };
        let Frame { from, to, mut messages, .. } = self.post.take(number);
        for message in messages.drain(..) {
            self.deliver(driver, from, to, message);
        }
        self.post.keep(messages);
        self.settle(driver);
    }

    fn broken(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        if let Some(gathered) = &mut self.gathered {
            gathered.broken(at);
            gathered.go_on(driver, &self.store);
        }
        let Some((here, peer)) = self.post.broken(at) else { return };
        self.hosts[here.0 as usize].roles.lost(driver.now(), peer, &self.store, &mut self.out);
        self.act(driver, here);
        self.arm(driver, here.0);
        self.settle(driver);
    }

    /// A host's roles lose their state. Its front end restarts when it returns, and repeats its request.
    fn crashed(&mut self, driver: &mut dyn Driver, HostId(host): HostId) {
        let requests = self.fronts.get(host as usize).map(|front| front.requests.keys().copied().collect::<Vec<_>>());
        let cut_off: Vec<(u32, Opened)> = requests
            .into_iter()
            .flatten()
            .map(|request| (request, self.post.opened(self.tag(Node(host), request))))
            .collect();
        self.post.crashed(driver, Node(host));
        for (request, opened) in cut_off {
            let Request { early, .. } = self.close_request(driver, host, request, End { whole: false, opened });
            self.fronts[host as usize].begun -= u32::from(!early);
        }
        let Some(life) = self.hosts.get(host as usize).map(|at| at.lives + 1) else { return };
        let roles = self.roles(Node(host), life);
        let at = &mut self.hosts[host as usize];
        (at.roles, at.armed, at.free_at, at.lives) = (roles, Time::NEVER, Time::ZERO, life);
        if let Some(front) = self.fronts.get_mut(host as usize) {
            front.down = true;
        }
    }

    fn returned(&mut self, driver: &mut dyn Driver, HostId(host): HostId) {
        let Some(front) = self.fronts.get_mut(host as usize) else { return };
        front.down = false;
        if self.spec.settings.key_value.within.0.is_some() {
            return self.await_next(driver, host);
        }
        if !front.pauses && front.done < self.spec.settings.workload.queries {
            self.ask(driver, host);
            self.settle(driver);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Found(number) => {
                let (at, life, lookup) = self.lookups.take(number);
                if life != self.hosts[at.0 as usize].lives {
                    return;
                }
                let value = self.store.value(lookup.key);
                self.hosts[at.0 as usize].roles.found(driver.now(), &lookup, value, &mut self.out);
                self.answers(driver, at);
            }
            // The timer is from before a crash; the server is sending another response.
            Timer::Sent(host) if driver.now() < self.hosts[host as usize].free_at => {}
            Timer::Sent(host) => {
                self.hosts[host as usize].roles.sent(driver.now(), &mut self.out);
                self.answers(driver, Node(host));
            }
            Timer::Roles(host) => self.roles_are_due(driver, host),
            Timer::Begins(front) => self.begins(driver, front),
            Timer::Paused(front) => self.pause_ends(driver, front),
            Timer::Plan => self.plan(driver),
            Timer::WarmUp if self.warm_up.is_on() => self.measure(driver),
            Timer::WarmUp => {}
            Timer::End => driver.finish(),
        }
        self.settle(driver);
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.flows.iter().cloned());
        record.queries.extend(self.queries.iter().cloned());
        record.requests.extend(self.requests.iter().cloned());
        for (front, number) in self.fronts.iter().zip(0..) {
            for (&of_role, request) in front.requests.iter().filter(|(_, request)| !request.early) {
                let opened = self.post.opened(self.tag(Node(number), of_role));
                let (query, request) = request.rows(view, number, self.began, End { whole: false, opened });
                record.queries.push(query);
                record.requests.push(request);
            }
        }
        if let Some(gathered) = &self.gathered {
            record.gathering.clone_from(&gathered.rows);
        }
        if let Some(hubs) = &self.hubs {
            let request = |tag: Tag| &self.fronts[tag.origin.0 as usize].requests[&tag.request];
            hubs.record(record, |tag| request(tag).answers(&self.store), &self.store);
        }
        record.payload_bytes = self.payload;
        record.measured = view.now().since(self.began);
    }
}
