//! Simulated network with delays only, in which machines crash and return, and messages are duplicated.

use std::collections::BTreeMap;

use fanin_roles::data_server::{self, Lookup, Order};
use fanin_roles::front_end::{FrontEnd, Measured, Params};
use fanin_roles::machine::{self, Role};
use fanin_roles::wire::{Numbered, Size};
use fanin_roles::{Body, Machine, Message, Node, Output};
use fanin_units::{Bytes, Time};

use super::{Cluster, Out, hub_params};

type Action = Message<Numbered, Size>;

/// Injected faults.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Maximum delay of a message.
    pub delay: Time,
    /// Whether messages between two machines stay in order.
    pub in_order: bool,
    /// Duplicated messages per thousand.
    pub twice: u32,
    /// Machines that crash, with the times of crash and return.
    pub deaths: Vec<(u32, Time, Option<Time>)>,
    /// Whether others detect it, as by a broken connection.
    pub told: bool,
}

enum Event {
    Comes { from: Node, to: Node, to_life: u16, message: Action },
    Found { at: Node, incarnation: u16, lookup: Lookup<Numbered> },
    Sent { at: Node, incarnation: u16 },
    Due(Node),
    Asks(Node),
    Dies(Node),
    Returns(Node),
    PeerLost { at: Node, of: Node },
}

struct Host {
    up: bool,
    incarnation: u16,
    roles: Machine<Numbered, Size>,
}

/// Number of answers, misses and failures of an object.
pub type Fate = [u32; 3];

/// The objects' results, and the request's start and end.
pub type Fates = (Vec<Fate>, Time, Option<Time>);

pub struct Toy {
    pub now: Time,
    cluster: Cluster,
    faults: Faults,
    params: Params,
    deadline: Time,
    machines: Vec<Host>,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    random: u64,
    seed: u64,
    last: BTreeMap<(Node, Node), Time>,
    /// Results by front end, incarnation and request.
    pub fates: BTreeMap<(Node, u16, u32), Fates>,
    /// Number of losses reported to the front end, by front end, incarnation, request and object. A server refused, or a hub timed out.
    pub lost: BTreeMap<(Node, u16, u32, u32), u32>,
}

/// The roles of a machine. Its data server has a queue or none. Every third object's first replica was moved, some of them twice.
fn roles(me: u32, seed: u64, cluster: &Cluster, front_end: Option<Params>) -> Machine<Numbered, Size> {
    let order = match seed % 2 {
        0 => Order::AtOnce,
        _ => Order::Queued { sub_queue: 3, exponent: 3 },
    };
    let server = data_server::Params { me: Node(me), most: 20, order };
    let mut roles = Machine::new(machine::Params { server, hub: hub_params(me), front_end });
    for (holders, object) in cluster.holders.iter().zip(0..).filter(|(_, object)| object % 3 == seed % 3) {
        // To machines 1 to 15, through one without a replica; replicas are five apart.
        let on = |node: u32| 1 + node % 15;
        let moved = on(holders[0].0);
        if me == holders[0].0 {
            roles.server_mut().link(Numbered(object), Node(moved));
        } else if me == moved && object % 2 == 0 {
            roles.server_mut().link(Numbered(object), Node(on(moved)));
        }
    }
    roles
}

/// One object in seven does not exist.
fn size(Numbered(object): Numbered) -> Option<Size> {
    (object % 7 != 3).then_some(Size(20 + object as u32 * 37 % 900))
}

impl Toy {
    /// The first `front_ends` machines request all objects each time, with these parameters.
    pub fn new(cluster: Cluster, machines: u32, front_ends: u32, params: &Params, faults: Faults, seed: u64) -> Toy {
        let machine = |me| {
            let front_end = (me < front_ends).then(|| Params { me: Node(me), ..params.clone() });
            Host { up: true, incarnation: 0, roles: roles(me, seed, &cluster, front_end) }
        };
        let machines = (0..machines).map(machine).collect();
        let mut toy = Toy {
            now: Time::ZERO,
            cluster,
            params: params.clone(),
            deadline: Time::from_millis(2_000),
            machines,
            events: BTreeMap::new(),
            number: 0,
            random: seed,
            seed,
            last: BTreeMap::new(),
            fates: BTreeMap::new(),
            lost: BTreeMap::new(),
            faults,
        };
        for (host, at, back) in toy.faults.deaths.clone() {
            toy.at(at, Event::Dies(Node(host)));
            if let Some(back) = back {
                toy.at(back, Event::Returns(Node(host)));
            }
        }
        for front_end in 0..front_ends {
            // The second while the first is open.
            [1, 2, 400].iter().for_each(|&at| toy.at(Time::from_millis(at), Event::Asks(Node(front_end))));
        }
        toy
    }

