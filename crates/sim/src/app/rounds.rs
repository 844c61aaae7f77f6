//! Rounds of one question to many: the client asks every server for its part, and asks again when the last part has come.
//!
//! A barrier-synchronised read goes on for the scenario's duration, over standing connections that are opened before; a web
//! search has so many queries, each over new connections.

use fanin_fabric::HostId;
use fanin_spec::{FlowKind, FlowRow, QueryRow, RunSpec};
use fanin_units::Time;

use super::application::{Application, Driver, Record, View, host_of, round_row};
use super::warm_up::WarmUp;
use crate::ids::{ConnectionId, EndpointId};
use crate::message::{Message, meanings};
use crate::streams::{Purpose, Stream};

meanings! {
    pub(crate) enum Timer {
        /// A server has worked out its answer.
        Serve(server),
        WarmUp,
        End,
        /// A connection that was being opened ought to stand by now.
        GiveUp(server),
    }
}

meanings! {
    pub(crate) enum Carried {
        Request(server),
        Answer(server),
    }
}

/// One server, as the client and the server see it.
struct Server {
    /// Its connection: of this round, where each has new ones.
    connection: Option<ConnectionId>,
    /// Payload of its answer.
    answer: u64,
    start: Stream,
    service: Stream,
    /// When it was asked in this round.
    asked: Time,
    /// What went over the connection before its answer of this round; `None` before it is sent, or where it is there.
    before: Option<u64>,
    answered: bool,
}

/// So many of the longest timeouts.
const PATIENCE: u64 = 10;

pub(crate) struct Rounds {
    /// Connections stand from before the first round until the end.
    stand: bool,
    /// Rounds after which the run ends; `None`: it ends with its duration.
    limit: Option<u32>,
    /// Servers that are asked at once.
    at_once: u32,
    request: u64,
    service: Time,
    service_jitter: Time,
    start_jitter: Time,
    /// Of an answer, from when it was asked for.
    deadline: Time,
    servers: Vec<Server>,
    /// Connections that are being opened, and ends at which they stand.
    opened: u32,
    established: u32,
    /// A connection that does not stand after this is given up, and the run with it; `None` where every host answers some time.
    patience: Option<Time>,
    warm_up: WarmUp,
    /// When the first request that is measured went out; `NEVER` while connections are being opened.
    began: Time,
    round: u32,
    round_start: Time,
    round_timeouts: u64,
    /// The next server to ask in this round, and how many have not answered.
    next: u32,
    missing: u32,
    ended: bool,
    /// Payload of whole answers.
    payload: u64,
    flows: Vec<FlowRow>,
    queries: Vec<QueryRow>,
}

impl Rounds {
    /// Barrier-synchronised reads.
    pub fn barrier(spec: &RunSpec) -> Rounds {
        Rounds::new(spec, None)
    }

    /// Queries of a web search.
    pub fn web_search(spec: &RunSpec) -> Rounds {
        Rounds::new(spec, Some(spec.settings.workload.queries))
    }

