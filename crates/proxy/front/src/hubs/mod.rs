//! Hubs of a thread: for each pool with hubs, a front end of `roles`, its connections to agents, and the multigets in progress.

mod agent_link;
mod agents;
mod asked_agents;
mod data_servers;
mod direct;
mod directory;
mod requests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_fanout::one_all::OneAll;
use fanin_roles::front_end::{self, FrontEnd, Measured, RequestMethod};
use fanin_roles::wire::{Item, ItemKey};
use fanin_roles::{Node, Outputs};
use fanin_units::{Bytes, Time};

use crate::upstreams::pool::Pool;
use agent_link::AgentLink;
use asked_agents::AskedAgents;
use direct::Direct;
use directory::HubDirectory;
use fanin_proxy_config::racks::FRONT_ENDS;
use fanin_proxy_config::{AgentRole, HubSettings};
use fanin_proxy_core::clock::{Nanos, nanos, reaches, span};
use fanin_proxy_core::memory::Charge;
use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::Members;
use fanin_proxy_net::{Net, Token};
use fanin_proxy_peers::ItemMessage;
use fanin_proxy_peers::SEGMENT;
use fanin_proxy_routing::writes::Writes;
use fanin_proxy_state::shared::PoolState;
pub use requests::HubAction;

/// Share of a pool's timeout after which a silent agent counts as lost. A hub sends a report each period, which is much shorter.
const SILENCE: u64 = 8;
/// Longest file with a number of bytes.
const LONGEST_NUMBER: u64 = 64;
/// Time that the end of a request may wait for the next message to its hub: half a hub's period.
const WAITS: Nanos = 5_000_000;
/// Attempts for a key.
const TRIES: u8 = 3;

/// Memory of a small block apart from its bytes: a key has one, and one for its sharing.
const BLOCK: usize = 32;

/// Place of a key in a multiget: its batch, and its place in that; and a key with its place.
type Place = (u32, u32);
pub type HubKey = (Place, ItemKey);

/// A connection to an agent: its pool's slot, and its position among the pool's agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentAt {
    pub slot: usize,
    pub place: usize,
}

/// A pool's front end of `roles`, the servers as it sees them, and the list for its outputs.
type Parts<'a, S> = (&'a mut FrontEnd<ItemKey>, HubDirectory<'a, S>, &'a mut Outputs<ItemKey, Item>);

/// Keys of a multiget that go through hubs.
#[derive(Debug)]
struct HubRequest {
    /// The multiget.
    get: Id,
    /// By index in the request of `roles`.
    keys: Vec<HubKey>,
    /// Which servers were in use when it began.
    members: Arc<Members>,
    /// Keys that were requested from agents as data servers.
    agents: AskedAgents,
    /// The last failure of a server that was asked for a key directly.
    trouble: Option<ServerError>,
    /// Its memory.
    _charge: Charge,
}

impl HubRequest {
    /// A request for keys of a multiget from agents in a role. Each key with replicas has an entry of its own with this many servers.
    fn new(get: Id, keys: Vec<HubKey>, members: Arc<Members>, replicas: usize, role: AgentRole) -> HubRequest {
        // The entries are in a tree that may be half empty.
        let of_entry = 2 * size_of::<(ItemKey, u32, Vec<Node>)>() + replicas * size_of::<Node>() + BLOCK;
        let of_agent = if role == AgentRole::DataServer { AskedAgents::OF_KEY } else { 0 };
        let of_key = FrontEnd::<ItemKey>::OBJECT + 2 * BLOCK + of_agent + if replicas > 0 { of_entry } else { 0 };
        let own: usize = keys.iter().map(|(_, key)| key.key.bytes().len()).sum();
        let mut charge = Charge::default();
        charge.set(keys.capacity() * size_of::<HubKey>() + keys.len() * of_key + own);
        HubRequest { get, keys, members, agents: AskedAgents::default(), trouble: None, _charge: charge }
    }
}

