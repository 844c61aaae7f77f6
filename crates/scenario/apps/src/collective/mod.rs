//! Collective operations in sequence: all hosts move parts of their data to one another by a schedule, and the next operation begins
//! when every part has arrived.

mod all_reduce;
mod all_to_all;
mod of_ranks;
mod operation;
mod rooted;
mod schedule;

pub(crate) use of_ranks::{OfRanks, Step};

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use fanin_driver::{Application, ConnectionId, Driver, EndpointId, Meaning, Purpose, Record, Share, Stream, View};
use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, FlowRow, QueryRow};
use fanin_units::Time;

use self::operation::{Connections, Operation, Sent, Timer};
use self::schedule::{Schedule, Transfer};
use crate::rows::{round_row, timeouts_since};

/// A schedule that operations follow.
struct Plan {
    schedule: Arc<Schedule>,
    /// By transfer, between standing connections.
    connections: Arc<[ConnectionId]>,
    /// The least time of each transfer in an empty network.
    ideal: Vec<Option<Time>>,
}

pub(crate) struct Collective {
    /// Each host's delays.
    delays: Vec<Stream>,
    /// Used in turn.
    plans: Vec<Plan>,
    stands: bool,
    /// Operations in the run.
    limit: u32,
    start_jitter: Time,
    duration: Time,
    round: u32,
    round_start: Time,
    round_timeouts: Option<u64>,
    /// The current operation, unless shares have it.
    operation: Option<Operation>,
    /// The parts of hosts whose shares have it.
    part_of: Vec<usize>,
    /// Operations that have ended.
    ended: Vec<Operation>,
    queries: Vec<QueryRow>,
}

impl Collective {
    pub fn all_reduce(spec: &RunSpec) -> Collective {
        let (workload, hosts) = (&spec.settings.workload, spec.settings.hosts());
        let vector = workload.fragment.0.map_or(0, |vector| vector.0);
        Collective::new(spec, vec![all_reduce::schedule(workload, hosts, vector)])
    }

    pub fn all_to_all(spec: &RunSpec) -> Collective {
        Collective::new(spec, all_to_all::schedules(spec))
    }

