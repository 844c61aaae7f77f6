//! Collective operations in sequence: all hosts move parts of their data to one another by a schedule, and the next operation begins
//! when every part has arrived.

mod all_reduce;
mod all_to_all;
mod of_ranks;
mod schedule;

pub(crate) use of_ranks::{OfRanks, Step};

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, QueryRow};
use fanin_units::Time;

use self::schedule::Schedule;
use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::rows::{round_row, timeouts_since};

meanings! {
    pub(crate) enum Timer {
        /// A host has its data.
        Start(host),
        End,
    }
}

/// One host in this operation.
struct Host {
    start: Stream,
    /// It has its data.
    started: bool,
    /// Transfers that wait for nothing else.
    ready: Vec<u32>,
}

pub(crate) struct Collective {
    hosts: Vec<Host>,
    /// Used in turn.
    schedules: Vec<Schedule>,
    /// Operations in the run.
    limit: u32,
    start_jitter: Time,
    duration: Time,
    transfers: Transfers,
    /// Each transfer's number in its schedule.
    numbers: Vec<u32>,
    round: u32,
    round_start: Time,
    round_timeouts: Option<u64>,
    /// How many others each transfer of this operation still waits for.
    waits: Vec<u32>,
    /// Transfers of this operation that have not arrived.
    missing: usize,
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
        let host =
            |host| Host { start: Stream::new(spec.seed, Purpose::Start, host), started: false, ready: Vec::new() };
        Collective {
            hosts: (0..spec.settings.hosts()).map(host).collect(),
            schedules,
            limit: workload.queries,
            start_jitter: workload.start_jitter,
            duration: workload.duration,
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            numbers: Vec::new(),
            round: 0,
            round_start: Time::ZERO,
            round_timeouts: None,
            waits: Vec::new(),
            missing: 0,
            queries: Vec::new(),
        }
    }

    /// The schedule of this operation.
    fn schedule(&self) -> &Schedule {
        &self.schedules[self.round as usize % self.schedules.len()]
    }

    fn begin_round(&mut self, driver: &mut dyn Driver) {
        (self.round_start, self.round_timeouts) = (driver.now(), driver.timeouts());
        self.waits = self.schedule().waits();
        self.missing = self.waits.len();
        self.hosts.iter_mut().for_each(|host| host.started = false);
        for number in 0..self.missing as u32 {
            if self.waits[number as usize] == 0 {
                self.is_ready(driver, number);
            }
        }
        for id in 0..self.hosts.len() as u32 {
            match self.hosts[id as usize].start.up_to(self.start_jitter) {
                Time::ZERO => self.start_host(driver, id),
                at => driver.after(at, Timer::Start(id).into()),
            }
        }
    }

    fn start_host(&mut self, driver: &mut dyn Driver, id: u32) {
        let host = &mut self.hosts[id as usize];
        host.started = true;
        for number in std::mem::take(&mut host.ready) {
            self.is_ready(driver, number);
        }
    }

    /// A transfer waits for no other: it starts, unless its source has not begun.
    fn is_ready(&mut self, driver: &mut dyn Driver, number: u32) {
        let transfer = self.schedule().transfers[number as usize];
        let source = &mut self.hosts[transfer.from as usize];
        if !source.started {
            return source.ready.push(number);
        }
        self.numbers.push(number);
        let (from, to) = (HostId(transfer.from), HostId(transfer.to));
        self.transfers.start(driver, FlowKind::Part, from, to, transfer.bytes);
    }

    /// A transfer has arrived.
    fn came(&mut self, driver: &mut dyn Driver, number: u32) {
        self.missing -= 1;
        let followers: Vec<u32> = self.schedule().followers(number).collect();
        for later in followers {
            self.waits[later as usize] -= 1;
            if self.waits[later as usize] == 0 {
                self.is_ready(driver, later);
            }
        }
        if self.missing == 0 {
            self.queries.push(self.query(driver, true));
            driver.round_ended(self.round);
            self.round += 1;
            match self.round == self.limit {
                true => driver.finish(),
                false => self.begin_round(driver),
            }
        }
    }

    fn query(&self, view: &dyn View, whole: bool) -> QueryRow {
        let took = view.now().since(self.round_start);
        round_row(self.round, self.round_start.0, took, whole, timeouts_since(view, self.round_timeouts))
    }
}

impl Application for Collective {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        self.begin_round(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        if let Carried::Flow(number) = Carried::from(message) {
            self.transfers.end(driver, number);
            self.came(driver, self.numbers[number as usize]);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Start(host) => self.start_host(driver, host),
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.queries.extend(self.queries.iter().cloned());
        if self.missing > 0 {
            record.queries.push(self.query(view, false));
        }
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now();
    }
}
