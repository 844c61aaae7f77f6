//! PICC: the log of requests, the plan, and its moves over the network; before the requests begin, or periodically.
//!
//! The source server sends a copy; the new location replaces the old one once the copy has arrived. Moves follow the plan's order,
//! with limited concurrency; one that needs the space freed by another waits for it.

use std::collections::{BTreeMap, VecDeque};

use fanin_driver::{Driver, EndpointId, Message, Purpose, Stream};
use fanin_fabric::HostId;
use fanin_placement::picc::Learn;
use fanin_placement::{Cluster, Edge, Move, Object, RequestLog, Resources, Server};
use fanin_roles::wire::{HEADER, Numbered, Size};
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, GatheringRow};
use fanin_units::Time;

use super::carried::Carried;
use super::plans::{Asked, planned};
use super::store::Store;

/// Maximum copies in flight.
const AT_ONCE: usize = 64;
/// Maximum object requests in a log; queries of a longer log are sampled.
const KEPT: usize = 100_000_000;
/// Interval in the log between closed-loop requests: their order defines sequels.
const APART: Time = Time::from_millis(1);

/// A plan in execution.
pub(super) struct Gathered {
    left: VecDeque<Move>,
    under_way: BTreeMap<u32, Move>,
    next: u32,
    /// The sending end between two servers.
    ends: BTreeMap<(Server, Server), EndpointId>,
    pub rows: Vec<GatheringRow>,
    /// Requests of the current period, if the next plan is made from them.
    log: Option<RequestLog>,
    /// History from the last plan.
    history: Option<Vec<Edge>>,
}

impl Gathered {
    /// For a run whose scheme co-locates: a plan from requests like those of the run, or from the run's own; or none yet.
    pub fn new(spec: &RunSpec, store: &mut Store) -> Option<Gathered> {
        spec.scheme.gathering?;
        let settings = &spec.settings.placements.picc;
        let (left, under_way, ends, rows) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut gathered = Gathered { left, under_way, next: 0, ends, rows, log: None, history: None };
        match settings.learn {
            Learn::Running => gathered.log = Some(empty(spec)),
            learn => {
                let log = log(spec, store, learn);
                gathered.take_up(spec, store, log);
            }
        }
        Some(gathered)
    }

    /// Moves that have not begun.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        self.left.iter()
    }

    /// Log a front end's request for these objects.
    pub fn asked(&mut self, at: Time, objects: impl IntoIterator<Item = Object>) {
        if let Some(log) = &mut self.log {
            log.add(at, objects);
        }
    }

    /// End of a period: plan from its requests, and return whether it did. Waits for the last plan's moves.
    pub fn plan_again(&mut self, spec: &RunSpec, store: &Store) -> bool {
        if !self.under_way.is_empty() {
            return false;
        }
        if let Some(log) = self.log.replace(empty(spec)) {
            self.take_up(spec, store, log);
        }
        true
    }

    /// Make the plan of a log; if an object is requested more than any server can serve, move nothing.
    fn take_up(&mut self, spec: &RunSpec, store: &Store, log: RequestLog) {
        let Some(gathering) = spec.scheme.gathering else { return };
        let settings = &spec.settings.placements;
        let (sizes, placement) = store.sizes_and_placement();
        let fabric = spec.settings.network().expect("a spec's network fits");
        // Host 0 is the client and stores nothing.
        let capacities = [vec![Resources::default()], spec.settings.capacities(&fabric, spec.fan_in)].concat();
        // A fabric may have more hosts than servers.
        let cluster = Cluster { racks: store.racks()[..capacities.len()].to_vec(), capacities };
        let history = self.history.take();
        let made =
            planned(&Asked { cluster, sizes, placement, log, history: history.as_deref(), kind: gathering, settings });
        let Ok(made) = made.wait() else { return self.history = history };
        let rows = made.gathering.iter().map(|of| GatheringRow {
            host: of.server.0,
            memory_bytes: of.load.storage,
            memory_most_bytes: of.capacity.storage,
            requests: of.load.computing,
            requests_most: of.capacity.computing,
        });
        self.rows = rows.collect();
        self.left = made.moves.clone().into();
        self.history = Some(made.history.clone());
    }

    /// Send the copies that can be sent now.
    pub fn go_on(&mut self, driver: &mut dyn Driver, store: &Store) {
        while self.under_way.len() < AT_ONCE {
            let Some(&next) = self.left.front() else { break };
            if self.under_way.values().any(|of| of.from == next.to) {
                break;
            }
            self.left.pop_front();
            let Size(bytes) = store.value(Numbered(next.object.0.into())).unwrap_or(Size(0));
            let end = *self
                .ends
                .entry((next.from, next.to))
                .or_insert_with(|| driver.connect(HostId(next.from.0), HostId(next.to.0), FlowKind::Object).opener());
            let number = self.next;
            self.next += 1;
            self.under_way.insert(number, next);
            driver.send(end, Message::new(HEADER as u64 + u64::from(bytes), Carried::Copy(number)));
        }
    }

    /// A copy has arrived.
    pub fn came(&mut self, number: u32) -> Option<Move> {
        self.under_way.remove(&number)
    }

    /// A connection is broken: objects to be sent over it stay where they are.
    pub fn broken(&mut self, at: EndpointId) {
        let broken = self.ends.iter().find(|(_, end)| end.connection() == at.connection()).map(|(of, _)| *of);
        if let Some((from, to)) = broken {
            self.ends.remove(&(from, to));
            self.under_way.retain(|_, of| (of.from, of.to) != (from, to));
        }
    }
}

fn empty(spec: &RunSpec) -> RequestLog {
    RequestLog::new(spec.settings.key_value.objects as usize, KEPT)
}

/// The planner's input: each front end's requests, one front end after another.
fn log(spec: &RunSpec, store: &mut Store, learn: Learn) -> RequestLog {
    let settings = &spec.settings;
    let mut log = empty(spec);
    // Other requests of the same distribution.
    let entity = |front| if learn == Learn::Earlier { front | 1 << 31 } else { front };
    let mut at = Time::ZERO;
    for front in 0..settings.key_value.front_ends {
        let mut draws = Stream::new(spec.seed, store.purpose(), entity(front));
        let mut intervals = Stream::new(spec.seed, Purpose::Interval, entity(front));
        for number in 0..settings.workload.queries {
            at = match settings.request_interval() {
                Some(mean) => at.saturating_add(intervals.exponential(mean.0 as f64)),
                None => at.saturating_add(APART),
            };
            let asked = store.draw(number, &mut draws);
            let objects = settings.key_value.objects;
            log.add(at, asked.into_iter().map(|object| Object(object % objects)));
        }
    }
    log
}
