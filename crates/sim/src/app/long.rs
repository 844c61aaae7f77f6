//! Long flows: every server sends to the client without end.

use fanin_spec::{FlowKind, FlowRow, RunSpec, WarmUp};
use fanin_units::Time;

use super::application::{App, END, ENDLESS, Record, WARM, host_of, start_background};
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::{CLIENT, Connection, World};

pub(crate) struct Long {
    flows: Vec<Flow>,
}

struct Flow {
    server: u32,
    connection: Connection,
    start: Time,
    /// What it had delivered as the measured time began.
    before: u64,
}

impl Long {
    pub fn new(_spec: &RunSpec) -> Long {
        Long { flows: Vec::new() }
    }
}

impl<P: Probe> App<P> for Long {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.await_answers();
        let jitter = world.spec.settings.workload.start_jitter;
        for server in 0..world.spec.fan_in {
            let at = Stream::new(world.spec.seed, Purpose::Start, server).up_to(jitter);
            world.after(at, server);
        }
        let workload = &world.spec.settings.workload;
        let (duration, warm_up) = (workload.duration, workload.warm_up.0);
        match warm_up {
            Some(WarmUp::For(time)) => {
                world.after(time, WARM);
                world.after(time.saturating_add(duration), END);
            }
            _ => world.after(duration, END),
        }
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn closed(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => world.done = true,
            WARM => {
                for flow in &mut self.flows {
                    flow.before = world.delivered(flow.connection.answerer);
                }
                world.measure_from_here(0);
            }
            server => {
                let connection = world.connect(host_of(server), CLIENT);
                world.write(connection.opener, ENDLESS);
                self.flows.push(Flow { server, connection, start: world.now, before: 0 });
            }
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let row = |flow: &Flow| FlowRow {
            class: FlowKind::Long,
            from_host: host_of(flow.server),
            delivered_bytes: world.delivered(flow.connection.answerer) - flow.before,
            start_ps: flow.start.since(world.since.at).0,
            ..FlowRow::default()
        };
        let flows: Vec<FlowRow> = self.flows.iter().map(row).collect();
        let payload_bytes = flows.iter().map(|flow| flow.delivered_bytes).sum();
        Record { flows, payload_bytes, measured: world.now.since(world.since.at).max(Time(1)), ..Record::default() }
    }
}
