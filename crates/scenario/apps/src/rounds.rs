//! Rounds of requests to many servers: a client requests a part from every server, and starts the next round when the last part has
//! arrived. Several clients do so independently.
//!
//! A barrier-synchronised read continues for the scenario's duration, over persistent connections opened before; a web
//! search has a fixed number of queries, each over new connections.

use fanin_driver::{
    Application, ConnectionId, Driver, EndpointId, Meaning, Message, Purpose, Record, Stream, View, meanings,
};
use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, FlowRow, QueryRow};
use fanin_units::Time;

use super::warm_up::WarmUp;
use crate::rows::round_row;

meanings! {
    pub(crate) enum Timer {
        /// A server has computed its response.
        Serve(number),
        /// A client requests from the next server of a round that has just begun.
        Ask(client),
        /// A client's pause after a round is over.
        Next(client),
        WarmUp,
        End,
        /// A connection should have been opened by now.
        GiveUp(number),
    }
}

meanings! {
    pub(crate) enum Carried {
        Request(number),
        Answer(number),
    }
}

/// One server and its state for its client.
struct Server {
    host: HostId,
    /// Its connection; of this round, if each has new ones.
    connection: Option<ConnectionId>,
    /// Payload of its response.
    answer: u64,
    start: Stream,
    service: Stream,
    /// Time of the request in this round.
    asked: Time,
    /// Bytes sent before its response of this round; `None` before it is sent, or once it has arrived.
    before: Option<u64>,
    answered: bool,
}

/// One client and its current round.
struct Client {
    host: HostId,
    servers: Vec<Server>,
    /// Its servers in the order of requests; the first of them are those of this round.
    order: Vec<u32>,
    /// Servers of a round.
    stripe: u32,
    pick: Stream,
    /// The round's number, among those of all clients.
    round: u32,
    round_start: Time,
    round_timeouts: u64,
    /// Timeouts of its connections so far.
    timeouts: u64,
    /// The place of the next server to request from in this round, and the number of missing responses.
    next: u32,
    missing: u32,
    /// Number of initial requests still to be sent in this round.
    to_ask: u32,
    /// No round is open: none has begun, or one has ended and the next begins after a pause or never.
    rests: bool,
    /// Rounds that have ended.
    done: u32,
}

/// Multiple of the longest timeout.
const GIVE_UP_AFTER: u64 = 10;