/// Hubs of a pool.
struct PoolHubs<S> {
    state: Arc<PoolState>,
    settings: Arc<HubSettings>,
    me: Node,
    front_end: FrontEnd<ItemKey>,
    /// By position in the racks.
    links: Vec<AgentLink<S>>,
    /// Position in the racks and node of each server of the pool, in the router's order.
    places: Vec<Option<usize>>,
    nodes: Vec<Node>,
    /// Servers of requested keys with replicas, the primary first, and the number of requests for each key.
    replicas: BTreeMap<ItemKey, (u32, Vec<Node>)>,
    requests: BTreeMap<u32, HubRequest>,
    /// Outputs of the front end, and whether some are being carried out: others have to wait for their turn.
    out: Outputs<ItemKey, Item>,
    acts: bool,
    /// Agents to which a message could not be sent.
    unreachable: BTreeSet<Node>,
    /// When data servers were last heard, and when to look for silent ones.
    heard: BTreeMap<Node, Nanos>,
    look_at: Option<Nanos>,
}

/// Hubs of all pools.
pub struct Hubs<S> {
    /// By the pool's slot.
    pools: BTreeMap<usize, PoolHubs<S>>,
    /// Writes in progress.
    writes: Arc<Writes>,
    /// Connections by their token.
    tokens: Vec<Option<AgentAt>>,
    /// Connections to write to.
    marked: Vec<AgentAt>,
    direct: Table<Direct>,
    next_connect: Option<Nanos>,
    /// When to write what could wait.
    write_at: Option<Nanos>,
}

impl<S> PoolHubs<S> {
    /// The front end of `roles`, the servers as it sees them, and the list for its outputs.
    fn parts<'a>(&'a mut self, pool: &'a Pool, writes: &'a Writes) -> Parts<'a, S> {
        let PoolHubs { front_end, links, nodes, replicas, settings, out, .. } = self;
        (front_end, HubDirectory { pool, nodes, replicas, writes, links, racks: &settings.racks }, out)
    }

    /// Removes a request that is over.
    fn remove(&mut self, number: u32) {
        let Some(request) = self.requests.remove(&number) else { return };
        if self.replicas.is_empty() {
            return;
        }
        for (_, key) in request.keys {
            if let Entry::Occupied(mut entry) = self.replicas.entry(key) {
                entry.get_mut().0 -= 1;
                if entry.get().0 == 0 {
                    entry.remove();
                }
            }
        }
    }

    /// Notes the servers of a requested key, by their numbers in the pool.
    fn note_servers(&mut self, key: ItemKey, servers: impl Iterator<Item = usize>) {
        let nodes = servers.map(|server| self.nodes[server]).collect();
        let entry = self.replicas.entry(key).or_default();
        *entry = (entry.0 + 1, nodes);
    }

    /// The queue before the front end's port: as the file says, else by the shortest round-trip time that hubs have reported lately.
    fn measure(&self, now: Nanos) -> Option<Measured> {
        let HubSettings { sicc, buffer, queue, .. } = &*self.settings;
        if let Some(file) = queue {
            return Some(Measured::Queue(queue_in(file)?, *buffer));
        }
        let since = now.saturating_sub(2 * nanos(sicc.period));
        let round_trip = self.links.iter().filter_map(|link| link.round_trip(since)).min()?;
        Some(Measured::RoundTrip(round_trip, self.state.settings.link, *buffer))
    }

    /// A message to an agent could not be sent.
    fn is_unreachable(&mut self, node: Node) {
        self.unreachable.insert(node);
    }

    /// The number of its front end.
    fn node(&self) -> Node {
        self.me
    }

    /// Racks with an agent that can be a hub.
    fn connected_racks(&self) -> BTreeSet<u32> {
        let servers = self.links.iter().zip(&self.settings.racks.servers);
        servers.filter(|(link, _)| link.is_usable()).map(|(_, server)| server.rack).collect()
    }

    /// The rack of a server of the pool, if its own agent can be a hub.
    fn rack_of_hub(&self, server: usize) -> Option<u32> {
        self.links[self.places[server]?].is_usable().then(|| self.rack(server))?
    }

    /// Whether an agent can be asked for the keys of a server of the pool: its own, or with hubs one of a rack among these.
    fn has_agent(&self, server: usize, racks: &BTreeSet<u32>) -> bool {
        match self.settings.role {
            AgentRole::Hub => self.rack(server).is_some_and(|rack| racks.contains(&rack)),
            AgentRole::DataServer => self.rack_of_hub(server).is_some(),
        }
    }

    /// The rack of a server of the pool.
    fn rack(&self, server: usize) -> Option<u32> {
        Some(self.settings.racks.servers[self.places[server]?].rack)
    }

    /// The server of the pool with this number in messages.
    fn server(&self, node: Node) -> Option<usize> {
        self.nodes.iter().position(|other| *other == node)
    }
}

