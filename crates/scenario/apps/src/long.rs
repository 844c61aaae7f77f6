//! Long-lived flows from every server to the client.

use fanin_driver::{Application, ConnectionId, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{RunSpec, WarmUp};
use fanin_tables::{FlowKind, FlowRow};
use fanin_units::Time;

meanings! {
    pub(crate) enum Timer {
        Open(flow),
        WarmUp,
        End,
    }
}

pub(crate) struct Long {
    /// By flow: those of the first server come first.
    starts: Vec<Time>,
    /// Flows of each server.
    streams: u32,
    start_jitter: Time,
    warm_up: Option<WarmUp>,
    duration: Time,
    flows: Vec<Flow>,
}

struct Flow {
    server: u32,
    connection: ConnectionId,
    start: Time,
    /// Bytes delivered before the measured time.
    before: u64,
}

impl Long {
    pub fn new(spec: &RunSpec) -> Long {
        let workload = &spec.settings.workload;
        let start = |flow| Stream::new(spec.seed, Purpose::Start, flow).up_to(workload.start_jitter);
        let starts = (0..spec.fan_in * workload.streams).map(start).collect();
        Long {
            starts,
            streams: workload.streams,
            start_jitter: workload.start_jitter,
            warm_up: workload.warm_up.0,
            duration: workload.duration,
            flows: Vec::new(),
        }
    }
}

impl Application for Long {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.await_responses(&[HostId::CLIENT], self.start_jitter);
        for (&at, flow) in self.starts.iter().zip(0..) {
            driver.after(at, Timer::Open(flow).into());
        }
        match self.warm_up {
            Some(WarmUp::For(time)) => {
                driver.after(time, Timer::WarmUp.into());
                driver.after(time.saturating_add(self.duration), Timer::End.into());
            }
            _ => driver.after(self.duration, Timer::End.into()),
        }
    }

    fn received(&mut self, _driver: &mut dyn Driver, _at: EndpointId, _message: Meaning) {}

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Open(flow) => {
                let server = flow / self.streams;
                let connection = driver.connect(HostId::server(server), HostId::CLIENT, FlowKind::Long);
                driver.send_endlessly(connection.opener());
                self.flows.push(Flow { server, connection, start: driver.now(), before: 0 });
            }
            Timer::WarmUp => {
                for flow in &mut self.flows {
                    flow.before = driver.delivered(flow.connection.answerer());
                }
                driver.measure_from_here(0);
            }
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let from = view.measured_from();
        let row = |flow: &Flow| FlowRow {
            class: FlowKind::Long,
            from_host: HostId::server(flow.server).0,
            delivered_bytes: view.delivered(flow.connection.answerer()) - flow.before,
            start_ps: flow.start.since(from).0,
            ..FlowRow::default()
        };
        record.flows.extend(self.flows.iter().map(row));
        record.payload_bytes = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
        record.measured = view.now().since(from).max(Time(1));
    }
}
