//! Web search: an aggregator asks every worker over new connections, and starts the next query when all have answered.

use fanin_spec::{FlowRow, QueryRow, RunSpec};
use fanin_units::Time;

use super::application::{App, END, Record, WARM, host_of, start_background};
use super::warm_up::WarmUp;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::{CLIENT, Connection, World};

/// One worker.
struct Worker {
    /// Its connection in this query.
    connection: Option<Connection>,
    answer: u64,
    start: Stream,
    service: Stream,
    asked: Time,
}

pub(crate) struct WebSearch {
    workers: Vec<Worker>,
    /// The worker that each connection belongs to, by half an endpoint's number; `END` for the background's.
    worker_of: Vec<u32>,
    warm_up: WarmUp,
    /// When the first query that is measured began.
    began: Time,
    query: u32,
    query_start: Time,
    query_timeouts: u64,
    next: u32,
    missing: u32,
    /// Payload of completed queries.
    payload: u64,
    flows: Vec<FlowRow>,
    queries: Vec<QueryRow>,
}

impl WebSearch {
    pub fn new(spec: &RunSpec) -> WebSearch {
        let worker = |id| Worker {
            connection: None,
            answer: spec.settings.answer(spec.fan_in, id).0,
            start: Stream::new(spec.seed, Purpose::Start, id),
            service: Stream::new(spec.seed, Purpose::Service, id),
            asked: Time::ZERO,
        };
        WebSearch {
            workers: (0..spec.fan_in).map(worker).collect(),
            worker_of: Vec::new(),
            warm_up: WarmUp::new(spec),
            began: Time::ZERO,
            query: 0,
            query_start: Time::ZERO,
            query_timeouts: 0,
            next: 0,
            missing: 0,
            payload: 0,
            flows: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// What was so far is no matter of the figures.
    fn measure<P: Probe>(&mut self, world: &mut World<P>) {
        (self.began, self.query, self.payload) = (world.now, 0, 0);
        self.flows.clear();
        self.queries.clear();
        self.warm_up.end(world, 0);
    }

    fn begin_query<P: Probe>(&mut self, world: &mut World<P>) {
        if self.warm_up.ends_with(world.now, self.query) {
            self.measure(world);
        }
        self.query_start = world.now;
        self.query_timeouts = world.timeouts;
        (self.next, self.missing) = (0, world.spec.fan_in);
        let at_once = world.spec.settings.workload.in_flight.0.unwrap_or(world.spec.fan_in);
        for _ in 0..at_once.min(world.spec.fan_in) {
            self.ask_next(world);
        }
    }

    fn ask_next<P: Probe>(&mut self, world: &mut World<P>) {
        let (id, request) = (self.next, world.spec.settings.workload.request.0);
        self.next += 1;
        let connection = world.connect(CLIENT, host_of(id));
        self.worker_of.resize(connection.opener as usize / 2 + 1, END);
        self.worker_of[connection.opener as usize / 2] = id;
        let worker = &mut self.workers[id as usize];
        (worker.connection, worker.asked) = (Some(connection), world.now);
        world.wake_at(connection.opener, worker.answer);
        world.wake_at(connection.answerer, request);
        world.write(connection.opener, request);
    }

    fn answered<P: Probe>(&mut self, world: &mut World<P>, id: u32) {
        let worker = &self.workers[id as usize];
        self.payload += worker.answer;
        self.flows.push(self.flow(id, worker.answer, Some(world.now.since(worker.asked).0)));
        self.missing -= 1;
        if self.next < world.spec.fan_in {
            self.ask_next(world);
        }
        if self.missing == 0 {
            let row = self.row(world, Some(world.now.since(self.query_start).0));
            self.queries.push(row);
            world.round_ended(self.query);
            self.query += 1;
            if !self.warm_up.is_on() && self.query == world.spec.settings.workload.queries {
                world.done = true;
            } else {
                self.begin_query(world);
            }
        }
    }

    /// A worker's answer in this query, so far as it is there.
    fn flow(&self, id: u32, delivered_bytes: u64, fct_ps: Option<u64>) -> FlowRow {
        let worker = &self.workers[id as usize];
        FlowRow {
            from_host: host_of(id),
            round: Some(self.query.into()),
            payload_bytes: Some(worker.answer),
            delivered_bytes,
            start_ps: worker.asked.since(self.began).0,
            fct_ps,
            ..FlowRow::default()
        }
    }

    /// The answers of this query that the run's end cut off.
    fn open_flows<P: Probe>(&self, world: &World<P>) -> impl Iterator<Item = FlowRow> {
        let asked = if self.missing > 0 { self.next } else { 0 };
        self.workers.iter().zip(0..asked).filter_map(|(worker, id)| {
            let delivered = worker.connection.map_or(0, |connection| world.delivered(connection.opener));
            (delivered < worker.answer).then(|| self.flow(id, delivered, None))
        })
    }

    fn row<P: Probe>(&self, world: &World<P>, qct_ps: Option<u64>) -> QueryRow {
        let timeouts = world.timeouts - self.query_timeouts;
        QueryRow {
            round: self.query,
            start_ps: self.query_start.since(self.began).0,
            qct_ps,
            waited_ps: qct_ps.is_none().then(|| world.now.since(self.query_start).0),
            timeouts,
        }
    }
}

impl<P: Probe> App<P> for WebSearch {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.await_answers();
        self.warm_up.begin(world);
        self.begin_query(world);
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        let id = self.worker_of[endpoint as usize / 2];
        let worker = &mut self.workers[id as usize];
        if endpoint.is_multiple_of(2) {
            self.answered(world, id);
            return;
        }
        let s = &world.spec.settings;
        let wait = s.host.service_time
            + worker.service.up_to(s.host.service_jitter)
            + worker.start.up_to(s.workload.start_jitter);
        world.after(wait, id);
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => return world.done = true,
            WARM if self.warm_up.is_on() => return self.measure(world),
            WARM => return,
            _ => {}
        }
        let worker = &self.workers[token as usize];
        if let Some(connection) = worker.connection {
            world.answer(connection.answerer, worker.answer, worker.asked);
            world.close(connection.answerer);
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let mut queries = self.queries.clone();
        if self.missing > 0 {
            queries.push(self.row(world, None));
        }
        Record {
            flows: self.flows.iter().cloned().chain(self.open_flows(world)).collect(),
            queries,
            payload_bytes: self.payload,
            measured: world.now.since(self.began),
            ..Record::default()
        }
    }
}