    fn new(spec: &RunSpec, schedules: Vec<Schedule>) -> Collective {
        let workload = &spec.settings.workload;
        let plan = |schedule| Plan { schedule: Arc::new(schedule), connections: Arc::default(), ideal: Vec::new() };
        Collective {
            delays: (0..spec.settings.hosts()).map(|host| Stream::new(spec.seed, Purpose::Start, host)).collect(),
            plans: schedules.into_iter().map(plan).collect(),
            stands: spec.settings.connections_stand(),
            limit: workload.queries,
            start_jitter: workload.start_jitter,
            duration: workload.duration,
            round: 0,
            round_start: Time::ZERO,
            round_timeouts: None,
            operation: None,
            part_of: Vec::new(),
            ended: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// Prepare a connection for each two hosts between which there are transfers.
    fn prepare(&mut self, driver: &mut dyn Driver) {
        let mut between: BTreeMap<(u32, u32), ConnectionId> = BTreeMap::new();
        for plan in &mut self.plans {
            let transfers = &plan.schedule.transfers;
            plan.ideal = transfers.iter().map(|t| driver.ideal(HostId(t.from), HostId(t.to), t.bytes)).collect();
            if self.stands {
                let mut connection = |&Transfer { from, to, .. }: &Transfer| {
                    let prepare = || driver.prepare(HostId(from), HostId(to), FlowKind::Part);
                    *between.entry((from, to)).or_insert_with(prepare)
                };
                plan.connections = transfers.iter().map(&mut connection).collect();
            }
        }
    }

    /// The plan of an operation.
    fn plan(&self, round: u32) -> &Plan {
        &self.plans[round as usize % self.plans.len()]
    }

    fn begin_round(&mut self, driver: &mut dyn Driver) {
        (self.round_start, self.round_timeouts) = (driver.now(), driver.timeouts());
        let plan = self.plan(self.round);
        let connections = match self.stands {
            true => Connections::Standing(plan.connections.clone()),
            false => Connections::New(vec![None; plan.schedule.transfers.len()]),
        };
        let mut operation = Operation::new(plan.schedule.clone(), connections, self.delays.len());
        for (delays, host) in self.delays.iter_mut().zip(0..) {
            match delays.up_to(self.start_jitter) {
                Time::ZERO => operation.start_host(driver, host),
                at => driver.after(at, Timer::Start(host).into()),
            }
        }
        self.operation = Some(operation);
    }

    /// Go on if all transfers of the operation have arrived.
    fn go_on(&mut self, driver: &mut dyn Driver) {
        let Some(operation) = self.operation.take_if(|operation| operation.missing == 0) else { return };
        self.ended.push(operation);
        self.queries.push(self.query(driver, true));
        driver.round_ended(self.round);
        self.round += 1;
        match self.round == self.limit {
            true => driver.finish(),
            false => self.begin_round(driver),
        }
    }

    fn query(&self, view: &dyn View, whole: bool) -> QueryRow {
        let took = view.now().since(self.round_start);
        round_row(self.round, self.round_start.0, took, whole, timeouts_since(view, self.round_timeouts))
    }

    /// The transfers of an operation that have started, in the order of their starts.
    fn flows(&self, view: &dyn View, round: u32, operation: &Operation) -> impl Iterator<Item = FlowRow> {
        let mut started: Vec<(usize, &Sent)> =
            operation.sent.iter().enumerate().filter(|(_, sent)| sent.at != Time::NEVER).collect();
        started.sort_by_key(|(_, sent)| sent.at);
        let ideal = &self.plan(round).ideal;
        started.into_iter().map(move |(number, sent)| {
            let Transfer { from, to, bytes } = operation.transfers()[number];
            FlowRow {
                class: FlowKind::Part,
                from_host: from,
                to_host: to,
                payload_bytes: Some(bytes),
                delivered_bytes: operation.delivered(view, number),
                start_ps: sent.at.0,
                fct_ps: (sent.arrived != Time::NEVER).then(|| sent.arrived.0 - sent.at.0),
                ideal_ps: ideal[number].map(|time| time.0),
                ..FlowRow::default()
            }
        })
    }
}

impl Application for Collective {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        self.prepare(driver);
        self.begin_round(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        if let Some(operation) = &mut self.operation {
            operation.arrived(driver, message);
        }
        self.go_on(driver);
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match (Timer::from(timer), &mut self.operation) {
            (Timer::Start(host), Some(operation)) => operation.start_host(driver, host),
            (Timer::Start(_), None) => {}
            (Timer::End, _) => driver.finish(),
        }
    }

    fn divide(&mut self, parts: usize, part_of: &dyn Fn(HostId) -> usize) -> Option<Vec<Box<dyn Share>>> {
        let shares = self.operation.as_ref()?.divide(parts, |host| part_of(HostId(host)))?;
        self.part_of = (0..self.delays.len() as u32).map(|host| part_of(HostId(host))).collect();
        self.operation = None;
        Some(shares.into_iter().map(|share| Box::new(share) as Box<dyn Share>).collect())
    }

    fn unite(&mut self, driver: &mut dyn Driver, shares: Vec<Box<dyn Share>>) {
        let shares = shares.into_iter().filter_map(|share| (share as Box<dyn Any>).downcast::<Operation>().ok());
        let shares: Vec<Operation> = shares.map(|share| *share).collect();
        self.operation = Operation::unite(&shares, |host| self.part_of[host as usize]);
        self.go_on(driver);
    }

    fn host_of(&self, timer: Meaning) -> Option<HostId> {
        match Timer::from(timer) {
            Timer::Start(host) => Some(HostId(host)),
            Timer::End => None,
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.queries.extend(self.queries.iter().cloned());
        if self.operation.is_some() {
            record.queries.push(self.query(view, false));
        }
        for (operation, round) in self.ended.iter().chain(&self.operation).zip(0..) {
            record.flows.extend(self.flows(view, round, operation));
        }
        record.payload_bytes = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
        record.measured = view.now();
    }
}
