//! Pulls: hosts request data from one or several others at given times, such as decoders the key-value cache of a prompt. A client
//! queues requests beyond its limits of requests and bytes in flight.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Pulls as List, RunSpec};
use fanin_tables::{FlowKind, QueryRow};
use fanin_units::Time;

use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::rows::{round_row, timeouts_since};

meanings! {
    pub(crate) enum Timer {
        /// The next pull starts.
        Start,
        /// A server has prepared its answer.
        Serve(number),
        End,
    }
}

/// A host that pulls.
#[derive(Default)]
struct Client {
    /// Requests that are not sent yet: a pull's number, a source and its bytes.
    queue: VecDeque<(u32, HostId, u64)>,
    /// Requested and not received.
    requests: u32,
    bytes: u64,
}

/// A pull that has started.
struct Started {
    start: Time,
    timeouts: Option<u64>,
    /// Answers that have not arrived.
    missing: u32,
    row: Option<QueryRow>,
}

pub(crate) struct Pulls {
    /// Absent only in a spec without a scenario: nothing is requested then.
    list: Option<Arc<List>>,
    request: u64,
    /// Limits of a client.
    requests_at_once: u32,
    bytes_at_once: u64,
    service: Time,
    service_jitter: Time,
    services: Vec<Stream>,
    duration: Time,
    clients: Vec<Client>,
    started: Vec<Started>,
    /// Pulls that have ended.
    ended: usize,
    transfers: Transfers,
    /// The pull of each transfer.
    pull_of: Vec<u32>,
}

impl Pulls {
    pub fn new(spec: &RunSpec) -> Pulls {
        let (workload, host) = (&spec.settings.workload, &spec.settings.host);
        let hosts = spec.settings.hosts();
        Pulls {
            list: spec.settings.inputs.pulls.clone(),
            request: workload.request.0,
            requests_at_once: workload.in_flight.0.unwrap_or(u32::MAX),
            bytes_at_once: workload.bytes_in_flight.0.map_or(u64::MAX, |limit| limit.0),
            service: host.service_time,
            service_jitter: host.service_jitter,
            services: (0..hosts).map(|host| Stream::new(spec.seed, Purpose::Service, host)).collect(),
            duration: workload.duration,
            clients: (0..hosts).map(|_| Client::default()).collect(),
            started: Vec::new(),
            ended: 0,
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            pull_of: Vec::new(),
        }
    }

    /// Starts all pulls that are due, and waits for the next one.
    fn start_due(&mut self, driver: &mut dyn Driver) {
        let Some(list) = self.list.clone() else { return };
        while let Some(pull) = list.list().get(self.started.len()) {
            if pull.start > driver.now() {
                return driver.after(pull.start.since(driver.now()), Timer::Start.into());
            }
            let number = self.started.len() as u32;
            let missing = pull.from.len() as u32;
            self.started.push(Started { start: driver.now(), timeouts: driver.timeouts(), missing, row: None });
            let requests = pull.from.iter().map(|&(from, bytes)| (number, HostId(from), bytes));
            self.clients[pull.to as usize].queue.extend(requests);
            self.ask(driver, HostId(pull.to));
        }
    }

    /// Sends as many of a client's requests as its limits allow.
    fn ask(&mut self, driver: &mut dyn Driver, at: HostId) {
        loop {
            let client = &mut self.clients[at.0 as usize];
            let Some(&(pull, from, bytes)) = client.queue.front() else { return };
            let fits =
                client.requests < self.requests_at_once && client.bytes.saturating_add(bytes) <= self.bytes_at_once;
            if !fits && client.requests > 0 {
                return;
            }
            client.queue.pop_front();
            (client.requests, client.bytes) = (client.requests + 1, client.bytes + bytes);
            self.pull_of.push(pull);
            match self.request {
                0 => self.transfers.start(driver, FlowKind::Pull, from, at, bytes),
                request => self.transfers.ask(driver, FlowKind::Pull, from, at, bytes, request),
            }
        }
    }

    /// A server has received a request.
    fn asked(&mut self, driver: &mut dyn Driver, number: u32) {
        let (server, _) = self.transfers.source(number);
        let service = self.service + self.services[server.0 as usize].up_to(self.service_jitter);
        match driver.at_work(server, service) {
            Time::ZERO => self.transfers.answer(driver, number),
            work => driver.after(work, Timer::Serve(number).into()),
        }
    }

    /// An answer has arrived.
    fn answered(&mut self, driver: &mut dyn Driver, number: u32) {
        self.transfers.end(driver, number);
        let pull = self.pull_of[number as usize] as usize;
        let at = self.client_of(pull);
        let (_, bytes) = self.transfers.source(number);
        let client = &mut self.clients[at.0 as usize];
        (client.requests, client.bytes) = (client.requests - 1, client.bytes - bytes);
        self.started[pull].missing -= 1;
        if self.started[pull].missing == 0 {
            self.started[pull].row = Some(self.query(driver, pull, true));
            driver.round_ended(pull as u32);
            self.ended += 1;
        }
        self.ask(driver, at);
        if self.list.as_ref().is_some_and(|list| list.list().len() == self.ended) {
            driver.finish();
        }
    }

    /// The host that requests a pull.
    fn client_of(&self, pull: usize) -> HostId {
        HostId(self.list.as_ref().map_or(0, |list| list.list()[pull].to))
    }

    fn query(&self, view: &dyn View, pull: usize, whole: bool) -> QueryRow {
        let Started { start, timeouts, .. } = self.started[pull];
        let took = view.now().since(start);
        let row = round_row(pull as u32, start.0, took, whole, timeouts_since(view, timeouts));
        QueryRow { client_host: self.client_of(pull).0, ..row }
    }
}

impl Application for Pulls {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        self.start_due(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        match Carried::from(message) {
            Carried::Request(number) => self.asked(driver, number),
            Carried::Flow(number) => self.answered(driver, number),
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Start => self.start_due(driver),
            Timer::Serve(number) => self.transfers.answer(driver, number),
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let row =
            |(pull, started): (usize, &Started)| started.row.clone().unwrap_or_else(|| self.query(view, pull, false));
        record.queries.extend(self.started.iter().enumerate().map(row));
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now();
    }
}
