//! Barrier-synchronised reads: over standing connections the client asks every server for its part, and asks again when
//! the last part has come.

use fanin_spec::{FlowRow, QueryRow, RunSpec};
use fanin_units::Time;

use super::application::{App, END, Record, WARM, host_of, start_background};
use super::warm_up::WarmUp;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::{CLIENT, Connection, World};

/// One server, as the client and the server see it.
struct Server {
    connection: Connection,
    /// Payload of its answer.
    answer: u64,
    start: Stream,
    service: Stream,
    /// When it was asked in this round.
    asked: Time,
    /// Requests and answers so far.
    requests: u64,
    answers: u64,
}

pub(crate) struct Barrier {
    servers: Vec<Server>,
    established: u32,
    warm_up: WarmUp,
    /// When the first request that is measured went out; `NEVER` while connections are being opened.
    began: Time,
    round: u32,
    round_start: Time,
    round_timeouts: u64,
    /// The next server to ask in this round, and how many have not answered.
    next: u32,
    missing: u32,
    flows: Vec<FlowRow>,
    queries: Vec<QueryRow>,
}

impl Barrier {
    pub fn new(spec: &RunSpec) -> Barrier {
        Barrier {
            warm_up: WarmUp::new(spec),
            servers: Vec::new(),
            established: 0,
            began: Time::NEVER,
            round: 0,
            round_start: Time::ZERO,
            round_timeouts: 0,
            next: 0,
            missing: 0,
            flows: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// Connections are opened one after another, so that opening them is no incast of its own.
    fn open_next<P: Probe>(&mut self, world: &mut World<P>) {
        let server = self.servers.len() as u32;
        let connection = world.connect(CLIENT, host_of(server));
        let seed = world.spec.seed;
        self.servers.push(Server {
            connection,
            answer: world.spec.settings.answer(world.spec.fan_in, server).0,
            start: Stream::new(seed, Purpose::Start, server),
            service: Stream::new(seed, Purpose::Service, server),
            asked: Time::ZERO,
            requests: 0,
            answers: 0,
        });
    }

    fn server_of(&self, endpoint: u32) -> Option<u32> {
        // The servers' connections are the first; the background's follow.
        Some(endpoint / 2).filter(|&server| (server as usize) < self.servers.len())
    }

    /// What was so far is no matter of the figures.
    fn measure<P: Probe>(&mut self, world: &mut World<P>) {
        (self.began, self.round) = (world.now, 0);
        self.flows.clear();
        self.queries.clear();
        self.warm_up.end(world, self.payload(world));
    }

    fn payload<P: Probe>(&self, world: &World<P>) -> u64 {
        self.servers.iter().map(|s| world.delivered(s.connection.opener)).sum()
    }

    fn begin_round<P: Probe>(&mut self, world: &mut World<P>) {
        if self.warm_up.ends_with(world.now, self.round) {
            self.measure(world);
        }
        self.round_start = world.now;
        self.round_timeouts = world.timeouts;
        (self.next, self.missing) = (0, world.spec.fan_in);
        let at_once = world.spec.settings.workload.in_flight.0.unwrap_or(world.spec.fan_in);
        for _ in 0..at_once.min(world.spec.fan_in) {
            self.ask_next(world);
        }
    }

    fn ask_next<P: Probe>(&mut self, world: &mut World<P>) {
        let (id, request) = (self.next, world.spec.settings.workload.request.0);
        self.next += 1;
        let server = &mut self.servers[id as usize];
        server.asked = world.now;
        server.answers += 1;
        world.wake_at(server.connection.opener, server.answers * server.answer);
        if request == 0 {
            let jitter = server.start.up_to(world.spec.settings.workload.start_jitter);
            world.after(jitter, id);
        } else {
            server.requests += 1;
            world.wake_at(server.connection.answerer, server.requests * request);
            world.write(server.connection.opener, request);
        }
    }

    fn answered<P: Probe>(&mut self, world: &mut World<P>, id: u32) {
        let server = &self.servers[id as usize];
        self.flows.push(self.flow(id, server.answer, Some(world.now.since(server.asked).0)));
        self.missing -= 1;
        if self.next < world.spec.fan_in {
            self.ask_next(world);
        }
        if self.missing == 0 {
            let row = self.query(world, Some(world.now.since(self.round_start).0));
            self.queries.push(row);
            world.round_ended(self.round);
            self.round += 1;
            self.begin_round(world);
        }
    }

    /// A server's answer in this round, so far as it is there.
    fn flow(&self, id: u32, delivered_bytes: u64, fct_ps: Option<u64>) -> FlowRow {
        let server = &self.servers[id as usize];
        FlowRow {
            from_host: host_of(id),
            round: Some(self.round.into()),
            payload_bytes: Some(server.answer),
            delivered_bytes,
            start_ps: server.asked.since(self.began).0,
            fct_ps,
            ..FlowRow::default()
        }
    }

    /// The answers of this round that the run's end cut off.
    fn open_flows<P: Probe>(&self, world: &World<P>) -> impl Iterator<Item = FlowRow> {
        self.servers.iter().zip(0..self.next).filter_map(|(server, id)| {
            let before = server.answers.saturating_sub(1) * server.answer;
            let delivered = world.delivered(server.connection.opener).saturating_sub(before);
            (delivered < server.answer).then(|| self.flow(id, delivered, None))
        })
    }

    fn query<P: Probe>(&self, world: &World<P>, qct_ps: Option<u64>) -> QueryRow {
        QueryRow {
            round: self.round,
            start_ps: self.round_start.since(self.began).0,
            qct_ps,
            waited_ps: qct_ps.is_none().then(|| world.now.since(self.round_start).0),
            timeouts: world.timeouts - self.round_timeouts,
        }
    }
}

impl<P: Probe> App<P> for Barrier {
    fn start(&mut self, world: &mut World<P>) {
        self.open_next(world);
    }

    fn established(&mut self, world: &mut World<P>, endpoint: u32) {
        if self.server_of(endpoint).is_none() {
            return;
        }
        // Both ends count: a server that has not heard the client's ACK cannot answer.
        self.established += 1;
        if self.established < 2 * self.servers.len() as u32 {
            return;
        }
        if (self.servers.len() as u32) < world.spec.fan_in {
            self.open_next(world);
        } else {
            self.began = world.now;
            // Only now: beside endless flows, opening the connections could take for ever.
            start_background(world);
            world.await_answers();
            self.warm_up.begin(world);
            self.begin_round(world);
        }
    }

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        let Some(id) = self.server_of(endpoint) else { return };
        let server = &mut self.servers[id as usize];
        if endpoint == server.connection.opener {
            self.answered(world, id);
            return;
        }
        let s = &world.spec.settings;
        let wait = s.host.service_time
            + server.service.up_to(s.host.service_jitter)
            + server.start.up_to(s.workload.start_jitter);
        world.after(wait, id);
    }

    fn closed(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => world.done = true,
            WARM if self.warm_up.is_on() => self.measure(world),
            WARM => {}
            id => {
                let server = &self.servers[id as usize];
                world.answer(server.connection.answerer, server.answer, server.asked);
            }
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let mut queries = self.queries.clone();
        queries.push(self.query(world, None));
        Record {
            flows: self.flows.iter().cloned().chain(self.open_flows(world)).collect(),
            queries,
            payload_bytes: self.payload(world),
            measured: world.now.since(self.began),
            ..Record::default()
        }
    }
}