    fn at(&mut self, time: Time, event: Event) {
        self.number += 1;
        self.events.insert((time, self.number), event);
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }

    /// Runs until no events are left.
    pub fn run(&mut self) {
        let mut events = 0;
        while let Some(((now, _), event)) = self.events.pop_first() {
            events += 1;
            assert!(events < 2_000_000, "they go on for ever");
            self.now = now;
            self.serve(event);
            for machine in &self.machines {
                assert!(machine.roles.front_end().is_none_or(FrontEnd::adds_up), "counters are consistent");
            }
        }
    }

    /// Whether all state is released.
    pub fn holds_nothing(&self) -> bool {
        let asks = |m: &Host| m.roles.front_end().is_some_and(|f| f.requests() > 0);
        let collects = |m: &Host| m.roles.hub().is_some_and(|hub| hub.open_requests() > 0);
        let holds = |m: &Host| collects(m) || !m.roles.server().is_idle() || asks(m);
        !self.machines.iter().any(|machine| machine.up && holds(machine))
    }

    fn serve(&mut self, event: Event) {
        let now = self.now;
        let mut out = Out::new();
        match event {
            Event::Comes { from, to, to_life, message } => {
                let machine = &mut self.machines[to.0 as usize];
                if machine.up && machine.incarnation == to_life {
                    self.deliver(from, to, message, &mut out);
                    self.act(to, out);
                }
            }
            Event::Found { at, incarnation, lookup } => {
                let machine = &mut self.machines[at.0 as usize];
                if machine.up && machine.incarnation == incarnation {
                    let value = size(lookup.key);
                    machine.roles.found(now, &lookup, value, &mut out);
                    self.answers(at, incarnation, out);
                }
            }
            Event::Sent { at, incarnation } => {
                let machine = &mut self.machines[at.0 as usize];
                if machine.up && machine.incarnation == incarnation {
                    machine.roles.sent(now, &mut out);
                    self.answers(at, incarnation, out);
                }
            }
            Event::Due(at) => {
                let machine = &mut self.machines[at.0 as usize];
                if machine.up && machine.roles.deadline() <= now {
                    let measured = machine.roles.measures(now).then_some(Measured::Queue(Bytes(0), Bytes(1)));
                    machine.roles.due(now, measured, &self.cluster, &mut out);
                    assert!(machine.roles.deadline() > now, "nothing is due any more");
                    self.act(at, out);
                }
            }
            Event::Asks(at) => self.ask(at),
            Event::Dies(at) => self.dies(at),
            Event::Returns(at) => {
                self.machines[at.0 as usize].up = true;
                if self.machines[at.0 as usize].roles.front_end().is_some() {
                    self.ask(at);
                }
            }
            Event::PeerLost { at, of } => self.told(at, of),
        }
    }

    fn ask(&mut self, at: Node) {
        let mut out = Out::new();
        let mut draws: Vec<u64> = (0..self.cluster.holders.len() * 2).map(|_| self.below(1 << 32)).collect();
        let mut draw = |bound: u32| draws.pop().unwrap_or(0) as u32 % bound;
        let machine = &mut self.machines[at.0 as usize];
        if !machine.up {
            return;
        }
        let keys = (0..self.cluster.holders.len() as u64).map(Numbered);
        let deadline = self.now.saturating_add(self.deadline);
        let number = machine.roles.ask(self.now, keys, deadline, &self.cluster, &mut draw, &mut out);
        let Some(number) = number else { return };
        let fates = vec![Fate::default(); self.cluster.holders.len()];
        self.fates.insert((at, machine.incarnation, number), (fates, self.now, None));
        self.act(at, out);
    }