impl<S> Hubs<S> {
    /// No hubs yet.
    pub fn new(writes: Arc<Writes>) -> Hubs<S> {
        Hubs {
            pools: BTreeMap::new(),
            writes,
            tokens: Vec::new(),
            marked: Vec::new(),
            direct: Table::default(),
            next_connect: None,
            write_at: None,
        }
    }

    /// Whether a pool has hubs.
    pub fn has(&self, slot: usize) -> bool {
        self.pools.contains_key(&slot)
    }

    /// Whether no pool has hubs.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    fn get(&self, slot: usize) -> Option<&PoolHubs<S>> {
        self.pools.get(&slot)
    }

    fn get_mut(&mut self, slot: usize) -> Option<&mut PoolHubs<S>> {
        self.pools.get_mut(&slot)
    }

    /// Requests keys; returns the request's number. Its outputs wait for [`Hubs::begin_acts`], as those of other calls.
    fn ask(
        &mut self,
        slot: usize,
        pool: &Pool,
        now: Nanos,
        keys: impl Iterator<Item = ItemKey>,
        draw: front_end::Draw<'_>,
    ) -> Option<u32> {
        let (front_end, directory, out) = self.pools.get_mut(&slot)?.parts(pool, &self.writes);
        let deadline = time(now).saturating_add(pool.shared.settings.timeout);
        Some(front_end.ask(time(now), keys, deadline, &directory, draw, out))
    }

    /// Handles a message of an agent, or of a memcached in its name.
    fn handle(&mut self, slot: usize, pool: &Pool, now: Nanos, from: Node, message: ItemMessage) {
        if let Some(hubs) = self.pools.get_mut(&slot) {
            hubs.has_come(from, &message);
            let (front_end, directory, out) = hubs.parts(pool, &self.writes);
            front_end.handle(time(now), from, message, &directory, out);
        }
    }

    /// The connection to an agent is gone.
    fn lose(&mut self, slot: usize, pool: &Pool, now: Nanos, node: Node) {
        if let Some(hubs) = self.pools.get_mut(&slot) {
            let (front_end, directory, out) = hubs.parts(pool, &self.writes);
            front_end.lost(time(now), node, &directory, out);
        }
        self.data_server_lost(slot, pool, now, node);
    }

    /// Takes a pool's outputs to carry them out, in order: none while others are carried out. Return the list with [`Hubs::end_acts`].
    pub fn begin_acts(&mut self, slot: usize) -> Option<Outputs<ItemKey, Item>> {
        let hubs = self.pools.get_mut(&slot).filter(|hubs| !hubs.acts && !hubs.out.is_empty())?;
        hubs.acts = true;
        Some(std::mem::take(&mut hubs.out))
    }

    /// These outputs have been carried out. The agents to which messages could not be sent are lost.
    pub fn end_acts(&mut self, slot: usize, emptied: Outputs<ItemKey, Item>, pool: &Pool, now: Nanos) {
        let Some(hubs) = self.pools.get_mut(&slot) else { return };
        hubs.acts = false;
        if hubs.out.is_empty() {
            hubs.out = emptied;
        }
        for node in std::mem::take(&mut hubs.unreachable) {
            self.lose(slot, pool, now, node);
        }
    }

    /// Takes bytes of the response to a key that is requested from its memcached.
    pub fn receives(&mut self, direct: Id, bytes: &[u8]) {
        self.direct.get_mut(direct).into_iter().for_each(|direct| direct.receives(bytes));
    }

    /// Something has come from an agent.
    fn hears(&mut self, slot: usize, now: Nanos, from: Node) {
        if let Some(hubs) = self.pools.get_mut(&slot) {
            hubs.front_end.hears(time(now), from);
            if hubs.settings.role == AgentRole::DataServer {
                hubs.heard.insert(from, now);
            }
        }
    }

    /// Does work that is due.
    pub fn due(&mut self, slot: usize, pool: &Pool, now: Nanos) {
        self.look_for_silent_data_servers(slot, pool, now);
        if let Some(hubs) = self.pools.get_mut(&slot).filter(|hubs| hubs.front_end.deadline() <= time(now)) {
            let measured = if hubs.front_end.measures(time(now)) { hubs.measure(now) } else { None };
            let (front_end, directory, out) = hubs.parts(pool, &self.writes);
            front_end.due(time(now), measured, &directory, out);
            for node in hubs.front_end.take_silent() {
                let place = hubs.settings.racks.of_node(node);
                place.into_iter().for_each(|place| hubs.links[place].is_dismissed());
            }
        }
    }

    /// Adds the hubs of a pool, if it has some and they are not there; `random` makes the front end's number.
    fn install<N: Net<Socket = S>>(&mut self, net: &mut N, slot: usize, state: &Arc<PoolState>, random: u64) {
        if self.pools.get(&slot).is_some_and(|hubs| Arc::ptr_eq(&hubs.state, state)) {
            return;
        }
        // Those of a pool that had this slot before.
        self.remove(net, slot);
        let Some(settings) = &state.settings.hubs else { return };
        let me = Node(random as u32 | FRONT_ENDS);
        let places: Vec<Option<usize>> =
            state.settings.servers.iter().map(|server| settings.racks.position(&server.target.address)).collect();
        let node = |place: &Option<usize>| place.map_or(me, |place| settings.racks.servers[place].node);
        let nodes = places.iter().map(node).collect();
        let links = settings.racks.servers.iter().enumerate().map(|(place, server)| {
            let agent = server.agent.clone().filter(|_| places.contains(&Some(place)));
            let token = self.tokens.iter().position(Option::is_none).unwrap_or(self.tokens.len());
            if token == self.tokens.len() {
                self.tokens.push(None);
            }
            self.tokens[token] = Some(AgentAt { slot, place });
            AgentLink::new(agent, settings.racks.secret.clone(), server.node, Token::Agent(token))
        });
        let links = links.collect();
        let timeout = state.settings.timeout;
        let params = front_end::Params {
            me,
            epoch: 0,
            capacity: state.settings.link,
            method: match settings.role {
                AgentRole::Hub => RequestMethod::Swarms {
                    parts: settings.parts,
                    settings: settings.sicc,
                    bound: settings.most,
                    packet: SEGMENT,
                },
                // PICC requests from all servers at once; its plan makes these few.
                AgentRole::DataServer => RequestMethod::Servers(Window::OneAll(OneAll)),
            },
            anew: false,
            most_bytes: None,
            together: false,
            cover: None,
            timeout: Some(Time(timeout.0 / SILENCE)),
            tries: TRIES,
            agents: true,
        };
        let hubs = PoolHubs {
            state: state.clone(),
            settings: settings.clone(),
            me,
            front_end: FrontEnd::new(params),
            links,
            places,
            nodes,
            replicas: BTreeMap::new(),
            requests: BTreeMap::new(),
            out: Vec::new(),
            acts: false,
            unreachable: BTreeSet::new(),
            heard: BTreeMap::new(),
            look_at: None,
        };
        self.pools.insert(slot, hubs);
        self.next_connect = Some(0);
    }

    /// Removes the hubs of pools that are not in force and have no requests.
    fn remove_unused<N: Net<Socket = S>>(&mut self, net: &mut N, in_force: impl Fn(usize) -> bool) {
        let is_unused = |(slot, hubs): &(&usize, &PoolHubs<S>)| !in_force(**slot) && hubs.requests.is_empty();
        let unused: Vec<usize> = self.pools.iter().filter(is_unused).map(|(slot, _)| *slot).collect();
        unused.into_iter().for_each(|slot| self.remove(net, slot));
    }

    fn remove<N: Net<Socket = S>>(&mut self, net: &mut N, slot: usize) {
        let Some(hubs) = self.pools.remove(&slot) else { return };
        hubs.links.into_iter().for_each(|link| link.close(net));
        let its = self.tokens.iter_mut().filter(|place| place.is_some_and(|at| at.slot == slot));
        its.for_each(|place| *place = None);
        self.marked.retain(|at| at.slot != slot);
    }

    /// Slots of the pools with hubs.
    pub fn slots(&self) -> Vec<usize> {
        self.pools.keys().copied().collect()
    }

    /// The connection with a token.
    fn of_token(&self, token: usize) -> Option<AgentAt> {
        self.tokens.get(token).copied().flatten()
    }

    /// A connection.
    fn link(&mut self, at: AgentAt) -> Option<&mut AgentLink<S>> {
        self.pools.get_mut(&at.slot)?.links.get_mut(at.place)
    }

    /// Connects to agents where that is due.
    fn connect<N: Net<Socket = S>>(&mut self, net: &mut N, now: Nanos) {
        if self.next_connect.is_none_or(|at| at > now) {
            return;
        }
        for hubs in self.pools.values_mut() {
            hubs.links.iter_mut().for_each(|link| link.connect(net, hubs.me, now));
        }
        self.note_next_connect();
    }

    /// A connection may be due to be tried again.
    fn note_next_connect(&mut self) {
        self.next_connect = self.pools.values().flat_map(|hubs| &hubs.links).filter_map(AgentLink::next_due).min();
    }

    /// Marks a connection to be written to.
    fn mark(&mut self, at: AgentAt) {
        if self.link(at).is_some_and(AgentLink::mark) {
            self.marked.push(at);
        }
    }

    /// Output of a connection may wait for a while.
    fn write_later(&mut self, now: Nanos) {
        self.write_at.get_or_insert(now + WAITS);
    }

    /// Marks the connections whose output has waited.
    fn mark_late(&mut self, now: Nanos) {
        if self.write_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        for (slot, hubs) in &mut self.pools {
            let waiting = hubs.links.iter_mut().enumerate().filter(|(_, link)| link.unsent() > 0);
            let unmarked = waiting.filter_map(|(place, link)| link.mark().then_some(AgentAt { slot: *slot, place }));
            self.marked.extend(unmarked);
        }
    }

    pub fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    pub fn take_marked(&mut self) -> Vec<AgentAt> {
        std::mem::take(&mut self.marked)
    }

    /// The next time at which there is work without an event.
    pub fn next_due(&self) -> Option<Nanos> {
        let deadlines = self.pools.values().filter_map(|hubs| reaches(hubs.front_end.deadline()));
        let silent = self.pools.values().filter_map(|hubs| hubs.look_at);
        deadlines.chain(silent).chain(self.next_connect).chain(self.write_at).min()
    }
}

/// The number of bytes in a file, if it is a regular one that has a number: others could make a reader wait.
fn queue_in(file: &Path) -> Option<Bytes> {
    let is_file = fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= LONGEST_NUMBER);
    is_file.then(|| fs::read_to_string(file).ok()?.trim().parse().ok().map(Bytes))?
}

/// A time of the clock as `roles` counts it.
fn time(now: Nanos) -> Time {
    span(0, now)
}
