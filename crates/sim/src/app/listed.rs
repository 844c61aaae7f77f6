//! The flows of a list; the run ends with the last byte of the last one.

use std::sync::Arc;

use fanin_spec::{FlowKind, Flows, RunSpec};
use fanin_units::Time;

use super::application::{App, END, Record, start_background};
use super::transfers::Transfers;
use crate::probe::Probe;
use crate::world::World;

pub(crate) struct Listed {
    /// Absent only in a spec that no scenario was read for: then nothing is sent.
    flows: Option<Arc<Flows>>,
    transfers: Transfers,
    waiting: usize,
}

impl Listed {
    pub fn new(spec: &RunSpec) -> Listed {
        let flows = spec.settings.inputs.flows.clone();
        let waiting = flows.as_ref().map_or(0, |flows| flows.list().len());
        Listed { flows, transfers: Transfers::default(), waiting }
    }
}

impl<P: Probe> App<P> for Listed {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.after(world.spec.settings.workload.duration, END);
        for (flow, number) in self.flows.iter().flat_map(|flows| flows.list()).zip(0..) {
            world.after(flow.start, number);
        }
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        self.transfers.end(world, endpoint);
        world.done = self.waiting == 0 && self.transfers.missing == 0;
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        let flow = self.flows.as_ref().and_then(|flows| flows.list().get(token as usize)).copied();
        let Some(flow) = flow.filter(|_| token != END) else {
            world.done = true;
            return;
        };
        self.waiting -= 1;
        self.transfers.start(world, FlowKind::Listed, (flow.from, flow.to), flow.bytes);
    }

    fn record(&self, world: &World<P>) -> Record {
        Record {
            flows: self.transfers.rows(world, 0).collect(),
            payload_bytes: self.transfers.delivered(world),
            measured: world.now.since(Time(self.transfers.first_start())),
            ..Record::default()
        }
    }
}
