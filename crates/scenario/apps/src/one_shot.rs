//! One shot: every server opens a connection to the client and sends one fragment; the run ends with the last byte.

use fanin_driver::{
    Application, ConnectionId, Driver, EndpointId, Meaning, Message, Purpose, Record, Stream, View, meanings,
};
use fanin_fabric::HostId;
use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, FlowRow};
use fanin_units::Time;

use crate::rows::round_row;

meanings! {
    pub(crate) enum Timer {
        Open(server),
        End,
    }
}

meanings! {
    pub(crate) enum Carried {
        Fragment(server),
    }
}

pub(crate) struct OneShot {
    flows: Vec<FlowRow>,
    /// By server.
    starts: Vec<Time>,
    connections: Vec<Option<ConnectionId>>,
    /// Servers that have not begun.
    waiting: u32,
    missing: u32,
    start_jitter: Time,
    duration: Time,
    deadline: Time,
}

impl OneShot {
    pub fn new(spec: &RunSpec) -> OneShot {
        let workload = &spec.settings.workload;
        let flow = |server| FlowRow {
            from_host: HostId::server(server).0,
            round: Some(0),
            payload_bytes: Some(spec.settings.answer(spec.fan_in, server).0),
            ..FlowRow::default()
        };
        let start = |server| Stream::new(spec.seed, Purpose::Start, server).up_to(workload.start_jitter);
        OneShot {
            flows: (0..spec.fan_in).map(flow).collect(),
            starts: (0..spec.fan_in).map(start).collect(),
            connections: vec![None; spec.fan_in as usize],
            waiting: spec.fan_in,
            missing: spec.fan_in,
            start_jitter: workload.start_jitter,
            duration: workload.duration,
            deadline: workload.deadline.0.unwrap_or(Time::NEVER),
        }
    }

    fn open(&mut self, driver: &mut dyn Driver, server: u32) {
        self.waiting -= 1;
        let flow = &mut self.flows[server as usize];
        flow.start_ps = driver.now().0;
        let connection = driver.connect(HostId::server(server), HostId::CLIENT, FlowKind::Answer);
        self.connections[server as usize] = Some(connection);
        let deadline = driver.now().saturating_add(self.deadline);
        let fragment = Message::new(flow.payload_bytes.unwrap_or(0), Carried::Fragment(server));
        driver.send(connection.opener(), Message { deadline, ..fragment });
        driver.close(connection.opener());
    }

    /// Delivered bytes of a server's fragment.
    fn delivered(&self, view: &dyn View, server: usize) -> u64 {
        match (&self.flows[server], self.connections[server]) {
            (FlowRow { fct_ps: Some(_), payload_bytes, .. }, _) => payload_bytes.unwrap_or(0),
            (_, connection) => connection.map_or(0, |connection| view.delivered(connection.answerer())),
        }
    }
}

impl Application for OneShot {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.await_responses(&[HostId::CLIENT], self.start_jitter);
        driver.after(self.duration, Timer::End.into());
        for server in 0..self.flows.len() as u32 {
            match self.starts[server as usize] {
                Time::ZERO => self.open(driver, server),
                at => driver.after(at, Timer::Open(server).into()),
            }
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let Carried::Fragment(server) = Carried::from(message);
        let flow = &mut self.flows[server as usize];
        flow.fct_ps = Some(driver.now().0 - flow.start_ps);
        self.missing -= 1;
        if self.missing == 0 {
            driver.finish();
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Open(server) => self.open(driver, server),
            Timer::End => driver.finish(),
        }
    }

    fn foresees(&self, timer: Meaning) -> bool {
        matches!(Timer::from(timer), Timer::Open(_))
    }

    fn ends_when_all_is_there(&self) -> bool {
        self.waiting == 0
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let start = self.flows.iter().map(|flow| flow.start_ps).min().unwrap_or(0);
        let (took, whole) = (view.now().0 - start, self.missing == 0);
        record.queries.push(round_row(0, start, Time(took), whole, view.timeouts()));
        let row = |server| FlowRow { delivered_bytes: self.delivered(view, server), ..self.flows[server].clone() };
        record.flows.extend((0..self.flows.len()).map(row));
        record.payload_bytes = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
        record.measured = Time(took);
    }
}
