//! Long flows: every server sends to the client without end.

use fanin_spec::RunSpec;
use fanin_units::Time;

use super::{App, CLIENT, END, ENDLESS, Record, host_of, start_background};
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::{Connection, World};

pub(crate) struct Long {
    connections: Vec<Connection>,
}

impl Long {
    pub fn new(_spec: &RunSpec) -> Long {
        Long { connections: Vec::new() }
    }
}

impl<P: Probe> App<P> for Long {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        let jitter = world.spec.settings.workload.start_jitter;
        for server in 0..world.spec.fan_in {
            let at = Stream::new(world.spec.seed, Purpose::Start, server).up_to(jitter);
            world.after(at, server);
        }
        world.after(world.spec.settings.workload.duration, END);
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn closed(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn due(&mut self, world: &mut World<P>, token: u32) {
        if token == END {
            world.done = true;
            return;
        }
        let connection = world.connect(host_of(token), CLIENT);
        world.write(connection.opener, ENDLESS);
        self.connections.push(connection);
    }

    fn record(&self, world: &World<P>) -> Record {
        let payload_bytes = self.connections.iter().map(|c| world.delivered(c.answerer)).sum();
        Record { payload_bytes, measured: world.now.max(Time(1)), ..Record::default() }
    }
}