pub(crate) struct Rounds {
    /// Connections are persistent, from before the first round until the end.
    stand: bool,
    /// Rounds of each client after which the run ends; `None`: it ends with its duration.
    limit: Option<u32>,
    /// Concurrency limit of a client over servers.
    at_once: u32,
    request: u64,
    service: Time,
    service_jitter: Time,
    start_jitter: Time,
    /// Time between initial requests of a round.
    gap: Time,
    pause: Time,
    /// Deadline of a response after its request.
    deadline: Time,
    clients: Vec<Client>,
    /// Servers per client: a number is a client's index times this, plus a server's.
    fan_in: u32,
    /// Connections being opened, and established ends.
    opened: u32,
    established: u32,
    /// Client of each opened connection.
    client_of: Vec<u32>,
    /// A connection not opened within this time is given up, and the run with it; `None` if every host responds eventually.
    patience: Option<Time>,
    warm_up: WarmUp,
    /// Time of the first measured request; `NEVER` while connections are being opened.
    began: Time,
    /// Rounds that have begun.
    begun: u32,
    /// Clients that have rounds left.
    running: u32,
    /// Payload of complete responses.
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
        let clients = spec.settings.clients();
        // The first response is one of the largest.
        let answer = spec.settings.answer(spec.fan_in, 0).0;
        Rounds {
            stand: spec.settings.connections_stand(),
            limit,
            at_once: workload
                .in_flight
                .0
                .unwrap_or(spec.fan_in)
                .min(spec.settings.requests_in_flight(answer))
                .min(spec.settings.requested_servers()),
            request: workload.request.0,
            service: host.service_time,
            service_jitter: host.service_jitter,
            start_jitter: workload.start_jitter,
            gap: workload.request_gap,
            pause: workload.pause,
            deadline: workload.deadline.0.unwrap_or(Time::NEVER),
            clients: (0..clients).map(|client| Client::new(spec, client)).collect(),
            fan_in: spec.fan_in,
            opened: 0,
            established: 0,
            client_of: Vec::new(),
            patience: spec.settings.may_fail().then(|| spec.settings.tcp.rto_max.saturating_mul(GIVE_UP_AFTER)),
            warm_up: WarmUp::new(spec),
            began: Time::NEVER,
            begun: 0,
            running: clients,
            payload: 0,
            flows: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// The client and server of a number.
    fn of(&mut self, number: u32) -> (&mut Client, u32) {
        (&mut self.clients[(number / self.fan_in) as usize], number % self.fan_in)
    }

    fn connect(&mut self, driver: &mut dyn Driver, number: u32) -> ConnectionId {
        let (client, id) = self.of(number);
        let server = &mut client.servers[id as usize];
        let connection = driver.connect(client.host, server.host, FlowKind::Answer);
        server.connection = Some(connection);
        self.client_of.push(number / self.fan_in);
        connection
    }

    /// Open persistent connections one after another, so that opening them is no incast of its own.
    fn open_next(&mut self, driver: &mut dyn Driver) {
        self.connect(driver, self.opened);
        if let Some(patience) = self.patience {
            driver.after(patience, Timer::GiveUp(self.opened).into());
        }
        self.opened += 1;
    }

    /// All connections are open.
    fn begin(&mut self, driver: &mut dyn Driver) {
        self.began = driver.now();
        // Only now: with long-lived flows, opening the connections could take forever.
        driver.begin();
        let clients: Vec<HostId> = self.clients.iter().map(|client| client.host).collect();
        driver.await_responses(&clients, self.service + self.service_jitter + self.start_jitter + self.gap);
        self.warm_up.begin(driver, Timer::WarmUp);
        for client in 0..self.clients.len() as u32 {
            self.begin_round(driver, client);
        }
    }

    /// Exclude everything so far from the figures. Rounds in progress count as first ones.
    fn measure(&mut self, driver: &mut dyn Driver) {
        (self.began, self.begun) = (driver.now(), 0);
        self.flows.clear();
        self.queries.clear();
        for client in &mut self.clients {
            client.done = 0;
            if !client.rests {
                client.round = self.begun;
                self.begun += 1;
            }
        }
        let payload = self.payload(driver);
        self.warm_up.end(driver, payload, Timer::End);
    }

    fn begin_round(&mut self, driver: &mut dyn Driver, client: u32) {
        if self.warm_up.ends_with(driver.now(), self.begun / self.clients.len() as u32) {
            self.measure(driver);
        }
        let at = &mut self.clients[client as usize];
        (at.round, at.rests) = (self.begun, false);
        (at.round_start, at.round_timeouts) = (driver.now(), at.timeouts);
        at.draw_servers();
        (at.next, at.missing, at.to_ask) = (0, at.stripe, self.at_once);
        self.begun += 1;
        if self.gap > Time::ZERO {
            self.read(driver, client, false);
        }
        self.ask_first(driver, client);
    }

    /// Set whether a client reads: not while it is busy sending requests.
    fn read(&self, driver: &mut dyn Driver, client: u32, reads: bool) {
        for server in &self.clients[client as usize].servers {
            if let Some(standing) = server.connection.filter(|_| self.stand) {
                driver.reads(standing.opener(), reads);
            }
        }
    }

    /// Send a round's initial requests: all at once, or spaced by the gap.
    fn ask_first(&mut self, driver: &mut dyn Driver, client: u32) {
        while self.clients[client as usize].to_ask > 0 {
            self.clients[client as usize].to_ask -= 1;
            self.ask_next(driver, client);
            if self.gap > Time::ZERO && self.clients[client as usize].to_ask > 0 {
                return driver.after(self.gap, Timer::Ask(client).into());
            }
        }
        if self.gap > Time::ZERO {
            self.read(driver, client, true);
        }
    }

    fn ask_next(&mut self, driver: &mut dyn Driver, client: u32) {
        let at = &mut self.clients[client as usize];
        let id = at.order[at.next as usize];
        let number = client * self.fan_in + id;
        let server = &mut at.servers[id as usize];
        at.next += 1;
        (server.before, server.answered, server.asked) = (None, false, driver.now());
        let connection = match server.connection {
            Some(standing) if self.stand => standing,
            _ => self.connect(driver, number),
        };
        if self.request == 0 {
            let jitter = self.start_jitter;
            let (client, id) = self.of(number);
            let start = client.servers[id as usize].start.up_to(jitter);
            driver.after(start, Timer::Serve(number).into());
        } else {
            driver.send(connection.opener(), Message::new(self.request, Carried::Request(number)));
        }
    }

    /// Send a request to a server.
    fn asked(&mut self, driver: &mut dyn Driver, number: u32) {
        let (service, service_jitter, start_jitter) = (self.service, self.service_jitter, self.start_jitter);
        let (client, id) = self.of(number);
        let server = &mut client.servers[id as usize];
        let service = service + server.service.up_to(service_jitter);
        let start = server.start.up_to(start_jitter);
        driver.after(driver.at_work(server.host, service).saturating_add(start), Timer::Serve(number).into());
    }

    /// A server sends its response.
    fn serve(&mut self, driver: &mut dyn Driver, number: u32) {
        let (deadline, stand) = (self.deadline, self.stand);
        let (client, id) = self.of(number);
        let server = &mut client.servers[id as usize];
        let Some(connection) = server.connection else { return };
        let deadline = server.asked.saturating_add(deadline);
        let answer = Message { deadline, ..Message::new(server.answer, Carried::Answer(number)) };
        server.before = Some(driver.send(connection.answerer(), answer));
        if !stand {
            driver.close(connection.answerer());
        }
    }

    fn answered(&mut self, driver: &mut dyn Driver, number: u32) {
        let began = self.began;
        let (client, id) = self.of(number);
        let server = &mut client.servers[id as usize];
        server.answered = true;
        let (answer, took) = (server.answer, driver.now().since(server.asked));
        client.missing -= 1;
        let (flow, missing, asks) = (client.flow(began, id, answer, Some(took.0)), client.missing, client.asks());
        self.payload += answer;
        self.flows.push(flow);
        match &mut self.clients[(number / self.fan_in) as usize].to_ask {
            0 if asks => self.ask_next(driver, number / self.fan_in),
            to_ask => *to_ask += u32::from(asks),
        }
        if missing == 0 {
            self.round_ends(driver, number / self.fan_in);
        }
    }

    fn round_ends(&mut self, driver: &mut dyn Driver, client: u32) {
        let at = &mut self.clients[client as usize];
        self.queries.push(at.query(driver, self.began, true));
        driver.round_ended(at.round);
        at.rests = true;
        at.done += 1;
        if !self.warm_up.is_on() && self.limit == Some(at.done) {
            self.running -= 1;
            driver.rest(at.host, Time::NEVER);
            if self.running == 0 {
                driver.finish();
            }
        } else if self.pause == Time::ZERO {
            self.begin_round(driver, client);
        } else {
            driver.rest(at.host, self.pause);
            driver.after(self.pause, Timer::Next(client).into());
        }
    }

    /// Payload so far. A web search counts only complete responses: its queries end with their last byte.
    fn payload(&self, view: &dyn View) -> u64 {
        let open = self.clients.iter().flat_map(|client| client.open_flows(view, self.began));
        let parts = if self.limit.is_none() { open.map(|flow| flow.delivered_bytes).sum() } else { 0 };
        self.payload + parts
    }
}

impl Client {
    fn new(spec: &RunSpec, client: u32) -> Client {
        let server = |id| {
            // With space for the maximum number of servers, so that one more affects no other client's draws.
            let entity = client << 20 | id;
            Server {
                host: HostId(spec.settings.server_host(client, id)),
                connection: None,
                answer: spec.settings.answer(spec.fan_in, id).0,
                start: Stream::new(spec.seed, Purpose::Start, entity),
                service: Stream::new(spec.seed, Purpose::Service, entity),
                asked: Time::ZERO,
                before: None,
                answered: false,
            }
        };
        Client {
            host: HostId(spec.settings.client_host(client)),
            servers: (0..spec.fan_in).map(server).collect(),
            order: (0..spec.fan_in).collect(),
            stripe: spec.settings.requested_servers(),
            pick: Stream::new(spec.seed, Purpose::Stripe, client),
            round: client,
            round_start: Time::ZERO,
            round_timeouts: 0,
            timeouts: 0,
            next: 0,
            missing: 0,
            to_ask: 0,
            rests: true,
            done: 0,
        }
    }

