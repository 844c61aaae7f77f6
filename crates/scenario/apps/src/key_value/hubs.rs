//! Records of hubs in a watched run: each object's path, who waited for whom, and hubs' speeds. Derived from messages between
//! roles, which need no knowledge of it.

use std::collections::{BTreeMap, BTreeSet};

use fanin_driver::Record;
use fanin_roles::front_end::Directory;
use fanin_roles::{Body, Node, Tag};
use fanin_spec::Watch;
use fanin_tables::{HubRow, HubSpeedRow};
use fanin_units::{Rate, Time};

use super::carried::Message;
use super::store::Store;

/// An object at a hub.
#[derive(Clone, Copy)]
struct Hop {
    from: Node,
    came: Time,
    /// `NEVER` while it waits there.
    left: Time,
}

/// A hub, as seen by its front end and itself.
struct Hub {
    parent: Node,
    told: Option<Time>,
    asked: Option<Time>,
    assigned: Rate,
    /// The current step, in which bytes arrived from it or its speed was set.
    step: Option<Step>,
}

/// A step, and its received bytes.
#[derive(Clone, Copy)]
struct Step {
    begins: Time,
    came_bytes: u64,
}

/// A request that began in the watched part of the run.
struct Request {
    tag: Tag,
    number: u32,
    began: Time,
    asked: Option<Time>,
    hubs: BTreeMap<Node, Hub>,
    /// Objects at hubs, by their index in the request.
    hops: BTreeMap<(u32, Node), Hop>,
    /// Objects at the front end: the first sender, and the time.
    there: BTreeMap<u32, (Time, Node)>,
}

/// Traffic through a hub, or to the front end.
#[derive(Default)]
struct Gathered {
    servers: BTreeSet<Node>,
    own_objects: u64,
    own_bytes: u64,
    objects: u64,
    payload_bytes: u64,
    own: Option<Time>,
    last: Option<(Time, Node)>,
    left: Option<Time>,
    end: Option<Time>,
}

/// Records of hubs, by request.
pub(super) struct Hubs {
    watch: Watch,
    /// Start of the tables' clock.
    clock: Time,
    requests: BTreeMap<Tag, Request>,
    rows: Vec<HubRow>,
    speeds: Vec<HubSpeedRow>,
}

impl Hubs {
    /// Record requests that begin from now on.
    pub fn new(now: Time, watch: Watch) -> Hubs {
        Hubs { watch, clock: now, requests: BTreeMap::new(), rows: Vec::new(), speeds: Vec::new() }
    }

    /// Exclude everything so far from the tables.
    pub fn measure(&mut self, now: Time) {
        *self = Hubs::new(now, self.watch.clone());
    }

    /// A front end begins a request.
    pub fn begins(&mut self, now: Time, tag: Tag, number: u32) {
        let since = now.since(self.clock);
        if self.watch.from <= since && since < self.watch.to {
            let (hubs, hops, there) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
            self.requests.insert(tag, Request { tag, number, began: now, asked: None, hubs, hops, there });
        }
    }

    /// A role sends a message.
    pub fn says(&mut self, now: Time, from: Node, to: Node, message: &Message) {
        let step = self.step_of(now);
        let Some(request) = self.requests.get_mut(&message.tag) else { return };
        match &message.body {
            Body::Swarm(swarm) => {
                let new = Hub { parent: swarm.parent, told: None, asked: None, assigned: swarm.rate, step: None };
                request.hubs.entry(to).or_insert(new).parent = swarm.parent;
                self.speeds.extend(request.goes_on(step, to, 0, Some(swarm.rate)));
            }
            Body::Speed(rate) => self.speeds.extend(request.goes_on(step, to, 0, Some(*rate))),
            Body::Ask { .. } => request.asked = Some(now),
            Body::Get(_) => match request.hubs.get_mut(&from) {
                Some(hub) => hub.asked = Some(now),
                None => request.asked = Some(now),
            },
            Body::Object(_) | Body::Miss => {
                if let Some(hop) = request.hops.get_mut(&(message.index, from)) {
                    hop.left = hop.left.min(now);
                }
            }
            Body::Pass { .. }
            | Body::Lost
            | Body::Withdraw
            | Body::Withdrawn
            | Body::Over
            | Body::Load(_)
            | Body::Child(_) => {}
        }
    }

    /// A message has reached a hub, or the front end of its request.
    pub fn comes(&mut self, now: Time, from: Node, at: Node, to_hub: bool, message: &Message) {
        let (step, index) = (self.step_of(now), message.index);
        let Some(request) = self.requests.get_mut(&message.tag) else { return };
        match &message.body {
            Body::Swarm(_) => {
                if let Some(hub) = request.hubs.get_mut(&at) {
                    hub.told = hub.told.or(Some(now));
                }
            }
            Body::Object(_) | Body::Miss => {
                if from != at && request.hops.contains_key(&(index, from)) {
                    self.speeds.extend(request.goes_on(step, from, message.len() as u64, None));
                }
                if to_hub {
                    let hop = request.hops.entry((index, at)).or_insert(Hop { from, came: now, left: Time::NEVER });
                    // An object that was withdrawn may arrive again.
                    if hop.left == Time::NEVER {
                        (hop.from, hop.came) = (from, now);
                    }
                } else {
                    request.there.entry(index).or_insert((now, from));
                }
            }
            _ => {}
        }
    }

