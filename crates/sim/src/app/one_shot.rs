//! One shot: every server opens a connection to the client and sends one fragment; the run ends with the last byte.

use fanin_spec::{FlowRow, QueryRow, RunSpec};
use fanin_units::Time;

use super::application::{App, END, Record, host_of, start_background};
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::{CLIENT, World};

pub(crate) struct OneShot {
    flows: Vec<FlowRow>,
    /// The server that each endpoint of the client belongs to, by half the endpoint's number.
    server_of: Vec<u32>,
    missing: u32,
}

impl OneShot {
    pub fn new(spec: &RunSpec) -> OneShot {
        let flow = |server| FlowRow {
            from_host: host_of(server),
            round: Some(0),
            payload_bytes: Some(spec.settings.answer(spec.fan_in, server).0),
            ..FlowRow::default()
        };
        OneShot { flows: (0..spec.fan_in).map(flow).collect(), server_of: Vec::new(), missing: spec.fan_in }
    }

    fn open<P: Probe>(&mut self, world: &mut World<P>, server: u32) {
        let flow = &mut self.flows[server as usize];
        flow.start_ps = world.now.0;
        let connection = world.connect(host_of(server), CLIENT);
        self.server_of.resize(connection.opener as usize / 2 + 1, END);
        self.server_of[connection.opener as usize / 2] = server;
        let bytes = flow.payload_bytes.unwrap_or(0);
        world.wake_at(connection.answerer, bytes);
        world.answer(connection.opener, bytes, world.now);
        world.close(connection.opener);
    }
}

impl<P: Probe> App<P> for OneShot {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.await_answers();
        let workload = &world.spec.settings.workload;
        let (jitter, limit) = (workload.start_jitter, workload.duration);
        world.after(limit, END);
        for server in 0..world.spec.fan_in {
            match Stream::new(world.spec.seed, Purpose::Start, server).up_to(jitter) {
                Time::ZERO => self.open(world, server),
                at => world.after(at, server),
            }
        }
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        let server = self.server_of[endpoint as usize / 2];
        let flow = &mut self.flows[server as usize];
        flow.fct_ps = Some(world.now.0 - flow.start_ps);
        self.missing -= 1;
        world.done = self.missing == 0;
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => world.done = true,
            server => self.open(world, server),
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let start = self.flows.iter().map(|flow| flow.start_ps).min().unwrap_or(0);
        let whole = self.missing == 0;
        let query = QueryRow {
            round: 0,
            start_ps: start,
            qct_ps: whole.then_some(world.now.0 - start),
            waited_ps: (!whole).then_some(world.now.0 - start),
            timeouts: world.timeouts,
        };
        // A server's connection is known by half of its endpoints' numbers.
        let mut flows = self.flows.clone();
        for (&server, half) in self.server_of.iter().zip(0u32..).filter(|(server, _)| **server != END) {
            flows[server as usize].delivered_bytes = world.delivered(2 * half + 1);
        }
        Record {
            payload_bytes: flows.iter().map(|flow| flow.delivered_bytes).sum(),
            flows,
            queries: vec![query],
            measured: Time(world.now.0 - start),
            ..Record::default()
        }
    }
}