    fn dies(&mut self, at: Node) {
        let machine = &mut self.machines[at.0 as usize];
        (machine.up, machine.incarnation) = (false, machine.incarnation + 1);
        let params = Params { me: at, epoch: machine.incarnation, ..self.params.clone() };
        let front_end = machine.roles.front_end().map(|_| params);
        machine.roles = roles(at.0, self.seed, &self.cluster, front_end);
        // Requests of that incarnation are gone.
        let incarnation = machine.incarnation;
        self.fates.retain(|(node, of, _), (_, _, done)| *node != at || *of == incarnation || done.is_some());
        if self.faults.told {
            for other in (0..self.machines.len() as u32).filter(|&other| other != at.0) {
                let when = self.now.saturating_add(Time(self.below(20_000_000_000)));
                self.at(when, Event::PeerLost { at: Node(other), of: at });
            }
        }
    }

    fn told(&mut self, at: Node, of: Node) {
        let mut out = Out::new();
        let machine = &mut self.machines[at.0 as usize];
        if machine.up {
            machine.roles.lost(self.now, of, &self.cluster, &mut out);
            self.act(at, out);
        }
    }

    fn deliver(&mut self, from: Node, to: Node, message: Action, out: &mut Out) {
        let machine = &mut self.machines[to.0 as usize];
        let Message { tag, index, .. } = message;
        if machine.roles.role_of(&message) == Role::FrontEnd && message.body == Body::Lost {
            *self.lost.entry((to, tag.epoch, tag.request, index)).or_default() += 1;
        }
        machine.roles.handle(self.now, from, message, &self.cluster, out);
    }

    /// Delivers a data server's output, and continues it when that has been sent.
    fn answers(&mut self, at: Node, incarnation: u16, out: Out) {
        if out.iter().any(|said| matches!(said, Output::Send { .. })) {
            let when = self.now.saturating_add(Time(self.below(1_000_000)));
            self.at(when, Event::Sent { at, incarnation });
        }
        self.act(at, out);
    }

    /// Executes actions of a machine's roles, and schedules their timers.
    fn act(&mut self, at: Node, out: Out) {
        let incarnation = self.machines[at.0 as usize].incarnation;
        for said in out {
            match said {
                Output::Send { to, message, .. } => self.send(at, to, message),
                Output::Look(lookup) => {
                    let when = self.now.saturating_add(Time(self.below(1_000_000_000)));
                    self.at(when, Event::Found { at, incarnation, lookup });
                }
                Output::Answer { request, index, .. } => self.fate(at, incarnation, request)[index as usize][0] += 1,
                Output::Miss { request, index, .. } => self.fate(at, incarnation, request)[index as usize][1] += 1,
                Output::Fail { request, index } => self.fate(at, incarnation, request)[index as usize][2] += 1,
                Output::Done { request } => {
                    let (_, _, done) = self.fates.get_mut(&(at, incarnation, request)).expect("it was asked");
                    assert_eq!(done.replace(self.now), None, "it is done once");
                }
            }
        }
        let deadline = self.machines[at.0 as usize].roles.deadline();
        if deadline < Time::NEVER {
            self.at(deadline.max(self.now), Event::Due(at));
        }
    }

    fn fate(&mut self, at: Node, incarnation: u16, request: u32) -> &mut Vec<Fate> {
        // The request is not recorded yet.
        let objects = self.cluster.holders.len();
        let new = || (vec![Fate::default(); objects], self.now, None);
        &mut self.fates.entry((at, incarnation, request)).or_insert_with(new).0
    }

    fn send(&mut self, from: Node, to: Node, message: Action) {
        let copies = if self.below(1_000) < u64::from(self.faults.twice) { 2 } else { 1 };
        for _ in 0..copies {
            let mut when = self.now.saturating_add(Time(self.below(self.faults.delay.0)));
            if self.faults.in_order {
                let last = self.last.entry((from, to)).or_insert(Time::ZERO);
                when = when.max(*last);
                *last = when;
            }
            // Messages to an earlier incarnation are lost.
            let to_life = self.machines[to.0 as usize].incarnation;
            self.at(when, Event::Comes { from, to, to_life, message });
        }
    }
}