    /// A request is over, with the bytes of each answered object, `None` for a missing one.
    pub fn ends(&mut self, request: Tag, answers: &[Option<u64>], store: &Store) {
        let Some(request) = self.requests.remove(&request) else { return };
        self.rows.extend(request.rows(self.clock, answers, store));
        self.speeds.extend(request.speeds());
    }

    /// The tables; for a request in progress, `answers` returns the answers so far.
    pub fn record(&self, record: &mut Record, answers: impl Fn(Tag) -> Vec<Option<u64>>, store: &Store) {
        let open = self.requests.iter().flat_map(|(&tag, request)| request.rows(self.clock, &answers(tag), store));
        record.hubs = self.rows.iter().cloned().chain(open).collect();
        let at_hand = self.requests.values().flat_map(Request::speeds);
        record.hub_speeds = self.speeds.iter().cloned().chain(at_hand).collect();
        record.hub_speeds.sort_by_key(|row| (row.time_ps, row.request, row.hub_host));
    }

    fn step_of(&self, now: Time) -> Time {
        let (since, step) = (now.since(self.clock).0, self.watch.step.0.max(1));
        Time(since - since % step)
    }
}

impl Request {
    /// Bytes arrived from a hub, or its speed was set: write the row of the previous step, if this is another.
    fn goes_on(&mut self, step: Time, hub: Node, bytes: u64, assigned: Option<Rate>) -> Option<HubSpeedRow> {
        let of = self.hubs.get(&hub)?;
        let before = of.step.filter(|at_hand| at_hand.begins != step).map(|at_hand| self.speed(hub, of, at_hand));
        let of = self.hubs.get_mut(&hub)?;
        let came_bytes = of.step.filter(|at_hand| at_hand.begins == step).map_or(0, |at_hand| at_hand.came_bytes);
        of.step = Some(Step { begins: step, came_bytes: came_bytes + bytes });
        of.assigned = assigned.unwrap_or(of.assigned);
        before
    }

    fn speed(&self, Node(hub_host): Node, hub: &Hub, step: Step) -> HubSpeedRow {
        HubSpeedRow {
            time_ps: step.begins.0,
            request: self.number,
            hub_host,
            came_bytes: step.came_bytes,
            assigned_bps: Some(hub.assigned.0).filter(|&rate| rate > 0),
        }
    }

    /// The current steps.
    fn speeds(&self) -> impl Iterator<Item = HubSpeedRow> {
        self.hubs.iter().filter_map(|(&node, hub)| Some(self.speed(node, hub, hub.step?)))
    }

    /// The front end, then hubs by host.
    fn rows(&self, clock: Time, answers: &[Option<u64>], store: &Store) -> Vec<HubRow> {
        let mut gathered: BTreeMap<Node, Gathered> = BTreeMap::new();
        let mut all = Gathered::default();
        for (&index, &(came, from)) in &self.there {
            let Some(bytes) = answers[index as usize] else { continue };
            let mut way = self.way(index, came, from).peekable();
            all.takes(came, from, bytes, way.peek().is_none());
            while let Some((hub, hop, end)) = way.next() {
                let of = gathered.entry(hub).or_default();
                of.takes(hop.came, hop.from, bytes, way.peek().is_none());
                (of.left, of.end) = (of.left.max(Some(hop.left)), of.end.max(Some(end)));
            }
        }
        let since = |time: Option<Time>| time.map(|time| time.since(clock).0);
        let row = |node: Node, parent: Option<Node>, times: [Option<Time>; 2], of: &Gathered| HubRow {
            request: self.number,
            hub_host: node.0,
            parent_host: parent.map(|parent| parent.0.into()),
            rack: store.rack(node),
            servers: of.servers.len() as u64,
            own_objects: of.own_objects,
            own_bytes: of.own_bytes,
            objects: of.objects,
            payload_bytes: of.payload_bytes,
            told_ps: since(times[0]),
            asked_ps: since(times[1]),
            own_ps: since(of.own),
            last_ps: since(of.last.map(|(time, _)| time)),
            last_host: of.last.map(|(_, from)| from.0.into()),
            left_ps: since(of.left),
            end_ps: since(of.end),
        };
        let front = row(self.tag.origin, None, [Some(self.began), self.asked], &all);
        let hubs = self.hubs.iter().map(|(node, hub)| {
            row(*node, Some(hub.parent), [hub.told, hub.asked], gathered.get(node).unwrap_or(&Gathered::default()))
        });
        [front].into_iter().chain(hubs).collect()
    }

    /// The hubs on an object's path, last first, with the arrival time at the next node.
    fn way(&self, index: u32, came: Time, from: Node) -> impl Iterator<Item = (Node, Hop, Time)> {
        // It left before it arrived; a hub's own object came from its own server.
        let hop =
            move |node: Node, by: Time| Some((node, *self.hops.get(&(index, node)).filter(|h| h.left <= by)?, by));
        let next = move |(node, at, _): &(Node, Hop, Time)| hop(at.from, at.came).filter(|_| at.from != *node);
        std::iter::successors(hop(from, came), next)
    }
}

impl Gathered {
    /// An object arrived, `own` if directly from a server.
    fn takes(&mut self, came: Time, from: Node, bytes: u64, own: bool) {
        self.objects += 1;
        self.payload_bytes += bytes;
        if self.last.is_none_or(|(last, _)| last <= came) {
            self.last = Some((came, from));
        }
        if own {
            self.servers.insert(from);
            self.own_objects += 1;
            self.own_bytes += bytes;
            self.own = self.own.max(Some(came));
        }
    }
}