    /// Draw this round's servers, if they are not all: the first steps of a shuffle.
    fn draw_servers(&mut self) {
        let all = self.order.len() as u32;
        if self.stripe < all {
            for place in 0..self.stripe {
                self.order.swap(place as usize, (place + self.pick.below(all - place)) as usize);
            }
        }
    }

    /// Whether this round has a server without a sent or scheduled request.
    fn asks(&self) -> bool {
        self.next + self.to_ask < self.stripe
    }

    /// A server's response in this round, as far as it has arrived.
    fn flow(&self, began: Time, id: u32, delivered_bytes: u64, fct_ps: Option<u64>) -> FlowRow {
        let server = &self.servers[id as usize];
        FlowRow {
            from_host: server.host.0,
            to_host: self.host.0,
            round: Some(self.round.into()),
            payload_bytes: Some(server.answer),
            delivered_bytes,
            start_ps: server.asked.since(began).0,
            fct_ps,
            ..FlowRow::default()
        }
    }

    /// The incomplete responses of this round.
    fn open_flows(&self, view: &dyn View, began: Time) -> impl Iterator<Item = FlowRow> {
        let asked = if self.rests { 0 } else { self.next };
        let open = self.order.iter().take(asked as usize).map(|&id| (&self.servers[id as usize], id));
        open.filter(|(server, _)| !server.answered).map(move |(server, id)| {
            let there = server
                .connection
                .zip(server.before)
                .map_or(0, |(connection, before)| view.delivered(connection.opener()).saturating_sub(before));
            self.flow(began, id, there, None)
        })
    }