    fn new(spec: &RunSpec, limit: Option<u32>) -> Rounds {
        let (workload, host) = (&spec.settings.workload, &spec.settings.host);
        let server = |id| Server {
            connection: None,
            answer: spec.settings.answer(spec.fan_in, id).0,
            start: Stream::new(spec.seed, Purpose::Start, id),
            service: Stream::new(spec.seed, Purpose::Service, id),
            asked: Time::ZERO,
            before: None,
            answered: false,
        };
        Rounds {
            stand: spec.settings.connections_stand(),
            limit,
            at_once: workload.in_flight.0.unwrap_or(spec.fan_in).min(spec.fan_in),
            request: workload.request.0,
            service: host.service_time,
            service_jitter: host.service_jitter,
            start_jitter: workload.start_jitter,
            deadline: workload.deadline.0.unwrap_or(Time::NEVER),
            servers: (0..spec.fan_in).map(server).collect(),
            opened: 0,
            established: 0,
            patience: spec.settings.may_fail().then(|| spec.settings.tcp.rto_max.saturating_mul(PATIENCE)),
            warm_up: WarmUp::new(spec),
            began: Time::NEVER,
            round: 0,
            round_start: Time::ZERO,
            round_timeouts: 0,
            next: 0,
            missing: 0,
            ended: false,
            payload: 0,
            flows: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// Standing connections are opened one after another, so that opening them is no incast of its own.
    fn open_next(&mut self, driver: &mut dyn Driver) {
        let connection = driver.connect(HostId::CLIENT, host_of(self.opened), FlowKind::Answer);
        self.servers[self.opened as usize].connection = Some(connection);
        if let Some(patience) = self.patience {
            driver.after(patience, Timer::GiveUp(self.opened).into());
        }
        self.opened += 1;
    }

    /// What there is to open stands.
    fn begin(&mut self, driver: &mut dyn Driver) {
        self.began = driver.now();
        // Only now: beside endless flows, opening the connections could take for ever.
        driver.begin();
        driver.await_answers(self.service + self.service_jitter + self.start_jitter);
        self.warm_up.begin(driver, Timer::WarmUp);
        self.begin_round(driver);
    }

    /// What was so far is no matter of the figures.
    fn measure(&mut self, driver: &mut dyn Driver) {
        (self.began, self.round) = (driver.now(), 0);
        self.flows.clear();
        self.queries.clear();
        let payload = self.payload(driver);
        self.warm_up.end(driver, payload, Timer::End);
    }

    fn begin_round(&mut self, driver: &mut dyn Driver) {
        if self.warm_up.ends_with(driver.now(), self.round) {
            self.measure(driver);
        }
        self.round_start = driver.now();
        self.round_timeouts = driver.timeouts();
        (self.next, self.missing) = (0, self.servers.len() as u32);
        for _ in 0..self.at_once {
            self.ask_next(driver);
        }
    }

    fn ask_next(&mut self, driver: &mut dyn Driver) {
        let id = self.next;
        self.next += 1;
        let server = &mut self.servers[id as usize];
        let connection = match server.connection {
            Some(standing) if self.stand => standing,
            _ => driver.connect(HostId::CLIENT, host_of(id), FlowKind::Answer),
        };
        (server.connection, server.asked) = (Some(connection), driver.now());
        (server.before, server.answered) = (None, false);
        if self.request == 0 {
            driver.after(server.start.up_to(self.start_jitter), Timer::Serve(id).into());
        } else {
            driver.send(connection.opener(), Message::new(self.request, Carried::Request(id)));
        }
    }

    /// A server sends its answer.
    fn serve(&mut self, driver: &mut dyn Driver, id: u32) {
        let server = &mut self.servers[id as usize];
        let Some(connection) = server.connection else { return };
        let deadline = server.asked.saturating_add(self.deadline);
        let answer = Message { deadline, ..Message::new(server.answer, Carried::Answer(id)) };
        server.before = Some(driver.send(connection.answerer(), answer));
        if !self.stand {
            driver.close(connection.answerer());
        }
    }

    fn answered(&mut self, driver: &mut dyn Driver, id: u32) {
        let server = &mut self.servers[id as usize];
        server.answered = true;
        let (answer, took) = (server.answer, driver.now().since(server.asked));
        self.payload += answer;
        self.flows.push(self.flow(id, answer, Some(took.0)));
        self.missing -= 1;
        if (self.next as usize) < self.servers.len() {
            self.ask_next(driver);
        }
        if self.missing == 0 {
            self.queries.push(self.query(driver, true));
            driver.round_ended(self.round);
            self.round += 1;
            self.ended = !self.warm_up.is_on() && self.limit == Some(self.round);
            match self.ended {
                true => driver.finish(),
                false => self.begin_round(driver),
            }
        }
    }

    /// A server's answer in this round, so far as it is there.
    fn flow(&self, id: u32, delivered_bytes: u64, fct_ps: Option<u64>) -> FlowRow {
        let server = &self.servers[id as usize];
        FlowRow {
            from_host: host_of(id).0,
            round: Some(self.round.into()),
            payload_bytes: Some(server.answer),
            delivered_bytes,
            start_ps: server.asked.since(self.began).0,
            fct_ps,
            ..FlowRow::default()
        }
    }

    /// The answers of this round that are not whole.
    fn open_flows(&self, view: &dyn View) -> impl Iterator<Item = FlowRow> {
        let asked = if self.ended { 0 } else { self.next };
        self.servers.iter().zip(0..asked).filter(|(server, _)| !server.answered).map(|(server, id)| {
            let there = server
                .connection
                .zip(server.before)
                .map_or(0, |(connection, before)| view.delivered(connection.opener()).saturating_sub(before));
            self.flow(id, there, None)
        })
    }

    /// Payload so far. Of a web search's answers only the whole ones count: its queries end with their last byte.
    fn payload(&self, view: &dyn View) -> u64 {
        let parts = if self.limit.is_none() { self.open_flows(view).map(|flow| flow.delivered_bytes).sum() } else { 0 };
        self.payload + parts
    }

    fn query(&self, view: &dyn View, whole: bool) -> QueryRow {
        let (start_ps, took) = (self.round_start.since(self.began).0, view.now().since(self.round_start));
        round_row(self.round, start_ps, took, whole, view.timeouts() - self.round_timeouts)
    }
}

impl Application for Rounds {
    type Timer = Timer;
    type Message = Carried;

    fn start(&mut self, driver: &mut dyn Driver) {
        match self.stand {
            true => self.open_next(driver),
            false => self.begin(driver),
        }
    }

    fn established(&mut self, driver: &mut dyn Driver, _at: EndpointId) {
        if self.began != Time::NEVER {
            return;
        }
        // Both ends count: a server that has not heard the client's ACK cannot answer.
        self.established += 1;
        if self.established < 2 * self.opened {
            return;
        }
        if (self.opened as usize) < self.servers.len() {
            self.open_next(driver);
        } else {
            self.begin(driver);
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Carried) {
        match message {
            Carried::Answer(id) => self.answered(driver, id),
            Carried::Request(id) => {
                let server = &mut self.servers[id as usize];
                let service = self.service + server.service.up_to(self.service_jitter);
                let start = server.start.up_to(self.start_jitter);
                driver.after(driver.at_work(host_of(id), service).saturating_add(start), Timer::Serve(id).into());
            }
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Timer) {
        match timer {
            Timer::Serve(id) => self.serve(driver, id),
            Timer::WarmUp if self.warm_up.is_on() => self.measure(driver),
            Timer::WarmUp => {}
            Timer::GiveUp(id) if self.began == Time::NEVER && id + 1 == self.opened => driver.finish(),
            Timer::GiveUp(_) => {}
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.flows.iter().cloned().chain(self.open_flows(view)));
        record.queries.extend(self.queries.iter().cloned());
        if !self.ended {
            record.queries.push(self.query(view, false));
        }
        record.payload_bytes = self.payload(view);
        record.measured = view.now().since(self.began);
    }
}
