//! Ring all-reduces after Patarasuk and Yuan ("Bandwidth optimal all-reduce algorithms for clusters of workstations",
//! JPDC 2009, section 4): each of n hosts in a ring splits its vector into n parts. In n - 1 steps each host passes a part to the
//! next host, which adds its own; in n - 1 more steps the sums go around. A host passes a part on once it has received it, and
//! the next all-reduce begins when every host has all sums.

use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, QueryRow};
use fanin_units::Time;

use super::application::{Application, Driver, Record, View, round_row, timeouts_since};
use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::ids::EndpointId;
use crate::message::meanings;
use fanin_assemble::{Purpose, Stream};

meanings! {
    pub(crate) enum Timer {
        /// A host has its vector.
        Start(host),
        End,
    }
}

/// One host in this all-reduce.
struct Host {
    start: Stream,
    /// It has its vector.
    started: bool,
    /// The next step in which it sends a part.
    next: u32,
    /// Whether each step's part has been received.
    came: Vec<bool>,
    /// Number of received parts.
    count: u32,
}

pub(crate) struct AllReduce {
    hosts: Vec<Host>,
    vector: u64,
    /// All-reduces in the run.
    limit: u32,
    start_jitter: Time,
    duration: Time,
    transfers: Transfers,
    /// Destination host and step of each transfer.
    aims: Vec<(u32, u32)>,
    round: u32,
    round_start: Time,
    round_timeouts: Option<u64>,
    /// Hosts that still lack sums.
    missing: u32,
    queries: Vec<QueryRow>,
}

impl AllReduce {
    pub fn new(spec: &RunSpec) -> AllReduce {
        let workload = &spec.settings.workload;
        let hosts = spec.settings.hosts();
        let host = |host| Host {
            start: Stream::new(spec.seed, Purpose::Start, host),
            started: false,
            next: 0,
            came: vec![false; 2 * (hosts as usize - 1)],
            count: 0,
        };
        AllReduce {
            hosts: (0..hosts).map(host).collect(),
            vector: workload.fragment.0.map_or(0, |vector| vector.0),
            limit: workload.queries,
            start_jitter: workload.start_jitter,
            duration: workload.duration,
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            aims: Vec::new(),
            round: 0,
            round_start: Time::ZERO,
            round_timeouts: None,
            missing: 0,
            queries: Vec::new(),
        }
    }

    fn begin_round(&mut self, driver: &mut dyn Driver) {
        (self.round_start, self.round_timeouts) = (driver.now(), driver.timeouts());
        self.missing = self.hosts.len() as u32;
        for host in &mut self.hosts {
            (host.started, host.next, host.count) = (false, 0, 0);
            host.came.fill(false);
        }
        for id in 0..self.hosts.len() as u32 {
            match self.hosts[id as usize].start.up_to(self.start_jitter) {
                Time::ZERO => self.start_host(driver, id),
                at => driver.after(at, Timer::Start(id).into()),
            }
        }
    }

    fn start_host(&mut self, driver: &mut dyn Driver, id: u32) {
        self.hosts[id as usize].started = true;
        self.pass_on(driver, id);
    }

    /// Send all parts that a host can send: in the first step its own, later that received in the step before.
    fn pass_on(&mut self, driver: &mut dyn Driver, id: u32) {
        let count = self.hosts.len() as u32;
        loop {
            let host = &mut self.hosts[id as usize];
            let step = host.next;
            let has = host.started && (step == 0 || host.came[step as usize - 1]);
            if !has || step as usize == host.came.len() {
                return;
            }
            host.next += 1;
            // Parts go around: each step sends that of the host one further back.
            let part = (id + 2 * count - step) % count;
            let rest = u64::from(u64::from(part) < self.vector % u64::from(count));
            let to = (id + 1) % count;
            self.aims.push((to, step));
            let bytes = self.vector / u64::from(count) + rest;
            self.transfers.start(driver, FlowKind::Part, (HostId(id), HostId(to)), bytes);
        }
    }

    /// A host has received the part of a step.
    fn came(&mut self, driver: &mut dyn Driver, id: u32, step: u32) {
        let host = &mut self.hosts[id as usize];
        host.came[step as usize] = true;
        host.count += 1;
        self.missing -= u32::from(host.count as usize == host.came.len());
        self.pass_on(driver, id);
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

impl Application for AllReduce {
    type Timer = Timer;
    type Message = Carried;

    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        self.begin_round(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Carried) {
        if let Carried::Flow(number) = message {
            self.transfers.end(driver, number);
            let (host, step) = self.aims[number as usize];
            self.came(driver, host, step);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Timer) {
        match timer {
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