    fn query(&self, view: &dyn View, began: Time, whole: bool) -> QueryRow {
        let (start_ps, took) = (self.round_start.since(began).0, view.now().since(self.round_start));
        let timeouts = view.timeouts().map(|_| self.timeouts - self.round_timeouts);
        let row = round_row(self.round, start_ps, took, whole, timeouts);
        QueryRow { client_host: self.host.0, ..row }
    }
}

impl Application for Rounds {
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
        // Both ends count: a server that has not received the client's ACK cannot respond.
        self.established += 1;
        if self.established < 2 * self.opened {
            return;
        }
        if self.opened < self.fan_in * self.clients.len() as u32 {
            self.open_next(driver);
        } else {
            self.begin(driver);
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        match Carried::from(message) {
            Carried::Answer(number) => self.answered(driver, number),
            Carried::Request(number) => self.asked(driver, number),
        }
    }

    fn on_timeout(&mut self, at: EndpointId) {
        let client = self.client_of[at.connection().place() as usize];
        self.clients[client as usize].timeouts += 1;
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Serve(number) => self.serve(driver, number),
            Timer::Ask(client) => self.ask_first(driver, client),
            Timer::Next(client) => self.begin_round(driver, client),
            Timer::WarmUp if self.warm_up.is_on() => self.measure(driver),
            Timer::WarmUp => {}
            Timer::GiveUp(number) if self.began == Time::NEVER && number + 1 == self.opened => driver.finish(),
            Timer::GiveUp(_) => {}
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.flows.iter().cloned());
        record.queries.extend(self.queries.iter().cloned());
        for client in &self.clients {
            record.flows.extend(client.open_flows(view, self.began));
            // In a run that never reached its first round, that round is open.
            let is_open = !client.rests || self.began == Time::NEVER;
            record.queries.extend(is_open.then(|| client.query(view, self.began, false)));
        }
        record.payload_bytes = self.payload(view);
        record.measured = view.now().since(self.began);
    }
}
